/*
 * Where the symbol list has prog_idr and map_idr, they have all of them. Else the system call lists them, and a descriptor leads to each:
 *
 *	file.private_data = bpf_prog ─► aux ─► used_maps[] of bpf_map
 */
#include "memory/kbpf.h"

#include "kern/bpf_sys.h"
#include "memory/eval.h"
#include "memory/kopened.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int kbpf_open(struct kbpf *b, struct kspace *k)
{
	struct memory *m;
	*b = (struct kbpf){ .k = k };
	const struct eval_offset rows[] = {
		{ "bpf_prog", "aux", &b->at.aux },
		{ "bpf_prog", "type", &b->at.type },
		{ "bpf_prog", "len", &b->at.len },
		{ "bpf_prog", "jited_len", &b->at.jited },
		{ "bpf_prog", "tag", &b->at.tag },
		{ "bpf_prog", "bpf_func", &b->at.function },
		{ "bpf_prog_aux", "id", &b->at.id },
		{ "bpf_prog_aux", "used_map_cnt", &b->at.nr_maps },
		{ "bpf_prog_aux", "used_maps", &b->at.maps },
		{ "bpf_prog_aux", "name", &b->at.name },
		{ "bpf_map", "id", &b->at.map_id },
		{ "bpf_map", "map_type", &b->at.map_type },
		{ "bpf_map", "map_flags", &b->at.flags },
		{ "bpf_map", "key_size", &b->at.key },
		{ "bpf_map", "value_size", &b->at.value },
		{ "bpf_map", "max_entries", &b->at.max },
		{ "bpf_map", "name", &b->at.map_name },
		{ "idr", "idr_rt", &b->at.idr },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	return err ? err : kspace_memory(k, &m);
}

/* ---- one ------------------------------------------------------------------------------------------------------------------- */

static int read_all(struct kbpf *b, struct memory_piece *pieces, size_t nr)
{
	int err = memory_read_pieces(b->k->memory, pieces, nr);
	for (size_t n = 0; !err && n < nr; n++)
		err = pieces[n].err;
	return err;
}

static int read_used_maps(struct kbpf *b, u64 at, struct kbpf_prog *p)
{
	u64 maps[KBPF_MAPS];
	u32 nr = min(p->nr_maps, (u32)KBPF_MAPS);
	int err = nr ? memory_read(b->k->memory, at, maps, nr * sizeof(u64)) : 0;
	for (u32 n = 0; !err && n < nr; n++)
		err = memory_read(b->k->memory, maps[n] + b->at.map_id, &p->maps[n], sizeof(u32));
	return err;
}

static int read_prog(struct kbpf *b, u64 addr, struct kbpf_prog *ret)
{
	struct kbpf_prog p = { .addr = addr };
	u32 len;
	u64 maps;
	int err = memory_read(b->k->memory, addr + b->at.aux, &p.aux, sizeof(p.aux));
	struct memory_piece pieces[] = {
		{ addr + b->at.type, &p.type, sizeof(u32), 0 },
		{ addr + b->at.len, &len, sizeof(u32), 0 },
		{ addr + b->at.jited, &p.jited_bytes, sizeof(u32), 0 },
		{ addr + b->at.tag, p.tag, sizeof(p.tag), 0 },
		{ addr + b->at.function, &p.function, sizeof(u64), 0 },
		{ p.aux + b->at.id, &p.id, sizeof(u32), 0 },
		{ p.aux + b->at.nr_maps, &p.nr_maps, sizeof(u32), 0 },
		{ p.aux + b->at.maps, &maps, sizeof(maps), 0 },
		{ p.aux + b->at.name, p.name, sizeof(p.name), 0 },
	};
	if (!err)
		err = read_all(b, pieces, ARRAY_SIZE(pieces));
	if (!err)
		err = read_used_maps(b, maps, &p);
	if (err)
		return err;
	p.name[KBPF_NAME - 1] = '\0';
	p.bytes = len * (u32)sizeof(struct bpf_insn);
	*ret = p;
	return 0;
}

static int read_map(struct kbpf *b, u64 addr, struct kbpf_map *ret)
{
	struct kbpf_map m = { .addr = addr };
	struct memory_piece pieces[] = {
		{ addr + b->at.map_id, &m.id, sizeof(u32), 0 },
		{ addr + b->at.map_type, &m.type, sizeof(u32), 0 },
		{ addr + b->at.flags, &m.flags, sizeof(u32), 0 },
		{ addr + b->at.key, &m.key_bytes, sizeof(u32), 0 },
		{ addr + b->at.value, &m.value_bytes, sizeof(u32), 0 },
		{ addr + b->at.max, &m.max_entries, sizeof(u32), 0 },
		{ addr + b->at.map_name, m.name, sizeof(m.name), 0 },
	};
	int err = read_all(b, pieces, ARRAY_SIZE(pieces));
	m.name[KBPF_NAME - 1] = '\0';
	if (!err)
		*ret = m;
	return err;
}

/* ---- all ------------------------------------------------------------------------------------------------------------------- */

struct bpf_walk {
	struct kbpf *b;
	kbpf_prog_fn prog;
	kbpf_map_fn map; /* NULL: programs */
	void *ctx;
	struct kopened opened;
};

/* One that goes, or whose memory has another one by now, is not told. id 0: any. */
static int tell(struct bpf_walk *w, u64 addr, u32 id)
{
	struct kbpf_prog prog;
	struct kbpf_map map;
	int err = w->map ? read_map(w->b, addr, &map) : read_prog(w->b, addr, &prog);
	if (err)
		return err == -EFAULT ? 0 : err;
	if (id && id != (w->map ? map.id : prog.id))
		return 0;
	return w->map ? w->map(w->ctx, &map) : w->prog(w->ctx, &prog);
}

static int each_in_tree(void *ctx, const struct walk_node *node)
{
	return tell(ctx, node->addr, 0);
}

/* A descriptor holds it while it is read. */
static int each_by_id(struct bpf_walk *w)
{
	enum bpfsys_kind kind = w->map ? BPFSYS_MAP : BPFSYS_PROG;
	u32 id = 0;
	int rc = 0;
	while (!rc) {
		u64 file, addr;
		rc = bpfsys_next_id(kind, id, &id);
		int fd = rc ? rc : bpfsys_by_id(kind, id);
		if (fd < 0) {
			if (rc || fd != -ENOENT)
				return fd == -ENOENT ? 0 : fd;
			continue;
		}
		rc = kopened_file(&w->opened, fd, &file);
		if (!rc)
			rc = memory_read(w->b->k->memory, file + w->opened.data, &addr,
					 sizeof(addr));
		if (!rc)
			rc = tell(w, addr, id);
		(void)close(fd);
	}
	return rc;
}

static int each(struct bpf_walk *w, const char *symbol)
{
	struct kspace *k = w->b->k;
	struct ksym sym;
	struct walk_result end;
	const struct ksyms *s = kspace_try_syms(k);
	if (s && ksyms_find(s, symbol, &sym)) {
		const struct walk_tree tree = { .kind = WALK_XARRAY,
						.root = sym.addr + w->b->at.idr };
		int err = walk_tree(k, &tree, each_in_tree, w, &end);
		if (!err && end.end != WALK_ENDED && end.end != WALK_STOPPED)
			diag_warn(k->diag, "%s changed while it was read: some may be missing",
				  symbol);
		return err;
	}
	int err = kopened_open(&w->opened, k);
	if (!err)
		err = each_by_id(w);
	if (err == -ENOTSUP) {
		err = diag_error(k->diag, -ENOENT, "the symbol list has no %s", symbol);
		if (!k->opts.dump)
			diag_hint(k->diag,
				  "read memory through BPF (as root): bpf() then lists them");
	} else if (err < 0 && err != -ENOENT) {
		(void)diag_error(k->diag, err, "cannot list BPF %s: %s",
				 w->map ? "maps" : "programs", strerror(-err));
	}
	return min(err, 0);
}

int kbpf_each_prog(struct kbpf *b, kbpf_prog_fn fn, void *ctx)
{
	struct bpf_walk w = { .b = b, .prog = fn, .ctx = ctx };
	return each(&w, "prog_idr");
}

int kbpf_each_map(struct kbpf *b, kbpf_map_fn fn, void *ctx)
{
	struct bpf_walk w = { .b = b, .map = fn, .ctx = ctx };
	return each(&w, "map_idr");
}

void kbpf_type(struct kbpf *b, bool of_map, u32 type, char ret[KBPF_TYPE])
{
	const char *prefix = of_map ? "BPF_MAP_TYPE_" : "BPF_PROG_TYPE_";
	struct ktype t;
	struct btf_desc d;
	struct btf_part p;
	(void)snprintf(ret, KBPF_TYPE, "%u", type);
	if (!kspace_find_type(b->k, of_map ? "bpf_map_type" : "bpf_prog_type", BTF_BIT(BTF_OF_ENUM),
			      &t) ||
	    !btf_describe(t.b, t.id, &d))
		return;
	for (u32 n = 0; n < d.nr && btf_part(t.b, &d, n, &p); n++)
		if (p.value == type && !strncmp(p.name, prefix, strlen(prefix))) {
			(void)snprintf(ret, KBPF_TYPE, "%.*s", KBPF_TYPE - 1,
				       p.name + strlen(prefix));
			return;
		}
}

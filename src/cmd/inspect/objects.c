/* inspect bpf and ipcs: BPF programs and maps, System V shared memory, semaphores and message queues. */
#include "cmd/inspect/inspect.h"

#include "base/num.h"
#include "base/printable.h"
#include "memory/kbpf.h"
#include "memory/kipcs.h"

#include <errno.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- bpf ------------------------------------------------------------------------------------------------------------------- */

struct bpf_text {
	struct inspect *i;
	struct kbpf b;
	u32 id; /* 0: all */
	u32 nr;
};

static void print_maps(struct inspect *i, const struct kbpf_prog *p)
{
	for (u32 n = 0; n < min(p->nr_maps, (u32)KBPF_MAPS); n++)
		if (i->app->json)
			json_u64(&i->j, p->maps[n]);
		else
			strbuf_printf(&i->text, "%s%u", n ? "," : "", p->maps[n]);
	if (!i->app->json && p->nr_maps > KBPF_MAPS)
		strbuf_str(&i->text, ",...");
}

static int print_prog(void *ctx, const struct kbpf_prog *p)
{
	struct bpf_text *t = ctx;
	struct inspect *i = t->i;
	char type[KBPF_TYPE], tag[2 * KBPF_TAG + 1];
	if (t->id && t->id != p->id)
		return 0;
	t->nr++;
	kbpf_type(&t->b, false, p->type, type);
	for (u32 n = 0; n < KBPF_TAG; n++) {
		static const char digits[] = "0123456789abcdef";
		tag[2 * n] = digits[p->tag[n] >> 4];
		tag[2 * n + 1] = digits[p->tag[n] & 15];
	}
	tag[2 * KBPF_TAG] = '\0';
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "id", p->id);
		inspect_json_address(i, "prog", p->addr);
		inspect_json_address(i, "aux", p->aux);
		json_put_str(&i->j, "type", type);
		json_put_str(&i->j, "tag", tag);
		json_put_str(&i->j, "name", p->name);
		inspect_json_address(i, "function", p->function);
		json_put_u64(&i->j, "bytes", p->bytes);
		json_put_u64(&i->j, "jited_bytes", p->jited_bytes);
		json_key(&i->j, "maps");
		json_array(&i->j);
		print_maps(i, p);
		json_array_end(&i->j);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%5u  %016llx  %016llx  %-18s  %s  ", p->id, (ull)p->addr,
		      (ull)p->aux, type, tag);
	size_t start = i->text.len;
	printable_name(&i->text, p->name);
	if (p->nr_maps)
		strbuf_fill(&i->text, ' ',
			    i->text.len - start < 17 ? 17 - (i->text.len - start) : 1);
	print_maps(i, p);
	strbuf_char(&i->text, '\n');
	return 0;
}

static int print_map(void *ctx, const struct kbpf_map *m)
{
	struct bpf_text *t = ctx;
	struct inspect *i = t->i;
	char type[KBPF_TYPE];
	if (t->id && t->id != m->id)
		return 0;
	t->nr++;
	kbpf_type(&t->b, true, m->type, type);
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "id", m->id);
		inspect_json_address(i, "map", m->addr);
		json_put_str(&i->j, "type", type);
		inspect_json_address(i, "flags", m->flags);
		json_put_u64(&i->j, "key_bytes", m->key_bytes);
		json_put_u64(&i->j, "value_bytes", m->value_bytes);
		json_put_u64(&i->j, "max_entries", m->max_entries);
		json_put_str(&i->j, "name", m->name);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%5u  %016llx  %-18s  %08x  %6u  %7u  %8u  ", m->id, (ull)m->addr,
		      type, m->flags, m->key_bytes, m->value_bytes, m->max_entries);
	printable_name(&i->text, m->name);
	strbuf_char(&i->text, '\n');
	return 0;
}

static int show_progs(struct bpf_text *t)
{
	if (!t->i->app->json)
		strbuf_printf(&t->i->text, "%5s  %-16s  %-16s  %-18s  %-16s  %-16s %s\n", "ID",
			      "BPF_PROG", "BPF_PROG_AUX", "BPF_PROG_TYPE", "TAG", "NAME",
			      "USED_MAPS");
	return kbpf_each_prog(&t->b, print_prog, t);
}

static int show_maps(struct bpf_text *t)
{
	if (!t->i->app->json)
		strbuf_printf(&t->i->text, "%5s  %-16s  %-18s  %-9s %6s  %7s  %8s  %s\n", "ID",
			      "BPF_MAP", "BPF_MAP_TYPE", "MAP_FLAGS", "KEY", "VALUE", "ENTRIES",
			      "NAME");
	return kbpf_each_map(&t->b, print_map, t);
}

int inspect_bpf(struct inspect *i, int argc, char **argv)
{
	struct bpf_text t = { .i = i };
	const struct inspect_opts *o = i->o;
	(void)argv;
	if (argc)
		return inspect_usage(i, "unexpected argument: a number follows -p or -m");
	if (o->prog && o->map)
		return inspect_usage(i, "-p and -m exclude each other");
	bool progs = o->prog || o->progs || (!o->map && !o->maps);
	bool maps = o->map || o->maps || (!o->prog && !o->progs);
	if (o->prog > UINT32_MAX || o->map > UINT32_MAX)
		return diag_error(&i->app->diag, -ENOENT, "no BPF %s %llu",
				  o->map ? "map" : "program", (ull)(o->map ? o->map : o->prog));
	int err = kbpf_open(&t.b, &i->k);
	t.id = (u32)o->prog;
	if (!err && progs)
		err = show_progs(&t);
	if (!err && o->prog && !t.nr)
		err = diag_error(&i->app->diag, -ENOENT, "no BPF program %llu", (ull)o->prog);
	if (!err && progs && maps && !i->app->json)
		strbuf_char(&i->text, '\n');
	t.id = (u32)o->map;
	t.nr = 0;
	if (!err && maps)
		err = show_maps(&t);
	if (!err && o->map && !t.nr)
		err = diag_error(&i->app->diag, -ENOENT, "no BPF map %llu", (ull)o->map);
	return err;
}

/* ---- ipcs ------------------------------------------------------------------------------------------------------------------ */

struct ipc_text {
	struct inspect *i;
	enum kipc_kind kind;
	const char *word; /* an identifier or an address; NULL: all */
	u32 nr, found;
};

static const struct {
	const char *head, *empty, *size, *nr, *key;
} ipc_kinds[KIPC_KINDS] = {
	[KIPC_SEMAPHORES] = { "   SEM_ARRAY       KEY      SEMID      UID   PERMS      NSEMS\n",
			      "(none allocated)\n", "semaphores", NULL, "semaphores" },
	[KIPC_MESSAGES] = { "   MSG_QUEUE       KEY      MSQID      UID   PERMS USED-BYTES   "
			    "MESSAGES\n",
			    "(none allocated)\n", "bytes", "messages", "messages" },
	[KIPC_SHARED] = { "  SHMID_KERNEL     KEY      SHMID      UID   PERMS      BYTES     "
			  "NATTCH STATUS\n",
			  "(none allocated)\n", "bytes", "attached", "shared" },
};

static bool ipc_wanted(const struct ipc_text *t, const struct kipc *c)
{
	u64 number;
	return !t->word || (!num_parse_u64(t->word, 0, &number) && number == (u32)c->id) ||
	       (!num_parse_u64(t->word, 16, &number) && number == c->addr);
}

static int print_ipc(void *ctx, const struct kipc *c)
{
	struct ipc_text *t = ctx;
	struct inspect *i = t->i;
	if (!ipc_wanted(t, c))
		return 0;
	t->nr++;
	t->found++;
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "kind", ipc_kinds[t->kind].key);
		inspect_json_address(i, "address", c->addr);
		inspect_json_address(i, "key", (u32)c->key);
		json_put_s64(&i->j, "id", c->id);
		json_put_u64(&i->j, "uid", c->uid);
		json_put_u64(&i->j, "mode", c->mode);
		json_put_u64(&i->j, ipc_kinds[t->kind].size, c->size);
		if (ipc_kinds[t->kind].nr)
			json_put_u64(&i->j, ipc_kinds[t->kind].nr, c->nr);
		if (t->kind == KIPC_SHARED) {
			json_put_bool(&i->j, "removed", c->removed);
			inspect_json_address(i, "file", c->file);
		}
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%016llx %08x %-10d %-5u %-5o %10llu", (ull)c->addr, (u32)c->key,
		      c->id, c->uid, c->mode, (ull)c->size);
	if (ipc_kinds[t->kind].nr)
		strbuf_printf(&i->text, " %10llu", (ull)c->nr);
	strbuf_str(&i->text, c->removed ? " dest\n" : "\n");
	return 0;
}

static int print_ipc_kind(struct ipc_text *t, u64 task)
{
	struct inspect *i = t->i;
	struct walk_result end;
	t->nr = 0;
	if (!i->app->json)
		strbuf_str(&i->text, ipc_kinds[t->kind].head);
	int err = kipcs_each(&i->k, task, t->kind, print_ipc, t, &end);
	if (err == -ESRCH)
		return diag_error(&i->app->diag, err, "the task has no namespaces any more");
	if (!err && end.end != WALK_ENDED)
		diag_warn(&i->app->diag, "a list changed while it was read: some may be missing");
	if (!err && !t->nr && !i->app->json)
		strbuf_str(&i->text, ipc_kinds[t->kind].empty);
	if (!err && !i->app->json)
		strbuf_char(&i->text, '\n');
	return err;
}

int inspect_ipcs(struct inspect *i, int argc, char **argv)
{
	static const enum kipc_kind order[] = { KIPC_SHARED, KIPC_SEMAPHORES, KIPC_MESSAGES };
	const struct inspect_opts *o = i->o;
	struct ipc_text t = { .i = i, .word = argc ? argv[0] : NULL };
	bool all = !o->shared && !o->semaphores && !o->messages;
	u64 task;
	if (argc > 1)
		return inspect_usage(i, "expected at most one identifier or address");
	int err = i->context ? 0
		  : o->dump  ? kspace_init_task(&i->k, &task)
			     : kspace_current(&i->k, &task);
	if (i->context)
		task = i->context;
	for (size_t n = 0; !err && n < ARRAY_SIZE(order); n++) {
		t.kind = order[n];
		if (all || (t.kind == KIPC_SHARED     ? o->shared
			    : t.kind == KIPC_MESSAGES ? o->messages
						      : o->semaphores))
			err = print_ipc_kind(&t, task);
	}
	if (!err && t.word && !t.found)
		err = diag_error(&i->app->diag, -ENOENT, "no such identifier or address: '%s'",
				 t.word);
	return err;
}

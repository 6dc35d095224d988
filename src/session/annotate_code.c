#include "session/annotate_code.h"
#include "image/idcache.h"
#include "kern/kcore.h"
#include "session/recorded_kcore.h"
#include "sym/kallsyms.h"

#include <stdlib.h>
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CORE_MAX = 1 << 20, CORE_LABEL = 4096 };

#ifdef __aarch64__
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_X86_64 };
#endif

/*
 * Where a function of the recorded kernel lies by a list of symbols. It may have been loaded elsewhere, but never shifted by less than 2 MB
 * (a module: than a page).
 */
static u64 listed_address(const char *text, size_t len, const struct image_info *info,
			  const struct name_func *f)
{
	u64 addr, unit = info->kind == IMAGE_KIND_KERNEL ? 0x1fffff : 0xfff;
	bool moved =
		kallsyms_address(text, len, f->name, &addr) && (addr & unit) == (f->start & unit);
	return moved ? addr : f->start;
}

/* From a core: what is really executed, patched as it is. fd -1: the running kernel's. */
static int open_core(struct annotate_code *c, const struct image_info *info,
		     const struct name_func *f, int fd, u64 addr)
{
	size_t size =
		f->end > f->start ? min((size_t)(f->end - f->start), (size_t)CORE_MAX) : CORE_LABEL;
	int machine = fd < 0 ? OWN_MACHINE : kcore_machine(fd);
	u8 *bytes = machine < 0 ? NULL : malloc(size);
	int err = machine < 0 ? machine
		  : !bytes    ? -ENOMEM
		  : fd < 0    ? kcore_read(NULL, addr, bytes, size)
			      : kcore_read_fd(fd, addr, bytes, size);
	if (err) {
		free(bytes);
		return err;
	}
	code_open_memory(&c->code, c->cfg, info, f, bytes, size, addr, (u16)machine);
	return 0;
}

/* The recording brings the code along, at the addresses it was recorded at. */
static int open_recorded(struct annotate_code *c, const struct image_info *info,
			 const struct name_func *f)
{
	_cleanup_close_ int fd = recorded_kcore_open(c->kernel->src);
	return fd < 0 ? fd : open_core(c, info, f, fd, f->start);
}

/* The running kernel, if it is the recorded one. */
static int open_live(struct annotate_code *c, const struct image_info *info,
		     const struct name_func *f)
{
	size_t len;
	const char *text = kernel_list_text(c->kernel, &len);
	return text && !c->kernel->recorded
		       ? open_core(c, info, f, -1, listed_address(text, len, info, f))
		       : -ENOENT;
}

struct kept_core {
	struct annotate_code *c;
	const struct image_info *info;
	const struct name_func *f;
};

/* Modules lie elsewhere after every boot: only a list that has the function at its very address is of that one. */
static int open_kept_folder(void *ctx, const char *folder)
{
	const struct kept_core *k = ctx;
	struct sym_text list;
	u64 addr;
	if (kcore_folder_list(folder, &list))
		return 0;
	bool here = kallsyms_address(list.data, list.len, k->f->name, &addr) &&
		    (k->info->kind == IMAGE_KIND_KERNEL || addr == k->f->start);
	if (here)
		addr = listed_address(list.data, list.len, k->info, k->f);
	list.release(&list);
	_cleanup_close_ int fd = here ? kcore_folder_open(folder) : -1;
	return fd >= 0 && !open_core(k->c, k->info, k->f, fd, addr);
}

/* `buildid-cache -k` kept it. */
static int open_kept(struct annotate_code *c, const struct image_info *info,
		     const struct name_func *f)
{
	const struct image_info *kernel = NULL;
	vec_for_each (&c->kernel->src->catalog.images, i)
		kernel = !kernel && image_is_kernel(i) ? i : kernel;
	if (!kernel || !c->cfg->buildid_dir)
		return -ENOENT;
	struct buildid id = buildid_make(kernel->build_id, kernel->build_id_size);
	struct kept_core k = { c, info, f };
	return idcache_each_kcore(c->cfg->buildid_dir, &id, open_kept_folder, &k) == 1 ? 0 : -ENOENT;
}

static int open_code(struct annotate_code *c, const struct image_info *info,
		     const struct name_func *f)
{
	bool kernel = info->kind == IMAGE_KIND_KERNEL || info->kind == IMAGE_KIND_MODULE;
	if (info->guest)
		return -ENOENT;
	if (kernel && !c->cfg->vmlinux && !open_recorded(c, info, f))
		return 0;
	int err = code_open(&c->code, c->cfg, info, f);
	if (!err || err == -ENOMEM || !kernel)
		return err;
	return open_live(c, info, f) ? open_kept(c, info, f) : 0;
}

void annotate_code_close(struct annotate_code *c)
{
	code_close(&c->code);
}

typedef VEC(struct disasm_insn) insn_list;

static int disassemble(const struct annotate_code *c, insn_list *to)
{
	const struct code *code = &c->code;
	struct disasm *d;
	int err = disasm_open(code->machine, code->is64, c->syntax, &d);
	if (err)
		return err;
	struct disasm_insn in;
	for (size_t at = 0;
	     !err && disasm_next(d, code->bytes + at, code->size - at, code->addr + at, &in);
	     at += in.size) {
		struct disasm_insn *made = vec_push(to);
		if (made)
			*made = in;
		else
			err = -ENOMEM;
	}
	disasm_close(d);
	return err;
}

static int by_value(const void *l, const void *r)
{
	u64 a = *(const u64 *)l, b = *(const u64 *)r;
	return (a > b) - (a < b);
}

struct targets {
	u64 *addrs;
	struct code_name *names;
	u32 nr;
};

/* Where an operand relative to the instruction pointer points: "0x2edc(%rip)", "[rip - 0x10]". */
static bool rip_target(const struct disasm_insn *in, u64 *ret)
{
	const char *att = strstr(in->operands, "(%rip)"), *intel = strstr(in->operands, "[rip ");
	const char *number = att;
	bool minus;
	if (att) {
		while (number > in->operands && (isxdigit((unsigned char)number[-1]) ||
						 number[-1] == 'x' || number[-1] == '-'))
			number--;
		minus = *number == '-';
		number += minus;
	} else if (intel && (intel[5] == '+' || intel[5] == '-') && intel[6] == ' ') {
		minus = intel[5] == '-';
		number = intel + 7;
	} else {
		return false;
	}
	u64 offset = strtoull(number, NULL, 0);
	*ret = in->addr + in->size + (minus ? -offset : offset);
	return true;
}

typedef bool (*target_fn)(const struct disasm_insn *in, u64 *ret);
typedef int (*names_fn)(struct code *c, const u64 *addrs, u32 nr, struct arena *arena,
			struct code_name *ret);

static bool branch_target(const struct disasm_insn *in, u64 *ret)
{
	*ret = in->target;
	return in->kind == DISASM_JUMP || in->kind == DISASM_CALL;
}

static int find_targets(struct annotate_code *c, const insn_list *insns, target_fn target_of,
			names_fn names, struct arena *arena, struct targets *t)
{
	t->addrs = arena_array(arena, insns->nr + 1, sizeof(*t->addrs));
	t->names = arena_array(arena, insns->nr + 1, sizeof(*t->names));
	if (!t->addrs || !t->names)
		return -ENOMEM;
	u32 all = 0;
	vec_for_each (insns, in)
		all += target_of(in, &t->addrs[all]);
	qsort(t->addrs, all, sizeof(*t->addrs), by_value);
	for (u32 i = 0; i < all; i++)
		if (!i || t->addrs[i] != t->addrs[t->nr - 1])
			t->addrs[t->nr++] = t->addrs[i];
	return names(&c->code, t->addrs, t->nr, arena, t->names);
}

/* "15e0 <work+0x50>" */
static void target_text(const struct annotate_code *c, const struct annotation *a,
			const struct targets *t, u64 target, char *to, size_t size)
{
	const u64 *at = bsearch(&target, t->addrs, t->nr, sizeof(*at), by_value);
	struct code_name name = at ? t->names[at - t->addrs] : (struct code_name){ 0 };
	if (target - c->code.addr < c->code.size)
		name = (struct code_name){ a->symbol, c->code.addr };
	int n = snprintf(to, size, "%llx", (unsigned long long)target);
	if (!name.name || n < 0 || (size_t)n >= size)
		return;
	if (target == name.start)
		(void)snprintf(to + n, size - (size_t)n, " <%s>", name.name);
	else
		(void)snprintf(to + n, size - (size_t)n, " <%s+0x%llx>", name.name,
			       (unsigned long long)(target - name.start));
}

static void insn_text(const struct annotate_code *c, const struct annotation *a,
		      const struct targets *t, const struct targets *data,
		      const struct disasm_insn *in, struct arena *arena, struct annotation_insn *to)
{
	char target[1200] = "", text[1500];
	u64 at;
	int n = 0;
	if (in->kind == DISASM_JUMP || in->kind == DISASM_CALL)
		target_text(c, a, t, in->target, target, sizeof(target));
	if (in->operands[0] || target[0])
		n = snprintf(text, sizeof(text), "%-6s %s", in->mnemonic, in->operands);
	else
		(void)snprintf(text, sizeof(text), "%s", in->mnemonic);
	if (n > 0 && target[0]) {
		(void)snprintf(text + n, sizeof(text) - (size_t)n, "%s", target);
		to->target_at = (u16)n;
	}
	if (n > 0 && !target[0] && rip_target(in, &at)) { /* as objdump does */
		target_text(c, a, data, at, target, sizeof(target));
		(void)snprintf(text + n, sizeof(text) - (size_t)n, "        # %s", target);
	}
	to->name_len = (u8)strlen(in->mnemonic);
	to->text = arena_strdup(arena, text);
}

static u8 kind_of(enum disasm_kind k)
{
	static const u8 kinds[] = {
		[DISASM_PLAIN] = ANNOTATION_PLAIN,
		[DISASM_JUMP] = ANNOTATION_JUMP,
		[DISASM_CALL] = ANNOTATION_CALL,
		[DISASM_RETURN] = ANNOTATION_RETURN,
	};
	return kinds[k];
}

static u32 insn_index(const insn_list *insns, u64 addr)
{
	u32 lo = 0, hi = (u32)insns->nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (insns->at[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < insns->nr && insns->at[lo].addr == addr ? lo + 1 : 0;
}

static int fill(struct annotate_code *c, const insn_list *insns, struct annotation *a,
		struct arena *arena)
{
	struct targets t = { 0 }, data = { 0 };
	int err = find_targets(c, insns, branch_target, code_names, arena, &t);
	if (!err)
		err = find_targets(c, insns, rip_target, code_data_names, arena, &data);
	struct annotation_insn *to = arena_array(arena, insns->nr + 1, sizeof(*to));
	struct srcline_spot *spots = arena_array(arena, 2 * insns->nr + 2, sizeof(*spots));
	u64 *addrs = arena_array(arena, insns->nr + 1, sizeof(*addrs));
	if (err || !to || !spots || !addrs)
		return err ? err : -ENOMEM;
	for (size_t i = 0; i < insns->nr; i++)
		addrs[i] = insns->at[i].addr;
	err = code_lines(&c->code, addrs, (u32)insns->nr, arena, spots);
	for (size_t i = 0; i < insns->nr && !err; i++) {
		const struct disasm_insn *in = &insns->at[i];
		const struct srcline_spot *s = &spots[2 * i];
		to[i] = (struct annotation_insn){
			.addr = in->addr,
			.bytes = c->code.bytes + (in->addr - c->code.addr),
			.size = in->size,
			.file = s->line.file,
			.line = s->line.line,
			.func = s->nr ? s->inlines[s->nr - 1].name : a->symbol,
			.jump = in->kind == DISASM_JUMP ? insn_index(insns, in->target) : 0,
			.kind = kind_of(in->kind),
		};
		insn_text(c, a, &t, &data, in, arena, &to[i]);
		if (!to[i].text)
			err = -ENOMEM;
	}
	a->insns = to;
	a->nr_insns = (u32)insns->nr;
	a->start = c->code.addr;
	a->section = c->code.section;
	return err;
}

int annotate_code_open(struct annotate_code *c, const struct image_info *info,
		       const struct name_func *f, struct annotation *to, struct arena *arena)
{
	int err = open_code(c, info, f);
	if (err)
		return err;
	insn_list insns = { 0 };
	err = disassemble(c, &insns);
	if (!err)
		err = fill(c, &insns, to, arena);
	vec_free(&insns);
	if (err)
		annotate_code_close(c);
	return err;
}

#include "probe/find_symbol.h"

#include "arch/arch.h"
#include "base/glob.h"
#include "base/num.h"
#include "base/str.h"
#include "event/closest.h"
#include "event/probe_elf.h"
#include "image/disasm.h"
#include "kern/kallsyms.h"
#include "kern/kcore.h"
#include "kern/sysroot.h"
#include "probe/args_btf.h"
#include "probe/find_symbol_impl.h"
#include "probe/held.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

enum { PROBES_MAX = 128, CODE_MAX = 1 << 20, BREAKPOINT = 0xcc };

/* ---- the search ------------------------------------------------------------------------------------------------------------ */

void symbol_search_init(struct symbol_search *s, const struct probe_target *target,
			const struct probe_request *request, struct diag *d)
{
	*s = (struct symbol_search){ .target = target, .request = request, .diag = d };
	arena_init(&s->arena);
	s->is64 = true;
	s->machine = arch_host() ? arch_host()->elf_machine : EM_NONE;
}

void symbol_search_done(struct symbol_search *s)
{
	vec_free(&s->at);
	arena_done(&s->arena);
}

int symbol_search_add(struct symbol_search *s, const struct symbol_match *m)
{
	/* Aliases and the same symbol in two tables are one place. */
	vec_for_each (&s->at, old)
		if (m->start && old->start == m->start)
			return 0;
	struct symbol_match *slot = vec_push(&s->at);
	if (!slot)
		return -ENOMEM;
	*slot = *m;
	slot->name = arena_strdup(&s->arena, m->name);
	slot->module = m->module ? arena_strdup(&s->arena, m->module) : NULL;
	return slot->name && (slot->module || !m->module) ? 0 : -ENOMEM;
}

bool symbol_is_clone(const char *name, size_t len, const char *of)
{
	static const char *const kinds[] = { ".isra.", ".part.", ".constprop.", ".llvm." };
	size_t stem = strlen(of);
	if (len <= stem + 1 || strncmp(name, of, stem) || name[stem] != '.')
		return false;
	char rest[128];
	(void)snprintf(rest, sizeof(rest), "%.*s", (int)min(len - stem, sizeof(rest) - 1),
		       name + stem);
	if (strstr(rest, ".cold"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_starts(rest, kinds[i]))
			return true;
	return false;
}

/* ---- functions of the kernel ----------------------------------------------------------------------------------------------- */

struct probe_find_symbol_kernel_line {
	u64 addr;
	const char *name, *module; /* not terminated; module NULL: the kernel itself */
	size_t len, module_len;
};

/* "ADDRESS t NAME[<TAB>[MODULE]]" */
static bool parse_kernel_line(const char *at, const char *end,
			      struct probe_find_symbol_kernel_line *ret)
{
	const char *blank = memchr(at, ' ', (size_t)(end - at));
	char digits[20];
	if (!blank || end - blank < 4 || blank[2] != ' ' || blank - at >= (s64)sizeof(digits))
		return false;
	memcpy(digits, at, (size_t)(blank - at));
	digits[blank - at] = 0;
	*ret = (struct probe_find_symbol_kernel_line){ .name = blank + 3 };
	if (num_parse_u64(digits, 16, &ret->addr) || !strchr("tTwW", blank[1]))
		return false;
	const char *tab = memchr(ret->name, '\t', (size_t)(end - ret->name));
	ret->len = (size_t)((tab ? tab : end) - ret->name);
	if (tab && end - tab > 3 && tab[1] == '[') {
		ret->module = tab + 2;
		ret->module_len = (size_t)(end - ret->module) - 1;
	}
	return ret->len > 0;
}

struct kernel_search {
	struct symbol_search *s;
	const struct strbuf *blacklist;
	struct closest closest;
	bool clones;
};

/* The kernel's symbols, which the target may hold already. */
struct kernel_symbols {
	struct kallsyms_text own;
	const struct kallsyms_text *text;
};

static int kernel_symbols_open(struct kernel_symbols *k, const struct probe_target *t)
{
	struct probe_held *h = t->held;
	k->text = &k->own;
	if (h)
		k->text = &h->symbols;
	if (h && h->has_symbols)
		return 0;
	int err = kallsyms_read(t->root, t->cache, h ? &h->symbols : &k->own);
	if (h)
		h->has_symbols = !err;
	return err;
}

static void kernel_symbols_close(struct kernel_symbols *k)
{
	if (k->text == &k->own)
		kallsyms_text_done(&k->own);
}

static const struct strbuf *read_blacklist(const struct probe_target *t, struct strbuf *own)
{
	struct sysroot root;
	struct strbuf *to = t->held ? &t->held->blacklist : own;
	if (t->held && t->held->has_blacklist)
		return to;
	if (!sysroot_open(&root, t->root && *t->root ? t->root : NULL)) {
		(void)!sysroot_read(&root, "sys/kernel/debug/kprobes/blacklist", to);
		sysroot_close(&root);
	}
	(void)strbuf_cstr(to);
	if (t->held)
		t->held->has_blacklist = true;
	return to;
}

static bool is_blacklisted(const struct kernel_search *k, const char *name)
{
	const char *at = k->blacklist->data;
	size_t len = strlen(name);
	while (at && (at = strchr(at, '\t'))) {
		at++;
		if (!strncmp(at, name, len) && (at[len] == '\n' || !at[len]))
			return true;
	}
	return false;
}

static bool module_fits(const struct probe_target *t, const struct probe_find_symbol_kernel_line *l)
{
	if (t->where != PROBE_MODULE || !t->module)
		return true;
	return l->module && strlen(t->module) == l->module_len &&
	       !strncmp(l->module, t->module, l->module_len);
}

static int look_line(struct kernel_search *k, const struct probe_find_symbol_kernel_line *l)
{
	struct symbol_search *s = k->s;
	const char *wanted = s->request->function;
	char name[256], module[128];
	(void)snprintf(name, sizeof(name), "%.*s", (int)min(l->len, sizeof(name) - 1), l->name);
	bool fits = k->clones		  ? symbol_is_clone(name, strlen(name), wanted)
		    : s->request->is_glob ? glob_match(wanted, name)
					  : !strcmp(wanted, name);
	if (!fits || !module_fits(s->target, l))
		return 0;
	/* Globs are about the kernel itself; modules by -m. */
	if (s->request->is_glob && l->module && s->target->where != PROBE_MODULE)
		return 0;
	(void)snprintf(module, sizeof(module), "%.*s", (int)l->module_len,
		       l->module ? l->module : "");
	return symbol_search_add(s, &(struct symbol_match){ .name = name,
							    .module = l->module ? module : NULL,
							    .start = l->addr,
							    .is_clone = k->clones,
							    .is_refused = is_blacklisted(k, name) });
}

typedef int kernel_line_fn(void *ctx, const struct probe_find_symbol_kernel_line *l);

static int each_kernel_line(const struct kallsyms_text *t, kernel_line_fn *fn, void *ctx)
{
	int err = 0;
	for (const char *at = t->data, *end = t->data + t->len, *eol; at < end && !err;
	     at = eol + 1) {
		struct probe_find_symbol_kernel_line l;
		eol = memchr(at, '\n', (size_t)(end - at));
		if (!eol)
			break;
		if (parse_kernel_line(at, eol, &l))
			err = fn(ctx, &l);
	}
	return err;
}

static int see_line(void *ctx, const struct probe_find_symbol_kernel_line *l)
{
	return look_line(ctx, l);
}

/* Only lines in which the name occurs: there are a hundred thousand others. */
static int look_lines_of(struct kernel_search *k, const struct kallsyms_text *t, const char *name)
{
	const char *at = t->data, *end = t->data + t->len;
	size_t len = strlen(name);
	int err = 0;
	while (!err && (at = memmem(at, (size_t)(end - at), name, len))) {
		struct probe_find_symbol_kernel_line l;
		const char *line = memrchr(t->data, '\n', (size_t)(at - t->data));
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		line = line ? line + 1 : t->data;
		if (!eol)
			break;
		/* A name such as "add" is in the line's address first: the whole line is compared. */
		if (parse_kernel_line(line, eol, &l))
			err = look_line(k, &l);
		at = eol + 1;
	}
	return err;
}

static int offer_line(void *ctx, const struct probe_find_symbol_kernel_line *l)
{
	struct kernel_search *k = ctx;
	char *to = k->s->closest, name[256];
	if (l->len >= sizeof(k->s->closest) || l->len >= sizeof(name) ||
	    !module_fits(k->s->target, l))
		return 0;
	memcpy(name, l->name, l->len);
	name[l->len] = '\0';
	if (closest_offer(&k->closest, name))
		memcpy(to, name, l->len + 1);
	return 0;
}

/* Functions end at the next symbol. */
static void measure(struct symbol_search *s, const struct kallsyms_text *t)
{
	vec_for_each (&s->at, m)
		m->size = m->start ? CODE_MAX : 0;
	for (const char *at = t->data, *end = t->data + t->len, *eol; at < end; at = eol + 1) {
		struct probe_find_symbol_kernel_line l;
		eol = memchr(at, '\n', (size_t)(end - at));
		if (!eol)
			break;
		if (!parse_kernel_line(at, eol, &l))
			continue;
		vec_for_each (&s->at, m)
			if (l.addr > m->start && l.addr - m->start < m->size)
				m->size = l.addr - m->start;
	}
}

int symbol_search_kernel(struct symbol_search *s)
{
	struct kernel_symbols symbols;
	struct strbuf blacklist;
	const char *wanted = s->request->function;
	bool is_glob = s->request->is_glob;
	int err = kernel_symbols_open(&symbols, s->target);
	if (err)
		return diag_error(s->diag, err, "cannot read /proc/kallsyms: %s", strerror(-err));
	strbuf_init(&blacklist);
	struct kernel_search k = { .s = s, .blacklist = read_blacklist(s->target, &blacklist) };
	err = is_glob ? each_kernel_line(symbols.text, see_line, &k)
		      : look_lines_of(&k, symbols.text, wanted);
	if (!err && !s->at.nr && !is_glob) {
		k.clones = true;
		err = look_lines_of(&k, symbols.text, wanted);
	}
	if (!err && !s->at.nr && !is_glob) {
		closest_init(&k.closest, wanted, strlen(wanted));
		err = each_kernel_line(symbols.text, offer_line, &k);
	}
	strbuf_done(&blacklist);
	if (!err && s->request->has_offset && s->at.nr)
		measure(s, symbols.text);
	kernel_symbols_close(&symbols);
	return err ? err : s->at.nr ? 0 : -ENOENT;
}

/* ---- instructions ---------------------------------------------------------------------------------------------------------- */

static int file_code(const struct symbol_search *s, const struct symbol_match *m, size_t size,
		     u8 *to)
{
	struct elfimg e;
	int err = elfimg_open(&e, s->target->path, NULL);
	if (err)
		return err;
	bool inside = m->start <= e.size && size <= e.size - m->start;
	if (inside)
		memcpy(to, e.data + m->start, size);
	elfimg_close(&e);
	return inside ? 0 : -ENODATA;
}

int symbol_code(const struct symbol_search *s, const struct symbol_match *m, size_t size, u8 **ret,
		size_t *ret_size)
{
	if (!m->start || !size || size > CODE_MAX)
		return -ENODATA;
	u8 *to = malloc(size);
	if (!to)
		return -ENOMEM;
	int err = s->target->where == PROBE_BINARY ? file_code(s, m, size, to)
						   : kcore_read(s->target->root, m->start, to, size);
	if (err) {
		free(to);
		return -ENODATA;
	}
	*ret = to;
	*ret_size = size;
	return 0;
}

struct boundary {
	u64 wanted, before, after;
	bool found, lost; /* lost: a breakpoint hides what is there */
};

static int each_insn(const struct symbol_search *s, const struct symbol_match *m, u64 size,
		     int (*fn)(void *, const struct disasm_insn *, u8), void *ctx)
{
	struct disasm *dis;
	u8 *code;
	size_t len;
	int err = symbol_code(s, m, (size_t)min(size, (u64)CODE_MAX), &code, &len);
	if (err)
		return err;
	err = disasm_open((u16)s->machine, s->is64, DISASM_ATT, &dis);
	if (!err) {
		struct disasm_insn insn;
		for (size_t at = 0;
		     at < len && !err && disasm_next(dis, code + at, len - at, at, &insn);
		     at += insn.size)
			err = fn(ctx, &insn, code[at]);
		disasm_close(dis);
	}
	free(code);
	return min(err, 0);
}

static int see_boundary(void *ctx, const struct disasm_insn *i, u8 first)
{
	struct boundary *b = ctx;
	b->lost |= first == BREAKPOINT && i->size == 1;
	if (i->addr == b->wanted)
		b->found = true;
	else if (i->addr < b->wanted)
		b->before = i->addr;
	else if (!b->after)
		b->after = i->addr;
	return i->addr > b->wanted;
}

/* The kernel says EILSEQ, and no more: this says where instructions begin. What cannot be read is left to the kernel. */
static int check_boundary(const struct symbol_search *s, const struct symbol_match *m)
{
	const struct probe_request *r = s->request;
	struct boundary b = { .wanted = r->offset };
	if (!r->offset)
		return 0;
	if (m->size && r->offset >= m->size) {
		int err = diag_error(s->diag, -EINVAL, "%s is %llu bytes long: +%llu is outside",
				     m->name, (ull)m->size, (ull)r->offset);
		diag_span(s->diag, r->text, r->place_span.start, r->place_span.len);
		return err;
	}
	u64 size = m->size ? m->size : r->offset + 16;
	int err = each_insn(s, m, size, see_boundary, &b);
	if (err == -ENOMEM)
		return err;
	if (err || b.found || b.lost)
		return 0;
	err = diag_error(s->diag, -EILSEQ, "%s+%llu is in the middle of an instruction", m->name,
			 (ull)r->offset);
	diag_span(s->diag, r->text, r->place_span.start, r->place_span.len);
	diag_hint(s->diag,
		  "instructions begin at +%llu and +%llu; all of them: sonde probe "
		  "%s %s",
		  (ull)b.before, (ull)b.after, diag_option(s->diag, DIAG_OPT_OFFSETS), m->name);
	return err;
}

/* ---- addresses ------------------------------------------------------------------------------------------------------------- */

/* The function of the kernel that holds an address. */
struct kernel_around {
	char name[256], module[128]; /* module "": the kernel itself */
	u64 start, end; /* end 0: not known */
	u64 text; /* of _text */
	unsigned same; /* functions of that name */
};

static bool copy_text(char *to, size_t size, const char *from, size_t len)
{
	bool fits = len < size;
	if (fits) {
		memcpy(to, from, len);
		to[len] = '\0';
	}
	return fits;
}

struct around_search {
	struct kernel_around *to;
	u64 addr;
};

static int see_around(void *ctx, const struct probe_find_symbol_kernel_line *l)
{
	struct around_search *s = ctx;
	struct kernel_around *k = s->to;
	if (l->len == 5 && !memcmp(l->name, "_text", 5))
		k->text = l->addr;
	else if (l->addr > s->addr)
		k->end = k->end ? min(k->end, l->addr) : l->addr;
	else if (l->addr > k->start && copy_text(k->name, sizeof(k->name), l->name, l->len) &&
		 copy_text(k->module, sizeof(k->module), l->module ? l->module : "",
			   l->module ? l->module_len : 0))
		k->start = l->addr;
	return 0;
}

static int count_same(void *ctx, const struct probe_find_symbol_kernel_line *l)
{
	struct kernel_around *k = ctx;
	k->same += strlen(k->name) == l->len && !memcmp(k->name, l->name, l->len);
	return 0;
}

static bool find_around(const struct probe_target *t, u64 addr, struct kernel_around *ret)
{
	struct kernel_symbols symbols;
	struct around_search s = { .to = ret, .addr = addr };
	*ret = (struct kernel_around){ 0 };
	if (!addr || kernel_symbols_open(&symbols, t))
		return false;
	(void)!each_kernel_line(symbols.text, see_around, &s);
	if (ret->start)
		(void)!each_kernel_line(symbols.text, count_same, ret);
	kernel_symbols_close(&symbols);
	return ret->start && ret->end && addr - ret->start < CODE_MAX;
}

static int refuse_inside(const struct probe_request *r, const char *function, u64 offset,
			 u64 before, u64 after, struct diag *d)
{
	int err = diag_error(d, -EILSEQ, "0x%llx is %s+%llu, in the middle of an instruction",
			     (ull)r->offset, function, (ull)offset);
	diag_span(d, r->text, r->function_span.start, r->function_span.len);
	diag_hint(d, "instructions begin at %s+%llu and +%llu", function, (ull)before, (ull)after);
	return err;
}

static int check_kernel_address(const struct probe_target *target, const struct probe_request *r,
				struct diag *d)
{
	struct kernel_around k;
	if (!find_around(target, r->offset, &k))
		return 0;
	struct symbol_search s;
	const struct symbol_match m = { .name = k.name, .start = k.start };
	struct boundary b = { .wanted = r->offset - k.start };
	symbol_search_init(&s, target, r, d);
	int err = b.wanted ? each_insn(&s, &m, k.end - k.start, see_boundary, &b) : -ENODATA;
	symbol_search_done(&s);
	if (err || b.found || b.lost)
		return err == -ENOMEM ? err : 0;
	return refuse_inside(r, k.name, b.wanted, b.before, b.after, d);
}

static int check_address(const struct probe_target *target, const struct probe_request *r,
			 struct diag *d)
{
	struct elfimg e;
	struct probe_elf_spot spot;
	u64 offset;
	if (target->where != PROBE_BINARY)
		return check_kernel_address(target, r, d);
	if (elfimg_open(&e, target->path, NULL))
		return 0;
	bool there = elfimg_offset_of(&e, r->offset, &offset);
	elfimg_close(&e);
	int inside = there ? probe_elf_is_inside(target->path, offset, &spot) : 0;
	return inside <= 0
		       ? inside
		       : refuse_inside(r, spot.function, spot.offset, spot.before, spot.after, d);
}

int probe_check_boundary(const struct probe_target *target, const struct probe_request *request,
			 struct diag *d)
{
	struct symbol_search s;
	if (request->form == PROBE_ADDRESS)
		return check_address(target, request, d);
	if (request->form != PROBE_FUNCTION || !request->has_offset || !request->offset ||
	    request->is_glob)
		return 0;
	symbol_search_init(&s, target, request, NULL);
	int err = target->where == PROBE_BINARY ? symbol_search_file(&s) : symbol_search_kernel(&s);
	s.diag = d;
	err = err == -ENOMEM ? err : 0;
	for (size_t i = 0; i < s.at.nr && !err; i++)
		err = check_boundary(&s, &s.at.at[i]);
	symbol_search_done(&s);
	return err;
}

/* ---- definitions ----------------------------------------------------------------------------------------------------------- */

static int see_text(void *ctx, const struct probe_find_symbol_kernel_line *l)
{
	u64 *text = ctx;
	if (l->len != 5 || memcmp(l->name, "_text", 5))
		return 0;
	*text = l->addr;
	return 1;
}

static u64 kernel_text(const struct probe_target *t)
{
	struct kernel_symbols symbols;
	u64 text = 0;
	if (kernel_symbols_open(&symbols, t))
		return 0;
	(void)!each_kernel_line(symbols.text, see_text, &text);
	kernel_symbols_close(&symbols);
	return text;
}

/* One name, several functions: the kernel would not know which. */
static int by_distance(const struct symbol_search *s, const struct symbol_match *m,
		       struct probe_def *def)
{
	unsigned same = 0;
	vec_for_each (&s->at, other)
		same += !strcmp(other->name, m->name);
	if (same < 2)
		return 0;
	u64 text = m->module || def->is_return ? 0 : kernel_text(s->target);
	if (!text || m->start < text)
		return diag_error(
			s->diag, -EOPNOTSUPP,
			"there are %u functions '%s': the kernel cannot tell them apart%s", same,
			m->name, def->is_return ? " for probes on returns" : "");
	def->symbol = "_text";
	def->offset = m->start - text + s->request->offset;
	return 0;
}

static int fill_def(struct symbol_search *s, const struct symbol_match *m, struct probe_defs *defs,
		    struct btf *types, struct probe_def *def)
{
	const struct probe_request *r = s->request;
	const char *name = arena_strdup(&defs->arena, m->name);
	*def = (struct probe_def){ .letter = r->is_return ? 'r' : 'p',
				   .is_return = r->is_return,
				   .function = name,
				   .in_function = r->offset,
				   .offset = r->offset };
	if (!name)
		return -ENOMEM;
	int err = 0;
	if (s->target->where == PROBE_BINARY) {
		def->binary = arena_strdup(&defs->arena, s->target->path);
		def->offset = m->start + r->offset;
		err = def->binary ? 0 : -ENOMEM;
	} else {
		def->symbol = name;
		def->module = m->module ? arena_strdup(&defs->arena, m->module) : NULL;
		err = by_distance(s, m, def);
	}
	/* foo.isra.0 has lost parameters of foo: what BTF says of foo does not hold. */
	const struct probe_btf_place place = { .function = m->name,
					       .binary = def->binary,
					       .is_return = r->is_return,
					       .at_entry = !r->offset };
	return err ? err : probe_args_btf(types, &place, r, &defs->arena, def, s->diag);
}

void probe_warn_ifunc(const char *path, const char *function, struct diag *d)
{
	diag_warn(d,
		  "%s chooses an implementation when a program starts (ifunc): a probe on it "
		  "sees that choice, not the calls",
		  function);
	diag_hint(d, "to list implementations: sonde probe -x %s -F '*%s*'", path, function);
}

/* "ext4 1013760 1 - Live 0x..." */
static bool is_loaded(const char *root, const char *module)
{
	struct kallsyms_text t;
	bool found = false;
	size_t len = strlen(module);
	int err = kallsyms_read_modules(root, &t);
	/* A kernel without modules has no such file. */
	if (err)
		return err != -ENOENT;
	for (const char *at = t.data, *end = t.data + t.len, *eol; at < end && !found; at = eol + 1) {
		eol = memchr(at, '\n', (size_t)(end - at));
		if (!eol)
			break;
		found = (size_t)(eol - at) > len && !memcmp(at, module, len) && at[len] == ' ';
	}
	kallsyms_text_done(&t);
	return found;
}

static int not_found(const struct symbol_search *s)
{
	const struct probe_request *r = s->request;
	const struct probe_target *t = s->target;
	bool file = t->where == PROBE_BINARY;
	if (t->where == PROBE_MODULE && t->module && !is_loaded(t->root, t->module)) {
		int err = diag_error(s->diag, -ENOENT, "no module '%s' is loaded", t->module);
		diag_hint(s->diag, "'modprobe %s' loads it; built-in code needs no -m", t->module);
		return err;
	}
	int err = diag_error(s->diag, -ENOENT, "%s has no function '%s'%s%s",
			     file ? t->path : "this kernel", r->function,
			     t->where == PROBE_MODULE ? " in module " : "",
			     t->where == PROBE_MODULE ? t->module : "");
	if (r->function_span.len)
		diag_span(s->diag, r->text, r->function_span.start, r->function_span.len);
	if (*s->closest && !r->is_glob)
		diag_hint(s->diag, "did you mean '%s'?", s->closest);
	if (s->ends_at)
		diag_hint(s->diag, "the file is truncated: it ends at byte %llu of at least %llu",
			  (ull)s->ends_at, (ull)s->should_end_at);
	else if (file && s->is_stripped)
		diag_hint(s->diag, "a stripped file shows only what it exports; with its debug "
				   "package all functions are known, and 0xOFFSET works always");
	else if (file)
		diag_hint(s->diag, "sonde probe -x %s -F '*%s*' lists functions", t->path,
			  r->function);
	else
		diag_hint(
			s->diag,
			"it may have been inlined everywhere, which debug information would show; "
			"sonde probe -F '*%s*' lists functions",
			r->function);
	return err;
}

static int refuse_blacklisted(const struct symbol_search *s, const struct symbol_match *m)
{
	int err =
		diag_error(s->diag, -EOPNOTSUPP, "the kernel does not allow probes on %s", m->name);
	if (s->request->function_span.len)
		diag_span(s->diag, s->request->text, s->request->function_span.start,
			  s->request->function_span.len);
	diag_hint(s->diag, "it is on its blacklist: /sys/kernel/debug/kprobes/blacklist");
	return err;
}

static int define_all(struct symbol_search *s, struct probe_defs *defs, struct btf *types)
{
	u32 limit = s->target->max_probes ? s->target->max_probes : PROBES_MAX;
	int err = 0;
	if (s->at.nr > limit) {
		err = diag_error(s->diag, -E2BIG, "'%s' fits %zu functions, more than %u",
				 s->request->function, s->at.nr, limit);
		diag_hint(s->diag, "%s %zu allows them", diag_option(s->diag, DIAG_OPT_MAX_PROBES),
			  s->at.nr);
		return err;
	}
	for (size_t i = 0; i < s->at.nr && !err; i++) {
		const struct symbol_match *m = &s->at.at[i];
		struct probe_def def;
		if (m->is_refused && s->request->is_glob)
			continue;
		if (m->is_refused)
			return refuse_blacklisted(s, m);
		if (m->is_clone)
			diag_note(s->diag,
				  "%s is only there as %s, which the compiler changed: it "
				  "may have fewer parameters",
				  s->request->function, m->name);
		if (m->is_ifunc)
			probe_warn_ifunc(s->target->path, m->name, s->diag);
		err = fill_def(s, m, defs, types, &def);
		struct probe_def *slot = err ? NULL : vec_push(&defs->at);
		if (slot)
			*slot = def;
		else if (!err)
			err = -ENOMEM;
	}
	return err;
}

static int needs_debug_info(const struct probe_target *t, const struct probe_request *r,
			    struct diag *d)
{
	const char *what = r->pattern ? "patterns" : r->has_line ? "lines" : "source files";
	int err =
		diag_error(d, -ENODATA, "%s need debug information, and %s has none that was found",
			   what, t->where == PROBE_BINARY ? t->path : "the kernel");
	if (r->place_span.len)
		diag_span(d, r->text, r->place_span.start, r->place_span.len);
	diag_hint(d, t->where == PROBE_BINARY
			     ? "install its -dbgsym package, or build it with -g"
			     : "install linux-image-$(uname -r)-dbg, or name a vmlinux with -k; "
			       "functions, offsets and parameters (BTF) work without");
	return err;
}

/* By symbol and distance, which hold when the kernel is elsewhere after the next boot; the name stays that of the address, as perf's. */
static int place_in_kernel(const struct probe_target *t, const struct probe_request *r,
			   struct arena *a, struct probe_def *def)
{
	struct kernel_around k;
	char name[32];
	if (!find_around(t, r->offset, &k))
		return 0;
	bool from_text = k.same > 1;
	if (from_text && (*k.module || !k.text || k.start < k.text))
		return 0;
	(void)snprintf(name, sizeof(name), "abs_%llx", (ull)r->offset);
	def->symbol = from_text ? "_text" : arena_strdup(a, k.name);
	def->module = *k.module ? arena_strdup(a, k.module) : NULL;
	def->offset = r->offset - (from_text ? k.text : k.start);
	def->function = arena_strdup(a, k.name);
	def->in_function = r->offset - k.start;
	def->realname = arena_strdup(a, name);
	return def->symbol && def->function && def->realname && (def->module || !*k.module)
		       ? 0
		       : -ENOMEM;
}

/* An address of the kernel, or an offset in a file as its symbols count it. */
static int define_address(const struct probe_target *t, const struct probe_request *r,
			  struct probe_defs *defs, struct diag *d)
{
	struct probe_def def = { .letter = r->is_return ? 'r' : 'p', .is_return = r->is_return };
	def.offset = r->offset;
	if (t->where == PROBE_BINARY) {
		struct elfimg e;
		int err = elfimg_open(&e, t->path, NULL);
		if (err)
			return diag_error(d, err, "cannot read %s: %s", t->path, strerror(-err));
		bool there = elfimg_offset_of(&e, r->offset, &def.offset);
		elfimg_close(&e);
		if (!there)
			return diag_error(d, -ENOENT, "%s has nothing at address 0x%llx", t->path,
					  (ull)r->offset);
		def.binary = arena_strdup(&defs->arena, t->path);
		if (!def.binary)
			return -ENOMEM;
	} else if (place_in_kernel(t, r, &defs->arena, &def)) {
		return -ENOMEM;
	}
	const struct probe_btf_place place = { .function = "an address",
					       .binary = def.binary,
					       .is_return = r->is_return };
	int err = probe_args_btf(NULL, &place, r, &defs->arena, &def, d);
	struct probe_def *slot = err ? NULL : vec_push(&defs->at);
	if (slot)
		*slot = def;
	return err ? err : slot ? 0 : -ENOMEM;
}

struct tracepoint_search {
	const char *name;
	struct closest closest;
	char best[128];
	bool found, any;
};

/* Each tracepoint has a function that calls its users. */
static int see_tracepoint(void *ctx, const struct probe_find_symbol_kernel_line *l)
{
	static const char prefix[] = "__traceiter_";
	struct tracepoint_search *s = ctx;
	size_t skip = strlen(prefix);
	char name[sizeof(s->best)];
	if (l->len <= skip || memcmp(l->name, prefix, skip) ||
	    !copy_text(name, sizeof(name), l->name + skip, l->len - skip))
		return 0;
	s->any = true;
	s->found |= !strcmp(name, s->name);
	if (closest_offer(&s->closest, name))
		memcpy(s->best, name, l->len - skip + 1);
	return s->found;
}

/* The kernel takes any name: a module may bring it later. */
static void check_tracepoint(const struct probe_target *t, const char *name, struct diag *d)
{
	struct kernel_symbols symbols;
	struct tracepoint_search s = { .name = name };
	if (kernel_symbols_open(&symbols, t))
		return;
	closest_init(&s.closest, name, strlen(name));
	(void)!each_kernel_line(symbols.text, see_tracepoint, &s);
	kernel_symbols_close(&symbols);
	if (s.found || !s.any)
		return;
	diag_warn(d, "no tracepoint '%s' in this kernel or its modules", name);
	if (*s.best)
		diag_hint(d, "did you mean '%s'?", s.best);
}

static int define_tracepoint(const struct probe_target *target, const struct probe_request *r,
			     struct probe_defs *defs, struct btf *types, struct diag *d)
{
	struct probe_def def = { .letter = 't' };
	check_tracepoint(target, r->name, d);
	def.symbol = def.function = arena_strdup(&defs->arena, r->name);
	const struct probe_btf_place place = { .function = r->name,
					       .is_tracepoint = true,
					       .at_entry = true };
	int err = def.symbol ? probe_args_btf(types, &place, r, &defs->arena, &def, d) : -ENOMEM;
	struct probe_def *slot = err ? NULL : vec_push(&defs->at);
	if (slot)
		*slot = def;
	return err ? err : slot ? 0 : -ENOMEM;
}

static int define_functions(const struct probe_target *target, const struct probe_request *request,
			    struct probe_defs *defs, struct btf *types, struct diag *d)
{
	struct symbol_search s;
	symbol_search_init(&s, target, request, d);
	int err = target->where == PROBE_BINARY ? symbol_search_file(&s) : symbol_search_kernel(&s);
	if (err == -ENOENT)
		err = not_found(&s);
	if (!err)
		err = define_all(&s, defs, types);
	symbol_search_done(&s);
	return err;
}

/* Those that are held, where they are this module's. */
static int open_types(const struct probe_target *t, struct probe_types *to)
{
	struct probe_held *h = t->held;
	const char *module = t->module ? t->module : "";
	if (!h)
		return probe_types_open(to, t->root, t->module);
	if (h->has_types && !strcmp(h->types_module, module))
		return 0;
	if (h->has_types)
		probe_types_close(&h->types);
	(void)snprintf(h->types_module, sizeof(h->types_module), "%s", module);
	int err = probe_types_open(to, t->root, t->module);
	h->has_types = !err;
	return err;
}

int probe_find_symbol(const struct probe_target *target, const struct probe_request *request,
		      struct probe_defs *defs, struct diag *d)
{
	struct probe_types types;
	size_t before = defs->at.nr;
	if (request->form == PROBE_ADDRESS)
		return define_address(target, request, defs, d);
	if (request->has_line || request->pattern || request->file || request->form == PROBE_SOURCE)
		return needs_debug_info(target, request, d);
	/* Types are only needed for arguments. */
	bool typed = target->where != PROBE_BINARY && request->nr_args;
	struct probe_types *of = target->held ? &target->held->types : &types;
	int err = typed ? open_types(target, of) : 0;
	struct btf *b = typed && !err ? probe_types_of(of) : NULL;
	if (!err)
		err = request->form == PROBE_TRACEPOINT
			      ? define_tracepoint(target, request, defs, b, d)
			      : define_functions(target, request, defs, b, d);
	if (typed && of == &types)
		probe_types_close(&types);
	if (err)
		defs->at.nr = before;
	return err;
}

/* ---- instructions, listed -------------------------------------------------------------------------------------------------- */

struct listing {
	probe_insn_fn *fn;
	void *ctx;
	const char *function;
	bool kernel;
	bool at_end; /* the instruction before is a return, or padding after one */
};

/* The kernel refuses probes on the breakpoints that pad its returns, and on the instruction of BUG() and WARN(). */
static bool is_refused(struct listing *l, const struct disasm_insn *i, u8 first)
{
	bool is_padding = l->at_end && first == BREAKPOINT && i->size == 1;
	l->at_end = is_padding || i->kind == DISASM_RETURN || i->kind == DISASM_JUMP;
	return is_padding || (l->kernel && !strcmp(i->mnemonic, "ud2"));
}

static int list_insn(void *ctx, const struct disasm_insn *i, u8 first)
{
	struct listing *l = ctx;
	char text[DISASM_TEXT + 64];
	if (is_refused(l, i, first))
		return 0;
	if (*i->operands || i->kind == DISASM_PLAIN || i->kind == DISASM_RETURN)
		(void)snprintf(text, sizeof(text), "%s%s%s", i->mnemonic, *i->operands ? " " : "",
			       i->operands);
	else
		(void)snprintf(text, sizeof(text), "%s %s%+lld", i->mnemonic, l->function,
			       (long long)i->target);
	return l->fn(l->ctx, i->addr, text);
}

int probe_insns(const struct probe_target *target, const char *function, probe_insn_fn *fn,
		void *ctx, struct diag *d)
{
	struct symbol_search s;
	struct listing l = {
		.fn = fn, .ctx = ctx, .function = function, .kernel = target->where != PROBE_BINARY
	};
	const struct probe_request r = {
		.text = function, .form = PROBE_FUNCTION, .function = function, .has_offset = true
	};
	symbol_search_init(&s, target, &r, d);
	int err = target->where == PROBE_BINARY ? symbol_search_file(&s) : symbol_search_kernel(&s);
	if (err == -ENOENT)
		err = not_found(&s);
	for (size_t i = 0; i < s.at.nr && !err; i++) {
		const struct symbol_match *m = &s.at.at[i];
		err = m->size ? each_insn(&s, m, m->size, list_insn, &l) : -ENODATA;
		if (err == -ENODATA)
			(void)diag_error(d, err, "the code of %s cannot be read", m->name);
		else if (err == -ENOTSUP || err == -ELIBACC)
			(void)diag_error(d, err, "there is no decoder for this code (libcapstone4)");
	}
	symbol_search_done(&s);
	return err;
}

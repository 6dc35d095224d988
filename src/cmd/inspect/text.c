/* inspect rd, sym and dis: memory, symbols and code without types. */
#include "cmd/inspect/inspect.h"

#include "base/num.h"
#include "image/disasm.h"
#include "probe/source_lines.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

enum { COUNT_MAX = 1 << 22 };

static int parse_count(struct inspect *i, const char *text, u64 *ret)
{
	if (!num_parse_u64(text, 0, ret) && *ret && *ret <= COUNT_MAX)
		return 0;
	return diag_error(&i->app->diag, -EINVAL, "invalid count '%s'", text);
}

/* ---- rd -------------------------------------------------------------------------------------------------------------------- */

static u64 unit_at(const u8 *at, unsigned bytes)
{
	u64 v = 0;
	memcpy(&v, at, bytes);
	return v;
}

static void rd_symbols(struct inspect *i, u64 addr, const u8 *data, u64 count)
{
	for (u64 n = 0; n < count; n++) {
		u64 v = unit_at(data + n * sizeof(v), sizeof(v));
		strbuf_printf(&i->text, "%016llx:  ", (ull)(addr + n * sizeof(v)));
		if (!kspace_name_address(&i->k, v, true, &i->text))
			strbuf_printf(&i->text, "%016llx", (ull)v);
		strbuf_char(&i->text, '\n');
	}
}

/* "ffffffff82a0c8c0:  0000000000000001 ffffffff81e00000   ................" */
static void rd_lines(struct inspect *i, u64 addr, const u8 *data, u64 count, unsigned bytes)
{
	enum { LINE = 16 };
	u64 total = count * bytes;
	for (u64 at = 0; at < total; at += LINE) {
		u64 now = min(total - at, (u64)LINE);
		strbuf_printf(&i->text, "%016llx: ", (ull)(addr + at));
		for (u64 n = 0; n < LINE; n += bytes)
			if (n < now)
				strbuf_printf(&i->text, " %0*llx", (int)(2 * bytes),
					      (ull)unit_at(data + at + n, bytes));
			else if (!i->o->no_ascii)
				strbuf_fill(&i->text, ' ', 1 + 2 * (size_t)bytes);
		if (!i->o->no_ascii) {
			strbuf_str(&i->text, "   ");
			for (u64 n = 0; n < now; n++) {
				u8 c = data[at + n];
				strbuf_char(&i->text, c >= 0x20 && c < 0x7f ? (char)c : '.');
			}
		}
		strbuf_char(&i->text, '\n');
	}
}

static void rd_json(struct inspect *i, u64 addr, const u8 *data, u64 count, unsigned bytes)
{
	struct strbuf name;
	strbuf_init(&name);
	for (u64 n = 0; n < count; n++) {
		u64 v = unit_at(data + n * bytes, bytes);
		json_object(&i->j);
		inspect_json_address(i, "address", addr + n * bytes);
		inspect_json_address(i, "value", v);
		strbuf_reset(&name);
		if (i->o->symbols && kspace_name_address(&i->k, v, false, &name))
			json_put_str(&i->j, "symbol", strbuf_cstr(&name));
		json_object_end(&i->j);
	}
	strbuf_done(&name);
}

int inspect_rd(struct inspect *i, int argc, char **argv)
{
	u64 width = i->o->width && !i->o->symbols ? i->o->width : 64, addr, count = 1;
	if (!argc || argc > 2)
		return inspect_usage(i, argc ? "too many words: ADDRESS [COUNT]" : "which address?");
	if (width != 8 && width != 16 && width != 32 && width != 64)
		return inspect_usage(i, "invalid width: 8, 16, 32 or 64");
	unsigned bytes = (unsigned)(width / 8);
	struct ksym sym;
	const struct ksyms *s = kspace_try_syms(&i->k);
	/* A symbol means where it is, whatever type it has. */
	int err = 0;
	if (s && ksyms_find(s, argv[0], &sym))
		addr = sym.addr;
	else
		err = eval_address_text(&i->k, argv[0], &addr);
	if (!err && argc == 2)
		err = parse_count(i, argv[1], &count);
	if (err)
		return err;
	_cleanup_free_ u8 *data = malloc((size_t)(count * bytes));
	if (!data)
		return -ENOMEM;
	err = kspace_read(&i->k, addr, data, (size_t)(count * bytes), argv[0]);
	if (err)
		return err;
	if (i->app->json)
		rd_json(i, addr, data, count, bytes);
	else if (i->o->symbols)
		rd_symbols(i, addr, data, count);
	else
		rd_lines(i, addr, data, count, bytes);
	return 0;
}

/* ---- sym ------------------------------------------------------------------------------------------------------------------- */

static bool line_of(struct source_lines *l, const struct ksym *s, u64 addr, char *file, size_t size,
		    u32 *line)
{
	struct source_place at = { .name = s->name,
				   .name_len = s->name_len,
				   .module = s->module,
				   .module_len = s->module_len,
				   .offset = addr - s->addr };
	return ksym_is_code(s) && source_line(l, &at, file, size, line);
}

struct sym_print {
	struct inspect *i;
	struct source_lines *lines; /* NULL: none are wanted */
	u64 nr;
};

/* "ffffffff810f8540 (T) sys_futex  FILE: LINE", "... [module]" */
static int print_sym(struct sym_print *p, const struct ksym *s, u64 addr, u64 offset)
{
	struct inspect *i = p->i;
	char file[PATH_MAX];
	u32 line = 0;
	bool has_line = p->lines && line_of(p->lines, s, addr, file, sizeof(file), &line);
	p->nr++;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "address", addr);
		json_put_str(&i->j, "kind", (char[]){ s->kind, 0 });
		json_key(&i->j, "name");
		json_strn(&i->j, s->name, s->name_len);
		json_put_u64(&i->j, "offset", offset);
		if (s->module_len) {
			json_key(&i->j, "module");
			json_strn(&i->j, s->module, s->module_len);
		}
		if (has_line) {
			json_put_str(&i->j, "file", file);
			json_put_u64(&i->j, "line", line);
		}
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%016llx (%c) %.*s", (ull)addr, s->kind, (int)s->name_len, s->name);
	if (offset)
		strbuf_printf(&i->text, "+%llu", (ull)offset);
	if (s->module_len)
		strbuf_printf(&i->text, "  [%.*s]", (int)s->module_len, s->module);
	if (has_line)
		strbuf_printf(&i->text, "  %s: %u", file, line);
	strbuf_char(&i->text, '\n');
	return 0;
}

static int print_named(void *ctx, const struct ksym *s)
{
	return print_sym(ctx, s, s->addr, 0);
}

static bool contains(const char *text, size_t len, const char *part)
{
	return memmem(text, len, part, strlen(part)) != NULL;
}

/* -q and -m */
static int print_matching(struct sym_print *p, const struct ksyms *s)
{
	const char *query = p->i->o->query, *module = p->i->o->module;
	struct ksym sym;
	for (u32 n = 0; ksyms_row(s, n, &sym); n++) {
		if (query && !contains(sym.name, sym.name_len, query))
			continue;
		if (module && (strlen(module) != sym.module_len ||
			       memcmp(module, sym.module, sym.module_len) != 0))
			continue;
		(void)print_sym(p, &sym, sym.addr, 0);
	}
	return p->nr ? 0 : diag_error(&p->i->app->diag, -ENOENT, "no symbol matches");
}

static int sym_word(struct sym_print *p, const struct ksyms *s, const char *word)
{
	struct inspect *i = p->i;
	struct ksym sym;
	u64 addr, offset, size, before = p->nr;
	int err = ksyms_each(s, word, print_named, p);
	if (err || p->nr > before)
		return err;
	err = eval_address_text(&i->k, word, &addr);
	if (err)
		return err;
	if (!ksyms_at(s, addr, &sym, &offset, &size))
		return diag_error(&i->app->diag, -ENOENT, "no symbol covers 0x%llx", (ull)addr);
	return print_sym(p, &sym, addr, offset);
}

int inspect_sym(struct inspect *i, int argc, char **argv)
{
	struct sym_print p = { .i = i };
	struct source_lines lines;
	const struct ksyms *s;
	bool all = i->o->query || i->o->module;
	if (!argc && !all)
		return inspect_usage(i, "which symbol or address?");
	inspect_fresh_symbols(i);
	int err = kspace_syms(&i->k, &s);
	if (err)
		return err;
	if (i->o->lines) {
		source_lines_init(&lines, i->o->vmlinux, &i->app->diag);
		p.lines = &lines;
	}
	if (all)
		err = print_matching(&p, s);
	for (int n = 0; !err && n < argc; n++)
		err = sym_word(&p, s, argv[n]);
	if (p.lines)
		source_lines_done(&lines);
	return err;
}

/* ---- dis ------------------------------------------------------------------------------------------------------------------- */

enum { INSN_MAX = 16, FUNCTION_MAX = 1 << 20, TEXT_COLUMN = 48 };

#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64, DENSE = 4 };
#else
enum { MACHINE = EM_X86_64, DENSE = 1 };
#endif

/* What is to be shown: [from, until), or nr instructions. */
struct dis_range {
	u64 from, until; /* until 0: by count */
	u64 nr;
	u64 last; /* -r: the instruction that is the last one; 0: none */
	struct ksym sym;
	bool has_sym;
	u64 sym_addr;
};

static bool is_padding(const struct disasm_insn *n)
{
	return !strcmp(n->mnemonic, "int3") || strstr(n->mnemonic, "nop") == n->mnemonic ||
	       !strcmp(n->mnemonic, "data16") || !strcmp(n->mnemonic, "cs") ||
	       !strcmp(n->mnemonic, "udf");
}

/* "0x12(%rip)" of an instruction that ends at `next`: the address that it means. */
static bool rip_address(const char *operands, u64 next, u64 *ret)
{
	const char *rip = strstr(operands, "(%rip)");
	const char *at = rip;
	u64 disp;
	char digits[24];
	while (at && at > operands && strchr("0123456789abcdefx-", at[-1]))
		at--;
	if (!rip || at == rip || (size_t)(rip - at) >= sizeof(digits))
		return false;
	bool minus = *at == '-';
	memcpy(digits, at + minus, (size_t)(rip - at) - minus);
	digits[(size_t)(rip - at) - minus] = '\0';
	if (num_parse_u64(digits, 0, &disp))
		return false;
	*ret = minus ? next - disp : next + disp;
	return true;
}

static void add_name(struct inspect *i, u64 addr)
{
	struct strbuf s;
	strbuf_init(&s);
	if (kspace_name_address(&i->k, addr, !i->o->hex, &s))
		strbuf_printf(&i->text, " <%s>", strbuf_cstr(&s));
	strbuf_done(&s);
}

/* A long NOP has a distance of 0, which objdump and crash write, and capstone does not. */
static bool has_zero(const struct disasm_insn *n, const u8 *code)
{
	return MACHINE == EM_X86_64 && !strncmp(n->mnemonic, "nop", 3) && n->operands[0] == '(' &&
	       n->size > 3 && code[0] == 0x0f && code[1] == 0x1f && code[2] >> 6 && code[2] >> 6 < 3;
}

static void insn_text(struct inspect *i, const struct disasm_insn *n, const u8 *code,
		      struct strbuf *to)
{
	u64 target;
	strbuf_printf(to,
		      *n->operands || n->kind == DISASM_JUMP || n->kind == DISASM_CALL ? "%-6s %s%s"
										       : "%s%s%s",
		      n->mnemonic, has_zero(n, code) ? "0x0" : "", n->operands);
	if (n->kind == DISASM_JUMP || n->kind == DISASM_CALL) {
		strbuf_printf(to, "0x%llx", (ull)n->target);
		target = n->target;
	} else if (rip_address(n->operands, n->addr + n->size, &target)) {
		strbuf_printf(to, "        # 0x%llx", (ull)target);
	} else {
		return;
	}
	struct strbuf name;
	strbuf_init(&name);
	if (kspace_name_address(&i->k, target, !i->o->hex, &name))
		strbuf_printf(to, " <%s>", strbuf_cstr(&name));
	strbuf_done(&name);
}

static void print_insn(struct inspect *i, const struct dis_range *r, const struct disasm_insn *n,
		       const u8 *code)
{
	struct strbuf s;
	char note[INSPECT_NOTE] = "";
	u64 offset = n->addr - r->sym_addr;
	strbuf_init(&s);
	insn_text(i, n, code, &s);
	if (r->has_sym)
		inspect_note(i, n->addr, offset, code, n->size, note);
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "address", n->addr);
		if (r->has_sym) {
			json_key(&i->j, "symbol");
			json_strn(&i->j, r->sym.name, r->sym.name_len);
			json_put_u64(&i->j, "offset", offset);
		}
		json_put_u64(&i->j, "bytes", n->size);
		json_put_str(&i->j, "instruction", strbuf_cstr(&s));
		if (*note)
			json_put_str(&i->j, "note", note);
		json_object_end(&i->j);
	} else {
		size_t before = i->text.len;
		strbuf_printf(&i->text, "0x%llx", (ull)n->addr);
		if (r->has_sym)
			add_name(i, n->addr);
		strbuf_char(&i->text, ':');
		size_t width = i->text.len - before;
		strbuf_fill(&i->text, ' ',
			    r->has_sym && width < TEXT_COLUMN ? TEXT_COLUMN - width : 2);
		strbuf_str(&i->text, strbuf_cstr(&s));
		if (*note)
			strbuf_printf(&i->text, " [%s]", note);
		strbuf_char(&i->text, '\n');
	}
	strbuf_done(&s);
}

static int find_range(struct inspect *i, int argc, char **argv, struct dis_range *r)
{
	u64 addr, offset, size;
	struct ksym sym;
	const struct ksyms *s = kspace_try_syms(&i->k);
	int err = eval_address_text(&i->k, argv[0], &addr);
	if (!err && argc == 2)
		err = parse_count(i, argv[1], &r->nr);
	if (err)
		return err;
	r->from = addr;
	if (s && ksyms_at(s, addr, &sym, &offset, &size)) {
		r->has_sym = true;
		r->sym = sym;
		r->sym_addr = sym.addr;
		if (!size || size > FUNCTION_MAX)
			size = FUNCTION_MAX;
		if (i->o->until) {
			r->from = sym.addr;
			r->last = addr;
			r->until = sym.addr + size;
			r->nr = 0;
		} else if (!r->nr && (!offset || i->o->from)) {
			r->until = sym.addr + size;
		}
	} else {
		diag_warn(&i->app->diag, "%llx: no associated kernel symbol found", (ull)addr);
	}
	if (!r->until && !r->nr)
		r->nr = 1; /* as crash: an address inside of a function is one instruction */
	return 0;
}

/* As many bytes of the code as there are: the page after it need not be there. */
static int read_code(struct inspect *i, const struct dis_range *r, u8 **ret, size_t *len)
{
	struct memory *m;
	u64 want = r->until ? r->until - r->from : r->nr * INSN_MAX;
	int err = kspace_memory(&i->k, &m);
	if (err)
		return err;
	want = min(want, (u64)FUNCTION_MAX);
	u8 *code = malloc((size_t)want);
	if (!code)
		return -ENOMEM;
	err = memory_read(m, r->from, code, (size_t)want);
	if (err == -EFAULT && want > 4096 - (r->from & 4095)) {
		want = 4096 - (r->from & 4095);
		err = memory_read(m, r->from, code, (size_t)want);
	}
	if (err) {
		free(code);
		return diag_error(&i->app->diag, err, "cannot read the code at 0x%llx: %s",
				  (ull)r->from, strerror(-err));
	}
	*ret = code;
	*len = (size_t)want;
	return 0;
}

static void print_line_change(struct inspect *i, struct source_lines *lines,
			      const struct dis_range *r, u64 addr, char *last, size_t size)
{
	char file[PATH_MAX];
	struct strbuf s;
	u32 line;
	if (!r->has_sym || !line_of(lines, &r->sym, addr, file, sizeof(file), &line))
		return;
	strbuf_init(&s);
	strbuf_printf(&s, "%s: %u", file, line);
	if (strcmp(strbuf_cstr(&s), last)) {
		(void)snprintf(last, size, "%s", strbuf_cstr(&s));
		if (!i->app->json)
			strbuf_printf(&i->text, "%s\n", last);
	}
	strbuf_done(&s);
}

/* Without what fills the room up to the next function. */
static size_t trim_padding(struct disasm *d, const struct dis_range *r, const u8 *code, size_t len)
{
	struct disasm_insn n;
	size_t used = 0;
	for (size_t at = 0; at < len && disasm_next(d, code + at, len - at, r->from + at, &n);) {
		at += n.size;
		if (!is_padding(&n))
			used = at;
	}
	return used ? used : len;
}

static void print_code(struct inspect *i, struct disasm *d, const struct dis_range *r,
		       const u8 *code, size_t len, struct source_lines *lines)
{
	struct disasm_insn n;
	char last[PATH_MAX + 16] = "";
	u64 done = 0;
	if (r->until && !r->last)
		len = trim_padding(d, r, code, len);
	for (size_t at = 0; at < len && (!r->nr || done < r->nr); at += n.size, done++) {
		if (!disasm_next(d, code + at, len - at, r->from + at, &n))
			break;
		if (r->last && n.addr > r->last)
			break;
		if (lines)
			print_line_change(i, lines, r, n.addr, last, sizeof(last));
		print_insn(i, r, &n, code + at);
	}
}

int inspect_dis(struct inspect *i, int argc, char **argv)
{
	struct dis_range r = { 0 };
	struct disasm *d;
	struct source_lines lines;
	_cleanup_free_ u8 *code = NULL;
	size_t len = 0;
	if (!argc || argc > 2)
		return inspect_usage(i,
				     argc ? "too many words: ADDRESS [COUNT]" : "which function?");
	if (i->o->until && i->o->from)
		return inspect_usage(i, "-r and -f exclude each other");
	inspect_fresh_symbols(i);
	int err = find_range(i, argc, argv, &r);
	if (!err)
		err = read_code(i, &r, &code, &len);
	if (err)
		return err;
	err = disasm_open(MACHINE, true, DISASM_ATT, &d);
	if (err == -ELIBACC)
		(void)diag_error(&i->app->diag, err, "disassembly needs libcapstone");
	if (err)
		return err;
	if (i->o->lines)
		source_lines_init(&lines, i->o->vmlinux, &i->app->diag);
	print_code(i, d, &r, code, len, i->o->lines ? &lines : NULL);
	if (i->o->lines)
		source_lines_done(&lines);
	disasm_close(d);
	return 0;
}

/* ---- what an instruction is when somebody put a probe there ---------------------------------------------------------------- */

static bool starts_with(const struct ksym *s, const char *word)
{
	return s->name_len >= strlen(word) && !memcmp(s->name, word, strlen(word));
}

static void note_target(struct inspect *i, u64 target, bool is_call, char note[INSPECT_NOTE])
{
	struct ksym sym;
	u64 offset, size;
	const struct ksyms *s = kspace_try_syms(&i->k);
	if (!s || !ksyms_at(s, target, &sym, &offset, &size))
		return;
	if (is_call && starts_with(&sym, "ftrace_regs_caller"))
		(void)snprintf(note, INSPECT_NOTE, "FTRACE: several users, all registers");
	else if (is_call && starts_with(&sym, "ftrace_caller"))
		(void)snprintf(note, INSPECT_NOTE, "FTRACE: several users");
	else if (is_call && starts_with(&sym, "ftrace_trampoline"))
		(void)snprintf(note, INSPECT_NOTE, "FTRACE: trampoline of the only user");
	else if (is_call && starts_with(&sym, "bpf_trampoline"))
		(void)snprintf(note, INSPECT_NOTE, "FTRACE: BPF trampoline");
	else if (is_call && starts_with(&sym, "__fentry__"))
		(void)snprintf(note, INSPECT_NOTE, "FTRACE: never patched");
	else if (!is_call && starts_with(&sym, "kprobe_optinsn"))
		(void)snprintf(note, INSPECT_NOTE, "KPROBE: optimized");
}

void inspect_note(struct inspect *i, u64 addr, u64 offset, const u8 *code, size_t size,
		  char note[INSPECT_NOTE])
{
	static const u8 ftrace_nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	enum { ENTRY = 4, CALL = 0xe8, JUMP = 0xe9, INT3 = 0xcc, REL32 = 5 };
	*note = '\0';
	if (MACHINE != EM_X86_64)
		return;
	s32 rel;
	bool entry = !offset || offset == ENTRY; /* endbr64 may come first */
	if (entry && size == sizeof(ftrace_nop) && !memcmp(code, ftrace_nop, size)) {
		(void)snprintf(note, INSPECT_NOTE, "FTRACE NOP");
	} else if (size == REL32 && (code[0] == CALL || code[0] == JUMP)) {
		memcpy(&rel, code + 1, sizeof(rel));
		if (entry || code[0] == JUMP)
			note_target(i, addr + REL32 + (u64)(s64)rel, code[0] == CALL, note);
	} else if (size == 1 && code[0] == INT3) {
		(void)snprintf(note, INSPECT_NOTE, "int3: a kprobe, or padding");
	}
}

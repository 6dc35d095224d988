#include "image/usdt_notes.h"

#include "base/bytes.h"
#include "base/str.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_STAPSDT = 3, NOTE_HEAD = 12, NOTES_MAX = 1 << 20, REGISTER_MAX = 8 };

/* ---- notes ----------------------------------------------------------------------------------------------------------------- */

static u64 word(struct bytes *b, bool is64)
{
	return is64 ? bytes_u64(b) : bytes_u32(b);
}

static void align4(struct bytes *b, u32 size)
{
	if (bytes_left(b))
		bytes_skip(b, (4 - size % 4) % 4);
}

/* shift: how far the file was moved since the notes were written (prelink, or a linker that did not know them). */
static int add_note(const struct elfimg *e, struct bytes *d, bool have_base, u64 base_addr,
		    struct usdt_notes *n)
{
	u64 pc = word(d, e->is64), base = word(d, e->is64), semaphore = word(d, e->is64);
	const char *provider = bytes_cstr(d), *name = provider ? bytes_cstr(d) : NULL,
		   *args = name ? bytes_cstr(d) : NULL;
	u64 shift = have_base && base ? base_addr - base : 0;
	struct usdt_note note = { .addr = pc + shift };
	if (!name || !elfimg_offset_of(e, note.addr, &note.offset) ||
	    (semaphore && !elfimg_offset_of(e, semaphore + shift, &note.semaphore))) {
		n->nr_broken++;
		return 0;
	}
	struct usdt_note *slot = vec_push(&n->at);
	note.provider = arena_strdup(&n->arena, provider);
	note.name = arena_strdup(&n->arena, name);
	note.args = arena_strdup(&n->arena, args ? args : "");
	if (!slot || !note.provider || !note.name || !note.args)
		return -ENOMEM;
	*slot = note;
	return 0;
}

static int read_section(const struct elfimg *e, const u8 *data, size_t size, struct usdt_notes *n)
{
	struct elfimg_section base;
	bool have_base = elfimg_section_by_name(e, ".stapsdt.base", &base);
	struct bytes b = bytes_of(data, size, e->swap);
	int err = 0;
	while (!err && bytes_left(&b) >= NOTE_HEAD && n->at.nr < NOTES_MAX) {
		u32 name_size = bytes_u32(&b), desc_size = bytes_u32(&b), type = bytes_u32(&b);
		struct bytes owner = bytes_sub(&b, name_size);
		align4(&b, name_size);
		struct bytes d = bytes_sub(&b, desc_size);
		if (b.bad)
			break;
		align4(&b, desc_size);
		const char *who = bytes_cstr(&owner);
		if (type == NOTE_STAPSDT && who && !strcmp(who, "stapsdt"))
			err = add_note(e, &d, have_base, have_base ? base.addr : 0, n);
	}
	return err;
}

int usdt_notes_read(const struct elfimg *e, struct usdt_notes *ret)
{
	struct usdt_notes n = { 0 };
	struct elfimg_section s;
	arena_init(&n.arena);
	const u8 *data =
		elfimg_section_by_name(e, ".note.stapsdt", &s) ? elfimg_section_data(e, &s) : NULL;
	int err = data ? read_section(e, data, s.size, &n) : 0;
	if (err)
		usdt_notes_done(&n);
	else
		*ret = n;
	return err;
}

void usdt_notes_done(struct usdt_notes *n)
{
	vec_free(&n->at);
	arena_done(&n->arena);
	*n = (struct usdt_notes){ 0 };
}

/* ---- arguments ------------------------------------------------------------------------------------------------------------- */

/* One operand: text of len letters, without the size before it. */
struct operand {
	const char *text;
	size_t len;
};

/* "rdi" "edi" "dil" → "di"; "r10d" → "r10": names of the kernel's pt_regs. */
static bool x86_register(const char *name, size_t len, char to[REGISTER_MAX])
{
	static const char *const plain[][6] = {
		{ "ax", "rax", "eax", "ax", "al", "ah" }, { "bx", "rbx", "ebx", "bx", "bl", "bh" },
		{ "cx", "rcx", "ecx", "cx", "cl", "ch" }, { "dx", "rdx", "edx", "dx", "dl", "dh" },
		{ "si", "rsi", "esi", "si", "sil", "" },  { "di", "rdi", "edi", "di", "dil", "" },
		{ "bp", "rbp", "ebp", "bp", "bpl", "" },  { "sp", "rsp", "esp", "sp", "spl", "" },
		{ "ip", "rip", "eip", "ip", "", "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		for (size_t k = 1; k < ARRAY_SIZE(plain[i]); k++)
			if (strlen(plain[i][k]) == len && !strncmp(plain[i][k], name, len)) {
				(void)snprintf(to, REGISTER_MAX, "%s", plain[i][0]);
				/* The upper half of 16 bits has no name there. */
				return k != 5;
			}
	char copy[REGISTER_MAX];
	if (len < 2 || len >= sizeof(copy) || name[0] != 'r' || !isdigit((unsigned char)name[1]))
		return false;
	memcpy(copy, name, len);
	copy[len] = 0;
	char *end;
	unsigned long n = strtoul(copy + 1, &end, 10);
	if (n < 8 || n > 15 || (*end && (end[1] || !strchr("dwb", *end))))
		return false;
	(void)snprintf(to, REGISTER_MAX, "r%lu", n);
	return true;
}

static bool arm_register(const char *name, size_t len, char to[REGISTER_MAX])
{
	char copy[REGISTER_MAX], *end;
	if (len == 2 && !strncmp(name, "sp", 2)) {
		memcpy(to, "sp", 3);
		return true;
	}
	if (len < 2 || len >= sizeof(copy) || !strchr("xw", name[0]))
		return false;
	memcpy(copy, name, len);
	copy[len] = 0;
	unsigned long n = strtoul(copy + 1, &end, 10);
	if (*end || n > 30 || !isdigit((unsigned char)copy[1]))
		return false;
	(void)snprintf(to, REGISTER_MAX, "x%lu", n);
	return true;
}

/* A whole number at the start; *rest: what follows. */
static bool number(const char *text, size_t len, s64 *ret, size_t *used)
{
	char copy[32], *end;
	size_t n = min(len, sizeof(copy) - 1);
	memcpy(copy, text, n);
	copy[n] = 0;
	errno = 0;
	*ret = strtoll(copy, &end, 0);
	*used = (size_t)(end - copy);
	return !errno && *used;
}

static const char *add_memory(struct strbuf *fetch, s64 offset, const char *reg)
{
	strbuf_printf(fetch, "%+lld(%%%s)", (long long)offset, reg);
	return NULL;
}

/* NULL, or why the kernel cannot fetch it. */
static const char *x86_operand(struct operand o, struct strbuf *fetch)
{
	char reg[REGISTER_MAX];
	s64 v = 0;
	size_t used = 0;
	if (o.len > 1 && *o.text == '$')
		return number(o.text + 1, o.len - 1, &v, &used) && used == o.len - 1
			       ? (strbuf_printf(fetch, "\\%lld", (long long)v), NULL)
			       : "the address of a symbol";
	if (o.len > 1 && *o.text == '%') {
		if (!x86_register(o.text + 1, o.len - 1, reg))
			return "it is in a register that the kernel does not hand out";
		strbuf_printf(fetch, "%%%s", reg);
		return NULL;
	}
	const char *open = memchr(o.text, '(', o.len);
	if (!open || o.text[o.len - 1] != ')')
		return "the operand is not one that we know";
	size_t before = (size_t)(open - o.text);
	if (before && (!number(o.text, before, &v, &used) || used != before))
		return "it is a variable of the program, by name";
	const char *name = open + 1;
	size_t len = o.len - before - 2;
	if (memchr(name, ',', len))
		return "its address is the sum of two registers";
	if (len < 2 || *name != '%' || !x86_register(name + 1, len - 1, reg))
		return "its address is in a register that the kernel does not hand out";
	return add_memory(fetch, v, reg);
}

/* "[sp, 16]" "[x0]" "[x0, x1]" "w0" "5" */
static const char *arm_operand(struct operand o, struct strbuf *fetch)
{
	char reg[REGISTER_MAX];
	s64 v = 0;
	size_t used = 0;
	if (*o.text != '[') {
		if (arm_register(o.text, o.len, reg))
			strbuf_printf(fetch, "%%%s", reg);
		else if (number(o.text, o.len, &v, &used) && used == o.len)
			strbuf_printf(fetch, "\\%lld", (long long)v);
		else
			return "it is in a register that the kernel does not hand out";
		return NULL;
	}
	if (o.text[o.len - 1] != ']')
		return "the operand is not one that we know";
	const char *name = o.text + 1, *comma = memchr(name, ',', o.len - 2);
	size_t len = comma ? (size_t)(comma - name) : o.len - 2;
	if (!arm_register(name, len, reg))
		return "its address is in a register that the kernel does not hand out";
	if (comma) {
		const char *at = comma + 1, *end = o.text + o.len - 1;
		while (at < end && (*at == ' ' || *at == '#'))
			at++;
		if (!number(at, (size_t)(end - at), &v, &used) || at + used != end)
			return "its address is the sum of two registers";
	}
	return add_memory(fetch, v, reg);
}

/* Arguments are separated by blanks, but "[sp, 16]" is one. */
static size_t operand_end(const char *text)
{
	size_t n = 0;
	unsigned depth = 0;
	for (; text[n] && (depth || text[n] != ' '); n++) {
		if (text[n] == '[' || text[n] == '(')
			depth++;
		else if (depth && (text[n] == ']' || text[n] == ')'))
			depth--;
	}
	return n;
}

bool usdt_next_arg(u16 machine, const char **at, struct usdt_arg *ret, struct strbuf *fetch)
{
	const char *text = *at + strspn(*at, " ");
	if (!*text)
		return false;
	size_t len = operand_end(text);
	const char *sign = memchr(text, '@', len);
	struct usdt_arg a = { .text = text, .len = (u32)len, .bytes = 8 };
	struct operand o = { text, len };
	if (sign) {
		s64 size = 0;
		size_t used = 0;
		bool known = number(text, (size_t)(sign - text), &size, &used);
		a.is_signed = size < 0;
		a.bytes = (u8)(size < 0 ? -size : size);
		o = (struct operand){ sign + 1, len - (size_t)(sign + 1 - text) };
		if (!known || text + used != sign)
			a.why_not = "it is a floating-point value";
	}
	if (a.bytes != 1 && a.bytes != 2 && a.bytes != 4 && a.bytes != 8)
		a.why_not = "its size is not that of a number";
	if (!a.why_not && !o.len)
		a.why_not = "the operand is missing";
	if (!a.why_not)
		a.why_not = machine == EM_X86_64    ? x86_operand(o, fetch)
			    : machine == EM_AARCH64 ? arm_operand(o, fetch)
						    : "this machine's operands are not known";
	*at = text + len;
	*ret = a;
	return true;
}

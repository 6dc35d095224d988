/* /proc/kallsyms: "ADDRESS TYPE NAME[<TAB>[MODULE]]". Functions have type t, T, w or W. */
#include "event/probe_kernel.h"

#include "event/closest.h"
#include "kern/kallsyms.h"
#include "kern/sysroot.h"

#include <string.h>

struct symbol_line {
	const char *name, *module; /* not terminated; module NULL: the kernel itself */
	size_t len, module_len;
};

/* The function in a line, if there is one. */
static bool parse_line(const char *at, const char *end, struct symbol_line *ret)
{
	const char *blank = memchr(at, ' ', (size_t)(end - at));
	if (!blank || end - blank < 4 || blank[2] != ' ' || !strchr("tTwW", blank[1]))
		return false;
	*ret = (struct symbol_line){ .name = blank + 3 };
	const char *tab = memchr(ret->name, '\t', (size_t)(end - ret->name));
	ret->len = (size_t)((tab ? tab : end) - ret->name);
	if (tab && end - tab > 3 && tab[1] == '[') {
		ret->module = tab + 2;
		ret->module_len = (size_t)(end - ret->module) - 1;
	}
	return ret->len > 0;
}

static bool is_word(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && !memcmp(at, word, len);
}

/* foo, where the compiler has made foo.isra.0 or foo.constprop.1 of it */
static bool is_variant(const struct symbol_line *l, const char *symbol)
{
	size_t len = strlen(symbol);
	return l->len > len && !memcmp(l->name, symbol, len) && l->name[len] == '.';
}

static void keep_name(struct probe_kernel *ret, const struct symbol_line *l)
{
	if (l->len >= sizeof(ret->close))
		return;
	memcpy(ret->close, l->name, l->len);
	ret->close[l->len] = 0;
}

static void look_line(const struct symbol_line *l, const char *module, const char *symbol,
		      struct probe_kernel *ret)
{
	bool same_module = !module || (l->module ? is_word(l->module, l->module_len, module)
						 : !strcmp(module, "vmlinux"));
	if (is_word(l->name, l->len, symbol)) {
		ret->there |= same_module;
		ret->in_module |= !same_module;
	} else if (!ret->close[0] && is_variant(l, symbol)) {
		keep_name(ret, l);
	}
}

/* What is closest by spelling: only asked when the name is not there. */
static void look_close(const struct kallsyms_text *t, const char *symbol, struct probe_kernel *ret)
{
	struct closest c;
	closest_init(&c, symbol, strlen(symbol));
	for (const char *at = t->data, *end = t->data + t->len, *eol; at < end; at = eol + 1) {
		struct symbol_line l;
		char name[PROBE_NAME_MAX];
		eol = memchr(at, '\n', (size_t)(end - at));
		if (!eol)
			break;
		if (!parse_line(at, eol, &l) || l.len >= sizeof(name) ||
		    l.len > strlen(symbol) + 4 || l.len + 4 < strlen(symbol))
			continue;
		memcpy(name, l.name, l.len);
		name[l.len] = 0;
		if (closest_offer(&c, name))
			keep_name(ret, &l);
	}
}

/* "0xADDRESS-0xADDRESS<TAB>NAME" */
static bool is_refused(const struct sysroot *root, const char *symbol)
{
	struct strbuf text;
	bool found = false;
	strbuf_init(&text);
	if (!sysroot_read(root, "sys/kernel/debug/kprobes/blacklist", &text)) {
		const char *at = strbuf_cstr(&text);
		size_t len = strlen(symbol);
		while (!found && (at = strchr(at, '\t'))) {
			at++;
			found = !strncmp(at, symbol, len) && (at[len] == '\n' || !at[len]);
		}
	}
	strbuf_done(&text);
	return found;
}

void probe_kernel_look(const char *root, const char *module, const char *symbol,
		       struct probe_kernel *ret)
{
	struct kallsyms_text t;
	struct sysroot r;
	*ret = (struct probe_kernel){ 0 };
	if (kallsyms_read(root, NULL, &t)) {
		ret->unknown = true;
		return;
	}
	for (const char *at = t.data, *end = t.data + t.len, *eol; at < end; at = eol + 1) {
		struct symbol_line l;
		eol = memchr(at, '\n', (size_t)(end - at));
		if (!eol)
			break;
		if (parse_line(at, eol, &l))
			look_line(&l, module, symbol, ret);
	}
	ret->unknown = !t.len;
	if (!ret->there && !ret->in_module && !ret->close[0])
		look_close(&t, symbol, ret);
	kallsyms_text_done(&t);
	if (ret->there && !sysroot_open(&r, root && *root ? root : NULL)) {
		ret->refused = is_refused(&r, symbol);
		sysroot_close(&r);
	}
}

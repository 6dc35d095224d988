#include "event/probe_elf.h"
#include "probe/find_dwarf.h"
#include "probe/find_symbol.h"
#include "probe/find_usdt.h"
#include "probe/held.h"
#include "probe/probe.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void probe_defs_init(struct probe_defs *defs)
{
	*defs = (struct probe_defs){ 0 };
	arena_init(&defs->arena);
}

void probe_defs_done(struct probe_defs *defs)
{
	vec_free(&defs->at);
	arena_done(&defs->arena);
}

struct probe_held *probe_held_new(void)
{
	struct probe_held *h = calloc(1, sizeof(*h));
	if (h)
		strbuf_init(&h->blacklist);
	return h;
}

void probe_held_free(struct probe_held *h)
{
	if (!h)
		return;
	if (h->info)
		debuginfo_close(h->info);
	free(h->info);
	if (h->has_symbols)
		kallsyms_text_done(&h->symbols);
	if (h->has_types)
		probe_types_close(&h->types);
	strbuf_done(&h->blacklist);
	free(h);
}

/* Where the last c is; len: nowhere. */
static size_t last_of(const char *text, size_t len, char c)
{
	size_t at = len;
	for (size_t i = 0; i < len; i++)
		if (text[i] == c)
			at = i;
	return at;
}

/* "/bin/zsh:0x46420" as the kernel names it: p_zsh_0x46420. */
static void name_in_file(char letter, const char *place, size_t len, struct strbuf *to)
{
	size_t end = last_of(place, len, ':'), slash = last_of(place, end, '/');
	size_t base = slash < end ? slash + 1 : 0;
	strbuf_printf(to, "uprobes/%c_%.*s", letter,
		      (int)min(strcspn(place + base, ".-_"), end - base), place + base);
	if (end < len)
		strbuf_printf(to, "_0x%llx", strtoull(place + end + 1, NULL, 0));
}

/* "vfs_read+5": p_vfs_read_5; "0xffffffff81...": p_0xffffffff81... */
static void name_in_kernel(char letter, const char *place, size_t len, struct strbuf *to)
{
	const char *plus = memchr(place, '+', len);
	size_t symbol = plus ? (size_t)(plus - place) : len;
	strbuf_printf(to, "kprobes/%c_%.*s", letter, (int)symbol, place);
	if (*place != '0')
		strbuf_printf(to, "_%llu", plus ? strtoull(plus + 1, NULL, 0) : 0ull);
}

/* A line without a name gets the one that the kernel would choose, so that it can be told and taken away again. */
static const char *with_name(const char *line, struct arena *a)
{
	size_t head = strcspn(line, " \t");
	const char *place = line + head + strspn(line + head, " \t");
	size_t len = strcspn(place, " \t");
	if (memchr(line, ':', head) || !strchr("pr", *line) || !len)
		return arena_strdup(a, line);
	struct strbuf name, all;
	strbuf_init(&name);
	strbuf_init(&all);
	if (memchr(place, '/', len))
		name_in_file(*line, place, len, &name);
	else
		name_in_kernel(*line, place, len, &name);
	char *slash = memchr(strbuf_cstr(&name), '/', name.len);
	for (char *c = slash ? slash + 1 : NULL; c && *c; c++)
		*c = isalnum((unsigned char)*c) ? *c : '_';
	strbuf_printf(&all, "%.*s:%s %s", (int)head, line, strbuf_cstr(&name), place);
	const char *kept = arena_strdup(a, strbuf_cstr(&all));
	strbuf_done(&name);
	strbuf_done(&all);
	return kept;
}

static int add_raw(const struct probe_request *r, struct probe_defs *defs, struct diag *d)
{
	if (*r->text == '-')
		return diag_error(d, -EINVAL, "a probe is removed with: sonde probe -d GROUP:EVENT");
	struct probe_def *def = vec_push(&defs->at);
	const char *line = with_name(r->text, &defs->arena);
	if (!def || !line)
		return -ENOMEM;
	*def = (struct probe_def){ .letter = *line, .raw = line };
	return 0;
}

/* Functions that only the symbol tables know: in assembly, of a library without debug information, with a version. */
static bool symbols_may_do(const struct probe_request *r)
{
	return (r->form == PROBE_FUNCTION && !r->has_line && !r->pattern && !r->file) ||
	       r->form == PROBE_ADDRESS;
}

/* Only the symbol shows that a function is an ifunc, not the debug information. */
static void warn_ifuncs(const struct probe_request *r, const struct probe_defs *defs, size_t first,
			struct diag *d)
{
	for (size_t i = first; i < defs->at.nr; i++) {
		const struct probe_def *def = &defs->at.at[i];
		if (def->binary && def->function && !def->in_function &&
		    probe_elf_is_ifunc(def->binary, def->offset))
			probe_warn_ifunc(def->binary,
					 r->function && !r->is_glob ? r->function : def->function,
					 d);
	}
}

/* Debug information first, symbols where it is missing or does not know the function. */
static int find_code(const struct probe_target *target, const struct probe_request *request,
		     struct probe_defs *defs, struct diag *d)
{
	struct diag by_symbol, by_debug;
	size_t first = defs->at.nr;
	int err = probe_check_boundary(target, request, d);
	if (err)
		return err;
	diag_init(&by_debug);
	err = probe_find_dwarf(target, request, defs, &by_debug);
	if (!err)
		warn_ifuncs(request, defs, first, &by_debug);
	/* The running kernel's symbols say nothing about an image that was named. */
	bool named = target->where == PROBE_KERNEL && target->path;
	if (err == -ENODATA && !named) {
		diag_done(&by_debug);
		return probe_find_symbol(target, request, defs, d);
	}
	if (err == -ENOENT && symbols_may_do(request)) {
		diag_init(&by_symbol);
		if (!probe_find_symbol(target, request, defs, &by_symbol)) {
			diag_join(d, &by_symbol);
			err = 0;
		}
		diag_done(&by_symbol);
	}
	if (err || by_debug.nr_errors == 0)
		diag_join(d, &by_debug);
	diag_done(&by_debug);
	return err;
}

int probe_find(const struct probe_target *target, const struct probe_request *request,
	       struct probe_defs *defs, struct diag *d)
{
	switch (request->form) {
	case PROBE_RAW: return add_raw(request, defs, d);
	case PROBE_USDT: return probe_find_usdt(target, request, defs, d);
	case PROBE_TRACEPOINT: return probe_find_symbol(target, request, defs, d);
	default: return find_code(target, request, defs, d);
	}
}

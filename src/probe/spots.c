#include "probe/spots.h"

#include "base/num.h"
#include "base/str.h"
#include "image/buildid.h"
#include "image/debugfile.h"
#include "image/dwarf_code.h"
#include "image/dwarf_info.h"
#include "image/elf.h"
#include "kern/kallsyms.h"
#include "probe/find_dwarf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

/* A place in a file that is looked for. */
struct wanted {
	size_t index; /* in the listing */
	u64 offset, addr;
	u64 best; /* start of the function found so far */
};

struct wanted_list {
	VEC(struct wanted) at;
};

/* "/path/file:0xOFFSET(0xCOUNTER)": where the path ends. false: this is not in a file. */
static bool split_file(const char *place, size_t *path_len, u64 *offset)
{
	if (*place != '/')
		return false;
	const char *colon = strrchr(place, ':');
	char number[32];
	if (!colon)
		return false;
	(void)snprintf(number, sizeof(number), "%.*s", (int)strcspn(colon + 1, "(%"), colon + 1);
	*path_len = (size_t)(colon - place);
	return !num_parse_u64(number, 0, offset);
}

/* ---- files ----------------------------------------------------------------------------------------------------------------- */

static int find_functions(struct probe_spots *s, const struct elfimg *e,
			  const struct elfimg *runtime, u32 type, struct wanted_list *w)
{
	struct elfimg_funcs it;
	struct elfimg_func f;
	if (!elfimg_funcs_init(&it, e, runtime, type))
		return 0;
	while (elfimg_funcs_next(&it, &f))
		vec_for_each (&w->at, q) {
			struct probe_spot *spot = &s->at[q->index];
			bool inside = q->offset >= f.start && (f.size ? q->offset < f.start + f.size
								      : q->offset == f.start);
			if (!inside || (spot->function && f.start <= q->best))
				continue;
			spot->function = arena_strdup(&s->arena, f.name);
			spot->distance = q->offset - f.start;
			q->best = f.start;
			if (!spot->function)
				return -ENOMEM;
		}
	return 0;
}

/* The line that stands for an address in the function around it: inlined code counts by where it was called. */
static bool line_in_function(struct dwcode_unit *u, u32 func, u64 addr, const char **path, u32 *line)
{
	u32 in = dwcode_inlined_at(u, func, addr);
	if (in != DWCODE_NO_SCOPE && dwcode_called(u, &u->scopes.at[in], path, line))
		return true;
	return probe_line_of(u, addr, path, line);
}

static int find_line(struct probe_spots *s, struct dwcode *code, const struct wanted *q)
{
	struct dwcode_unit u;
	struct probe_spot *spot = &s->at[q->index];
	const char *path, *own;
	u32 unit, line, first;
	if (!dwcode_unit_at(code, q->addr, &unit))
		return 0;
	int err = dwcode_unit_open(code, unit, &u);
	if (err)
		return err == -ENOMEM ? err : 0;
	u32 func = dwcode_function_at(&u, q->addr);
	if (func != DWCODE_NO_SCOPE && line_in_function(&u, func, q->addr, &path, &line)) {
		spot->file = arena_strdup(&s->arena, path);
		spot->line = line;
		bool known = dwcode_declared(&u, &u.scopes.at[func], &own, &first);
		spot->is_relative = known && line >= first && !strcmp(own, path);
		spot->in_function = spot->is_relative ? line - first : 0;
		err = spot->file ? 0 : -ENOMEM;
	}
	dwcode_unit_done(&u);
	return err;
}

static int find_lines(struct probe_spots *s, const struct elfimg *e,
		      const struct debugfile_where *where, const char *path, struct wanted_list *w)
{
	struct dwcode *code;
	int err = dwcode_open(e, where, path, &code);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = dwcode_read_units(code);
	err = err == -ENOMEM ? err : 0;
	for (size_t i = 0; i < w->at.nr && !err; i++)
		err = find_line(s, code, &w->at.at[i]);
	dwcode_close(code);
	return err;
}

static int find_in_file(struct probe_spots *s, const char *path, struct wanted_list *w)
{
	struct elfimg e, debug;
	const struct debugfile_where where = { 0 };
	struct buildid id = { 0 };
	if (elfimg_open(&e, path, NULL))
		return 0;
	vec_for_each (&w->at, q)
		(void)elfimg_vaddr_of(&e, q->offset, &q->addr);
	(void)!buildid_of_image(&e, &id);
	bool have_debug = debugfile_open(&where, path, &e, &id, &debug) == 0;
	int err = find_functions(s, &e, &e, SHT_SYMTAB, w);
	if (!err)
		err = find_functions(s, &e, &e, SHT_DYNSYM, w);
	if (!err && have_debug)
		err = find_functions(s, &debug, &e, SHT_SYMTAB, w);
	if (!err && dwinfo_has(&e))
		err = find_lines(s, &e, &where, path, w);
	else if (!err && have_debug)
		err = find_lines(s, &debug, &where, path, w);
	if (have_debug)
		elfimg_close(&debug);
	elfimg_close(&e);
	return err;
}

/* All places of the file that the first of them is in. done[i]: looked at. */
static int find_file_of(struct probe_spots *s, size_t first, bool *done)
{
	const struct probe_listing *l = s->listing;
	struct wanted_list w = { 0 };
	size_t len = 0, other = 0;
	u64 offset;
	int err = 0;
	if (!split_file(l->at.at[first].place, &len, &offset))
		return 0;
	for (size_t i = first; i < l->at.nr && !err; i++) {
		if (done[i] || !split_file(l->at.at[i].place, &other, &offset) || other != len ||
		    strncmp(l->at.at[i].place, l->at.at[first].place, len))
			continue;
		done[i] = true;
		struct wanted *q = vec_push(&w.at);
		if (q)
			*q = (struct wanted){ .index = i, .offset = offset };
		else
			err = -ENOMEM;
	}
	char *path = strndup(l->at.at[first].place, len);
	if (!path)
		err = -ENOMEM;
	if (!err)
		err = find_in_file(s, path, &w);
	free(path);
	vec_free(&w.at);
	return err;
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------------ */

/* "[MODULE:]SYMBOL[+OFFSET]", "0xADDRESS" */
static int split_symbol(struct probe_spots *s, size_t i)
{
	struct probe_spot *spot = &s->at[i];
	const char *place = s->listing->at.at[i].place, *colon = strchr(place, ':');
	place = colon ? colon + 1 : place;
	size_t len = strcspn(place, "+%");
	spot->function = arena_strndup(&s->arena, place, len);
	if (!spot->function)
		return -ENOMEM;
	if (place[len] == '+')
		spot->distance = strtoull(place + len + 1, NULL, 0);
	return 0;
}

static bool needs_kallsyms(const struct probe_spot *spot)
{
	return spot->function && (!strcmp(spot->function, "_text") ||
				  !strcmp(spot->function, "_stext") || *spot->function == '0');
}

struct nearest {
	u64 addr, best;
	const char *name;
	size_t len;
};

/* The function that starts last before the address. */
static void find_nearest(const struct kallsyms_text *t, struct nearest *n, u64 *text)
{
	for (const char *at = t->data, *end = t->data + t->len, *eol; at < end; at = eol + 1) {
		eol = memchr(at, '\n', (size_t)(end - at));
		if (!eol)
			break;
		u64 addr = strtoull(at, NULL, 16);
		const char *type = memchr(at, ' ', (size_t)(eol - at));
		if (!type || eol - type < 4 || !strchr("tTwW", type[1]))
			continue;
		const char *name = type + 3;
		size_t len = strcspn(name, "\t\n");
		if (len == 5 && !memcmp(name, "_text", 5))
			*text = addr;
		if (n && addr <= n->addr && addr > n->best)
			*n = (struct nearest){ n->addr, addr, name, len };
	}
}

static int find_in_kernel(struct probe_spots *s, const char *root)
{
	struct kallsyms_text t;
	u64 text = 0;
	bool needed = false;
	int err = 0;
	for (size_t i = 0; i < s->listing->at.nr; i++)
		needed |= needs_kallsyms(&s->at[i]);
	if (!needed || kallsyms_read(root, NULL, &t))
		return 0;
	find_nearest(&t, NULL, &text);
	for (size_t i = 0; i < s->listing->at.nr && !err; i++) {
		struct probe_spot *spot = &s->at[i];
		if (!needs_kallsyms(spot) || (*spot->function == '_' && !text))
			continue;
		struct nearest n = { .addr = *spot->function == '0'
						     ? strtoull(spot->function, NULL, 16)
						     : text + spot->distance };
		find_nearest(&t, &n, &text);
		if (!n.name)
			continue;
		spot->function = arena_strndup(&s->arena, n.name, n.len);
		spot->distance = n.addr - n.best;
		err = spot->function ? 0 : -ENOMEM;
	}
	kallsyms_text_done(&t);
	return err;
}

/* ---- all ------------------------------------------------------------------------------------------------------------------- */

int probe_spots_open(struct probe_spots *s, const struct probe_listing *l, const char *root)
{
	*s = (struct probe_spots){ .listing = l };
	arena_init(&s->arena);
	s->at = arena_array(&s->arena, l->at.nr + 1, sizeof(*s->at));
	bool *done = calloc(l->at.nr + 1, sizeof(*done));
	int err = s->at && done ? 0 : -ENOMEM;
	for (size_t i = 0; i < l->at.nr && !err; i++) {
		size_t len;
		u64 offset;
		const struct probe_listed *p = &l->at.at[i];
		if (done[i])
			continue;
		if (split_file(p->place, &len, &offset))
			err = find_file_of(s, i, done);
		else if (p->letter == 'p' || p->letter == 'r' || p->letter == 'f')
			err = split_symbol(s, i);
	}
	if (!err)
		err = find_in_kernel(s, root);
	free(done);
	return err;
}

void probe_spots_close(struct probe_spots *s)
{
	arena_done(&s->arena);
	*s = (struct probe_spots){ 0 };
}

void probe_spots_text(const struct probe_spots *s, size_t i, struct strbuf *to)
{
	const struct probe_listed *p = &s->listing->at.at[i];
	const struct probe_spot *spot = &s->at[i];
	size_t len;
	u64 offset;
	bool file = split_file(p->place, &len, &offset);
	if (spot->function)
		strbuf_str(to, spot->function);
	else if (file)
		strbuf_printf(to, "0x%llx", (ull)offset);
	else
		strbuf_str(to, p->place);
	/* As perf: the line within the function, where that is known. */
	if (spot->function && spot->distance && !spot->is_relative)
		strbuf_printf(to, "+%llu", (ull)spot->distance);
	if (spot->is_relative && spot->in_function)
		strbuf_printf(to, ":%u", spot->in_function);
	if (p->letter == 'r' || (spot->function && strstr(p->place, "%return")))
		strbuf_str(to, "%return");
	if (spot->file) {
		strbuf_printf(to, "@%s", spot->file);
		if (!spot->is_relative && spot->line)
			strbuf_printf(to, ":%u", spot->line);
	}
	if (file)
		strbuf_printf(to, " in %.*s", (int)len, p->place);
}

#include "probe/names.h"

#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

enum {
	NAME_SIZE = 64, /* MAX_EVENT_NAME_LEN of the kernel, with the zero */
	SUFFIX_ROOM = 8, /* "__return" */
	NUMBERS_MAX = 1024, /* perf's limit */
	FILE_TAIL = 30, /* letters of a source file's name that perf shows */
};

/* "/usr/lib/libc.so.6" → "probe_libc" */
static const char *group_of(struct arena *a, const struct probe_def *def)
{
	char name[NAME_SIZE];
	if (!def->binary)
		return "probe";
	const char *slash = strrchr(def->binary, '/'), *base = slash ? slash + 1 : def->binary;
	size_t len = 0;
	while (isalnum((unsigned char)base[len]) || base[len] == '_')
		len++;
	(void)snprintf(name, sizeof(name), "probe_%.*s", (int)len, base);
	return arena_strdup(a, name);
}

/* Without the suffixes of clones (.isra.0) and versions (@GLIBC_2.2.5); what no name may hold becomes '_'. */
static void clean(const char *from, char to[NAME_SIZE])
{
	size_t len = 0, room = NAME_SIZE - 1 - SUFFIX_ROOM;
	from += *from == '.';
	if (isdigit((unsigned char)*from)) {
		memcpy(to, "at_", 3);
		len = 3;
	}
	for (; *from && len < room && (!strchr(".@", *from) || !len); from++)
		to[len++] = isalnum((unsigned char)*from) ? *from : '_';
	to[len] = 0;
}

/* "Foo::bar(int)": parameters are not part of a name. */
static void base_name(const struct probe_request *r, const struct probe_def *def, char to[NAME_SIZE])
{
	char address[32];
	const char *from = r->function && !r->is_glob && !str_starts(r->function, "0x") ? r->function
			   : def->realname ? def->realname
					   : def->function;
	if (r->form == PROBE_USDT && def->function)
		from = def->function;
	if (!from && def->symbol && strcmp(def->symbol, "_text"))
		from = def->symbol;
	if (!from) {
		(void)snprintf(address, sizeof(address), "abs_%llx", (ull)def->offset);
		from = address;
	}
	const char *parameters = strchr(from, '(');
	char bare[256];
	(void)snprintf(bare, sizeof(bare), "%.*s",
		       parameters && parameters > from ? (int)(parameters - from)
						       : (int)sizeof(bare) - 1,
		       from);
	clean(bare, to);
	if (r->function && r->has_line && !r->is_glob) {
		size_t len = strlen(to);
		(void)snprintf(to + len, NAME_SIZE - len, "_L%u", r->line);
	}
	if (!*to)
		memcpy(to, "probe", sizeof("probe"));
}

static bool is_taken(const struct probe_defs *defs, size_t nr, const struct probe_listing *taken,
		     const char *group, const char *event)
{
	for (size_t i = 0; i < nr; i++) {
		const struct probe_def *d = &defs->at.at[i];
		if (d->group && d->event && !strcmp(d->group, group) && !strcmp(d->event, event))
			return true;
	}
	return taken && probe_listing_find(taken, group, event);
}

static int check_word(const char *word, const char *what, struct diag *d)
{
	bool good = isalpha((unsigned char)*word) || *word == '_';
	for (const char *c = word; *c; c++)
		good = good && (isalnum((unsigned char)*c) || *c == '_');
	if (good && strlen(word) < NAME_SIZE)
		return 0;
	int err = diag_error(d, -EINVAL, "invalid %s name '%s'", what, word);
	diag_hint(d, "letters, digits and _ only, at most %d of them", NAME_SIZE - 1);
	return err;
}

static int exists(const char *group, const char *event, struct diag *d)
{
	int err = diag_error(d, -EEXIST, "event \"%s:%s\" already exists", group, event);
	diag_hint(d, "remove it with: sonde probe -d %s:%s", group, event);
	diag_hint(d, "add another one beside it with -f, or give it a name: NAME=FUNCTION");
	return err;
}

/* The first name that is free: BASE, BASE__return, or BASE_1 and so on. */
static int free_name(struct probe_defs *defs, size_t at, const struct probe_listing *taken,
		     const char *base, bool numbered, struct diag *d)
{
	struct probe_def *def = &defs->at.at[at];
	char name[NAME_SIZE + 16];
	bool is_return = def->is_return || def->letter == 'r';
	(void)snprintf(name, sizeof(name), "%s%s", base, is_return ? "__return" : "");
	if (is_taken(defs, at, taken, def->group, name)) {
		if (!numbered)
			return exists(def->group, name, d);
		unsigned n = 1;
		for (; n < NUMBERS_MAX; n++) {
			(void)snprintf(name, sizeof(name), "%s_%u", base, n);
			if (!is_taken(defs, at, taken, def->group, name))
				break;
		}
		if (n == NUMBERS_MAX)
			return exists(def->group, base, d);
	}
	def->event = arena_strdup(&defs->arena, name);
	return def->event ? 0 : -ENOMEM;
}

/* A name that a person chose is taken as it is: no __return. */
static int chosen_name(struct probe_defs *defs, size_t at, const struct probe_listing *taken,
		       const char *event, bool numbered, struct diag *d)
{
	struct probe_def *def = &defs->at.at[at];
	bool is_return = def->is_return;
	char letter = def->letter;
	int err = check_word(event, "event", d);
	if (err)
		return err;
	def->is_return = false;
	def->letter = 'p';
	err = free_name(defs, at, taken, event, numbered, d);
	def->is_return = is_return;
	def->letter = letter;
	return err;
}

int probe_names_choose(struct probe_defs *defs, size_t first, const struct probe_request *request,
		       const struct probe_listing *taken, bool force, struct diag *d)
{
	int err = request->group ? check_word(request->group, "group", d) : 0;
	for (size_t i = first; i < defs->at.nr && !err; i++) {
		struct probe_def *def = &defs->at.at[i];
		char base[NAME_SIZE];
		bool numbered = force || i > first;
		if (def->raw)
			continue;
		def->group = request->group		   ? request->group
			     : request->form == PROBE_USDT ? def->group
							   : NULL;
		if (!def->group)
			def->group = group_of(&defs->arena, def);
		if (!def->group)
			return -ENOMEM;
		if (request->event) {
			err = chosen_name(defs, i, taken, request->event, numbered, d);
			continue;
		}
		base_name(request, def, base);
		err = free_name(defs, i, taken, base, numbered, d);
	}
	return err;
}

/* ---- places in words ------------------------------------------------------------------------------------------------------- */

static const char *file_tail(const char *file)
{
	size_t len = strlen(file);
	if (len <= FILE_TAIL)
		return file;
	const char *slash = strchr(file + len - FILE_TAIL, '/');
	return slash ? slash + 1 : file + len - FILE_TAIL;
}

void probe_place_text(const struct probe_def *def, const struct probe_request *r, struct strbuf *to)
{
	if (def->raw || r->form == PROBE_RAW) {
		strbuf_str(to, def->raw ? def->raw : r->text);
		return;
	}
	if (r->form == PROBE_USDT)
		strbuf_printf(to, "%%%s%s:%s",
			      r->provider && str_starts(r->provider, "sdt_") ? "" : "sdt_",
			      r->provider ? r->provider : "*",
			      def->function ? def->function : r->name);
	else if (r->form == PROBE_TRACEPOINT)
		strbuf_str(to, r->name);
	const char *function = r->is_glob || !r->function ? def->function : r->function;
	if (r->form == PROBE_ADDRESS)
		strbuf_printf(to, "0x%llx", (ull)r->offset);
	else if (function && (r->function || r->form == PROBE_FUNCTION))
		strbuf_str(to, function);
	if (r->function && r->has_offset && r->offset)
		strbuf_printf(to, "+%llu", (ull)r->offset);
	if (r->function && r->has_line)
		strbuf_printf(to, ":%u", r->line);
	if (r->pattern)
		strbuf_printf(to, ";%s", r->pattern);
	if (r->is_return)
		strbuf_str(to, "%return");
	if (r->file) {
		strbuf_printf(to, "@%s", file_tail(r->file));
		if (!r->function && r->has_line)
			strbuf_printf(to, ":%u", r->line);
	}
	if (def->binary)
		strbuf_printf(to, " in %s", def->binary);
	else if (def->module)
		strbuf_printf(to, " in %s", def->module);
}

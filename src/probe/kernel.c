/*
 * What the kernel lists:  p:probe/vfs_read vfs_read+0 count=%dx      kprobe_events, and dynamic_events for all kinds
 * and its counts:           vfs_read             12       0            kprobe_profile: hits, misses (kretprobes)
 *                           /bin/bash readline    3                    uprobe_profile: file, event, hits
 */
#include "probe/kernel.h"

#include "base/glob.h"
#include "base/num.h"
#include "base/str.h"
#include "kern/journal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- listing --------------------------------------------------------------------------------------------------------------- */

static char *word_of(struct arena *a, const char **at, const char *stop)
{
	size_t len = strcspn(*at, stop);
	char *copy = arena_strndup(a, *at, len);
	*at += len;
	return copy;
}

/* One line without its end. 1: it is not a probe. */
static int parse_line(struct probe_listing *l, const char *line, const char *file)
{
	const char *at = line + 1, *colon = strchr(line, ':');
	if (!*line || !strchr("prfte", *line) || !colon || colon > line + strcspn(line, " "))
		return 1;
	at = colon + 1;
	struct probe_listed p = { .letter = *line, .file = file };
	p.group = word_of(&l->arena, &at, "/ ");
	at += *at == '/';
	p.event = word_of(&l->arena, &at, " ");
	at += *at == ' ';
	p.place = word_of(&l->arena, &at, " ");
	p.args = arena_strdup(&l->arena, at);
	struct probe_listed *slot = vec_push(&l->at);
	if (!slot || !p.group || !p.event || !p.place || !p.args)
		return -ENOMEM;
	*slot = p;
	return 0;
}

static int list_file(const struct tracing *t, const char *file, struct probe_listing *l)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = tracing_read(t, file, &text);
	char *at = strbuf_room(&text, 1);
	if (!err && !at)
		err = -ENOMEM;
	if (!err)
		text.data[text.len] = 0;
	for (at = err ? NULL : text.data; at && *at && err >= 0;) {
		size_t len = strcspn(at, "\n");
		bool more = at[len] == '\n';
		at[len] = 0;
		err = parse_line(l, at, file);
		at += len + more;
	}
	strbuf_done(&text);
	return min(err, 0);
}

/* Counts come in the order of the list, without groups: the next of this name that has none yet. */
static struct probe_listed *next_uncounted(struct probe_listing *l, const char *file,
					   const char *event)
{
	vec_for_each (&l->at, p)
		if (!p->has_hits && !strcmp(p->file, file) && !strcmp(p->event, event))
			return p;
	return NULL;
}

/* Takes the last word off a line; NULL: it has none. */
static char *cut_word(char *line)
{
	size_t len = strlen(line);
	while (len && isspace((unsigned char)line[len - 1]))
		line[--len] = 0;
	while (len && !isspace((unsigned char)line[len - 1]))
		len--;
	if (!line[len])
		return NULL;
	if (len)
		line[len - 1] = 0;
	return line + len;
}

/* "  EVENT  HITS  MISSES" of kprobes, "  FILE EVENT  HITS" of uprobes, whose files may have blanks in their names. */
static void count_line(struct probe_listing *l, char *line, bool user)
{
	u64 hits, misses = 0;
	char *last = cut_word(line), *before = last ? cut_word(line) : NULL;
	char *event = user ? before : before ? cut_word(line) : NULL;
	if (!event || num_parse_u64(user ? last : before, 10, &hits) ||
	    (!user && num_parse_u64(last, 10, &misses)))
		return;
	const char *slash = strchr(event, '/');
	struct probe_listed *p = next_uncounted(l, user ? "uprobe_events" : "kprobe_events",
						slash ? slash + 1 : event);
	if (!p)
		return;
	p->hits = hits;
	p->misses = misses;
	p->has_hits = true;
	p->has_misses = !user;
}

static int read_counts(const struct tracing *t, const char *file, bool user, struct probe_listing *l)
{
	struct strbuf text;
	strbuf_init(&text);
	if (!tracing_read(t, file, &text) && strbuf_room(&text, 1)) {
		char *at = text.data;
		at[text.len] = 0;
		while (*at) {
			size_t len = strcspn(at, "\n");
			bool more = at[len] == '\n';
			at[len] = 0;
			count_line(l, at, user);
			at += len + more;
		}
	}
	int err = text.err;
	strbuf_done(&text);
	return err;
}

int probe_list(const struct tracing *t, struct probe_listing *ret)
{
	static const char *const files[] = { "kprobe_events", "uprobe_events", "dynamic_events" };
	struct probe_listing l = { 0 };
	bool any = false;
	int err = t->err;
	arena_init(&l.arena);
	for (size_t i = 0; i < ARRAY_SIZE(files) && !err; i++) {
		if (!tracing_has(t, files[i]))
			continue;
		any = true;
		struct probe_listing all = { .arena = l.arena };
		err = list_file(t, files[i], &all);
		l.arena = all.arena;
		/* dynamic_events has those of the others once more. */
		for (size_t k = 0; k < all.at.nr && !err; k++) {
			const struct probe_listed *p = &all.at.at[k];
			const struct probe_listed *old = probe_listing_find(&l, p->group, p->event);
			/* Several places of one event are in one file. */
			bool again = old && strcmp(old->file, p->file) != 0;
			struct probe_listed *slot = again ? NULL : vec_push(&l.at);
			if (slot)
				*slot = *p;
			else if (!again)
				err = -ENOMEM;
		}
		vec_free(&all.at);
	}
	if (!err)
		err = any ? read_counts(t, "kprobe_profile", false, &l) : -ENOTSUP;
	if (!err)
		err = read_counts(t, "uprobe_profile", true, &l);
	if (err)
		probe_listing_done(&l);
	else
		*ret = l;
	return err;
}

void probe_listing_done(struct probe_listing *l)
{
	vec_free(&l->at);
	arena_done(&l->arena);
	*l = (struct probe_listing){ 0 };
}

const struct probe_listed *probe_listing_find(const struct probe_listing *l, const char *group,
					      const char *event)
{
	vec_for_each (&l->at, p)
		if (!strcmp(p->event, event) && !strcmp(p->group, group))
			return p;
	return NULL;
}

bool probe_listed_matches(const struct probe_listed *p, const char *pattern)
{
	char group[256];
	size_t len = strcspn(pattern, ":/");
	if (!pattern[len])
		return glob_match(pattern, p->event);
	(void)snprintf(group, sizeof(group), "%.*s", (int)len, pattern);
	return glob_match(group, p->group) && glob_match(pattern + len + 1, p->event);
}

/* ---- files ----------------------------------------------------------------------------------------------------------------- */

const char *probe_file_for(const struct tracing *t, char letter, bool in_binary)
{
	const char *file = letter != 'p' && letter != 'r' ? "dynamic_events"
			   : in_binary			  ? "uprobe_events"
							  : "kprobe_events";
	return tracing_has(t, file) ? file : NULL;
}

/* The place of a definition: its second word. */
static const char *second_word(const char *line)
{
	line += strcspn(line, " \t");
	return line + strspn(line, " \t");
}

const char *probe_file_for_line(const struct tracing *t, const struct probe_listing *now,
				const char *line)
{
	if (*line == '-') {
		const char *name = line + strcspn(line, ":");
		vec_for_each (&now->at, p)
			if (*name && probe_listed_matches(p, name + 1))
				return p->file;
		return NULL;
	}
	/* "/path/file:0xOFFSET" */
	const char *place = second_word(line);
	return probe_file_for(t, *line, *place == '/' || *place == '.');
}

/* ---- adding ---------------------------------------------------------------------------------------------------------------- */

/* "-:GROUP/EVENT" of a definition. A raw line without a name gets it from the kernel: then it cannot be told. */
static bool undo_line(const struct probe_def *def, char *to, size_t size)
{
	if (!def->raw)
		return snprintf(to, size, "-:%s/%s", def->group, def->event) < (int)size;
	const char *colon = strchr(def->raw, ':');
	size_t head = strcspn(def->raw, " \t");
	if (!colon || colon > def->raw + head)
		return false;
	size_t len = head - (size_t)(colon + 1 - def->raw);
	bool grouped = memchr(colon, '/', len + 1);
	bool user = strchr("/.", *second_word(def->raw)) && strchr("pr", *def->raw);
	const char *group = grouped		      ? ""
			    : user		      ? "uprobes/"
			    : strchr("pr", *def->raw) ? "kprobes/"
			    : *def->raw == 'f'	      ? "fprobes/"
			    : *def->raw == 't'	      ? "tracepoints/"
						      : "eprobes/";
	return snprintf(to, size, "-:%s%.*s", group, (int)len, colon + 1) < (int)size;
}

static bool in_list(const struct tracing *t, const char *file, const char *symbol)
{
	struct strbuf text;
	bool found = false;
	size_t len = strlen(symbol);
	strbuf_init(&text);
	if (!tracing_read(t, file, &text)) {
		const char *at = strbuf_cstr(&text);
		for (; !found && (at = strstr(at, symbol)); at += len)
			found = (at == text.data || isspace((unsigned char)at[-1])) &&
				(!at[len] || isspace((unsigned char)at[len]));
	}
	strbuf_done(&text);
	return found;
}

/* Why the kernel may have said no, in words; the journal's message came before. */
static void explain(const struct tracing *t, const struct probe_def *def, int err, struct diag *d)
{
	const char *symbol = def->function ? def->function : def->symbol;
	switch (err) {
	case -EILSEQ:
		diag_hint(d,
			  "EILSEQ: the address is in the middle of an instruction; "
			  "'sonde probe %s FUNCTION' lists those that can be probed",
			  diag_option(d, DIAG_OPT_OFFSETS));
		break;
	case -EEXIST:
		if (def->letter == 't')
			diag_hint(d, "EEXIST: the name is taken, or there is another t: probe on "
				     "this tracepoint, and the kernel allows one only");
		else
			diag_hint(d,
				  "EEXIST: there is a probe of this name with other arguments or "
				  "elsewhere: -f adds another, -d removes it");
		break;
	case -ENOENT:
		diag_hint(d, def->binary
				     ? "ENOENT: the file has gone"
				     : "ENOENT: the kernel has no such symbol; it may have been "
				       "inlined, or its module is not loaded");
		break;
	case -EADDRNOTAVAIL:
		diag_hint(d, "EADDRNOTAVAIL: the name is that of several functions: say which by "
			     "FUNCTION@FILE, or by its address");
		break;
	case -EINVAL:
		if (def->binary)
			diag_hint(d, "EINVAL: uprobes need a regular file on a file system with "
				     "real pages, and an offset inside of its code");
		else if (symbol && strchr("pr", def->letter) &&
			 !in_list(t, "available_filter_functions", symbol))
			diag_hint(
				d,
				"EINVAL: %s is marked notrace, part of the kernel's start or end, "
				"or on its blacklist: /sys/kernel/debug/kprobes/blacklist",
				symbol);
		break;
	case -EPERM:
	case -EACCES: diag_hint(d, "probes are for root (CAP_SYS_ADMIN)"); break;
	default: break;
	}
}

/* Whether the kernel's own help has that kind of definition: "	f[:[<group>/][<event>]] <func-name>[%return] [<args>]". */
static bool has_kind(const struct tracing *t, char letter)
{
	const char words[] = { letter, '[', 0 };
	struct strbuf text;
	bool found = false;
	strbuf_init(&text);
	if (tracing_read(t, "README", &text))
		found = true; /* not known: leave it to the kernel */
	const char *all = strbuf_cstr(&text);
	for (const char *at = all; !found && (at = strstr(at, words)); at++)
		found = at > all && isspace((unsigned char)at[-1]);
	strbuf_done(&text);
	return found;
}

static int no_such_kind(char letter, struct diag *d)
{
	bool tracepoint = letter == 't';
	int err = diag_error(d, -ENOTSUP, "this kernel has no %s",
			     tracepoint ? "probes on tracepoints (t:)" : "fprobe events (f:)");
	diag_hint(d, "Linux 6.5 and later have them, with CONFIG_FPROBE_EVENTS=y");
	diag_hint(d, tracepoint ? "events of tracepoints need no probe: sonde list 'SYSTEM:NAME'"
				: "kprobes do the same: sonde probe FUNCTION, "
				  "FUNCTION%%return");
	return err;
}

int probe_define(struct journal *j, const struct tracing *t, const struct probe_def *def,
		 struct diag *d)
{
	char undo[300];
	struct strbuf line;
	const char *file;
	if (def->raw) {
		const struct probe_listing none = { 0 };
		file = probe_file_for_line(t, &none, def->raw);
	} else {
		file = probe_file_for(t, def->letter, def->binary != NULL);
	}
	if (!file) {
		bool user = def->binary != NULL;
		int err = diag_error(d, -ENOTSUP, "this kernel has no %s",
				     user ? "probes on programs" : "probes of this kind");
		diag_hint(d, user ? "CONFIG_UPROBE_EVENTS=y is missing"
				  : "CONFIG_KPROBE_EVENTS=y (for f: and t: CONFIG_FPROBE_EVENTS=y) "
				    "is missing");
		return err;
	}
	if (strchr("ft", def->letter) && !has_kind(t, def->letter))
		return no_such_kind(def->letter, d);
	if (!undo_line(def, undo, sizeof(undo)))
		return diag_error(d, -EINVAL, "the definition needs a name: %.1s:GROUP/EVENT ...",
				  def->raw ? def->raw : "p");
	strbuf_init(&line);
	probe_def_text(def, &line);
	(void)strbuf_cstr(&line);
	int err = line.err ? line.err : journal_add(j, file, line.data, undo, d);
	/* Where the kernel gave its own reason, that is the one. */
	size_t nr = d ? d->items.nr : 0;
	bool told = nr && str_starts(d->items.at[nr - 1].message, "the kernel reports") &&
		    !strstr(d->items.at[nr - 1].message, "Failed to register probe event");
	if (err && err != -ENOMEM && !(told && err == -EINVAL))
		explain(t, def, err, d);
	strbuf_done(&line);
	return err;
}

int probe_add(const struct tracing *t, const struct probe_defs *defs, const char *title,
	      struct diag *d)
{
	struct journal *j;
	int err = t->err ? tracing_explain(t, d) : 0;
	if (err)
		return err;
	err = journal_open(&j, t, &(struct journal_opts){ .title = title }, d);
	if (err)
		return err;
	char name[64];
	(void)snprintf(name, sizeof(name), "%s", journal_name(j));
	for (size_t i = 0; i < defs->at.nr && !err; i++)
		err = probe_define(j, t, &defs->at.at[i], d);
	/*
	 * They are meant to stay, and nothing tells of it afterwards. The watchdog holds the journal open until journal_keep(), so that a death
	 * up to there undoes them all.
	 */
	if (!err)
		err = journal_forget(journal_run_dir(j), name);
	if (!err)
		err = journal_keep(j);
	journal_close(j, d);
	return err;
}

int probe_delete(const struct tracing *t, const struct probe_listed *p, struct diag *d)
{
	char line[300];
	(void)snprintf(line, sizeof(line), "-:%s/%s", p->group, p->event);
	int err = tracing_write(t, p->file, line, false);
	if (!err)
		return 0;
	(void)diag_error(d, err, "cannot remove %s:%s: %s", p->group, p->event, strerror(-err));
	if (err == -EBUSY)
		diag_hint(d,
			  "somebody is using it: a running recording, or an instance where it "
			  "is switched on (events/%s/%s/enable)",
			  p->group, p->event);
	else if (err == -EPERM || err == -EACCES)
		diag_hint(d, "probes are for root (CAP_SYS_ADMIN)");
	return err;
}

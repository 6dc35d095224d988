/*
 * Two lists: what rows are ordered by, and what is shown of them. As in perf, each list is filled up from the other one: a key that
 * rows are sorted by is shown, and what is shown tells rows apart.
 */
#include "session/report_keys.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usual_keys[] = "comm,dso,symbol";

struct report_keys_list {
	struct profile_field *at;
	u32 *nr;
	const struct catalog *catalog;
	const struct report_labels *labels;
	const char *option; /* for messages */
	struct diag *diag;
	bool shows; /* of columns: has no fields of tracepoints */
	bool branches;
};

static int add_field(struct report_keys_list *l, struct profile_field f)
{
	for (u32 i = 0; i < *l->nr; i++)
		if (l->at[i].key == f.key && l->at[i].field == f.field && l->at[i].event == f.event)
			return 0;
	if (*l->nr == PROFILE_FIELDS_MAX)
		return diag_error(l->diag, -EINVAL, "%s: more than %d keys", l->option,
				  PROFILE_FIELDS_MAX);
	l->at[(*l->nr)++] = f;
	return 0;
}

static int add_key(struct report_keys_list *l, enum profile_key key)
{
	return add_field(l, (struct profile_field){ .key = key });
}

/* ---- fields of tracepoints ---- */

/* Whether an event goes by this name: "%2" by number, with a colon in full, else in part. */
static bool event_named(const struct catalog *c, u32 event, const char *name, size_t len)
{
	const char *own = c->events.at[event].name;
	if (*name == '%')
		return (u32)strtoul(name + 1, NULL, 10) == event + 1;
	if (memchr(name, ':', len))
		return strlen(own) == len && !strncmp(own, name, len);
	for (; *own; own++)
		if (!strncmp(own, name, len))
			return true;
	return false;
}

static int event_fields(struct report_keys_list *l, u32 event, const char *name, size_t len,
			bool raw, u32 level, bool *found)
{
	const struct schema *s = l->catalog->events.at[event].schema;
	bool all = (len == 1 && *name == '*') || (len == 12 && !strncmp(name, "trace_fields", len));
	for (u32 i = all && s ? s->nr_common : 0; s && i < s->nr_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		if (!all && (strlen(f->name) != len || strncmp(f->name, name, len)))
			continue;
		*found = true;
		int err = add_field(l, (struct profile_field){ .key = PROFILE_KEY_FIELD,
							       .event = event,
							       .field = f,
							       .raw = raw,
							       .level = level });
		if (err)
			return err;
	}
	return 0;
}

/* "[EVENT.]FIELD[/raw]". */
static int trace_field(struct report_keys_list *l, const char *word, u32 level, bool *found)
{
	const char *dot = strrchr(word, '.'), *name = dot ? dot + 1 : word;
	size_t len = strcspn(name, "/");
	bool raw = !strcmp(name + len, "/raw");
	if (name[len] && !raw)
		return 0;
	int err = 0;
	for (u32 e = 0; e < l->catalog->events.nr && !err; e++)
		if (!dot || event_named(l->catalog, e, word, (size_t)(dot - word)))
			err = event_fields(l, e, name, len, raw, level, found);
	return err;
}

/* ---- words ---- */

/* Keys of perf that are not here, and why. */
static const struct {
	const char *word, *why, *instead;
} absent[] = {
	{ "ipc_null", "it is the empty column that perf shows when there are no branches", NULL },
	{ "ipc_lbr", "instructions per function are not counted",
	  "symbol_from,symbol_to,cycles has the cycles of branches" },
	{ "simd", "no kernel records it with samples yet", NULL },
};

static int unknown(struct report_keys_list *l, const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		if (strcmp(word, absent[i].word))
			continue;
		(void)diag_error(l->diag, -EINVAL, "%s: '%s' is not available: %s", l->option, word,
				 absent[i].why);
		if (absent[i].instead)
			diag_hint(l->diag, "%s", absent[i].instead);
		return -EINVAL;
	}
	const char *words[PROFILE_KEY_MAX];
	size_t nr = 0;
	for (u32 i = 0; profile_key_word(i) && nr < ARRAY_SIZE(words); i++)
		words[nr++] = profile_key_word(i);
	(void)diag_error(l->diag, -EINVAL, "%s: unknown key '%s'", l->option, word);
	const char *near = str_closest(word, words, nr);
	if (near)
		diag_hint(l->diag, "did you mean '%s'?", near);
	else
		diag_hint(l->diag, "there are comm pid cpu socket time cgroup dso symbol parent "
				   "trace weight sample period overhead and more, and "
				   "the fields of recorded tracepoints");
	return -EINVAL;
}

static int add_word(struct report_keys_list *l, const char *word, u32 level)
{
	int key = profile_key_find(word);
	if (key >= 0 && profile_key_is_branch((enum profile_key)key) && !l->branches) {
		(void)diag_error(l->diag, -EINVAL,
				 "%s: '%s' needs branch stacks, and the recording has none",
				 l->option, word);
		diag_hint(l->diag,
			  "record them where the CPU can: sonde record -b; %s leaves them out",
			  l->labels->no_branches);
		return -EINVAL;
	}
	if (key >= 0)
		return add_field(
			l, (struct profile_field){ .key = (enum profile_key)key, .level = level });
	bool found = false;
	int err = l->shows ? 0 : trace_field(l, word, level, &found);
	return err || found ? err : unknown(l, word);
}

/* "comm,{dso,sym}": what stands in braces shares a level of a hierarchy. */
static int add_words(struct report_keys_list *l, const char *text, u32 *level)
{
	bool together = false;
	for (const char *at = text; *at;) {
		char word[128];
		size_t len = strcspn(at, ", {}");
		if (len >= sizeof(word))
			return diag_error(l->diag, -EINVAL, "%s: key too long: '%.40s...'",
					  l->option, at);
		memcpy(word, at, len);
		word[len] = '\0';
		u32 before = *l->nr;
		int err = len ? add_word(l, word, *level) : 0;
		if (err)
			return err;
		at += len;
		bool named = false;
		for (u32 i = before; i < *l->nr; i++)
			named |= !profile_key_is_measure(l->at[i].key);
		if (*at == '{')
			together = true;
		else if (*at == '}' && together) {
			together = false;
			(*level)++;
			named = false;
		}
		*level += named && !together;
		at += *at != '\0';
	}
	return 0;
}

static bool strict(const char *text)
{
	return text && *text != '+';
}

static int sort_list(const struct report_keys *k, struct report_keys_list *l,
		     struct report_keys_list *f)
{
	const char *sort = k->sort;
	u32 level = 0;
	bool more = sort && *sort == '+';
	int err = 0;
	if (!strict(k->fields)) {
		const char *given = sort ? sort : "";
		if (k->children && !strstr(given, "overhead_children"))
			err = add_key(l, PROFILE_OVERHEAD_CHILDREN);
		if (!err && !strstr(given, "overhead"))
			err = add_key(l, PROFILE_OVERHEAD);
	}
	if (!err && (more || (!sort && !strict(k->fields))))
		err = add_words(l, k->usual ? k->usual : usual_keys, &level);
	if (!err && sort)
		err = add_words(l, sort + more, &level);
	if (!err && k->parent)
		err = add_field(
			l, (struct profile_field){ .key = PROFILE_KEY_PARENT, .level = level });
	return err;
}

static int field_list(const struct report_keys *k, struct report_keys_list *l)
{
	const struct {
		bool wanted;
		enum profile_key key;
	} usual[] = {
		{ k->children, PROFILE_OVERHEAD_CHILDREN },
		{ true, PROFILE_OVERHEAD },
		{ k->by_level, PROFILE_OVERHEAD_SYS },
		{ k->by_level, PROFILE_OVERHEAD_US },
		{ k->count, PROFILE_SAMPLES },
		{ k->period, PROFILE_PERIOD },
	};
	int err = 0;
	u32 level = 0;
	for (size_t i = 0; i < ARRAY_SIZE(usual) && !strict(k->fields) && !err; i++)
		if (usual[i].wanted)
			err = add_key(l, usual[i].key);
	return err || !k->fields ? err : add_words(l, k->fields + !strict(k->fields), &level);
}

static int fill_up(struct report_keys_list *to, const struct report_keys_list *from)
{
	int err = 0;
	for (u32 i = 0; i < *from->nr && !err; i++)
		err = add_field(to, from->at[i]);
	return err;
}

int report_keys(const struct report_keys *k, const struct catalog *c, struct profile_config *cfg,
		struct diag *d)
{
	struct report_keys_list sort = { .at = cfg->sort,
					 .nr = &cfg->nr_sort,
					 .catalog = c,
					 .labels = k->labels,
					 .option = k->labels->sort,
					 .diag = d,
					 .branches = k->branches };
	struct report_keys_list fields = { .at = cfg->fields,
					   .nr = &cfg->nr_fields,
					   .catalog = c,
					   .labels = k->labels,
					   .option = k->labels->fields,
					   .diag = d,
					   .shows = true,
					   .branches = k->branches };
	cfg->nr_sort = cfg->nr_fields = 0;
	cfg->self = k->children && !strict(k->fields);
	int err = sort_list(k, &sort, &fields);
	if (!err)
		err = field_list(k, &fields);
	if (!err)
		err = fill_up(&fields, &sort);
	return err ? err : fill_up(&sort, &fields);
}

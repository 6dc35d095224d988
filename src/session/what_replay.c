/* The other direction of what_record.c: rounds of counts to rows of a series, with the looks that the columns have live. */
#include "session/what_record.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/strtab.h"
#include "file/perfdata_read.h"
#include "file/statdata.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A column of the file: two events at most. */
struct replayed {
	const struct what_column *column; /* NULL: an event, or one that we do not know */
	u32 event;
	u32 per; /* its index + 1; 0: none */
	u64 of_before, per_before;
	double scale;
};

/* Events of a process that was busy: index + 1; 0: none. */
struct was_busy {
	u32 pid, amount;
};

struct what_replay {
	struct what_engine *w;
	struct was_busy busy[WHAT_BUSY_NR][WHAT_PROCESSES_MAX];
	struct strtab names;
	struct dict name_of; /* pid -> id */
	struct perfdata file;
	struct statdata counts;
	struct count *now;
	VEC(struct replayed) columns;
	u64 began_ns, before_ns;
	bool file_open, counts_open;
};

void what_replay_close(struct what_replay *r)
{
	if (!r)
		return;
	if (r->counts_open)
		statdata_close(&r->counts);
	if (r->file_open)
		perfdata_close(&r->file);
	free(r->now);
	strtab_done(&r->names);
	dict_done(&r->name_of);
	vec_free(&r->columns);
	free(r);
}

enum { NAME_SIZE = 256 };

/* "disk/vda/read": group, row and key; "events//cpu/cycles/". Rows may have slashes, keys of columns not. */
static bool split_name(char *name, struct series_part *part, const char **key)
{
	char *slash = strchr(name, '/');
	if (!slash)
		return false;
	*slash = 0;
	char *last = !strcmp(name, "events") ? slash + 1 : strrchr(slash + 1, '/');
	if (!last || *last != '/')
		return false;
	*last = 0;
	*part = (struct series_part){ .group = name, .row = slash + 1 };
	*key = last + 1;
	return true;
}

static const struct what_column *find_column(const struct what_group *g, const char *key)
{
	for (const struct what_column *c = g ? g->columns : NULL; c && c->name; c++)
		if (!strcmp(c->key, key))
			return c;
	return NULL;
}

static void title_of(const struct what_group *g, const struct series_part *p, char *to, size_t size)
{
	const char *percent = g && g->row_title ? strchr(g->row_title, '%') : NULL;
	if (!g || !*p->row || !strcmp(p->row, "total") || !percent)
		(void)snprintf(to, size, "%s", g ? g->title : p->group);
	else
		(void)snprintf(to, size, "%.*s%s%s", (int)(percent - g->row_title), g->row_title,
			       p->row, percent + 2);
}

static bool is_divisor(const char *name)
{
	size_t len = strlen(name);
	return len > 4 && !strcmp(name + len - 4, "/per");
}

static u32 find_divisor(const struct what_replay *r, u32 event)
{
	const char *name = r->file.attrs.at[event].name;
	u32 next = event + 1;
	if (next >= r->file.attrs.nr || !r->file.attrs.at[next].name)
		return 0;
	const char *other = r->file.attrs.at[next].name;
	size_t len = strlen(name);
	return !strncmp(other, name, len) && !strcmp(other + len, "/per") ? next + 1 : 0;
}

/* "cpu-1", "pid". What is not understood is left out. */
static void add_process(struct what_replay *r, const char *row, const char *key, u32 event)
{
	for (unsigned by = 0; by < WHAT_BUSY_NR; by++) {
		const char *word = what_busy_words[by];
		size_t len = strlen(word);
		u64 rank;
		if (strncmp(row, word, len) != 0 || row[len] != '-' ||
		    num_parse_u64(row + len + 1, 10, &rank) || !rank || rank > WHAT_PROCESSES_MAX)
			continue;
		struct was_busy *b = &r->busy[by][rank - 1];
		if (!strcmp(key, "pid"))
			b->pid = event + 1;
		else if (!strcmp(key, "amount"))
			b->amount = event + 1;
	}
}

static int add_column(struct what_replay *r, u32 event)
{
	char name[NAME_SIZE], title[NAME_SIZE];
	const char *given = r->file.attrs.at[event].name, *key;
	struct series_part part;
	if (!given || strlen(given) >= sizeof(name) || is_divisor(given))
		return 0;
	strcpy(name, given);
	if (!split_name(name, &part, &key))
		return 0;
	if (!strcmp(part.group, "processes")) {
		add_process(r, part.row, key, event);
		return 0;
	}
	const struct what_group *g = what_group_find(part.group);
	const struct what_column *c = find_column(g, key);
	const struct statdata_event *e = &r->counts.events.at[event];
	struct series_look look =
		c ? c->unit->look : (struct series_look){ .width = 5, .base = 1000 };
	if (c && c->width)
		look.width = c->width;
	if (!c)
		look.width = (u8)min(max(strlen(key), (size_t)5), (size_t)40);
	title_of(g, &part, title, sizeof(title));
	part.title = title;
	int err = series_column(&r->w->series, c ? c->name : key, key, c ? c->unit->name : "1/s",
				SERIES_GAUGE);
	if (!err)
		err = series_column_part(&r->w->series, &part, &look);
	struct replayed *slot = err ? NULL : vec_push(&r->columns);
	if (!slot)
		return err ? err : -ENOMEM;
	*slot = (struct replayed){ .column = c,
				   .event = event,
				   .per = find_divisor(r, event),
				   .scale = isfinite(e->scale) && e->scale > 0 ? e->scale : 1 };
	return 0;
}

/* Names of processes that are gone are kept as long as there is room. */
static int note_comm(void *ctx, s32 pid, const char *comm, size_t max)
{
	enum { PIDS_MAX = 1 << 16 };
	struct what_replay *r = ctx;
	if (r->name_of.nr >= PIDS_MAX) {
		strtab_done(&r->names);
		strtab_init(&r->names);
		dict_done(&r->name_of);
		dict_init(&r->name_of);
	}
	s64 id = strtab_add(&r->names, comm, strnlen(comm, min(max, (size_t)TASK_COMM_MAX)));
	return id < 0 ? -ENOMEM : dict_put(&r->name_of, (u32)pid, (u32)id);
}

static int open_counts(struct what_replay *r, struct diag *d)
{
	int err = statdata_open(&r->counts, &r->file, d);
	if (err)
		return err;
	r->counts_open = true;
	r->counts.comm = note_comm;
	r->counts.comm_ctx = r;
	size_t nr = r->counts.events.nr * (size_t)statdata_nr_slots(&r->counts);
	r->now = calloc(max(nr, (size_t)1), sizeof(*r->now));
	if (!r->now)
		return -ENOMEM;
	for (u32 i = 0; i < r->file.attrs.nr && i < r->counts.events.nr; i++) {
		err = add_column(r, i);
		if (err)
			return err;
	}
	struct perfdata_clock clock;
	if (perfdata_clock(&r->file, &clock))
		r->began_ns = clock.wall_ns;
	return what_columns_made(r->w);
}

struct what_replay *what_replay_open(struct what_engine *w, const char *path, struct diag *d)
{
	struct what_replay *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->w = w;
	strtab_init(&r->names);
	dict_init(&r->name_of);
	int err = perfdata_open(&r->file, path, d);
	if (!err) {
		r->file_open = true;
		err = open_counts(r, d);
	}
	if (!err && !r->columns.nr)
		err = diag_error(d, -ENODATA, "'%s' has no history of counters", path);
	if (!err)
		return r;
	what_replay_close(r);
	return NULL;
}

static double value_of(struct what_replay *r, struct replayed *c, double seconds)
{
	u32 slots = statdata_nr_slots(&r->counts);
	const struct count *of = &r->now[(size_t)c->event * slots];
	const struct count *per = c->per ? &r->now[(size_t)(c->per - 1) * slots] : NULL;
	enum what_how how = c->column ? c->column->how : WHAT_RATE;
	double grown = (double)u64_less(of->value, c->of_before);
	double by = per ? (double)u64_less(per->value, c->per_before) : 0;
	c->of_before = of->value;
	c->per_before = per ? per->value : 0;
	if (!of->opened || !of->running_ns)
		return NAN;
	switch (how) {
	case WHAT_GAUGE: return (double)of->value * c->scale;
	case WHAT_RATE: return seconds > 0 ? grown * c->scale / seconds : NAN;
	case WHAT_SHARE:
	case WHAT_RATIO: break;
	}
	if (!per || !per->running_ns)
		return NAN;
	return by <= 0 ? 0 : how == WHAT_SHARE ? 100 * grown / by : grown / by * c->scale;
}

int what_replay_next(struct what_replay *r)
{
	struct statdata_round round;
	int more = statdata_next_round(&r->counts, r->now, &round);
	if (more <= 0)
		return more;
	r->w->seconds = (double)u64_less(round.time_ns, r->before_ns) / (double)NS_PER_SEC;
	r->before_ns = round.time_ns;
	for (size_t i = 0; i < r->columns.nr; i++)
		r->w->row[i] = value_of(r, &r->columns.at[i], r->w->seconds);
	int err = what_put_row(r->w, u64_sum(r->began_ns, round.time_ns), r->w->row);
	return err ? err : 1;
}

/* false: not known in this interval. */
static bool state_of(const struct what_replay *r, u32 event, double *ret)
{
	const struct count *c =
		event ? &r->now[(size_t)(event - 1) * statdata_nr_slots(&r->counts)] : NULL;
	if (!c || !c->opened || !c->running_ns)
		return false;
	double scale = r->counts.events.at[event - 1].scale;
	*ret = (double)c->value * (isfinite(scale) && scale > 0 ? scale : 1);
	return isfinite(*ret);
}

size_t what_replay_busy(const struct what_replay *r, enum what_busy by,
			struct what_was_busy to[WHAT_PROCESSES_MAX])
{
	size_t nr = 0;
	for (u32 i = 0; i < WHAT_PROCESSES_MAX; i++) {
		double pid, amount;
		if (!state_of(r, r->busy[by][i].pid, &pid) ||
		    !state_of(r, r->busy[by][i].amount, &amount) || pid > INT32_MAX)
			continue;
		u32 name = dict_get(&r->name_of, (u32)lround(pid));
		to[nr++] = (struct what_was_busy){ (s32)lround(pid), name == DICT_NONE ? 0 : name,
						   amount };
	}
	return nr;
}

const char *what_replay_name(const struct what_replay *r, u32 name)
{
	return strtab_str(&r->names, name);
}

u64 what_replay_began(const struct what_replay *r)
{
	return r->began_ns;
}

u64 what_replay_ends(const struct what_replay *r)
{
	struct statdata ahead = r->counts; /* walks on from here; shares what it refers to */
	ahead.comm = NULL;
	size_t nr = r->counts.events.nr * (size_t)statdata_nr_slots(&r->counts);
	struct count *scratch = calloc(max(nr, (size_t)1), sizeof(*scratch));
	struct statdata_round round = { 0 };
	u64 last = r->before_ns;
	while (scratch && statdata_next_round(&ahead, scratch, &round) > 0)
		last = max(last, round.time_ns);
	free(scratch);
	return u64_sum(r->began_ns, last);
}

/* ---- moments ---- */

int what_moment(const char *text, u64 end_ns, u64 *ret_ns)
{
	u64 back, seconds;
	int hour, minute, second = 0, used = 0;
	size_t len = strlen(text);
	if (*text == '-' && len > 2 && strchr("mh", text[len - 1]) && len < 24 &&
	    strcmp(text + len - 2, "ms") != 0) {
		char number[24];
		memcpy(number, text + 1, len - 2);
		number[len - 2] = 0;
		if (num_parse_u64(number, 10, &back) || back > UINT32_MAX)
			return -EINVAL;
		*ret_ns = u64_less(end_ns, back * (text[len - 1] == 'h' ? 3600 : 60) * NS_PER_SEC);
		return 0;
	}
	if (*text == '-') {
		int err = clock_parse(text + 1, &back);
		if (err)
			return -EINVAL;
		*ret_ns = u64_less(end_ns, back);
		return 0;
	}
	int fields = sscanf(text, "%2d:%2d%n:%2d%n", &hour, &minute, &used, &second, &used);
	if (fields >= 2 && (size_t)used == len) {
		time_t day = (time_t)(end_ns / NS_PER_SEC);
		struct tm tm;
		if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
		    second > 60 || !localtime_r(&day, &tm))
			return -EINVAL;
		tm.tm_hour = hour;
		tm.tm_min = minute;
		tm.tm_sec = second;
		tm.tm_isdst = -1;
		time_t t = mktime(&tm);
		if (t < 0)
			return -EINVAL;
		*ret_ns = (u64)t * NS_PER_SEC;
		return 0;
	}
	if (num_parse_u64(text, 10, &seconds) || seconds > UINT64_MAX / NS_PER_SEC)
		return -EINVAL;
	*ret_ns = seconds * NS_PER_SEC;
	return 0;
}

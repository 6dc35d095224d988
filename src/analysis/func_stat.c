#include "analysis/func_stat.h"

#include "base/arena.h"
#include "base/dict.h"
#include "base/vec.h"
#include "model/calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct func_stat {
	struct sink sink;
	const char *(*symbol)(void *ctx, u64 addr, u64 *offset);
	void *ctx;
	struct arena arena;
	struct dict row_of; /* hash of the name -> index */
	VEC(struct func_stat_row) rows;
	VEC(struct call_reader) readers; /* by event */
	struct calls open;
	u64 nr_gaps;
};

static struct func_stat_row *row_of(struct func_stat *f, const char *name, size_t len)
{
	u64 hash = hash_bytes(name, len);
	u32 index;
	for (; (index = dict_get(&f->row_of, hash)) != DICT_NONE; hash = hash_u64(hash + 1)) {
		struct func_stat_row *r = &f->rows.at[index];
		if (!strncmp(r->name, name, len) && !r->name[len])
			return r;
	}
	struct func_stat_row *r = f->rows.nr < DICT_NONE ? vec_push(&f->rows) : NULL;
	char *copy = r ? arena_strndup(&f->arena, name, len) : NULL;
	if (!copy || dict_add(&f->row_of, hash, (u32)f->rows.nr - 1, &index))
		return NULL;
	*r = (struct func_stat_row){ .name = copy };
	return r;
}

/* ---- the kernel's table ---- */

/*
 *	  Function                               Hit    Time            Avg             s^2
 *	  --------                               ---    ----            ---             ---
 *	  schedule                               123    4567.890 us     37.137 us       12.345 us
 * A kernel without the graph tracer tells only the hits.
 */
static int parse_line(struct func_stat *f, const char *line, size_t len)
{
	char name[256], text[512];
	unsigned long long hits;
	double time = 0, avg = 0, variance = 0;
	(void)snprintf(text, sizeof(text), "%.*s", (int)min(len, sizeof(text) - 1), line);
	int n = sscanf(text, " %255s %llu %lf us %lf us %lf", name, &hits, &time, &avg, &variance);
	if (n < 2 || !hits || *name == '-')
		return 0;
	struct func_stat_row *r = row_of(f, name, strlen(name));
	if (!r)
		return -ENOMEM;
	double mean = time / (double)hits; /* the one printed has fewer digits */
	r->hits += hits;
	r->time_us += time;
	r->squares_us2 += variance * (double)(hits - 1) + mean * mean * (double)hits;
	return 0;
}

int func_stat_parse(struct func_stat *f, const char *text)
{
	int err = 0;
	while (*text && !err) {
		size_t len = strcspn(text, "\n");
		err = parse_line(f, text, len);
		text += len + (text[len] == '\n');
	}
	return err;
}

/* ---- calls of a recording ---- */

static int add_call(struct func_stat *f, u64 addr, u64 ns)
{
	char hex[32];
	u64 offset;
	const char *name = f->symbol ? f->symbol(f->ctx, addr, &offset) : NULL;
	(void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)addr);
	name = name ? name : hex;
	struct func_stat_row *r = row_of(f, name, strlen(name));
	if (!r)
		return -ENOMEM;
	double us = (double)ns / 1000;
	r->hits++;
	r->time_us += us;
	r->squares_us2 += us * us;
	return 0;
}

static int on_call(struct func_stat *f, const struct call_reader *reader, const struct sample *s)
{
	struct call_event e = call_read(reader, s);
	struct call_done done;
	if (e.depth > CALLS_DEPTH_MAX)
		return 0;
	struct call_stack *k = calls_stack(&f->open, e.task);
	if (!k)
		return -ENOMEM;
	if (e.kind == CALL_ENTRY)
		return calls_enter(&f->open, k, &e) ? 0 : -ENOMEM;
	int err = calls_leave(&f->open, k, &e, &done);
	return err || !done.timed ? err : add_call(f, e.func, done.ns);
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct func_stat *f = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct sample *s = &b->samples[i];
		if (s->missed) {
			calls_gap(&f->open);
			f->nr_gaps++;
		}
		if (!s->schema || !s->raw)
			continue;
		while (f->readers.nr <= s->event)
			if (!vec_push(&f->readers))
				return -ENOMEM;
		struct call_reader *r = &f->readers.at[s->event];
		if (r->kind == CALL_NONE)
			*r = call_reader_make(s->schema);
		if (r->kind != CALL_OTHER)
			err = on_call(f, r, s);
	}
	return err;
}

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	*state = container_of(k, struct func_stat, sink);
	return index ? -EINVAL : 0;
}

static const struct sink_ops func_stat_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
};

/* ---- life ---- */

struct func_stat *func_stat_new(const char *(*symbol)(void *ctx, u64 addr, u64 *offset), void *ctx)
{
	struct func_stat *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->sink = (struct sink){ .ops = &func_stat_ops, .needs = func_stat_ops.needs };
	f->symbol = symbol;
	f->ctx = ctx;
	arena_init(&f->arena);
	dict_init(&f->row_of);
	return f;
}

void func_stat_free(struct func_stat *f)
{
	if (!f)
		return;
	vec_free(&f->rows);
	vec_free(&f->readers);
	calls_done(&f->open);
	dict_done(&f->row_of);
	arena_done(&f->arena);
	free(f);
}

struct sink *func_stat_sink(struct func_stat *f)
{
	return &f->sink;
}

u64 func_stat_nr_gaps(const struct func_stat *f)
{
	return f->nr_gaps;
}

static int by_time(const void *pa, const void *pb)
{
	const struct func_stat_row *a = pa, *b = pb;
	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? 1 : -1;
	if (a->hits != b->hits)
		return a->hits < b->hits ? 1 : -1;
	return strcmp(a->name, b->name);
}

const struct func_stat_row *func_stat_rows(struct func_stat *f, size_t *nr)
{
	*nr = f->rows.nr;
	if (f->rows.nr) {
		qsort(f->rows.at, f->rows.nr, sizeof(*f->rows.at), by_time);
		/* Places have changed: nothing more is to be added. */
		dict_done(&f->row_of);
		dict_init(&f->row_of);
	}
	return f->rows.at;
}

double func_stat_variance(const struct func_stat_row *r)
{
	if (r->hits < 2)
		return 0;
	double n = (double)r->hits;
	return max((r->squares_us2 - r->time_us * r->time_us / n) / (n - 1), 0.0);
}

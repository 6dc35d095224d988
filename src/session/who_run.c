#include "session/who_run.h"

#include "base/clock.h"
#include "base/loop.h"
#include "view/csv_table.h"
#include "view/json_table.h"
#include "view/view.h"
#include "view/who_head.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

struct who_batch {
	const struct who_run_opts *o;
	const struct tell *tell;
	struct who_source source;
	u64 nr_shown;
};

static void write_head(const struct who_batch *b, struct strbuf *to)
{
	who_head_text(
		who_summary(b->source.who), &b->source.system[1],
		&(struct who_head_style){ .per_cpu = b->o->per_cpu,
					  .disks = b->o->disks,
					  .now_s = (s64)(clock_ns(CLOCK_REALTIME) / NS_PER_SEC) },
		to);
	strbuf_char(to, '\n');
}

static void write_time(struct strbuf *to)
{
	time_t now = time(NULL);
	struct tm tm;
	if (localtime_r(&now, &tm))
		strbuf_printf(to, "%02d:%02d:%02d\n", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void write_text(struct who_batch *b, const struct table *t, struct strbuf *to, int *err)
{
	if (b->nr_shown)
		strbuf_char(to, '\n');
	if (b->o->bare)
		write_time(to);
	else
		write_head(b, to);
	*err = view_text.table(
		t, &(struct view_style){ .table = { .header = true, .plain = true } }, to);
}

static int write_json(struct who_batch *b, const struct table *t, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	json_put_double(&j, "time", (double)clock_ns(CLOCK_REALTIME) / 1e9);
	json_put_u64(&j, "interval_ns", who_source_interval(&b->source));
	who_head_json(who_summary(b->source.who), &b->source.system[1], &j);
	json_key(&j, "tasks");
	int err = json_table(t, 0, &j);
	json_object_end(&j);
	int end = json_end(&j);
	return err ? err : end;
}

/* One more column says which interval a line belongs to. */
static int write_csv(struct who_batch *b, const struct table *t, struct strbuf *to)
{
	struct table timed;
	table_init(&timed);
	u64 now = clock_ns(CLOCK_REALTIME);
	int err = table_column(&timed, "Time", "time", CELL_TIME) ? 0 : -ENOMEM;
	for (size_t i = 0; i < t->columns.nr && !err; i++) {
		struct column *c = vec_push(&timed.columns);
		if (c)
			*c = t->columns.at[i];
		else
			err = -ENOMEM;
	}
	for (size_t i = 0; i < t->nr_rows && !err; i++) {
		union cell *row = table_row(&timed);
		if (!row) {
			err = -ENOMEM;
			break;
		}
		row[0].u = now;
		memcpy(row + 1, table_cells(t, i), t->columns.nr * sizeof(*row));
	}
	if (!err)
		err = b->nr_shown ? csv_table_rows(&timed, 0, to) : csv_table(&timed, 0, to);
	table_done(&timed);
	return err;
}

static int show(struct who_batch *b)
{
	struct table t;
	struct strbuf *to = b->tell->out;
	table_init(&t);
	int err = who_source_table(&b->source, &b->o->who, &t);
	if (!err && b->tell->json)
		err = write_json(b, &t, to);
	else if (!err && b->o->csv)
		err = write_csv(b, &t, to);
	else if (!err)
		write_text(b, &t, to, &err);
	table_done(&t);
	if (!err)
		err = strbuf_flush(to);
	if (!err && !b->nr_shown) {
		who_source_notes(&b->source, &b->o->who, b->tell->diag);
		tell_say(b->tell);
	}
	b->nr_shown++;
	return err;
}

static int on_timer(void *ctx, u64 times)
{
	struct who_batch *b = ctx;
	(void)times;
	int err = who_source_read(&b->source, &b->o->who, b->o->pids, b->o->nr_pids, b->tell->diag);
	if (!err)
		err = show(b);
	return err ? err : b->o->rounds && b->nr_shown >= b->o->rounds;
}

static int on_signal(void *ctx, u64 signo)
{
	(void)ctx;
	(void)signo;
	return 1;
}

int who_run_batch(const struct who_run_opts *o, const struct tell *tell)
{
	struct who_batch b = { .o = o, .tell = tell };
	struct loop *loop = loop_new();
	int err = loop ? who_source_open(&b.source, o->root, tell->diag) : -ENOMEM;
	if (!loop)
		return err;
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	for (unsigned i = 0; i < ARRAY_SIZE(signals) && !err; i++)
		err = loop_add_signal(loop, signals[i], on_signal, NULL);
	if (!err)
		err = who_source_read(&b.source, &o->who, o->pids, o->nr_pids, tell->diag);
	if (!err)
		err = loop_add_timer(loop, o->delay_ns, o->delay_ns, on_timer, &b, NULL);
	if (!err)
		err = loop_run(loop);
	who_source_close(&b.source);
	loop_free(loop);
	return err;
}

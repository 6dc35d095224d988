/*
 * An event that is not recorded. Whenever it occurs, of the same tasks and CPUs, the recording goes on in another
 * file.
 */
#include "session/record.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int record_resolve_triggers(struct record_session *s)
{
	int err = 0;
	event_list_init(&s->trigger.events);
	for (size_t i = 0; i < s->o->triggers.list.nr && !err; i++)
		err = event_list_add(&s->trigger.events, &s->env, s->o->triggers.list.at[i],
				     EVENT_USE_SAMPLE, s->tell.diag);
	return err;
}

/* Of a reader's thread. */
static int on_records(void *ctx, unsigned reader, const struct ring_span *spans, size_t nr,
		      bool round_done)
{
	struct record_session *s = ctx;
	const struct perf_event_header *h;
	u64 times = 0;
	for (size_t i = 0; i < nr; i++) {
		size_t pos = 0;
		while ((h = ring_span_next(&spans[i], &pos, false, NULL)))
			times += h->type == PERF_RECORD_SAMPLE;
	}
	if (times)
		(void)!write(s->trigger.fd, &times, sizeof(times));
	return 0;
}

/* What came at once makes one file. */
static int on_trigger(void *ctx, u64 events)
{
	struct record_session *s = ctx;
	u64 times;
	(void)events;
	if (read(s->trigger.fd, &times, sizeof(times)) != sizeof(times))
		return 0;
	return record_on_usr2(s, 0);
}

int record_trigger_start(struct record_session *s, const struct live_opts *recorded)
{
	struct diag *d = s->tell.diag;
	if (!s->trigger.events.events.nr)
		return 0;
	struct live_opts l = { .events = &s->trigger.events,
			       .as_perf = recorded->as_perf,
			       .no_inherit = recorded->no_inherit,
			       .system_wide = recorded->system_wide,
			       .cpus = recorded->cpus,
			       .pids = recorded->pids,
			       .nr_pids = recorded->nr_pids,
			       .tids = recorded->tids,
			       .nr_tids = recorded->nr_tids,
			       .command_pid = recorded->command_pid,
			       .ring_bytes = 16 << 10,
			       .at_once = true };
	s->trigger.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->trigger.live = s->trigger.fd < 0 ? NULL : live_perf_open(&s->root, &l, d);
	if (!s->trigger.live)
		return s->trigger.fd < 0 ? -errno : -EIO;
	int err = live_perf_start(s->trigger.live,
				  &(struct live_sink){ .take = on_records, .ctx = s });
	if (!err)
		err = live_perf_enable(s->trigger.live);
	if (!err)
		err = loop_add_fd(s->run.loop, s->trigger.fd, EPOLLIN, on_trigger, s, NULL);
	return err;
}

void record_trigger_end(struct record_session *s)
{
	live_perf_close(s->trigger.live);
	s->trigger.live = NULL;
	cleanup_close(&s->trigger.fd);
	s->trigger.fd = -1;
	if (s->has_env)
		event_list_done(&s->trigger.events);
	s->trigger.events = (struct event_list){ 0 };
}

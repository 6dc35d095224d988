#include "session/program_run.h"

#include "base/clock.h"
#include "bpf/account.h"
#include "bpf/actions.h"
#include "bpf/attach.h"
#include "bpf/metrics.h"
#include "bpf/ring.h"
#include "session/http.h"
#include "session/program_end.h"
#include "session/program_follow.h"
#include "session/program_lines.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

struct program_state {
	const struct program *program;
	const struct program_run_opts *opts;
	struct program_run_result *result;
	struct diag *diag;
	struct command_run command;
	struct loaded loaded;
	struct points points;
	struct attached attached;
	struct actions actions;
	struct ring ring, control;
	struct http *http;
	struct program_follow *follow; /* NULL: nobody needs it, or it is not allowed */
	bool is_loaded, is_expanded, is_attached;
	int pid_fd;
	struct account account; /* that was reported last */
	int err; /* of flush */
};

static int open_ring(struct program_state *r, enum program_map_role role, struct ring *ring)
{
	int map = program_map_of(r->program, role);
	if (map < 0)
		return 0;
	int rc = ring_open(ring, r->loaded.maps[map], program_map_entries(r->program, (u32)map));
	return rc ? diag_error(r->diag, rc, "cannot map the ring buffer: %s", strerror(-rc)) : 0;
}

static int set_up(struct program_state *r, const struct sysroot *root)
{
	u64 begun = clock_monotonic_ns();
	const struct points_opts o = { .script = r->opts->script,
				       .pid = r->opts->pid,
				       .lines = program_line_places };
	int rc = points_open(&r->points, r->program, root, &o, r->diag);
	r->is_expanded = !rc;
	r->result->expand_ns = clock_monotonic_ns() - begun;
	if (rc)
		return rc;
	r->result->nr_places = (u32)r->points.at.nr;
	rc = loaded_open(&r->loaded, r->program, root, r->opts->script, r->diag);
	if (rc)
		return rc;
	r->is_loaded = true;
	r->loaded.want_log = r->opts->want_log;
	r->loaded.pid = r->opts->pid;
	if (r->command.child.pid)
		rc = loaded_set_command(&r->loaded, r->command.child.pid);
	if (!rc && r->opts->cgroup)
		rc = cgroup_find_v2(root, r->opts->cgroup, &r->loaded.cgroup, r->diag);
	if (rc)
		return rc;
	rc = open_ring(r, PROGRAM_MAP_RING, &r->ring);
	return rc ? rc : open_ring(r, PROGRAM_MAP_CONTROL, &r->control);
}

static int set_up_actions(struct program_state *r, const struct sysroot *root)
{
	u32 nr;
	const char *const *places = points_places(&r->points, &nr);
	struct naming *naming = naming_new(root);
	if (!places || !naming) {
		naming_free(naming);
		return -ENOMEM;
	}
	if (r->program->config.no_demangle)
		naming_no_demangle(naming);
	int stacks = program_map_of(r->program, PROGRAM_MAP_STACKS);
	if (stacks >= 0)
		naming_set_stacks(naming, r->loaded.maps[stacks],
				  r->program->maps.at[stacks].value_size);
	r->actions = (struct actions){
		.program = r->program,
		.loaded = &r->loaded,
		.style = { .naming = naming,
			   .places = places,
			   .nr_places = nr,
			   .boot_to_wall_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME),
			   .stack_indent = 8,
			   .old_layout = r->opts->old_layout },
		.out = r->opts->out,
		.err = r->opts->err,
		.json = r->opts->json,
		.allow_unsafe = r->opts->allow_unsafe,
	};
	return 0;
}

/* All records that are there. Records are in the small ring only when the other one was full, so that comes first. */
static int drain(struct program_state *r)
{
	if (r->follow)
		(void)!program_follow_round(r->follow);
	if (r->ring.consumer)
		(void)!ring_drain(&r->ring, actions_record, &r->actions);
	if (r->control.consumer)
		(void)!ring_drain(&r->control, actions_record, &r->actions);
	int rc = r->opts->flush(r->opts->ctx);
	if (rc && !r->err)
		r->err = rc;
	if (r->actions.exit || r->err)
		r->command.over = true;
	return 0;
}

static int on_ring(void *ctx, u64 events)
{
	(void)events;
	return drain(ctx);
}

static int on_pid_end(void *ctx, u64 events)
{
	struct program_state *r = ctx;
	(void)events;
	r->command.over = true;
	return 0;
}

static int run_codes(struct program_state *r, enum program_provider provider, const char *name)
{
	int rc = attach_run(&r->loaded, provider, name, r->diag);
	return rc ? rc : drain(r);
}

struct signal_name {
	const char *name;
	int number;
};
static const struct signal_name signal_names[] = {
	{ "SIGUSR1", SIGUSR1 },
	{ "SIGUSR2", SIGUSR2 },
};

static int on_own_signal(void *ctx, u64 number)
{
	struct program_state *r = ctx;
	for (size_t i = 0; i < ARRAY_SIZE(signal_names); i++)
		if (signal_names[i].number == (int)number)
			return run_codes(r, PROGRAM_SIGNAL, signal_names[i].name);
	return 0;
}

static int watch_signals(struct program_state *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(signal_names); i++) {
		bool wanted = false;
		vec_for_each (&r->program->probes, p)
			wanted |= p->provider == PROGRAM_SIGNAL && p->name &&
				  !strcmp(p->name, signal_names[i].name);
		int rc = wanted ? loop_add_signal(r->command.loop, signal_names[i].number,
						  on_own_signal, r)
				: 0;
		if (rc)
			return rc;
	}
	return 0;
}

static int metrics_page(void *ctx, const struct http_request *q, struct strbuf *to)
{
	struct program_state *r = ctx;
	(void)q;
	return actions_metrics(&r->actions, to);
}

static const struct http_route pages[] = {
	{ "/metrics", METRICS_TYPE, metrics_page },
	{ 0 },
};

static int serve(struct program_state *r)
{
	if (!r->opts->listen)
		return 0;
	const struct http_opts o = {
		.address = r->opts->listen, .token = r->opts->token, .routes = pages, .ctx = r
	};
	int rc = http_open(&r->http, r->command.loop, &o, r->diag);
	if (!rc && r->opts->serving)
		r->opts->serving(r->opts->ctx, http_url(r->http));
	return rc;
}

/* -v: what got lost so far, whenever that has changed. */
static int on_account(void *ctx, u64 what)
{
	struct program_state *r = ctx;
	struct account now;
	struct diag lost;
	(void)what;
	diag_init(&lost);
	if (!account_report(&r->loaded, &now, &lost) && memcmp(&now, &r->account, sizeof(now))) {
		r->account = now;
		vec_for_each (&lost.items, item)
			strbuf_printf(r->opts->err, "so far: %s\n", item->message);
	}
	diag_done(&lost);
	return r->opts->flush(r->opts->ctx);
}

static int watch_sources(struct program_state *r)
{
	int rc = 0;
	if (r->ring.consumer)
		rc = loop_add_fd(r->command.loop, r->ring.fd, EPOLLIN, on_ring, r, NULL);
	if (!rc && r->control.consumer)
		rc = loop_add_fd(r->command.loop, r->control.fd, EPOLLIN, on_ring, r, NULL);
	if (!rc && r->opts->pid) {
		r->pid_fd = (int)syscall(SYS_pidfd_open, r->opts->pid, 0);
		if (r->pid_fd < 0)
			return diag_error(r->diag, -errno, "cannot watch process %d: %s",
					  r->opts->pid, strerror(errno));
		rc = loop_add_fd(r->command.loop, r->pid_fd, EPOLLIN, on_pid_end, r, NULL);
	}
	if (!rc)
		rc = watch_signals(r);
	if (!rc && r->opts->log)
		rc = loop_add_timer(r->command.loop, NS_PER_SEC, NS_PER_SEC, on_account, r, NULL);
	return rc ? rc : serve(r);
}

/* Nothing will ever happen by itself: begin, end and iterators have run. */
static bool is_done(const struct program_state *r)
{
	if (r->command.child.pid || r->opts->pid || r->http)
		return false;
	vec_for_each (&r->program->probes, p)
		if (p->provider != PROGRAM_BEGIN && p->provider != PROGRAM_END &&
		    p->provider != PROGRAM_ITER)
			return false;
	return true;
}

static int attach(struct program_state *r)
{
	/* Codes of begin probes are loaded already. */
	u64 begun = clock_monotonic_ns() - r->loaded.verify_ns;
	const struct attach_opts o = { .pid = r->command.child.pid ? r->command.child.pid
								   : r->opts->pid };
	int rc = attach_all(&r->attached, &r->loaded, &r->points, &o, r->diag);
	r->is_attached = !rc;
	r->result->attach_ns = clock_monotonic_ns() - begun;
	r->result->load_ns = r->loaded.verify_ns;
	return rc;
}

static void detach(struct program_state *r)
{
	if (!r->is_attached)
		return;
	u64 begun = clock_monotonic_ns();
	attach_close(&r->attached);
	r->is_attached = false;
	r->result->detach_ns = clock_monotonic_ns() - begun;
}

static int start(struct program_state *r)
{
	if (r->opts->loading)
		r->opts->loading(r->opts->ctx, r->result->nr_places);
	int rc = run_codes(r, PROGRAM_BEGIN, NULL);
	if (rc || r->actions.exit)
		return rc;
	/* Without it, names of processes that have ended are missing: no reason to fail. */
	if (program_follow_is_needed(r->program))
		(void)!program_follow_open(&r->follow, r->loaded.root, r->actions.style.naming,
					   r->command.loop);
	rc = attach(r);
	if (!rc && r->opts->attached)
		r->opts->attached(r->opts->ctx, r->result->nr_places);
	if (!rc)
		rc = r->opts->flush(r->opts->ctx);
	if (!rc && r->command.child.pid)
		rc = command_run_go(&r->command, r->opts->command[0], r->diag);
	if (!rc)
		rc = attach_iterate(&r->attached, r->diag);
	if (!rc)
		rc = drain(r);
	return rc;
}

/* A flood may have left more than one round of records. */
static void drain_rest(struct program_state *r)
{
	enum { ROUNDS = 64 };
	for (int i = 0; i < ROUNDS && r->ring.consumer && ring_pending(&r->ring) && !r->err; i++)
		(void)!drain(r);
}

static int discard(void *ctx, const void *data, u32 len)
{
	(void)ctx, (void)data, (void)len;
	return 0;
}

static void discard_rest(struct program_state *r)
{
	while (r->ring.consumer && ring_pending(&r->ring))
		(void)!ring_drain(&r->ring, discard, NULL);
	while (r->control.consumer && ring_pending(&r->control))
		(void)!ring_drain(&r->control, discard, NULL);
}

/* End probes in their order, here where that is possible. */
static int run_end(struct program_state *r)
{
	struct program_end end = {
		.actions = &r->actions,
		.loaded = &r->loaded,
		.flush = r->opts->flush,
		.flush_ctx = r->opts->ctx,
	};
	for (u32 i = 0; i < r->program->probes.nr; i++) {
		const struct program_probe *p = &r->program->probes.at[i];
		if (p->provider != PROGRAM_END)
			continue;
		int rc = p->here ? program_end_run(&end, i, r->diag)
				 : attach_run_one(&r->loaded, p, r->diag);
		if (!rc)
			rc = drain(r);
		if (rc)
			return rc;
	}
	if (end.signal && !r->command.signal)
		r->command.signal = end.signal;
	return 0;
}

static int finish(struct program_state *r)
{
	/* What was sent before the end is handled; what comes while probes go, one after the other, is not wanted. */
	if (!r->actions.exit)
		drain_rest(r);
	if (r->is_attached)
		attach_report_missed(&r->attached, r->diag);
	detach(r);
	discard_rest(r);
	s32 status = r->actions.status;
	r->actions.exit = false;
	int rc = run_end(r);
	r->result->status = status ? status : r->actions.status;
	if (!rc && !r->opts->no_final_maps && !r->program->config.no_final_maps) {
		bool any = program_map_of(r->program, PROGRAM_MAP_USER) >= 0;
		if (any && !r->opts->json)
			strbuf_str(r->opts->out, "\n\n");
		rc = actions_print_maps(&r->actions);
	}
	struct account lost = { 0 };
	if (!rc)
		rc = account_report(&r->loaded, &lost, r->diag);
	if (r->opts->json && lost.ring_drops)
		strbuf_printf(r->opts->out,
			      "{\"type\":\"lost_events\",\"data\":{\"events\":%llu}}\n",
			      (unsigned long long)lost.ring_drops);
	if (r->actions.nr_bad)
		diag_warn(r->diag, "%llu records were not understood",
			  (unsigned long long)r->actions.nr_bad);
	if (r->opts->log)
		account_runs(&r->loaded, r->opts->log);
	int flushed = r->opts->flush(r->opts->ctx);
	return rc ? rc : flushed;
}

static void close_all(struct program_state *r)
{
	detach(r);
	r->result->nr_records = r->actions.nr_records;
	r->result->signal = r->command.signal;
	r->result->command_ended = r->command.ended;
	r->result->exec_failed = r->command.exec_failed;
	r->result->wait_status = r->command.wait_status;
	http_close(r->http);
	program_follow_close(r->follow);
	naming_free(r->actions.style.naming);
	ring_close(&r->ring);
	ring_close(&r->control);
	if (r->opts->log && r->is_loaded && r->loaded.log.len)
		strbuf_add(r->opts->log, r->loaded.log.data, r->loaded.log.len);
	if (r->is_loaded)
		loaded_close(&r->loaded);
	if (r->is_expanded)
		points_close(&r->points);
	if (r->pid_fd >= 0)
		close(r->pid_fd);
	command_run_close(&r->command);
}

static void stop_command(struct program_state *r)
{
	if (r->command.child.pid && !r->command.ended) {
		enum { PATIENCE_MS = 500 };
		command_run_stop(&r->command, SIGTERM, PATIENCE_MS * 1000000ull);
		command_run_reap(&r->command, SIGKILL);
	}
}

static int prepare(struct program_state *r, const struct sysroot *root)
{
	int rc = command_run_open(&r->command, &(struct command_run_opts){ .hangup = true });
	if (!rc && r->opts->command)
		rc = command_run_prepare(&r->command, r->opts->command, NULL, r->diag);
	if (!rc)
		rc = set_up(r, root);
	return rc ? rc : set_up_actions(r, root);
}

int program_run(const struct program *p, const struct sysroot *root,
		const struct program_run_opts *o, struct program_run_result *ret, struct diag *d)
{
	struct program_state r = { .program = p,
				   .opts = o,
				   .result = ret,
				   .diag = d,
				   .command = COMMAND_RUN_NONE,
				   .pid_fd = -1 };
	*ret = (struct program_run_result){ 0 };
	int rc = prepare(&r, root);
	if (!rc)
		rc = watch_sources(&r);
	if (!rc)
		rc = start(&r);
	if (!rc && !r.command.over && !is_done(&r))
		rc = command_run_wait(&r.command);
	if (!rc) {
		rc = finish(&r);
		stop_command(&r);
	}
	close_all(&r);
	return rc;
}

int program_try(const struct program *p, const struct sysroot *root,
		const struct program_run_opts *o, struct program_run_result *ret, struct diag *d)
{
	struct program_state r = { .program = p,
				   .opts = o,
				   .result = ret,
				   .diag = d,
				   .command = COMMAND_RUN_NONE,
				   .pid_fd = -1 };
	*ret = (struct program_run_result){ 0 };
	int rc = prepare(&r, root);
	if (!rc)
		rc = attach(&r);
	close_all(&r);
	return rc;
}

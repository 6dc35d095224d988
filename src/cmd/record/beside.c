#include "cmd/record/beside.h"

#include "cmd/record/record.h"
#include "session/output.h"

#include <errno.h>
#include <stdio.h>

struct record_beside {
	struct record_opts o;
	struct record_call call;
	struct recorder_opts ro;
	const char *words[1024];
	char freq[24];
};

static int open_all(struct record_beside *b, const struct record_beside_opts *o)
{
	struct record_session *s = &b->call.s;
	struct recorder_opts *ro = &b->ro;
	int err = sysroot_open(&s->root, NULL);
	if (!err)
		err = record_build_live(s, o->program, ro);
	if (!err)
		err = record_watch_start(s);
	if (err)
		return err;
	ro->tracing = &s->env.tracing;
	ro->path = s->output = o->output;
	ro->live.command_pid = o->pids ? 0 : o->command_pid;
	output_owner(&ro->owner_uid, &ro->owner_gid);
	s->cmdline = output_cmdline(&s->root, b->words, ARRAY_SIZE(b->words), &ro->argc);
	s->rec = recorder_open(&s->root, ro, s->tell.diag);
	if (!s->rec)
		return -EIO;
	record_watch_file(s);
	return 0;
}

int record_beside_open(struct record_beside **ret, struct app *app,
		       const struct record_beside_opts *o)
{
	struct record_beside *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	(void)snprintf(b->freq, sizeof(b->freq), "%llu", (unsigned long long)o->frequency);
	b->o = (struct record_opts){ .graph = true,
				     .live = { .sample_cpu = true },
				     .freq = b->freq,
				     .clock = o->clock,
				     .pids = o->pids,
				     .all = !o->pids && !o->command_pid,
				     .quiet = true };
	record_call_init(&b->call, app, &b->o);
	b->ro = (struct recorder_opts){ .version = SONDE_VERSION, .argv = b->words };
	int err = open_all(b, o);
	if (err)
		record_beside_close(b);
	else
		*ret = b;
	return err;
}

int record_beside_start(struct record_beside *b)
{
	return recorder_start(b->call.s.rec, b->call.s.tell.diag);
}

int record_beside_stop(struct record_beside *b, bool discard)
{
	if (b && discard) {
		(void)!recorder_finish(b->call.s.rec, NULL);
		recorder_discard(b->call.s.rec);
	}
	if (!b || discard)
		return 0;
	int err = recorder_finish(b->call.s.rec, b->call.s.tell.diag);
	record_say_result(&b->call.s, err);
	return err;
}

void record_beside_close(struct record_beside *b)
{
	if (!b)
		return;
	record_session_done(&b->call.s);
	free(b);
}

/* `record -p PID` as `flame` runs it: what is recorded becomes stacks as it comes, and there is no file. */
#include "cmd/who/profile.h"

#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "cmd/record/record.h"
#include "session/stacks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

enum { KILLED_BY_CTRL_C = 128 + SIGINT };

static int begin_stacks(void *ctx)
{
	return stacks_live_start(ctx);
}

/* The first error, in one line. */
static void add_reason(const struct diag *d, struct strbuf *why)
{
	vec_for_each (&d->items, item)
		if (item->level == DIAG_ERROR) {
			strbuf_str(why, item->message);
			return;
		}
}

static int sample(struct app *app, s32 pid, unsigned seconds, struct stacks_live *l)
{
	char id[16], limit[16], *command[] = { (char *)"sleep", limit, NULL };
	struct recorder_stats stats;
	struct record_opts r = { .pids = id,
				 .freq = "999",
				 .call_graph = "auto",
				 .quiet = true,
				 .source = stacks_live_source(l),
				 .begin = begin_stacks,
				 .begin_ctx = l,
				 .result = &stats };
	(void)snprintf(id, sizeof(id), "%d", pid);
	(void)snprintf(limit, sizeof(limit), "%u", seconds);
	int status = command_record.run(app, &r, 2, command);
	return status && status != KILLED_BY_CTRL_C ? -EIO : 0;
}

int who_profile(void *ctx, s32 pid, unsigned seconds, struct flame *f, struct strbuf *why)
{
	struct app *app = ctx;
	struct symbol_opts symbols = { 0 };
	/* What is said of this belongs on the screen, not below the table in the end. */
	struct diag outer = app->diag;
	diag_init(&app->diag);
	app->diag.options = outer.options;
	struct stacks_live *l =
		stacks_live_new(&(struct stacks_live_opts){ .option_names = outer.options });
	int err = l ? sample(app, pid, seconds, l) : -ENOMEM;
	if (!err)
		err = stacks_live_end(l, app_symbols(app),
				      &(struct stacks_opts){ .symbols = &symbols }, f);
	if (err)
		add_reason(&app->diag, why);
	stacks_live_free(l);
	diag_done(&app->diag);
	app->diag = outer;
	return err;
}

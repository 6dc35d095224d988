/* What another program may ask for over --control (session/control.h) while events are counted. */
#include "session/stat_run.h"

#include <errno.h>
#include <string.h>

void stat_say_switched(struct stat_session *s, bool on)
{
	strbuf_str(s->tell.err, on ? "Events enabled\n" : "Events disabled\n");
	(void)strbuf_flush(s->tell.err);
}

/* name NULL: all of them. */
static int toggle(struct stat_session *s, const char *name, bool on)
{
	int err = !s->counters ? 0
		  : on	       ? counters_enable(s->counters, name)
			       : counters_disable(s->counters, name);
	if (!err && !name)
		stat_say_switched(s, on);
	else if (!err)
		strbuf_printf(s->tell.err, "Event %s %s\n", name, on ? "enabled" : "disabled");
	(void)strbuf_flush(s->tell.err);
	return err;
}

static void say_events(struct stat_session *s)
{
	vec_for_each (&s->plan.events, e)
		strbuf_printf(s->tell.err, "%s\n", e->name);
	(void)strbuf_flush(s->tell.err);
}

int stat_obey(void *ctx, enum control_command command)
{
	struct stat_session *s = ctx;
	const char *blank = strchr(s->run.control.word, ' ');
	const char *name = blank ? blank + 1 : NULL;
	switch (command) {
	case CONTROL_ENABLE: return toggle(s, name, true) ? -ENOTSUP : 0;
	case CONTROL_DISABLE: return toggle(s, name, false) ? -ENOTSUP : 0;
	case CONTROL_EVLIST: say_events(s); return 0;
	case CONTROL_PING: return 0;
	case CONTROL_STOP: return 1;
	default: return -ENOTSUP;
	}
}

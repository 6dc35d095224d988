/* What another program may ask for over --control (cmd/app/control.h) while events are counted. */
#include "cmd/stat/stat.h"

#include <errno.h>
#include <string.h>

void stat_say_switched(struct stat_session *s, bool on)
{
	strbuf_str(&s->app->err, on ? "Events enabled\n" : "Events disabled\n");
	(void)strbuf_flush(&s->app->err);
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
		strbuf_printf(&s->app->err, "Event %s %s\n", name, on ? "enabled" : "disabled");
	(void)strbuf_flush(&s->app->err);
	return err;
}

static void say_events(struct stat_session *s)
{
	vec_for_each (&s->plan.events, e)
		strbuf_printf(&s->app->err, "%s\n", e->name);
	(void)strbuf_flush(&s->app->err);
}

/* Whether it was carried out. */
static bool obey(struct stat_session *s, enum control_command command)
{
	const char *blank = strchr(s->control.word, ' ');
	const char *name = blank ? blank + 1 : NULL;
	switch (command) {
	case CONTROL_ENABLE: return !toggle(s, name, true);
	case CONTROL_DISABLE: return !toggle(s, name, false);
	case CONTROL_EVLIST: say_events(s); return true;
	case CONTROL_PING: return true;
	case CONTROL_STOP: s->over = true; return true;
	default: return false;
	}
}

int stat_on_control(void *ctx, u64 events)
{
	struct stat_session *s = ctx;
	(void)events;
	if (control_read(&s->control) <= 0) { /* nobody will say anything any more */
		loop_remove(s->loop, s->control_source);
		return 0;
	}
	for (enum control_command c; (c = control_next(&s->control)) != CONTROL_NONE;)
		if (obey(s, c))
			control_ack(&s->control);
	return 0;
}

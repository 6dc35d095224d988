#include "session/record.h"
#include "base/str.h"

#include "base/outplace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- several files ---------------------------------------------------------------------------------------------- */

/* "signal", a size with its unit, or a time with its. */
int record_parse_switch(struct record_switching *sw, const char *option, const char *text,
			struct diag *d)
{
	static const struct {
		char unit;
		u64 seconds;
	} times[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t digits = strspn(text, "0123456789");
	char number[24];
	u64 n;
	sw->on = true;
	if (!strcmp(text, "signal"))
		return 0;
	if (digits && digits < sizeof(number) && text[digits] && !text[digits + 1]) {
		memcpy(number, text, digits);
		number[digits] = 0;
		for (size_t i = 0; i < ARRAY_SIZE(times); i++)
			if (times[i].unit == text[digits] && !num_parse_u64(number, 10, &n) && n &&
			    n < UINT32_MAX) {
				sw->every_ns = n * times[i].seconds * 1000000000ull;
				return 0;
			}
	}
	if (text[digits] && !num_parse_size(text, &sw->bytes) && sw->bytes)
		return 0;
	diag_error(d, -EINVAL, "%s=%s: when?", option, text);
	diag_hint(d, "expected signal (SIGUSR2), a size like 100M, or a time like 30s, 5m, 1h");
	return -EINVAL;
}

/* FILE.YYYYMMDDhhmmsscc, as perf names them; a name that is taken gets the next hundredth. */
static int name_by_time(const struct record_session *s, char to[PATH_MAX])
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	for (int tries = 0; tries < 100; tries++) {
		struct tm tm;
		char stamp[32];
		localtime_r(&now.tv_sec, &tm);
		(void)strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm);
		int err = str_path(to, PATH_MAX, "%s.%s%02ld", s->output, stamp,
				   now.tv_nsec / 10000000);
		if (err)
			return err;
		if (access(to, F_OK))
			return 0;
		now.tv_nsec += 10000000;
		now.tv_sec += now.tv_nsec / 1000000000;
		now.tv_nsec %= 1000000000;
	}
	return -EEXIST;
}

int record_switch_keep(struct record_switching *sw, const char *name, u64 max_files)
{
	char **slot = vec_push(&sw->kept);
	if (!slot)
		return -ENOMEM;
	*slot = strdup(name);
	if (!*slot) {
		sw->kept.nr--;
		return -ENOMEM;
	}
	if (!max_files || sw->kept.nr <= max_files)
		return 0;
	(void)!outplace_remove(sw->kept.at[0], false);
	free(sw->kept.at[0]);
	memmove(sw->kept.at, sw->kept.at + 1, --sw->kept.nr * sizeof(char *));
	return 0;
}

/* A file is done: it is said. */
static int keep_name(struct record_session *s, const char *name)
{
	struct stat st;
	int err = record_switch_keep(&s->sw, name, s->o->switch_max_files);
	if (err)
		return err;
	s->sw.kept_bytes += stat(name, &st) ? 0 : (u64)st.st_size;
	if (!s->o->quiet) {
		if (s->perf_lines)
			strbuf_printf(s->tell.err, "[ perf record: Dump %s ]\n", name);
		else
			strbuf_printf(s->tell.err, "%s: finished %s\n", s->tell.title, name);
		(void)strbuf_flush(s->tell.err);
	}
	return 0;
}

static int switch_file(struct record_session *s)
{
	char name[PATH_MAX];
	int err = name_by_time(s, name);
	if (!err)
		err = recorder_switch(s->rec, name, s->tell.diag);
	if (!err)
		record_watch_file(s);
	return err ? err : keep_name(s, name);
}

/* The last file gets a name like the others. */
int record_keep_last(struct record_session *s)
{
	char name[PATH_MAX];
	int err = name_by_time(s, name);
	if (!err)
		err = recorder_rename(s->rec, name);
	return err ? err : keep_name(s, name);
}

int record_on_usr2(void *ctx, u64 signo)
{
	struct record_session *s = ctx;
	(void)signo;
	return s->sw.on && s->rec ? switch_file(s) : 0;
}

static int on_switch_time(void *ctx, u64 expired)
{
	(void)expired;
	return switch_file(ctx);
}

/* The file has the size at which the recording ends, or another begins. */
static int on_full(void *ctx, u64 events)
{
	struct record_session *s = ctx;
	struct recorder_stats st;
	(void)events;
	recorder_stats(s->rec, &st);
	if (s->o->max_size && s->sw.kept_bytes + st.file_bytes >= s->o->max_size) {
		diag_note(s->tell.diag, "stopped at %llu KB because of %s",
			  (unsigned long long)(s->sw.kept_bytes + st.file_bytes) >> 10,
			  s->labels->max_size);
		s->full = true;
		return 1;
	}
	return switch_file(s);
}

int record_watch_files(struct record_session *s)
{
	int err = loop_add_fd(s->run.loop, recorder_full_fd(s->rec), EPOLLIN, on_full, s, NULL);
	if (!err && s->sw.every_ns)
		err = loop_add_timer(s->run.loop, s->sw.every_ns, s->sw.every_ns, on_switch_time, s,
				     NULL);
	return err;
}

/* ---- commands from outside -------------------------------------------------------------------------------------- */

static void say_events(struct record_session *s)
{
	size_t nr;
	const struct live_event *events = recorder_events(s->rec, &nr);
	for (size_t i = 0; i < nr; i++)
		strbuf_printf(s->tell.err, "%s\n", events[i].name);
	(void)strbuf_flush(s->tell.err);
}

int record_obey(void *ctx, enum control_command command)
{
	struct record_session *s = ctx;
	switch (command) {
	case CONTROL_ENABLE: recorder_toggle(s->rec, true); return 0;
	case CONTROL_DISABLE: recorder_toggle(s->rec, false); return 0;
	case CONTROL_SNAPSHOT: return s->sw.on ? switch_file(s) : 0;
	case CONTROL_EVLIST: say_events(s); return 0;
	case CONTROL_PING: return 0;
	case CONTROL_STOP: return 1;
	case CONTROL_NONE:
	case CONTROL_UNKNOWN: break;
	}
	diag_warn(s->tell.diag, "%s: '%s' is no command", s->labels->control, s->run.control.word);
	tell_say(&s->tell);
	return -ENOTSUP;
}

/* The live screen of `who`: which key changes what. view/tui_live draws and moves. */
#include "session/who_run.h"

#include "base/clock.h"
#include "kern/task_act.h"
#include "session/thread_stacks.h"
#include "session/who_look.h"
#include "session/who_settings.h"
#include "view/tui_flame.h"
#include "view/tui_live.h"
#include "view/tui_screen.h"
#include "view/who_head.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const char footer[] =
	"? help  Enter menu  f fields  o filter  H threads  w waits  k kill  q quit";

static const char help[] =
	"\n"
	"  Enter                        menu: profile, waits, system calls, stacks,\n"
	"                               open files and sockets, memory maps\n"
	"  w                            what the task waits for, by stack\n"
	"  f                            choose, order and sort by columns\n"
	"  <  >                         sort by the column to the left, to the right\n"
	"  R                            reverse the order\n"
	"  o  O                         add a filter: USER=ada, !COMMAND=kw, %CPU>5\n"
	"  =                            remove all filters, also u, i and n\n"
	"  u  U                         tasks of one user only\n"
	"  i                            hide idle tasks\n"
	"  n  #                         show at most so many tasks\n"
	"  H                            threads\n"
	"  V                            tree\n"
	"  c                            command lines\n"
	"  1                            a line for each CPU\n"
	"  e  E                         unit of memory: of tasks, of the machine\n"
	"  k                            send a signal\n"
	"  r                            change the nice value\n"
	"  d  s                         seconds between two readings\n"
	"  W                            save columns, order and switches\n"
	"\n  Percentages of CPU time are of one CPU. Only numbers have colours: from 1, 10 and 50 "
	"%.\n";

struct who_screen {
	struct who_run_opts *o;
	const struct tell *tell;
	struct who_source source;
};

static int update(void *ctx, bool again, struct table *t, struct strbuf *head)
{
	struct who_screen *s = ctx;
	int err = 0;
	if (again || !who_source_suits(&s->source, &s->o->who))
		err = who_source_read(&s->source, &s->o->who, s->o->pids, s->o->nr_pids,
				      s->tell->diag);
	if (!err)
		err = who_source_table(&s->source, &s->o->who, t);
	if (err)
		return err;
	who_head_text(
		who_summary(s->source.who), &s->source.system[1],
		&(struct who_head_style){ .per_cpu = s->o->per_cpu,
					  .disks = s->o->disks,
					  .memory = s->o->memory,
					  .now_s = (s64)(clock_ns(CLOCK_REALTIME) / NS_PER_SEC) },
		head);
	strbuf_char(head, '\n');
	return head->err;
}

static u64 row_id(void *ctx, size_t row)
{
	const struct who_screen *s = ctx;
	const struct task *t = who_row_task(s->source.who, row);
	return t ? (u64)(u32)t->tid << 32 | (u32)t->start_ticks : row;
}

static u64 delay_ms(void *ctx)
{
	const struct who_screen *s = ctx;
	return max(s->o->delay_ns / 1000000, (u64)1);
}

static size_t sorted(void *ctx)
{
	const struct who_screen *s = ctx;
	const struct who_opts *w = &s->o->who;
	size_t i = 0;
	while (i < w->columns.list.nr && w->columns.list.at[i] != w->sort)
		i++;
	return w->by == WHO_NO_COLUMN ? i : SIZE_MAX;
}

/* ---- columns ---- */

static void sort_beside(struct who_screen *s, int step)
{
	struct who_opts *w = &s->o->who;
	size_t at = sorted(s), nr = w->columns.list.nr;
	if (at >= nr)
		at = step > 0 ? 0 : nr - 1;
	else if (step > 0)
		at = min(at + 1, nr - 1);
	else
		at -= at > 0;
	w->sort = w->columns.list.at[at];
	w->reversed = false;
}

/* Those that are shown come first, in their order. */
static int choose_fields(struct who_screen *s)
{
	struct who_opts *w = &s->o->who;
	struct tui_field *fields = calloc(who_nr_columns, sizeof(*fields));
	u32 nr = 0, sort = w->sort;
	if (!fields)
		return -ENOMEM;
	for (size_t i = 0; i < w->columns.list.nr + who_nr_columns; i++) {
		bool shown = i < w->columns.list.nr;
		u32 id = shown ? w->columns.list.at[i] : (u32)(i - w->columns.list.nr);
		bool twice = false;
		for (u32 k = 0; k < nr; k++)
			twice = twice || fields[k].id == id;
		if (!twice)
			fields[nr++] = (struct tui_field){ .name = who_columns[id].name,
							   .title = who_columns[id].title,
							   .id = id,
							   .shown = shown };
	}
	int err = tui_fields("1:Def", fields, nr, &sort);
	size_t shown = 0;
	if (!err && !vec_reserve(&w->columns.list, nr))
		err = -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++)
		if (fields[i].shown)
			w->columns.list.at[shown++] = (u16)fields[i].id;
	if (!err && shown) /* a table without columns could not be brought back */
		w->columns.list.nr = shown;
	w->sort = (u16)sort;
	free(fields);
	return err;
}

/* ---- what is asked for ---- */

/* What went wrong, on the last line instead of at the end. */
static void tell_error(struct diag *d, struct strbuf *message)
{
	if (d->items.nr)
		strbuf_str(message, d->items.at[d->items.nr - 1].message);
	diag_done(d);
}

static int ask_filter(struct who_screen *s, struct strbuf *message)
{
	char text[128] = "";
	struct who_filter f;
	struct diag d;
	if (!tui_ask("add filter ([!]COLUMN=VALUE, also < and >): ", text, sizeof(text)) || !*text)
		return 0;
	diag_init(&d);
	int err = who_filter_parse(text, &f, &d);
	struct who_filter *slot = err ? NULL : vec_push(&s->o->who.filters.list);
	if (slot)
		*slot = f;
	tell_error(&d, message);
	return err || slot ? 0 : -ENOMEM;
}

static void ask_user(struct who_screen *s, struct strbuf *message)
{
	char text[64] = "";
	if (!tui_ask("which user (blank for all): ", text, sizeof(text)))
		return;
	if (!*text)
		s->o->who.one_user = false;
	else if (user_by_name(&s->source.names, text, &s->o->who.uid))
		strbuf_printf(message, "unknown user '%s'", text);
	else
		s->o->who.one_user = true;
}

static void ask_rows(struct who_screen *s, struct strbuf *message)
{
	char text[32] = "";
	u64 nr = 0;
	if (!tui_ask("maximum tasks (0: all): ", text, sizeof(text)) || !*text)
		return;
	if (num_parse_u64(text, 10, &nr) || nr > UINT32_MAX)
		strbuf_printf(message, "invalid number '%s'", text);
	else
		s->o->who.max_rows = (u32)nr;
}

static void ask_delay(struct who_screen *s, struct strbuf *message)
{
	char text[32] = "";
	u64 ns = 0;
	if (!tui_ask("time between two readings: ", text, sizeof(text)) || !*text)
		return;
	if (clock_parse(text, &ns) || !ns)
		strbuf_printf(message, "invalid time '%s'", text);
	else
		s->o->delay_ns = ns;
}

static void ask_signal(const struct task *t, struct strbuf *message)
{
	char what[160], text[32] = "", sure[8] = "";
	(void)snprintf(what, sizeof(what), "signal for %d (%.40s) [TERM]: ", t->pid, t->comm);
	if (!tui_ask(what, text, sizeof(text)))
		return;
	int signo = signal_number(*text ? text : "TERM");
	if (signo < 0) {
		strbuf_printf(message, "unknown signal '%s'", text);
		return;
	}
	const char *name = sigabbrev_np(signo);
	(void)snprintf(what, sizeof(what), "send SIG%s to %d (%.40s)? y/N ", name ? name : "",
		       t->pid, t->comm);
	if (!tui_ask(what, sure, sizeof(sure)) || (*sure != 'y' && *sure != 'Y')) {
		strbuf_str(message, "no signal was sent");
		return;
	}
	int err = task_signal(t->pid, t->start_ticks, signo);
	if (err)
		strbuf_printf(message, "cannot send SIG%s to %d: %s", name ? name : "", t->pid,
			      strerror(-err));
	else
		strbuf_printf(message, "SIG%s was sent to %d", name ? name : "", t->pid);
}

static void ask_nice(const struct task *t, struct strbuf *message)
{
	char what[160], text[16] = "";
	s64 nice;
	(void)snprintf(what, sizeof(what), "nice value of %d (%.40s), now %d: ", t->tid, t->comm,
		       t->nice);
	if (!tui_ask(what, text, sizeof(text)) || !*text)
		return;
	if (num_parse_s64(text, 10, &nice) || nice < -20 || nice > 19) {
		strbuf_printf(message, "invalid nice value '%s'", text);
		return;
	}
	int err = task_renice(t->tid, (int)nice);
	if (err)
		strbuf_printf(message, "cannot change the nice value of %d: %s", t->tid,
			      strerror(-err));
}

static void save(struct who_screen *s, struct strbuf *message)
{
	char path[4096];
	int err = who_settings_save(&(struct who_settings){ .who = &s->o->who,
							    .delay_ns = &s->o->delay_ns,
							    .per_cpu = &s->o->per_cpu,
							    .memory = &s->o->memory },
				    path, sizeof(path));
	if (err == -EPERM)
		strbuf_str(message, "not saved: the settings belong to another user");
	else if (err)
		strbuf_printf(message, "not saved: %s", strerror(-err));
	else
		strbuf_printf(message, "saved in %s", path);
}

/* ---- looking closer ---- */

/* Ten seconds of samples, which become a flame graph while they come in. */
static void profile(const struct who_screen *s, const struct task *t, struct strbuf *message)
{
	enum { SECONDS = 10 };
	struct flame flame;
	char title[128];
	flame_init(&flame);
	tui_suspend();
	strbuf_printf(s->tell->out, "sampling %d for %d s; Ctrl-C ends it early\n", t->pid, SECONDS);
	(void)strbuf_flush(s->tell->out);
	int err = s->o->profile(s->o->ctx, t->pid, SECONDS, &flame, message);
	tui_resume();
	(void)snprintf(title, sizeof(title), "%d (%.40s)", t->pid, t->comm);
	if (!err && !flame.points.nr)
		strbuf_printf(message, "no samples: %s used no CPU time", title);
	else if (!err)
		err = tui_flame_window(&flame, title, s->tell->colour);
	if (err && !message->len)
		strbuf_printf(message, "cannot profile %s: %s", title, strerror(-err));
	flame_done(&flame);
}

static void look(struct who_screen *s, const struct task *t,
		 int (*fn)(const struct sysroot *, s32, struct strbuf *), const char *what,
		 struct strbuf *message)
{
	struct strbuf text;
	char title[128];
	strbuf_init(&text);
	int err = fn(&s->source.root, t->pid, &text);
	(void)snprintf(title, sizeof(title), "%s of %d (%.40s)", what, t->pid, t->comm);
	if (err)
		strbuf_printf(message, "cannot read the %s of %d: %s", what, t->pid, strerror(-err));
	else
		tui_text(title, strbuf_cstr(&text));
	strbuf_done(&text);
}

static void stacks(struct who_screen *s, const struct task *t, struct strbuf *message)
{
	struct thread_stacks st;
	struct strbuf text;
	struct diag d, *old = s->o->symbols->diag;
	char title[128];
	diag_init(&d);
	strbuf_init(&text);
	text.screen = true;
	s->o->symbols->diag = &d; /* notes about files without symbols have no place on a screen */
	int err = thread_stacks_open(
		&st, &(struct thread_stacks_opts){ .pid = t->pid, .max_frames = 256 },
		s->o->symbols, &d);
	(void)snprintf(title, sizeof(title), "stacks of %d (%.40s)", t->pid, t->comm);
	if (!err) {
		thread_stacks_text(&st, &text);
		tui_text(title, strbuf_cstr(&text));
		diag_done(&d);
	} else if (d.items.nr) {
		tell_error(&d, message);
	} else {
		strbuf_printf(message, "cannot take the stacks of %d: %s", t->pid, strerror(-err));
	}
	thread_stacks_close(&st);
	s->o->symbols->diag = old;
	strbuf_done(&text);
}

static void trace(const struct who_screen *s, const struct task *t, struct strbuf *message)
{
	struct strbuf *out = s->tell->out;
	tui_suspend();
	strbuf_printf(out, "system calls of %d; Ctrl-C ends it\n", t->pid);
	(void)strbuf_flush(out);
	int err = s->o->trace(s->o->ctx, t->pid, message);
	tui_resume();
	if (err && !message->len)
		strbuf_printf(message, "cannot trace %d: %s", t->pid, strerror(-err));
}

static void waits(const struct who_screen *s, const struct task *t, struct strbuf *message)
{
	enum { SECONDS = 3 };
	struct strbuf text;
	char title[128];
	strbuf_init(&text);
	tui_suspend();
	strbuf_printf(s->tell->out, "watching %d for %d s; Ctrl-C ends it early\n", t->pid, SECONDS);
	(void)strbuf_flush(s->tell->out);
	int err = s->o->waits(s->o->ctx, t->pid, SECONDS, &text, message);
	tui_resume();
	(void)snprintf(title, sizeof(title), "where the time of %d (%.40s) went", t->pid, t->comm);
	if (err && !message->len)
		strbuf_printf(message, "cannot watch %d: %s", t->pid, strerror(-err));
	else if (!err && !text.len)
		strbuf_printf(message, "no switch to or from %d in %d s: Enter, s shows where it is",
			      t->pid, SECONDS);
	else if (!err)
		tui_text(title, strbuf_cstr(&text));
	strbuf_done(&text);
}

static void menu(struct who_screen *s, const struct task *t, struct strbuf *message)
{
	static const char *const lines[] = { "p  profile for 10 s, then browse it",
					     "w  what it waits for, in 3 s",
					     "t  trace its system calls",
					     "s  stacks of all threads",
					     "o  open files and sockets",
					     "m  memory maps",
					     "k  send a signal",
					     "r  change the nice value",
					     NULL };
	char title[128];
	(void)snprintf(title, sizeof(title), "%d (%.40s)", t->pid, t->comm);
	int chosen = tui_menu(title, lines);
	switch (chosen < 0 ? 0 : *lines[chosen]) {
	case 'p': profile(s, t, message); break;
	case 'w': waits(s, t, message); break;
	case 't': trace(s, t, message); break;
	case 's': stacks(s, t, message); break;
	case 'o': look(s, t, who_look_files, "open files", message); break;
	case 'm': look(s, t, who_look_maps, "memory maps", message); break;
	case 'k': ask_signal(t, message); break;
	case 'r': ask_nice(t, message); break;
	default: break;
	}
}

/* ---- keys ---- */

static void drop_limits(struct who_opts *w)
{
	w->filters.list.nr = 0;
	w->one_user = w->no_idle = false;
	w->max_rows = 0;
}

static int task_key(struct who_screen *s, int key, s64 row, struct strbuf *message)
{
	const struct task *t = row < 0 ? NULL : who_row_task(s->source.who, (size_t)row);
	if (!t) {
		strbuf_str(message, "no task is selected");
		return TUI_LIVE_NOTHING;
	}
	const struct task copy = *t;
	if (key == 'k')
		ask_signal(&copy, message);
	else if (key == 'r')
		ask_nice(&copy, message);
	else if (key == 'w')
		waits(s, &copy, message);
	else
		menu(s, &copy, message);
	return TUI_LIVE_CHANGED;
}

static u8 next_unit(u8 unit)
{
	return unit < MEMORY_PIB ? unit + 1 : MEMORY_KIB;
}

static int on_key(void *ctx, int key, s64 row, struct strbuf *message)
{
	struct who_screen *s = ctx;
	struct who_opts *w = &s->o->who;
	int err = 0;
	switch (key) {
	case '\n':
	case '\r':
	case 'k':
	case 'w':
	case 'r': return task_key(s, key, row, message);
	case 'f': err = choose_fields(s); break;
	case '<': sort_beside(s, -1); break;
	case '>': sort_beside(s, 1); break;
	case 'R': w->reversed = !w->reversed; break;
	case 'o':
	case 'O': err = ask_filter(s, message); break;
	case '=': drop_limits(w); break;
	case 'u':
	case 'U': ask_user(s, message); break;
	case 'i': w->no_idle = !w->no_idle; break;
	case 'n':
	case '#': ask_rows(s, message); break;
	case 'H': w->threads = !w->threads; break;
	case 'V': w->tree = !w->tree; break;
	case 'c': w->command_lines = !w->command_lines; break;
	case '1': s->o->per_cpu = !s->o->per_cpu; break;
	case 'e': w->memory = next_unit(w->memory); break;
	case 'E': s->o->memory = next_unit(s->o->memory ? s->o->memory : MEMORY_MIB); break;
	case 'd':
	case 's': ask_delay(s, message); break;
	case 'W': save(s, message); return TUI_LIVE_NOTHING;
	default: return TUI_LIVE_NOTHING;
	}
	return err ? err : TUI_LIVE_CHANGED;
}

int who_run_screen(struct who_run_opts *o, const struct tell *tell)
{
	struct who_screen s = { .o = o, .tell = tell };
	int err = who_source_open(&s.source, o->root, tell->diag);
	o->who.memory = o->who.memory ? o->who.memory : MEMORY_KIB;
	if (!err)
		err = tui_live(&(struct tui_live_config){ .ctx = &s,
							  .colour = tell->colour,
							  .footer = footer,
							  .help = help,
							  .update = update,
							  .row_id = row_id,
							  .delay_ms = delay_ms,
							  .sorted = sorted,
							  .key = on_key });
	if (!err)
		who_source_notes(&s.source, &o->who, tell->diag);
	who_source_close(&s.source);
	return err;
}

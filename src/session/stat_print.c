#include "session/stat_run.h"

#include "session/outfile.h"

#include "view/csv_stat.h"
#include "view/json_stat.h"
#include "view/text_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS_EVERY = 25 }; /* intervals between lines of column names */

static int open_output(const struct stat_opts *o, struct diag *d)
{
	struct outplace p;
	int fd = outplace_open(&p, o->output, 0, d);
	if (fd < 0)
		return fd;
	bool there = p.kind == OUTPLACE_SPECIAL || (o->append && p.kind == OUTPLACE_FILE);
	if (p.kind == OUTPLACE_FOLDER)
		fd = -EISDIR;
	else if (p.kind == OUTPLACE_LINK && o->append)
		fd = -ELOOP; /* what it leads to is not for root to append to */
	else
		fd = there ? outplace_reopen(&p, O_WRONLY | (o->append ? O_APPEND : 0))
			   : outfile_replace(&p);
	outplace_close(&p);
	if (fd == -ELOOP) {
		diag_error(d, fd, "cannot append to '%s': it is a symbolic link", o->output);
		diag_hint(d, "as root, name the file it points to");
	} else if (fd < 0) {
		diag_error(d, fd, "cannot write '%s': %s", o->output, strerror(-fd));
	}
	return fd;
}

static void copy_text(char *to, size_t size, const char *from)
{
	if (strlen(from) < size)
		memcpy(to, from, strlen(from) + 1);
}

/* Numbers in text follow the person's locale; everything else in this program does not. */
static void read_digits(struct stat_digits *g, bool groups)
{
	locale_t person = newlocale(LC_NUMERIC_MASK, "", (locale_t)0);
	if (!person)
		return;
	locale_t before = uselocale(person);
	const struct lconv *c = localeconv();
	copy_text(g->point, sizeof(g->point), c->decimal_point);
	if (groups) {
		copy_text(g->separator, sizeof(g->separator), c->thousands_sep);
		copy_text(g->grouping, sizeof(g->grouping), c->grouping);
	}
	(void)uselocale(before);
	freelocale(person);
}

static void write_start(struct stat_session *s)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[64];
	if (localtime_r(&now, &tm) && strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm))
		strbuf_printf(&s->out, "# started on %s\n\n", text);
}

static int out_drain(void *ctx, const char *data, size_t len)
{
	struct stat_session *s = ctx;
	if (!s->out.screen)
		return strbuf_drain_fd(&s->out_fd, data, len);
	return printable_write(&s->screen, s->out_fd, data, len, term_printable(s->view.colour));
}

int stat_print_open(struct stat_session *s, struct diag *d)
{
	const struct stat_opts *o = s->o;
	s->out_fd = STDERR_FILENO;
	bool to_file = o->output && !o->record;
	if (to_file) {
		s->out_fd = open_output(o, d);
		if (s->out_fd < 0)
			return s->out_fd;
		s->close_out = true;
	} else if (o->log_fd_given) {
		s->out_fd = (int)o->log_fd;
		if (o->log_fd < 0 || o->log_fd > INT32_MAX || fcntl(s->out_fd, F_GETFD) < 0)
			return diag_error(d, -EINVAL, "%s %lld: that descriptor is not open",
					  o->labels->log_fd, (long long)o->log_fd);
	}
	strbuf_init_drain(&s->out, 1 << 16, out_drain, s);
	s->out.screen = term_is_tty(s->out_fd);
	s->view = (struct stat_view){ .to = &s->out, .separator = o->separator };
	if (o->separator && !strcmp(o->separator, "\\t"))
		s->view.separator = "\t";
	if (!o->separator && !o->json) {
		read_digits(&s->view.digits, o->big_num);
		s->view.colour = s->out_fd == STDERR_FILENO
					 ? s->tell.colour_err
					 : term_colour(s->tell.when_colour, s->out_fd);
	}
	if (to_file && !o->quiet)
		write_start(s);
	return 0;
}

static int flush_output(struct stat_session *s)
{
	(void)strbuf_flush(s->tell.err);
	int err = strbuf_flush(&s->out);
	if (err && err != -EPIPE)
		return diag_error(s->tell.diag, err, "cannot write the counts: %s", strerror(-err));
	return err;
}

static struct stat_head make_head(struct stat_session *s, const struct stat_acc *acc)
{
	return (struct stat_head){
		.by = s->plan.by,
		.events = s->plan.events.at,
		.nr_events = s->plan.events.nr,
		.keys = s->plan.keys.at,
		.nr_keys = s->plan.keys.nr,
		.nr_runs = acc->nr_runs,
		.ratios_only = s->o->metric_only,
	};
}

static void print_rows(struct stat_session *s, const struct stat_head *h,
		       const struct stat_rows *rows, bool columns)
{
	if (s->o->json) {
		json_stat_rows(&s->view, h, rows);
	} else if (s->o->separator) {
		if (columns && h->ratios_only)
			csv_stat_columns(&s->view, h, rows);
		csv_stat_rows(&s->view, h, rows);
	} else {
		if (columns)
			text_stat_columns(&s->view, h, rows);
		text_stat_rows(&s->view, h, rows);
	}
}

/* Past the stream that makes everything printable. */
static int clear_screen(struct stat_session *s)
{
	static const char clear[] = "\033[2J\033[H";
	int err = flush_output(s);
	return err ? err : strbuf_drain_fd(&s->out_fd, clear, sizeof(clear) - 1);
}

int stat_print_interval(struct stat_session *s, u64 now_ns)
{
	struct stat_rows rows = { 0 };
	struct stat_head h = make_head(s, &s->acc);
	h.interval = true;
	h.nr_runs = 1;
	h.time_ns = now_ns - s->start_ns;
	int err = stat_finish(&s->acc, (double)(now_ns - s->last_ns), &rows);
	if (!err && !s->o->quiet && !s->silent) {
		if (s->o->interval_clear && s->out.screen)
			err = clear_screen(s);
		print_rows(s, &h, &rows,
			   s->nr_intervals % COLUMNS_EVERY == 0 || s->o->interval_clear);
	}
	stat_rows_done(&rows);
	return err ? err : flush_output(s);
}

static void print_times(struct stat_session *s)
{
	const struct stat_times t = {
		.elapsed_s = s->elapsed.list.at,
		.nr_runs = (u32)s->elapsed.list.nr,
		.mean_s = s->elapsed_mean.mean,
		.error_s = stat_mean_error(&s->elapsed_mean),
		.table = s->o->table,
		.has_usage = s->plan.of_command && s->elapsed.list.nr == 1,
		.user_s = (double)s->user_ns / 1e9,
		.system_s = (double)s->system_ns / 1e9,
	};
	text_stat_times(&s->view, &t);
}

int stat_print_whole(struct stat_session *s, struct stat_acc *acc)
{
	struct stat_rows rows = { 0 };
	struct stat_head h = make_head(s, acc);
	bool text = !s->o->json && !s->o->separator;
	h.summary = s->o->summary && s->o->interval_ms && !s->o->no_csv_summary;
	int err = stat_finish(acc, s->elapsed_mean.mean * 1e9, &rows);
	if (!err && !s->o->quiet && !s->silent) {
		if (text)
			text_stat_title(&s->view, s->plan.target, h.nr_runs);
		print_rows(s, &h, &rows, h.ratios_only);
		if (text && !s->o->null_run)
			strbuf_char(&s->out, '\n');
		if (text)
			print_times(s);
	}
	stat_rows_done(&rows);
	return err ? err : flush_output(s);
}

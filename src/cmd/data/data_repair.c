/* sonde data repair: completes a recording whose recorder was killed. */
#include "base/json.h"
#include "base/outplace.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "file/perfdata_read.h"
#include "file/perfdata_repair.h"
#include "kern/tracing_data.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct repair_opts {
	bool formats;
};

static const struct opt repair_rows[] = {
	OPT_FLAG(0, "formats", struct repair_opts, formats,
		 "Take tracepoint formats from the running kernel (if it was recorded here since "
		 "the last boot)"),
	OPT_END(),
};

static const struct opt_example repair_examples[] = {
	{ "data repair", "complete ./perf.data" },
	{ "data repair --formats trace.data",
	  "a killed perf was recording tracepoints on this system" },
	{ 0 },
};

/* The tracepoints of the recording, as this kernel describes them. */
static int find_points(const struct perfdata *file, const struct tracing *t,
		       struct tracing_events *all, struct strbuf *to, struct diag *d)
{
	size_t nr = 0;
	for (size_t i = 0; i < all->items.nr; i++) {
		u64 id;
		if (tracing_event_id(t, all->items.at[i].system, all->items.at[i].name, &id))
			continue;
		bool wanted = false;
		vec_for_each (&file->attrs, a)
			wanted |= a->attr.type == PERF_TYPE_TRACEPOINT && a->attr.config == id;
		if (wanted)
			all->items.at[nr++] = all->items.at[i];
	}
	return nr ? tracing_data_build(t, all->items.at, nr, to, d)
		  : diag_error(d, -ENOENT, "this kernel knows none of its tracepoints");
}

static int read_formats(const char *path, struct strbuf *to, struct diag *d)
{
	struct perfdata file;
	struct tracing t;
	struct tracing_events all;
	int err = perfdata_open(&file, path, d);
	if (err)
		return err;
	err = tracing_open(&t, "");
	if (!err) {
		err = t.err ? tracing_explain(&t, d) : tracing_list_events(&t, NULL, NULL, &all);
		if (!err) {
			err = find_points(&file, &t, &all, to, d);
			tracing_events_done(&all);
		}
		tracing_close(&t);
	}
	perfdata_close(&file);
	return err;
}

static void say(struct app *app, const char *path, const struct perfdata_repaired *r)
{
	if (app->json) {
		struct json j;
		json_begin(&j, &app->out, JSON_PRETTY);
		json_object(&j);
		json_put_str(&j, "file", path);
		json_put_bool(&j, "was_whole", r->was_whole);
		json_put_u64(&j, "records", r->nr_records);
		json_put_u64(&j, "samples", r->nr_samples);
		json_put_u64(&j, "dropped_bytes", r->dropped_bytes);
		json_put_bool(&j, "lost_features", r->lost_features);
		json_put_bool(&j, "lost_formats", r->lost_formats);
		json_object_end(&j);
		(void)!json_end(&j);
		return;
	}
	strbuf_printf(&app->out, "%s: %s, %llu %s in %llu %s", path,
		      r->was_whole ? "was intact" : "repaired", (unsigned long long)r->nr_samples,
		      str_plural(r->nr_samples, "sample", "samples"),
		      (unsigned long long)r->nr_records,
		      str_plural(r->nr_records, "record", "records"));
	if (r->dropped_bytes)
		strbuf_printf(&app->out, ", %llu bytes after the last complete record were dropped",
			      (unsigned long long)r->dropped_bytes);
	strbuf_char(&app->out, '\n');
}

/* Through a link only where it could be written through it: what it leads to is changed. */
static int open_in_place(const char *path, struct diag *d)
{
	struct outplace p;
	int fd = outplace_open(&p, path, 0, d);
	if (fd < 0)
		return fd;
	fd = p.kind == OUTPLACE_NEW    ? -ENOENT
	     : p.kind == OUTPLACE_FILE ? outplace_reopen(&p, O_RDWR | O_NONBLOCK)
	     : p.kind == OUTPLACE_LINK ? -ELOOP
				       : -EINVAL;
	outplace_close(&p);
	if (fd == -ELOOP) {
		diag_error(d, fd, "cannot repair '%s': it is a symbolic link", path);
		diag_hint(d, "as root, name the file it points to");
	} else if (fd < 0) {
		diag_error(d, fd, "cannot open '%s': %s", path,
			   fd == -EINVAL ? "not a regular file" : strerror(-fd));
	}
	return fd;
}

static int repair(struct app *app, const struct repair_opts *o, const char *path)
{
	struct diag *d = &app->diag;
	struct stat st;
	struct perfdata_repaired done;
	char inner[PATH_MAX];
	const char *file = path;
	bool dir = !stat(path, &st) && S_ISDIR(st.st_mode);
	if (dir && snprintf(inner, sizeof(inner), "%s/data", path) < (int)sizeof(inner))
		file = inner;
	_cleanup_close_ int fd = open_in_place(file, d);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		diag_error(d, -EBUSY, "'%s' is being recorded", path);
		diag_hint(d, "stop the recorder first; its file is readable at any time");
		return -EBUSY;
	}
	struct strbuf formats;
	strbuf_init(&formats);
	int err = o->formats ? read_formats(path, &formats, d) : 0;
	struct perfdata_repair_opts ro = { .tracing_data = formats.len ? formats.data : NULL,
					   .tracing_data_size = formats.len,
					   .in_dir = dir };
	if (!err)
		err = perfdata_repair(fd, file, &ro, &done, d);
	strbuf_done(&formats);
	if (err)
		return err;
	say(app, path, &done);
	if (done.lost_features)
		diag_note(
			d,
			"host, command line and similar facts were never written and are unknown");
	if (done.lost_formats) {
		diag_warn(d, "the formats of its tracepoints were never written");
		diag_hint(
			d, "on the machine where it was recorded, before the next reboot: sonde data repair --formats %s",
			path);
	}
	return 0;
}

static int repair_run(struct app *app, void *opts, int argc, char **argv)
{
	int status = APP_DONE;
	if (!argc)
		return repair(app, opts, "perf.data") ? app_fail(app, -EIO) : APP_DONE;
	for (int i = 0; i < argc; i++)
		if (repair(app, opts, argv[i]))
			status = app_fail(app, -EIO);
	return status;
}

const struct command command_data_repair = {
	.name = "repair",
	.summary = "complete a recording whose recorder was killed",
	.usage = "[OPTIONS] [FILE ...]",
	.about = "Repairs perf.data files (ours and perf's) in place when the recorder was killed "
		 "or the end is missing: everything up to the last complete record is kept, and "
		 "perf can read it again. Intact files are not touched. For our own recordings a "
		 "watchdog does this as soon as the recorder dies; this command is for when the "
		 "watchdog was killed too.",
	.examples = repair_examples,
	.opts = repair_rows,
	.opts_size = sizeof(struct repair_opts),
	.mixed_words = true,
	.run = repair_run,
};

/* What is said at the end of a recording. */
#include "base/json.h"
#include "cmd/ftrace/record_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

int ftrace_run_file_done(void *ctx, const char *name, u64 bytes)
{
	struct ftrace_run *s = ctx;
	int err = record_switch_keep(&s->sw, name, s->o->switch_max_files);
	if (err)
		return err;
	if (!s->o->quiet && !s->app->json) {
		strbuf_printf(&s->app->err, "[ %s: %.1f MB ]\n", name, (double)bytes / 1e6);
		(void)app_flush(s->app);
	}
	return 0;
}

/* What trace-cmd tells on standard output, for scripts that look at it. */
static void say_as_trace_cmd(struct ftrace_run *s)
{
	struct tracedat t;
	struct strbuf *to = s->o->to_err ? &s->app->err : &s->app->out;
	if (tracedat_open(&t, s->rec.output, NULL))
		return;
	vec_for_each (&t.buffers, b) {
		if (*b->name)
			strbuf_printf(to, "\nBuffer: %s\n\n", b->name);
		for (u32 i = 0; i < b->nr_cpus; i++) {
			const struct tracedat_cpu *c = &b->cpus[i];
			const u8 *at = c->pages	      ? c->pages
				       : c->nr_chunks ? c->chunks[0].data - 12
						      : NULL;
			strbuf_printf(
				to, "CPU%u data recorded at offset=0x%llx\n    %llu bytes in size\n",
				c->cpu, at ? (unsigned long long)(at - t.map) : 0,
				(unsigned long long)c->nr_pages * b->page_size);
		}
	}
	tracedat_close(&t);
}

static void say_end(struct ftrace_run *s, const struct live_ftrace_stats *st,
		    const struct parts_summary *sum)
{
	struct rusage ru;
	const char *file = s->rec.output;
	u64 lost = st->overrun + st->dropped;
	(void)getrusage(RUSAGE_SELF, &ru);
	double cpu = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		     (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
	if (s->app->json) {
		struct json j;
		json_begin(&j, &s->app->out, JSON_PRETTY);
		json_object(&j);
		json_put_str(&j, "file", file);
		if (s->sw.on) {
			json_key(&j, "files");
			json_array(&j);
			vec_for_each (&s->sw.kept, name)
				json_str(&j, *name);
			json_array_end(&j);
		}
		json_put_u64(&j, "events", st->read);
		json_put_u64(&j, "lost", lost);
		json_put_u64(&j, "page_bytes", sum->bytes);
		json_put_u64(&j, "bytes", sum->file_bytes);
		json_put_double(&j, "recorder_cpu_seconds", cpu);
		json_object_end(&j);
		(void)!json_end(&j);
		return;
	}
	if (s->o->quiet)
		return;
	if (s->app->dialect->traces_until_ctrl_c)
		say_as_trace_cmd(s);
	strbuf_printf(&s->app->err, "[ %s: ", file);
	if (s->rec.latency)
		strbuf_str(&s->app->err, "the text of a latency tracer");
	else
		strbuf_printf(&s->app->err, "%llu %s, %llu lost", (unsigned long long)st->read,
			      str_plural(st->read, "event", "events"), (unsigned long long)lost);
	strbuf_printf(&s->app->err, ", %.1f MB%s; recorder used %.2f s CPU ]\n",
		      (double)sum->file_bytes / 1e6, s->full ? " (--max-size)" : "", cpu);
	if (s->o->samples)
		strbuf_printf(
			&s->app->err, "[ samples: %s.perf; 'sonde ftrace report --samples %s.perf %s' shows both ]\n",
			file, file, file);
	if (lost)
		diag_warn(&s->app->diag, "%llu %s lost: use a larger buffer (-b) or fewer events",
			  (unsigned long long)lost, str_plural(lost, "event was", "events were"));
}

int ftrace_run_finish(struct ftrace_run *s)
{
	struct live_ftrace_stats st;
	struct parts_summary sum;
	int err = ftrace_recording_finish(&s->rec, &st, &sum);
	if (s->rec.whole)
		say_end(s, &st, &sum);
	return err ? err : s->rec.switch_err;
}

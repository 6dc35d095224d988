/* inspect log, sys and vtop: what the kernel said, what machine it runs on, and where its pages are. */
#include "cmd/inspect/inspect.h"

#include "base/printable.h"
#include "memory/kclock.h"
#include "memory/klog.h"
#include "memory/kmachine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef unsigned long long ull;

enum { NSEC = 1000000000 };

/* ---- log ------------------------------------------------------------------------------------------------------------------- */

struct log_text {
	struct inspect *i;
	u64 boot_ns; /* real time of the first nanosecond; 0: not known */
};

/* Real time of the first nanosecond; 0: not known. */
static u64 boot_time(struct inspect *i)
{
	u64 offset;
	struct timespec now, up;
	if (i->k.dump)
		return kclock_member(&i->k, "offs_real", &offset) ? offset : 0;
	if (clock_gettime(CLOCK_REALTIME, &now) || clock_gettime(CLOCK_MONOTONIC, &up))
		return 0;
	return (u64)(now.tv_sec - up.tv_sec) * NSEC + (u64)now.tv_nsec - (u64)up.tv_nsec;
}

static void print_time(struct log_text *t, u64 ns)
{
	char text[64];
	struct tm tm;
	time_t sec = (time_t)((t->boot_ns + ns) / NSEC);
	if (t->i->o->bare)
		return;
	if (t->boot_ns && localtime_r(&sec, &tm) &&
	    strftime(text, sizeof(text), "[%a %b %e %H:%M:%S %Z %Y] ", &tm))
		strbuf_str(&t->i->text, text);
	else
		strbuf_printf(&t->i->text, "[%5llu.%06llu] ", (ull)(ns / NSEC),
			      (ull)(ns % NSEC / 1000));
}

/* Each line of a record, as dmesg does it: those after the first below its text. */
static void print_lines(struct log_text *t, const struct klog_record *r)
{
	struct strbuf *to = &t->i->text;
	size_t start = to->len;
	const char *at = r->text, *end = r->text + r->len;
	if (t->i->o->show_level)
		strbuf_printf(to, "<%u>", r->level);
	print_time(t, r->time_ns);
	size_t margin = to->len - start;
	for (;;) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		printable_name_len(to, at, (size_t)((line ? line : end) - at));
		strbuf_char(to, '\n');
		if (!line || line + 1 == end)
			return;
		at = line + 1;
		strbuf_fill(to, ' ', margin);
	}
}

static int print_record(void *ctx, const struct klog_record *r)
{
	struct log_text *t = ctx;
	struct inspect *i = t->i;
	if (!i->app->json) {
		print_lines(t, r);
		return 0;
	}
	json_object(&i->j);
	json_put_u64(&i->j, "number", r->number);
	json_put_u64(&i->j, "time_ns", r->time_ns);
	json_put_u64(&i->j, "level", r->level);
	json_put_u64(&i->j, "facility", r->facility);
	json_key(&i->j, "text");
	json_strn(&i->j, r->text, r->len);
	json_object_end(&i->j);
	return 0;
}

int inspect_log(struct inspect *i, int argc, char **argv)
{
	struct log_text t = { .i = i };
	struct klog_end end;
	(void)argv;
	if (argc)
		return inspect_usage(i, "unexpected argument");
	int err = 0;
	if (i->o->wall_time) {
		struct memory *m;
		err = kspace_memory(&i->k, &m);
		t.boot_ns = err ? 0 : boot_time(i);
		if (!err && !t.boot_ns)
			diag_warn(&i->app->diag, "when this kernel was started cannot be read: "
						 "times are seconds since boot");
	}
	if (!err)
		err = klog_each(&i->k, print_record, &t, &end);
	if (!err && end.lost)
		diag_warn(&i->app->diag, "%llu %s incomplete, or changed while %s read",
			  (ull)end.lost, end.lost == 1 ? "record was" : "records were",
			  end.lost == 1 ? "it was" : "they were");
	return err;
}

/* ---- sys ------------------------------------------------------------------------------------------------------------------- */

static void print_name(struct strbuf *to, const char *what, const char *name)
{
	strbuf_right(to, what, 12);
	strbuf_str(to, ": ");
	printable_name(to, name);
	strbuf_char(to, '\n');
}

static void print_uptime(struct strbuf *to, u64 seconds)
{
	enum { DAY = 86400, HOUR = 3600, MINUTE = 60 };
	if (seconds >= DAY)
		strbuf_printf(to, "      UPTIME: %llu days, %02llu:%02llu:%02llu\n",
			      (ull)(seconds / DAY), (ull)(seconds % DAY / HOUR),
			      (ull)(seconds % HOUR / MINUTE), (ull)(seconds % MINUTE));
	else
		strbuf_printf(to, "      UPTIME: %02llu:%02llu:%02llu\n", (ull)(seconds / HOUR),
			      (ull)(seconds % HOUR / MINUTE), (ull)(seconds % MINUTE));
}

static void print_sys_json(struct inspect *i, const struct kmachine *t)
{
	json_object(&i->j);
	json_put_u64(&i->j, "cpus", t->cpus);
	if (t->uptime_s)
		json_put_u64(&i->j, "uptime_s", t->uptime_s);
	json_put_u64(&i->j, "tasks", t->tasks);
	json_put_str(&i->j, "nodename", t->node);
	json_put_str(&i->j, "release", t->release);
	json_put_str(&i->j, "version", t->version);
	json_put_str(&i->j, "machine", t->machine);
	json_put_u64(&i->j, "memory_bytes", t->bytes);
	json_object_end(&i->j);
}

int inspect_sys(struct inspect *i, int argc, char **argv)
{
	enum { LOAD_BITS = 11, HUNDRED = 100 };
	struct kmachine t;
	struct strbuf *to = &i->text;
	(void)argv;
	if (argc)
		return inspect_usage(i, "unexpected argument");
	int err = kmachine_read(&i->k, &t);
	if (err)
		return err;
	if (i->app->json) {
		print_sys_json(i, &t);
		return 0;
	}
	if (i->k.opts.dump)
		print_name(to, "DUMPFILE", i->k.opts.dump);
	strbuf_printf(to, "        CPUS: %u\n", t.cpus);
	if (t.uptime_s)
		print_uptime(to, t.uptime_s);
	if (t.has_load) {
		strbuf_str(to, "LOAD AVERAGE:");
		for (u32 n = 0; n < ARRAY_SIZE(t.load); n++)
			strbuf_printf(
				to, "%s %llu.%02llu", n ? "," : "", (ull)(t.load[n] >> LOAD_BITS),
				(ull)((t.load[n] & ((1 << LOAD_BITS) - 1)) * HUNDRED >> LOAD_BITS));
		strbuf_char(to, '\n');
	}
	strbuf_printf(to, "       TASKS: %llu\n", (ull)t.tasks);
	print_name(to, "NODENAME", t.node);
	print_name(to, "RELEASE", t.release);
	print_name(to, "VERSION", t.version);
	print_name(to, "MACHINE", t.machine);
	strbuf_printf(to, "      MEMORY: %.1f GB\n", (double)t.bytes / (double)(1u << 30));
	return 0;
}

/* ---- vtop ------------------------------------------------------------------------------------------------------------------ */

/* What the tables are called, from the last one up: a kernel with fewer levels lacks those in the middle. */
static const char *table_name(u32 nr_levels, u32 level)
{
	static const char *const names[] = { "PTE", "PMD", "PUD", "P4D" };
	return level + 1 == nr_levels ? "PGD" : names[level];
}

static void print_page_size(struct strbuf *to, u64 bytes)
{
	enum { KB = 1 << 10, MB = 1 << 20, GB = 1 << 30 };
	if (bytes >= GB)
		strbuf_printf(to, "%llu GB", (ull)(bytes / GB));
	else if (bytes >= MB)
		strbuf_printf(to, "%llu MB", (ull)(bytes / MB));
	else
		strbuf_printf(to, "%llu KB", (ull)(bytes / KB));
}

static void print_walk(struct inspect *i, u64 addr, const struct dump_walk *w, bool mapped)
{
	struct strbuf *to = &i->text;
	u32 levels = dump_levels(i->k.dump);
	strbuf_str(to, "VIRTUAL           PHYSICAL\n");
	strbuf_printf(to, "%-16llx  ", (ull)addr);
	if (mapped)
		strbuf_printf(to, "%llx\n", (ull)w->phys);
	else
		strbuf_str(to, "(not mapped)\n");
	for (u32 n = 0; n < w->nr; n++)
		strbuf_printf(to, "   %s: %llx => %llx\n", table_name(levels, levels - 1 - n),
			      (ull)w->at[n], (ull)w->entry[n]);
	if (mapped) {
		strbuf_printf(to, "  PAGE: %llx (", (ull)(w->phys & ~(w->page - 1)));
		print_page_size(to, w->page);
		strbuf_str(to, ")\n");
	}
	strbuf_char(to, '\n');
}

static void print_walk_json(struct inspect *i, u64 addr, const struct dump_walk *w, bool mapped)
{
	u32 levels = dump_levels(i->k.dump);
	json_object(&i->j);
	inspect_json_address(i, "address", addr);
	if (mapped) {
		inspect_json_address(i, "physical", w->phys);
		json_put_u64(&i->j, "page_bytes", w->page);
	}
	json_key(&i->j, "entries");
	json_array(&i->j);
	for (u32 n = 0; n < w->nr; n++) {
		json_object(&i->j);
		json_put_str(&i->j, "table", table_name(levels, levels - 1 - n));
		inspect_json_address(i, "at", w->at[n]);
		inspect_json_address(i, "entry", w->entry[n]);
		json_object_end(&i->j);
	}
	json_array_end(&i->j);
	json_object_end(&i->j);
}

int inspect_vtop(struct inspect *i, int argc, char **argv)
{
	struct memory *m;
	if (!argc)
		return inspect_usage(i, "which address?");
	int err = kspace_memory(&i->k, &m);
	if (!err && !i->k.dump) {
		err = diag_error(&i->app->diag, -ENOTSUP,
				 "physical memory cannot be read here: page tables are followed in "
				 "dumps only");
		diag_hint(&i->app->diag, "sonde inspect -d FILE vtop ADDRESS");
	}
	for (int n = 0; !err && n < argc; n++) {
		u64 addr;
		struct dump_walk w;
		err = eval_address_text(&i->k, argv[n], &addr);
		if (err)
			break;
		err = dump_translate(i->k.dump, addr, &w);
		bool mapped = !err;
		if (err == -EFAULT)
			err = 0;
		if (err)
			return diag_error(&i->app->diag, err,
					  "cannot read the page tables in the dump: %s",
					  strerror(-err));
		if (i->app->json)
			print_walk_json(i, addr, &w, mapped);
		else
			print_walk(i, addr, &w, mapped);
	}
	return err;
}

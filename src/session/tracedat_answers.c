/* The answers have trace-cmd's layouts: scripts read them. */
#include "session/tracedat_answers.h"

#include "base/json.h"
#include "stream/replay_ftrace.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void endian(const struct tell *to, const struct tracedat *f)
{
	static const char *const words[] = { "little", "big" };
	bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	strbuf_printf(to->out, "file is %s endian and host is %s endian\n", words[f->big_endian],
		      words[host_big]);
}

/* Steps over one line of a text. */
static bool next_line(struct tracedat_text *t, const char **line, size_t *len)
{
	if (!t->len)
		return false;
	const char *end = memchr(t->data, '\n', t->len);
	*line = t->data;
	*len = end ? (size_t)(end - t->data) : t->len;
	size_t step = min(*len + 1, t->len);
	t->data += step;
	t->len -= step;
	return true;
}

/* Something at an address of the kernel. */
struct tracedat_answers_named {
	u64 addr;
	const char *text;
	size_t len;
};

struct named_list {
	VEC(struct tracedat_answers_named) all;
};

static int by_address(const void *pa, const void *pb)
{
	const struct tracedat_answers_named *a = pa, *b = pb;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->text < b->text ? -1 : a->text > b->text;
}

static bool add_named(struct named_list *l, const char *line, const char *text, size_t len)
{
	struct tracedat_answers_named *n = vec_push(&l->all);
	if (n)
		*n = (struct tracedat_answers_named){ .addr = strtoull(line, NULL, 16),
						      .text = text,
						      .len = len };
	return n;
}

/* "ADDRESS TEXT" lines by address; frees the list. */
static void put_named(struct strbuf *to, struct named_list *l)
{
	if (l->all.nr)
		qsort(l->all.at, l->all.nr, sizeof(*l->all.at), by_address);
	vec_for_each (&l->all, n) {
		strbuf_printf(to, "%016llx ", (unsigned long long)n->addr);
		for (size_t i = 0; i < n->len; i++)
			strbuf_char(to, n->text[i] == '\t' ? ' ' : n->text[i]);
		strbuf_char(to, '\n');
	}
	vec_free(&l->all);
}

/* Lines "ADDRESS x NAME [MODULE]" of the file's copy of kallsyms, without the letter; absolute ones are no functions. */
static int functions(struct strbuf *to, struct tracedat_text text)
{
	struct named_list l = { 0 };
	const char *line;
	size_t len;
	bool good = true;
	while (good && next_line(&text, &line, &len)) {
		const char *blank = memchr(line, ' ', len), *end = line + len;
		if (blank && blank + 3 < end && blank[1] != 'A')
			good = add_named(&l, line, blank + 3, (size_t)(end - (blank + 3)));
	}
	put_named(to, &l);
	return good ? 0 : -ENOMEM;
}

/* Lines 'ADDRESS : "TEXT"'. */
static int printks(struct strbuf *to, struct tracedat_text text)
{
	struct named_list l = { 0 };
	const char *line;
	size_t len;
	bool good = true;
	while (good && next_line(&text, &line, &len)) {
		const char *quote = memchr(line, '"', len), *last = line + len;
		while (quote && last > quote + 1 && last[-1] != '"')
			last--;
		if (quote && last > quote + 1)
			good = add_named(&l, line, quote + 1, (size_t)(last - 1 - (quote + 1)));
	}
	put_named(to, &l);
	return good ? 0 : -ENOMEM;
}

static int by_name(const void *pa, const void *pb)
{
	const struct tracedat_format *a = *(const struct tracedat_format *const *)pa,
				     *b = *(const struct tracedat_format *const *)pb;
	int order = strcmp(a->system, b->system);
	return order ? order : strcmp(a->name, b->name);
}

/* Pointers to the formats, by system and name; free() them. NULL: no memory. */
static const struct tracedat_format **sorted(const struct tracedat *f)
{
	const struct tracedat_format **all = calloc(f->formats.nr + 1, sizeof(*all));
	for (size_t i = 0; all && i < f->formats.nr; i++)
		all[i] = &f->formats.at[i];
	if (all)
		qsort(all, f->formats.nr, sizeof(*all), by_name);
	return all;
}

static int event_names(const struct tell *to, const struct tracedat *f)
{
	const struct tracedat_format **all = sorted(f);
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < f->formats.nr; i++)
		strbuf_printf(to->out, "%s:%s\n", all[i]->system, all[i]->name);
	free(all);
	return 0;
}

struct event_choice {
	bool any, split;
	regex_t system, name;
};

static int choice_open(struct event_choice *c, const char *text, struct diag *d)
{
	*c = (struct event_choice){ .any = !text };
	if (!text)
		return 0;
	const char *colon = strchr(text, ':');
	char system[256];
	if (colon && (size_t)(colon - text) >= sizeof(system))
		return diag_error(d, -EINVAL, "%s: name too long: '%s'",
				  diag_option(d, DIAG_OPT_EVENT), text);
	c->split = colon;
	if (colon) {
		memcpy(system, text, (size_t)(colon - text));
		system[colon - text] = '\0';
	}
	if (regcomp(&c->name, colon ? colon + 1 : text, REG_EXTENDED | REG_ICASE | REG_NOSUB))
		return diag_error(d, -EINVAL, "%s: invalid regular expression '%s'",
				  diag_option(d, DIAG_OPT_EVENT), text);
	if (colon && regcomp(&c->system, system, REG_EXTENDED | REG_ICASE | REG_NOSUB)) {
		regfree(&c->name);
		return diag_error(d, -EINVAL, "%s: invalid regular expression '%s'",
				  diag_option(d, DIAG_OPT_EVENT), text);
	}
	return 0;
}

static bool choice_has(const struct event_choice *c, const struct tracedat_format *f)
{
	if (c->any)
		return true;
	bool name = !regexec(&c->name, f->name, 0, NULL, 0);
	return c->split ? name && !regexec(&c->system, f->system, 0, NULL, 0)
			: name || !regexec(&c->name, f->system, 0, NULL, 0);
}

static void choice_close(struct event_choice *c)
{
	if (c->any)
		return;
	regfree(&c->name);
	if (c->split)
		regfree(&c->system);
}

/* System after system, each event's format as the kernel wrote it. ftrace's own are not among them, as in trace-cmd. */
static int formats(const struct tell *to, const struct tracedat *f, const char *events)
{
	struct event_choice c;
	const char *system = "ftrace";
	int err = choice_open(&c, events, to->diag);
	if (err)
		return err;
	vec_for_each (&f->formats, e) {
		if (!strcmp(e->system, "ftrace") || !choice_has(&c, e))
			continue;
		if (strcmp(e->system, system))
			strbuf_printf(to->out, "\nsystem: %s\n", e->system);
		system = e->system;
		strbuf_add(to->out, e->text.data, e->text.len);
		strbuf_char(to->out, '\n');
	}
	choice_close(&c);
	return 0;
}

static int check(const struct tell *to, struct source *src)
{
	u32 bad = 0;
	for (u32 i = 0; i < replay_ftrace_nr_events(src); i++) {
		const struct tracedat_format *f = replay_ftrace_format(src, i);
		if (replay_ftrace_schema(src, i))
			continue;
		diag_warn(to->diag, "cannot parse the format of %s:%s", f->system, f->name);
		bad++;
	}
	return bad ? diag_error(to->diag, -EBADMSG, "cannot parse %u formats", bad) : 0;
}

static void stat(const struct tell *to, const struct tracedat *f)
{
	strbuf_str(
		to->out,
		"\nKernel buffer statistics:\n"
		"  Note: \"entries\" are the entries left in the kernel ring buffer and are not\n"
		"        recorded in the trace data. They should all be zero.\n\n");
	vec_for_each (&f->cpu_stats, text) {
		strbuf_str(to->out, *text);
		strbuf_char(to->out, '\n');
	}
	strbuf_char(to->out, '\n');
	const struct tracedat_buffer *top = f->buffers.nr ? &f->buffers.at[0] : NULL;
	for (u32 i = 0; top && i < top->nr_cpus; i++) {
		const struct tracedat_cpu *c = &top->cpus[i];
		const u8 *at = c->pages ? c->pages : c->nr_chunks ? c->chunks[0].data : NULL;
		strbuf_printf(to->out,
			      "CPU%u data recorded at offset=0x%llx\n    %llu bytes in size\n",
			      c->cpu, (unsigned long long)(at ? at - f->map : 0),
			      (unsigned long long)c->nr_pages * top->page_size);
	}
}

struct ends {
	const struct tell *to;
	const struct tracedat_asked *asked;
	struct source *src;
};

static void put_time(struct strbuf *to, const char *what, u64 ns, bool nanoseconds)
{
	if (nanoseconds)
		strbuf_printf(to, "\t%s event:%5llu.%09llu", what,
			      (unsigned long long)(ns / 1000000000),
			      (unsigned long long)(ns % 1000000000));
	else
		strbuf_printf(to, "\t%s event:%5llu.%06llu", what,
			      (unsigned long long)((ns + 500) / 1000 / 1000000),
			      (unsigned long long)((ns + 500) / 1000 % 1000000));
}

/* Of the top buffer, as trace-cmd has it. */
static int print_ends(void *ctx, const struct replay_ftrace_ends *e)
{
	const struct ends *x = ctx;
	u32 buffer;
	if (replay_ftrace_file_of(x->src, e->buffer, &buffer) != x->asked->file || buffer)
		return 0;
	struct strbuf *to = x->to->out;
	strbuf_printf(to, "  %u", e->cpu);
	if (x->asked->questions & ASK_FIRST)
		put_time(to, "First", e->first_ns, x->asked->nanoseconds);
	if (x->asked->questions & ASK_LAST)
		put_time(to, "Last", e->last_ns, x->asked->nanoseconds);
	strbuf_char(to, '\n');
	return 0;
}

static int cpus(const struct tell *to, struct source *src, const struct tracedat_asked *a)
{
	strbuf_printf(to->out, "List of CPUs in %s with data:\n", a->path);
	return replay_ftrace_ends(src, print_ends,
				  &(struct ends){ .to = to, .asked = a, .src = src });
}

static void text_part(const struct tell *to, const char *what, const char *text)
{
	if (text)
		strbuf_printf(to->out, "%s\n", text);
	else
		diag_note(to->diag, "the file does not record %s", what);
}

/* ---- JSON ---- */

static int add_ends(void *ctx, const struct replay_ftrace_ends *e)
{
	struct json *j = ctx;
	json_object(j);
	json_put_u64(j, "buffer", e->buffer);
	json_put_u64(j, "cpu", e->cpu);
	json_put_u64(j, "first_ns", e->first_ns);
	json_put_u64(j, "last_ns", e->last_ns);
	json_object_end(j);
	return 0;
}

static int json_formats(struct json *j, const struct tracedat *f, const char *events,
			bool with_text, struct diag *d)
{
	struct event_choice c;
	int err = choice_open(&c, events, d);
	if (err)
		return err;
	json_key(j, "events");
	json_array(j);
	vec_for_each (&f->formats, e) {
		if (!choice_has(&c, e))
			continue;
		json_object(j);
		json_put_str(j, "system", e->system);
		json_put_str(j, "name", e->name);
		json_put_u64(j, "id", e->id);
		if (with_text) {
			json_key(j, "format");
			json_strn(j, e->text.data, e->text.len);
		}
		json_object_end(j);
	}
	json_array_end(j);
	choice_close(&c);
	return 0;
}

static int ask_json(const struct tell *to, struct source *src, const struct tracedat_asked *a)
{
	const struct tracedat *f = replay_ftrace_file(src, a->file);
	struct json j;
	int err = 0;
	json_begin(&j, to->out, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "file", a->path);
	json_put_u64(&j, "cpus", f->nr_cpus);
	if (a->questions & ASK_PAGES)
		json_put_u64(&j, "page_size", f->page_size);
	if (a->questions & ASK_ENDIAN)
		json_put_str(&j, "endian", f->big_endian ? "big" : "little");
	if (a->questions & ASK_UNAME)
		json_put_str(&j, "uname", f->uname);
	if (a->questions & ASK_VERSION)
		json_put_str(&j, "version", f->tracer_version);
	if (a->questions & ASK_STAT) {
		json_key(&j, "stat");
		json_array(&j);
		vec_for_each (&f->cpu_stats, text)
			json_str(&j, *text);
		json_array_end(&j);
	}
	if (a->questions & (ASK_EVENT_NAMES | ASK_FORMATS))
		err = json_formats(&j, f, a->events, a->questions & ASK_FORMATS, to->diag);
	if (!err && (a->questions & (ASK_CPUS | ASK_FIRST | ASK_LAST))) {
		json_key(&j, "ends");
		json_array(&j);
		err = replay_ftrace_ends(src, add_ends, &j);
		json_array_end(&j);
	}
	static const struct {
		u32 question;
		const char *key;
		enum tracedat_part part;
	} texts[] = { { ASK_FUNCTIONS, "kallsyms", TRACEDAT_KALLSYMS },
		      { ASK_PRINTK, "printk_formats", TRACEDAT_PRINTK } };
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!(a->questions & texts[i].question))
			continue;
		struct tracedat_text text = replay_ftrace_text(src, a->file, texts[i].part);
		json_key(&j, texts[i].key);
		json_strn(&j, text.data ? text.data : "", text.len);
	}
	if (!err && (a->questions & ASK_CHECK)) {
		err = check(to, src);
		json_put_bool(&j, "formats_ok", !err);
	}
	json_object_end(&j);
	int end = json_end(&j);
	strbuf_char(to->out, '\n');
	return err ? err : end;
}

int tracedat_answer(const struct tell *to, struct source *src, const struct tracedat_asked *a)
{
	const struct tracedat *f = replay_ftrace_file(src, a->file);
	int err = 0;
	if (to->json)
		return ask_json(to, src, a);
	if (a->questions & (ASK_CPUS | ASK_FIRST | ASK_LAST))
		return cpus(to, src, a);
	if (a->questions & ASK_PAGES)
		strbuf_printf(to->out, "file page size is %u, and host page size is %ld\n",
			      f->page_size, sysconf(_SC_PAGESIZE));
	if (a->questions & ASK_ENDIAN)
		endian(to, f);
	if (a->questions & ASK_FUNCTIONS)
		err = functions(to->out, replay_ftrace_text(src, a->file, TRACEDAT_KALLSYMS));
	if (!err && (a->questions & ASK_PRINTK))
		err = printks(to->out, replay_ftrace_text(src, a->file, TRACEDAT_PRINTK));
	if (!err && (a->questions & ASK_EVENT_NAMES))
		err = event_names(to, f);
	if (!err && (a->questions & ASK_FORMATS))
		err = formats(to, f, a->events);
	if (!err && (a->questions & ASK_CHECK))
		err = check(to, src);
	if (a->questions & (ASK_STAT | ASK_UNAME | ASK_VERSION))
		strbuf_printf(to->out, "cpus=%u\n", f->nr_cpus);
	if (a->questions & ASK_STAT)
		stat(to, f);
	if (a->questions & ASK_UNAME)
		text_part(to, "which kernel it was recorded on", f->uname);
	if (a->questions & ASK_VERSION)
		text_part(to, "which program recorded it", f->tracer_version);
	return err;
}

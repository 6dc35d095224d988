#include "file/tracedat_dump.h"

#include <errno.h>
#include <string.h>

/* trace-cmd writes texts a kilobyte at a time, each up to its first NUL. */
void dump_text(const struct tracedat_dump *d, u32 any, const char *data, size_t len)
{
	enum { PIECE = 1023 };
	if (!dump_wants(d, any))
		return;
	for (size_t at = 0; at < len; at += PIECE)
		strbuf_add(d->out, data + at, strnlen(data + at, min(len - at, (size_t)PIECE)));
	strbuf_char(d->out, '\n');
}

static void put_part(const struct tracedat_dump *d, u32 part, const char *title,
		     struct tracedat_text text)
{
	if (dump_wants(d, DUMP_SUMMARY | part))
		strbuf_printf(d->out, "\t[%s, %zu bytes]\n", title, text.len);
	dump_text(d, part, text.data, text.len);
}

static void put_ftrace_events(const struct tracedat_dump *d)
{
	if (dump_wants(d, DUMP_SUMMARY | DUMP_FTRACE_EVENTS))
		strbuf_printf(d->out, "\t[Ftrace format, %zu events]\n", d->t->nr_own_formats);
	for (size_t i = 0; i < d->t->nr_own_formats; i++) {
		struct tracedat_text text = d->t->formats.at[i].text;
		dump_text(d, DUMP_FTRACE_EVENTS, text.data, text.len);
	}
}

/* Formats of a system stand together; its name is the same string for all. */
static size_t end_of_system(const struct tracedat *t, size_t from)
{
	size_t i = from;
	while (i < t->formats.nr && t->formats.at[i].system == t->formats.at[from].system)
		i++;
	return i;
}

static void put_events(const struct tracedat_dump *d)
{
	const struct tracedat *t = d->t;
	u32 nr = 0;
	for (size_t i = t->nr_own_formats; i < t->formats.nr; i = end_of_system(t, i))
		nr++;
	if (dump_wants(d, DUMP_SUMMARY | DUMP_EVENTS | DUMP_SYSTEMS))
		strbuf_printf(d->out, "\t[Events format, %u systems]\n", nr);
	for (size_t i = t->nr_own_formats; i < t->formats.nr;) {
		size_t end = end_of_system(t, i);
		if (dump_wants(d, DUMP_SYSTEMS))
			strbuf_printf(d->out, "\t\t%s %zu [system, events]\n",
				      t->formats.at[i].system, end - i);
		for (; i < end; i++)
			dump_text(d, DUMP_EVENTS, t->formats.at[i].text.data,
				  t->formats.at[i].text.len);
	}
}

void dump_section(const struct tracedat_dump *d, u16 id)
{
	struct tracedat *t = d->t;
	switch (id) {
	case OPTION_HEADER_INFO:
		put_part(d, DUMP_HEAD_PAGE, "Header page", t->header_page);
		put_part(d, DUMP_HEAD_EVENT, "Header event", t->header_event);
		return;
	case OPTION_FTRACE_EVENTS: put_ftrace_events(d); return;
	case OPTION_EVENT_FORMATS: put_events(d); return;
	case OPTION_KALLSYMS:
		put_part(d, DUMP_KALLSYMS, "Kallsyms", tracedat_text(t, TRACEDAT_KALLSYMS));
		return;
	case OPTION_PRINTK:
		put_part(d, DUMP_PRINTK, "Trace printk", tracedat_text(t, TRACEDAT_PRINTK));
		return;
	case OPTION_CMDLINES:
		put_part(d, DUMP_CMDLINES, "Saved command lines",
			 tracedat_text(t, TRACEDAT_CMDLINES));
		return;
	}
}

static void put_head(const struct tracedat_dump *d, const char *path)
{
	const struct tracedat *t = d->t;
	if (!dump_wants(d, DUMP_SUMMARY))
		return;
	strbuf_printf(d->out,
		      "\n Tracing meta data in file %s:\n\t[Initial format]\n\t\t%u\t[Version]\n",
		      path, t->version);
	strbuf_printf(
		d->out,
		"\t\t%d\t[%s endian]\n\t\t%u\t[Bytes in a long]\n\t\t%u\t[Page size, bytes]\n",
		t->big_endian, t->big_endian ? "Big" : "Little", t->long_size, t->page_size);
	if (t->version == 7)
		strbuf_printf(d->out,
			      "\t\t%s\t[Compression algorithm]\n\t\t%s\t[Compression version]\n",
			      compress_name(t->compression), t->packer_version);
}

/* In the order of the file; version 7 has sections, the options tell where. */
void tracedat_dump(struct tracedat *t, u32 what, const char *path, struct strbuf *out)
{
	static const u16 parts[] = { OPTION_HEADER_INFO, OPTION_FTRACE_EVENTS, OPTION_EVENT_FORMATS,
				     OPTION_KALLSYMS,	 OPTION_PRINTK,	       OPTION_CMDLINES };
	struct tracedat_dump d = { .out = out, .what = what, .t = t };
	strbuf_init(&d.strings);
	put_head(&d, path);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && t->version == 6; i++)
		dump_section(&d, parts[i]);
	if (t->version == 6 && dump_wants(&d, DUMP_SUMMARY))
		strbuf_printf(d.out, "\t%u [CPUs with tracing data]\n", t->nr_cpus);
	if (t->version == 6)
		dump_rest_v6(&d);
	else
		dump_rest_v7(&d);
	strbuf_done(&d.strings);
}

/*
 * Options and sections of a trace.dat one by one, in the order and with the words of trace-cmd 3.1.6's `dump`. The reader has
 * looked at them before (tracedat_read); here they are shown as they stand, whatever they say.
 */
#include "file/tracedat_dump.h"

enum { CHAIN_MAX = 4096, TAG = 10, STRINGS_MAX = 1 << 20 };

/* ---- single options ---- */

static void put_title(const struct tracedat_dump *d, const char *name, size_t size)
{
	if (dump_wants(d, DUMP_OPTIONS))
		strbuf_printf(d->out, "\t\t[Option %s, %zu bytes]\n", name, size);
}

static void put_number(const struct tracedat_dump *d, struct bytes opt)
{
	size_t size = bytes_left(&opt);
	u64 v = size == 8   ? bytes_u64(&opt)
		: size == 4 ? bytes_u32(&opt)
		: size == 2 ? bytes_u16(&opt)
			    : bytes_u8(&opt);
	if (dump_wants(d, DUMP_OPTIONS))
		strbuf_printf(d->out, "%d\n", (int)v);
}

/* How a guest's clock and ours differ: for each of its CPUs a table of times. */
static void put_time_shift(const struct tracedat_dump *d, struct bytes opt)
{
	struct strbuf rows;
	bool whole = true;
	if (!dump_wants(d, DUMP_OPTIONS))
		return;
	u64 id = bytes_u64(&opt);
	u32 flags = bytes_u32(&opt), cpus = bytes_u32(&opt);
	strbuf_printf(d->out, "0x%llX [peer's trace id]\n", (unsigned long long)id);
	strbuf_printf(d->out, "0x%X [peer's protocol flags]\n0x%X [peer's CPU count]\n", flags,
		      cpus);
	strbuf_init(&rows);
	struct bytes fractions = opt;
	for (u32 i = 0; i < cpus && !fractions.bad; i++)
		bytes_skip(&fractions, (size_t)bytes_u32(&fractions) * 24);
	for (u32 i = 0; i < cpus && whole; i++) {
		u32 nr = bytes_u32(&opt);
		struct bytes times = bytes_sub(&opt, (size_t)nr * 8),
			     offsets = bytes_sub(&opt, (size_t)nr * 8),
			     scales = bytes_sub(&opt, (size_t)nr * 8);
		whole = !opt.bad;
		if (whole)
			strbuf_printf(d->out, "%u [samples count for CPU %u]\n", nr, i);
		for (u32 k = 0; k < nr && whole; k++) {
			s64 offset = (s64)bytes_u64(&offsets), scale = (s64)bytes_u64(&scales);
			u64 fraction = bytes_left(&fractions) ? bytes_u64(&fractions) : 0;
			strbuf_printf(
				&rows,
				"\t%lld %lld %llu %llu[offset * scaling >> fraction @ time]\n",
				(long long)offset, (long long)scale, (unsigned long long)fraction,
				(unsigned long long)bytes_u64(&times));
		}
	}
	strbuf_add(d->out, rows.len ? rows.data : "", rows.len);
	if (!whole)
		strbuf_str(d->out, "Broken time shift option\n");
	strbuf_done(&rows);
}

static void put_guest(const struct tracedat_dump *d, struct bytes opt)
{
	const char *name = bytes_cstr(&opt);
	u64 id = bytes_u64(&opt);
	u32 cpus = bytes_u32(&opt);
	if (opt.bad || !dump_wants(d, DUMP_OPTIONS))
		return;
	strbuf_printf(d->out, "%s [Guest name]\n0x%llX [trace id]\n%d [Guest CPUs]\n", name,
		      (unsigned long long)id, (int)cpus);
	for (u32 i = 0; i < cpus && bytes_left(&opt) >= 8; i++) {
		u32 cpu = bytes_u32(&opt), pid = bytes_u32(&opt);
		strbuf_printf(d->out, "  %d %d [guest cpu, host pid]\n", (int)cpu, (int)pid);
	}
}

static void put_tsc(const struct tracedat_dump *d, struct bytes opt)
{
	u32 mult = bytes_u32(&opt), shift = bytes_u32(&opt);
	u64 offset = bytes_u64(&opt);
	if (dump_wants(d, DUMP_OPTIONS))
		strbuf_printf(d->out, "%d %d %llu [multiplier, shift, offset]\n", (int)mult,
			      (int)shift, (unsigned long long)offset);
}

/* ---- strings and heads of sections ---- */

/* The strings of all their sections, one after the other; what is not of this world is left out. */
static void gather_strings(struct tracedat_dump *d)
{
	struct tracedat_head h;
	for (u64 at = d->t->rest_at; !tracedat_head_at(d->t, at, &h) && h.size <= d->t->size;
	     at += SECTION_HEAD + h.size) {
		struct bytes head = bytes_of(d->t->map + at + SECTION_HEAD,
					     d->t->size - at - SECTION_HEAD, d->t->swap),
			     b;
		(void)bytes_u32(&head);
		u64 size = h.flags & SECTION_PACKED ? bytes_u32(&head) : h.size;
		if (h.id == OPTION_STRINGS && size <= STRINGS_MAX - d->strings.len &&
		    !tracedat_section_bytes(d->t, at, &b)) {
			if (dump_wants(d, DUMP_STRINGS))
				strbuf_str(d->out, "\t[String @ offset]\n");
			size_t from = d->strings.len;
			strbuf_add(&d->strings, (const char *)b.at, bytes_left(&b));
			for (size_t i = from; dump_wants(d, DUMP_STRINGS) && i < d->strings.len;) {
				size_t len = strnlen(d->strings.data + i, d->strings.len - i);
				strbuf_printf(d->out, "\t\t\"%.*s\" @ %zu\n", (int)len,
					      d->strings.data + i, i);
				i += len + 1;
			}
		}
	}
}

static const char *string_at(const struct tracedat_dump *d, u32 offset)
{
	bool whole = offset < d->strings.len &&
		     memchr(d->strings.data + offset, 0, d->strings.len - offset);
	return whole ? d->strings.data + offset : "Unknown";
}

static void put_head(const struct tracedat_dump *d, u32 any, u64 offset)
{
	struct tracedat_head h;
	if (!dump_wants(d, any) || tracedat_head_at(d->t, offset, &h))
		return;
	strbuf_printf(d->out, "\t[Section %u @ %llu: \"%s\", flags 0x%X, %llu bytes]\n", h.id,
		      (unsigned long long)h.at, string_at(d, h.desc), h.flags,
		      (unsigned long long)h.size);
}

static void put_buffer(const struct tracedat_dump *d, u16 id, struct bytes opt)
{
	size_t size = bytes_left(&opt);
	u64 offset = bytes_u64(&opt), total = 0;
	const char *name = bytes_cstr(&opt);
	bool all = dump_wants(d, DUMP_OPTIONS | DUMP_FLYRECORD);
	if (!name)
		return;
	if (d->t->version == 7)
		put_head(d, DUMP_FLYRECORD, offset);
	if (all)
		strbuf_printf(d->out,
			      "\t\t[Option BUFFER, %zu bytes]\n%llu [offset]\n\"%s\" [name]\n",
			      size, (unsigned long long)offset, name);
	const char *clock = d->t->version == 7 ? bytes_cstr(&opt) : NULL;
	if (!clock)
		return;
	if (all)
		strbuf_printf(d->out, "\"%s\" [clock]\n", clock);
	if (id == OPTION_BUFFER_TEXT) {
		if (dump_wants(d, DUMP_SUMMARY))
			strbuf_printf(d->out, "\t[buffer \"%s\", \"%s\" clock, latency data]\n",
				      name, clock);
		return;
	}
	u32 page_size = bytes_u32(&opt), cpus = bytes_u32(&opt);
	if (all)
		strbuf_printf(d->out, "%u [Page size, bytes]\n%u [CPUs]:\n", page_size, cpus);
	for (u32 i = 0; i < cpus && bytes_left(&opt) >= 20; i++) {
		u32 cpu = bytes_u32(&opt);
		u64 at = bytes_u64(&opt), len = bytes_u64(&opt);
		total += len;
		if (all)
			strbuf_printf(d->out, "   %u %llu\t%llu\t[id, data offset and size]\n", cpu,
				      (unsigned long long)at, (unsigned long long)len);
	}
	if (dump_wants(d, DUMP_SUMMARY))
		strbuf_printf(
			d->out, "\t[buffer \"%s\", \"%s\" clock, %u page size, %u cpus, %llu bytes flyrecord data]\n",
			name, clock, page_size, cpus, (unsigned long long)total);
}

/* ---- all options ---- */

static const struct {
	const char *name;
	enum { SHOW_NOT, SHOW_TEXT, SHOW_NUMBER, SHOW_HEX, SHOW_SECTION } how;
	u32 also; /* DUMP_ that shows the body too; of a section, what shows its head */
} looks[] = {
	[OPTION_DATE] = { "DATE", SHOW_TEXT, 0 },
	[OPTION_CPUSTAT] = { "CPUSTAT", SHOW_TEXT, 0 },
	[OPTION_TRACECLOCK] = { "TRACECLOCK", SHOW_TEXT, DUMP_CLOCK },
	[OPTION_UNAME] = { "UNAME", SHOW_TEXT, 0 },
	[OPTION_HOOK] = { "HOOK", SHOW_TEXT, 0 },
	[OPTION_OFFSET] = { "OFFSET", SHOW_TEXT, 0 },
	[OPTION_CPUCOUNT] = { "CPUCOUNT", SHOW_NUMBER, 0 },
	[OPTION_VERSION] = { "VERSION", SHOW_TEXT, 0 },
	[OPTION_PROCMAPS] = { "PROCMAPS", SHOW_TEXT, 0 },
	[OPTION_TRACEID] = { "TRACEID", SHOW_HEX, 0 },
	[OPTION_HEADER_INFO] = { "HEADERS", SHOW_SECTION, DUMP_HEAD_PAGE | DUMP_HEAD_EVENT },
	[OPTION_FTRACE_EVENTS] = { "FTRACE EVENTS", SHOW_SECTION, DUMP_FTRACE_EVENTS },
	[OPTION_EVENT_FORMATS] = { "EVENT FORMATS", SHOW_SECTION, DUMP_SYSTEMS | DUMP_EVENTS },
	[OPTION_KALLSYMS] = { "KALLSYMS", SHOW_SECTION, DUMP_KALLSYMS },
	[OPTION_PRINTK] = { "PRINTK", SHOW_SECTION, DUMP_PRINTK },
	[OPTION_CMDLINES] = { "CMDLINES", SHOW_SECTION, DUMP_CMDLINES },
};

struct found_section {
	u16 id;
	u64 at;
};

struct found {
	VEC(struct found_section) list;
};

static void put_known(const struct tracedat_dump *d, u16 id, struct bytes opt, struct found *f)
{
	size_t size = bytes_left(&opt);
	struct found_section *s;
	switch (looks[id].how) {
	case SHOW_TEXT:
		put_title(d, looks[id].name, size);
		if (size || looks[id].also)
			dump_text(d, DUMP_OPTIONS | looks[id].also, (const char *)opt.at, size);
		return;
	case SHOW_NUMBER:
		put_title(d, looks[id].name, size);
		put_number(d, opt);
		return;
	case SHOW_HEX:
		put_title(d, looks[id].name, size);
		if (dump_wants(d, DUMP_OPTIONS))
			strbuf_printf(d->out, "0x%llX\n", (unsigned long long)bytes_u64(&opt));
		return;
	case SHOW_SECTION:
		s = f ? vec_push(&f->list) : NULL;
		if (s)
			*s = (struct found_section){ .id = id, .at = bytes_u64(&opt) };
		if (s && dump_wants(d, DUMP_OPTIONS))
			strbuf_printf(d->out, "\t\t[Option %s, %zu bytes] @ %llu\n", looks[id].name,
				      size, (unsigned long long)s->at);
		return;
	case SHOW_NOT: return;
	}
}

static void put_option(const struct tracedat_dump *d, u16 id, struct bytes opt, struct found *f)
{
	size_t size = bytes_left(&opt);
	switch (id) {
	case OPTION_BUFFER:
	case OPTION_BUFFER_TEXT: put_buffer(d, id, opt); return;
	case OPTION_TIME_SHIFT:
		put_title(d, "TimeShift", size);
		put_time_shift(d, opt);
		return;
	case OPTION_GUEST:
		put_title(d, "GUEST", size);
		put_guest(d, opt);
		return;
	case OPTION_TSC2NSEC:
		if (dump_wants(d, DUMP_OPTIONS))
			strbuf_char(d->out, '\n');
		put_title(d, "TSC2NSEC", size);
		put_tsc(d, opt);
		return;
	}
	if (id < ARRAY_SIZE(looks) && looks[id].how != SHOW_NOT)
		put_known(d, id, opt, f);
	else if (dump_wants(d, DUMP_OPTIONS))
		strbuf_printf(d->out, " %u %zu\t[Unknown option, size - skipping]\n", id, size);
}

static void put_count(const struct tracedat_dump *d, u32 nr)
{
	if (dump_wants(d, DUMP_SUMMARY | DUMP_OPTIONS))
		strbuf_printf(d->out, "\t[%u options]\n", nr);
}

/* ---- version 6 ---- */

static void put_clock(const struct tracedat_dump *d, struct bytes *b)
{
	bool saved = false;
	vec_for_each (&d->t->options, o)
		saved |= o->id == OPTION_TRACECLOCK;
	u64 size = saved ? bytes_u64(b) : 0;
	const char *text = saved && size <= bytes_left(b) ? bytes_take(b, size) : NULL;
	if (!dump_wants(d, DUMP_SUMMARY | DUMP_CLOCK))
		return;
	strbuf_str(d->out, "\t[Tracing clock]\n");
	if (text)
		strbuf_printf(d->out, "\t\t%.*s\n", (int)strnlen(text, size), text);
	else
		strbuf_str(d->out, "\t\t No tracing clock saved in the file\n");
}

static void put_flyrecord(const struct tracedat_dump *d, struct bytes *b)
{
	if (dump_wants(d, DUMP_SUMMARY | DUMP_FLYRECORD))
		strbuf_str(d->out, "\t[Flyrecord tracing data]\n");
	for (u32 i = 0; i < d->t->nr_cpus && !b->bad; i++) {
		u64 at = bytes_u64(b), size = bytes_u64(b);
		if (dump_wants(d, DUMP_FLYRECORD))
			strbuf_printf(d->out, "\t %10.lld %10.lld\t[offset, size of cpu %u]\n",
				      (long long)at, (long long)size, i);
	}
	put_clock(d, b);
}

void dump_rest_v6(struct tracedat_dump *d)
{
	struct bytes b = bytes_of(d->t->map + d->t->rest_at, d->t->size - d->t->rest_at, d->t->swap);
	for (const char *tag; (tag = bytes_take(&b, TAG));) {
		u32 nr = 0;
		u16 id;
		if (!memcmp(tag, "options  ", TAG)) {
			for (; (id = bytes_u16(&b)); nr++) {
				u32 size = bytes_u32(&b);
				put_option(d, id, bytes_sub(&b, size), NULL);
			}
			put_count(d, nr);
		} else if (!memcmp(tag, "latency  ", TAG)) {
			if (dump_wants(d, DUMP_SUMMARY))
				strbuf_str(d->out, "\t[Latency tracing data]\n");
			return;
		} else if (!memcmp(tag, "flyrecord", TAG)) {
			put_flyrecord(d, &b);
		} else {
			return;
		}
	}
}

/* ---- version 7 ---- */

/* One line for each section in the order of the file; returns their number. */
static u32 put_sections(const struct tracedat_dump *d)
{
	struct tracedat_head h;
	u32 nr = 0;
	for (u64 at = d->t->rest_at; !tracedat_head_at(d->t, at, &h); at += SECTION_HEAD + h.size) {
		nr++;
		if (dump_wants(d, DUMP_SECTIONS)) {
			strbuf_printf(d->out, "\t[Section %2u @ %-16llu\t\"%s\", flags 0x%X, ",
				      h.id, (unsigned long long)h.at, string_at(d, h.desc), h.flags);
			struct bytes b = bytes_of(d->t->map + at + SECTION_HEAD,
						  d->t->size - at - SECTION_HEAD, d->t->swap);
			u32 packed = bytes_u32(&b), size = bytes_u32(&b);
			bool data = h.id == OPTION_BUFFER || h.id == OPTION_BUFFER_TEXT;
			if (!(h.flags & SECTION_PACKED) || data)
				strbuf_printf(d->out, "%llu %sbytes]\n", (unsigned long long)h.size,
					      h.flags & SECTION_PACKED ? "compressed " : "");
			else
				strbuf_printf(d->out, "%u compressed, %u uncompressed]\n", packed,
					      size);
		}
		if (h.size > d->t->size)
			break;
	}
	return nr;
}

/* Sections of options lead to each other. */
static u32 put_options(const struct tracedat_dump *d, struct found *f)
{
	u64 offset = d->t->options_at;
	u32 nr = 0;
	for (u32 links = 0; offset && links < CHAIN_MAX; links++) {
		struct bytes b;
		bool done = false;
		put_head(d, DUMP_OPTIONS, offset);
		if (tracedat_section_bytes(d->t, offset, &b))
			return nr;
		offset = 0;
		while (!done && bytes_left(&b)) {
			u16 id = bytes_u16(&b);
			u32 size = bytes_u32(&b);
			struct bytes opt = bytes_sub(&b, size);
			if (b.bad)
				return nr;
			nr++;
			done = id == OPTION_DONE;
			if (!done) {
				put_option(d, id, opt, f);
				continue;
			}
			put_title(d, "DONE", size);
			offset = size >= 8 ? bytes_u64(&opt) : 0;
			if (size >= 8 && dump_wants(d, DUMP_OPTIONS))
				strbuf_printf(d->out, "%llu\n%s", (unsigned long long)offset,
					      offset ? "\n\n" : "");
		}
	}
	return nr;
}

void dump_rest_v7(struct tracedat_dump *d)
{
	struct found f = { 0 };
	gather_strings(d);
	u32 nr = put_sections(d);
	put_count(d, put_options(d, &f));
	/* The last one comes first, as trace-cmd has it. */
	for (size_t i = f.list.nr; i-- > 0;) {
		put_head(d, looks[f.list.at[i].id].also, f.list.at[i].at);
		dump_section(d, f.list.at[i].id);
	}
	if (dump_wants(d, DUMP_SUMMARY | DUMP_SECTIONS))
		strbuf_printf(d->out, "\t[%u sections]\n", nr);
	vec_free(&f.list);
}

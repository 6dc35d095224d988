#include "gen/ftrace_gen.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static void put(u8 *to, u64 v, u32 size, bool big_endian)
{
	for (u32 i = 0; i < size; i++)
		to[big_endian ? size - 1 - i : i] = (u8)(v >> (8 * i));
}

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

void gen_page_init(struct gen_page *p, u32 size, u8 long_size, bool big_endian, u64 time)
{
	*p = (struct gen_page){ .size = size,
				.long_size = long_size,
				.big_endian = big_endian,
				.time = time,
				.stamp = time };
	p->buf = need(calloc(1, size));
	put(p->buf, time, 8, big_endian);
}

void gen_page_done(struct gen_page *p)
{
	free(p->buf);
}

u32 gen_page_header(const struct gen_page *p)
{
	return 8 + p->long_size;
}

static u8 *claim(struct gen_page *p, u32 n)
{
	if (gen_page_header(p) + p->used + n > p->size)
		return NULL;
	u8 *at = p->buf + gen_page_header(p) + p->used;
	p->used += n;
	return at;
}

static bool words(struct gen_page *p, u32 type, u64 delta, const u32 *second)
{
	u8 *at = claim(p, second ? 8 : 4);
	if (!at)
		return false;
	u32 low = (u32)(delta & ((1u << 27) - 1));
	put(at, p->big_endian ? type << 27 | low : low << 5 | type, 4, p->big_endian);
	if (second)
		put(at + 4, *second, 4, p->big_endian);
	return true;
}

bool gen_page_extend(struct gen_page *p, u64 delta)
{
	u32 high = (u32)(delta >> 27);
	if (!words(p, 30, delta, &high))
		return false;
	p->time += delta;
	return true;
}

bool gen_page_absolute(struct gen_page *p, u64 time)
{
	u64 low = time & ((1ull << 59) - 1);
	u32 high = (u32)(low >> 27);
	if (!words(p, 31, low, &high))
		return false;
	p->time = time;
	return true;
}

bool gen_page_discard(struct gen_page *p, u32 delta, u32 size)
{
	if (!words(p, 29, delta, &size) || !claim(p, size - 4))
		return false;
	p->time += delta;
	return true;
}

bool gen_page_end_padding(struct gen_page *p)
{
	return words(p, 29, 0, NULL);
}

static bool event(struct gen_page *p, u64 time, const void *data, u32 size, bool long_form)
{
	u32 padded = (size + 3) & ~3u;
	u64 delta = time - p->time;
	u32 total = padded + 4 + (long_form ? 4 : 0) + (delta >> 27 ? 8 : 0);
	if (gen_page_header(p) + p->used + total > p->size)
		return false;
	if (delta >> 27) {
		(void)gen_page_extend(p, delta);
		delta = 0;
	}
	u32 length = padded + 4;
	(void)words(p, long_form ? 0 : padded / 4, delta, long_form ? &length : NULL);
	memcpy(need(claim(p, padded)), data, size);
	p->time = time;
	return true;
}

bool gen_page_event(struct gen_page *p, u64 time, const void *data, u32 size)
{
	return event(p, time, data, size, size > 112);
}

bool gen_page_long_event(struct gen_page *p, u64 time, const void *data, u32 size)
{
	return event(p, time, data, size, true);
}

void gen_page_finish(struct gen_page *p, u64 missed)
{
	u64 commit = p->used;
	if (missed)
		commit |= 1ull << 31;
	if (missed && missed != UINT64_MAX &&
	    gen_page_header(p) + p->used + p->long_size <= p->size) {
		commit |= 1ull << 30;
		put(p->buf + gen_page_header(p) + p->used, missed, p->long_size, p->big_endian);
	}
	put(p->buf + 8, commit, p->long_size, p->big_endian);
}

const char gen_format_value[] =
	"name: tick\nID: 100\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n\tfield:unsigned int value;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"value=%u\", REC->value\n";

void gen_event_fill(const struct gen_trace *t, struct gen_event *e, u16 id, s32 pid, u32 value)
{
	memset(e->data, 0, sizeof(e->data));
	put(e->data, id, 2, t->big_endian);
	put(e->data + 4, (u32)pid, 4, t->big_endian);
	put(e->data + 8, value, 4, t->big_endian);
	e->size = 12;
}

struct out {
	const struct gen_trace *t;
	struct strbuf *to;
};

static void out_num(struct out *o, u64 v, u32 size)
{
	u8 raw[8];
	put(raw, v, size, o->t->big_endian);
	strbuf_add(o->to, raw, size);
}

static void out_cstr(struct out *o, const char *s)
{
	strbuf_add(o->to, s, strlen(s) + 1);
}

static void out_text(struct out *o, const char *s, u32 width)
{
	out_num(o, s ? strlen(s) : 0, width);
	if (s)
		strbuf_str(o->to, s);
}

static void patch(struct out *o, size_t at, u64 v, u32 size)
{
	put((u8 *)o->to->data + at, v, size, o->t->big_endian);
}

static void pad_to(struct out *o, u32 align)
{
	while (o->to->len % align)
		strbuf_char(o->to, 0);
}

static void header_info(struct out *o)
{
	char page[512];
	u32 l = o->t->long_size;
	snprintf(page, sizeof(page),
		 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
		 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		 "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:1;\n",
		 l, 8 + l, o->t->page_size - 8 - l);
	out_cstr(o, "header_page");
	out_text(o, page, 8);
	out_cstr(o, "header_event");
	out_text(o, "# compressed entry header\n", 8);
}

static void ftrace_events(struct out *o)
{
	out_num(o, o->t->ftrace_format ? 1 : 0, 4);
	if (o->t->ftrace_format)
		out_text(o, o->t->ftrace_format, 8);
}

static void event_formats(struct out *o)
{
	u32 nr = 0;
	while (o->t->formats && o->t->formats[nr])
		nr++;
	out_num(o, nr ? 1 : 0, 4);
	if (!nr)
		return;
	out_cstr(o, o->t->system);
	out_num(o, nr, 4);
	for (u32 i = 0; i < nr; i++)
		out_text(o, o->t->formats[i], 8);
}

static void kallsyms(struct out *o)
{
	out_text(o, o->t->kallsyms, 4);
}

static void printk(struct out *o)
{
	out_text(o, o->t->printk, 4);
}

static void cmdlines(struct out *o)
{
	out_text(o, o->t->cmdlines, 8);
}

/* The pages of one CPU, one behind the other. */
static void cpu_pages(const struct gen_trace *t, const struct gen_buffer *b, u32 cpu,
		      struct strbuf *to)
{
	struct gen_page p = { 0 };
	bool open = false;
	u64 missed = 0;
	vec_for_each (&b->events, e) {
		if (e->cpu != cpu)
			continue;
		bool fits = open && !e->missed && gen_page_event(&p, e->time, e->data, e->size);
		if (fits)
			continue;
		if (open) {
			gen_page_finish(&p, missed);
			strbuf_add(to, p.buf, p.size);
			gen_page_done(&p);
		}
		gen_page_init(&p, t->page_size, t->long_size, t->big_endian, e->time);
		open = true;
		missed = e->missed;
		if (!gen_page_event(&p, e->time, e->data, e->size))
			abort();
	}
	if (open) {
		gen_page_finish(&p, missed);
		strbuf_add(to, p.buf, p.size);
		gen_page_done(&p);
	}
}

static void compress_one(struct out *o, const char *data, size_t len)
{
	size_t cap = o->t->compression == GEN_ZSTD ? ZSTD_compressBound(len) : compressBound(len);
	u8 *buf = need(malloc(cap));
	size_t n = cap;
	if (o->t->compression == GEN_ZSTD) {
		n = ZSTD_compress(buf, cap, data, len, 1);
		if (ZSTD_isError(n))
			abort();
	} else {
		uLongf z = cap;
		if (compress2(buf, &z, (const Bytef *)data, len, 1) != Z_OK)
			abort();
		n = z;
	}
	out_num(o, n, 4);
	out_num(o, len, 4);
	strbuf_add(o->to, buf, n);
	free(buf);
}

static void v6_data(struct out *o, const struct gen_buffer *b, size_t table)
{
	for (u32 cpu = 0; cpu < o->t->nr_cpus; cpu++) {
		pad_to(o, o->t->page_size);
		size_t start = o->to->len;
		cpu_pages(o->t, b, cpu, o->to);
		patch(o, table + 16 * cpu, start, 8);
		patch(o, table + 16 * cpu + 8, o->to->len - start, 8);
	}
}

/* Text where readers expect four bytes. */
static void vendor_option(struct out *o)
{
	if (!o->t->vendor_option)
		return;
	out_num(o, 8, 2);
	out_num(o, o->t->vendor_option, 4);
	strbuf_fill(o->to, 'v', o->t->vendor_option);
}

static size_t v6_table(struct out *o)
{
	strbuf_add(o->to, "flyrecord\0", 10);
	size_t at = o->to->len;
	strbuf_fill(o->to, 0, 16 * (size_t)o->t->nr_cpus);
	return at;
}

static void write_v6(struct out *o)
{
	header_info(o);
	ftrace_events(o);
	event_formats(o);
	kallsyms(o);
	printk(o);
	cmdlines(o);
	out_num(o, o->t->nr_cpus, 4);
	strbuf_add(o->to, "options  \0", 10);
	size_t where[16] = { 0 };
	vendor_option(o);
	for (u32 i = 1; i < o->t->nr_buffers; i++) {
		const char *name = o->t->buffers[i].name;
		out_num(o, 3, 2);
		out_num(o, 8 + strlen(name) + 1, 4);
		where[i] = o->to->len;
		out_num(o, 0, 8);
		out_cstr(o, name);
	}
	out_num(o, 0, 2);
	size_t table = v6_table(o);
	v6_data(o, &o->t->buffers[0], table);
	for (u32 i = 1; i < o->t->nr_buffers; i++) {
		patch(o, where[i], o->to->len, 8);
		table = v6_table(o);
		v6_data(o, &o->t->buffers[i], table);
	}
}

static size_t section_start(struct out *o, u16 id, bool compressed)
{
	size_t at = o->to->len;
	out_num(o, id, 2);
	out_num(o, compressed, 2);
	out_num(o, 0, 4);
	out_num(o, 0, 8);
	return at;
}

static void section_end(struct out *o, size_t at)
{
	patch(o, at + 8, o->to->len - at - 16, 8);
}

static size_t section(struct out *o, u16 id, void (*body)(struct out *))
{
	bool packed = o->t->compression != GEN_NONE;
	size_t at = section_start(o, id, packed);
	if (packed) {
		struct strbuf plain = { 0 };
		struct out inner = { .t = o->t, .to = &plain };
		body(&inner);
		compress_one(o, plain.data, plain.len);
		strbuf_done(&plain);
	} else {
		body(o);
	}
	section_end(o, at);
	return at;
}

struct gen_cpu_place {
	u64 offset, size;
};

static void v7_buffer_data(struct out *o, const struct gen_buffer *b, struct gen_cpu_place *places,
			   u64 *section_at)
{
	bool packed = o->t->compression != GEN_NONE;
	*section_at = section_start(o, 3, packed);
	for (u32 cpu = 0; cpu < o->t->nr_cpus; cpu++) {
		pad_to(o, o->t->page_size);
		struct strbuf pages = { 0 };
		cpu_pages(o->t, b, cpu, &pages);
		places[cpu].offset = o->to->len;
		if (!packed) {
			strbuf_add(o->to, pages.data ? pages.data : "", pages.len);
		} else if (pages.len) {
			size_t step = (size_t)o->t->page_size *
				      (o->t->chunk_pages ? o->t->chunk_pages : 4);
			out_num(o, (pages.len + step - 1) / step, 4);
			for (size_t at = 0; at < pages.len; at += step)
				compress_one(o, pages.data + at, min(step, pages.len - at));
		}
		places[cpu].size = o->to->len - places[cpu].offset;
		strbuf_done(&pages);
	}
	section_end(o, (size_t)*section_at);
}

static void option_start(struct out *o, u16 id, size_t *at)
{
	out_num(o, id, 2);
	*at = o->to->len;
	out_num(o, 0, 4);
}

static void option_end(struct out *o, size_t at)
{
	patch(o, at, o->to->len - at - 4, 4);
}

static void option_u64(struct out *o, u16 id, u64 v)
{
	size_t at;
	option_start(o, id, &at);
	out_num(o, v, 8);
	option_end(o, at);
}

static void write_v7(struct out *o)
{
	static const char *const names[] = {
		[GEN_NONE] = "none", [GEN_ZLIB] = "zlib", [GEN_ZSTD] = "zstd"
	};
	out_cstr(o, names[o->t->compression]);
	out_cstr(o, o->t->compression ? "1.0" : "");
	size_t first = o->to->len;
	out_num(o, 0, 8);
	size_t at_header = section(o, 16, header_info), at_ftrace = section(o, 17, ftrace_events);
	size_t at_events = section(o, 18, event_formats);
	size_t at_kallsyms = o->t->kallsyms ? section(o, 19, kallsyms) : 0;
	size_t at_printk = o->t->printk ? section(o, 20, printk) : 0;
	size_t at_cmdlines = o->t->cmdlines ? section(o, 21, cmdlines) : 0;
	u64 sections[16];
	struct gen_cpu_place *places =
		need(calloc((size_t)o->t->nr_buffers * o->t->nr_cpus, sizeof(*places)));
	for (u32 i = 0; i < o->t->nr_buffers; i++)
		v7_buffer_data(o, &o->t->buffers[i], places + (size_t)i * o->t->nr_cpus,
			       &sections[i]);
	patch(o, first, o->to->len, 8);
	size_t start = section_start(o, 0, false), at;
	option_u64(o, 16, at_header);
	option_u64(o, 17, at_ftrace);
	option_u64(o, 18, at_events);
	if (at_kallsyms)
		option_u64(o, 19, at_kallsyms);
	if (at_printk)
		option_u64(o, 20, at_printk);
	if (at_cmdlines)
		option_u64(o, 21, at_cmdlines);
	option_start(o, 8, &at);
	out_num(o, o->t->nr_cpus, 4);
	option_end(o, at);
	vendor_option(o);
	for (u32 i = 0; i < o->t->nr_buffers; i++) {
		option_start(o, 3, &at);
		out_num(o, sections[i], 8);
		out_cstr(o, o->t->buffers[i].name);
		out_cstr(o, "local");
		out_num(o, o->t->page_size, 4);
		out_num(o, o->t->nr_cpus, 4);
		for (u32 cpu = 0; cpu < o->t->nr_cpus; cpu++) {
			out_num(o, cpu, 4);
			out_num(o, places[(size_t)i * o->t->nr_cpus + cpu].offset, 8);
			out_num(o, places[(size_t)i * o->t->nr_cpus + cpu].size, 8);
		}
		option_end(o, at);
	}
	out_num(o, 0, 2);
	out_num(o, 8, 4);
	out_num(o, 0, 8);
	section_end(o, start);
	free(places);
}

void gen_trace_write(const struct gen_trace *t, struct strbuf *to)
{
	struct out o = { .t = t, .to = to };
	strbuf_add(to, "\x17\x08\x44tracing", 10);
	out_cstr(&o, t->version == 7 ? "7" : "6");
	strbuf_char(to, t->big_endian);
	strbuf_char(to, (char)t->long_size);
	out_num(&o, t->page_size, 4);
	if (t->version == 7)
		write_v7(&o);
	else
		write_v6(&o);
}

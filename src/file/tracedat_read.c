/*
 * After trace-cmd's own description, trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5). The bodies of the version 7 sections
 * 16 to 21 are what version 6 writes one after the other, so both go through the same functions.
 */
#include "file/tracedat_read.h"
#include "base/guard.h"
#include "file/looks.h"
#include "file/tracedat_write.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OPTION_SECTIONS_MAX = 4096, /* a chain longer than that goes in circles */
	FORMATS_MAX = 1 << 20,
};

/* What a step is, where bytes are gone through. */
enum { BYTES_A_STEP = 8 };

static char *keep(struct tracedat *t, const void *s, size_t len)
{
	len = strnlen(s, len);
	return budget_bytes(&t->budget, len, "the texts of its options")
		       ? arena_strndup(&t->arena, s, len)
		       : NULL;
}

static struct bytes rest_from(const struct tracedat *t, u64 offset)
{
	if (offset > t->size) {
		struct bytes none = bytes_of(t->map, 0, t->swap);
		none.bad = true;
		return none;
	}
	return bytes_of(t->map + offset, t->size - offset, t->swap);
}

/* A text with its length before it; a length beyond the end marks b bad. */
static struct tracedat_text take_text(struct bytes *b, u32 width)
{
	u64 len = width == 8 ? bytes_u64(b) : bytes_u32(b);
	const char *p = len <= bytes_left(b) ? bytes_take(b, len) : NULL;
	if (!p) {
		b->bad = true;
		return (struct tracedat_text){ 0 };
	}
	return (struct tracedat_text){ .data = p, .len = len };
}

static int read_header_info(struct tracedat *t, struct bytes *b)
{
	(void)bytes_cstr(b);
	struct tracedat_text page = take_text(b, 8);
	(void)bytes_cstr(b);
	t->header_event = take_text(b, 8);
	if (!page.data)
		return -EBADMSG;
	t->header_page = page;
	return format_parse_header_page(page.data, page.len, t->long_size, &t->layout);
}

/* The head of a format is "name: X\nID: N\n"; only that is looked at here. */
static int add_format(struct tracedat *t, const char *system, struct tracedat_text text)
{
	static const char name_word[] = "name: ", id_word[] = "ID: ";
	const char *p = text.data, *end = text.data + text.len;
	if (text.len < sizeof(name_word) || memcmp(p, name_word, sizeof(name_word) - 1))
		return 0;
	p += sizeof(name_word) - 1;
	const char *nl = memchr(p, '\n', (size_t)(end - p));
	if (!nl || (size_t)(end - nl) < sizeof(id_word) + 1 ||
	    memcmp(nl + 1, id_word, sizeof(id_word) - 1))
		return 0;
	u32 id = 0;
	for (const char *q = nl + sizeof(id_word);
	     q < end && *q >= '0' && *q <= '9' && id < 1u << 24; q++)
		id = id * 10 + (u32)(*q - '0');
	if (t->formats.nr >= FORMATS_MAX ||
	    !budget_bytes(&t->budget, sizeof(struct tracedat_format) + (size_t)(nl - p),
			  "the list of its event formats") ||
	    !budget_steps(&t->budget, text.len, "reading its event formats"))
		return -E2BIG;
	struct tracedat_format *f = vec_push(&t->formats);
	const char *name = arena_strndup(&t->arena, p, (size_t)(nl - p));
	if (!f || !name)
		return -ENOMEM;
	*f = (struct tracedat_format){ .id = id, .system = system, .name = name, .text = text };
	return 0;
}

static int read_ftrace_events(struct tracedat *t, struct bytes *b)
{
	u32 nr = bytes_u32(b);
	for (u32 i = 0; i < nr && !b->bad; i++) {
		struct tracedat_text text = take_text(b, 8);
		int err = text.data ? add_format(t, "ftrace", text) : -EBADMSG;
		if (err)
			return err;
	}
	t->nr_own_formats = t->formats.nr;
	return b->bad ? -EBADMSG : 0;
}

static int read_event_formats(struct tracedat *t, struct bytes *b)
{
	u32 nr_systems = bytes_u32(b);
	for (u32 i = 0; i < nr_systems && !b->bad; i++) {
		const char *system = bytes_cstr(b);
		u32 nr = bytes_u32(b);
		if (b->bad)
			break;
		system = arena_strdup(&t->arena, system);
		if (!system)
			return -ENOMEM;
		for (u32 k = 0; k < nr && !b->bad; k++) {
			struct tracedat_text text = take_text(b, 8);
			int err = text.data ? add_format(t, system, text) : -EBADMSG;
			if (err)
				return err;
		}
	}
	return b->bad ? -EBADMSG : 0;
}

static struct tracedat_section plain_section(struct tracedat_text text)
{
	return (struct tracedat_section){ .data = (const u8 *)text.data, .size = text.len };
}

/* Unpacks a section's body into memory that lives as long as t. */
static int unpack_section(struct tracedat *t, const struct tracedat_section *s, struct bytes *ret)
{
	if (!s->packed) {
		*ret = bytes_of(s->data, s->size, t->swap);
		return 0;
	}
	struct bytes b = bytes_of(s->data, s->size, t->swap);
	u32 packed = bytes_u32(&b), size = bytes_u32(&b);
	const void *from = bytes_take(&b, packed);
	if (!from || size > TRACEDAT_TEXT_MAX)
		return -EBADMSG;
	if (!budget_bytes(&t->budget, size, "unpacking its sections") ||
	    !budget_steps(&t->budget, size / BYTES_A_STEP, "unpacking its sections"))
		return -E2BIG;
	void *to = big_alloc(size);
	if (!to)
		return -ENOMEM;
	int err = unpack(&t->unpacker, t->compression, from, packed, to, size);
	void **slot = err ? NULL : vec_push(&t->unpacked);
	if (!slot) {
		free(to);
		return err ? err : -ENOMEM;
	}
	*slot = to;
	*ret = bytes_of(to, size, t->swap);
	return 0;
}

struct tracedat_text tracedat_text(struct tracedat *t, enum tracedat_part part)
{
	struct tracedat_section *s = &t->parts[part];
	struct tracedat_text none = { 0 };
	struct bytes b;
	if (!s->data)
		return none;
	if (s->packed) {
		/* Version 7: the body still has the length word of version 6 in front. */
		int err = unpack_section(t, s, &b);
		struct tracedat_text text =
			err ? none : take_text(&b, part == TRACEDAT_CMDLINES ? 8 : 4);
		*s = plain_section(text);
	}
	return (struct tracedat_text){ .data = (const char *)s->data, .len = s->size };
}

int tracedat_head_at(const struct tracedat *t, u64 offset, struct tracedat_head *ret)
{
	struct bytes b = rest_from(t, offset);
	struct tracedat_head h = { .at = offset };
	h.id = bytes_u16(&b);
	h.flags = bytes_u16(&b);
	h.desc = bytes_u32(&b);
	h.size = bytes_u64(&b);
	if (b.bad)
		return -ENODATA;
	*ret = h;
	return 0;
}

static int section_at(struct tracedat *t, u64 offset, struct tracedat_section *ret)
{
	struct tracedat_head h;
	if (tracedat_head_at(t, offset, &h))
		return -EBADMSG;
	struct bytes b = rest_from(t, offset + SECTION_HEAD);
	if (h.size > bytes_left(&b)) {
		t->cut = true;
		h.size = bytes_left(&b);
	}
	*ret = (struct tracedat_section){ .data = b.at,
					  .size = h.size,
					  .packed = h.flags & SECTION_PACKED };
	return 0;
}

int tracedat_section_bytes(struct tracedat *t, u64 offset, struct bytes *ret)
{
	struct tracedat_section s;
	int err = section_at(t, offset, &s);
	return err ? err : unpack_section(t, &s, ret);
}

/* Packed text of a latency tracer: a number of chunks, each with its sizes. */
static int unpack_latency(struct tracedat *t, const struct tracedat_section *s,
			  struct tracedat_text *ret)
{
	struct bytes b = bytes_of(s->data, s->size, t->swap);
	u32 nr = bytes_u32(&b);
	char *all = NULL;
	size_t len = 0;
	int err = 0;
	for (u32 i = 0; i < nr && !err; i++) {
		u32 packed = bytes_u32(&b), size = bytes_u32(&b);
		const void *from = bytes_take(&b, packed);
		if (!from || size > TRACEDAT_CHUNK_MAX || len + size > TRACEDAT_TEXT_MAX) {
			err = -EBADMSG;
			break;
		}
		if (!budget_bytes(&t->budget, size, "unpacking its text")) {
			err = -E2BIG;
			break;
		}
		char *more = realloc(all, len + size + 1);
		err = more ? unpack(&t->unpacker, t->compression, from, packed, more + len, size)
			   : -ENOMEM;
		all = more ? more : all;
		if (!err)
			len += size;
	}
	void **slot = all ? vec_push(&t->unpacked) : NULL;
	if (!slot) {
		free(all);
		return err ? err : -ENOMEM;
	}
	*slot = all;
	*ret = (struct tracedat_text){ .data = all, .len = len };
	return 0;
}

struct tracedat_text tracedat_latency_text(struct tracedat *t)
{
	struct tracedat_section *s = &t->latency_section;
	struct tracedat_text text = { .data = (const char *)s->data, .len = s->size };
	if (s->data && s->packed) {
		text = (struct tracedat_text){ 0 };
		(void)unpack_latency(t, s, &text);
		*s = plain_section(text);
	}
	return text;
}

static int read_latency_v7(struct tracedat *t, struct bytes opt)
{
	u64 offset = bytes_u64(&opt);
	if (opt.bad || section_at(t, offset, &t->latency_section))
		return -EBADMSG;
	t->latency = true;
	return 0;
}

enum { CPU_BYTES = 256, LANE_BYTES = 8192, CHUNK_BYTES = 32 };

static struct tracedat_buffer *add_buffer(struct tracedat *t, const char *name, u32 nr_cpus)
{
	/* A reader keeps something for each CPU, and more for one that has pages. */
	if (!budget_bytes(&t->budget, (u64)nr_cpus * (sizeof(struct tracedat_cpu) + CPU_BYTES),
			  "the list of CPUs of its buffers"))
		return NULL;
	struct tracedat_buffer *b = vec_push(&t->buffers);
	struct tracedat_cpu *cpus = arena_array(&t->arena, nr_cpus, sizeof(*cpus));
	if (!b || !cpus)
		return NULL;
	*b = (struct tracedat_buffer){ .name = name,
				       .clock = t->clock,
				       .page_size = t->page_size,
				       .cpus = cpus,
				       .nr_cpus = nr_cpus };
	return b;
}

/* Counts first, so that a lie about the number of chunks costs nothing. */
static int find_chunks(struct tracedat *t, struct tracedat_cpu *c, u32 page_size, struct bytes b)
{
	u32 claimed = bytes_u32(&b), nr = 0;
	struct bytes count = b;
	for (; nr < claimed; nr++) {
		u32 packed = bytes_u32(&count);
		(void)bytes_u32(&count);
		if (!bytes_take(&count, packed))
			break;
	}
	if (nr < claimed)
		t->cut = true;
	if (!budget_steps(&t->budget, (u64)nr * 2, "the lists of its packed pages") ||
	    !budget_bytes(&t->budget, nr * (sizeof(*c->chunks) + CHUNK_BYTES),
			  "the lists of its packed pages"))
		return -E2BIG;
	c->chunks = arena_array(&t->arena, nr, sizeof(*c->chunks));
	if (!c->chunks)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		struct tracedat_chunk *k = &c->chunks[i];
		k->packed = bytes_u32(&b);
		k->size = bytes_u32(&b);
		k->data = bytes_take(&b, k->packed);
		k->first_page = c->nr_pages;
		if (k->size > TRACEDAT_CHUNK_MAX || c->nr_pages > UINT32_MAX / 2) {
			t->cut = true;
			break;
		}
		if (!budget_steps(&t->budget, k->size / BYTES_A_STEP, "unpacking its pages"))
			return -E2BIG;
		c->nr_pages += k->size / page_size;
		c->nr_chunks++;
	}
	return 0;
}

static int set_cpu(struct tracedat *t, struct tracedat_buffer *buf, struct tracedat_cpu *c,
		   u64 offset, u64 size, bool packed)
{
	if (!size)
		return 0;
	if (offset >= t->size) {
		t->cut = true;
		return 0;
	}
	if (!budget_bytes(&t->budget, LANE_BYTES, "the list of CPUs of its buffers"))
		return -E2BIG;
	/* The size that trace-cmd notes for packed data leaves out some of the words between them: go by the chunks. */
	if (packed)
		return find_chunks(t, c, buf->page_size,
				   bytes_of(t->map + offset, t->size - offset, t->swap));
	if (size > t->size - offset) {
		t->cut = true;
		size = t->size - offset;
	}
	if (!budget_steps(&t->budget, size / BYTES_A_STEP, "reading its pages"))
		return -E2BIG;
	c->pages = t->map + offset;
	c->pages_size = size;
	u64 nr = (size + buf->page_size - 1) / buf->page_size;
	c->nr_pages = (u32)min(nr, (u64)UINT32_MAX / 2);
	return 0;
}

/* A version 6 table: "flyrecord", offset and size for each CPU, then the clock. */
static int read_flyrecord(struct tracedat *t, struct bytes *b, const char *name)
{
	if (t->nr_cpus > TRACEDAT_CPUS_MAX)
		return -E2BIG;
	struct tracedat_buffer *buf = add_buffer(t, name, t->nr_cpus);
	if (!buf)
		return t->budget.stage ? -E2BIG : -ENOMEM;
	for (u32 i = 0; i < t->nr_cpus; i++) {
		u64 offset = bytes_u64(b), size = bytes_u64(b);
		buf->cpus[i].cpu = i;
		int err = b->bad ? 0 : set_cpu(t, buf, &buf->cpus[i], offset, size, false);
		if (err)
			return err;
	}
	t->cut |= b->bad;
	return 0;
}

static int read_buffer_v6(struct tracedat *t, struct bytes opt)
{
	u64 offset = bytes_u64(&opt);
	const char *name = bytes_cstr(&opt);
	if (!name || !(name = keep(t, name, strlen(name))))
		return opt.bad ? -EBADMSG : t->budget.stage ? -E2BIG : -ENOMEM;
	struct bytes b = rest_from(t, offset);
	const char *tag = bytes_take(&b, 10);
	if (!tag || memcmp(tag, "flyrecord", 10)) {
		t->cut = true;
		return 0;
	}
	return read_flyrecord(t, &b, name);
}

static bool takes_pages(struct tracedat *t, u32 size)
{
	if (size >= TRACEDAT_PAGE_MIN && size <= TRACEDAT_PAGE_MAX)
		return true;
	t->bad_page_size = true;
	t->page_size = size;
	return false;
}

static int refuse_pages(const struct tracedat *t, const char *name, struct diag *d)
{
	return diag_error(d, -EINVAL, "%s: invalid page size %u (%u to %u bytes are possible)",
			  name, t->page_size, TRACEDAT_PAGE_MIN, TRACEDAT_PAGE_MAX);
}

static int read_buffer_v7(struct tracedat *t, struct bytes opt)
{
	u64 offset = bytes_u64(&opt);
	const char *name = bytes_cstr(&opt), *clock = bytes_cstr(&opt);
	u32 page_size = bytes_u32(&opt), nr = bytes_u32(&opt);
	if (opt.bad || nr > bytes_left(&opt) / 20)
		return -EBADMSG;
	if (!takes_pages(t, page_size))
		return -EINVAL;
	struct tracedat_section data;
	int err = section_at(t, offset, &data);
	if (err) {
		t->cut = true;
		return 0;
	}
	struct tracedat_buffer *buf = add_buffer(t, keep(t, name, strlen(name)), nr);
	if (!buf || !buf->name || !(buf->clock = keep(t, clock, strlen(clock))))
		return t->budget.stage ? -E2BIG : -ENOMEM;
	buf->page_size = page_size;
	for (u32 i = 0; i < nr; i++) {
		buf->cpus[i].cpu = bytes_u32(&opt);
		if (buf->cpus[i].cpu >= TRACEDAT_CPUS_MAX)
			return -EBADMSG;
		u64 at = bytes_u64(&opt), size = bytes_u64(&opt);
		err = set_cpu(t, buf, &buf->cpus[i], at, size, data.packed);
		if (err)
			return err;
	}
	return 0;
}

/* "local [mono] tai": the one in brackets. */
static const char *clock_of(struct tracedat *t, const char *text, size_t len)
{
	const char *open = memchr(text, '[', len);
	const char *close = open ? memchr(open, ']', (size_t)(text + len - open)) : NULL;
	return close ? arena_strndup(&t->arena, open + 1, (size_t)(close - open - 1)) : NULL;
}

static s64 option_number(struct bytes opt)
{
	char text[32] = { 0 };
	memcpy(text, opt.at, min(bytes_left(&opt), sizeof(text) - 1));
	return (s64)strtoull(text, NULL, 0);
}

static int read_text_option(struct tracedat *t, struct bytes opt, const char **ret)
{
	*ret = keep(t, opt.at, bytes_left(&opt));
	return *ret ? 0 : t->budget.stage ? -E2BIG : -ENOMEM;
}

static int read_part(struct tracedat *t, enum tracedat_part part, struct bytes opt)
{
	u64 offset = bytes_u64(&opt);
	struct tracedat_section s;
	if (opt.bad || section_at(t, offset, &s)) {
		t->cut = true;
		return 0;
	}
	if (!s.packed) {
		struct bytes b = bytes_of(s.data, s.size, t->swap);
		s = plain_section(take_text(&b, part == TRACEDAT_CMDLINES ? 8 : 4));
	}
	t->parts[part] = s;
	return 0;
}

static int read_info_section(struct tracedat *t, struct bytes opt,
			     int (*read)(struct tracedat *, struct bytes *))
{
	u64 offset = bytes_u64(&opt);
	struct bytes b;
	int err = opt.bad ? -EBADMSG : tracedat_section_bytes(t, offset, &b);
	if (!err)
		err = read(t, &b);
	if (err == -EBADMSG) {
		t->cut = true;
		err = 0;
	}
	return err;
}

static int keep_option(struct tracedat *t, u16 id, struct bytes opt)
{
	if (id == OPTION_BUFFER || (id >= OPTION_STRINGS && id <= OPTION_BUFFER_TEXT))
		return 0;
	struct tracedat_option *o = vec_push(&t->options);
	if (!o)
		return -ENOMEM;
	o->id = id;
	o->body = (struct tracedat_text){ .data = (const char *)opt.at, .len = bytes_left(&opt) };
	return 0;
}

/* Vendors use numbers that have got a meaning since: one whose size is not that of the meaning is theirs. */
static bool option_fits(u16 id, size_t size)
{
	switch (id) {
	case OPTION_CPUCOUNT: return size == 4;
	case OPTION_TRACEID: return size == 8;
	case OPTION_TSC2NSEC: return size == 16;
	default: return true;
	}
}

static int read_option(struct tracedat *t, u16 id, struct bytes opt)
{
	if (!budget_bytes(&t->budget, sizeof(struct tracedat_option), "the list of its options") ||
	    !budget_steps(&t->budget, 1 + bytes_left(&opt) / BYTES_A_STEP, "reading its options"))
		return -E2BIG;
	int err = keep_option(t, id, opt);
	if (err || !option_fits(id, bytes_left(&opt)))
		return err;
	switch (id) {
	case OPTION_DATE:
		t->ts_offset_ns +=
			(s64)((u64)option_number(opt) * 1000); /* the text holds microseconds */
		return 0;
	case OPTION_OFFSET: t->ts_offset_ns += option_number(opt); return 0;
	case OPTION_CPUSTAT: {
		const char **slot = vec_push(&t->cpu_stats);
		return slot ? read_text_option(t, opt, slot) : -ENOMEM;
	}
	case OPTION_BUFFER:
		return t->version == 6 ? read_buffer_v6(t, opt) : read_buffer_v7(t, opt);
	case OPTION_BUFFER_TEXT: return read_latency_v7(t, opt);
	case OPTION_TRACECLOCK:
		t->clock = clock_of(t, (const char *)opt.at, bytes_left(&opt));
		return 0;
	case OPTION_UNAME: return read_text_option(t, opt, &t->uname);
	case OPTION_VERSION: return read_text_option(t, opt, &t->tracer_version);
	case OPTION_CPUCOUNT:
		t->nr_cpus = bytes_u32(&opt);
		return t->nr_cpus > TRACEDAT_CPUS_MAX ? -E2BIG : 0;
	case OPTION_TRACEID: t->trace_id = bytes_u64(&opt); return 0;
	case OPTION_TSC2NSEC:
		t->tsc_mult = bytes_u32(&opt);
		t->tsc_shift = bytes_u32(&opt);
		t->tsc_offset_ns = bytes_u64(&opt);
		t->has_tsc2nsec = !opt.bad && t->tsc_mult && t->tsc_shift < 64;
		return 0;
	case OPTION_HEADER_INFO: return read_info_section(t, opt, read_header_info);
	case OPTION_FTRACE_EVENTS: return read_info_section(t, opt, read_ftrace_events);
	case OPTION_EVENT_FORMATS: return read_info_section(t, opt, read_event_formats);
	case OPTION_KALLSYMS: return read_part(t, TRACEDAT_KALLSYMS, opt);
	case OPTION_PRINTK: return read_part(t, TRACEDAT_PRINTK, opt);
	case OPTION_CMDLINES: return read_part(t, TRACEDAT_CMDLINES, opt);
	default: return 0; /* not needed here, or newer than this program */
	}
}

/* Version 6: buffers come after all other options, since their tables need the number of CPUs and the clock. */
static int read_options_v6(struct tracedat *t, struct bytes *b, bool buffers)
{
	for (;;) {
		u16 id = bytes_u16(b);
		if (!id)
			break;
		u32 size = bytes_u32(b);
		struct bytes opt = bytes_sub(b, size);
		int err = b->bad || (id == OPTION_BUFFER) != buffers ? 0 : read_option(t, id, opt);
		if (err == -EBADMSG) {
			t->cut = true;
			err = 0;
		}
		if (err)
			return err;
	}
	t->cut |= b->bad;
	return 0;
}

static int read_v6(struct tracedat *t, struct bytes *b)
{
	int err = read_header_info(t, b);
	if (!err)
		err = read_ftrace_events(t, b);
	if (!err)
		err = read_event_formats(t, b);
	if (err)
		return err;
	t->parts[TRACEDAT_KALLSYMS] = plain_section(take_text(b, 4));
	t->parts[TRACEDAT_PRINTK] = plain_section(take_text(b, 4));
	t->parts[TRACEDAT_CMDLINES] = plain_section(take_text(b, 8));
	t->nr_cpus = bytes_u32(b);
	t->rest_at = (u64)(b->at - t->map);
	const char *tag = bytes_take(b, 10);
	struct bytes options = { .bad = true };
	if (tag && !memcmp(tag, "options  ", 10)) {
		options = *b;
		err = read_options_v6(t, b, false);
		if (err)
			return err;
		tag = bytes_take(b, 10);
	}
	if (b->bad || !tag) {
		t->cut = true;
		return 0;
	}
	t->latency = !memcmp(tag, "latency  ", 10);
	if (t->latency) {
		t->latency_section =
			(struct tracedat_section){ .data = b->at, .size = bytes_left(b) };
		return 0;
	}
	if (memcmp(tag, "flyrecord", 10))
		return -EBADMSG;
	err = read_flyrecord(t, b, "");
	if (!err && !options.bad)
		err = read_options_v6(t, &options, true);
	return err;
}

/* One section of options; *next is the offset of the one after it, 0 at the end. */
static int read_option_section(struct tracedat *t, u64 offset, u64 *next)
{
	struct bytes b;
	*next = 0;
	int err = tracedat_section_bytes(t, offset, &b);
	if (err)
		return err;
	while (bytes_left(&b)) {
		u16 id = bytes_u16(&b);
		u32 size = bytes_u32(&b);
		struct bytes opt = bytes_sub(&b, size);
		if (b.bad)
			return -EBADMSG;
		if (id == OPTION_DONE) {
			*next = size >= 8 ? bytes_u64(&opt) : 0;
			return 0;
		}
		err = read_option(t, id, opt);
		if (err == -EBADMSG)
			t->cut = true;
		else if (err)
			return err;
	}
	return -EBADMSG;
}

static int read_v7(struct tracedat *t, struct bytes *b, const char *name, struct diag *d)
{
	const char *packer = bytes_cstr(b);
	t->packer_version = bytes_cstr(b);
	u64 offset = bytes_u64(b);
	t->options_at = offset;
	t->rest_at = (u64)(b->at - t->map);
	if (b->bad)
		return -EBADMSG;
	int kind = compress_kind_of(packer);
	if (kind < 0)
		return diag_error(d, kind, "%s: compressed with '%.32s', which is not supported",
				  name, packer);
	t->compression = (enum compress_kind)kind;
	for (unsigned nr = 0; offset; nr++) {
		int err = nr < OPTION_SECTIONS_MAX ? read_option_section(t, offset, &offset)
						   : -EBADMSG;
		if (err == -EBADMSG && nr) {
			t->cut = true;
			return 0;
		}
		if (err)
			return err;
	}
	return 0;
}

/* The top buffer belongs in front; in version 7 it is the one without a name. */
static void put_top_first(struct tracedat *t)
{
	for (size_t i = 1; i < t->buffers.nr; i++) {
		struct tracedat_buffer b = t->buffers.at[i];
		if (*b.name)
			continue;
		memmove(t->buffers.at + 1, t->buffers.at, i * sizeof(b));
		t->buffers.at[0] = b;
		return;
	}
}

static int read_all(struct tracedat *t, const char *name, struct diag *d)
{
	struct bytes b = bytes_of(t->map, t->size, false);
	const void *head = bytes_take(&b, TRACEDAT_MAGIC_BYTES);
	if (!head || memcmp(head, TRACEDAT_MAGIC, TRACEDAT_MAGIC_BYTES)) {
		(void)diag_error(d, -EINVAL, "%s: not a trace.dat file", name);
		looks_hint(d, t->map, t->size);
		return -EINVAL;
	}
	const char *version = bytes_cstr(&b);
	t->version = version ? (u32)strtoul(version, NULL, 10) : 0;
	if (version && (!strcmp(version, "0.5") || !strcmp(version, "0.6")))
		t->version = 6; /* the head that perf.data carries */
	if (version && t->version != 6 && t->version != 7)
		return diag_error(d, -ENOTSUP,
				  "%s: unsupported trace.dat version '%.16s' (expected 6 or 7)",
				  name, version);
	t->big_endian = bytes_u8(&b);
	t->swap = b.swap = t->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	t->long_size = bytes_u8(&b);
	t->page_size = bytes_u32(&b);
	if (b.bad || (t->long_size != 4 && t->long_size != 8))
		return diag_error(d, -EINVAL, "%s: the file header is damaged or truncated", name);
	if (!takes_pages(t, t->page_size))
		return refuse_pages(t, name, d);
	int err = format_parse_header_page(NULL, 0, t->long_size, &t->layout);
	if (!err)
		err = t->version == 6 ? read_v6(t, &b) : read_v7(t, &b, name, d);
	if (err && t->bad_page_size)
		return refuse_pages(t, name, d);
	if (err == -EBADMSG || err == -EINVAL)
		return diag_error(d, -EINVAL, "%s: damaged or truncated before the recorded events",
				  name);
	if (t->budget.stage)
		return budget_refuse(&t->budget, name, d);
	if (err)
		return err;
	put_top_first(t);
	if (t->cut)
		diag_warn(d, "%s: the file is truncated; showing what is intact", name);
	if (t->cut && !t->buffers.nr)
		diag_hint(d, "the table of event locations is at the end of the file and was lost");
	return 0;
}

static int open_memory(struct tracedat *t, const char *name, const void *data, size_t size,
		       u64 real_size, struct diag *d)
{
	*t = (struct tracedat){ .map = data, .size = size };
	budget_init(&t->budget, real_size);
	arena_init(&t->arena);
	t->name = arena_strdup(&t->arena, name);
	int err = t->name ? read_all(t, name, d) : -ENOMEM;
	if (err)
		tracedat_close(t);
	return err;
}

int tracedat_open_memory(struct tracedat *t, const char *name, const void *data, size_t size,
			 struct diag *d)
{
	return open_memory(t, name, data, size, size, d);
}

int tracedat_open(struct tracedat *t, const char *path, struct diag *d)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return diag_error(d, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return diag_error(d, -EINVAL, "%s: %s", path,
				  S_ISREG(st.st_mode) ? "the file is empty" : "not a regular file");
	const void *map;
	int err = guard_map_input(fd, (size_t)st.st_size, false, NULL, path, &map);
	if (err)
		return diag_error(d, err, "%s: %s", path, strerror(-err));
	err = open_memory(t, path, map, (size_t)st.st_size, budget_real_size(&st), d);
	if (err)
		guard_unmap(map, (size_t)st.st_size);
	else
		t->mapped = true;
	return err;
}

static int take_formats(struct tracedat *t, const struct tracedat_out *o)
{
	int err = 0;
	for (size_t i = 0; i < o->nr_formats && !err; i++) {
		err = add_format(t, o->formats[i].system, o->formats[i].text);
		if (i + 1 == o->nr_own_formats)
			t->nr_own_formats = t->formats.nr;
	}
	return err;
}

static int take_buffers(struct tracedat *t, const struct tracedat_out *o)
{
	for (size_t i = 0; i < o->nr_buffers; i++) {
		const struct tracedat_out_buffer *from = &o->buffers[i];
		struct tracedat_buffer *b = add_buffer(t, from->name, from->nr_cpus);
		if (!b)
			return -ENOMEM;
		b->page_size = from->page_size;
		for (u32 k = 0; k < from->nr_cpus; k++)
			b->cpus[k].cpu = from->cpus[k].cpu;
	}
	return 0;
}

int tracedat_of_parts(struct tracedat *t, const char *name, const struct tracedat_out *o)
{
	*t = (struct tracedat){ .name = name,
				.version = o->version,
				.swap = o->swap,
				.big_endian = o->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
				.long_size = o->long_size,
				.page_size = o->page_size,
				.nr_cpus = o->nr_cpus,
				.header_page = o->header_page,
				.header_event = o->header_event };
	budget_init(&t->budget, (u64)1 << 48); /* the kernel's own, and it goes on for days */
	arena_init(&t->arena);
	for (unsigned i = 0; i < TRACEDAT_NR_PARTS; i++)
		t->parts[i] = plain_section(o->parts[i]);
	int err = format_parse_header_page(o->header_page.data, o->header_page.len, o->long_size,
					   &t->layout);
	if (!err)
		err = take_formats(t, o);
	for (size_t i = 0; i < o->nr_options && !err; i++)
		err = read_option(t, o->options[i].id,
				  bytes_of(o->options[i].body.data, o->options[i].body.len, t->swap));
	if (!err)
		err = take_buffers(t, o);
	if (err)
		tracedat_close(t);
	return err;
}

void tracedat_close(struct tracedat *t)
{
	vec_for_each (&t->unpacked, p)
		free(*p);
	vec_free(&t->unpacked);
	vec_free(&t->cpu_stats);
	vec_free(&t->buffers);
	vec_free(&t->formats);
	vec_free(&t->options);
	unpacker_done(&t->unpacker);
	arena_done(&t->arena);
	if (t->mapped)
		guard_unmap(t->map, t->size);
	*t = (struct tracedat){ 0 };
}

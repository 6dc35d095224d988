#include "file/tracedat_write.h"

#include "base/par.h"
#include "base/strbuf.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
	CHUNK_BYTES = 256 << 10, /* what is packed in one piece */
	COPY_BYTES = 1 << 20,
};

struct writer {
	const struct tracedat_out *o;
	int fd;
	u64 at; /* bytes in the file so far */
	struct strbuf options; /* of version 7, collected */
};

/* ---- numbers and texts ------------------------------------------------------------------------------------------------ */

static void put_u16(const struct tracedat_out *o, struct strbuf *to, u16 v)
{
	v = o->swap ? __builtin_bswap16(v) : v;
	strbuf_add(to, &v, sizeof(v));
}

static void put_u32(const struct tracedat_out *o, struct strbuf *to, u32 v)
{
	v = o->swap ? __builtin_bswap32(v) : v;
	strbuf_add(to, &v, sizeof(v));
}

static void put_u64(const struct tracedat_out *o, struct strbuf *to, u64 v)
{
	v = o->swap ? __builtin_bswap64(v) : v;
	strbuf_add(to, &v, sizeof(v));
}

static void put_text(const struct tracedat_out *o, struct strbuf *to, struct tracedat_text text,
		     unsigned width)
{
	if (width == 8)
		put_u64(o, to, text.len);
	else
		put_u32(o, to, (u32)text.len);
	if (text.len)
		strbuf_add(to, text.data, text.len);
}

static void put_head(const struct tracedat_out *o, struct strbuf *to)
{
	bool big = o->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	strbuf_add(to, TRACEDAT_MAGIC, TRACEDAT_MAGIC_BYTES);
	strbuf_add(to, o->version == 7 ? "7" : "6", 2);
	strbuf_char(to, (char)big);
	strbuf_char(to, (char)o->long_size);
	put_u32(o, to, o->page_size);
}

static void put_header_info(const struct tracedat_out *o, struct strbuf *to)
{
	strbuf_add(to, "header_page", 12);
	put_text(o, to, o->header_page, 8);
	strbuf_add(to, "header_event", 13);
	put_text(o, to, o->header_event, 8);
}

static void put_own_formats(const struct tracedat_out *o, struct strbuf *to)
{
	put_u32(o, to, (u32)o->nr_own_formats);
	for (size_t i = 0; i < o->nr_own_formats; i++)
		put_text(o, to, o->formats[i].text, 8);
}

/* Formats stand system by system: each run of one system is an entry. */
static size_t run_of_system(const struct tracedat_out *o, size_t first)
{
	size_t i = first;
	while (i < o->nr_formats && !strcmp(o->formats[i].system, o->formats[first].system))
		i++;
	return i;
}

static void put_formats(const struct tracedat_out *o, struct strbuf *to)
{
	u32 nr = 0;
	for (size_t i = o->nr_own_formats; i < o->nr_formats; i = run_of_system(o, i))
		nr++;
	put_u32(o, to, nr);
	for (size_t i = o->nr_own_formats; i < o->nr_formats;) {
		size_t end = run_of_system(o, i);
		strbuf_add(to, o->formats[i].system, strlen(o->formats[i].system) + 1);
		put_u32(o, to, (u32)(end - i));
		for (; i < end; i++)
			put_text(o, to, o->formats[i].text, 8);
	}
}

static void put_kallsyms(const struct tracedat_out *o, struct strbuf *to)
{
	put_text(o, to, o->parts[TRACEDAT_KALLSYMS], 4);
}

static void put_printk(const struct tracedat_out *o, struct strbuf *to)
{
	put_text(o, to, o->parts[TRACEDAT_PRINTK], 4);
}

static void put_cmdlines(const struct tracedat_out *o, struct strbuf *to)
{
	put_text(o, to, o->parts[TRACEDAT_CMDLINES], 8);
}

static int put_bytes(struct writer *w, const void *data, size_t len)
{
	int err = strbuf_drain_fd(&w->fd, data, len);
	w->at += len;
	return err;
}

static int put_buf(struct writer *w, struct strbuf *s)
{
	int err = s->err ? s->err : s->len ? put_bytes(w, s->data, s->len) : 0;
	strbuf_reset(s);
	return err;
}

static int pad_to(struct writer *w, u64 align)
{
	static const u8 zeroes[4096];
	int err = 0;
	u64 left = (align - w->at % align) % align;
	while (left && !err) {
		size_t n = min(left, (u64)sizeof(zeroes));
		err = put_bytes(w, zeroes, n);
		left -= n;
	}
	return err;
}

/* ---- pages -------------------------------------------------------------------------------------------------------------- */

static int copy_pages(struct writer *w, u32 buffer, u32 cpu, u64 size)
{
	u8 *room = malloc(COPY_BYTES);
	int err = room ? 0 : -ENOMEM;
	for (u64 at = 0; at < size && !err;) {
		size_t n = min(size - at, (u64)COPY_BYTES);
		err = w->o->read(w->o->ctx, buffer, cpu, at, room, n);
		if (!err)
			err = put_bytes(w, room, n);
		at += n;
	}
	free(room);
	return err;
}

/* Pages of one CPU, packed by several workers: each reads a chunk and packs it, and writes it when those before it are in the file. */
struct packing {
	struct writer *w;
	u32 buffer, cpu;
	u64 size, taken; /* bytes of pages */
	u32 chunk;
	pthread_mutex_t lock; /* taken, nr_written, err; reading and writing */
	pthread_cond_t turn;
	u64 nr_written; /* chunks */
	int err;
};

/* The next chunk that nobody has: its size, 0 when there is none, or negative errno. */
static s64 take_chunk(struct packing *p, u8 *to, u64 *ret_index)
{
	const struct tracedat_out *o = p->w->o;
	(void)pthread_mutex_lock(&p->lock);
	u64 at = p->taken;
	size_t n = p->err ? 0 : min(p->size - at, (u64)p->chunk);
	p->taken += n;
	if (n)
		p->err = o->read(o->ctx, p->buffer, p->cpu, at, to, n);
	if (p->err)
		(void)pthread_cond_broadcast(&p->turn); /* nobody's turn comes any more */
	s64 got = p->err ? p->err : (s64)n;
	(void)pthread_mutex_unlock(&p->lock);
	*ret_index = at / p->chunk;
	return got;
}

static int put_chunk(struct packing *p, u64 index, const void *data, s64 len)
{
	(void)pthread_mutex_lock(&p->lock);
	while (!p->err && p->nr_written != index)
		(void)pthread_cond_wait(&p->turn, &p->lock);
	if (!p->err)
		p->err = len < 0 ? (int)len : put_bytes(p->w, data, (size_t)len);
	p->nr_written++;
	int err = p->err;
	(void)pthread_cond_broadcast(&p->turn);
	(void)pthread_mutex_unlock(&p->lock);
	return err;
}

/* Both sizes, then the packed bytes. */
static s64 pack_chunk(const struct tracedat_out *o, struct packer *packer, const u8 *from,
		      size_t size, u8 *to, size_t room)
{
	enum { SIZES = 2 * sizeof(u32) };
	s64 n = pack(packer, o->compression, o->level, from, size, to + SIZES, room - SIZES);
	if (n < 0)
		return n;
	u32 sizes[] = { (u32)n, (u32)size };
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = o->swap ? __builtin_bswap32(sizes[i]) : sizes[i];
	memcpy(to, sizes, sizeof(sizes));
	return n + SIZES;
}

static int pack_some(void *ctx, unsigned worker)
{
	struct packing *p = ctx;
	const struct tracedat_out *o = p->w->o;
	size_t room = 2 * sizeof(u32) + pack_bound(o->compression, p->chunk);
	_cleanup_free_ u8 *from = malloc(p->chunk), *to = malloc(room);
	struct packer packer = { 0 };
	u64 index;
	s64 n = from && to ? 1 : -ENOMEM;
	(void)worker;
	while (n > 0 && (n = take_chunk(p, from, &index)) > 0) {
		s64 packed = pack_chunk(o, &packer, from, (size_t)n, to, room);
		int err = put_chunk(p, index, to, packed);
		n = err ? err : n;
	}
	packer_done(&packer);
	return (int)min(n, (s64)0);
}

/* Number of chunks, then each with its two sizes. A page may be larger than a chunk usually is. */
static int pack_pages(struct writer *w, u32 buffer, u32 cpu, u64 size, u32 page_size)
{
	if (page_size > CHUNK_BYTES)
		return -ENOTSUP;
	u32 chunk = CHUNK_BYTES / page_size * page_size;
	u64 nr = (size + chunk - 1) / chunk;
	struct packing p = { .w = w,
			     .buffer = buffer,
			     .cpu = cpu,
			     .size = size,
			     .chunk = chunk,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .turn = PTHREAD_COND_INITIALIZER };
	struct strbuf head;
	strbuf_init(&head);
	put_u32(w->o, &head, (u32)nr);
	int err = put_buf(w, &head);
	strbuf_done(&head);
	return err ? err : par_run((unsigned)min((u64)par_cpus(), nr), pack_some, &p);
}

/* ---- version 6 ------------------------------------------------------------------------------------------------------------ */

static void put_option(const struct tracedat_out *o, struct strbuf *to, u16 id, const void *data,
		       size_t len)
{
	put_u16(o, to, id);
	put_u32(o, to, (u32)len);
	if (len)
		strbuf_add(to, data, len);
}

static u64 data_bytes(const struct tracedat_out *o, const struct tracedat_out_buffer *b)
{
	u64 n = 0;
	for (u32 i = 0; i < b->nr_cpus; i++)
		n += (b->cpus[i].size + o->page_size - 1) / o->page_size * o->page_size;
	return n;
}

/* Version 6 lists every CPU in order. */
static const struct tracedat_out_cpu *cpu_of(const struct tracedat_out_buffer *b, u32 cpu)
{
	for (u32 i = 0; i < b->nr_cpus; i++)
		if (b->cpus[i].cpu == cpu)
			return &b->cpus[i];
	return NULL;
}

static void put_table(const struct tracedat_out *o, struct strbuf *to,
		      const struct tracedat_out_buffer *b, u64 data_at)
{
	strbuf_add(to, "flyrecord", 10);
	for (u32 cpu = 0; cpu < o->nr_cpus; cpu++) {
		u64 at = data_at;
		const struct tracedat_out_cpu *c = b ? cpu_of(b, cpu) : NULL;
		for (u32 i = 0; c && &b->cpus[i] != c; i++)
			at += (b->cpus[i].size + o->page_size - 1) / o->page_size * o->page_size;
		put_u64(o, to, at);
		put_u64(o, to, c ? c->size : 0);
	}
}

/* Where the tables and the data of each buffer come to lie, given the number of bytes before the first table. */
struct places {
	u64 table, data;
};

static void put_buffer_option(const struct tracedat_out *o, struct strbuf *to, const char *name,
			      u64 at)
{
	struct strbuf body;
	strbuf_init(&body);
	put_u64(o, &body, at);
	strbuf_add(&body, name, strlen(name) + 1);
	put_option(o, to, OPTION_BUFFER, body.data, body.len);
	strbuf_done(&body);
}

static void put_options_v6(const struct tracedat_out *o, struct strbuf *to,
			   const struct places *places)
{
	strbuf_add(to, "options  ", 10);
	for (size_t i = 0; i < o->nr_options; i++)
		if (o->options[i].id != OPTION_CPUCOUNT)
			put_option(o, to, o->options[i].id, o->options[i].body.data,
				   o->options[i].body.len);
	for (size_t i = 1; i < o->nr_buffers; i++)
		put_buffer_option(o, to, o->buffers[i].name, places[i].table);
	put_u16(o, to, OPTION_DONE);
}

static int write_v6(struct writer *w)
{
	const struct tracedat_out *o = w->o;
	struct strbuf s;
	struct places *places = calloc(o->nr_buffers + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	strbuf_init(&s);
	put_head(o, &s);
	put_header_info(o, &s);
	put_own_formats(o, &s);
	put_formats(o, &s);
	put_kallsyms(o, &s);
	put_printk(o, &s);
	put_cmdlines(o, &s);
	put_u32(o, &s, o->nr_cpus);
	/* Once to know how long the options are, once with the right places in them. */
	size_t mark = s.len;
	put_options_v6(o, &s, places);
	u64 table_len = 10 + (u64)o->nr_cpus * 16, at = s.len;
	for (size_t i = 0; i < o->nr_buffers; i++) {
		places[i].table = at;
		at += table_len;
	}
	for (size_t i = 0; i < o->nr_buffers; i++) {
		at = (at + o->page_size - 1) / o->page_size * o->page_size;
		places[i].data = at;
		at += data_bytes(o, &o->buffers[i]);
	}
	s.len = s.err ? 0 : mark;
	put_options_v6(o, &s, places);
	if (o->latency.data) {
		strbuf_add(&s, "latency  ", 10);
		strbuf_add(&s, o->latency.data, o->latency.len);
	}
	for (size_t i = 0; i < o->nr_buffers; i++)
		put_table(o, &s, &o->buffers[i], places[i].data);
	if (!o->nr_buffers && !o->latency.data)
		put_table(o, &s, NULL, 0);
	int err = put_buf(w, &s);
	for (u32 i = 0; i < o->nr_buffers && !err; i++) {
		const struct tracedat_out_buffer *b = &o->buffers[i];
		for (u32 c = 0; c < b->nr_cpus && !err; c++) {
			err = pad_to(w, o->page_size);
			if (!err)
				err = copy_pages(w, i, c, b->cpus[c].size);
		}
	}
	if (!err && o->nr_buffers)
		err = pad_to(w, o->page_size);
	strbuf_done(&s);
	free(places);
	return err;
}

/* ---- version 7 ------------------------------------------------------------------------------------------------------------ */

/* What each section is called, in the words of trace-cmd: a section of its own has them one after the other. */
static const char section_names[] =
	"options\0headers\0ftrace events\0events format\0kallsyms\0printk\0command lines\0"
	"buffer flyrecord\0buffer latency\0strings";

static u32 section_name(u16 id)
{
	static const u16 order[] = { OPTION_DONE,	   OPTION_HEADER_INFO, OPTION_FTRACE_EVENTS,
				     OPTION_EVENT_FORMATS, OPTION_KALLSYMS,    OPTION_PRINTK,
				     OPTION_CMDLINES,	   OPTION_BUFFER,      OPTION_BUFFER_TEXT,
				     OPTION_STRINGS };
	const char *at = section_names;
	for (size_t i = 0; i < ARRAY_SIZE(order) && order[i] != id; i++)
		at += strlen(at) + 1;
	return (u32)(at - section_names);
}

static void put_section_head(const struct tracedat_out *o, struct strbuf *to, u16 id, bool packed,
			     u64 size)
{
	put_u16(o, to, id);
	put_u16(o, to, packed ? SECTION_PACKED : 0);
	put_u32(o, to, section_name(id));
	put_u64(o, to, size);
}

static int write_section(struct writer *w, u16 id,
			 void (*fill)(const struct tracedat_out *o, struct strbuf *to))
{
	const struct tracedat_out *o = w->o;
	struct strbuf body, head, place;
	bool packs = o->compression != COMPRESS_NONE;
	struct packer packer = { 0 };
	char *packed = NULL;
	s64 n = 0;
	strbuf_init(&body);
	strbuf_init(&head);
	strbuf_init(&place);
	fill(o, &body);
	int err = body.err;
	if (!err && packs) {
		size_t room = pack_bound(o->compression, body.len);
		packed = malloc(room);
		n = packed ? pack(&packer, o->compression, o->level, body.data, body.len, packed,
				  room)
			   : -ENOMEM;
		packer_done(&packer);
		err = n < 0 ? (int)n : 0;
	}
	put_u64(o, &place, w->at);
	put_option(o, &w->options, id, place.data, place.len);
	put_section_head(o, &head, id, packs, packs ? (u64)n + 8 : body.len);
	if (packs) {
		put_u32(o, &head, (u32)n);
		put_u32(o, &head, (u32)body.len);
	}
	if (!err)
		err = put_buf(w, &head);
	if (!err)
		err = packs ? put_bytes(w, packed, (size_t)n) : put_buf(w, &body);
	free(packed);
	strbuf_done(&body);
	strbuf_done(&head);
	strbuf_done(&place);
	return err;
}

/* The size in a section's head is known when all is written. */
static int patch_u64(struct writer *w, u64 at, u64 v)
{
	v = w->o->swap ? __builtin_bswap64(v) : v;
	return pwrite(w->fd, &v, sizeof(v), (off_t)at) == sizeof(v) ? 0 : errno ? -errno : -EIO;
}

static int write_buffer_v7(struct writer *w, u32 index)
{
	const struct tracedat_out *o = w->o;
	const struct tracedat_out_buffer *b = &o->buffers[index];
	bool packs = o->compression != COMPRESS_NONE;
	struct strbuf head, opt;
	strbuf_init(&head);
	strbuf_init(&opt);
	u64 section = w->at;
	put_u64(o, &opt, section);
	strbuf_add(&opt, b->name, strlen(b->name) + 1);
	const char *clock = b->clock ? b->clock : "local";
	strbuf_add(&opt, clock, strlen(clock) + 1);
	put_u32(o, &opt, b->page_size);
	put_u32(o, &opt, b->nr_cpus);
	put_section_head(o, &head, OPTION_BUFFER, packs, 0);
	int err = put_buf(w, &head);
	for (u32 c = 0; c < b->nr_cpus && !err; c++) {
		u64 size = b->cpus[c].size;
		err = packs ? 0 : pad_to(w, b->page_size);
		u64 at = w->at;
		if (!err && size)
			err = packs ? pack_pages(w, index, c, size, b->page_size)
				    : copy_pages(w, index, c, size);
		put_u32(o, &opt, b->cpus[c].cpu);
		put_u64(o, &opt, at);
		put_u64(o, &opt, w->at - at);
	}
	if (!err)
		err = patch_u64(w, section + 8, w->at - section - 16);
	put_option(o, &w->options, OPTION_BUFFER, opt.data, opt.len);
	err = err ? err : opt.err;
	strbuf_done(&head);
	strbuf_done(&opt);
	return err;
}

static int write_latency_v7(struct writer *w)
{
	const struct tracedat_out *o = w->o;
	struct strbuf s;
	u64 section = w->at;
	strbuf_init(&s);
	put_section_head(o, &s, OPTION_BUFFER_TEXT, false, o->latency.len);
	strbuf_add(&s, o->latency.data, o->latency.len);
	int err = put_buf(w, &s);
	put_u64(o, &s, section);
	strbuf_char(&s, 0); /* of the top buffer */
	strbuf_str(&s, "local");
	strbuf_char(&s, 0);
	put_option(o, &w->options, OPTION_BUFFER_TEXT, s.data, s.len);
	err = err ? err : s.err;
	strbuf_done(&s);
	return err;
}

static int write_options_v7(struct writer *w)
{
	const struct tracedat_out *o = w->o;
	struct strbuf s, body;
	strbuf_init(&s);
	strbuf_init(&body);
	put_u32(o, &body, o->nr_cpus);
	put_option(o, &w->options, OPTION_CPUCOUNT, body.data, body.len);
	for (size_t i = 0; i < o->nr_options; i++)
		if (o->options[i].id != OPTION_CPUCOUNT)
			put_option(o, &w->options, o->options[i].id, o->options[i].body.data,
				   o->options[i].body.len);
	strbuf_reset(&body);
	put_u64(o, &body, 0); /* no more options */
	put_option(o, &w->options, OPTION_DONE, body.data, body.len);
	put_section_head(o, &s, OPTION_DONE, false, w->options.len);
	int err = put_buf(w, &s);
	if (!err)
		err = put_buf(w, &w->options);
	strbuf_done(&s);
	strbuf_done(&body);
	return err;
}

static int write_v7(struct writer *w)
{
	static const struct {
		u16 id;
		void (*fill)(const struct tracedat_out *o, struct strbuf *to);
		int part; /* left out when this is missing; -1: always there */
	} sections[] = {
		{ OPTION_HEADER_INFO, put_header_info, -1 },
		{ OPTION_FTRACE_EVENTS, put_own_formats, -1 },
		{ OPTION_EVENT_FORMATS, put_formats, -1 },
		{ OPTION_KALLSYMS, put_kallsyms, TRACEDAT_KALLSYMS },
		{ OPTION_PRINTK, put_printk, TRACEDAT_PRINTK },
		{ OPTION_CMDLINES, put_cmdlines, TRACEDAT_CMDLINES },
	};
	const struct tracedat_out *o = w->o;
	struct strbuf s;
	strbuf_init(&s);
	put_head(o, &s);
	const char *name = compress_name(o->compression),
		   *version = compress_version(o->compression);
	strbuf_add(&s, name, strlen(name) + 1);
	strbuf_add(&s, version, strlen(version) + 1);
	u64 first_at = s.len;
	put_u64(o, &s, 0);
	int err = put_buf(w, &s);
	for (size_t i = 0; i < ARRAY_SIZE(sections) && !err; i++)
		if (sections[i].part < 0 || o->parts[sections[i].part].len)
			err = write_section(w, sections[i].id, sections[i].fill);
	for (u32 i = 0; i < o->nr_buffers && !err; i++)
		err = write_buffer_v7(w, i);
	if (!err && o->latency.data)
		err = write_latency_v7(w);
	u64 options = w->at;
	if (!err)
		err = write_options_v7(w);
	strbuf_reset(&s);
	put_section_head(o, &s, OPTION_STRINGS, false, sizeof(section_names));
	strbuf_add(&s, section_names, sizeof(section_names));
	if (!err)
		err = put_buf(w, &s);
	/* Last of all: until then the file says that it has nothing. */
	if (!err)
		err = patch_u64(w, first_at, options);
	strbuf_done(&s);
	return err;
}

int tracedat_write(int fd, const char *path, const struct tracedat_out *o, struct diag *d)
{
	struct writer w = { .o = o, .fd = fd };
	for (size_t i = 0; i < TRACEDAT_NR_PARTS; i++)
		if (o->parts[i].len > TRACEDAT_TEXT_MAX)
			return diag_error(d, -EFBIG, "%s: text too long (%zu bytes)", path,
					  o->parts[i].len);
	strbuf_init(&w.options);
	int err = o->version == 7 ? write_v7(&w) : write_v6(&w);
	strbuf_done(&w.options);
	return err ? diag_error(d, err, "cannot write %s: %s", path, strerror(-err)) : 0;
}

/* ---- again what was read --------------------------------------------------------------------------------------------------- */

static const struct tracedat_chunk *chunk_at(const struct tracedat_cpu *c, u64 page)
{
	u32 lo = 0, hi = c->nr_chunks;
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;
		if (c->chunks[mid].first_page <= page)
			lo = mid;
		else
			hi = mid;
	}
	return hi ? &c->chunks[lo] : NULL;
}

static int read_packed(struct tracedat_copy *c, const struct tracedat_cpu *cpu, u32 page_size,
		       u64 offset, u8 *to, size_t len)
{
	while (len) {
		const struct tracedat_chunk *k = chunk_at(cpu, offset / page_size);
		if (!k)
			return -EBADMSG;
		if (k != c->chunk_of) {
			u8 *room = realloc(c->chunk, max(k->size, 1u));
			if (!room)
				return -ENOMEM;
			c->chunk = room;
			c->chunk_of = NULL;
			int err = unpack(&c->from->unpacker, c->from->compression, k->data,
					 k->packed, room, k->size);
			if (err)
				return err;
			c->chunk_of = k;
		}
		u64 in = offset - (u64)k->first_page * page_size;
		if (in >= k->size)
			return -EBADMSG;
		size_t n = min(len, (size_t)(k->size - in));
		memcpy(to, c->chunk + in, n);
		to += n;
		offset += n;
		len -= n;
	}
	return 0;
}

static int read_pages(void *ctx, u32 buffer, u32 cpu, u64 offset, void *to, size_t len)
{
	struct tracedat_copy *c = ctx;
	const struct tracedat_buffer *b = &c->from->buffers.at[buffer];
	const struct tracedat_cpu *from = &b->cpus[cpu];
	if (from->chunks)
		return read_packed(c, from, b->page_size, offset, to, len);
	/* The last page of a cut file is filled up. */
	size_t have = offset < from->pages_size ? min(len, (size_t)(from->pages_size - offset)) : 0;
	if (have)
		memcpy(to, from->pages + offset, have);
	memset((u8 *)to + have, 0, len - have);
	return 0;
}

int tracedat_copy_init(struct tracedat_copy *c, struct tracedat *from)
{
	size_t nr_cpus = 0, at = 0;
	*c = (struct tracedat_copy){ .from = from };
	vec_for_each (&from->buffers, b)
		nr_cpus += b->nr_cpus;
	c->buffers = calloc(from->buffers.nr + 1, sizeof(*c->buffers));
	c->cpus = calloc(nr_cpus + 1, sizeof(*c->cpus));
	if (!c->buffers || !c->cpus) {
		tracedat_copy_done(c);
		return -ENOMEM;
	}
	for (size_t i = 0; i < from->buffers.nr; i++) {
		const struct tracedat_buffer *b = &from->buffers.at[i];
		c->buffers[i] = (struct tracedat_out_buffer){ .name = b->name,
							      .clock = b->clock,
							      .page_size = b->page_size,
							      .cpus = c->cpus + at,
							      .nr_cpus = b->nr_cpus };
		for (u32 k = 0; k < b->nr_cpus; k++)
			c->cpus[at++] = (struct tracedat_out_cpu){
				.cpu = b->cpus[k].cpu,
				.size = (u64)b->cpus[k].nr_pages * b->page_size,
			};
	}
	c->out = (struct tracedat_out){
		.version = from->version,
		.compression = from->compression,
		.swap = from->swap,
		.long_size = from->long_size,
		.page_size = from->page_size,
		.header_page = from->header_page,
		.header_event = from->header_event,
		.formats = from->formats.at,
		.nr_formats = from->formats.nr,
		.nr_own_formats = from->nr_own_formats,
		.nr_cpus = from->nr_cpus,
		.options = from->options.at,
		.nr_options = from->options.nr,
		.buffers = c->buffers,
		.nr_buffers = from->buffers.nr,
		.read = read_pages,
		.ctx = c,
	};
	for (unsigned i = 0; i < TRACEDAT_NR_PARTS; i++)
		c->out.parts[i] = tracedat_text(from, (enum tracedat_part)i);
	if (from->latency) {
		c->out.latency = tracedat_latency_text(from);
		c->out.nr_buffers = 0;
	}
	return 0;
}

void tracedat_copy_done(struct tracedat_copy *c)
{
	free(c->buffers);
	free(c->cpus);
	free(c->chunk);
	c->buffers = NULL;
	c->cpus = NULL;
	c->chunk = NULL;
}

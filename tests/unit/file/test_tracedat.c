#include "file/tracedat_read.h"
#include "gen/ftrace_gen.h"
#include "tap.h"
#include "wire/ftrace_page.h"

#include <errno.h>

static const char *const formats[] = { gen_format_value, NULL };

static void fill(struct gen_trace *t, struct gen_buffer *b, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		struct gen_event *e = vec_push(&b->events);
		*e = (struct gen_event){ .time = 1000 + i, .cpu = i % t->nr_cpus };
		gen_event_fill(t, e, 100, 7, i);
	}
}

static u32 count(const struct tracedat *t, const struct tracedat_buffer *b, const u8 *pages,
		 size_t size)
{
	u32 nr = 0;
	for (size_t at = 0; at < size; at += b->page_size) {
		struct ftrace_page p;
		struct ftrace_event e;
		if (ftrace_page_open(&p, &t->layout, pages + at,
				     min((size_t)b->page_size, size - at), t->big_endian))
			continue;
		while (ftrace_page_next(&p, &e) > 0)
			nr++;
	}
	return nr;
}

static u32 count_all(struct tracedat *t)
{
	u32 nr = 0;
	vec_for_each (&t->buffers, b) {
		for (u32 i = 0; i < b->nr_cpus; i++) {
			const struct tracedat_cpu *c = &b->cpus[i];
			if (c->pages)
				nr += count(t, b, c->pages, c->pages_size);
			for (u32 k = 0; k < c->nr_chunks; k++) {
				u8 *plain = malloc(c->chunks[k].size);
				if (!unpack(&t->unpacker, t->compression, c->chunks[k].data,
					    c->chunks[k].packed, plain, c->chunks[k].size))
					nr += count(t, b, plain, c->chunks[k].size);
				free(plain);
			}
		}
	}
	return nr;
}

static void whole_and_cut(u32 version, u8 long_size, bool big_endian, u32 page_size,
			  enum gen_compression packing)
{
	struct gen_buffer buffers[2] = { { .name = "" }, { .name = "inst" } };
	struct gen_trace g = {
		.version = version,
		.long_size = long_size,
		.big_endian = big_endian,
		.page_size = page_size,
		.nr_cpus = 3,
		.compression = packing,
		.ftrace_format = "name: function\nID: 1\nformat:\n",
		.system = "test",
		.formats = formats,
		.kallsyms = "ffffffff81000000 T _text\n",
		.printk = "0xffff : \"x\"\n",
		.cmdlines = "7 seven\n",
		.buffers = buffers,
		.nr_buffers = 2,
	};
	fill(&g, &buffers[0], 1500);
	fill(&g, &buffers[1], 10);
	struct strbuf file = { 0 };
	gen_trace_write(&g, &file);
	char what[96];
	snprintf(what, sizeof(what), "v%u, long %u, %s endian, page %u, packing %d", version,
		 long_size, big_endian ? "big" : "little", page_size, packing);

	struct diag d;
	struct tracedat t;
	diag_init(&d);
	int err = tracedat_open_memory(&t, "test", file.data, file.len, &d);
	ok(!err && !d.items.nr, "%s: opened", what);
	if (!err) {
		ok(t.version == version && t.nr_cpus == 3 && t.buffers.nr == 2,
		   "version, CPUs, buffers");
		is_str(t.buffers.at[1].name, "inst", "the instance's name");
		ok(t.formats.nr == 2 && t.formats.at[1].id == 100 &&
			   !strcmp(t.formats.at[1].name, "tick") &&
			   !strcmp(t.formats.at[1].system, "test") && t.formats.at[0].id == 1,
		   "formats by id");
		struct tracedat_text text = tracedat_text(&t, TRACEDAT_KALLSYMS);
		ok(text.len == strlen(g.kallsyms) && !memcmp(text.data, g.kallsyms, text.len),
		   "kallsyms");
		text = tracedat_text(&t, TRACEDAT_CMDLINES);
		ok(text.len == strlen(g.cmdlines) && !memcmp(text.data, g.cmdlines, text.len),
		   "cmdlines");
		text = tracedat_text(&t, TRACEDAT_PRINTK);
		ok(text.len == strlen(g.printk) && !memcmp(text.data, g.printk, text.len),
		   "printk formats");
		is_u64(count_all(&t), 1510, "all events are reached");
		tracedat_close(&t);
	}
	/* Cut anywhere: an error with a message or fewer events with a note, never a crash. */
	bool good = true;
	for (size_t len = 0; len < file.len; len += 1 + len / 7) {
		u8 *copy = malloc(len ? len : 1);
		memcpy(copy, file.data, len);
		struct diag cut;
		diag_init(&cut);
		err = tracedat_open_memory(&t, "cut", copy, len, &cut);
		good &= cut.items.nr > 0;
		if (!err) {
			(void)tracedat_text(&t, TRACEDAT_KALLSYMS);
			good &= count_all(&t) <= 1510;
			tracedat_close(&t);
		}
		diag_done(&cut);
		free(copy);
	}
	ok(good, "%s: cut anywhere, it says so", what);
	diag_done(&d);
	strbuf_done(&file);
	vec_free(&buffers[0].events);
	vec_free(&buffers[1].events);
}

static void refused(void)
{
	struct tracedat t;
	struct diag d;
	diag_init(&d);
	is_u64((u64)-tracedat_open_memory(&t, "x", "PERFILE2 and more", 17, &d), EINVAL,
	       "another format is refused");
	ok(d.nr_errors == 1 && strstr(d.items.at[0].message, "not a trace.dat"), "with a reason");
	static const char nine[] = "\x17\x08\x44tracing9\0\0\x08\0\x10\0\0";
	is_u64((u64)-tracedat_open_memory(&t, "x", nine, sizeof(nine), &d), ENOTSUP,
	       "version 9 is refused");
	is_u64((u64)-tracedat_open(&t, "/nonexistent.dat", &d), ENOENT, "a missing file");
	diag_done(&d);
}

int main(void)
{
	whole_and_cut(6, 8, false, 4096, GEN_NONE);
	whole_and_cut(6, 4, true, 4096, GEN_NONE);
	whole_and_cut(7, 8, false, 4096, GEN_NONE);
	whole_and_cut(7, 8, false, 8192, GEN_ZLIB);
	whole_and_cut(7, 8, false, 4096, GEN_ZSTD);
	whole_and_cut(7, 4, true, 4096, GEN_ZSTD);
	refused();
	return done_testing();
}

/* A whole trace.dat: every part is read, every page walked. */
#include "file/tracedat_read.h"
#include "wire/ftrace_page.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static u32 walk(const struct tracedat *t, const struct tracedat_buffer *b, const u8 *pages,
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
			nr += e.size ? e.data[e.size - 1] : 0;
	}
	return nr;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct tracedat t;
	volatile u32 sum = 0;
	if (tracedat_open_memory(&t, "input", data, size, NULL))
		return 0;
	for (unsigned i = 0; i < TRACEDAT_NR_PARTS; i++) {
		struct tracedat_text text = tracedat_text(&t, i);
		sum += text.len ? (u8)text.data[text.len - 1] : 0;
	}
	vec_for_each (&t.buffers, b) {
		for (u32 i = 0; i < b->nr_cpus; i++) {
			const struct tracedat_cpu *c = &b->cpus[i];
			if (c->pages)
				sum += walk(&t, b, c->pages, c->pages_size);
			for (u32 k = 0; k < c->nr_chunks && k < 64; k++) {
				u8 *plain = c->chunks[k].size <= 1 << 20
						    ? malloc(c->chunks[k].size + 1)
						    : NULL;
				if (plain && !unpack(&t.unpacker, t.compression, c->chunks[k].data,
						     c->chunks[k].packed, plain, c->chunks[k].size))
					sum += walk(&t, b, plain, c->chunks[k].size);
				free(plain);
			}
		}
	}
	tracedat_close(&t);
	(void)sum;
	return 0;
}

/* ns an event: print programs and libtraceevent side by side, on formats of a corpus and made-up but plausible payloads. */
#include "wire/format.h"
#include "wire/print_fmt.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef HAVE_TRACEEVENT
#include <traceevent/event-parse.h>
#endif

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	if (!f)
		return NULL;
	char *text = malloc(1 << 20);
	*len = text ? fread(text, 1, (1 << 20) - 1, f) : 0;
	fclose(f);
	return text;
}

static u32 fill(const struct schema *s, u8 *raw)
{
	u32 end = 0;
	for (u32 i = 0; i < s->nr_fields; i++)
		end = max(end, s->fields[i].offset + s->fields[i].size);
	end = (end + 7) & ~7u;
	for (u32 i = 0; i < s->nr_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		u64 v = i < s->nr_common ? 0 : strstr(f->name, "_state") ? 1 : 100 + 37 * i;
		if (f->flags & FIELD_DATA_LOC) {
			u32 word = 16 << 16 | end;
			memcpy(raw + f->offset, &word, 4);
			memcpy(raw + end, "some-name/0:12\0", 16);
			end += 16;
		} else if (f->flags & FIELD_STRING) {
			memcpy(raw + f->offset, "kworker/0:1", min(f->size, 12u));
		} else if (f->size <= 8) {
			memcpy(raw + f->offset, &v, f->size);
		}
	}
	memcpy(raw, &s->id, 2);
	return end;
}

static double bench_ours(const struct print_prog *prog, const u8 *raw, u32 size, unsigned rounds)
{
	struct strbuf b;
	strbuf_init(&b);
	double start = now_ns();
	for (unsigned i = 0; i < rounds; i++) {
		if (b.len > 60000)
			strbuf_reset(&b);
		(void)print_prog_run(prog, raw, size, &b);
	}
	double ns = (now_ns() - start) / rounds;
	strbuf_done(&b);
	return ns;
}

#ifdef HAVE_TRACEEVENT
static double bench_theirs(const char *system, const char *text, size_t len, u8 *raw, u32 size,
			   unsigned rounds)
{
	struct tep_handle *t = tep_alloc();
	struct tep_event *e = NULL;
	tep_set_long_size(t, 8);
	tep_parse_format(t, &e, text, (unsigned long)len, system);
	struct tep_record rec = { .data = raw, .size = (int)size };
	struct trace_seq s;
	trace_seq_init(&s);
	double start = now_ns();
	for (unsigned i = 0; i < rounds; i++) {
		trace_seq_reset(&s);
		tep_print_event(t, &s, &rec, "%s", TEP_PRINT_INFO);
	}
	double ns = (now_ns() - start) / rounds;
	trace_seq_destroy(&s);
	tep_free(t);
	return ns;
}
#endif

static int bench_one(const char *system, const char *path)
{
	static u8 raw[1 << 16];
	size_t len;
	char *text = slurp(path, &len);
	struct arena a;
	arena_init(&a);
	struct schema *s;
	const struct print_prog *prog;
	bool whole;
	if (!text || format_parse(&a, system, text, len, false, 8, &s, NULL) ||
	    print_prog_compile(&a, s, NULL, PRINT_STYLE_KERNEL, &prog, &whole, NULL)) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return 1;
	}
	memset(raw, 0, sizeof(raw));
	u32 size = fill(s, raw);
	struct strbuf b;
	strbuf_init(&b);
	(void)print_prog_run(prog, raw, size, &b);
	printf("%s:%s %s\n", system, s->name, strbuf_cstr(&b));
	strbuf_done(&b);
	printf("  ours   %7.1f ns\n", bench_ours(prog, raw, size, 2000000));
#ifdef HAVE_TRACEEVENT
	printf("  theirs %7.1f ns\n", bench_theirs(system, text, len, raw, size, 200000));
#endif
	arena_done(&a);
	free(text);
	return 0;
}

/* bench_print SYSTEM FORMAT-FILE ... */
int main(int argc, char **argv)
{
	int err = 0;
	for (int i = 1; i + 1 < argc; i += 2)
		err |= bench_one(argv[i], argv[i + 1]);
	return err;
}

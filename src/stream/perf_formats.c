#include "stream/perf_formats.h"

static const char *text_of(void *ctx, enum ftrace_env_text which, size_t *len)
{
	static const enum tracedat_part parts[] = {
		[FTRACE_ENV_KALLSYMS] = TRACEDAT_KALLSYMS,
		[FTRACE_ENV_PRINTK] = TRACEDAT_PRINTK,
		[FTRACE_ENV_CMDLINES] = TRACEDAT_CMDLINES,
	};
	struct perf_formats *f = ctx;
	struct tracedat_text t = tracedat_text(&f->head, parts[which]);
	if (which == FTRACE_ENV_KALLSYMS && !t.len && f->kallsyms)
		return f->kallsyms(f->kallsyms_ctx, len);
	*len = t.len;
	return t.data;
}

int perf_formats_open(struct perf_formats *f, const void *data, size_t size)
{
	int err = tracedat_open_memory(&f->head, "tracing data", data, size, NULL);
	if (err)
		return err;
	arena_init(&f->arena);
	err = ftrace_env_init(&f->env, text_of, f);
	if (err) {
		tracedat_close(&f->head);
		return err;
	}
	f->open = true;
	return 0;
}

void perf_formats_done(struct perf_formats *f)
{
	if (!f->open)
		return;
	ftrace_env_done(&f->env);
	arena_done(&f->arena);
	tracedat_close(&f->head);
	f->open = false;
}

const struct schema *perf_formats_find(struct perf_formats *f, u64 id)
{
	for (size_t i = 0; f->open && i < f->head.formats.nr; i++) {
		const struct tracedat_format *fmt = &f->head.formats.at[i];
		struct schema *s;
		if (fmt->id != id)
			continue;
		if (format_parse(&f->arena, fmt->system, fmt->text.data, fmt->text.len,
				 f->head.big_endian, f->head.long_size, &s, NULL) ||
		    print_attach(&f->arena, s, &f->env.print, PRINT_STYLE_KERNEL, NULL))
			return NULL;
		return s;
	}
	return NULL;
}

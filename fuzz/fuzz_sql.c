/* The SQL of `ftrace hist` and sqlhist: a fault lies inside of the text, and what was understood can be written as triggers. */
#include "tracing/sql.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void write_all(const struct ftrace_sql *q)
{
	struct strbuf s;
	strbuf_init(&s);
	if (q->join) {
		ftrace_sql_start(q, &s);
		ftrace_sql_end(q, "fuzz", &s);
		ftrace_sql_shown(q, &s);
	} else {
		ftrace_sql_plain(q, &s);
	}
	if (!s.len && !s.err)
		abort();
	strbuf_done(&s);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text = malloc(size + 1);
	struct ftrace_sql q;
	struct diag d;
	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	diag_init(&d);
	int err = ftrace_sql_parse(&q, text, &d);
	if (!err) {
		write_all(&q);
		ftrace_sql_done(&q);
	} else if (err != -ENOMEM && !d.items.nr) {
		abort(); /* refused without a word */
	}
	diag_done(&d);
	free(text);
	return 0;
}

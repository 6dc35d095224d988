/*
 *	17 08 44 "tracing" "0.6\0"  u8 big endian  u8 size of long  u32 page size
 *	"header_page\0"  u64 size, text    "header_event\0"  u64 size, text
 *	u32 number of formats of "ftrace"   each: u64 size, text
 *	u32 number of systems               each: name\0, u32 number, each: u64 size, text
 *	u32 size of kallsyms, text   u32 size of printk formats, text   u64 size of task names, text
 */
#include "kern/tracing_data.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void put_u32(struct strbuf *to, u32 v)
{
	strbuf_add(to, &v, sizeof(v));
}

static void put_u64(struct strbuf *to, u64 v)
{
	strbuf_add(to, &v, sizeof(v));
}

/* Size and text of a file; tracefs does not know sizes before it is read. */
static int put_file(const struct tracing *t, const char *path, struct strbuf *to, struct diag *d)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = tracing_read(t, path, &text);
	if (err) {
		diag_error(d, err, "cannot read %s/%s: %s", t->path, path, strerror(-err));
	} else {
		put_u64(to, text.len);
		strbuf_add(to, text.data ? text.data : "", text.len);
	}
	strbuf_done(&text);
	return err;
}

static int put_format(const struct tracing *t, const struct tracing_event *e, struct strbuf *to,
		      struct diag *d)
{
	struct strbuf path;
	strbuf_init(&path);
	strbuf_printf(&path, "events/%s/%s/format", e->system, e->name);
	int err = put_file(t, strbuf_cstr(&path), to, d);
	strbuf_done(&path);
	return err;
}

/* All formats of one system among the events, each once. */
static int put_system(const struct tracing *t, const struct tracing_event *events, size_t nr,
		      size_t first, struct strbuf *to, struct diag *d)
{
	const char *system = events[first].system;
	u32 count = 0;
	size_t count_at;
	strbuf_add(to, system, strlen(system) + 1);
	count_at = to->len;
	put_u32(to, 0);
	for (size_t i = first; i < nr; i++) {
		bool seen = strcmp(events[i].system, system);
		for (size_t k = first; k < i && !seen; k++)
			seen = !strcmp(events[k].system, system) &&
			       !strcmp(events[k].name, events[i].name);
		if (seen)
			continue;
		int err = put_format(t, &events[i], to, d);
		if (err)
			return err;
		count++;
	}
	if (!to->err)
		memcpy(to->data + count_at, &count, sizeof(count));
	return 0;
}

static bool first_of_system(const struct tracing_event *events, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(events[k].system, events[i].system))
			return false;
	return true;
}

static int put_systems(const struct tracing *t, const struct tracing_event *events, size_t nr,
		       struct strbuf *to, struct diag *d)
{
	u32 count = 0;
	for (size_t i = 0; i < nr; i++)
		count += first_of_system(events, i);
	put_u32(to, count);
	for (size_t i = 0; i < nr; i++) {
		int err = first_of_system(events, i) ? put_system(t, events, nr, i, to, d) : 0;
		if (err)
			return err;
	}
	return 0;
}

int tracing_data_build(const struct tracing *t, const struct tracing_event *events, size_t nr,
		       struct strbuf *to, struct diag *d)
{
	static const u8 magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c',
				    'i',  'n',	'g',  '0', '.', '6', 0 };
	strbuf_add(to, magic, sizeof(magic));
	strbuf_char(to, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	strbuf_char(to, sizeof(long));
	put_u32(to, (u32)sysconf(_SC_PAGESIZE));
	strbuf_add(to, "header_page", 12);
	int err = put_file(t, "events/header_page", to, d);
	if (err)
		return err;
	strbuf_add(to, "header_event", 13);
	err = put_file(t, "events/header_event", to, d);
	if (err)
		return err;
	put_u32(to, 0); /* formats of the function tracers: not in samples */
	err = put_systems(t, events, nr, to, d);
	if (err)
		return err;
	put_u32(to, 0); /* kernel symbols */
	struct strbuf text;
	strbuf_init(&text);
	if (tracing_read(t, "printk_formats", &text))
		strbuf_reset(&text);
	put_u32(to, (u32)text.len);
	strbuf_add(to, text.data ? text.data : "", text.len);
	strbuf_reset(&text);
	if (tracing_read(t, "saved_cmdlines", &text))
		strbuf_reset(&text);
	put_u64(to, text.len);
	strbuf_add(to, text.data ? text.data : "", text.len);
	strbuf_done(&text);
	return to->err;
}

#include "base/diag.h"
#include "base/printable.h"

#include <string.h>

void diag_init(struct diag *d)
{
	*d = (struct diag){ 0 };
}

static void item_done(struct diag_item *it)
{
	free(it->message);
	free(it->hint);
	free(it->text);
}

void diag_drop_notes(struct diag *d)
{
	size_t kept = 0;
	vec_for_each (&d->items, it)
		if (it->level == DIAG_NOTE)
			item_done(it);
		else
			d->items.at[kept++] = *it;
	d->items.nr = kept;
}

void diag_done(struct diag *d)
{
	vec_for_each (&d->items, it)
		item_done(it);
	vec_free(&d->items);
	*d = (struct diag){ .options = d->options, .recorder = d->recorder };
}

const char *diag_option(const struct diag *d, enum diag_option option)
{
	return d && d->options && d->options[option] ? d->options[option] : "an option";
}

/* Names in messages may be anybody's: a message is one line, and nothing in it is an order to a terminal or a reader of logs. */
printf_like(2, 0) static void add_printable(struct strbuf *to, const char *fmt, va_list ap)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_vprintf(&s, fmt, ap);
	(void)printable_add(to, s.data, s.len, 0);
	if (s.err)
		to->err = s.err;
	strbuf_done(&s);
}

printf_like(3, 0) static void diag_add(struct diag *d, enum diag_level level, const char *fmt,
				       va_list ap)
{
	if (!d)
		return;
	if (level == DIAG_ERROR)
		d->nr_errors++;
	struct diag_item *it = vec_push(&d->items);
	if (!it)
		return;
	struct strbuf s;
	strbuf_init(&s);
	add_printable(&s, fmt, ap);
	it->level = level;
	it->message = strbuf_steal(&s);
}

int diag_error(struct diag *d, int err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	diag_add(d, DIAG_ERROR, fmt, ap);
	va_end(ap);
	return err;
}

void diag_warn(struct diag *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	diag_add(d, DIAG_WARNING, fmt, ap);
	va_end(ap);
}

void diag_note(struct diag *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	diag_add(d, DIAG_NOTE, fmt, ap);
	va_end(ap);
}

static struct diag_item *diag_last(struct diag *d)
{
	return d && d->items.nr ? &d->items.at[d->items.nr - 1] : NULL;
}

void diag_hint(struct diag *d, const char *fmt, ...)
{
	struct diag_item *it = diag_last(d);
	if (!it)
		return;
	struct strbuf s;
	strbuf_init(&s);
	if (it->hint) {
		strbuf_str(&s, it->hint);
		strbuf_char(&s, '\n');
	}
	va_list ap;
	va_start(ap, fmt);
	add_printable(&s, fmt, ap);
	va_end(ap);
	char *hint = strbuf_steal(&s);
	if (!hint)
		return;
	free(it->hint);
	it->hint = hint;
}

void diag_span(struct diag *d, const char *text, size_t start, size_t len)
{
	struct diag_item *it = diag_last(d);
	if (!it)
		return;
	free(it->text);
	it->text = strdup(text);
	it->start = start;
	it->len = len;
}

static bool says(const struct diag *d, const struct diag_item *what)
{
	vec_for_each (&d->items, it)
		if (it->level == what->level && it->message && what->message &&
		    !strcmp(it->message, what->message))
			return true;
	return false;
}

void diag_join(struct diag *to, struct diag *from)
{
	vec_for_each (&from->items, it) {
		struct diag_item *mine = says(to, it) ? NULL : vec_push(&to->items);
		if (!mine)
			continue;
		*mine = *it;
		*it = (struct diag_item){ 0 };
	}
	to->nr_errors += from->nr_errors;
	diag_done(from);
}

/* The line as it can be printed; the span is where its characters are in that. */
static void render_caret(const struct diag_item *it, struct strbuf *to)
{
	size_t width = strlen(it->text);
	size_t start = min(it->start, width);
	size_t len = min(it->len, width - start);
	struct strbuf line;
	strbuf_init(&line);
	(void)printable_add(&line, it->text, start, 0);
	size_t from = line.len;
	(void)printable_add(&line, it->text + start, len, 0);
	size_t marked = max(line.len - from, (size_t)1);
	(void)printable_add(&line, it->text + start + len, width - start - len, 0);
	strbuf_printf(to, "  %s\n  ", strbuf_cstr(&line));
	strbuf_fill(to, ' ', from);
	strbuf_char(to, '^');
	strbuf_fill(to, '~', marked - 1);
	strbuf_char(to, '\n');
	strbuf_done(&line);
}

static void render_hint(const char *hint, struct strbuf *to)
{
	while (*hint) {
		size_t len = strcspn(hint, "\n");
		strbuf_str(to, "  hint: ");
		strbuf_add(to, hint, len);
		strbuf_char(to, '\n');
		hint += len + (hint[len] == '\n');
	}
}

void diag_render(const struct diag *d, const char *prog, bool colour, struct strbuf *to)
{
	static const char *const words[] = { "", "warning: ", "note: " };
	static const char *const paints[] = { "\033[31m", "\033[33m", "\033[36m" };
	vec_for_each (&d->items, it) {
		if (colour)
			strbuf_str(to, paints[it->level]);
		strbuf_printf(to, "%s: %s%s\n", prog, words[it->level],
			      it->message ? it->message : "out of memory");
		if (colour)
			strbuf_str(to, "\033[0m");
		if (it->text)
			render_caret(it, to);
		if (it->hint)
			render_hint(it->hint, to);
	}
}

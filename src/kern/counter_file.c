#include "kern/counter_file.h"

#include "base/glob.h"
#include "base/strtab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_STEP = 4096 };

int counter_file_open(struct counter_file *f, const struct sysroot *root, const char *path)
{
	*f = (struct counter_file){ .root = root, .fd = -1, .path = strdup(path) };
	if (!f->path)
		return -ENOMEM;
	f->format = counter_format_of(path);
	strbuf_init(&f->text);
	arena_init(&f->arena);
	return 0;
}

void counter_file_close(struct counter_file *f)
{
	cleanup_close(&f->fd);
	strbuf_done(&f->text);
	vec_free(&f->items);
	arena_done(&f->arena);
	free(f->path);
	*f = (struct counter_file){ .fd = -1 };
}

/* ---- items ---- */

static bool same(const char *name, struct counter_word w)
{
	return !strncmp(name, w.at, w.len) && !name[w.len];
}

/* The item for the next value, or NULL: the names are new, and so is this pass over the text. */
static struct counter_item *next_item(struct counter_file *f, struct counter_word row,
				      struct counter_word field)
{
	if (f->err)
		return NULL;
	if (!f->relay) {
		struct counter_item *i = f->next < f->items.nr ? &f->items.at[f->next] : NULL;
		if (i && same(i->field, field) && same(i->row, row)) {
			f->next++;
			return i;
		}
		f->relay = true;
		f->err = -EAGAIN;
		return NULL;
	}
	if (f->items.nr >= COUNTER_ITEMS_MAX) {
		f->err = -EFBIG;
		return NULL;
	}
	struct counter_item *last = f->items.nr ? &f->items.at[f->items.nr - 1] : NULL;
	const char *row_name =
		last && same(last->row, row) ? last->row : arena_strndup(&f->arena, row.at, row.len);
	const char *field_name = arena_strndup(&f->arena, field.at, field.len);
	struct counter_item *i = row_name && field_name ? vec_push(&f->items) : NULL;
	if (!i) {
		f->err = -ENOMEM;
		return NULL;
	}
	i->row = row_name;
	i->field = field_name;
	f->next = f->items.nr;
	return i;
}

void counter_put(struct counter_file *f, struct counter_word row, struct counter_word field,
		 u64 value)
{
	struct counter_item *i = next_item(f, row, field);
	if (!i)
		return;
	i->value = value;
	i->text = NULL;
	i->decimals = 0;
	i->negative = false;
}

void counter_put_word(struct counter_file *f, struct counter_word row, struct counter_word field,
		      struct counter_word value)
{
	struct counter_item *i = next_item(f, row, field);
	if (!i)
		return;
	i->text = NULL;
	if (counter_number(&value, &i->value, &i->decimals, &i->negative))
		return;
	i->value = 0;
	i->decimals = 0;
	i->negative = false;
	i->text = value.at;
	i->text_len = (u32)value.len;
}

/* ---- words and numbers ---- */

bool counter_next_word(const char **at, const char *end, struct counter_word *ret)
{
	const char *p = *at;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	const char *from = p;
	while (p < end && *p != ' ' && *p != '\t')
		p++;
	*at = p;
	*ret = (struct counter_word){ from, (size_t)(p - from) };
	return p > from;
}

bool counter_number(const struct counter_word *w, u64 *value, u8 *decimals, bool *negative)
{
	const char *p = w->at, *end = w->at + w->len;
	u64 v = 0;
	u8 places = 0;
	bool minus = p < end && *p == '-', point = false, digits = false;
	for (p += minus; p < end; p++) {
		if (*p == '.' && !point) {
			point = true;
			continue;
		}
		if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (u64)(*p - '0'), &v))
			return false;
		digits = true;
		places += point;
	}
	if (!digits)
		return false;
	*value = v;
	*decimals = places;
	*negative = minus;
	return true;
}

double counter_item_number(const struct counter_item *i)
{
	double v = (double)i->value, unit = 1;
	for (unsigned d = i->decimals; d; d--)
		unit *= 10;
	v /= unit; /* once: the nearest number to what is written */
	return i->negative ? -v : v;
}

bool counter_item_change(const struct counter_item *i, u64 *ret)
{
	if (!i->has_before || i->text)
		return false;
	if (i->value >= i->before) {
		*ret = i->value - i->before;
		return true;
	}
	u64 back = i->before - i->value;
	if (i->before <= UINT32_MAX && back > UINT32_MAX / 2)
		*ret = (u64)UINT32_MAX + 1 - back;
	else if (back > UINT64_MAX / 2)
		*ret = 0 - back;
	else
		return false;
	return true;
}

/* ---- reading ---- */

static s64 name_of(const struct counter_item *i, struct strbuf *key, struct strtab *names)
{
	strbuf_reset(key);
	strbuf_printf(key, "%s\n%s", i->row, i->field);
	return key->err ? key->err : strtab_add(names, key->data, key->len);
}

/* Items that were there before, by row and field, keep what they were then. */
static int carry(struct counter_file *f, const struct counter_item *old, size_t nr_old)
{
	struct strtab names;
	struct strbuf key;
	VEC(u32) at = { 0 }; /* [id of the name]: which of the old ones it was */
	s64 id = 0;
	strtab_init(&names);
	strbuf_init(&key);
	bool ok = vec_reserve(&at, nr_old + 1);
	for (size_t i = 0; i < nr_old && ok; i++) {
		id = name_of(&old[i], &key, &names);
		ok = id >= 0;
		if (ok)
			at.at[min((size_t)id, nr_old)] = (u32)i;
	}
	u32 nr_known = names.nr;
	for (size_t i = 0; i < f->items.nr && ok; i++) {
		struct counter_item *now = &f->items.at[i];
		id = name_of(now, &key, &names);
		ok = id >= 0;
		if (!ok || !id || id >= nr_known)
			continue;
		now->before = old[at.at[id]].before;
		now->has_before = old[at.at[id]].has_before && !now->text;
	}
	vec_free(&at);
	strbuf_done(&key);
	strtab_done(&names);
	return ok ? 0 : -ENOMEM;
}

static int make_items(struct counter_file *f, const char *text, size_t len)
{
	struct arena old_names = f->arena;
	__typeof__(f->items) old = f->items;
	arena_init(&f->arena);
	memset(&f->items, 0, sizeof(f->items));
	f->relay = true;
	f->err = 0;
	f->next = 0;
	f->format->parse(f, text, text + len);
	if (!f->err)
		f->err = carry(f, old.at, old.nr);
	f->generation++;
	vec_free(&old);
	arena_done(&old_names);
	return f->err;
}

static void forget_items(struct counter_file *f)
{
	if (f->items.nr)
		f->generation++;
	f->items.nr = 0;
}

int counter_file_parse(struct counter_file *f, const char *text, size_t len)
{
	len = strnlen(text, len);
	vec_for_each (&f->items, i) {
		i->before = i->value;
		i->has_before = !i->text;
	}
	f->next = 0;
	f->err = 0;
	f->relay = false;
	f->format->parse(f, text, text + len);
	int err = f->err;
	if (err == -EAGAIN || (!err && f->next < f->items.nr))
		err = make_items(f, text, len);
	if (err)
		forget_items(f);
	return err;
}

static int read_all(struct counter_file *f)
{
	strbuf_reset(&f->text);
	if (f->format->read)
		return f->format->read(f->fd, &f->text);
	for (;;) {
		size_t room = max(f->text.cap - f->text.len, (size_t)READ_STEP + 1) - 1;
		char *at = strbuf_room(&f->text, room);
		if (!at)
			return -ENOMEM;
		ssize_t n = pread(f->fd, at, room, (off_t)f->text.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return 0;
		strbuf_commit(&f->text, (size_t)n);
		if (f->text.len > COUNTER_TEXT_MAX)
			return -EFBIG;
	}
}

int counter_file_read(struct counter_file *f)
{
	int err = 0;
	/* A second try with a new descriptor: the device may be another one of the same name. */
	for (int tries = 0; tries < 2; tries++) {
		if (f->fd < 0) {
			f->fd = sysroot_fd(f->root, f->path);
			tries = 1;
			/* Some files of /proc wait for news: kmsg. */
			if (f->fd >= 0)
				(void)fcntl(f->fd, F_SETFL, O_NONBLOCK);
		}
		if (f->fd < 0) {
			err = f->fd;
			f->fd = -1;
			break;
		}
		err = read_all(f);
		if (!err)
			return counter_file_parse(f, f->text.data ? f->text.data : "", f->text.len);
		cleanup_close(&f->fd);
		f->fd = -1;
	}
	forget_items(f);
	return err;
}

/* ---- what is known ---- */

const struct counter_format *counter_format_of(const char *path)
{
	size_t nr;
	const struct counter_format *all = counter_formats_all(&nr);
	for (size_t i = 0; i + 1 < nr; i++)
		if (glob_match(all[i].path, path))
			return &all[i];
	return &all[nr - 1];
}

const struct counter_field *counter_item_field(const struct counter_file *f,
					       const struct counter_item *i)
{
	const struct counter_field *fields = f->format->fields;
	for (const struct counter_field *d = fields; d && d->name; d++)
		if (glob_match(d->name, i->field))
			return d;
	return NULL;
}

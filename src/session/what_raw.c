#include "session/what_raw.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_WIDTH = 20, RATE_WIDTH = 12, UNIT_WIDTH = 12, NAME_MAX_WIDTH = 40 };

int what_raw_open(struct counter_file *f, const struct sysroot *root, const char *path,
		  struct diag *d)
{
	const char *below = path + strspn(path, "/");
	bool disk = str_starts(below, "dev/");
	if (!disk && !str_starts(below, "proc/") && !str_starts(below, "sys/"))
		return diag_error(d, -EINVAL, "'%s' is not below /proc or /sys, and no disk", path);
	int err = counter_file_open(f, root, below);
	if (err)
		return err;
	err = counter_file_read(f);
	if (!err && !f->items.nr)
		err = -ENODATA;
	if (err) {
		counter_file_close(f);
		if (disk && err == -EOPNOTSUPP)
			return diag_error(
				d, err, "'%s': disk health (SMART): not supported by device", path);
		return diag_error(d, err, "cannot read counters from '%s': %s", path,
				  err == -ENODATA ? "it has no numbers" : strerror(-err));
	}
	return 0;
}

static void item_name(const struct counter_item *i, struct strbuf *to)
{
	strbuf_reset(to);
	strbuf_printf(to, "%s%s%s", i->row, *i->row ? "/" : "", i->field);
}

static void add_value(const struct counter_item *i, struct strbuf *to)
{
	char text[64];
	(void)snprintf(text, sizeof(text), "%.*f", i->decimals, counter_item_number(i));
	if (!i->decimals)
		(void)snprintf(text, sizeof(text), "%s%llu", i->negative ? "-" : "",
			       (unsigned long long)i->value);
	strbuf_right(to, text, VALUE_WIDTH);
}

/* Only what is known to be a state has no rate; what nobody knows may be either. */
static bool has_rate(const struct counter_item *i, const struct counter_field *d)
{
	return !i->text && !(d && d->kind != COUNTER_TOTAL);
}

/* Of what nobody knows, a fall is a fall. */
static bool change_of(const struct counter_item *i, const struct counter_field *d, double *ret)
{
	u64 grown;
	if (!i->has_before || !has_rate(i, d))
		return false;
	if (!d) {
		*ret = (double)i->value - (double)i->before;
	} else {
		if (!counter_item_change(i, &grown))
			return false;
		*ret = (double)grown;
	}
	for (unsigned n = i->decimals; n; n--)
		*ret /= 10;
	return true;
}

static void add_rate(const struct counter_item *i, const struct counter_field *d, double seconds,
		     struct strbuf *to)
{
	double change;
	char text[32] = "";
	if (seconds > 0 && change_of(i, d, &change))
		(void)snprintf(text, sizeof(text), "%.1f", change / seconds);
	strbuf_char(to, ' ');
	strbuf_right(to, text, RATE_WIDTH);
}

static void add_line(const struct counter_file *f, const struct counter_item *i, double seconds,
		     unsigned name_width, unsigned room, struct strbuf *name, struct strbuf *to)
{
	const struct counter_field *d = counter_item_field(f, i);
	item_name(i, name);
	printable_left(to, strbuf_cstr(name), name_width);
	strbuf_char(to, ' ');
	if (i->text) {
		size_t most = min((size_t)i->text_len, (size_t)room + VALUE_WIDTH + RATE_WIDTH);
		printable_name_len(to, i->text, most);
	} else {
		add_value(i, to);
		add_rate(i, d, seconds, to);
		if (d) {
			strbuf_char(to, ' ');
			strbuf_left(to, d->unit, UNIT_WIDTH);
			strbuf_char(to, ' ');
			strbuf_add(to, d->about, min(strlen(d->about), (size_t)room));
		}
	}
	strbuf_char(to, '\n');
}

void what_raw_text(const struct counter_file *f, double seconds, bool wide, unsigned width,
		   struct strbuf *to)
{
	struct strbuf name;
	unsigned widest = 4;
	strbuf_init(&name);
	vec_for_each (&f->items, i)
		widest = max(widest, (unsigned)(strlen(i->row) + !!*i->row + strlen(i->field)));
	widest = min(widest, (unsigned)NAME_MAX_WIDTH);
	unsigned fixed = widest + VALUE_WIDTH + RATE_WIDTH + UNIT_WIDTH + 4;
	unsigned room = wide ? UINT16_MAX : width > fixed ? width - fixed : 0;
	strbuf_left(to, "NAME", widest);
	strbuf_char(to, ' ');
	strbuf_right(to, "VALUE", VALUE_WIDTH);
	strbuf_char(to, ' ');
	strbuf_right(to, "PER SECOND", RATE_WIDTH);
	strbuf_str(to, " UNIT         MEANING\n");
	vec_for_each (&f->items, i)
		add_line(f, i, seconds, widest, room, &name, to);
	strbuf_done(&name);
}

static void json_item(struct json *j, const struct counter_file *f, const struct counter_item *i,
		      double seconds)
{
	const struct counter_field *d = counter_item_field(f, i);
	double change;
	json_object(j);
	if (*i->row)
		json_put_str(j, "row", i->row);
	json_put_str(j, "field", i->field);
	json_key(j, "value");
	if (i->text)
		json_strn(j, i->text, i->text_len);
	else if (i->decimals)
		json_double(j, counter_item_number(i));
	else if (i->negative)
		json_double(j, counter_item_number(i));
	else
		json_u64(j, i->value);
	if (seconds > 0 && change_of(i, d, &change))
		json_put_double(j, "per_second", change / seconds);
	if (d && *d->unit)
		json_put_str(j, "unit", d->unit);
	if (d)
		json_put_str(j, "about", d->about);
	json_object_end(j);
}

int what_raw_json(const struct counter_file *f, double seconds, struct strbuf *to)
{
	struct json j;
	u64 now = clock_ns(CLOCK_REALTIME);
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	json_key(&j, "time");
	json_decimal(&j, now / NS_PER_SEC, now % NS_PER_SEC, 9);
	json_put_double(&j, "interval_s", seconds);
	json_key(&j, "file");
	json_strn(&j, f->path, strlen(f->path));
	json_put_str(&j, "about", f->format->about);
	json_key(&j, "items");
	json_array(&j);
	vec_for_each (&f->items, i)
		json_item(&j, f, i, seconds);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

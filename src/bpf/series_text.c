#include "bpf/series_text.h"

enum { PLOT_WIDTH = 52 };

static bool is_less(const struct program_type *t, u64 a, u64 b)
{
	return t->is_signed ? (s64)a < (s64)b : a < b;
}

static void join_one(const struct program_type *t, const struct program_interval *from,
		     struct program_interval *to)
{
	bool last = !*t->format;
	if (!from->epoch || from->epoch < to->epoch)
		return;
	if (from->epoch > to->epoch) {
		*to = *from;
		return;
	}
	if (last) {
		if (from->count > to->count)
			*to = *from;
	} else if (!strcmp(t->format, "min")) {
		if (is_less(t, from->value, to->value))
			to->value = from->value;
	} else if (!strcmp(t->format, "max")) {
		if (is_less(t, to->value, from->value))
			to->value = from->value;
	} else {
		to->value += from->value;
		to->count += from->count;
	}
}

void series_join(const struct program_type *t, const u8 *cpus, u32 nr_cpus,
		 struct program_interval *to)
{
	u32 stride = (t->size + 7) & ~7u;
	memset(to, 0, t->size);
	for (u32 c = 0; c < nr_cpus; c++)
		for (u32 i = 0; i < t->nr; i++) {
			struct program_interval one;
			memcpy(&one, cpus + (size_t)c * stride + i * sizeof(one), sizeof(one));
			join_one(t, &one, &to[i]);
		}
}

static u64 value_of(const struct program_type *t, const struct program_interval *i)
{
	if (strcmp(t->format, "avg") || !i->count)
		return i->value;
	return t->is_signed ? (u64)((s64)i->value / (s64)i->count) : i->value / i->count;
}

static u64 latest_epoch(const struct program_type *t, const struct program_interval *at)
{
	u64 latest = 0;
	for (u32 i = 0; i < t->nr; i++)
		latest = max(latest, at[i].epoch);
	return latest;
}

/* The interval of an epoch, or NULL: it has no value. */
static const struct program_interval *find(const struct program_type *t,
					   const struct program_interval *at, u64 epoch)
{
	const struct program_interval *i = &at[epoch % t->nr];
	return i->epoch == epoch ? i : NULL;
}

struct series_extent {
	u64 least, most;
	bool any;
};

static struct series_extent extent_of(const struct program_type *t,
				      const struct program_interval *at, u64 first, u64 last)
{
	struct series_extent e = { 0 };
	for (u64 epoch = first; epoch <= last; epoch++) {
		const struct program_interval *i = find(t, at, epoch);
		if (!i)
			continue;
		u64 v = value_of(t, i);
		if (!e.any || is_less(t, v, e.least))
			e.least = v;
		if (!e.any || is_less(t, e.most, v))
			e.most = v;
		e.any = true;
	}
	return e;
}

static void add_time(const struct value_style *s, const struct program_type *t, u64 epoch,
		     struct strbuf *to)
{
	u64 ns = (epoch - 1) * (u64)t->hist.step;
	value_time(s, "%H:%M:%S", ns, to);
	strbuf_printf(to, ".%03u", (unsigned)((ns + s->boot_to_wall_ns) / 1000000 % 1000));
}

static void add_number(const struct program_type *t, u64 v, struct strbuf *to)
{
	if (t->is_signed)
		strbuf_s64(to, (s64)v);
	else
		strbuf_u64(to, v);
}

void series_text(const struct value_style *s, const struct program_type *t,
		 const struct program_interval *at, struct strbuf *to)
{
	u64 last = latest_epoch(t, at), first = last >= t->nr ? last - t->nr + 1 : 1;
	while (first < last && !find(t, at, first))
		first++;
	struct series_extent e = extent_of(t, at, first, last);
	for (u64 epoch = first; e.any && epoch <= last; epoch++) {
		const struct program_interval *i = find(t, at, epoch);
		double range = (double)(e.most - e.least);
		u32 mark = PLOT_WIDTH;
		if (i)
			mark = range > 0 ? (u32)((double)(value_of(t, i) - e.least) / range *
						 (PLOT_WIDTH - 1))
					 : 0;
		add_time(s, t, epoch, to);
		strbuf_str(to, " |");
		strbuf_fill(to, ' ', mark);
		if (i) {
			strbuf_char(to, '*');
			strbuf_fill(to, ' ', PLOT_WIDTH - 1 - mark);
		}
		strbuf_str(to, "| ");
		if (i)
			add_number(t, value_of(t, i), to);
		else
			strbuf_char(to, '-');
		strbuf_char(to, '\n');
	}
}

void series_json(const struct value_style *s, const struct program_type *t,
		 const struct program_interval *at, struct json *j)
{
	u64 last = latest_epoch(t, at), first = last >= t->nr ? last - t->nr + 1 : 1;
	struct strbuf when;
	strbuf_init(&when);
	json_array(j);
	for (u64 epoch = first; last && epoch <= last; epoch++) {
		const struct program_interval *i = find(t, at, epoch);
		if (!i)
			continue;
		strbuf_reset(&when);
		add_time(s, t, epoch, &when);
		json_object(j);
		json_put_str(j, "interval_start", strbuf_cstr(&when));
		if (t->is_signed)
			json_put_s64(j, "value", (s64)value_of(t, i));
		else
			json_put_u64(j, "value", value_of(t, i));
		json_object_end(j);
	}
	json_array_end(j);
	strbuf_done(&when);
}

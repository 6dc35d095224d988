#include "stream/split_reads.h"

#include <errno.h>

void split_reads_done(struct split_reads *s)
{
	dict_done(&s->of_id);
	vec_free(&s->last);
	vec_free(&s->samples);
}

static int add_sample(struct split_reads *s, const struct sample *from)
{
	struct sample *made = vec_push(&s->samples);
	if (!made)
		return -ENOMEM;
	*made = *from;
	return 0;
}

/* How far the count went. */
static int step_of(struct split_reads *s, u64 id, u64 value, u64 *ret)
{
	u32 at;
	int err = dict_add(&s->of_id, id, (u32)s->last.nr, &at);
	if (err)
		return err;
	if (at == s->last.nr && !vec_push(&s->last))
		return -ENOMEM;
	*ret = value - s->last.at[at];
	s->last.at[at] = value;
	return 0;
}

static int add_member(struct split_reads *s, const struct perfdata *file, const struct sample *from,
		      u64 id, u64 value)
{
	struct sample one = *from;
	const struct perfdata_attr *a = perfdata_attr_of(file, id);
	int err = step_of(s, id, value, &one.period);
	if (err || !a || !one.period) /* a member that did not move was not there */
		return err;
	one.event = (u32)(a - file->attrs.at);
	one.id = id;
	return add_sample(s, &one);
}

int split_reads_add(struct split_reads *s, const struct perfdata *file,
		    const struct perfdata_attr *attr, const struct perf_sample_view *v,
		    const struct sample *from)
{
	u64 format = attr->layout.read_format;
	if (!(attr->layout.sample_type & PERF_SAMPLE_READ) || !(format & PERF_FORMAT_ID))
		return add_sample(s, from);
	struct bytes b = bytes_of(v->read, v->read_size, file->swap);
	bool group = format & PERF_FORMAT_GROUP;
	u64 nr = group ? bytes_u64(&b) : 1, single = group ? 0 : bytes_u64(&b);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		bytes_skip(&b, 8);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		bytes_skip(&b, 8);
	int err = 0;
	for (u64 i = 0; i < nr && !b.bad && !err; i++) {
		u64 value = group ? bytes_u64(&b) : single, id = bytes_u64(&b);
		if (format & PERF_FORMAT_LOST)
			bytes_skip(&b, 8);
		if (!b.bad)
			err = add_member(s, file, from, id, value);
	}
	return err;
}

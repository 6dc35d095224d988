#include "session/what_busy.h"

#include "base/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 1 << 21 };

void what_busy_init(struct what_busy_log *l)
{
	*l = (struct what_busy_log){ .max = ENTRIES_MAX };
	strtab_init(&l->names);
}

void what_busy_done(struct what_busy_log *l)
{
	vec_free(&l->entries);
	strtab_done(&l->names);
}

int what_busy_add(struct what_busy_log *l, const struct what_replay *r, u64 from_ns, u64 to_ns)
{
	struct what_was_busy list[WHAT_PROCESSES_MAX];
	for (unsigned by = 0; by < WHAT_BUSY_NR; by++) {
		size_t nr = what_replay_busy(r, by, list);
		for (size_t i = 0; i < nr && l->entries.nr < l->max; i++) {
			const char *name = what_replay_name(r, list[i].name);
			s64 id = strtab_add(&l->names, name, strlen(name));
			struct what_busy_entry *slot = id < 0 ? NULL : vec_push(&l->entries);
			if (!slot)
				return -ENOMEM;
			list[i].name = (u32)id;
			l->has[by] = true;
			*slot = (struct what_busy_entry){ from_ns, to_ns, list[i], (u8)by };
		}
	}
	return 0;
}

/* The first entry whose interval ends after a moment. */
static size_t first_after(const struct what_busy_log *l, u64 at_ns)
{
	size_t low = 0, high = l->entries.nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (l->entries.at[mid].to_ns > at_ns)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

struct busy_sums {
	VEC(struct what_busy_found) list;
	struct dict index; /* pid and name -> index */
};

static int add_up(const struct what_busy_log *l, enum what_busy by, u64 from_ns, u64 to_ns,
		  struct busy_sums *to)
{
	for (size_t i = first_after(l, from_ns); i < l->entries.nr; i++) {
		const struct what_busy_entry *e = &l->entries.at[i];
		u64 start = max(e->from_ns, from_ns), end = min(e->to_ns, to_ns);
		u32 at;
		if (e->from_ns >= to_ns)
			break;
		if (e->by != by || end <= start)
			continue;
		int err = dict_add(&to->index, (u64)(u32)e->who.pid << 32 | e->who.name,
				   (u32)to->list.nr, &at);
		struct what_busy_found *f = err		       ? NULL
					    : at < to->list.nr ? &to->list.at[at]
							       : vec_push(&to->list);
		if (!f)
			return -ENOMEM;
		if (at == to->list.nr - 1 && !f->name)
			*f = (struct what_busy_found){ .pid = e->who.pid,
						       .name = strtab_str(&l->names, e->who.name) };
		f->mean += e->who.amount * (double)(end - start) / (double)(to_ns - from_ns);
	}
	return 0;
}

static int by_mean(const void *a, const void *b)
{
	const struct what_busy_found *x = a, *y = b;
	if (x->mean != y->mean)
		return x->mean > y->mean ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

s64 what_busy_find(const struct what_busy_log *l, enum what_busy by, u64 from_ns, u64 to_ns,
		   struct what_busy_found *to, size_t max)
{
	struct busy_sums sums = { 0 };
	dict_init(&sums.index);
	int err = to_ns > from_ns ? add_up(l, by, from_ns, to_ns, &sums) : 0;
	size_t nr = err ? 0 : min(sums.list.nr, max);
	if (nr) {
		qsort(sums.list.at, sums.list.nr, sizeof(*sums.list.at), by_mean);
		memcpy(to, sums.list.at, nr * sizeof(*to));
	}
	vec_free(&sums.list);
	dict_done(&sums.index);
	return err ? err : (s64)nr;
}

/* "disk/read", "io/writes", "cpu/iowait", "psi/io_some", "cgroup/written", "proc/blocked". */
enum what_busy what_busy_of(const struct what_busy_log *l, const struct series_column *c)
{
	static const char *const groups[] = { "disk", "disk-use", "io", "page", "aio" };
	static const char *const keys[] = { "read", "written", "blocked", "dirty" };
	bool io = !strncmp(c->key, "io", 2);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		io |= !strcmp(c->part.group, groups[i]);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		io |= !strcmp(c->key, keys[i]);
	return io && l->has[WHAT_BUSY_IO] ? WHAT_BUSY_IO : WHAT_BUSY_CPU;
}

/* Names, address spaces and maps over time: the cases that real systems have, and random histories against a plain simulation. */
#include "stream/tasks.h"
#include "model/sample.h"
#include "tap.h"

#include <stdio.h>
#include <time.h>

static u64 seed = 88172645463325252ull;
static u64 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static struct catalog cat;
static struct tasks *t;

static void begin(void)
{
	if (catalog_init(&cat) || !(t = tasks_new(&cat)))
		abort();
}

static void end(void)
{
	tasks_free(t);
	catalog_done(&cat);
}

static void add(const struct perf_side *s, u64 time)
{
	if (tasks_add(t, s, time))
		abort();
}

static void seal(void)
{
	if (tasks_seal(t))
		abort();
}

static void comm(u32 pid, u32 tid, const char *name, bool exec, u64 time)
{
	add(&(struct perf_side){ .type = PERF_RECORD_COMM,
				 .misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
				 .pid = pid,
				 .tid = tid,
				 .name = name },
	    time);
}

static void fork_(u32 pid, u32 ppid, u32 tid, u32 ptid, u64 time)
{
	add(&(struct perf_side){ .type = PERF_RECORD_FORK,
				 .pid = pid,
				 .ppid = ppid,
				 .tid = tid,
				 .ptid = ptid },
	    time);
}

static void map(u32 pid, u64 addr, u64 len, u64 pgoff, const char *name, u64 time)
{
	add(&(struct perf_side){ .type = PERF_RECORD_MMAP2,
				 .misc = PERF_RECORD_MISC_USER,
				 .pid = pid,
				 .tid = pid,
				 .addr = addr,
				 .len = len,
				 .pgoff = pgoff,
				 .name = name,
				 .prot = 5 },
	    time);
}

static void kernel_map(u64 addr, u64 len, const char *name, u64 time)
{
	add(&(struct perf_side){ .type = PERF_RECORD_MMAP,
				 .misc = PERF_RECORD_MISC_KERNEL,
				 .pid = UINT32_MAX,
				 .addr = addr,
				 .len = len,
				 .pgoff = addr,
				 .name = name },
	    time);
}

static void ksymbol(u64 addr, u64 len, const char *name, bool gone, u64 time)
{
	add(&(struct perf_side){ .type = PERF_RECORD_KSYMBOL,
				 .misc = PERF_RECORD_MISC_KERNEL,
				 .addr = addr,
				 .len = len,
				 .ksym_flags = gone ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0,
				 .name = name },
	    time);
}

/* "name" of a task, or ":TID". */
static const char *name_at(u32 tid, u64 time)
{
	static char text[32];
	u32 c = tasks_comm(t, tid, time);
	if (!COMM_IS_UNNAMED(c))
		return strtab_str(&cat.strings, c);
	snprintf(text, sizeof(text), ":%u", c & 0x7fffffffu);
	return text;
}

/* "image+offset" of an address, "-" when nothing is known there. */
static const char *find(u32 space, u64 addr, u64 time)
{
	static char text[128];
	struct tasks_place p;
	tasks_find(t, space, addr, time, &p);
	if (p.image == IMAGE_NONE)
		return p.offset == addr ? "-" : "offset of nothing";
	snprintf(text, sizeof(text), "%s+0x%llx", cat.images.at[p.image].name,
		 (unsigned long long)p.offset);
	if (p.from > time || p.until <= time)
		return "not valid at the time asked for";
	return text;
}

static const char *at(u32 pid, u64 addr, u64 time)
{
	return find(tasks_space(t, pid, time), addr, time);
}

static void test_comm(void)
{
	begin();
	comm(1, 1, "init", false, 0);
	comm(7, 7, "late", false, 500);
	comm(7, 7, "later", false, 600);
	fork_(2, 1, 2, 1, 100);
	comm(2, 2, "ls", true, 110);
	fork_(1, 1, 3, 1, 200); /* a thread */
	comm(1, 3, "worker", false, 210);
	fork_(9, 8, 9, 8, 300); /* of a parent nobody knows */
	fork_(2, 1, 2, 1, 400); /* the pid comes back */
	seal();
	is_str(name_at(1, 0), "init", "comm: from the start");
	is_str(name_at(0, 5), "swapper", "comm: the idle task has a name");
	is_str(name_at(2, 105), "init", "comm: a child has its parent's name");
	is_str(name_at(2, 110), "ls", "comm: until it runs another program");
	is_str(name_at(2, 399), "ls", "comm: and keeps it");
	is_str(name_at(2, 400), "init", "comm: a reused pid is somebody else");
	is_str(name_at(3, 205), "init", "comm: a thread has its creator's name");
	is_str(name_at(3, 210), "worker", "comm: until it gives itself one");
	is_str(name_at(1, 999), "init", "comm: which is its own");
	is_str(name_at(9, 300), ":9", "comm: child of an unknown parent");
	is_str(name_at(2, 50), ":2", "comm: before it was born");
	is_str(name_at(7, 100), "late", "comm: the first name told also counts before it was told");
	is_str(name_at(7, 650), "later", "comm: not the second one");
	is_str(name_at(12345, 1), ":12345", "comm: never heard of");
	end();
}

static void test_maps(void)
{
	begin();
	map(10, 0x1000, 0x1000, 0, "/bin/old", 0);
	map(10, 0x8000, 0x1000, 0x3000, "/lib/a.so", 100); /* dlopen */
	map(10, 0x8000, 0x1000, 0x5000, "/lib/b.so",
	    200); /* dlclose, dlopen of another: same place */
	map(10, 0x8400, 0x200, 0, "/lib/hole.so", 300); /* over a part of it */
	fork_(11, 10, 11, 10, 400);
	map(10, 0x8000, 0x1000, 0, "/lib/after.so", 500);
	map(11, 0x9000, 0x1000, 0, "/lib/child.so", 510);
	comm(11, 11, "new", true, 600);
	map(11, 0x1000, 0x1000, 0x100, "/bin/new", 600);
	fork_(10, 10, 15, 10, 650); /* a thread */
	fork_(11, 10, 11, 10, 900); /* pid reused */
	map(20, 0, UINT64_MAX, 0, "/all", 0);
	map(21, UINT64_MAX - 0xfff, 0x2000, 0, "/wraps", 0);
	map(20, 0x1000, 0x1000, 0, "//anon", 5);
	map(22, 0x1000, 0x1000, 0, "/full", 0);
	map(22, 0x1000, 0, 0, "/empty", 1);
	seal();
	is_str(at(10, 0x1010, 5), "old+0x10", "maps: found");
	is_str(at(10, 0x8010, 50), "-", "maps: not before it was there");
	is_str(at(10, 0x8010, 100), "a.so+0x3010", "maps: dlopen, offset in the file");
	is_str(at(10, 0x8010, 250), "b.so+0x5010", "maps: another library at the same place");
	is_str(at(10, 0x8450, 350), "hole.so+0x50", "maps: over a part of another");
	is_str(at(10, 0x8650, 350), "b.so+0x5650", "maps: of which the rest stays");
	is_str(at(11, 0x8010, 450), "b.so+0x5010", "maps: a child has its parent's");
	is_str(at(11, 0x8010, 550), "b.so+0x5010",
	       "maps: as of the fork, not what the parent maps later");
	is_str(at(10, 0x8010, 550), "after.so+0x10", "maps: which the parent sees");
	is_str(at(11, 0x9010, 550), "child.so+0x10", "maps: and its own");
	is_str(at(10, 0x9010, 550), "-", "maps: which the parent does not have");
	is_str(at(11, 0x1010, 600), "new+0x110", "maps: exec starts anew");
	is_str(at(11, 0x8010, 700), "b.so+0x5010",
	       "maps: what it does not map is as before: the rest of execve() runs there");
	is_str(at(11, 0x1010, 900), "old+0x10", "maps: a reused pid has the maps of its new parent");
	is_str(at(15, 0x1010, 700), "-", "maps: threads are asked for by pid");
	is_str(at(99, 0x1010, 5), "-", "maps: of nobody");
	is_str(at(10, 0x2000, 5), "-", "maps: the end is outside");
	is_str(at(10, 0xfff, 5), "-", "maps: so is the byte before");
	is_str(at(20, 0x12345, 1), "all+0x12345", "maps: one that is everything");
	is_str(at(20, 0x1010, 6), "[JIT] tid 20+0x1010",
	       "maps: code without a file goes by its process; offsets are addresses");
	is_str(at(21, UINT64_MAX - 5, 1), "wraps+0xffa", "maps: one that would wrap round");
	is_str(at(21, 0x10, 1), "-", "maps: does not");
	is_str(at(22, 0x1000, 1), "full+0x0", "maps: one of no bytes hides nothing");
	end();
}

static void test_kernel(void)
{
	begin();
	kernel_map(0xffffffff81000000, 0x1000000, "[kernel.kallsyms]_text", 0);
	kernel_map(0xffffffffc0000000, 0x1000, "/lib/modules/6.1/kernel/fs/e-x.t4.ko.xz", 0);
	kernel_map(0xffffffffc0000000, 0x2000, "[other]", 500);
	ksymbol(0xffffffffc0100000, 0x100, "bpf_prog", false, 100);
	ksymbol(0xffffffffc0100000, 0x100, "bpf_prog", true, 200);
	ksymbol(0xffffffffc0100000, 0x80, "bpf_prog_2", false, 300);
	seal();
	is_str(find(SPACE_KERNEL, 0xffffffff81000123, 1), "[kernel.kallsyms]+0xffffffff81000123",
	       "kernel: offsets are addresses");
	is_str(find(SPACE_KERNEL, 0xffffffffc0000123, 1), "[e_x]+0xffffffffc0000123",
	       "kernel: a module is named as in /proc/modules");
	is_str(find(SPACE_KERNEL, 0xffffffffc0000123, 500), "[other]+0xffffffffc0000123",
	       "kernel: another one at the same place");
	is_str(find(SPACE_KERNEL, 0xffffffff83000010, 50), "[kernel.kallsyms]+0xffffffff83000010",
	       "kernel: what lies behind its text");
	is_str(find(SPACE_KERNEL, 0xffffffff80000010, 50), "-", "kernel: not what lies before it");
	is_str(find(SPACE_KERNEL, 0xffffffffc0100010, 50), "[kernel.kallsyms]+0xffffffffc0100010",
	       "kernel: a BPF program not yet there");
	is_str(find(SPACE_KERNEL, 0xffffffffc0100010, 150), "bpf_prog+0xffffffffc0100010",
	       "kernel: is there");
	is_str(find(SPACE_KERNEL, 0xffffffffc0100010, 200), "-", "kernel: is gone");
	is_str(find(SPACE_KERNEL, 0xffffffffc0100010, 300), "bpf_prog_2+0xffffffffc0100010",
	       "kernel: another one");
	is_str(find(SPACE_KERNEL, 0xffffffffc0100090, 300), "-",
	       "kernel: which is shorter than the one that went");
	is_str(find(SPACE_NONE, 0xffffffff81000123, 1), "-", "kernel: not in no space");
	end();
}

/* The kernels of virtual machines: perf records their modules first, for any guest (0) or one. */
static void guest_map(u32 pid, u64 addr, u64 len, const char *name)
{
	add(&(struct perf_side){ .type = PERF_RECORD_MMAP,
				 .misc = PERF_RECORD_MISC_GUEST_KERNEL,
				 .pid = pid,
				 .addr = addr,
				 .len = len,
				 .pgoff = addr,
				 .name = name },
	    0);
}

static void test_guests(void)
{
	begin();
	kernel_map(0xffffffff81000000, 0x1000000, "[kernel.kallsyms]_text", 0);
	guest_map(0, 0xffffffffc0000000, 0x1000, "[virtio_net]");
	guest_map(0, 0xffffffff81000000, 0x1000, "[guest.kernel.kallsyms]_text");
	guest_map(7, 0xffffffff92000000, 0x1000, "[guest.kernel.kallsyms.7]_text");
	guest_map(7, 0xffffffffc0000000, 0x2000, "[virtio_net]");
	seal();
	u32 any = tasks_guest(t, 5), own = tasks_guest(t, 7);
	ok(any != SPACE_NONE && any != SPACE_KERNEL && own != any, "guests: spaces of their own");
	is_str(find(any, 0xffffffff81000123, 1), "[guest.kernel.kallsyms]+0xffffffff81000123",
	       "guests: any");
	is_str(find(any, 0xffffffffc0000123, 1), "[virtio_net]+0xffffffffc0000123",
	       "guests: the kernel's map ends where it says");
	is_str(find(any, 0xffffffff92000123, 1), "-", "guests: not that of another one");
	is_str(find(own, 0xffffffff92000123, 1), "[guest.kernel.kallsyms.7]+0xffffffff92000123",
	       "guests: one by its process");
	is_str(find(own, 0xffffffffc0001123, 1), "[virtio_net]+0xffffffffc0001123",
	       "guests: its module");
	is_str(find(SPACE_KERNEL, 0xffffffff81000123, 1), "[kernel.kallsyms]+0xffffffff81000123",
	       "guests: the host's kernel is another one");
	u32 first = 0, nr = 0;
	for (u32 i = 1; i < cat.images.nr; i++) {
		nr += cat.images.at[i].guest != 0;
		first = cat.images.at[i].guest && cat.images.at[i].pid == 7 && !first
				? cat.images.at[i].guest
				: first;
	}
	is_u64(nr, 4, "guests: images of theirs");
	ok(first && cat.images.at[first].pid == 7 && cat.images.at[first].guest == first,
	   "guests: which belong together");
	end();
	begin();
	seal();
	is_u64(tasks_guest(t, 7), SPACE_NONE, "guests: there are none");
	end();
}

/* 100 processes, each the child of the one before, each with a map of its own. */
static void test_long_line(void)
{
	begin();
	map(1000, 0x1000, 0x1000, 0, "/bin/first", 0);
	for (u32 i = 1; i <= 100; i++) {
		char name[32];
		fork_(1000 + i, 999 + i, 1000 + i, 999 + i, 10 * i);
		snprintf(name, sizeof(name), "/lib/%u.so", i);
		map(1000 + i, 0x10000 + 0x1000 * i, 0x1000, 0, name, 10 * i + 5);
		map(999 + i, 0x10000 + 0x1000 * (u64)(i - 1), 0x1000, 0, "/too/late",
		    10 * i + 6); /* the parent, after the fork */
	}
	seal();
	unsigned bad = 0;
	for (u32 i = 1; i <= 100; i++)
		for (u32 k = 1; k <= 100; k++) {
			char want[32];
			snprintf(want, sizeof(want), "%u.so+0x10", k);
			bad += strcmp(at(1000 + i, 0x10010 + 0x1000 * k, 10 * i + 5),
				      k <= i ? want : "-") != 0;
			if (k < i) /* what its ancestors did after it was born is not seen, ever */
				bad += strcmp(at(1000 + i, 0x10010 + 0x1000 * k, 5000), want) != 0;
		}
	is_u64(bad, 0, "a line of 100 forks");
	is_str(at(1100, 0x1010, 5000), "first+0x10", "the first one's map in the last one");
	end();
}

/* Records arrive in any order when CPUs are mixed; equal times keep the order of the file. */
static void test_order(void)
{
	begin();
	map(5, 0x1000, 0x1000, 0, "/second", 200);
	comm(5, 5, "two", false, 200);
	map(5, 0x1000, 0x1000, 0, "/first", 100);
	comm(5, 5, "one", false, 100);
	map(5, 0x3000, 0x1000, 0, "/x", 300);
	map(5, 0x3000, 0x1000, 0, "/y", 300);
	seal();
	is_str(at(5, 0x1000, 150), "first+0x0", "order: by time, not by place");
	is_str(at(5, 0x1000, 250), "second+0x0", "order: so the later one wins");
	is_str(name_at(5, 150), "one", "order: names as well");
	is_str(name_at(5, 250), "two", "order: both of them");
	is_str(at(5, 0x3000, 300), "y+0x0", "order: of equal times the later record");
	end();
}

static void test_build_ids(void)
{
	begin();
	map(5, 0x1000, 0x1000, 0, "/bin/a", 1);
	map(6, 0x1000, 0x1000, 0, "/bin/b", 1);
	if (tasks_build_id(t, "/bin/b", (const u8 *)"bbbbbbbbbbbbbbbbbbbb", 20) ||
	    tasks_build_id(t, "/bin/a", (const u8 *)"aa", 2) ||
	    tasks_build_id(t, "/bin/none", (const u8 *)"aa", 2) ||
	    tasks_build_id(t, "/bin/a", (const u8 *)"cccc", 4))
		abort();
	is_u64(cat.images.at[1].build_id_size, 2, "build ids: by path, the first one told");
	ok(cat.images.at[2].build_id_size == 20 && cat.images.at[2].build_id[19] == 'b',
	   "build ids: of the other one");
	end();
}

/* ---- random histories ---- */

enum { PAGES = 24, PIDS = 8, EVENTS = 60, NAMES = 12 };

/* What each page of each process shows (name + 1, offset), by carrying out the events one by one. */
struct sim {
	u8 image[PIDS][PAGES];
	u64 offset[PIDS][PAGES];
	u8 comm[PIDS];
};

struct step {
	unsigned kind; /* 0 map, 1 fork, 2 exec, 3 comm */
	u32 pid, from;
	u32 start, nr, name, pgoff;
	u64 time;
};

static void carry_out(struct sim *s, const struct step *e)
{
	switch (e->kind) {
	case 0:
		for (u32 i = e->start; i < e->start + e->nr; i++) {
			s->image[e->pid][i] = (u8)(e->name + 1);
			s->offset[e->pid][i] = (e->pgoff + i - e->start) * 0x1000ull;
		}
		break;
	case 1:
		memcpy(s->image[e->pid], s->image[e->from], PAGES);
		memcpy(s->offset[e->pid], s->offset[e->from], PAGES * sizeof(u64));
		if (s->comm[e->from])
			s->comm[e->pid] = s->comm[e->from];
		break;
	default:
		s->comm[e->pid] =
			(u8)(e->name + 1); /* exec: old maps stay until others cover them */
	}
}

static void tell(const struct step *e, u64 time)
{
	static const char *const names[NAMES] = { "/n0", "/n1", "/n2", "/n3", "/n4",  "/n5",
						  "/n6", "/n7", "/n8", "/n9", "/n10", "/n11" };
	switch (e->kind) {
	case 0:
		map(100 + e->pid, 0x1000 * (u64)e->start, 0x1000 * (u64)e->nr,
		    0x1000 * (u64)e->pgoff, names[e->name], time);
		break;
	case 1: fork_(100 + e->pid, 100 + e->from, 100 + e->pid, 100 + e->from, time); break;
	default: comm(100 + e->pid, 100 + e->pid, names[e->name] + 1, e->kind == 2, time);
	}
}

static void random_step(struct step *e, u64 time)
{
	*e = (struct step){ .kind = "\0\0\0\0\0\1\1\1\2\3"[rnd() % 10],
			    .pid = (u32)(rnd() % PIDS),
			    .from = (u32)(rnd() % PIDS),
			    .start = (u32)(rnd() % PAGES),
			    .name = (u32)(rnd() % NAMES),
			    .pgoff = (u32)(rnd() % 100),
			    .time = time };
	e->nr = (u32)(1 + rnd() % (PAGES - e->start));
	if (rnd() % 2)
		e->nr = min(e->nr, 3u);
	if (e->kind == 1 && e->pid == e->from)
		e->kind = 3;
}

static unsigned check_moment(const struct sim *s, u64 time, bool names)
{
	unsigned bad = 0;
	for (u32 pid = 0; pid < PIDS; pid++) {
		for (u32 page = 0; page < PAGES; page++) {
			char want[64] = "-";
			if (s->image[pid][page])
				snprintf(want, sizeof(want), "n%u+0x%llx", s->image[pid][page] - 1u,
					 (unsigned long long)s->offset[pid][page] + 7);
			bad += strcmp(at(100 + pid, 0x1000 * (u64)page + 7, time), want) != 0;
		}
		if (names && s->comm[pid]) {
			char want[64];
			snprintf(want, sizeof(want), "n%u", s->comm[pid] - 1u);
			bad += strcmp(name_at(100 + pid, time), want) != 0;
		}
	}
	return bad;
}

/* order: events are told shuffled, with their times (1); or in order, the place being the time (0). */
static void test_random(bool shuffled, unsigned rounds)
{
	unsigned bad = 0, moments = 0;
	for (unsigned round = 0; round < rounds && !bad; round++) {
		struct step steps[EVENTS];
		u32 order[EVENTS];
		begin();
		for (u32 i = 0; i < EVENTS; i++) {
			random_step(&steps[i], 100 * ((u64)i + 1));
			order[i] = i;
		}
		for (u32 i = EVENTS; shuffled && i-- > 1;) {
			u32 k = (u32)(rnd() % (i + 1)), x = order[i];
			order[i] = order[k];
			order[k] = x;
		}
		for (u32 i = 0; i < EVENTS; i++)
			tell(&steps[order[i]], steps[order[i]].time);
		seal();
		struct sim s = { 0 };
		for (u32 i = 0; i < EVENTS; i++) {
			carry_out(&s, &steps[i]);
			bad += check_moment(&s, steps[i].time, true);
			bad += check_moment(&s, steps[i].time + 99, true);
			moments += 2;
		}
		end();
	}
	ok(!bad, "%u moments of random histories, %s", moments,
	   shuffled ? "told in any order" : "in the order of the file");
	if (bad)
		printf("# %u answers differ\n", bad);
}

/* The times an answer claims to hold for are times for which it holds. */
static void test_validity(void)
{
	unsigned bad = 0;
	for (unsigned round = 0; round < 200 && !bad; round++) {
		begin();
		for (u32 i = 0; i < EVENTS; i++) {
			struct step e;
			random_step(&e, 100 * ((u64)i + 1));
			tell(&e, e.time);
		}
		seal();
		for (unsigned i = 0; i < 500; i++) {
			u64 addr = rnd() % (PAGES * 0x1000), time = rnd() % (100 * (EVENTS + 2));
			u32 space = tasks_space(t, 100 + (u32)(rnd() % PIDS), time);
			struct tasks_place p, q;
			tasks_find(t, space, addr, time, &p);
			bad += p.from > time || p.until <= time;
			u64 other =
				p.from + rnd() % (min(p.until, (u64)100 * (EVENTS + 2)) - p.from);
			/* the space must be the one in use then: ask only from its own beginning */
			if (other < time)
				continue;
			tasks_find(t, space, addr, other, &q);
			bad += q.image != p.image || q.offset != p.offset;
		}
		end();
	}
	is_u64(bad, 0, "answers hold as long as they say");
}

static double seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Sizes at which anything quadratic would take minutes. Answers are checked, too. */
static void test_large(void)
{
	double t0 = seconds();
	begin();
	for (u32 i = 0; i < 100000; i++)
		map(1, 0x1000, 0x1000 * (1 + (u64)i % 7), i * 0x1000ull, "/jit", 10 * ((u64)i + 1));
	seal();
	unsigned bad = 0;
	for (u32 i = 0; i < 100000; i++) {
		struct tasks_place p;
		u64 time = 10 * (rnd() % 99999 + 1) + 3;
		tasks_find(t, tasks_space(t, 1, time), 0x1010, time, &p);
		bad += p.offset != (time / 10 - 1) * 0x1000 + 0x10 || p.from != time / 10 * 10 ||
		       p.until != p.from + 10;
	}
	end();
	ok(!bad, "100,000 maps on top of each other");

	begin();
	for (u32 i = 0; i < 100000; i++)
		map(1, 0x1000 * (u64)i, 0x1000 * (200000 - 2 * (u64)i), 0, "/nested", i);
	seal();
	for (u32 i = 0; i < 100000; i++) {
		struct tasks_place p;
		u64 page = rnd() % 100000;
		tasks_find(t, tasks_space(t, 1, 100000), 0x1000 * page + 1, 100000, &p);
		bad += p.offset != 1 || p.from != page;
	}
	end();
	ok(!bad, "100,000 maps inside of each other");

	begin();
	map(1, 0x1000, 0x1000, 0, "/bin/init", 0);
	for (u32 i = 0; i < 200000; i++) {
		fork_(2 + i, 1 + i, 2 + i, 1 + i, 10 * ((u64)i + 1));
		if (i % 3 == 0)
			map(2 + i, 0x100000 + 0x1000 * (u64)i, 0x1000, 0, "/lib/x",
			    10 * ((u64)i + 1) + 1);
	}
	seal();
	bad += strcmp(at(100, 0x1010, 5000000), "init+0x10") != 0;
	bad += strcmp(at(2 + 9000, 0x100010 + 0x1000 * 8400, 5000000), "x+0x10") != 0;
	end();
	ok(!bad, "200,000 forks in one line");

	begin();
	comm(1, 1, "a", false, 0);
	for (u32 i = 1; i < 200000; i++)
		comm(1, 1, i & 1 ? "b" : "a", false, i);
	seal();
	for (u32 i = 0; i < 200000; i++)
		bad += tasks_comm(t, 1, i) != tasks_comm(t, 1, i & 1);
	end();
	ok(!bad, "200,000 names of one task");

	begin();
	for (u32 i = 0; i < 20000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "/lib/%u.so", i);
		map(1, 0x1000 * (u64)i, 0x1000, 0, name, 1);
	}
	for (u32 i = 0; i < 20000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "/lib/%u.so", i);
		bad += tasks_build_id(t, name, (const u8 *)name, 6) != 0;
	}
	bad += cat.images.at[20000].build_id_size != 6;
	end();
	ok(!bad, "20,000 build ids");
	double took = seconds() - t0;
	ok(took < 10, "all of it in reasonable time");
	printf("# %.2f s CPU\n", took);
}

/* ---- rounds ---- */

static void exit_(u32 pid, u32 tid, u64 time)
{
	add(&(struct perf_side){ .type = PERF_RECORD_EXIT, .pid = pid, .tid = tid }, time);
}

static void advance(u64 until)
{
	if (tasks_advance(t, until))
		abort();
}

static u64 offset_at(u32 pid, u64 addr, u64 time)
{
	struct tasks_place p;
	tasks_find(t, tasks_space(t, pid, time), addr, time, &p);
	return p.image ? p.offset : UINT64_MAX;
}

static void test_rounds(void)
{
	begin();
	tasks_rounds(t);
	comm(10, 10, "server", true, 0);
	map(10, 0x1000, 0x1000, 0x5000, "/bin/server", 0);
	advance(100);
	struct tasks_place p;
	tasks_find(t, tasks_space(t, 10, 50), 0x1000, 50, &p);
	ok(p.image && p.offset == 0x5000 && p.until == 101, "an answer holds up to the watermark");
	struct tasks_epoch before, after;
	tasks_epoch(t, tasks_space(t, 10, 50), 50, &before);

	map(10, 0x1000, 0x1000, 0x9000, "/bin/other", 250);
	advance(200);
	ok(offset_at(10, 0x1000, 150) == 0x5000, "what is newer than the round waits");
	ok(tasks_size(t).nr_waiting == 1, "one record does");
	advance(300);
	ok(offset_at(10, 0x1000, 220) == 0x5000 && offset_at(10, 0x1000, 260) == 0x9000,
	   "and holds from its own time on");
	tasks_epoch(t, tasks_space(t, 10, 220), 220, &after);
	ok(before.meaning == after.meaning, "a stretch of time has the same meaning in all rounds");
	tasks_epoch(t, tasks_space(t, 10, 260), 260, &after);
	ok(before.meaning != after.meaning, "the next one has another");

	comm(10, 10, "late", false, 120);
	advance(400);
	ok(tasks_comm(t, 10, 250) != tasks_comm(t, 10, 350),
	   "a record that comes too late holds from now on");
	end();
}

/* A server forks a child for each request, which forks a helper and ends before it; it also maps its plugin again and again. */
static void test_forgets(void)
{
	enum { ROUNDS = 5000 };
	struct tasks_size early = { 0 };
	bool right = true;
	begin();
	tasks_rounds(t);
	comm(1, 1, "server", true, 0);
	map(1, 0x1000, 0x1000, 0x5000, "/bin/server", 0);
	for (u32 i = 1; i <= ROUNDS; i++) {
		u64 at = i * 1000ull;
		u32 child = 100 + i * 3, helper = child + 1;
		map(1, 0x8000, 0x1000, at, "/lib/plugin", at);
		fork_(child, 1, child, 1, at + 1);
		map(child, 0x4000, 0x1000, at, "/lib/own", at + 2);
		fork_(child, child, child + 2, child, at + 3);
		fork_(helper, child, helper, child, at + 4);
		exit_(child, child, at + 5);
		exit_(child, child + 2, at + 600);
		exit_(helper, helper, at + 1500);
		advance(at + 500);
		right &= offset_at(1, 0x8000, at + 400) == at &&
			 offset_at(child, 0x8000, at + 400) == at;
		right &= offset_at(helper, 0x4000, at + 400) == at;
		right &= offset_at(child, 0x4000, at + 400) == at;
		right &= !COMM_IS_UNNAMED(tasks_comm(t, helper, at + 400));
		if (i > 1) {
			right &= offset_at(helper - 3, 0x4000, at + 400) == at - 1000;
			right &= offset_at(helper - 3, 0x8000, at + 400) == at - 1000;
		}
		if (i == ROUNDS / 10)
			early = tasks_size(t);
	}
	struct tasks_size late = tasks_size(t);
	ok(right, "all answers are right while tasks come and go");
	printf("# %zu tasks, %zu processes, %zu spaces, %zu maps\n", late.nr_tasks,
	       late.nr_processes, late.nr_spaces, late.nr_maps);
	ok(late.nr_tasks <= 10 && late.nr_processes <= 10, "tasks that have ended are forgotten");
	ok(late.nr_spaces <= 12 && late.nr_spaces <= early.nr_spaces + 2, "and their spaces");
	ok(late.nr_maps <= early.nr_maps + 200, "and maps that were replaced");
	end();
}

int main(void)
{
	test_comm();
	test_maps();
	test_kernel();
	test_guests();
	test_long_line();
	test_order();
	test_build_ids();
	test_random(false, 300);
	test_random(true, 300);
	test_validity();
	test_large();
	test_rounds();
	test_forgets();
	return done_testing();
}

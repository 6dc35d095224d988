/* mem memcpy|memset: how fast memory is copied and filled, by the C library and by sonde's own functions, which need no choice of instructions. */
#include "base/clock.h"
#include "suite/impl.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void copy_fn(void *to, const void *from, size_t len);

struct routine {
	const char *name, *about;
	copy_fn *run;
};

/* Not recognised as memcpy() or memset(), and not left out. */
#ifdef __clang__
#define AS_WRITTEN __attribute__((noinline))
#else
#define AS_WRITTEN                                                                                 \
	__attribute__((noipa, optimize("no-tree-loop-distribute-patterns,no-tree-vectorize")))
#endif

/* The call through a pointer that the compiler cannot see through. */
static void copy_libc(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}

static void fill_libc(void *to, const void *from, size_t len)
{
	memset(to, 0, len);
}

#ifdef __x86_64__
AS_WRITTEN static void copy_unrolled(void *to, const void *from, size_t len)
{
	u64 *t = to;
	const u64 *f = from;
	for (; len >= 64; len -= 64, t += 8, f += 8) {
		u64 a = f[0], b = f[1], c = f[2], d = f[3];
		u64 e = f[4], g = f[5], h = f[6], i = f[7];
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
		t[0] = a, t[1] = b, t[2] = c, t[3] = d;
		t[4] = e, t[5] = g, t[6] = h, t[7] = i;
		__asm__ volatile("" ::: "memory");
	}
	for (size_t n = 0; n < len; n++) {
		((u8 *)t)[n] = ((const u8 *)f)[n];
		__asm__ volatile("" ::: "memory");
	}
}

static void copy_movsq(void *to, const void *from, size_t len)
{
	size_t words = len / 8, rest = len % 8;
	__asm__ volatile("rep movsq\n\tmovq %3, %%rcx\n\trep movsb"
			 : "+D"(to), "+S"(from), "+c"(words)
			 : "r"(rest)
			 : "memory");
}

static void copy_movsb(void *to, const void *from, size_t len)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len)::"memory");
}

AS_WRITTEN static void fill_unrolled(void *to, const void *from, size_t len)
{
	u64 *t = to;
	for (; len >= 64; len -= 64, t += 8) {
		t[0] = t[1] = t[2] = t[3] = t[4] = t[5] = t[6] = t[7] = 0;
		__asm__ volatile("" ::: "memory");
	}
	for (size_t n = 0; n < len; n++) {
		((u8 *)t)[n] = 0;
		__asm__ volatile("" ::: "memory");
	}
}

static void fill_stosq(void *to, const void *from, size_t len)
{
	size_t words = len / 8, rest = len % 8;
	__asm__ volatile("rep stosq\n\tmovq %2, %%rcx\n\trep stosb"
			 : "+D"(to), "+c"(words)
			 : "r"(rest), "a"(0ul)
			 : "memory");
}

static void fill_stosb(void *to, const void *from, size_t len)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(len) : "a"(0) : "memory");
}
#endif

static const struct routine copies[] = {
	{ "default", "memcpy() of the C library", copy_libc },
#ifdef __x86_64__
	{ "x86-64-unrolled", "eight words at a time", copy_unrolled },
	{ "x86-64-movsq", "rep movsq", copy_movsq },
	{ "x86-64-movsb", "rep movsb", copy_movsb },
#endif
	{ 0 },
};

static const struct routine fills[] = {
	{ "default", "memset() of the C library", fill_libc },
#ifdef __x86_64__
	{ "x86-64-unrolled", "eight words at a time", fill_unrolled },
	{ "x86-64-stosq", "rep stosq", fill_stosq },
	{ "x86-64-stosb", "rep stosb", fill_stosb },
#endif
	{ 0 },
};

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

/* "1MB", "64k", "100": 0 or -EINVAL. */
static int parse_size(const char *text, u64 *ret)
{
	static const char units[] = "KMGT";
	char *end;
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	u64 n = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	u32 shift = unit ? 10 * (u32)(unit - units + 1) : 0;
	if (unit)
		end++;
	if (*end == 'B' || *end == 'b')
		end++;
	if (errno || *end || !n || n > ~0ull >> shift)
		return -EINVAL;
	*ret = n << shift;
	return 0;
}

/* Checked here, since the kernel would overcommit now and kill us later. */
static int check_size(struct suite_run *r, const char *text, u64 *ret)
{
	u64 memory = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE);
	if (parse_size(text, ret)) {
		diag_error(r->diag, -EINVAL, "invalid size '%s'", text);
		diag_hint(r->diag, "a number above 0 with B, KB, MB, GB or TB, such as 64KB");
		return -EINVAL;
	}
	if (*ret > memory / 4)
		return diag_error(
			r->diag, -EINVAL,
			"size %s: two buffers need more than half of this machine's memory", text);
	return 0;
}

/* ---- measuring -------------------------------------------------------------------------------------------------- */

struct mem_run {
	const struct suite_params *p;
	struct suite_run *r;
	const char *size_text;
	void *to, *from;
	u64 size, loops;
	int cycles; /* the counter; -1: time */
};

static int open_cycles(struct suite_run *r, int *fd)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_HW_CPU_CYCLES };
	*fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (*fd >= 0)
		return 0;
	int err = -errno;
	diag_error(r->diag, err, "cannot count cycles: %s",
		   err == -ENOENT || err == -EOPNOTSUPP ? "no hardware counter here"
							: strerror(-err));
	diag_hint(r->diag, "'stat -e cycles' tells more; without cycles, time is measured");
	return err;
}

static u64 read_clock(const struct mem_run *m)
{
	u64 count = 0;
	if (m->cycles < 0)
		return clock_monotonic_ns();
	return read(m->cycles, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static u64 run_loops(const struct mem_run *m, const struct routine *f)
{
	copy_fn *volatile fn = f->run;
	copy_fn *run = fn;
	run(m->to, m->from, m->size);
	u64 start = read_clock(m);
	for (u64 n = 0; n < m->loops; n++)
		run(m->to, m->from, m->size);
	return read_clock(m) - start;
}

static void print_rate(const struct mem_run *m, double rate)
{
	static const char *const units[] = { "B", "KB", "MB", "GB" };
	u32 unit = 0;
	for (; unit < ARRAY_SIZE(units) - 1 && rate >= 1024; unit++)
		rate /= 1024;
	strbuf_printf(&m->r->text, " %14f %s/sec\n", rate, units[unit]);
}

static void run_routine(const struct mem_run *m, const struct routine *f)
{
	struct strbuf *to = &m->r->text;
	double bytes = (double)m->size * (double)m->loops, took = (double)run_loops(m, f);
	strbuf_printf(to, "# function '%s' (%s)\n", f->name, f->about);
	if (!m->p->simple)
		strbuf_printf(to, "# Copying %s bytes ...\n\n", m->size_text);
	if (m->cycles >= 0) {
		suite_add(m->r, f->name, "cycles_per_byte", "cycles", took / bytes);
		strbuf_printf(to, m->p->simple ? "%f\n" : " %14f cycles/byte\n", took / bytes);
		return;
	}
	/* The clock counts nanoseconds: less than one was one. */
	double rate = bytes / max(took, 1.0) * 1e9;
	suite_add(m->r, f->name, "bytes_per_second", "B/s", rate);
	if (m->p->simple)
		strbuf_printf(to, "%f\n", rate);
	else
		print_rate(m, rate);
}

static void list_routines(struct suite_run *r, const struct routine *f)
{
	strbuf_str(&r->text, "Available functions:\n");
	for (; f->name; f++)
		strbuf_printf(&r->text, "\t%s ... %s\n", f->name, f->about);
}

static const struct routine *find_routine(const struct routine *f, const char *name)
{
	for (; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static int run_buffers(struct mem_run *m, const struct routine *all, const struct routine *only)
{
	/* Written to, so that both have memory of their own. */
	m->to = malloc(m->size);
	m->from = malloc(m->size);
	if (!m->to || !m->from)
		return -ENOMEM;
	memset(m->to, 1, m->size);
	memset(m->from, 2, m->size);
	for (const struct routine *f = all; f->name; f++)
		if (!only || only == f)
			run_routine(m, f);
	return 0;
}

static int run_mem(const struct suite_params *p, struct suite_run *r, const struct routine *all)
{
	struct mem_run m = { .p = p, .r = r, .size_text = p->size ? p->size : "1MB", .cycles = -1 };
	const char *name = p->function ? p->function : "all";
	const struct routine *only = strcmp(name, "all") ? find_routine(all, name) : NULL;
	if (!strcmp(name, "help")) {
		list_routines(r, all);
		return 0;
	}
	if (strcmp(name, "all") && !only) {
		diag_error(r->diag, -EINVAL, "unknown function '%s'", name);
		for (const struct routine *f = all; f->name; f++)
			diag_hint(r->diag, "%s: %s", f->name, f->about);
		return -EINVAL;
	}
	int err = check_size(r, m.size_text, &m.size);
	if (!err)
		err = suite_loops(r, p->loops, 1, &m.loops);
	if (!err && p->cycles)
		err = open_cycles(r, &m.cycles);
	if (!err)
		err = run_buffers(&m, all, only);
	free(m.to);
	free(m.from);
	if (m.cycles >= 0)
		close(m.cycles);
	return err;
}

int suite_memcpy(const struct suite_params *p, struct suite_run *r)
{
	return run_mem(p, r, copies);
}

int suite_memset(const struct suite_params *p, struct suite_run *r)
{
	return run_mem(p, r, fills);
}

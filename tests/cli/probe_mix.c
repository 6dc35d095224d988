/* What probes are set on in tests/cli/probe_debug.t and tests/live/probe_debug.t: known values at known places. Lines count. */
#include <stdio.h>
#include <string.h>
/* clang-format off */
enum colour { RED, BLUE = 5 };

struct part {
	int a;
	char name[16];
	struct part *next;
	union {
		long l;
		char c[8];
	};
	unsigned low : 3, mid : 7, high : 11;
	short list[4];
};

int global_v = 41;
static long static_v = -7;
struct part parts[3];

static inline __attribute__((always_inline)) int twice(int x, const char *s)
{
	int y = x * 2;
	if (s[0] == 'a')
		y += global_v;
	return y + (int)static_v;
}

__attribute__((noinline)) int work(struct part *p, int n, const char *s, unsigned char uc, enum colour c)
{
	int r = 0;
	for (int i = 0; i < n; i++) {
		long sum = p->l + i;
		r += twice((int)sum, s);
		p->mid = (unsigned)r;
		if (n > 100) {
			long sum = r; /* hides the other */
			printf("%ld\n", sum);
		}
	}
	printf("%d %d %s\n", r, uc, p->name);
	return r + (int)c;
}

__attribute__((noinline)) static long deep(int a, int b, int c, int d, int e, int f, long g, struct part h)
{
	char buf[32];
	snprintf(buf, sizeof(buf), "%d%d%d%d%d%d%ld%d", a, b, c, d, e, f, g, h.a);
	static_v++;
	return twice(buf[0], buf) + (long)strlen(buf);
}

__attribute__((noinline)) const char *pick(const char **list, unsigned long at)
{
	asm volatile("" ::: "memory");
	return list[at];
}

static __attribute__((noinline)) int once(int *p, int unused)
{
	asm volatile("" ::: "memory");
	return *p + twice(*p, "b");
}

int alias(struct part *p, int n, const char *s, unsigned char uc, enum colour c) __attribute__((alias("work")));

int main(int argc, char **argv)
{
	struct part second = { .a = -5, .name = "second" };
	struct part first = { .a = 11, .name = "first", .next = &second, .low = 5, .mid = 100, .high = 1234 };
	const char *names[] = { "zero", "one", argv[0] };
	int v = argc + 2;
	first.list[2] = -300;
	parts[1].a = 77;
	first.l = 1000;
	int r = work(&first, v, "abc", 'x', BLUE);
	r += (int)deep(1, 2, 3, 4, 5, 6, 7 * argc, second);
	r += once(&v, 3) + alias(&second, 1, names[1], 'y', RED);
	puts(pick(names, 1));
	return r == 42;
}

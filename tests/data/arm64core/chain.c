/*
 * The program of the arm64 cores in this folder (README): children that die in a chain of functions which is known, and children that are
 * killed at a moment of chance somewhere in it. No library: the file is all that unwinding needs.
 *
 *	chain N      the first KINDS children die of their own at one place each, N more are killed while they work
 */
enum { SIGCHLD = 17, SIGABRT = 6, SIGUSR1 = 10, KINDS = 6 };

static inline __attribute__((always_inline)) long sys(long nr, long a, long b, long c, long d,
						      long e)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
}
#define sys_kill(pid, signal) sys(129, pid, signal, 0, 0, 0)
#define sys_getpid()	      sys(172, 0, 0, 0, 0, 0)

static volatile unsigned long sink;
static volatile int at_end; /* which way leads out of the last function */

#define FAR	   __attribute__((noinline, noclone))
#define SIGNED	   FAR __attribute__((target("branch-protection=pac-ret+leaf")))
#define NO_POINTER FAR __attribute__((optimize("omit-frame-pointer")))

FAR void die(void)
{
	__asm__ volatile("brk #1");
}

/* A leaf without a frame: the return address is in a register only. */
NO_POINTER void bare_leaf(void)
{
	if (at_end == 1)
		__asm__ volatile("brk #2");
	sink++;
}

/* The handler of a signal that arrives in a leaf: the caller of the trampoline was not called. */
FAR void handler(int signal)
{
	sink += (unsigned long)signal;
	die();
	sink++;
}

NO_POINTER void interrupted_leaf(void)
{
	sys_kill(sys_getpid(), SIGUSR1); /* no calls: both are inlined */
	sink++;
}

SIGNED unsigned long work(unsigned long n)
{
	unsigned long sum = n;
	for (unsigned long i = 0; i < (n & 63) + 3; i++)
		sum = sum * 6364136223846793005ul + i;
	return sum;
}

/* The end of the chain: which way out. */
SIGNED unsigned long last(unsigned long n)
{
	unsigned long sum = work(n);
	switch (at_end) {
	case 1: bare_leaf(); break;
	case 2: interrupted_leaf(); break;
	case 3: die(); break;
	}
	sink += sum;
	return sum + sink;
}

/* A frame whose size is not known beforehand: the frame pointer says where it is. */
FAR unsigned long moving(unsigned long n)
{
	volatile unsigned char room[(n & 255) + 17];
	for (unsigned long i = 0; i < sizeof(room); i += 16)
		room[i] = (unsigned char)n;
	unsigned long sum = last(n + room[0]);
	return sum + room[16];
}

/* No frame pointer, and a frame of more than an instruction can hold at once. */
NO_POINTER unsigned long wide(unsigned long n)
{
	volatile unsigned long room[900];
	room[n % 900] = n;
	unsigned long sum = moving(n * 3 + 1);
	return sum + room[n % 900];
}

/* Many registers are saved. */
SIGNED __attribute__((optimize("omit-frame-pointer"))) unsigned long busy(unsigned long n)
{
	unsigned long a = n, b = n * 3, c = n ^ 5, d = n + 7, e = n * 11, f = n ^ 13, g = n + 17,
		      h = n * 19;
	for (int i = 0; i < 3; i++) {
		unsigned long got = wide(a + (unsigned long)i);
		a += got, b ^= a, c += b, d ^= c, e += d, f ^= e, g += f, h ^= g;
	}
	return a + b + c + d + e + f + g + h;
}

FAR unsigned long again(unsigned long n, int depth)
{
	unsigned long sum = depth ? again(n + 1, depth - 1) : busy(n);
	sink += sum;
	return sum + (unsigned long)depth;
}

/* Through a pointer, in a tail of which nothing is left on the stack. */
static unsigned long (*volatile through)(unsigned long, int) = again;
FAR unsigned long begin(unsigned long n, int depth)
{
	return through(n, depth);
}

FAR void child(int kind)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = { .handler = handler };
	sys(134, SIGUSR1, (long)&action, 0, 8, 0);
	at_end = kind < KINDS ? kind % 3 + 1 : 0;
	for (unsigned long n = 0;; n++)
		begin(n, kind < 3 ? 2 : 9);
}

FAR int run(int more)
{
	for (int kind = 0; kind < KINDS + more; kind++) {
		long pid = sys(220, SIGCHLD, 0, 0, 0, 0); /* clone: as fork does */
		if (!pid)
			child(kind);
		if (kind >= KINDS) {
			long time[2] = { 0, 20000000 + (kind * 7919 % 1009) * 10007 };
			sys(101, (long)time, 0, 0, 0, 0);
			sys_kill(pid, SIGABRT);
		}
		sys(260, pid, 0, 0, 0, 0);
	}
	return 0;
}

__attribute__((used)) void start(long *stack)
{
	int more = 0;
	if (stack[0] > 1)
		for (const char *p = (const char *)stack[2]; *p; p++)
			more = more * 10 + *p - '0';
	sys(94, run(more), 0, 0, 0, 0);
}

/* Where it begins there is no caller. */
__asm__(".text\n.global _start\n.type _start, %function\n_start:\n.cfi_startproc\n.cfi_undefined "
	"x30\n"
	"mov x29, #0\nmov x30, #0\nmov x0, sp\nbl start\nbrk #3\n.cfi_endproc\n.size _start, . - "
	"_start\n");

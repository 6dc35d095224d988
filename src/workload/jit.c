/*
 * The workload with generated code, and the two ways in which a JIT compiler tells profilers about it:
 * /tmp/perf-PID.map, one line "START SIZE NAME" for each function, in hexadecimal;
 * jit-PID.dump, the records of jitdump version 1 as the kernel tree's jitdump-specification.txt describes them, announced
 * by mapping the file's first page executable (perf inject --jit looks for that mmap event).
 * Both stay behind: a report comes later. The dump lies in $JITDUMPDIR, else in /tmp.
 */
#include "workload/workload.h"
#include "base/clock.h"
#include "base/strbuf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* jit_loop(n): counts n down. jit_outer(n, fn): calls fn(n). Both keep a frame. */
#if defined(__x86_64__)
enum { JIT_MACHINE = EM_X86_64 };
static const u8 loop_code[] = {
	0x55, /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb, /* jne 1b */
	0x5d, /* pop %rbp */
	0xc3, /* ret */
};
static const u8 outer_code[] = {
	0x55, /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd6, /* call *%rsi */
	0x5d, /* pop %rbp */
	0xc3, /* ret */
};
#elif defined(__aarch64__)
enum { JIT_MACHINE = EM_AARCH64 };
static const u32 loop_code[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xf1000400, /* 1: subs x0, x0, #1 */
	0x54ffffe1, /* b.ne 1b */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
static const u32 outer_code[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xd63f0020, /* blr x1 */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#else
enum { JIT_MACHINE = EM_NONE };
static const u8 loop_code[1], outer_code[1];
#endif

enum { OUTER_AT = 64, JITDUMP_MAGIC = 0x4a695444, JITDUMP_VERSION = 1, ROUNDS = 10000 };
enum jit_record { JIT_CODE_LOAD = 0, JIT_CODE_DEBUG_INFO = 2, JIT_CODE_CLOSE = 3 };

struct jitdump_header {
	u32 magic, version, total_size, elf_mach, pad, pid;
	u64 timestamp, flags;
};

struct jitdump_prefix {
	u32 id, total_size;
	u64 timestamp;
};

struct jitdump_load {
	struct jitdump_prefix p;
	u32 pid, tid;
	u64 vma, code_addr, code_size, code_index;
	/* name with NUL, code */
};

struct jitdump_debug {
	struct jitdump_prefix p;
	u64 code_addr, nr;
	/* jitdump_debug_line, name with NUL, and so on */
};

struct jitdump_debug_line {
	u64 addr;
	u32 line, discriminator;
};

/* Of a source that never was: the function begins in its line, and goes on in the next one. */
static const char jit_source[] = "jit_source.txt";
enum {
	JIT_PROLOGUE = 4
}; /* bytes before the second line; on both architectures an instruction begins there */

struct jit_function {
	const char *name;
	u32 line;
	const void *code;
	size_t size;
	u8 *at; /* where it lies in memory */
};

static int jit_write(const struct workload_args *a, const char *path, int fd, struct strbuf *s)
{
	if (s->err || strbuf_drain_fd(&fd, s->data, s->len))
		return diag_error(a->d, -EIO, "cannot write %s", path);
	return 0;
}

static int write_map(const struct workload_args *a, const struct jit_function *f, size_t nr)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	(void)unlink(path); /* of a process that had our number before */
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return diag_error(a->d, -errno, "cannot create %s: %s", path, strerror(errno));
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < nr; i++)
		strbuf_printf(&s, "%zx %zx %s\n", (size_t)f[i].at, f[i].size, f[i].name);
	int err = jit_write(a, path, fd, &s);
	strbuf_done(&s);
	return err;
}

static void dump_lines(struct strbuf *s, const struct jit_function *f)
{
	u64 addr = (u64)(uintptr_t)f->at;
	struct jitdump_debug head = {
		{ JIT_CODE_DEBUG_INFO,
		  (u32)(sizeof(head) + 2 * (sizeof(struct jitdump_debug_line) + sizeof(jit_source))),
		  clock_monotonic_ns() },
		addr,
		2
	};
	strbuf_add(s, &head, sizeof(head));
	for (u32 i = 0; i < 2; i++) {
		struct jitdump_debug_line line = { addr + i * JIT_PROLOGUE, f->line + i, 0 };
		strbuf_add(s, &line, sizeof(line));
		strbuf_add(s, jit_source, sizeof(jit_source));
	}
}

static void dump_records(struct strbuf *s, const struct jit_function *f, size_t nr)
{
	u32 pid = (u32)getpid(), tid = (u32)syscall(SYS_gettid);
	struct jitdump_header head = { JITDUMP_MAGIC,
				       JITDUMP_VERSION,
				       sizeof(head),
				       JIT_MACHINE,
				       0,
				       pid,
				       clock_monotonic_ns(),
				       0 };
	strbuf_add(s, &head, sizeof(head));
	for (size_t i = 0; i < nr; i++) {
		dump_lines(s, &f[i]);
		size_t name = strlen(f[i].name) + 1,
		       total = sizeof(struct jitdump_load) + name + f[i].size;
		u64 addr = (u64)(uintptr_t)f[i].at;
		struct jitdump_load load = { { JIT_CODE_LOAD, (u32)total, clock_monotonic_ns() },
					     pid,
					     tid,
					     addr,
					     addr,
					     f[i].size,
					     i };
		strbuf_add(s, &load, sizeof(load));
		strbuf_add(s, f[i].name, name);
		strbuf_add(s, f[i].code, f[i].size);
	}
}

/* The mapping stays until the process ends: its event is what says that there is a dump. */
static int write_dump(const struct workload_args *a, const struct jit_function *f, size_t nr)
{
	char path[4096];
	const char *dir = secure_getenv("JITDUMPDIR");
	if (snprintf(path, sizeof(path), "%s/jit-%d.dump", dir && *dir ? dir : "/tmp",
		     (int)getpid()) >= (int)sizeof(path))
		return diag_error(a->d, -ENAMETOOLONG, "JITDUMPDIR is too long");
	(void)unlink(path);
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return diag_error(a->d, -errno, "cannot create %s: %s", path, strerror(errno));
	if (mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
	    MAP_FAILED)
		return diag_error(a->d, -errno, "cannot map %s executable: %s", path,
				  strerror(errno));
	struct strbuf s;
	strbuf_init(&s);
	dump_records(&s, f, nr);
	int err = jit_write(a, path, fd, &s);
	strbuf_done(&s);
	return err;
}

int workload_jit(const struct workload_args *a)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	if (JIT_MACHINE == EM_NONE)
		return diag_error(a->d, -ENOTSUP, "no code generator for this architecture");
	u8 *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return diag_error(a->d, -errno, "mmap: %s", strerror(errno));
	struct jit_function f[] = {
		{ "jit_loop", 10, loop_code, sizeof(loop_code), page },
		{ "jit_outer", 20, outer_code, sizeof(outer_code), page + OUTER_AT },
	};
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		memcpy(f[i].at, f[i].code, f[i].size);
	if (mprotect(page, size, PROT_READ | PROT_EXEC))
		return diag_error(a->d, -errno, "cannot make generated code executable: %s",
				  strerror(errno));
	__builtin___clear_cache((char *)page, (char *)page + size);
	int err = write_map(a, f, ARRAY_SIZE(f));
	if (!err)
		err = write_dump(a, f, ARRAY_SIZE(f));
	if (err)
		return err;
	void (*loop)(u64) = (void (*)(u64))(uintptr_t)f[0].at;
	void (*outer)(u64, void (*)(u64)) = (void (*)(u64, void (*)(u64)))(uintptr_t)f[1].at;
	err = workload_start_timer(a, a->ns);
	while (!err && !workload_over)
		outer(ROUNDS, loop);
	return err;
}

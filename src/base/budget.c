#include "base/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* In all: 5 s and 5 s for each 10 MB, 64 MB and 20 times the size. What is not charged for fits between. */
enum { BYTES_ALWAYS = 48 << 20, BYTES_A_BYTE = 16, STEPS_ALWAYS = 64 << 20, STEPS_A_BYTE = 10 };
enum { BLOCK = 512, HOLES_ALWAYS = 2 << 20, HOLES_A_BYTE = 8 };

void budget_init(struct budget *b, u64 size)
{
	u64 most = min(size, (u64)1 << 50);
	*b = (struct budget){ .bytes = BYTES_ALWAYS + most * BYTES_A_BYTE,
			      .steps = STEPS_ALWAYS + most * STEPS_A_BYTE,
			      .size = size };
}

u64 budget_real_size(const struct stat *st)
{
	u64 size = (u64)st->st_size, blocks = (u64)st->st_blocks;
	/* Some file systems do not tell; and where nothing is allocated, there is nothing to open either. */
	if (!blocks)
		return size;
	return min(size, HOLES_ALWAYS + min(blocks, (u64)1 << 40) * BLOCK * HOLES_A_BYTE);
}

/* A sanitizer's own memory says nothing of the input. */
u64 budget_memory_used(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 0;
#else
	char text[128];
	unsigned long long resident, shared;
	_cleanup_close_ int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	if (sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || resident < shared)
		return 0;
	return (resident - shared) * (u64)sysconf(_SC_PAGESIZE);
#endif
}

int budget_refuse(const struct budget *b, const char *name, struct diag *d)
{
	int err = diag_error(d, -E2BIG, "%s: %s would take too much %s for a file of %llu bytes",
			     name, b->stage, b->memory ? "memory" : "time",
			     (unsigned long long)b->size);
	diag_hint(d, "the file is damaged or was crafted to exhaust resources");
	return err;
}

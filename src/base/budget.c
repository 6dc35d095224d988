#include "base/budget.h"

#include <errno.h>
#include <sys/stat.h>

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

int budget_refuse(const struct budget *b, const char *name, struct diag *d)
{
	int err = diag_error(d, -E2BIG, "%s: %s would take too much %s for a file of %llu bytes",
			     name, b->stage, b->memory ? "memory" : "time",
			     (unsigned long long)b->size);
	diag_hint(d, "the file is damaged, or was made to exhaust a machine");
	return err;
}

/*
 * Unwind tables from anyone: a whole ELF file whose call frame information is flattened, asked everywhere and walked through with the
 * file's own bytes as the stack; and a file of the cache.
 */
#include "sym/unwind_cfi.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static bool read_bytes(const void *ctx, u64 addr, unsigned size, u64 *ret)
{
	const struct elfimg *e = ctx;
	if (addr > e->size || e->size - addr < size)
		return false;
	*ret = 0;
	memcpy(ret, e->data + addr, size);
	return true;
}

/* Every rule there is, with registers that point into the file. */
static u64 use_table(const struct cfi_table *t, const struct arch *a, const struct elfimg *e)
{
	u64 sum = 0;
	struct cfi_regs regs = { .known = (1ull << a->nr_regs) - 1 };
	struct cfi_memory mem = { .read = read_bytes, .ctx = e };
	for (u32 i = 0; i < ARCH_REGS_MAX; i++)
		regs.value[i] = i * 8;
	for (u32 i = 0; i < t->nr_rows; i++) {
		const struct cfi_rule *r = cfi_find(t, t->starts[i]);
		size_t len;
		u64 v = 0;
		if (!r)
			continue;
		if (r->cfa == CFI_CFA_EXPR) {
			const u8 *expr = cfi_expr(t, r->cfa_value, &len);
			sum += !cfi_eval(expr, len, &regs, &mem, false, 0, &v) + v;
		}
		for (u32 k = 0; k < r->nr_regs; k++) {
			if (r->regs[k].reg >= a->nr_regs)
				abort();
			if (r->regs[k].kind < CFI_EXPR)
				continue;
			const u8 *expr = cfi_expr(t, r->regs[k].value, &len);
			sum += !cfi_eval(expr, len, &regs, &mem, true, v, &v) + v;
		}
	}
	return sum;
}

/* Ranges lie in the file, in order, and do not overlap. */
static u64 use_ranges(const struct elfimg *e)
{
	struct cfi_range *r;
	size_t nr;
	if (cfi_ranges(e, &r, &nr))
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (r[i].end <= r[i].start || r[i].end > e->size || (i && r[i].start < r[i - 1].end))
			abort();
	free(r);
	return nr;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct elfimg e;
	struct cfi_table t;
	volatile u64 sum = 0;
	static const struct arch *const archs[] = { &arch_x86_64, &arch_arm64 };
	if (!elfimg_open_memory(&e, data, size)) {
		const struct arch *a = arch_of_elf(e.machine);
		sum += use_ranges(&e);
		if (a && !cfi_build(&t, a, &e, &e)) {
			for (u32 i = 1; i < t.nr_rows; i++)
				if (t.starts[i] <= t.starts[i - 1])
					abort();
			sum += use_table(&t, a, &e);
			cfi_done(&t);
		}
		elfimg_close(&e);
	}
	struct elfimg none = { .data = data, .size = size };
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		u8 *copy = malloc(size + 1);
		if (!copy)
			return 0;
		memcpy(copy, data, size);
		if (cfi_open_bytes(&t, archs[i], copy, size, false)) {
			free(copy);
			continue;
		}
		sum += use_table(&t, archs[i], &none);
		cfi_done(&t);
	}
	(void)sum;
	return 0;
}

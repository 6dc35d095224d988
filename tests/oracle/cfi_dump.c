/* The rows of a file's unwind table as text, for comparing with readelf -wF: file offset, CFA, and where registers were saved. */
#include "image/cfi.h"

#include <inttypes.h>
#include <stdio.h>

static void print_rule(const struct cfi_rule *r)
{
	if (r->cfa == CFI_CFA_EXPR)
		printf(" exp");
	else
		printf(" %u%+d", r->cfa_reg, r->cfa_value);
	for (u32 i = 0; i < r->nr_regs; i++) {
		const struct cfi_reg *reg = &r->regs[i];
		switch (reg->kind) {
		case CFI_UNDEFINED: printf(" %u=u", reg->reg); break;
		case CFI_OFFSET: printf(" %u=c%+d", reg->reg, reg->value); break;
		case CFI_VAL_OFFSET: printf(" %u=v%+d", reg->reg, reg->value); break;
		case CFI_REGISTER: printf(" %u=r%d", reg->reg, reg->value); break;
		case CFI_EXPR: printf(" %u=exp", reg->reg); break;
		default: printf(" %u=vexp", reg->reg); break;
		}
	}
	printf("%s\n", r->flags & CFI_SIGNAL ? " signal" : "");
}

int main(int argc, char **argv)
{
	struct elfimg e;
	struct cfi_table t;
	if (argc != 2 || elfimg_open(&e, argv[1], NULL)) {
		fprintf(stderr, "usage: cfi_dump FILE\n");
		return 2;
	}
	const struct arch *a = arch_of_elf(e.machine);
	int err = a ? cfi_build(&t, a, &e, &e) : -1;
	if (err) {
		fprintf(stderr, "%s: no table (%d)\n", argv[1], err);
		return 1;
	}
	for (u32 i = 0; i < e.nr_loads; i++)
		printf("load %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", e.loads[i].vaddr,
		       e.loads[i].offset, e.loads[i].size);
	for (u32 i = 0; i < t.nr_rows; i++) {
		const struct cfi_rule *r = cfi_find(&t, t.starts[i]);
		printf("%x", t.starts[i]);
		if (r)
			print_rule(r);
		else
			printf(" -\n");
	}
	fprintf(stderr, "%u rows, %u units, %zu bytes, %u of %u functions framed\n", t.nr_rows,
		t.nr_units, t.block_size, t.nr_framed, t.nr_functions);
	cfi_done(&t);
	elfimg_close(&e);
	return 0;
}

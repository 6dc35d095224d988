/*
 * Kernel memory by BPF. A raw-tracepoint program that is attached to nothing and run by BPF_PROG_TEST_RUN copies into an array that is
 * mapped here:
 *
 *	head   current task | unused
 *	slots  {address, size, result} for each of MEMORY_BATCH pieces; the first size of 0 ends the list
 *	data   MEMORY_PIECE bytes for each piece
 *
 * The program is straight: one block of instructions a slot, so that the verifier needs to see nothing but constant offsets and a size
 * with an upper bound. Needs 5.10 (raw tracepoints that can be run), CAP_BPF and CAP_PERFMON.
 */
#include "kern/bpf_sys.h"
#include "kern/bpf_insns.h"
#include "memory/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct read_slot {
	u64 addr;
	u64 size;
	s64 result;
	u64 unused;
};

enum { HEAD_BYTES = 64 };

struct area {
	u64 current_task;
	u64 unused[HEAD_BYTES / sizeof(u64) - 1];
	struct read_slot slots[MEMORY_BATCH];
	u8 data[MEMORY_BATCH][MEMORY_PIECE];
};

struct bpf_memory {
	struct memory m;
	int map, prog;
	struct area *area;
	size_t mapped;
};

enum {
	SLOT_INSNS = 11,
	HEAD_INSNS = 12,
	TAIL_INSNS = 2,
};

/* R6: the value of the map's only element. */
static u32 emit_head(struct bpf_insn *to, int map)
{
	const struct bpf_insn head[] = {
		INSN(BPF_ST | BPF_MEM | BPF_W, R10, 0, -4, 0),
		MOV(R2, R10),
		ADD_IMM(R2, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JNE | BPF_K, R0, 0, 1, 0),
		EXIT(),
		MOV(R6, R0),
	};
	memcpy(to, head, sizeof(head));
	return ARRAY_SIZE(head);
}

/* to_end: instructions from the end of this block to the program's tail. */
static u32 emit_slot(struct bpf_insn *to, u32 i, u32 to_end)
{
	s16 at = (s16)(offsetof(struct area, slots) + i * sizeof(struct read_slot));
	const struct bpf_insn block[SLOT_INSNS] = {
		LOAD(R2, R6, (s16)(at + offsetof(struct read_slot, size))),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, R2, 0, (s16)(to_end + SLOT_INSNS - 2), 0),
		INSN(BPF_JMP | BPF_JLE | BPF_K, R2, 0, 1, MEMORY_PIECE),
		MOV_IMM(R2, MEMORY_PIECE),
		LOAD(R3, R6, (s16)(at + offsetof(struct read_slot, addr))),
		MOV(R1, R6),
		ADD_IMM(R1, (s32)(offsetof(struct area, data) + i * MEMORY_PIECE)),
		CALL(BPF_FUNC_probe_read_kernel),
		STORE(R6, (s16)(at + offsetof(struct read_slot, result)), R0),
		MOV_IMM(R0, 0), /* nothing of one slot is left for the next */
		MOV_IMM(R1, 0),
	};
	memcpy(to, block, sizeof(block));
	return SLOT_INSNS;
}

static int load_program(const struct bpf_insn *insns, u32 nr)
{
	return bpfsys_prog_load(&(struct bpfsys_prog){ .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
						       .name = "sonde_inspect",
						       .insns = insns,
						       .nr_insns = nr,
						       .license = "GPL" },
				0, NULL);
}

static int load_reader(struct bpf_memory *b)
{
	struct bpf_insn insns[HEAD_INSNS + MEMORY_BATCH * SLOT_INSNS + TAIL_INSNS];
	u32 nr = emit_head(insns, b->map);
	insns[nr++] = CALL(BPF_FUNC_get_current_task);
	insns[nr++] = STORE(R6, offsetof(struct area, current_task), R0);
	for (u32 i = 0; i < MEMORY_BATCH; i++)
		nr += emit_slot(insns + nr, i, (MEMORY_BATCH - 1 - i) * SLOT_INSNS);
	insns[nr++] = MOV_IMM(R0, 0);
	insns[nr++] = EXIT();
	return load_program(insns, nr);
}

static int read_pieces(struct memory *m, struct memory_piece *pieces, u32 nr)
{
	struct bpf_memory *b = container_of(m, struct bpf_memory, m);
	struct area *a = b->area;
	u32 status;
	for (u32 i = 0; i < nr; i++)
		a->slots[i] = (struct read_slot){ .addr = pieces[i].addr,
						  .size = pieces[i].size,
						  .result = pieces[i].size ? -EFAULT : 0 };
	if (nr < MEMORY_BATCH)
		a->slots[nr].size = 0;
	int err = bpfsys_test_run(b->prog, &status);
	for (u32 i = 0; !err && i < nr; i++) {
		pieces[i].err = a->slots[i].result ? -EFAULT : 0;
		if (!pieces[i].err)
			memcpy(pieces[i].to, a->data[i], pieces[i].size);
	}
	return err;
}

static int current_task(struct memory *m, u64 *ret)
{
	struct bpf_memory *b = container_of(m, struct bpf_memory, m);
	u32 status;
	b->area->slots[0].size = 0;
	int err = bpfsys_test_run(b->prog, &status);
	if (!err)
		*ret = b->area->current_task;
	return err;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void close_bpf(struct memory *m)
{
	struct bpf_memory *b = container_of(m, struct bpf_memory, m);
	if (b->area)
		(void)munmap(b->area, b->mapped);
	close_fd(&b->prog);
	close_fd(&b->map);
	free(b);
}

static const struct memory_ops bpf_ops = {
	.name = "BPF (bpf_probe_read_kernel)",
	.read = read_pieces,
	.current_task = current_task,
	.close = close_bpf,
};

static int open_all(struct bpf_memory *b)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	b->map = bpfsys_map_create(&(struct bpfsys_map){ .type = BPF_MAP_TYPE_ARRAY,
							 .key_size = sizeof(u32),
							 .value_size = sizeof(struct area),
							 .max_entries = 1,
							 .flags = BPF_F_MMAPABLE,
							 .name = "sonde_inspect" });
	if (b->map < 0)
		return b->map;
	b->prog = load_reader(b);
	if (b->prog < 0)
		return b->prog;
	b->mapped = (sizeof(struct area) + page - 1) / page * page;
	void *area = mmap(NULL, b->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, b->map, 0);
	if (area == MAP_FAILED)
		return -errno;
	b->area = area;
	return 0;
}

int memory_open_bpf(struct memory **ret)
{
	struct bpf_memory *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct bpf_memory){ .m.ops = &bpf_ops, .map = -1, .prog = -1 };
	int err = open_all(b);
	if (err)
		close_bpf(&b->m);
	else
		*ret = &b->m;
	return err;
}

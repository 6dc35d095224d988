#include "memory/kstacks.h"

#include "base/dict.h"
#include "kern/bpf_sys.h"
#include "kern/bpf_insns.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What the program writes for each task. */
struct stack_record {
	u64 task;
	s64 bytes; /* of ips, or negative errno */
	u64 ips[KSTACK_FRAMES];
};

struct kstacks {
	VEC(struct stack_record) records;
	struct dict by_task; /* index into records */
};

enum { RECORDS_MAX = 1 << 20, STACK = 16384 };

/* The context: {meta, task}; meta begins with the file that is written to. At the end task is NULL. */
static int load_program(int map, u32 function)
{
	const struct bpf_insn insns[] = {
		MOV(R6, R1),
		LOAD(R7, R6, 8),
		INSN(BPF_JMP | BPF_JNE | BPF_K, R7, 0, 2, 0),
		MOV_IMM(R0, 0),
		EXIT(),
		INSN(BPF_ST | BPF_MEM | BPF_W, R10, 0, -4, 0),
		MOV(R2, R10),
		ADD_IMM(R2, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JNE | BPF_K, R0, 0, 2, 0),
		MOV_IMM(R0, 0),
		EXIT(),
		MOV(R8, R0),
		STORE(R8, offsetof(struct stack_record, task), R7),
		MOV(R1, R7),
		MOV(R2, R8),
		ADD_IMM(R2, offsetof(struct stack_record, ips)),
		MOV_IMM(R3, KSTACK_FRAMES * sizeof(u64)),
		MOV_IMM(R4, 0),
		CALL(BPF_FUNC_get_task_stack),
		STORE(R8, offsetof(struct stack_record, bytes), R0),
		LOAD(R1, R6, 0),
		LOAD(R1, R1, 0),
		MOV(R2, R8),
		MOV_IMM(R3, sizeof(struct stack_record)),
		CALL(BPF_FUNC_seq_write),
		MOV_IMM(R0, 0),
		EXIT(),
	};
	return bpfsys_prog_load(&(struct bpfsys_prog){ .type = BPF_PROG_TYPE_TRACING,
						       .expected_attach_type = BPF_TRACE_ITER,
						       .attach_btf_id = function,
						       .name = "sonde_stacks",
						       .insns = insns,
						       .nr_insns = ARRAY_SIZE(insns),
						       .license = "GPL" },
				0, NULL);
}

/* A read ends between two records, but it need not: what is incomplete waits for the rest. */
static int read_records(struct kstacks *s, int fd)
{
	struct stack_record now;
	size_t have = 0;
	for (;;) {
		ssize_t got = read(fd, (u8 *)&now + have, sizeof(now) - have);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return got ? -errno : 0;
		have += (size_t)got;
		if (have < sizeof(now))
			continue;
		have = 0;
		if (s->records.nr >= RECORDS_MAX)
			return -E2BIG;
		struct stack_record *slot = vec_push(&s->records);
		if (!slot)
			return -ENOMEM;
		*slot = now;
		u32 had;
		int err = dict_add(&s->by_task, now.task, (u32)(s->records.nr - 1), &had);
		if (err)
			return err;
	}
}

static int run_iterator(struct kstacks *s, u32 function)
{
	_cleanup_close_ int map =
		bpfsys_map_create(&(struct bpfsys_map){ .type = BPF_MAP_TYPE_ARRAY,
							.key_size = sizeof(u32),
							.value_size = sizeof(struct stack_record),
							.max_entries = 1,
							.name = "sonde_stacks" });
	if (map < 0)
		return map;
	_cleanup_close_ int prog = load_program(map, function);
	if (prog < 0)
		return prog;
	_cleanup_close_ int link = bpfsys_link_iter(prog);
	if (link < 0)
		return link;
	_cleanup_close_ int fd = bpfsys_iter_open(link);
	return fd < 0 ? fd : read_records(s, fd);
}

int kstacks_open(struct kspace *k, struct kstacks **ret)
{
	struct btf *b;
	u32 function;
	int err = kspace_types(k, &b);
	if (err)
		return err;
	if (btf_function_id(b, "bpf_iter_task", &function))
		return diag_error(k->diag, -ENOTSUP,
				  "cannot read stacks: this kernel has no BPF iterator over tasks");
	struct kstacks *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	dict_init(&s->by_task);
	err = run_iterator(s, function);
	if (err) {
		kstacks_close(s);
		return diag_error(k->diag, err, "cannot read stacks through a BPF iterator: %s",
				  strerror(-err));
	}
	*ret = s;
	return 0;
}

void kstacks_close(struct kstacks *s)
{
	if (!s)
		return;
	vec_free(&s->records);
	dict_done(&s->by_task);
	free(s);
}

bool kstacks_find(const struct kstacks *s, u64 task, const u64 **ips, u32 *nr)
{
	u32 at = dict_get(&s->by_task, task);
	if (at == DICT_NONE)
		return false;
	const struct stack_record *r = &s->records.at[at];
	*ips = r->ips;
	*nr = r->bytes > 0 ? (u32)min((u64)r->bytes / sizeof(u64), (u64)KSTACK_FRAMES) : 0;
	return true;
}

int kstack_places(struct kspace *k, const struct ktask *task, const u64 *ips, u32 nr, u64 *places)
{
	enum { WORDS = STACK / sizeof(u64) };
	u64 words[WORDS];
	struct memory *m;
	memset(places, 0, nr * sizeof(*places));
	if (task->sp < task->stack || task->sp - task->stack >= STACK)
		return 0; /* runs, or has a larger stack */
	size_t left = (size_t)(task->stack + STACK - task->sp) / sizeof(u64);
	int err = kspace_memory(k, &m);
	if (!err)
		err = memory_read(m, task->sp, words, left * sizeof(u64));
	if (err)
		return err == -EFAULT ? 0 : err;
	for (size_t n = 0, at = 0; n < nr; n++) {
		size_t found = at;
		while (found < left && words[found] != ips[n])
			found++;
		if (found == left)
			continue;
		places[n] = task->sp + found * sizeof(u64);
		at = found + 1;
	}
	return 0;
}

bool kstack_user_regs(struct kspace *k, const struct ktask *task, struct kregs *ret)
{
	enum { CS_USER = 0x33, CS_USER32 = 0x23, FRED = 16 }; /* what FRED leaves free at the top */
	struct memory *m;
	if (kspace_memory(k, &m) || !kspace_is_x86(k))
		return false;
	for (u64 room = 0; room <= FRED; room += FRED) {
		u64 at = task->stack + STACK - room - sizeof(*ret);
		if (!memory_read(m, at, ret, sizeof(*ret)) &&
		    (ret->cs == CS_USER || ret->cs == CS_USER32))
			return true;
	}
	return false;
}

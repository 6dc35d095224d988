#include "bpf/load.h"

#include "base/clock.h"
#include "bpf/refusal.h"
#include "kern/bpf_features.h"
#include "kern/bpf_sys.h"
#include "kern/pid_ns.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <unistd.h>

int program_map_of(const struct program *p, enum program_map_role role)
{
	for (size_t i = 0; i < p->maps.nr; i++)
		if (p->maps.at[i].role == role)
			return (int)i;
	return -1;
}

void script_span(struct diag *d, const char *script, u32 start, u32 len)
{
	if (!script || start > strlen(script))
		return;
	const char *line = script + start;
	while (line > script && line[-1] != '\n')
		line--;
	char *text = strndup(line, strcspn(line, "\n"));
	if (!text)
		return;
	size_t at = (size_t)(script + start - line);
	size_t room = strlen(text) - min(at, strlen(text));
	diag_span(d, text, at, min((size_t)max(len, 1u), max(room, (size_t)1)));
	free(text);
}

/* "0-3" of /sys/devices/system/cpu/possible: per-CPU maps have a value for each. */
static u32 possible_cpus(const struct sysroot *r)
{
	struct strbuf buf;
	strbuf_init(&buf);
	const char *line = sysroot_line(r, "sys/devices/system/cpu/possible", &buf);
	const char *last = line ? strrchr(line, '-') : NULL;
	if (line && !last)
		last = strrchr(line, ',');
	unsigned long top = line ? strtoul(last ? last + 1 : line, NULL, 10) : 0;
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	u32 nr = line ? (u32)top + 1 : (u32)max(configured, 1L);
	strbuf_done(&buf);
	return nr;
}

u32 program_map_entries(const struct program *p, u32 i)
{
	enum { RING_BYTES = 4 << 20, CONTROL_BYTES = 1 << 16, LARGEST = 1 << 30 };
	const struct program_map *m = &p->maps.at[i];
	if (m->max_entries || m->type != BPF_MAP_TYPE_RINGBUF)
		return m->max_entries;
	if (m->role == PROGRAM_MAP_CONTROL)
		return CONTROL_BYTES;
	u64 want = (u64)p->config.ring_pages * (u64)sysconf(_SC_PAGESIZE);
	u64 size = (u64)sysconf(_SC_PAGESIZE);
	while (size < min(want, (u64)LARGEST))
		size *= 2;
	return want ? (u32)size : RING_BYTES;
}

static int explain_map(struct loaded *l, const struct program_map *m, int err, struct diag *d)
{
	char what[128];
	snprintf(what, sizeof(what), "create map %s", m->name ? m->name : "");
	if (err == -EPERM)
		return bpfsys_explain_permission(l->root, what, d);
	diag_error(d, err, "cannot %s with %u entries of %u + %u bytes: %s", what, m->max_entries,
		   m->key_size, m->value_size, strerror(-err));
	if (err == -ENOMEM || err == -E2BIG)
		diag_hint(d, "use fewer keys: config = { max_map_keys = 1024 }");
	return err;
}

static int make_map(struct loaded *l, u32 i, struct diag *d)
{
	const struct program_map *m = &l->program->maps.at[i];
	const char *name = m->name ? m->name : "map";
	int fd = bpfsys_map_create(
		&(struct bpfsys_map){ .type = m->type,
				      .key_size = m->key_size,
				      .value_size = m->value_size,
				      .max_entries = program_map_entries(l->program, i),
				      .flags = m->flags,
				      .name = name[0] == '@' && name[1] ? name + 1 : name });
	if (fd < 0)
		return explain_map(l, m, fd, d);
	l->maps[i] = fd;
	if (!m->init)
		return 0;
	const u32 zero = 0;
	int rc = bpfsys_map_update(fd, &zero, m->init, 0);
	if (!rc && m->role == PROGRAM_MAP_DATA)
		rc = bpfsys_map_freeze(fd);
	return rc ? explain_map(l, m, rc, d) : 0;
}

/* The hash of stacks finds its addresses by number; facts are known now. */
static int write_facts(struct loaded *l, s32 command)
{
	int i = program_map_of(l->program, PROGRAM_MAP_FACTS);
	if (i < 0)
		return 0;
	struct program_facts f = { .start_ns = l->start_ns, .command = (u64)command };
	const u32 zero = 0;
	return bpfsys_map_update(l->maps[i], &zero, &f, 0);
}

int loaded_set_command(struct loaded *l, s32 pid)
{
	return write_facts(l, pid);
}

int loaded_open(struct loaded *l, const struct program *p, const struct sysroot *root,
		const char *script, struct diag *d)
{
	*l = (struct loaded){ .program = p, .root = root, .script = script };
	strbuf_init(&l->log);
	l->nr_cpus = possible_cpus(root);
	l->start_ns = clock_ns(CLOCK_BOOTTIME);
	l->maps = malloc(max(p->maps.nr, (size_t)1) * sizeof(*l->maps));
	if (!l->maps)
		return -ENOMEM;
	for (size_t i = 0; i < p->maps.nr; i++)
		l->maps[i] = -1;
	int rc = 0;
	for (size_t i = 0; i < p->maps.nr && !rc; i++)
		rc = make_map(l, (u32)i, d);
	if (!rc)
		rc = write_facts(l, 0);
	if (rc)
		loaded_close(l);
	return rc;
}

void loaded_close(struct loaded *l)
{
	vec_for_each (&l->codes, c)
		close(c->fd);
	vec_free(&l->codes);
	for (size_t i = 0; l->maps && i < l->program->maps.nr; i++)
		if (l->maps[i] >= 0)
			close(l->maps[i]);
	free(l->maps);
	strbuf_done(&l->log);
	*l = (struct loaded){ 0 };
}

/*
 * A code that is written for single system calls, run at raw_syscalls: the number of the call is the first field of either, so a check
 * before it is all that is needed. The mask is looked up without a map:
 *
 *	r2 = id; if r2 >= 512 exit; r3 = mask[r2 / 64]; if !(r3 >> r2 % 64 & 1) exit
 */
#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

enum { SYSCALL_OFFSET = 8, PLACE_FUNCTION = 3 };

/*
 * 32-bit programs number their calls otherwise, and the tracepoints of single calls leave them out: thread_info.status, which begins
 * task_struct, has TS_COMPAT then. The jump before the last instruction is to be told where to go.
 */
static u32 other_abi_check(struct bpf_insn *to)
{
	u32 n = 0;
#ifdef __x86_64__
	enum { STATUS_OFFSET = 16, TS_COMPAT = 2, SLOT = -8 };
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0);
	to[n++] = INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, SLOT, 0);
	to[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_task);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 3, 0, 0, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, STATUS_OFFSET);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, SLOT);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 4);
	to[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel);
	to[n++] = INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 10, SLOT, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, TS_COMPAT);
	to[n++] = INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0);
#else
	(void)to;
#endif
	return n;
}

/*
 * Only for one process: its number in our own namespace of processes.
 *
 *	if it is not the one: exit
 */
static u32 pid_check(const struct sysroot *root, s32 pid, struct bpf_insn *to)
{
	enum { SLOT = -8, TGID = -4 };
	struct pid_ns ns = pid_ns_own(root);
	u32 n = 0;
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0);
	if (ns.ino) {
		to[n++] = INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, SLOT, 0);
		to[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, 1, 0, 0, (s32)ns.dev);
		to[n++] = INSN(0, 0, 0, 0, (s32)(ns.dev >> 32));
		to[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, 2, 0, 0, (s32)ns.ino);
		to[n++] = INSN(0, 0, 0, 0, (s32)(ns.ino >> 32));
		to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0, 0);
		to[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, SLOT);
		to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 8);
		to[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_ns_current_pid_tgid);
		to[n++] = INSN(BPF_LDX | BPF_MEM | BPF_W, 0, 10, TGID, 0);
	} else {
		to[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_pid_tgid);
		to[n++] = INSN(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
	}
	to[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, pid);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	to[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0);
	return n;
}

/* Only for tasks of a control group: the ancestor at its level is the group itself for all that are in it or below. */
static u32 cgroup_check(const struct cgroup_place *at, struct bpf_insn *to)
{
	u32 n = 0;
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, (s32)at->level);
	to[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_ancestor_cgroup_id);
	to[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, 1, 0, 0, (s32)at->id);
	to[n++] = INSN(0, 0, 0, 0, (s32)(at->id >> 32));
	to[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 2, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	to[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0);
	return n;
}

/* Clocks and what runs here happen in whatever task there is. */
static bool happens_in_task(enum program_provider provider)
{
	switch (provider) {
	case PROGRAM_BEGIN:
	case PROGRAM_END:
	case PROGRAM_INTERVAL:
	case PROGRAM_PROFILE:
	case PROGRAM_ITER:
	case PROGRAM_SIGNAL: return false;
	default: return true;
	}
}

static u32 syscall_check(const u64 *mask, struct bpf_insn *to)
{
	enum { IDS = LOAD_SYSCALL_WORDS * 64 };
	u32 n = other_abi_check(to);
	u32 other_abi = n ? n - 2 : 0;
	to[n++] = INSN(BPF_LDX | BPF_MEM | BPF_DW, 2, 1, SYSCALL_OFFSET, 0);
	u32 too_large = n;
	to[n++] = INSN(BPF_JMP | BPF_JGE | BPF_K, 2, 0, 0, IDS);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_RSH | BPF_K, 4, 0, 0, 6);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0);
	for (u32 i = 0; i < LOAD_SYSCALL_WORDS; i++) {
		to[n++] = INSN(BPF_JMP | BPF_JNE | BPF_K, 4, 0, 2, (s32)i);
		to[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, 3, 0, 0, (s32)mask[i]);
		to[n++] = INSN(0, 0, 0, 0, (s32)(mask[i] >> 32));
	}
	to[n++] = INSN(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 63);
	to[n++] = INSN(BPF_ALU64 | BPF_RSH | BPF_X, 3, 2, 0, 0);
	to[n++] = INSN(BPF_ALU64 | BPF_AND | BPF_K, 3, 0, 0, 1);
	to[n++] = INSN(BPF_JMP | BPF_JNE | BPF_K, 3, 0, 2, 0);
	to[too_large].off = (s16)(n - too_large - 1);
	if (other_abi)
		to[other_abi].off = (s16)(n - other_abi - 1);
	to[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	to[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return n;
}

enum { CHECK_MAX = 16 + 10 + 24 + 3 * LOAD_SYSCALL_WORDS + 8 };

static bool is_function_reference(const struct bpf_insn *i)
{
	bool call = i->code == (BPF_JMP | BPF_CALL) && i->src_reg == BPF_PSEUDO_CALL;
	bool pointer = i->code == (BPF_LD | BPF_DW | BPF_IMM) && i->src_reg == BPF_PSEUDO_FUNC;
	return call || pointer;
}

static int compare_u32(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	return x < y ? -1 : x > y;
}

/* Where functions begin, ascending, the program itself first. */
struct functions {
	VEC(u32) at;
};

static int find_functions(const struct bpf_insn *insns, u32 nr, struct functions *f)
{
	u32 *first = vec_push(&f->at);
	if (!first)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		if (!is_function_reference(&insns[i]))
			continue;
		u32 *at = vec_push(&f->at);
		if (!at)
			return -ENOMEM;
		*at = i + 1 + (u32)insns[i].imm;
	}
	qsort(f->at.at, f->at.nr, sizeof(u32), compare_u32);
	size_t kept = 1;
	for (size_t i = 1; i < f->at.nr; i++)
		if (f->at.at[i] != f->at.at[kept - 1])
			f->at.at[kept++] = f->at.at[i];
	f->at.nr = kept;
	return 0;
}

/*
 * Callbacks are refused without types: int, a prototype without parameters, and a function for each. Types 1, 2, 3...
 */
static int load_function_types(size_t nr_functions)
{
	static const char strings[] = "\0int\0function";
	enum { INT_NAME = 1, FUNCTION_NAME = 5 };
	u32 type_len = (u32)(sizeof(struct btf_type) + 4 + sizeof(struct btf_type) +
			     nr_functions * sizeof(struct btf_type));
	struct strbuf blob;
	strbuf_init(&blob);
	struct btf_header head = { .magic = BTF_MAGIC,
				   .version = BTF_VERSION,
				   .hdr_len = sizeof(head),
				   .type_len = type_len,
				   .str_off = type_len,
				   .str_len = sizeof(strings) };
	struct btf_type integer = { .name_off = INT_NAME, .info = BTF_KIND_INT << 24, .size = 4 };
	const u32 encoding = BTF_INT_SIGNED << 24 | 32;
	struct btf_type prototype = { .info = BTF_KIND_FUNC_PROTO << 24, .type = 1 };
	struct btf_type function = { .name_off = FUNCTION_NAME,
				     .info = BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC,
				     .type = 2 };
	strbuf_add(&blob, &head, sizeof(head));
	strbuf_add(&blob, &integer, sizeof(integer));
	strbuf_add(&blob, &encoding, sizeof(encoding));
	strbuf_add(&blob, &prototype, sizeof(prototype));
	for (size_t i = 0; i < nr_functions; i++)
		strbuf_add(&blob, &function, sizeof(function));
	strbuf_add(&blob, strings, sizeof(strings));
	int rc = blob.err ? blob.err : bpfsys_btf_load(blob.data, (u32)blob.len);
	strbuf_done(&blob);
	return rc;
}

/* The code as this kind of program: with its check, and maps in place. */
struct built {
	struct bpf_insn *insns;
	u32 nr, shift; /* instructions before the code's own */
};

/*
 * Where one program serves many places, its cookie is no place: instead of it the code gets place_base and the number of the system call,
 * from a function at the end.
 */
static void place_by_number(struct built *b, u32 place_base)
{
	u32 function = b->nr;
	for (u32 i = b->shift; i < function; i++) {
		struct bpf_insn *at = &b->insns[i];
		if (at->code != (BPF_JMP | BPF_CALL) || at->src_reg ||
		    at->imm != BPF_FUNC_get_attach_cookie)
			continue;
		at->src_reg = BPF_PSEUDO_CALL;
		at->imm = (s32)(function - i - 1);
		b->nr = function + PLACE_FUNCTION;
	}
	if (b->nr == function)
		return;
	b->insns[function] = INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 1, SYSCALL_OFFSET, 0);
	b->insns[function + 1] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, (s32)place_base);
	b->insns[function + 2] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int build(struct loaded *l, const struct program_code *c, const struct load_kind *kind,
		 struct built *b)
{
	b->insns = calloc((size_t)c->nr + CHECK_MAX + PLACE_FUNCTION, sizeof(*b->insns));
	if (!b->insns)
		return -ENOMEM;
	if (kind->of_task && l->pid)
		b->shift = pid_check(l->root, l->pid, b->insns);
	if (kind->of_task && l->cgroup.id)
		b->shift += cgroup_check(&l->cgroup, b->insns + b->shift);
	if (kind->syscalls)
		b->shift += syscall_check(kind->syscalls, b->insns + b->shift);
	memcpy(b->insns + b->shift, c->insns, (size_t)c->nr * sizeof(*b->insns));
	b->nr = b->shift + c->nr;
	if (kind->syscalls)
		place_by_number(b, kind->place_base);
	for (u32 i = 0; i < c->nr_relocs; i++) {
		const struct program_reloc *r = &c->relocs[i];
		if (r->insn + 1 >= c->nr || r->map >= l->program->maps.nr)
			return -EINVAL;
		struct bpf_insn *at = b->insns + b->shift + r->insn;
		at[0].src_reg = r->value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
		at[0].imm = l->maps[r->map];
		at[1].imm = r->value ? (s32)r->offset : 0;
	}
	return 0;
}

static int load_built(struct loaded *l, const struct program_code *c, const struct load_kind *kind,
		      const struct built *b, u32 level, char **log)
{
	struct functions f = { 0 };
	struct bpfsys_func *infos = NULL;
	int btf = 0, rc = find_functions(b->insns, b->nr, &f);
	if (!rc && f.at.nr > 1) {
		infos = calloc(f.at.nr, sizeof(*infos));
		btf = load_function_types(f.at.nr);
		rc = !infos ? -ENOMEM : min(btf, 0);
		for (size_t i = 0; infos && i < f.at.nr; i++)
			infos[i] = (struct bpfsys_func){ .insn = f.at.at[i], .type_id = (u32)i + 3 };
	}
	if (!rc)
		rc = bpfsys_prog_load(
			&(struct bpfsys_prog){ .type = kind->type,
					       .expected_attach_type = kind->attach_type,
					       .name = c->name,
					       .insns = b->insns,
					       .nr_insns = b->nr,
					       .license = l->program->license ? l->program->license
									      : "GPL",
					       .flags = kind->sleepable ? BPF_F_SLEEPABLE : 0,
					       .attach_btf_id = kind->btf_id,
					       .attach_btf_fd = kind->btf_fd,
					       .btf_fd = btf,
					       .funcs = infos,
					       .nr_funcs = infos ? (u32)f.at.nr : 0 },
			level, log);
	if (btf > 0)
		close(btf);
	free(infos);
	vec_free(&f.at);
	return rc;
}

static bool same_kind(const struct load_kind *a, const struct load_kind *b)
{
	bool masks = a->syscalls && b->syscalls
			     ? !memcmp(a->syscalls, b->syscalls, LOAD_SYSCALL_WORDS * sizeof(u64))
			     : a->syscalls == b->syscalls;
	return masks && a->of_task == b->of_task && a->place_base == b->place_base &&
	       a->type == b->type && a->attach_type == b->attach_type && a->btf_id == b->btf_id &&
	       a->btf_fd == b->btf_fd && a->sleepable == b->sleepable;
}

static int remember(struct loaded *l, const struct program_probe *probe,
		    const struct load_kind *kind, int fd)
{
	struct loaded_code *c = vec_push(&l->codes);
	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	*c = (struct loaded_code){
		.code = probe->code, .kind = *kind, .fd = fd, .place = probe->text
	};
	return fd;
}

static int load(struct loaded *l, const struct program_probe *probe, const struct load_kind *wanted,
		bool explain, struct diag *d)
{
	struct load_kind own = *wanted;
	const struct load_kind *kind = &own;
	own.of_task = (l->pid || l->cgroup.id) && happens_in_task(probe->provider);
	vec_for_each (&l->codes, c)
		if (c->code == probe->code && same_kind(&c->kind, kind))
			return c->fd;
	if (probe->code >= l->program->codes.nr)
		return -EINVAL;
	const struct program_code *code = &l->program->codes.at[probe->code];
	struct built b = { 0 };
	_cleanup_free_ char *log = NULL;
	u64 begin = clock_monotonic_ns();
	int rc = build(l, code, kind, &b);
	if (!rc)
		rc = load_built(l, code, kind, &b, l->want_log ? 1 : 0, l->want_log ? &log : NULL);
	if (rc < 0 && rc != -EPERM && explain && !log) {
		/* Once more, for its words: loading without them is quicker. */
		int again = load_built(l, code, kind, &b, 1, &log);
		rc = again;
	}
	l->verify_ns += clock_monotonic_ns() - begin;
	if (log && l->want_log)
		strbuf_printf(&l->log, "%s:\n%s", probe->text, log);
	if (rc < 0 && explain) {
		struct refusal_place at = {
			.script = l->script, .probe = probe, .code = code, .shift = b.shift
		};
		char what[256];
		snprintf(what, sizeof(what), "load the program for %s", probe->text);
		rc = rc == -EPERM && (!log || !*log) ? bpfsys_explain_permission(l->root, what, d)
						     : refusal_explain(&at, rc, log, d);
	}
	free(b.insns);
	return rc < 0 ? rc : remember(l, probe, kind, rc);
}

int loaded_code(struct loaded *l, const struct program_probe *probe, const struct load_kind *kind,
		struct diag *d)
{
	return load(l, probe, kind, true, d);
}

int loaded_try(struct loaded *l, const struct program_probe *probe, const struct load_kind *kind)
{
	return load(l, probe, kind, false, NULL);
}

/* Maps and programs of capture.h, and what their records say. */
#include "bpf/capture.h"

#include "bpf/capture_impl.h"
#include "kern/bpf_sys.h"
#include "kern/pid_ns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

/* ---- maps and programs ------------------------------------------------------------------------------------------ */

static int make_map(int *fd, u32 type, const char *name, u32 key, u32 value, u32 entries)
{
	*fd = bpfsys_map_create(&(struct bpfsys_map){
		.type = type,
		.key_size = key,
		.value_size = value,
		.max_entries = entries,
		.flags = type == BPF_MAP_TYPE_HASH ? BPF_F_NO_PREALLOC : 0,
		.name = name,
	});
	return *fd < 0 ? *fd : 0;
}

static int make_maps(struct capture *c)
{
	u32 cpus = (u32)sysconf(_SC_NPROCESSORS_CONF);
	int err = make_map(&c->out, BPF_MAP_TYPE_PERF_EVENT_ARRAY, "sonde_out", 4, 4, cpus);
	if (!err)
		err = make_map(&c->table, BPF_MAP_TYPE_ARRAY, "sonde_calls", 4,
			       sizeof(struct capture_row), CAPTURE_CALLS);
	if (!err)
		err = make_map(&c->tasks, BPF_MAP_TYPE_HASH, "sonde_tasks", 8,
			       sizeof(struct capture_task), CAPTURE_TASKS);
	if (!err)
		err = make_map(&c->waiting, BPF_MAP_TYPE_HASH, "sonde_waiting", 8,
			       sizeof(struct capture_task), CAPTURE_TASKS);
	if (!err)
		err = make_map(&c->scratch, BPF_MAP_TYPE_PERCPU_ARRAY, "sonde_scratch", 4,
			       sizeof(struct capture_scratch), 1);
	return err ? err : make_map(&c->count, BPF_MAP_TYPE_ARRAY, "sonde_missed", 4, 8, 1);
}

static const struct {
	const char *name, *tracepoint;
	bool of_tasks; /* not needed where everybody is seen */
} programs[CAPTURE_PROGRAMS] = {
	[PROGRAM_ENTER] = { "sonde_enter", "sys_enter", false },
	[PROGRAM_EXIT] = { "sonde_exit", "sys_exit", false },
	[PROGRAM_FORK] = { "sonde_fork", "sched_process_fork", true },
	[PROGRAM_EXEC] = { "sonde_exec", "sched_process_exec", true },
	[PROGRAM_END_OF_TASK] = { "sonde_end", "sched_process_exit", true },
};

static bool is_needed(const struct capture *c, u32 i)
{
	return !programs[i].of_tasks || (!c->o.everybody && (i != PROGRAM_FORK || c->o.children));
}

static struct capture_namespace find_namespace(const struct sysroot *root)
{
	struct pid_ns ns = pid_ns_own(root);
	return (struct capture_namespace){ .dev = ns.dev, .ino = ns.ino };
}

static int load(struct capture *c, u32 i, const struct capture_namespace *ns, struct diag *d)
{
	_cleanup_free_ struct capture_code *code = malloc(sizeof(*code));
	int err = code ? capture_make(code, i, c, ns) : -ENOMEM;
	if (err)
		return err;
	struct bpfsys_prog p = { .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				 .name = programs[i].name,
				 .insns = code->at,
				 .nr_insns = code->nr,
				 .license = "GPL" };
	c->progs[i] = bpfsys_prog_load(&p, 0, NULL);
	if (c->progs[i] != -EACCES && c->progs[i] != -EINVAL)
		return min(c->progs[i], 0);
	/* The end of the verifier's log has the reason. */
	_cleanup_free_ char *log = NULL;
	c->progs[i] = bpfsys_prog_load(&p, 1, &log);
	if (c->progs[i] < 0 && log) {
		size_t len = strlen(log);
		diag_note(d, "%s: %s", programs[i].name, log + (len > 400 ? len - 400 : 0));
	}
	return min(c->progs[i], 0);
}

static int explain(int err, struct diag *d)
{
	diag_note(d, "strings and structures of system calls are not shown: %s",
		  err == -EPERM	    ? "no permission to load BPF programs"
		  : err == -ENOSYS  ? "this kernel has no BPF"
		  : err == -ENOTSUP ? "not supported on this architecture"
				    : strerror(-err));
	if (err == -EPERM)
		diag_hint(d, "they need root, or CAP_BPF and CAP_PERFMON");
	return err;
}

int capture_open(struct capture *c, const struct sysroot *root, const struct capture_opts *o,
		 struct diag *d)
{
	*c = (struct capture){ .o = *o };
	int *const all[] = { &c->out, &c->table, &c->tasks, &c->waiting, &c->scratch, &c->count };
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		*all[i] = -1;
	for (u32 i = 0; i < CAPTURE_PROGRAMS; i++)
		c->progs[i] = c->links[i] = -1;
	struct capture_namespace ns = find_namespace(root);
	int err = make_maps(c);
	for (u32 i = 0; i < CAPTURE_PROGRAMS && !err; i++)
		if (is_needed(c, i))
			err = load(c, i, &ns, d);
	if (err)
		capture_close(c);
	return err ? explain(err, d) : 0;
}

void capture_close(struct capture *c)
{
	int *const all[] = { &c->out, &c->table, &c->tasks, &c->waiting, &c->scratch, &c->count };
	for (u32 i = 0; i < CAPTURE_PROGRAMS; i++) {
		cleanup_close(&c->links[i]);
		cleanup_close(&c->progs[i]);
		c->links[i] = c->progs[i] = -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		cleanup_close(all[i]);
		*all[i] = -1;
	}
}

int capture_add_call(struct capture *c, u64 nr, const struct syscall *call)
{
	struct capture_row row = { .shown = 1 };
	u32 key = (u32)nr;
	if (nr >= CAPTURE_CALLS)
		return 0;
	for (u32 i = 0; i < call->nr_pieces; i++) {
		row.pieces[i] = call->pieces[i];
		row.when |= call->pieces[i].when;
	}
	return bpfsys_map_update(c->table, &key, &row, BPF_ANY);
}

int capture_add_task(struct capture *c, s32 tid, bool until_exec)
{
	u64 key = (u32)tid;
	struct capture_task t = { .state = until_exec ? TASK_UNTIL_EXEC : TASK_ON };
	return bpfsys_map_update(c->waiting, &key, &t, BPF_ANY);
}

int capture_add_cpu(struct capture *c, u32 cpu, int fd)
{
	return bpfsys_map_update(c->out, &cpu, &fd, BPF_ANY);
}

int capture_start(struct capture *c, struct diag *d)
{
	for (u32 i = CAPTURE_PROGRAMS; i-- > 0;) {
		if (c->progs[i] < 0)
			continue;
		c->links[i] = bpfsys_link_raw_tracepoint(c->progs[i], programs[i].tracepoint, 0);
		if (c->links[i] < 0)
			return diag_error(d, c->links[i], "cannot watch %s: %s",
					  programs[i].tracepoint, strerror(-c->links[i]));
	}
	return 0;
}

u64 capture_missed(const struct capture *c)
{
	u32 key = 0;
	u64 missed = 0;
	return bpfsys_map_lookup(c->count, &key, &missed) ? 0 : missed;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

bool capture_decode(const u8 *raw, size_t size, struct captured *ret)
{
	struct bytes b = bytes_of(raw, size, false);
	*ret = (struct captured){ 0 };
	bool ours = bytes_u32(&b) == CAPTURE_MAGIC;
	u8 kind = bytes_u8(&b), flags = bytes_u8(&b);
	bytes_skip(&b, sizeof(u16));
	ret->nr = bytes_u32(&b);
	bytes_skip(&b, sizeof(u32));
	if (!ours || b.bad || (kind != CAPTURE_ENTER && kind != CAPTURE_EXIT))
		return false;
	ret->kind = kind;
	ret->before_exec = flags & CAPTURE_BEFORE_EXEC;
	for (u32 i = 0; kind == CAPTURE_ENTER && i < SYSCALL_ARGS; i++)
		ret->args[i] = bytes_u64(&b);
	if (kind == CAPTURE_EXIT)
		ret->ret = (s64)bytes_u64(&b);
	for (u32 i = 0; i < SYSCALL_PIECES; i++)
		ret->len[i] = (s16)bytes_u16(&b);
	bytes_skip(&b, 2 * sizeof(s16));
	for (u32 i = 0; i < SYSCALL_PIECES; i++)
		if (ret->len[i] > 0)
			ret->data[i] = bytes_take(&b, (size_t)ret->len[i]);
	return !b.bad;
}

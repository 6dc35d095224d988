#include "session/side_lines.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

typedef unsigned long long ull;

struct side_lines {
	struct perf_sides sides;
	size_t next;
	u32 show;
	struct sample_choice where; /* CPUs */
	const struct perfdata *file;
	struct dict by_tid; /* tid -> index into comms */
	VEC(u32) comms; /* names as of now */
	struct strtab names; /* they outlive the round that told them */
};

/* Out of memory, a name is missing in a line: not worth stopping for. */
static void set_comm(struct side_lines *s, u32 tid, const char *name)
{
	u32 at;
	s64 id = strtab_add(&s->names, name, strlen(name));
	if (id < 0 || dict_add(&s->by_tid, tid, (u32)s->comms.nr, &at))
		return;
	if (at == s->comms.nr && !vec_push(&s->comms))
		return;
	s->comms.at[at] = (u32)id;
}

int side_lines_new(struct side_lines **ret, u32 show)
{
	struct side_lines *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->show = show;
	dict_init(&s->by_tid);
	strtab_init(&s->names);
	set_comm(s, 0, "swapper");
	*ret = s;
	return 0;
}

int side_lines_read(struct side_lines *s, const struct source *src, const struct sample_choice *when)
{
	s->file = replay_perf_file(src);
	s->where = (struct sample_choice){ .cpus = when->cpus, .nr_cpus = when->nr_cpus };
	s->next = 0;
	perf_sides_done(&s->sides);
	return perf_sides_read(&s->sides, s->file);
}

void side_lines_free(struct side_lines *s)
{
	if (!s)
		return;
	perf_sides_done(&s->sides);
	dict_done(&s->by_tid);
	vec_free(&s->comms);
	strtab_done(&s->names);
	free(s);
}

static const char *comm_of(const struct side_lines *s, u32 tid, char buf[32])
{
	u32 at = dict_get(&s->by_tid, tid);
	if (at != DICT_NONE)
		return strtab_str(&s->names, s->comms.at[at]);
	buf[0] = ':';
	buf[1 + num_s64(buf + 1, (s32)tid)] = '\0';
	return buf;
}

static void take_comm(struct side_lines *s, const struct perf_side *p)
{
	if (p->type == PERF_RECORD_COMM)
		set_comm(s, p->tid, p->name);
	else if (p->type == PERF_RECORD_FORK && dict_get(&s->by_tid, p->ptid) != DICT_NONE)
		set_comm(s, p->tid,
			 strtab_str(&s->names, s->comms.at[dict_get(&s->by_tid, p->ptid)]));
}

static bool wanted(const struct side_lines *s, u32 type)
{
	switch (type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: return s->show & SIDE_TASKS;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: return s->show & SIDE_MMAPS;
	case PERF_RECORD_LOST: return s->show & SIDE_LOST;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE: return s->show & SIDE_SWITCHES;
	case PERF_RECORD_NAMESPACES: return s->show & SIDE_NAMESPACES;
	case PERF_RECORD_CGROUP: return s->show & SIDE_CGROUPS;
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT: return s->show & SIDE_BPF;
	default: return false;
	}
}

static void print_hex(struct strbuf *to, u64 v)
{
	strbuf_str(to, v ? "0x" : "");
	strbuf_hex(to, v);
}

static void print_mmap(const struct perf_side *p, struct strbuf *to)
{
	bool second = p->type == PERF_RECORD_MMAP2;
	strbuf_printf(to, "PERF_RECORD_MMAP%s %d/%d: [", second ? "2" : "", (s32)p->pid,
		      (s32)p->tid);
	print_hex(to, p->addr);
	strbuf_char(to, '(');
	print_hex(to, p->len);
	strbuf_str(to, ") @ ");
	print_hex(to, p->pgoff);
	if (!second) {
		strbuf_printf(to, "]: %c ", p->misc & PERF_RECORD_MISC_MMAP_DATA ? 'r' : 'x');
	} else {
		if (p->build_id) {
			strbuf_str(to, " <");
			for (u32 i = 0; i < p->build_id_size; i++)
				strbuf_printf(to, "%02x", p->build_id[i]);
			strbuf_char(to, '>');
		} else {
			strbuf_printf(to, " %02x:%02x %llu %llu", (u32)(p->dev >> 32), (u32)p->dev,
				      (ull)p->ino, (ull)p->ino_generation);
		}
		strbuf_printf(to, "]: %c%c%c%c ", p->prot & PROT_READ ? 'r' : '-',
			      p->prot & PROT_WRITE ? 'w' : '-', p->prot & PROT_EXEC ? 'x' : '-',
			      p->flags & MAP_SHARED ? 's' : 'p');
	}
	strbuf_str(to, p->name);
	strbuf_char(to, '\n');
}

static void print_switch(const struct perf_side *p, struct strbuf *to)
{
	bool out = p->misc & PERF_RECORD_MISC_SWITCH_OUT,
	     preempt = p->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	const char *how = !out ? "IN         " : preempt ? "OUT preempt" : "OUT        ";
	if (p->type == PERF_RECORD_SWITCH)
		strbuf_printf(to, "PERF_RECORD_SWITCH %s\n", how);
	else
		strbuf_printf(to, "PERF_RECORD_SWITCH_CPU_WIDE %s  %s pid/tid: %5d/%-5d\n", how,
			      out ? "next" : "prev", (s32)p->ppid, (s32)p->ptid);
}

static void print_namespaces(const struct perf_side *p, bool swap, struct strbuf *to)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	struct bytes b = bytes_of(p->namespaces, (size_t)p->nr_namespaces * 16, swap);
	strbuf_printf(to, "PERF_RECORD_NAMESPACES %d/%d - nr_namespaces: %u\n\t\t[", (s32)p->pid,
		      (s32)p->tid, p->nr_namespaces);
	for (u32 i = 0; i < p->nr_namespaces; i++) {
		ull dev = bytes_u64(&b), ino = bytes_u64(&b);
		if (i && !(i % 4))
			strbuf_str(to, "\n\t\t ");
		strbuf_printf(to, "%u/%s: %llu/", i, i < ARRAY_SIZE(names) ? names[i] : "unknown",
			      dev);
		print_hex(to, ino);
		strbuf_str(to, i + 1 == p->nr_namespaces ? "]\n" : ", ");
	}
	if (!p->nr_namespaces)
		strbuf_str(to, "]\n");
}

void side_lines_line(const struct perf_side *p, bool swap, struct strbuf *to)
{
	switch (p->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE: print_switch(p, to); break;
	case PERF_RECORD_NAMESPACES: print_namespaces(p, swap, to); break;
	case PERF_RECORD_CGROUP:
		strbuf_printf(to, "PERF_RECORD_CGROUP cgroup: %llu %s\n", (ull)p->cgroup, p->name);
		break;
	case PERF_RECORD_KSYMBOL:
		strbuf_printf(to,
			      "PERF_RECORD_KSYMBOL addr %llx len %u type %u flags 0x%x name %s\n",
			      (ull)p->addr, (u32)p->len, p->ksym_type, p->ksym_flags, p->name);
		break;
	case PERF_RECORD_BPF_EVENT:
		strbuf_printf(to, "PERF_RECORD_BPF_EVENT type %u, flags %u, id %u\n", p->ksym_type,
			      p->ksym_flags, p->bpf_id);
		break;
	case PERF_RECORD_COMM:
		strbuf_printf(to, "PERF_RECORD_COMM%s: ",
			      p->misc & PERF_RECORD_MISC_COMM_EXEC ? " exec" : "");
		strbuf_str(to, p->name);
		strbuf_printf(to, ":%d/%d\n", (s32)p->pid, (s32)p->tid);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		strbuf_printf(to, "PERF_RECORD_%s(%d:%d):(%d:%d)\n",
			      p->type == PERF_RECORD_FORK ? "FORK" : "EXIT", (s32)p->pid,
			      (s32)p->tid, (s32)p->ppid, (s32)p->ptid);
		break;
	case PERF_RECORD_LOST:
		strbuf_printf(to, "PERF_RECORD_LOST lost %llu\n", (ull)p->lost);
		break;
	default: print_mmap(p, to); break;
	}
}

/* Whose name stands before it. */
static u32 task_of(const struct perf_side *p)
{
	switch (p->type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_CGROUP: return p->who.tid;
	default: return p->tid;
	}
}

void side_lines_until(struct side_lines *s, struct sink *k, u64 time_ns, struct strbuf *to)
{
	for (; s->next < s->sides.rows.nr && s->sides.rows.at[s->next].time <= time_ns; s->next++) {
		const struct perf_side *p = &s->sides.rows.at[s->next].side;
		char buf[32];
		take_comm(s, p);
		if (!wanted(s, p->type))
			continue;
		const struct perfdata_attr *a = perfdata_attr_of(s->file, p->who.id);
		struct sample who = {
			.time_ns = p->who.time,
			.cpu = (s32)p->who.cpu,
			.pid = (s32)p->who.pid,
			.tid = (s32)p->who.tid,
			.event = a ? (u32)(a - s->file->attrs.at) : 0,
		};
		if (!sample_chosen(&s->where, NULL, &who))
			continue;
		text_samples_head(k, &who, comm_of(s, task_of(p), buf), to);
		side_lines_line(p, s->file->swap, to);
	}
}

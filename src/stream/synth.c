#include "stream/synth.h"

#include "kern/cgroup.h"
#include "kern/kmap.h"
#include "sym/kallsyms.h"
#include "wire/perf_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { RECORD_MAX = 0xfff8 };

void synth_init(struct synth *s, const struct sysroot *root, u32 trailer_bytes, bool build_ids,
		struct strbuf *to)
{
	*s = (struct synth){
		.root = root, .to = to, .trailer_bytes = trailer_bytes, .build_ids = build_ids
	};
	procfs_init(&s->proc, root);
	dict_init(&s->files);
}

void synth_done(struct synth *s)
{
	procfs_done(&s->proc);
	dict_done(&s->files);
	vec_free(&s->known);
}

/* Body, then a name padded to 8, then the trailer. name NULL: none. */
static void put_record(struct synth *s, u32 type, u16 misc, const void *body, size_t body_len,
		       const char *name)
{
	size_t name_len = name ? strlen(name) + 1 : 0, padded = (name_len + 7) & ~7ul;
	struct perf_event_header h = { .type = type, .misc = misc };
	size_t size = sizeof(h) + body_len + padded + s->trailer_bytes;
	if (size > RECORD_MAX)
		return; /* a path of more than PATH_MAX: not from this kernel */
	h.size = (u16)size;
	strbuf_add(s->to, &h, sizeof(h));
	strbuf_add(s->to, body, body_len);
	if (name_len)
		strbuf_add(s->to, name, name_len);
	strbuf_fill(s->to, 0, padded - name_len + s->trailer_bytes);
}

void synth_mark(struct synth *s, u32 type)
{
	struct perf_event_header h = { .type = type, .size = sizeof(h) };
	strbuf_add(s->to, &h, sizeof(h));
}

void synth_id_index(struct synth *s, const struct synth_id *ids, size_t nr)
{
	enum { FIT = (RECORD_MAX - 16) / sizeof(struct synth_id) };
	while (nr) {
		u64 n = min(nr, (size_t)FIT);
		struct perf_event_header h = {
			.type = REC_ID_INDEX, .size = (u16)(sizeof(h) + sizeof(n) + n * sizeof(*ids))
		};
		strbuf_add(s->to, &h, sizeof(h));
		strbuf_add(s->to, &n, sizeof(n));
		strbuf_add(s->to, ids, n * sizeof(*ids));
		ids += n;
		nr -= n;
	}
}

void synth_thread_map(struct synth *s, const s32 *tids, size_t nr)
{
	struct {
		u64 tid;
		char comm[16];
	} entry;
	enum { FIT = (RECORD_MAX - 16) / sizeof(entry) };
	static const s32 all = -1;
	if (!nr) {
		tids = &all;
		nr = 1;
	}
	u64 n = min(nr, (size_t)FIT);
	struct perf_event_header h = { .type = REC_THREAD_MAP,
				       .size = (u16)(sizeof(h) + sizeof(n) + n * sizeof(entry)) };
	strbuf_add(s->to, &h, sizeof(h));
	strbuf_add(s->to, &n, sizeof(n));
	for (size_t i = 0; i < n; i++) {
		memset(&entry, 0, sizeof(entry));
		entry.tid = (u64)(s64)tids[i];
		strbuf_add(s->to, &entry, sizeof(entry));
	}
}

void synth_cpu_map(struct synth *s, const struct cpuset *cpus)
{
	/* As a list: type 0, number, then 16 bits each, padded. */
	size_t nr = cpuset_count(cpus);
	size_t len = 4 + nr * sizeof(u16), padded = (len + 7) & ~7ul;
	struct perf_event_header h = { .type = REC_CPU_MAP, .size = (u16)(sizeof(h) + padded) };
	u16 start[2] = { 0, (u16)nr };
	strbuf_add(s->to, &h, sizeof(h));
	strbuf_add(s->to, start, sizeof(start));
	for (int cpu = cpuset_next(cpus, 0); cpu >= 0; cpu = cpuset_next(cpus, (unsigned)cpu + 1))
		strbuf_add(s->to, &(u16){ (u16)cpu }, sizeof(u16));
	strbuf_fill(s->to, 0, padded - len);
}

struct mmap_body {
	u32 pid, tid;
	u64 start, len, pgoff;
};

int synth_kernel(struct synth *s)
{
	struct kernel_text text;
	int err = kmap_text(s->root, &text);
	if (err)
		return err;
	/* perf finds by how much the kernel was moved from the symbol in the name and its address in pgoff. */
	struct mmap_body body = {
		.pid = (u32)-1,
		.start = text.start,
		.pgoff = text.start,
		.len = text.end > text.start ? text.end - text.start : 0,
	};
	char name[48];
	snprintf(name, sizeof(name), "[kernel.kallsyms]%s", text.name);
	put_record(s, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, &body, sizeof(body), name);
	return s->to->err;
}

static int put_module(void *ctx, const struct kernel_module *m)
{
	struct synth *s = ctx;
	struct mmap_body body = { .pid = (u32)-1, .start = m->start, .len = m->size_bytes };
	char name[80];
	snprintf(name, sizeof(name), "[%s]", m->name);
	put_record(s, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, &body, sizeof(body),
		   m->path ? m->path : name);
	return s->to->err;
}

/* ---- virtual machines ---- */

/* "virtio_net 73728 0 - Live 0xffffffffc0000000" */
static void put_guest_module(struct synth *s, u32 pid, const char *line, size_t len)
{
	char text[4096], name[64]; /* the users of a module may be many */
	unsigned long long size, start;
	if (len >= sizeof(text))
		return;
	memcpy(text, line, len);
	text[len] = '\0';
	if (sscanf(text, "%60s %llu %*s %*s %*s 0x%llx", name + 1, &size, &start) != 3 || !start ||
	    !size)
		return;
	name[0] = '[';
	strcat(name, "]");
	struct mmap_body body = { .pid = pid, .start = start, .len = size };
	put_record(s, PERF_RECORD_MMAP, PERF_RECORD_MISC_GUEST_KERNEL, &body, sizeof(body), name);
}

int synth_guest(struct synth *s, const struct synth_guest *g)
{
	const char *reference = "_text", *stop;
	const char *end = g->modules ? g->modules + g->modules_len : NULL;
	u64 start, last;
	bool found = kallsyms_address(g->kallsyms, g->kallsyms_len, reference, &start);
	if (!found) {
		reference = "_stext";
		found = kallsyms_address(g->kallsyms, g->kallsyms_len, reference, &start);
	}
	if (!found || !start)
		return -ENOENT;
	if (!kallsyms_address(g->kallsyms, g->kallsyms_len, "_etext", &last) || last <= start)
		last = UINT64_MAX;
	/* First the modules: perf reads the symbols of all when it comes to the kernel. */
	for (const char *at = g->modules; at && at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		put_guest_module(s, g->pid, at, (size_t)(stop - at));
	}
	struct mmap_body body = { .pid = g->pid, .start = start, .pgoff = start, .len = last - start };
	char name[64];
	if (g->pid)
		(void)snprintf(name, sizeof(name), "[guest.kernel.kallsyms.%u]%s", g->pid,
			       reference);
	else
		(void)snprintf(name, sizeof(name), "[guest.kernel.kallsyms]%s", reference);
	put_record(s, PERF_RECORD_MMAP, PERF_RECORD_MISC_GUEST_KERNEL, &body, sizeof(body), name);
	return s->to->err;
}

int synth_modules(struct synth *s, const char *release)
{
	int err = kmap_modules(s->root, release, put_module, s);
	return err == -ENOENT ? 0 : err;
}

/*
 * What the map leads to, where we may look at that; else the file of that name as the process sees it (it may live in a container), if
 * it is the one that is mapped.
 */
bool synth_read_build_id(struct synth *s, s32 pid, const struct proc_map *m,
			 struct synth_build_id *b)
{
	char map[64], root[32];
	struct opener_result got;
	struct opener_job job = { .dir = s->root->dir_fd,
				  .map = map,
				  .root = root,
				  .path = m->path,
				  .dev_major = m->dev_major,
				  .dev_minor = m->dev_minor,
				  .ino = m->inode };
	(void)snprintf(root, sizeof(root), "proc/%d/root", pid);
	(void)snprintf(map, sizeof(map), "proc/%d/map_files/%llx-%llx", pid,
		       (unsigned long long)m->start, (unsigned long long)m->end);
	if (!s->opener || opener_open(s->opener, &job, &got))
		return false;
	b->size = (u8)min(got.note_size, (u32)sizeof(b->id));
	memcpy(b->id, got.note, sizeof(b->id));
	return true;
}

/* Each file's notes are read once, however many processes map it. NULL: it has none, or cannot be read. */
static const struct synth_build_id *file_build_id(struct synth *s, s32 pid, const struct proc_map *m)
{
	if (m->path[0] != '/' || !m->inode)
		return NULL;
	u64 key = hash_u64(m->inode) ^ hash_u64((u64)m->dev_major << 32 | m->dev_minor);
	u32 index;
	if (dict_add(&s->files, key, (u32)s->known.nr, &index))
		return NULL;
	if (index == s->known.nr) {
		struct synth_build_id *b = vec_push(&s->known);
		if (!b)
			return NULL;
		(void)synth_read_build_id(s, pid, m, b);
	}
	return s->known.at[index].size ? &s->known.at[index] : NULL;
}

struct put_maps_ctx {
	struct synth *s;
	s32 pid;
};

static int put_map(void *ctx, const struct proc_map *m)
{
	struct put_maps_ctx *c = ctx;
	bool code = m->prot & PROT_EXEC;
	if (!code && !(c->s->data_maps && m->prot & PROT_READ && m->path[0] == '/'))
		return 0;
	struct {
		struct mmap_body map;
		union {
			struct {
				u32 maj, min;
				u64 ino, generation;
			} file;
			struct {
				u8 size, spare[3];
				u8 id[20];
			} build;
		};
		u32 prot, flags;
	} body = {
		.map = { .pid = (u32)c->pid,
			 .tid = (u32)c->pid,
			 .start = m->start,
			 .len = m->end - m->start,
			 .pgoff = m->file_offset },
		.prot = m->prot,
		.flags = m->shared ? MAP_SHARED : MAP_PRIVATE,
	};
	u16 misc = PERF_RECORD_MISC_USER | (code ? 0 : PERF_RECORD_MISC_MMAP_DATA);
	const struct synth_build_id *id = c->s->build_ids ? file_build_id(c->s, c->pid, m) : NULL;
	if (id) {
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		body.build.size = id->size;
		memcpy(body.build.id, id->id, sizeof(body.build.id));
	} else {
		body.file.maj = m->dev_major;
		body.file.min = m->dev_minor;
		body.file.ino = m->inode;
	}
	put_record(c->s, PERF_RECORD_MMAP2, misc, &body, sizeof(body),
		   m->path[0] ? m->path : "//anon");
	return c->s->to->err;
}

static void put_comm(struct synth *s, const struct proc_task *t)
{
	struct {
		u32 pid, tid;
	} comm = { .pid = (u32)t->pid, .tid = (u32)t->tid };
	char name[16]; /* as the kernel has it; /proc shows more for its workers */
	snprintf(name, sizeof(name), "%.15s", t->comm);
	put_record(s, PERF_RECORD_COMM, 0, &comm, sizeof(comm), name);
}

/* In the order of the kernel's indexes (NET_NS_INDEX and so on). A task that is gone or not ours gives nothing. */
static void put_namespaces(struct synth *s, const struct proc_task *t)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	struct {
		u32 pid, tid;
		u64 nr;
		struct {
			u64 dev, ino;
		} at[ARRAY_SIZE(names)];
	} body = { .pid = (u32)t->pid, .tid = (u32)t->tid, .nr = ARRAY_SIZE(names) };
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[64];
		struct stat st;
		snprintf(path, sizeof(path), "proc/%d/task/%d/ns/%s", t->pid, t->tid, names[i]);
		if (fstatat(s->root->dir_fd, path, &st, 0))
			continue;
		body.at[i].dev = st.st_dev;
		body.at[i].ino = st.st_ino;
		any = true;
	}
	if (any)
		put_record(s, PERF_RECORD_NAMESPACES, 0, &body, sizeof(body), NULL);
}

static void put_task(struct synth *s, const struct proc_task *t)
{
	struct {
		u32 pid, ppid, tid, ptid;
		u64 time;
	} fork = { .pid = (u32)t->pid, .tid = (u32)t->tid };
	/* Threads are taken to come from the leader. The mark says that maps are not those of the parent. */
	fork.ppid = fork.ptid = (u32)(t->tid == t->pid ? t->ppid : t->pid);
	put_record(s, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, &fork, sizeof(fork), NULL);
	if (s->namespaces)
		put_namespaces(s, t);
	put_comm(s, t);
}

void synth_name(struct synth *s, s32 pid)
{
	struct proc_task t;
	if (!procfs_task(&s->proc, pid, pid, &t))
		put_comm(s, &t);
}

static int gone_is_fine(int err)
{
	return err == -ESRCH || err == -EACCES || err == -EPERM ? 0 : err;
}

int synth_process(struct synth *s, s32 pid)
{
	struct proc_task t;
	int err = procfs_task(&s->proc, pid, pid, &t);
	if (err)
		return gone_is_fine(err);
	put_task(s, &t);
	if (t.kernel_thread)
		return s->to->err;
	struct put_maps_ctx ctx = { .s = s, .pid = pid };
	err = gone_is_fine(procfs_maps(&s->proc, pid, put_map, &ctx));
	if (err || t.nr_threads == 1)
		return err;
	s32 *tids;
	size_t nr;
	err = procfs_tids(&s->proc, pid, &tids, &nr);
	if (err)
		return gone_is_fine(err);
	for (size_t i = 0; i < nr; i++) {
		s32 tid = s->proc.ids.at[i];
		if (tid != pid && !procfs_task(&s->proc, pid, tid, &t))
			put_task(s, &t);
	}
	return s->to->err;
}

int synth_all_processes(struct synth *s)
{
	s32 *ids;
	size_t nr;
	int err = procfs_pids(&s->proc, &ids, &nr);
	if (err)
		return err;
	_cleanup_free_ s32 *pids =
		malloc(max(nr, (size_t)1) * sizeof(s32)); /* listing threads reuses the scratch */
	if (!pids)
		return -ENOMEM;
	memcpy(pids, ids, nr * sizeof(s32));
	for (size_t i = 0; i < nr && !err; i++)
		err = synth_process(s, pids[i]);
	return err;
}

static int put_cgroup(void *ctx, u64 id, const char *path)
{
	struct synth *s = ctx;
	put_record(s, PERF_RECORD_CGROUP, 0, &id, sizeof(id), path);
	return s->to->err;
}

int synth_cgroups(struct synth *s)
{
	int err = cgroup_each(s->root, put_cgroup, s);
	return err == -ENOMEM || s->to->err ? -ENOMEM : 0;
}

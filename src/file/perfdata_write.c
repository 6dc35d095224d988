#include "file/perfdata_write.h"

#include "base/dict.h"
#include "file/perfdata_build_id.h"
#include "file/perfdata_spare.h"
#include "file/zstd_records.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STRING_ALIGN = 64, NR_FEATURES = FEAT_CLN_SIZE + 1 };

#define BIT_OF(feat) (1ull << (feat))

struct perfdata_writer {
	int fd;
	bool pipe;
	u64 pipe_bytes;
	char *unnamed; /* the name the file is to get; NULL: it has it */
	bool no_rotate;
	bool no_build_ids;
	pthread_mutex_t lock;
	pthread_mutex_t queue_lock; /* the three below; never taken while `lock` is held */
	struct waiting *queue, **queue_end; /* records, in the order in which they came */
	bool writing; /* somebody works on the queue */
	struct perf_file_header head; /* as it is to stand in the file when sealed */
	struct perf_file_section sections[NR_FEATURES];
	bool sealed; /* header and table on disk are those of `head` */
	int err; /* sticky */
	u64 times_ns[2];
	u64 raw_bytes;
	struct strbuf build_ids; /* payload of FEAT_BUILD_ID */
	struct dict build_id_paths;
	struct zstd_records *zstd;
	u32 comp_level;
};

/* ---- payloads --------------------------------------------------------------------------------------------------- */

static void put_u32(struct strbuf *b, u32 v)
{
	strbuf_add(b, &v, sizeof(v));
}

static void put_u64(struct strbuf *b, u64 v)
{
	strbuf_add(b, &v, sizeof(v));
}

/* Length (with padding), bytes, padding. */
static void put_string(struct strbuf *b, const char *s)
{
	size_t len = strlen(s) + 1;
	size_t padded = (len + STRING_ALIGN - 1) & ~(size_t)(STRING_ALIGN - 1);
	put_u32(b, (u32)padded);
	strbuf_add(b, s, len);
	strbuf_fill(b, 0, padded - len);
}

#define put_list(b, list)                                                                          \
	do {                                                                                       \
		put_u32(b, (u32)(list)->nr);                                                       \
		vec_for_each (list, s_)                                                            \
			put_string(b, *s_);                                                        \
	} while (0)

struct building {
	struct strbuf buf;
	u64 base; /* file offset of the buffer's first byte */
	const struct perfdata_event *events;
	u32 nr_events;
	const struct perfdata_meta *meta;
	const struct machine *m;
};

static bool put_text(struct strbuf *b, const char *s)
{
	if (!s || !*s)
		return false;
	put_string(b, s);
	return true;
}

static bool feat_tracing_data(struct building *g, struct strbuf *b)
{
	if (!g->meta->tracing_data)
		return false;
	strbuf_add(b, g->meta->tracing_data, g->meta->tracing_data_size);
	return true;
}

static bool feat_hostname(struct building *g, struct strbuf *b)
{
	return put_text(b, g->m->hostname);
}

static bool feat_osrelease(struct building *g, struct strbuf *b)
{
	return put_text(b, g->m->release);
}

static bool feat_version(struct building *g, struct strbuf *b)
{
	return put_text(b, g->meta->version);
}

static bool feat_arch(struct building *g, struct strbuf *b)
{
	return put_text(b, g->m->arch);
}

static bool feat_nrcpus(struct building *g, struct strbuf *b)
{
	put_u32(b, g->m->nr_cpus_present);
	put_u32(b, g->m->nr_cpus_online);
	return true;
}

static bool feat_cpudesc(struct building *g, struct strbuf *b)
{
	return put_text(b, g->m->cpu_desc);
}

static bool feat_cpuid(struct building *g, struct strbuf *b)
{
	return put_text(b, g->m->cpu_id);
}

static bool feat_total_mem(struct building *g, struct strbuf *b)
{
	put_u64(b, g->m->mem_total_kb);
	return g->m->mem_total_kb;
}

static bool feat_cmdline(struct building *g, struct strbuf *b)
{
	put_u32(b, g->meta->argc);
	for (u32 i = 0; i < g->meta->argc; i++)
		put_string(b, g->meta->argv[i]);
	return g->meta->argc;
}

static bool feat_event_desc(struct building *g, struct strbuf *b)
{
	put_u32(b, g->nr_events);
	put_u32(b, sizeof(struct perf_event_attr));
	for (u32 i = 0; i < g->nr_events; i++) {
		const struct perfdata_event *e = &g->events[i];
		strbuf_add(b, &e->attr, sizeof(e->attr));
		put_u32(b, e->nr_ids);
		put_string(b, e->name);
		strbuf_add(b, e->ids, e->nr_ids * sizeof(u64));
	}
	return true;
}

static bool feat_cpu_topology(struct building *g, struct strbuf *b)
{
	if (!g->m->packages.nr)
		return false;
	put_list(b, &g->m->packages);
	put_list(b, &g->m->cores);
	vec_for_each (&g->m->cpus, c) {
		put_u32(b, (u32)c->core_id);
		put_u32(b, (u32)c->socket_id);
	}
	if (g->m->dies.nr) {
		put_list(b, &g->m->dies);
		vec_for_each (&g->m->cpus, c)
			put_u32(b, (u32)c->die_id);
	}
	return true;
}

static bool feat_numa_topology(struct building *g, struct strbuf *b)
{
	put_u32(b, (u32)g->m->nodes.nr);
	vec_for_each (&g->m->nodes, n) {
		put_u32(b, n->node);
		put_u64(b, n->mem_total_kb);
		put_u64(b, n->mem_free_kb);
		put_string(b, n->cpus);
	}
	return g->m->nodes.nr;
}

/* That it is there says everything. */
static bool feat_branch_stack(struct building *g, struct strbuf *b)
{
	(void)b;
	for (u32 i = 0; i < g->nr_events; i++)
		if (g->events[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return true;
	return false;
}

static bool feat_pmu_mappings(struct building *g, struct strbuf *b)
{
	put_u32(b, (u32)g->m->pmus.nr);
	vec_for_each (&g->m->pmus, p) {
		put_u32(b, p->type);
		put_string(b, p->name);
	}
	return g->m->pmus.nr;
}

static bool feat_group_desc(struct building *g, struct strbuf *b)
{
	u32 nr = 0;
	for (u32 i = 0; i < g->nr_events; i++)
		nr += g->events[i].nr_members > 1;
	put_u32(b, nr);
	for (u32 i = 0; i < g->nr_events; i++) {
		if (g->events[i].nr_members <= 1)
			continue;
		put_string(b, g->events[i].group_name ? g->events[i].group_name : "{anon_group}");
		put_u32(b, i);
		put_u32(b, g->events[i].nr_members);
	}
	return nr;
}

/* Says by being there that the file holds counts. */
static bool feat_stat(struct building *g, struct strbuf *b)
{
	(void)b;
	return g->meta->counts;
}

static bool feat_cache(struct building *g, struct strbuf *b)
{
	put_u32(b, 1); /* version */
	put_u32(b, (u32)g->m->caches.nr);
	vec_for_each (&g->m->caches, c) {
		put_u32(b, c->level);
		put_u32(b, c->line_bytes);
		put_u32(b, c->sets);
		put_u32(b, c->ways);
		put_string(b, c->type);
		put_string(b, c->size);
		put_string(b, c->cpus);
	}
	return g->m->caches.nr;
}

static bool feat_mem_topology(struct building *g, struct strbuf *b)
{
	u64 nr = 0;
	vec_for_each (&g->m->nodes, n)
		nr += n->blocks != NULL;
	put_u64(b, 1); /* version */
	put_u64(b, g->m->mem_block_bytes);
	put_u64(b, nr);
	vec_for_each (&g->m->nodes, n) {
		if (!n->blocks)
			continue;
		put_u64(b, n->node);
		put_u64(b, n->nr_block_bits);
		put_u64(b, n->nr_block_bits);
		strbuf_add(b, n->blocks, (n->nr_block_bits + 63) / 64 * sizeof(u64));
	}
	return nr && g->m->mem_block_bytes;
}

static bool feat_clockid(struct building *g, struct strbuf *b)
{
	put_u64(b, g->meta->clock_res_ns);
	return g->meta->has_clock;
}

static bool feat_clock_data(struct building *g, struct strbuf *b)
{
	put_u32(b, 1); /* version */
	put_u32(b, g->meta->clock_id);
	put_u64(b, g->meta->wall_ref_ns);
	put_u64(b, g->meta->clock_ref_ns);
	return g->meta->has_clock;
}

/* Payloads that are known before the first record. Each says whether it has anything to tell. */
static bool (*const early_features[NR_FEATURES])(struct building *, struct strbuf *) = {
	[FEAT_TRACING_DATA] = feat_tracing_data,
	[FEAT_HOSTNAME] = feat_hostname,
	[FEAT_OSRELEASE] = feat_osrelease,
	[FEAT_VERSION] = feat_version,
	[FEAT_ARCH] = feat_arch,
	[FEAT_NRCPUS] = feat_nrcpus,
	[FEAT_CPUDESC] = feat_cpudesc,
	[FEAT_CPUID] = feat_cpuid,
	[FEAT_TOTAL_MEM] = feat_total_mem,
	[FEAT_CMDLINE] = feat_cmdline,
	[FEAT_EVENT_DESC] = feat_event_desc,
	[FEAT_CPU_TOPOLOGY] = feat_cpu_topology,
	[FEAT_NUMA_TOPOLOGY] = feat_numa_topology,
	[FEAT_BRANCH_STACK] = feat_branch_stack,
	[FEAT_PMU_MAPPINGS] = feat_pmu_mappings,
	[FEAT_GROUP_DESC] = feat_group_desc,
	[FEAT_STAT] = feat_stat,
	[FEAT_CACHE] = feat_cache,
	[FEAT_MEM_TOPOLOGY] = feat_mem_topology,
	[FEAT_CLOCKID] = feat_clockid,
	[FEAT_CLOCK_DATA] = feat_clock_data,
};

/* ---- the file --------------------------------------------------------------------------------------------------- */

/* at STREAM: where the last write ended. *written: how far it got, also on failure. */
#define STREAM UINT64_MAX
static int write_all(int fd, struct iovec *iov, size_t nr, u64 at, u64 *written)
{
	*written = 0;
	while (nr) {
		if (!iov->iov_len) {
			iov++;
			nr--;
			continue;
		}
		int n_iov = (int)min(nr, (size_t)IOV_MAX);
		ssize_t n =
			at == STREAM ? writev(fd, iov, n_iov) : pwritev(fd, iov, n_iov, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		if (at != STREAM)
			at += (u64)n;
		*written += (u64)n;
		while (nr && (size_t)n >= iov->iov_len) {
			n -= (ssize_t)iov->iov_len;
			iov++;
			nr--;
		}
		if (n) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int write_at(int fd, const void *data, size_t len, u64 at)
{
	u64 written;
	return write_all(fd, &(struct iovec){ .iov_base = (void *)(uintptr_t)data, .iov_len = len },
			 1, at, &written);
}

/* What stands behind the records: the table, and the payloads that change while recording. */
struct tail {
	struct perf_file_section table[NR_FEATURES];
	size_t nr;
	struct {
		u64 times_ns[2];
		struct {
			u32 version, type, level, ratio, mmap_len;
		} comp;
	} payload;
};

static void make_tail(struct perfdata_writer *w, u64 end, struct tail *t, struct iovec iov[2])
{
	unsigned nr_set = 0;
	for (unsigned f = 0; f < NR_FEATURES; f++)
		nr_set += !!(w->head.features[0] & BIT_OF(f));
	u64 payload = end + nr_set * sizeof(t->table[0]);
	memset(&t->payload, 0, sizeof(t->payload));
	memcpy(t->payload.times_ns, w->times_ns, sizeof(w->times_ns));
	w->sections[FEAT_SAMPLE_TIME] =
		(struct perf_file_section){ .offset = payload +
						      offsetof(__typeof__(t->payload), times_ns),
					    .size = sizeof(t->payload.times_ns) };
	if (w->zstd) {
		u64 written = w->head.data.size ? w->head.data.size : 1;
		t->payload.comp.version = 1;
		t->payload.comp.type = 1; /* zstd */
		t->payload.comp.level = w->comp_level;
		t->payload.comp.ratio = (u32)max(w->raw_bytes / written, (u64)1);
		t->payload.comp.mmap_len = ZSTD_RECORDS_PIECE;
		w->sections[FEAT_COMPRESSED] = (struct perf_file_section){
			.offset = payload + offsetof(__typeof__(t->payload), comp),
			.size = sizeof(t->payload.comp)
		};
	}
	t->nr = 0;
	for (unsigned f = 0; f < NR_FEATURES; f++)
		if (w->head.features[0] & BIT_OF(f))
			t->table[t->nr++] = w->sections[f];
	iov[0] = (struct iovec){ .iov_base = t->table, .iov_len = t->nr * sizeof(t->table[0]) };
	iov[1] = (struct iovec){ .iov_base = &t->payload, .iov_len = sizeof(t->payload) };
}

/* From here on the table may be overwritten. */
static int unseal(struct perfdata_writer *w)
{
	if (!w->sealed)
		return 0;
	static const u64 none[FEAT_MAX / 64];
	int err = write_at(w->fd, none, sizeof(none), offsetof(struct perf_file_header, features));
	if (!err)
		w->sealed = false;
	return err;
}

static int write_head(struct perfdata_writer *w)
{
	int err = write_at(w->fd, &w->head, sizeof(w->head), 0);
	if (!err)
		w->sealed = true;
	return err;
}

/* Whether path is a recording in the form of a directory, as perf record --threads makes them. */
static bool is_recording_dir(const char *path, const struct stat *st)
{
	char inner[PATH_MAX];
	return S_ISDIR(st->st_mode) &&
	       snprintf(inner, sizeof(inner), "%s/data", path) < (int)sizeof(inner) &&
	       !access(inner, F_OK);
}

/* The older of two kept recordings goes. Of a directory only what belongs to a recording: with more in it, it stays. */
static int remove_old(const char *path)
{
	struct stat st;
	if (lstat(path, &st))
		return 0;
	if (!is_recording_dir(path, &st))
		return S_ISDIR(st.st_mode) ? -ENOTEMPTY : 0; /* rename() replaces a file */
	char inner[PATH_MAX];
	for (int i = -1, gone = 1; gone; i++) {
		if (snprintf(inner, sizeof(inner), i < 0 ? "%s/data" : "%s/data.%d", path, i) >=
		    (int)sizeof(inner))
			return -ENAMETOOLONG;
		gone = !unlink(inner);
	}
	return rmdir(path) ? -errno : 0;
}

/* A recording that is there already becomes FILE.old, as people expect. */
static int rotate(const char *path)
{
	struct stat st;
	if (lstat(path, &st) ||
	    !(S_ISREG(st.st_mode) ? st.st_size != 0 : is_recording_dir(path, &st)))
		return 0;
	char old[PATH_MAX];
	if ((size_t)snprintf(old, sizeof(old), "%s.old", path) >= sizeof(old))
		return 0;
	int err = remove_old(old);
	if (err)
		return err;
	if (S_ISDIR(st.st_mode))
		(void)unlink(old);
	return rename(path, old) ? -errno : 0;
}

/* The file is whole from here on, and gets its name. */
static int publish(struct perfdata_writer *w)
{
	if (!w->unnamed)
		return 0;
	int err = w->no_rotate ? 0 : rotate(w->unnamed);
	if (err)
		return err;
	char self[32];
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", w->fd);
	(void)unlink(w->unnamed); /* an empty one, or one that need not be kept */
	if (linkat(AT_FDCWD, self, AT_FDCWD, w->unnamed, AT_SYMLINK_FOLLOW))
		return -errno;
	free(w->unnamed);
	w->unnamed = NULL;
	return 0;
}

/* How many of the first `limit` bytes are whole records. A head never lies across two pieces; a body may. */
static u64 whole_records(const struct iovec *iov, size_t nr, u64 limit)
{
	u64 start = 0, pos = 0; /* of the piece, of the record */
	for (size_t i = 0; i < nr; start += iov[i++].iov_len) {
		u64 end = start + iov[i].iov_len;
		while (pos + sizeof(struct perf_event_header) <= end) {
			struct perf_event_header h;
			memcpy(&h, (const u8 *)iov[i].iov_base + (pos - start), sizeof(h));
			if (h.size < sizeof(h) || pos + h.size > limit)
				return pos;
			pos += h.size;
		}
	}
	return pos;
}

/* The disk is full: of what went in, whole records are kept as far as the tail fits behind them. */
static void save_prefix(struct perfdata_writer *w, const struct iovec *iov, size_t nr, u64 written)
{
	struct tail tail;
	struct iovec ends[2];
	u64 end = w->head.data.offset + w->head.data.size;
	u64 room = written > sizeof(tail) ? written - sizeof(tail) : 0;
	u64 kept = whole_records(iov, nr, room);
	w->head.data.size += kept;
	make_tail(w, end + kept, &tail, ends);
	if (!write_all(w->fd, ends, 2, end + kept, &written) && !write_head(w) && w->head.data.size)
		(void)!publish(w);
}

/* Records, and before them the build ids that became known since. */
static int append_stream(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	struct iovec all[PERFDATA_WRITE_IOV_MAX + 1];
	u64 written;
	all[0] = (struct iovec){ .iov_base = w->build_ids.data, .iov_len = w->build_ids.len };
	if (nr)
		memcpy(all + 1, iov, nr * sizeof(*iov));
	int err = write_all(w->fd, all, nr + 1, STREAM, &written);
	w->pipe_bytes += written;
	strbuf_reset(&w->build_ids);
	return err;
}

/* Records and the tail behind them, then the header. */
static int append(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	if (w->pipe)
		return append_stream(w, iov, nr);
	struct iovec all[PERFDATA_WRITE_IOV_MAX + 2];
	struct tail tail;
	u64 end = w->head.data.offset + w->head.data.size, len = 0, written;
	int err = unseal(w);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++) {
		all[i] = iov[i];
		len += iov[i].iov_len;
	}
	make_tail(w, end + len, &tail, all + nr);
	err = write_all(w->fd, all, nr + 2, end, &written);
	if (err) {
		save_prefix(w, iov, nr, written);
		return err;
	}
	w->head.data.size += len;
	err = write_head(w);
	return err || !len ? err : publish(w);
}

static int append_plain(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	int err = append(w, iov, nr);
	for (size_t i = 0; i < nr && !err; i++)
		w->raw_bytes += iov[i].iov_len;
	return err;
}

static int append_compressed(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	struct strbuf out;
	strbuf_init(&out);
	u64 len = 0;
	int err = 0;
	for (size_t i = 0; i < nr && !err; i++) {
		err = zstd_records_add(w->zstd, iov[i].iov_base, iov[i].iov_len, &out);
		len += iov[i].iov_len;
	}
	if (!err)
		err = zstd_records_flush(w->zstd, &out);
	if (!err) {
		w->raw_bytes += len;
		err = append(w, &(struct iovec){ .iov_base = out.data, .iov_len = out.len }, 1);
	}
	strbuf_done(&out);
	return err;
}

static int write_now(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	pthread_mutex_lock(&w->lock);
	if (!w->err)
		w->err = w->zstd ? append_compressed(w, iov, nr) : append_plain(w, iov, nr);
	int err = w->err;
	pthread_mutex_unlock(&w->lock);
	return err;
}

/* A reader's records on their way into the file. */
struct waiting {
	const struct iovec *iov;
	size_t nr;
	struct waiting *next;
	pthread_cond_t changed; /* done, or it is this one's turn to write */
	bool done;
	int err;
};

/* A file takes one write at a time. Whoever writes goes on with what others have brought meanwhile: handing over to a thread that sleeps
 * costs time in which nothing is written, which a flood does not forgive. But not for long, its own rings are filling too. */
int perfdata_write_records(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	enum { FOR_OTHERS = 8 };
	if (nr > PERFDATA_WRITE_IOV_MAX)
		return -EINVAL;
	struct waiting me = { .iov = iov, .nr = nr, .changed = PTHREAD_COND_INITIALIZER };
	pthread_mutex_lock(&w->queue_lock);
	*w->queue_end = &me;
	w->queue_end = &me.next;
	while (!me.done && w->writing)
		pthread_cond_wait(&me.changed, &w->queue_lock);
	bool writing = !me.done;
	if (writing)
		w->writing = true;
	for (u32 others = 0; writing && w->queue && (!me.done || others < FOR_OTHERS); others++) {
		struct waiting *first = w->queue;
		w->queue = first->next;
		if (!w->queue)
			w->queue_end = &w->queue;
		pthread_mutex_unlock(&w->queue_lock);
		int err = write_now(w, first->iov, first->nr);
		pthread_mutex_lock(&w->queue_lock);
		first->err = err;
		first->done = true;
		pthread_cond_signal(&first->changed);
	}
	if (writing)
		w->writing = false;
	if (writing && w->queue)
		pthread_cond_signal(&w->queue->changed);
	pthread_mutex_unlock(&w->queue_lock);
	pthread_cond_destroy(&me.changed);
	return me.err;
}

void perfdata_write_times(struct perfdata_writer *w, u64 first_ns, u64 last_ns)
{
	pthread_mutex_lock(&w->lock);
	if (!w->times_ns[0] || first_ns < w->times_ns[0])
		w->times_ns[0] = first_ns;
	w->times_ns[1] = max(w->times_ns[1], last_ns);
	pthread_mutex_unlock(&w->lock);
}

static int add_build_id(struct perfdata_writer *w, const char *path, bool kernel, const u8 *id,
			size_t size)
{
	u32 known, fresh = w->build_id_paths.nr;
	int err = dict_add(&w->build_id_paths, hash_bytes(path, strlen(path)), fresh, &known);
	if (err || known != fresh)
		return err;
	perfdata_put_build_id(&w->build_ids, path, kernel, id, size);
	return w->build_ids.err;
}

int perfdata_write_build_id(struct perfdata_writer *w, const char *path, bool kernel, const u8 *id,
			    size_t size)
{
	if (!size || w->no_build_ids)
		return 0;
	pthread_mutex_lock(&w->lock);
	int err = add_build_id(w, path, kernel, id, size);
	pthread_mutex_unlock(&w->lock);
	return err;
}

static int finish(struct perfdata_writer *w)
{
	if (w->err)
		return w->err; /* what could be saved is sealed already */
	if (w->pipe)
		return append_stream(w, NULL, 0);
	struct tail tail;
	struct iovec iov[3];
	u64 end = w->head.data.offset + w->head.data.size, written;
	int err = unseal(w);
	if (err)
		return err;
	if (w->build_ids.len && !w->build_ids.err) {
		w->head.features[0] |= BIT_OF(FEAT_BUILD_ID);
		make_tail(w, end, &tail, iov); /* for its size */
		w->sections[FEAT_BUILD_ID] =
			(struct perf_file_section){ .offset = end + iov[0].iov_len + iov[1].iov_len,
						    .size = w->build_ids.len };
	}
	make_tail(w, end, &tail, iov);
	iov[2] = (struct iovec){ .iov_base = w->build_ids.data, .iov_len = w->build_ids.len };
	err = write_all(w->fd, iov, 3, end, &written);
	if (!err)
		err = write_head(w);
	return err ? err : publish(w);
}

int perfdata_write_finish(struct perfdata_writer *w)
{
	pthread_mutex_lock(&w->lock);
	int err = finish(w);
	pthread_mutex_unlock(&w->lock);
	return err;
}

int perfdata_write_fd(const struct perfdata_writer *w)
{
	return w->fd;
}

u64 perfdata_write_file_bytes(struct perfdata_writer *w)
{
	struct stat st;
	if (w->pipe) {
		pthread_mutex_lock(&w->lock);
		u64 bytes = w->pipe_bytes;
		pthread_mutex_unlock(&w->lock);
		return bytes;
	}
	return fstat(w->fd, &st) ? 0 : (u64)st.st_size;
}

u64 perfdata_write_data_bytes(struct perfdata_writer *w)
{
	pthread_mutex_lock(&w->lock);
	u64 bytes = w->raw_bytes;
	pthread_mutex_unlock(&w->lock);
	return bytes;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* Ids and attrs behind the header, then the features known now. */
static int build_front(struct perfdata_writer *w, struct building *g)
{
	struct strbuf *b = &g->buf;
	g->base = sizeof(w->head);
	u64 ids_at = g->base;
	for (u32 i = 0; i < g->nr_events; i++)
		strbuf_add(b, g->events[i].ids, g->events[i].nr_ids * sizeof(u64));
	w->head.attrs = (struct perf_file_section){ .offset = g->base + b->len,
						    .size = g->nr_events * w->head.attr_size };
	for (u32 i = 0; i < g->nr_events; i++) {
		struct perf_file_section ids = { .offset = ids_at,
						 .size = g->events[i].nr_ids * sizeof(u64) };
		strbuf_add(b, &g->events[i].attr, sizeof(struct perf_event_attr));
		strbuf_add(b, &ids, sizeof(ids));
		ids_at += ids.size;
	}
	for (unsigned f = 0; f < NR_FEATURES; f++) {
		if (!early_features[f])
			continue;
		size_t before = b->len;
		if (!early_features[f](g, b)) {
			b->len = before;
			continue;
		}
		w->head.features[0] |= BIT_OF(f);
		w->sections[f] = (struct perf_file_section){ .offset = g->base + before,
							     .size = b->len - before };
	}
	struct perfdata_spare spare = { .magic = PERFDATA_SPARE_MAGIC,
					.features = w->head.features[0] };
	memcpy(spare.sections, w->sections, sizeof(w->sections));
	strbuf_fill(b, 0, -b->len & 7);
	strbuf_add(b, &spare, sizeof(spare));
	w->head.features[0] |= BIT_OF(FEAT_SAMPLE_TIME);
	if (w->zstd)
		w->head.features[0] |= BIT_OF(FEAT_COMPRESSED);
	w->head.data.offset = g->base + b->len;
	return b->err;
}

/* ---- the name --------------------------------------------------------------------------------------------------- */

/* A file in path's folder that has no name yet; negative errno where that cannot be. */
static int open_unnamed(const char *path)
{
	struct stat st;
	if (!lstat(path, &st) && !S_ISREG(st.st_mode) && !is_recording_dir(path, &st))
		return -EEXIST; /* a device, a link: written in place */
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;
	if (len + 2 > sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, path, len);
	memcpy(dir + len, ".", 2);
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	char self[32];
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!access(self, F_OK))
		return fd;
	close(fd);
	return -ENOENT; /* without /proc it could not be named */
}

static int create(struct perfdata_writer *w, const char *path, const struct perfdata_meta *meta,
		  struct diag *d)
{
	int fd = open_unnamed(path);
	if (fd >= 0) {
		w->unnamed = strdup(path);
		if (!w->unnamed) {
			close(fd);
			return diag_error(d, -ENOMEM, "no memory");
		}
	} else {
		int err = meta->no_rotate ? 0 : rotate(path);
		if (err)
			return diag_error(d, err, "cannot keep %s as %s.old: %s", path, path,
					  strerror(-err));
		fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	}
	if (fd < 0) {
		int err = diag_error(d, -errno, "cannot create %s: %s", path, strerror(errno));
		diag_hint(d, "-o FILE writes elsewhere");
		return err;
	}
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return fd; /* /dev/null and the like */
	(void)!fchmod(fd, 0600);
	(void)!flock(
		fd,
		LOCK_EX | LOCK_NB); /* says that it is being written, to those who would repair it */
	if (meta->owner_uid >= 0 && fchown(fd, (uid_t)meta->owner_uid, (gid_t)meta->owner_gid))
		diag_warn(d, "%s stays root's: %s", path, strerror(errno));
	return fd;
}

/* ---- a stream --------------------------------------------------------------------------------------------------- */

/* A record of a payload, padded to eight bytes; one that is too long for its head is left out. */
static void put_record(struct strbuf *b, u32 type, const void *head, size_t head_size,
		       const void *data, size_t size)
{
	struct perf_event_header h = { .type = type };
	size_t padded = (sizeof(h) + head_size + size + 7) & ~(size_t)7;
	if (padded > UINT16_MAX)
		return;
	h.size = (u16)padded;
	strbuf_add(b, &h, sizeof(h));
	strbuf_add(b, head, head_size);
	strbuf_add(b, data, size);
	strbuf_fill(b, 0, padded - sizeof(h) - head_size - size);
}

static void put_feature(struct strbuf *b, u64 feature, const void *data, size_t size)
{
	put_record(b, REC_HEADER_FEATURE, &feature, sizeof(feature), data, size);
}

/* Of an event: its attr with ids, and its name. */
static void put_event(struct strbuf *b, const struct perfdata_event *e)
{
	struct {
		u64 what, id;
	} name = { .what = 2, .id = e->nr_ids ? e->ids[0] : 0 };
	put_record(b, REC_HEADER_ATTR, &e->attr, sizeof(e->attr), e->ids, e->nr_ids * sizeof(u64));
	put_record(b, REC_EVENT_UPDATE, &name, sizeof(name), e->name, strlen(e->name) + 1);
}

static void put_tracing_data(struct strbuf *b, const void *data, size_t size)
{
	u32 padded = (u32)((size + 7) & ~(size_t)7);
	struct perf_event_header h = { .type = REC_TRACING_DATA,
				       .size = sizeof(h) + sizeof(padded) };
	strbuf_add(b, &h, sizeof(h));
	put_u32(b, padded);
	strbuf_add(b, data, size);
	strbuf_fill(b, 0, padded - size);
}

/* Everything that a stream begins with. */
static int build_stream(struct perfdata_writer *w, struct building *g)
{
	struct strbuf *b = &g->buf, one;
	put_u64(b, PERF_MAGIC2);
	put_u64(b, 2 * sizeof(u64));
	for (u32 i = 0; i < g->nr_events; i++)
		put_event(b, &g->events[i]);
	strbuf_init(&one);
	for (unsigned f = 0; f < NR_FEATURES; f++) {
		strbuf_reset(&one);
		if (f != FEAT_TRACING_DATA && early_features[f] && early_features[f](g, &one))
			put_feature(b, f, one.data, one.len);
	}
	int err = one.err;
	strbuf_done(&one);
	if (w->zstd) {
		u32 comp[] = { 1, 1, w->comp_level, 1, ZSTD_RECORDS_PIECE };
		put_feature(b, FEAT_COMPRESSED, comp, sizeof(comp));
	}
	if (g->meta->tracing_data)
		put_tracing_data(b, g->meta->tracing_data, g->meta->tracing_data_size);
	return err ? err : b->err;
}

struct perfdata_writer *perfdata_write_open(const char *path, const struct perfdata_event *events,
					    u32 nr_events, const struct perfdata_meta *meta,
					    struct diag *d)
{
	struct perfdata_writer *w = calloc(1, sizeof(*w));
	if (!w) {
		diag_error(d, -ENOMEM, "no memory");
		return NULL;
	}
	w->fd = meta->pipe ? meta->pipe_fd : -1;
	w->pipe = meta->pipe;
	w->no_rotate = meta->no_rotate;
	w->no_build_ids = meta->no_build_ids;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->queue_lock, NULL);
	w->queue_end = &w->queue;
	strbuf_init(&w->build_ids);
	dict_init(&w->build_id_paths);
	w->head = (struct perf_file_header){
		.magic = PERF_MAGIC2,
		.size = sizeof(w->head),
		.attr_size = sizeof(struct perf_event_attr) + sizeof(struct perf_file_section),
	};
	struct building g = {
		.events = events, .nr_events = nr_events, .meta = meta, .m = meta->machine
	};
	strbuf_init(&g.buf);
	int err = 0;
	if (meta->zstd_level) {
		w->comp_level = (u32)meta->zstd_level;
		w->zstd = zstd_records_new(meta->zstd_level);
		err = w->zstd ? 0 : -ENOMEM;
	}
	if (!err)
		err = meta->pipe ? build_stream(w, &g) : build_front(w, &g);
	if (err)
		diag_error(d, err, "no memory");
	if (!err && !meta->pipe) {
		w->fd = create(w, path, meta, d);
		err = min(w->fd, 0);
	}
	if (!err) {
		struct iovec front = { .iov_base = g.buf.data, .iov_len = g.buf.len };
		err = meta->pipe ? append_stream(w, &front, 1)
				 : write_at(w->fd, g.buf.data, g.buf.len, g.base);
		if (!err && !meta->pipe)
			err = append(w, NULL, 0);
		if (err && err != -EPIPE)
			diag_error(d, err, "cannot write %s: %s", path, strerror(-err));
	}
	strbuf_done(&g.buf);
	if (err) {
		perfdata_write_close(w);
		errno = -err;
		return NULL;
	}
	return w;
}

void perfdata_write_close(struct perfdata_writer *w)
{
	if (!w)
		return;
	cleanup_close(&w->fd);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->queue_lock);
	strbuf_done(&w->build_ids);
	dict_done(&w->build_id_paths);
	zstd_records_free(w->zstd);
	free(w->unnamed);
	free(w);
}

/*
 * A JIT compiler that wants to be seen writes jit-PID.dump and maps its first page executable, which is in the recording. Every function
 * in it becomes an ELF file beside it, and a map of that file from the time it was made. (perf inject -j)
 */
#include "session/inject_jit.h"
#include "base/str.h"
#include "base/foreign.h"
#include "base/guard.h"

#include "arch/arch.h"
#include "base/atomic_file.h"
#include "session/symbols.h"
#include "file/jitdump.h"
#include "file/perfdata_made.h"
#include "image/jit_image.h"
#include "stream/perf_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long ull;

enum { LINES_MAX = 1 << 20, DUMP_MAX = 1 << 30, KEPT_MAX = 4096 };

static const struct strbuf nothing;

/* A dump on its way into files and records. */
struct dump {
	struct inject_jit *j;
	struct jitdump file;
	const char *path;
	size_t folder; /* of path: up to and with the slash */
	u32 pid; /* as the recording counts */
	struct strbuf *maps;
	struct strbuf image;
	VEC(struct jit_image_line) lines; /* for the next function */
	struct jitdump_record unwinding; /* the same */
	struct dict sizes; /* index of a function -> index into `made` */
	VEC(u64) made; /* bytes that a function takes in memory */
};

/* ".../jit-17.dump" */
static bool is_dump(const char *path)
{
	const char *slash = strrchr(path, '/');
	unsigned pid;
	int end = 0;
	return slash && sscanf(slash, "/jit-%u.dump%n", &pid, &end) == 1 && end && !slash[end];
}

static bool is_anon(const char *path)
{
	return !strncmp(path, "//anon", 6) || !strncmp(path, "/memfd:", 7) ||
	       !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/anon_hugepage", 14);
}

/* ---- records ---- */

struct mmap2_body {
	struct perf_event_header h;
	u32 pid, tid;
	u64 start, len, pgoff;
	u32 major, minor;
	u64 ino, generation;
	u32 prot, flags;
};

/* Identity, as the first event has it. */
static void put_trailer(const struct inject_jit *j, struct strbuf *to, u32 pid, u64 time)
{
	const struct perf_event_attr *a = &j->file->attrs.at[0].attr;
	u64 type = a->sample_id_all ? a->sample_type : 0, zero = 0;
	u32 who[2] = { pid, pid };
	if (type & PERF_SAMPLE_TID)
		strbuf_add(to, who, sizeof(who));
	if (type & PERF_SAMPLE_TIME)
		strbuf_add(to, &time, sizeof(time));
	static const u64 others[] = { PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
				      PERF_SAMPLE_IDENTIFIER };
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (type & others[i])
			strbuf_add(to, &zero, sizeof(zero));
}

static int put_map(struct dump *d, const char *path, u64 addr, u64 len, u64 time)
{
	struct strbuf *to = d->maps;
	size_t at = to->len, name = strlen(path) + 1;
	struct stat st = { 0 };
	(void)stat(path, &st);
	struct mmap2_body b = {
		.h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER },
		.pid = d->pid,
		.tid = d->pid,
		.start = addr,
		.len = len,
		.pgoff = JIT_IMAGE_CODE_AT,
		.major = major(st.st_dev),
		.minor = minor(st.st_dev),
		.ino = st.st_ino,
		.prot = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE,
	};
	strbuf_add(to, &b, sizeof(b));
	strbuf_add(to, path, name);
	strbuf_fill(to, 0, -name & 7);
	put_trailer(d->j, to, d->pid, time);
	if (to->err)
		return to->err;
	b.h.size = (u16)(to->len - at);
	memcpy(to->data + at, &b.h, sizeof(b.h));
	return 0;
}

/* ---- files ---- */

static int image_path(const struct dump *d, u64 index, char path[PATH_MAX])
{
	return str_path(path, PATH_MAX, "%.*sjitted-%u-%llu.so", (int)d->folder, d->path,
			d->file.pid, (ull)index);
}

static int by_offset(const void *a, const void *b)
{
	const struct jit_image_line *l = a, *r = b;
	return l->offset < r->offset ? -1 : l->offset > r->offset;
}

/* Lines are told by address before the code is; what lies outside belongs to none. */
static void fit_lines(struct dump *d, const struct jitdump_record *r)
{
	size_t nr = 0;
	vec_for_each (&d->lines, l)
		if (l->offset - r->addr < r->size)
			d->lines.at[nr++] = (struct jit_image_line){ .offset = l->offset - r->addr,
								     .line = l->line,
								     .file = l->file };
	d->lines.nr = nr;
	if (nr)
		qsort(d->lines.at, nr, sizeof(*d->lines.at), by_offset);
}

/* CPython 3.13 leaves the machine out: it is the one that was recorded. */
static u32 machine_of(const struct dump *d)
{
	const char *name = perfdata_string(d->j->file, FEAT_ARCH);
	const struct arch *arch = name ? arch_of_name(name) : arch_host();
	return d->file.machine || !arch ? d->file.machine : arch->elf_machine;
}

static u64 time_of(const struct dump *d, u64 time)
{
	const struct inject_jit *j = d->j;
	if (!d->file.arch_times)
		return time;
	u64 whole = time >> j->conv_shift, rest = time & ((1ull << j->conv_shift) - 1);
	return j->conv_zero + whole * j->conv_mult + (rest * j->conv_mult >> j->conv_shift);
}

static int note_size(struct dump *d, u64 index, u64 bytes)
{
	u32 at, fresh = (u32)d->made.nr;
	int err = dict_add(&d->sizes, index, fresh, &at);
	if (!err && at == fresh && !vec_push(&d->made))
		err = -ENOMEM;
	if (!err)
		d->made.at[at] = bytes;
	return err;
}

static int take_load(struct dump *d, const struct jitdump_record *r)
{
	char path[PATH_MAX];
	fit_lines(d, r);
	const struct jitdump_record *u = &d->unwinding;
	struct jit_image image = {
		.machine = machine_of(d),
		.big = d->file.left.swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__),
		.name = r->name,
		.code = r->code,
		.size = r->size,
		.lines = d->lines.at,
		.nr_lines = d->lines.nr,
		.unwind = u->unwind,
		.unwind_size = u->unwind_size,
		.unwind_head = u->unwind_head,
	};
	u64 bytes = r->size;
	if (u->unwind_mapped)
		bytes = ((bytes + 7) & ~7ull) + u->unwind_size;
	int err = jit_image_write(&image, &d->image);
	if (!err)
		err = image_path(d, r->index, path);
	if (!err)
		err = atomic_file_replace(path, d->image.data, d->image.len, 0644);
	if (err)
		return diag_error(d->j->diag, err,
				  "cannot write the code of '%.64s' next to '%s': %s", r->name,
				  d->path, strerror(-err));
	d->lines.nr = 0;
	d->unwinding = (struct jitdump_record){ 0 };
	d->j->nr_images++;
	err = note_size(d, r->index, bytes);
	return err ? err : put_map(d, path, r->addr, bytes, time_of(d, r->time));
}

static int take_move(struct dump *d, const struct jitdump_record *r)
{
	char path[PATH_MAX];
	u32 at = dict_get(&d->sizes, r->index);
	if (at == DICT_NONE || image_path(d, r->index, path))
		return 0; /* of a function that was never told */
	return put_map(d, path, r->addr, d->made.at[at], time_of(d, r->time));
}

static int take_lines(struct dump *d, struct jitdump_record *r)
{
	struct jitdump_line l;
	d->lines.nr = 0;
	while (d->lines.nr < LINES_MAX && jitdump_line(r, &l)) {
		struct jit_image_line *kept = vec_push(&d->lines);
		if (!kept)
			return -ENOMEM;
		*kept = (struct jit_image_line){ .offset = l.addr, .line = l.line, .file = l.file };
	}
	return 0;
}

static int take_records(struct dump *d)
{
	struct jitdump_record r;
	int got, err = 0;
	while (!err && (got = jitdump_next(&d->file, &r)) > 0) {
		switch (r.id) {
		case JITDUMP_LOAD: err = take_load(d, &r); break;
		case JITDUMP_MOVE: err = take_move(d, &r); break;
		case JITDUMP_DEBUG_INFO: err = take_lines(d, &r); break;
		case JITDUMP_UNWINDING: d->unwinding = r; break;
		case JITDUMP_CLOSE: return 0;
		default: break;
		}
	}
	if (!err && got < 0)
		diag_warn(d->j->diag, "'%s' is truncated or damaged; using its code up to there",
			  d->path);
	return err;
}

/* As with perf-PID.map: who wrote it decides whether it is believed. */
static int open_dump(const struct inject_jit *j, const char *path, u32 pid, const u8 **data,
		     size_t *size)
{
	struct stat st;
	_cleanup_close_ int fd =
		opener_open_path(j->symbols->opener, path, FOREIGN_NOFOLLOW | FOREIGN_OWNED);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (!st.st_size)
		return -EBADMSG;
	int err = foreign_check_writer(fd, symbols_uid(j->symbols, (s32)pid));
	if (err)
		return err;
	if (st.st_size > DUMP_MAX)
		diag_warn(j->diag, "'%s' is larger than %u MB: the rest is ignored", path,
			  DUMP_MAX >> 20);
	const void *map;
	*size = (size_t)min((u64)st.st_size, (u64)DUMP_MAX);
	err = guard_map(fd, *size, false, NULL, &map);
	if (!err)
		*data = map;
	return err;
}

static const char *why_not(int err)
{
	return err == -EBADMSG ? "it is empty"
	       : err == -EPERM ? "it is owned by another user than the process"
	       : err == -ELOOP ? "it is a symbolic link"
			       : strerror(-err);
}

/* The recording has a copy of the dump as it was at its end. */
static bool find_kept(const struct perfdata *p, u32 pid, const u8 **data, size_t *size)
{
	struct bytes cursor = perfdata_made_start(p);
	struct perfdata_made m;
	for (int i = 0; i < KEPT_MAX && perfdata_made_next(&cursor, &m); i++)
		if (m.kind == PERFDATA_MADE_DUMP && m.pid == pid) {
			*data = m.data;
			*size = m.size;
			return true;
		}
	return false;
}

/* What cannot be read is said, and stays without names. */
static int take_dump(struct inject_jit *j, const char *path, u32 pid, struct strbuf *maps)
{
	const u8 *data = NULL;
	size_t size = 0;
	struct dump d = { .j = j,
			  .path = path,
			  .folder = (size_t)(strrchr(path, '/') + 1 - path),
			  .pid = pid,
			  .maps = maps };
	int err = open_dump(j, path, pid, &data, &size);
	bool mapped = !err;
	if (err && find_kept(j->file, pid, &data, &size))
		err = 0;
	if (err) {
		diag_warn(j->diag, "cannot read '%s': %s", path, why_not(err));
		if (err == -EPERM)
			diag_hint(j->diag, "if you trust its contents: chown it to yourself");
		return 0;
	}
	if (jitdump_open(&d.file, data, size)) {
		diag_warn(j->diag, "'%s' is not a jitdump of version 1", path);
	} else if (d.file.arch_times && !j->has_conv) {
		diag_warn(
			j->diag,
			"'%s' uses CPU counter times, and the recording has no conversion for them",
			path);
	} else {
		strbuf_init(&d.image);
		dict_init(&d.sizes);
		err = take_records(&d);
		strbuf_done(&d.image);
		dict_done(&d.sizes);
		vec_free(&d.made);
		vec_free(&d.lines);
	}
	if (mapped)
		guard_unmap(data, size);
	return err;
}

/* ---- the recording ---- */

static int announce(struct inject_jit *j, const struct perf_side *side, u64 place)
{
	u32 index, known, fresh = (u32)j->maps.nr;
	int err = dict_add(&j->pids, side->pid, 0, &known);
	if (!err)
		err = dict_add(&j->paths, hash_bytes(side->name, strlen(side->name)), fresh, &index);
	if (err || index != fresh)
		return err; /* mapped once more: its code is told already */
	struct strbuf *maps = vec_push(&j->maps);
	if (!maps)
		return -ENOMEM;
	strbuf_init(maps);
	err = dict_add(&j->places, place, index, &known);
	return err ? err : take_dump(j, side->name, side->pid, &j->maps.at[index]);
}

static int see(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct inject_jit *j = ctx;
	struct perf_side side;
	if (h->type == REC_TIME_CONV && h->size >= sizeof(*h) + 24) {
		struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), j->file->swap);
		j->conv_shift = bytes_u64(&b);
		j->conv_mult = bytes_u64(&b);
		j->conv_zero = bytes_u64(&b);
		j->has_conv = j->conv_shift < 64;
	}
	if (h->type != PERF_RECORD_MMAP && h->type != PERF_RECORD_MMAP2)
		return 0;
	if (perf_walk_side(j->file, rec, h, &side) || !is_dump(side.name))
		return 0;
	return announce(j, &side, place);
}

/* The dump's times are of CLOCK_MONOTONIC: the recording's have to be. */
static int check_clock(const struct inject_jit *j)
{
	vec_for_each (&j->file->attrs, a) {
		if (a->attr.use_clockid && a->attr.clockid == CLOCK_MONOTONIC)
			continue;
		return -EDOM;
	}
	return 0;
}

int inject_jit_read(struct inject_jit *j, const struct source *src, const struct symbols *s)
{
	*j = (struct inject_jit){ .file = replay_perf_file(src), .symbols = s, .diag = s->diag };
	dict_init(&j->places);
	dict_init(&j->paths);
	dict_init(&j->pids);
	int err = check_clock(j);
	if (!err)
		err = perf_walk(j->file, see, j);
	if (err)
		inject_jit_done(j);
	return err;
}

void inject_jit_done(struct inject_jit *j)
{
	vec_for_each (&j->maps, m)
		strbuf_done(m);
	vec_free(&j->maps);
	dict_done(&j->places);
	dict_done(&j->paths);
	dict_done(&j->pids);
}

const struct strbuf *inject_jit_find(const struct inject_jit *j, const u8 *rec,
				     const struct perf_event_header *h, u64 place)
{
	struct perf_side side;
	/* The maps stand where the dump was announced, and come later in time. */
	if (h->type == REC_FINISHED_ROUND && j->maps.nr)
		return &nothing;
	if (h->type != PERF_RECORD_MMAP && h->type != PERF_RECORD_MMAP2)
		return NULL;
	u32 index = dict_get(&j->places, place);
	if (index != DICT_NONE)
		return &j->maps.at[index];
	/* The memory that it makes its code in would hide the code. */
	if (j->pids.nr && !perf_walk_side(j->file, rec, h, &side) && is_anon(side.name) &&
	    dict_get(&j->pids, side.pid) != DICT_NONE)
		return &nothing;
	return NULL;
}

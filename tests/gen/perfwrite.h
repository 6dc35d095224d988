/*
 * Writes small perf.data files into memory: file or pipe form, either byte order, attrs of any age, plain or compressed, as whole
 * or as wrong as a test wants them. Records are put one after the other; perfwrite_end() builds the file around them, so that
 * the same story can be told in every form.
 */
#pragma once

#include "base/strbuf.h"
#include "base/types.h"
#include "base/vec.h"
#include "wire/perf_record.h"

enum perfwrite_form {
	PERFWRITE_SWAP = 1 << 0,  /* the other byte order */
	PERFWRITE_PIPE = 1 << 1,
	PERFWRITE_ZSTD = 1 << 2,  /* what the kernel wrote lies in COMPRESSED records, cut anywhere */
	PERFWRITE_ZSTD2 = 1 << 3, /* the same in COMPRESSED2 */
	PERFWRITE_KILLED = 1 << 4, /* the header says that there is no data: the recorder died */
	PERFWRITE_NO_TIMES = 1 << 5, /* stories: events without times */
	PERFWRITE_OPEN = 1 << 6,     /* stories: the caller goes on, and ends the file */
};

struct perfwrite_event {
	struct perf_event_attr attr;
	u64 ids[4];
	u32 nr_ids;
	const char *name; /* NULL: not told */
};

/* What a record's identity says, and what a sample is made of. */
struct perfwrite_sample {
	u16 misc;
	u64 ip, time, addr, stream_id, period, id;
	u32 pid, tid, cpu;
	const u64 *chain;
	u64 nr_chain;
	const u64 *read;
	u64 nr_read;
	const void *raw;
	u32 raw_size;
	const u64 *branches; /* three words each */
	u64 nr_branches;
	const u64 *regs_user, *regs_intr;
	const void *stack;
	u64 stack_size, stack_used;
	u64 weight, data_src, transaction, phys_addr, cgroup, data_page, code_page;
};

struct perfwrite {
	unsigned form;
	u32 attr_size;  /* of every attr: 64 and more; 0: ours */
	u32 piece;      /* bytes of records in one compressed record; 0: 1000 */
	VEC(struct perfwrite_event) events;
	struct strbuf user;   /* records that perf itself writes at the start */
	struct strbuf kernel; /* records from here on: compressed when asked for */
	struct strbuf build_ids;
	struct strbuf out;    /* the file */
	struct {
		u32 bit;
		struct strbuf data;
	} features[16];
	u32 nr_features;
	struct strbuf *to;    /* where records go: user or kernel */
	size_t rec;           /* start of the open record in `to` */
};

void perfwrite_begin(struct perfwrite *w, unsigned form);
/* The new event's index. */
u32 perfwrite_event(struct perfwrite *w, const struct perf_event_attr *attr, const u64 *ids, u32 nr_ids, const char *name);

/* A record by hand. _end() fills in its size (or `size`, when that is not 0). */
void perfwrite_rec(struct perfwrite *w, u32 type, u16 misc);
void perfwrite_u16(struct perfwrite *w, u16 v);
void perfwrite_u32(struct perfwrite *w, u32 v);
void perfwrite_u64(struct perfwrite *w, u64 v);
void perfwrite_str(struct perfwrite *w, const char *s); /* NUL and padding to eight bytes included */
void perfwrite_bytes(struct perfwrite *w, const void *data, size_t size);
void perfwrite_rec_end(struct perfwrite *w, u16 size);

/* Identity at the end of a record, as event `e` wants it. */
void perfwrite_trailer(struct perfwrite *w, u32 e, const struct perfwrite_sample *who);
void perfwrite_sample(struct perfwrite *w, u32 e, const struct perfwrite_sample *s);
void perfwrite_comm(struct perfwrite *w, u32 pid, u32 tid, const char *name, bool exec, u64 time);
void perfwrite_fork(struct perfwrite *w, u32 pid, u32 ppid, u32 tid, u32 ptid, u64 time);
void perfwrite_exit(struct perfwrite *w, u32 pid, u32 ppid, u32 tid, u32 ptid, u64 time);
struct perfwrite_map {
	u32 pid;
	u64 addr, len, pgoff, ino;
	const char *name;
	const u8 *build_id; /* NULL: device and inode instead */
	bool kernel, old; /* old: MMAP instead of MMAP2 */
};
void perfwrite_mmap(struct perfwrite *w, const struct perfwrite_map *m, u64 time);
void perfwrite_ksymbol(struct perfwrite *w, u64 addr, u32 len, const char *name, bool gone, u64 time);
void perfwrite_lost(struct perfwrite *w, u64 lost, u64 time);
void perfwrite_round(struct perfwrite *w);
/* AUXTRACE and the payload behind it. */
void perfwrite_auxtrace(struct perfwrite *w, const void *data, u64 size);

/* From here on records come from rings: the part that -z compresses. */
void perfwrite_kernel(struct perfwrite *w);

/* A feature of any number; data NULL: zeroes. */
void perfwrite_feature(struct perfwrite *w, u32 bit, const void *data, size_t size);
/* The same for one that is a string. */
void perfwrite_feature_str(struct perfwrite *w, u32 bit, const char *s);
void perfwrite_build_id(struct perfwrite *w, const char *path, const u8 *id, u8 size);

/* Completes the file: w->out, until perfwrite_done. */
void perfwrite_end(struct perfwrite *w);
void perfwrite_done(struct perfwrite *w);

/*
 * A whole small story for tests of forms: two events with different samples, a program with threads that forks, runs another one
 * and loads a library, the kernel and a BPF program, losses, rounds, AUX data, and records and features nobody knows.
 */
void perfwrite_story(struct perfwrite *w, unsigned form, u32 attr_size, u32 rounds);

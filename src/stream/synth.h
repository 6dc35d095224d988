/*
 * Records about what was there before recording began: the kernel, its modules, running tasks and their maps; and those that
 * only files have. All are appended to one buffer, in the form the kernel would have written them, with times and ids of 0.
 */
#pragma once

#include "base/cpuset.h"
#include "base/dict.h"
#include "base/opener.h"
#include "kern/procfs.h"

struct synth_id {
	u64 id;
	u64 event;
	u64 cpu; /* ~0: any */
	u64 tid; /* ~0: any */
};

struct synth_build_id {
	u8 id[20];
	u8 size;
};

struct synth {
	const struct sysroot *root;
	struct strbuf *to;
	u32 trailer_bytes; /* after each record that the kernel could have written */
	bool build_ids; /* put them into MMAP2 records */
	struct opener *opener; /* reads build ids; set after init, borrowed; its notes are kmap_file_build_id()'s */
	bool data_maps; /* files that are mapped to be read, too; set after init */
	bool namespaces; /* those of each task; set after init */
	struct procfs proc;
	struct dict files; /* (device, inode) -> index of known */
	VEC(struct synth_build_id) known;
};

void synth_init(struct synth *s, const struct sysroot *root, u32 trailer_bytes, bool build_ids,
		struct strbuf *to);
void synth_done(struct synth *s);

void synth_id_index(struct synth *s, const struct synth_id *ids, size_t nr);
void synth_thread_map(struct synth *s, const s32 *tids, size_t nr); /* nr 0: all threads */
void synth_cpu_map(struct synth *s, const struct cpuset *cpus);
/* -ENOENT: addresses are hidden. */
int synth_kernel(struct synth *s) must_check;
/* The kernel of a virtual machine and its modules, by what its /proc/kallsyms and /proc/modules say. */
struct synth_guest {
	u32 pid; /* the process that runs it; 0: any guest */
	const char *kallsyms, *modules; /* modules NULL: not known */
	size_t kallsyms_len, modules_len;
};
/* -ENOENT: its list has no addresses. */
int synth_guest(struct synth *s, const struct synth_guest *g) must_check;
/* The control groups there are; none is no error. */
int synth_cgroups(struct synth *s) must_check;
int synth_modules(struct synth *s, const char *release) must_check;
/* Leader, threads and maps; a process that is gone or not ours gives nothing. */
int synth_process(struct synth *s, s32 pid) must_check;
/* The build ID of a file that a process has mapped; its size is 0 if it has none. false: the file cannot be read. */
bool synth_read_build_id(struct synth *s, s32 pid, const struct proc_map *m,
			 struct synth_build_id *b);
/* Only its name. */
void synth_name(struct synth *s, s32 pid);
int synth_all_processes(struct synth *s) must_check;
/* A record of the given type that is a head only: FINISHED_INIT, FINISHED_ROUND. */
void synth_mark(struct synth *s, u32 type);

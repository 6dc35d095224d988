/* Readings of /proc and the engine that compares them, for batch mode and the screen alike. */
#pragma once

#include "analysis/who.h"
#include "bpf/net_bytes.h"
#include "kern/proc_tasks.h"
#include "kern/user_names.h"
#include "session/who_ended.h"

struct who_source {
	struct sysroot root;
	struct proc_tasks *tasks;
	struct user_names names;
	struct who *who;
	struct strbuf buf;
	struct system_reading system[2]; /* before, now */
	const struct task_list *lists[2];
	struct who_ended ended; /* of this machine's tasks only */
	bool knows_ends;
	struct net_bytes net; /* while somebody asks for it */
	bool has_net, reads_threads;
	VEC(struct net_bytes_task) net_gone; /* scratch */
	s32 *nodes; /* [cpu]: NUMA */
	u32 nr_nodes_cpus;
	u64 nr_rounds; /* that can be compared */
	unsigned parts; /* of the last reading */
	bool threads;
	unsigned told_parts; /* that may not be read, which was said */
};

/* path: of another machine's /proc and /sys; NULL: this one. 0, or negative errno with a diag. */
int who_source_open(struct who_source *s, const char *path, struct diag *d) must_check;
void who_source_close(struct who_source *s);
/* Reads all tasks once more. pids: only these; NULL: all. */
int who_source_read(struct who_source *s, const struct who_opts *o, const s32 *pids, size_t nr_pids,
		    struct diag *d) must_check;
/* Whether the last reading has all that the options ask for. */
bool who_source_suits(const struct who_source *s, const struct who_opts *o);
/* What the two last readings say, into an initialised table; with one reading rates are not known. */
int who_source_table(struct who_source *s, const struct who_opts *o, struct table *to) must_check;
/* Nanoseconds between the two last readings. */
u64 who_source_interval(const struct who_source *s);
/* Notes about what cannot be seen, each once: hidden processes, files that are not ours to read, delays that are not counted. */
void who_source_notes(struct who_source *s, const struct who_opts *o, struct diag *d);

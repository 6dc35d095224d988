/* What the sub-commands of inspect share: options, an open kernel, where answers go. */
#pragma once

#include "base/json.h"
#include "cmd/app/app.h"
#include "memory/kfiles.h"
#include "memory/kunwind.h"
#include "memory/print.h"
#include "memory/walk.h"

#include <limits.h>

struct inspect_opts {
	bool how;
	bool hex, decimal;
	int memory; /* enum kspace_memory */
	const char *dump; /* NULL: the running kernel */
	u64 depth, elements;
	/* Of single sub-commands. */
	bool offsets; /* struct -o */
	const char *list_offset; /* list -o, tree -o */
	struct opt_list members; /* -s */
	bool head, embedded, backwards; /* list -H -h -r */
	const char *end; /* list -e, search -e */
	u64 limit;
	int tree_kind; /* tree -t */
	u64 width; /* rd: bits */
	bool symbols, no_ascii; /* rd -s -x */
	bool lines, until, from; /* dis -l -r -f */
	const char *module, *query; /* sym -m -q */
	const char *vmlinux; /* -k of dis, sym, bt */
	const char *task_members; /* task -R */
	bool wall_time, show_level, bare; /* log -T -m -t */
	const char *start, *length, *mask; /* search -s -l -m */
	bool slabs, zones, usage; /* kmem -s -z -i */
	bool signal_names, group; /* sig -l -g */
	const char *sigset; /* sig -s */
	bool affinity, softirqs, vectors, statistics, in_use; /* irq -a -b -d -s -u */
	bool high_resolution; /* timer -r */
	const char *cpus; /* timer -C */
	bool progs, maps; /* bpf -P -M */
	u64 prog, map; /* bpf -p -m */
	bool shared, semaphores, messages; /* ipcs -m -s -q */
	bool disks, pci; /* dev -d -p */
	bool active, states, parents, children; /* ps -A -S -p -c */
	bool sockets; /* net -s */
	bool stacks, as_text, words, halves; /* search -t -c -w -h */
	u64 interval_s, count; /* -i -n */
	const char *diff; /* --diff: a dump, or live */
	bool probed;
};

/* One run: an open kernel and where its answers go. */
struct inspect_child {
	u32 parent; /* the process */
	struct ktask task;
};

struct inspect {
	struct app *app;
	const struct inspect_opts *o;
	struct kspace k;
	struct print_opts print;
	struct strbuf text; /* goes to app->out at the end, unless --json */
	struct strbuf json_text;
	struct json j; /* inside of "rows" */
	char cache[PATH_MAX];
	u32 history; /* $1, $2 ... of p */
	struct walk_result walk; /* of list and tree, for the JSON's "end" */
	bool walked;
	bool misused; /* a usage error: status 129 */
	/* Opened when they are first needed. */
	struct ktasks tasks;
	struct kfiles files;
	bool has_tasks, has_files;
	struct kstacks *stacks;
	struct kunwind *unwind; /* of a dump */
	struct identify *identify;
	u64 context; /* the task that is meant where none is named; 0: ours */
	u64 group; /* of sig -g: 1 + the process that was shown last */
	VEC(struct inspect_child) children; /* of ps -c: all processes by their parents */
	bool has_children;
};

/* The words after the options. 0, -EINVAL: not as it is used (with a diag), other errno. */
typedef int (*inspect_fn)(struct inspect *i, int argc, char **argv);

/* Opens, calls, prints or explains, closes: the whole of a sub-command. The exit status. */
int inspect_run(struct app *app, const struct inspect_opts *o, inspect_fn fn, int argc, char **argv);
/* The two ends of it. */
void inspect_begin(struct inspect *i, struct app *app, const struct inspect_opts *o);
void inspect_end(struct inspect *i);
/* For those who need the symbols of trampolines and BPF programs, which come and go: to be called before the first look at symbols. */
void inspect_fresh_symbols(struct inspect *i);
/* "0xffff..." as JSON has addresses: numbers above 2^53 are not exact everywhere. */
void inspect_json_address(struct inspect *i, const char *key, u64 addr);
/* -EINVAL with a diag, for usage. */
int inspect_usage(struct inspect *i, const char *what);
/* All words as one expression; the kspace's. NULL: no memory. */
const char *inspect_join(struct inspect *i, int argc, char **argv);

int inspect_print(struct inspect *i, int argc, char **argv); /* p */
int inspect_struct(struct inspect *i, int argc, char **argv); /* struct, union, * */
int inspect_whatis(struct inspect *i, int argc, char **argv);
int inspect_list(struct inspect *i, int argc, char **argv);
int inspect_tree(struct inspect *i, int argc, char **argv);
int inspect_rd(struct inspect *i, int argc, char **argv);
int inspect_sym(struct inspect *i, int argc, char **argv);
int inspect_dis(struct inspect *i, int argc, char **argv);
int inspect_ps(struct inspect *i, int argc, char **argv);
int inspect_mod(struct inspect *i, int argc, char **argv);
int inspect_probed(struct inspect *i, int argc, char **argv);
int inspect_task(struct inspect *i, int argc, char **argv);
int inspect_foreach(struct inspect *i, int argc, char **argv);
int inspect_bt(struct inspect *i, int argc, char **argv);
int inspect_files(struct inspect *i, int argc, char **argv);
int inspect_vm(struct inspect *i, int argc, char **argv);
int inspect_log(struct inspect *i, int argc, char **argv);
int inspect_sys(struct inspect *i, int argc, char **argv);
int inspect_vtop(struct inspect *i, int argc, char **argv);
int inspect_identify(struct inspect *i, int argc, char **argv);
int inspect_search(struct inspect *i, int argc, char **argv);
int inspect_runq(struct inspect *i, int argc, char **argv);
int inspect_mount(struct inspect *i, int argc, char **argv);
int inspect_net(struct inspect *i, int argc, char **argv);
int inspect_kmem(struct inspect *i, int argc, char **argv);
int inspect_sig(struct inspect *i, int argc, char **argv);
int inspect_irq(struct inspect *i, int argc, char **argv);
int inspect_timer(struct inspect *i, int argc, char **argv);
int inspect_waitq(struct inspect *i, int argc, char **argv);
int inspect_bpf(struct inspect *i, int argc, char **argv);
int inspect_ipcs(struct inspect *i, int argc, char **argv);
int inspect_swap(struct inspect *i, int argc, char **argv);
int inspect_diff(struct inspect *i, int argc, char **argv); /* --diff */
int inspect_dev(struct inspect *i, int argc, char **argv);
int inspect_eval(struct inspect *i, int argc, char **argv);

/* What is shown of one task. */
typedef int (*inspect_task_fn)(struct inspect *i, const struct ktask *t);
int inspect_task_bt(struct inspect *i, const struct ktask *t);
int inspect_task_files(struct inspect *i, const struct ktask *t);
int inspect_task_vm(struct inspect *i, const struct ktask *t);
int inspect_task_sig(struct inspect *i, const struct ktask *t);
/* For each task that one of the words means; without words, for the context's task. */
int inspect_for_tasks(struct inspect *i, int nr_words, char **words, inspect_task_fn fn);
/* Opens i->tasks. */
int inspect_tasks(struct inspect *i);
/* "PID: 1592 TASK: ffff...", and the same as members of a JSON object. */
void inspect_task_head(struct inspect *i, const struct ktask *t);
void inspect_json_task(struct inspect *i, const struct ktask *t);

/* Whether a word names a struct or union, "list_head", "task_struct.pid,comm"; for the short form `inspect kprobe ADDRESS`. */
bool inspect_names_struct(struct inspect *i, const char *word);

/* What a function's entry, or an instruction, is when somebody put a probe there. "" for nothing of the kind. */
enum { INSPECT_NOTE = 96 };
void inspect_note(struct inspect *i, u64 addr, u64 offset, const u8 *code, size_t size,
		  char note[INSPECT_NOTE]);

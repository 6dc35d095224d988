/* --call-graph: how stacks are followed, as asked or as the programs need it. */
#include "cmd/record/record.h"
#include "cmd/app/files.h"
#include "event/branch.h"
#include "sym/unwind_tables.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	STACK_BYTES_DEFAULT = 8192,
	STACK_BYTES_MAX = UINT16_MAX & ~7, /* a record is no longer than 64 KB */
	DWARF_RING_BYTES = 4 << 20,
	DWARF_FLUSH_NS = 200000000,
};

int record_keeps_frames(const char *path, bool *dynamic)
{
	struct elfimg e;
	struct cfi_table t;
	struct elfimg_segment seg;
	const struct arch *arch = arch_host();
	int err = arch ? elfimg_open(&e, path, files_opener()) : -ENOTSUP;
	if (err)
		return err;
	*dynamic = false;
	for (u32 i = 0; elfimg_segment(&e, i, &seg); i++)
		*dynamic |= seg.type == PT_INTERP;
	int keeps = cfi_build(&t, arch, &e, &e);
	if (!keeps) {
		keeps = unwind_keeps_frame_pointers(&t);
		cfi_done(&t);
	}
	elfimg_close(&e);
	return keeps;
}

struct looked {
	bool only_libc;
	bool without; /* one was found that keeps no frame pointers */
};

static int look_at_map(void *ctx, const struct proc_map *m)
{
	struct looked *l = ctx;
	bool dynamic;
	const char *name = strrchr(m->path, '/');
	if (!(m->prot & PROT_EXEC) || m->path[0] != '/' || !name ||
	    (l->only_libc && strncmp(name, "/libc.so", 8) && strncmp(name, "/libc-", 6)))
		return 0;
	l->without = record_keeps_frames(m->path, &dynamic) <= 0;
	return l->without;
}

static bool process_keeps_frames(const struct sysroot *root, s32 pid, bool only_libc)
{
	struct procfs proc;
	struct looked l = { .only_libc = only_libc };
	procfs_init(&proc, root);
	int err = procfs_maps(&proc, pid, look_at_map, &l);
	procfs_done(&proc);
	return err >= 0 && !l.without;
}

/*
 * The rule of `auto`: by frame pointer when everything that is known to run keeps them in at least nine of ten functions: the files that
 * processes of -p have mapped, or the command's program and (for a dynamic one) the C library of this system. Else, and for whatever
 * cannot be known before (-a, -t, scripts) or looked at, by table.
 */
static bool frames_suffice(const struct record_session *s, const struct live_opts *l,
			   const char *program)
{
	if (l->system_wide || l->nr_tids)
		return false;
	for (size_t i = 0; i < l->nr_pids; i++)
		if (!process_keeps_frames(&s->root, l->pids[i], false))
			return false;
	if (l->nr_pids)
		return true;
	char path[PATH_MAX];
	bool dynamic;
	return program && !child_find(program, path, sizeof(path)) &&
	       record_keeps_frames(path, &dynamic) > 0 &&
	       (!dynamic || process_keeps_frames(&s->root, getpid(), true));
}

static int parse_dwarf(const char *text, u32 *bytes, struct diag *d)
{
	u64 v = STACK_BYTES_DEFAULT;
	const char *number = strchr(text, ',');
	if (number && (num_parse_u64(number + 1, 10, &v) || !v || v > STACK_BYTES_MAX)) {
		diag_error(d, -EINVAL, "--call-graph %s: bytes of stack from 8 to %d", text,
			   STACK_BYTES_MAX);
		diag_span(d, text, (size_t)(number + 1 - text), strlen(number + 1));
		return -EINVAL;
	}
	*bytes = (u32)min((v + 7) & ~7ull, (u64)STACK_BYTES_MAX);
	return 0;
}

static bool is_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	return !strncmp(text, word, len) && (!text[len] || text[len] == ',');
}

/* The CPU keeps its last calls: the user's part of the chain comes from there, the kernel's from its frame pointers. */
static int call_stack_by_branches(struct live_opts *l, struct diag *d)
{
	if (l->branches) {
		diag_error(d, -EINVAL, "--call-graph lbr takes the place of branch stacks (-b, -j)");
		diag_hint(d, "--call-graph fp or dwarf goes with them");
		return -EINVAL;
	}
	l->branches = BRANCH_CALL_STACK;
	return 0;
}

int record_call_graph(struct record_session *s, const char *program, struct recorder_opts *ro)
{
	const struct record_opts *o = s->o;
	struct live_opts *l = &ro->live;
	struct diag *d = &s->app->diag;
	const char *how = o->call_graph ? o->call_graph : o->graph ? "fp" : "no";
	l->call_graph = strcmp(how, "no") && strcmp(how, "none");
	bool dwarf = is_word(how, "dwarf") || !strcmp(how, "auto");
	if (o->raw_stack && !is_word(how, "dwarf"))
		return diag_error(d, -EINVAL, "--raw-stack is about --call-graph dwarf");
	s->by_frame_pointer = !strcmp(how, "fp");
	if (!l->call_graph || s->by_frame_pointer)
		return 0;
	if (!strcmp(how, "lbr"))
		return call_stack_by_branches(l, d);
	if (!dwarf) {
		diag_error(d, -EINVAL, "--call-graph %s: there is no such way", how);
		diag_hint(d,
			  "fp follows frame pointers, dwarf[,BYTES] unwind tables, auto decides, "
			  "lbr asks the CPU");
		return -EINVAL;
	}
	u32 bytes;
	int err = parse_dwarf(how, &bytes, d);
	if (err)
		return err;
	if (!strcmp(how, "auto")) {
		bool fp = frames_suffice(s, l, program);
		diag_note(d, "--call-graph auto: %s",
			  fp ? "fp, the programs keep frame pointers"
			     : "dwarf, not all programs keep frame pointers");
		if (fp)
			return 0;
	}
	l->stack_bytes = bytes;
	bool raw = o->raw_stack || s->as_perf; /* perf's readers unwind */
	l->unwinds = l->settle = ro->unwind = !raw;
	ro->cache = cache_folder(app_symbols(s->app), s->cache, sizeof(s->cache));
	ro->places = symbols_places(app_symbols(s->app), NULL);
	/* Samples are large: rings too, where that much memory may be locked, and what waits in them is taken soon. */
	if (!l->ring_bytes && !geteuid())
		l->ring_bytes = DWARF_RING_BYTES;
	if (!l->flush_ns)
		l->flush_ns = DWARF_FLUSH_NS;
	return 0;
}

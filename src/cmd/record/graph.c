/* --call-graph: how stacks are followed, as asked or as the programs need it. */
#include "cmd/record/record.h"
#include "event/branch.h"
#include "session/short_chains.h"
#include "sym/unwind_tables.h"

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
	AUTO_RINGS_BYTES = 128 << 20, /* of all CPUs, where stack copies may grow */
	AUTO_RING_MAX_BYTES = 32 << 20,
	DWARF_FLUSH_NS = 200000000,
};

struct looked {
	struct opener *opener;
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
	l->without = short_chains_keeps_frames(m->path, l->opener, &dynamic) <= 0;
	return l->without;
}

static bool process_keeps_frames(const struct record_session *s, s32 pid, bool only_libc)
{
	struct procfs proc;
	struct looked l = { .opener = s->opener, .only_libc = only_libc };
	procfs_init(&proc, &s->root);
	int err = procfs_maps(&proc, pid, look_at_map, &l);
	procfs_done(&proc);
	return err >= 0 && !l.without;
}

/*
 * Whether everything that is known to run keeps frame pointers in at least nine of ten functions: the files that processes of -p have
 * mapped, or the command's program and (for a dynamic one) the C library of this system. Whatever cannot be known before (-a, -t,
 * scripts) or looked at does not.
 */
static bool frames_suffice(const struct record_session *s, const struct live_opts *l,
			   const char *program)
{
	if (l->system_wide || l->nr_tids)
		return false;
	for (size_t i = 0; i < l->nr_pids; i++)
		if (!process_keeps_frames(s, l->pids[i], false))
			return false;
	if (l->nr_pids)
		return true;
	char path[PATH_MAX];
	bool dynamic;
	return program && !child_find(program, path, sizeof(path)) &&
	       short_chains_keeps_frames(path, s->opener, &dynamic) > 0 &&
	       (!dynamic || process_keeps_frames(s, getpid(), true));
}

/* Events that bring a sample each time they occur: how many, nobody knows. */
static bool has_unpaced_event(const struct record_session *s, const struct live_opts *l)
{
	bool unpaced = l->period;
	vec_for_each (&s->events.events, e)
		unpaced |= e->attr.type == PERF_TYPE_TRACEPOINT || e->terms.has_period;
	return unpaced;
}

/*
 * The rule of `auto`: by frame pointer when the programs keep them, and where copies of stacks cannot be afforded or unwound: in rings that
 * are overwritten, for every occurrence of an event on the whole system, beside the registers of --user-regs, on machines whose stacks we
 * cannot follow. Else by table. *why: for the note.
 */
static bool choose_frames(const struct record_session *s, const struct live_opts *l,
			  const char *program, const char **why)
{
	if (!arch_host())
		*why = "stacks cannot be unwound on this architecture";
	else if (l->overwrite)
		*why = "with --overwrite the rings would hold too few stack copies";
	else if (l->regs_user)
		*why = "--user-regs keeps the registers";
	else if (l->system_wide && has_unpaced_event(s, l))
		*why = "copying the stack with every event of the whole system is too expensive";
	else if (frames_suffice(s, l, program))
		*why = "the programs have frame pointers";
	else
		*why = "not all programs have frame pointers";
	return strcmp(*why, "not all programs have frame pointers") != 0;
}

static int parse_dwarf(const char *text, u32 *bytes, struct diag *d)
{
	u64 v = STACK_BYTES_DEFAULT;
	const char *number = strchr(text, ',');
	if (number && (num_parse_u64(number + 1, 10, &v) || !v || v > STACK_BYTES_MAX)) {
		diag_error(d, -EINVAL, "--call-graph %s: stack size must be from 8 to %d bytes",
			   text, STACK_BYTES_MAX);
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
		diag_error(d, -EINVAL,
			   "--call-graph lbr cannot be combined with branch stacks (-b, -j)");
		diag_hint(d, "use --call-graph fp or dwarf with them");
		return -EINVAL;
	}
	l->branches = BRANCH_CALL_STACK;
	return 0;
}

/* An eighth of a second of the largest samples, as far as that can be afforded on all CPUs; a power of two. */
static u64 auto_ring_bytes(const struct live_opts *l)
{
	enum { HZ_DEFAULT = 4000 };
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	u64 hz = l->freq_hz && !l->period ? l->freq_hz : HZ_DEFAULT;
	u64 bytes = DWARF_RING_BYTES;
	while (bytes < AUTO_RING_MAX_BYTES && bytes / STACK_BYTES_MAX < hz / 8 &&
	       2 * bytes * (u64)max(nr_cpus, 1L) <= AUTO_RINGS_BYTES)
		bytes *= 2;
	return bytes;
}

int record_call_graph(struct record_session *s, const char *program, struct recorder_opts *ro)
{
	const struct record_opts *o = s->o;
	struct live_opts *l = &ro->live;
	struct diag *d = s->tell.diag;
	/* What -g means to perf is fp. Under our own name it is what gives whole stacks (DESIGN.md, principle 3). */
	const char *how = o->call_graph ? o->call_graph
			  : !o->graph	? (o->off_cpu && !s->as_perf ? "fp" : "no")
			  : s->as_perf	? "fp"
					: "auto";
	l->call_graph = strcmp(how, "no") && strcmp(how, "none");
	bool dwarf = is_word(how, "dwarf") || !strcmp(how, "auto");
	if (o->raw_stack && !is_word(how, "dwarf"))
		return diag_error(d, -EINVAL, "--raw-stack needs --call-graph dwarf");
	s->by_frame_pointer = !strcmp(how, "fp");
	if (!l->call_graph || s->by_frame_pointer)
		return 0;
	if (!strcmp(how, "lbr"))
		return call_stack_by_branches(l, d);
	if (!dwarf) {
		diag_error(d, -EINVAL, "unknown call-graph mode '%s'", how);
		diag_hint(d, "valid modes are fp (frame pointers), dwarf[,BYTES] (unwind tables), "
			     "auto, and lbr (branch hardware)");
		return -EINVAL;
	}
	u32 bytes;
	int err = parse_dwarf(how, &bytes, d);
	if (err)
		return err;
	bool is_auto = !strcmp(how, "auto");
	if (is_auto) {
		const char *why;
		bool fp = choose_frames(s, l, program, &why);
		if (o->call_graph)
			diag_note(d, "--call-graph auto: %s, %s", fp ? "fp" : "dwarf", why);
		s->by_frame_pointer = fp;
		if (fp)
			return 0;
	}
	l->stack_bytes = bytes;
	bool raw = o->raw_stack || s->as_perf; /* perf's readers unwind */
	l->larger_stacks = is_auto && !raw;
	l->unwinds = l->settle = ro->unwind = !raw;
	ro->cache = cache_folder(s->names, s->cache, sizeof(s->cache));
	ro->places = symbols_places(s->names, NULL);
	/* Samples are large: rings too, where that much memory may be locked, and what waits in them is taken soon. */
	if (!l->ring_bytes && !geteuid())
		l->ring_bytes = l->larger_stacks ? auto_ring_bytes(l) : DWARF_RING_BYTES;
	if (!l->flush_ns)
		l->flush_ns = DWARF_FLUSH_NS;
	return 0;
}

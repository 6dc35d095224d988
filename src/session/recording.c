#include "session/recording.h"
#include "base/foreign.h"
#include "session/recorded_kcore.h"
#include "stream/replay_ftrace.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The first bytes of a plain file, or of the first file of a recording in the form of a directory, at most max: how many; 0: none, or it
 * cannot be read.
 */
static size_t first_bytes(const char *path, void *to, size_t max)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return 0;
	if (S_ISDIR(st.st_mode)) {
		int inner = foreign_openat(fd, "data", FOREIGN_NOFOLLOW);
		(void)close(fd);
		fd = inner;
	}
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	ssize_t n = read(fd, to, max);
	return n < 0 ? 0 : (size_t)n;
}

enum looks recording_kind(const char *path)
{
	char bytes[LOOKS_BYTES];
	return looks_like(bytes, first_bytes(path, bytes, sizeof(bytes)));
}

/* Where the kernel's text begins, by the list of symbols in a file; 0: not known. */
static u64 kernel_start(struct source *src, u32 file)
{
	struct tracedat_text t = replay_ftrace_text(src, file, TRACEDAT_KALLSYMS);
	if (!t.data || !t.len)
		return 0;
	const char *at = memmem(t.data, t.len, " T _stext\n", 10);
	const char *line = at ? memrchr(t.data, '\n', (size_t)(at - t.data)) : NULL;
	return at ? strtoull(line ? line + 1 : t.data, NULL, 16) : 0;
}

/* One list of symbols names the functions of all: it has to be the same kernel, at the same place. */
static int check_kernels(struct symbols *sy, struct source *src,
			 const struct replay_ftrace_input *in)
{
	const struct tracedat *first = replay_ftrace_file(src, 0);
	for (u32 i = 1; i < replay_ftrace_nr_files(src); i++) {
		const struct tracedat *t = replay_ftrace_file(src, i);
		bool same_name = !strcmp(t->uname ? t->uname : "", first->uname ? first->uname : "");
		bool same_clock = !strcmp(t->clock ? t->clock : "local",
					  first->clock ? first->clock : "local");
		if (!same_name || kernel_start(src, i) != kernel_start(src, 0)) {
			(void)diag_error(sy->diag, -ENOTSUP,
					 "%s and %s are from different kernels or boots",
					 in[0].path, in[i].path);
			diag_hint(sy->diag, "'sonde ftrace report -i A -i B' prints the events of "
					    "both, each with its own names");
			return -ENOTSUP;
		}
		if (!same_clock)
			diag_warn(
				sy->diag, "%s was recorded with clock '%s', %s with '%s': their order is unreliable",
				in[0].path, first->clock ? first->clock : "local", in[i].path,
				t->clock ? t->clock : "local");
	}
	return 0;
}

static int open_traces(struct symbols *sy, const struct replay_ftrace_input *in, u32 nr,
		       enum recording_use use, struct source **ret)
{
	struct replay_ftrace_opts o = { .style = PRINT_STYLE_KERNEL,
					.samples = true,
					.calls = use == RECORDING_TIME };
	struct source *src;
	int err = replay_ftrace_open_files(in, nr, &o, &src, sy->diag);
	if (err)
		return err;
	for (u32 i = 0; i < nr && !err; i++)
		if (replay_ftrace_file(src, i)->latency) {
			err = diag_error(sy->diag, -ENODATA,
					 "%s holds the text of a latency tracer, and no events",
					 in[i].path);
			diag_hint(sy->diag, "'sonde ftrace report' shows it");
		}
	if (!err)
		err = check_kernels(sy, src, in);
	if (err)
		src->ops->close(src);
	else
		*ret = src;
	return err;
}

int recording_open(struct symbols *sy, const char *path, enum recording_use use,
		   const struct symbol_opts *o, struct source **ret)
{
	char bytes[LOOKS_BYTES];
	size_t size = first_bytes(path, bytes, sizeof(bytes));
	enum looks kind = looks_like(bytes, size);
	if (kind == LOOKS_TRACEDAT)
		return open_traces(sy, &(struct replay_ftrace_input){ .path = path }, 1, use, ret);
	if (kind == LOOKS_OTHER && size) {
		(void)diag_error(sy->diag, -EBADMSG,
				 "'%s' is neither a perf.data nor a trace.dat file", path);
		looks_hint(sy->diag, bytes, size);
		return -EBADMSG;
	}
	struct source *src;
	symbols_recorded(sy, path);
	int err = replay_perf_open(path, &src, sy->diag);
	if (err)
		return err;
	err = symbols_unwind(sy, src, o);
	if (err)
		src->ops->close(src);
	else
		*ret = src;
	return err;
}

const char *recording_input(const struct opt_list *inputs, const char *otherwise)
{
	return inputs->items.nr ? inputs->items.at[inputs->items.nr - 1] : otherwise;
}

int recording_open_inputs(struct symbols *sy, const struct opt_list *inputs, const char *path,
			  enum recording_use use, const struct symbol_opts *o, struct source **ret)
{
	VEC(struct replay_ftrace_input) files = { 0 };
	const char *other = NULL;
	int err = 0;
	vec_for_each (&inputs->items, item) {
		if (recording_kind(*item) != LOOKS_TRACEDAT) {
			other = *item;
			continue;
		}
		struct replay_ftrace_input *in = vec_push(&files);
		if (!in)
			err = -ENOMEM;
		else
			*in = (struct replay_ftrace_input){ .path = *item };
	}
	if (err) {
		;
	} else if (files.nr + (other != NULL) < 2 || !files.nr) {
		err = recording_open(sy, path, use, o, ret);
	} else if (other) {
		err = diag_error(sy->diag, -EINVAL,
				 "%s is a trace.dat and %s is not: they cannot be merged",
				 files.at[0].path, other);
		diag_hint(sy->diag,
			  "'sonde ftrace report %s PERF.DATA TRACE.DAT' prints both by time",
			  diag_option(sy->diag, DIAG_OPT_SAMPLES));
	} else {
		err = open_traces(sy, files.at, (u32)files.nr, use, ret);
	}
	vec_free(&files);
	return err;
}

/* The list that the file holds is of the kernel that was traced: there is nothing to compare. */
static int file_symbols(void *ctx, enum sym_kernel_text what, struct sym_text *ret)
{
	struct tracedat_text t = { 0 };
	if (what == SYM_KALLSYMS)
		t = replay_ftrace_text(ctx, 0, TRACEDAT_KALLSYMS);
	if (!t.data || !t.len)
		return -ENOENT;
	*ret = (struct sym_text){ .data = t.data, .len = t.len };
	return 0;
}

/* The list that a directory holds beside its records. */
static int kcore_symbols(void *ctx, enum sym_kernel_text what, struct sym_text *ret)
{
	return what == SYM_KALLSYMS ? recorded_kcore_list(ctx, ret) : -ENOENT;
}

static bool has_kcore_list(const struct source *src)
{
	struct sym_text t;
	if (recorded_kcore_list(src, &t))
		return false;
	t.release(&t);
	return true;
}

struct names *recording_names(struct symbols *sy, struct source *src, const struct symbol_opts *o)
{
	struct sym_config cfg = symbols_config(sy, o);
	bool trace = source_facts(src).kind == SOURCE_TRACE;
	if (!o->kallsyms && !o->vmlinux && (trace || has_kcore_list(src))) {
		cfg.kernel_text = trace ? file_symbols : kcore_symbols;
		cfg.kernel_ctx = src;
		cfg.kallsyms_given = true;
	}
	return sym_names_new(&cfg);
}

int recording_needs_perf(const struct source *src, const char *path, const char *what,
			 struct diag *d)
{
	if (source_facts(src).kind == SOURCE_PERF)
		return 0;
	(void)diag_error(d, -ENOTSUP, "%s: %s is only for perf.data, and this is a trace.dat", path,
			 what);
	diag_hint(d, "'sonde ftrace dump' shows what a trace.dat holds besides its events");
	return -ENOTSUP;
}

unsigned recording_split_reads(const struct source *src, struct sink *sink, unsigned workers)
{
	if (!source_facts(src).has_reads)
		return workers;
	sink->needs |= NEED_READ;
	return 1;
}

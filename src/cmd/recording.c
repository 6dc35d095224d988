#include "cmd/recording.h"
#include "cmd/mapped.h"
#include "file/looks.h"
#include "stream/replay_ftrace.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first bytes of a plain file, at most max: how many; 0: none, it cannot be read, or it is no plain file. */
static size_t first_bytes(const char *path, void *to, size_t max)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	ssize_t n = read(fd, to, max);
	return n < 0 ? 0 : (size_t)n;
}

static enum recording_kind kind_of(const char *bytes, size_t size)
{
	static const struct {
		const char *magic;
		size_t len;
		enum recording_kind kind;
	} kinds[] = {
		{ "PERFILE2", 8, RECORDING_PERF },
		{ "2ELIFREP", 8, RECORDING_PERF },
		{ "\x17\x08\x44tracing", 10, RECORDING_FTRACE },
	};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (size >= kinds[i].len && !memcmp(bytes, kinds[i].magic, kinds[i].len))
			return kinds[i].kind;
	return RECORDING_NONE;
}

enum recording_kind recording_kind(const char *path)
{
	char bytes[10];
	return kind_of(bytes, first_bytes(path, bytes, sizeof(bytes)));
}

static int open_trace(struct app *app, const char *path, enum recording_use use, struct source **ret)
{
	struct replay_ftrace_opts o = { .style = PRINT_STYLE_KERNEL,
					.samples = true,
					.calls = use == RECORDING_TIME };
	struct source *src;
	int err = replay_ftrace_open(path, &o, &src, &app->diag);
	if (err)
		return err;
	if (replay_ftrace_file(src, 0)->latency) {
		src->ops->close(src);
		(void)diag_error(&app->diag, -ENODATA,
				 "%s holds the text of a latency tracer, and no events", path);
		diag_hint(&app->diag, "sonde ftrace report shows it");
		return -ENODATA;
	}
	*ret = src;
	return 0;
}

int recording_open(struct app *app, const char *path, enum recording_use use,
		   const struct symbol_opts *o, struct source **ret)
{
	char bytes[LOOKS_BYTES];
	size_t size = first_bytes(path, bytes, sizeof(bytes));
	enum recording_kind kind = kind_of(bytes, size);
	mapped_guard(path);
	if (kind == RECORDING_FTRACE)
		return open_trace(app, path, use, ret);
	if (kind == RECORDING_NONE && size) {
		(void)diag_error(&app->diag, -EBADMSG,
				 "'%s' is neither a perf.data nor a trace.dat file", path);
		looks_hint(&app->diag, bytes, size);
		return -EBADMSG;
	}
	struct source *src;
	int err = replay_perf_open(path, &src, &app->diag);
	if (err)
		return err;
	err = symbols_unwind(src, o);
	if (err)
		src->ops->close(src);
	else
		*ret = src;
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

struct names *recording_names(struct app *app, struct source *src, const struct symbol_opts *o)
{
	struct sym_config cfg = symbols_config(app, o);
	if (replay_ftrace_is(src) && !o->kallsyms && !o->vmlinux) {
		cfg.kernel_text = file_symbols;
		cfg.kernel_ctx = src;
		cfg.kallsyms_given = true;
	}
	return sym_names_new(&cfg);
}

int recording_needs_perf(struct app *app, const struct source *src, const char *path,
			 const char *what)
{
	if (!replay_ftrace_is(src))
		return 0;
	(void)diag_error(&app->diag, -ENOTSUP, "%s: %s is of perf.data, and this is a trace.dat",
			 path, what);
	diag_hint(&app->diag, "sonde ftrace dump shows what a trace.dat holds besides its events");
	return -ENOTSUP;
}

#include "cmd/ftrace_parts.h"

#include "kern/sysroot.h"
#include "stream/ftrace_meta.h"
#include "stream/live_ftrace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HALVES = 2, PLAN_MAX = 1 << 20 };

void parts_init(struct parts *p)
{
	*p = (struct parts){ 0 };
	arena_init(&p->arena);
}

void parts_done(struct parts *p)
{
	vec_free(&p->buffers);
	arena_done(&p->arena);
	*p = (struct parts){ 0 };
}

static int path_of(const struct parts *p, const char *name, char *to, size_t size)
{
	return snprintf(to, size, "%s/%s", p->folder, name) < (int)size ? 0 : -ENAMETOOLONG;
}

/* Said before anything is recorded, not when it is to be joined. plain: it is a plain file, or will be one. */
static int check_output(const char *output, bool *plain, struct diag *d)
{
	struct stat st;
	size_t len = strlen(output);
	*plain = true;
	if (!len)
		return diag_error(d, -EINVAL, "the file to be written has an empty name");
	bool there = !stat(output, &st);
	if (there ? S_ISDIR(st.st_mode) : output[len - 1] == '/')
		return diag_error(d, -EISDIR, "cannot write %s: it is a folder", output);
	*plain = !there || S_ISREG(st.st_mode);
	return 0;
}

int parts_name(struct parts *p, const char *output, const char *dir, struct diag *d)
{
	char path[PATH_MAX], cwd[PATH_MAX] = "";
	const char *tmp = getenv("TMPDIR");
	bool plain;
	int err = check_output(output, &plain, d);
	if (err)
		return err;
	/* Beside a device there is no room for parts. */
	if (!plain && !dir)
		dir = tmp && *tmp ? tmp : "/tmp";
	bool relative = *output != '/';
	if ((relative || (dir && *dir != '/')) && !getcwd(cwd, sizeof(cwd)))
		return diag_error(d, -errno, "the current folder is gone");
	(void)snprintf(path, sizeof(path), "%s%s%s", relative ? cwd : "", relative ? "/" : "",
		       output);
	p->output = arena_strdup(&p->arena, path);
	const char *base = strrchr(output, '/');
	char own[24] = "";
	if (!plain)
		(void)snprintf(own, sizeof(own), "-%d", (int)getpid());
	if (dir)
		(void)snprintf(path, sizeof(path), "%s%s%s/%s%s.parts", *dir == '/' ? "" : cwd,
			       *dir == '/' ? "" : "/", dir, base ? base + 1 : output, own);
	else
		(void)snprintf(path, sizeof(path), "%s%s%s.parts", relative ? cwd : "",
			       relative ? "/" : "", output);
	p->folder = arena_strdup(&p->arena, path);
	return p->output && p->folder ? 0 : -ENOMEM;
}

int parts_make(const struct parts *p, struct diag *d)
{
	if (!mkdir(p->folder, 0755))
		return 0;
	int err = diag_error(d, -errno, "cannot make %s: %s", p->folder, strerror(errno));
	if (err == -EEXIST)
		diag_hint(d,
			  "a recording that was cut off, or one that is running; 'sonde ftrace "
			  "restore %s' makes a file of it",
			  p->folder);
	return err;
}

int parts_create(struct parts *p, const char *output, const char *dir, struct diag *d)
{
	int err = parts_name(p, output, dir, d);
	return err ? err : parts_make(p, d);
}

int parts_add_buffer(struct parts *p, const char *name, const char *folder, const char *clock,
		     u32 page_size)
{
	struct part_buffer *b = vec_push(&p->buffers);
	if (!b)
		return -ENOMEM;
	*b = (struct part_buffer){ .name = arena_strdup(&p->arena, name),
				   .folder = arena_strdup(&p->arena, folder),
				   .clock = arena_strdup(&p->arena, clock),
				   .page_size = page_size };
	return b->name && b->folder && b->clock ? 0 : -ENOMEM;
}

static int write_text(const struct parts *p, const char *name, const char *text, size_t len)
{
	char path[PATH_MAX];
	int err = path_of(p, name, path, sizeof(path));
	if (err)
		return err;
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : strbuf_drain_fd(&fd, text, len);
}

int parts_write_names(const struct parts *p, const char *names, size_t len)
{
	return write_text(p, "names", names, len);
}

int parts_write_latency(const struct parts *p, const struct tracing *t)
{
	struct strbuf text;
	char path[PATH_MAX];
	strbuf_init(&text);
	(void)snprintf(path, sizeof(path), "%strace", p->latency);
	int err = tracing_read(t, path, &text);
	if (!err)
		err = write_text(p, "text", strbuf_cstr(&text), text.len);
	strbuf_done(&text);
	return err;
}

static void add_plan(const struct parts *p, struct strbuf *s)
{
	strbuf_printf(s, "output\t%s\nversion\t%u\ncompression\t%s\ncpus\t%u\n", p->output,
		      p->version, compress_name(p->compression), p->nr_cpus);
	if (p->latency)
		strbuf_printf(s, "latency\t%s\n", p->latency);
	vec_for_each (&p->buffers, b)
		strbuf_printf(s, "buffer\t%s\t%s\t%s\t%u\n", b->name, b->folder, b->clock,
			      b->page_size);
}

int parts_write(struct parts *p, const struct tracedat_out *head, struct diag *d)
{
	char path[PATH_MAX];
	struct strbuf plan;
	struct tracedat_out bare = *head;
	int err = path_of(p, "head", path, sizeof(path));
	if (err)
		return err;
	bare.version = 6;
	bare.compression = COMPRESS_NONE;
	bare.nr_buffers = 0;
	err = ftrace_write_file(path, &bare, d);
	if (err)
		return err;
	strbuf_init(&plan);
	add_plan(p, &plan);
	err = plan.err ? plan.err : write_text(p, "plan", plan.data, plan.len);
	strbuf_done(&plan);
	return err ? diag_error(d, err, "cannot write %s/plan: %s", p->folder, strerror(-err)) : 0;
}

static int cpu_path(const struct parts *p, u32 buffer, u32 cpu, u32 half, char *to, size_t size)
{
	char name[64];
	(void)snprintf(name, sizeof(name), "%u.%u.%u", buffer, cpu, half);
	return path_of(p, name, to, size);
}

int parts_open_cpu(const struct parts *p, u32 buffer, u32 cpu, u32 half)
{
	char path[PATH_MAX];
	int err = cpu_path(p, buffer, cpu, half, path, sizeof(path));
	int fd = err ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return err ? err : fd < 0 ? -errno : fd;
}

/* ---- joining ------------------------------------------------------------------------------------------------------------- */

static int take_line(struct parts *p, char *line)
{
	char *word = strsep(&line, "\t");
	if (!line)
		return 0;
	if (!strcmp(word, "output"))
		p->output = arena_strdup(&p->arena, line);
	else if (!strcmp(word, "latency"))
		p->latency = arena_strdup(&p->arena, line);
	else if (!strcmp(word, "version"))
		p->version = (u32)strtoul(line, NULL, 10);
	else if (!strcmp(word, "cpus"))
		p->nr_cpus = (u32)strtoul(line, NULL, 10);
	else if (!strcmp(word, "compression"))
		p->compression = (enum compress_kind)max(compress_kind_of(line), 0);
	else if (!strcmp(word, "buffer")) {
		const char *name = strsep(&line, "\t");
		const char *folder = strsep(&line, "\t"), *clock = strsep(&line, "\t");
		if (!line)
			return -EBADMSG;
		return parts_add_buffer(p, name, folder, clock, (u32)strtoul(line, NULL, 10));
	}
	return 0;
}

static bool plan_is_sane(const struct parts *p)
{
	vec_for_each (&p->buffers, b)
		if (b->page_size < 64 || b->page_size > TRACEDAT_PAGE_MAX)
			return false;
	return p->output && (p->version == 6 || p->version == 7) &&
	       p->nr_cpus <= TRACEDAT_CPUS_MAX && (p->buffers.nr || p->latency);
}

int parts_load(struct parts *p, const char *folder, struct diag *d)
{
	struct sysroot dir;
	struct strbuf text;
	strbuf_init(&text);
	p->folder = arena_strdup(&p->arena, folder);
	int err = sysroot_open(&dir, folder);
	if (!err) {
		err = sysroot_read(&dir, "plan", &text);
		sysroot_close(&dir);
	}
	char *rest = err ? NULL : (char *)(uintptr_t)strbuf_cstr(&text);
	for (char *line; !err && (line = strsep(&rest, "\n"));)
		err = take_line(p, line);
	if (!err && !plan_is_sane(p))
		err = -EBADMSG;
	strbuf_done(&text);
	return err ? diag_error(d, err, "%s: no recording to be joined: %s", folder,
				err == -EBADMSG ? "its plan is broken" : strerror(-err))
		   : 0;
}

struct part_file {
	int fd[HALVES]; /* the older half first; -1: none */
	u64 size[HALVES];
};

struct joining {
	const struct parts *p;
	struct part_file *files; /* buffer by buffer, CPU by CPU */
};

static int read_exact(int fd, void *to, size_t len, u64 at)
{
	while (len) {
		ssize_t n = pread(fd, to, len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		to = (char *)to + n;
		at += (u64)n;
		len -= (size_t)n;
	}
	return 0;
}

static int read_pages(void *ctx, u32 buffer, u32 cpu, u64 offset, void *to, size_t len)
{
	struct joining *j = ctx;
	const struct part_file *f = &j->files[buffer * j->p->nr_cpus + cpu];
	int err = 0;
	for (int h = 0; h < HALVES && len && !err; h++) {
		if (offset >= f->size[h]) {
			offset -= f->size[h];
			continue;
		}
		size_t n = min(len, (size_t)(f->size[h] - offset));
		err = read_exact(f->fd[h], to, n, offset);
		to = (char *)to + n;
		len -= n;
		offset = 0;
	}
	return err ? err : len ? -EIO : 0;
}

static u64 first_time(int fd)
{
	u64 ts = 0;
	return pread(fd, &ts, sizeof(ts), 0) == sizeof(ts) ? ts : UINT64_MAX;
}

static int open_parts(struct joining *j, struct tracedat_out_cpu *cpus)
{
	const struct parts *p = j->p;
	char path[PATH_MAX];
	for (u32 b = 0; b < p->buffers.nr; b++)
		for (u32 c = 0; c < p->nr_cpus; c++) {
			struct part_file *f = &j->files[b * p->nr_cpus + c];
			struct tracedat_out_cpu *out = &cpus[b * p->nr_cpus + c];
			u32 page = p->buffers.at[b].page_size;
			out->cpu = c;
			for (u32 h = 0; h < HALVES; h++) {
				struct stat st;
				if (cpu_path(p, b, c, h, path, sizeof(path)))
					return -ENAMETOOLONG;
				f->fd[h] = open(path, O_RDONLY | O_CLOEXEC);
				if (f->fd[h] < 0 && errno != ENOENT)
					return -errno;
				/* A page that was being written when the end came is left out. */
				if (f->fd[h] >= 0 && !fstat(f->fd[h], &st))
					f->size[h] = (u64)st.st_size / page * page;
				out->size += f->size[h];
			}
			if (f->size[0] && f->size[1] && first_time(f->fd[1]) < first_time(f->fd[0])) {
				struct part_file g = *f;
				*f = (struct part_file){ .fd = { g.fd[1], g.fd[0] },
							 .size = { g.size[1], g.size[0] } };
			}
		}
	return 0;
}

static int add_options(struct tracedat_out *o, const struct tracedat_option *more, size_t nr,
		       struct tracedat_option **ret)
{
	struct tracedat_option *all = calloc(o->nr_options + nr + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (o->nr_options)
		memcpy(all, o->options, o->nr_options * sizeof(*all));
	if (nr)
		memcpy(all + o->nr_options, more, nr * sizeof(*all));
	o->options = all;
	o->nr_options += nr;
	*ret = all;
	return 0;
}

/* Names of the end, and of the start for tasks that were gone by then. */
static int join_names(const struct parts *p, struct tracedat_out *o, struct strbuf *to)
{
	struct sysroot dir;
	struct strbuf late;
	struct tracedat_text *part = &o->parts[TRACEDAT_CMDLINES];
	char *early = strndup(part->data ? part->data : "", part->len);
	int err = early ? sysroot_open(&dir, p->folder) : -ENOMEM;
	strbuf_init(&late);
	if (!err) {
		if (sysroot_read(&dir, "names", &late))
			strbuf_reset(&late);
		sysroot_close(&dir);
		err = ftrace_meta_merge_names(strbuf_cstr(&late), early, to);
	}
	if (!err)
		*part = (struct tracedat_text){ .data = strbuf_cstr(to), .len = to->len };
	free(early);
	strbuf_done(&late);
	return err;
}

static int join(const struct parts *p, struct tracedat *head, const struct tracedat_option *more,
		size_t nr_more, struct parts_summary *sum, struct diag *d)
{
	struct tracedat_copy c;
	struct tracedat_option *options = NULL;
	struct strbuf names;
	size_t nr = p->buffers.nr * p->nr_cpus + 1;
	struct joining j = { .p = p, .files = calloc(nr, sizeof(*j.files)) };
	struct tracedat_out_cpu *cpus = calloc(nr, sizeof(*cpus));
	struct tracedat_out_buffer *buffers = calloc(p->buffers.nr + 1, sizeof(*buffers));
	strbuf_init(&names);
	for (size_t i = 0; j.files && i < nr; i++)
		j.files[i].fd[0] = j.files[i].fd[1] = -1;
	int err = tracedat_copy_init(&c, head);
	if (!err && (!j.files || !cpus || !buffers))
		err = -ENOMEM;
	if (!err)
		err = open_parts(&j, cpus);
	if (!err)
		err = join_names(p, &c.out, &names);
	for (size_t i = 0; i < p->buffers.nr && !err; i++) {
		const struct part_buffer *b = &p->buffers.at[i];
		buffers[i] = (struct tracedat_out_buffer){ .name = b->name,
							   .clock = b->clock,
							   .page_size = b->page_size,
							   .cpus = cpus + i * p->nr_cpus,
							   .nr_cpus = p->nr_cpus };
	}
	if (!err)
		err = add_options(&c.out, more, nr_more, &options);
	if (!err) {
		c.out.version = p->version;
		c.out.compression = p->compression;
		c.out.nr_cpus = p->nr_cpus;
		c.out.buffers = buffers;
		c.out.nr_buffers = p->buffers.nr;
		c.out.read = read_pages;
		c.out.ctx = &j;
		for (size_t i = 0; i + 1 < nr; i++)
			sum->bytes += cpus[i].size;
		err = ftrace_write_file(p->output, &c.out, d);
	}
	for (size_t i = 0; j.files && i < nr; i++)
		for (int h = 0; h < HALVES; h++)
			cleanup_close(&j.files[i].fd[h]);
	tracedat_copy_done(&c);
	free(options);
	free(j.files);
	free(cpus);
	free(buffers);
	strbuf_done(&names);
	return err;
}

/* What a latency tracer has to show is its text, read when it is over. */
static int join_latency(const struct parts *p, struct tracedat *head, struct diag *d)
{
	struct tracedat_copy c;
	struct strbuf text;
	struct sysroot dir;
	strbuf_init(&text);
	int err = sysroot_open(&dir, p->folder);
	if (!err) {
		err = sysroot_read(&dir, "text", &text);
		sysroot_close(&dir);
	}
	if (!err)
		err = tracedat_copy_init(&c, head);
	if (err) {
		strbuf_done(&text);
		return err;
	}
	c.out.version = p->version;
	c.out.compression = p->compression;
	c.out.nr_cpus = p->nr_cpus;
	c.out.nr_buffers = 0;
	c.out.latency = (struct tracedat_text){ .data = strbuf_cstr(&text), .len = text.len };
	err = ftrace_write_file(p->output, &c.out, d);
	tracedat_copy_done(&c);
	strbuf_done(&text);
	return err;
}

int parts_join(const struct parts *p, const struct tracedat_option *more, size_t nr_more,
	       struct parts_summary *ret, struct diag *d)
{
	char path[PATH_MAX];
	struct tracedat head;
	struct stat st;
	struct parts_summary sum = { 0 };
	int err = path_of(p, "head", path, sizeof(path));
	if (!err)
		err = tracedat_open(&head, path, d);
	if (err)
		return err;
	err = p->latency ? join_latency(p, &head, d) : join(p, &head, more, nr_more, &sum, d);
	tracedat_close(&head);
	if (err)
		return diag_error(d, err, "%s could not be joined: %s", p->folder, strerror(-err));
	if (!stat(p->output, &st))
		sum.file_bytes = (u64)st.st_size;
	parts_remove(p);
	if (ret)
		*ret = sum;
	return 0;
}

void parts_remove(const struct parts *p)
{
	DIR *d = opendir(p->folder);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(d), e->d_name, 0);
	(void)closedir(d);
	(void)rmdir(p->folder);
}

/* ---- rescue --------------------------------------------------------------------------------------------------------------- */

struct rescue {
	const struct parts *p;
	u32 buffer;
};

/* Appends to the half that is newer: the one written last. */
static int rescue_pages(void *ctx, u32 cpu, const void *pages, size_t bytes)
{
	const struct rescue *r = ctx;
	struct stat st[HALVES] = { 0 };
	char path[PATH_MAX];
	for (u32 h = 0; h < HALVES; h++)
		if (cpu_path(r->p, r->buffer, cpu, h, path, sizeof(path)) || stat(path, &st[h]))
			st[h].st_mtim.tv_sec = 0;
	bool second = st[1].st_mtim.tv_sec > st[0].st_mtim.tv_sec ||
		      (st[1].st_mtim.tv_sec == st[0].st_mtim.tv_sec &&
		       st[1].st_mtim.tv_nsec > st[0].st_mtim.tv_nsec);
	_cleanup_close_ int fd = parts_open_cpu(r->p, r->buffer, cpu, second);
	struct stat now;
	u32 page = r->p->buffers.at[r->buffer].page_size;
	if (fd < 0 || fstat(fd, &now))
		return fd < 0 ? fd : -errno;
	/* The writer may have died in the middle of a page. */
	if (now.st_size % page && ftruncate(fd, now.st_size / page * page))
		return -errno;
	return strbuf_drain_fd(&fd, pages, bytes);
}

static void rescue_buffer(const struct tracing *t, struct rescue *r)
{
	const struct part_buffer *b = &r->p->buffers.at[r->buffer];
	struct cpuset cpus = { 0 };
	struct live_ftrace *live;
	char path[PATH_MAX];
	for (u32 c = 0; c < r->p->nr_cpus; c++) {
		(void)snprintf(path, sizeof(path), "%sper_cpu/cpu%u/trace_pipe_raw", b->folder, c);
		if (tracing_has(t, path))
			cpuset_add(&cpus, c);
	}
	struct live_ftrace_opts o = {
		.folder = b->folder, .cpus = &cpus, .threads = 1, .take = rescue_pages, .ctx = r
	};
	(void)snprintf(path, sizeof(path), "%stracing_on", b->folder);
	if (!cpuset_count(&cpus) || tracing_write(t, path, "0\n", false))
		return;
	if (!live_ftrace_open(&live, t, &o, NULL)) {
		if (!live_ftrace_start(live))
			(void)live_ftrace_stop(live);
		live_ftrace_close(live);
	}
}

static bool has_ended(const struct parts *p)
{
	char path[PATH_MAX];
	return !path_of(p, "names", path, sizeof(path)) && !access(path, F_OK);
}

void parts_rescue(const char *folder)
{
	struct parts p;
	struct tracing t;
	struct sysroot root;
	parts_init(&p);
	if (parts_load(&p, folder, NULL)) {
		/* It died before there was anything to save. */
		parts_remove(&p);
		parts_done(&p);
		return;
	}
	/* With names of the end it was over: what the buffers hold now belongs to the next file. */
	if (!has_ended(&p) && !tracing_open(&t, "")) {
		struct rescue r = { .p = &p };
		for (; r.buffer < p.buffers.nr; r.buffer++)
			rescue_buffer(&t, &r);
		if (!sysroot_open(&root, NULL)) {
			struct strbuf names;
			strbuf_init(&names);
			if (!ftrace_meta_names(&t, &root, &names))
				(void)!parts_write_names(&p, names.data, names.len);
			strbuf_done(&names);
			sysroot_close(&root);
		}
		tracing_close(&t);
	}
	(void)!parts_join(&p, NULL, 0, NULL, NULL);
	parts_done(&p);
}

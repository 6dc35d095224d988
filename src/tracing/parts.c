#include "tracing/parts.h"
#include "base/str.h"

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

enum { HALVES = 2, NAME_SIZE = 64, PLAN_MAX = 1 << 20, TEXT_MAX = 1 << 30 };

void parts_init(struct parts *p)
{
	*p = (struct parts){ .dir = -1,
			     .place = { .dir = -1, .fd = -1 },
			     .to = { .dir = -1, .fd = -1 } };
	arena_init(&p->arena);
}

void parts_done(struct parts *p)
{
	cleanup_close(&p->dir);
	outplace_close(&p->place);
	outplace_close(&p->to);
	vec_free(&p->buffers);
	arena_done(&p->arena);
	parts_init(p);
}

/* "/a/b" of "b" in /a. */
static int make_absolute(char to[PATH_MAX], const char *path, struct diag *d)
{
	char cwd[PATH_MAX] = "";
	if (*path != '/' && !getcwd(cwd, sizeof(cwd)))
		return diag_error(d, -errno, "the current directory no longer exists");
	return snprintf(to, PATH_MAX, "%s%s%s", cwd, *cwd ? "/" : "", path) < PATH_MAX
		       ? 0
		       : diag_error(d, -ENAMETOOLONG, "%s: path too long", path);
}

/* Found and tried before anything is recorded, not when it is to be joined. */
static int find_output(struct parts *p, const char *output, struct diag *d)
{
	char path[PATH_MAX];
	int err = *output ? outplace_check(output, 0, d)
			  : diag_error(d, -EINVAL, "empty output file name");
	if (!err)
		err = make_absolute(path, output, d);
	if (!err)
		err = outplace_open(&p->to, output, 0, d);
	if (err)
		return err;
	p->output = arena_strdup(&p->arena, path);
	return p->output ? 0 : -ENOMEM;
}

int parts_name(struct parts *p, const char *output, const char *dir, struct diag *d)
{
	char path[PATH_MAX], name[PATH_MAX], own[24] = "";
	const char *tmp = getenv("TMPDIR"), *base = strrchr(output, '/');
	int err = find_output(p, output, d);
	if (err)
		return err;
	/* Beside a device there is no room for parts. */
	if (p->to.kind == OUTPLACE_SPECIAL) {
		dir = dir ? dir : tmp && *tmp ? tmp : "/tmp";
		(void)snprintf(own, sizeof(own), "-%d", (int)getpid());
	}
	int n = dir ? snprintf(name, sizeof(name), "%s/%s%s.parts", dir, base ? base + 1 : output,
			       own)
		    : snprintf(name, sizeof(name), "%s.parts", output);
	err = n < (int)sizeof(name) ? make_absolute(path, name, d) : -ENAMETOOLONG;
	if (err)
		return err;
	p->folder = arena_strdup(&p->arena, path);
	return p->folder ? 0 : -ENOMEM;
}

static int open_folder(struct parts *p)
{
	struct stat st;
	p->dir = openat(p->place.dir, p->place.name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->dir < 0 || fstat(p->dir, &st))
		return -errno;
	p->owner = st.st_uid;
	return 0;
}

int parts_make(struct parts *p, struct diag *d)
{
	int err = outplace_open(&p->place, p->folder, OUTPLACE_NO_FOLLOW, d);
	if (err)
		return err;
	err = mkdirat(p->place.dir, p->place.name, 0755) ? -errno : open_folder(p);
	/* Whoever owns the folder around it can put another in its place. */
	if (!err && p->owner != geteuid())
		err = -EPERM;
	if (!err)
		return 0;
	diag_error(d, err, "cannot create %s: %s", p->folder, strerror(-err));
	if (err == -EEXIST)
		diag_hint(
			d, "an interrupted recording, or one in progress; 'sonde ftrace restore %s' turns it into a file",
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

/* A file of the folder: not through a link, and nobody else's. */
static int open_part(const struct parts *p, const char *name, int flags)
{
	struct stat st;
	int fd = openat(p->dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == p->owner)
		return fd;
	(void)close(fd);
	return -EPERM;
}

static int write_text(const struct parts *p, const char *name, const char *text, size_t len)
{
	_cleanup_close_ int fd = open_part(p, name, O_WRONLY | O_CREAT | O_TRUNC);
	return fd < 0 ? fd : strbuf_drain_fd(&fd, text, len);
}

/* Replaces what `to` holds. */
static int read_part(const struct parts *p, const char *name, u64 max_bytes, struct strbuf *to)
{
	_cleanup_close_ int fd = open_part(p, name, O_RDONLY);
	struct stat st;
	strbuf_reset(to);
	if (fd < 0 || fstat(fd, &st))
		return fd < 0 ? fd : -errno;
	if ((u64)st.st_size > max_bytes)
		return -EFBIG;
	char *room = strbuf_room(to, (size_t)st.st_size + 1);
	int err = room ? read_exact(fd, room, (size_t)st.st_size, 0) : -ENOMEM;
	if (!err)
		strbuf_commit(to, (size_t)st.st_size);
	return err;
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
	(void)!str_path(path, sizeof(path), "%strace", p->latency);
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
	struct strbuf plan;
	struct tracedat_out bare = *head;
	struct outplace to = { .dir = p->dir, .fd = -1, .name = "head" };
	bare.version = 6;
	bare.compression = COMPRESS_NONE;
	bare.nr_buffers = 0;
	int err = tracedat_write_at(&to, p->folder, &bare, d);
	if (err)
		return err;
	strbuf_init(&plan);
	add_plan(p, &plan);
	err = plan.err ? plan.err : write_text(p, "plan", plan.data, plan.len);
	strbuf_done(&plan);
	return err ? diag_error(d, err, "cannot write %s/plan: %s", p->folder, strerror(-err)) : 0;
}

static void cpu_name(u32 buffer, u32 cpu, u32 half, char to[NAME_SIZE])
{
	(void)snprintf(to, NAME_SIZE, "%u.%u.%u", buffer, cpu, half);
}

int parts_open_cpu(const struct parts *p, u32 buffer, u32 cpu, u32 half)
{
	char name[NAME_SIZE];
	cpu_name(buffer, cpu, half, name);
	return open_part(p, name, O_WRONLY | O_CREAT | O_APPEND);
}

/* ---- joining ------------------------------------------------------------------------------------------------------------- */

static int take_line(struct parts *p, char *line)
{
	char *word = strsep(&line, "\t");
	if (!line)
		return 0;
	if (!strcmp(word, "latency"))
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

/* "" or "instances/NAME/": what comes before the names of tracefs's files. */
static bool is_buffer_folder(const char *folder)
{
	static const char instances[] = "instances/";
	size_t skip = sizeof(instances) - 1;
	if (!*folder)
		return true;
	if (strncmp(folder, instances, skip) || folder[skip] == '.')
		return false;
	size_t len = strcspn(folder + skip, "/");
	return len && !strcmp(folder + skip + len, "/");
}

static bool plan_is_sane(const struct parts *p)
{
	vec_for_each (&p->buffers, b)
		if (b->page_size < 64 || b->page_size > TRACEDAT_PAGE_MAX ||
		    !is_buffer_folder(b->folder))
			return false;
	return (p->version == 6 || p->version == 7) && p->nr_cpus <= TRACEDAT_CPUS_MAX &&
	       (p->latency ? is_buffer_folder(p->latency) : p->buffers.nr > 0);
}

int parts_load(struct parts *p, const char *folder, struct diag *d)
{
	struct strbuf text;
	strbuf_init(&text);
	p->folder = arena_strdup(&p->arena, folder);
	int err = p->folder ? outplace_open(&p->place, folder, OUTPLACE_NO_FOLLOW, NULL) : -ENOMEM;
	if (!err)
		err = open_folder(p);
	if (!err)
		err = read_part(p, "plan", PLAN_MAX, &text);
	char *rest = err ? NULL : (char *)(uintptr_t)strbuf_cstr(&text);
	for (char *line; !err && (line = strsep(&rest, "\n"));)
		err = take_line(p, line);
	if (!err && !plan_is_sane(p))
		err = -EBADMSG;
	strbuf_done(&text);
	return err ? diag_error(d, err, "%s: no recording to join: %s", folder,
				err == -EBADMSG ? "its plan is damaged" : strerror(-err))
		   : 0;
}

int parts_choose_output(struct parts *p, const char *output, struct diag *d)
{
	char beside[PATH_MAX];
	size_t len = strlen(p->folder);
	if (!output || !*output) {
		if (len < 7 || len >= sizeof(beside) || strcmp(p->folder + len - 6, ".parts"))
			return diag_error(d, -EINVAL, "%s: the name does not end in .parts",
					  p->folder);
		(void)snprintf(beside, sizeof(beside), "%.*s", (int)len - 6, p->folder);
		output = beside;
	}
	return find_output(p, output, d);
}

struct part_file {
	int fd[HALVES]; /* the older half first; -1: none */
	u64 size[HALVES];
};

struct parts_joining {
	const struct parts *p;
	struct part_file *files; /* buffer by buffer, CPU by CPU */
};

static int read_pages(void *ctx, u32 buffer, u32 cpu, u64 offset, void *to, size_t len)
{
	struct parts_joining *j = ctx;
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

static int open_parts(struct parts_joining *j, struct tracedat_out_cpu *cpus)
{
	const struct parts *p = j->p;
	char name[NAME_SIZE];
	for (u32 b = 0; b < p->buffers.nr; b++)
		for (u32 c = 0; c < p->nr_cpus; c++) {
			struct part_file *f = &j->files[b * p->nr_cpus + c];
			struct tracedat_out_cpu *out = &cpus[b * p->nr_cpus + c];
			u32 page = p->buffers.at[b].page_size;
			out->cpu = c;
			for (u32 h = 0; h < HALVES; h++) {
				struct stat st;
				cpu_name(b, c, h, name);
				f->fd[h] = open_part(p, name, O_RDONLY);
				if (f->fd[h] < 0 && f->fd[h] != -ENOENT)
					return f->fd[h];
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
	struct strbuf late;
	struct tracedat_text *part = &o->parts[TRACEDAT_CMDLINES];
	char *early = strndup(part->data ? part->data : "", part->len);
	strbuf_init(&late);
	if (read_part(p, "names", TEXT_MAX, &late))
		strbuf_reset(&late);
	int err = early ? ftrace_meta_merge_names(strbuf_cstr(&late), early, to) : -ENOMEM;
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
	struct parts_joining j = { .p = p, .files = calloc(nr, sizeof(*j.files)) };
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
		err = tracedat_write_at(&p->to, p->output, &c.out, d);
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
	strbuf_init(&text);
	int err = read_part(p, "text", TEXT_MAX, &text);
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
	err = tracedat_write_at(&p->to, p->output, &c.out, d);
	tracedat_copy_done(&c);
	strbuf_done(&text);
	return err;
}

static int join_to(const struct parts *p, const struct tracedat_option *more, size_t nr_more,
		   struct parts_summary *sum, struct diag *d)
{
	struct tracedat head;
	struct strbuf bytes;
	strbuf_init(&bytes);
	int err = read_part(p, "head", TEXT_MAX, &bytes);
	if (!err)
		err = tracedat_open_memory(&head, p->folder, bytes.data, bytes.len, d);
	if (!err) {
		err = p->latency ? join_latency(p, &head, d) : join(p, &head, more, nr_more, sum, d);
		tracedat_close(&head);
	}
	strbuf_done(&bytes);
	return err;
}

int parts_join(const struct parts *p, const struct tracedat_option *more, size_t nr_more,
	       struct parts_summary *ret, struct diag *d)
{
	struct stat st;
	struct parts_summary sum = { 0 };
	int err = join_to(p, more, nr_more, &sum, d);
	if (err)
		return diag_error(d, err, "cannot join %s: %s", p->folder, strerror(-err));
	if (!fstatat(p->to.dir, p->to.name, &st, AT_SYMLINK_NOFOLLOW))
		sum.file_bytes = (u64)st.st_size;
	parts_remove(p);
	if (ret)
		*ret = sum;
	return 0;
}

/* What we write there. Anything else in a folder of that name is not ours to remove. */
static bool is_part(const char *name)
{
	static const char *const texts[] = { "plan", "head", "names", "text" };
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strcmp(name, texts[i]))
			return true;
	/* "0.1.0", and a head that was being written: "head.17-abc123" */
	return !name[strspn(name, "0123456789.")] || !strncmp(name, "head.", 5);
}

void parts_remove(const struct parts *p)
{
	struct stat own, there;
	int fd = p->dir < 0 ? -1 : openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' && is_part(e->d_name))
			(void)unlinkat(fd, e->d_name, 0);
	/* The name may lead to another folder by now. */
	if (!fstat(fd, &own) && !fstatat(p->place.dir, p->place.name, &there, AT_SYMLINK_NOFOLLOW) &&
	    own.st_ino == there.st_ino && own.st_dev == there.st_dev)
		(void)unlinkat(p->place.dir, p->place.name, AT_REMOVEDIR);
	(void)closedir(d);
}

void parts_hint(const struct parts *p, struct diag *d)
{
	diag_hint(
		d, "the data is still in %s: 'sonde ftrace restore -o FILE %s' writes it where there is room",
		p->folder, p->folder);
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
	char name[NAME_SIZE];
	for (u32 h = 0; h < HALVES; h++) {
		cpu_name(r->buffer, cpu, h, name);
		if (fstatat(r->p->dir, name, &st[h], AT_SYMLINK_NOFOLLOW))
			st[h].st_mtim.tv_sec = 0;
	}
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
		(void)!str_path(path, sizeof(path), "%sper_cpu/cpu%u/trace_pipe_raw", b->folder, c);
		if (tracing_has(t, path))
			cpuset_add(&cpus, c);
	}
	struct live_ftrace_opts o = {
		.folder = b->folder, .cpus = &cpus, .threads = 1, .take = rescue_pages, .ctx = r
	};
	(void)!str_path(path, sizeof(path), "%stracing_on", b->folder);
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
	return !faccessat(p->dir, "names", F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Takes what is still in the buffers. */
static void rescue_all(const struct parts *p)
{
	struct tracing t;
	struct sysroot root;
	if (tracing_open(&t, ""))
		return;
	struct rescue r = { .p = p };
	for (; r.buffer < p->buffers.nr; r.buffer++)
		rescue_buffer(&t, &r);
	if (!sysroot_open(&root, NULL)) {
		struct strbuf names;
		strbuf_init(&names);
		if (!ftrace_meta_names(&t, &root, &names))
			(void)!parts_write_names(p, names.data, names.len);
		strbuf_done(&names);
		sysroot_close(&root);
	}
	tracing_close(&t);
}

static void rescue_and_join(const struct parts *p)
{
	/* With names of the end it was over: what the buffers hold now belongs to the next file. */
	if (!has_ended(p))
		rescue_all(p);
	(void)!parts_join(p, NULL, 0, NULL, NULL);
}

void parts_rescue(const char *folder, const char *output)
{
	struct parts p;
	parts_init(&p);
	int err = parts_load(&p, folder, NULL);
	/* The run made it: somebody else's is another one by now. */
	if (p.dir >= 0 && p.owner == geteuid()) {
		if (err)
			parts_remove(&p); /* it died before there was anything to save */
		else if (!parts_choose_output(&p, output, NULL))
			rescue_and_join(&p);
	}
	parts_done(&p);
}

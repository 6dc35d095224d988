/*
 * Addresses of processes. The mapping says which file and where in it; the file's symbols are kept as one flat table for as long as the run
 * lasts, found by device and inode: the same path is another file in another container.
 */
#include "base/clock.h"
#include "base/foreign.h"
#include "base/guard.h"
#include "bpf/naming_impl.h"
#include "image/buildid.h"
#include "sym/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void forget_made(struct naming_process *p)
{
	symtab_done(&p->made.table);
	if (p->made.text)
		guard_unmap(p->made.text, p->made.len);
	p->made = (struct naming_made){ 0 };
}

static void forget(struct naming_process *p)
{
	forget_made(p);
	vec_free(&p->maps);
}

void naming_user_init(struct naming *n)
{
	strtab_init(&n->paths);
	dict_init(&n->process_of);
}

void naming_user_done(struct naming *n)
{
	vec_for_each (&n->processes, p)
		forget(p);
	vec_free(&n->processes);
	vec_for_each (&n->images, i) {
		if ((*i)->fd >= 0)
			close((*i)->fd);
		symtab_done(&(*i)->table);
		dso_close(&(*i)->dso);
		free(*i);
	}
	vec_free(&n->images);
	strtab_done(&n->paths);
	dict_done(&n->process_of);
	if (n->opener)
		opener_free(n->opener);
}

static int append_map(struct naming *n, struct naming_process *p, const struct naming_mapping *m)
{
	s64 path = strtab_add(&n->paths, m->path, strlen(m->path));
	struct naming_map *to = path < 0 ? NULL : vec_push(&p->maps);
	if (!to)
		return -ENOMEM;
	*to = (struct naming_map){ .start = m->start,
				   .end = m->end,
				   .file_offset = m->file_offset,
				   .path = strtab_str(&n->paths, (u32)path),
				   .dev_major = m->dev_major,
				   .dev_minor = m->dev_minor,
				   .ino = m->ino };
	return 0;
}

struct naming_reading {
	struct naming *n;
	struct naming_process fresh;
};

static int add_map(void *ctx, const struct proc_map *m)
{
	struct naming_reading *r = ctx;
	if (!(m->prot & PROT_EXEC))
		return 0;
	return append_map(r->n, &r->fresh,
			  &(struct naming_mapping){ .start = m->start,
						    .end = m->end,
						    .file_offset = m->file_offset,
						    .path = m->path,
						    .dev_major = m->dev_major,
						    .dev_minor = m->dev_minor,
						    .ino = m->inode });
}

static void read_maps(struct naming *n, struct naming_process *p)
{
	struct naming_reading r = { .n = n };
	int rc = procfs_maps(&n->procfs, (s32)p->pid, add_map, &r);
	if (rc || !r.fresh.maps.nr) {
		vec_free(&r.fresh.maps);
		p->ended = true;
		return;
	}
	vec_free(&p->maps);
	p->maps.at = r.fresh.maps.at;
	p->maps.nr = r.fresh.maps.nr;
	p->maps.cap = r.fresh.maps.cap;
}

static struct naming_process *find_process(struct naming *n, u32 pid)
{
	u32 at = dict_get(&n->process_of, pid);
	if (at == DICT_NONE)
		return NULL;
	n->processes.at[at].last_use = ++n->use;
	return &n->processes.at[at];
}

static u32 oldest_process(const struct naming *n)
{
	u32 oldest = 0;
	for (u32 i = 1; i < n->processes.nr; i++)
		if (n->processes.at[i].last_use < n->processes.at[oldest].last_use)
			oldest = i;
	return oldest;
}

/* An empty one, also where there is one of that number. NULL: no memory. */
static struct naming_process *new_process(struct naming *n, u32 pid)
{
	u32 at = dict_get(&n->process_of, pid);
	if (at == DICT_NONE && n->processes.nr < NAMING_PROCESSES_MAX) {
		if (!vec_push(&n->processes))
			return NULL;
		at = (u32)n->processes.nr - 1;
	} else if (at == DICT_NONE) {
		at = oldest_process(n);
		(void)dict_remove(&n->process_of, n->processes.at[at].pid);
	}
	struct naming_process *p = &n->processes.at[at];
	forget(p);
	*p = (struct naming_process){ .pid = pid, .last_use = ++n->use };
	return dict_put(&n->process_of, pid, at) ? NULL : p;
}

static struct naming_process *process_of(struct naming *n, u32 pid)
{
	struct naming_process *p = find_process(n, pid);
	if (!p) {
		p = new_process(n, pid);
		if (p)
			read_maps(n, p);
	}
	return p;
}

void naming_look(struct naming *n, u32 pid)
{
	(void)process_of(n, pid);
}

static struct naming_map *map_in(struct naming_process *p, u64 address)
{
	for (size_t i = p->maps.nr; i--;) {
		struct naming_map *m = &p->maps.at[i];
		if (address >= m->start && address < m->end)
			return m;
	}
	return NULL;
}

static struct naming_map *map_of(struct naming *n, u32 pid, u64 address)
{
	struct naming_process *p = process_of(n, pid);
	if (!p)
		return NULL;
	struct naming_map *m = map_in(p, address);
	if (!m && !p->ended) {
		read_maps(n, p);
		m = map_in(p, address);
	}
	return m;
}

static int open_mapped(struct naming *n, u32 pid, const struct naming_map *m)
{
	if (!n->opener)
		n->opener = opener_new(NULL);
	if (!n->opener)
		return -ENOMEM;
	char map[96], root[48];
	snprintf(map, sizeof(map), "proc/%u/map_files/%llx-%llx", pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
	snprintf(root, sizeof(root), "proc/%u/root", pid);
	struct opener_job job = { .dir = n->root->dir_fd,
				  .map = map,
				  .root = root,
				  .path = m->path,
				  .dev_major = m->dev_major,
				  .dev_minor = m->dev_minor,
				  .ino = m->ino,
				  .want_fd = true };
	struct opener_result found = { .fd = -1 };
	int rc = opener_open(n->opener, &job, &found);
	if (rc) {
		/* The process has ended: the file is where it was, for us, if it is the same. */
		job.map = job.root = NULL;
		rc = opener_open(n->opener, &job, &found);
	}
	return rc ? rc : found.fd;
}

static bool read_image(struct naming *n, const struct naming_map *m, struct naming_image *image)
{
	struct debugfile_where where = { .opener = n->opener };
	struct image_info info = { .kind = IMAGE_KIND_FILE, .path = m->path, .name = m->path };
	int rc = dso_open_fd(&image->dso, &where, &info, image->fd);
	return !rc && !dso_table(&image->dso, &image->table);
}

/* Finds or opens the file of a mapping; NULL: it has none. */
static struct naming_image *open_image(struct naming *n, u32 pid, struct naming_map *m)
{
	if (!m->ino || m->path[0] != '/')
		return NULL;
	for (size_t i = 0; !m->image && i < n->images.nr; i++) {
		const struct naming_image *image = n->images.at[i];
		if (image->ino == m->ino && image->dev_major == m->dev_major &&
		    image->dev_minor == m->dev_minor)
			m->image = (u32)i + 1;
	}
	if (!m->image) {
		struct naming_image *image = calloc(1, sizeof(*image));
		struct naming_image **slot = image ? vec_push(&n->images) : NULL;
		if (!slot) {
			free(image);
			return NULL;
		}
		*slot = image;
		image->ino = m->ino;
		image->dev_major = m->dev_major;
		image->dev_minor = m->dev_minor;
		image->fd = open_mapped(n, pid, m);
		m->image = (u32)n->images.nr;
	}
	return n->images.at[m->image - 1];
}

static struct naming_image *image_of(struct naming *n, u32 pid, struct naming_map *m)
{
	struct naming_image *image = open_image(n, pid, m);
	if (!image)
		return NULL;
	if (!image->is_read) {
		image->is_read = true;
		image->usable = image->fd >= 0 && read_image(n, m, image);
		if (image->fd >= 0)
			close(image->fd);
		image->fd = -1;
	}
	return image->usable ? image : NULL;
}

int naming_mapped(struct naming *n, u32 pid, const struct naming_mapping *m)
{
	enum { MAPS_MAX = 16384 }; /* of a process that maps and unmaps */
	struct naming_process *p = find_process(n, pid);
	if (!p)
		p = new_process(n, pid);
	if (!p)
		return -ENOMEM;
	if (p->maps.nr >= MAPS_MAX)
		p->maps.nr = 0;
	int rc = append_map(n, p, m);
	if (!rc)
		(void)open_image(n, pid, &p->maps.at[p->maps.nr - 1]);
	return rc;
}

int naming_forked(struct naming *n, u32 parent, u32 child)
{
	if (!new_process(n, child))
		return -ENOMEM;
	struct naming_process *from = process_of(n, parent), *to = find_process(n, child);
	for (size_t i = 0; from && to && i < from->maps.nr; i++) {
		struct naming_map *m = vec_push(&to->maps);
		if (!m)
			return -ENOMEM;
		*m = from->maps.at[i];
	}
	return 0;
}

static void read_made(struct naming *n, struct naming_process *p)
{
	enum { LARGEST = 64 << 20 };
	char root[48], path[64];
	s32 own = (s32)p->pid;
	u32 uid = 0;
	struct stat st;
	bool alive = !procfs_uid(&n->procfs, (s32)p->pid, &uid);
	(void)!procfs_nspid(&n->procfs, (s32)p->pid, &own);
	snprintf(root, sizeof(root), "proc/%u/root", p->pid);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", own);
	struct opener_job job = { .dir = n->root->dir_fd,
				  .root = alive ? root : NULL,
				  .path = path,
				  .want_fd = true,
				  .flags = FOREIGN_OWNED };
	struct opener_result found = { .fd = -1 };
	if (!n->opener)
		n->opener = opener_new(NULL);
	if (!n->opener || opener_open(n->opener, &job, &found))
		return;
	const void *text;
	if (!fstat(found.fd, &st) && st.st_size > 0 && st.st_size <= LARGEST &&
	    !foreign_check_writer(found.fd, alive ? (s64)uid : -1) &&
	    !guard_map(found.fd, (size_t)st.st_size, false, NULL, &text)) {
		p->made.text = text;
		p->made.len = (size_t)st.st_size;
		if (perfmap_table(p->made.text, p->made.len, &p->made.table))
			p->made.table = (struct symtab){ 0 };
	}
	close(found.fd);
}

/* Code that the process made itself: the file grows while it runs, so it is read again when it has no answer, once a second. */
static bool add_made(struct naming *n, u32 pid, u64 address, enum naming_style style,
		     struct strbuf *to)
{
	struct naming_process *p = find_process(n, pid);
	u64 base;
	if (!p)
		return false;
	const struct symtab_sym *s = symtab_find(&p->made.table, address, &base);
	u64 now = clock_monotonic_ns();
	if (!s && (!p->made_ns || now - p->made_ns > NS_PER_SEC)) {
		forget_made(p);
		read_made(n, p);
		p->made_ns = now;
		s = symtab_find(&p->made.table, address, &base);
	}
	if (!s || !s->name)
		return false;
	naming_add(s->name, s->name_len ? s->name_len : strlen(s->name), address - base, style, to);
	return true;
}

static bool add_user(struct naming *n, u32 pid, u64 address, enum naming_style style,
		     struct strbuf *to)
{
	struct naming_map *m = map_of(n, pid, address);
	if (!m || !m->ino || m->path[0] != '/')
		return add_made(n, pid, address, style, to);
	struct naming_image *image = image_of(n, pid, m);
	if (!image)
		return false;
	u64 base, offset = address - m->start + m->file_offset;
	const struct symtab_sym *s = symtab_find(&image->table, offset, &base);
	if (!s || !s->name)
		return false;
	_cleanup_free_ char *raw = strndup(s->name, s->name_len ? s->name_len : strlen(s->name));
	_cleanup_free_ char *nice = raw && n->demangle ? demangle(raw, n->demangle) : NULL;
	const char *name = nice ? nice : raw;
	if (!name)
		return false;
	naming_add(name, strlen(name), offset - base, style, to);
	return true;
}

void naming_user(struct naming *n, u32 pid, u64 address, enum naming_style style, struct strbuf *to)
{
	if (!n || !add_user(n, pid, address, style, to))
		strbuf_printf(to, "0x%llx", (unsigned long long)address);
}

void naming_user_build_id(struct naming *n, u32 pid, u64 address, struct strbuf *to)
{
	struct naming_map *m = map_of(n, pid, address);
	struct naming_image *image = m ? image_of(n, pid, m) : NULL;
	struct buildid id;
	char text[BUILDID_TEXT];
	if (!image || buildid_of_image(&image->dso.image, &id)) {
		strbuf_printf(to, "0x%llx", (unsigned long long)address);
		return;
	}
	buildid_text(&id, text);
	strbuf_printf(to, "%s 0x%llx", text,
		      (unsigned long long)(address - m->start + m->file_offset));
}

void naming_user_module(struct naming *n, u32 pid, u64 address, struct strbuf *to)
{
	struct naming_map *m = n ? map_of(n, pid, address) : NULL;
	strbuf_printf(to, " (%s)", m && *m->path ? m->path : "[unknown]");
}

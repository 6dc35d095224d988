/*
 * Addresses of processes. The mapping says which file and where in it; the file's symbols are kept as one flat table for as long as the run
 * lasts, found by device and inode: the same path is another file in another container.
 */
#include "bpf/naming_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void forget_maps(struct naming_process *p)
{
	vec_for_each (&p->maps, m)
		free(m->path);
	vec_free(&p->maps);
}

void naming_user_done(struct naming *n)
{
	vec_for_each (&n->processes, p)
		forget_maps(p);
	vec_free(&n->processes);
	vec_for_each (&n->images, i) {
		symtab_done(&(*i)->table);
		dso_close(&(*i)->dso);
		free(*i);
	}
	vec_free(&n->images);
	if (n->opener)
		opener_free(n->opener);
}

static int add_map(void *ctx, const struct proc_map *m)
{
	struct naming_process *p = ctx;
	if (!(m->prot & PROT_EXEC))
		return 0;
	struct naming_map *to = vec_push(&p->maps);
	if (!to)
		return -ENOMEM;
	*to = (struct naming_map){ .start = m->start,
				   .end = m->end,
				   .file_offset = m->file_offset,
				   .path = strdup(m->path),
				   .dev_major = m->dev_major,
				   .dev_minor = m->dev_minor,
				   .ino = m->inode };
	return to->path ? 0 : -ENOMEM;
}

static void read_maps(struct naming *n, struct naming_process *p)
{
	struct naming_process fresh = { 0 };
	int rc = procfs_maps(&n->procfs, (s32)p->pid, add_map, &fresh);
	if (rc || !fresh.maps.nr) {
		forget_maps(&fresh);
		p->ended = true;
		return;
	}
	forget_maps(p);
	p->maps.at = fresh.maps.at;
	p->maps.nr = fresh.maps.nr;
	p->maps.cap = fresh.maps.cap;
}

static struct naming_process *process_of(struct naming *n, u32 pid)
{
	struct naming_process *oldest = NULL;
	n->use++;
	vec_for_each (&n->processes, p) {
		if (p->pid == pid) {
			p->last_use = n->use;
			return p;
		}
		if (!oldest || p->last_use < oldest->last_use)
			oldest = p;
	}
	struct naming_process *to = oldest;
	if (n->processes.nr < NAMING_PROCESSES_MAX)
		to = vec_push(&n->processes);
	if (!to)
		return NULL;
	forget_maps(to);
	*to = (struct naming_process){ .pid = pid, .last_use = n->use };
	read_maps(n, to);
	return to;
}

static struct naming_map *map_in(struct naming_process *p, u64 address)
{
	vec_for_each (&p->maps, m)
		if (address >= m->start && address < m->end)
			return m;
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

static bool open_image(struct naming *n, u32 pid, const struct naming_map *m,
		       struct naming_image *image)
{
	int fd = open_mapped(n, pid, m);
	if (fd < 0)
		return false;
	struct debugfile_where where = { .opener = n->opener };
	struct image_info info = { .kind = IMAGE_KIND_FILE, .path = m->path, .name = m->path };
	int rc = dso_open_fd(&image->dso, &where, &info, fd);
	close(fd);
	if (rc)
		return false;
	rc = dso_table(&image->dso, &image->table);
	return !rc;
}

static struct naming_image *image_of(struct naming *n, u32 pid, struct naming_map *m)
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
		image->usable = open_image(n, pid, m, image);
		m->image = (u32)n->images.nr;
	}
	struct naming_image *image = n->images.at[m->image - 1];
	return image->usable ? image : NULL;
}

static bool add_user(struct naming *n, u32 pid, u64 address, enum naming_style style,
		     struct strbuf *to)
{
	struct naming_map *m = map_of(n, pid, address);
	struct naming_image *image = m ? image_of(n, pid, m) : NULL;
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

void naming_user_module(struct naming *n, u32 pid, u64 address, struct strbuf *to)
{
	struct naming_map *m = n ? map_of(n, pid, address) : NULL;
	strbuf_printf(to, " (%s)", m && *m->path ? m->path : "[unknown]");
}

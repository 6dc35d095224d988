#include "stream/map_ids.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mmap2_inode {
	struct perf_event_header header;
	u32 pid, tid;
	u64 start, len, pgoff;
	u32 maj, min;
	u64 ino, generation;
	u32 prot, flags;
	char name[];
};

void map_ids_init(struct map_ids *m, const struct sysroot *root, struct opener *opener)
{
	strbuf_init(&m->unused);
	synth_init(&m->files, root, 0, true, &m->unused);
	m->files.opener = opener;
	dict_init(&m->known);
	pthread_mutex_init(&m->lock, NULL);
}

void map_ids_done(struct map_ids *m)
{
	synth_done(&m->files);
	dict_done(&m->known);
	vec_free(&m->ids);
	strbuf_done(&m->unused);
	pthread_mutex_destroy(&m->lock);
}

/* false: it cannot be read, now. */
static bool read_id(struct synth *s, const struct mmap2_inode *r, struct synth_build_id *id)
{
	struct proc_map map = { .start = r->start,
				.end = r->start + r->len,
				.file_offset = r->pgoff,
				.inode = r->ino,
				.dev_major = r->maj,
				.dev_minor = r->min,
				.prot = r->prot,
				.path = r->name };
	*id = (struct synth_build_id){ 0 };
	/* The process may have ended; then the file of that name here will do, if it is the same one. */
	return synth_read_build_id(s, (s32)r->pid, &map, id) ||
	       synth_read_build_id(s, getpid(), &map, id);
}

static bool known_or_read(struct map_ids *m, const struct mmap2_inode *r, struct synth_build_id *id)
{
	u64 key = hash_u64(r->ino) ^ hash_u64((u64)r->maj << 32 | r->min);
	u32 at = dict_get(&m->known, key);
	if (at != DICT_NONE) {
		*id = m->ids.at[at];
		return id->size;
	}
	struct synth_build_id *slot = read_id(&m->files, r, id) ? vec_push(&m->ids) : NULL;
	if (!slot)
		return false;
	*slot = *id;
	return !dict_add(&m->known, key, (u32)m->ids.nr - 1, &at) && id->size;
}

int map_ids_read(struct map_ids *m, const struct perf_event_header *rec, const char **path,
		 struct synth_build_id *id)
{
	const struct mmap2_inode *r = (const struct mmap2_inode *)rec;
	if (rec->size <= sizeof(*r) || rec->misc & PERF_RECORD_MISC_MMAP_BUILD_ID ||
	    !(r->prot & PROT_EXEC) || !r->ino || r->name[0] != '/' ||
	    !memchr(r->name, 0, rec->size - sizeof(*r)))
		return 0;
	pthread_mutex_lock(&m->lock);
	bool has = known_or_read(m, r, id);
	pthread_mutex_unlock(&m->lock);
	*path = r->name;
	return has;
}

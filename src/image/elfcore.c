#include "image/elfcore.h"

#include "base/bytes.h"

#include <elf.h>
#include <errno.h>

enum {
	/* struct elf_prstatus of 64-bit machines */
	STATUS_PID = 32,
	STATUS_REGS = 112,
	STATUS_TAIL = 8, /* pr_fpvalid */
	/* struct elf_prpsinfo */
	INFO_PID = 24,
	INFO_NAME = 40,
	NAME_SIZE = 16,
	FILES_MAX = 1 << 20,
};

static int add_thread(struct elfcore *c, const u8 *desc, size_t size)
{
	if (size < STATUS_REGS + STATUS_TAIL)
		return 0;
	struct elfcore_thread *t = vec_push(&c->threads);
	if (!t)
		return -ENOMEM;
	memcpy(&t->tid, desc + STATUS_PID, sizeof(t->tid));
	t->regs = desc + STATUS_REGS;
	t->regs_size = size - STATUS_REGS - STATUS_TAIL;
	return 0;
}

static void note_process(struct elfcore *c, const u8 *desc, size_t size)
{
	if (size < INFO_NAME + NAME_SIZE)
		return;
	memcpy(&c->pid, desc + INFO_PID, sizeof(c->pid));
	memcpy(c->comm, desc + INFO_NAME, NAME_SIZE);
	c->comm[NAME_SIZE] = '\0';
}

/* count, page size, then (start, end, offset in pages) of each, then their names. */
static int add_files(struct elfcore *c, const u8 *desc, size_t size)
{
	struct bytes b = bytes_of(desc, size, false);
	u64 nr = bytes_u64(&b), page = bytes_u64(&b);
	enum { ENTRY = 3 * sizeof(u64) };
	if (b.bad || nr > FILES_MAX || nr > bytes_left(&b) / ENTRY)
		return 0;
	struct bytes names = b;
	bytes_skip(&names, (size_t)nr * ENTRY);
	for (u64 i = 0; i < nr; i++) {
		struct elfcore_file f = { .start = bytes_u64(&b), .end = bytes_u64(&b) };
		f.offset = bytes_u64(&b) * page;
		f.path = bytes_cstr(&names);
		if (!f.path)
			return 0;
		struct elfcore_file *slot = vec_push(&c->files);
		if (!slot)
			return -ENOMEM;
		*slot = f;
	}
	return 0;
}

static int read_notes(struct elfcore *c, const u8 *data, size_t size)
{
	struct bytes b = bytes_of(data, size, false);
	int err = 0;
	while (!err && bytes_left(&b)) {
		u32 name_size = bytes_u32(&b), desc_size = bytes_u32(&b), type = bytes_u32(&b);
		u64 name_room = ((u64)name_size + 3) & ~3ull,
		    desc_room = ((u64)desc_size + 3) & ~3ull;
		if (b.bad || name_room > bytes_left(&b))
			break;
		const char *name = bytes_take(&b, (size_t)name_room);
		if (desc_size > bytes_left(&b))
			break;
		const u8 *desc = b.at;
		bytes_skip(&b, (size_t)min(desc_room, (u64)bytes_left(&b)));
		if (name_size != 5 || memcmp(name, "CORE", 5) != 0)
			continue;
		if (type == NT_PRSTATUS)
			err = add_thread(c, desc, desc_size);
		else if (type == NT_PRPSINFO)
			note_process(c, desc, desc_size);
		else if (type == NT_FILE)
			err = add_files(c, desc, desc_size);
	}
	return err;
}

/* What of a segment is in the file. */
static const u8 *segment_bytes(const struct elfimg *e, const struct elfimg_segment *s, size_t *size)
{
	if (s->offset >= e->size)
		return NULL;
	*size = (size_t)min(s->filesz, (u64)e->size - s->offset);
	return e->data + s->offset;
}

int elfcore_read(struct elfcore *c, const struct elfimg *image)
{
	*c = (struct elfcore){ .image = image };
	if (image->type != ET_CORE || !image->is64 || image->swap)
		return -ENOEXEC;
	int err = 0;
	struct elfimg_segment s;
	for (u32 i = 0; i < image->nr_segments && !err && elfimg_segment(image, i, &s); i++) {
		size_t size = 0;
		const u8 *data = s.type == PT_NOTE ? segment_bytes(image, &s, &size) : NULL;
		if (data)
			err = read_notes(c, data, size);
	}
	if (!err && !c->threads.nr)
		err = -ENOEXEC;
	return err;
}

void elfcore_done(struct elfcore *c)
{
	vec_free(&c->threads);
	vec_free(&c->files);
}

static bool find_segment(const struct elfcore *c, u64 addr, struct elfimg_segment *s)
{
	for (u32 i = 0; i < c->image->nr_segments && elfimg_segment(c->image, i, s); i++)
		if (s->type == PT_LOAD && addr >= s->vaddr && addr - s->vaddr < s->memsz)
			return true;
	return false;
}

const u8 *elfcore_memory(const struct elfcore *c, u64 addr, size_t *size, u32 *flags)
{
	struct elfimg_segment s;
	size_t have = 0;
	const u8 *data = find_segment(c, addr, &s) ? segment_bytes(c->image, &s, &have) : NULL;
	if (!data || addr - s.vaddr >= have)
		return NULL;
	*size = have - (size_t)(addr - s.vaddr);
	if (flags)
		*flags = s.flags;
	return data + (addr - s.vaddr);
}

bool elfcore_may_run(const struct elfcore *c, u64 addr)
{
	struct elfimg_segment s;
	return !find_segment(c, addr, &s) || s.flags & PF_X;
}

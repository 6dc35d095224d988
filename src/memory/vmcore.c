#include "memory/vmcore.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>

enum { SEGMENTS_MAX = 1 << 16, PRSTATUS_REGS = 112, X86_REGS = 27, ARM64_REGS = 34, PAGE = 4096 };

/* ---- notes ----------------------------------------------------------------------------------------------------------------- */

static int add_cpu(struct vmcore *v, struct bytes desc)
{
	if (v->cpus.nr == VMCORE_CPUS_MAX)
		return 0;
	struct vmcore_cpu cpu = { .nr = v->machine == EM_X86_64 ? X86_REGS : ARM64_REGS };
	bytes_skip(&desc, PRSTATUS_REGS);
	for (u32 n = 0; n < cpu.nr; n++)
		cpu.regs[n] = bytes_u64(&desc);
	if (desc.bad)
		return 0;
	struct vmcore_cpu *slot = vec_push(&v->cpus);
	if (!slot)
		return -ENOMEM;
	*slot = cpu;
	return 0;
}

static int add_info(struct vmcore *v, const struct bytes *desc)
{
	if (v->info || !bytes_left(desc))
		return 0;
	v->info = strndup((const char *)desc->at, bytes_left(desc));
	return v->info ? 0 : -ENOMEM;
}

static int add_note(struct vmcore *v, const char *name, u32 name_size, u32 type,
		    const struct bytes *desc)
{
	static const char info[] = "VMCOREINFO", core[] = "CORE";
	if (name_size >= sizeof(info) - 1 && !memcmp(name, info, sizeof(info) - 1) && type == 0)
		return add_info(v, desc);
	if (name_size >= sizeof(core) - 1 && !memcmp(name, core, sizeof(core) - 1) &&
	    type == NT_PRSTATUS)
		return add_cpu(v, *desc);
	return 0;
}

int vmcore_add_notes(struct vmcore *v, u64 offset, u64 size)
{
	if (!size)
		return 0;
	if (size > VMCORE_NOTES_MAX || size > v->file.size ||
	    !budget_bytes(&v->file.budget, size, "notes"))
		return -EBADMSG;
	u8 *room = malloc(size);
	if (!room)
		return -ENOMEM;
	int err = dump_file_read(&v->file, offset, room, size);
	struct bytes b = bytes_of(room, err ? 0 : size, false);
	while (!err && bytes_left(&b) >= 12) {
		u32 name_size = bytes_u32(&b), desc_size = bytes_u32(&b), type = bytes_u32(&b);
		const char *name = bytes_take(&b, name_size);
		bytes_skip(&b, min((size_t)(-name_size & 3), bytes_left(&b)));
		struct bytes desc = bytes_sub(&b, desc_size);
		bytes_skip(&b, min((size_t)(-desc_size & 3), bytes_left(&b)));
		if (b.bad)
			break;
		err = add_note(v, name, name_size, type, &desc);
	}
	free(room);
	return err;
}

/* ---- ELF ------------------------------------------------------------------------------------------------------------------- */

static int compare_segments(const void *a, const void *b)
{
	const struct vmcore_segment *x = a, *y = b;
	return x->phys < y->phys ? -1 : x->phys > y->phys;
}

static int nr_headers(const struct vmcore *v, const Elf64_Ehdr *e, u32 *ret)
{
	Elf64_Shdr section;
	*ret = e->e_phnum;
	if (e->e_phnum != PN_XNUM)
		return 0;
	int err = dump_file_read(&v->file, e->e_shoff, &section, sizeof(section));
	if (!err)
		*ret = section.sh_info;
	return err;
}

static int add_segment(struct vmcore *v, const Elf64_Phdr *p)
{
	if (p->p_type == PT_NOTE)
		return vmcore_add_notes(v, p->p_offset, p->p_filesz);
	if (p->p_type != PT_LOAD || !p->p_filesz)
		return 0;
	/* What is not in the file is not in the dump, whatever the header says. */
	u64 left = v->file.size - min(p->p_offset, v->file.size);
	u64 size = min(p->p_filesz, left);
	if (!size || p->p_paddr > UINT64_MAX - size)
		return 0;
	struct vmcore_segment *s = vec_push(&v->segments);
	if (!s)
		return -ENOMEM;
	*s = (struct vmcore_segment){ p->p_paddr, size, p->p_offset };
	return 0;
}

static int open_elf(struct vmcore *v, const char *path, struct diag *d)
{
	Elf64_Ehdr e;
	u32 nr;
	int err = dump_file_read(&v->file, 0, &e, sizeof(e));
	if (err)
		return err;
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (e.e_machine != EM_X86_64 && e.e_machine != EM_AARCH64))
		return diag_error(d, -ENOTSUP,
				  "%s: only dumps of x86_64 and little-endian arm64 can be read",
				  path);
	if (e.e_type != ET_CORE)
		return diag_error(d, -EINVAL, "%s: an ELF file, but not a core dump", path);
	v->machine = e.e_machine;
	v->format = "ELF";
	err = nr_headers(v, &e, &nr);
	if (err)
		return err;
	if (nr > SEGMENTS_MAX || !budget_bytes(&v->file.budget, nr * sizeof(Elf64_Phdr), "segments"))
		return -EBADMSG;
	for (u32 n = 0; !err && n < nr; n++) {
		Elf64_Phdr p;
		err = dump_file_read(&v->file, e.e_phoff + n * sizeof(p), &p, sizeof(p));
		if (!err)
			err = add_segment(v, &p);
	}
	if (v->segments.nr)
		qsort(v->segments.at, v->segments.nr, sizeof(*v->segments.at), compare_segments);
	return err ? err : v->segments.nr ? 0 : -ENODATA;
}

/* The last segment at or below an address; NULL: none. */
static const struct vmcore_segment *segment_below(const struct vmcore *v, u64 phys)
{
	size_t low = 0, high = v->segments.nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (v->segments.at[mid].phys <= phys)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &v->segments.at[low - 1] : NULL;
}

static int read_elf(struct vmcore *v, u64 phys, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		const struct vmcore_segment *s = segment_below(v, phys + done);
		if (!s || phys + done - s->phys >= s->size)
			return -EFAULT;
		u64 skip = phys + done - s->phys;
		size_t now = (size_t)min(s->size - skip, (u64)(size - done));
		int err = dump_file_read(&v->file, s->offset + skip, (u8 *)to + done, now);
		if (err)
			return err;
		done += now;
	}
	return 0;
}

/* ---- both ------------------------------------------------------------------------------------------------------------------ */

/* What else people have, by its first bytes. */
static const char *other_format(const u8 head[8])
{
	static const struct {
		const char *magic, *name;
		u32 size;
	} others[] = {
		{ "\xd0\xb3\xed\xd0\xb3\xed\xd0", "a VMware suspend file", 4 },
		{ "\xd2\xbe\xd2\xbe", "a VMware suspend file", 4 },
		{ "\x31\x8a\x18\xa8", "an LKCD dump", 4 },
		{ "\xed\x23\x8f\x61\x73\x01\x19\xa8", "an LKCD dump", 8 },
		{ "PARTIAL", "a sadump file", 7 },
		{ "QEVM", "a QEMU migration stream (not dump-guest-memory)", 4 },
		{ "PAGEDU", "a Windows dump", 6 },
		{ "\x1f\x8b", "compressed by gzip", 2 },
		{ "\x28\xb5\x2f\xfd", "compressed by zstd", 4 },
		{ "\xfd"
		  "7zXZ",
		  "compressed by xz", 5 },
	};
	for (size_t n = 0; n < ARRAY_SIZE(others); n++)
		if (!memcmp(head, others[n].magic, others[n].size))
			return others[n].name;
	return NULL;
}

static int open_format(struct vmcore *v, const char *path, struct diag *d)
{
	u8 head[8] = { 0 };
	int err = dump_file_read(&v->file, 0, head, sizeof(head));
	if (!err && !memcmp(head, ELFMAG, SELFMAG))
		return open_elf(v, path, d);
	if (!err && (!memcmp(head, "KDUMP   ", 8) || !memcmp(head, "DISKDUMP", 8)))
		return vmcore_open_kdump(v, path, d);
	const char *other = other_format(head);
	err = diag_error(d, -ENOTSUP, "%s: %s%s", path,
			 other ? "this is " : "not a dump of a kernel", other ? other : "");
	diag_hint(d, "ELF and kdump-compressed files are read, flattened ones, too: "
		     "/proc/vmcore, makedumpfile -c, -z or -E, QEMU's dump-guest-memory");
	return err;
}

static int open_any(struct vmcore *v, int err, const char *path, struct diag *d)
{
	size_t said = d ? d->nr_errors : 0;
	if (!err)
		err = open_format(v, path, d);
	if (err && !v->file.budget.stage && d && d->nr_errors == said)
		(void)diag_error(d, err, "cannot read the dump %s: %s", path,
				 err == -EBADMSG   ? "it is broken"
				 : err == -EIO	   ? "it is cut off, or cannot be read"
				 : err == -ENODATA ? "there is no memory in it"
						   : strerror(-err));
	else if (err && v->file.budget.stage && d && d->nr_errors == said)
		(void)budget_refuse(&v->file.budget, path, d);
	if (err)
		vmcore_close(v);
	return err;
}

int vmcore_open(struct vmcore *v, const char *path, struct diag *d)
{
	*v = (struct vmcore){ .file.fd = -1 };
	return open_any(v, dump_file_open(&v->file, path, d), path, d);
}

int vmcore_open_fd(struct vmcore *v, int fd, const char *path, struct diag *d)
{
	*v = (struct vmcore){ .file.fd = -1 };
	return open_any(v, dump_file_open_fd(&v->file, fd, path, d), path, d);
}

void vmcore_close(struct vmcore *v)
{
	dump_file_close(&v->file);
	vmcore_close_kdump(v);
	vec_free(&v->cpus);
	vec_free(&v->segments);
	free(v->info);
	free(v->present);
	free(v->before);
	if (v->cache)
		free(v->cache[0].bytes); /* all of them are one block */
	free(v->cache);
	free(v->packed);
	*v = (struct vmcore){ .file.fd = -1 };
}

int vmcore_read(struct vmcore *v, u64 phys, void *to, size_t size)
{
	if (size && phys > UINT64_MAX - size)
		return -EFAULT;
	return v->page_size ? vmcore_read_kdump(v, phys, to, size) : read_elf(v, phys, to, size);
}

int vmcore_peek(struct vmcore *v, u64 phys, void *to, u32 size)
{
	return v->page_size ? vmcore_peek_kdump(v, phys, to, size) : vmcore_read(v, phys, to, size);
}

bool vmcore_next_page(const struct vmcore *v, u64 *phys)
{
	if (v->page_size) {
		for (u64 n = (*phys + v->page_size - 1) / v->page_size; n < v->nr_pages; n++) {
			if (!(n % 8) && !v->present[n / 8]) {
				n += 7;
				continue;
			}
			if (v->present[n / 8] >> n % 8 & 1) {
				*phys = n * v->page_size;
				return true;
			}
		}
		return false;
	}
	u64 at = (*phys + PAGE - 1) & ~(u64)(PAGE - 1);
	for (size_t n = 0; n < v->segments.nr; n++) {
		const struct vmcore_segment *s = &v->segments.at[n];
		u64 first = max(at, (s->phys + PAGE - 1) & ~(u64)(PAGE - 1));
		if (first - s->phys < s->size && s->size - (first - s->phys) >= PAGE) {
			*phys = first;
			return true;
		}
	}
	return false;
}

u64 vmcore_bytes(const struct vmcore *v)
{
	u64 sum = 0;
	for (u64 n = 0; n < (v->page_size ? (v->nr_pages + 7) / 8 : 0); n++)
		sum += (u64)__builtin_popcount(v->present[n]) * v->page_size;
	vec_for_each (&v->segments, s)
		sum += s->size;
	return sum;
}

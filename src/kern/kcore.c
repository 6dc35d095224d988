#include "kern/kcore.h"
#include "kern/sysroot.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SEGMENTS_MAX = 4096 };

static int read_head(int fd, Elf64_Ehdr *head)
{
	ssize_t n = pread(fd, head, sizeof(*head), 0);
	if (n < 0)
		return -errno;
	return n == sizeof(*head) && !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
			       head->e_ident[EI_CLASS] == ELFCLASS64 &&
			       head->e_ident[EI_DATA] == ELFDATA2LSB &&
			       head->e_phentsize == sizeof(Elf64_Phdr)
		       ? 0
		       : -ENOEXEC;
}

static bool holds(const Elf64_Phdr *p, u64 addr, size_t size)
{
	return p->p_type == PT_LOAD && addr >= p->p_vaddr && addr - p->p_vaddr < p->p_filesz &&
	       size <= p->p_filesz - (addr - p->p_vaddr);
}

/* The file offset of an address. */
static int place_of(int fd, u64 addr, size_t size, u64 *ret)
{
	Elf64_Ehdr head;
	int err = read_head(fd, &head);
	if (err)
		return err;
	for (u32 i = 0; i < min((u32)head.e_phnum, (u32)SEGMENTS_MAX); i++) {
		Elf64_Phdr p;
		if (pread(fd, &p, sizeof(p), (off_t)(head.e_phoff + i * sizeof(p))) != sizeof(p))
			return -EIO;
		if (holds(&p, addr, size)) {
			*ret = p.p_offset + (addr - p.p_vaddr);
			return 0;
		}
	}
	return -ENOENT;
}

int kcore_machine(int fd)
{
	Elf64_Ehdr head;
	int err = read_head(fd, &head);
	return err ? err : head.e_machine;
}

static int read_at(int fd, u64 at, u8 *to, size_t size)
{
	for (size_t got = 0; got < size;) {
		ssize_t n = pread(fd, to + got, size - got, (off_t)(at + got));
		if (n <= 0)
			return n ? -errno : -EIO;
		got += (size_t)n;
	}
	return 0;
}

int kcore_read_fd(int fd, u64 addr, u8 *to, size_t size)
{
	u64 at = 0;
	int err = place_of(fd, addr, size, &at);
	return err ? err : read_at(fd, at, to, size);
}

int kcore_read(const char *root, u64 addr, u8 *to, size_t size)
{
	struct sysroot r;
	int err = sysroot_open(&r, root);
	if (err)
		return err;
	_cleanup_close_ int fd = sysroot_fd(&r, "proc/kcore");
	sysroot_close(&r);
	return fd < 0 ? fd : kcore_read_fd(fd, addr, to, size);
}

static int read_segments(struct kcore *k)
{
	Elf64_Ehdr head;
	int err = read_head(k->fd, &head);
	if (err)
		return err;
	u32 nr = min((u32)head.e_phnum, (u32)SEGMENTS_MAX);
	k->segments = calloc(max(nr, 1u), sizeof(*k->segments));
	if (!k->segments)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		Elf64_Phdr p;
		if (pread(k->fd, &p, sizeof(p), (off_t)(head.e_phoff + i * sizeof(p))) != sizeof(p))
			return -EIO;
		if (p.p_type == PT_LOAD)
			k->segments[k->nr++] =
				(struct kcore_segment){ p.p_vaddr, p.p_filesz, p.p_offset };
	}
	return 0;
}

int kcore_open(struct kcore *k, const char *root)
{
	struct sysroot r;
	int err = sysroot_open(&r, root);
	if (err)
		return err;
	*k = (struct kcore){ .fd = sysroot_fd(&r, "proc/kcore") };
	sysroot_close(&r);
	if (k->fd < 0)
		return k->fd;
	err = read_segments(k);
	if (err)
		kcore_close(k);
	return err;
}

void kcore_close(struct kcore *k)
{
	if (k->fd >= 0)
		(void)close(k->fd);
	free(k->segments);
	*k = (struct kcore){ .fd = -1 };
}

int kcore_get(const struct kcore *k, u64 addr, void *to, size_t size)
{
	for (u32 i = 0; i < k->nr; i++) {
		const struct kcore_segment *s = &k->segments[i];
		if (addr >= s->addr && addr - s->addr < s->size && size <= s->size - (addr - s->addr))
			return read_at(k->fd, s->offset + (addr - s->addr), to, size);
	}
	return -ENOENT;
}

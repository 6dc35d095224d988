/*
 * The text range: /proc/kallsyms names the start within its first pages; its end stands some 100,000 lines later, which
 * costs 40 ms to produce, so the length is taken from "Kernel code" of /proc/iomem where that is readable.
 */
#include "kern/kmap.h"

#include "base/elfnote.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE = 64 << 10, NOTES_MAX = 64 << 10 };

/* Walks kallsyms in pieces until fn says stop (non-zero). */
static int each_symbol(const struct sysroot *r, int (*fn)(void *ctx, u64 addr, const char *name),
		       void *ctx)
{
	_cleanup_close_ int fd = sysroot_fd(r, "proc/kallsyms");
	if (fd < 0)
		return fd;
	_cleanup_free_ char *buf = malloc(PIECE);
	if (!buf)
		return -ENOMEM;
	size_t held = 0;
	for (;;) {
		ssize_t n = read(fd, buf + held, PIECE - held);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		char *at = buf, *end = buf + held + n;
		for (char *nl; (nl = memchr(at, '\n', (size_t)(end - at))); at = nl + 1) {
			*nl = 0;
			char *rest;
			u64 addr = strtoull(at, &rest, 16);
			if (rest[0] != ' ' || !rest[1] || rest[2] != ' ')
				continue;
			int stop = fn(ctx, addr, rest + 3);
			if (stop)
				return stop < 0 ? stop : 0;
		}
		held = (size_t)(end - at);
		if (held == PIECE)
			return -EINVAL;
		memmove(buf, at, held);
	}
}

struct text_search {
	u64 text, stext, etext;
	bool want_end;
};

static int see_symbol(void *ctx, u64 addr, const char *name)
{
	struct text_search *s = ctx;
	if (name[0] != '_')
		return 0;
	if (!strcmp(name, "_text"))
		s->text = addr;
	else if (!strcmp(name, "_stext"))
		s->stext = addr;
	else if (!strcmp(name, "_etext"))
		s->etext = addr;
	else
		return 0;
	if (s->want_end)
		return s->etext && (s->text || s->stext);
	return s->text != 0;
}

/* The size of "Kernel code", 0 when it is hidden from us. */
static u64 iomem_text_size(const struct sysroot *r)
{
	struct strbuf buf;
	u64 size = 0;
	strbuf_init(&buf);
	if (!sysroot_read(r, "proc/iomem", &buf)) {
		const char *text = strbuf_cstr(&buf);
		const char *at = strstr(text, " : Kernel code");
		while (at && at > text && at[-1] != '\n')
			at--;
		unsigned long long from, to;
		if (at && sscanf(at, " %llx-%llx", &from, &to) == 2 && to > from)
			size = to - from + 1;
	}
	strbuf_done(&buf);
	return size;
}

int kmap_text(const struct sysroot *r, struct kernel_text *ret)
{
	u64 size = iomem_text_size(r);
	struct text_search s = { .want_end = !size };
	int err = each_symbol(r, see_symbol, &s);
	if (err)
		return err == -EACCES || err == -EPERM ? -ENOENT : err;
	u64 start = s.text ? s.text : s.stext;
	if (!start)
		return -ENOENT;
	*ret = (struct kernel_text){
		.start = start,
		.end = size ? start + size : s.etext,
		.name = s.text ? "_text" : "_stext",
	};
	return 0;
}

unsigned kmap_note_build_id(const void *notes, size_t len, u8 id[KMAP_BUILD_ID_MAX])
{
	size_t size;
	const u8 *found = elfnote_build_id(notes, len, 4, false, &size);
	if (!found)
		return 0;
	size = min(size, (size_t)KMAP_BUILD_ID_MAX);
	memset(id, 0, KMAP_BUILD_ID_MAX);
	memcpy(id, found, size);
	return (unsigned)size;
}

static unsigned notes_file(const struct sysroot *r, const char *path, struct strbuf *buf,
			   u8 id[KMAP_BUILD_ID_MAX])
{
	return sysroot_read(r, path, buf) ? 0 : kmap_note_build_id(buf->data, buf->len, id);
}

unsigned kmap_kernel_build_id(const struct sysroot *r, u8 id[KMAP_BUILD_ID_MAX])
{
	struct strbuf buf;
	strbuf_init(&buf);
	unsigned size = notes_file(r, "sys/kernel/notes", &buf, id);
	strbuf_done(&buf);
	return size;
}

unsigned kmap_file_build_id(int fd, u8 id[KMAP_BUILD_ID_MAX])
{
	_Alignas(8) u8 head[4096];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)head;
	if (n < (ssize_t)sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_phentsize != sizeof(Elf64_Phdr) ||
	    eh->e_phoff % 8 || eh->e_phoff >= (u64)n)
		return 0;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(head + eh->e_phoff);
	size_t nr = min((size_t)eh->e_phnum, ((size_t)n - eh->e_phoff) / sizeof(*ph));
	for (size_t i = 0; i < nr; i++) {
		if (ph[i].p_type != PT_NOTE || !ph[i].p_filesz)
			continue;
		u64 from = ph[i].p_offset, size = min(ph[i].p_filesz, (u64)NOTES_MAX);
		unsigned len;
		if (from < (u64)n && size <= (u64)n - from) {
			len = kmap_note_build_id(head + from, size, id);
		} else {
			_cleanup_free_ u8 *notes = malloc(size);
			ssize_t got = notes ? pread(fd, notes, size, (off_t)from) : 0;
			len = got > 0 ? kmap_note_build_id(notes, (size_t)got, id) : 0;
		}
		if (len)
			return len;
	}
	return 0;
}

/* Module names have '_' where file names may have '-'. */
static bool same_module(const char *file, size_t len, const char *name)
{
	for (size_t i = 0; i < len; i++)
		if ((file[i] == '-' ? '_' : file[i]) != name[i])
			return false;
	return !name[len];
}

/* "kernel/fs/fuse/fuse.ko: ..." lines of modules.dep; the path of a module without the compression suffix's dependents. */
static bool find_module_file(const struct strbuf *dep, const char *name, const char **path,
			     size_t *path_len)
{
	if (!dep->len)
		return false;
	const char *at = dep->data, *end = at + dep->len;
	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		const char *stop = nl ? nl : end;
		const char *colon = memchr(at, ':', (size_t)(stop - at));
		if (colon) {
			const char *file = colon;
			while (file > at && file[-1] != '/')
				file--;
			const char *dot = memchr(file, '.', (size_t)(colon - file));
			if (same_module(file, (size_t)((dot ? dot : colon) - file), name)) {
				*path = at;
				*path_len = (size_t)(colon - at);
				return true;
			}
		}
		at = stop + 1;
	}
	return false;
}

int kmap_modules(const struct sysroot *r, const char *release,
		 int (*fn)(void *ctx, const struct kernel_module *m), void *ctx)
{
	struct strbuf list, dep, path, notes;
	strbuf_init(&list);
	strbuf_init(&dep);
	strbuf_init(&path);
	strbuf_init(&notes);
	int err = sysroot_read(r, "proc/modules", &list);
	if (err)
		goto out;
	strbuf_printf(&path, "lib/modules/%s/modules.dep", release);
	(void)!sysroot_read(r, strbuf_cstr(&path), &dep); /* without it paths stay unknown */
	strbuf_cstr(&list);
	for (char *line = list.data, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		/* name size refs users state address */
		char *space = strchr(line, ' '), *addr = strstr(line, " 0x");
		if (!space || !addr)
			continue;
		struct kernel_module m = { .name = line,
					   .size_bytes = strtoull(space + 1, NULL, 10),
					   .start = strtoull(addr + 1, NULL, 16) };
		*space = 0;
		if (!m.start || !m.size_bytes)
			continue;
		strbuf_reset(&path);
		strbuf_printf(&path, "sys/module/%s/notes/.note.gnu.build-id", line);
		m.build_id_size = (u8)notes_file(r, strbuf_cstr(&path), &notes, m.build_id);
		const char *file;
		size_t len;
		if (find_module_file(&dep, line, &file, &len)) {
			strbuf_reset(&path);
			strbuf_printf(&path, "/lib/modules/%s/%.*s", release, (int)len, file);
			m.path = strbuf_cstr(&path);
		}
		err = fn(ctx, &m);
		if (err)
			break;
	}
out:
	strbuf_done(&list);
	strbuf_done(&dep);
	strbuf_done(&path);
	strbuf_done(&notes);
	return err;
}

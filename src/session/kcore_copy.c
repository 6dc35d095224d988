#include "session/kcore_copy.h"
#include "base/vec.h"
#include "kern/kallsyms.h"
#include "kern/kcore.h"
#include "kern/sysroot.h"
#include "sym/kallsyms.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PAGE = 4096, /* of the core's layout; addresses in it are rounded alike */
	CHUNK = 1 << 18,
	MAX_BYTES = 1 << 30, /* of code */
	MAX_SEGMENTS = 1024,
	TRIES = 3, /* while modules come and go */
};

struct segment {
	u64 start, end;
};

typedef VEC(struct segment) segment_list;

struct kcore_module {
	const char *name;
	size_t name_len;
	u64 start, size;
};

/* "ext4 983040 1 mbcache,jbd2, Live 0xffffffffc0201000": the next one of a list, false at its end. */
static bool next_module(const char **at, const char *end, struct kcore_module *ret)
{
	while (*at < end) {
		const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			return false;
		*at = stop + 1;
		const char *space = memchr(line, ' ', (size_t)(stop - line));
		const char *addr = memmem(line, (size_t)(stop - line), " 0x", 3);
		if (!space || !addr)
			continue;
		*ret = (struct kcore_module){ .name = line,
					      .name_len = (size_t)(space - line),
					      .start = strtoull(addr + 1, NULL, 16),
					      .size = strtoull(space + 1, NULL, 10) };
		return true;
	}
	return false;
}

bool kcore_same_modules(const char *a, size_t a_len, const char *b, size_t b_len)
{
	const char *a_end = a + a_len, *b_end = b + b_len;
	for (;;) {
		struct kcore_module l, r;
		bool have_l = next_module(&a, a_end, &l), have_r = next_module(&b, b_end, &r);
		if (!have_l || !have_r)
			return have_l == have_r;
		if (l.start != r.start || l.name_len != r.name_len ||
		    memcmp(l.name, r.name, l.name_len))
			return false;
	}
}

/* ---- what is copied ---- */

static int add_segment(segment_list *to, u64 start, u64 end)
{
	struct segment *s = vec_push(to);
	if (!s)
		return -ENOMEM;
	*s = (struct segment){ start & ~(u64)(PAGE - 1), (end + PAGE - 1) & ~(u64)(PAGE - 1) };
	return 0;
}

static int by_start(const void *l, const void *r)
{
	const struct segment *a = l, *b = r;
	return (a->start > b->start) - (a->start < b->start);
}

/* In order, those that touch each other as one. */
static void join_segments(segment_list *s)
{
	size_t nr = 0;
	qsort(s->at, s->nr, sizeof(*s->at), by_start);
	for (size_t i = 0; i < s->nr; i++)
		if (nr && s->at[i].start <= s->at[nr - 1].end)
			s->at[nr - 1].end = max(s->at[nr - 1].end, s->at[i].end);
		else
			s->at[nr++] = s->at[i];
	s->nr = nr;
}

/* The kernel's own text and what modules occupy. -ENOKEY: the list hides addresses. */
static int find_segments(const struct kallsyms_text *list, const struct kallsyms_text *modules,
			 segment_list *to)
{
	u64 start, end, total = 0;
	if (kallsyms_hidden(list->data, list->len) ||
	    (!kallsyms_address(list->data, list->len, "_stext", &start) &&
	     !kallsyms_address(list->data, list->len, "_text", &start)) ||
	    !kallsyms_address(list->data, list->len, "_etext", &end) || end <= start)
		return -ENOKEY;
	int err = add_segment(to, start, end);
	const char *at = modules->data;
	struct kcore_module m;
	while (!err && at && next_module(&at, modules->data + modules->len, &m))
		if (m.start && m.size && m.size < MAX_BYTES)
			err = add_segment(to, m.start, m.start + m.size);
	if (err)
		return err;
	join_segments(to);
	vec_for_each (to, s)
		total += s->end - s->start;
	return total > MAX_BYTES || to->nr > MAX_SEGMENTS ? -EFBIG : 0;
}

/* ---- files ---- */

static int write_all(int fd, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)data + done, size - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int create(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int write_text(int dir, const char *name, const struct kallsyms_text *t)
{
	_cleanup_close_ int fd = create(dir, name);
	return fd < 0 ? fd : write_all(fd, t->data, t->len);
}

static void remove_files(int dir)
{
	(void)unlinkat(dir, "kcore", 0);
	(void)unlinkat(dir, "kallsyms", 0);
	(void)unlinkat(dir, "modules", 0);
}

/* The head, and the table of segments, which follow each other from the next page on. */
static int write_head(int core, const segment_list *segments, int to)
{
	Elf64_Ehdr head;
	if (pread(core, &head, sizeof(head), 0) != sizeof(head))
		return -EIO;
	head.e_entry = 0;
	head.e_phoff = sizeof(head);
	head.e_phnum = (u16)segments->nr;
	head.e_phentsize = sizeof(Elf64_Phdr);
	head.e_shoff = 0;
	head.e_shnum = 0;
	head.e_shentsize = 0;
	head.e_shstrndx = 0;
	int err = write_all(to, &head, sizeof(head));
	u64 size = sizeof(head) + segments->nr * sizeof(Elf64_Phdr);
	u64 first = (size + PAGE - 1) & ~(u64)(PAGE - 1), at = first;
	vec_for_each (segments, s) {
		Elf64_Phdr p = { .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_W | PF_X,
				 .p_offset = at,
				 .p_vaddr = s->start,
				 .p_filesz = s->end - s->start,
				 .p_memsz = s->end - s->start,
				 .p_align = PAGE };
		at += p.p_filesz;
		err = err ? err : write_all(to, &p, sizeof(p));
	}
	if (!err && lseek(to, (off_t)first, SEEK_SET) < 0)
		err = -errno;
	return err;
}

/* Pages that cannot be read (given back since, or not there) are zeros. */
static int copy_segment(int core, const struct segment *s, u8 *buf, int to)
{
	int err = 0;
	for (u64 at = s->start; at < s->end && !err;) {
		size_t size = min((size_t)(s->end - at), (size_t)CHUNK);
		if (kcore_read_fd(core, at, buf, size)) {
			size = PAGE;
			if (kcore_read_fd(core, at, buf, size))
				memset(buf, 0, size);
		}
		err = write_all(to, buf, size);
		at += size;
	}
	return err;
}

static int write_core(int core, const segment_list *segments, int dir)
{
	u8 *buf = malloc(CHUNK);
	_cleanup_close_ int to = buf ? create(dir, "kcore") : -ENOMEM;
	int err = to < 0 ? to : write_head(core, segments, to);
	vec_for_each (segments, s)
		err = err ? err : copy_segment(core, s, buf, to);
	free(buf);
	return err;
}

static int copy_once(const char *root, int core, int dir)
{
	struct kallsyms_text list = { 0 }, modules = { 0 }, after = { 0 };
	segment_list segments = { 0 };
	int err = kallsyms_read(root, NULL, &list);
	if (!err && kallsyms_read_modules(root, &modules)) /* a kernel without them */
		modules = (struct kallsyms_text){ 0 };
	if (!err)
		err = find_segments(&list, &modules, &segments);
	if (!err)
		err = write_text(dir, "kallsyms", &list);
	if (!err)
		err = write_text(dir, "modules", &modules);
	if (!err)
		err = write_core(core, &segments, dir);
	if (!err && !kallsyms_read_modules(root, &after) &&
	    !kcore_same_modules(modules.data, modules.len, after.data, after.len))
		err = -EAGAIN;
	vec_free(&segments);
	kallsyms_text_done(&list);
	kallsyms_text_done(&modules);
	kallsyms_text_done(&after);
	return err;
}

static const char *reason(int err)
{
	return err == -ENOENT	 ? "this kernel has no /proc/kcore"
	       : err == -ENOEXEC ? "/proc/kcore is not an ELF core that is known here"
	       : err == -ENOKEY	 ? "the kernel hides its addresses from this user"
	       : err == -EFBIG	 ? "kernel and modules are larger than 1 GB"
	       : err == -EAGAIN	 ? "modules were loaded or removed all the time"
				 : strerror(-err);
}

int kcore_copy(const char *root, int dir, struct diag *d)
{
	struct sysroot r;
	int err = sysroot_open(&r, root);
	if (err)
		return diag_error(d, err, "cannot copy the kernel's code: %s", strerror(-err));
	_cleanup_close_ int core = sysroot_fd(&r, "proc/kcore");
	sysroot_close(&r);
	err = core < 0 ? core : kcore_machine(core);
	if (err >= 0)
		err = -EAGAIN;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++) {
		err = copy_once(root, core, dir);
		if (err)
			remove_files(dir);
	}
	if (!err)
		return 0;
	diag_error(d, err, "cannot copy the kernel's code: %s", reason(err));
	if (err == -EACCES || err == -EPERM || err == -ENOKEY)
		diag_hint(d, "root may read /proc/kcore, unless the kernel is locked down");
	return err;
}

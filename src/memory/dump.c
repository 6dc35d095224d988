#include "memory/dump.h"

#include "base/num.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TLB = 256, RELEASE = 65, INFO_MAX = 64 << 10, KEY = 64, SMALLEST_PAGE = 4096 };

/* The last pages whose address was looked up. */
struct translation {
	u64 number; /* of the virtual page + 1; 0: free */
	u64 phys;
};

struct crash_dump {
	struct memory m;
	struct vmcore core;
	u64 root; /* of the page tables, physical */
	u32 levels, page_shift, va_bits;
	u64 kernel_base; /* virtual - this is physical, for the kernel's image, where the tables begin */
	char release[RELEASE];
	struct translation tlb[TLB];
};

/* ---- VMCOREINFO ------------------------------------------------------------------------------------------------------------ */

static const char *find_line(const char *info, const char *name)
{
	size_t len = strlen(name);
	for (const char *at = info; at && *at; at = strchr(at, '\n'), at += at != NULL)
		if (!strncmp(at, name, len) && at[len] == '=')
			return at + len + 1;
	return NULL;
}

static bool copy_line(const char *info, const char *name, char *to, size_t size)
{
	const char *at = info ? find_line(info, name) : NULL;
	if (!at)
		return false;
	size_t len = strcspn(at, "\n");
	(void)snprintf(to, size, "%.*s", (int)min(len, size - 1), at);
	return true;
}

/* Hexadecimal numbers may begin with 0x, decimal ones may be negative. */
bool dump_number(const struct crash_dump *dump, const char *name, unsigned radix, u64 *ret)
{
	char text[32];
	if (!copy_line(dump->core.info, name, text, sizeof(text)))
		return false;
	bool negative = text[0] == '-';
	const char *digits = text + negative;
	if (!strncmp(digits, "0x", 2)) {
		digits += 2;
		radix = 16;
	}
	if (num_parse_u64(digits, radix, ret))
		return false;
	if (negative)
		*ret = -*ret;
	return true;
}

/*
 * The note that the kernel keeps ready for its crash begins a page of its own:
 *
 *	11, length, 0, "VMCOREINFO\0\0", "OSRELEASE=..."
 */
static int scan_info(struct vmcore *v)
{
	static const u8 start[] = "\0\0\0\0VMCOREINFO\0\0OSRELEASE=";
	u8 head[8 + sizeof(start) - 1];
	u32 sizes[2];
	for (u64 at = 0; vmcore_next_page(v, &at); at += SMALLEST_PAGE) {
		if (!budget_steps(&v->file.budget, 20, "looking for VMCOREINFO"))
			return -E2BIG;
		if (vmcore_peek(v, at, head, sizeof(head)) ||
		    memcmp(head + 8, start, sizeof(start) - 1))
			continue;
		memcpy(sizes, head, sizeof(sizes));
		if (sizes[0] != sizeof("VMCOREINFO") || sizes[1] > INFO_MAX)
			continue;
		char *info = calloc(1, (size_t)sizes[1] + 1);
		if (!info)
			return -ENOMEM;
		if (!vmcore_read(v, at + 24, info, sizes[1])) {
			v->info = info;
			return 0;
		}
		free(info);
	}
	return -ENOENT;
}

/* ---- page tables ----------------------------------------------------------------------------------------------------------- */

static int find_tables_x86(struct crash_dump *d)
{
	enum { L4 = 4, L5 = 5, SHIFT = 12, VA4 = 48, VA5 = 57 };
	static const u64 image = 0xffffffff80000000;
	u64 pgd, phys_base, five = 0;
	if (!dump_number(d, "SYMBOL(swapper_pg_dir)", 16, &pgd) ||
	    !dump_number(d, "NUMBER(phys_base)", 10, &phys_base))
		return -ENOENT;
	(void)dump_number(d, "NUMBER(pgtable_l5_enabled)", 10, &five);
	d->levels = five ? L5 : L4;
	d->va_bits = five ? VA5 : VA4;
	d->page_shift = SHIFT;
	d->kernel_base = image - phys_base;
	d->root = pgd - d->kernel_base;
	return 0;
}

static int find_tables_arm64(struct crash_dump *d)
{
	enum { VA_MIN = 36, VA_MAX = 52, BITS = 64, ENTRY = 3 };
	u64 pgd, offset, bits, size, t1sz;
	if (!dump_number(d, "SYMBOL(swapper_pg_dir)", 16, &pgd) ||
	    !dump_number(d, "NUMBER(kimage_voffset)", 16, &offset) ||
	    !dump_number(d, "NUMBER(VA_BITS)", 10, &bits) || !dump_number(d, "PAGESIZE", 10, &size))
		return -ENOENT;
	if (dump_number(d, "NUMBER(TCR_EL1_T1SZ)", 16, &t1sz) && t1sz < BITS)
		bits = BITS - t1sz;
	if (bits < VA_MIN || bits > VA_MAX ||
	    (size != 4096 && size != 16384 && size != 65536)) /* what arm64 has */
		return -EBADMSG;
	d->page_shift = (u32)__builtin_ctzll(size);
	d->va_bits = (u32)bits;
	d->levels =
		(d->va_bits - d->page_shift + d->page_shift - ENTRY - 1) / (d->page_shift - ENTRY);
	d->kernel_base = offset;
	d->root = pgd - offset;
	return 0;
}

/* What an entry says: false: nothing is mapped there. block: it is the end, though there are levels below. */
static bool decode_entry(const struct crash_dump *d, u64 entry, u32 level, u64 *phys, bool *block)
{
	enum { PRESENT = 1, LARGE = 1 << 7, TABLE = 2, PAGE_64K = 16 };
	static const u64 address = 0x000ffffffffff000, address_arm64 = 0x0000fffffffff000;
	if (!(entry & PRESENT))
		return false;
	if (d->core.machine == EM_X86_64) {
		*phys = entry & address;
		*block = level > 0 && entry & LARGE;
		return true;
	}
	*phys = entry & address_arm64;
	if (d->page_shift == PAGE_64K) /* bits 51 to 48 are in 15 to 12 */
		*phys = (*phys & ~(u64)0xffff) | (entry >> 12 & 0xf) << 48;
	*block = level > 0 && !(entry & TABLE);
	return level > 0 || entry & TABLE;
}

int dump_translate(struct crash_dump *d, u64 addr, struct dump_walk *ret)
{
	u32 bits = d->page_shift - 3; /* of the index into each table */
	u64 table = d->root, top = addr >> (d->va_bits - (d->core.machine == EM_X86_64));
	*ret = (struct dump_walk){ 0 };
	/* The kernel's half: all bits above are set. (x86's user half of these tables has nothing of interest.) */
	if (d->core.machine == EM_X86_64 ? top && top != UINT64_MAX >> (d->va_bits - 1)
					 : top != UINT64_MAX >> d->va_bits)
		return -EFAULT;
	for (u32 level = d->levels; level-- > 0;) {
		u32 shift = d->page_shift + level * bits;
		/* The first table may have fewer entries. */
		u32 width = min(bits, d->va_bits - shift);
		u64 at = table + (addr >> shift & ((1ull << width) - 1)) * sizeof(u64), entry;
		bool block = false;
		int err = vmcore_read(&d->core, at, &entry, sizeof(entry));
		if (err)
			return err;
		ret->at[ret->nr] = at;
		ret->entry[ret->nr++] = entry;
		if (!decode_entry(d, entry, level, &table, &block))
			return -EFAULT;
		if (!level || block) {
			ret->page = 1ull << shift;
			ret->phys = (table & ~(ret->page - 1)) | (addr & (ret->page - 1));
			return 0;
		}
	}
	return -EFAULT;
}

static int physical(struct crash_dump *d, u64 addr, u64 *ret)
{
	u64 number = addr >> d->page_shift, inside = addr & ((1ull << d->page_shift) - 1);
	struct translation *t = &d->tlb[number % TLB];
	if (t->number != number + 1) {
		struct dump_walk w;
		int err = dump_translate(d, addr - inside, &w);
		if (err)
			return err;
		*t = (struct translation){ number + 1, w.phys };
	}
	*ret = t->phys + inside;
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

static int read_piece(struct crash_dump *d, const struct memory_piece *p)
{
	u64 page = 1ull << d->page_shift;
	for (u32 done = 0; done < p->size;) {
		u64 addr = p->addr + done, phys;
		u32 now = (u32)min((u64)(p->size - done), page - addr % page);
		int err = physical(d, addr, &phys);
		if (!err)
			err = vmcore_read(&d->core, phys, (u8 *)p->to + done, now);
		if (err)
			return err;
		done += now;
	}
	return 0;
}

static int read_pieces(struct memory *m, struct memory_piece *pieces, u32 nr)
{
	struct crash_dump *d = container_of(m, struct crash_dump, m);
	for (u32 n = 0; n < nr; n++)
		pieces[n].err = read_piece(d, &pieces[n]) ? -EFAULT : 0;
	return 0;
}

static void close_nothing(struct memory *m)
{
	(void)m;
}

static const struct memory_ops elf_ops = {
	.name = "dump (ELF)",
	.read = read_pieces,
	.close = close_nothing,
};
static const struct memory_ops kdump_ops = {
	.name = "dump (kdump-compressed)",
	.read = read_pieces,
	.close = close_nothing,
};

/* ---- open ------------------------------------------------------------------------------------------------------------------ */

static int find_kernel(struct crash_dump *d, const char *path, struct diag *diag)
{
	int err = d->core.info ? 0 : scan_info(&d->core);
	if (err == -ENOENT) {
		(void)diag_error(diag, err, "%s: no VMCOREINFO, neither as a note nor in memory",
				 path);
		diag_hint(diag, "the dumped machine must run a Linux kernel with CONFIG_CRASH_CORE "
				"or CONFIG_VMCORE_INFO");
		return err;
	}
	if (err)
		return d->core.file.budget.stage ? budget_refuse(&d->core.file.budget, path, diag)
						 : err;
	if (!copy_line(d->core.info, "OSRELEASE", d->release, sizeof(d->release)))
		(void)snprintf(d->release, sizeof(d->release), "%s", d->core.release);
	err = d->core.machine == EM_X86_64 ? find_tables_x86(d) : find_tables_arm64(d);
	if (err)
		(void)diag_error(
			diag, err,
			"%s: VMCOREINFO of kernel %s does not say where its page tables are", path,
			d->release);
	return err;
}

static int finish(struct crash_dump *d, int err, const char *path, struct crash_dump **ret,
		  struct diag *diag)
{
	if (!err)
		err = find_kernel(d, path, diag);
	if (err) {
		dump_close(d);
		return err;
	}
	d->m.ops = d->core.page_size ? &kdump_ops : &elf_ops;
	*ret = d;
	return 0;
}

int dump_open(const char *path, struct crash_dump **ret, struct diag *diag)
{
	struct crash_dump *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	return finish(d, vmcore_open(&d->core, path, diag), path, ret, diag);
}

int dump_open_fd(int fd, const char *path, struct crash_dump **ret, struct diag *diag)
{
	struct crash_dump *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	return finish(d, vmcore_open_fd(&d->core, fd, path, diag), path, ret, diag);
}

void dump_close(struct crash_dump *d)
{
	if (!d)
		return;
	vmcore_close(&d->core);
	free(d);
}

struct memory *dump_memory(struct crash_dump *d)
{
	return &d->m;
}

struct vmcore *dump_vmcore(struct crash_dump *d)
{
	return &d->core;
}

u32 dump_page_size(const struct crash_dump *d)
{
	return 1u << d->page_shift;
}

u32 dump_levels(const struct crash_dump *d)
{
	return d->levels;
}

const char *dump_release(const struct crash_dump *d)
{
	return d->release;
}

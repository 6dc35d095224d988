/*
 * Physical memory of a dump, and what the dump says of the machine. ELF (/proc/vmcore, makedumpfile -E, QEMU's dump-guest-memory) and
 * kdump-compressed files (makedumpfile, QEMU's -z; pages as they are, by zlib or zstd), flattened or not, little-endian, of x86_64
 * and arm64. Others are refused by name.
 */
#pragma once

#include "memory/dump_file.h"

#include <elf.h>

enum { VMCORE_CPUS_MAX = 4096, VMCORE_NOTES_MAX = 16 << 20 };

/* Registers of a CPU as NT_PRSTATUS has them: in the order of the architecture's user_regs_struct. */
struct vmcore_cpu {
	u64 regs[34];
	u32 nr; /* 27 or 34 */
};

struct vmcore_segment { /* of an ELF file */
	u64 phys, size, offset;
};

struct vmcore_page { /* of a compressed file: the last ones that were read */
	u64 number; /* 0: free; else page number + 1 */
	u8 *bytes;
};

struct vmcore {
	struct dump_bytes file;
	u16 machine; /* EM_X86_64, EM_AARCH64 */
	const char *format; /* "ELF", "kdump-compressed" */
	char *info; /* VMCOREINFO: NAME=VALUE lines, terminated; NULL: none */
	VEC(struct vmcore_cpu) cpus;

	VEC(struct vmcore_segment) segments; /* by address */
	/* Of a compressed file: a bit for each page that is in it, how many are before each 4096 bits, and where their heads are. */
	u32 page_size;
	u64 nr_pages;
	u8 *present;
	u64 *before;
	u64 heads;
	struct vmcore_page *cache;
	u8 *packed; /* one page as it is in the file */
	void *peek; /* of vmcore_kdump.c; NULL: not needed yet */
	char release[65]; /* uname -r of the head; "" where there is none */
};

/* Negative errno with a diag that says what this file is, where that is known. */
int vmcore_open(struct vmcore *v, const char *path, struct diag *d) must_check;
int vmcore_open_fd(struct vmcore *v, int fd, const char *path, struct diag *d) must_check;
void vmcore_close(struct vmcore *v);

/* -EFAULT: not in the dump. Otherwise -EIO, -EBADMSG, -ENOTSUP: a page that is broken, or packed by what we have not. */
int vmcore_read(struct vmcore *v, u64 phys, void *to, size_t size) must_check;
/* The same for the first bytes of a page, of which the rest is not wanted. */
int vmcore_peek(struct vmcore *v, u64 phys, void *to, u32 size) must_check;
/* The next page that is in the dump, from *phys on; false: none. */
bool vmcore_next_page(const struct vmcore *v, u64 *phys);
/* Bytes of memory in the dump. */
u64 vmcore_bytes(const struct vmcore *v);

/* Of vmcore_kdump.c. */
int vmcore_open_kdump(struct vmcore *v, const char *path, struct diag *d) must_check;
int vmcore_read_kdump(struct vmcore *v, u64 phys, void *to, size_t size) must_check;
int vmcore_peek_kdump(struct vmcore *v, u64 phys, void *to, u32 size) must_check;
void vmcore_close_kdump(struct vmcore *v);
/* Notes as both formats have them; broken ones end the list. */
int vmcore_add_notes(struct vmcore *v, u64 offset, u64 size) must_check;

/*
 * Static probes that programs carry (sys/sdt.h): the notes of .note.stapsdt, and their arguments in the kernel's language.
 *
 * A note has three addresses (of the probe, of .stapsdt.base when it was linked, of its counter), the provider, the name, and the arguments
 * as the assembler wrote operands: "-4@%edi 8@-16(%rbp) 4@$5" on x86_64, "-4@w0 8@[sp, 16] 4@5" on arm64.
 */
#pragma once

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "image/elf.h"

struct usdt_note {
	const char *provider, *name, *args; /* args: "" for none */
	u64 addr; /* as in the file's symbols */
	u64 offset; /* in the file */
	u64 semaphore; /* offset in the file of the counter that says that somebody looks; 0: none */
};

struct usdt_notes {
	struct arena arena;
	VEC(struct usdt_note) at; /* in the file's order; one probe may have several places */
	u32 nr_broken; /* notes that point outside of the file */
};

/* -ENOMEM only: a file without notes has none. */
int usdt_notes_read(const struct elfimg *e, struct usdt_notes *ret) must_check;
void usdt_notes_done(struct usdt_notes *n);

struct usdt_arg {
	const char *text; /* in the note; with len */
	u32 len;
	u8 bytes; /* 1, 2, 4, 8 */
	bool is_signed;
	const char *why_not; /* not NULL: the kernel cannot fetch it, for this reason */
};

/*
 * The next argument of *at, which moves on; what the kernel takes for it ("%di", "+16(%bp)", "\5") is appended to fetch. machine: EM_X86_64
 * or EM_AARCH64. false: that was the last one.
 */
bool usdt_next_arg(u16 machine, const char **at, struct usdt_arg *ret, struct strbuf *fetch);

/* image/cfi and sym/unwind_cfi: synthetic tables and stacks of both machines, rules that are rare, tables that lie. */
#include "tap.h"
#include "gen/cfiwrite.h"
#include "gen/elfwrite.h"

#include "sym/unwind_cfi.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { TEXT = 0x4000, TEXT_SIZE = 0x1000, STACK_AT = 0x7000000, STACK_WORDS = 256 };

static char folder[] = "/tmp/sonde-unwind.XXXXXX";

/* A program with one text section, and call frame information. */
struct program {
	struct elfwrite elf;
	struct elfimg image;
	char path[64];
};

static const u8 some_id[20] = "unwind-unwind-unwind";

enum how { EH_FRAME, DEBUG_FRAME, DEBUG_COMPRESSED };

static void make_program(struct program *p, const struct cfiwrite *cfi, enum how how)
{
	const char *section = cfi->arm ? ".plt" : ".text"; /* arm64: what has no table is a stub */
	struct elfwrite *w = &p->elf;
	elfwrite_begin(w, true, false, ET_DYN, cfi->arm ? EM_AARCH64 : EM_X86_64);
	u8 code[TEXT_SIZE];
	memset(code, 0x90, sizeof(code));
	if (cfi->arm) /* bl */
		memcpy(code + 0x10c, (const u8[]){ 1, 0, 0, 0x94 }, 4);
	else /* call */
		memcpy(code + 0x110, (const u8[]){ 0xe8, 0, 0, 0, 0 }, 5);
	u32 text = elfwrite_section(w, section, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code,
				    sizeof(code));
	elfwrite_load(w, text);
	if (how == DEBUG_COMPRESSED) {
		u8 packed[4096];
		uLongf size = sizeof(packed) - 24;
		compress(packed + 24, &size, (const u8 *)cfi->out.data, cfi->out.len);
		memcpy(packed, &(Elf64_Chdr){ .ch_type = 1, .ch_size = cfi->out.len }, 24);
		elfwrite_section(w, ".debug_frame", SHT_PROGBITS, SHF_COMPRESSED, 0, packed,
				 size + 24);
	} else {
		elfwrite_section(w, how == EH_FRAME ? ".eh_frame" : ".debug_frame", SHT_PROGBITS,
				 how == EH_FRAME ? SHF_ALLOC : 0, cfi->addr, cfi->out.data,
				 cfi->out.len);
	}
	elfwrite_buildid(w, some_id, sizeof(some_id));
	elfwrite_end(w);
	if (elfimg_open_memory(&p->image, w->out.data, w->out.len))
		printf("# the program is broken\n");
	static int nr;
	snprintf(p->path, sizeof(p->path), "%s/program%d", folder, nr++);
	FILE *f = fopen(p->path, "w");
	if (!f || fwrite(w->out.data, 1, w->out.len, f) != w->out.len)
		printf("# cannot write %s\n", p->path);
	if (f)
		fclose(f);
}

static void program_done(struct program *p)
{
	elfimg_close(&p->image);
	elfwrite_done(&p->elf);
	(void)unlink(p->path);
}

#define PROGRAM(...) ((const u8[]){ __VA_ARGS__ }), sizeof((const u8[]){ __VA_ARGS__ })

enum { /* instructions of programs */
       ADVANCE = 0x40,
       OFFSET = 0x80,
       RESTORE = 0xc0,
       SET_LOC = 0x01,
       UNDEFINED = 0x07,
       SAME = 0x08,
       REGISTER = 0x09,
       REMEMBER = 0x0a,
       RECALL = 0x0b,
       DEF_CFA = 0x0c,
       DEF_CFA_REGISTER = 0x0d,
       DEF_CFA_OFFSET = 0x0e,
       DEF_CFA_EXPR = 0x0f,
       EXPR = 0x10,
       DEF_CFA_OFFSET_SF = 0x13,
       VAL_OFFSET = 0x14,
       VAL_EXPR = 0x16,
};

/* The functions of x86_64's tests, by offset in the text. */
static void write_x86(struct cfiwrite *w, bool is_eh)
{
	cfiwrite_begin(w, is_eh, false, 0x8000);
	cfiwrite_cie(w, "zR");
	/* 0x000: push %rbp; mov %rsp,%rbp; ...; pop %rbp; ret */
	cfiwrite_fde(w, TEXT, 0x40,
		     PROGRAM(ADVANCE | 1, DEF_CFA_OFFSET, 16, OFFSET | 6, 2, ADVANCE | 3,
			     DEF_CFA_REGISTER, 6, ADVANCE | 0x20, DEF_CFA, 7, 8, RESTORE | 6));
	/* 0x100: sub $24,%rsp, with remembered rows */
	cfiwrite_fde(w, TEXT + 0x100, 0x40,
		     PROGRAM(ADVANCE | 4, DEF_CFA_OFFSET, 32, REMEMBER, ADVANCE | 8, DEF_CFA_OFFSET,
			     8, ADVANCE | 1, RECALL));
	/* 0x200: the first function of a thread */
	cfiwrite_fde(w, TEXT + 0x200, 0x20, PROGRAM(UNDEFINED, 16));
	/* 0x300: a PLT: rsp + 8 + ((rip & 15) >= 11) << 3 */
	cfiwrite_fde(w, TEXT + 0x300, 0x40,
		     PROGRAM(DEF_CFA_EXPR, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
			     0x22));
	/* 0x400: the return address is in rdi, the CFA in rbx */
	cfiwrite_fde(w, TEXT + 0x400, 0x20, PROGRAM(DEF_CFA, 3, 0, REGISTER, 16, 5));
	/* 0x500: damaged: an instruction nobody knows */
	cfiwrite_fde(w, TEXT + 0x500, 0x20, PROGRAM(ADVANCE | 4, 0x3e));
	/* 0x700: a function's end, where rbp is back but its rule stays */
	cfiwrite_fde(w, TEXT + 0x700, 0x20, PROGRAM(OFFSET | 6, 2));
	/* 0x800: rows remembered inside of each other */
	cfiwrite_fde(w, TEXT + 0x800, 0x20,
		     PROGRAM(ADVANCE | 4, DEF_CFA_OFFSET, 16, REMEMBER, ADVANCE | 4, DEF_CFA_OFFSET,
			     32, REMEMBER, ADVANCE | 4, DEF_CFA_OFFSET, 48, ADVANCE | 4, RECALL,
			     ADVANCE | 4, RECALL));
	/* 0x900: an offset in units of the CIE: -3 times -8 */
	cfiwrite_fde(w, TEXT + 0x900, 0x20, PROGRAM(ADVANCE | 4, DEF_CFA_OFFSET_SF, 0x7d));
	/* 0xa00: a place by its address */
	if (!is_eh)
		cfiwrite_fde(w, TEXT + 0xa00, 0x20,
			     PROGRAM(ADVANCE | 4, DEF_CFA_OFFSET, 16, SET_LOC, 0x10, 0x4a, 0, 0, 0,
				     0, 0, 0, DEF_CFA_OFFSET, 32));
	/* 0xb00: rbp on top of the stack */
	cfiwrite_fde(w, TEXT + 0xb00, 0x20, PROGRAM(DEF_CFA_OFFSET, 16, OFFSET | 6, 2));
	if (is_eh)
		cfiwrite_cie(w, "zRS");
	/* 0x600: a signal's frame: rip at rsp + 168, rsp at rsp + 160 */
	cfiwrite_fde(w, TEXT + 0x600, 0x20,
		     PROGRAM(DEF_CFA_EXPR, 4, 0x77, 0xa0, 1, 0x06, EXPR, 16, 3, 0x77, 0xa8, 1));
	cfiwrite_end(w);
}

static const struct cfi_reg *reg_of(const struct cfi_rule *r, u8 reg)
{
	for (u32 i = 0; r && i < r->nr_regs; i++)
		if (r->regs[i].reg == reg)
			return &r->regs[i];
	return NULL;
}

static void test_rows(enum how how, const char *name)
{
	struct cfiwrite w;
	struct program p;
	struct cfi_table t;
	write_x86(&w, how == EH_FRAME);
	make_program(&p, &w, how);
	u64 text = p.image.loads[0].offset;
	printf("# %s\n", name);
	if (!ok(!cfi_build(&t, &arch_x86_64, &p.image, &p.image), "made"))
		return;
	const struct cfi_rule *r = cfi_find(&t, text);
	ok(r && r->cfa_reg == 7 && r->cfa_value == 8 && reg_of(r, 16)->value == -8 && !reg_of(r, 6),
	   "at a function's first byte");
	r = cfi_find(&t, text + 2);
	ok(r && r->cfa_reg == 7 && r->cfa_value == 16 && reg_of(r, 6)->value == -16,
	   "behind the push");
	r = cfi_find(&t, text + 0x10);
	ok(r && r->cfa_reg == 6 && r->cfa_value == 16, "with a frame pointer");
	r = cfi_find(&t, text + 0x3f);
	ok(r && r->cfa_reg == 7 && r->cfa_value == 8 && !reg_of(r, 6), "restored at its end");
	ok(!cfi_find(&t, text + 0x40) && !cfi_find(&t, text - 1) && !cfi_find(&t, text + 0xff),
	   "nothing between functions");
	r = cfi_find(&t, text + 0x10c);
	ok(r && r->cfa_value == 8, "a row in between");
	r = cfi_find(&t, text + 0x10d);
	ok(r && r->cfa_value == 32, "the remembered row is back");
	static const s32 nested[] = { 8, 16, 32, 48, 32, 16 };
	bool good = true;
	for (u32 i = 0; i < ARRAY_SIZE(nested); i++) {
		r = cfi_find(&t, text + 0x800 + 4 * i);
		good = good && r && r->cfa_value == nested[i];
	}
	ok(good, "rows remembered inside of each other come back one by one");
	r = cfi_find(&t, text + 0x904);
	ok(r && r->cfa_value == 24, "an offset in units of the CIE");
	if (how != EH_FRAME) {
		const struct cfi_rule *before = cfi_find(&t, text + 0xa0f);
		r = cfi_find(&t, text + 0xa10);
		ok(before && before->cfa_value == 16 && r && r->cfa_value == 32,
		   "a place by its address");
	}
	ok(cfi_find(&t, text + 0x500) && !cfi_find(&t, text + 0x504),
	   "a damaged program holds up to its damage");
	r = cfi_find(&t, text + 0x601);
	ok(r && r->cfa == CFI_CFA_EXPR && !!(r->flags & CFI_SIGNAL) == (how == EH_FRAME),
	   "a signal's frame");
	ok(!cfi_find(&t, text + 0x720) && !cfi_find(&t, UINT64_MAX), "nothing behind the last");
	ok(cfi_build(&(struct cfi_table){ 0 }, &arch_arm64, &p.image, &p.image) == -ENOEXEC,
	   "another machine's");
	cfi_done(&t);
	program_done(&p);
	cfiwrite_done(&w);
}

/* ---- stacks ----------------------------------------------------------------------------------------------------- */

struct world {
	struct unwind_tables *tables;
	struct unwinder *unwinder;
	struct image_info info;
	const struct arch *arch;
	u64 base; /* where offset 0 of the image would be mapped */
	u64 text; /* offset of the text */
	u64 stack[STACK_WORDS];
	struct cfi_regs regs;
	u64 pcs[64];
	u32 nr;
	enum unwind_end end;
};

static bool find(void *ctx, u64 addr, struct unwind_place *ret)
{
	struct world *w = ctx;
	u64 offset = addr - w->base;
	bool jit = addr >= 0x20000 && addr < 0x21000;
	static const struct image_info anon = { .kind = IMAGE_KIND_ANON, .path = "//anon" };
	if (!jit && (offset < w->text || offset >= w->text + TEXT_SIZE))
		return false;
	*ret = (struct unwind_place){ .image = !jit,
				      .info = jit ? &anon : &w->info,
				      .offset = jit ? addr : offset,
				      .until = UINT64_MAX };
	return true;
}

static void world_open(struct world *w, const struct program *p, const struct arch *a,
		       const char *cache)
{
	*w = (struct world){ .arch = a, .base = 0x10000000, .text = p->image.loads[0].offset };
	w->info = (struct image_info){ .kind = IMAGE_KIND_FILE, .path = p->path };
	w->info.build_id_size = 20;
	memcpy(w->info.build_id, some_id, 20);
	w->tables = unwind_tables_new(&(struct unwind_config){ .arch = a, .cache = cache });
	w->unwinder = unwinder_new(w->tables);
	ok(!unwind_tables_reserve(w->tables, 2), "opened");
}

static void world_close(struct world *w)
{
	unwinder_free(w->unwinder);
	unwind_tables_free(w->tables);
}

static u64 at(const struct world *w, u64 offset)
{
	return w->base + w->text + offset;
}

static void set(struct world *w, u8 reg, u64 value)
{
	w->regs.value[reg] = value;
	w->regs.known |= 1ull << reg;
}

static void walk(struct world *w, size_t copied)
{
	struct unwind_thread th = { .regs = &w->regs,
				    .stack = (const u8 *)w->stack,
				    .stack_at = STACK_AT,
				    .stack_size = copied,
				    .space = 1,
				    .find = find,
				    .ctx = w };
	w->nr = unwind(w->unwinder, &th, false, w->pcs, ARRAY_SIZE(w->pcs), &w->end);
}

static bool walked(const struct world *w, enum unwind_end end, u32 nr, const u64 *offsets)
{
	bool good = w->nr == nr && w->end == end;
	for (u32 i = 0; i < nr && good; i++)
		good = w->pcs[i] == at(w, offsets[i]);
	if (!good)
		for (u32 i = 0; i < w->nr; i++)
			printf("#   %" PRIx64 "\n", w->pcs[i] - at(w, 0));
	if (!good)
		printf("#   %s\n", unwind_end_text(w->end));
	return good;
}

#define WALKED(w, end, ...)                                                                        \
	walked(w, end, sizeof((const u64[]){ __VA_ARGS__ }) / 8, (const u64[]){ __VA_ARGS__ })

enum { RBX = 3, RDI = 5, RBP = 6, RSP = 7, RIP = 16 };

/* Code that no file holds, as a live recording can read it: the world's, from 0x20000 on. */
static const u8 *made_code;
static size_t made_size;
static unsigned nr_reread;

static size_t read_made(void *ctx, u64 addr, u8 *to, size_t nr, bool again)
{
	(void)ctx;
	nr_reread += again;
	if (addr - 0x20000 >= made_size)
		return 0;
	nr = min(nr, made_size - (size_t)(addr - 0x20000));
	memcpy(to, made_code + (addr - 0x20000), nr);
	return nr;
}

static void walk_made(struct world *w, const u8 *code, size_t size)
{
	made_code = code;
	made_size = size;
	struct unwind_thread th = { .regs = &w->regs,
				    .stack = (const u8 *)w->stack,
				    .stack_at = STACK_AT,
				    .stack_size = sizeof(w->stack),
				    .space = 1,
				    .find = find,
				    .code = read_made,
				    .ctx = w };
	w->nr = unwind(w->unwinder, &th, false, w->pcs, ARRAY_SIZE(w->pcs), &w->end);
}

/* Each is entered with its return address (0x15, behind a call) in stack[3], and stops at `pc` with sp at stack[3 - depth]. */
static void test_trampolines(struct world *w)
{
	static const struct {
		const char *what;
		u8 pc, depth;
		bool good;
		u8 code[24];
	} made[] = {
		{ "Python's trampoline, at its call",
		  6,
		  1,
		  true,
		  { 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3 } },
		{ "... at its first instruction",
		  0,
		  0,
		  true,
		  { 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3 } },
		{ "... at its return",
		  10,
		  0,
		  true,
		  { 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3 } },
		{ "one that pushes, at its call", 3, 1, true, { 0x53, 0xff, 0xd1, 0x5b, 0xc3 } },
		{ "... and allocates, from its start",
		  0,
		  0,
		  true,
		  { 0x41, 0x54, 0x48, 0x83, 0xec, 16, 0xff, 0xd1, 0x48, 0x83, 0xc4, 16, 0x41, 0x5c,
		    0xc3 } },
		{ "one with a frame, from its start",
		  0,
		  0,
		  true,
		  { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0xc9, 0xc3 } },
		{ "one that jumps is not understood", 0, 0, false, { 0xeb, 0xfe, 0xc3 } },
		{ "one that pops what it did not push last",
		  0,
		  0,
		  false,
		  { 0x53, 0x55, 0x5b, 0x5d, 0xc3 } },
		{ "one without an end",
		  0,
		  0,
		  false,
		  { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 } },
	};
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		set(w, RIP, 0x20000 + made[i].pc);
		set(w, RSP, STACK_AT + 8 * (3 - made[i].depth));
		set(w, RBP, 7); /* of something else */
		w->stack[2] = 0x777;
		w->stack[3] = at(w, 0x115);
		w->stack[3 + 4] = at(w, 0x210);
		walk_made(w, made[i].code, sizeof(made[i].code));
		ok(made[i].good
			   ? w->nr == 3 && w->pcs[1] == at(w, 0x115) && w->pcs[2] == at(w, 0x210)
			   : w->nr == 1 && w->end == UNWIND_NO_TABLE,
		   "%s", made[i].what);
	}
	/* Its return address lies behind the copy. */
	set(w, RIP, 0x20006);
	set(w, RSP, STACK_AT + sizeof(w->stack) - 8);
	walk_made(w, made[0].code, sizeof(made[0].code));
	ok(w->nr == 1 && w->end == UNWIND_SHORT_COPY,
	   "the copy ends at a trampoline: that is the reason");
	/* A frame pointer to code that changed since it was read. */
	nr_reread = 0;
	set(w, RIP, 0x20001);
	set(w, RSP, STACK_AT);
	set(w, RBP, STACK_AT + 16);
	w->stack[2] = 0;
	w->stack[3] = 0x20010;
	walk_made(w, (const u8[24]){ 0xeb, 0xfe }, 24);
	ok(w->nr == 1 && w->end == UNWIND_BAD_FP && nr_reread == 1,
	   "a copy of code that does not call is read once more, then the stack ends");
	walk_made(w, (const u8[24]){ 0xeb, 0xfe, [11] = 0xe8 }, 24);
	ok(w->nr == 2 && w->end == UNWIND_WHOLE, "code made at run time that does call is passed");
}

static void test_x86(void)
{
	struct cfiwrite cfi;
	struct program p;
	static struct world w;
	write_x86(&cfi, true);
	make_program(&p, &cfi, EH_FRAME);
	world_open(&w, &p, &arch_x86_64, NULL);
	printf("# x86_64\n");

	/* 0x110 (CFA rsp + 32) called by 0x10 (frame pointer), called by the first function */
	set(&w, RIP, at(&w, 0x110));
	set(&w, RSP, STACK_AT);
	set(&w, RBP, STACK_AT + 8 * 10);
	w.stack[3] = at(&w, 0x15);
	w.stack[10] = 0x1234;
	w.stack[11] = at(&w, 0x210);
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x110, 0x15, 0x210), "table by table, to the end of the stack");
	walk(&w, 11 * 8);
	ok(WALKED(&w, UNWIND_SHORT_COPY, 0x110, 0x15), "the copy ends: cut off, and said");
	walk(&w, 0);
	ok(WALKED(&w, UNWIND_SHORT_COPY, 0x110), "no copy at all");

	/* The call is the last instruction of its function: the address behind it is nobody's. */
	w.stack[3] = at(&w, 0x40);
	w.regs.value[RSP] = STACK_AT;
	w.stack[4] = at(&w, 0x210);
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x110, 0x40, 0x210), "a call at a function's end");

	/* The end of 0x700 has popped rbp, but its rules still name the slot, now below the stack pointer. */
	set(&w, RIP, at(&w, 0x710));
	set(&w, RBP, STACK_AT + 8 * 10);
	w.stack[0] = at(&w, 0x15);
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x710, 0x15, 0x210), "a register that was popped already");

	/* Just before the pop its slot is the top of the stack: what is there counts, not the register. */
	set(&w, RIP, at(&w, 0xb10));
	set(&w, RBP, STACK_AT + 8 * 100);
	w.stack[0] = STACK_AT + 8 * 10;
	w.stack[1] = at(&w, 0x15);
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0xb10, 0x15, 0x210), "a register that is about to be popped");

	set(&w, RIP, at(&w, 0x110));
	w.stack[3] = 0x1;
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_LOST, 0x110), "a caller that is no code is not a frame");

	/* PLT: before and behind its push */
	set(&w, RIP, at(&w, 0x306));
	w.stack[0] = at(&w, 0x210);
	w.stack[1] = at(&w, 0x205);
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x306, 0x210), "a PLT stub");
	set(&w, RIP, at(&w, 0x30b));
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x30b, 0x205), "a PLT stub behind its push");

	/* The return address in a register */
	set(&w, RIP, at(&w, 0x404));
	set(&w, RBX, STACK_AT + 64);
	set(&w, RDI, at(&w, 0x208));
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x404, 0x208), "a return address in a register");
	w.regs.known &= ~(1ull << RBX);
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_LOST, 0x404), "... and one that is not known");

	/* A handler (0x110) returns into the trampoline (0x600), which interrupted the first byte of 0x100. */
	set(&w, RIP, at(&w, 0x110));
	w.stack[3] = at(&w, 0x601);
	w.stack[4 + 20] = STACK_AT + 8 * 100;
	w.stack[4 + 21] = at(&w, 0x100);
	w.stack[100] = at(&w, 0x210);
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x110, 0x601, 0x100, 0x210),
	   "through a signal: what it interrupted is looked up as it is");

	/* Code made at run time: by frame pointer. */
	set(&w, RIP, 0x20010);
	set(&w, RBP, STACK_AT + 16);
	w.stack[2] = STACK_AT + 8 * 50;
	w.stack[3] = 0x20100;
	w.stack[50] = 0;
	w.stack[51] = at(&w, 0x210);
	walk(&w, sizeof(w.stack));
	ok(w.nr == 2 && w.end == UNWIND_BAD_FP,
	   "no table: a frame pointer, but not to code that does not call");
	w.stack[51] = 0x20200;
	walk(&w, sizeof(w.stack));
	ok(w.nr == 3 && w.end == UNWIND_WHOLE && w.pcs[2] == 0x20200,
	   "no table: frame pointers to the end");
	w.stack[2] = STACK_AT;
	walk(&w, sizeof(w.stack));
	ok(w.nr == 1 && w.end == UNWIND_BAD_FP, "a frame pointer that goes down is none");
	test_trampolines(&w);

	/* A stack that calls itself for ever */
	set(&w, RIP, at(&w, 0x110));
	set(&w, RSP, STACK_AT);
	for (int i = 0; i < STACK_WORDS; i++)
		w.stack[i] = at(&w, 0x10c);
	walk(&w, sizeof(w.stack));
	ok(w.nr == ARRAY_SIZE(w.pcs) && w.end == UNWIND_TOO_DEEP, "too deep is said");
	world_close(&w);
	program_done(&p);
	cfiwrite_done(&cfi);
}

static void test_arm64(void)
{
	enum { X29 = 29, X30, SP, PC };
	struct cfiwrite cfi;
	struct program p;
	static struct world w;
	cfiwrite_begin(&cfi, true, true, 0x8000);
	cfiwrite_cie(&cfi, "zR");
	/* 0x000: a leaf; 0x100: stp x29,x30,[sp,-32]!, signed; 0x200: the first */
	cfiwrite_fde(&cfi, TEXT, 0x40, PROGRAM(0));
	cfiwrite_fde(&cfi, TEXT + 0x100, 0x40,
		     PROGRAM(0x2d, ADVANCE | 1, DEF_CFA_OFFSET, 32, OFFSET | 29, 4, OFFSET | 30, 3));
	cfiwrite_fde(&cfi, TEXT + 0x200, 0x40, PROGRAM(UNDEFINED, 30));
	cfiwrite_end(&cfi);
	make_program(&p, &cfi, EH_FRAME);
	world_open(&w, &p, &arch_arm64, NULL);
	printf("# arm64\n");
	set(&w, PC, at(&w, 0x10));
	set(&w, SP, STACK_AT);
	set(&w, X30, at(&w, 0x110));
	set(&w, X29, 0);
	w.stack[0] = 0;
	w.stack[1] = at(&w, 0x208) | 0x2aull << 48; /* with a signature */
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x10, 0x110, 0x208),
	   "a leaf by its link register, and an address without its signature");
	set(&w, PC, at(&w, 0x308));
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_WHOLE, 0x308, 0x110, 0x208), "a stub without a table");
	set(&w, X30, at(&w, 0x10));
	walk(&w, sizeof(w.stack));
	ok(WALKED(&w, UNWIND_NO_TABLE, 0x308), "... but not to code that does not call");
	set(&w, PC, at(&w, 0x10));
	walk(&w, sizeof(w.stack));
	ok(w.nr <= 2 && w.end == UNWIND_LOST, "a leaf that returns to itself ends");
	world_close(&w);
	program_done(&p);
	cfiwrite_done(&cfi);
}

/* ---- files of tables -------------------------------------------------------------------------------------------- */

static void test_cache(void)
{
	struct cfiwrite w;
	struct program p;
	struct cfi_table t, got;
	struct buildid id = buildid_make(some_id, sizeof(some_id));
	write_x86(&w, true);
	make_program(&p, &w, EH_FRAME);
	printf("# files of tables\n");
	ok(!cfi_build(&t, &arch_x86_64, &p.image, &p.image), "made");
	struct elfimg_identity file = { 1, 2, 3, 4, 5, 6 }, none = { 0 };
	ok(!cfi_save(&t, folder, &id, &file), "kept");
	ok(!cfi_load(&got, &arch_x86_64, folder, &id, &file), "loaded");
	ok(got.nr_rows == t.nr_rows && !memcmp(got.block, t.block, t.block_size), "the same");
	cfi_done(&got);
	ok(cfi_load(&got, &arch_arm64, folder, &id, &file) == -EBADMSG, "another machine's");
	ok(cfi_load(&got, &arch_x86_64, "/nowhere", &id, &file) == -ENOENT, "no folder");
	u32 taken = 0;
	for (size_t i = 0; i < sizeof(file); i++) {
		struct elfimg_identity other = file;
		((u8 *)&other)[i] ^= 1;
		taken += !cfi_load(&got, &arch_x86_64, folder, &id, &other);
	}
	is_u64(taken, 0, "not for another file with the same build id");
	ok(cfi_save(&t, folder, &id, &none) == -ENOENT &&
		   cfi_load(&got, &arch_x86_64, folder, &id, &none) == -ENOENT,
	   "not for a file that cannot be told from others");
	/* Every byte changed, every length: an error or a table that can be asked; the sanitizers watch. */
	u64 sum = 0, nr_cut = 0;
	for (size_t i = 0; i < t.block_size; i++) {
		for (int bit = 0; bit < 8; bit += 7) {
			u8 *copy = malloc(t.block_size);
			memcpy(copy, t.block, t.block_size);
			copy[i] ^= (u8)(1 << bit);
			if (cfi_open_bytes(&got, &arch_x86_64, copy, t.block_size, false)) {
				free(copy);
				continue;
			}
			for (u64 at = 0; at < 0x2000; at += 16) {
				const struct cfi_rule *r = cfi_find(&got, at);
				size_t len = 0;
				if (r && r->cfa == CFI_CFA_EXPR && cfi_expr(&got, r->cfa_value, &len))
					sum += len;
			}
			cfi_done(&got);
		}
		u8 *cut = malloc(i + 1);
		memcpy(cut, t.block, i);
		nr_cut += cfi_open_bytes(&got, &arch_x86_64, cut, i, false) == -EBADMSG;
		free(cut);
	}
	is_u64(nr_cut, t.block_size, "cut anywhere, it is refused");
	ok(sum > 0, "changed anywhere, it is refused or can be asked");
	cfi_done(&t);
	program_done(&p);
	cfiwrite_done(&w);
	char path[128];
	char hex[BUILDID_TEXT];
	buildid_text(&id, hex);
	snprintf(path, sizeof(path), "%s/cfi/%s", folder, hex);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/cfi", folder);
	(void)rmdir(path);
}

static bool no_memory(const void *ctx, u64 addr, unsigned size, u64 *ret)
{
	return false;
}

static void test_expressions(void)
{
	struct cfi_regs regs = { .value = { [7] = 100 }, .known = 1 << 7 };
	struct cfi_memory mem = { .read = no_memory };
	u64 v;
	printf("# expressions\n");
#define EVAL(...) cfi_eval(PROGRAM(__VA_ARGS__), &regs, &mem, false, 0, &v)
	ok(!EVAL(0x35, 0x33, 0x1c) && v == 2, "5 - 3");
	ok(!EVAL(0x31, 0x32, 0x33, 0x17) && v == 2, "rot");
	ok(EVAL(0x35, 0x16) == -EBADMSG, "swap of one");
	ok(!EVAL(0x30, 0x28, 1, 0, 0x35, 0x36) && v == 6, "a branch not taken");
	ok(!EVAL(0x31, 0x28, 1, 0, 0x35, 0x36) && v == 6, "a branch taken");
	ok(EVAL(0x2f, 0xfd, 0xff) == -EBADMSG, "a loop ends");
	ok(EVAL(0x31, 0x30, 0x1b) == -EBADMSG, "division by zero");
	ok(EVAL(0x77, 0, 0x06) == -EFAULT, "memory that is not there");
	ok(EVAL(0x76, 0) == -EBADMSG, "a register that is not known");
	ok(EVAL(0x12) == -EBADMSG && EVAL(0xff) == -EBADMSG && EVAL(0x0a, 1) == -EBADMSG,
	   "nothing there, no such operation, cut off");
	ok(!EVAL(0x09, 0xff, 0x38, 0x25) && v == UINT64_MAX >> 8, "a logical shift");
	ok(!EVAL(0x09, 0xf0, 0x32, 0x26) && v == (u64)-4, "an arithmetic shift");
	ok(!EVAL(0x31, 0x08, 64, 0x24) && v == 0, "a shift by all bits");
	ok(cfi_eval(NULL, 0, &regs, &mem, false, 0, &v) == -EBADMSG, "no expression");
}

static void test_calls(void)
{
	static const struct {
		u8 code[8];
		size_t nr;
		bool call;
	} cases[] = {
		{ { 0xe8, 1, 2, 3, 4 }, 5, true }, /* call rel32 */
		{ { 0xff, 0xd0 }, 2, true }, /* call *%rax */
		{ { 0x41, 0xff, 0xd4 }, 3, true }, /* call *%r12 */
		{ { 0xff, 0x15, 1, 2, 3, 4 }, 6, true }, /* call *x(%rip) */
		{ { 0xff, 0x53, 0x18 }, 3, true }, /* call *0x18(%rbx) */
		{ { 0xff, 0x94, 0xc8, 1, 0, 0, 0 }, 7, true }, /* call *1(%rax,%rcx,8) */
		{ { 0xff, 0x14, 0xc8 }, 3, true }, /* call *(%rax,%rcx,8) */
		{ { 0xff, 0xe0 }, 2, false }, /* jmp *%rax */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90 }, 5, false },
		{ { 0 }, 0, false },
	};
	printf("# calls\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ok(arch_x86_64.after_call(cases[i].code + cases[i].nr, cases[i].nr) == cases[i].call,
		   "x86_64 %zu", i);
	static const u8 bl[] = { 1, 0, 0, 0x94 }, blr[] = { 0, 2, 0x3f, 0xd6 },
			ret[] = { 0xc0, 3, 0x5f, 0xd6 }, blraa[] = { 0, 8, 0x3f, 0xd7 };
	ok(arch_arm64.after_call(bl + 4, 4) && arch_arm64.after_call(blr + 4, 4) &&
		   arch_arm64.after_call(blraa + 4, 4) && !arch_arm64.after_call(ret + 4, 4) &&
		   !arch_arm64.after_call(bl + 3, 3),
	   "arm64");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	test_rows(EH_FRAME, ".eh_frame");
	test_rows(DEBUG_FRAME, ".debug_frame");
	test_rows(DEBUG_COMPRESSED, ".debug_frame, compressed");
	test_x86();
	test_arm64();
	test_cache();
	test_expressions();
	test_calls();
	(void)rmdir(folder);
	return done_testing();
}

#include "image/plt.h"
#include "base/bytes.h"
#include "base/vec.h"

#include <elf.h>
#include <errno.h>

/* A stub that was hit, and the address of the GOT slot it jumps through. */
struct plt_stub {
	struct plt_hit hit;
	u64 slot;
	u64 head_start, head_end; /* of the lazy binder's entry, if it may be that; end 0: no */
	u32 index; /* 1 + which relocation of .rela.plt, where the stub tells that instead; 0: it does not */
};

struct plt_stubs {
	struct plt_stub *at;
	size_t nr, cap;
};

/* [endbr64] [bnd] jmp *disp(%rip) */
static bool slot_x86(const u8 *code, size_t len, u64 vaddr, u64 *slot)
{
	size_t i = 0;
	if (len >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4))
		i = 4;
	if (i < len && code[i] == 0xf2)
		i++;
	if (len - i < 6 || code[i] != 0xff || code[i + 1] != 0x25)
		return false;
	s32 disp;
	memcpy(&disp, code + i + 2, sizeof(disp));
	*slot = vaddr + i + 6 + (u64)(s64)disp;
	return true;
}

/* The lazy half of a stub in two sections: endbr64; push $index; jmp .plt */
static bool index_x86(const u8 *code, size_t len, u32 *index)
{
	if (len < 9 || memcmp(code, "\xf3\x0f\x1e\xfa\x68", 5))
		return false;
	u32 i;
	memcpy(&i, code + 5, sizeof(i));
	*index = i < UINT32_MAX ? i + 1 : 0;
	return *index;
}

static bool stub_x86(const struct elfimg_section *sec, const u8 *code, u64 at, struct plt_stub *st)
{
	u64 step = sec->entsize == 8 || sec->entsize == 16 ? sec->entsize
		   : !strcmp(sec->name, ".plt.got")	   ? 8
							   : 16;
	u64 start = at - at % step;
	u64 end = min(start + step, sec->size);
	st->hit.start = start;
	st->hit.end = end;
	return slot_x86(code + start, end - start, sec->addr + start, &st->slot) ||
	       index_x86(code + start, end - start, &st->index);
}

static u32 insn_arm64(const u8 *code, u64 at)
{
	u32 v;
	memcpy(&v, code + at, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap32(v);
}

static bool is_adrp_x16(u32 insn)
{
	return (insn & 0x9f00001f) == 0x90000010;
}

/* [bti c] stp x16, x30, [sp, #-16]!: the header saves what it needs; no stub does. */
static bool is_head_arm64(const struct elfimg_section *sec, const u8 *code)
{
	return sec->size >= 8 &&
	       (insn_arm64(code, 0) == 0xa9bf7bf0 || insn_arm64(code, 4) == 0xa9bf7bf0);
}

/* [bti c] adrp x16, page; ldr x17, [x16, #lo]; add x16, ...; [autia1716] br x17 */
static bool stub_arm64(const struct elfimg_section *sec, const u8 *code, u64 at, struct plt_stub *st)
{
	enum { BTI_C = 0xd503245f, BR_X17 = 0xd61f0220, LONGEST = 24 };
	if (at < 32 && is_head_arm64(sec, code))
		return false;
	u64 adrp = at & ~(u64)3;
	if (adrp + 4 <= sec->size && insn_arm64(code, adrp) == BTI_C)
		adrp += 4;
	while (adrp + 8 > sec->size || !is_adrp_x16(insn_arm64(code, adrp))) {
		if (adrp < 4 || at - adrp > LONGEST)
			return false;
		adrp -= 4;
	}
	u64 start = adrp >= 4 && insn_arm64(code, adrp - 4) == BTI_C ? adrp - 4 : adrp;
	/* With a landing pad or a signed pointer it is two instructions longer. */
	bool plain =
		start == adrp && adrp + 16 <= sec->size && insn_arm64(code, adrp + 12) == BR_X17;
	u64 step = plain ? 16 : 24;
	if (at - start >= step)
		return false;
	u32 page = insn_arm64(code, adrp), ldr = insn_arm64(code, adrp + 4);
	if ((ldr & 0xffc003ff) != 0xf9400211)
		return false;
	u64 imm = ((u64)((page >> 5) & 0x7ffff) << 2 | ((page >> 29) & 3)) << 12;
	if (imm & (1ull << 32))
		imm |= ~0ull << 33;
	st->slot = ((sec->addr + adrp) & ~(u64)0xfff) + imm + ((ldr >> 10) & 0xfff) * 8;
	st->hit.start = start;
	st->hit.end = min(start + step, sec->size);
	return true;
}

static int find_stubs(const struct elfimg *e, const struct elfimg_section *sec, const u64 *offsets,
		      size_t nr, struct plt_stubs *stubs)
{
	const u8 *code = elfimg_section_data(e, sec);
	if (!code)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		u64 at = offsets[i] - sec->offset;
		if (at >= sec->size)
			continue;
		struct plt_stub *st = vec_push(stubs);
		if (!st)
			return -ENOMEM;
		st->hit.offset = offsets[i];
		bool known = e->machine == EM_X86_64 ? stub_x86(sec, code, at, st)
						     : stub_arm64(sec, code, at, st);
		if (known) {
			st->hit.start += sec->offset;
			st->hit.end += sec->offset;
		} else {
			st->hit.start = st->hit.end = st->slot = 0;
		}
		u64 head = e->machine == EM_X86_64 ? 16 : 32;
		if (at < head && !strcmp(sec->name, ".plt")) {
			st->head_start = sec->offset;
			st->head_end = sec->offset + min(head, sec->size);
		}
	}
	return 0;
}

static int by_slot(const void *a, const void *b)
{
	const struct plt_stub *x = a, *y = b;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static size_t first_with_slot(const struct plt_stubs *stubs, u64 slot)
{
	size_t lo = 0, hi = stubs->nr;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (stubs->at[mid].slot < slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_named(const struct plt_stub *st)
{
	return st->hit.name || st->hit.target;
}

static void name_stub(const struct elfimg *e, const struct elfimg_symtab *t, u32 sym, u64 addend,
		      struct plt_stub *st)
{
	if (is_named(st))
		return;
	if (sym) {
		struct elfimg_sym s;
		elfimg_sym(e, t, sym, &s);
		if (s.name[0])
			st->hit.name = s.name;
	} else if (!elfimg_offset_of(e, addend, &st->hit.target)) {
		st->hit.target = 0;
	}
}

/* Stubs that only know their number get the slot that the numbered relocation fills. */
static void slots_by_index(const struct elfimg *e, struct plt_stubs *stubs)
{
	struct elfimg_section sec;
	if (!e->is64 || !elfimg_section_by_name(e, ".rela.plt", &sec) || sec.type != SHT_RELA)
		return;
	const u8 *data = elfimg_section_data(e, &sec);
	for (size_t i = 0; data && i < stubs->nr; i++) {
		struct plt_stub *st = &stubs->at[i];
		if (!st->index || st->index > sec.size / sizeof(Elf64_Rela))
			continue;
		struct bytes b = bytes_of(data + (st->index - 1) * sizeof(Elf64_Rela),
					  sizeof(Elf64_Rela), e->swap);
		st->slot = bytes_u64(&b);
	}
}

/* .rela.plt is short; .rela.dyn can be large, and only .plt.got needs it. */
static void name_stubs(const struct elfimg *e, const char *relocs, struct plt_stubs *stubs)
{
	struct elfimg_section sec;
	if (!e->is64 || !elfimg_section_by_name(e, relocs, &sec) || sec.type != SHT_RELA)
		return;
	const u8 *data = elfimg_section_data(e, &sec);
	if (!data)
		return;
	struct elfimg_symtab t = { 0 };
	(void)elfimg_symtab(e, SHT_DYNSYM, &t); /* a static program has none, and needs none */
	struct bytes b = bytes_of(data, sec.size, e->swap);
	while (bytes_left(&b) >= sizeof(Elf64_Rela)) {
		u64 where = bytes_u64(&b), info = bytes_u64(&b), addend = bytes_u64(&b);
		size_t i = first_with_slot(stubs, where);
		/* All stubs of a slot get their name together: where the first has one, or gets none, the others need no look. */
		if (i >= stubs->nr || stubs->at[i].slot != where || is_named(&stubs->at[i]))
			continue;
		do
			name_stub(e, &t, (u32)(info >> 32), addend, &stubs->at[i]);
		while (is_named(&stubs->at[i]) && ++i < stubs->nr && stubs->at[i].slot == where);
	}
}

static bool all_named(const struct plt_stubs *stubs)
{
	for (size_t i = 0; i < stubs->nr; i++)
		if (!stubs->at[i].hit.name && !stubs->at[i].hit.target && stubs->at[i].slot)
			return false;
	return true;
}

static int by_offset(const void *a, const void *b)
{
	const struct plt_stub *x = a, *y = b;
	return (x->hit.offset > y->hit.offset) - (x->hit.offset < y->hit.offset);
}

/* What no relocation names at the front of .plt is the way into the dynamic linker. */
static struct plt_hit settled(const struct plt_stub *st)
{
	struct plt_hit hit = st->hit;
	if (!hit.name && !hit.target && st->head_end) {
		hit.start = st->head_start;
		hit.end = st->head_end;
		hit.name = ".plt";
	}
	return hit;
}

int plt_find(const struct elfimg *e, const u64 *offsets, size_t nr, struct plt_hit **hits,
	     size_t *nr_hits)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	*hits = NULL;
	*nr_hits = 0;
	if (e->machine != EM_X86_64 && e->machine != EM_AARCH64)
		return 0;
	struct plt_stubs stubs = { 0 };
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sections) && !err; i++) {
		struct elfimg_section sec;
		if (elfimg_section_by_name(e, sections[i], &sec))
			err = find_stubs(e, &sec, offsets, nr, &stubs);
	}
	if (err || !stubs.nr) {
		free(stubs.at);
		return err;
	}
	slots_by_index(e, &stubs);
	qsort(stubs.at, stubs.nr, sizeof(*stubs.at), by_slot);
	name_stubs(e, ".rela.plt", &stubs);
	if (!all_named(&stubs))
		name_stubs(e, ".rela.dyn", &stubs);
	qsort(stubs.at, stubs.nr, sizeof(*stubs.at), by_offset);
	struct plt_hit *out = calloc(stubs.nr, sizeof(*out));
	if (out) {
		for (size_t i = 0; i < stubs.nr; i++)
			out[i] = settled(&stubs.at[i]);
		*hits = out;
		*nr_hits = stubs.nr;
	}
	free(stubs.at);
	return out ? 0 : -ENOMEM;
}

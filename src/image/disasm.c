/*
 * capstone is loaded when the first function is to be shown: its tables of pointers cost every start of the program a millisecond
 * otherwise, more than most commands need themselves.
 */
#include "image/disasm.h"
#include "base/library.h"
#include "base/strbuf.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct disasm_library {
	__typeof__(&cs_open) open;
	__typeof__(&cs_close) close;
	__typeof__(&cs_option) option;
	__typeof__(&cs_malloc) malloc_insn;
	__typeof__(&cs_free) free_insn;
	__typeof__(&cs_insn_name) insn_name;
	__typeof__(&cs_insn_group) insn_group;
	__typeof__(&cs_disasm_iter) disasm_iter;
};

struct disasm {
	struct disasm_library lib;
	csh cs;
	cs_insn *insn;
	u16 machine;
	bool att;
};

/* Loads it at the first call; later ones are cheap. */
static bool library_ready(struct disasm_library *l)
{
	static const char *const names[] = {
		"cs_open", "cs_close",	   "cs_option",	    "cs_malloc",
		"cs_free", "cs_insn_name", "cs_insn_group", "cs_disasm_iter",
	};
	return LIBRARY_LOAD("libcapstone.so.4", names, l);
}

int disasm_open(u16 machine, bool is64, enum disasm_syntax syntax, struct disasm **ret)
{
	bool x86 = machine == EM_X86_64 || machine == EM_386;
	if (!x86 && machine != EM_AARCH64)
		return -ENOTSUP;
	struct disasm *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->machine = machine;
	d->att = x86 && syntax == DISASM_ATT;
	cs_mode mode = !x86 ? CS_MODE_ARM : is64 ? CS_MODE_64 : CS_MODE_32;
	bool ready = library_ready(&d->lib);
	if (!ready || d->lib.open(x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, mode, &d->cs)) {
		free(d);
		return ready ? -ENOTSUP : -ELIBACC;
	}
	(void)d->lib.option(d->cs, CS_OPT_DETAIL, CS_OPT_ON);
	if (x86)
		(void)d->lib.option(d->cs, CS_OPT_SYNTAX,
				    syntax == DISASM_INTEL ? CS_OPT_SYNTAX_INTEL
							   : CS_OPT_SYNTAX_ATT);
	d->insn = d->lib.malloc_insn(d->cs);
	if (!d->insn) {
		disasm_close(d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}

void disasm_close(struct disasm *d)
{
	if (!d)
		return;
	if (d->insn)
		d->lib.free_insn(d->insn, 1);
	(void)d->lib.close(&d->cs);
	free(d);
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_';
}

/*
 * "8(%rax, %rbx, 4)" -> "0x8(%rax,%rbx,4)", as objdump writes it; capstone writes decimals only below 10, and leaves a scale of 1 out.
 */
static void add_operands(struct disasm_insn *to, const char *text, bool att)
{
	size_t n = 0;
	int depth = 0, commas = 0;
	for (char before = ' '; *text && n + 5 < sizeof(to->operands); before = *text++) {
		depth += (*text == '(') - (*text == ')');
		commas = depth ? commas + (*text == ',') : commas;
		if (*text == '(')
			commas = 0;
		if (*text == ' ' && before == ',')
			continue;
		if (att && *text == ')' && commas == 1) {
			to->operands[n++] = ',';
			to->operands[n++] = '1';
			commas = 0;
		}
		bool alone = *text >= '0' && *text <= '9' && !is_word(before) && !is_word(text[1]);
		if (alone && !depth && (before == '$' || before == '-' || text[1] == '(')) {
			to->operands[n++] = '0';
			to->operands[n++] = 'x';
		}
		to->operands[n++] = *text;
	}
	to->operands[n] = '\0';
}

/* "movl %eax,%ebx" -> "mov": the operands say how wide it is, or there is only one width. */
static void add_mnemonic(const struct disasm *d, bool att, struct disasm_insn *to)
{
	const cs_insn *in = d->insn;
	const char *plain = d->lib.insn_name(d->cs, in->id);
	snprintf(to->mnemonic, sizeof(to->mnemonic), "%s", in->mnemonic);
	size_t len = plain ? strlen(plain) : 0;
	if (!att || !len || strncmp(plain, in->mnemonic, len) || !in->mnemonic[len] ||
	    !strchr("bwlq", in->mnemonic[len]) || in->mnemonic[len + 1])
		return;
	const cs_x86 *x = &in->detail->x86;
	bool known = in->id == X86_INS_CALL || in->id == X86_INS_JMP || in->id == X86_INS_PUSH ||
		     in->id == X86_INS_POP || !x->op_count;
	for (u8 i = 0; i < x->op_count; i++)
		known |= x->operands[i].type == X86_OP_REG;
	if (known)
		to->mnemonic[len] = '\0';
}

/* The constant that a jump or call goes to; for conditional ones of arm64 it is the last operand. */
static bool target_of(const struct disasm *d, u64 *ret)
{
	const cs_detail *detail = d->insn->detail;
	if (d->machine == EM_AARCH64) {
		const cs_arm64 *a = &detail->arm64;
		if (!a->op_count || a->operands[a->op_count - 1].type != ARM64_OP_IMM)
			return false;
		*ret = (u64)a->operands[a->op_count - 1].imm;
		return true;
	}
	const cs_x86 *x = &detail->x86;
	if (x->op_count != 1 || x->operands[0].type != X86_OP_IMM)
		return false;
	*ret = (u64)x->operands[0].imm;
	return true;
}

static void classify(const struct disasm *d, struct disasm_insn *to)
{
	bool jump = d->lib.insn_group(d->cs, d->insn, CS_GRP_JUMP);
	bool call = d->lib.insn_group(d->cs, d->insn, CS_GRP_CALL) ||
		    (d->machine == EM_AARCH64 && d->insn->id == ARM64_INS_BL);
	if (d->lib.insn_group(d->cs, d->insn, CS_GRP_RET))
		to->kind = DISASM_RETURN;
	else if ((jump || call) && target_of(d, &to->target))
		to->kind = call ? DISASM_CALL : DISASM_JUMP;
	if (to->kind != DISASM_JUMP && to->kind != DISASM_CALL)
		return;
	/* What stands before the target (cbz w0, target) stays. */
	char *last = strrchr(to->operands, ',');
	if (last)
		last[1] = '\0';
	else
		to->operands[0] = '\0';
}

bool disasm_next(struct disasm *d, const u8 *bytes, size_t size, u64 addr, struct disasm_insn *ret)
{
	if (!size)
		return false;
	*ret = (struct disasm_insn){ .addr = addr };
	const u8 *at = bytes;
	size_t left = size;
	uint64_t where = addr;
	if (d->lib.disasm_iter(d->cs, &at, &left, &where, d->insn)) {
		ret->size = (u8)d->insn->size;
		add_mnemonic(d, d->att, ret);
		add_operands(ret, d->insn->op_str, d->att);
		classify(d, ret);
		return true;
	}
	u32 step = d->machine == EM_AARCH64 ? 4 : 1;
	ret->size = (u8)min((size_t)step, size);
	if (ret->size == 4) {
		u32 word;
		memcpy(&word, bytes, 4);
		snprintf(ret->mnemonic, sizeof(ret->mnemonic), ".inst");
		snprintf(ret->operands, sizeof(ret->operands), "0x%08x", word);
	} else {
		snprintf(ret->mnemonic, sizeof(ret->mnemonic), "(bad)");
	}
	return true;
}

/* image/usdt_notes: operands of x86_64 and arm64 in the kernel's language. The notes of a real file: tests/live/probe.t. */
#include "tap.h"

#include "image/usdt_notes.h"

#include <elf.h>

struct row {
	u16 machine;
	const char *args, *want; /* fetches with types, '!' for what cannot be fetched */
};

static const struct row rows[] = {
	{ EM_X86_64, "-4@%edi 8@%rax 1@%dil 2@%r10w", "%di:s32 %ax:u64 %di:u8 %r10:u16" },
	{ EM_X86_64, "8@-16(%rbp) -8@24(%rsp) 4@(%rdi)", "-16(%bp):u64 +24(%sp):s64 +0(%di):u32" },
	{ EM_X86_64, "-4@$5 -4@$-1 4@$0x10", "\\5:s32 \\-1:s32 \\16:u32" },
	{ EM_X86_64, "8@counter(%rip) 4@8(%rax,%rbx,4) 8f@%xmm0 1@%ah", "! ! ! !" },
	{ EM_X86_64, "%rdi  -8@%r15", "%di:u64 %r15:s64" },
	{ EM_X86_64, "", "" },
	{ EM_X86_64, "4@ 3@%edi @ 4@) 4@$ $ 4@(", "! ! ! ! ! ! !" },
	{ EM_AARCH64, "-4@w0 8@x30 8@[sp, 16] 4@[x19] -4@-7 8@[x1, #-8]",
	  "%x0:s32 %x30:u64 +16(%sp):u64 +0(%x19):u32 \\-7:s32 -8(%x1):u64" },
	{ EM_AARCH64, "8@[x0, x1] 4@w31 4@[sp 4@d0", "! ! !" },
	{ EM_PPC64, "4@3", "!" },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct strbuf all, fetch;
		struct usdt_arg a;
		const char *at = rows[i].args;
		strbuf_init(&all);
		strbuf_init(&fetch);
		while (usdt_next_arg(rows[i].machine, &at, &a, &fetch)) {
			strbuf_str(&all, all.len ? " " : "");
			if (a.why_not)
				strbuf_char(&all, '!');
			else
				strbuf_printf(&all, "%s:%c%u", strbuf_cstr(&fetch),
					      a.is_signed ? 's' : 'u', a.bytes * 8);
			strbuf_reset(&fetch);
		}
		ok(!strcmp(strbuf_cstr(&all), rows[i].want), "'%s' is '%s' (%s)", rows[i].args,
		   rows[i].want, strbuf_cstr(&all));
		strbuf_done(&all);
		strbuf_done(&fetch);
	}
	return done_testing();
}

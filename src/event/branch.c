#include "event/branch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

static const struct {
	const char *word;
	u64 bit;
} words[] = {
	{ "any", PERF_SAMPLE_BRANCH_ANY },
	{ "any_call", PERF_SAMPLE_BRANCH_ANY_CALL },
	{ "any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ "ind_call", PERF_SAMPLE_BRANCH_IND_CALL },
	{ "ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP },
	{ "call", PERF_SAMPLE_BRANCH_CALL },
	{ "cond", PERF_SAMPLE_BRANCH_COND },
	{ "in_tx", PERF_SAMPLE_BRANCH_IN_TX },
	{ "no_tx", PERF_SAMPLE_BRANCH_NO_TX },
	{ "abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX },
	{ "stack", PERF_SAMPLE_BRANCH_CALL_STACK },
	{ "u", PERF_SAMPLE_BRANCH_USER },
	{ "k", PERF_SAMPLE_BRANCH_KERNEL },
	{ "hv", PERF_SAMPLE_BRANCH_HV },
	{ "no_flags", PERF_SAMPLE_BRANCH_NO_FLAGS },
	{ "no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES },
	{ "save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE },
	{ "hw_index", PERF_SAMPLE_BRANCH_HW_INDEX },
};

enum {
	BRANCH_LEVELS = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV,
	BRANCH_EXTRAS = PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES |
			PERF_SAMPLE_BRANCH_TYPE_SAVE | PERF_SAMPLE_BRANCH_HW_INDEX,
};

static u64 word_bit(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == len && !memcmp(words[i].word, word, len))
			return words[i].bit;
	return 0;
}

int branch_parse(const char *text, u64 *ret, struct diag *d)
{
	u64 mask = 0;
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ",");
		u64 bit = word_bit(at, len);
		if (!bit) {
			diag_error(d, -EINVAL, "-j: unknown branch type '%.*s'", (int)len, at);
			diag_span(d, text, (size_t)(at - text), len);
			diag_hint(d, "any any_call any_ret ind_call ind_jmp call cond stack in_tx "
				     "no_tx abort_tx, with u k hv, save_type no_flags no_cycles "
				     "hw_index");
			return -EINVAL;
		}
		mask |= bit;
		at += len + (at[len] == ',');
	}
	/* Levels and extras alone ask for all kinds of branches. */
	if (!(mask & ~(u64)(BRANCH_LEVELS | BRANCH_EXTRAS)))
		mask |= PERF_SAMPLE_BRANCH_ANY;
	*ret = mask;
	return 0;
}

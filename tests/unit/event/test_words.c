/* Words around events: kinds of branches, names that were probably meant. */
#include "event/branch.h"
#include "event/closest.h"
#include "tap.h"

#include <linux/perf_event.h>

static void is_mask(const char *text, u64 want)
{
	u64 mask = 0;
	int err = branch_parse(text, &mask, NULL);
	ok(!err && mask == want, "-j %s", text);
}

int main(void)
{
	is_mask("any_call,u", PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER);
	is_mask("u", PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER);
	is_mask("save_type", PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE);
	u64 mask;
	ok(branch_parse("any,calls", &mask, NULL) < 0, "an unknown word is refused");

	struct closest c;
	closest_init(&c, "cycle", 5);
	ok(closest_offer(&c, "cycles") && !closest_offer(&c, "cyclex"),
	   "of two that are equally close the first stays");
	is_str(c.best, "cycles", "and is the best");
	ok(!closest_offer(&c, "instructions"), "another is not close at all");
	return done_testing();
}

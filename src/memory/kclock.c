#include "memory/kclock.h"

#include "kern/sysroot.h"
#include "memory/eval.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NSEC = 1000000000 };

/* tk_core is a struct without a name on many kernels: a sequence count, and the struct timekeeper. */
bool kclock_member(struct kspace *k, const char *member, u64 *ret)
{
	struct ktype clock;
	struct ksym sym;
	struct memory *m;
	u64 at = 0;
	const struct ksyms *s = kspace_try_syms(k);
	if (!s || !ksyms_find(s, "tk_core", &sym) || kspace_memory(k, &m) ||
	    !kspace_find_type(k, "timekeeper", BTF_BIT(BTF_OF_STRUCT), &clock))
		return false;
	const struct eval_offset row = { "timekeeper", member, &at, true };
	return !eval_offsets(k, &row, 1) && at != EVAL_NO_OFFSET &&
	       !memory_read(m, sym.addr + sizeof(u64) + at, ret, sizeof(*ret));
}

bool kclock_monotonic(struct kspace *k, u64 *ret)
{
	struct timespec now;
	if (k->opts.dump)
		return kclock_member(k, "tkr_mono.base", ret);
	if (clock_gettime(CLOCK_MONOTONIC, &now))
		return false;
	*ret = (u64)now.tv_sec * NSEC + (u64)now.tv_nsec;
	return true;
}

/* "jiffies: 4295123456", for each CPU. */
static bool jiffies_of_proc(struct kspace *k, u64 *ret)
{
	static const char word[] = "jiffies: ";
	struct sysroot r;
	struct strbuf text;
	if (sysroot_open(&r, k->opts.root))
		return false;
	strbuf_init(&text);
	const char *at =
		sysroot_read(&r, "proc/timer_list", &text) ? NULL : strstr(strbuf_cstr(&text), word);
	if (at)
		*ret = strtoull(at + strlen(word), NULL, 10);
	strbuf_done(&text);
	sysroot_close(&r);
	return at;
}

bool kclock_jiffies(struct kspace *k, u64 *ret)
{
	struct ksym sym;
	struct memory *m;
	const struct ksyms *s = kspace_try_syms(k);
	if (s && ksyms_find(s, "jiffies_64", &sym) && !kspace_memory(k, &m) &&
	    !memory_read(m, sym.addr, ret, sizeof(*ret)))
		return true;
	return !k->opts.dump && jiffies_of_proc(k, ret);
}

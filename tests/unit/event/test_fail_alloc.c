/* event when memory is out: the n-th allocation fails, for every n. */
#include "fail_alloc.h"

#include "event/catalog.h"
#include "event/print.h"

static int list_work(void *ctx)
{
	const char *const *words = ctx;
	char root[512];
	snprintf(root, sizeof(root), TEST_DATA "/sysroot/%s", words[0]);
	struct event_env env;
	struct event_list l;
	struct diag d;
	int err = event_env_open(&env, root);
	if (err < 0)
		return err;
	diag_init(&d);
	event_list_init(&l);
	for (size_t i = 1; words[i] && err == 0; i++)
		err = event_list_add(&l, &env, words[i], EVENT_USE_COUNT, &d);
	event_list_done(&l);
	diag_done(&d);
	event_env_close(&env);
	return err;
}

static int count_entry(void *ctx, const struct event_entry *e)
{
	return e->section ? 0 : -EINVAL;
}

static int catalog_work(void *ctx)
{
	struct event_env env;
	int err = event_env_open(&env, ctx);
	if (err < 0)
		return err;
	struct event_query q = { .sections = EVENT_SECTION_HARDWARE | EVENT_SECTION_CACHE |
					     EVENT_SECTION_PMU | EVENT_SECTION_TRACEPOINT |
					     EVENT_SECTION_METRIC | EVENT_SECTION_PROVIDER };
	err = event_catalog(&env, &q, count_entry, NULL);
	event_env_close(&env);
	return err;
}

static int metric_work(void *ctx)
{
	struct metric_set s;
	metric_set_init(&s);
	int err = metric_set_parse(&s, "m", "a = b / c ; unit ; about\nd = e\n", NULL);
	metric_set_done(&s);
	return err;
}

int main(void)
{
	static const char *const hybrid[] = { "intel-hybrid", "{cycles,instructions}:u,g{faults,cs}",
					      "cpu_core/mem-loads,ldlat=7,name='x y'/",
					      "energy-pkg,msr/tsc/,r13c", NULL };
	static const char *const server[] = { "intel-server", "imc/cas_count_read/,cha/event=1/",
					      "uncore_imc_*/clockticks/", NULL };
	static const char *const trace[] = { "vm-no-pmu", "sched:*/common_pid==0/,syscall:openat",
					     "mem:0x10:w,mem:0x20/4:rw", NULL };
	fail_alloc_each("hybrid cores", list_work, (void *)hybrid);
	fail_alloc_or_less("uncore PMUs", list_work, (void *)server);
	fail_alloc_each("tracepoints", list_work, (void *)trace);
	fail_alloc_or_less("catalogue", catalog_work, (void *)TEST_DATA "/sysroot/vm-no-pmu");
	fail_alloc_each("metrics", metric_work, NULL);
	return done_testing();
}

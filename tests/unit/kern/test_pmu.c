/* kern/sysfs_pmu and kern/tracefs on fake roots. */
#include "tap.h"

#include "kern/sysfs_pmu.h"
#include "kern/tracefs.h"

#include <errno.h>

#define ROOT TEST_DATA "/sysroot/"

static void test_format(void)
{
	static const struct {
		const char *text;
		int err;
		u8 word;
		u64 mask;
	} rows[] = {
		{ "config:0-7", 0, 0, 0xff },
		{ "config1:0-63", 0, 1, ~0ull },
		{ "config:0-7,32-35", 0, 0, 0xf000000ffull },
		{ "config4:5", 0, 4, 0x20 },
		{ "config:0-7,32-35,59-60", 0, 0, 0x1800000f000000ffull },
		{ "config5:1", -EINVAL, 0, 0 },
		{ "config:64", -EINVAL, 0, 0 },
		{ "config:7-3", -EINVAL, 0, 0 },
		{ "config:", -EINVAL, 0, 0 },
		{ "config:1-", -EINVAL, 0, 0 },
		{ "config:1,", -EINVAL, 0, 0 },
		{ "config:1x", -EINVAL, 0, 0 },
		{ "conf:1", -EINVAL, 0, 0 },
		{ "", -EINVAL, 0, 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		u8 word = 9;
		u64 mask = 1;
		int err = pmu_format_parse(rows[i].text, &word, &mask);
		bool good = err == rows[i].err;
		if (err == 0)
			good &= word == rows[i].word && mask == rows[i].mask;
		else
			good &= word == 9 && mask == 1;
		ok(good, "format '%s'", rows[i].text);
	}
	bool over;
	is_u64(pmu_scatter(0xf000000ffull, 0x1cb, &over), 0x1000000cbull, "a value in two pieces");
	ok(!over, "it fits");
	(void)pmu_scatter(0xff, 0x100, &over);
	ok(over, "nine bits do not fit into eight");
	is_u64(pmu_scatter(~0ull, ~0ull, &over), ~0ull, "all bits");
}

static void test_machines(void)
{
	struct pmu_set s;
	ok(pmu_set_open(&s, ROOT "intel-server") == 0 && s.err == 0, "open intel-server");
	struct pmu *p = pmu_find(&s, "cpu", 3);
	ok(p && p->type == 4 && p->is_core && !p->cpus, "cpu");
	ok(pmu_next_core(&s, NULL) == p && !pmu_next_core(&s, p), "one kind of core");
	p = pmu_find(&s, "uncore_imc_10", 13);
	ok(p && !p->is_core && p->cpus && !strcmp(p->cpus, "0,32"),
	   "cpumask of a memory controller");
	ok(pmu_load_aliases(&s, p) == 0 && p->aliases.nr == 3,
	   "three events, side files are not events");
	const struct pmu_alias *al = pmu_alias_find(p, "cas_count_read", 14);
	ok(al && !strcmp(al->unit, "MiB") && al->scale == 6.103515625e-5, "unit and scale");
	ok(pmu_matches(p, "imc", 3) && pmu_matches(p, "uncore_imc", 10) &&
		   pmu_matches(p, "uncore_imc_1?", 13),
	   "names of it");
	ok(!pmu_matches(p, "uncore_imc_1", 12) && !pmu_matches(p, "im", 2) && !pmu_matches(p, "", 0),
	   "not names of it");
	ok(!pmu_matches(pmu_find(&s, "uncore_imc_free_running_0", 25), "imc", 3),
	   "free running counters are not imc");
	size_t two = 0, ten = 0;
	for (size_t i = 0; i < s.pmus.nr; i++) {
		if (!strcmp(s.pmus.at[i].name, "uncore_imc_2"))
			two = i;
		if (!strcmp(s.pmus.at[i].name, "uncore_imc_10"))
			ten = i;
	}
	ok(two < ten, "2 before 10");
	p = pmu_find(&s, "power", 5);
	ok(p && pmu_load_aliases(&s, p) == 0 &&
		   pmu_alias_find(p, "energy-pkg", 10)->scale == 2.3283064365386962890625e-10,
	   "scale of energy-pkg");
	pmu_set_close(&s);

	ok(pmu_set_open(&s, ROOT "intel-hybrid") == 0, "open intel-hybrid");
	p = pmu_next_core(&s, NULL);
	is_str(p ? p->name : NULL, "cpu_core", "P cores first");
	ok(pmu_load_caps(&s, p) == 0 && p->caps.nr == 3 && !strcmp(p->caps.at[1].value, "3"),
	   "caps");
	p = pmu_next_core(&s, p);
	ok(p && !strcmp(p->name, "cpu_atom") && !strcmp(p->cpus, "16-23") && p->type == 10,
	   "then E cores");
	pmu_set_close(&s);

	ok(pmu_set_open(&s, "/nonexistent") == 0 && s.err == -ENOENT && s.pmus.nr == 0,
	   "a root without sysfs");
	pmu_set_close(&s);
}

static void test_tracing(void)
{
	struct tracing t;
	struct tracing_events l;
	u64 id = 0;
	ok(tracing_open(&t, ROOT "vm-no-pmu") == 0 && t.err == 0, "tracefs of a fake root");
	ok(tracing_event_id(&t, "sched", "sched_switch", &id) == 0 && id > 0, "id");
	ok(tracing_event_id(&t, "sched", "../../sched/sched_switch", &id) == -ENOENT,
	   "no way out of the folder");
	ok(tracing_event_id(&t, "sched", "nope", &id) == -ENOENT, "no such event");
	ok(tracing_list_events(&t, NULL, NULL, &l) == 0 && l.items.nr == 9, "all events");
	is_str(l.items.at[0].system, "kmem", "sorted by system");
	is_str(l.items.at[0].name, "kfree", "and by name");
	tracing_events_done(&l);
	ok(tracing_list_events(&t, "sched", "sched_wake*", &l) == 0 && l.items.nr == 2,
	   "glob in one system");
	tracing_events_done(&l);
	ok(tracing_list_events(&t, "*sys*", NULL, &l) == 0 && l.items.nr == 3, "glob of systems");
	tracing_events_done(&l);
	ok(tracing_list_events(&t, "nope", NULL, &l) == -ENOENT, "no such system");
	struct strbuf s;
	strbuf_init(&s);
	ok(tracing_read(&t, "available_tracers", &s) == 0 &&
		   !strcmp(strbuf_cstr(&s), "blk function nop\n"),
	   "read a file");
	strbuf_done(&s);
	tracing_close(&t);

	struct diag d;
	diag_init(&d);
	ok(tracing_open(&t, ROOT "amd") == 0 && t.err == -ENOENT, "a root without tracefs");
	ok(tracing_event_id(&t, "a", "b", &id) == -ENOENT && tracing_explain(&t, &d) == -ENOENT &&
		   d.items.at[0].hint,
	   "says so, with what helps");
	tracing_close(&t);
	diag_done(&d);
}

int main(void)
{
	test_format();
	test_machines();
	test_tracing();
	return done_testing();
}

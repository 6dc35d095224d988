/*
 * The first byte chooses: 'f' the text of a PMU's format file, 'm' a metrics file, 't' a PMU's event file, else an -e
 * argument, resolved on one of the machines of tests/data/sysroot and printed; what was printed must mean the same.
 */
#include "event/event.h"
#include "event/metric.h"
#include "event/print.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* The canonical spelling must mean the same. */
static void check_again(const struct event_desc *e, struct event_env *env, const char *text)
{
	struct event_list l;
	if (e->open != EVENT_OPEN_PERF ||
	    (e->kind >= EVENT_KIND_KPROBE && e->kind <= EVENT_KIND_USDT))
		return;
	event_list_init(&l);
	if (event_list_add(&l, env, text, 0, NULL) < 0 || l.events.nr != 1)
		abort();
	struct perf_event_attr attr = e->attr;
	const struct perf_event_attr *a = &attr, *b = &l.events.at[0].attr;
	/* cpu_core/instructions/ takes the PMU's own encoding where it has one: the same event. */
	if (e->kind == EVENT_KIND_HARDWARE && a->config >> PERF_PMU_TYPE_SHIFT) {
		attr.type = b->type;
		attr.config = b->config;
	}
	if (a->type != b->type || a->config != b->config || a->config1 != b->config1 ||
	    a->config2 != b->config2 || a->exclude_user != b->exclude_user ||
	    a->exclude_kernel != b->exclude_kernel || a->exclude_guest != b->exclude_guest ||
	    a->exclude_host != b->exclude_host || a->precise_ip != b->precise_ip ||
	    a->bp_type != b->bp_type)
		abort();
	event_list_done(&l);
}

static void fuzz_list(const char *text, unsigned which)
{
	static const char *const roots[] = { FUZZ_DATA "/sysroot/intel-server",
					     FUZZ_DATA "/sysroot/intel-hybrid",
					     FUZZ_DATA "/sysroot/vm-no-pmu",
					     FUZZ_DATA "/sysroot/arm64-biglittle" };
	static struct event_env envs[ARRAY_SIZE(roots)];
	static bool open[ARRAY_SIZE(roots)];
	which %= ARRAY_SIZE(roots);
	if (!open[which] && event_env_open(&envs[which], roots[which]) < 0)
		return;
	open[which] = true;
	struct event_list l;
	struct diag d;
	struct strbuf s;
	diag_init(&d);
	strbuf_init(&s);
	event_list_init(&l);
	int err = event_list_add(&l, &envs[which], text, 0, &d);
	/* Every refusal says why. */
	if (err < 0 && !d.nr_errors)
		abort();
	for (size_t i = 0; err == 0 && i < l.events.nr; i++) {
		const struct event_desc *e = &l.events.at[i];
		if (e->leader > i || e->leader >= l.events.nr || !e->name)
			abort();
		strbuf_reset(&s);
		event_print(e, &s);
		check_again(e, &envs[which], strbuf_cstr(&s));
	}
	diag_render(&d, "fuzz", false, &s);
	strbuf_done(&s);
	event_list_done(&l);
	diag_done(&d);
}

/* The words of tracefs, probes and triggers. */
static void fuzz_traced(const char *text)
{
	static struct event_env env;
	static bool open;
	struct event_list l;
	struct diag d;
	if (!open && event_env_open(&env, FUZZ_DATA "/sysroot/vm-no-pmu") < 0)
		return;
	open = true;
	diag_init(&d);
	event_list_init(&l);
	int err = event_list_add(&l, &env, text, EVENT_USE_FTRACE, &d);
	if (err < 0 && !d.nr_errors)
		abort();
	for (size_t i = 0; err == 0 && i < l.events.nr; i++) {
		const struct event_desc *e = &l.events.at[i];
		if (e->open == EVENT_OPEN_TRACEFS ? !e->system || !e->event : !e->probe.symbol)
			abort();
		for (u32 k = 0; k < e->nr_triggers; k++)
			if (!e->triggers[k])
				abort();
	}
	event_list_done(&l);
	diag_done(&d);
}

static void fuzz_metrics(const char *text)
{
	struct metric_set set;
	struct diag d;
	diag_init(&d);
	metric_set_init(&set);
	(void)!metric_set_parse(&set, "fuzz", text, &d);
	metric_set_done(&set);
	diag_done(&d);
}

static void fuzz_terms(const char *text)
{
	struct arena a;
	struct event_term *terms;
	u32 nr;
	arena_init(&a);
	(void)!event_parse_terms(&a, text, &terms, &nr, NULL);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < 1 || memchr(data, 0, size))
		return 0;
	char *text = strndup((const char *)data + 1, size - 1);
	u8 word;
	u64 mask;
	if (!text)
		return 0;
	switch (data[0]) {
	case 'f': (void)!pmu_format_parse(text, &word, &mask); break;
	case 'm': fuzz_metrics(text); break;
	case 't': fuzz_terms(text); break;
	case 'e': fuzz_traced(text); break;
	default: fuzz_list(text, data[0]); break;
	}
	free(text);
	return 0;
}

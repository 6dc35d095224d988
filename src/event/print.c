#include "event/print.h"

#include <linux/hw_breakpoint.h>
#include <string.h>

static void print_letters(const struct event_desc *e, struct strbuf *to)
{
	const struct perf_event_attr *a = &e->attr;
	if (a->exclude_user || a->exclude_kernel || a->exclude_hv) {
		if (!a->exclude_user)
			strbuf_char(to, 'u');
		if (!a->exclude_kernel)
			strbuf_char(to, 'k');
		if (!a->exclude_hv)
			strbuf_char(to, 'h');
	}
	if (!a->exclude_guest)
		strbuf_char(to, 'G');
	if (!a->exclude_guest && !a->exclude_host)
		strbuf_char(to, 'H');
	if (a->exclude_idle)
		strbuf_char(to, 'I');
	strbuf_fill(to, 'p', a->precise_ip);
	if (e->precise_max)
		strbuf_char(to, 'P');
	if (e->sample_read)
		strbuf_char(to, 'S');
	if (a->pinned)
		strbuf_char(to, 'D');
	if (e->weak)
		strbuf_char(to, 'W');
	if (a->exclusive)
		strbuf_char(to, 'e');
}

/* The letters of the modifiers that the attr holds ("ukp"), without a colon. */
static void event_print_mods(const struct event_desc *e, struct strbuf *to)
{
	size_t start = to->len;
	print_letters(e, to);
	/* Guests are left out without letters, and with u or p; with others only when H says so. */
	const struct perf_event_attr *a = &e->attr;
	bool has_user = (a->exclude_kernel || a->exclude_hv) && !a->exclude_user;
	if (to->len > start && a->exclude_guest && !has_user && !a->precise_ip)
		strbuf_char(to, 'H');
}

static const char *legacy_name(const struct legacy_event *(*table)(size_t *), u64 config)
{
	size_t nr;
	const struct legacy_event *rows = table(&nr);
	for (size_t i = 0; i < nr; i++)
		if (rows[i].config == config)
			return rows[i].name;
	return NULL;
}

/* "config1=0x5,config3=0x1" of the words from `first` on that are not 0; whether there was one. */
static bool print_words(const struct event_desc *e, unsigned first, struct strbuf *to)
{
	const u64 words[] = { e->attr.config, e->attr.config1, e->attr.config2, e->config3,
			      e->config4 };
	bool any = false;
	for (unsigned i = first; i < ARRAY_SIZE(words); i++) {
		if (i && !words[i])
			continue;
		strbuf_printf(to, any ? ",config" : "config");
		if (i)
			strbuf_u64(to, i);
		strbuf_printf(to, "=0x%llx", (unsigned long long)words[i]);
		any = true;
	}
	return any;
}

static bool has_more_words(const struct event_desc *e)
{
	return e->attr.config1 || e->attr.config2 || e->config3 || e->config4;
}

/* The event without its modifiers; false: it ends in a slash, so that letters follow directly. */
static bool print_body(const struct event_desc *e, struct strbuf *to)
{
	const struct perf_event_attr *a = &e->attr;
	u64 low = a->config & PERF_HW_EVENT_MASK;
	bool extended = (a->config >> PERF_PMU_TYPE_SHIFT) != 0 && e->pmu;
	char cache[CACHE_NAME_MAX];
	const char *name = NULL;
	switch (e->kind) {
	case EVENT_KIND_HARDWARE: name = legacy_name(legacy_hardware, low); break;
	case EVENT_KIND_CACHE: name = cache_event_name(low, cache) == 0 ? cache : NULL; break;
	case EVENT_KIND_SOFTWARE: name = legacy_name(legacy_software, a->config); break;
	case EVENT_KIND_TOOL: name = legacy_name(legacy_tool, e->tool); break;
	case EVENT_KIND_RAW:
		if (a->type == PERF_TYPE_RAW && !e->merge && !has_more_words(e)) {
			strbuf_char(to, 'r');
			strbuf_hex(to, a->config);
			return true;
		}
		break;
	case EVENT_KIND_TRACEPOINT:
	case EVENT_KIND_SYSCALL:
		strbuf_printf(to, "%s:%s", e->system, e->event);
		if (e->filter)
			strbuf_printf(to, "/%s/", e->filter);
		return true;
	case EVENT_KIND_BREAKPOINT:
		strbuf_printf(to, "mem:0x%llx/%llu:%s%s%s", (unsigned long long)a->bp_addr,
			      (unsigned long long)a->bp_len, a->bp_type & HW_BREAKPOINT_R ? "r" : "",
			      a->bp_type & HW_BREAKPOINT_W ? "w" : "",
			      a->bp_type & HW_BREAKPOINT_X ? "x" : "");
		return true;
	case EVENT_KIND_PROFILE:
		strbuf_printf(to, a->freq ? "profile:%llu" : "profile:ns:%llu",
			      (unsigned long long)a->sample_freq);
		return true;
	case EVENT_KIND_NAME:
	case EVENT_KIND_NUMERIC:
	case EVENT_KIND_PMU:
	case EVENT_KIND_PFM: break;
	default: strbuf_add(to, e->text + e->span.start, e->span.len); return true;
	}
	if (name && extended) {
		strbuf_printf(to, "%s/%s%s", e->pmu, name, has_more_words(e) ? "," : "");
		(void)print_words(e, 1, to);
		strbuf_char(to, '/');
		return false;
	}
	if (name) {
		strbuf_str(to, name);
		if (!has_more_words(e))
			return true;
		strbuf_char(to, '/');
		(void)print_words(e, 1, to);
		strbuf_char(to, '/');
		return false;
	}
	if (e->pmu && a->type >= PERF_TYPE_RAW) {
		strbuf_printf(to, "%s/", e->pmu);
		(void)print_words(e, 0, to);
		strbuf_char(to, '/');
		return false;
	}
	strbuf_printf(to, "%u:0x%llx", a->type, (unsigned long long)a->config);
	return true;
}

void event_print(const struct event_desc *e, struct strbuf *to)
{
	bool colon = print_body(e, to);
	/* What has a span of its own (probes, functions) has its letters in it. */
	if (e->kind >= EVENT_KIND_KPROBE && e->kind <= EVENT_KIND_GRAPH)
		return;
	struct strbuf mods;
	strbuf_init(&mods);
	event_print_mods(e, &mods);
	if (mods.len && colon)
		strbuf_char(to, ':');
	strbuf_add(to, mods.len ? mods.data : "", mods.len);
	strbuf_done(&mods);
}

void event_print_attr(const struct perf_event_attr *a, const struct event_opened *o,
		      struct strbuf *to)
{
	strbuf_printf(to, "[event-%u-%llu-%d]\n", a->type, (unsigned long long)a->config, o->fd);
	strbuf_printf(to, "fd=%d\ngroup_fd=%d\ncpu=%d\npid=%d\nflags=%lu\n", o->fd, o->group_fd,
		      o->cpu, o->pid, o->flags);
#define NUMBER(field) strbuf_printf(to, #field "=%llu\n", (unsigned long long)a->field)
	NUMBER(type);
	NUMBER(size);
	NUMBER(config);
	NUMBER(sample_period);
	NUMBER(sample_type);
	NUMBER(read_format);
	NUMBER(disabled);
	NUMBER(inherit);
	NUMBER(pinned);
	NUMBER(exclusive);
	NUMBER(exclude_user);
	NUMBER(exclude_kernel);
	NUMBER(exclude_hv);
	NUMBER(exclude_idle);
	NUMBER(mmap);
	NUMBER(comm);
	NUMBER(freq);
	NUMBER(inherit_stat);
	NUMBER(enable_on_exec);
	NUMBER(task);
	NUMBER(watermark);
	NUMBER(precise_ip);
	NUMBER(mmap_data);
	NUMBER(sample_id_all);
	NUMBER(exclude_host);
	NUMBER(exclude_guest);
	NUMBER(exclude_callchain_kernel);
	NUMBER(exclude_callchain_user);
	NUMBER(mmap2);
	NUMBER(comm_exec);
	NUMBER(context_switch);
	NUMBER(write_backward);
	NUMBER(namespaces);
	NUMBER(use_clockid);
	NUMBER(wakeup_events);
	NUMBER(bp_type);
	NUMBER(config1);
	NUMBER(config2);
	NUMBER(branch_sample_type);
	NUMBER(sample_regs_user);
	NUMBER(sample_stack_user);
#undef NUMBER
}

/*
 * Resolves event strings and prints a line per event, in the form oracle/perf_attr_shim.c gives for perf: the two are
 * compared by oracle/event_attrs.
 *
 * usage: event_dump --attr FILE     an attr that the shim wrote, as perf's PERF_TEST_ATTR has it
 *        event_dump ROOT count|sample|trace|ftrace|program|any SPEC [SPEC...]
 */
#include "event/event.h"
#include "event/print.h"

#include <stdio.h>
#include <string.h>

static u32 use_of(const char *word)
{
	static const char *const words[] = { "count", "sample", "trace", "ftrace", "program" };
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], word))
			return 1u << i;
	return 0;
}

static void print_line(const struct event_list *l, size_t i)
{
	const struct event_desc *e = &l->events.at[i];
	const struct perf_event_attr *a = &e->attr;
	/* Behind config the kernel has a union: pointers are not compared. */
	bool pointer = e->kind >= EVENT_KIND_KPROBE && e->kind <= EVENT_KIND_USDT;
	printf("type=%u config=%#llx config1=%#llx config2=%#llx user=%d kernel=%d hv=%d idle=%d "
	       "guest=%d host=%d precise=%d "
	       "pinned=%d exclusive=%d bp_type=%u leader=%u",
	       a->type, a->config, pointer ? 0 : a->config1, a->config2, a->exclude_user,
	       a->exclude_kernel, a->exclude_hv, a->exclude_idle, a->exclude_guest, a->exclude_host,
	       a->precise_ip, a->pinned, a->exclusive,
	       a->type == PERF_TYPE_BREAKPOINT ? a->bp_type : 0, e->leader);
	struct strbuf s;
	strbuf_init(&s);
	event_print(e, &s);
	printf("\t%s\t%s\t%s\t%s\n", e->name, e->pmu ? e->pmu : "-", e->cpus ? e->cpus : "-",
	       strbuf_cstr(&s));
	strbuf_done(&s);
}

static int print_raw(const char *path)
{
	struct {
		int fd, group, cpu, pid;
		unsigned long flags;
		struct perf_event_attr attr;
	} raw;
	FILE *f = fopen(path, "re");
	size_t got = f ? fread(&raw, sizeof(raw), 1, f) : 0;
	if (f)
		fclose(f);
	if (!got)
		return 1;
	struct event_opened o = { raw.fd, raw.group, raw.cpu, raw.pid, raw.flags };
	struct strbuf s;
	strbuf_init(&s);
	event_print_attr(&raw.attr, &o, &s);
	(void)fputs(strbuf_cstr(&s), stdout);
	strbuf_done(&s);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--attr"))
		return print_raw(argv[2]);
	if (argc < 4)
		return 129;
	struct event_env env;
	struct event_list l;
	struct diag d;
	diag_init(&d);
	event_list_init(&l);
	if (event_env_open(&env, argv[1]) < 0)
		return 1;
	int err = 0;
	for (int i = 3; i < argc && err == 0; i++)
		err = event_list_add(&l, &env, argv[i], use_of(argv[2]), &d);
	for (size_t i = 0; err == 0 && i < l.events.nr; i++)
		if (l.events.at[i].open != EVENT_OPEN_FTRACE)
			print_line(&l, i);
	struct strbuf s;
	strbuf_init(&s);
	diag_render(&d, "event_dump", false, &s);
	(void)fputs(strbuf_cstr(&s), stderr);
	strbuf_done(&s);
	event_list_done(&l);
	event_env_close(&env);
	diag_done(&d);
	return err ? 1 : 0;
}

/* inspect irq: interrupts with their descriptors and handlers, softirqs, the interrupt table. */
#include "cmd/inspect/inspect.h"

#include "base/num.h"
#include "base/printable.h"
#include "memory/kirqs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- one after the other --------------------------------------------------------------------------------------------------- */

static void json_irq(struct inspect *i, const struct kirq *q)
{
	struct strbuf cpus;
	strbuf_init(&cpus);
	cpuset_add_list(&q->affinity, &cpus);
	json_put_u64(&i->j, "irq", q->number);
	inspect_json_address(i, "irq_desc", q->addr);
	json_put_str(&i->j, "chip", *q->chip ? q->chip : NULL);
	json_put_str(&i->j, "flow", *q->flow ? q->flow : NULL);
	json_put_str(&i->j, "affinity", strbuf_cstr(&cpus));
	json_key(&i->j, "actions");
	json_array(&i->j);
	for (u32 n = 0; n < q->nr_actions; n++) {
		struct strbuf name;
		strbuf_init(&name);
		bool named = kspace_name_address(&i->k, q->actions[n].handler, false, &name);
		json_object(&i->j);
		inspect_json_address(i, "irqaction", q->actions[n].addr);
		json_put_str(&i->j, "name", q->actions[n].name);
		inspect_json_address(i, "handler", q->actions[n].handler);
		json_put_str(&i->j, "handler_symbol", named ? strbuf_cstr(&name) : NULL);
		json_object_end(&i->j);
		strbuf_done(&name);
	}
	json_array_end(&i->j);
	strbuf_done(&cpus);
}

static void print_irq(struct inspect *i, const struct kirq *q)
{
	strbuf_printf(&i->text, "%3u   %016llx  ", q->number, (ull)q->addr);
	if (!q->nr_actions)
		strbuf_str(&i->text, "    (unused)\n");
	for (u32 n = 0; n < q->nr_actions; n++) {
		if (n)
			strbuf_fill(&i->text, ' ', 24);
		strbuf_printf(&i->text, "%016llx  \"", (ull)q->actions[n].addr);
		printable_name(&i->text, q->actions[n].name);
		strbuf_str(&i->text, "\"\n");
	}
	if (q->more_actions)
		strbuf_str(&i->text, "                        (and more)\n");
}

static void print_names(struct inspect *i, const struct kirq *q)
{
	for (u32 n = 0; n < q->nr_actions; n++) {
		strbuf_str(&i->text, n ? "," : "");
		printable_name(&i->text, q->actions[n].name);
	}
}

static void print_affinity(struct inspect *i, const struct kirq *q)
{
	if (!q->nr_actions)
		return;
	strbuf_printf(&i->text, "%3u ", q->number);
	size_t start = i->text.len;
	print_names(i, q);
	strbuf_fill(&i->text, ' ', i->text.len - start < 20 ? 20 - (i->text.len - start) : 0);
	strbuf_char(&i->text, ' ');
	cpuset_add_list(&q->affinity, &i->text);
	strbuf_char(&i->text, '\n');
}

static void print_counts(struct inspect *i, const struct kirq *q, const u64 *counts)
{
	if (!q->nr_actions)
		return;
	strbuf_printf(&i->text, "%3u:", q->number);
	for (u32 cpu = 0; cpu < kspace_nr_cpus(&i->k); cpu++)
		strbuf_printf(&i->text, " %10llu", (ull)counts[cpu]);
	strbuf_char(&i->text, ' ');
	printable_name(&i->text, q->chip);
	if (*q->flow) {
		strbuf_char(&i->text, '-');
		printable_name(&i->text, q->flow);
	}
	strbuf_str(&i->text, "  ");
	print_names(i, q);
	strbuf_char(&i->text, '\n');
}

static int show_irq(struct inspect *i, struct kirqs *s, const struct kirq_place *p, u64 *counts)
{
	struct kirq q;
	int err = kirqs_read(s, p, &q);
	if (err)
		return err == -EFAULT ? 0 : err; /* it went while we looked */
	if (i->o->in_use && !q.nr_actions)
		return 0;
	err = counts ? kirqs_counts(s, p, counts) : 0;
	if (err)
		return diag_error(
			&i->app->diag, err,
			"the counts of interrupt %u are not available: the symbol list has "
			"no __per_cpu_offset",
			q.number);
	if (i->app->json) {
		json_object(&i->j);
		json_irq(i, &q);
		if (counts) {
			json_key(&i->j, "counts");
			json_array(&i->j);
			for (u32 cpu = 0; cpu < kspace_nr_cpus(&i->k); cpu++)
				json_u64(&i->j, counts[cpu]);
			json_array_end(&i->j);
		}
		json_object_end(&i->j);
	} else if (counts) {
		print_counts(i, &q, counts);
	} else if (i->o->affinity) {
		print_affinity(i, &q);
	} else {
		print_irq(i, &q);
	}
	return 0;
}

static void print_head(struct inspect *i)
{
	if (i->app->json)
		return;
	if (i->o->affinity)
		strbuf_str(&i->text, "IRQ NAME                 AFFINITY\n");
	else if (!i->o->statistics)
		strbuf_str(&i->text, "IRQ   IRQ_DESC/_DATA      IRQACTION      NAME\n");
	for (u32 cpu = 0; i->o->statistics && cpu < kspace_nr_cpus(&i->k); cpu++)
		strbuf_printf(&i->text, "%s%*s%u", cpu ? "" : "    ",
			      cpu < 10	  ? 10
			      : cpu < 100 ? 9
					  : 8,
			      "CPU", cpu);
	if (i->o->statistics)
		strbuf_char(&i->text, '\n');
}

static bool wanted(const struct kirq_place *p, int argc, char **argv)
{
	u64 number;
	for (int n = 0; n < argc; n++)
		if (!num_parse_u64(argv[n], 10, &number) && number == p->number)
			return true;
	return !argc;
}

static int check_numbers(struct inspect *i, const struct kirqs *s, int argc, char **argv)
{
	for (int n = 0; n < argc; n++) {
		bool found = false;
		vec_for_each (&s->places, p)
			found |= wanted(p, 1, argv + n);
		if (!found)
			return diag_error(&i->app->diag, -ENOENT, "no interrupt '%s'", argv[n]);
	}
	return 0;
}

static int show_irqs(struct inspect *i, int argc, char **argv)
{
	struct kirqs s;
	u64 *counts = NULL;
	int err = kirqs_open(&s, &i->k);
	if (err)
		return err;
	err = check_numbers(i, &s, argc, argv);
	if (!err && i->o->statistics) {
		counts = calloc(kspace_nr_cpus(&i->k), sizeof(*counts));
		err = counts ? 0 : -ENOMEM;
	}
	if (!err)
		print_head(i);
	vec_for_each (&s.places, p)
		if (!err && wanted(p, argc, argv))
			err = show_irq(i, &s, p, counts);
	free(counts);
	kirqs_close(&s);
	return err;
}

/* ---- softirqs and the interrupt table -------------------------------------------------------------------------------------- */

/* In the order of their numbers, as /proc/softirqs has them. */
static const char *const softirqs[] = { "HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU" };

static void show_handler(struct inspect *i, u32 n, const char *kind, u64 addr)
{
	struct strbuf name;
	strbuf_init(&name);
	bool named = kspace_name_address(&i->k, addr, false, &name);
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, kind ? "softirq" : "vector", n);
		if (kind)
			json_put_str(&i->j, "name", kind);
		inspect_json_address(i, "handler", addr);
		json_put_str(&i->j, "symbol", named ? strbuf_cstr(&name) : NULL);
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text, "    [%u]%s %016llx", n,
			      n < 10	? "    "
			      : n < 100 ? "   "
					: "  ",
			      (ull)addr);
		if (named) {
			strbuf_str(&i->text, "  <");
			printable_name_len(&i->text, name.data, name.len);
			strbuf_char(&i->text, '>');
		}
		strbuf_char(&i->text, '\n');
	}
	strbuf_done(&name);
}

static int show_softirqs(struct inspect *i)
{
	struct kspace_global g;
	struct ktype action;
	struct memory *m;
	u64 at, addr;
	int err = kspace_memory(&i->k, &m);
	if (!err)
		err = kspace_global(&i->k, "softirq_vec", &g);
	if (!err)
		err = kspace_offset(&i->k, "softirq_action", "action", &at);
	if (err || !kspace_find_type(&i->k, "softirq_action", BTF_BIT(BTF_OF_STRUCT), &action))
		return err ? err : -ENOENT;
	if (!i->app->json)
		strbuf_str(&i->text, "SOFTIRQ_VEC      ACTION\n");
	for (u32 n = 0; !err && n < ARRAY_SIZE(softirqs); n++) {
		err = kspace_read(&i->k, g.addr + n * ktype_size(&action) + at, &addr, sizeof(addr),
				  "softirq_vec");
		if (!err && addr)
			show_handler(i, n, softirqs[n], addr);
	}
	return err;
}

static int show_table(struct inspect *i)
{
	u64 handlers[KIRQ_VECTORS];
	int err = kirqs_table(&i->k, handlers);
	for (u32 n = 0; !err && n < KIRQ_VECTORS; n++)
		if (handlers[n])
			show_handler(i, n, NULL, handlers[n]);
	return err;
}

int inspect_irq(struct inspect *i, int argc, char **argv)
{
	const struct inspect_opts *o = i->o;
	if (o->vectors + o->softirqs + o->affinity + o->statistics > 1)
		return inspect_usage(i, "-a, -b, -d and -s exclude each other");
	if (!o->vectors && !o->softirqs)
		return show_irqs(i, argc, argv);
	if (argc || o->in_use)
		return inspect_usage(i, "-b and -d take no arguments, and exclude -u");
	return o->vectors ? show_table(i) : show_softirqs(i);
}

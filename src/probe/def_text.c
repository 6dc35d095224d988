/*
 * Definitions as the kernel takes them (Documentation/trace/kprobetrace.rst, uprobetracer.rst, fprobetrace.rst), spelt as perf 6.1
 * spells them, so that the two can be compared byte by byte.
 *
 *	p:GROUP/EVENT [MODULE:]SYMBOL+OFFSET args      r:...   r16:... with MAXACTIVE
 *	p:GROUP/EVENT /path/file:0xOFFSET[(0xCOUNTER)] args
 *	f:GROUP/EVENT SYMBOL[%return] args             t:GROUP/EVENT TRACEPOINT args
 */
#include "probe/probe.h"

#include <string.h>

typedef unsigned long long ull;

static void add_head(const struct probe_def *def, struct strbuf *to)
{
	strbuf_char(to, def->letter);
	if (def->max_active)
		strbuf_u64(to, def->max_active);
	if (def->group || def->event)
		strbuf_printf(to, ":%s%s%s", def->group ? def->group : "", def->group ? "/" : "",
			      def->event ? def->event : "");
	strbuf_char(to, ' ');
}

static void add_place(const struct probe_def *def, struct strbuf *to)
{
	if (def->binary) {
		strbuf_printf(to, "%s:0x%llx", def->binary, (ull)def->offset);
		if (def->ref_ctr)
			strbuf_printf(to, "(0x%llx)", (ull)def->ref_ctr);
		return;
	}
	bool named_module = def->module && def->letter != 'f';
	strbuf_printf(to, "%s%s", named_module ? def->module : "", named_module ? ":" : "");
	if (!def->symbol)
		strbuf_printf(to, "0x%llx", (ull)def->offset);
	else if (def->letter == 'f' || def->letter == 't' || def->letter == 'e')
		strbuf_str(to, def->symbol);
	else
		strbuf_printf(to, "%s+%llu", def->symbol, (ull)def->offset);
	if (def->is_return && def->letter != 'r')
		strbuf_str(to, "%return");
}

void probe_def_text(const struct probe_def *def, struct strbuf *to)
{
	if (def->raw) {
		strbuf_str(to, def->raw);
		return;
	}
	add_head(def, to);
	add_place(def, to);
	for (u32 i = 0; i < def->nr_args; i++) {
		const struct probe_def_arg *a = &def->args[i];
		strbuf_printf(to, " %s%s%s%s%s", a->name ? a->name : "", a->name ? "=" : "",
			      a->fetch, a->type ? ":" : "", a->type ? a->type : "");
	}
}

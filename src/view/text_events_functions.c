/* What follows "function:", "funcgraph_entry:", "funcgraph_exit:" and "kernel_stack:", as trace-cmd's plug-ins have it. */
#include "view/text_events_impl.h"

enum { GRAPH_INDENT = 2 };

static void add_symbol(struct text_shard *sh, u32 buffer, u64 addr, const char *prefix)
{
	u64 offset;
	const char *name = sh->te->o.symbol(sh->te->o.ctx, buffer, addr, &offset);
	if (name) {
		strbuf_str(&sh->text, name);
	} else {
		strbuf_str(&sh->text, prefix);
		strbuf_hex(&sh->text, addr);
	}
}

static void add_place(struct text_shard *sh, const char *name, u64 addr, u64 offset)
{
	if (name) {
		strbuf_str(&sh->text, name);
	} else {
		strbuf_str(&sh->text, "0x");
		strbuf_hex(&sh->text, addr);
	}
	if (name && sh->te->o.functions.offset)
		strbuf_printf(&sh->text, "+0x%llx ", (unsigned long long)offset);
}

static void add_function(struct text_shard *sh, const struct event_look *look,
			 const struct sample *s)
{
	u64 ip = event_look_field(look, 0, s), parent_ip = event_look_field(look, 1, s), offset = 0,
	    parent_offset = 0;
	const struct text_events_opts *o = &sh->te->o;
	const char *parent = o->symbol(o->ctx, s->buffer, parent_ip, &parent_offset),
		   *func = o->symbol(o->ctx, s->buffer, ip, &offset);
	if (parent && !o->functions.flat) {
		struct fix *f = text_open_add(sh, FIX_INDENT, s->cpu);
		if (f) {
			f->parent = parent;
			f->func = func;
		}
	}
	add_place(sh, func, ip, offset);
	if (o->functions.parent) {
		strbuf_str(&sh->text, " <-- ");
		add_place(sh, parent, parent_ip, parent_offset);
	}
}

static char slow_sign(u64 ns)
{
	static const struct {
		u64 above_ns;
		char sign;
	} signs[] = { { 1000000000, '$' }, { 1000000, '#' }, { 100000, '!' }, { 10000, '+' } };
	for (unsigned i = 0; i < ARRAY_SIZE(signs); i++)
		if (ns > signs[i].above_ns)
			return signs[i].sign;
	return ' ';
}

/* A sign for slow functions; microseconds, with decimals below seven digits. */
static void add_duration(struct text_shard *sh, u64 ns)
{
	char *start = strbuf_room(&sh->text, NUM_DIGITS_MAX + 32), *to = start;
	if (!start)
		return;
	*to++ = slow_sign(ns);
	*to++ = ' ';
	char *number = to;
	to += num_u64(to, ns / 1000);
	unsigned digits = (unsigned)(to - number);
	if (digits < 7) {
		*to++ = '.';
		to += num_u64_pad0(to, ns % 1000, 3);
	}
	digits = (unsigned)(to - number);
	memcpy(to, " us ", 4);
	to += 4;
	for (; digits < 7; digits++)
		*to++ = ' ';
	memcpy(to, "|  ", 3);
	to += 3;
	strbuf_commit(&sh->text, (size_t)(to - start));
}

static void add_no_duration(struct text_shard *sh)
{
	static const char blank[] = "             |  ";
	strbuf_add(&sh->text, blank, sizeof(blank) - 1);
}

static void add_graph_indent(struct text_shard *sh, u64 depth)
{
	strbuf_fill(&sh->text, ' ', (size_t)min(depth, (u64)512) * GRAPH_INDENT);
}

static void add_graph_depth(struct text_shard *sh, u64 depth)
{
	if (sh->te->o.functions.depth)
		strbuf_printf(&sh->text, " (%lld)", (long long)depth);
}

static u32 common_of(const struct schema *sc, s8 index, const void *raw, u32 size)
{
	return index < 0 ? 0 : (u32)schema_u64(sc, &sc->fields[index], raw, size);
}

/*
 * Whether a call and the return from it stand next to each other: then both are one line. The other record is of the look's
 * partner kind, same task, same function.
 */
static bool is_pair(const struct event_look *look, const struct sample *s, const void *other,
		    u32 size)
{
	const struct schema *mine = look->schema, *their = look->partner;
	if (!their || !other || common_of(their, their->common_type, other, size) != their->id)
		return false;
	return common_of(their, their->common_pid, other, size) ==
		       common_of(mine, mine->common_pid, s->raw, s->raw_size) &&
	       schema_u64(their, look->partner_func, other, size) ==
		       schema_u64(mine, look->fields[0], s->raw, s->raw_size);
}

static void add_graph_entry(struct text_shard *sh, const struct event_look *look,
			    const struct sample *s)
{
	bool leaf = is_pair(look, s, s->next_raw, s->next_size);
	if (leaf && look->partner_call && look->partner_ret)
		add_duration(sh, schema_u64(look->partner, look->partner_ret, s->next_raw,
					    s->next_size) -
					 schema_u64(look->partner, look->partner_call, s->next_raw,
						    s->next_size));
	else
		add_no_duration(sh);
	add_graph_indent(sh, event_look_field(look, 1, s));
	add_symbol(sh, s->buffer, event_look_field(look, 0, s), "");
	strbuf_str(&sh->text, leaf ? "();" : "() {");
	add_graph_depth(sh, event_look_field(look, 1, s));
}

bool text_functions_folded(const struct event_look *look, const struct sample *s)
{
	return is_pair(look, s, s->prev_raw, s->prev_size);
}

static void add_graph_exit(struct text_shard *sh, const struct event_look *look,
			   const struct sample *s)
{
	add_duration(sh, event_look_field(look, 3, s) - event_look_field(look, 2, s));
	add_graph_indent(sh, event_look_field(look, 1, s));
	strbuf_char(&sh->text, '}');
	if (sh->te->o.functions.tail) {
		strbuf_str(&sh->text, " /* ");
		add_symbol(sh, s->buffer, event_look_field(look, 0, s), "");
		strbuf_str(&sh->text, " */");
	}
	add_graph_depth(sh, event_look_field(look, 1, s));
}

static void add_stack(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	struct schema_field addr = { .offset = look->fields[0]->offset,
				     .size = look->schema->long_size };
	u64 end = addr.size == 8 ? UINT64_MAX : UINT32_MAX;
	strbuf_str(&sh->text, "<stack trace >\n");
	for (; addr.offset + addr.size <= s->raw_size; addr.offset += addr.size) {
		u64 at = schema_u64(look->schema, &addr, s->raw, s->raw_size), offset;
		if (at == end)
			break;
		const char *name = sh->te->o.symbol(sh->te->o.ctx, s->buffer, at, &offset);
		strbuf_str(&sh->text, "=> ");
		if (name) {
			strbuf_str(&sh->text, name);
			strbuf_str(&sh->text, " (");
			strbuf_hex(&sh->text, at);
			strbuf_str(&sh->text, ")\n");
		} else {
			strbuf_hex(&sh->text, at);
			strbuf_char(&sh->text, '\n');
		}
	}
}

void text_functions_add(struct text_shard *sh, const struct event_look *look, const struct sample *s)
{
	switch (look->kind) {
	case KIND_FUNCTION: add_function(sh, look, s); return;
	case KIND_GRAPH_ENTRY: add_graph_entry(sh, look, s); return;
	case KIND_GRAPH_EXIT: add_graph_exit(sh, look, s); return;
	case KIND_STACK: add_stack(sh, look, s); return;
	case KIND_PRINT:
	case KIND_SWITCH:
	case KIND_WAKEUP: return;
	}
}

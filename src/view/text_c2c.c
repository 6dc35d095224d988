#include "view/text_c2c.h"

#include "base/printable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

enum { SYMBOL_WIDTH = 30, ADDRESS_DIGITS = 16, GRAPH_INDENT = 12 };

double text_c2c_share(u32 part, u32 all)
{
	return all ? 100.0 * part / all : 0;
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

static void section(const char *title, struct strbuf *to)
{
	static const char rule[] = "=================================================\n";
	strbuf_printf(to, "%s%s%s", rule, title, rule);
}

static void row(const char *what, u32 count, struct strbuf *to)
{
	strbuf_printf(to, "  %-34s: %10d\n", what, (int)count);
}

static void percent_row(const char *what, u32 part, u32 all, struct strbuf *to)
{
	strbuf_printf(to, "  %-34s: %10.1f%%\n", what, text_c2c_share(part, all));
}

void text_c2c_events(const struct c2c_stats *s, struct strbuf *to)
{
	u32 misses = s->lcl_dram + s->rmt_dram + s->rmt_hit + s->rmt_hitm;
	section("            Trace Event Information              \n", to);
	row("Total records", s->nr_entries, to);
	row("Locked Load/Store Operations", s->locks, to);
	row("Load Operations", s->load, to);
	row("Loads - uncacheable", s->ld_uncache, to);
	row("Loads - IO", s->ld_io, to);
	row("Loads - Miss", s->ld_miss, to);
	row("Loads - no mapping", s->ld_noaddr, to);
	row("Load Fill Buffer Hit", s->ld_fbhit, to);
	row("Load L1D hit", s->ld_l1hit, to);
	row("Load L2D hit", s->ld_l2hit, to);
	row("Load LLC hit", s->ld_llchit + s->lcl_hitm, to);
	row("Load Local HITM", s->lcl_hitm, to);
	row("Load Remote HITM", s->rmt_hitm, to);
	row("Load Remote HIT", s->rmt_hit, to);
	row("Load Local DRAM", s->lcl_dram, to);
	row("Load Remote DRAM", s->rmt_dram, to);
	row("Load MESI State Exclusive", s->ld_excl, to);
	row("Load MESI State Shared", s->ld_shared, to);
	row("Load LLC Misses", misses, to);
	row("Load access blocked by data", s->blk_data, to);
	row("Load access blocked by address", s->blk_addr, to);
	row("Load HIT Local Peer", s->lcl_peer, to);
	row("Load HIT Remote Peer", s->rmt_peer, to);
	percent_row("LLC Misses to Local DRAM", s->lcl_dram, misses, to);
	percent_row("LLC Misses to Remote DRAM", s->rmt_dram, misses, to);
	percent_row("LLC Misses to Remote cache (HIT)", s->rmt_hit, misses, to);
	percent_row("LLC Misses to Remote cache (HITM)", s->rmt_hitm, misses, to);
	row("Store Operations", s->store, to);
	row("Store - uncacheable", s->st_uncache, to);
	row("Store - no mapping", s->st_noaddr, to);
	row("Store L1D Hit", s->st_l1hit, to);
	row("Store L1D Miss", s->st_l1miss, to);
	row("Store No available memory level", s->st_na, to);
	row("No Page Map Rejects", s->nomap, to);
	row("Unable to parse data source", s->noparse, to);
}

void text_c2c_shared(const struct c2c_stats *s, u32 nr_lines, struct strbuf *to)
{
	section("    Global Shared Cache Line Event Information   \n", to);
	row("Total Shared Cache Lines", nr_lines, to);
	row("Load HITs on shared lines", s->load, to);
	row("Fill Buffer Hits on shared lines", s->ld_fbhit, to);
	row("L1D hits on shared lines", s->ld_l1hit, to);
	row("L2D hits on shared lines", s->ld_l2hit, to);
	row("LLC hits on shared lines", s->ld_llchit + s->lcl_hitm, to);
	row("Load hits on peer cache or nodes", s->lcl_peer + s->rmt_peer, to);
	row("Locked Access on shared lines", s->locks, to);
	row("Blocked Access on shared lines", s->blk_data + s->blk_addr, to);
	row("Store HITs on shared lines", s->store, to);
	row("Store L1D hits on shared lines", s->st_l1hit, to);
	row("Store No available memory level", s->st_na, to);
	row("Total Merged records", s->tot_hitm + s->store, to);
}

void text_c2c_details(const struct text_c2c_opts *o, struct strbuf *to)
{
	static const char *const displays[] = { [C2C_TOTAL] = "Total HITMs",
						[C2C_LOCAL] = "Local HITMs",
						[C2C_REMOTE] = "Remote HITMs",
						[C2C_PEER] = "Peer Snoop" };
	const char *head = "Events";
	section("                 c2c details                     \n", to);
	vec_for_each (&o->catalog->events, e) {
		strbuf_printf(to, "  %-34s: ", head);
		printable_name(to, e->name);
		strbuf_char(to, '\n');
		head = "";
	}
	strbuf_printf(to, "  %-34s: %s\n", "Cachelines sort on", displays[o->display]);
	strbuf_printf(to, "  %-34s: %s\n", "Cacheline data grouping", o->grouping);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* What is printed for an entry; `all` is what its percentages are relative to. */
struct c2c_cell {
	const struct text_c2c_opts *o;
	const struct c2c_entry *e;
	const struct c2c_stats *all;
	const bool *lined;
	u32 index; /* of the line */
	int width;
	struct strbuf *to;
};

struct c2c_column {
	const char *above,
		*head; /* two lines of the head; what stands above may be for several columns: */
	int width;
	void (*put)(const struct c2c_cell *c);
	u32 span; /* so many more */
};

static void put_number(const struct c2c_cell *c, u64 v)
{
	strbuf_printf(c->to, "%*llu", c->width, (ull)v);
}

static void put_address(const struct c2c_cell *c, u64 v)
{
	char text[24];
	(void)snprintf(text, sizeof(text), "0x%llx", (ull)v);
	strbuf_printf(c->to, "%*s", c->width, text);
}

static void put_percent(const struct c2c_cell *c, u32 part, u32 all)
{
	char text[24];
	(void)snprintf(text, sizeof(text), "%.2f%%", text_c2c_share(part, all));
	strbuf_printf(c->to, "%*s", c->width, text);
}

static void put_mean(const struct c2c_cell *c, const struct c2c_cost *cost)
{
	strbuf_printf(c->to, "%*.0f", c->width, cost->mean);
}

#define COUNT(name, value)                                                                         \
	static void name(const struct c2c_cell *c)                                                 \
	{                                                                                          \
		const struct c2c_stats *s = &c->e->stats;                                          \
		put_number(c, value);                                                              \
	}
COUNT(put_tot_hitm, s->tot_hitm)
COUNT(put_lcl_hitm, s->lcl_hitm)
COUNT(put_rmt_hitm, s->rmt_hitm)
COUNT(put_tot_peer, s->tot_peer)
COUNT(put_lcl_peer, s->lcl_peer)
COUNT(put_rmt_peer, s->rmt_peer)
COUNT(put_records, c2c_loads(s) + c2c_stores(s))
COUNT(put_loads, c2c_loads(s))
COUNT(put_stores, s->store)
COUNT(put_st_l1hit, s->st_l1hit)
COUNT(put_st_l1miss, s->st_l1miss)
COUNT(put_st_na, s->st_na)
COUNT(put_fbhit, s->ld_fbhit)
COUNT(put_l1hit, s->ld_l1hit)
COUNT(put_l2hit, s->ld_l2hit)
COUNT(put_llchit, s->ld_llchit)
COUNT(put_rmt_hit, s->rmt_hit)
COUNT(put_lcl_dram, s->lcl_dram)
COUNT(put_rmt_dram, s->rmt_dram)
#undef COUNT

#define SHARE(name, field)                                                                         \
	static void name(const struct c2c_cell *c)                                                 \
	{                                                                                          \
		put_percent(c, c->e->stats.field, c->all->field);                                  \
	}
SHARE(put_rmt_hitm_share, rmt_hitm)
SHARE(put_lcl_hitm_share, lcl_hitm)
SHARE(put_rmt_peer_share, rmt_peer)
SHARE(put_lcl_peer_share, lcl_peer)
SHARE(put_st_l1hit_share, st_l1hit)
SHARE(put_st_l1miss_share, st_l1miss)
SHARE(put_st_na_share, st_na)
#undef SHARE

#define MEAN(name, field)                                                                          \
	static void name(const struct c2c_cell *c)                                                 \
	{                                                                                          \
		put_mean(c, &c->e->field);                                                         \
	}
MEAN(put_rmt_hitm_cost, rmt_hitm_cost)
MEAN(put_lcl_hitm_cost, lcl_hitm_cost)
MEAN(put_rmt_peer_cost, rmt_peer_cost)
MEAN(put_lcl_peer_cost, lcl_peer_cost)
MEAN(put_load_cost, load_cost)
#undef MEAN

static void put_index(const struct c2c_cell *c)
{
	put_number(c, c->index);
}

static void put_nothing(const struct c2c_cell *c)
{
	strbuf_printf(c->to, "%*s", c->width, "");
}

static void put_line_address(const struct c2c_cell *c)
{
	put_address(c, c->e->address);
}

static void put_code_address(const struct c2c_cell *c)
{
	put_address(c, c->e->iaddr);
}

/* "0-1,4": numbers come in ascending order, then it is ended. */
struct ranges {
	struct strbuf *to;
	u32 first, end; /* not printed yet */
	bool any;
};

static void ranges_end(struct ranges *r)
{
	if (r->first == r->end)
		return;
	strbuf_printf(r->to, "%s%u", r->any ? "," : "", r->first);
	if (r->end - r->first > 1)
		strbuf_printf(r->to, "-%u", r->end - 1);
	r->any = true;
	r->first = r->end;
}

static void ranges_add(struct ranges *r, u32 number)
{
	if (number != r->end) {
		ranges_end(r);
		r->first = number;
	}
	r->end = number + 1;
}

void text_c2c_memory_nodes(u64 nodes, struct strbuf *to)
{
	struct ranges r = { .to = to };
	for (u32 i = 0; i < 64; i++)
		if (nodes >> i & 1)
			ranges_add(&r, i);
	ranges_end(&r);
	if (!nodes)
		strbuf_str(to, "N/A");
}

static void put_text(const struct c2c_cell *c, struct strbuf *text)
{
	strbuf_printf(c->to, "%*s", c->width, strbuf_cstr(text));
}

static void put_memory_nodes(const struct c2c_cell *c)
{
	struct strbuf s;
	strbuf_init(&s);
	text_c2c_memory_nodes(c->e->mem_nodes, &s);
	put_text(c, &s);
	strbuf_done(&s);
}

static void put_physical(const struct c2c_cell *c)
{
	put_number(c, c->e->nr_paddrs);
}

static void put_worst(const struct c2c_cell *c)
{
	const struct c2c_stats *s = &c->e->stats;
	u32 part = c->o->display == C2C_LOCAL	 ? s->lcl_hitm
		   : c->o->display == C2C_REMOTE ? s->rmt_hitm
		   : c->o->display == C2C_PEER	 ? s->tot_peer
						 : s->tot_hitm;
	put_percent(c, part, c->o->all_measure);
}

static void put_pid(const struct c2c_cell *c)
{
	strbuf_printf(c->to, "%*d", c->width, c->e->pid);
}

static const char *last_name(const struct catalog *c, s32 tid, char own[24])
{
	u32 id = dict_get(&c->last_comm, (u32)tid);
	if (id != DICT_NONE)
		return strtab_str(&c->strings, id);
	(void)snprintf(own, 24, ":%d", tid);
	return own;
}

/* Somebody else's name, to the left; at most as wide as most. */
static void put_name(const struct c2c_cell *c, const char *name, int width, int most)
{
	struct strbuf s;
	strbuf_init(&s);
	s.screen = c->to->screen;
	printable_name(&s, name);
	strbuf_printf(c->to, "%-*.*s", width, most, strbuf_cstr(&s));
	strbuf_done(&s);
}

static void put_tid(const struct c2c_cell *c)
{
	char own[24];
	int width = max(c->width, 7) - 8;
	strbuf_printf(c->to, "%7d:", c->e->tid);
	if (width > 0)
		put_name(c, last_name(c->o->catalog, c->e->tid, own), width, width);
}

static void put_cpus(const struct c2c_cell *c)
{
	put_number(c, c2c_cpu_count(c->e));
}

static const struct name_func *code_of(const struct text_c2c_opts *o, const struct c2c_entry *e)
{
	return &o->names->funcs[o->names->func_of[e->leaf]];
}

static void put_symbol(const struct c2c_cell *c)
{
	static const char letters[] = {
		[FRAME_UNKNOWN] = ' ',	  [FRAME_KERNEL] = 'k',	      [FRAME_USER] = '.',
		[FRAME_HYPERVISOR] = 'H', [FRAME_GUEST_KERNEL] = 'g', [FRAME_GUEST_USER] = 'u'
	};
	const struct name_func *f = code_of(c->o, c->e);
	int width = max(c->width - 4, 0);
	strbuf_printf(c->to, "[%c] ", c->e->mode < ARRAY_SIZE(letters) ? letters[c->e->mode] : ' ');
	if (f->name)
		put_name(c, f->name, width, width);
	else
		strbuf_printf(c->to, "0x%016llx%*s", (ull)c->o->frames->frames[c->e->leaf].offset,
			      max(width - 2 - ADDRESS_DIGITS, 0), "");
}

static const char *image_name(const struct text_c2c_opts *o, const struct c2c_entry *e)
{
	const char *name = e->code_image ? o->catalog->images.at[e->code_image].name : NULL;
	return name ? name : "[unknown]";
}

static void put_image(const struct c2c_cell *c)
{
	put_name(c, image_name(c->o, c->e), c->width, INT_MAX);
}

void text_c2c_source(const struct text_c2c_opts *o, const struct c2c_entry *e, const bool *lined,
		     struct strbuf *to)
{
	names_place(o->names, o->catalog, o->frames, e->leaf, lined, PLACE_BY_FUNCTION, to);
}

static void put_source(const struct c2c_cell *c)
{
	struct strbuf s;
	strbuf_init(&s);
	text_c2c_source(c->o, c->e, c->lined, &s);
	put_name(c, strbuf_cstr(&s), c->width, INT_MAX);
	strbuf_done(&s);
}

/* ---- nodes of CPUs ---- */

static u32 node_measure(const struct c2c_node *n, enum c2c_display d)
{
	return d == C2C_LOCAL	 ? n->lcl_hitm
	       : d == C2C_REMOTE ? n->rmt_hitm
	       : d == C2C_PEER	 ? n->tot_peer
				 : n->tot_hitm;
}

static void put_node_counts(const struct c2c_cell *c, u32 node, u32 nr_cpus)
{
	const struct c2c_stats *s = &c->e->stats;
	const struct c2c_node none = { 0 }, *n = &none;
	const struct c2c_node all = { .lcl_hitm = s->lcl_hitm,
				      .rmt_hitm = s->rmt_hitm,
				      .tot_hitm = s->tot_hitm,
				      .tot_peer = s->tot_peer,
				      .store = s->store };
	for (u32 i = 0; i < c->e->nr_nodes; i++)
		if (c->e->nodes[i].node == node)
			n = &c->e->nodes[i];
	u32 of = node_measure(&all, c->o->display);
	strbuf_printf(c->to, "%2u{%2u ", node, nr_cpus);
	if (of)
		strbuf_printf(c->to, "%5.1f%% ", text_c2c_share(node_measure(n, c->o->display), of));
	else
		strbuf_printf(c->to, "%6s ", "n/a");
	if (all.store)
		strbuf_printf(c->to, "%5.1f%%}", text_c2c_share(n->store, all.store));
	else
		strbuf_printf(c->to, "%6s}", "n/a");
}

static s32 node_of(const struct c2c_cell *c, u32 cpu)
{
	const struct c2c_machine *m = c->o->machine;
	s32 node = cpu < m->nr_cpus ? m->node_of[cpu] : -1;
	return node < (s32)m->nr_nodes ? node : -1;
}

/* Of each node, how many of its CPUs had the entry. */
static void count_cpus(const struct c2c_cell *c, u32 *nr_of)
{
	for (u32 i = 0; i < c->e->nr_cpus; i++)
		for (u64 bits = c->e->cpus[i].bits; bits; bits &= bits - 1) {
			s32 node = node_of(c, c->e->cpus[i].first + (u32)__builtin_ctzll(bits));
			if (node >= 0)
				nr_of[node]++;
		}
}

static void put_node_cpus(const struct c2c_cell *c, u32 node)
{
	struct ranges r = { .to = c->to };
	for (u32 i = 0; i < c->e->nr_cpus; i++)
		for (u64 bits = c->e->cpus[i].bits; bits; bits &= bits - 1) {
			u32 cpu = c->e->cpus[i].first + (u32)__builtin_ctzll(bits);
			if (node_of(c, cpu) == (s32)node)
				ranges_add(&r, cpu);
		}
	ranges_end(&r);
}

static void put_nodes(const struct c2c_cell *c)
{
	bool first = true;
	u32 *nr_of = calloc((size_t)c->o->machine->nr_nodes + 1, sizeof(*nr_of));
	if (!nr_of) {
		c->to->err = -ENOMEM;
		return;
	}
	count_cpus(c, nr_of);
	for (u32 node = 0; node < c->o->machine->nr_nodes; node++) {
		u32 nr = nr_of[node];
		if (!nr && c->o->node_info == 1)
			strbuf_printf(c->to, "%21s", " ");
		if (!nr)
			continue;
		strbuf_str(c->to, first ? "" : " ");
		first = false;
		if (c->o->node_info == 1) {
			put_node_counts(c, node, nr);
		} else if (c->o->node_info) {
			strbuf_printf(c->to, "%2u{", node);
			put_node_cpus(c, node);
			strbuf_char(c->to, '}');
		} else {
			strbuf_printf(c->to, "%2u", node);
		}
	}
	free(nr_of);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

enum { COLUMNS_MAX = 32 };

struct c2c_columns {
	struct c2c_column at[COLUMNS_MAX];
	u32 nr;
};

static void add(struct c2c_columns *l, const struct c2c_column *from, u32 nr)
{
	for (u32 i = 0; i < nr && l->nr < COLUMNS_MAX; i++)
		l->at[l->nr++] = from[i];
}
#define ADD(list, ...)                                                                             \
	add(list, (const struct c2c_column[]){ __VA_ARGS__ },                                      \
	    sizeof((const struct c2c_column[]){ __VA_ARGS__ }) / sizeof(struct c2c_column))

/* What stands above several columns is as wide as all of them. */
static void put_head_line(const struct c2c_columns *l, bool above, struct strbuf *to)
{
	strbuf_str(to, "# ");
	u32 skip = 0;
	for (u32 i = 0; i < l->nr; i++) {
		const struct c2c_column *c = &l->at[i];
		if (above && skip) {
			skip--;
			continue;
		}
		const char *text = above ? c->above : c->head;
		strbuf_printf(to, "%s%*s", i ? "  " : "", c->width, text ? text : "");
		skip = above ? c->span : 0;
	}
	strbuf_char(to, '\n');
}

static void put_head(const struct c2c_columns *l, struct strbuf *to)
{
	strbuf_str(to, "#\n");
	put_head_line(l, true, to);
	put_head_line(l, false, to);
	strbuf_str(to, "# ");
	for (u32 i = 0; i < l->nr; i++) {
		strbuf_str(to, i ? "  " : "");
		strbuf_fill(to, '.', (size_t)l->at[i].width);
	}
	strbuf_str(to, "\n#\n");
}

static void put_row(const struct c2c_columns *l, const struct c2c_cell *shared)
{
	for (u32 i = 0; i < l->nr; i++) {
		struct c2c_cell c = *shared;
		c.width = l->at[i].width;
		strbuf_str(c.to, "  ");
		l->at[i].put(&c);
	}
	strbuf_char(shared->to, '\n');
}

#define ADDRESS_COLUMNS(put_first, first)                                                          \
	{ "----------- Cacheline ----------", first, 18, put_first, 2 },                           \
		{ NULL, "Node", 4, put_memory_nodes, 0 },                                          \
	{                                                                                          \
		NULL, "PA cnt", 6, put_physical, 0                                                 \
	}

static void line_columns(const struct text_c2c_opts *o, struct c2c_columns *l)
{
	static const struct c2c_column counts[] = {
		{ "Total", "records", 7, put_records, 0 },
		{ "Total", "Loads", 7, put_loads, 0 },
		{ "Total", "Stores", 7, put_stores, 0 },
		{ "--------- Stores --------", "L1Hit", 7, put_st_l1hit, 2 },
		{ NULL, "L1Miss", 7, put_st_l1miss, 0 },
		{ NULL, "N/A", 7, put_st_na, 0 },
		{ "----- Core Load Hit -----", "FB", 7, put_fbhit, 2 },
		{ NULL, "L1", 7, put_l1hit, 0 },
		{ NULL, "L2", 7, put_l2hit, 0 },
		{ "- LLC Load Hit --", "LclHit", 8, put_llchit, 1 },
		{ NULL, "LclHitm", 7, put_lcl_hitm, 0 },
		{ "- RMT Load Hit --", "RmtHit", 8, put_rmt_hit, 1 },
		{ NULL, "RmtHitm", 7, put_rmt_hitm, 0 },
		{ "--- Load Dram ----", "Lcl", 8, put_lcl_dram, 1 },
		{ NULL, "Rmt", 8, put_rmt_dram, 0 },
	};
	ADD(l, { "", "Index", 5, put_index, 0 }, ADDRESS_COLUMNS(put_line_address, "Address"));
	if (o->display == C2C_PEER)
		ADD(l, { "Peer", "Snoop", 7, put_worst, 0 },
		    { "------- Load Peer -------", "Total", 7, put_tot_peer, 2 },
		    { NULL, "Local", 7, put_lcl_peer, 0 }, { NULL, "Remote", 7, put_rmt_peer, 0 });
	else
		ADD(l,
		    { o->display == C2C_LOCAL	 ? "Lcl"
		      : o->display == C2C_REMOTE ? "Rmt"
						 : "Tot",
		      "Hitm", 7, put_worst, 0 },
		    { "------- Load Hitm -------", "Total", 7, put_tot_hitm, 2 },
		    { NULL, "LclHitm", 7, put_lcl_hitm, 0 },
		    { NULL, "RmtHitm", 7, put_rmt_hitm, 0 });
	add(l, counts, ARRAY_SIZE(counts));
}

void text_c2c_lines(const struct text_c2c_opts *o, const struct c2c_entry *lines, u32 nr,
		    struct strbuf *to)
{
	struct c2c_columns l = { .nr = 0 };
	line_columns(o, &l);
	section("           Shared Data Cache Line Table          \n", to);
	put_head(&l, to);
	for (u32 i = 0; i < nr; i++)
		put_row(&l, &(struct c2c_cell){ .o = o, .e = &lines[i], .index = i, .to = to });
}

/* ---- the pareto ---- */

/* Columns that are as wide as what stands in them, of the places of one line. */
struct c2c_widths {
	int symbol, image, source, task;
};

static void measure(const struct text_c2c_opts *o, const struct c2c_entry *e, const bool *lined,
		    struct c2c_widths *w)
{
	const struct name_func *f = code_of(o, e);
	char own[24];
	w->symbol = max(w->symbol, f->name ? (int)strlen(f->name) + 4 : ADDRESS_DIGITS + 6);
	w->image = max(w->image, e->code_image ? (int)strlen(image_name(o, e)) : ADDRESS_DIGITS);
	w->task = max(w->task, (int)strlen(last_name(o->catalog, e->tid, own)) + 8);
	if (o->no_source)
		return;
	struct strbuf s;
	strbuf_init(&s);
	text_c2c_source(o, e, lined, &s);
	w->source = max(w->source, (int)s.len);
	strbuf_done(&s);
}

static bool has_key(const struct text_c2c_opts *o, enum c2c_key key)
{
	for (u32 i = 0; i < o->nr_keys; i++)
		if (o->keys[i] == key)
			return true;
	return false;
}

static const char *node_head(const struct text_c2c_opts *o)
{
	if (o->node_info == 1)
		return o->display == C2C_PEER ? "Node{cpus %peers %stores}"
					      : "Node{cpus %hitms %stores}";
	return o->node_info ? "Node{cpu list}" : "Node";
}

static void place_columns(const struct text_c2c_opts *o, const struct c2c_widths *w,
			  struct c2c_columns *l)
{
	bool peer = o->display == C2C_PEER;
	ADD(l, { "", "Num", 5, put_nothing, 0 });
	if (peer)
		ADD(l, { "-- Peer Snoop --", "Rmt", 7, put_rmt_peer_share, 1 },
		    { NULL, "Lcl", 7, put_lcl_peer_share, 0 });
	else
		ADD(l, { "----- HITM -----", "RmtHitm", 7, put_rmt_hitm_share, 1 },
		    { NULL, "LclHitm", 7, put_lcl_hitm_share, 0 });
	ADD(l, { "------- Store Refs ------", "L1 Hit", 7, put_st_l1hit_share, 2 },
	    { NULL, "L1 Miss", 7, put_st_l1miss_share, 0 }, { NULL, "N/A", 7, put_st_na_share, 0 },
	    { "--------- Data address ---------", "Offset", 18, put_line_address, 2 },
	    { NULL, "Node", 4, put_memory_nodes, 0 }, { NULL, "PA cnt", 6, put_physical, 0 });
	if (has_key(o, C2C_PID))
		ADD(l, { "", "Pid", 7, put_pid, 0 });
	if (has_key(o, C2C_TID))
		ADD(l, { "", "Tid", w->task, put_tid, 0 });
	if (has_key(o, C2C_IADDR))
		ADD(l, { "", "Code address", 18, put_code_address, 0 });
	if (peer)
		ADD(l, { "---------- cycles ----------", "rmt peer", 8, put_rmt_peer_cost, 2 },
		    { NULL, "lcl peer", 8, put_lcl_peer_cost, 0 });
	else
		ADD(l, { "---------- cycles ----------", "rmt hitm", 8, put_rmt_hitm_cost, 2 },
		    { NULL, "lcl hitm", 8, put_lcl_hitm_cost, 0 });
	ADD(l, { NULL, "load", 8, put_load_cost, 0 }, { "Total", "records", 7, put_records, 0 },
	    { "cpu", "cnt", 8, put_cpus, 0 });
	if (has_key(o, C2C_IADDR))
		ADD(l, { "", "Symbol", o->full_symbols ? w->symbol : min(w->symbol, SYMBOL_WIDTH),
			 put_symbol, 0 });
	if (has_key(o, C2C_IADDR) || has_key(o, C2C_DSO))
		ADD(l, { "Shared", "Object", w->image, put_image, 0 });
	if (has_key(o, C2C_IADDR) && !o->no_source)
		ADD(l,
		    { "", "Source:Line", o->full_symbols ? w->source : min(w->source, SYMBOL_WIDTH),
		      put_source, 0 });
	ADD(l, { "", node_head(o), 4, put_nodes, 0 });
}

static void put_line(const struct text_c2c_opts *o, const struct c2c_entry *e, u32 index,
		     struct strbuf *to)
{
	static const char rule[] =
		"  ----------------------------------------------------------------------\n";
	struct c2c_columns l = { .nr = 0 };
	ADD(&l, { "", "Num", 5, put_index, 0 });
	if (o->display == C2C_PEER)
		ADD(&l, { "", "", 7, put_rmt_peer, 0 }, { "", "", 7, put_lcl_peer, 0 });
	else
		ADD(&l, { "", "", 7, put_rmt_hitm, 0 }, { "", "", 7, put_lcl_hitm, 0 });
	ADD(&l, { "", "", 7, put_st_l1hit, 0 }, { "", "", 7, put_st_l1miss, 0 },
	    { "", "", 7, put_st_na, 0 }, { "", "", 18, put_line_address, 0 });
	strbuf_str(to, rule);
	put_row(&l, &(struct c2c_cell){ .o = o, .e = e, .index = index, .to = to });
	strbuf_str(to, rule);
}

/* Percentages are of the whole line. */
static int put_graph(const struct text_c2c_opts *o, const struct c2c_entry *e, u64 line_period,
		     struct tree *t, struct strbuf *to)
{
	if (!o->graph)
		return 0;
	tree_clear(t);
	int err = o->graph(o->graph_ctx, e, o->graph_percent, t);
	struct text_tree_style style = o->graph_style;
	style.indent = GRAPH_INDENT;
	if (!err)
		text_tree(t, line_period, &style, to);
	return err;
}

int text_c2c_pareto(const struct text_c2c_opts *o, const struct c2c_entry *lines, u32 nr,
		    const struct c2c_entry *places, struct strbuf *to)
{
	bool *lined = o->no_source ? NULL : names_lined_images(o->names, o->catalog, o->frames);
	struct tree tree;
	int err = 0;
	if (!o->no_source && !lined)
		return -ENOMEM;
	tree_init(&tree);
	section("      Shared Cache Line Distribution Pareto      \n", to);
	strbuf_str(to, nr ? "" : "#\n");
	for (u32 i = 0; i < nr && !err; i++) {
		const struct c2c_entry *first = &places[lines[i].first], *end = first + lines[i].nr;
		struct c2c_widths w = { .symbol = 6, .image = 0, .source = 11 };
		struct c2c_columns l = { .nr = 0 };
		for (const struct c2c_entry *e = first; e < end; e++)
			measure(o, e, lined, &w);
		place_columns(o, &w, &l);
		if (!i)
			put_head(&l, to);
		else
			strbuf_char(to, '\n');
		put_line(o, &lines[i], i, to);
		for (const struct c2c_entry *e = first; e < end && !err; e++) {
			if (!e->shown)
				continue;
			put_row(&l, &(struct c2c_cell){ .o = o,
							.e = e,
							.all = &lines[i].stats,
							.lined = lined,
							.to = to });
			err = put_graph(o, e, lines[i].period, &tree, to);
		}
	}
	tree_done(&tree);
	free(lined);
	return err;
}

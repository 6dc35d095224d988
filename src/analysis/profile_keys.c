#include "analysis/profile_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct key_info {
	const char *word;
	const char *name; /* of the column */
	const char *json;
	enum cell_type type;
	u32 min_width;
	u8 digits; /* numbers are padded to so many with zeros */
	bool left; /* numbers that stand on the left */
	bool loose; /* no blanks after it when it stands last */
	bool fixed; /* as wide as its name, whatever stands in it */
	enum cell_text text;
};

/* In perf's order: a beginning of a word means the first one that fits. */
static const struct key_info infos[] = {
	[PROFILE_KEY_COMM] = { "comm", "Command", "comm", CELL_STR },
	[PROFILE_KEY_PID] = { "pid", "    Pid:Command", "pid", CELL_STR, .text = TEXT_TASK },
	[PROFILE_KEY_TGID] = { "tgid", "   Tgid:Command", "tgid", CELL_STR, .text = TEXT_TASK },
	[PROFILE_KEY_CPU] = { "cpu", "CPU", "cpu", CELL_S64, .digits = 3, .fixed = true },
	[PROFILE_KEY_SOCKET] = { "socket", "Socket", "socket", CELL_S64, .digits = 3, .fixed = true },
	[PROFILE_KEY_TIME] = { "time", "Time", "time", CELL_TIME, .min_width = 12, .left = true },
	[PROFILE_KEY_WEIGHT] = { "weight", "Weight", "weight", CELL_NUMBER, .min_width = 12,
				 .left = true },
	[PROFILE_KEY_LOCAL_WEIGHT] = { "local_weight", "Local Weight", "local_weight", CELL_NUMBER,
				       .min_width = 12, .left = true },
	[PROFILE_KEY_CGROUP] = { "cgroup", "Cgroup", "cgroup", CELL_STR, .loose = true },
	[PROFILE_KEY_CGROUP_ID] = { "cgroup_id", "cgroup id (dev/inode)", "cgroup_id", CELL_STR,
				    .loose = true },
	[PROFILE_KEY_MISPREDICT] = { "mispredict", "Branch Mispredicted", "mispredict", CELL_STR },
	[PROFILE_KEY_ABORT] = { "abort", "Transaction abort", "abort", CELL_STR },
	[PROFILE_KEY_IN_TX] = { "in_tx", "Branch in transaction", "in_tx", CELL_STR },
	[PROFILE_KEY_CYCLES] = { "cycles", "Basic Block Cycles", "cycles", CELL_STR,
				 .text = TEXT_NUMBER },
	[PROFILE_KEY_ADDR_FROM] = { "addr_from", "Source Address", "addr_from", CELL_STR,
				    .loose = true, .text = TEXT_SYMBOL },
	[PROFILE_KEY_ADDR_TO] = { "addr_to", "Target Address", "addr_to", CELL_STR, .loose = true,
				  .text = TEXT_SYMBOL },
	[PROFILE_KEY_SRCLINE_FROM] = { "srcline_from", "From Source:Line", "srcline_from", CELL_STR,
				       .loose = true },
	[PROFILE_KEY_SRCLINE_TO] = { "srcline_to", "To Source:Line", "srcline_to", CELL_STR,
				     .loose = true },
	[PROFILE_KEY_DSO_FROM] = { "dso_from", "Source Shared Object", "dso_from", CELL_STR },
	[PROFILE_KEY_DSO_TO] = { "dso_to", "Target Shared Object", "dso_to", CELL_STR },
	[PROFILE_KEY_SYM_FROM] = { "symbol_from", "Source Symbol", "symbol_from", CELL_STR,
				   .loose = true, .text = TEXT_SYMBOL },
	[PROFILE_KEY_SYM_TO] = { "symbol_to", "Target Symbol", "symbol_to", CELL_STR, .loose = true,
				 .text = TEXT_SYMBOL },
	[PROFILE_KEY_DSO_DADDR] = { "dso_daddr", "Data Object", "dso_daddr", CELL_STR },
	[PROFILE_KEY_PLACE] = { NULL, NULL, NULL, CELL_STR },
	[PROFILE_KEY_SYM_DADDR] = { "symbol_daddr", "Data Symbol", "symbol_daddr", CELL_STR,
				    .loose = true, .text = TEXT_SYMBOL },
	[PROFILE_KEY_SYM_IADDR] = { "symbol_iaddr", "Code Symbol", "symbol_iaddr", CELL_STR,
				    .loose = true, .text = TEXT_SYMBOL },
	[PROFILE_KEY_DCACHELINE] = { "dcacheline", "Data Cacheline", "dcacheline", CELL_STR,
				     .loose = true, .text = TEXT_SYMBOL },
	[PROFILE_KEY_MEM] = { "mem", "Memory access", "mem", CELL_STR, .min_width = 24 },
	[PROFILE_KEY_SNOOP] = { "snoop", "Snoop", "snoop", CELL_STR, .min_width = 12 },
	[PROFILE_KEY_TLB] = { "tlb", "TLB access", "tlb", CELL_STR, .min_width = 22 },
	[PROFILE_KEY_LOCKED] = { "locked", "Locked", "locked", CELL_STR, .loose = true },
	[PROFILE_KEY_BLOCKED] = { "blocked", "Blocked", "blocked", CELL_STR, .min_width = 10,
				  .loose = true },
	[PROFILE_KEY_PHYS_DADDR] = { "phys_daddr", "Data Physical Address", "phys_daddr", CELL_STR },
	[PROFILE_KEY_DATA_PAGE] = { "data_page_size", "Data Page Size", "data_page_size", CELL_STR,
				    .min_width = 22 },
	[PROFILE_KEY_CODE_PAGE] = { "code_page_size", "Code Page Size", "code_page_size", CELL_STR },
	[PROFILE_KEY_TRANSACTION] = { "transaction", "Transaction", "transaction", CELL_STR,
				      .min_width = 32 },
	[PROFILE_KEY_INS_LAT] = { "ins_lat", "INSTR Latency", "ins_lat", CELL_NUMBER, .left = true },
	[PROFILE_KEY_LOCAL_INS_LAT] = { "local_ins_lat", "Local INSTR Latency", "local_ins_lat",
					CELL_NUMBER, .left = true },
	[PROFILE_KEY_STAGE_CYCLES] = { "p_stage_cyc", "Pipeline Stage Cycle", "p_stage_cyc",
				       CELL_NUMBER, .left = true },
	[PROFILE_KEY_LOCAL_STAGE_CYCLES] = { "local_p_stage_cyc", "Local Pipeline Stage Cycle",
					     "local_p_stage_cyc", CELL_NUMBER, .left = true },
	[PROFILE_KEY_ADDR] = { "addr", "Address", "addr", CELL_STR, .min_width = 18 },
	[PROFILE_KEY_TRACE] = { "trace", "Trace output", "trace", CELL_STR, .loose = true },
	[PROFILE_KEY_FIELD] = { NULL, NULL, NULL, CELL_STR, .text = TEXT_NUMBER },
	[PROFILE_KEY_PARENT] = { "parent", "Parent symbol", "parent", CELL_STR },
	[PROFILE_KEY_DSO] = { "dso", "Shared Object", "dso", CELL_STR },
	[PROFILE_KEY_SYM] = { "symbol", "Symbol", "symbol", CELL_STR, .loose = true,
			      .text = TEXT_SYMBOL },
	[PROFILE_KEY_SYM_SIZE] = { "symbol_size", "Symbol size", "symbol_size", CELL_NUMBER },
	[PROFILE_KEY_DSO_SIZE] = { "dso_size", "DSO size", "dso_size", CELL_NUMBER },
	[PROFILE_KEY_SRCLINE] = { "srcline", "Source:Line", "srcline", CELL_STR, .loose = true },
	[PROFILE_KEY_SRCFILE] = { "srcfile", "Source File", "srcfile", CELL_STR, .loose = true },
	[PROFILE_OVERHEAD_CHILDREN] = { "overhead_children", "Children", "children", CELL_PERCENT },
	[PROFILE_OVERHEAD] = { "overhead", "Overhead", "overhead", CELL_PERCENT },
	[PROFILE_OVERHEAD_SYS] = { "overhead_sys", "sys", "overhead_sys", CELL_PERCENT },
	[PROFILE_OVERHEAD_US] = { "overhead_us", "usr", "overhead_us", CELL_PERCENT },
	[PROFILE_OVERHEAD_GUEST_SYS] = { "overhead_guest_sys", "guest sys", "overhead_guest_sys",
					 CELL_PERCENT },
	[PROFILE_OVERHEAD_GUEST_US] = { "overhead_guest_us", "guest usr", "overhead_guest_us",
					CELL_PERCENT },
	[PROFILE_SAMPLES] = { "sample", "Samples", "samples", CELL_U64 },
	[PROFILE_PERIOD] = { "period", "Period", "period", CELL_U64 },
};

/* Whole words that fit first when only their beginning is typed. */
static const u8 search_order[] = {
	PROFILE_KEY_PID,
	PROFILE_KEY_COMM,
	PROFILE_KEY_DSO,
	PROFILE_KEY_SYM,
	PROFILE_KEY_PARENT,
	PROFILE_KEY_CPU,
	PROFILE_KEY_SOCKET,
	PROFILE_KEY_SRCLINE,
	PROFILE_KEY_SRCFILE,
	PROFILE_KEY_LOCAL_WEIGHT,
	PROFILE_KEY_WEIGHT,
	PROFILE_KEY_TRANSACTION,
	PROFILE_KEY_TRACE,
	PROFILE_KEY_SYM_SIZE,
	PROFILE_KEY_DSO_SIZE,
	PROFILE_KEY_CGROUP,
	PROFILE_KEY_CGROUP_ID,
	PROFILE_KEY_TIME,
	PROFILE_KEY_CODE_PAGE,
	PROFILE_KEY_LOCAL_INS_LAT,
	PROFILE_KEY_INS_LAT,
	PROFILE_KEY_LOCAL_STAGE_CYCLES,
	PROFILE_KEY_STAGE_CYCLES,
	PROFILE_KEY_ADDR,
	PROFILE_KEY_TGID,
	PROFILE_OVERHEAD,
	PROFILE_OVERHEAD_SYS,
	PROFILE_OVERHEAD_US,
	PROFILE_OVERHEAD_GUEST_SYS,
	PROFILE_OVERHEAD_GUEST_US,
	PROFILE_OVERHEAD_CHILDREN,
	PROFILE_SAMPLES,
	PROFILE_PERIOD,
	PROFILE_KEY_DSO_FROM,
	PROFILE_KEY_DSO_TO,
	PROFILE_KEY_SYM_FROM,
	PROFILE_KEY_SYM_TO,
	PROFILE_KEY_MISPREDICT,
	PROFILE_KEY_ABORT,
	PROFILE_KEY_IN_TX,
	PROFILE_KEY_CYCLES,
	PROFILE_KEY_SRCLINE_FROM,
	PROFILE_KEY_SRCLINE_TO,
	PROFILE_KEY_ADDR_FROM,
	PROFILE_KEY_ADDR_TO,
	PROFILE_KEY_SYM_DADDR,
	PROFILE_KEY_DSO_DADDR,
	PROFILE_KEY_LOCKED,
	PROFILE_KEY_TLB,
	PROFILE_KEY_MEM,
	PROFILE_KEY_SNOOP,
	PROFILE_KEY_DCACHELINE,
	PROFILE_KEY_SYM_IADDR,
	PROFILE_KEY_PHYS_DADDR,
	PROFILE_KEY_DATA_PAGE,
	PROFILE_KEY_BLOCKED,
};

int profile_key_find(const char *word)
{
	if (!strcmp(word, "tid"))
		return PROFILE_KEY_PID; /* newer perfs' word for it */
	for (size_t i = 0; i < ARRAY_SIZE(search_order) && *word; i++)
		if (!strncasecmp(word, infos[search_order[i]].word, strlen(word)))
			return search_order[i];
	return -ENOENT;
}

const char *profile_key_word(u32 index)
{
	return index < ARRAY_SIZE(search_order) ? infos[search_order[index]].word : NULL;
}

bool profile_key_is_measure(enum profile_key key)
{
	return key >= PROFILE_OVERHEAD_CHILDREN;
}

bool profile_key_is_branch(enum profile_key key)
{
	return key >= PROFILE_KEY_MISPREDICT && key <= PROFILE_KEY_SYM_TO;
}

/* ---- which keys ---- */

static bool same_field(const struct profile_field *a, const struct profile_field *b)
{
	return a->key == b->key && a->event == b->event && a->field == b->field;
}

bool keys_has(const struct profile *p, enum profile_key key)
{
	for (u32 i = 0; i < p->cfg.nr_sort; i++)
		if (p->cfg.sort[i].key == key)
			return true;
	return false;
}

static void usual_layout(struct profile_config *c)
{
	c->self = c->children;
	if (c->children)
		c->fields[c->nr_fields++].key = PROFILE_OVERHEAD_CHILDREN;
	c->fields[c->nr_fields++].key = PROFILE_OVERHEAD;
	memcpy(c->sort, c->fields, sizeof(c->sort));
	c->nr_sort = c->nr_fields;
	if (c->show_count)
		c->fields[c->nr_fields++].key = PROFILE_SAMPLES;
	if (c->show_period)
		c->fields[c->nr_fields++].key = PROFILE_PERIOD;
	for (u32 i = 0; i < c->nr_keys; i++) {
		c->fields[c->nr_fields++].key = c->keys[i];
		c->sort[c->nr_sort++].key = c->keys[i];
	}
}

/* The word that says what an address is called. */
static struct profile_field place_of(enum profile_key key)
{
	return (struct profile_field){ .key = PROFILE_KEY_PLACE, .event = key };
}

int keys_settle(struct profile *p)
{
	struct profile_config *c = &p->cfg;
	if (!c->nr_fields) {
		if (c->nr_keys + 4 > PROFILE_FIELDS_MAX)
			return -EINVAL;
		usual_layout(c);
	}
	for (u32 i = 0; i < c->nr_sort; i++) {
		const struct profile_field *f = &c->sort[i];
		bool known = f->key > PROFILE_KEY_PARENT;
		for (u32 k = 0; k < p->nr_values && !known; k++)
			known = same_field(&p->values[k], f);
		if (known)
			continue;
		bool place = hw_has_place(f->key);
		if (p->nr_values + place >= PROFILE_VALUES_MAX)
			return -EINVAL;
		p->values[p->nr_values++] = *f;
		if (place)
			p->values[p->nr_values++] = place_of(f->key);
		p->with_texts |= f->key >= PROFILE_KEY_TRACE;
	}
	p->stride = 1 + p->nr_values;
	for (u32 i = 0; i < c->nr_fields; i++)
		p->with_measures |= c->fields[i].key >= PROFILE_OVERHEAD_SYS &&
				    c->fields[i].key <= PROFILE_OVERHEAD_GUEST_US;
	return 0;
}

/* ---- texts ---- */

void texts_init(struct texts *t)
{
	*t = (struct texts){ 0 };
	strtab_init(&t->keys);
	arena_init(&t->arena);
}

void texts_done(struct texts *t)
{
	strtab_done(&t->keys);
	arena_done(&t->arena);
	vec_free(&t->shown);
}

static s64 texts_add(struct texts *t, const char *key, size_t len)
{
	s64 id = strtab_add(&t->keys, key, len);
	while (id >= 0 && t->shown.nr <= (size_t)id)
		if (!vec_push(&t->shown))
			return -ENOMEM;
	return id;
}

const char *texts_shown(const struct texts *t, u64 id)
{
	return id < t->shown.nr && t->shown.at[id] ? t->shown.at[id] : strtab_str(&t->keys, (u32)id);
}

/* "name=value" among words: where the value is, or NULL. */
static const char *find_value(const char *text, const char *name, size_t *len)
{
	size_t name_len = strlen(name);
	for (const char *at = text; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (!strncmp(at, name, name_len) && at[name_len]) {
			*len = strcspn(at + name_len + 1, " ");
			return at + name_len + 1;
		}
	}
	return NULL;
}

/* What a person sees of a field: as the event's own text has it, else as a plain number or string. */
static const char *field_text(struct texts *t, const struct profile_field *f, const struct sample *s)
{
	struct strbuf to;
	strbuf_init(&to);
	const char *found = NULL;
	size_t len = 0;
	if (!f->raw) {
		(void)s->schema->ops->print(s->schema, s->raw, s->raw_size, &to);
		found = find_value(strbuf_cstr(&to), f->field->name, &len);
	}
	if (!found) {
		strbuf_reset(&to);
		u32 size = 0;
		const char *bytes =
			f->field->flags & FIELD_STRING
				? schema_bytes(s->schema, f->field, s->raw, s->raw_size, &size)
				: NULL;
		if (bytes)
			strbuf_add(&to, bytes, size);
		else
			(void)s->schema->ops->print_fields(s->schema, s->raw, s->raw_size, &to);
		found = bytes ? strbuf_cstr(&to)
			      : find_value(strbuf_cstr(&to), f->field->name, &len);
		len = bytes ? size : len;
	}
	const char *kept = found && !to.err ? arena_strndup(&t->arena, found, len)
					    : arena_strdup(&t->arena, "");
	strbuf_done(&to);
	return kept;
}

/* Fields are told apart by their bytes; as digits, which sort as the bytes do. Behind a letter of their own. */
static s64 field_value(struct texts *t, u32 slot, const struct profile_field *f,
		       const struct sample *s)
{
	static const char digits[] = "0123456789abcdef";
	char key[512] = { (char)(1 + slot) };
	u32 size = 0, len = 1;
	const u8 *bytes = schema_bytes(s->schema, f->field, s->raw, s->raw_size, &size);
	for (u32 i = 0; bytes && i < size && len + 2 < sizeof(key); i++) {
		key[len++] = digits[bytes[i] >> 4];
		key[len++] = digits[bytes[i] & 15];
	}
	s64 id = texts_add(t, key, len);
	if (id < 0 || t->shown.at[id])
		return id;
	t->shown.at[id] = field_text(t, f, s);
	return t->shown.at[id] ? id : -ENOMEM;
}

static s64 trace_value(struct texts *t, const struct sample *s)
{
	if (!s->raw || !s->schema || !s->schema->ops)
		return texts_add(t, "N/A", 3);
	struct strbuf to;
	strbuf_init(&to);
	(void)s->schema->ops->print(s->schema, s->raw, s->raw_size, &to);
	s64 id = to.err ? to.err : texts_add(t, strbuf_cstr(&to), strlen(strbuf_cstr(&to)));
	strbuf_done(&to);
	return id;
}

/* ---- values ---- */

static s64 text_value(const struct profile *p, u32 slot, struct texts *t, const struct sample *s)
{
	const struct profile_field *f = &p->values[slot];
	if (f->key == PROFILE_KEY_TRACE)
		return trace_value(t, s);
	if (f->key != PROFILE_KEY_FIELD || f->event != s->event || !s->raw || !s->schema)
		return 0; /* other events do not show it; parents are found later */
	return field_value(t, slot, f, s);
}

static u64 cgroup_ns(const struct profile *p, const struct sample *s)
{
	const struct profile_env *e = &p->cfg.env;
	return e->cgroup_ns ? e->cgroup_ns(e->ctx, (u32)s->tid, s->time_ns) : 0;
}

int keys_values(const struct profile *p, struct texts *t, const struct sample *s, u64 *words)
{
	for (u32 i = 0; i < p->nr_values; i++) {
		u64 v = 0;
		switch (p->values[i].key) {
		case PROFILE_KEY_COMM: v = s->comm; break;
		case PROFILE_KEY_PID: v = (u32)s->tid; break;
		case PROFILE_KEY_TGID: v = (u32)s->pid; break;
		case PROFILE_KEY_CPU: v = (u32)s->cpu; break;
		case PROFILE_KEY_SOCKET:
			v = (u32)(s->cpu >= 0 && (u32)s->cpu < p->cfg.env.nr_cpus
					  ? p->cfg.env.socket_of[s->cpu]
					  : -1);
			break;
		case PROFILE_KEY_TIME: v = s->time_ns - s->time_ns % p->cfg.quantum_ns; break;
		case PROFILE_KEY_WEIGHT:
		case PROFILE_KEY_LOCAL_WEIGHT: v = s->weight; break;
		case PROFILE_KEY_CGROUP: v = s->cgroup; break;
		case PROFILE_KEY_CGROUP_ID: v = cgroup_ns(p, s); break;
		case PROFILE_KEY_MISPREDICT ... PROFILE_KEY_ADDR:
			v = hw_value(&p->values[i], s);
			break;
		default: {
			s64 id = text_value(p, i, t, s);
			if (id < 0)
				return (int)id;
			v = (u64)id;
		}
		}
		words[i] = v;
	}
	return 0;
}

int keys_translate(struct profile *p, const struct texts *from, const u32 *map_frame,
		   const u64 *words, u64 *ret)
{
	memcpy(ret, words, p->stride * sizeof(*ret));
	for (u32 i = 0; i < p->nr_values && map_frame; i++)
		if (hw_is_frame(p->values[i].key))
			ret[1 + i] = map_frame[words[1 + i]];
	for (u32 i = 0; i < p->nr_values && p->with_texts; i++) {
		if (p->values[i].key < PROFILE_KEY_TRACE || !words[1 + i])
			continue;
		const char *key = strtab_str(&from->keys, (u32)words[1 + i]);
		s64 id = texts_add(&p->texts, key, strlen(key));
		if (id < 0)
			return (int)id;
		const char *shown = from->shown.at[words[1 + i]];
		if (shown && !p->texts.shown.at[id] &&
		    !(p->texts.shown.at[id] = arena_strdup(&p->texts.arena, shown)))
			return -ENOMEM;
		ret[1 + i] = (u64)id;
	}
	return 0;
}

s64 keys_text(struct profile *p, const char *name)
{
	return texts_add(&p->texts, name, strlen(name));
}

static u64 word_of(const struct profile *p, const struct profile_field *f, const struct row *r)
{
	for (u32 i = 0; i < p->nr_values; i++)
		if (same_field(&p->values[i], f))
			return group_words(p, r->group)[1 + i];
	return 0;
}

/* ---- order ---- */

static int order(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int order_signed(s64 a, s64 b)
{
	return (a > b) - (a < b);
}

const char *keys_dso_name(const struct profile *p, u32 func)
{
	return strtab_str(&p->dsos, p->dso_of[p->names->funcs[func].image]);
}

static u64 sym_size(const struct profile *p, u32 func)
{
	const struct name_func *f = &p->names->funcs[func];
	return f->name ? f->end - f->start : 0;
}

static u64 dso_size(const struct profile *p, u32 func)
{
	const struct profile_env *e = &p->cfg.env;
	return e->image_size ? e->image_size(e->ctx, p->names->funcs[func].image) : 0;
}

static int compare_comms(const struct profile *p, u32 a, u32 b)
{
	char own[2][COMM_TEXT];
	return a == b ? 0
		      : strcmp(comm_text(p->catalog, a, own[0]), comm_text(p->catalog, b, own[1]));
}

static int compare_funcs(const struct profile *p, const struct row *a, const struct row *b)
{
	const struct name_func *fa = &p->names->funcs[a->func], *fb = &p->names->funcs[b->func];
	int c = fa->name && fb->name ? strcmp(fa->name, fb->name)
				     : !fa->name - !fb->name; /* addresses after names */
	if (!c)
		c = strcmp(keys_dso_name(p, a->func), keys_dso_name(p, b->func));
	return c ? c : order(fa->start, fb->start);
}

static int compare_parents(const struct profile *p, u64 a, u64 b)
{
	if (!a || !b)
		return !a - !b; /* those without come last */
	return strcmp(texts_shown(&p->texts, a), texts_shown(&p->texts, b));
}

u64 keys_measure(const struct profile *p, enum profile_key key, const struct row *r)
{
	static const struct measures none;
	const struct measures *m = r->measures ? &p->measures.at[r->measures - 1] : &none;
	switch (key) {
	case PROFILE_OVERHEAD_CHILDREN: return r->total;
	case PROFILE_OVERHEAD_SYS: return m->sys;
	case PROFILE_OVERHEAD_US: return m->us;
	case PROFILE_OVERHEAD_GUEST_SYS: return m->guest_sys;
	case PROFILE_OVERHEAD_GUEST_US: return m->guest_us;
	case PROFILE_SAMPLES: return r->count;
	default: return r->self;
	}
}

u64 keys_identity(const struct profile *p, const struct profile_field *f, const struct row *r)
{
	switch (f->key) {
	case PROFILE_KEY_DSO: return p->dso_of[p->names->funcs[r->func].image];
	case PROFILE_KEY_SYM: return r->key;
	case PROFILE_KEY_SYM_SIZE: return sym_size(p, r->func);
	case PROFILE_KEY_DSO_SIZE: return dso_size(p, r->func);
	case PROFILE_KEY_SRCLINE: return p->srcline_of[r->func];
	case PROFILE_KEY_SRCFILE: return p->srcfile_of[r->func];
	default: return word_of(p, f, r);
	}
}

static int compare_sources(const struct profile *p, const u32 *text_of_func, const struct row *a,
			   const struct row *b)
{
	return strcmp(strtab_str(&p->sources, text_of_func[a->func]),
		      strtab_str(&p->sources, text_of_func[b->func]));
}

/* Of equal weight, callers stand above what they call. Only depths of one group can be compared, so groups come first: an order that asks for
 * depth in some pairs and for names in others is none, and its result would hang on which worker saw which row first. */
static int compare_callers(const struct profile *p, const struct row *a, const struct row *b)
{
	if (!p->cfg.children || !p->cfg.graph)
		return 0;
	for (u32 i = 0; i < p->nr_values && a->group != b->group; i++) {
		int c = keys_compare(p, &p->values[i], a, b);
		if (c)
			return c;
	}
	if (a->depth == b->depth)
		return 0;
	return (a->depth > b->depth) == (p->cfg.order == PROFILE_CALLER) ? -1 : 1;
}

int keys_compare(const struct profile *p, const struct profile_field *f, const struct row *a,
		 const struct row *b)
{
	if (f->key == PROFILE_OVERHEAD_CHILDREN)
		return a->total != b->total ? (a->total > b->total ? -1 : 1)
					    : compare_callers(p, a, b);
	if (profile_key_is_measure(f->key))
		return order(keys_measure(p, f->key, b), keys_measure(p, f->key, a));
	switch (f->key) {
	case PROFILE_KEY_DSO: return strcmp(keys_dso_name(p, a->func), keys_dso_name(p, b->func));
	case PROFILE_KEY_SYM: return compare_funcs(p, a, b);
	case PROFILE_KEY_SYM_SIZE: return order(sym_size(p, a->func), sym_size(p, b->func));
	case PROFILE_KEY_DSO_SIZE: return order(dso_size(p, a->func), dso_size(p, b->func));
	case PROFILE_KEY_SRCLINE: return compare_sources(p, p->srcline_of, a, b);
	case PROFILE_KEY_SRCFILE: return compare_sources(p, p->srcfile_of, a, b);
	default: break;
	}
	u64 x = word_of(p, f, a), y = word_of(p, f, b);
	switch (f->key) {
	case PROFILE_KEY_COMM: return compare_comms(p, (u32)x, (u32)y);
	case PROFILE_KEY_PID:
	case PROFILE_KEY_TGID:
	case PROFILE_KEY_CPU:
	case PROFILE_KEY_SOCKET: return order_signed((s32)x, (s32)y);
	case PROFILE_KEY_CGROUP_ID: /* the largest first, as in perf */
	case PROFILE_KEY_WEIGHT:
	case PROFILE_KEY_LOCAL_WEIGHT: return order(y, x);
	case PROFILE_KEY_MISPREDICT ... PROFILE_KEY_ADDR: return hw_compare(p, f->key, x, y);
	case PROFILE_KEY_TRACE: return strcmp(texts_shown(&p->texts, x), texts_shown(&p->texts, y));
	case PROFILE_KEY_FIELD: /* the largest first */
		return strcmp(strtab_str(&p->texts.keys, (u32)y),
			      strtab_str(&p->texts.keys, (u32)x));
	case PROFILE_KEY_PARENT: return compare_parents(p, x, y);
	default: return order(x, y);
	}
}

/* ---- cells ---- */

/* perf's width of a field: room for its largest number as hexadecimal, or for the whole of an array. */
static u32 field_width(const struct schema_field *f)
{
	return f->flags & FIELD_STRING ? f->size : f->size * 2 + 2;
}

struct column *keys_column(const struct profile *p, const struct profile_field *f, struct table *t)
{
	const struct key_info *i = &infos[f->key];
	bool self = f->key == PROFILE_OVERHEAD && p->cfg.self;
	const char *name = f->field ? f->field->name : self ? "Self" : i->name;
	struct column *c = table_column(t, name,
					f->field ? name
					: self	 ? "self"
						 : i->json,
					i->type);
	if (!c)
		return NULL;
	c->min_width = f->field ? field_width(f->field) : i->min_width;
	c->fixed_width = i->fixed ? (u32)strlen(i->name) : 0;
	c->digits = i->type == CELL_TIME && p->cfg.nanoseconds ? 9 : i->digits;
	c->left = i->left;
	c->right = f->field != NULL;
	c->loose = i->loose;
	c->text = f->field && f->field->flags & FIELD_STRING ? TEXT_PLAIN : i->text;
	return c;
}

const char *keys_symbol(struct arena *a, const struct name_func *f, char letter)
{
	static const char letters[] = {
		[FRAME_UNKNOWN] = '.',	  [FRAME_KERNEL] = 'k',	      [FRAME_USER] = '.',
		[FRAME_HYPERVISOR] = 'H', [FRAME_GUEST_KERNEL] = 'g', [FRAME_GUEST_USER] = 'u',
		[FRAME_MARK] = '!',
	};
	struct strbuf s;
	strbuf_init(&s);
	strbuf_printf(&s, "[%c] ", letter ? letter : letters[f->mode]);
	if (f->name)
		strbuf_str(&s, f->inlined ? name_label(f) : f->name);
	else
		strbuf_printf(&s, f->start ? "%#018llx" : "%016llx", (unsigned long long)f->start);
	const char *text = s.err ? NULL : arena_strndup(a, s.data, s.len);
	strbuf_done(&s);
	return text;
}

static const char *comm_of(const struct profile *p, u32 comm, struct arena *a)
{
	char own[COMM_TEXT];
	const char *text = comm_text(p->catalog, comm, own);
	return text == own || p->cfg.own_names ? arena_strdup(a, text) : text;
}

/* A task is one row, whatever it was called on the way: it goes by its last name. */
static const char *task_cell(const struct profile *p, s32 tid, struct arena *a)
{
	u32 comm = dict_get(&p->catalog->last_comm, (u32)tid);
	char own[COMM_TEXT], *text = arena_alloc(a, 64);
	if (text)
		snprintf(text, 64, "%7d:%s", tid,
			 comm_text(p->catalog, comm == DICT_NONE ? COMM_UNNAMED(tid) : comm, own));
	return text;
}

static const char *cgroup_cell(const struct profile *p, u64 id, struct arena *a)
{
	const struct profile_env *e = &p->cfg.env;
	const char *name = id && e->cgroup_name ? e->cgroup_name(e->ctx, id) : NULL;
	if (name || !id)
		return name ? name : "N/A";
	char *text = arena_alloc(a, 32);
	if (text)
		snprintf(text, 32, "unknown[%llu]", (unsigned long long)id);
	return text;
}

static const char *cgroup_ns_cell(const struct profile *p, u64 number, struct arena *a)
{
	const struct profile_env *e = &p->cfg.env;
	return e->cgroup_ns_name ? e->cgroup_ns_name(e->ctx, number, a) : "N/A";
}

static const char *string_cell(const struct profile *p, const struct profile_field *f,
			       const struct row *r, struct arena *a)
{
	u64 word = f->key <= PROFILE_KEY_PARENT ? word_of(p, f, r) : 0;
	switch (f->key) {
	case PROFILE_KEY_COMM: return comm_of(p, (u32)word, a);
	case PROFILE_KEY_PID:
	case PROFILE_KEY_TGID: return task_cell(p, (s32)word, a);
	case PROFILE_KEY_CGROUP: return cgroup_cell(p, word, a);
	case PROFILE_KEY_CGROUP_ID: return cgroup_ns_cell(p, word, a);
	case PROFILE_KEY_TRACE:
	case PROFILE_KEY_FIELD: return texts_shown(&p->texts, word);
	case PROFILE_KEY_PARENT: return word ? texts_shown(&p->texts, word) : "[other]";
	case PROFILE_KEY_DSO: return keys_dso_name(p, r->func);
	case PROFILE_KEY_SRCLINE: return strtab_str(&p->sources, p->srcline_of[r->func]);
	case PROFILE_KEY_SRCFILE: return strtab_str(&p->sources, p->srcfile_of[r->func]);
	case PROFILE_KEY_MISPREDICT ... PROFILE_KEY_ADDR: {
		struct profile_field place = place_of(f->key);
		return hw_cell(p, f->key, r, word, hw_has_place(f->key) ? word_of(p, &place, r) : 0,
			       a);
	}
	default: return keys_symbol(a, &p->names->funcs[r->func], 0);
	}
}

int keys_cell(const struct profile *p, const struct profile_field *f, const struct row *r,
	      u64 total, struct table *t, union cell *ret)
{
	u64 word;
	switch (infos[f->key].type) {
	case CELL_PERCENT:
		ret->f = 100.0 * (double)keys_measure(p, f->key, r) / (total ? (double)total : 1);
		break;
	case CELL_U64: ret->u = keys_measure(p, f->key, r); break;
	case CELL_S64: ret->s = (s32)word_of(p, f, r); break;
	case CELL_STR: ret->str = string_cell(p, f, r, &t->arena); return ret->str ? 0 : -ENOMEM;
	default:
		word = f->key == PROFILE_KEY_SYM_SIZE	? sym_size(p, r->func)
		       : f->key == PROFILE_KEY_DSO_SIZE ? dso_size(p, r->func)
							: word_of(p, f, r);
		/* What all of the row's samples cost; the "local" ones say what one did. */
		if (f->key == PROFILE_KEY_WEIGHT || f->key == PROFILE_KEY_INS_LAT ||
		    f->key == PROFILE_KEY_STAGE_CYCLES)
			word *= r->count;
		ret->u = word;
		break;
	}
	return 0;
}

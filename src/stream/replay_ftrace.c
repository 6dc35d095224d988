/*
 * trace.dat → samples: opening files, what their events are called and how they print, the source's life. What walks the pages is
 * replay_ftrace_windows.c.
 */
#include "stream/replay_ftrace.h"
#include "base/str.h"

#include "stream/ftrace_samples.h"
#include "stream/replay_ftrace_impl.h"

#include <errno.h>

u64 replay_ftrace_scale_ns(const struct replay_ftrace_part *p, u64 time)
{
	const struct timebase *tb = &p->times;
	time += (u64)p->ts_offset;
	if (tb->mult)
		time = (u64)(((unsigned __int128)time * tb->mult) >> tb->shift);
	return time + (u64)tb->offset_ns - p->replay->zero_ns;
}

static void set_times(struct replay *r)
{
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		l->scaled = l->part->times.mult;
		l->add_ns = l->scaled ? 0 : replay_ftrace_scale_ns(l->part, 0);
	}
}

/* ---- events ---- */

static int print_event(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	const struct event_def *def = s->impl;
	return print_prog_run(def->prog, raw, size, to);
}

/* What programs write to trace_marker ends in a line end of its own. */
static int print_sample(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	size_t before = to->len;
	int err = print_event(s, raw, size, to);
	if (to->len > before && to->data[to->len - 1] == '\n')
		to->len--;
	return err;
}

static int print_event_fields(const struct schema *s, const void *raw, u32 size, struct strbuf *to)
{
	const struct event_def *def = s->impl;
	return print_prog_run_fields(def->prog, raw, size, to);
}

static const struct schema_ops event_ops = { .print = print_event,
					     .print_fields = print_event_fields };
static const struct schema_ops sample_ops = { .print = print_sample,
					      .print_fields = print_event_fields };

static struct event_def *make_def(struct replay_ftrace_part *p, u32 id)
{
	struct replay *r = p->replay;
	u32 index = p->format_of[id];
	if (!index)
		return NULL;
	const struct tracedat_format *f = &p->file.formats.at[index - 1];
	struct event_def *def = arena_zalloc(&r->defs_arena, sizeof(*def));
	bool whole;
	if (!def)
		return NULL;
	def->event = r->samples ? p->event_of[index - 1] - 1 : p->first_event + index - 1;
	def->part = p;
	bool plain = r->plain && r->plain(r->ctx, f->system, f->name);
	int err = format_parse(&r->defs_arena, f->system, f->text.data, f->text.len, p->big_endian,
			       p->file.long_size, &def->schema, NULL);
	if (!err)
		err = print_prog_compile(&r->defs_arena, def->schema, &p->env.print,
					 plain ? PRINT_STYLE_KERNEL : r->style, &def->prog, &whole,
					 NULL);
	if (err)
		return NULL;
	def->schema->ops = r->samples ? &sample_ops : &event_ops;
	def->schema->impl = def;
	def->no_task = def->schema->common_pid < 0;
	return def;
}

const struct event_def replay_ftrace_no_def = { .event = UINT32_MAX };

const struct event_def *replay_ftrace_slow_def(struct replay_ftrace_part *p, u32 id)
{
	pthread_mutex_lock(&p->replay->defs_lock);
	const struct event_def *def = atomic_load_explicit(&p->defs[id], memory_order_relaxed);
	if (!def) {
		def = make_def(p, id);
		if (!def)
			def = &replay_ftrace_no_def;
		atomic_store_explicit(&p->defs[id], def, memory_order_release);
	}
	pthread_mutex_unlock(&p->replay->defs_lock);
	return def;
}

static struct replay_ftrace_part *part_of_event(const struct replay *r, u32 event, u32 *format)
{
	u32 i = r->nr_parts - 1;
	if (r->samples) {
		*format = r->refs.at[event].format;
		return &r->parts[r->refs.at[event].part];
	}
	while (i && r->parts[i].first_event > event)
		i--;
	*format = event - r->parts[i].first_event;
	return &r->parts[i];
}

const struct tracedat_format *replay_ftrace_format(const struct source *s, u32 event)
{
	u32 format;
	const struct replay_ftrace_part *p = part_of_event(replay_of(s), event, &format);
	return &p->file.formats.at[format];
}

const struct schema *replay_ftrace_schema(struct source *s, u32 event)
{
	u32 format;
	struct replay_ftrace_part *p = part_of_event(replay_of(s), event, &format);
	return def_of(p, p->file.formats.at[format].id)->schema;
}

/* ---- the source ---- */

int replay_ftrace_name_tasks(struct replay_ftrace_part *p)
{
	u32 nr = ftrace_env_nr_comms(&p->env);
	free(p->comm_ids);
	p->comm_ids = calloc(max(nr, 1u), sizeof(*p->comm_ids));
	if (!p->comm_ids)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		s64 id = strtab_add(&p->replay->source.catalog.strings, p->env.comm_texts[i],
				    strlen(p->env.comm_texts[i]));
		if (id < 0)
			return (int)id;
		p->comm_ids[i] = (u32)id;
	}
	return 0;
}

bool replay_ftrace_has_chains(const struct source *s)
{
	return replay_of(s)->has_chains;
}

static int prepare_part(struct replay_ftrace_part *p)
{
	struct catalog *c = &p->replay->source.catalog;
	if (!vec_reserve(&c->events, c->events.nr + p->file.formats.nr))
		return -ENOMEM;
	vec_for_each (&p->file.formats, f) {
		struct event_info *e = vec_push(&c->events);
		*e = (struct event_info){ .name = f->name, .config = f->id };
	}
	return 0;
}

/* A source may be run again. */
static void plan_anew(struct replay *r)
{
	r->plan_time = r->from;
	r->plan_seq = 0;
	r->plan_done = false;
	r->nr_shards = 0;
	r->nr_bad_pages = r->counts_before.nr_bad_pages;
	r->nr_stray = r->counts_before.nr_stray;
	r->nr_unknown = r->counts_before.nr_unknown;
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		l->next = l->first;
		l->low_chunk = 0;
	}
	if (r->rounds)
		return;
	calls_done(&r->open_calls);
	r->open_calls = (struct calls){ 0 };
}

int replay_ftrace_prepare(struct source *src, unsigned needs, struct diag *d)
{
	struct replay *r = replay_of(src);
	int err = 0;
	r->needs = needs;
	plan_anew(r);
	if (!r->prepared && r->samples)
		err = ftrace_samples_prepare(r);
	for (u32 i = 0; i < r->nr_parts && !r->prepared && !r->samples && !err; i++)
		err = prepare_part(&r->parts[i]);
	r->prepared = !err;
	if (!err && !r->rounds)
		replay_ftrace_choose_times(r);
	for (u32 i = 0; i < r->nr_parts && !err && needs & NEED_COMM; i++)
		if (!r->parts[i].comm_ids)
			err = replay_ftrace_name_tasks(&r->parts[i]);
	return err;
}

void replay_ftrace_finish(struct source *src, struct diag *d)
{
	struct replay *r = replay_of(src);
	for (u32 i = 0; i < r->nr_parts; i++)
		if (r->parts[i].file.budget.stage)
			(void)budget_refuse(&r->parts[i].file.budget, r->parts[i].file.name, d);
	if (r->nr_bad_pages)
		diag_warn(d, "%llu pages end with invalid data; the rest of them was skipped",
			  (unsigned long long)r->nr_bad_pages);
	if (r->nr_stray)
		diag_note(d, "%llu stacks do not follow an event of their task and were skipped",
			  (unsigned long long)r->nr_stray);
	if (r->nr_unknown)
		diag_warn(d, "%llu %s skipped: the file has no format for %s",
			  (unsigned long long)r->nr_unknown,
			  str_plural(r->nr_unknown, "event was", "events were"),
			  str_plural(r->nr_unknown, "it", "them"));
	if (r->samples && r->source.catalog.nr_lost_events)
		diag_warn(d, "events were lost %llu times while recording%s",
			  (unsigned long long)r->source.catalog.nr_lost_events,
			  r->serial ? ": calls across a gap are not counted" : "");
	if (r->nr_bad_chunks)
		diag_warn(d, "cannot decompress %llu chunks; their events are missing",
			  (unsigned long long)r->nr_bad_chunks);
}

void replay_ftrace_close(struct source *src)
{
	struct replay *r = replay_of(src);
	for (u32 i = 0; i < r->nr_lanes; i++) {
		struct lane *l = &r->lanes[i];
		for (u32 k = 0; l->held && k < l->cpu->nr_chunks; k++)
			free(l->held[k].data);
		free(l->held);
	}
	free(r->lanes);
	for (u32 i = 0; i < r->nr_parts; i++) {
		struct replay_ftrace_part *p = &r->parts[i];
		free(p->comm_ids);
		free(p->seen);
		free(p->event_of);
		if (p->has_frames)
			ftrace_frames_done(&p->frames);
		free(p->format_of);
		free(p->defs);
		if (p->has_env)
			ftrace_env_done(&p->env);
		if (p->is_open)
			tracedat_close(&p->file);
	}
	free(r->parts);
	vec_free(&r->refs);
	calls_done(&r->open_calls);
	arena_done(&r->defs_arena);
	catalog_done(&src->catalog);
	pthread_mutex_destroy(&r->defs_lock);
	pthread_mutex_destroy(&r->plan_lock);
	free(r);
}

void replay_ftrace_describe(const struct source *s, struct source_facts *ret)
{
	*ret = (struct source_facts){ .kind = SOURCE_TRACE, .has_chains = replay_of(s)->has_chains };
}

const char *replay_ftrace_symbol(struct source *s, u32 buffer, u64 addr, u64 *offset)
{
	return ftrace_env_symbol(replay_ftrace_env(s, replay_ftrace_file_of(s, buffer, NULL)), addr,
				 offset);
}

const char *replay_ftrace_task_name(struct source *s, u32 buffer, s32 pid)
{
	return ftrace_env_comm(replay_ftrace_env(s, replay_ftrace_file_of(s, buffer, NULL)), pid);
}

static const struct source_ops replay_ops = {
	.prepare = replay_ftrace_prepare,
	.shard_open = replay_ftrace_shard_open,
	.shard_close = replay_ftrace_shard_close,
	.next_block = replay_ftrace_next_block,
	.next_batch = replay_ftrace_next_batch,
	.finish = replay_ftrace_finish,
	.close = replay_ftrace_close,
	.describe = replay_ftrace_describe,
	.symbol = replay_ftrace_symbol,
	.task_name = replay_ftrace_task_name,
	.schema = replay_ftrace_schema,
};

/* ---- opening ---- */

static const char *env_text(void *ctx, enum ftrace_env_text which, size_t *len)
{
	static const enum tracedat_part parts[] = {
		[FTRACE_ENV_KALLSYMS] = TRACEDAT_KALLSYMS,
		[FTRACE_ENV_PRINTK] = TRACEDAT_PRINTK,
		[FTRACE_ENV_CMDLINES] = TRACEDAT_CMDLINES,
	};
	struct replay_ftrace_part *p = ctx;
	/* The file's unpacker is the planner's while it runs. */
	pthread_mutex_lock(&p->replay->plan_lock);
	struct tracedat_text text = tracedat_text(&p->file, parts[which]);
	pthread_mutex_unlock(&p->replay->plan_lock);
	*len = text.len;
	return text.data;
}

static int add_lanes(struct replay *r, struct replay_ftrace_part *p,
		     const struct replay_ftrace_opts *o, bool all)
{
	vec_for_each (&p->file.buffers, b) {
		for (u32 i = 0; i < b->nr_cpus; i++) {
			const struct tracedat_cpu *c = &b->cpus[i];
			if ((!c->nr_pages && !all) || (o->cpus && !cpuset_has(o->cpus, c->cpu)))
				continue;
			struct lane *l = &r->lanes[r->nr_lanes++];
			*l = (struct lane){ .part = p,
					    .cpu = c,
					    .buffer =
						    p->first_buffer + (u32)(b - p->file.buffers.at),
					    .page_size = b->page_size,
					    .nr_pages = c->nr_pages };
			if (c->pages || !c->nr_pages)
				continue;
			l->pages_per_chunk = max(c->chunks[0].size / b->page_size, 1u);
			l->held = calloc(c->nr_chunks, sizeof(*l->held));
			if (!l->held)
				return -ENOMEM;
		}
	}
	return 0;
}

int replay_ftrace_make_lanes(struct replay *r, const struct replay_ftrace_opts *o, bool all)
{
	size_t nr = 0;
	for (u32 i = 0; i < r->nr_parts; i++)
		vec_for_each (&r->parts[i].file.buffers, b)
			nr += b->nr_cpus;
	r->lanes = calloc(max(nr, (size_t)1), sizeof(*r->lanes));
	if (!r->lanes)
		return -ENOMEM;
	int err = 0;
	for (u32 i = 0; i < r->nr_parts && !err; i++)
		err = add_lanes(r, &r->parts[i], o, all);
	set_times(r);
	r->lane_pages = o->window_pages
				? o->window_pages
				: max(WINDOW_PAGES / max(r->nr_lanes, 1u), (u32)LANE_PAGES_MIN);
	return err;
}

/* Where type and pid stand is the same in all formats of a kernel; one that has both tells. */
static void find_common_fields(struct replay_ftrace_part *p)
{
	struct arena a;
	struct schema *s;
	p->type_size = 2;
	p->pid_offset = 4;
	arena_init(&a);
	for (size_t i = 0; i < p->file.formats.nr && i < 8; i++) {
		const struct tracedat_format *f = &p->file.formats.at[i];
		if (format_parse(&a, f->system, f->text.data, f->text.len, p->big_endian,
				 p->file.long_size, &s, NULL) ||
		    s->common_type < 0 || s->common_pid < 0)
			continue;
		const struct schema_field *type = &s->fields[s->common_type],
					  *pid = &s->fields[s->common_pid];
		if ((type->size != 1 && type->size != 2) || pid->size != 4 || type->offset > 4096 ||
		    pid->offset > 4096)
			continue;
		p->type_offset = type->offset;
		p->type_size = type->size;
		p->pid_offset = pid->offset;
		break;
	}
	arena_done(&a);
}

/* The clock's ticks as nanoseconds: ticks * mult >> shift. */
static void set_hz(struct timebase *tb, u64 hz)
{
	tb->shift = 32;
	tb->mult = (u64)(((unsigned __int128)1000000000 << 32) / hz);
}

static void set_timebase(struct replay_ftrace_part *p, const struct replay_ftrace_input *in,
			 const struct replay_ftrace_opts *o)
{
	struct timebase *tb = &p->times;
	const struct tracedat *f = &p->file;
	*tb = (struct timebase){ .clock_id = TIMEBASE_CLOCK_UNKNOWN,
				 .name = f->clock ? f->clock : "local" };
	if (!o->raw_times) {
		p->ts_offset = in->ts_offset;
		tb->offset_ns = o->no_date ? 0 : f->ts_offset_ns;
		if (f->has_tsc2nsec) {
			tb->mult = f->tsc_mult;
			tb->shift = f->tsc_shift;
			/* The offset in the file is nobody's: trace-cmd writes 0 and adds none. */
		}
		if (in->ts_hz)
			set_hz(tb, in->ts_hz);
	}
	if (p == p->replay->parts)
		p->replay->source.catalog.timebase = *tb;
}

int replay_ftrace_init_part(struct replay_ftrace_part *p, const struct replay_ftrace_input *in,
			    const struct replay_ftrace_opts *o)
{
	p->big_endian = p->file.big_endian;
	p->swap = p->file.swap;
	p->format_of = calloc(IDS_MAX, sizeof(*p->format_of));
	p->defs = calloc(IDS_MAX, sizeof(*p->defs));
	if (!p->format_of || !p->defs)
		return -ENOMEM;
	for (size_t i = 0; i < p->file.formats.nr; i++) {
		u32 id = p->file.formats.at[i].id;
		if (id < IDS_MAX && !p->format_of[id])
			p->format_of[id] = (u32)i + 1;
	}
	find_common_fields(p);
	set_timebase(p, in, o);
	int err = ftrace_env_init(&p->env, env_text, p);
	p->has_env = !err;
	struct catalog *c = &p->replay->source.catalog;
	c->nr_cpus = max(c->nr_cpus, p->file.nr_cpus);
	return err;
}

static int open_part(struct replay_ftrace_part *p, const struct replay_ftrace_input *in,
		     const struct replay_ftrace_opts *o, struct diag *d)
{
	int err = in->data ? tracedat_open_memory(&p->file, in->path, in->data, in->size, d)
			   : tracedat_open(&p->file, in->path, d);
	if (err)
		return err;
	p->is_open = true;
	return replay_ftrace_init_part(p, in, o);
}

/* Each file goes on where the one before it ends. */
static void number_parts(struct replay *r)
{
	for (u32 i = 1; i < r->nr_parts; i++) {
		const struct replay_ftrace_part *before = &r->parts[i - 1];
		r->parts[i].first_buffer = before->first_buffer + (u32)before->file.buffers.nr;
		r->parts[i].first_event = before->first_event + (u32)before->file.formats.nr;
	}
}

struct replay *replay_ftrace_new(const struct source_ops *ops, u32 nr_parts,
				 const struct replay_ftrace_opts *o)
{
	struct replay *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->source.ops = ops;
	r->seed = hash_seed();
	r->style = o->style;
	r->samples = o->samples;
	r->calls = o->samples && o->calls;
	r->plain = o->plain;
	r->ctx = o->ctx;
	r->limit = UINT64_MAX;
	pthread_mutex_init(&r->defs_lock, NULL);
	pthread_mutex_init(&r->plan_lock, NULL);
	arena_init(&r->defs_arena);
	r->parts = calloc(max(nr_parts, 1u), sizeof(*r->parts));
	if (catalog_init(&r->source.catalog) || !r->parts) {
		replay_ftrace_close(&r->source);
		return NULL;
	}
	r->nr_parts = nr_parts;
	for (u32 i = 0; i < nr_parts; i++)
		r->parts[i].replay = r;
	return r;
}

int replay_ftrace_open_files(const struct replay_ftrace_input *in, u32 nr,
			     const struct replay_ftrace_opts *o, struct source **ret, struct diag *d)
{
	struct replay *r = replay_ftrace_new(&replay_ops, nr, o);
	int err = r ? 0 : -ENOMEM;
	for (u32 i = 0; i < nr && !err; i++)
		err = open_part(&r->parts[i], &in[i], o, d);
	if (!err) {
		number_parts(r);
		err = replay_ftrace_make_lanes(r, o, false);
	}
	if (err && r)
		replay_ftrace_close(&r->source);
	if (!err)
		*ret = &r->source;
	return err;
}

int replay_ftrace_open(const char *path, const struct replay_ftrace_opts *opts, struct source **ret,
		       struct diag *d)
{
	return replay_ftrace_open_files(&(struct replay_ftrace_input){ .path = path }, 1, opts, ret,
					d);
}

u32 replay_ftrace_nr_files(const struct source *s)
{
	return replay_of(s)->nr_parts;
}

const struct tracedat *replay_ftrace_file(const struct source *s, u32 file)
{
	return &replay_of(s)->parts[file].file;
}

struct ftrace_env *replay_ftrace_env(struct source *s, u32 file)
{
	return &replay_of(s)->parts[file].env;
}

u32 replay_ftrace_nr_buffers(const struct source *s)
{
	const struct replay *r = replay_of(s);
	const struct replay_ftrace_part *last = &r->parts[r->nr_parts - 1];
	return last->first_buffer + (u32)last->file.buffers.nr;
}

bool replay_ftrace_is(const struct source *s)
{
	return s->ops == &replay_ops;
}

u32 replay_ftrace_nr_events(const struct source *s)
{
	const struct replay *r = replay_of(s);
	if (r->samples)
		return (u32)r->refs.nr;
	const struct replay_ftrace_part *last = &r->parts[r->nr_parts - 1];
	return last->first_event + (u32)last->file.formats.nr;
}

u32 replay_ftrace_file_of(const struct source *s, u32 buffer, u32 *ret_buffer)
{
	const struct replay *r = replay_of(s);
	u32 i = r->nr_parts - 1;
	while (i && r->parts[i].first_buffer > buffer)
		i--;
	if (ret_buffer)
		*ret_buffer = buffer - r->parts[i].first_buffer;
	return i;
}

struct tracedat_text replay_ftrace_text(struct source *s, u32 file, enum tracedat_part part)
{
	return tracedat_text(&replay_of(s)->parts[file].file, part);
}

struct tracedat_text replay_ftrace_latency_text(struct source *s, u32 file)
{
	return tracedat_latency_text(&replay_of(s)->parts[file].file);
}

void replay_ftrace_align(struct source *s, u64 zero_ns)
{
	replay_of(s)->zero_ns += zero_ns;
	set_times(replay_of(s));
}

#include "view/text_samples.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/sequencer.h"
#include "model/data_src.h"
#include "view/json_fields.h"
#include "view/text_hw.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <time.h>

/* "\t    1ab70 name+0x1c (library)\n" of a frame, ready to be copied; the address takes ADDR_WIDTH bytes after the tab. */
enum { ADDR_WIDTH = 16, FLAGS_WIDTH = 24, LINE_STEP = 32 };

struct text_samples_line {
	u32 at, len;
};

struct text_samples {
	struct sink sink;
	struct text_samples_opts o;
	struct strbuf *out;
	struct sequencer turns;
	pthread_mutex_t lock; /* for free */
	struct text_block *free;
	VEC(struct text_block *) blocks; /* all of them */
	u32 nr_shards;
	bool *lined; /* [image] */
	struct strbuf lines_text;
	struct text_samples_line *lines; /* [frame]: alone */
	struct text_samples_line *inner; /* in a chain, with what is inlined: where the code ran */
	struct text_samples_line *callers; /* and where it called the next one */
	u32 name_width;
	u16 **before; /* JSON: [event], as json_fields() takes it; each may be NULL */
};

/* A block's text that waits for its turn. */
struct text_block {
	struct sequencer_item item;
	struct strbuf text;
	struct text_block *next; /* that is free, too */
};

struct text_state {
	struct strbuf text;
	struct strbuf *texts; /* [outs.nr]: instead, where there are some */
	u64 *counts;
};

static struct text_samples *ts_of(struct sink *k)
{
	return container_of(k, struct text_samples, sink);
}

static void add_addr(u64 addr, struct strbuf *to)
{
	char digits[NUM_DIGITS_MAX];
	u32 len = num_hex(digits, addr);
	strbuf_fill(to, ' ', ADDR_WIDTH - len);
	strbuf_add(to, digits, len);
}

/* "\n  file.c:12" after everything else. */
static void add_source(struct text_samples *ts, u32 id)
{
	struct strbuf *to = &ts->lines_text;
	strbuf_str(to, "\n  ");
	names_place(ts->o.names, ts->o.catalog, ts->o.frames, id, ts->lined,
		    ts->o.full_path ? PLACE_FULL_PATH : 0, to);
}

/* In a chain, code of a file stands with its place in the file: the same in every process that maps it. */
static void add_line(struct text_samples *ts, u32 frame, u32 id, u32 fields)
{
	struct strbuf *to = &ts->lines_text;
	const struct frame *f = &ts->o.frames->frames[frame];
	strbuf_char(to, '\t');
	add_addr(f->offset, to);
	const struct name_func *func = &ts->o.names->funcs[ts->o.names->func_of[id]];
	if (fields & TEXT_SYM) {
		strbuf_char(to, ' ');
		printable_name(to, func->name ? func->name : "[unknown]");
		if (fields & TEXT_SYMOFF && func->name) {
			strbuf_str(to, "+0x");
			strbuf_hex(to, f->offset - func->start);
		}
	}
	if (fields & TEXT_DSO && !func->inlined) {
		const struct image_info *image = &ts->o.catalog->images.at[f->image];
		strbuf_str(to, " (");
		printable_name(to, image_has_path(image) ? image->path : image->name);
		strbuf_char(to, ')');
	}
	if (fields & TEXT_SRCLINE)
		add_source(ts, id);
	if (func->inlined)
		strbuf_str(to, " (inlined)");
	strbuf_char(to, '\n');
}

/* The lines that a frame stands for, innermost first. */
static struct text_samples_line add_stack(struct text_samples *ts, u32 frame, struct name_stack s,
					  u32 fields)
{
	struct text_samples_line made = { .at = (u32)ts->lines_text.len };
	for (u32 i = s.nr; i-- > 0;)
		add_line(ts, frame, s.first + i, fields);
	made.len = (u32)ts->lines_text.len - made.at;
	return made;
}

static struct text_samples_line *new_lines(struct text_samples *ts, u32 fields, bool stacks,
					   bool called)
{
	const struct names_result *n = ts->o.names;
	struct text_samples_line *lines = calloc(ts->o.frames->nr, sizeof(*lines));
	for (u32 i = 0; lines && i < ts->o.frames->nr; i++)
		lines[i] = add_stack(
			ts, i, stacks ? names_stack(n, i, called) : (struct name_stack){ i, 1 },
			fields);
	return lines;
}

/* Events mostly agree in what they show of a frame: one set of lines, made for the first event that shows frames at all. */
static int make_lines(struct text_samples *ts)
{
	u32 fields = 0;
	for (size_t i = 0; i < ts->o.catalog->events.nr && !fields; i++)
		fields = ts->o.fields[i] & (TEXT_SYM | TEXT_SYMOFF | TEXT_DSO | TEXT_SRCLINE);
	bool stacks = ts->o.names->stacks || ts->o.names->callers;
	ts->lines = new_lines(ts, fields, false, false);
	ts->inner = stacks ? new_lines(ts, fields, true, false) : ts->lines;
	ts->callers = stacks ? new_lines(ts, fields, true, true) : ts->lines;
	strbuf_fill(&ts->lines_text, 0, LINE_STEP); /* read, not shown */
	return ts->lines && ts->inner && ts->callers ? ts->lines_text.err : -ENOMEM;
}

static void add_number(struct strbuf *to, s64 v, u32 width)
{
	char digits[NUM_DIGITS_MAX];
	u32 len = num_s64(digits, v);
	if (len < width)
		strbuf_fill(to, ' ', width - len);
	strbuf_add(to, digits, len);
}

/* A number of cycles. */
static void add_cost(u64 v, struct strbuf *to)
{
	char digits[NUM_DIGITS_MAX];
	u32 len = num_u64(digits, v);
	strbuf_fill(to, ' ', len < 16 ? 16 - len : 0);
	strbuf_add(to, digits, len);
}

static void add_comm(const struct text_samples *ts, const struct sample *s, bool padded,
		     struct strbuf *to)
{
	char name[COMM_TEXT];
	const char *comm = comm_text(ts->o.catalog, s->comm, name);
	printable_right(to, comm, padded ? 16 : 0);
	strbuf_char(to, ' ');
}

static void add_time(const struct text_samples *ts, u64 ns, struct strbuf *to)
{
	if (ts->o.reltime)
		ns -= min(ns, ts->o.so_far->first_time);
	else if (ts->o.deltatime)
		ns -= min(ns, ts->o.so_far->last_time);
	add_number(to, (s64)(ns / 1000000000), 5);
	strbuf_char(to, '.');
	char *digits = strbuf_room(to, NUM_DIGITS_MAX);
	if (digits)
		strbuf_commit(to, ts->o.nanoseconds
					  ? num_u64_pad0(digits, ns % 1000000000, 9)
					  : num_u64_pad0(digits, ns % 1000000000 / 1000, 6));
	strbuf_str(to, ": ");
}

/* On the recorded machine's calendar, in our time zone. */
static void add_time_of_day(const struct text_samples *ts, u64 ns, struct strbuf *to)
{
	u64 wall = ts->o.wall_ref_ns + ns - ts->o.ref_ns;
	time_t seconds = (time_t)(wall / 1000000000);
	struct tm tm;
	char text[32];
	if (!localtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		return;
	strbuf_printf(to, "%s.%06u ", text, (u32)(wall % 1000000000 / 1000));
}

static void add_ids(const struct sample *s, u32 fields, struct strbuf *to)
{
	if (fields & TEXT_PID && fields & TEXT_TID) {
		add_number(to, s->pid, 5);
		strbuf_char(to, '/');
		char tid[NUM_DIGITS_MAX];
		u32 len = num_s64(tid, s->tid);
		strbuf_add(to, tid, len);
		strbuf_fill(to, ' ', len < 5 ? 5 - len : 0);
		strbuf_char(to, ' ');
	} else if (fields & (TEXT_PID | TEXT_TID)) {
		add_number(to, fields & TEXT_PID ? s->pid : s->tid, 5);
		strbuf_char(to, ' ');
	}
	if (fields & TEXT_CPU && s->cpu >= 0) {
		char cpu[NUM_DIGITS_MAX];
		strbuf_char(to, '[');
		strbuf_add(to, cpu, num_u64_pad0(cpu, (u32)s->cpu, 3));
		strbuf_str(to, "] ");
	}
	static const char level[] = {
		[FRAME_UNKNOWN] = ' ',	  [FRAME_KERNEL] = 'K',	      [FRAME_USER] = 'U',
		[FRAME_HYPERVISOR] = 'H', [FRAME_GUEST_KERNEL] = 'G', [FRAME_GUEST_USER] = 'g',
	};
	if (fields & TEXT_MISC) {
		strbuf_char(to, level[s->mode]);
		strbuf_str(to, "     ");
	}
}

/* A line that was made before: a few words at a time, and some of what follows it, which the next one takes the place of. */
static void add_made(const struct text_samples *ts, const struct text_samples_line *line,
		     struct strbuf *to)
{
	char *at = strbuf_room(to, (size_t)line->len + LINE_STEP);
	const char *from = ts->lines_text.data + line->at;
	if (unlikely(!at))
		return;
	for (u32 done = 0; done < line->len; done += LINE_STEP)
		memcpy(at + done, from + done, LINE_STEP);
	strbuf_commit(to, line->len);
}

static void add_places(const struct text_samples *ts, const struct sample *s, bool chain,
		       struct strbuf *to)
{
	u32 nr = ts->o.max_stack ? min(s->nr_places, ts->o.max_stack) : s->nr_places;
	if (!chain && nr) {
		const struct text_samples_line *line = &ts->lines[s->places[0].frame];
		strbuf_char(to, ' ');
		add_addr(s->places[0].addr, to);
		strbuf_add(to, ts->lines_text.data + line->at + 1 + ADDR_WIDTH,
			   line->len - 1 - ADDR_WIDTH);
		return;
	}
	strbuf_char(to, '\n');
	for (u32 i = 0; i < nr; i++) {
		u32 frame = s->places[i].frame;
		const struct frame *frames = ts->o.frames->frames;
		bool called = i && frames[frame].mode == frames[s->places[i - 1].frame].mode;
		add_made(ts, called ? &ts->callers[frame] : &ts->inner[frame], to);
		if (unlikely(ts->o.ends) && ts->o.ends[frame])
			break;
	}
	strbuf_char(to, '\n');
}

static void add_page(u64 bytes, struct strbuf *to)
{
	strbuf_char(to, ' ');
	data_src_page(bytes, to);
}

/* What follows the place: before the line's end. */
static void add_tail(const struct text_samples *ts, const struct sample *s, u32 fields,
		     struct strbuf *to)
{
	if (!(fields & (TEXT_BRANCHES | TEXT_PHYS_ADDR | TEXT_IREGS | TEXT_UREGS | TEXT_DATA_PAGE |
			TEXT_CODE_PAGE)))
		return;
	if (to->len)
		to->len--;
	if (fields & TEXT_IREGS && s->extra)
		text_hw_regs(&ts->o, &s->extra->intr_regs, to);
	if (fields & TEXT_UREGS && s->extra)
		text_hw_regs(&ts->o, &s->extra->user_regs, to);
	/* One kind of branches is shown, the plainest. */
	if (fields & TEXT_BRSTACK)
		fields &= ~(u32)(TEXT_BRSTACKSYM | TEXT_BRSTACKOFF);
	else if (fields & TEXT_BRSTACKSYM)
		fields &= ~(u32)TEXT_BRSTACKOFF;
	if (fields & TEXT_BRANCHES)
		text_hw_branches(&ts->o, s, fields, to);
	if (fields & TEXT_PHYS_ADDR)
		add_addr(s->phys_addr, to);
	if (fields & TEXT_DATA_PAGE)
		add_page(s->extra ? s->extra->data_page : 0, to);
	if (fields & TEXT_CODE_PAGE)
		add_page(s->extra ? s->extra->code_page : 0, to);
	strbuf_char(to, '\n');
}

bool text_names_addr(const struct event_info *e)
{
	if (e->type == PERF_TYPE_HARDWARE)
		return e->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS && !e->is_freq &&
		       e->period_or_freq == 1;
	return e->type == PERF_TYPE_SOFTWARE && (e->config == PERF_COUNT_SW_PAGE_FAULTS ||
						 e->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
						 e->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

/* What an address is of: " name+0x1c (library)". */
static void add_address_place(const struct text_samples *ts, u32 frame, u32 fields,
			      struct strbuf *to)
{
	const struct frame *f = &ts->o.frames->frames[frame];
	const struct name_func *func = &ts->o.names->funcs[ts->o.names->func_of[frame]];
	const struct image_info *image = &ts->o.catalog->images.at[f->image];
	if (fields & TEXT_SYM) {
		strbuf_char(to, ' ');
		strbuf_str(to, func->name ? func->name : "[unknown]");
		if (fields & TEXT_SYMOFF && func->name) {
			strbuf_str(to, "+0x");
			strbuf_hex(to, f->offset - func->start);
		}
	}
	if (fields & TEXT_DSO) {
		strbuf_str(to, " (");
		strbuf_str(to, image_has_path(image) ? image->path : image->name);
		strbuf_char(to, ')');
	}
}

static void add_sample(const struct text_samples *ts, const struct sample *s, struct strbuf *to)
{
	u32 fields = ts->o.fields[s->event];
	bool chain = ts->o.chains[s->event] && fields & TEXT_IP;
	const struct event_info *e = &ts->o.catalog->events.at[s->event];
	if (fields & TEXT_COMM)
		add_comm(ts, s, !chain, to);
	add_ids(s, fields, to);
	if (fields & TEXT_TOD)
		add_time_of_day(ts, s->time_ns, to);
	if (fields & TEXT_TIME)
		add_time(ts, s->time_ns, to);
	if (fields & TEXT_PERIOD) {
		add_number(to, (s64)s->period, 10);
		strbuf_char(to, ' ');
	}
	if (fields & TEXT_EVENT) {
		printable_right(to, e->name, ts->name_width);
		strbuf_str(to, ": ");
	}
	if (fields & TEXT_FLAGS)
		strbuf_fill(to, ' ', FLAGS_WIDTH);
	if (fields & TEXT_TRACE && s->schema && s->schema->ops && s->raw)
		(void)s->schema->ops->print(s->schema, s->raw, s->raw_size, to);
	if (fields & TEXT_ADDR)
		add_addr(s->addr, to);
	if (fields & TEXT_ADDR && text_names_addr(e))
		add_address_place(ts, s->data, fields, to);
	if (fields & TEXT_DATA_SRC)
		text_hw_data_src(&ts->o, s->data_src, to);
	if (fields & TEXT_WEIGHT)
		add_cost(s->weight, to);
	if (fields & TEXT_INS_LAT)
		add_cost(s->extra ? s->extra->ins_lat : 0, to);
	if (fields & TEXT_RETIRE_LAT)
		add_cost(s->extra ? s->extra->stage_cycles : 0, to);
	if (fields & TEXT_IP)
		add_places(ts, s, chain, to);
	else
		strbuf_char(to, '\n');
	add_tail(ts, s, fields, to);
}

/* ---- JSON ---- */

static void json_place(const struct text_samples *ts, const struct sample_place *p, u32 fields,
		       struct json *j)
{
	const struct frame *f = &ts->o.frames->frames[p->frame];
	const struct name_func *func = &ts->o.names->funcs[ts->o.names->func_of[p->frame]];
	json_object(j);
	json_put_u64(j, "ip", p->addr);
	if (fields & TEXT_SYM && func->name) {
		json_put_str(j, "symbol", func->name);
		json_put_u64(j, "offset", f->offset - func->start);
	}
	if (fields & TEXT_DSO)
		json_put_str(j, "dso", ts->o.catalog->images.at[f->image].name);
	if (frame_mode_word(f->mode))
		json_put_str(j, "mode", frame_mode_word(f->mode));
	json_object_end(j);
}

static void json_chain(const struct text_samples *ts, const struct sample *s, u32 fields,
		       struct json *j)
{
	u32 nr = ts->o.max_stack ? min(s->nr_places, ts->o.max_stack) : s->nr_places;
	json_key(j, "chain");
	json_array(j);
	for (u32 i = 0; i < nr; i++) {
		json_place(ts, &s->places[i], fields, j);
		if (ts->o.ends && ts->o.ends[s->places[i].frame])
			break;
	}
	json_array_end(j);
}

static void json_branches(const struct text_samples *ts, const struct sample *s, u32 fields,
			  struct json *j)
{
	fields |= fields & TEXT_BRSTACKSYM ? TEXT_SYM : 0;
	json_key(j, "branches");
	json_array(j);
	for (u32 i = 0; i < s->nr_branches; i++) {
		const struct sample_branch *b = &s->branches[i];
		json_object(j);
		json_key(j, "from");
		json_place(ts, &(struct sample_place){ b->from, b->from_frame }, fields, j);
		json_key(j, "to");
		json_place(ts, &(struct sample_place){ b->to, b->to_frame }, fields, j);
		json_put_bool(j, "mispredicted", b->flags & BRANCH_MISPREDICTED);
		json_put_bool(j, "predicted", b->flags & BRANCH_PREDICTED);
		json_put_bool(j, "in_tx", b->flags & BRANCH_IN_TX);
		json_put_bool(j, "abort", b->flags & BRANCH_ABORT);
		json_put_u64(j, "cycles", BRANCH_CYCLES(b->flags));
		json_object_end(j);
	}
	json_array_end(j);
}

/* Each object brings the comma before it; the very first one's is taken away where blocks are joined. */
static void add_json(const struct text_samples *ts, const struct sample *s, struct strbuf *to)
{
	u32 fields = ts->o.fields[s->event];
	char own[COMM_TEXT];
	struct json j;
	strbuf_str(to, ",\n");
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	if (fields & TEXT_COMM)
		json_put_str(&j, "comm", comm_text(ts->o.catalog, s->comm, own));
	if (fields & TEXT_PID)
		json_put_s64(&j, "pid", s->pid);
	if (fields & TEXT_TID)
		json_put_s64(&j, "tid", s->tid);
	if (fields & TEXT_CPU && s->cpu >= 0)
		json_put_s64(&j, "cpu", s->cpu);
	if (fields & TEXT_TIME)
		json_put_u64(&j, "time_ns", s->time_ns);
	if (fields & TEXT_PERIOD)
		json_put_u64(&j, "period", s->period);
	if (fields & TEXT_WEIGHT)
		json_put_u64(&j, "weight", s->weight);
	if (fields & TEXT_EVENT)
		json_put_str(&j, "event", ts->o.catalog->events.at[s->event].name);
	if (fields & TEXT_ADDR)
		json_put_u64(&j, "addr", s->addr);
	if (fields & TEXT_DATA_SRC)
		json_put_u64(&j, "data_src", s->data_src);
	if (fields & TEXT_PHYS_ADDR)
		json_put_u64(&j, "phys_addr", s->phys_addr);
	if (fields & TEXT_EXTRA && s->extra)
		text_hw_json(&ts->o, s->extra, fields, &j);
	if (fields & TEXT_BRANCHES)
		json_branches(ts, s, fields, &j);
	if (fields & TEXT_TRACE && s->schema && s->schema->ops && s->raw) {
		struct strbuf text;
		strbuf_init(&text);
		(void)s->schema->ops->print(s->schema, s->raw, s->raw_size, &text);
		json_put_str(&j, "trace", strbuf_cstr(&text));
		strbuf_reset(&text);
		json_fields(&text, s->schema, ts->before[s->event], s);
		json_key(&j, "fields");
		json_value(&j, strbuf_cstr(&text), text.len);
		strbuf_done(&text);
	}
	if (fields & TEXT_IP)
		json_chain(ts, s, fields, &j);
	json_object_end(&j);
	int err = json_end(&j);
	if (err && !to->err)
		to->err = err;
	if (to->len && to->data[to->len - 1] == '\n')
		to->len--;
}

static void add_any(const struct text_samples *ts, const struct sample *s, struct strbuf *to)
{
	if (ts->o.json)
		add_json(ts, s, to);
	else
		add_sample(ts, s, to);
}

static bool wanted(const struct text_samples *ts, const struct sample *s)
{
	if (ts->o.shown && (!s->nr_places || !ts->o.shown[s->places[0].frame]))
		return false;
	return sample_chosen(&ts->o.when, ts->o.catalog, s) &&
	       sample_chosen(&ts->o.who, ts->o.catalog, s);
}

/* Where a sample's lines go. */
static struct strbuf *text_of(const struct text_samples *ts, struct text_state *st, u32 event)
{
	return ts->o.outs ? &st->texts[ts->o.outs->of[event]] : &st->text;
}

static void add_counted(const struct text_samples *ts, struct text_state *st, const struct sample *s)
{
	add_any(ts, s, text_of(ts, st, s->event));
	if (ts->o.outs)
		st->counts[ts->o.outs->of[s->event]]++;
}

/* One after the other, where a line depends on those before. */
static void add_in_turn(struct text_samples *ts, struct text_state *st, const struct sample *s)
{
	if (ts->o.before)
		ts->o.before(ts->o.before_ctx, &ts->sink, s, &st->text);
	struct sample_gate *gate = &ts->o.so_far->gate;
	if (!wanted(ts, s) || (sample_gate_used(gate) && !sample_gate_passes(gate, s->event)))
		return;
	if (!ts->o.so_far->started)
		ts->o.so_far->first_time = ts->o.so_far->last_time = s->time_ns;
	ts->o.so_far->started = true;
	add_counted(ts, st, s);
	ts->o.so_far->last_time = s->time_ns;
}

void text_samples_head(struct sink *k, const struct sample *s, const char *comm, struct strbuf *to)
{
	const struct text_samples *ts = ts_of(k);
	u32 fields = ts->o.fields[s->event];
	if (fields & TEXT_COMM) {
		printable_right(to, comm, ts->o.chains[s->event] && fields & TEXT_IP ? 0 : 16);
		strbuf_char(to, ' ');
	}
	add_ids(s, fields, to);
	if (fields & TEXT_TIME)
		add_time(ts, s->time_ns, to);
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct text_samples *ts = ts_of(k);
	struct text_state *st = state;
	if (ts->o.before || ts->o.reltime || ts->o.deltatime ||
	    sample_gate_used(&ts->o.so_far->gate)) {
		for (size_t i = 0; i < b->nr; i++)
			add_in_turn(ts, st, &b->samples[i]);
		return st->text.err;
	}
	for (size_t i = 0; i < b->nr; i++)
		if (wanted(ts, &b->samples[i]))
			add_counted(ts, st, &b->samples[i]);
	return st->text.err;
}

static int hand_out(const struct text_samples_outs *outs, struct text_state *st)
{
	int err = 0;
	for (u32 i = 0; i < outs->nr && !err; i++) {
		struct strbuf *text = &st->texts[i];
		err = text->err;
		if (!err)
			strbuf_pass(&outs->at[i], text->data, text->len);
		if (!err)
			err = outs->at[i].err;
		outs->counts[i] += st->counts[i];
		st->counts[i] = 0;
		strbuf_reset(text);
	}
	return err;
}

/* A block that nobody has; NULL: no memory. */
static struct text_block *take_block(struct text_samples *ts)
{
	pthread_mutex_lock(&ts->lock);
	struct text_block *b = ts->free;
	if (b)
		ts->free = b->next;
	struct text_block **made = b ? NULL : vec_push(&ts->blocks);
	if (made)
		*made = b = calloc(1, sizeof(*b));
	if (made && !b)
		ts->blocks.nr--;
	pthread_mutex_unlock(&ts->lock);
	return b;
}

static void give_block(struct text_samples *ts, struct text_block *b)
{
	pthread_mutex_lock(&ts->lock);
	b->next = ts->free;
	ts->free = b;
	pthread_mutex_unlock(&ts->lock);
}

static int write_text(struct text_samples *ts, struct strbuf *text)
{
	int err = text->err;
	if (!err && text->len) {
		size_t skip = ts->o.json && !ts->o.so_far->any ? 2 : 0;
		strbuf_pass(ts->out, text->data + skip, text->len - skip);
		ts->o.so_far->any = true;
		err = ts->out->err;
	}
	strbuf_reset(text);
	return err;
}

static int write_block(void *ctx, struct sequencer_item *item)
{
	struct text_block *b = container_of(item, struct text_block, item);
	int err = write_text(ctx, &b->text);
	give_block(ctx, b);
	return err;
}

/* Into files of their own, when it is our turn. */
static int hand_out_in_turn(struct text_samples *ts, struct text_state *st, u64 seq)
{
	if (!sequencer_wait(&ts->turns, seq))
		return -ECANCELED;
	int err = write_text(ts, &st->text);
	if (!err)
		err = hand_out(ts->o.outs, st);
	sequencer_end(&ts->turns, err != 0);
	return err;
}

static int block_done(struct sink *k, void *state, u64 seq)
{
	enum { LEFT = 4 }; /* for each worker */
	struct text_samples *ts = ts_of(k);
	struct text_state *st = state;
	if (ts->o.outs)
		return hand_out_in_turn(ts, st, seq);
	struct text_block *b = take_block(ts);
	if (!b)
		return -ENOMEM;
	struct strbuf text = st->text;
	st->text = b->text;
	st->text.screen = text.screen;
	b->text = text;
	b->item.seq = seq;
	return sequencer_leave(&ts->turns, &b->item, LEFT * ts->nr_shards, write_block, ts);
}

static void cancel(struct sink *k)
{
	sequencer_cancel(&ts_of(k)->turns);
}

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	const struct text_samples_outs *outs = ts_of(k)->o.outs;
	struct text_state *st = calloc(1, sizeof(*st));
	*state = st;
	if (!st)
		return -ENOMEM;
	ts_of(k)->nr_shards++;
	st->text.screen = ts_of(k)->out->screen;
	if (!outs)
		return 0;
	st->texts = calloc(outs->nr + 1, sizeof(*st->texts));
	st->counts = calloc(outs->nr + 1, sizeof(*st->counts));
	return st->texts && st->counts ? 0 : -ENOMEM;
}

static void shard_free(struct sink *k, void *state)
{
	struct text_state *st = state;
	const struct text_samples_outs *outs = ts_of(k)->o.outs;
	for (u32 i = 0; outs && st->texts && i < outs->nr; i++)
		strbuf_done(&st->texts[i]);
	strbuf_done(&st->text);
	free(st->texts);
	free(st->counts);
	free(st);
}

static const struct sink_ops text_samples_ops = {
	.needs = NEED_ORDER | NEED_COMM | NEED_PLACES | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
	.block_done = block_done,
	.shard_free = shard_free,
	.cancel = cancel,
};

static int count_names(struct text_samples *ts)
{
	const struct catalog *c = ts->o.catalog;
	ts->before = calloc(c->events.nr + 1, sizeof(*ts->before));
	int err = ts->before ? 0 : -ENOMEM;
	for (size_t i = 0; i < c->events.nr && !err; i++)
		if (c->events.at[i].schema)
			err = json_fields_before(c->events.at[i].schema, &ts->before[i]);
	return err;
}

int text_samples_new(const struct text_samples_opts *o, struct strbuf *out, struct sink **ret)
{
	struct text_samples *ts = calloc(1, sizeof(*ts));
	if (!ts)
		return -ENOMEM;
	ts->sink = (struct sink){ .ops = &text_samples_ops, .needs = text_samples_ops.needs };
	ts->o = *o;
	ts->out = out;
	ts->lines_text.screen = out->screen;
	sequencer_init(&ts->turns);
	pthread_mutex_init(&ts->lock, NULL);
	vec_for_each (&o->catalog->events, e)
		ts->name_width = max(ts->name_width, (u32)strlen(e->name));
	ts->lined = names_lined_images(o->names, o->catalog, o->frames);
	int err = ts->lined ? make_lines(ts) : -ENOMEM;
	if (!err && o->json)
		err = count_names(ts);
	if (err) {
		text_samples_free(&ts->sink);
		return err;
	}
	*ret = &ts->sink;
	return 0;
}

void text_samples_free(struct sink *k)
{
	struct text_samples *ts = ts_of(k);
	sequencer_done(&ts->turns);
	pthread_mutex_destroy(&ts->lock);
	vec_for_each (&ts->blocks, b) {
		strbuf_done(&(*b)->text);
		free(*b);
	}
	vec_free(&ts->blocks);
	strbuf_done(&ts->lines_text);
	for (size_t i = 0; ts->before && i < ts->o.catalog->events.nr; i++)
		free(ts->before[i]);
	free(ts->before);
	free(ts->lined);
	if (ts->inner != ts->lines)
		free(ts->inner);
	if (ts->callers != ts->lines)
		free(ts->callers);
	free(ts->lines);
	free(ts);
}

#include "view/text_annotate.h"
#include "base/printable.h"

#include <stdio.h>
#include <string.h>

enum {
	LANES_MAX = 8,
	RAW_BYTES = 7,
	WIDTH_SHORT = 8, /* percentages, numbers of samples */
	WIDTH_PERIOD = 12,
	INSNS_DRAWN = 20000,
	TAB = 8
};

/* Where arrows of jumps run: lane 0 is next to the code. */
struct lanes {
	u8 *lane_of; /* [insn]: 1 + lane of the jump that starts there */
	u32 nr; /* lanes in use */
};

struct drawing {
	const struct annotation *a;
	const struct text_annotate_opts *o;
	struct strbuf *to;
	u32 width; /* of a column of numbers */
	u32 addr_width;
	struct lanes lanes;
	const char *file, *func; /* shown last */
	u32 line;
};

static double share(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

double text_annotate_percent(const struct text_annotate_opts *o, const struct annotation_event *e,
			     const struct annotation_weight *w)
{
	switch (o->percent) {
	case ANNOTATE_GLOBAL_PERIOD: return share(w->period, e->all.period);
	case ANNOTATE_LOCAL_HITS: return share(w->count, e->here.count);
	case ANNOTATE_GLOBAL_HITS: return share(w->count, e->all.count);
	default: return share(w->period, e->here.period);
	}
}

static const char *base_name(const struct drawing *d, const char *path)
{
	const char *slash = d->o->full_paths ? NULL : strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Source and instructions may have names of strangers, and tabs; among them no colour is ours. */
static void add_code(struct drawing *d, const char *text, size_t len)
{
	if (d->to->screen)
		(void)printable_add(d->to, text, len, PRINTABLE_LINES);
	else
		strbuf_add(d->to, text, len);
}

/* A line with names in it. */
printf_like(2, 3) static void add_line(struct drawing *d, const char *fmt, ...)
{
	va_list ap;
	struct strbuf line;
	strbuf_init(&line);
	va_start(ap, fmt);
	strbuf_vprintf(&line, fmt, ap);
	va_end(ap);
	add_code(d, line.data, line.len);
	if (line.err)
		d->to->err = line.err;
	strbuf_done(&line);
}

/* ---- head ---- */

static const char *percent_words(enum annotate_percent p)
{
	static const char *const words[] = {
		[ANNOTATE_LOCAL_PERIOD] = "local period",
		[ANNOTATE_GLOBAL_PERIOD] = "global period",
		[ANNOTATE_LOCAL_HITS] = "local hits",
		[ANNOTATE_GLOBAL_HITS] = "global hits",
	};
	return words[p];
}

static void add_head(struct drawing *d)
{
	const struct annotation *a = d->a;
	struct strbuf line;
	strbuf_init(&line);
	const char *title = d->o->counts ? "Samples" : d->o->periods ? "Period" : "Percent";
	u32 columns = d->width * a->nr_events;
	strbuf_printf(&line, " %-*s|\tSource code & Disassembly of %s for ", (int)columns, title,
		      base_name(d, a->path));
	if (a->nr_events > 1)
		strbuf_printf(&line, "%s { ", a->group ? a->group : "anon group");
	for (u32 e = 0; e < a->nr_events; e++)
		strbuf_printf(&line, "%s%s", e ? ", " : "", a->events[e].name);
	strbuf_printf(&line, "%s (%llu samples, percent: %s)", a->nr_events > 1 ? " }" : "",
		      (unsigned long long)a->events[0].here.count, percent_words(d->o->percent));
	add_code(d, line.data, line.len);
	strbuf_char(d->to, '\n');
	strbuf_fill(d->to, '-', line.len + 5); /* as long as perf's */
	strbuf_char(d->to, '\n');
	strbuf_done(&line);
}

/* -l: which lines weigh most. */
static void add_summary(struct drawing *d)
{
	const struct annotation *a = d->a;
	add_line(d, "\nSorted summary for file %s\n", a->path);
	strbuf_fill(d->to, '-', 46);
	strbuf_str(d->to, "\n\n");
	u32 shown = 0;
	for (u32 i = 0; i < a->nr_lines; i++) {
		const struct annotation_line *l = &a->lines[i];
		bool heavy = false;
		for (u32 e = 0; e < a->nr_events; e++)
			heavy |= text_annotate_percent(d->o, &a->events[e], &l->weights[e]) >
				 d->o->min_percent;
		if (!heavy)
			continue;
		for (u32 e = 0; e < a->nr_events; e++)
			strbuf_printf(d->to, " %7.2f",
				      text_annotate_percent(d->o, &a->events[e], &l->weights[e]));
		add_line(d, " %s:%u\n", base_name(d, l->file), l->line);
		shown++;
	}
	if (!shown)
		strbuf_str(d->to, " Nothing higher than 0.5%\n");
}

/* ---- jumps ---- */

enum glyph { PIPE, DASH, BEGIN, END, RIGHT, LEFT, DOWN, UP };

static const char *glyph(const struct drawing *d, enum glyph g)
{
	static const char *const utf8[] = { "│", "─", "┌", "└", "→", "←", "↓", "↑" },
				 *const ascii[] = { "|", "-", "+", "+", ">", "<", "v", "^" };
	return (d->o->ascii ? ascii : utf8)[g];
}

/* Short jumps get lanes near the code; a jump that finds no free lane is not drawn. */
static void choose_lanes(struct drawing *d)
{
	const struct annotation *a = d->a;
	if (a->nr_insns > INSNS_DRAWN)
		return;
	u8 *used = calloc((size_t)a->nr_insns + 1,
			  1); /* [insn]: a bit for each lane that runs past it */
	d->lanes.lane_of = calloc((size_t)a->nr_insns + 1, 1);
	for (u32 span = 1; used && d->lanes.lane_of && span <= a->nr_insns; span = span * 2) {
		for (u32 i = 0; i < a->nr_insns; i++) {
			if (!a->insns[i].jump || d->lanes.lane_of[i])
				continue;
			u32 to = a->insns[i].jump - 1, lo = min(i, to), hi = max(i, to), taken = 0;
			if (hi - lo > span && span * 2 <= a->nr_insns)
				continue;
			for (u32 k = lo; k <= hi; k++)
				taken |= used[k];
			if (taken == 0xff)
				continue;
			u32 lane = (u32)__builtin_ctz(~taken);
			for (u32 k = lo; k <= hi; k++)
				used[k] |= (u8)(1 << lane);
			d->lanes.lane_of[i] = (u8)(lane + 1);
			d->lanes.nr = max(d->lanes.nr, lane + 1);
		}
	}
	free(used);
}

/* What stands in each lane beside an instruction, leftmost the outermost lane. */
static void add_arrows(struct drawing *d, u32 insn)
{
	const struct annotation *a = d->a;
	u32 nr = d->lanes.nr;
	const char *cell[LANES_MAX];
	for (u32 l = 0; l < nr; l++)
		cell[l] = " ";
	u32 across = 0; /* lanes from which a line runs to the code */
	const char *end = " ";
	for (u32 i = 0; i < a->nr_insns; i++) {
		if (!d->lanes.lane_of[i])
			continue;
		u32 lane = d->lanes.lane_of[i] - 1u, to = a->insns[i].jump - 1;
		u32 lo = min(i, to), hi = max(i, to);
		if (insn < lo || insn > hi)
			continue;
		bool corner = insn == lo || insn == hi;
		cell[lane] = glyph(d, !corner ? PIPE : lo == hi ? DASH : insn == lo ? BEGIN : END);
		if (corner) {
			across = max(across, lane);
			if (end != glyph(d, RIGHT))
				end = glyph(d, insn == to ? RIGHT : DASH);
			for (u32 l = 0; l < lane; l++)
				if (!strcmp(cell[l], " "))
					cell[l] = glyph(d, DASH);
		}
	}
	for (u32 l = nr; l-- > 0;)
		strbuf_str(d->to, cell[l]);
	strbuf_str(d->to, end);
	strbuf_char(d->to, ' ');
}

/* ---- lines ---- */

static const char *heat(double percent)
{
	return percent >= 5 ? "\033[31m" : percent >= 0.5 ? "\033[32m" : "";
}

static void add_numbers(struct drawing *d, u32 insn)
{
	const struct annotation *a = d->a;
	const struct annotation_weight *w = annotation_weights(a, insn);
	for (u32 e = 0; e < a->nr_events; e++) {
		double p = text_annotate_percent(d->o, &a->events[e], &w[e]);
		const char *colour = d->o->colour ? heat(p) : "";
		strbuf_str(d->to, colour);
		if (d->o->counts || d->o->periods)
			strbuf_printf(d->to, " %*llu", (int)d->width - 1,
				      (unsigned long long)(d->o->counts ? w[e].count : w[e].period));
		else
			strbuf_printf(d->to, " %7.2f", p);
		if (*colour)
			strbuf_str(d->to, "\033[m");
	}
}

static void add_blank(struct drawing *d)
{
	strbuf_fill(d->to, ' ', (size_t)d->width * d->a->nr_events + 1);
	strbuf_char(d->to, ':');
}

static void rel_text(struct drawing *d, const char *text, size_t len);

static void add_text(struct drawing *d, u32 number, const char *text, size_t len)
{
	if (d->o->relative) {
		rel_text(d, text, len);
		return;
	}
	add_blank(d);
	strbuf_printf(d->to, " %-*u ", (int)d->addr_width, number);
	add_code(d, text, len);
	strbuf_char(d->to, '\n');
}

/* The source that an instruction comes from, where it is another than before. */
static void add_source(struct drawing *d, const struct annotation_insn *in)
{
	const struct text_annotate_opts *o = d->o;
	if (!o->source || !in->file || !in->line)
		return;
	if (in->func && (!d->func || strcmp(in->func, d->func))) {
		struct strbuf s;
		strbuf_init(&s);
		strbuf_printf(&s, "%s():", in->func);
		add_text(d, in->line, s.data, s.len);
		strbuf_done(&s);
		d->func = in->func;
	}
	bool same_file = d->file && !strcmp(d->file, in->file);
	if (same_file && d->line == in->line)
		return;
	/* What was passed over since the line before, if it is not much: comments and declarations make sense of code. */
	u32 from =
		same_file && in->line > d->line && in->line - d->line <= 8 ? d->line + 1 : in->line;
	for (u32 n = from; n <= in->line && o->source_line; n++) {
		u32 len;
		const char *text = o->source_line(o->ctx, in->file, n, &len);
		if (text)
			add_text(d, n, text, len);
	}
	d->file = in->file;
	d->line = in->line;
}

static void add_raw(struct drawing *d, const struct annotation_insn *in)
{
	/* In columns, as objdump: long instructions push their text. */
	for (u32 i = 0; i < max((u32)in->size, (u32)RAW_BYTES + 1); i++)
		if (i < in->size)
			strbuf_printf(d->to, "%02x ", in->bytes[i]);
		else
			strbuf_str(d->to, "   ");
}

static void add_insn(struct drawing *d, u32 i)
{
	const struct annotation_insn *in = &d->a->insns[i];
	const struct annotation_weight *w = annotation_weights(d->a, i);
	add_source(d, in);
	add_numbers(d, i);
	strbuf_printf(d->to, " :   %*llx:", (int)d->addr_width, (unsigned long long)in->addr);
	/* Behind the address objdump has a tab. */
	strbuf_fill(d->to, ' ', d->lanes.nr ? 1 : TAB - (d->addr_width + 1) % TAB);
	if (d->o->raw)
		add_raw(d, in);
	if (d->lanes.nr)
		add_arrows(d, i);
	add_code(d, in->text, strlen(in->text));
	bool any = false;
	for (u32 e = 0; e < d->a->nr_events; e++)
		any |= w[e].count != 0;
	if (d->o->lines_first && any && in->file)
		add_line(d, " // %s:%u", base_name(d, in->file), in->line);
	strbuf_char(d->to, '\n');
}

static u32 hex_digits(u64 v)
{
	u32 n = 1;
	while (v >>= 4)
		n++;
	return n;
}

/* ---- the layout of --stdio2 ---- */

/* A column for each event, empty where nothing fell; then a blank, and the label of what is jumped to. */
static void rel_numbers(struct drawing *d, const struct annotation_weight *w)
{
	for (u32 e = 0; e < d->a->nr_events; e++) {
		double p = w ? text_annotate_percent(d->o, &d->a->events[e], &w[e]) : 0;
		const char *colour = d->o->colour && p > 0 ? heat(p) : "";
		u64 number = w ? d->o->counts ? w[e].count : w[e].period : 0;
		strbuf_str(d->to, colour);
		if (!w || !w[e].count)
			strbuf_fill(d->to, ' ', d->width - 1);
		else if (d->o->counts || d->o->periods)
			strbuf_printf(d->to, "%*llu ", (int)d->width - 2,
				      (unsigned long long)number);
		else
			strbuf_printf(d->to, "%6.2f ", p);
		if (*colour)
			strbuf_str(d->to, "\033[m");
	}
	strbuf_char(d->to, ' ');
}

static void rel_text(struct drawing *d, const char *text, size_t len)
{
	while (len && (*text == ' ' || *text == '\t')) {
		text++;
		len--;
	}
	rel_numbers(d, NULL);
	strbuf_fill(d->to, ' ', d->addr_width + 2);
	add_code(d, text, len);
	strbuf_char(d->to, '\n');
}

static const char *rel_arrow(const struct drawing *d, const struct annotation_insn *in, u32 at)
{
	switch (in->kind) {
	case ANNOTATION_JUMP: return glyph(d, !in->jump ? RIGHT : in->jump - 1 > at ? DOWN : UP);
	case ANNOTATION_CALL: return glyph(d, RIGHT);
	case ANNOTATION_RETURN: return glyph(d, LEFT);
	default: return " ";
	}
}

/* "88" of a jump in the function, else the name of where it goes, as far as there is one. */
static void rel_target(struct drawing *d, const struct annotation_insn *in)
{
	const char *target = in->text + in->target_at, *name = strchr(target, '<');
	if (in->jump)
		strbuf_printf(d->to, "%llx",
			      (unsigned long long)(d->a->insns[in->jump - 1].addr - d->a->start));
	else if (name)
		add_code(d, name + 1, strlen(name + 1) - 1); /* without its > */
	else
		strbuf_str(d->to, target);
}

static void rel_insn(struct drawing *d, u32 i, const u8 *targets, u32 name_width)
{
	const struct annotation_insn *in = &d->a->insns[i];
	add_source(d, in);
	rel_numbers(d, annotation_weights(d->a, i));
	if (targets && targets[i])
		strbuf_printf(d->to, "%*llx: ", (int)d->addr_width,
			      (unsigned long long)(in->addr - d->a->start));
	else
		strbuf_fill(d->to, ' ', d->addr_width + 2);
	if (d->o->raw)
		add_raw(d, in);
	strbuf_printf(d->to, "%s %.*s", rel_arrow(d, in, i), (int)in->name_len, in->text);
	size_t operands = max((size_t)in->name_len, (size_t)6) + 1, len = strlen(in->text);
	if (len > operands) {
		strbuf_fill(d->to, ' ', name_width - in->name_len + 1);
		strbuf_add(d->to, in->text + operands,
			   (in->target_at ? in->target_at : len) - operands);
	}
	if (in->target_at)
		rel_target(d, in);
	strbuf_char(d->to, '\n');
}

static void add_relative(struct drawing *d)
{
	const struct annotation *a = d->a;
	u32 name_width = 0;
	u8 *targets = calloc((size_t)a->nr_insns + 1, 1);
	for (u32 i = 0; i < a->nr_insns; i++) {
		name_width = max(name_width, (u32)a->insns[i].name_len);
		if (targets && a->insns[i].jump)
			targets[a->insns[i].jump - 1] = 1;
	}
	for (u32 e = 0; e < a->nr_events; e++) {
		const struct annotation_event *ev = &a->events[e];
		u64 n = ev->here.count;
		const char *unit = n >= 1000000 ? "M" : n >= 1000 ? "K" : " ";
		add_line(d, "Samples: %llu%s of event '%s', ",
			 (unsigned long long)(n >= 1000000 ? n / 1000000
					      : n >= 1000  ? n / 1000
							   : n),
			 unit, ev->name);
		if (ev->hz)
			strbuf_printf(d->to, "%llu Hz, ", (unsigned long long)ev->hz);
		strbuf_printf(d->to, "Event count (approx.): %llu, [percent: %s]\n",
			      (unsigned long long)ev->here.period, percent_words(d->o->percent));
	}
	add_line(d, "%s() %s\n%s\n", a->symbol, a->path,
		 d->o->counts	 ? "Samples"
		 : d->o->periods ? "Period"
				 : "Percent");
	strbuf_str(d->to, "\n\n");
	if (a->section) {
		char line[128];
		int n = snprintf(line, sizeof(line), "Disassembly of section %s:", a->section);
		rel_text(d, line, min((size_t)max(n, 0), sizeof(line) - 1));
		strbuf_char(d->to, '\n');
	}
	rel_numbers(d, NULL);
	strbuf_fill(d->to, ' ', d->addr_width + 2);
	add_line(d, "%016llx <%s>:\n", (unsigned long long)a->start, a->symbol);
	for (u32 i = 0; i < a->nr_insns; i++)
		rel_insn(d, i, targets, name_width);
	free(targets);
}

void text_annotate(const struct annotation *a, const struct text_annotate_opts *o, struct strbuf *to)
{
	struct drawing d = { .a = a, .o = o, .to = to };
	d.width = o->periods && !o->counts ? WIDTH_PERIOD : WIDTH_SHORT;
	u64 last = a->nr_insns ? a->insns[a->nr_insns - 1].addr : a->start;
	d.addr_width = hex_digits(o->relative ? last - a->start : last);
	if (o->relative) {
		if (o->lines_first)
			add_summary(&d);
		add_relative(&d);
		return;
	}
	if (o->jumps)
		choose_lanes(&d);
	if (o->lines_first)
		add_summary(&d);
	add_head(&d);
	for (int i = 0; i < 3; i++) {
		add_blank(&d);
		strbuf_char(to, '\n');
	}
	if (a->section) {
		add_blank(&d);
		add_line(&d, " %-*u Disassembly of section %s:\n", (int)d.addr_width, 3, a->section);
		add_blank(&d);
		strbuf_char(to, '\n');
	}
	add_blank(&d);
	add_line(&d, " %-*u %016llx <%s>:\n", (int)d.addr_width, 5, (unsigned long long)a->start,
		 a->symbol);
	add_blank(&d);
	add_line(&d, " %-*u %s():\n", (int)d.addr_width, 6, a->symbol); /* as objdump -l has it */
	d.func = a->symbol;
	for (u32 i = 0; i < a->nr_insns; i++)
		add_insn(&d, i);
	free(d.lanes.lane_of);
}

/* ---- JSON ---- */

static void json_weights(const struct annotation *a, const struct text_annotate_opts *o,
			 const struct annotation_weight *w, struct json *j)
{
	json_key(j, "weights");
	json_array(j);
	for (u32 e = 0; e < a->nr_events; e++) {
		json_object(j);
		json_put_u64(j, "period", w[e].period);
		json_put_u64(j, "samples", w[e].count);
		json_put_double(j, "percent", text_annotate_percent(o, &a->events[e], &w[e]));
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_place(const char *file, u32 line, struct json *j)
{
	if (!file)
		return;
	json_put_str(j, "file", file);
	json_put_u64(j, "line", line);
}

static void json_insn(const struct annotation *a, u32 i, const struct text_annotate_opts *o,
		      struct json *j)
{
	const struct annotation_insn *in = &a->insns[i];
	char hex[2 * 16 + 1] = "";
	for (u32 k = 0; k < in->size && k < 16; k++)
		snprintf(hex + 2 * k, 3, "%02x", in->bytes[k]);
	json_object(j);
	json_put_u64(j, "address", in->addr);
	json_put_str(j, "bytes", hex);
	json_put_str(j, "text", in->text);
	if (in->jump)
		json_put_u64(j, "jump", a->insns[in->jump - 1].addr);
	if (in->func)
		json_put_str(j, "function", in->func);
	json_place(in->file, in->line, j);
	json_weights(a, o, annotation_weights(a, i), j);
	json_object_end(j);
}

void json_annotate(const struct annotation *a, const struct text_annotate_opts *o, struct json *j)
{
	json_object(j);
	json_put_str(j, "symbol", a->symbol);
	json_put_str(j, "dso", a->path);
	json_put_u64(j, "address", a->start);
	json_key(j, "events");
	json_array(j);
	for (u32 e = 0; e < a->nr_events; e++) {
		json_object(j);
		json_put_str(j, "event", a->events[e].name);
		json_put_u64(j, "samples", a->events[e].here.count);
		json_put_u64(j, "period", a->events[e].here.period);
		json_put_u64(j, "total_period", a->events[e].all.period);
		json_object_end(j);
	}
	json_array_end(j);
	json_key(j, "lines");
	json_array(j);
	for (u32 i = 0; i < a->nr_lines; i++) {
		json_object(j);
		json_place(a->lines[i].file, a->lines[i].line, j);
		json_weights(a, o, a->lines[i].weights, j);
		json_object_end(j);
	}
	json_array_end(j);
	json_key(j, "instructions");
	json_array(j);
	for (u32 i = 0; i < a->nr_insns; i++)
		json_insn(a, i, o, j);
	json_array_end(j);
	json_object_end(j);
}

/* The code of functions, instruction by instruction and line by line, with the samples per line: `sonde annotate`. */
#include "session/annotate_run.h"

#include "base/str.h"
#include "image/kimage.h"
#include "session/recording.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool in_list(const char *list, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = list; *at; at += *at == ',') {
		size_t n = strcspn(at, ",");
		if (n == len && !strncmp(at, word, n))
			return true;
		at += n;
	}
	return false;
}

static bool wanted(const struct annotating *a, const struct name_func *f)
{
	const struct annotate_opts *o = a->opts;
	const struct image_info *info = &a->src->catalog.images.at[f->image];
	if (a->only && !a->look)
		return f->name && f->image == a->only->image && f->start == a->only->start &&
		       f->mode == a->only->mode;
	if (!f->name || (o->symbol && !a->look && strcmp(o->symbol, f->name)))
		return false;
	return !o->dsos || in_list(o->dsos, info->name) || in_list(o->dsos, info->path);
}

const char *annotate_missing_reason(int err)
{
	return err == -ESTALE	 ? "the file has changed since the recording"
	       : err == -ENOTSUP ? "no disassembler for its architecture"
	       : err == -ELIBACC ? "libcapstone is not installed (Debian: libcapstone4)"
	       : err == -ENODATA ? "the file contains no code for it"
				 : strerror(-err);
}

enum { MISSING_NAMED = 3 };

/* One note for all functions of an image that have no code for the same reason. */
static void note_missing(struct annotating *a, const struct missing *m)
{
	const char *why = annotate_missing_reason(m->err);
	if (m->nr == 1)
		diag_note(a->tell.diag, "%s in %s: no code to show: %s", m->names, m->image->path,
			  why);
	else
		diag_note(a->tell.diag, "%u functions in %s (%s%s): no code to show: %s", m->nr,
			  m->image->path, m->names, m->nr > MISSING_NAMED ? ", ..." : "", why);
	if (m->image->kind != IMAGE_KIND_KERNEL || a->opts->symbols.vmlinux)
		return;
	diag_hint(a->tell.diag, "use -k VMLINUX to give an image of that kernel%s",
		  geteuid() && !access("/proc/kcore", F_OK)
			  ? "; as root the running kernel can be read (/proc/kcore)"
			  : "");
}

static void note_all_missing(struct annotating *a)
{
	vec_for_each (&a->missing, m) {
		if (!a->opts->skip_missing && !a->opts->quiet && m->names)
			note_missing(a, m);
		free(m->names);
	}
	vec_free(&a->missing);
	free(a->counted);
	a->counted = NULL;
}

static void add_missing(struct annotating *a, const struct name_func *f, int err)
{
	const struct image_info *image = &a->src->catalog.images.at[f->image];
	struct missing *m = NULL;
	a->nr_missing++;
	if (!a->counted)
		a->counted = calloc(a->run.named.nr_funcs + 1, sizeof(*a->counted));
	if (!a->counted || a->counted[f - a->run.named.funcs])
		return;
	a->counted[f - a->run.named.funcs] = true;
	vec_for_each (&a->missing, other)
		if (other->image == image && other->err == err)
			m = other;
	if (!m && (m = vec_push(&a->missing)))
		*m = (struct missing){ .image = image, .err = err };
	if (!m || m->nr++ >= MISSING_NAMED)
		return;
	char *names = NULL;
	if (asprintf(&names, "%s%s%s", m->names ? m->names : "", m->names ? ", " : "", f->name) < 0)
		return;
	free(m->names);
	m->names = names;
}

int annotate_make(struct annotating *a, const struct annotate_func *func, const u32 *events,
		  u32 nr_events, const char *group, struct arena *arena, struct annotation *an)
{
	const struct name_func *f = &a->run.named.funcs[func->func];
	const struct image_info *info = &a->src->catalog.images.at[f->image];
	*an = (struct annotation){ .symbol = f->name, .image = info->name, .path = info->path };
	an->nr_events = nr_events;
	an->group = group;
	an->events = arena_array(arena, nr_events, sizeof(*an->events));
	if (!an->events)
		return -ENOMEM;
	for (u32 e = 0; e < nr_events; e++) {
		const struct event_info *ev = &a->src->catalog.events.at[events[e]];
		an->events[e].name = ev->name;
		an->events[e].hz = ev->is_freq ? ev->period_or_freq : 0;
	}
	int err = annotate_code_open(&a->code, info, f, an, arena);
	if (err)
		return err;
	err = annotate_fill(a->hits, &a->run.tables.frames, func->func, events, f->start, an, arena);
	if (err)
		annotate_code_close(&a->code);
	return err;
}

static int show(struct annotating *a, const struct annotate_func *func, const u32 *events,
		u32 nr_events, const char *group)
{
	struct arena arena;
	struct annotation an;
	arena_init(&arena);
	int err = annotate_make(a, func, events, nr_events, group, &arena, &an);
	if (err && err != -ENOMEM) {
		add_missing(a, &a->run.named.funcs[func->func], err);
		err = 0;
	} else if (!err) {
		if (a->tell.json)
			json_annotate(&an, &a->style, &a->json);
		else
			text_annotate(&an, &a->style, a->out);
		a->shown++;
		annotate_code_close(&a->code);
	}
	arena_done(&arena);
	return err;
}

/* ---- all ---- */

static int show_events(struct annotating *a, const u32 *events, u32 nr_events, const char *group)
{
	struct annotate_func *funcs;
	u32 nr;
	u64 total = 0;
	_cleanup_free_ bool *marks = calloc(a->src->catalog.events.nr + 1, sizeof(*marks));
	if (!marks)
		return -ENOMEM;
	for (u32 e = 0; e < nr_events; e++) {
		marks[events[e]] = true;
		total += annotate_total(a->hits, events[e]).period;
	}
	int err = annotate_funcs(a->hits, &a->run.named, marks, (u32)a->src->catalog.events.nr,
				 &funcs, &nr);
	if (err)
		return err;
	u32 kept = 0;
	for (u32 i = 0; i < nr; i++)
		if (wanted(a, &a->run.named.funcs[funcs[i].func]) &&
		    100.0 * (double)funcs[i].period >= a->min_percent * (double)total)
			funcs[kept++] = funcs[i];
	if (a->look)
		return annotate_look_add(a, events, nr_events, group, funcs, kept);
	for (u32 i = 0; i < kept && !err; i++)
		err = show(a, &funcs[i], events, nr_events, group);
	free(funcs);
	return err;
}

/* Every event by itself, or each group after its leader. */
static int show_all(struct annotating *a)
{
	u32 nr = (u32)a->src->catalog.events.nr;
	_cleanup_free_ u32 *list = calloc(nr + 1, sizeof(*list));
	int err = list ? 0 : -ENOMEM;
	for (u32 e = 0; e < nr && !err;) {
		struct source_group g = { .nr = 1 };
		if (a->opts->group && !a->only)
			(void)source_group(a->src, e, &g);
		for (u32 k = 0; k < g.nr; k++)
			list[k] = e + k;
		if (!a->only || e == a->only_event)
			err = show_events(a, list, g.nr, g.name);
		e += g.nr;
	}
	return err;
}

/* Whether `word` is a whole part of a qualified name: partition of sort.partition, work of (anonymous namespace)::work(int). */
static bool is_part(const char *name, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = name; len && (at = strstr(at, word)); at++) {
		bool begins = at == name || strchr(".:)", at[-1]) != NULL;
		bool ends = !at[len] || strchr("(<.[", at[len]) != NULL;
		if (begins && ends)
			return true;
	}
	return false;
}

/* What was meant: a name that the word is a part of (the shortest), else one that is spelled alike. */
static const char *suggest(const char *word, const char *const *names, size_t nr)
{
	const char *best = NULL;
	for (size_t i = 0; i < nr; i++)
		if (is_part(names[i], word) && (!best || strlen(names[i]) < strlen(best)))
			best = names[i];
	return best ? best : nr ? str_closest(word, names, nr) : NULL;
}

static int nothing(struct annotating *a)
{
	struct diag *d = a->tell.diag;
	const char *symbol = a->opts->symbol;
	if (a->shown)
		return 0;
	if (a->nr_missing)
		return diag_error(d, -ENOENT, "no code to show");
	if (!symbol) {
		diag_note(d, "no samples in functions with a name: nothing to annotate");
		return 0;
	}
	(void)diag_error(d, -ENOENT,
			 a->only ? "no samples in '%s' itself, only in functions it calls"
				 : "no samples in function '%s'",
			 symbol);
	_cleanup_free_ const char **names = calloc(a->run.named.nr_funcs + 1, sizeof(*names));
	size_t nr = 0;
	for (u32 i = 1; names && i < a->run.named.nr_funcs; i++)
		if (a->run.named.funcs[i].name)
			names[nr++] = a->run.named.funcs[i].name;
	const char *near = suggest(symbol, names, nr);
	if (near)
		diag_hint(d, "did you mean '%s'?", near);
	else
		diag_hint(d, "'sonde report' lists the sampled functions (column Self)");
	return -ENOENT;
}

static int count_hits(struct annotating *a)
{
	a->hits = annotate_new(sample_choice_empty(&a->choose.when) ? NULL : &a->choose.when,
			       &a->src->catalog);
	return a->hits ? named_run(&a->run, a->src, annotate_sink(a->hits),
				   &(struct named_run_opts){ .symbols = a->names,
							     .names = &a->opts->symbols,
							     .want = WANT_SYMBOL,
							     .workers = (unsigned)a->opts->workers,
							     .split_reads = true })
		       : -ENOMEM;
}

int annotate_name_given(struct annotating *a)
{
	a->run.tables.frames = *a->given->frames;
	return a->run.names ? named_run_resolve(&a->run, WANT_SYMBOL) : -ENOMEM;
}

/* What was counted before. */
static int take_hits(struct annotating *a)
{
	const struct annotate_given *g = a->given;
	a->hits = g->hits;
	named_run_begin(&a->run, a->src,
			g->names ? g->names : recording_names(a->names, a->src, &a->opts->symbols));
	a->run.own_names = !g->names;
	return annotate_name_given(a);
}

static void hits_done(struct annotating *a)
{
	if (a->given)
		a->run.tables = (struct run_tables){ 0 }; /* not ours */
	else
		annotate_free(a->hits);
	named_run_done(&a->run);
}

/* Everything of an open recording. */
static int annotate_source(struct annotating *a)
{
	int err = a->given ? take_hits(a) : count_hits(a);
	if (!err && a->tell.json && !a->look) {
		json_begin(&a->json, a->tell.out, JSON_PRETTY);
		json_array(&a->json);
	}
	if (!err)
		err = show_all(a);
	int drawn = -ENOTTY;
	if (!err && a->look)
		drawn = a->look->each ? annotate_look_each(a) : annotate_look(a);
	if (a->look)
		annotate_look_done(a);
	if (!err && a->look && (drawn == 1 || drawn == -ENOTTY) && !a->look->nested) {
		a->look = NULL;
		err = show_all(a);
	} else if (!err && a->look && drawn <= 0) {
		err = drawn;
		a->shown++;
	}
	note_all_missing(a);
	if (!err)
		err = nothing(a);
	if (a->tell.json && a->json.to) {
		json_array_end(&a->json);
		int end = json_end(&a->json);
		err = err ? err : end;
	}
	hits_done(a);
	return err;
}

int annotate_opened(struct annotating *a)
{
	struct kernel_list kernel = { .opts = &a->opts->symbols, .src = a->src };
	struct sym_config cfg = symbols_config(a->names, &a->opts->symbols);
	struct elfimg image = { 0 };
	/* Unpacked once for all functions. If that fails, naming them says why. */
	if (cfg.vmlinux && !kimage_open(&image, cfg.vmlinux))
		cfg.vmlinux_image = &image;
	a->code.cfg = &cfg;
	a->code.kernel = &kernel;
	int err = annotate_source(a);
	if (!a->given)
		a->src->ops->close(a->src);
	kernel_list_done(&kernel);
	elfimg_close(&image);
	source_text_done(&a->sources);
	return err;
}

int annotate_each(const struct annotate_each *e,
		  int (*fn)(void *ctx, const struct annotation *a,
			    const struct text_annotate_opts *style),
		  void *ctx)
{
	struct annotate_opts o = { .input = e->input, .source = true, .symbols = *e->symbols };
	struct look look = { .nested = true, .each = fn, .ctx = ctx, .max_funcs = e->max_funcs };
	struct diag unsaid;
	struct annotating a = { .tell = { .diag = &unsaid },
				.names = e->names,
				.opts = &o,
				.look = &look,
				.given = e->given,
				.src = e->given ? e->given->src : NULL,
				.min_percent = e->min_percent,
				.sources = { .for_sharing = true, .opener = e->opener } };
	struct diag *outer = e->names->diag;
	int err = 0;
	a.style = (struct text_annotate_opts){ .source = true,
					       .min_percent = 0.5,
					       .source_line = source_text_line,
					       .ctx = &a.sources };
	arena_init(&look.arena);
	diag_init(&unsaid);
	e->names->diag = &unsaid;
	if (!e->given)
		err = replay_perf_open(e->input, &a.src, &unsaid);
	if (!err)
		err = annotate_opened(&a);
	e->names->diag = outer;
	diag_done(&unsaid);
	return err;
}

#include "view/json_samples.h"

#include "base/json.h"
#include "base/sequencer.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_samples_piece {
	u32 at, len;
};

struct json_samples {
	struct sink sink;
	struct json_samples_opts o;
	struct strbuf *out;
	struct sequencer turns;
	struct strbuf names_text; /* of each frame what follows its address */
	struct json_samples_piece *names; /* [frame] */
	u64 nr;
};

struct json_state {
	struct strbuf text;
	u64 nr;
};

static struct json_samples *js_of(const struct sink *k)
{
	return (struct json_samples *)container_of(k, struct json_samples, sink);
}

static void add_text(struct strbuf *to, const char *text)
{
	struct json j;
	json_begin(&j, to, JSON_COMPACT);
	json_str(&j, text);
}

static void add_key(struct strbuf *to, unsigned depth, const char *key)
{
	strbuf_char(to, '\n');
	strbuf_fill(to, '\t', depth);
	strbuf_char(to, '"');
	strbuf_str(to, key);
	strbuf_str(to, "\": ");
}

/* Frames are few and samples many: each is put into words once. */
static int make_names(struct json_samples *js)
{
	struct strbuf *to = &js->names_text;
	js->names = calloc(js->o.frames->nr + 1, sizeof(*js->names));
	if (!js->names)
		return -ENOMEM;
	for (u32 i = 0; i < js->o.frames->nr; i++) {
		const struct name_func *f = &js->o.names->funcs[js->o.names->func_of[i]];
		const struct image_info *image =
			&js->o.catalog->images.at[js->o.frames->frames[i].image];
		js->names[i].at = (u32)to->len;
		if (f->name) {
			strbuf_char(to, ',');
			add_key(to, 5, "symbol");
			add_text(to, f->name);
			if (image->name && image->name[0]) {
				strbuf_char(to, ',');
				add_key(to, 5, "dso");
				add_text(to, image->name);
			}
		}
		js->names[i].len = (u32)to->len - js->names[i].at;
	}
	return to->err;
}

static void add_place(const struct json_samples *js, const struct sample_place *p, struct strbuf *to)
{
	strbuf_str(to, "\n\t\t\t\t{");
	add_key(to, 5, "ip");
	strbuf_str(to, "\"0x");
	strbuf_hex(to, p->addr);
	strbuf_char(to, '"');
	strbuf_add(to, js->names_text.data + js->names[p->frame].at, js->names[p->frame].len);
	strbuf_str(to, "\n\t\t\t\t}");
}

static void add_number(struct strbuf *to, const char *key, s64 value)
{
	add_key(to, 3, key);
	strbuf_printf(to, "%lld,", (long long)value);
}

static void add_comm(const struct json_samples *js, const struct sample *s, struct strbuf *to)
{
	char unnamed[16];
	const char *comm = unnamed;
	if (COMM_IS_UNNAMED(s->comm))
		(void)snprintf(unnamed, sizeof(unnamed), ":%d", COMM_TID(s->comm));
	else
		comm = strtab_str(&js->o.catalog->strings, s->comm);
	add_key(to, 3, "comm");
	add_text(to, comm);
	strbuf_char(to, ',');
}

static void add_sample(const struct json_samples *js, const struct sample *s, struct strbuf *to)
{
	strbuf_str(to, ",\n\t\t{");
	add_key(to, 3, "timestamp");
	strbuf_printf(to, "%llu,", (unsigned long long)s->time_ns);
	add_number(to, "pid", s->pid);
	add_number(to, "tid", s->tid);
	if (js->o.catalog->events.at[s->event].sample_type & PERF_SAMPLE_CPU)
		add_number(to, "cpu", s->cpu);
	add_comm(js, s, to);
	add_key(to, 3, "callchain");
	strbuf_char(to, '[');
	for (u32 i = 0; i < s->nr_places; i++) {
		if (i)
			strbuf_char(to, ',');
		add_place(js, &s->places[i], to);
	}
	strbuf_str(to, "\n\t\t\t]\n\t\t}");
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct json_state *st = state;
	for (size_t i = 0; i < b->nr; i++)
		add_sample(js_of(k), &b->samples[i], &st->text);
	st->nr += b->nr;
	return st->text.err;
}

static int block_done(struct sink *k, void *state, u64 seq)
{
	struct json_samples *js = js_of(k);
	struct json_state *st = state;
	if (!sequencer_wait(&js->turns, seq))
		return -ECANCELED;
	int err = st->text.err;
	if (!err && st->text.len) {
		size_t skip = js->nr ? 0 : 1; /* no comma before the first */
		strbuf_pass(js->out, st->text.data + skip, st->text.len - skip);
		err = js->out->err;
	}
	js->nr += st->nr;
	st->nr = 0;
	strbuf_reset(&st->text);
	sequencer_end(&js->turns, err != 0);
	return err;
}

static void cancel(struct sink *k)
{
	sequencer_cancel(&js_of(k)->turns);
}

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct json_state *st = calloc(1, sizeof(*st));
	*state = st;
	return st ? 0 : -ENOMEM;
}

static void shard_free(struct sink *k, void *state)
{
	struct json_state *st = state;
	strbuf_done(&st->text);
	free(st);
}

static const struct sink_ops json_samples_ops = {
	.needs = NEED_ORDER | NEED_COMM | NEED_PLACES,
	.shard_new = shard_new,
	.feed = feed,
	.block_done = block_done,
	.shard_free = shard_free,
	.cancel = cancel,
};

int json_samples_new(const struct json_samples_opts *o, struct strbuf *out, struct sink **ret)
{
	struct json_samples *js = calloc(1, sizeof(*js));
	if (!js)
		return -ENOMEM;
	js->sink = (struct sink){ .ops = &json_samples_ops, .needs = json_samples_ops.needs };
	js->o = *o;
	js->out = out;
	sequencer_init(&js->turns);
	int err = make_names(js);
	if (err) {
		json_samples_free(&js->sink);
		return err;
	}
	*ret = &js->sink;
	return 0;
}

u64 json_samples_nr(const struct sink *k)
{
	return js_of(k)->nr;
}

void json_samples_free(struct sink *k)
{
	struct json_samples *js = js_of(k);
	sequencer_done(&js->turns);
	strbuf_done(&js->names_text);
	free(js->names);
	free(js);
}

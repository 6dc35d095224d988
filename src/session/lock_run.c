#include "session/lock_run.h"

#include "base/printable.h"
#include "session/recording.h"
#include "sym/kallsyms.h"

#include <errno.h>
#include <stdlib.h>

/* Where the kernel's own variables are. */
struct data_range {
	u64 start, end;
};

/* Limits of sections, from the list of the kernel that was recorded; what it does not have stays 0. */
static void find_sections(struct lock_run *r, const struct symbol_opts *o, struct data_range *data)
{
	struct kernel_list list = { .opts = o, .src = r->src };
	size_t len;
	const char *text = kernel_list_text(&list, &len);
	const struct {
		const char *start, *end;
		u64 *from, *to;
	} sections[] = {
		{ "__sched_text_start", "__sched_text_end", &r->env.text[0].start,
		  &r->env.text[0].end },
		{ "__lock_text_start", "__lock_text_end", &r->env.text[1].start,
		  &r->env.text[1].end },
		{ "_stext", "_end", &data->start, &data->end },
	};
	for (size_t i = 0; text && i < ARRAY_SIZE(sections); i++)
		if (!kallsyms_address(text, len, sections[i].start, sections[i].from) ||
		    !kallsyms_address(text, len, sections[i].end, sections[i].to))
			*sections[i].from = *sections[i].to = 0;
	kernel_list_done(&list);
}

static u32 kernel_image(const struct catalog *c)
{
	for (u32 i = 0; i < c->images.nr; i++)
		if (image_is_kernel(&c->images.at[i]))
			return i;
	return IMAGE_NONE;
}

/* Locks that are variables of the kernel become frames, which are then named with the others. */
static int add_lock_frames(struct lock_run *r, const struct data_range *data)
{
	size_t nr;
	const struct lock_wait *waits = lock_waits_list(r->waits, &nr);
	u32 image = kernel_image(&r->src->catalog);
	r->lock_frames = calloc(nr + 1, sizeof(*r->lock_frames));
	if (!r->lock_frames)
		return -ENOMEM;
	for (size_t i = 0; i < nr && image; i++) {
		if (waits[i].lock < data->start || waits[i].lock >= data->end)
			continue;
		s64 id = frame_table_add(&r->run.tables.frames,
					 (struct frame){ .offset = waits[i].lock,
							 .image = image,
							 .mode = FRAME_KERNEL });
		if (id < 0)
			return (int)id;
		r->lock_frames[i] = (u32)id;
	}
	r->env.lock_frames = r->lock_frames;
	return 0;
}

int lock_run(struct lock_run *r, struct symbols *sy, const struct lock_run_opts *o)
{
	struct data_range data = { 0 };
	*r = (struct lock_run){ .env = { .stack_skip = o->stack_skip } };
	int err = recording_open(sy, o->input, RECORDING_EVENTS, &o->symbols, &r->src);
	if (err)
		return err;
	named_run_begin(&r->run, r->src, recording_names(sy, r->src, &o->symbols));
	r->run.own_names = true;
	r->waits = lock_waits_new();
	if (!r->run.names || !r->waits)
		return -ENOMEM;
	err = named_run_feed(&r->run, lock_waits_sink(r->waits), 1, sy->diag);
	if (err)
		return err;
	find_sections(r, &o->symbols, &data);
	err = add_lock_frames(r, &data);
	if (!err)
		err = named_run_resolve(&r->run, WANT_SYMBOL | WANT_DATA);
	r->env.catalog = &r->src->catalog;
	r->env.tables = &r->run.tables;
	r->env.named = &r->run.named;
	return err;
}

void lock_run_done(struct lock_run *r)
{
	lock_waits_free(r->waits);
	free(r->lock_frames);
	named_run_done(&r->run);
	if (r->src)
		r->src->ops->close(r->src);
	*r = (struct lock_run){ 0 };
}

void lock_run_stack(const struct lock_run *r, const struct lock_row *row, struct strbuf *to)
{
	char place[512];
	u32 nr;
	const u32 *frames = chain_frames(&r->run.tables.chains, row->chain, &nr);
	while (nr) {
		u32 id = frames[--nr];
		const struct frame *f = &r->run.tables.frames.frames[id];
		if (!lock_place(&r->env, id, place, sizeof(place)))
			place[0] = '\0';
		strbuf_printf(to, "\t\t\t0x%llx  ", (unsigned long long)f->offset);
		printable_name(to, place);
		strbuf_char(to, '\n');
	}
}

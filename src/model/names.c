#include "model/names.h"
#include "base/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct name_stack names_stack(const struct names_result *n, u32 frame, bool called)
{
	const struct name_stack *of = called && n->callers ? n->callers : n->stacks;
	return of && of[frame].nr ? of[frame] : (struct name_stack){ frame, 1 };
}

/* What is asked about a frame in a chain, in a byte: whether it has stacks, and its mode above. */
enum { HAS_STACK = 1 << 0, HAS_CALLER = 1 << 1, MODE_SHIFT = 2 };

static u8 *frame_bytes(const struct names_result *n, const struct frame_table *frames)
{
	u8 *of = calloc((size_t)frames->nr + 1, 1);
	for (u32 i = 0; of && i < frames->nr; i++)
		of[i] = (u8)((n->stacks && n->stacks[i].nr ? HAS_STACK : 0) |
			     (n->callers && n->callers[i].nr ? HAS_CALLER : 0) |
			     frames->frames[i].mode << MODE_SHIFT);
	return of;
}

/* names_stack() of chain[i]. */
static inline struct name_stack stack_at(const struct names_result *n, const u8 *of,
					 const u32 *chain, u32 nr, u32 i)
{
	u8 own = of[chain[i]];
	if (likely(!(own & (HAS_STACK | HAS_CALLER))))
		return (struct name_stack){ chain[i], 1 };
	bool called = i + 1 < nr && own >> MODE_SHIFT == of[chain[i + 1]] >> MODE_SHIFT;
	return names_stack(n, chain[i], called);
}

static bool has_stack(const u8 *of, const u32 *chain, u32 nr)
{
	u8 any = 0;
	for (u32 i = 0; i < nr; i++)
		any |= of[chain[i]];
	return any & (HAS_STACK | HAS_CALLER);
}

static u64 expanded_size(const struct names_result *n, const u8 *of, const u32 *chain, u32 nr)
{
	u64 size = 0;
	for (u32 i = 0; i < nr; i++)
		size += stack_at(n, of, chain, nr, i).nr;
	return size;
}

/* How much room chains need that do not keep their length. */
static u64 sizes_of_longer(const struct names_result *n, const u8 *of,
			   const struct chain_table *chains)
{
	u64 sum = 0;
	for (u32 c = 1; c < chains->nr; c++) {
		u32 nr;
		const u32 *chain = chain_frames(chains, c, &nr);
		u64 size = has_stack(of, chain, nr) ? expanded_size(n, of, chain, nr) : nr;
		sum += size > nr ? size : 0;
	}
	return sum;
}

static void expand(const struct names_result *n, const u8 *of, struct chain_table *chains, u32 id)
{
	struct chain *c = &chains->chains[id];
	const u32 *chain = chains->pool + c->start;
	u64 size = expanded_size(n, of, chain, c->nr);
	u32 start = size > c->nr ? (u32)chains->nr_pool : c->start, *to = chains->pool + start;
	for (u32 i = 0; i < c->nr;
	     i++) { /* in place: what follows is looked at before it is written */
		struct name_stack s = stack_at(n, of, chain, c->nr, i);
		for (u32 k = 0; k < s.nr; k++)
			*to++ = s.first + k;
	}
	if (size > c->nr)
		chains->nr_pool += size;
	c->start = start;
	c->nr = (u32)size;
}

int names_expand(const struct names_result *n, const struct frame_table *frames,
		 struct chain_table *chains)
{
	if (!n->stacks && !n->callers)
		return 0;
	_cleanup_free_ u8 *of = frame_bytes(n, frames);
	int err = of ? chain_pool_reserve(chains, sizes_of_longer(n, of, chains)) : -ENOMEM;
	for (u32 c = 1; c < chains->nr && !err; c++) {
		u32 nr;
		const u32 *chain = chain_frames(chains, c, &nr);
		if (has_stack(of, chain, nr))
			expand(n, of, chains, c);
	}
	return err;
}

void names_place(const struct names_result *n, const struct catalog *c,
		 const struct frame_table *frames, u32 id, const bool *has_lines, unsigned how,
		 struct strbuf *to)
{
	const struct name_line *l = n->lines ? &n->lines[id] : NULL;
	const struct name_func *func = &n->funcs[n->func_of[id]];
	if (l && l->file) {
		const char *slash = how & PLACE_FULL_PATH ? NULL : strrchr(l->file, '/');
		printable_name(to, slash ? slash + 1 : l->file);
		strbuf_char(to, ':');
		strbuf_u64(to, l->line);
		return;
	}
	const struct frame *f = &frames->frames[n->frame_of ? n->frame_of[id] : id];
	if (has_lines && has_lines[f->image]) {
		strbuf_str(to, "??:0");
	} else if (func->name && how & PLACE_BY_FUNCTION) {
		printable_name(to, func->name);
		strbuf_char(to, '+');
		strbuf_u64(to, f->offset - func->start);
	} else if (f->image == IMAGE_NONE) {
		strbuf_str(to, "??:0");
	} else {
		printable_name(to, c->images.at[f->image].name);
		strbuf_char(to, '[');
		strbuf_hex(to, f->offset);
		strbuf_char(to, ']');
	}
}

bool *names_lined_images(const struct names_result *n, const struct catalog *c,
			 const struct frame_table *frames)
{
	bool *lined = calloc(c->images.nr + 1, sizeof(*lined));
	for (u32 i = 1; lined && n->lines && i < n->nr_frames; i++)
		if (n->lines[i].file)
			lined[frames->frames[i].image] = true;
	return lined;
}

/*
 * Inside of sym/resolve: what its files share.
 *
 *	frames ──resolve──► groups ──resolve_group (workers)──► answers ──resolve_ids──► functions, lines, stacks
 */
#pragma once

#include "base/arena.h"
#include "sym/answers.h"
#include "sym/resolve.h"
#include "sym/srcline.h"

#include <stdatomic.h>

struct sym_names {
	struct names names;
	struct sym_config cfg;
	struct debugfile_where where;
	char *buildid_dir;
	struct arena *arenas; /* one a worker, for names */
	unsigned nr_arenas;
	u32 *func_of;
	struct name_func *funcs;
	u32 nr_funcs;
	u32 nr_ids;
	struct name_line *lines;
	struct name_stack *stacks, *callers;
	u32 *frame_of;
	VEC(struct answers) kept; /* of the groups */
};

/* One frame on its way: its place in the symbols' address space, and which distinct place that is. */
struct resolve_place {
	u64 at;
	u32 frame;
	u32 question;
};

struct answer {
	const char *name; /* NULL: none */
	u64 start, end;
	bool data;
	bool bounds; /* the name is made of its place */
};

/* Frames that one source of symbols answers: an image, or the kernel and all its modules. */
struct group {
	const struct image_info *info; /* the first image; of the kernel if it is there */
	struct resolve_place *places;
	u32 nr;
	u64 *questions;
	struct answer *answers;
	struct srcline_spot *spots; /* two a question (sym/srcline.h); NULL: nothing is known */
	bool go_lines; /* the spots are of Go's own table, which has no inlined functions: DWARF would say more */
	u32 nr_questions;
	struct buildid id; /* of the file: as recorded, or as it says itself */
	struct answers kept; /* what the answers are borrowed from, if they were known already */
	int err; /* of reading the image; what to say about it */
	char *note, *hint;
	bool stripped; /* that is what the note is about */
	u32 nr_unnamed_made; /* addresses in code made at run time, which nobody named */
};

struct job {
	struct sym_names *n;
	const struct catalog *catalog;
	const struct frame_table *frames;
	unsigned want;
	struct group *groups;
	u32 nr_groups;
	u64 *shift; /* [image]: symbols' address = frame's offset + shift */
	bool *silent; /* [image]: a module that is not where it was, and nobody knows where it went */
	struct resolve_place *places, *spare;
	atomic_uint next;
};

/* Of the kernel or a module: all of those are one group. */
bool resolve_in_kernel(const struct image_info *info);
/* Fills the answers of a group. What cannot be read is a note, not an error. */
int resolve_group(struct job *j, struct group *g, struct arena *arena) must_check;
/* Functions get their ids in the order of frames' groups; a frame without a symbol becomes a function of its own. */
int resolve_ids(struct job *j) must_check;

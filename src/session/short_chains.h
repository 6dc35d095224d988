/*
 * Whether call chains by frame pointer had any to follow. Code without frame pointers ends a chain after one or two frames, and a
 * report of such chains looks complete. The note is printed only if most chains are that short and the code they start in is known to
 * have no frame pointers.
 */
#pragma once

#include "base/opener.h"
#include "base/vec.h"
#include "model/source.h"

struct short_chains {
	struct sink sink; /* for one worker */
	bool ends_run; /* the run ends when enough samples were seen */
	const struct shard *sh;
	u64 nr_seen, nr_user, nr_short;
	VEC(u64) short_in; /* [image]: short chains that start there */
};

void short_chains_init(struct short_chains *l, bool ends_run);
void short_chains_done(struct short_chains *l);
/* After the run: adds the note and its hint if they apply. */
void short_chains_note(struct short_chains *l, const struct catalog *c, struct opener *opener,
		       struct diag *d);

/* Whether the functions of a program or library set up frame pointers: 1, 0, or negative errno; dynamic: whether it needs a linker. */
int short_chains_keeps_frames(const char *path, struct opener *opener, bool *dynamic) must_check;

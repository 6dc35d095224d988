/* `sonde kmem`: what its files share. */
#pragma once

#include "cmd/app/app.h"
#include "cmd/record/record.h"
#include "session/kmem_run.h"

enum kmem_table { KMEM_SITES, KMEM_ADDRESSES, KMEM_NR_TABLES };

struct kmem_opts {
	const char *input;
	struct symbol_opts symbols;
	unsigned order; /* of the options that name tables */
	unsigned asked[KMEM_NR_TABLES]; /* when it was asked for; 0: it was not */
	u64 lines[KMEM_NR_TABLES];
	const char *sort[KMEM_NR_TABLES];
	bool raw_ip, slab, page, live, held, force;
	struct record_opts record;
};

/* "bytes,hit" to keys of one allocator: how many, 0 with a diag. */
u32 kmem_parse_keys(struct app *app, const char *text, int (*find)(const char *, size_t), int *keys,
		    u32 max);
/* stat of the page allocator: an exit status. */
int kmem_stat_pages(struct app *app, const struct kmem_opts *o, const struct kmem_run_opts *ro);

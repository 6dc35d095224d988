#include "model/catalog.h"

#include <errno.h>

int catalog_init(struct catalog *c)
{
	*c = (struct catalog){ .timebase.clock_id = TIMEBASE_CLOCK_UNKNOWN };
	arena_init(&c->arena);
	strtab_init(&c->strings);
	dict_init(&c->last_comm);
	struct image_info *none = vec_push(&c->images);
	if (!none || strtab_add(&c->strings, "", 0) < 0) {
		catalog_done(c);
		return -ENOMEM;
	}
	*none = (struct image_info){ .kind = IMAGE_KIND_NONE, .path = "[unknown]", .name = "[unknown]" };
	return 0;
}

void catalog_done(struct catalog *c)
{
	vec_free(&c->events);
	vec_free(&c->images);
	strtab_done(&c->strings);
	dict_done(&c->last_comm);
	arena_done(&c->arena);
}

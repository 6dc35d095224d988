#include "session/look.h"

static int look_feed(struct sink *k, void *state, const struct batch *b)
{
	return 0;
}

static int look_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = NULL;
	return 0;
}

static const struct sink_ops look_ops = {
	.shard_new = look_new,
	.feed = look_feed,
};

struct sink look_sink(unsigned needs)
{
	return (struct sink){ .ops = &look_ops, .needs = needs };
}

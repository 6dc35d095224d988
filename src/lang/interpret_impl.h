/* Between the files of the interpreter. */
#pragma once

#include "lang/check_impl.h"
#include "lang/interpret.h"

/* A number, or bytes as they are in memory, type_room() of them. */
struct ivalue {
	s64 number;
	u8 *bytes;
};

struct interpreter {
	struct checker check;
	const struct program *program;
	u32 probe;
	const struct interpret_ops *ops;
	void *ctx;
	struct arena arena; /* of bytes, until the statement ends */
	struct arena vars; /* of the bytes of variables */
	u32 depth; /* expressions around */
	u64 steps;
	bool returned, broken, continued;
	bool left; /* a function of the script has returned */
	int err;
};

struct ivalue interpret_eval(struct interpreter *in, struct node *n);
/* Zeroed; NULL: no memory, and err is set. */
u8 *interpret_bytes(struct interpreter *in, u32 size);
/* The value as it is kept in memory, as one of type t. */
void interpret_store(struct interpreter *in, struct ivalue v, const struct program_type *from,
		     u8 *to, const struct program_type *t);
/* The key of a map's use. */
u8 *interpret_key(struct interpreter *in, struct node *n);
int interpret_get(struct interpreter *in, const struct map *m, const u8 *key, u8 *value);
void interpret_put(struct interpreter *in, const struct map *m, const u8 *key, const u8 *value);

/* interpret_call.c */
struct ivalue interpret_call(struct interpreter *in, struct node *n);
/* Whether all that a function does is known here; of its arguments nothing is said. takes_map: the first one is a map itself. */
bool interpret_knows(const struct node *call, bool *takes_map);

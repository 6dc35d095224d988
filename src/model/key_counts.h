/*
 * What was counted by keys: rows of typed keys, hits, and fields added up. It is what the kernel's hist triggers answer, whoever counted: the
 * kernel (tracing/hist_text reads its text), or we from recorded events.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

enum key_value_type {
	KEY_VALUE_SIGNED, /* number */
	KEY_VALUE_UNSIGNED,
	KEY_VALUE_TEXT, /* text */
	KEY_VALUE_NAMED, /* text is the name of number: a task and its PID, a system call */
	KEY_VALUE_SYMBOL, /* number is an address, text its symbol or NULL, extra the offset in it */
	KEY_VALUE_RANGE, /* from number to extra, both included */
	KEY_VALUE_STACK, /* text: a function a line, innermost first */
};

struct key_value {
	enum key_value_type type;
	bool has_offset; /* of KEY_VALUE_SYMBOL: extra is known */
	const char *text;
	u64 number, extra;
};

struct key_counts_row {
	const struct key_value *keys; /* keys.nr of them */
	u64 hits;
	const u64 *values; /* values.nr of them */
};

struct key_counts {
	struct arena arena; /* of all below */
	VEC(const char *) keys, values; /* names */
	VEC(struct key_counts_row) rows;
	u64 hits, dropped;
	VEC(const char *) notes; /* lines of the kernel that are no rows (onmax, snapshot) */
};

void key_counts_init(struct key_counts *t);
void key_counts_done(struct key_counts *t);
/* Names, copied. 0 or -ENOMEM. */
int key_counts_key(struct key_counts *t, const char *name) must_check;
int key_counts_sum(struct key_counts *t, const char *name) must_check;
/* A row; keys (their texts too) and values are copied. */
int key_counts_add(struct key_counts *t, const struct key_value *keys, u64 hits,
		   const u64 *values) must_check;
/* The power of two that the kernel's .log2 calls v: 2^power is the smallest that is not less. */
unsigned key_value_power(u64 v);
/* What belongs to such a power. */
struct key_value key_value_power_range(unsigned power);

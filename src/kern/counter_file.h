/*
 * Files of counters in /proc and /sys, as numbers with names. A format (counter_formats.c) turns the text of a file into items, each a
 * field of a row: ("eth0", "rx_bytes"), ("", "MemFree").
 *
 *	counter_file_open    finds the format by the path
 *	counter_file_read    reads anew: pread() on the descriptor that stays open, and the items get their new values in place
 *
 * A file mostly has the same names in the same order as the time before, so that a name is compared once and nothing is allocated. When
 * devices, interfaces or CPUs come or go the items are made anew and `generation` grows; what an item was before is found again by name.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "kern/sysroot.h"

struct counter_item {
	const char *row; /* "cpu0", "eth0"; "": the file has no rows */
	const char *field; /* "user" */
	u64 value; /* in units of 10^-decimals */
	u64 before; /* at the read before; valid if has_before */
	const char *text; /* what is not a number, until the next read; NULL: a number */
	u32 text_len;
	u8 decimals;
	bool negative;
	bool has_before;
};

enum counter_kind { COUNTER_TOTAL, COUNTER_GAUGE, COUNTER_TEXT };

/* What a field means. */
struct counter_field {
	const char *name; /* of the field, or a glob */
	const char *unit; /* "kB", "sectors"; "" for plain numbers */
	enum counter_kind kind;
	const char *about; /* a sentence without its full stop */
};

struct counter_file;

/* How files of one kind are read. */
struct counter_format {
	const char *path; /* a glob, without a leading slash */
	const char *about; /* what the file is */
	void (*parse)(struct counter_file *f, const char *at, const char *end);
	const struct counter_field *fields; /* ends with a NULL name; NULL: none is described */
	int (*read)(int fd, struct strbuf *to); /* the text, where it is not what the file holds */
};

struct counter_file {
	const struct sysroot *root;
	const struct counter_format *format;
	char *path; /* without a leading slash */
	int fd; /* -1: it is opened with the next read */
	struct strbuf text;
	VEC(struct counter_item) items;
	u64 generation; /* grows when items are not those of the read before */

	/* Of a read. */
	struct arena arena; /* of the names */
	size_t next; /* the item that is expected */
	bool relay; /* names have changed: items are being made anew */
	int err;
};

enum { COUNTER_ITEMS_MAX = 1 << 20, COUNTER_TEXT_MAX = 64 << 20 };

/* Does not look at the file yet: one that is missing now may come. 0 or -ENOMEM. */
int counter_file_open(struct counter_file *f, const struct sysroot *root,
		      const char *path) must_check;
void counter_file_close(struct counter_file *f);
/* 0; negative errno: there are no items then (the device is gone, no permission). */
int counter_file_read(struct counter_file *f) must_check;
/* The same with a text that somebody else has read. */
int counter_file_parse(struct counter_file *f, const char *text, size_t len) must_check;

double counter_item_number(const struct counter_item *i);
/*
 * How much a counter has grown. A counter of 32 bits that wrapped has gone on from 2^32, one of 64 bits from 2^64. false: it is not
 * known, because the item is new, or the counter began anew.
 */
bool counter_item_change(const struct counter_item *i, u64 *ret);
/* What is known of an item; NULL: nothing. */
const struct counter_field *counter_item_field(const struct counter_file *f,
					       const struct counter_item *i);

/* Always one: what no other fits is read as lines of words and numbers. */
const struct counter_format *counter_format_of(const char *path);
/* All of them, for the documentation; *nr counts. */
const struct counter_format *counter_formats_all(size_t *nr);

/* ---- for formats ---- */

struct counter_word {
	const char *at;
	size_t len;
};

/* The next word of a line, which ends before `end`; false: there is none. */
bool counter_next_word(const char **at, const char *end, struct counter_word *ret);
/* A word that is a decimal number, with a sign and places or not; false: it is not, or does not fit. */
bool counter_number(const struct counter_word *w, u64 *value, u8 *decimals, bool *negative);
void counter_put(struct counter_file *f, struct counter_word row, struct counter_word field,
		 u64 value);
/* A number as it is written, else a text. */
void counter_put_word(struct counter_file *f, struct counter_word row, struct counter_word field,
		      struct counter_word value);

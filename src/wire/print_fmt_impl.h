/*
 * Inside of print_fmt: the tree that the parser makes of an argument, and the flat program that is run.
 *
 *	text ──print_fmt_parse──► nodes ──print_fmt──► ops ──print_fmt_run──► strbuf
 *
 * A node is a number (C's types: 4 or 8 bytes after promotion, signed or not), a text, or a run of bytes in the payload.
 * Values travel as u64, always extended by their own type, so that a comparison is one comparison.
 */
#pragma once

#include "wire/print_fmt.h"

#include <string.h>

enum {
	PRINT_DEPTH_MAX = 200, /* of the tree: bounds recursion in the parser and at run time */
	PRINT_NODES_MAX = 1 << 16, /* of one program */
	PRINT_COST_MAX = 1 << 16, /* nodes visited in one run: shared ones count each time */
	PRINT_OPS_MAX = 1 << 10,
	PRINT_WIDTH_MAX = 1024, /* %*s with a number out of the payload */
	OP_PAD = 16,
	PRINT_COMM_SIZE = 16,
};

enum print_fmt_node_kind {
	NODE_NUM, /* num */
	NODE_LOAD, /* a scalar field */
	NODE_NEG,
	NODE_INV,
	NODE_NOT,
	NODE_CAST, /* a as size, sign */
	NODE_ADD,
	NODE_SUB,
	NODE_MUL,
	NODE_DIV,
	NODE_MOD,
	NODE_SHL,
	NODE_SHR,
	NODE_AND,
	NODE_OR,
	NODE_XOR,
	NODE_LT,
	NODE_GT,
	NODE_LE,
	NODE_GE,
	NODE_EQ,
	NODE_NE,
	NODE_LOGAND,
	NODE_LOGOR,
	NODE_COND, /* a ? b : c, numbers */
	NODE_SWAP, /* a with its bytes turned (ntohs) */
	NODE_INDEX, /* element b of the bytes a */
	NODE_DYN_LEN, /* length of what a data_loc names */
	NODE_BYTES_SET, /* 1 when the bytes a are there */

	NODE_BYTES, /* a fixed array, or what a data_loc names; as text: up to the NUL */
	NODE_OFFSET, /* the bytes a from element b on */
	NODE_TEXT, /* a literal */
	NODE_TEXT_COND,
	NODE_FLAGS, /* a through table, delim between */
	NODE_SYMBOLIC,
	NODE_HEX, /* b bytes of a, blanks between */
	NODE_HEX_STR,
	NODE_ARRAY, /* b elements of a, c bytes each */
	NODE_BITMASK, /* the bytes a as the kernel's %*pb */
	NODE_CPUMASK, /* as a list */
	NODE_STRING_AT, /* the string at the kernel address a */
	NODE_CALL, /* text by a function */
};

struct print_ctx;

struct table_row {
	u64 value;
	const char *str;
	u32 len;
};

struct print_fmt_table {
	const struct table_row *rows;
	const u8 *direct; /* value → row + 1, for the first 256 values; or NULL */
	u32 nr;
	bool silent; /* a value without a row prints nothing */
};

struct print_fmt_node {
	u8 kind;
	u8 size; /* of the number: 1, 2, 4, 8; of an element for bytes */
	bool sign;
	u8 narrow; /* a number that came from a narrower field: its size, for "0x%llx" of what no table knows */
	bool unknown; /* depends on something that only the kernel knew */
	u16 depth;
	u32 cost; /* of an evaluation, in nodes */
	u32 offset; /* of the field */
	u32 len; /* of a fixed array or a literal */
	u32 loc; /* NODE_BYTES, NODE_DYN_LEN: 0, FIELD_DATA_LOC or FIELD_REL_LOC */
	union {
		u64 num;
		const char *str; /* a literal; the delimiter of flags */
		const struct print_fmt_node *c;
		void (*call)(struct print_ctx *c, const struct print_fmt_node *n);
	};
	const struct print_fmt_node *a, *b;
	union {
		const struct print_fmt_table *table;
		const struct schema_field *field; /* of a load */
	};
};

/* ---- conversions ---- */

enum spec_flags {
	SPEC_LEFT = 1 << 0,
	SPEC_ZERO = 1 << 1,
	SPEC_PLUS = 1 << 2,
	SPEC_BLANK = 1 << 3,
	SPEC_ALT = 1 << 4,
	SPEC_WIDTH_ARG = 1 << 5,
	SPEC_PREC_ARG = 1 << 6,
};

struct spec {
	u8 flags;
	char conv; /* d u x X o c s p */
	u8 size; /* of the number: 1, 2, 4, 8 */
	char ext[5]; /* of %p: "I6c" */
	s32 width;
	s32 prec; /* -1: none */
};

enum op_kind {
	OP_END,
	OP_LITERAL, /* nothing after the prefix */
	OP_LOAD_DEC, /* a field, plain decimal */
	OP_LOAD_HEX,
	OP_LOAD_STR, /* a fixed char array */
	OP_NUMBER,
	OP_CHAR,
	OP_TEXT,
	OP_POINTER,
	OP_FIELDS, /* by field */
	OP_CALL,
};

/* A literal and what follows it. Literals are padded to OP_PAD, so that they can be copied in whole vectors. */
struct op {
	u8 kind;
	u8 size; /* loads */
	bool sign;
	u8 cut; /* bytes of the number that the conversion takes */
	bool direct; /* loads: eight bytes, shifted to the left and back, are the number; `extend`: with its sign */
	bool extend;
	u8 shift;
	u32 offset;
	u32 len;
	u32 pre_len;
	const char *pre;
	const struct print_fmt_node *arg;
	const struct schema_field *field; /* the argument is this field and nothing else */
	const struct print_fmt_node *width, *prec;
	void (*call)(struct print_ctx *c, const struct op *op);
	struct spec spec;
};

/* How a field shows in the form by field: as the print fmt shows it, when it does. */
struct field_op {
	const struct op *op; /* NULL: by its type */
	bool hex; /* the print fmt writes 0x before it */
};

struct print_prog {
	const struct schema *schema;
	const struct print_env *env;
	const struct op *ops;
	const struct op *plain; /* what ops is without a layout in C */
	const struct field_op *field_ops; /* of the fields that are not common; NULL: all by their type */
	enum print_style style;
	const struct schema_field *const *fields; /* of a layout in C */
	const struct print_step *steps; /* what ops is as a row; NULL: it has more than plain fields */
	u32 nr_steps;
	u32 steps_need; /* bytes of payload */
};

struct print_ctx {
	const u8 *raw;
	u32 size;
	bool swap;
	bool bad; /* something lay outside of the payload */
	u8 long_size;
	const struct print_prog *prog;
	const struct print_env *env;
	struct strbuf *to;
};

/* ---- print_fmt_parse.c and its parts (print_fmt_parse.h) ---- */

struct print_fmt_parser {
	struct arena *arena;
	const struct schema *schema;
	const struct print_env *env;
	enum print_style style;
	const char *at, *end;
	/* the token */
	int tok;
	const char *tok_at;
	size_t tok_len;
	u64 num;
	u8 num_size;
	bool num_sign;
	u32 depth;
	u32 nr_nodes;
	u32 cost;
	int err;
	const char *what; /* why it failed */
	struct local *locals;
};

void parser_init(struct print_fmt_parser *p, struct arena *a, const struct schema *s,
		 const struct print_env *env, enum print_style style);
/* Sets p->err and p->what unless they are set, and ends the text. Returns NULL. what: of static life. */
void *parser_fail(struct print_fmt_parser *p, const char *what);
/* The leading string literals, joined and unescaped; NULL with p->err. */
char *parser_format(struct print_fmt_parser *p, size_t *len);
/* The next ", argument"; NULL at the end or with p->err. */
const struct print_fmt_node *parser_argument(struct print_fmt_parser *p);
/* Whether what was read so far ends where an argument may end. */
bool parser_at_argument(const struct print_fmt_parser *p);
const struct print_fmt_node *node_field(struct print_fmt_parser *p, const struct schema_field *f);
bool node_is_bytes(const struct print_fmt_node *n);

/* ---- print_fmt_run.c ---- */

u64 print_eval(struct print_ctx *c, const struct print_fmt_node *n);
/* The bytes a node names; NULL when they lie outside. */
const u8 *print_bytes(struct print_ctx *c, const struct print_fmt_node *n, u32 *len);
void print_text(struct print_ctx *c, const struct print_fmt_node *n);
/* All of them, up to OP_END. */
void print_ops(struct print_ctx *c, const struct op *ops);
/* Without its literal. */
void print_op(struct print_ctx *c, const struct op *op);
void print_number(struct strbuf *to, const struct spec *s, u64 v);
void print_padded(struct strbuf *to, const struct spec *s, const char *str, size_t len);
u64 print_load(struct print_ctx *c, u32 offset, u32 size, bool sign);
void print_spec_args(struct print_ctx *c, const struct op *op, struct spec *s);

/* comm[16], the string of all strings: writes all of it, returns how much comes before the first NUL (the usual trick on words). */
static inline unsigned print_put_comm(char *to, const u8 *from)
{
	u64 w[2];
	memcpy(w, from, PRINT_COMM_SIZE);
	memcpy(to, w, PRINT_COMM_SIZE);
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		return (unsigned)strnlen((const char *)w, PRINT_COMM_SIZE);
	const u64 ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
	u64 a = (w[0] - ones) & ~w[0] & tops, b = (w[1] - ones) & ~w[1] & tops;
	if (a)
		return (unsigned)__builtin_ctzll(a) / 8;
	return b ? 8 + (unsigned)__builtin_ctzll(b) / 8 : PRINT_COMM_SIZE;
}

/* ---- print_fmt_row.c ---- */

/* Sets prog->steps where that can be. */
int print_row_compile(struct arena *a, struct print_prog *prog) must_check;
/* size is at least steps_need. -EAGAIN: this payload is none for the row, and nothing was written. */
int print_row_run(const struct print_prog *p, const u8 *raw, u32 size, struct strbuf *to);

/* ---- print_fmt_pointer.c ---- */

void print_pointer(struct print_ctx *c, const struct op *op);
void print_symbol(struct print_ctx *c, u64 addr, bool with_offset);

/* ---- print_fmt.c ---- */

/* *at after the '%' steps past the conversion; false when it is not known. */
bool print_scan_spec(const char **at, const char *end, u8 long_size, struct spec *s);
void print_one_field(struct print_ctx *c, u32 index);

/* ---- layouts written in C ---- */

enum { LAYOUT_FIELDS_MAX = 14 };

struct layout {
	const char *system, *event;
	void (*print)(struct print_ctx *c, const struct op *op);
	/* Fields it uses, by index; a name that starts with '?' may be missing (then NULL). */
	const char *fields[LAYOUT_FIELDS_MAX];
	/* op->arg is the argument that the print fmt shows after this literal ("prev_state="), or NULL. */
	const char *after;
};

/* NULL: none is written for this event. */
const struct layout *print_ftrace_layout(const struct schema *s);
const struct layout *print_tracecmd_layout(const struct schema *s);
const struct layout *layout_find(const struct layout *rows, size_t nr, const struct schema *s);
/* Field i of the layout as a number, sign-extended. */
u64 layout_u64(struct print_ctx *c, unsigned i);
/* Appends field i as text up to its NUL. */
void layout_str(struct print_ctx *c, unsigned i);
const u8 *layout_bytes(struct print_ctx *c, unsigned i, u32 *len);
/* The print fmt as it is. */
void layout_plain(struct print_ctx *c);

/* ---- print_fmt_scsi.c ---- */

/* scsi_trace_parse_cdb(p, cdb, len): the bytes n->a, of length n->b. */
void print_scsi_cdb(struct print_ctx *c, const struct print_fmt_node *n);

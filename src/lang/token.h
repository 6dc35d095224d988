/*
 * Tokens of a script. Lines that begin with # are handled here: #define of constants, #if(n)def BPFTRACE_HAVE_BTF, #include (skipped:
 * BTF has the types).
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"

enum token_kind {
	TOKEN_END,
	TOKEN_BAD, /* a diagnostic was added */
	TOKEN_INT,
	TOKEN_STRING,
	TOKEN_IDENT,
	TOKEN_VAR, /* $x */
	TOKEN_MAP, /* @x */
	TOKEN_PARAM, /* $1 */
	TOKEN_PARAM_COUNT, /* $# */
	TOKEN_LPAREN,
	TOKEN_RPAREN,
	TOKEN_LBRACE,
	TOKEN_RBRACE,
	TOKEN_LBRACKET,
	TOKEN_RBRACKET,
	TOKEN_COMMA,
	TOKEN_SEMI,
	TOKEN_COLON,
	TOKEN_QUESTION,
	TOKEN_DOT,
	TOKEN_DOTDOT,
	TOKEN_ARROW,
	TOKEN_ASSIGN,
	TOKEN_ADD_ASSIGN,
	TOKEN_SUB_ASSIGN,
	TOKEN_MUL_ASSIGN,
	TOKEN_DIV_ASSIGN,
	TOKEN_MOD_ASSIGN,
	TOKEN_AND_ASSIGN,
	TOKEN_OR_ASSIGN,
	TOKEN_XOR_ASSIGN,
	TOKEN_SHL_ASSIGN,
	TOKEN_SHR_ASSIGN,
	TOKEN_INC,
	TOKEN_DEC,
	TOKEN_LOR,
	TOKEN_LAND,
	TOKEN_OR,
	TOKEN_XOR,
	TOKEN_AND,
	TOKEN_EQ,
	TOKEN_NE,
	TOKEN_LT,
	TOKEN_LE,
	TOKEN_GT,
	TOKEN_GE,
	TOKEN_SHL,
	TOKEN_SHR,
	TOKEN_ADD,
	TOKEN_SUB,
	TOKEN_MUL,
	TOKEN_DIV,
	TOKEN_MOD,
	TOKEN_NOT,
	TOKEN_TILDE,
};

struct token {
	enum token_kind kind;
	u32 start, len; /* in the script; a #define's: of its use */
	const char *text; /* IDENT, VAR, MAP: the name; STRING: unescaped */
	u32 text_len; /* STRING */
	u64 number;
	bool after_space; /* something blank is before it */
};

struct lex_define {
	const char *name;
	u32 from, end; /* in the script */
	bool busy;
	struct lex_define *next;
};

struct lexer {
	struct arena *arena;
	const char *text;
	u32 at, end;
	struct diag *diag;
	int err; /* of TOKEN_BAD */
	struct lex_define *defines;
	u32 depth_if;
	/* where to go on after a #define's text */
	struct {
		u32 at, end, start, len;
		struct lex_define *define;
	} stack[8];
	u32 nr_stack;
};

void lex_init(struct lexer *l, struct arena *a, const char *text, u32 len, struct diag *d);
void lex_next(struct lexer *l, struct token *ret);
/* White space, comments and lines of # are stepped over: the place of the next token. */
int lex_skip(struct lexer *l);

/*
 * Texts that are imported are behind the script, each after a line with the name of its file. Such a line; file is its text.
 */
#define LEX_FILE_MARK "#@"

/* An error that points into the script: the line and a caret. Returns err. */
int lang_error(struct diag *d, const char *script, u32 start, u32 len, int err, const char *fmt,
	       ...) printf_like(6, 7);
void lang_warn(struct diag *d, const char *script, u32 start, u32 len, const char *fmt, ...)
	printf_like(5, 6);
/* How the token is written: "+=". */
const char *token_text(enum token_kind k);

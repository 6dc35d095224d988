#include "image/demangle.h"
#include "base/strbuf.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

enum { DEMANGLE_MAX = 64 << 10 };

struct demangle_out {
	struct strbuf text;
	jmp_buf full;
};

/*
 * Substitutions let a short name expand exponentially, and the library cannot be told to stop: leave through the side
 * door. It holds its state on the stack, so nothing is lost (but for a buffer of Rust's punycode, for such names only).
 */
static void demangle_piece(const char *s, size_t len, void *ctx)
{
	struct demangle_out *out = ctx;
	if (out->text.err || out->text.len + len > DEMANGLE_MAX)
		longjmp(out->full, 1);
	strbuf_add(&out->text, s, len);
}

char *demangle(const char *name, enum demangle_style style)
{
	if (style == DEMANGLE_NO || name[0] != '_' ||
	    (name[1] != 'Z' && name[1] != 'R' && name[1] != '_'))
		return NULL;
	if (strnlen(name, DEMANGLE_MAX) == DEMANGLE_MAX)
		return NULL;
	int flags = style == DEMANGLE_FULL ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS;
	struct demangle_out out;
	strbuf_init(&out.text);
	if (setjmp(out.full)) {
		strbuf_done(&out.text);
		return NULL;
	}
	/* Rust's first scheme looks like C++ with a hash at the end, so Rust is asked first. */
	if (rust_demangle_callback(name, flags, demangle_piece, &out))
		return strbuf_steal(&out.text);
	strbuf_reset(&out.text);
	if (cplus_demangle_v3_callback(name, flags, demangle_piece, &out))
		return strbuf_steal(&out.text);
	strbuf_done(&out.text);
	return NULL;
}

#include "lang/import.h"

#include "base/strbuf.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

enum { FILES_MAX = 64, TEXT_MAX = 4 << 20 };

struct importing {
	const struct lang_input *in;
	struct arena *arena;
	struct diag *diag;
	const char *done[FILES_MAX]; /* paths: each is imported once */
	u32 nr;
	struct strbuf text;
};

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), tail = strlen(end);
	return len >= tail && !strcmp(s + len - tail, end);
}

static int refuse(struct importing *m, const char *text, const struct token *t, int err,
		  const char *why)
{
	lang_error(m->diag, text, t->start, t->len, err, "cannot import \"%s\": %s", t->text, why);
	if (err == -EPERM)
		diag_hint(m->diag,
			  "chmod o-w the file: whoever can write to it could run anything");
	return err;
}

static const char *reason(int err)
{
	switch (err) {
	case -EISDIR: return "it is a directory: name its files";
	case -EPERM: return "everybody may write to it";
	case -EFBIG: return "it is larger than 1 MiB";
	default: return strerror(-err);
	}
}

static int import_from(struct importing *m, const char *text, const char *path);

static int import_one(struct importing *m, const char *text, const char *from, const struct token *t)
{
	const struct lang_ops *ops = m->in->ops;
	const char *path, *imported;
	if (ends_with(t->text, ".c") || ends_with(t->text, ".o"))
		return refuse(m, text, t, -ENOTSUP,
			      "programs in C need a compiler, which sonde does not have");
	if (!ops || !ops->import)
		return refuse(m, text, t, -ENOTSUP, "scripts cannot be imported here");
	int err = ops->import(m->in->ctx, from, t->text, &path, &imported);
	if (err)
		return err == -ENOMEM ? err : refuse(m, text, t, err, reason(err));
	for (u32 i = 0; i < m->nr; i++)
		if (!strcmp(m->done[i], path))
			return 0;
	if (m->nr == FILES_MAX || m->text.len + strlen(imported) > TEXT_MAX)
		return refuse(m, text, t, -E2BIG, "too many files, or too much text");
	m->done[m->nr++] = path;
	err = import_from(m, imported, path);
	if (err)
		return err;
	strbuf_printf(&m->text, LEX_FILE_MARK "%s\n", path);
	strbuf_str(&m->text, imported);
	strbuf_char(&m->text, '\n');
	return m->text.err ? -ENOMEM : 0;
}

/* What the text imports, before it: import is a word outside of braces, and comes before probes. */
static int import_from(struct importing *m, const char *text, const char *path)
{
	struct lexer l;
	struct token t;
	u32 depth = 0;
	lex_init(&l, m->arena, text, (u32)strlen(text), NULL);
	lex_next(&l, &t);
	while (t.kind != TOKEN_END && t.kind != TOKEN_BAD) {
		depth += t.kind == TOKEN_LBRACE;
		depth -= t.kind == TOKEN_RBRACE && depth;
		bool import = !depth && t.kind == TOKEN_IDENT && !strcmp(t.text, "import");
		lex_next(&l, &t);
		if (!import || t.kind != TOKEN_STRING)
			continue;
		int err = import_one(m, text, path, &t);
		if (err)
			return err;
	}
	return t.kind == TOKEN_BAD && l.err == -ENOMEM ? -ENOMEM : 0;
}

int import_all(struct lang_input *in, struct arena *a, struct diag *d)
{
	if (!strstr(in->text, "import"))
		return 0;
	struct importing m = { .in = in, .arena = a, .diag = d };
	strbuf_init(&m.text);
	int err = import_from(&m, in->text, in->path);
	if (!err && m.nr) {
		strbuf_str(&m.text, LEX_FILE_MARK "\n");
		strbuf_add(&m.text, in->text, in->len);
		char *all = arena_strndup(a, strbuf_cstr(&m.text), m.text.len);
		err = m.text.err || !all ? -ENOMEM : 0;
		in->text = all;
		in->len = m.text.len;
	}
	strbuf_done(&m.text);
	return err;
}

#include "probe/point.h"

#include "base/str.h"
#include "event/probe_elf.h"
#include "probe/names.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "FUNC args" of a return probe is "FUNC%return args"; a static probe gets its provider. */
static const char *request_text(const struct event_probe *p, bool usdt, struct arena *a)
{
	struct strbuf s;
	size_t first = 0;
	strbuf_init(&s);
	while (p->point[first] && !isspace((unsigned char)p->point[first]))
		first++;
	if (usdt)
		strbuf_printf(&s, "%%sdt_%s:", p->provider ? p->provider : "*");
	strbuf_add(&s, p->point, first);
	if (p->is_return && !memmem(p->point, first, "%return", 7))
		strbuf_str(&s, "%return");
	strbuf_str(&s, p->point + first);
	const char *text = arena_strdup(a, strbuf_cstr(&s));
	strbuf_done(&s);
	return text;
}

/* ftrace enters functions at their start, by name. */
static int use_fprobes(struct probe_defs *defs, size_t first, struct diag *d)
{
	for (size_t i = first; i < defs->at.nr; i++) {
		struct probe_def *def = &defs->at.at[i];
		if (def->in_function || !def->function || def->binary)
			return diag_error(d, -EOPNOTSUPP,
					  "an fprobe is at the entry or return of a function");
		def->letter = 'f';
		def->symbol = def->function;
		def->offset = 0;
	}
	return 0;
}

int probe_point_find(const struct event_probe *p, bool fprobe, const char *group, const char *root,
		     struct probe_defs *defs, struct diag *d)
{
	struct probe_request r;
	size_t first = defs->at.nr;
	const struct probe_target target = { .where = p->binary	  ? PROBE_BINARY
						      : p->module ? PROBE_MODULE
								  : PROBE_KERNEL,
					     .path = p->binary,
					     .module = p->module,
					     .root = root };
	const char *text = request_text(p, p->is_usdt, &defs->arena);
	if (!text)
		return -ENOMEM;
	int err = probe_parse(text, &defs->arena, &r, d);
	if (!err && r.is_return && p->binary && probe_elf_moves_stacks(p->binary)) {
		err = diag_error(d, -EPERM,
				 "return probes can crash %s: it is a Go program, which moves "
				 "its stacks",
				 p->binary);
		diag_hint(d, "'sonde probe -f' adds it all the same");
	}
	if (!err)
		err = probe_find(&target, &r, defs, d);
	if (!err && fprobe)
		err = use_fprobes(defs, first, d);
	r.group = group;
	if (!err)
		err = probe_names_choose(defs, first, &r, NULL, true, d);
	if (err)
		defs->at.nr = first;
	return err;
}

int probe_point_plain(const struct event_probe *p, const char *group, struct probe_defs *defs,
		      struct diag *d)
{
	size_t first = defs->at.nr;
	const struct probe_request named = { .group = group };
	char *path = p->binary ? realpath(p->binary, NULL) : NULL;
	if (p->binary && (!path || strpbrk(path, " \t\n;#"))) {
		int err = path ? -EINVAL : -errno;
		free(path);
		return diag_error(d, err, "cannot define a probe in %s: %s", p->binary,
				  err == -EINVAL ? "its path has blanks" : strerror(-err));
	}
	const char *kept = path ? arena_strdup(&defs->arena, path) : NULL;
	const char *symbol = arena_strdup(&defs->arena, p->symbol);
	struct probe_def *def = vec_push(&defs->at);
	if (def)
		*def = (struct probe_def){ .letter = p->is_return ? 'r' : 'p',
					   .binary = kept,
					   .module = p->module,
					   .symbol = p->binary ? NULL : symbol,
					   .function = symbol,
					   .offset = p->offset,
					   .ref_ctr = p->ref_ctr_offset,
					   .is_return = p->is_return };
	bool lost = (path && !kept) || !symbol || !def;
	free(path);
	int err = lost ? -ENOMEM : probe_names_choose(defs, first, &named, NULL, true, d);
	if (err)
		defs->at.nr = first;
	return err;
}

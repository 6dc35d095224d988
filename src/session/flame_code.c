#include "session/flame_code.h"

#include "session/recording.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unistd.h>

enum {
	FUNCS_MAX = 24,
	INSNS_MAX = 2000, /* of a function */
	SOURCE_MAX = 200, /* bytes of a line */
	FILE_MAX = 32 << 20,
};
static const double least_percent = 0.5;

struct adding {
	struct flame *flame;
	int err;
};

/* The frame that the annotation is of; 0: none. */
static u32 find_frame(const struct flame *f, const struct annotation *a)
{
	for (u32 i = 1; i < f->frames.nr; i++)
		if (!strcmp(flame_str(f, f->frames.at[i].name), a->symbol) &&
		    !strcmp(flame_str(f, f->frames.at[i].module), a->image) &&
		    f->frames.at[i].kind != FLAME_INLINED)
			return i;
	return 0;
}

static void add_line(struct adding *to, struct flame_code_line line, const char *text, size_t len)
{
	s64 id = strtab_add(&to->flame->strings, text, len);
	struct flame_code_line *l = id < 0 ? NULL : vec_push(&to->flame->code_lines);
	if (!l) {
		to->err = -ENOMEM;
		return;
	}
	line.text = (u32)id;
	*l = line;
}

/* The line that an instruction comes from, where it is another than before. */
static void add_source(struct adding *to, const struct annotation_insn *in,
		       const struct annotation_insn *before, const struct text_annotate_opts *style)
{
	u32 len;
	if (!in->file || !in->line ||
	    (before && before->line == in->line && !strcmp(before->file, in->file)))
		return;
	const char *text = style->source_line(style->ctx, in->file, in->line, &len);
	if (text)
		add_line(to, (struct flame_code_line){ .number = in->line, .source = true }, text,
			 min(len, (u32)SOURCE_MAX));
}

static int add_code(void *ctx, const struct annotation *a, const struct text_annotate_opts *style)
{
	struct adding *to = ctx;
	const struct annotation_insn *before = NULL;
	u32 frame = a->nr_insns <= INSNS_MAX ? find_frame(to->flame, a) : 0;
	u32 first = (u32)to->flame->code_lines.nr;
	if (!frame)
		return 0;
	for (u32 i = 0; i < a->nr_insns && !to->err; i++) {
		const struct annotation_insn *in = &a->insns[i];
		add_source(to, in, before, style);
		add_line(to,
			 (struct flame_code_line){ .number = in->addr - a->start,
						   .weight = annotation_weights(a, i)->period },
			 in->text, strlen(in->text));
		if (in->file && in->line)
			before = in;
	}
	struct flame_code *code = to->err ? NULL : vec_push(&to->flame->codes);
	if (!code)
		return -ENOMEM;
	*code = (struct flame_code){ .frame = frame,
				     .first = first,
				     .nr = (u32)to->flame->code_lines.nr - first };
	return 0;
}

/* Of a directory, only one that holds all records in one file (record --kcore). */
static bool is_small(const char *path)
{
	char inner[PATH_MAX];
	struct stat st;
	if (stat(path, &st))
		return false;
	if (S_ISDIR(st.st_mode) &&
	    (str_path(inner, sizeof(inner), "%s/data.0", path) || !access(inner, F_OK) ||
	     str_path(inner, sizeof(inner), "%s/data", path) || stat(inner, &st)))
		return false;
	return st.st_size <= FILE_MAX;
}

int flame_code_add(const struct flame_code_from *from, struct flame *flame)
{
	struct adding to = { .flame = flame };
	struct annotate_each e = { .input = from->given ? "-" : from->path,
				   .given = from->given,
				   .names = from->names,
				   .symbols = from->symbols,
				   .opener = from->opener,
				   .max_funcs = FUNCS_MAX,
				   .min_percent = least_percent };
	if (!from->given && (!strcmp(e.input, "-") || recording_kind(e.input) != LOOKS_PERFDATA ||
			     !is_small(e.input)))
		return 0;
	int err = annotate_each(&e, add_code, &to);
	return err == -ENOMEM ? err : 0;
}

/*
 * What each pass makes of a script, and what is said about a wrong one, against tests/lang/NAME.txt. REWRITE=1 writes these files
 * anew: read the difference before you keep it.
 */
#include "lang/compile.h"

#include "tap.h"

#include <dirent.h>
#include <stdio.h>

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);
	if (f && text)
		text[fread(text, 1, (1 << 20) - 1, f)] = 0;
	if (f)
		fclose(f);
	return text;
}

static int tracepoint(void *ctx, const char *system, const char *name, const struct schema **ret)
{
	(void)ctx;
	(void)system;
	(void)name;
	(void)ret;
	return -2;
}

static void render(const char *text, struct strbuf *out)
{
	static const struct lang_ops ops = { .tracepoint = tracepoint };
	static const char *const titles[] = { "tree", "types", "ir", "bpf" };
	struct strbuf dumps[4];
	struct program p;
	struct diag d;
	diag_init(&d);
	for (u32 i = 0; i < 4; i++)
		strbuf_init(&dumps[i]);
	struct lang_input in = { .text = text,
				 .len = strlen(text),
				 .ops = &ops,
				 .machine = "x86_64",
				 .dump_ast = &dumps[0],
				 .dump_types = &dumps[1],
				 .dump_ir = &dumps[2],
				 .dump_bpf = &dumps[3] };
	int err = lang_compile(&in, &p, &d);
	for (u32 i = 0; i < 4; i++) {
		if (!err)
			strbuf_printf(out, "== %s\n%s", titles[i], strbuf_cstr(&dumps[i]));
		strbuf_done(&dumps[i]);
	}
	diag_render(&d, "sonde run", false, out);
	program_done(&p);
	diag_done(&d);
}

static void check(const char *name)
{
	char path[512];
	struct strbuf out;
	strbuf_init(&out);
	snprintf(path, sizeof(path), "%s/../lang/%s", TEST_DATA, name);
	char *script = read_file(path);
	snprintf(path + strlen(path) - 3, 5, ".txt");
	if (script)
		render(script, &out);
	if (getenv("REWRITE")) {
		FILE *f = fopen(path, "w");
		if (f) {
			fputs(strbuf_cstr(&out), f);
			fclose(f);
		}
	}
	char *want = read_file(path);
	ok(want && !strcmp(want, strbuf_cstr(&out)), "%s", name);
	free(want);
	free(script);
	strbuf_done(&out);
}

int main(void)
{
	struct dirent **list = NULL;
	int nr = scandir(TEST_DATA "/../lang", &list, NULL, alphasort);
	ok(nr > 2, "scripts are there");
	for (int i = 0; i < nr; i++) {
		size_t len = strlen(list[i]->d_name);
		if (len > 3 && !strcmp(list[i]->d_name + len - 3, ".bt"))
			check(list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return done_testing();
}

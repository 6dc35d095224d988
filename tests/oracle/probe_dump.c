/*
 * What `sonde probe` would define, for tests that compare it with perf's: one line for each place, without names of events.
 *
 *	probe_dump [-x FILE|-k VMLINUX] [-s TREE] [-c CACHE] [-V|-L|-F] [-r] [-e] PROBE...
 */
#include "probe/find_dwarf.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void show_diag(struct diag *d)
{
	struct strbuf s;
	strbuf_init(&s);
	diag_render(d, "probe_dump", false, &s);
	fprintf(stderr, "%s", strbuf_cstr(&s));
	strbuf_done(&s);
}

static void show_def(const struct probe_def *p)
{
	printf("%c ", p->letter);
	if (p->binary)
		printf("%s:0x%llx", p->binary, (unsigned long long)p->offset);
	else
		printf("%s+%llu", p->symbol, (unsigned long long)p->offset);
	for (u32 i = 0; i < p->nr_args; i++)
		printf(" %s%s%s%s%s", p->args[i].name ? p->args[i].name : "",
		       p->args[i].name ? "=" : "", p->args[i].fetch, p->args[i].type ? ":" : "",
		       p->args[i].type ? p->args[i].type : "");
	printf("\n");
}

static int show_definitions(const struct probe_target *t, const struct probe_request *r,
			    struct diag *d)
{
	struct probe_defs defs = { 0 };
	arena_init(&defs.arena);
	int err = probe_find_dwarf(t, r, &defs, d);
	vec_for_each (&defs.at, p)
		show_def(p);
	arena_done(&defs.arena);
	vec_free(&defs.at);
	return err;
}

static int show_variables(const struct probe_target *t, const struct probe_request *r,
			  struct diag *d)
{
	struct probe_vars vars;
	int err = probe_vars(t, r, &vars, d);
	vec_for_each (&vars.at, at) {
		printf("\t@<%s+%llu>\n", at->function, (unsigned long long)at->offset);
		for (u32 i = 0; i < at->nr_vars; i++) {
			const struct probe_var *v = &at->vars[i];
			printf("\t\t%s%s\t%s",
			       !t->ranges      ? ""
			       : v->is_extern  ? "[EXT]\t"
			       : v->is_missing ? "[INV]\t"
					       : "[VAL]\t",
			       v->type, v->name);
			if (v->ranges)
				printf("\t@<%s>", v->ranges);
			printf("\n");
		}
	}
	probe_vars_done(&vars);
	return err;
}

static int show_lines(const struct probe_target *t, const char *text, struct diag *d)
{
	struct arena arena;
	struct probe_line_range r;
	struct probe_lines l;
	arena_init(&arena);
	int err = probe_parse_lines(text, &arena, &r, d);
	if (!err) {
		err = probe_lines(t, &r, &l, d);
		if (!err)
			printf("<%s%s%s:%u>\n", l.function ? l.function : "", l.function ? "@" : "",
			       l.path, l.first);
		vec_for_each (&l.at, line) {
			if (line->can_be_probed)
				printf("%7u  %s\n", line->number, line->text);
			else
				printf("         %s\n", line->text);
		}
		probe_lines_done(&l);
	}
	arena_done(&arena);
	return err;
}

static int show_functions(const struct probe_target *t, const char *filter, struct diag *d)
{
	struct probe_functions f;
	int err = probe_functions(t, filter, true, &f, d);
	vec_for_each (&f.names, name)
		printf("%s\n", *name);
	probe_functions_done(&f);
	return err;
}

static int one(const struct probe_target *t, char mode, const char *text)
{
	struct diag d;
	struct arena arena;
	struct probe_request r;
	diag_init(&d);
	arena_init(&arena);
	int err = mode == 'L'	? show_lines(t, text, &d)
		  : mode == 'F' ? show_functions(t, text, &d)
				: 0;
	if (mode == 'D' || mode == 'V')
		err = probe_parse(text, &arena, &r, &d);
	if (!err && mode == 'D')
		err = show_definitions(t, &r, &d);
	if (!err && mode == 'V')
		err = show_variables(t, &r, &d);
	show_diag(&d);
	arena_done(&arena);
	diag_done(&d);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct probe_target t = { .where = PROBE_BINARY };
	char mode = 'D';
	int status = 0;
	for (int c; (c = getopt(argc, argv, "x:k:s:c:VLFre")) != -1;) {
		switch (c) {
		case 'x': t.path = optarg; break;
		case 'k':
			t.path = optarg;
			t.where = PROBE_KERNEL;
			break;
		case 's': t.sources = optarg; break;
		case 'c': t.cache = optarg; break;
		case 'r': t.ranges = true; break;
		case 'e': t.externs = true; break;
		case '?': return 2;
		default: mode = (char)c; break;
		}
	}
	for (int i = optind; i < argc; i++)
		status |= one(&t, mode, argv[i]);
	return status;
}

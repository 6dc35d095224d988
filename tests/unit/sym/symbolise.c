/*
 * Names for offsets, for comparing with other tools and for measuring:
 *
 *	symbolise [-n] [-d short|full|no] [-w WORKERS] [-c CACHE] PATH < offsets     file offsets in hex; "-" or addresses for [kernel]
 *
 * prints "OFFSET NAME+0xDELTA", or "OFFSET ?". With -n it prints only what it cost. PATH [kernel] means the running kernel.
 */
#include "kern/kallsyms.h"
#include "sym/resolve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void give_back(struct sym_text *t)
{
	struct kallsyms_text k = { .data = t->data, .len = t->len, .mapped = t->mapped };
	kallsyms_text_done(&k);
}

static int kernel_text(void *ctx, enum sym_kernel_text what, struct sym_text *ret)
{
	struct kallsyms_text t;
	int err = what == SYM_KALLSYMS	? kallsyms_read("", ctx, &t)
		  : what == SYM_MODULES ? kallsyms_read_modules("", &t)
					: kallsyms_read_notes("", &t);
	if (!err)
		*ret = (struct sym_text){
			.data = t.data, .len = t.len, .mapped = t.mapped, .release = give_back
		};
	return err;
}

static double cpu_ms(struct rusage *ru)
{
	getrusage(RUSAGE_SELF, ru);
	return (double)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1e3 +
	       (double)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) / 1e3;
}

static int add_frames(struct frame_table *t, u32 image, u32 mode)
{
	char line[256];
	while (fgets(line, sizeof(line), stdin)) {
		struct frame f = { .offset = strtoull(line, NULL, 16), .image = image, .mode = mode };
		if (frame_table_add(t, f) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct diag diag;
	diag_init(&diag);
	struct sym_config cfg = { .demangle = DEMANGLE_SHORT,
				  .kernel_text = kernel_text,
				  .diag = &diag };
	bool quiet = false;
	for (int o; (o = getopt(argc, argv, "nd:w:c:b:")) != -1;) {
		if (o == 'n')
			quiet = true;
		else if (o == 'd')
			cfg.demangle = !strcmp(optarg, "full") ? DEMANGLE_FULL
				       : !strcmp(optarg, "no") ? DEMANGLE_NO
							       : DEMANGLE_SHORT;
		else if (o == 'w')
			cfg.workers = (unsigned)atoi(optarg);
		else if (o == 'c')
			cfg.kernel_ctx = optarg;
		else if (o == 'b')
			cfg.buildid_dir = optarg;
	}
	struct catalog c;
	struct frame_table t;
	if (optind >= argc || catalog_init(&c) || frame_table_init(&t))
		return 1;
	const char *path = argv[optind];
	bool kernel = !strcmp(path, "[kernel]");
	struct image_info *info = vec_push(&c.images);
	if (!info)
		return 1;
	*info = (struct image_info){ .kind = kernel		       ? IMAGE_KIND_KERNEL
					     : !strcmp(path, "[vdso]") ? IMAGE_KIND_VDSO
								       : IMAGE_KIND_FILE,
				     .path = path,
				     .name = path };
	if (add_frames(&t, 1, kernel ? FRAME_KERNEL : FRAME_USER))
		return 1;
	struct names *n = sym_names_new(&cfg);
	struct rusage before, after;
	double start = cpu_ms(&before);
	struct names_result r;
	if (!n || n->ops->resolve(n, &c, &t, WANT_SYMBOL, &r))
		return 1;
	double spent = cpu_ms(&after) - start;
	u32 named = 0;
	for (u32 f = 1; f < t.nr; f++) {
		const struct name_func *fn = &r.funcs[r.func_of[f]];
		named += fn->name != NULL;
		if (!quiet && fn->name)
			printf("%" PRIx64 " %s+0x%" PRIx64 "\n", t.frames[f].offset, fn->name,
			       t.frames[f].offset - fn->start);
		else if (!quiet)
			printf("%" PRIx64 " ?\n", t.frames[f].offset);
	}
	vec_for_each (&diag.items, it)
		fprintf(stderr, "note: %s\n", it->message);
	fprintf(stderr, "%u frames, %u named, %u functions, %.2f ms CPU, %ld+%ld faults\n",
		t.nr - 1, named, r.nr_funcs - 1, spent, after.ru_minflt - before.ru_minflt,
		after.ru_majflt - before.ru_majflt);
	n->ops->free(n);
	frame_table_done(&t);
	catalog_done(&c);
	diag_done(&diag);
	return 0;
}

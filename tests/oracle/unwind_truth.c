/*
 * Unwinds what unwind_gdb.py wrote down and compares with what gdb found there.
 *
 *	unwind_truth compare FILE     counts, and each difference; status 1 when there is one that is not explained
 *	unwind_truth tick PID         for each line of microseconds on standard input, SIGPROF to PID after that time
 */
#include "base/vec.h"
#include "sym/unwind_cfi.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES_MAX = 256 };

struct map {
	u64 start, end, offset;
	u32 image;
};

struct truth {
	const struct arch *arch;
	struct unwind_tables *tables;
	struct unwinder *unwinder;
	VEC(struct image_info) images;
	VEC(struct map) maps;
	u64 generation; /* of maps */
	struct cfi_regs regs;
	u8 *stack;
	size_t stack_size;
	u64 nr_stacks, nr_equal, nr_frames, nr_calls, nr_no_call;
	u64 ends[UNWIND_NR_ENDS];
	struct {
		const char *why;
		u64 nr;
	} reasons[16];
	u64 nr_unexplained;
	bool verbose;
};

static u32 image_of(struct truth *t, const char *path)
{
	for (size_t i = 0; i < t->images.nr; i++)
		if (!strcmp(t->images.at[i].path, path))
			return (u32)i;
	struct image_info *info = vec_push(&t->images);
	bool vdso = !strcmp(path, "[vdso]");
	*info = (struct image_info){ .kind = vdso	      ? IMAGE_KIND_VDSO
					     : path[0] == '/' ? IMAGE_KIND_FILE
							      : IMAGE_KIND_ANON,
				     .path = strdup(path),
				     .name = path };
	return unwind_tables_reserve(t->tables, (u32)t->images.nr) ? 0 : (u32)t->images.nr - 1;
}

static void read_maps(struct truth *t, FILE *f)
{
	char line[8192];
	t->maps.nr = 0;
	t->generation++;
	while (fgets(line, sizeof(line), f) && line[0] != '.') {
		char prot[8], path[4096] = "//anon";
		u64 start, end, offset;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095[^\n]",
			   &start, &end, prot, &offset, path) < 4 ||
		    !strchr(prot, 'x'))
			continue;
		struct map *m = vec_push(&t->maps);
		*m = (struct map){ start, end, offset, image_of(t, path) };
	}
}

static bool find(void *ctx, u64 addr, struct unwind_place *ret)
{
	struct truth *t = ctx;
	vec_for_each (&t->maps, m)
		if (addr >= m->start && addr < m->end) {
			*ret = (struct unwind_place){ .image = m->image,
						      .info = &t->images.at[m->image],
						      .offset = addr - m->start + m->offset,
						      .from = t->generation,
						      .until = t->generation + 1 };
			return true;
		}
	return false;
}

static void read_regs(struct truth *t, char *text)
{
	u32 nr = 0;
	for (char *word = strtok(text, " \n"); word && nr < ARCH_REGS_MAX;
	     word = strtok(NULL, " \n"))
		t->regs.value[nr++] = strtoull(word, NULL, 16);
	t->regs.known = (1ull << nr) - 1;
}

static void read_stack(struct truth *t, const char *hex)
{
	size_t nr = strspn(hex, "0123456789abcdef") / 2;
	t->stack = realloc(t->stack, nr + 1);
	for (size_t i = 0; i < nr; i++) {
		static const char digits[] = "0123456789abcdef";
		t->stack[i] = (u8)((strchr(digits, hex[2 * i]) - digits) << 4 |
				   (strchr(digits, hex[2 * i + 1]) - digits));
	}
	t->stack_size = nr;
}

static void print_place(struct truth *t, u64 pc)
{
	struct unwind_place p;
	if (find(t, pc, &p))
		printf("%s+0x%" PRIx64, p.info->path, p.offset);
	else
		printf("0x%" PRIx64 " nowhere", pc);
}

/* Every address that we call a caller's follows a call, unless a signal interrupted it (gdb's word for it). */
static void check_calls(struct truth *t, const u64 *pcs, u32 nr, const int *types, u32 nr_gdb)
{
	for (u32 i = 1; i < nr; i++) {
		struct unwind_place p;
		u8 code[8];
		bool interrupted = i < nr_gdb && types[i - 1] == 4; /* SIGTRAMP_FRAME */
		bool trampoline = i < nr_gdb && types[i] == 4;
		if (interrupted || trampoline || !find(t, pcs[i], &p))
			continue;
		size_t got = unwind_tables_code(t->tables, p.image, p.info, p.offset, true, code, 8);
		if (!got)
			continue;
		t->nr_calls++;
		if (t->arch->after_call(code + got, got))
			continue;
		t->nr_no_call++;
		printf("# no call before ");
		print_place(t, pcs[i]);
		printf("\n");
	}
}

/*
 * Where we and gdb differ for a reason that is known. Each is a place where gdb has no table and guesses by looking at code, or
 * where the stack lies elsewhere.
 */
static const char *explain(struct truth *t, const u64 *pcs, u32 nr, enum unwind_end end,
			   const u64 *gdb, u32 nr_gdb, const char *why)
{
	u32 same = 0;
	while (same < nr && same < nr_gdb && pcs[same] == gdb[same])
		same++;
	struct unwind_place p;
	u64 last = same ? pcs[same - 1] : t->regs.value[t->arch->pc];
	bool has_rule = find(t, last - (same > 1), &p) &&
			unwind_tables_find(t->tables, p.image, p.info, p.offset).rule;
	if (same == nr && end == UNWIND_SHORT_COPY)
		return "the rest of the stack is not where the stack pointer is (a signal's own "
		       "stack)";
	if (!has_rule && same == nr)
		return "code without a table: gdb guesses by its instructions, we stop and say so";
	if (!has_rule && same == nr_gdb)
		return "code without a table: gdb stops, we follow its frame pointer";
	if (!has_rule)
		return "code without a table: gdb guesses by its instructions, we follow its frame "
		       "pointer";
	if (same == nr && end == UNWIND_WHOLE && nr_gdb > nr)
		return "gdb goes on behind the outermost function (undefined return address)";
	if (same == nr_gdb && strstr(why, "corrupt"))
		return "gdb stops at a frame that looks like the one before; the table goes on";
	return NULL;
}

static void note(struct truth *t, const char *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(t->reasons); i++) {
		if (t->reasons[i].why && t->reasons[i].why != why)
			continue;
		t->reasons[i].why = why;
		t->reasons[i].nr++;
		return;
	}
}

static void print_stack(struct truth *t, const char *who, const u64 *pcs, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		printf("#   %s %2u %12" PRIx64 " ", who, i, pcs[i]);
		print_place(t, pcs[i]);
		printf("\n");
	}
}

static void compare(struct truth *t, char *text)
{
	u64 gdb[FRAMES_MAX], pcs[FRAMES_MAX];
	int types[FRAMES_MAX];
	u32 nr_gdb = 0;
	char *save, *why = strtok_r(text, " \n", &save);
	for (char *w; nr_gdb < FRAMES_MAX && (w = strtok_r(NULL, " \n", &save)); nr_gdb++)
		sscanf(w, "%" SCNx64 ":%d", &gdb[nr_gdb], &types[nr_gdb]);
	struct unwind_thread th = { .regs = &t->regs,
				    .stack = t->stack,
				    .stack_at = t->regs.value[t->arch->sp],
				    .stack_size = t->stack_size,
				    .space = 1,
				    .time = t->generation,
				    .find = find,
				    .ctx = t };
	enum unwind_end end;
	u32 nr = unwind(t->unwinder, &th, false, pcs, FRAMES_MAX, &end);
	/* Behind the first function of a thread gdb goes on into what is no code. */
	struct unwind_place p;
	for (u32 i = 1; i < nr_gdb; i++)
		if (!find(t, gdb[i], &p))
			nr_gdb = i;
	t->nr_stacks++;
	t->nr_frames += nr;
	t->ends[end]++;
	check_calls(t, pcs, nr, types, nr_gdb);
	if (nr == nr_gdb && !memcmp(pcs, gdb, nr * sizeof(*pcs))) {
		t->nr_equal++;
		return;
	}
	const char *known = explain(t, pcs, nr, end, gdb, nr_gdb, why);
	if (known)
		note(t, known);
	t->nr_unexplained += !known;
	if (known && !t->verbose)
		return;
	printf("# differs (%s; gdb: %s; ours: %s)\n", known ? known : "NOT EXPLAINED", why,
	       unwind_end_text(end));
	print_stack(t, "gdb ", gdb, nr_gdb);
	print_stack(t, "ours", pcs, nr);
}

static int compare_file(const char *path)
{
	struct truth t = { .arch = arch_host(), .verbose = getenv("UNWIND_VERBOSE") != NULL };
	t.tables = unwind_tables_new(&(struct unwind_config){ .arch = t.arch });
	t.unwinder = unwinder_new(t.tables);
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;
	if (!f || !vec_push(&t.images)) {
		perror(path);
		return 2;
	}
	t.images.at[0].path = "";
	while (getline(&line, &cap, f) > 0) {
		if (!strncmp(line, "maps", 4))
			read_maps(&t, f);
		else if (!strncmp(line, "regs ", 5))
			read_regs(&t, line + 5);
		else if (!strncmp(line, "stack", 5))
			read_stack(&t, line + 6);
		else if (!strncmp(line, "gdb ", 4))
			compare(&t, line + 4);
	}
	free(line);
	fclose(f);
	printf("stacks %" PRIu64 " equal %" PRIu64 " unexplained %" PRIu64 " frames %" PRIu64
	       " calls %" PRIu64 " without %" PRIu64 "\n",
	       t.nr_stacks, t.nr_equal, t.nr_unexplained, t.nr_frames, t.nr_calls, t.nr_no_call);
	for (size_t i = 0; i < ARRAY_SIZE(t.reasons) && t.reasons[i].why; i++)
		printf("reason %" PRIu64 " %s\n", t.reasons[i].nr, t.reasons[i].why);
	for (int i = 1; i < UNWIND_NR_ENDS; i++)
		if (t.ends[i])
			printf("end %" PRIu64 " %s\n", t.ends[i],
			       unwind_end_text((enum unwind_end)i));
	unwinder_free(t.unwinder);
	unwind_tables_free(t.tables);
	vec_for_each (&t.images, i)
		if (i != t.images.at)
			free((char *)(uintptr_t)i->path);
	vec_free(&t.images);
	vec_free(&t.maps);
	free(t.stack);
	return t.nr_unexplained || t.nr_no_call || !t.nr_stacks;
}

static int tick(pid_t pid)
{
	char line[64];
	while (fgets(line, sizeof(line), stdin)) {
		long us = atol(line);
		nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
		if (kill(pid, SIGPROF))
			return 0;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "compare"))
		return compare_file(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "tick"))
		return tick(atoi(argv[2]));
	fprintf(stderr, "usage: unwind_truth compare FILE | tick PID\n");
	return 2;
}

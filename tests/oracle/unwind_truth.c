/*
 * Unwinds what unwind_gdb.py wrote down and compares with what gdb found there.
 *
 *	unwind_truth compare FILE [MACHINE]  counts, and each difference; status 1 when there is one that is not explained
 *	unwind_truth tick PID                for each line of microseconds on standard input, SIGPROF to PID after that time
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
	u64 nr_stacks, nr_equal, nr_longer, nr_frames, nr_calls, nr_no_call;
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

/* Whether the instruction before a return address calls. Code that cannot be seen (made at run time) is believed, and not counted. */
static bool follows_call(struct truth *t, u64 pc, bool *seen)
{
	struct unwind_place p;
	u8 code[8];
	size_t got = 0;
	if (find(t, pc, &p))
		got = unwind_tables_code(t->tables, p.image, p.info, p.offset, true, code, 8);
	*seen = got > 0;
	return !got || t->arch->after_call(code + got, got);
}

/* libgcc returns from _Unwind_RaiseException and _Unwind_Resume to where an exception is handled: no call is before that. */
static bool lands(struct truth *t, u64 callee)
{
	struct unwind_place p;
	return find(t, callee, &p) && strstr(p.info->path, "/libgcc_s.so");
}

/* Every address that we call a caller's follows a call, unless a signal interrupted it (gdb's word for it) or an exception lands there. */
static void check_calls(struct truth *t, const u64 *pcs, u32 nr, const int *types, u32 nr_gdb)
{
	for (u32 i = 1; i < nr; i++) {
		bool interrupted = i < nr_gdb && types[i - 1] == 4; /* SIGTRAMP_FRAME */
		bool trampoline = i < nr_gdb && types[i] == 4, seen;
		if (interrupted || trampoline)
			continue;
		bool good = follows_call(t, pcs[i], &seen);
		if (!good && lands(t, pcs[i - 1]))
			continue;
		t->nr_calls += seen;
		if (good)
			continue;
		t->nr_no_call++;
		printf("# no call before ");
		print_place(t, pcs[i]);
		printf("\n");
	}
}

/* Two stacks of the same registers, and how far they are the same. */
struct pair {
	const u64 *ours, *gdb;
	u32 nr, nr_gdb, same;
	enum unwind_end end; /* of ours */
	const char *why; /* gdb's ends */
	bool table; /* the last frame that is the same lies in code with a table */
};

/* Ours has all of gdb's frames, and more: each of those follows a call, and the last one is where a process or thread begins. */
static bool is_longer(struct truth *t, const struct pair *p)
{
	bool seen;
	if (p->same != p->nr_gdb || p->nr <= p->nr_gdb || p->end != UNWIND_WHOLE)
		return false;
	for (u32 i = p->nr_gdb; i < p->nr; i++)
		if (!follows_call(t, p->ours[i], &seen))
			return false;
	return true;
}

/* Whether our frames stand in gdb's in the same order: some may be missing, none is made up. */
static bool is_part(const struct pair *p)
{
	u32 at = 0;
	for (u32 i = 0; i < p->nr_gdb && at < p->nr; i++)
		at += p->gdb[i] == p->ours[at];
	return at == p->nr;
}

/* gdb ended its walk with a complaint, not at the outermost frame: what it says last need not be true. */
static bool gdb_is_lost(const struct pair *p)
{
	return strstr(p->why, "corrupt") || strstr(p->why, "memory") || strstr(p->why, "identical");
}

static bool other_stack(struct truth *t, const struct pair *p)
{
	return p->same == p->nr && p->end == UNWIND_SHORT_COPY;
}

static bool stopped(struct truth *t, const struct pair *p)
{
	return !p->table && p->same == p->nr && p->end != UNWIND_WHOLE;
}

static bool skipped(struct truth *t, const struct pair *p)
{
	return !p->table && is_part(p);
}

static bool guessed(struct truth *t, const struct pair *p)
{
	return !p->table && gdb_is_lost(p);
}

static bool went_behind(struct truth *t, const struct pair *p)
{
	return p->table && p->same == p->nr && p->end == UNWIND_WHOLE && p->nr_gdb > p->nr;
}

/*
 * The list of what may differ. Each is either a place for which there is no table, so that gdb reads the instructions and we must not
 * guess, or memory that is not in the copy; and each says how it is known to be that.
 */
static const struct reason {
	bool (*holds)(struct truth *, const struct pair *);
	const char *text;
} list[] = {
	{ other_stack,
	  "the rest of the stack is not where the stack pointer is (a signal's own "
	  "stack, of which the kernel's copy has nothing): ours ends there and says so" },
	{ stopped,
	  "code without a table: gdb goes by its instructions, ours ends there and says so" },
	{ skipped, "code without a table before it has set up its frame pointer: its caller is "
		   "missing, the others are there" },
	{ guessed, "code without a table: gdb goes by its instructions and gets lost, we follow "
		   "the frame pointer" },
	{ went_behind,
	  "gdb goes on behind the outermost function, whose return address is undefined" },
};

static const char *explain(struct truth *t, const struct pair *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		if (list[i].holds(t, p))
			return list[i].text;
	return NULL;
}

static void compare_ends(struct truth *t, struct pair *p)
{
	struct unwind_place at;
	while (p->same < p->nr && p->same < p->nr_gdb && p->ours[p->same] == p->gdb[p->same])
		p->same++;
	u64 last = p->same ? p->ours[p->same - 1] : t->regs.value[t->arch->pc];
	p->table = find(t, last - (p->same > 1), &at) &&
		   unwind_tables_find(t->tables, at.image, at.info, at.offset).rule;
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
	struct pair both = {
		.ours = pcs, .gdb = gdb, .nr = nr, .nr_gdb = nr_gdb, .end = end, .why = why
	};
	compare_ends(t, &both);
	if (both.same == nr && nr == nr_gdb) {
		t->nr_equal++;
		return;
	}
	bool longer = is_longer(t, &both);
	const char *known =
		longer ? "gdb ends in code without a table, ours goes on to the outermost "
			 "function, each return address behind a call"
		       : explain(t, &both);
	t->nr_longer += longer;
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

static int compare_file(const char *path, const struct arch *arch)
{
	struct truth t = { .arch = arch, .verbose = getenv("UNWIND_VERBOSE") != NULL };
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
	printf("stacks %" PRIu64 " equal %" PRIu64 " longer %" PRIu64 " unexplained %" PRIu64
	       " frames %" PRIu64 " calls %" PRIu64 " without %" PRIu64 "\n",
	       t.nr_stacks, t.nr_equal, t.nr_longer, t.nr_unexplained, t.nr_frames, t.nr_calls,
	       t.nr_no_call);
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
		return compare_file(argv[2], arch_host());
	if (argc == 4 && !strcmp(argv[1], "compare") && arch_of_name(argv[3]))
		return compare_file(argv[2], arch_of_name(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "tick"))
		return tick(atoi(argv[2]));
	fprintf(stderr, "usage: unwind_truth compare FILE [MACHINE] | tick PID\n");
	return 2;
}

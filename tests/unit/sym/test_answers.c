/* What is kept by build id: written, read back, joined with what was there, and refused when it is not what was written. */
#include "sym/answers.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const u8 id_bytes[] = { 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4 };

static const struct srcline_inline stack[] = {
	{ "middle", { "/src/a.c", 12 } },
	{ "inner", { "/src/b.h", 7 } },
};

static struct srcline_spot spot(u32 nr, u32 line)
{
	return (struct srcline_spot){ .line = { "/src/b.h", line },
				      .outer = { "/src/a.c", line + 100 },
				      .inlines = nr ? stack : NULL,
				      .nr = nr };
}

static bool same_spot(const struct srcline_spot *a, const struct srcline_spot *b)
{
	if (strcmp(a->line.file, b->line.file) || a->line.line != b->line.line ||
	    strcmp(a->outer.file, b->outer.file) || a->outer.line != b->outer.line || a->nr != b->nr)
		return false;
	for (u32 i = 0; i < a->nr; i++)
		if (strcmp(a->inlines[i].name, b->inlines[i].name) ||
		    strcmp(a->inlines[i].line.file, b->inlines[i].line.file) ||
		    a->inlines[i].line.line != b->inlines[i].line.line)
			return false;
	return true;
}

static void round_trip(const struct answers_key *k)
{
	struct srcline_spot spots[4] = { spot(2, 1), spot(0, 2), spot(1, 3), spot(2, 4) };
	struct answers_new list[] = {
		{ .at = 0x100, .start = 0xf0, .end = 0x200, .name = "outer", .spots = &spots[0] },
		{ .at = 0x180, .start = 0xf0, .end = 0x200, .name = "outer", .spots = &spots[2] },
	};
	struct answers none = { 0 }, a;
	is_u64((u64)-answers_open(&a, k), ENOENT, "nothing is kept at first");
	ok(!answers_save(k, &none, list, 2), "answers are kept");
	ok(!answers_open(&a, k), "and read back");
	is_u64(a.nr, 2, "both of them");
	struct arena arena;
	arena_init(&arena);
	const struct answers_entry *e = answers_find(&a, 0x180);
	ok(e && !strcmp(answers_string(&a, e->name), "outer") && e->start == 0xf0 && e->end == 0x200,
	   "the symbol");
	struct srcline_spot got[2] = { 0 };
	ok(e && !answers_spot(&a, &e->spots[0], &arena, &got[0]) &&
		   !answers_spot(&a, &e->spots[1], &arena, &got[1]) &&
		   same_spot(&got[0], &spots[2]) && same_spot(&got[1], &spots[3]),
	   "lines and inlined functions");
	ok(!answers_find(&a, 0x181) && !answers_find(&a, 0) && !answers_find(&a, UINT64_MAX),
	   "others are not known");
	arena_done(&arena);

	struct answers_new more[] = { { .at = 0x80, .start = 0x80, .end = 0x90, .name = NULL },
				      { .at = 0x180, .start = 0xf0, .end = 0x200, .name = "newer" } };
	ok(!answers_save(k, &a, more, 2), "more are joined with them");
	answers_close(&a);
	ok(!answers_open(&a, k) && a.nr == 3, "none was lost, none is there twice");
	e = answers_find(&a, 0x180);
	ok(e && !strcmp(answers_string(&a, e->name), "newer"), "the new answer holds");
	e = answers_find(&a, 0x80);
	ok(e && !answers_string(&a, e->name), "a place without a name is known as such");
	answers_close(&a);
}

/* The one file that is kept. */
static void path_of(char *to, size_t size, const char *folder)
{
	glob_t g;
	snprintf(to, size, "%s/names/deadbeef01020304-*-15", folder);
	if (glob(to, 0, NULL, &g))
		return;
	ok(g.gl_pathc == 1, "one file");
	snprintf(to, size, "%s", g.gl_pathv[0]);
	globfree(&g);
}

/* A program that says it is another one: the build id is the same, the file is not. */
static void other_files(const struct answers_key *k)
{
	struct answers a;
	for (size_t i = 0; i < sizeof(k->files); i++) {
		struct answers_key other = *k;
		((u8 *)other.files)[i] ^= 1;
		if (!answers_open(&a, &other))
			ok(false, "byte %zu of the files' identities does not matter", i);
	}
	struct answers_key none = *k;
	none.files[0] = (struct elfimg_identity){ 0 };
	ok(answers_open(&a, &none) == -ENOENT,
	   "a file that cannot be told from others has no answers");
	/* Should two identities have one hash: the file itself tells. */
	char path[512], their[512], text[4096];
	struct answers_key other = *k;
	struct answers_new list[] = { { .at = 1, .start = 1, .end = 2, .name = "x" } };
	path_of(path, sizeof(path), k->folder);
	other.id = buildid_make(id_bytes, 6);
	other.files[0].ino++;
	ok(!answers_save(&other, &(struct answers){ 0 }, list, 1), "answers for another file");
	snprintf(their, sizeof(their), "%s/names/deadbeef0102-*-15", k->folder);
	snprintf(text, sizeof(text), "cp %s %s.copy && mv %s %s && mv %s.copy %s.kept", path, path,
		 their, path, path, path);
	ok(!system(text), "put in their place");
	ok(answers_open(&a, k) == -ESTALE, "what was made from another file is refused");
	snprintf(text, sizeof(text), "mv %s.kept %s", path, path);
	ok(!system(text) && !answers_open(&a, k), "the right ones are there again");
	answers_close(&a);
}

static void trusted(const struct answers_key *k)
{
	struct answers a;
	struct answers_new list[] = { { .at = 1, .start = 1, .end = 2, .name = "x" } };
	ok(!answers_open_trusted(&a, k, 0) && a.nr == 3,
	   "files of ours and root's: known without them");
	answers_close(&a);
	ok(answers_open_trusted(&a, k, 1) == -ENOENT, "there are no others");
	char path[512];
	struct answers_key other = *k;
	other.id = buildid_make(id_bytes, 5);
	other.files[0].owner = 65533;
	ok(!answers_save(&other, &(struct answers){ 0 }, list, 1), "another user's file");
	ok(answers_open_trusted(&a, &other, 0) == -ENOENT, "another user's file: only with it");
	ok(!answers_open(&a, &other), "and with it");
	answers_close(&a);
	glob_t g;
	snprintf(path, sizeof(path), "%s/names/deadbeef01-*", k->folder);
	ok(!glob(path, 0, NULL, &g) && !unlink(g.gl_pathv[0]), "removed");
	globfree(&g);
}

/* Each byte changed, and each length cut: with the checksum left alone it is refused; with it put right it does no harm. */
static void damage(const struct answers_key *k)
{
	char path[512];
	path_of(path, sizeof(path), k->folder);
	int fd = open(path, O_RDONLY);
	struct stat st;
	ok(fd >= 0 && !fstat(fd, &st) && st.st_size > ANSWERS_HEAD,
	   "the file is where it should be");
	size_t size = (size_t)st.st_size - sizeof(k->files); /* their identities follow */
	u8 *whole = malloc(size), *hurt = malloc(size);
	ok(whole && hurt && read(fd, whole, size) == (ssize_t)size, "it can be read");
	close(fd);
	u32 refused = 0, harmless = 0;
	struct answers a;
	for (size_t i = 0; i < size; i++) {
		memcpy(hurt, whole, size);
		hurt[i] ^= 0x81;
		refused += answers_open_bytes(&a, hurt, size, k) != 0;
		answers_sum(hurt, size);
		if (!answers_open_bytes(&a, hurt, size, k))
			for (u32 e = 0; e < a.nr; e++) {
				const char *name = answers_string(&a, a.entries[e].name);
				harmless += !name || strlen(name) < size;
			}
	}
	is_u64(refused, size, "a changed byte anywhere is noticed");
	ok(harmless > 0, "with the right checksum nothing points outside");
	refused = 0;
	for (size_t cut = 0; cut < size; cut++)
		refused += answers_open_bytes(&a, whole, cut, k) != 0;
	is_u64(refused, size, "a file cut short is noticed");
	struct answers_key other = *k;
	other.want = WANT_SYMBOL;
	ok(answers_open_bytes(&a, whole, size, &other), "so is one for another question");
	free(whole);
	free(hurt);
}

int main(void)
{
	char folder[] = "/tmp/sonde-answers.XXXXXX", text[600];
	if (!mkdtemp(folder))
		return 1;
	struct answers_key k = {
		.folder = folder,
		.id = buildid_make(id_bytes, sizeof(id_bytes)),
		.files = { { 1, 2, 3, 4, 5, 0 }, { 0 }, { 6, 7, 8, 9, 10, geteuid() } },
		.style = DEMANGLE_SHORT,
		.want = WANT_SYMBOL | WANT_INLINE
	};
	round_trip(&k);
	other_files(&k);
	trusted(&k);
	damage(&k);
	path_of(text, sizeof(text), folder);
	unlink(text);
	snprintf(text, sizeof(text), "%s/names", folder);
	ok(!rmdir(text) && !rmdir(folder), "nothing else was left");
	return done_testing();
}

/* What is kept by build id: written, read back, joined with what was there, and refused when it is not what was written. */
#include "sym/answers.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
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

/* Each byte changed, and each length cut: with the checksum left alone it is refused; with it put right it does no harm. */
static void damage(const struct answers_key *k)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/names/deadbeef01020304-15", k->folder);
	int fd = open(path, O_RDONLY);
	struct stat st;
	ok(fd >= 0 && !fstat(fd, &st) && st.st_size > ANSWERS_HEAD,
	   "the file is where it should be");
	size_t size = (size_t)st.st_size;
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
	struct answers_key k = { .folder = folder,
				 .id = buildid_make(id_bytes, sizeof(id_bytes)),
				 .style = DEMANGLE_SHORT,
				 .want = WANT_SYMBOL | WANT_INLINE };
	round_trip(&k);
	damage(&k);
	snprintf(text, sizeof(text), "%s/names/deadbeef01020304-15", folder);
	unlink(text);
	snprintf(text, sizeof(text), "%s/names", folder);
	ok(!rmdir(text) && !rmdir(folder), "nothing else was left");
	return done_testing();
}

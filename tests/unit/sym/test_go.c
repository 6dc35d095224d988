/* Go programs without symbols: names and lines of every layout of .gopclntab, both classes and byte orders; damage. */
#include "tap.h"
#include "gen/gowrite.h"

#include "image/gopclntab.h"
#include "sym/dso.h"
#include "sym/srcline.h"

#include <stdlib.h>
#include <unistd.h>

static const struct gowrite_func funcs[] = {
	{ 0x4010, "main.spin", "/src/w.go", 10, 8 },
	{ 0x4100, "main.(*T).Work", "/src/t.go", 300, 16 },
	{ 0x4180, "main.main", "/src/m.go", 20, 4 },
};

static const char *const layouts[GOWRITE_NR] = { "1.2", "1.16", "1.18", "1.20" };

static struct gowrite plan(enum gowrite_layout layout)
{
	return (struct gowrite){
		.layout = layout, .funcs = funcs, .nr = ARRAY_SIZE(funcs), .end = 0x4200
	};
}

static void test_layout(enum gowrite_layout layout, bool is32, bool big)
{
	struct gowrite g = plan(layout);
	struct elfwrite w;
	struct elfimg e;
	struct gopclntab t;
	g.is32 = is32;
	g.big = big;
	gowrite_program(&g, &w);
	bool good = !elfimg_open_memory(&e, w.out.data, w.out.len) && !gopclntab_open(&t, &e) &&
		    t.nr == ARRAY_SIZE(funcs);
	u64 at[] = { 0x400f, 0x4010, 0x4017, 0x4018, 0x40ff, 0x4100, 0x4111, 0x4183, 0x41ff, 0x4200 };
	static const u32 lines[] = { 0, 10, 10, 11, 39, 300, 301, 20, 51, 0 };
	struct dwinfo_answer got[ARRAY_SIZE(at)];
	for (u32 i = 0; good && i < ARRAY_SIZE(funcs); i++) {
		struct gopclntab_func f;
		u64 end = i + 1 < ARRAY_SIZE(funcs) ? funcs[i + 1].start : g.end;
		good = gopclntab_func(&t, i, &f) && f.start == funcs[i].start && f.end == end &&
		       !strcmp(f.name, funcs[i].name);
	}
	if (good)
		gopclntab_find(&t, at, ARRAY_SIZE(at), got);
	for (u32 i = 0; good && i < ARRAY_SIZE(at); i++) {
		const char *file = at[i] < 0x4100   ? "/src/w.go"
				   : at[i] < 0x4180 ? "/src/t.go"
						    : "/src/m.go";
		good = got[i].line == lines[i] &&
		       (lines[i] ? got[i].file && !strcmp(got[i].file, file) : !got[i].file);
	}
	ok(good, "Go %s, %s bit, %s-endian: names and lines", layouts[layout], is32 ? "32" : "64",
	   big ? "big" : "little");
	elfwrite_done(&w);
}

static void test_text(void)
{
	struct gowrite g = plan(GOWRITE_1_20);
	struct elfwrite w;
	struct elfimg e;
	struct gopclntab t;
	g.no_text = true;
	g.relocation = true;
	gowrite_program(&g, &w);
	ok(!elfimg_open_memory(&e, w.out.data, w.out.len) && !gopclntab_open(&t, &e) &&
		   t.text == 0x4000,
	   "the code's address is the loader's business: it is in a relocation");
	elfwrite_done(&w);
	g.relocation = false;
	gowrite_program(&g, &w);
	ok(!elfimg_open_memory(&e, w.out.data, w.out.len) && !gopclntab_open(&t, &e) &&
		   t.text == 0x4000,
	   "... or not told: it is .text of a static program");
	elfwrite_done(&w);
}

/* Every cut, and every byte changed: nothing is read outside (under the sanitizers), and what is told stays in order. */
static void test_damage(enum gowrite_layout layout)
{
	struct gowrite g = plan(layout);
	struct elfwrite w;
	bool good = true;
	gowrite_program(&g, &w);
	for (size_t i = 0; i < w.out.len; i++) {
		u8 *copy = malloc(w.out.len);
		struct elfimg e;
		struct gopclntab t;
		struct gopclntab_func f;
		struct dwinfo_answer got;
		if (!copy)
			abort();
		memcpy(copy, w.out.data, w.out.len);
		copy[i] = (u8)~copy[i];
		if (!elfimg_open_memory(&e, copy, w.out.len) && !gopclntab_open(&t, &e)) {
			for (u32 k = 0; k < min(t.nr, 100u); k++)
				if (gopclntab_func(&t, k, &f)) {
					good &= f.end > f.start && f.name[0];
					gopclntab_find(&t, &f.start, 1, &got);
				}
		}
		free(copy);
	}
	ok(good, "Go %s: a changed byte does no harm", layouts[layout]);
	elfwrite_done(&w);
}

static void test_names(void)
{
	struct gowrite g = plan(GOWRITE_1_20);
	struct elfwrite w;
	char path[] = "/tmp/sonde-go.XXXXXX";
	gowrite_program(&g, &w);
	int fd = mkstemp(path);
	bool wrote = fd >= 0 && write(fd, w.out.data, w.out.len) == (ssize_t)w.out.len;
	if (fd >= 0)
		close(fd);
	struct debugfile_where where = { 0 };
	struct image_info info = { .kind = IMAGE_KIND_FILE, .path = path };
	struct dso d;
	if (!ok(wrote && !dso_open(&d, &where, &info), "the program is written and opened"))
		return;
	u64 at[2], base = d.image.loads[0].offset - d.image.loads[0].vaddr;
	at[0] = base + 0x4018;
	at[1] = base + 0x4190;
	struct symtab_sym syms[2];
	ok(!dso_find(&d, at, 2, syms) && syms[0].name && !strcmp(syms[0].name, "main.spin") &&
		   syms[0].start == base + 0x4010 && syms[0].end == base + 0x4100,
	   "a symbol out of the table");
	struct arena arena;
	arena_init(&arena);
	struct srcline_opts o = {
		.go = &d.image, .runtime = &d.image, .want = WANT_LINE, .arena = &arena
	};
	struct srcline_spot spots[4];
	struct srcline_told told;
	ok(!srcline_find(&o, at, 2, spots, &told) && spots[0].line.line == 11 &&
		   spots[1].line.line == 10 && spots[2].line.line == 24 &&
		   !strcmp(spots[2].line.file, "/src/m.go"),
	   "lines out of the table, of the place and of the call before it");
	arena_done(&arena);
	dso_close(&d);
	unlink(path);
	elfwrite_done(&w);
}

int main(void)
{
	for (int i = 0; i < GOWRITE_NR; i++) {
		test_layout(i, false, false);
		test_layout(i, true, false);
		test_layout(i, false, true);
		test_layout(i, true, true);
		test_damage(i);
	}
	test_text();
	test_names();
	return done_testing();
}

/* Writes the corpus of fuzz_gopclntab into a folder: a small program in each layout of the table. */
#include "gen/gowrite.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	static const char *const names[GOWRITE_NR] = { "go1.2", "go1.16", "go1.18", "go1.20" };
	static const struct gowrite_func funcs[] = {
		{ 0x4000, "main.spin", "/src/w.go", 10, 8 },
		{ 0x4100, "main.(*T).Work", "/src/t.go", 300, 16 },
		{ 0x4180, "main.main", "/src/w.go", 20, 4 },
	};
	for (int i = 0; argc == 2 && i < 2 * GOWRITE_NR; i++) {
		char path[4096];
		struct elfwrite w;
		struct gowrite g = { .layout = i % GOWRITE_NR,
				     .big = i >= GOWRITE_NR,
				     .is32 = i >= GOWRITE_NR,
				     .no_text = i == GOWRITE_1_20,
				     .relocation = i == GOWRITE_1_20,
				     .funcs = funcs,
				     .nr = ARRAY_SIZE(funcs),
				     .end = 0x4200 };
		gowrite_program(&g, &w);
		snprintf(path, sizeof(path), "%s/%s%s", argv[1], names[g.layout],
			 g.big ? "-big" : "");
		FILE *f = fopen(path, "w");
		if (!f || fwrite(w.out.data, 1, w.out.len, f) != w.out.len)
			perror(path);
		if (f)
			fclose(f);
		elfwrite_done(&w);
	}
	return argc != 2;
}

/* image: synthetic ELF files of all classes, cut ones, build ids, demangling; real files against readelf. */
#include "tap.h"
#include "gen/elfwrite.h"

#include "image/buildid.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/elf.h"
#include "image/plt.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>

static const u8 some_id[20] = "\x01\x23\x45\x67\x89\xab\xcd\xef"
			      "0123456789ab";

static void write_sample(struct elfwrite *w, bool is64, bool big, u32 symtab)
{
	elfwrite_begin(w, is64, big, ET_DYN, is64 ? EM_X86_64 : EM_386);
	u32 text = elfwrite_section(w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x4000,
				    NULL, 0x200);
	u32 data = elfwrite_section(w, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x8000, NULL,
				    0x40);
	elfwrite_load(w, text);
	elfwrite_load(w, data);
	elfwrite_buildid(w, some_id, sizeof(some_id));
	elfwrite_sym(w, "alpha", 0x4010, 0x20, STT_FUNC, STB_GLOBAL, (u16)text);
	elfwrite_sym(w, "table", 0x8000, 0x20, STT_OBJECT, STB_GLOBAL, (u16)data);
	elfwrite_sym(w, "label", 0x4100, 0, STT_NOTYPE, STB_LOCAL, (u16)text);
	elfwrite_sym(w, "datum", 0x8010, 0, STT_NOTYPE, STB_LOCAL, (u16)data);
	elfwrite_sym(w, "absent", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF);
	elfwrite_sym(w, "pick", 0x4040, 0x10, STT_GNU_IFUNC, STB_WEAK, (u16)text);
	elfwrite_sym(w, "nowhere", 0x999000, 0x10, STT_FUNC, STB_GLOBAL, (u16)text);
	elfwrite_symtab(w, symtab);
	elfwrite_end(w);
}

static void test_synthetic(void)
{
	for (int kind = 0; kind < 4; kind++) {
		bool is64 = kind & 1, big = kind & 2;
		struct elfwrite w;
		struct elfimg e;
		struct elfimg_funcs it;
		struct elfimg_func f;
		struct buildid id;
		write_sample(&w, is64, big, kind < 2 ? SHT_SYMTAB : SHT_DYNSYM);
		printf("# %d bit, %s endian\n", is64 ? 64 : 32, big ? "big" : "little");
		ok(!elfimg_open_memory(&e, w.out.data, w.out.len), "opened");
		ok(!buildid_of_image(&e, &id) && id.size == 20 && !memcmp(id.bytes, some_id, 20),
		   "build id");
		u64 base = e.loads[0].offset;
		ok(elfimg_funcs_init(&it, &e, &e, kind < 2 ? SHT_SYMTAB : SHT_DYNSYM), "symbols");
		ok(elfimg_funcs_next(&it, &f) && !strcmp(f.name, "alpha") &&
			   f.start == base + 0x10 && f.size == 0x20,
		   "a function");
		ok(elfimg_funcs_next(&it, &f) && !strcmp(f.name, "label") && f.size == 0 &&
			   f.limit == base + 0x200,
		   "a label, bounded by its section");
		ok(elfimg_funcs_next(&it, &f) && !strcmp(f.name, "pick") &&
			   f.type == STT_GNU_IFUNC && f.bind == STB_WEAK,
		   "an indirect function");
		ok(!elfimg_funcs_next(&it, &f),
		   "and no data, no undefined symbol, nothing outside the segments");
		u64 v;
		ok(elfimg_vaddr_of(&e, base + 5, &v) && v == 0x4005, "offset to address");
		ok(!elfimg_vaddr_of(&e, 0, &v) && !elfimg_offset_of(&e, 0x4200, &v),
		   "outside of segments");
		elfimg_close(&e);
		elfwrite_done(&w);
	}
}

/* Reads everything there is to read; the sanitizers watch. */
static u64 read_through(const void *data, size_t size)
{
	struct elfimg e;
	struct elfimg_funcs it;
	struct elfimg_func f;
	struct elfimg mini;
	struct buildid id;
	u64 sum = 0;
	if (elfimg_open_memory(&e, data, size))
		return 0;
	static const u32 types[] = { SHT_SYMTAB, SHT_DYNSYM };
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (elfimg_funcs_init(&it, &e, &e, types[i]))
			while (elfimg_funcs_next(&it, &f))
				sum += f.start + strlen(f.name);
	if (!buildid_of_image(&e, &id))
		sum += id.size;
	if (!debugfile_open_mini(&e, &mini))
		elfimg_close(&mini);
	u64 at[64];
	for (u32 i = 0; i < 64; i++)
		at[i] = i * 16;
	struct plt_hit *hits;
	size_t nr;
	if (!plt_find(&e, at, 64, &hits, &nr))
		free(hits);
	elfimg_close(&e);
	return sum;
}

static void test_hostile(void)
{
	struct elfwrite w;
	write_sample(&w, true, false, SHT_SYMTAB);
	u64 sum = 0;
	/* Exact-size copies, so that one byte too far is seen. */
	for (size_t len = 0; len < w.out.len; len += len < 200 ? 1 : 7) {
		u8 *cut = malloc(len ? len : 1);
		memcpy(cut, w.out.data, len);
		sum += read_through(cut, len);
		free(cut);
	}
	unsigned seed = 1;
	for (int round = 0; round < 20000; round++) {
		u8 *bent = malloc(w.out.len);
		memcpy(bent, w.out.data, w.out.len);
		for (int i = 0; i < 4; i++) {
			seed = seed * 1103515245 + 12345;
			bent[(seed >> 8) % w.out.len] = (seed >> 4 & 3) ? 0xff : (u8)(seed >> 20);
		}
		sum += read_through(bent, w.out.len);
		free(bent);
	}
	elfwrite_done(&w);
	ok(true, "cut and bent files are read or refused (sum %llu)", (unsigned long long)sum);
	struct elfimg e;
	ok(elfimg_open(&e, "/dev/null", NULL) == -ENOEXEC, "a device is no ELF file");
	ok(elfimg_open(&e, "/nonexistent", NULL) == -ENOENT, "nor is nothing");
	ok(elfimg_open(&e, "/proc", NULL) < 0, "nor is a folder");
	ok(elfimg_open_memory(&e, "\177ELF\7\1", 6) == -ENOEXEC, "nor a few bytes");
}

static void test_notes(void)
{
	/* A foreign note first, then the build id; the last note's padding is missing. */
	static const u8 notes[] = "\6\0\0\0\2\0\0\0\6\0\0\0Linux\0\0\0ab\0\0"
				  "\4\0\0\0\3\0\0\0\3\0\0\0GNU\0xyz";
	struct buildid id, other;
	ok(!buildid_of_notes(notes, sizeof(notes) - 1, 4, false, &id) && id.size == 3 &&
		   !memcmp(id.bytes, "xyz", 3),
	   "second note");
	ok(buildid_of_notes(notes, 30, 4, false, &id) == -ENOENT, "cut notes");
	ok(buildid_of_notes("\4\0\0\0\xff\xff\xff\xff\3\0\0\0GNU\0", 16, 4, false, &id) == -ENOENT,
	   "a size beyond the end");
	id = buildid_make((const u8 *)"0123456789abcdef", 16);
	other = buildid_make((const u8 *)"0123456789abcdef\0\0\0\0", 20);
	ok(buildid_equal(&id, &other), "padding does not matter");
	other = (struct buildid){ 0 };
	id = other;
	ok(!buildid_equal(&id, &other), "two unknown ids are not equal");
	char hex[BUILDID_TEXT];
	id = buildid_make(some_id, 4);
	buildid_text(&id, hex);
	is_str(hex, "01234567", "as text");
}

static void demangles(const char *name, enum demangle_style style, const char *want)
{
	char *got = demangle(name, style);
	is_str(got ? got : name, want, want);
	free(got);
}

static void test_demangle(void)
{
	demangles("_ZN2ns1SIiE5twiceERKSt6vectorIiSaIiEE", DEMANGLE_SHORT, "ns::S<int>::twice");
	demangles("_ZN2ns1SIiE5twiceERKSt6vectorIiSaIiEE", DEMANGLE_FULL,
		  "ns::S<int>::twice(std::vector<int, std::allocator<int> > const&)");
	demangles("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", DEMANGLE_SHORT,
		  "core::fmt::Write::write_fmt");
	demangles("_RNvCs15kBYyAo9fc_7mycrate3foo", DEMANGLE_SHORT, "mycrate::foo");
	demangles("_Zbroken", DEMANGLE_SHORT, "_Zbroken");
	demangles("main", DEMANGLE_SHORT, "main");
	demangles("_ZN1a1bEv", DEMANGLE_NO, "_ZN1a1bEv");
	/* f(A, P<A, A>, P<that, that>, ...): each substitution doubles what is printed. */
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s, "_Z1f1A1PIS_S_E");
	for (int i = 1; i < 33; i++) {
		char c = (char)(i < 10 ? '0' + i : 'A' + i - 10);
		strbuf_printf(&s, "S0_IS%c_S%c_E", c, c);
	}
	char *got = demangle(strbuf_cstr(&s), DEMANGLE_FULL);
	ok(!got, "a name that explodes is left as it is");
	free(got);
	strbuf_done(&s);
}

static char *output_of(const char *before, const char *path, const char *after)
{
	char cmd[8192], buf[4096];
	snprintf(cmd, sizeof(cmd), "%s %s %s", before, path, after);
	FILE *p = popen(cmd, "r");
	struct strbuf s;
	strbuf_init(&s);
	size_t n;
	while (p && (n = fread(buf, 1, sizeof(buf), p)))
		strbuf_add(&s, buf, n);
	if (p)
		pclose(p);
	return strbuf_steal(&s);
}

/* Every line of `readelf -Ws` about FUNC and IFUNC must be among ours, at the place that readelf -l's segments say. */
static void test_readelf(const char *path)
{
	struct elfimg e;
	if (elfimg_open(&e, path, NULL)) {
		skip(path, "not here");
		return;
	}
	u32 type = SHT_SYMTAB;
	struct elfimg_symtab t;
	if (!elfimg_symtab(&e, type, &t))
		type = SHT_DYNSYM;
	char *text = type == SHT_SYMTAB
			     ? output_of("readelf -Ws", path, "| sed -n \"/'.symtab'/,\\$p\"")
			     : output_of("readelf -W --dyn-syms", path, "");
	struct elfimg_funcs it;
	struct elfimg_func f;
	ok(elfimg_funcs_init(&it, &e, &e, type), "%s has symbols", path);
	size_t nr = 0, bad = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long long value, size;
		char kind[16], bind[16], vis[16], shndx[16], name[4096] = "", sz[32];
		if (sscanf(line, "%*d: %llx %31s %15s %15s %15s %15s %4095s", &value, sz, kind,
			   bind, vis, shndx, name) < 6)
			continue;
		if ((strcmp(kind, "FUNC") && strcmp(kind, "IFUNC")) || !strcmp(shndx, "UND") ||
		    !strcmp(shndx, "ABS") || !name[0])
			continue;
		size = strtoull(sz, NULL, 0);
		do {
			if (!elfimg_funcs_next(&it, &f)) {
				f.name = "";
				break;
			}
		} while (f.type == STT_NOTYPE);
		u64 where = 0;
		(void)elfimg_offset_of(&e, value, &where);
		char *at = strchr(name, '@'); /* readelf adds the version */
		size_t len = at && at > name ? (size_t)(at - name) : strlen(name);
		nr++;
		if (f.start != where || f.size != size || strncmp(f.name, name, len)) {
			if (bad++ < 3)
				printf("#   readelf %llx %llu %s, ours %llx %llu %s\n", value, size,
				       name, (unsigned long long)f.start,
				       (unsigned long long)f.size, f.name);
		}
	}
	ok(nr > 0 && !bad, "%s: %zu functions as readelf lists them, %zu not", path, nr, bad);
	free(text);

	struct buildid id;
	char hex[BUILDID_TEXT] = "";
	text = output_of("readelf -n", path,
			 "2>/dev/null | sed -n 's/.*Build ID: //p' | head -1 | tr -d '\\n'");
	if (!buildid_of_image(&e, &id))
		buildid_text(&id, hex);
	is_str(hex, text, "build id as readelf prints it");
	free(text);
	elfimg_close(&e);
}

int main(void)
{
	test_synthetic();
	test_hostile();
	test_notes();
	test_demangle();
	test_readelf("/lib/x86_64-linux-gnu/libc.so.6");
	test_readelf("/lib64/ld-linux-x86-64.so.2");
	test_readelf("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	char self[4096] = "";
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
		test_readelf(self);
	return done_testing();
}

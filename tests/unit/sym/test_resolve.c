/* sym/resolve over a made-up system: files, debug files, changed files, kernels that moved, and what has no names. */
#include "tap.h"
#include "gen/elfwrite.h"

#include "image/buildid.h"
#include "sym/resolve.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sonde-resolve-test-XXXXXX";
static const u8 id_a[20] = "\xaa\xaa\xaa"
			   "aaaaaaaaaaaaaaaaa",
		id_b[20] = "\xbb\xbb\xbb"
			   "bbbbbbbbbbbbbbbbb";

static void put(const char *name, const void *data, size_t len)
{
	char path[512];
	snprintf(path, sizeof(path), "%s%s", dir, name);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	FILE *f = fopen(path, "w");
	if (!f)
		return;
	fwrite(data, 1, len, f);
	fclose(f);
}

enum { TEXT = 0x400 }; /* where elfwrite puts the first section */

/* A program of one function a table: which symbols it has tells which file was read. */
static void put_elf(const char *name, const char *func, const void *id, u32 symtab,
		    const char *link, const void *mini, size_t mini_len)
{
	struct elfwrite w;
	elfwrite_begin(&w, true, false, ET_DYN, EM_X86_64);
	u32 text = elfwrite_section(&w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000,
				    NULL, 0x100);
	elfwrite_load(&w, text);
	if (id)
		elfwrite_buildid(&w, id, 20);
	if (link) {
		char data[64] = { 0 };
		size_t n = strlen(link) + 1;
		memcpy(data, link, n);
		elfwrite_section(&w, ".gnu_debuglink", SHT_PROGBITS, 0, 0, data,
				 (n + 3) / 4 * 4 + 4);
	}
	if (mini)
		elfwrite_section(&w, ".gnu_debugdata", SHT_PROGBITS, 0, 0, mini, mini_len);
	elfwrite_sym(&w, func, 0x1000, 0x40, STT_FUNC, STB_GLOBAL, (u16)text);
	elfwrite_symtab(&w, symtab);
	elfwrite_end(&w);
	put(name, w.out.data, w.out.len);
	elfwrite_done(&w);
}

struct world {
	struct catalog c;
	struct frame_table frames;
	struct diag diag;
	struct sym_config cfg;
	struct names *names;
	struct names_result r;
};

struct kernel {
	const char *kallsyms, *modules;
	const void *id;
	int asked;
};

static int kernel_text(void *ctx, enum sym_kernel_text what, struct sym_text *ret)
{
	struct kernel *k = ctx;
	static u8 note[36] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU";
	k->asked += what == SYM_KALLSYMS;
	const char *text = what == SYM_KALLSYMS	 ? k->kallsyms
			   : what == SYM_MODULES ? k->modules
						 : NULL;
	if (what == SYM_NOTES && k->id) {
		memcpy(note + 16, k->id, 20);
		*ret = (struct sym_text){ .data = (const char *)note, .len = sizeof(note) };
		return 0;
	}
	if (!text)
		return -2;
	*ret = (struct sym_text){ .data = text, .len = strlen(text) };
	return 0;
}

static void begin(struct world *w, struct kernel *k)
{
	*w = (struct world){ 0 };
	if (catalog_init(&w->c) || frame_table_init(&w->frames))
		_exit(1);
	diag_init(&w->diag);
	w->cfg = (struct sym_config){ .symfs = dir,
				      .map_dir = dir,
				      .demangle = DEMANGLE_SHORT,
				      .kernel_text = k ? kernel_text : NULL,
				      .kernel_ctx = k,
				      .diag = &w->diag };
}

static u32 image(struct world *w, enum image_kind kind, const char *path, const void *id)
{
	struct image_info *i = vec_push(&w->c.images);
	*i = (struct image_info){ .kind = kind, .path = path, .name = path };
	if (id) {
		memcpy(i->build_id, id, 20);
		i->build_id_size = 20;
	}
	return (u32)w->c.images.nr - 1;
}

static u32 frame(struct world *w, u32 image, u64 offset, u32 mode)
{
	s64 f = frame_table_add(&w->frames,
				(struct frame){ .image = image, .offset = offset, .mode = mode });
	return f < 0 ? 0 : (u32)f;
}

static void resolve(struct world *w)
{
	w->names = sym_names_new(&w->cfg);
	ok(w->names && !w->names->ops->resolve(w->names, &w->c, &w->frames, WANT_SYMBOL, &w->r),
	   "resolved");
}

static void end(struct world *w)
{
	w->names->ops->free(w->names);
	frame_table_done(&w->frames);
	catalog_done(&w->c);
	diag_done(&w->diag);
}

static void named(const struct world *w, u32 frame, const char *want, const char *what)
{
	const struct name_func *f = &w->r.funcs[w->r.func_of[frame]];
	is_str(f->name ? f->name : "(none)", want, what);
}

static bool noted(const struct world *w, const char *part)
{
	size_t nr = 0;
	for (size_t i = 0; i < w->diag.items.nr; i++)
		nr += strstr(w->diag.items.at[i].message, part) != NULL;
	return nr == 1;
}

static void test_files(void)
{
	struct world w;
	begin(&w, NULL);
	put_elf("/bin/plain", "_ZN3app4workEv", id_a, SHT_SYMTAB, NULL, NULL, 0);
	put_elf("/bin/changed", "wrong", id_b, SHT_SYMTAB, NULL, NULL, 0);
	put_elf("/bin/cached", "wrong", id_b, SHT_SYMTAB, NULL, NULL, 0);
	put_elf("/.debug/.build-id/aa/aaaa61616161616161616161616161616161"
		"61/elf",
		"kept", id_a, SHT_SYMTAB, NULL, NULL, 0);
	put_elf("/bin/stripped", "exported", id_a, SHT_DYNSYM, NULL, NULL, 0);
	put_elf("/usr/lib/debug/.build-id/aa/aaaa6161616161616161616161616161616161.debug",
		"from_debug", id_a, SHT_SYMTAB, NULL, NULL, 0);
	put_elf("/bin/linked", "exported", id_b, SHT_DYNSYM, "linked.debug", NULL, 0);
	put_elf("/bin/.debug/linked.debug", "from_link", id_b, SHT_SYMTAB, NULL, NULL, 0);
	put_elf("/bin/mislinked", "exported", id_b, SHT_DYNSYM, "other.debug", NULL, 0);
	put_elf("/bin/.debug/other.debug", "not_mine", id_a, SHT_SYMTAB, NULL, NULL, 0);
	put("/bin/script", "#!/bin/sh\necho hello, world\n", 28);
	char cache[300];
	snprintf(cache, sizeof(cache), "%s/.debug", dir);

	u32 plain = image(&w, IMAGE_KIND_FILE, "/bin/plain", NULL);
	u32 changed = image(&w, IMAGE_KIND_FILE, "/bin/changed", id_a);
	u32 stripped = image(&w, IMAGE_KIND_FILE, "/bin/stripped", id_a);
	u32 linked = image(&w, IMAGE_KIND_FILE, "/bin/linked", NULL);
	u32 mislinked = image(&w, IMAGE_KIND_FILE, "/bin/mislinked", NULL);
	u32 script = image(&w, IMAGE_KIND_FILE, "/bin/script", NULL);
	u32 gone = image(&w, IMAGE_KIND_FILE, "/bin/gone (deleted)", NULL);
	u32 memfd = image(&w, IMAGE_KIND_FILE, "/memfd:x", NULL);
	u32 a = frame(&w, plain, TEXT + 1, FRAME_USER),
	    b = frame(&w, plain, TEXT + 0x3f, FRAME_USER);
	u32 past = frame(&w, plain, TEXT + 0x40, FRAME_USER),
	    past2 = frame(&w, plain, TEXT + 0x41, FRAME_USER);
	u32 guest = frame(&w, plain, TEXT + 1, FRAME_GUEST_USER),
	    mark = frame(&w, 0, MARK_TRUNCATED, FRAME_MARK);
	u32 f_changed = frame(&w, changed, TEXT, FRAME_USER),
	    f_changed2 = frame(&w, changed, TEXT + 4, FRAME_USER);
	u32 f_stripped = frame(&w, stripped, TEXT, FRAME_USER),
	    f_linked = frame(&w, linked, TEXT, FRAME_USER);
	u32 f_mislinked = frame(&w, mislinked, TEXT, FRAME_USER),
	    f_script = frame(&w, script, TEXT, FRAME_USER);
	u32 f_gone = frame(&w, gone, TEXT, FRAME_USER), f_memfd = frame(&w, memfd, TEXT, FRAME_USER);
	u32 nowhere = frame(&w, IMAGE_NONE, 0x1234, FRAME_USER),
	    wild = frame(&w, 9999, 1, FRAME_USER);
	resolve(&w);
	named(&w, a, "app::work", "demangled");
	is_u64(w.r.func_of[a], w.r.func_of[b], "two frames of one function are one function");
	const struct name_func *f = &w.r.funcs[w.r.func_of[a]];
	ok(f->start == TEXT && f->end == TEXT + 0x40 && f->image == plain && f->mode == FRAME_USER,
	   "its place");
	named(&w, past, "(none)", "past the end");
	ok(w.r.func_of[past] != w.r.func_of[past2] && w.r.func_of[past],
	   "unnamed frames are functions of their own");
	is_u64(w.r.funcs[w.r.func_of[past]].start, TEXT + 0x40, "at their own offset");
	named(&w, guest, "(none)", "a guest's frame");
	named(&w, mark, "(none)", "a mark");
	named(&w, f_changed, "(none)", "a changed file is not used");
	named(&w, f_changed2, "(none)", "for any frame");
	ok(noted(&w, "/bin/changed: the file has changed"), "which is said once");
	named(&w, f_stripped, "from_debug", "debug file by build id");
	named(&w, f_linked, "from_link", "debug file by link");
	named(&w, f_mislinked, "exported", "a debug file of another program is not used");
	named(&w, f_script, "(none)", "a script");
	ok(noted(&w, "/bin/script is not a readable program"), "which is said");
	named(&w, f_gone, "(none)", "a deleted file");
	named(&w, f_memfd, "(none)", "a memfd");
	ok(!noted(&w, "memfd"), "which is not worth a word");
	named(&w, nowhere, "(none)", "no image");
	named(&w, wild, "(none)", "an image that is not there");
	is_u64(w.r.func_of[FRAME_NONE], 0, "no frame, no function");
	end(&w);

	begin(&w, NULL);
	w.cfg.buildid_dir = cache;
	u32 kept = frame(&w, image(&w, IMAGE_KIND_FILE, "/bin/cached", id_a), TEXT, FRAME_USER);
	resolve(&w);
	named(&w, kept, "kept", "the copy kept by build id");
	is_u64(w.diag.items.nr, 0, "and nothing to complain about");
	end(&w);
}

/* Rows of bare addresses want an explanation, a few among names do not. */
static void test_stripped(void)
{
	struct world w;
	begin(&w, NULL);
	w.cfg.min_unnamed = 2;
	put_elf("/bin/bare", "exported", id_b, SHT_DYNSYM, NULL, NULL, 0);
	put_elf("/bin/half", "exported", id_b, SHT_DYNSYM, NULL, NULL, 0);
	u32 bare = image(&w, IMAGE_KIND_FILE, "/bin/bare", NULL),
	    half = image(&w, IMAGE_KIND_FILE, "/bin/half", NULL);
	frame(&w, bare, TEXT, FRAME_USER);
	frame(&w, bare, TEXT + 0x44, FRAME_USER);
	frame(&w, bare, TEXT + 0x48, FRAME_USER);
	frame(&w, half, TEXT, FRAME_USER);
	frame(&w, half, TEXT + 0x44, FRAME_USER);
	resolve(&w);
	ok(noted(&w, "/bin/bare is stripped: 2 of the 3 addresses"), "a stripped program is said");
	ok(!noted(&w, "/bin/half"), "one whose functions mostly have names is not");
	end(&w);
}

static void test_mini(void)
{
	char cmd[600];
	put_elf("/mini", "hidden_inside", NULL, SHT_SYMTAB, NULL, NULL, 0);
	snprintf(cmd, sizeof(cmd), "xz -kf %s/mini 2>/dev/null", dir);
	if (system(cmd)) {
		skip("minidebuginfo", "no xz");
		return;
	}
	snprintf(cmd, sizeof(cmd), "%s/mini.xz", dir);
	FILE *f = fopen(cmd, "r");
	u8 data[8192];
	size_t len = f ? fread(data, 1, sizeof(data), f) : 0;
	if (f)
		fclose(f);
	put_elf("/bin/mini", "_", NULL, SHT_DYNSYM, NULL, data, len);
	data[len / 2] ^= 0x55;
	put_elf("/bin/bent", "exported", NULL, SHT_DYNSYM, NULL, data, len);
	struct world w;
	begin(&w, NULL);
	u32 good = frame(&w, image(&w, IMAGE_KIND_FILE, "/bin/mini", NULL), TEXT, FRAME_USER);
	u32 bent = frame(&w, image(&w, IMAGE_KIND_FILE, "/bin/bent", NULL), TEXT, FRAME_USER);
	resolve(&w);
	named(&w, good, "hidden_inside", "minidebuginfo");
	named(&w, bent, "exported", "broken minidebuginfo leaves .dynsym");
	end(&w);
}

static void test_others(void)
{
	struct world w;
	begin(&w, NULL);
	put("/perf-77.map", "7000 100 jitted one\n", 20);
	u32 jit = image(&w, IMAGE_KIND_ANON, "//anon", NULL),
	    heap = image(&w, IMAGE_KIND_ANON, "[heap]", NULL);
	u32 bpf = image(&w, IMAGE_KIND_BPF, "bpf_prog_1234_probe", NULL),
	    vdso = image(&w, IMAGE_KIND_VDSO, "[vdso]", NULL);
	w.c.images.at[jit].pid = 77;
	w.c.images.at[heap].pid = 78;
	w.c.images.at[bpf].start = 0xffffffffc0001000;
	w.c.images.at[bpf].end = 0xffffffffc0001100;
	u32 f_jit = frame(&w, jit, 0x7010, FRAME_USER), f_heap = frame(&w, heap, 0x7010, FRAME_USER);
	u32 f_bpf = frame(&w, bpf, 0xffffffffc0001010, FRAME_KERNEL);
	u32 first = 0;
	for (u64 at = 0; at < 0x4000; at += 8) {
		u32 f = frame(&w, vdso, at, FRAME_USER);
		first = first ? first : f;
	}
	resolve(&w);
	named(&w, f_jit, "jitted one", "perf map");
	named(&w, f_heap, "(none)", "no map for that process");
	named(&w, f_bpf, "bpf_prog_1234_probe", "a BPF program");
	is_u64(w.r.funcs[w.r.func_of[f_bpf]].start, 0xffffffffc0001000,
	       "starts where the kernel said");
	bool found = false;
	for (u32 f = first; f < first + 0x4000 / 8; f++) {
		const char *name = w.r.funcs[w.r.func_of[f]].name;
		found |= name && strstr(name, "clock_gettime");
	}
	ok(found, "our own vdso has clock_gettime");
	is_u64(w.diag.items.nr, 0, "and nothing to complain about");
	end(&w);
}

static const char running[] =
	"ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81000100 T schedule\n"
	"ffffffff81000200 t tail\nffffffffc0500010 t mod_fn\t[m]\n";

static void kernel_case(struct kernel *k, const void *id, u64 reloc, u64 at, const char *want,
			const char *note, const char *what)
{
	struct world w;
	printf("# %s\n", what);
	begin(&w, k);
	u32 i = image(&w, IMAGE_KIND_KERNEL, "[kernel.kallsyms]", id);
	w.c.images.at[i].reloc = reloc;
	u32 f = frame(&w, i, at, FRAME_KERNEL);
	resolve(&w);
	named(&w, f, want, what);
	const struct name_func *fn = &w.r.funcs[w.r.func_of[f]];
	if (fn->name)
		ok(fn->start <= at && at < fn->end, "in the recording's own addresses");
	if (note)
		ok(noted(&w, note), "told why: %s", note);
	else
		is_u64(w.diag.items.nr, 0, "nothing to say");
	end(&w);
}

/* A list kept under the build id saves asking the kernel for its own, as long as only the kernel's own text is asked about. */
static void kept_case(struct kernel *k, u64 reloc, u64 at, u64 other, const char *want, int asked,
		      const char *what)
{
	struct world w;
	char cache[300];
	snprintf(cache, sizeof(cache), "%s/kept", dir);
	begin(&w, k);
	w.cfg.buildid_dir = cache;
	u32 kern = image(&w, IMAGE_KIND_KERNEL, "[kernel.kallsyms]", id_a);
	u32 m = image(&w, IMAGE_KIND_MODULE, "[m]", NULL);
	w.c.images.at[kern].reloc = reloc;
	u32 f = frame(&w, kern, at, FRAME_KERNEL);
	if (other)
		(void)frame(&w, m, other, FRAME_KERNEL);
	k->asked = 0;
	resolve(&w);
	named(&w, f, want, what);
	is_u64((u64)k->asked, (u64)asked, "lists asked of the kernel");
	end(&w);
}

static void test_kept_list(struct kernel *k)
{
	static const char list[] = "ffffffff81000000 T _text\nffffffff81000000 T _stext\n"
				   "ffffffff81000100 T kept_schedule\nffffffff81000180 T _etext\n";
	char path[300], hex[BUILDID_TEXT];
	struct buildid id = buildid_make(id_a, 20);
	(void)buildid_text(&id, hex);
	snprintf(path, sizeof(path), "mkdir -p %s/kept/.build-id/%.2s/%s", dir, hex, hex + 2);
	if (system(path))
		_exit(1);
	snprintf(path, sizeof(path), "/kept/.build-id/%.2s/%s/kallsyms", hex, hex + 2);
	put(path, list, sizeof(list) - 1);
	kept_case(k, 0xffffffff81000000, 0xffffffff81000110, 0, "kept_schedule", 0, "a kept list");
	kept_case(k, 0xffffffff91000000, 0xffffffff91000110, 0, "kept_schedule", 0,
		  "a kept list of a kernel that was moved");
	kept_case(k, 0xffffffff81000000, 0xffffffff81000190, 0, "schedule", 1,
		  "behind the text of the kept list");
	kept_case(k, 0xffffffff81000000, 0xffffffff81000110, 0xffffffffc0500018, "schedule", 1,
		  "with a module beside it");
	kept_case(k, 0, 0xffffffff81000110, 0, "schedule", 1,
		  "a recording that does not say where its kernel was");
}

static void test_kernel(void)
{
	struct kernel k = { .kallsyms = running,
			    .modules = "m 4096 0 - Live 0xffffffffc0500000\n",
			    .id = id_a };
	kernel_case(&k, id_a, 0xffffffff81000000, 0xffffffff81000110, "schedule", NULL,
		    "the same boot");
	kernel_case(&k, NULL, 0, 0xffffffff81000110, "schedule", NULL, "nothing known");
	kernel_case(&k, id_a, 0xffffffff91000000, 0xffffffff91000110, "schedule", NULL,
		    "the same kernel, moved by KASLR");
	kernel_case(&k, NULL, 0xffffffff91000000, 0xffffffff91000110, "(none)",
		    "loaded at a different address", "moved, without ids");
	k.asked = 0;
	kernel_case(&k, id_b, 0xffffffff81000000, 0xffffffff81000110, "(none)",
		    "from a different kernel", "another kernel");
	is_u64(k.asked, 0, "whose symbols are not even read");
	k.kallsyms = "0000000000000000 T _text\n0000000000000000 T schedule\n";
	kernel_case(&k, id_a, 0xffffffff81000000, 0xffffffff81000110, "(none)",
		    "addresses are hidden", "hidden addresses");
	k.kallsyms = NULL;
	kernel_case(&k, id_a, 0xffffffff81000000, 0xffffffff81000110, "(none)",
		    "cannot read the kernel's symbol list", "no list");
	kernel_case(NULL, id_a, 0, 0xffffffff81000110, "(none)", NULL, "no provider");

	k.kallsyms = running;
	test_kept_list(&k);

	/* Modules move at every boot. */
	struct world w;
	begin(&w, &k);
	u32 kern = image(&w, IMAGE_KIND_KERNEL, "[kernel.kallsyms]", id_a),
	    m = image(&w, IMAGE_KIND_MODULE, "/lib/modules/6.1/m.ko.xz", NULL);
	u32 n = image(&w, IMAGE_KIND_MODULE, "[n]", NULL);
	w.c.images.at[kern].reloc = 0xffffffff91000000;
	w.c.images.at[m].start = 0xffffffffc0900000;
	u32 f = frame(&w, m, 0xffffffffc0900018, FRAME_KERNEL),
	    g = frame(&w, kern, 0xffffffff91000108, FRAME_KERNEL);
	u32 h = frame(&w, n, 0xffffffffc0500018, FRAME_KERNEL);
	resolve(&w);
	named(&w, f, "mod_fn", "a module that was loaded elsewhere");
	is_u64(w.r.funcs[w.r.func_of[f]].start, 0xffffffffc0900010, "where it was");
	named(&w, g, "schedule", "the kernel beside it");
	named(&w, h, "(none)", "a module that is not loaded now");
	end(&w);

	/* An image of the kernel by the user's word. */
	struct elfwrite e;
	elfwrite_begin(&e, true, false, ET_EXEC, EM_X86_64);
	u32 text = elfwrite_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				    0xffffffff81000000, NULL, 0x1000);
	elfwrite_load(&e, text);
	elfwrite_buildid(&e, id_b, 20);
	elfwrite_sym(&e, "_text", 0xffffffff81000000, 0, STT_NOTYPE, STB_GLOBAL, (u16)text);
	elfwrite_sym(&e, "from_vmlinux", 0xffffffff81000100, 0x80, STT_FUNC, STB_GLOBAL, (u16)text);
	elfwrite_symtab(&e, SHT_SYMTAB);
	elfwrite_end(&e);
	put("/vmlinux", e.out.data, e.out.len);
	elfwrite_done(&e);
	char vmlinux[300];
	snprintf(vmlinux, sizeof(vmlinux), "%s/vmlinux", dir);
	begin(&w, &k);
	w.cfg.vmlinux = vmlinux;
	kern = image(&w, IMAGE_KIND_KERNEL, "[kernel.kallsyms]", id_b);
	w.c.images.at[kern].reloc = 0xffffffffa1000000;
	f = frame(&w, kern, 0xffffffffa1000108, FRAME_KERNEL);
	resolve(&w);
	named(&w, f, "from_vmlinux", "-k vmlinux of a kernel that was moved");
	is_u64(w.r.funcs[w.r.func_of[f]].start, 0xffffffffa1000100, "where it was");
	end(&w);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_files();
	test_stripped();
	test_mini();
	test_others();
	test_kernel();
	char cmd[300];
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd) ? 1 : done_testing();
}

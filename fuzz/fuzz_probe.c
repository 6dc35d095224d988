/*
 * An ELF file with debugging information: a probe on each of its functions with all variables, the lines and types of all its units, and
 * static ones. A text, when the first byte is not that of an ELF file: as a probe, as lines for -L, as a filter of names.
 */
#include "image/dwarf_type.h"
#include "probe/args_dwarf.h"
#include "probe/name_filter.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

enum { NAMES = 16, NAME_SIZE = 128 };

struct names {
	char name[NAMES][NAME_SIZE];
	u32 nr;
};

static int keep_name(void *ctx, const char *name)
{
	struct names *n = ctx;
	size_t len = strlen(name);
	if (n->nr < NAMES && len && len < NAME_SIZE && !strpbrk(name, " \t\n\\'\"*?[:;@+%="))
		memcpy(n->name[n->nr++], name, len + 1);
	return 0;
}

struct use {
	const struct probe_request *r;
	struct arena *arena;
	struct strbuf text;
	volatile size_t sum;
};

static void use_member(void *ctx, const char *name)
{
	struct use *u = ctx;
	u->sum += strlen(name);
}

static int use_var(void *ctx, const struct probe_var_die *v)
{
	struct use *u = ctx;
	struct dw_die type;
	struct dw_member m;
	strbuf_reset(&u->text);
	u->sum += dwtype_text(&v->die, &u->text);
	if (dwtype_of(&v->die, &type)) {
		dwtype_each_member(&type, use_member, u);
		u->sum += dwtype_size(&type) + (size_t)dwtype_member(&type, "a", &m);
	}
	return 0;
}

static int use_place(void *ctx, const struct probe_place *p)
{
	struct use *u = ctx;
	struct probe_def def = { 0 };
	struct diag d;
	const char *symbol;
	u64 offset;
	diag_init(&d);
	if (!probe_args_dwarf(p, u->r, u->arena, &def, &d))
		for (u32 i = 0; i < def.nr_args; i++)
			u->sum += strlen(def.args[i].fetch);
	(void)!probe_each_var(p, use_var, u);
	(void)!probe_each_global(p, use_var, u);
	probe_symbol_at(p, &symbol, &offset);
	u->sum += strlen(symbol);
	diag_done(&d);
	return 0;
}

static void probe_on(struct debuginfo *info, const char *name, const char *format)
{
	struct arena arena;
	struct diag d;
	struct probe_request r;
	char text[NAME_SIZE + 64];
	size_t n = strlen(name);
	memcpy(text, name, n);
	strcpy(text + n, format);
	diag_init(&d);
	arena_init(&arena);
	if (!probe_parse(text, &arena, &r, &d)) {
		struct use u = { .r = &r, .arena = &arena };
		strbuf_init(&u.text);
		(void)!probe_places(info, &r, use_place, &u, &d);
		strbuf_done(&u.text);
	}
	arena_done(&arena);
	diag_done(&d);
}

static void ask_image(const u8 *data, size_t size)
{
	struct probe_target target = { .where = PROBE_BINARY, .path = "fuzz" };
	struct debuginfo info = { .target = &target, .path = "fuzz" };
	if (elfimg_open_memory(&info.image, data, size))
		return;
	info.info = &info.image;
	info.arch = arch_of_elf(info.image.machine);
	struct names n = { .nr = 0 };
	if (!dwcode_open(&info.image, NULL, "", &info.code) &&
	    !dwnames_open(info.code, &info.image, NULL, &info.names)) {
		(void)!dwnames_each(info.names, keep_name, &n);
		for (u32 i = 0; i < n.nr; i++) {
			probe_on(&info, n.name[i], " $vars p->a p->next->name:string a");
			probe_on(&info, n.name[i], " $vars");
			probe_on(&info, n.name[i], "%return $retval->a");
			probe_on(&info, n.name[i], ":2 $params");
		}
		probe_on(&info, "a.c", ":5");
	}
	debuginfo_close(&info);
}

static void ask_text(const u8 *data, size_t size)
{
	struct arena arena;
	struct diag d;
	struct probe_request r;
	struct probe_line_range lines;
	const struct name_filter *filter;
	char *text = malloc(size + 1);
	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	diag_init(&d);
	arena_init(&arena);
	(void)!probe_parse(text, &arena, &r, &d);
	(void)!probe_parse_lines(text, &arena, &lines, &d);
	if (!name_filter_parse(text, &arena, &filter, &d))
		(void)!name_filter_match(filter, "vfs_read");
	arena_done(&arena);
	diag_done(&d);
	free(text);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size && data[0] == 0x7f)
		ask_image(data, size);
	else
		ask_text(data, size);
	return 0;
}

/* A whole ELF file, or a bzImage with one in it: symbols of both tables, build id, debug link, minidebuginfo, stubs, the flat table, a sweep,
 * static probes with their arguments. */
#include "image/buildid.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/elf.h"
#include "image/kimage.h"
#include "image/usdt_notes.h"
#include "sym/dso.h"

#include <string.h>

/* Every operand, as either machine would read it. */
static size_t read_notes(const struct elfimg *e)
{
	static const u16 machines[] = { 62, 183 }; /* EM_X86_64, EM_AARCH64 */
	struct usdt_notes notes;
	size_t sum = 0;
	if (usdt_notes_read(e, &notes))
		return 0;
	for (size_t m = 0; m < ARRAY_SIZE(machines); m++)
		vec_for_each (&notes.at, n) {
			struct usdt_arg a;
			struct strbuf fetch;
			strbuf_init(&fetch);
			for (const char *at = n->args; usdt_next_arg(machines[m], &at, &a, &fetch);)
				sum += a.len;
			sum += fetch.len;
			strbuf_done(&fetch);
		}
	usdt_notes_done(&notes);
	return sum;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct dso d = { 0 };
	volatile size_t sum = 0;
	if (elfimg_open_memory(&d.image, data, size) && kimage_unpack(&d.image, data, size))
		return 0;
	size = d.image.size;
	struct buildid id;
	if (!buildid_of_image(&d.image, &id))
		sum += id.bytes[0];
	sum += read_notes(&d.image);
	if (debugfile_open_mini(&d.image, &d.mini))
		d.mini = (struct elfimg){ 0 };
	u64 at[256];
	struct symtab_sym got[256];
	for (u32 i = 0; i < 256; i++)
		at[i] = (u64)i * (size / 256 + 1);
	if (!dso_find(&d, at, 256, got))
		for (u32 i = 0; i < 256; i++)
			if (got[i].name) {
				char *pretty = demangle(got[i].name, DEMANGLE_FULL);
				sum += strlen(got[i].name) + (pretty ? strlen(pretty) : 0);
				free(pretty);
			}
	struct symtab t;
	if (!dso_table(&d, &t)) {
		/* Pieces must not overlap, whatever the file says. */
		for (u32 i = 1; i < t.nr; i++)
			if (t.syms[i].start < t.syms[i - 1].end)
				abort();
		/* Both ways of asking agree (stubs are only in one of them). */
		u64 base;
		for (u32 i = 0; i < 256; i++) {
			const struct symtab_sym *s = symtab_find(&t, at[i], &base);
			if (s && got[i].name && !(got[i].flags & SYMTAB_PLT) &&
			    strcmp(got[i].name, ".plt") && base != got[i].start)
				abort();
		}
		symtab_done(&t);
	}
	(void)sum;
	dso_close(&d);
	return 0;
}

/* A whole ELF file, or a bzImage with one in it: symbols of both tables, build id, debug link, minidebuginfo, stubs, the flat table, a sweep. */
#include "image/buildid.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/elf.h"
#include "image/kimage.h"
#include "sym/dso.h"

#include <string.h>

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

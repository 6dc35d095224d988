#include "file/looks.h"
#include "file/tracedat_read.h"

#include <string.h>

static const struct {
	const char *magic;
	size_t len;
	const char *hint;
	enum looks looks;
} kinds[] = {
	{ TRACEDAT_MAGIC, TRACEDAT_MAGIC_BYTES, "it is a trace.dat: sonde ftrace report -i FILE",
	  LOOKS_TRACEDAT },
	{ "PERFILE2", 8, "it is a perf.data: sonde report -i FILE", LOOKS_PERFDATA },
	{ "2ELIFREP", 8, "it is a perf.data of the opposite byte order: sonde report -i FILE",
	  LOOKS_PERFDATA },
	{ "\x7f"
	  "ELF",
	  4, "it is an ELF program or library: use sonde record -- FILE to record it" },
	{ "\x1f\x8b", 2, "it is compressed with gzip: decompress it first (gzip -d)" },
	{ "\x28\xb5\x2f\xfd", 4, "it is compressed with zstd: decompress it first (zstd -d)" },
	{ "\xfd"
	  "7zXZ",
	  5, "it is compressed with xz: decompress it first (xz -d)" },
	{ "BZh", 3, "it is compressed with bzip2: decompress it first (bzip2 -d)" },
	{ "PK\x03\x04", 4, "it is a zip archive: extract it first" },
	{ "DTiJ", 4, "it is a jitdump: use sonde inject -j to add it to a recording" },
	{ "JiTD", 4, "it is a jitdump: use sonde inject -j to add it to a recording" },
};

/* The row whose magic the bytes begin with; ARRAY_SIZE(kinds): none. */
static size_t find_kind(const void *data, size_t size)
{
	size_t i = 0;
	while (i < ARRAY_SIZE(kinds) &&
	       (size < kinds[i].len || memcmp(data, kinds[i].magic, kinds[i].len)))
		i++;
	return i;
}

enum looks looks_like(const void *data, size_t size)
{
	size_t kind = find_kind(data, size);
	return kind < ARRAY_SIZE(kinds) ? kinds[kind].looks : LOOKS_OTHER;
}

static bool is_text(const u8 *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (at[i] == 0x7f || (at[i] < ' ' && !strchr("\t\n\r\f\x1b", at[i] ? at[i] : 1)))
			return false;
	return size > 0;
}

void looks_hint(struct diag *d, const void *data, size_t size)
{
	size = min(size, (size_t)LOOKS_BYTES);
	size_t kind = find_kind(data, size);
	if (kind < ARRAY_SIZE(kinds)) {
		diag_hint(d, "%s", kinds[kind].hint);
		return;
	}
	if (!is_text(data, size))
		return;
	const char *text = data;
	int len = 0;
	while ((size_t)len < min(size, (size_t)40) && text[len] >= ' ' && (u8)text[len] < 0x80)
		len++;
	diag_hint(d, len ? "it is text starting with: %.*s" : "it is text%.*s", len, text);
}

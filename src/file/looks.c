#include "file/looks.h"

#include <string.h>

static const struct {
	const char *magic;
	size_t len;
	const char *hint;
} kinds[] = {
	{ "\x17\x08\x44tracing", 10, "it is a trace.dat: sonde ftrace report -i FILE" },
	{ "PERFILE2", 8, "it is a perf.data: sonde report -i FILE" },
	{ "2ELIFREP", 8, "it is a perf.data of the other byte order: sonde report -i FILE" },
	{ "\x7f"
	  "ELF",
	  4, "it is an ELF file, a program or a library: sonde record -- FILE records it" },
	{ "\x1f\x8b", 2, "it is compressed by gzip: unpack it first (gzip -d)" },
	{ "\x28\xb5\x2f\xfd", 4, "it is compressed by zstd: unpack it first (zstd -d)" },
	{ "\xfd"
	  "7zXZ",
	  5, "it is compressed by xz: unpack it first (xz -d)" },
	{ "BZh", 3, "it is compressed by bzip2: unpack it first (bzip2 -d)" },
	{ "PK\x03\x04", 4, "it is a zip archive: unpack it first" },
	{ "DTiJ", 4, "it is a jitdump: sonde inject --jit adds it to a recording" },
	{ "JiTD", 4, "it is a jitdump: sonde inject --jit adds it to a recording" },
};

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
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (size >= kinds[i].len && !memcmp(data, kinds[i].magic, kinds[i].len)) {
			diag_hint(d, "%s", kinds[i].hint);
			return;
		}
	}
	if (!is_text(data, size))
		return;
	const char *text = data;
	int len = 0;
	while ((size_t)len < min(size, (size_t)40) && text[len] >= ' ' && (u8)text[len] < 0x80)
		len++;
	diag_hint(d, len ? "it is text and begins: %.*s" : "it is text%.*s", len, text);
}

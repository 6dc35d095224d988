#include "cmd/ftrace/format.h"

#include <errno.h>
#include <string.h>

/* "6", "7"; "zstd", "zlib", "none", "any" (zstd). Negative with a diag. */
static int ftrace_parse_version(const char *text, u32 *ret, struct diag *d)
{
	if (strcmp(text, "6") && strcmp(text, "7"))
		return diag_error(d, -EINVAL, "--file-version %s: use 6 or 7", text);
	*ret = (u32)(*text - '0');
	return 0;
}

static int ftrace_parse_compression(const char *text, enum compress_kind *ret, struct diag *d)
{
	int kind = strcmp(text, "any") ? compress_kind_of(text) : COMPRESS_ZSTD;
	if (kind < 0)
		return diag_error(d, -EINVAL, "--compression %s: use zstd, zlib or none", text);
	*ret = (enum compress_kind)kind;
	return 0;
}

int ftrace_choose_format(const char *version, const char *compression, struct tracedat_out *o,
			 struct diag *d)
{
	int err = version ? ftrace_parse_version(version, &o->version, d) : 0;
	if (!err && compression)
		err = ftrace_parse_compression(compression, &o->compression, d);
	if (err)
		return err;
	if (!version && compression && o->compression != COMPRESS_NONE)
		o->version = 7;
	if (o->version == 6 && compression && o->compression != COMPRESS_NONE)
		return diag_error(d, -EINVAL,
				  "version 6 of trace.dat does not support compression: use 7");
	if (o->version == 6)
		o->compression = COMPRESS_NONE;
	return 0;
}

#include "file/tracedat_out.h"

#include "base/atomic_file.h"

#include <errno.h>
#include <string.h>

int tracedat_write_file(const char *path, const struct tracedat_out *o, struct diag *d)
{
	struct outplace to;
	int err = outplace_open(&to, path, 0, d);
	if (err)
		return err;
	err = tracedat_write_at(&to, path, o, d);
	outplace_close(&to);
	return err;
}

int tracedat_write_at(const struct outplace *to, const char *path, const struct tracedat_out *o,
		      struct diag *d)
{
	struct atomic_file k;
	int err = atomic_file_begin_at(&k, to, 0644);
	if (!err)
		err = atomic_file_end(&k, tracedat_write(k.fd, path, o, d));
	if (err && (!d || !d->nr_errors))
		diag_error(d, err, "cannot write %s: %s", path,
			   err == -EISDIR ? "it is a directory" : strerror(-err));
	return err;
}

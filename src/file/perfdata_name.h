/*
 * The name of a perf.data: a recording gets it when it is whole for the first time. One that is there already becomes FILE.old, as
 * people expect.
 */
#pragma once

#include "file/perfdata_write.h"

/*
 * A file for path, open and locked, or negative errno with a diag. *ret_unnamed: the name that it still has to get, which is the
 * caller's to free; not written where it has it already (a device, a link, a file system that cannot do otherwise).
 */
int perfdata_name_create(const char *path, const struct perfdata_meta *meta, char **ret_unnamed,
			 struct diag *d) must_check;
int perfdata_name_publish(int fd, const char *path, bool no_rotate) must_check;

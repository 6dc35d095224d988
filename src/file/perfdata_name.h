/*
 * The name of a perf.data: a recording gets it when it is whole for the first time. One that is there already becomes FILE.old, as
 * people expect. base/outplace says where that is; a link that is there is what becomes FILE.old, not what it leads to.
 */
#pragma once

#include "base/outplace.h"
#include "file/perfdata_write.h"

struct perfdata_name {
	struct outplace place;
	bool unnamed; /* the file still has to get it */
	bool ours; /* a file of that name is the one we made */
};

void perfdata_name_init(struct perfdata_name *n);
void perfdata_name_done(struct perfdata_name *n);
/*
 * A file for path, open and locked, or negative errno with a diag. It has its name already where it is a device, and on file systems that
 * cannot do otherwise.
 */
int perfdata_name_create(struct perfdata_name *n, const char *path,
			 const struct perfdata_meta *meta, struct diag *d) must_check;
int perfdata_name_publish(struct perfdata_name *n, int fd, bool no_rotate) must_check;
/* Renames it, to a name in the same folder; whoever has that name is replaced. */
int perfdata_name_change(struct perfdata_name *n, int fd, const char *name) must_check;
/* Removes it, where it is still the file we made. */
void perfdata_name_remove(struct perfdata_name *n, int fd);

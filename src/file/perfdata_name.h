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

/*
 * A recording in the form of a directory: PATH/data has the records, PATH/kcore_dir the code of the kernel that was recorded (perf record
 * --kcore). The folder is made beside its place, filled, and then named; a recording that is there becomes PATH.old. The caller then writes
 * PATH/data like any other file. 0 or negative errno with a diag, then nothing is left of it.
 */
struct perfdata_folder_opts {
	int (*fill)(int dir, void *ctx, struct diag *d); /* its own diag */
	void *fill_ctx;
	s64 owner_uid, owner_gid; /* -1: leave */
	bool no_rotate;
};
int perfdata_folder_create(const char *path, const struct perfdata_folder_opts *o,
			   struct diag *d) must_check;
/* Removes what belongs to a recording in it, and then the folder if it is empty. */
void perfdata_folder_remove(const char *path);

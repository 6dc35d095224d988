/* A tar archive (ustar; GNU's form for long names), written in one go to a descriptor, compressed with gzip or plain. */
#pragma once

#include "base/types.h"

struct tar_writer;

/* fd becomes the writer's. NULL: no memory. */
struct tar_writer *tar_write_open(int fd, bool gzip);
/* Everything below: 0 or negative errno, which sticks. Names are relative, with '/' between. */
int tar_write_file(struct tar_writer *t, const char *name, int fd, u32 mode) must_check;
int tar_write_bytes(struct tar_writer *t, const char *name, const void *data, size_t size,
		    u32 mode) must_check;
int tar_write_link(struct tar_writer *t, const char *name, const char *target) must_check;
/* Ends the archive; the first error there was. */
int tar_write_close(struct tar_writer *t) must_check;

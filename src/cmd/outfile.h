/* Files that a command writes in one go. */
#pragma once

#include "base/diag.h"

/*
 * Whole or not at all; a link stays a link, and the file stays its owner's (or becomes its folder's, under sudo). durable: on the
 * disk when this returns. A pipe or a device is written as it stands.
 */
int outfile_write(const char *path, const char *data, size_t len, bool durable,
		  struct diag *d) must_check;

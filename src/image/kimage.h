/*
 * The kernel's image: an ELF file (vmlinux), or the one inside what boots on x86 (bzImage, as in /boot/vmlinuz), which is packed. Such a
 * file says no names of functions, but holds the code and the build id.
 */
#pragma once

#include "image/elf.h"

/* Errno of opening it; -ENOEXEC: neither; -ENOTSUP: packed in a way that is not known here; -EBADMSG: damaged; -ENOMEM. */
int kimage_open(struct elfimg *e, const char *path) must_check;
/* The ELF file inside a bzImage; malloc'ed, the image frees it. The same errors. */
int kimage_unpack(struct elfimg *e, const void *data, size_t size) must_check;

/*
 * What the kernel was built with, from the first place that has it: /proc/config.gz, /boot/config-RELEASE, the modules'
 * folder, the headers. Names are written without "CONFIG_".
 */
#pragma once

#include "kern/sysroot.h"

struct kconfig {
	char *text; /* NULL: not known */
	size_t len;
	char path[256]; /* where it was found, without the root: "proc/config.gz" */
};

/* -ENOENT: nowhere; -EBADMSG: found but broken; -EACCES; -ENOMEM. */
int kconfig_open(struct kconfig *c, const struct sysroot *r, const char *release) must_check;
/* One file, plain or gzip. */
int kconfig_open_file(struct kconfig *c, const struct sysroot *r, const char *path) must_check;
void kconfig_close(struct kconfig *c);

/*
 * The value: "y", "m", a number, a text without its quotes; "n" for an option that is not set or that this kernel has not.
 * false: no config is known, or the value does not fit.
 */
bool kconfig_get(const struct kconfig *c, const char *name, char *to, size_t size);
/* The modules' folder has a configs.ko: loading it makes /proc/config.gz appear. */
bool kconfig_has_module(const struct sysroot *r, const char *release);

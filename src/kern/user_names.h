/*
 * Names of users and groups by number, each asked for once. On the running machine by getpwuid() and getgrgid(), so that directories of
 * a network count; below another root from its etc/passwd and etc/group.
 */
#pragma once

#include "base/dict.h"
#include "base/strtab.h"
#include "kern/sysroot.h"

struct user_names {
	const struct sysroot *root; /* NULL: this machine */
	struct strtab names;
	struct dict users, groups;
};

void user_names_init(struct user_names *u, const struct sysroot *root);
void user_names_done(struct user_names *u);
/* The name, or the number as text where it has none. Borrowed until user_names_done(). */
const char *user_name(struct user_names *u, u32 uid);
const char *group_name(struct user_names *u, u32 gid);
/* A user's number by name, or a number as text; -ENOENT. */
int user_by_name(struct user_names *u, const char *name, u32 *ret) must_check;

/* Fills model/machine.h from the running system (or a fake root). */
#pragma once

#include "kern/sysroot.h"
#include "model/machine.h"

/* 0 or -ENOMEM; what cannot be read stays empty. */
int machine_read(const struct sysroot *r, struct machine *ret) must_check;
void machine_done(struct machine *m);

/* The kernel's text of a histogram (events/SYSTEM/EVENT/hist) as typed rows. */
#pragma once

#include "model/key_counts.h"

/*
 * Into an initialised one. The trigger's own words, in the head of the text, say which keys there are and what they are shown as. Lines that are
 * no rows are kept as notes. 0; -EBADMSG: there is no trigger in it; -ENOMEM.
 */
int hist_text_parse(const char *text, struct key_counts *ret) must_check;

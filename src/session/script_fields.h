/* script -F: which fields of samples are shown, by the words of perf script. */
#pragma once

#include "base/diag.h"
#include "base/opts.h"
#include "model/source.h"
#include "view/text_samples.h"

/* All that the lists name (enum text_field), of any event. -EINVAL with a diag: there is no such field. */
int script_fields_asked(const struct opt_list *lists, u32 *ret, struct diag *d) must_check;
/*
 * ret[event]: what is shown of its samples. The source is prepared. -ENODATA with a diag: a field was asked for that no event's
 * samples carry.
 */
int script_fields(const struct opt_list *lists, const struct source *src, u32 *ret,
		  struct diag *d) must_check;

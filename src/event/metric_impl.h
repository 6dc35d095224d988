/* Between metric.c and metric_facts.c. */
#pragma once

#include "event/metric.h"

/*
 * Replaces questions about the machine by their answers. Names that are then used by nothing are called "#", which is no event.
 * 0, or -EINVAL with a diag that points to an unknown fact.
 */
int metric_fold_facts(struct expr *e, const struct metric_facts *facts, struct diag *d) must_check;

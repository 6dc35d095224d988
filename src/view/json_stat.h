/*
 * `stat -j`: an object a line, with perf 6.1's keys and spacing. Where its text is no JSON, or says what was not measured,
 * ours differs:
 *
 *	no ratio           perf: "metric-value" : 0.000000, "metric-unit" : "(null)" or "Ghz"     here: the unit is ""
 *	--metric-only      perf: {"metric-value" : "0.96"}{"metric-value" : "1.00"}               here: {"GHz" : "0.96", "insn per cycle" : "1.00"}
 *	-j with -x         perf: both layouts in one line                                          here: refused
 *	a quote in a name  perf: as it is                                                          here: escaped
 */
#pragma once

#include "view/stat_view.h"

void json_stat_rows(const struct stat_view *v, const struct stat_head *h,
		    const struct stat_rows *rows);

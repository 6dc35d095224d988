/*
 * A histogram in lines with bars, as bpftrace prints hist() and lhist(): from the first bucket to the last that is not empty.
 *
 *	[256, 512)            12 |@@@@@@                                              |
 *	[512, 1K)            104 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
 */
#pragma once

#include "base/strbuf.h"
#include "model/histogram.h"

void text_histogram(struct histogram *h, struct strbuf *to);

/*
 * What changed in a series, and when: for each column the stretch of time in which it differs most from its usual value.
 *
 * The usual value is the median, and how far values usually lie from it the median of the distances (MAD): neither is moved by the stretch
 * that is looked for. A stretch is the run of rows whose distances, beyond three usual ones each, add up to the most, upwards or downwards.
 */
#pragma once

#include "model/series.h"

struct column_change {
	size_t column;
	double usual; /* median of all rows */
	double during; /* mean of the stretch */
	double score; /* distances from the usual value in the stretch, added up, in usual distances */
	u64 from_ns, to_ns; /* when the first interval began, when the last one ended */
	size_t rows;
};

struct changes {
	VEC(struct column_change) list;
};

/* Adds one change for each column that has one, the largest first. 0 or -ENOMEM. */
int changes_find(const struct series *s, struct changes *to) must_check;
void changes_done(struct changes *c);

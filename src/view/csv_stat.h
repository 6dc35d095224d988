/* `stat -x SEP`: a line for each row, without titles and times. Text is never quoted, as perf has it. */
#pragma once

#include "view/stat_view.h"

/* --metric-only's names. */
void csv_stat_columns(const struct stat_view *v, const struct stat_head *h,
		      const struct stat_rows *rows);
void csv_stat_rows(const struct stat_view *v, const struct stat_head *h,
		   const struct stat_rows *rows);

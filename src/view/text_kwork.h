/* Work of the kernel besides tasks, as `perf kwork` prints it. */
#pragma once

#include "base/strbuf.h"
#include "model/kwork.h"

enum text_kwork_table { TEXT_KWORK_RUNS, TEXT_KWORK_DELAYS };

void text_kwork_head(enum text_kwork_table table, struct strbuf *to);
void text_kwork_row(const struct kwork_row *r, enum text_kwork_table table, struct strbuf *to);
/* Below the rows; summary: runs and load of all. */
void text_kwork_end(const struct kwork_totals *t, bool summary, struct strbuf *to);

void text_kwork_list_head(struct strbuf *to);
void text_kwork_list_row(const struct kwork_row *r, const struct kwork_one *one, struct strbuf *to);

/* "(s)NET_RX:3" */
void text_kwork_name(const struct kwork_row *r, struct strbuf *to);

/* CPU usage: sums and a bar for each CPU, then tasks. */
void text_kwork_cpus(const struct kwork_cpu_time *cpus, size_t nr, struct strbuf *to);
void text_kwork_task_head(struct strbuf *to);
void text_kwork_task(const struct kwork_task *t, struct strbuf *to);

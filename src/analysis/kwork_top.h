/*
 * CPU usage of tasks, from the switches between them, with the time of interrupts and softirqs taken out and counted per CPU. A task that ran
 * before the first switch of its CPU, or after the last, counts from the recording's first event and to its last one; perf 7 leaves both
 * out, and with them a task that was never interrupted.
 */
#pragma once

#include "analysis/thread_states.h"
#include "model/choice.h"
#include "model/kwork.h"

struct kwork_top;

struct kwork_top_env {
	u32 classes; /* bits of enum kwork_class: interrupts of other kinds count for the task */
	const struct sample_choice *choice; /* times and CPUs; NULL: all; borrowed */
	const struct catalog *catalog; /* borrowed */
};

struct kwork_top *kwork_top_new(const struct kwork_top_env *env); /* NULL: no memory */
void kwork_top_free(struct kwork_top *k);
/* For one run with one worker: events in time order. */
struct sink *kwork_top_sink(struct kwork_top *k);
/* After the run. 0 or negative errno. */
int kwork_top_finish(struct kwork_top *k) must_check;
/* Then: tasks that ran, in no order; CPUs that had events, by number. Valid as long as k. */
struct kwork_task *kwork_top_tasks(struct kwork_top *k, size_t *nr);
const struct kwork_cpu_time *kwork_top_cpus(const struct kwork_top *k, size_t *nr);
const struct thread_states *kwork_top_states(const struct kwork_top *k);

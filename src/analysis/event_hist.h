/*
 * A histogram of one event, counted by fields: what the kernel's hist triggers make, from recorded events. The words are the kernel's:
 *
 *	keys     next_comm,next_prio  common_pid.execname  len.log2  bytes_req.buckets=512  call_site.sym
 *	values   bytes_req,bytes_alloc          added up
 *	sort     hitcount, a key or a value; FIELD.descending
 */
#pragma once

#include "base/diag.h"
#include "model/source.h"
#include "model/key_counts.h"

struct event_hist_opts {
	const char *system, *event;
	const char *keys, *values, *sort; /* values, sort: NULL for none, hitcount */
	void *ctx;
	const char *(*symbol)(void *ctx, u64 addr, u64 *offset); /* NULL: unknown */
	const char *(*comm)(void *ctx, s32 pid); /* never NULL */
};

struct event_hist;

/* -EINVAL with a diag: a modifier that is none, a sort field that is neither. The texts are borrowed. */
int event_hist_new(const struct event_hist_opts *o, struct event_hist **ret,
		   struct diag *d) must_check;
void event_hist_free(struct event_hist *h);
/* For one run with one worker. */
struct sink *event_hist_sink(struct event_hist *h);
/* A field that the event does not have; NULL: all are there, or there was no event. After the run. */
const char *event_hist_missing(const struct event_hist *h);

/* After the run: rows in order, as the kernel prints them, and the totals. */
void event_hist_text(struct event_hist *h, struct strbuf *to);

/* The same with typed keys, into an initialised one. */
int event_hist_counts(struct event_hist *h, struct key_counts *ret) must_check;

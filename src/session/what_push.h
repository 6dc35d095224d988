/*
 * `what --push URL`: each interval as a request of Prometheus' remote write (protobuf in snappy, by POST over HTTP), which Prometheus,
 * VictoriaMetrics, Mimir and others take. Metrics are called as in what_openmetrics.h, with the labels instance (the host), job ("sonde")
 * and name (the device).
 *
 * Nothing waits for the server: requests go out one after the other from the loop, and those that it does not take stay in a queue. When this is
 * full the oldest is given up; what was given up is counted.
 */
#pragma once

#include "base/diag.h"
#include "base/loop.h"
#include "session/what.h"

struct what_push;

struct what_push_counts {
	u64 samples, lost; /* pushed; given up */
	u64 waiting; /* still in the queue */
	u64 refusals; /* requests that were not answered with 2xx, or not at all */
};

/* Looks up the host, which may take a while. NULL: errno, and a diag. */
struct what_push *what_push_open(struct loop *l, const char *url, struct diag *d);
/* The last row of the engine's series. 0 or -ENOMEM. */
int what_push_row(struct what_push *p, const struct what_engine *w) must_check;
/* Whether all was taken, or given up. */
bool what_push_is_done(const struct what_push *p);
/* Tries once more with what waits: 1; 0: a request is on its way; negative errno. */
int what_push_again(struct what_push *p) must_check;
struct what_push_counts what_push_counts(const struct what_push *p);
/* Why the last request failed; NULL: none did. */
const char *what_push_trouble(const struct what_push *p);
/* Before the loop is freed; NULL is allowed. */
void what_push_close(struct what_push *p);

/* ---- the format, for tests ---- */

/* A request's body of the last row, in protobuf; *nr: samples. */
int what_push_encode(const struct what_engine *w, const char *instance, struct strbuf *to,
		     u64 *nr) must_check;
/* A snappy block that holds these bytes as they are. */
void what_push_snappy(const void *data, size_t len, struct strbuf *to);

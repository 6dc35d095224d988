/*
 * What was counted by keys, as JSON:
 *
 *	{ "rows": [ { "key": { "next_comm": "sh", "next_prio": 120 }, "hitcount": 5, "values": { "len": 12 } } ],
 *	  "totals": { "hits": 5, "entries": 1, "dropped": 0 } }
 *
 * Keys of several parts are objects: {name, id} of tasks and system calls, {address, symbol, offset}, {from, to} with both ends included; a
 * stack is a list.
 */
#pragma once

#include "base/json.h"
#include "model/key_counts.h"

int json_key_counts(const struct key_counts *t, struct strbuf *to) must_check;

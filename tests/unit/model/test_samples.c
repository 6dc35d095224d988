/* Calls that are open, samples that are chosen, fields of payloads, where data came from. */
#include "model/calls.h"
#include "model/choice.h"
#include "model/data_src.h"
#include "model/schema.h"
#include "tap.h"

#include <stdlib.h>

static void test_calls(void)
{
	struct calls c = { 0 };
	struct call_done d;
	struct call_stack *s = calls_stack(&c, 7);
	if (!calls_enter(&c, s,
			 &(struct call_event){ .kind = CALL_ENTRY, .func = 1, .time_ns = 100 }) ||
	    !calls_enter(&c, s,
			 &(struct call_event){
				 .kind = CALL_ENTRY, .depth = 1, .func = 2, .time_ns = 101 }))
		abort();
	int err = calls_leave(
		&c, s, &(struct call_event){ .kind = CALL_EXIT, .depth = 1, .func = 2, .ns = 5 },
		&d);
	ok(!err && d.known && d.ns == 5 && d.self_ns == 5, "a call inside: all of it is its own");
	err = calls_leave(&c, s, &(struct call_event){ .kind = CALL_EXIT, .func = 1, .ns = 9 }, &d);
	ok(!err && d.known && d.ns == 9 && d.self_ns == 4,
	   "the one around it: without the other's time");
	calls_done(&c);
}

static void test_idle(void)
{
	static const struct schema_field fields[] = { { .name = "func", .size = 8 },
						      { .name = "depth", .offset = 8, .size = 4 } };
	static const struct schema schema = {
		.system = "ftrace", .name = "funcgraph_entry", .fields = fields, .nr_fields = 2
	};
	static const u8 raw[12];
	struct call_reader r = call_reader_make(&schema);
	struct sample one = { .schema = &schema, .raw = raw, .raw_size = sizeof(raw) }, two = one,
		      task = one;
	two.cpu = 1;
	task.tid = 1;
	ok(r.kind == CALL_ENTRY, "an entry");
	ok(call_read(&r, &one).task != call_read(&r, &two).task,
	   "the idle tasks of two CPUs are two");
	u64 here = call_read(&r, &task).task;
	task.cpu = 1;
	ok(call_read(&r, &task).task == here, "any other is one on all of them");
}

static void test_choice(void)
{
	static const struct time_range range = { 10, 20 };
	const struct sample_choice c = { .ranges = &range, .nr_ranges = 1 };
	ok(sample_in_time(&c, &(struct sample){ .time_ns = 10 }) &&
		   sample_in_time(&c, &(struct sample){ .time_ns = 20 }),
	   "both ends of a range belong to it");
	ok(!sample_in_time(&c, &(struct sample){ .time_ns = 9 }) &&
		   !sample_in_time(&c, &(struct sample){ .time_ns = 21 }),
	   "what is before and behind does not");
	for (int shows = 0; shows < 2; shows++) {
		struct sample_gate g = { .on = 1 + 4, .off = 1 + 5, .shows = shows, .shut = true };
		ok(!sample_gate_passes(&g, 3) && sample_gate_passes(&g, 4) == shows &&
			   sample_gate_passes(&g, 3) && sample_gate_passes(&g, 5) == shows &&
			   !sample_gate_passes(&g, 3),
		   "a gate that %s the events that move it", shows ? "shows" : "hides");
	}
}

static void test_fields(void)
{
	static const struct schema s = { .name = "x" };
	static const struct schema_field number = { .offset = 4, .size = 4, .flags = FIELD_SIGNED },
					 text = { .offset = 4,
						  .size = 4,
						  .flags = FIELD_REL_LOC | FIELD_STRING };
	u8 raw[16] = { 0 };
	s32 v = -5;
	u32 len = 0;
	memcpy(raw + 4, &v, 4);
	is_u64(schema_u64(&s, &number, raw, sizeof(raw)), (u64)-5, "four bytes with a sign");
	u32 loc = 4u << 16 | 2; /* four bytes, two behind the field */
	memcpy(raw + 4, &loc, 4);
	memcpy(raw + 10, "end", 4);
	const char *found = schema_bytes(&s, &text, raw, sizeof(raw), &len);
	ok(found && len == 3 && !memcmp(found, "end", 3), "a place behind the field itself");
}

static void test_data_src(void)
{
	struct strbuf s;
	strbuf_init(&s);
	data_src_snoop(1ull << 38, &s);
	is_str(strbuf_cstr(&s), "Fwd", "a forwarded line");
	strbuf_reset(&s);
	data_src_snoop(0x10ull << 19, &s);
	is_str(strbuf_cstr(&s), "HitM", "a modified one");
	strbuf_done(&s);
}

int main(void)
{
	test_calls();
	test_idle();
	test_choice();
	test_fields();
	test_data_src();
	return done_testing();
}

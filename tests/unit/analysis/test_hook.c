/* Pairs of events that a person names. */
#include "analysis/event_times.h"
#include "tap.h"

static void test_hook(void)
{
	struct event_times_hook h = { 0 };
	struct diag d;
	diag_init(&d);
	ok(!event_times_parse_hook("irq:irq_handler_entry,irq/irq_handler_exit,irq,ps", &h, &d) &&
		   h.stack,
	   "a pair with a stack");
	is_str(h.start, "irq:irq_handler_entry", "its beginning");
	is_str(h.end, "irq_handler_exit", "its end, of any system");
	ok(!event_times_parse_hook("a,b/c,d,S", &h, &d) && h.stack, "the flag in capitals");
	ok(!event_times_parse_hook("a,b/c,d,P", &h, &d) && !h.stack, "another one is none");
	ok(event_times_parse_hook("a,b/c,d,x", &h, &d) < 0 &&
		   event_times_parse_hook("a,b", &h, &d) < 0,
	   "what is no pair is refused");
	diag_done(&d);
}

int main(void)
{
	test_hook();
	return done_testing();
}

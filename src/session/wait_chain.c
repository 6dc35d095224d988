#include "session/wait_chain.h"

#include "base/printable.h"

#include <string.h>

bool wait_chain_is_common(const char *name)
{
	static const char *const names[] = {
		"schedule",
		"__schedule",
		"preempt_schedule",
		"schedule_hrtimeout_range_clock",
		"schedule_hrtimeout_range",
		"finish_task_switch",
		"schedule_timeout",
		"io_schedule",
		"schedule_preempt_disabled",
		"try_to_wake_up",
		"wake_up_process",
		"default_wake_function",
		"do_syscall_64",
		"invoke_syscall",
		"do_el0_svc",
		"el0_svc",
		"el0t_64_sync",
		"el0t_64_sync_handler",
	};
	static const char *const starts[] = { "__traceiter_", "perf_trace_", "entry_SYSCALL" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(starts[i], name, strlen(starts[i])))
			return true;
	return false;
}

void wait_chain_each(const struct wait_chain_names *n, u32 chain,
		     void (*call)(void *ctx, const char *name), void *ctx)
{
	u32 nr, shown[2] = { 0 };
	const u32 *frames = n->names && chain ? chain_frames(n->chains, chain, &nr) : NULL;
	for (u32 i = frames ? nr : 0; i-- > 0;) {
		const char *name = n->names->funcs[n->names->func_of[frames[i]]].name;
		u32 mode = n->frames->frames[frames[i]].mode;
		u32 *so_far = &shown[mode == FRAME_USER];
		if (mode == FRAME_MARK || (name && wait_chain_is_common(name)) ||
		    *so_far >= n->max_stack)
			continue;
		call(ctx, name ? name : "[unknown]");
		++*so_far;
	}
}

static void add_frame(void *ctx, const char *name)
{
	struct strbuf *to = ctx;
	strbuf_str(to, to->len ? " <- " : "");
	printable_name(to, name);
}

const char *wait_chain_text(const struct wait_chain_names *n, u32 chain, struct strbuf *to)
{
	strbuf_reset(to);
	wait_chain_each(n, chain, add_frame, to);
	return strbuf_cstr(to);
}

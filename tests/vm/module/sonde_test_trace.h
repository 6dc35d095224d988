/* SPDX-License-Identifier: GPL-2.0-or-later */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sonde_test

#if !defined(SONDE_TEST_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SONDE_TEST_TRACE_H

#include <linux/tracepoint.h>

#define sonde_test_reasons                                                                         \
	{ 0, "UNKNOWN" }, { 2, "IO" }, { 5, "HLT" },                                               \
	{                                                                                          \
		8, "SHUTDOWN"                                                                      \
	}

/* clang-format off */
TRACE_EVENT(sonde_exit,
	TP_PROTO(u32 reason, int err),
	TP_ARGS(reason, err),
	TP_STRUCT__entry(
		__field(u32, reason)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->reason = reason;
		__entry->err = err;
	),
	TP_printk("reason %s (%d)",
		  __entry->err < 0 ? (__entry->err == -4 ? "restart" : "error")
				   : __print_symbolic(__entry->reason, sonde_test_reasons),
		  __entry->err < 0 ? -__entry->err : (int)__entry->reason)
);
/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE sonde_test_trace
#include <trace/define_trace.h>

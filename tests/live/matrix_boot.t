#!/usr/bin/env bash
# Rows of the acceptance matrix about parameters of the kernel's command line; tests/vm/boot gives them to this guest.
#
# where: rt
# needs: root tracefs
. "${SONDE_SRC:-.}/tests/lib.sh"
need root tracefs sonde

like " $(cat /proc/cmdline) " ' ftrace_dump_on_oops ' "S4-364: the parameter is on the command line"
is "$(cat /proc/sys/kernel/ftrace_dump_on_oops)" 1 "S4-364: and active from boot"
exits 0 "S4-364: status" "$SONDE" ftrace status
like "$out" 'dumped to the console on an oops \(ftrace_dump_on_oops=1\)' "S4-364: tells of it"
like "$("$SONDE" ftrace status --json)" '"ftrace_dump_on_oops": "1"' "S4-364: also programs"
echo 0 >/proc/sys/kernel/ftrace_dump_on_oops
unlike "$("$SONDE" ftrace status)" ftrace_dump_on_oops "S4-364: not when it is off"
echo 1 >/proc/sys/kernel/ftrace_dump_on_oops
done_testing

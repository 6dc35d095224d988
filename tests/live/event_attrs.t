#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# 336 event strings: the perf_event_attr that perf makes of them and ours, here and on five machines that are not here.
. "${SONDE_SRC:-.}/tests/lib.sh"
need perf tracefs python3
build=${SONDE_BUILD:-$SONDE_SRC/build}
if [ ! -x "$build/tests/event_dump" ] || [ ! -e "$build/tests/perf_attr_shim.so" ]; then
	echo "1..0 # SKIP tests/event_dump is not built here"
	exit 0
fi
exec python3 "$SONDE_SRC/tests/oracle/event_attrs" "$build"

#!/usr/bin/env bash
# where: arm64
# needs: root
# The guest with hardware counters: they are there and exact, which is what it is for.
. "${SONDE_SRC:-.}/tests/lib.sh"
need root guest:arm64 perf

ls -d /sys/bus/event_source/devices/armv8_* >/dev/null
ok $? "the PMU is there"

count() { perf stat -x, -e instructions:u "$@" 2>&1 >/dev/null | cut -d, -f1; }
first=$(count /bin/true)
like "$first" '^[1-9][0-9]*$' "instructions are counted"
is "$(count /bin/true)" "$first" "and twice the same"
done_testing

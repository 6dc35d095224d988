#!/usr/bin/env bash
# where: host 6.1 6.12 rt arm64
# needs: root
# The bed itself: the kernel is the one that was asked for, and what other tests rely on is there.
. "${SONDE_SRC:-.}/tests/lib.sh"
need root

release=$(uname -r)
case $SONDE_GUEST in
host)	like "$(uname -s)" '^Linux$' "runs on Linux" ;;
6.1)	like "$release" '^6\.1\..*-cloud-amd64$' "kernel 6.1 cloud" ;;
6.12)	like "$release" '^6\.12\..*-cloud-amd64$' "kernel 6.12 cloud" ;;
rt)	like "$release" '^6\.1\..*-rt-amd64$' "kernel 6.1 rt" ;;
arm64)	like "$release $(uname -m)" '^6\.1\..*-cloud-arm64 aarch64$' "kernel 6.1 arm64" ;;
*)	ok 1 "unknown guest $SONDE_GUEST" ;;
esac

if ! needs_or_skip "tracefs answers" tracefs; then
	like "$(cat $tracefs/events/sched/sched_switch/format)" 'prev_comm' "tracefs answers"
fi

# A private instance, as tests share the host's tracefs with whatever else runs there.
if ! needs_or_skip "an instance records an event" tracefs; then
	i=$tracefs/instances/sonde-bed-$$
	mkdir $i && echo 1 >$i/events/sched/sched_switch/enable
	sleep 0.1
	echo 0 >$i/tracing_on
	like "$(head -100 $i/trace)" 'sched_switch: prev_comm=' "an instance records an event"
	echo 0 >$i/events/sched/sched_switch/enable
	rmdir $i
	ok $? "and can be removed"
fi

if ! needs_or_skip "perf counts a software event" perf; then
	exits 0 "perf counts a software event" perf stat -x, -e task-clock true
	like "$err" '^[0-9.]+,msec,task-clock' "and prints a number"
fi

exits 0 "scratch is writable" cp /proc/version "$SONDE_TMP/x"
if needs_or_skip "the checkout is read-only" guest; then :; else
	touch "$SONDE_SRC/tests/written-by-guest" 2>/dev/null
	isnt $? 0 "the checkout is read-only"
	# The guest's root could remount; the file server must refuse as well.
	mount -o remount,rw / 2>/dev/null
	touch /written-by-guest 2>/dev/null
	isnt $? 0 "still read-only after a remount"
	mount -o remount,ro / 2>/dev/null
	is $(($(cat /sys/class/net/lo/flags) & 1)) 1 "the loopback interface is up"
	exits 0 "a module of the kernel can be loaded" busybox insmod "$SONDE_MODULES/kernel/drivers/block/brd.ko" rd_nr=1 rd_size=1024
	[ -b /dev/ram0 ]
	ok $? "and gives a disk to trace"
fi
done_testing

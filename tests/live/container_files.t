#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Programs that only a container can see: found through a process that lives there, and known by their build id.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
if ! unshare -mpf --mount-proc true 2>/dev/null; then
	echo "1..0 # SKIP no mount and pid namespaces"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP/home PERF_BUILDID_DIR=$SONDE_TMP/debug
mkdir -p home

# A root of its own, with a program and its libraries; here the same path is another program.
mkdir -p box/tmp box/proc
cp "$SONDE" box/program
for lib in $(ldd "$SONDE" | grep -o '/[^ ]*'); do cp -L --parents "$lib" box/; done

# The process that runs `program` in the box: its number here.
find_program() {
	local i p
	pid=
	for ((i = 0; i < 200 && !${#pid}; i++)); do
		for p in $(pgrep -x program); do
			[ "$(stat -L -c %d:%i "/proc/$p/root/" 2>/dev/null)" = "$(stat -c %d:%i box)" ] && pid=$p
		done
		[ -n "$pid" ] || sleep 0.1
	done
	[ -n "$pid" ]
}
flat() { "$SONDE" report -i "$@" --stdio --no-children -g none --sort dso,sym 2>&1; }

# ---- chroot: the recorder sees it begin, by the path that it has there
in_box='chroot box /program workload leaf 300 & burn 300 $!'
"$SONDE" record -q -e cpu-clock -F 999 -g -o chroot.data -- bash -c "$in_box"
find_program
ok $? "a program runs below another root"
like "$("$SONDE" script -i chroot.data --show-mmap-events 2>/dev/null)" 'PERF_RECORD_MMAP2 .*x[sp] /program$' "where its path is another one"
like "$(flat chroot.data)" '[0-9.]+%  program +\[\.\] workload_leaf' "its functions have names"
like "$("$SONDE" annotate -i chroot.data --stdio workload_leaf 2>&1 | head -20)" 'workload_leaf' "annotate finds its code"
kill "$pid"
"$SONDE" record -q -B --buildid-mmap -e cpu-clock -F 999 -o plain.data -- bash -c "$in_box"
find_program
like "$(flat plain.data)" '[0-9.]+%  program +\[\.\] workload_leaf' "with build ids in the map records instead of a table, too"
kill "$pid"
"$SONDE" record -q -e cpu-clock -F 999 --call-graph dwarf -o dwarf.data -- bash -c "$in_box"
find_program
"$SONDE" script -i dwarf.data >script.txt 2>/dev/null
grep -q ' main+0x' script.txt
ok $? "stacks that are unwound reach main"
kill "$pid"
wait_until is_gone "$pid"
export XDG_CACHE_HOME=$PWD/empty
text=$(flat chroot.data)
like "$text" '/program: No such file or directory: its functions are not named' "when it is gone, so are the names"
unlike "$text" 'workload_leaf' "and none are invented"
"$SONDE" buildid-cache --add box/program >/dev/null 2>&1
like "$(flat chroot.data)" '[0-9.]+%  program +\[\.\] workload_leaf' "a copy that is kept by build id has them"
rm -rf debug

# ---- a mount namespace in which a path is another file than here
mkdir over
cp "$(type -P true)" over/program
unshare -m bash -c "mount -t tmpfs t '$PWD/over' && cp '$SONDE' '$PWD/over/program' && exec '$PWD/over/program' workload leaf 300" &
outer=$!
for ((i = 0; i < 200; i++)); do
	[ "$(readlink "/proc/$outer/exe")" = "$PWD/over/program" ] && break
	sleep 0.1
done
exits 0 "record -p of it" "$SONDE" record -q -e cpu-clock -F 999 -g -p $outer -o over.data -- bash -c "burn 100 $outer"
export XDG_CACHE_HOME=$PWD/empty2
like "$(flat over.data)" '[0-9.]+%  program +\[\.\] workload_leaf' "the file that ran is found, not the one that is here"
kill $outer
wait $outer 2>/dev/null
export XDG_CACHE_HOME=$PWD/empty3
text=$(flat over.data)
like "$text" 'the file has changed since the recording' "afterwards the one here is not taken for it"

# ---- perf-PID.map, written under the number that the process has there
# The checkout may lie below /tmp, which the mount hides: the program is opened before.
unshare -mpf --mount-proc bash -c "exec 9<'$SONDE'; mount -t tmpfs t /tmp; install -m 755 /dev/fd/9 /tmp/program; JITDUMPDIR=/tmp exec /tmp/program workload jit 300" 2>/dev/null &
outer=$!
pid=
for ((i = 0; i < 200 && !${#pid}; i++)); do
	for p in $(pgrep -P $outer -x program); do pid=$p; done
	sleep 0.1
done
for ((i = 0; i < 100; i++)); do
	ls "/proc/$pid/root/tmp/"perf-*.map >/dev/null 2>&1 && break
	sleep 0.1
done
isnt "$(awk '$1 == "NSpid:" { print $NF }' "/proc/$pid/status")" "$pid" "a program has another number in its container"
exits 0 "record -p of it" "$SONDE" record -q -e cpu-clock -F 999 -p "$pid" -o jit.data -- bash -c "burn 100 $pid"
like "$(flat jit.data)" 'jit_loop' "the code that it made is named by its perf map"
kill -9 "$pid" # the first process of a pid namespace hears nothing else
wait $outer 2>/dev/null
done_testing

#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# /tmp/perf-PID.map and jit-PID.dump: whose they are decides whether root believes them.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
chmod 755 .
cp "$SONDE" program # where everybody may run it
pids=() maps=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -f "${maps[@]}"; rm -rf "$SONDE_TMP"' EXIT
flat() { "$SONDE" report -i "$1" --stdio --no-children -g none --sort sym >out 2>err; }
fake() { sed 's/jit_[a-z]*/evil_name/' real.map; }

# ---- a process that has ended ----

export JITDUMPDIR=$SONDE_TMP/dumps
mkdir dumps
"$SONDE" record -q -k mono -g -e cpu-clock -F 2000 -o ended.data -- "$SONDE" workload jit 0.4 2>err
ok $? "root records a JIT compiler" || diag "$(cat err)"
pid=$(echo dumps/jit-*.dump | tr -dc 0-9)
map=/tmp/perf-$pid.map
maps+=("$map")
cp "$map" real.map
like "$(cat real.map)" jit_loop "which wrote a map"
flat ended.data
like "$(cat out)" jit_loop "root's map of a process that has ended: believed"

rm "$map"
fake >"$map"
chown 65534 "$map"
flat ended.data
unlike "$(cat out)" 'jit_loop|evil_name' "another user's: not believed"
like "$(cat err)" "$map is not used: it belongs to another user than the process" "another user's: it is said"

rm "$map"
fake >elsewhere.map
ln -s "$PWD/elsewhere.map" "$map"
flat ended.data
unlike "$(cat out)" 'evil_name' "a link is not followed"
rm "$map"
mkfifo "$map"
exits 0 "a pipe does not hold us" timeout -s KILL 60 "$SONDE" report -i ended.data --stdio -g none
rm "$map"

{ cat real.map; truncate -s 257M zeros; cat zeros; } >"$map"
flat ended.data
like "$(cat out)" jit_loop "a map that is too large: its beginning is read"
like "$(cat err)" "$map is larger than 256 MB: the names after that are not read" "a map that is too large: it is said"
rm -f "$map" zeros

# ---- a process of another user that still runs ----

mkdir -m 777 theirs
JITDUMPDIR=$SONDE_TMP/theirs setpriv --reuid=65534 --regid=65534 --clear-groups ./program workload jit 300 &
pid=$!
pids+=($pid)
map=/tmp/perf-$pid.map
maps+=("$map")
wait_until [ -s "$map" ]
is "$(stat -c %u "$map")" 65534 "another user's process writes its map"
"$SONDE" record -q -g -e cpu-clock -F 2000 -o runs.data -p $pid -- bash -c "burn 200 $pid" 2>err
flat runs.data
like "$(cat out)" jit_loop "its own user's map, while it runs: believed"
cp -p "$map" its.map
chown 1 "$map"
flat runs.data
unlike "$(cat out)" jit_loop "a third user's: not believed"
chown 65534 "$map"
# The number is another process's by now, as far as times tell.
cp runs.data old.data
touch -d '2001-01-01' old.data
flat old.data
unlike "$(cat out)" jit_loop "a process that began after the recording was made is not the recorded one"
kill -9 $pid
wait $pid 2>/dev/null
cp -p its.map "$map"
flat runs.data
unlike "$(cat out)" jit_loop "when it has ended, its user's map is anybody's"
rm -f "$map"

# ---- jitdump ----

dump=$(echo dumps/jit-*.dump)
exits 0 "inject -j of root's dump" "$SONDE" inject -j -i ended.data -o names.data
is "$err" "" "root's dump: nothing is amiss"
flat names.data
like "$(cat out)" jit_loop "root's dump: believed"
rm -f dumps/jitted*
chown 65534 "$dump"
exits 0 "inject -j of another user's dump" "$SONDE" inject -j -i ended.data -o names.data
like "$err" "cannot read '.*$dump': it belongs to another user than the process" "another user's dump: it is said"
flat names.data
unlike "$(cat out)" jit_loop "another user's dump: not believed"
chown 0 "$dump"
mv "$dump" dumps/real
ln -s real "$dump"
exits 0 "inject -j of a link" "$SONDE" inject -j -i ended.data -o names.data
like "$err" "cannot read '.*$dump': it is a link" "a link: not followed"
done_testing

#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# /tmp/perf-PID.map and jit-PID.dump: whose they are decides whether root believes them.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events perf
cd "$SONDE_TMP" || exit 1
chmod 755 .
cp "$SONDE" program # where everybody may run it
pids=() maps=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -f "${maps[@]}"; rm -rf "$SONDE_TMP"' EXIT
flat() { "$SONDE" report -i "$1" --stdio --no-children -g none --sort sym >out 2>err; }
fake() { sed 's/jit_[a-z]*/evil_name/' real.map; }

# perf records: it keeps no copies of maps and dumps, so that names come from /tmp alone.

# ---- a process that has ended ----

export JITDUMPDIR=$SONDE_TMP/dumps
mkdir dumps
perf record -q -k mono -g -e cpu-clock -F 2000 -o ended.data -- "$SONDE" workload jit 0.4 >/dev/null 2>err
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
like "$(cat err)" "$map is ignored: it is owned by another user than the process" "another user's: it is said"

rm "$map"
fake >elsewhere.map
ln -s "$PWD/elsewhere.map" "$map"
flat ended.data
like "$(cat out)" '[0-9]%' "a link in its place: the report has rows"
unlike "$(cat out)" 'evil_name' "a link is not followed"
rm "$map"
mkfifo "$map"
exits 0 "a pipe does not hold us" timeout -s KILL 60 "$SONDE" report -i ended.data --stdio -g none
rm "$map"

{ cat real.map; truncate -s 257M zeros; cat zeros; } >"$map"
flat ended.data
like "$(cat out)" jit_loop "a map that is too large: its beginning is read"
like "$(cat err)" "$map is larger than 256 MB: the remaining names are ignored" "a map that is too large: it is said"
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
perf record -q -g -e cpu-clock -F 2000 -o runs.data -p $pid -- bash -c "burn 200 $pid" >/dev/null 2>err
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
like "$(cat out)" '[0-9]%' "an older recording: the report has rows"
unlike "$(cat out)" jit_loop "a process that began after the recording was made is not the recorded one"
kill -9 $pid
wait $pid 2>/dev/null
cp -p its.map "$map"
flat runs.data
like "$(cat out)" '[0-9]%' "when it has ended: the report has rows"
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
like "$err" "cannot read '.*$dump': it is owned by another user than the process" "another user's dump: it is said"
flat names.data
unlike "$(cat out)" jit_loop "another user's dump: not believed"
chown 0 "$dump"
mv "$dump" dumps/real
ln -s real "$dump"
exits 0 "inject -j of a link" "$SONDE" inject -j -i ended.data -o names.data
like "$err" "cannot read '.*$dump': it is a symbolic link" "a link: not followed"

# ---- what is kept from one run for the next ----

command -v gcc >/dev/null || { skip "no compiler here" "two programs with one build id"; done_testing; exit; }
for name in honest hostile; do
	cat >$name.c <<-END
	static volatile unsigned sink;
	__attribute__((noipa)) static void ${name}_work(void) { for (unsigned i = 0; i < 100000; i++) sink += i; }
	int main(void) { for (int i = 0; i < 2000; i++) ${name}_work(); return 0; }
	END
	gcc -O1 -g -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o $name $name.c || exit 1
	"$SONDE" record -N -q -e cpu-clock -F 2000 -o $name.data -- ./$name 2>err
done
export SONDE_CACHE=$SONDE_TMP/cache
mkdir -m 700 cache
names() { "$SONDE" report -i "$1" --stdio --no-children -g none --sort sym >out 2>err; }
names hostile.data
like "$(cat out)" hostile_work "a program with a copied build id: its own names"
isnt "$(ls cache/names)" "" "they are kept"
names honest.data
like "$(cat out)" honest_work "the program whose id it is: its own names"
unlike "$(cat out)" hostile_work "and not the other one's"
names hostile.data
like "$(cat out)" hostile_work "once more, the first one"
is "$(find cache/names -name '0123456789abcdef*' | wc -l)" 2 "what is kept of both is kept apart"
kept=$(stat -c %Y.%Z cache/names/* | sort)
names honest.data
is "$(stat -c %Y.%Z cache/names/* | sort)" "$kept" "what is kept is used: nothing is written again"
# The program is gone: what is kept of one that was root's still names it, and what is kept of another user's does not.
mkdir -m 700 other_cache
cp -p honest gone
"$SONDE" record -N -q -e cpu-clock -F 2000 -o gone.data -- ./gone 2>err # the program itself must not be kept
for owner in 0 65534; do
	cp honest gone
	chown $owner gone
	rm -rf other_cache/names
	SONDE_CACHE=$SONDE_TMP/other_cache names gone.data
	rm gone
	SONDE_CACHE=$SONDE_TMP/other_cache names gone.data
	[ $owner = 0 ] && like "$(cat out)" honest_work "root's program is gone: its names are kept"
	[ $owner = 0 ] || unlike "$(cat out)" honest_work "another user's program is gone: so are its names"
done
# Programs are kept by build id, too, and anybody's may have any: what is kept of another user's names no other program.
export PERF_BUILDID_DIR=$SONDE_TMP/kept
mkdir -m 700 kept
cp hostile theirs/evil
chown 65534 theirs/evil
cp honest sold
mkdir -m 700 third_cache
SONDE_CACHE=$SONDE_TMP/third_cache
"$SONDE" record -q -e cpu-clock -F 2000 -o evil.data -- theirs/evil 2>err
isnt "$(find kept -name elf)" "" "another user's program is kept"
rm theirs/evil
names evil.data
like "$(cat out)" hostile_work "and names its own recording"
"$SONDE" record -N -q -e cpu-clock -F 2000 -o sold.data -- ./sold 2>err
mv sold sold.away
names sold.data
like "$(cat out)" '[0-9]%' "a program of the same id that is gone: the report has rows"
unlike "$(cat out)" hostile_work "none by the other's names"
mv sold.away sold
"$SONDE" record -q -e cpu-clock -F 2000 -o sold.data -- ./sold 2>err
rm sold
names sold.data
like "$(cat out)" honest_work "it is kept beside the other, and found"
unset PERF_BUILDID_DIR
SONDE_CACHE=$SONDE_TMP/cache
# Changed in place, with the old time of modification: the same inode, size and build id.
touch -r hostile before
sed -i.orig 's/hostile_work/another_work/g' hostile.c
gcc -O1 -g -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o another hostile.c || exit 1
cat another >hostile
touch -r before hostile
names hostile.data
unlike "$(cat out)" hostile_work "a program that was changed in place: not its old names"

refused() { # NAME WHY
	rm -rf cache/names
	names honest.data
	like "$(cat out)" honest_work "$1: names are found"
	is "$(grep -c "ignoring the cache directory .*/cache: $2" err)" 1 "$1: it is said, once" || diag "$(cat err)"
	is "$(ls cache/names 2>/dev/null)" "" "$1: nothing is written there"
}
chmod 777 cache
refused "a cache that others may write to" "it is writable by others"
chmod 700 cache
chown 65534 cache
refused "another user's cache" "it is owned by another user"
chown 0 cache
mv cache real_cache
ln -s real_cache cache
refused "a link" "it is a symbolic link"
done_testing

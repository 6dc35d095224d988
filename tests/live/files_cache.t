#!/usr/bin/env bash
# buildid-cache and archive: what we keep by build id perf finds, what perf keeps we find; a recording travels with its binaries.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf perf_events
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug SONDE_CACHE=$SONDE_TMP/cache
# perf takes the folder from its command line only.
perf_in() { command perf --buildid-dir "$PERF_BUILDID_DIR" "$@" 2>&1 | grep -v DEBUGINFOD; }
ln -s "$SONDE" perf
ls=$(realpath "$(command -v ls)") cat=$(realpath "$(command -v cat)")

# ---- buildid-cache
exits 129 "nothing to do is wrong usage" "$SONDE" buildid-cache
exits 0 "an empty cache" "$SONDE" buildid-cache -l
is "$out" "" "lists nothing"
exits 0 "-a" "$SONDE" buildid-cache -v -a "$ls,$cat"
like "$err" "^Adding [0-9a-f]{40} $ls: Ok$" "-v says so"
perf_in buildid-cache -a /bin/true
is "$("$SONDE" buildid-cache -l)" "$(perf_in buildid-cache -l)" "both list the same"
is "$("$SONDE" buildid-cache -l | wc -l)" 3 "three files"
like "$("$SONDE" buildid-cache -l --json)" '"path": "/usr/bin/ls"' "as JSON too"
exits 0 "once more changes nothing" "$SONDE" buildid-cache -a "$ls"
cmp -s "$PERF_BUILDID_DIR$ls/$("$SONDE" buildid-list -i "$ls")/elf" "$ls"
ok $? "the file is in perf's layout"
like "$(perf_in buildid-cache -v -r "$ls")" "Removing [0-9a-f]* $ls: Ok" "perf removes ours"
exits 0 "we remove perf's" "$SONDE" buildid-cache -v -r /bin/true
like "$err" 'Removing [0-9a-f]* /bin/true: Ok' "-v says so"
is "$("$SONDE" buildid-cache -l | cut -d' ' -f2)" "$cat" "one is left"
exits 1 "what is not there cannot be removed" "$SONDE" buildid-cache -r /bin/true
like "$err" '/bin/true: it is not in the cache' "is said"
exits 1 "what is not ELF cannot be kept" "$SONDE" buildid-cache -a /etc/passwd,/nope
like "$err" '/etc/passwd: it is not an ELF program' "is said"
like "$err" '/nope: No such file' "of each"
exits 0 "called as perf: its status" ./perf buildid-cache -a /nope
is "$err" "Couldn't add /nope: No such file or directory" "and message"
exits 0 "-u" "$SONDE" buildid-cache -v -u "$cat"
like "$err" "^Updating [0-9a-f]{40} $cat: Ok$" "-v says so"

cp "$(command -v ls)" prog && "$SONDE" buildid-cache -a prog && printf '\0' >>prog && rm prog
exits 0 "-p of a file that is gone" "$SONDE" buildid-cache -p "$PWD/prog"
is "$("$SONDE" buildid-cache -l | wc -l)" 1 "removed by its path"
exits 0 "-P" "$SONDE" buildid-cache -P
is "$(find "$PERF_BUILDID_DIR" ! -type d)" "" "nothing is left"
# A link that leads elsewhere must not be followed when removing.
mkdir -p "$PERF_BUILDID_DIR/.build-id/ab" victim/abcdabcdabcdabcdabcdabcdabcdabcdabcdabcd && touch victim/abcdabcdabcdabcdabcdabcdabcdabcdabcdabcd/elf
ln -s ../../../victim/abcdabcdabcdabcdabcdabcdabcdabcdabcdabcd "$PERF_BUILDID_DIR/.build-id/ab/cdabcdabcdabcdabcdabcdabcdabcdabcdabcd"
"$SONDE" buildid-cache -P
[ -e victim/abcdabcdabcdabcdabcdabcdabcdabcdabcdabcd/elf ]
ok $? "-P stays in its folder"
rm -r "$PERF_BUILDID_DIR"

# ---- a program that is gone after it was recorded
cp "$SONDE" prog
"$SONDE" record -N -q -F 999 -g -e cpu-clock -o gone.data -- ./prog workload leaf 0.3 2>/dev/null
like "$("$SONDE" buildid-cache -M gone.data)" "^[0-9a-f]{40} $PWD/prog$" "-M names it"
"$SONDE" buildid-cache -a prog
unlike "$("$SONDE" buildid-cache -M gone.data)" "$PWD/prog" "not when it is kept"
exits 0 "archive" "$SONDE" archive gone.data
like "$out" '^gone.data.tar.gz: [0-9]+ binaries' "says what is in it"
like "$out" 'tar xf gone.data.tar.gz -C ~/.debug' "and what to do with it"
"$SONDE" archive --all -o case.tar.gz gone.data >/dev/null
command -v bzip2 >/dev/null && ./perf archive gone.data >said
if [ -e gone.data.tar.bz2 ]; then
	is "$(tar tjf gone.data.tar.bz2)" "$(tar tzf gone.data.tar.gz)" "as perf: the same in bzip2"
	like "$(cat said)" '\$ tar xvf gone.data.tar.bz2 -C ~/.debug' "and perf's words"
else
	skip "no bzip2" "as perf: the same in bzip2"
fi
rm -r prog "$PERF_BUILDID_DIR"
unlike "$("$SONDE" report --stdio --no-children -g none -i gone.data 2>/dev/null)" 'workload_leaf' "without the program there is no name"
mkdir there case
tar xzf gone.data.tar.gz -C there
tar xzf case.tar.gz -C case
is "$(cd there && find . ! -type d | grep -c '/prog/.*/elf')" 1 "the program is in the archive"
like "$(PERF_BUILDID_DIR=$PWD/there "$SONDE" report --stdio --no-children -g none -i gone.data 2>&1)" 'workload_leaf' "unpacked, we name the function"
like "$(command perf --buildid-dir "$PWD/there" report --stdio --no-children -g none -i gone.data 2>/dev/null)" 'workload_leaf' "and so does perf"
like "$(PERF_BUILDID_DIR=$PWD/case "$SONDE" report --stdio --no-children -g none -i case/gone.data 2>&1)" 'workload_leaf' "--all: with the recording"
is "$(PERF_BUILDID_DIR=$PWD/there "$SONDE" buildid-cache -l | cut -d' ' -f2 | grep -c "^$PWD/prog$")" 1 "and it is a cache like any other"
long=$SONDE_TMP/$(printf 'folder-of-a-long-name-%d/' 1 2 3 4 5 6)
mkdir -p "$long" && cp "$SONDE" "$long/prog"
"$SONDE" record -N -q -F 999 -e cpu-clock -o long.data -- "$long/prog" workload leaf 0.1 2>/dev/null
"$SONDE" archive long.data >/dev/null
is "$(tar tzf long.data.tar.gz 2>&1 | grep -c "^${long#/}prog/[0-9a-f]*/elf$\|^$(realpath -m "$long/prog" | cut -c2-)/[0-9a-f]*/elf$")" 1 "names longer than tar's hundred bytes"
tar xzf long.data.tar.gz -C there
is "$(readlink -f there/.build-id/*/* | grep -c 'long-name')" 1 "and links to them"
exits 1 "no recording" "$SONDE" archive nothing.data
[ ! -e nothing.data.tar.gz ]
ok $? "no archive either"
# ---- files of another mount namespace, by the path that they have there
mkdir hidden
if needs_or_skip "--target-ns" unshare gcc || ! unshare -m true 2>/dev/null; then
	:
else
	echo 'int main(void) { return 0; }' >own.c
	gcc -Wl,--build-id -o own own.c
	unshare -m bash -c 'mount -t tmpfs t hidden && cp own hidden/program && ln -s /etc/passwd hidden/link && touch ready && exec sleep 600' &
	contained=$!
	wait_until test -e ready
	exits 1 "a file of a container is not here" "$SONDE" buildid-cache -a "$PWD/hidden/program"
	exits 0 "--target-ns" "$SONDE" buildid-cache --target-ns $contained -a "$PWD/hidden/program"
	id=$("$SONDE" buildid-list -i own)
	cmp -s "$PERF_BUILDID_DIR$PWD/hidden/program/$id/elf" own
	ok $? "is kept under the path it has there"
	like "$("$SONDE" buildid-cache -l)" "^$id $PWD/hidden/program\$" "and listed"
	ours=$(find "$PERF_BUILDID_DIR" -path '*hidden*' -name elf)
	exits 0 "-r" "$SONDE" buildid-cache --target-ns $contained -r "$PWD/hidden/program"
	perf_in buildid-cache --target-ns $contained -a "$PWD/hidden/program"
	is "$(find "$PERF_BUILDID_DIR" -path '*hidden*' -name elf)" "$ours" "perf keeps it in the same place"
	exits 0 "-p" "$SONDE" buildid-cache --target-ns $contained -p "$PWD/hidden/program"
	is "$("$SONDE" buildid-cache -l | grep -c hidden)" 0 "removes what is kept under the path"
	exits 1 "a relative path" "$SONDE" buildid-cache --target-ns $contained -a hidden/program
	exits 1 "what is no program" "$SONDE" buildid-cache --target-ns $contained -a "$PWD/hidden/link"
	like "$err" "not an ELF program or library" "is refused"
	kill $contained
	wait $contained 2>/dev/null
	exits 1 "a process that is gone" "$SONDE" buildid-cache --target-ns $contained -a /bin/true
	like "$err" "no such process" "is told"
fi

done_testing

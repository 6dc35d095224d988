#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 600
# Other users choose what their programs map and what lies where those names lead: none of it may stop, kill or mislead root's recorder.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
gen=$(dirname "$SONDE")/tests
cd "$SONDE_TMP" || exit 1
command -v gcc >/dev/null || { skip "no compiler here" "programs of other users"; done_testing; exit; }
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; umount -l "$SONDE_TMP/held" 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
chmod 755 .

maps() { grep -qF -- "$2" "/proc/$1/maps" 2>/dev/null; }

# ---- a program with a library of its own ----

cat >spin_lib.c <<'END'
static volatile unsigned sink;
__attribute__((noipa)) static void leaf(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sink += i;
}
__attribute__((noipa)) void spin(void)
{
	for (;;)
		leaf();
}
END
cat >spin.c <<'END'
extern void spin(void);
int main(void)
{
	spin();
	return 0;
}
END
gcc -O2 -g0 -fomit-frame-pointer -shared -fPIC -o libspin.so spin_lib.c && gcc -O2 -o spin spin.c -L. -lspin -Wl,-rpath,"$PWD" || exit 1

# ---- a library whose unwind tables unpack to far more than it is: refused by name, by the recorder and by whoever reads the recording ----

python3 - <<'END'
import struct
# 1.6 million functions that are all the same, 38 MB of them.
cie = struct.pack("<IIB", 12, 0xFFFFFFFF, 1) + b"\0" + bytes([1, 0x78, 16]) + b"\0" * 3
open("frames", "wb").write(cie + struct.pack("<IIQQ", 20, 0, 0x1000, 4) * 1600000)
END
mkdir packed
strip -o stripped.so libspin.so && objcopy --add-section .debug_frame=frames stripped.so large.so &&
	objcopy --compress-debug-sections=zlib large.so packed/libspin.so
rm -f frames large.so
[ "$(stat -c %s packed/libspin.so)" -lt 1000000 ] && readelf -SW packed/libspin.so | grep -q '\.debug_frame.* C '
ok $? "a small library with much packed into it"
LD_LIBRARY_PATH=packed ./spin &
spin=$!
pids+=("$spin")
wait_until maps "$spin" packed/libspin.so
"$SONDE" record -q -F 499 --call-graph dwarf -N -o packed.data -p "$spin" -- sleep 0.5 2>err
is "$(grep -c 'packed/libspin.so: its unwind tables would take too much time or memory for a file of its size' err)" 1 \
	"its unwind tables are refused: the recorder names it, once" || diag "$(cat err)"
"$SONDE" report --stdio --no-children -g none -i packed.data >out 2>err
is "$(grep -c 'packed/libspin.so: listing its functions would take too much time or memory for a file of its size' err)" 1 \
	"bounds of its functions are refused: report names it, once" || diag "$(cat err out)"
kill -9 "$spin"
wait "$spin" 2>/dev/null

# ---- a library that is truncated while the recorder reads it ----

for size in 0 4096; do
	cp libspin.so whole.so
	LD_LIBRARY_PATH=. ./spin &
	spin=$!
	pids+=("$spin")
	wait_until maps "$spin" libspin.so
	export -f is_gone
	timeout -s KILL 120 "$gen/cut_when_mapped" libspin.so $size "$SONDE" record -a -F 199 --call-graph dwarf -o cut.data -- \
		bash -c "for i in {1..600}; do is_gone $spin && exit; sleep 0.1; done" >out 2>err
	is $? 0 "a library truncated to $size bytes: the recording goes on" || diag "$(cat err)"
	has_samples cut.data 10
	ok $? "a library truncated to $size bytes: its samples are saved"
	unlike "$(cat err)" 'was truncated' "a library truncated to $size bytes: it is not an input of ours"
	kill -9 "$spin" 2>/dev/null
	wait "$spin" 2>/dev/null
	rm -f libspin.so
	mv whole.so libspin.so
done

# ---- names that lead elsewhere ----

# Maps FILE, unlinks it, leaves something else under the name that the kernel tells from then on, and waits.
cat >mapper.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char name[4096];
	int fd = open(argv[1], O_RDONLY);
	if (argc < 3 || fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	snprintf(name, sizeof(name), "%s (deleted)", argv[1]);
	if (strcmp(argv[2], "keep") && unlink(argv[1]))
		return 1;
	if (!strcmp(argv[2], "fifo") && mkfifo(name, 0666))
		return 1;
	if (!strcmp(argv[2], "link") && symlink(argv[3], name))
		return 1;
	if (!strcmp(argv[2], "file") && rename(argv[3], name))
		return 1;
	close(fd);
	pause();
	return 0;
}
END
gcc -O2 -o mapper mapper.c || exit 1
mkdir -m 777 trap
mkfifo -m 666 trap/pipe
as_nobody() { exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

hostile() { # FILE HOW [TARGET]: nobody maps trap/FILE
	cp spin "trap/$1"
	chmod 755 "trap/$1"
	as_nobody ./mapper "$SONDE_TMP/trap/$1" "${@:2}" &
	mapper=$!
	pids+=("$mapper")
	wait_until maps "$mapper" "trap/$1"
	[ "$2" = keep ] || wait_until [ -e "trap/$1 (deleted)" ] || wait_until [ -L "trap/$1 (deleted)" ]
}

# records NAME OPTION...: of all CPUs, until Ctrl-C, which has to end it
records() {
	timeout -s KILL 120 "$SONDE" record -a -e cpu-clock -F 99 -o "$1.data" "${@:2}" 2>"$1.err" &
	local guard=$! pid
	wait_until pgrep -P $guard >/dev/null
	pid=$(pgrep -P $guard)
	pids+=("$pid")
	WAIT_SECONDS=60 wait_until has_samples "$1.data" 5
	ok $? "$1: root's recorder records" || diag "$(cat "$1.err")"
	kill -INT "$pid"
	WAIT_SECONDS=30 wait_until is_gone "$pid"
	ok $? "$1: it ends on Ctrl-C" || { kill -9 "$pid"; diag "$(cat "$1.err")"; }
	wait $guard
}

hostile a fifo
records "a pipe under the name of a deleted program"
hostile b link "$SONDE_TMP/trap/pipe"
records "a link to a pipe under that name"

# Another program there: the recording has the id of the one that is mapped.
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
cp mapper trap/other
chmod 755 trap/other
chown 65534 trap/other
real=$(id_of spin) fake=$(id_of mapper)
hostile c file "$SONDE_TMP/trap/other"
isnt "$real" "$fake" "two programs with build ids"
"$SONDE" record -a -e cpu-clock -F 99 -o id.data -- sleep 0.1 2>err
"$SONDE" script -i id.data --show-mmap-events 2>/dev/null | grep -F 'trap/c (deleted)' >map.txt
like "$(cat map.txt)" 'trap/c' "the map of the deleted program is recorded"
ids=$("$SONDE" buildid-list -i id.data 2>/dev/null)
like "$ids" '^[0-9a-f]{16,} ' "other programs have their build ids"
unlike "$ids" "$fake.*trap/c" "the program that lies under its name now is not taken for it"

# ---- a filesystem that does not answer ----

mkdir -m 755 held
"$gen/fuse_hold" spin held >>fuse.out 2>fuse.err &
fuse=$!
pids+=("$fuse")
mounted() { grep -qs ready fuse.out || is_gone $fuse; }
wait_until mounted
if is_gone $fuse; then
	skip "no FUSE here" "a filesystem that does not answer"
else
	held/prog & # runs from there, on pages that are in memory
	pids+=($!)
	wait_until maps $! held/prog
	burn 100 $!
	kill -USR1 $fuse
	# No reader of ours may look at it meanwhile, and others are held up as well: nothing is done here but to record, twice.
	for how in fp dwarf; do
		: >fuse.out
		timeout -s KILL 120 "$SONDE" record -a -e cpu-clock -F 99 --call-graph $how -o held.data 2>held.err &
		guard=$!
		wait_until pgrep -P $guard >/dev/null
		pid=$(pgrep -P $guard)
		pids+=("$pid")
		if [ $how = dwarf ]; then # tables are made of what runs
			WAIT_SECONDS=30 wait_until grep -qs holding fuse.out
			ok $? "a filesystem that does not answer, $how: it was asked"
		fi
		wait_until catches "$pid" INT
		kill -INT "$pid"
		WAIT_SECONDS=30 wait_until is_gone "$pid"
		is_gone "$pid" && ! is_gone $fuse
		ok $? "a filesystem that does not answer, $how: the recorder ends on Ctrl-C" || { kill -9 "$pid"; diag "$(cat held.err)"; }
		wait $guard
		[ $how = fp ] || like "$(cat held.err)" 'could not be read: the file system did not respond' "a filesystem that does not answer, $how: it is reported"
		like "$(cat held.err)" 'held.data: .* samples' "a filesystem that does not answer, $how: the recording is saved"
	done
	kill -9 $fuse
	umount -l held
fi

done_testing

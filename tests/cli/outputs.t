#!/usr/bin/env bash
# A file that the user names is written whole and put in place; what is no plain file (/dev/null, a pipe) is written as it stands. None of
# these commands may replace it: as root, `-o /dev/null` would take that device from the whole machine. Root does not write through links to
# files: somebody else may have made them (tests/live/output_links.t). Other users' own links stay links.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
gen=$(dirname "$SONDE")/tests/stacks_gen
cd "$SONDE_TMP" || exit 1
echo '0 app 7 7 1000 main;parse;lex' >one.txt
"$gen" one.data names <one.txt
cp "$SONDE_SRC/tests/data/trace/6.1-events_v6.dat" t.dat
mkdir folder

# Where we may make one: a device of our own, so that a mistake costs nothing.
device=
if [ "$(id -u)" = 0 ] && mknod device c 1 3 2>/dev/null && : >device; then
	device=1
fi

try() { # NAME CMD...: CMD ends with the option that takes the file
	local name=$1 size
	shift
	exits 0 "$name: a new file" "$@" new
	size=$(stat -c %s new)
	ln -sf new link
	exits 0 "$name: through a link" "$@" link
	if [ "$(id -u)" = 0 ]; then
		is "$(stat -c %F:%s link)" "regular file:$size" "$name: root replaces a link"
	else
		is "$(readlink link) $(stat -c %s new)" "new $size" "$name: a link stays a link"
	fi
	if [ -n "$device" ]; then
		exits 0 "$name: a device" "$@" device
		[ -c device ]
		ok $? "$name: it stays a device"
	fi
	exits 1 "$name: a folder" "$@" folder
	like "$err" "folder" "$name: is named"
	rm -f new link
}
try flame "$SONDE" flame -i one.data --kallsyms names -o
try export "$SONDE" export --to pprof -i one.data --kallsyms names -o
try inject "$SONDE" inject -i one.data -o
try "data convert" "$SONDE" data convert -i one.data --force --to-json
try "ftrace convert" "$SONDE" ftrace convert -i t.dat -o

mkfifo pipe
cat pipe >got &
exits 0 "a pipe" "$SONDE" export --to speedscope -i one.data --kallsyms names -o pipe
wait
[ -p pipe ]
ok $? "stays a pipe"
"$SONDE" export --to speedscope -i one.data --kallsyms names -o want 2>/dev/null
cmp -s got want
ok $? "and what was written has gone through"
is "$("$SONDE" export --to speedscope -i one.data --kallsyms names -o /dev/stdout 2>/dev/null | md5sum)" "$(md5sum <want)" "/dev/stdout is the output"
is "$(ls | grep -E '[0-9]+-[0-9a-f]{6}$')" "" "nothing lies beside"
# The output is tried before the input is read: there may be hours in it, and a pipe is gone afterwards.
first() { # CMD...
	exits 1 "$*: an output that cannot be" "$SONDE" "$@"
	like "$err" "cannot write '?/nosuch/x" "$*: is told before the input is opened"
}
first ftrace split -i nosuch.dat -o /nosuch/x
first ftrace convert -i nosuch.dat -o /nosuch/x
first inject -i nosuch.data -o /nosuch/x
first data convert -i nosuch.data --to-json /nosuch/x
first archive -i nosuch.data /nosuch/x
done_testing

#!/usr/bin/env bash
# Symbols from a server that DEBUGINFOD_URLS names: asked for once, checked, with a deadline; and nothing of it without the variable.
# where: host
# needs: perf_events
# timeout: 180
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
for t in gcc objcopy readelf python3; do
	command -v $t >/dev/null || { skip "there is no $t" "symbols from a server"; done_testing; exit; }
done
ldconfig -p 2>/dev/null | grep -q 'libdebuginfod\.so\.1' || { skip "libdebuginfod.so.1 is not installed" "symbols from a server"; done_testing; exit; }
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP XDG_CACHE_HOME=$SONDE_TMP/cache
unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH DEBUGINFOD_TIMEOUT http_proxy https_proxy
mkdir -m 700 cache files
cat >prog.c <<'END'
#include <stdlib.h>
static volatile unsigned sink;
static __attribute__((noinline)) void known_by_server(unsigned n) { while (n--) sink += n; }
int main(int argc, char **argv) { for (int i = atoi(argv[1]); i; i--) known_by_server(100000); return argc - 2; }
END
gcc -g -O1 -Wl,--build-id=sha1 -o whole prog.c && objcopy --strip-all whole prog || { ok 1 "the program is built"; done_testing; exit; }
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
mkdir -p "files/buildid/$id"
objcopy --only-keep-debug whole "files/buildid/$id/debuginfo"
"$SONDE" record -q -F 999 -e cpu-clock:u -o prog.data -- ./prog 1500 2>/dev/null
rows() { "$SONDE" report --stdio -g none --sort "${1:-sym}" --dsos prog -i prog.data 2>err; }
fresh() { rm -rf cache && mkdir -m 700 cache; }

server() { # [silent]: one on a port of its own
	rm -f port
	python3 "$SONDE_SRC/tests/live/debuginfod_server.py" files asked port "$@" &
	server=$!
	wait_until test -s port
}

unlike "$(rows)" 'known_by_server' "without the variable: no name"
loaded=$(LD_DEBUG=libs "$SONDE" report --stdio -i prog.data 2>&1)
like "$loaded" 'find library=libc\.' "the loader tells what it loads"
unlike "$loaded" 'libdebuginfod' "... and the library is not loaded"
server
export DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)"
like "$(rows)" '\] known_by_server' "the name comes from the server"
like "$(cat asked)" "^/buildid/$id/debuginfo$" "by build id"
[ "$(grep -c "$id" asked)" = 1 ]
ok $? "asked for once" || diag "$(cat asked)"
like "$(rows srcline)" 'prog\.c:3' "lines, too"
[ "$(grep -c "$id" asked)" = 1 ]
ok $? "from the cache then"
find cache -name debuginfo | grep -q "$id/debuginfo"
ok $? "... in the user's cache folder" || diag "$(find cache)"

# A server that gives another program's symbols.
gcc -g -O2 -Wl,--build-id=sha1 -o other prog.c && cp other "files/buildid/$id/debuginfo" && fresh
unlike "$(rows)" 'known_by_server' "symbols of another program are not used"
like "$(rows)" 'func_0x' "... its functions are told apart nevertheless"

# One that does not know.
rm "files/buildid/$id/debuginfo" && fresh
like "$(rows)" 'func_0x' "a server that does not have it: nothing is lost"
kill "$server" && wait "$server" 2>/dev/null

# One that takes the connection and says nothing.
fresh
server silent
export DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)" DEBUGINFOD_TIMEOUT=2
began=$SECONDS
like "$(rows)" 'func_0x' "a server that does not answer: the report comes"
[ $((SECONDS - began)) -lt 60 ]
ok $? "... in time"
like "$(cat err)" 'DEBUGINFOD_URLS: no response after [0-9]+ s' "... and says so"

if [ "$(id -u)" = 0 ]; then
	# What root has from a user's environment: a folder of the user's, and files instead of servers.
	objcopy --only-keep-debug whole "files/buildid/$id/debuginfo"
	kill "$server" && wait "$server" 2>/dev/null
	server
	export DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)"
	mkdir -m 700 theirs && chown 65534 theirs
	own=$(getent passwd 0 | cut -d: -f6)/.cache/debuginfod_client # root's, used instead
	had=$([ -e "$own" ] && echo yes)
	XDG_CACHE_HOME=$PWD/theirs rows >/dev/null
	is "$(find theirs -path "*debuginfod*")" "" "root: nothing is written to another user's folder"
	ln -s "$PWD/theirs" link
	fresh
	DEBUGINFOD_CACHE_PATH=$PWD/link rows >/dev/null
	is "$(find theirs -path "*debuginfod*")" "" "root: nor through a link"
	rm -rf "${own:?}/$id"
	[ -n "$had" ] || rm -rf "$own"
	fresh
	DEBUGINFOD_URLS="file://$PWD/files" rows >rows.txt
	like "$(cat rows.txt)" '[0-9]%' "root: a folder as server: the rows are there"
	unlike "$(cat rows.txt)" 'known_by_server' "root: servers only, no files"
else
	skip "not root" "what root has from a user's environment"
fi
kill "$server" 2>/dev/null
done_testing

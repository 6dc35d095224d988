#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Other users choose what their programs map and what lies where those names lead: none of it may stop, kill or mislead root's recorder.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
gen=$(dirname "$SONDE")/tests
cd "$SONDE_TMP" || exit 1
command -v gcc >/dev/null || { skip "no compiler here" "programs of other users"; done_testing; exit; }
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
chmod 755 .

is_gone() { ! grep -q '^State:[[:space:]]*[RSDtT]' "/proc/$1/status" 2>/dev/null; }
maps() { grep -qF -- "$2" "/proc/$1/maps" 2>/dev/null; }

# ---- a library that is truncated while the recorder reads it ----

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
	unlike "$(cat err)" 'became shorter' "a library truncated to $size bytes: it is not an input of ours"
	kill -9 "$spin" 2>/dev/null
	wait "$spin" 2>/dev/null
	rm -f libspin.so
	mv whole.so libspin.so
done

done_testing

#!/usr/bin/env bash
# tests/run itself: whatever is wrong with a test file must come out as a failure.
. "${SONDE_SRC:-.}/tests/lib.sh"
need python3

unit=$SONDE_TMP/build/tests
mkdir -p "$unit"

# run_unit BODY [OPTION...]: a build directory whose only unit test is this script
run_unit() {
	printf '#!/bin/sh\n%s\n' "$1" >"$unit/test_x"
	chmod +x "$unit/test_x"
	shift
	out=$("$SONDE_SRC/tests/run" --build "$SONDE_TMP/build" --suite unit "$@" 2>&1)
	status=$?
	last=$(printf '%s\n' "$out" | tail -1)
}

run_unit 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
is "$status $last" "0 2 passed, 0 failed, 0 skipped" "a good file"
is "$(cat "$SONDE_TMP/build/test-results.tsv")" "$(printf 'tests/test_x\ta\tpass\t\ntests/test_x\tb\tpass\t')" "results as a table"

run_unit 'echo ok 1; echo not ok 2 - b; echo 1..2; exit 1'
is "$status $last" "1 1 passed, 1 failed, 0 skipped" "a failed case"

run_unit 'echo ok 1 - a'
is "$status $last" "1 1 passed, 1 failed, 0 skipped" "no plan"

run_unit 'echo 1..3; echo ok 1 - a'
is "$status $last" "1 1 passed, 1 failed, 0 skipped" "a wrong plan"

run_unit 'echo 1..2; echo ok 1 - a; echo ok 3 - b'
is "$status $last" "1 1 passed, 1 failed, 0 skipped" "a wrong number"

run_unit 'echo 1..0'
is "$status $last" "1 0 passed, 1 failed, 0 skipped" "no case and no reason"

run_unit 'echo 1..1; echo ok 1 - a; exit 3'
is "$status $last" "1 1 passed, 1 failed, 0 skipped" "a bad exit status"

run_unit 'echo 1..1; echo ok 1 - a; kill -SEGV $$'
is "$status $last" "1 1 passed, 1 failed, 0 skipped" "a crash"
like "$out" 'killed by SIGSEGV' "is named"

for limit in 1 5 25; do # a second may be over before the file has said anything
	run_unit 'echo ok 1 - a; echo 1..1; sleep 300' --timeout $limit
	[[ $last == 0\ passed* ]] || break
done
is "$status $last" "1 1 passed, 1 failed, 0 skipped" "one that hangs"
like "$out" 'ran too long and was stopped' "is stopped"

run_unit 'echo "ok 1 - a # SKIP no such thing"; echo ok 2; echo 1..2'
is "$status $last" "0 1 passed, 0 failed, 1 skipped" "a skipped case"
like "$out" 'SKIP a: no such thing' "prints its reason"

run_unit 'echo "ok 1 - a # SKIP"; echo 1..1'
is "$status $last" "1 0 passed, 1 failed, 0 skipped" "a skip without a reason is a failure"

run_unit 'echo "1..0 # SKIP not here"'
is "$status $last" "0 0 passed, 0 failed, 1 skipped" "a skipped file"
like "$out" 'SKIP whole file: not here' "prints its reason too"

run_unit 'echo "Bail out! broken"'
is "$status" 1 "bailing out"

rm "$unit/test_x"
out=$("$SONDE_SRC/tests/run" --build "$SONDE_TMP/build" --suite unit)
is "$? $(printf '%s\n' "$out" | tail -1)" "1 0 passed, 0 failed, 0 skipped" "no test at all is a failure"

# Guests beside the live tests: a tree of its own, in which a script takes the part of tests/vm/boot. Each writes down when it began and how nice it is.
# The arm64 guest, whose time is virtual, and the suite build take the time that is left, from the start.
tree=$SONDE_TMP/tree
mkdir -p "$tree/tests/live" "$tree/tests/build" "$tree/tests/vm" "$tree/build"
cp "$SONDE_SRC/tests/run" "$tree/tests/run"
export LOG=$tree/log
cat >"$tree/tests/vm/boot" <<'END'
#!/bin/bash
trap 'echo "boot ended" >>"$LOG"; exit 130' TERM
echo "boot $* nice $(nice)" >>"$LOG"
[ -z "$HANG" ] || { sleep 300 >/dev/null 2>&1 & wait; }
# The first one goes on until the live tests are through: then the second begins.
while [ "$(grep -c '^boot 6.* nice' "$LOG")" -lt 2 ]; do sleep 0.05; done
for f; do
	case $f in *.t) printf '# file %s\nok 1 - in a guest\n1..1\n# exit 0 0.1\n' "$f" ;; esac
done
END
cat >"$tree/tests/live/one.t" <<'END'
#!/bin/bash
# where: host 6.1 6.12
echo "live one $SONDE_JOBS" >>"$LOG"
while ! grep -q boot "$LOG"; do sleep 0.05; done
echo ok 1; echo 1..1
END
cat >"$tree/tests/live/two.t" <<'END'
#!/bin/bash
# where: host arm64
# smp: 1
echo "live two" >>"$LOG"
echo ok 1; echo 1..1
END
cat >"$tree/tests/build/other.t" <<'END'
#!/bin/bash
echo "build nice $(nice)" >>"$LOG"
echo ok 1; echo 1..1
END
cat >"$tree/tests/vm/cross" <<'END'
#!/bin/bash
echo "cross $1" >>"$LOG"
echo "no compiler"
exit ${CROSS:-0}
END
chmod +x "$tree/tests/vm/boot" "$tree/tests/vm/cross" "$tree"/tests/*/*.t
# Nobody can be nicer than 19: as we are now, or as anyone is.
own=$(nice)
aside=$((own + 5 > 19 ? 19 : own + 5)) last=$((own + 10 > 19 ? 19 : own + 10))
out=$(HANG='' timeout 100 "$tree/tests/run" --build "$tree/build" --suite build,live,vm --jobs 2 --cross 2>&1)
is "$? $(tail -1 <<<"$out")" "0 6 passed, 0 failed, 0 skipped" "live tests, guests and another build"
like "$(cat "$LOG")" "^build nice $last\$" "the other build takes the time that is left"
is "$(grep -E '^cross|^boot arm64' "$LOG" | sed 's/^\(cross\|boot arm64\).*/\1/; s/boot //' | tr '\n' ' ')" "cross arm64 " "a guest of another machine boots when its program is built"
like "$(cat "$LOG")" "^boot arm64 .* nice $last\$" "and also takes the time that is left"
sed -i '/^cross/d; /^build/d; /^boot arm64/d' "$LOG"
is "$(sed -n 's/^boot \([^ ]*\) .* nice/\1/p' "$LOG" | head -1)" "6.12 $aside" "the first guest has one CPU, and steps back a little"
is "$(grep -m1 -E '^boot|^live two' "$LOG" | cut -c1-4)" boot "it begins while live tests run"
is "$(sed 1d <<<"$(grep ^boot "$LOG")" | grep -c " nice $own\$")" 1 "the other one comes afterwards, like anyone"
like "$(cat "$LOG")" '^live one 1$' "and a live test knows that one CPU is taken"
: >"$LOG"
(trap - INT; HANG=1 exec timeout --foreground 300 "$tree/tests/run" --build "$tree/build" --suite live,vm --jobs 2 >/dev/null 2>&1) &
wait_until grep -q 'live two' "$LOG"
kill -INT "$(pgrep -P $! || echo $!)"
wait $!
is $? 130 "Ctrl-C ends it"
all_ended() { [ "$(grep -c 'boot ended' "$LOG")" = "$(grep -c nice "$LOG")" ]; }
wait_until all_ended
is "$(grep -c 'boot ended' "$LOG")" "$(grep -c nice "$LOG")" "and the guests with it"

out=$(CROSS=1 HANG='' timeout 100 "$tree/tests/run" --build "$tree/build" --suite live,vm --guest arm64 --jobs 2 --cross --once 2>&1)
is "$? $(tail -1 <<<"$out")" "1 2 passed, 1 failed, 0 skipped" "a program that cannot be built for the guest fails its tests"
like "$out" 'cross build: no compiler' "with the reason"

# A live test that fails is run once more, alone; here as in a guest.
rm "$tree"/tests/live/*.t
: >"$LOG"
cat >"$tree/tests/vm/boot" <<'END'
#!/bin/bash
echo "guest $*" >>"$LOG"
[ "$(grep -c ^guest "$LOG")" = 1 ] && not='not '
for f; do
	case $f in *.t) printf '# file %s\n%sok 1 - in a guest\n1..1\n# exit 0 0.1\n' "$f" "$not" ;; esac
done
END
cat >"$tree/tests/live/once.t" <<'END'
#!/bin/bash
echo "once" >>"$LOG"
[ "$(grep -c ^once "$LOG")" = 1 ] && printf 'not '
echo ok 1; echo 1..1
END
printf '#!/bin/bash\n# where: 6.12\n' >"$tree/tests/live/guest.t"
printf '#!/bin/bash\necho "good" >>"$LOG"; echo ok 1; echo 1..1\n' >"$tree/tests/live/good.t"
chmod +x "$tree"/tests/live/*.t
out=$(timeout 100 "$tree/tests/run" --build "$tree/build" --suite live,vm 2>&1)
is "$? $(tail -1 <<<"$out")" "0 3 passed, 0 failed, 0 skipped" "a live test that fails once"
is "$(tail -2 <<<"$out" | head -1)" "flaky (failed, then passed alone): tests/live/once.t tests/live/guest.t@6.12" "is listed as flaky"
is "$(grep -Ec '^(FAIL|ok  ) tests/live/once.t' <<<"$out")" 2 "with both outcomes"
is "$(grep -c good "$LOG")" 1 "one that passed is not run again"
printf '#!/bin/bash\necho bad >>"$LOG"; echo not ok 1; echo 1..1; exit 1\n' >"$tree/tests/live/bad.t"
chmod +x "$tree/tests/live/bad.t"
rm "$tree/tests/live/guest.t"
out=$(timeout 100 "$tree/tests/run" --build "$tree/build" --suite live 2>&1)
is "$? $(tail -1 <<<"$out")" "1 2 passed, 1 failed, 0 skipped" "one that fails twice has failed"
is "$(grep -c bad "$LOG")" 2 "after two runs"
: >"$LOG"
timeout 100 "$tree/tests/run" --build "$tree/build" --suite live --once >/dev/null 2>&1
is "$(grep -c bad "$LOG")" 1 "--once: after one run"
for i in 1 2 3 4 5 6 7 8; do cp "$tree/tests/live/bad.t" "$tree/tests/live/bad$i.t"; done
: >"$LOG"
timeout 100 "$tree/tests/run" --build "$tree/build" --suite live >/dev/null 2>&1
is "$(grep -c bad "$LOG")" 9 "many failures are no accident: none is run again"

# The library: each assertion can fail.
lib() { (unset SONDE_TMP; bash -c ". '$SONDE_SRC/tests/lib.sh'; $1; done_testing" 2>&1); }
like "$(lib 'is a b n')" '^not ok 1 - n' "is"
like "$(lib 'isnt a a n')" '^not ok 1 - n' "isnt"
like "$(lib 'like a b n')" '^not ok 1 - n' "like"
like "$(lib 'unlike ab b n')" '^not ok 1 - n' "unlike"
like "$(lib 'exits 0 n false')" '^not ok 1 - n' "exits"
like "$(lib 'need no-such-program; ok 0 n')" '^1\.\.0 # SKIP no-such-program is not installed' "need"
lib 'ok 1 n' >/dev/null
is $? 1 "a file with a failure ends with status 1"
done_testing

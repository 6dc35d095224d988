#!/usr/bin/env bash
# A process, a program, a function and an event with names that a terminal would obey, recorded and shown: escaped on a terminal, as they are in a file.
# where: host
# needs: perf_events
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3 gcc objcopy

cd "$SONDE_TMP" || exit 1
export TERM=xterm SONDE_PAGER=cat HOME=$SONDE_TMP
tty() { python3 "$SONDE_SRC/tests/cli/terminal.py" run "$@" </dev/null; }
obeys() { python3 "$SONDE_SRC/tests/cli/terminal.py" "$@"; }
shown() { # as in tests/cli/terminal.t
	local what=$1 regex=$2 name=$3
	shift 3
	tty got "$@"
	is "$(obeys "$what" got)" "" "$name: nothing that a terminal obeys" || diag "$(cat -v got | head -20)"
	like "$(tr -d '\r' <got)" "$regex" "$name: the name is there, as text"
}

cat >hostile.c <<'EOF'
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void spin(long n)
{
	for (long i = 0; i < n; i++)
		sum += i;
}
/* Until it has had 300 ms of CPU time. */
int main(void)
{
	prctl(PR_SET_NAME, "a\nfake \033]0;x\a");
	while (clock() < CLOCKS_PER_SEC * 3 / 10)
		spin(100000);
}
EOF
program=$'x\e[31my\a'
gcc -O1 -g -c hostile.c && objcopy --redefine-sym spin=$'sp\e[31min\e]0;y\a' hostile.o && gcc -o "$program" hostile.o
ok $? "a program is built" || { done_testing; exit; }
"$SONDE" record -q -e cpu-clock/name=$'ev\e[2Jil'/u -c 500000 -o a.data -- "./$program" 2>err
has_samples a.data 20
ok $? "it is recorded" || diag "$(cat -v err)"
cp a.data b.data

shown strict 'a\\nfake \\x1b\]0;x' "report" "$SONDE" report --stdio -i a.data
like "$(cat got)" 'x\\x1b\[31my\\x07' "report: the program"
like "$(cat got)" 'sp\\x1b\[31min\\x1b\]0;y\\x07' "report: the function"
unlike "$(tr -d '\r' <got)" '^ *fake ' "a newline in a name makes no row"
like "$(tr -d '\r' <got)" 'ev\\x1b\[2Jil' "report: the event"
shown strict 'a\\nfake \\x1b\]0;x' "script" "$SONDE" script -F +comm,event,sym,dso -i a.data
unlike "$(tr -d '\r' <got)" '^ *fake ' "a newline in a name makes no line"
shown strict 'ev\\x1b\[2Jil' "evlist" "$SONDE" evlist -i a.data
shown strict 'ev\\x1b\[2Jil' "evlist -v" "$SONDE" evlist -v -i a.data
shown strict 'x\\x1b\[31my\\x07' "buildid-list" "$SONDE" buildid-list -i a.data
shown strict 'a\\nfake' "diff" "$SONDE" diff --sort comm,dso,sym a.data b.data
shown safe 'sp\\x1b\[31min\\x1b\]0;y\\x07' "annotate" "$SONDE" annotate --stdio -i a.data
unlike "$(cat got)" $'sp\e' "annotate: colours of a name are not ours"
shown safe 'sp\\x1b\[31min\\x1b\]0;y\\x07' "annotate --stdio2" "$SONDE" annotate --stdio2 -i a.data
unlike "$(cat got)" $'sp\e' "there too"
shown strict 'x1b\[31my' "report --header" "$SONDE" report --header-only -i a.data
shown safe 'x\\x1b\[31my\\x07' "stat" "$SONDE" stat -e cpu-clock/name=$'ev\e[2Jil'/u -- "./$program"
like "$(cat got)" 'ev\\x1b\[2Jil' "stat: the event"

"$SONDE" report --stdio -i a.data >report.txt 2>/dev/null
LC_ALL=C grep -qaF $'sp\e[31min\e]0;y\a' report.txt
ok $? "a file has the function's bytes"
LC_ALL=C grep -qaF $'x\e[31my\a' report.txt
ok $? "and the program's"
"$SONDE" script -F comm -i a.data 2>/dev/null | LC_ALL=C grep -qaF $'fake \e]0;x\a'
ok $? "and the task's"

# Curses draws what is left of them.
if command -v tmux >/dev/null; then
	export TMUX_TMPDIR=$SONDE_TMP
	unset TMUX
	term() { tmux -f /dev/null -L sonde "$@"; }
	trap 'term kill-server 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
	screen_has() { term capture-pane -t b -p 2>/dev/null | grep -qE -- "$1"; }
	term new-session -d -s b -x 160 -y 24 "'$SONDE' report -i a.data 2>err; sleep 1000"
	wait_until screen_has 'sp\\x1b\[31min'
	ok $? "the browser shows names as text" || diag "$(term capture-pane -t b -p)"
	is "$(term display-message -t b -p '#{pane_title}' | grep -c '^[xy]$')" 0 "the terminal's title is not theirs"
	term kill-server
else
	skip "tmux is not installed" "the browser"
fi
done_testing

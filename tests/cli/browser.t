#!/usr/bin/env bash
# The report browser in a real terminal (tmux): keys are sent, the screen is read.
. "${SONDE_SRC:-.}/tests/lib.sh"

need sonde
command -v tmux >/dev/null || { skip "tmux is not installed" "the browser"; done_testing; exit; }
data=$SONDE_SRC/tests/data/perf/arm64-leaf.data
export TMUX_TMPDIR=$SONDE_TMP TERM=xterm
unset TMUX
term() { tmux -f /dev/null -L sonde "$@"; }
# Also when the runner stops us.
trap 'term kill-server 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
trap 'exit 1' TERM INT
keys() { term send-keys -t b "$@"; }
screen() { term capture-pane -t b -p; }
# The screen, as soon as it shows REGEX (or at the end of patience).
shows() { # REGEX NAME
	local i
	for i in $(seq 200); do
		screen >"$SONDE_TMP/screen" 2>/dev/null
		grep -qE -- "$1" "$SONDE_TMP/screen" && break
		sleep 0.1
	done
	grep -qE -- "$1" "$SONDE_TMP/screen"
	ok $? "$2" || diag "$(cat "$SONDE_TMP/screen")"
}
gone() { # REGEX NAME
	local i
	for i in $(seq 200); do
		screen >"$SONDE_TMP/screen" 2>/dev/null
		grep -qE -- "$1" "$SONDE_TMP/screen" || break
		sleep 0.1
	done
	! grep -qE -- "$1" "$SONDE_TMP/screen"
	ok $? "$2" || diag "$(cat "$SONDE_TMP/screen")"
}
term new-session -d -s b -x 100 -y 24 sh
keys "exec 2>'$SONDE_TMP/err'; '$SONDE' report -i '$data' --symfs '$SONDE_TMP'; echo status \$?" Enter
shows "Samples: [0-9]+ +of event 'cycles" "opens on a terminal, with the event"
shows '^ +Children +Self +Command +Shared Object +Symbol' "names of columns"
shows '^\+ +[0-9.]+% +[0-9.]+% ' "rows are closed"
shows '\? help .*q quit' "says what the keys do"
keys Enter
shows '^ +- [0-9.]+% 0x' "Enter opens the call graph"
keys Enter
gone '^ +- [0-9.]+% 0x' "and closes it"
keys E
shows '^ +[-+ ] [0-9.]+% 0x' "E opens all"
keys C
gone '^ +[-+ ] [0-9.]+% 0x' "C closes all"
keys d
shows 'only dso: ' "d zooms into the library"
keys Escape
gone 'only dso: ' "Escape goes back"
keys t
shows 'only comm: ' "t zooms into the command"
keys Escape
gone 'only comm: ' "Escape goes back"
keys Escape
shows 'q quits' "with nothing to go back from it says how to leave"
keys / "zzz" Enter
shows 'no rows' "a search without a find"
keys / BSpace BSpace BSpace Enter
shows '^\+ ' "the search taken back"
keys i
shows '# (hostname|captured on)' "i shows how it was recorded"
keys q
shows '^\+ ' "and back"
keys '?'
shows 'Enter, \+ +open or close' "help"
keys q
keys Z
shows 'no such key' "an unknown key says so"
term resize-window -t b -x 60 -y 10
shows '^ +Children' "a smaller window is drawn anew"
keys q
shows 'status 0' "q quits"
term resize-window -t b -x 100 -y 24
keys clear Enter
keys "'$SONDE' report -i '$data' --symfs '$SONDE_TMP' --stdio --no-pager -g none | head -3; echo status \$?" Enter
shows '# To display the perf.data header' "--stdio is text"
keys clear Enter
keys "TERM=dumb '$SONDE' report -i '$data' --symfs '$SONDE_TMP' -g none --no-pager" Enter
shows '^ +[0-9.]+% +[0-9.]+% ' "a terminal that cannot move its cursor gets text"
term kill-server
exits 0 "--tui without a terminal" "$SONDE" report -i "$data" --tui -g none
like "$err" "no terminal" "says that there is none"
like "$out" "Children" "and prints text"
done_testing

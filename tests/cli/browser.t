#!/usr/bin/env bash
# The report browser and the flame graph in a real terminal (tmux): keys are sent, the screen is read.
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
shows '^ +Children +Self +Command +Shared Object +Symbol' "a header line"
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
shows 'only dso: [^ ]+: Self [0-9.]+% in all' "d zooms into the library, and says of which column the sum is"
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
shows '^ [^ ]+arm64-leaf.data: where, when' "under the file's name"
keys q
shows '^\+ ' "and back"
keys '?'
shows 'Enter, \+ +open or close' "help"
keys q
keys s
shows '^ by Self ' "s orders by Self"
keys s
gone '^ by Self ' "and back"
keys o o o
shows '^ by Command ' "o orders by the next column"
keys o o o
gone '^ by ' "and comes back to the table's own order"
keys a
shows 'not a function: no code|no code to show|no samples in' "a on a row without code says so"
keys T
shows '^ +Children +Self +Pid:Command +Shared Object' "T shows rows by thread"
keys t
shows 'only pid: +[0-9]+:' "of which t chooses one"
keys T
shows '^ +Children +Self +Command +Shared Object' "and by command again"
keys Z
shows 'unknown key' "an unknown key says so"
term resize-window -t b -x 60 -y 10
shows '^ +Children.* Command +Shared Ob… +Symbol' "a smaller window is drawn anew, with other names cut before the function's"
keys q
shows 'status 0' "q quits"
term resize-window -t b -x 100 -y 24
keys clear Enter
keys "'$SONDE' report -i '$data' --symfs '$SONDE_TMP' --stdio --no-pager -g none | head -3; echo status \$?" Enter
shows '# To display the perf.data header' "--stdio is text"
keys clear Enter
keys "TERM=dumb '$SONDE' report -i '$data' --symfs '$SONDE_TMP' -g none --no-pager" Enter
shows '^ +[0-9.]+% +[0-9.]+% ' "a terminal that cannot move its cursor gets text"
keys clear Enter
long=a_function_whose_name_is_longer_than_the_line_is_wide::and_which_goes_on::for_ever_and_ever
"$(dirname "$SONDE")/tests/stacks_gen" "$SONDE_TMP/f.data" "$SONDE_TMP/names" <<END
0 app 7 7 1000 main;$long
1 app 7 7 3000 main;Other
END
term resize-window -t b -x 80 -y 24
keys "'$SONDE' flame --term '$SONDE_TMP/f.data' --kallsyms '$SONDE_TMP/names'; echo status \$?" Enter
shows '^cpu-clock, 2 samples ' "the flame graph begins with the event"
shows '\? help .*q quit' "and ends with the keys"
keys Down Down Down Right
shows '^25\.00 % \(25\.00 % self\), 1 sample  a_function' "a long name leaves the numbers alone"
keys / other
shows '^/other_   75\.00 % in 1 frame' "what is searched for is counted while it is typed"
keys Enter
shows '^75\.00 % .* Other' "and found"
keys / zzz Enter
shows '^/zzz   not found' "a search without a find says so"
keys Escape
gone '^/zzz' "and is forgotten"
keys '?'
shows 'Left Right +go to the next frame' "help"
keys q
shows '^75\.00 % .* Other' "and back"
keys q
shows 'status 0' "q quits the flame graph"
# Many colours: shades and edges; few: the plain ones.
keys clear Enter
keys "TERM=screen-256color '$SONDE' flame --term '$SONDE_TMP/f.data' --kallsyms '$SONDE_TMP/names'; echo status \$?" Enter
shows '▏a_function_whose' "with 256 colours boxes have edges"
like "$(term capture-pane -t b -e -p)" '48;5;' "and shades"
keys q
shows 'status 0' "q quits"
keys clear Enter
keys "TERM=screen-256color LC_ALL=C '$SONDE' flame --term '$SONDE_TMP/f.data' --kallsyms '$SONDE_TMP/names'; echo status \$?" Enter
shows '\|a_function_whose' "of ASCII where the locale has nothing else"
keys q
shows 'status 0' "q quits"
keys clear Enter
keys "TERM=screen '$SONDE' flame --term '$SONDE_TMP/f.data' --kallsyms '$SONDE_TMP/names'; echo status \$?" Enter
shows ' a_function_whose' "with eight colours"
unlike "$(term capture-pane -t b -e -p)" '48;5;' "there are no shades"
keys q
shows 'status 0' "q quits"
term kill-server
exits 0 "--tui without a terminal" "$SONDE" report -i "$data" --tui -g none
like "$err" "no terminal" "says that there are none"
like "$out" "Children" "and prints text"
done_testing

#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Rows of the acceptance matrix: `report` of what `record` wrote.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH
trap 'remove_probes; rm -rf "$SONDE_TMP"' EXIT
rows() { grep -E '^ +[0-9]+\.[0-9]+%' <<<"$out"; }

# ---- minor faults of a command, with call chains
sonde record -e minor-faults -g -- ls / >/dev/null 2>said
samples=$(sed -n 's/.*, \([0-9]*\) samples, .*/\1/p' said)
exits 0 "S4-291: report of ./perf.data" sonde report --no-children
like "$out" "^# Samples: $samples +of event 'minor-faults'\$" "S4-240: number of samples and event"
if ! needs_or_skip "S4-240: the event count" perf; then
	periods=$(perf script -F period 2>/dev/null | awk '{ s += $1 } END { print s }')
	like "$out" "^# Event count \(approx\.\): $periods\$" "S4-240: the event count is the sum of the periods"
	top=$(perf script -F period,ip,sym 2>/dev/null | awk 'BEGIN { RS = ""; FS = "\n" } { split($1, p, " "); split($2, f, " "); w[f[2]] += p[1]; all += p[1] }
		END { for (s in w) if (w[s] > m) m = w[s]; printf "%.2f%%", m * 100 / all }')
	is "$(rows | head -1 | awk '{ print $1 }')" "$top" "S4-240: a row's share is by period, not by samples"
fi
like "$out" '^# Overhead +Command +Shared Object +Symbol *$' "S4-241: the columns"
is "$(rows | grep -cvE '^ +[0-9]+\.[0-9]{2}%  ls +[^ ]+ +\[[.k]\] [^ ]+')" 0 "S4-241: every row has them, with [.] or [k]"
is "$(rows | awk '{ print $1 + 0 }')" "$(rows | awk '{ print $1 + 0 }' | sort -rn)" "S4-291: heaviest first"
like "$out" 'ls +ld-linux[^ ]* +\[\.\] _dl' "S4-241: user functions by name"

# ---- samples
exits 0 "S0-063: report -n" sonde report -n --no-children -g none
like "$out" '^# Overhead +Samples +Command +Shared Object +Symbol *$' "S0-063: the columns"
is "$(rows | awk '{ s += $2 } END { print s }')" "$samples" "S0-063: the samples of all rows are all samples"

# ---- which program, which function
sonde record -F 999 -o hot.data -- sh -c 'sonde workload leaf 1; true' 2>/dev/null
exits 0 "S4-246: report --sort comm,dso,symbol" sonde report -i hot.data --sort comm,dso,symbol
like "$(rows | head -1)" '^ +[0-9.]+%  sonde +sonde +\[\.\] workload_leaf *$' "S4-246: program and function to look at stand first"
[ "$(rows | head -1 | sed 's/^ *\([0-9]*\).*/\1/')" -ge 80 ]
ok $? "S4-246: with nearly all of the time"

like "$(head -1 <<<"$out")" '^# To display the perf.data header info, please use --header/--header-only options\.$' "S4-272: the hint stands first"
exits 0 "S4-272: report --header" sonde report -i hot.data --header
like "$out" '^# hostname : ' "S4-272: and is right"
# As it was written, with blanks behind the commas.
exits 0 "S4-247: report --sort comm, dso, symbol" sonde report -i hot.data --sort comm, dso, symbol
like "$out" '^# Overhead +Command +Shared Object +Symbol *$' "S4-247: columns in the order of the keys"
exits 0 "S4-247: report --sort symbol, comm" sonde report -i hot.data --sort symbol, comm
like "$out" '^# Overhead +Symbol +Command *$' "S4-247: in another order"

# ---- tracepoints
if ! needs_or_skip "S1-004, S4-293: tracepoints" tracefs; then
	exits 0 "S1-004: tracepoints are counted" sonde stat -e sched:sched_process_fork -- sonde workload forks 20
	count=$(awk '/sched:sched_process_fork/ { gsub(",", "", $1); print $1 }' <<<"$err")
	[ "${count:-0}" -ge 20 ]
	ok $? "S1-004: all of them" || diag "$err"
	exits 0 "S1-004: tracepoints are recorded" sonde record -e sched:sched_process_fork,sched:sched_process_exit -o tp.data -- sonde workload forks 20
	exits 0 "S4-293: script" sonde script -i tp.data
	forks=$(grep -cE '^ *[^ ]+ +[0-9]+ +(\[[0-9]{3}\] +)?[0-9]+\.[0-9]{6}: +sched:sched_process_fork: comm=[^ ]+ pid=[0-9]+ child_comm=[^ ]+ child_pid=[0-9]+$' <<<"$out")
	[ "$forks" -ge 20 ]
	ok $? "S1-004, S4-293: each with task, time, event and its fields" || diag "$(head -3 <<<"$out")"
	exits 0 "S4-293: with the fields that are asked for" sonde script -i tp.data -F comm,event,trace
	is "$(grep -cvE '^ *[^ ]+ +sched:sched_process_(fork|exit): [a-z_]+=' <<<"$out")" 0 "S4-293: and no others"
fi

# ---- call graphs
sonde record -F 999 -g -o graph.data -- sonde workload leaf 1 2>/dev/null
exits 0 "S4-242: report --no-children with call chains" sonde report -i graph.data --no-children
like "$(tr -d ' \n' <<<"$out")" '\[\.\]workload_leaf\|---workload_leafworkload_middleworkload_parent' "S4-242: the function, then its callers"
like "$out" '^ +---workload_leaf$' "S4-242: begun with a line to the row"

# ---- without symbols
if ! needs_or_skip "S4-244: a program without symbols" strip; then
	# A copy with symbols may be kept under the same build id: looked for where there are none.
	export PERF_BUILDID_DIR=$SONDE_TMP/none XDG_CACHE_HOME=$SONDE_TMP/none
	strip -o stripped "$SONDE"
	sonde record -F 999 -o stripped.data -- ./stripped workload noploop 0.5 2>/dev/null
	exits 0 "S4-244: report of a stripped program" sonde report --no-func-names -i stripped.data
	like "$(rows | head -1)" '^ +[0-9.]+%  stripped +stripped +\[\.\] 0x[0-9a-f]{16}$' "S4-244: the address stands for the name"
	unset PERF_BUILDID_DIR
fi

# ---- the kernel
if [ "$(awk '$3 == "_text" { print $1; exit }' /proc/kallsyms | tr -d 0)" = "" ]; then
	skip "kernel addresses are hidden" "S4-245: kernel functions by name"
else
	sonde record -F 1999 -g -o kernel.data -- sonde workload syscalls 1000000 2>/dev/null
	exits 0 "S4-245: report of a program that calls the kernel" sonde report -i kernel.data --no-children -g caller
	like "$out" '^ +[0-9.]+%  sonde +\[kernel.kallsyms\] +\[k\] [a-zA-Z_][a-zA-Z0-9_.]+ *$' "S4-245: kernel functions by name"
	graph=$(sonde report -i kernel.data --no-children -g callee | awk '/\[k\]/ { on = 1 } /\[\.\]/ { on = 0 } on')
	like "$graph" '(do_syscall_64|el0_svc)' "S4-245: the chain goes through the kernel"
	like "$graph" 'workload_syscalls|main' "S4-245: and on into the program"
fi

# ---- many samples
if add_probe_libc_malloc; then
	# A ring that holds them all: nothing is lost, however late we read.
	sonde record -m 32M -e probe_libc:malloc -o many.data -- sonde workload malloc 96965 2>/dev/null
	exits 0 "S4-343: report of many samples" sonde report -i many.data
	like "$out" "^# Samples: 96K of event 'probe_libc:malloc'\$" "S4-343: their number is abbreviated"
	count=$(sed -n 's/^# Event count (approx.): //p' <<<"$out")
	[ "$count" -ge 96965 ] && [ "$count" -le 97060 ]
	ok $? "S4-343: the event count is exact" || diag "$count"
	like "$out" '^ +100.00%  sonde +libc\.so\.6 +\[\.\] (__libc_)?malloc *$' "S4-343: command, library and function"
else
	skip "$reason" "S4-343: many samples"
fi
# ---- a browser on a terminal, text through a pipe
cp hot.data perf.data
sonde report | cat >piped
like "$(cat piped)" '^ +[0-9.]+% +sonde +sonde +\[\.\] workload_leaf' "S4-239: report through a pipe is text"
unlike "$(cat piped)" $'\\x1b' "S4-239: without a terminal's codes"
is "$(sonde report --stdio | cat)" "$(cat piped)" "S4-239: the same as --stdio"
if command -v tmux >/dev/null; then
	export TMUX_TMPDIR=$SONDE_TMP
	unset TMUX
	term() { tmux -f /dev/null -L "sonde-report-$$" "$@"; }
	trap 'term kill-server 2>/dev/null; remove_probes; rm -rf "$SONDE_TMP"' EXIT
	screen_has() { # REGEX
		local i
		for ((i = 0; i < 200; i++)); do
			term capture-pane -p 2>/dev/null | grep -Eq -- "$1" && return 0
			sleep 0.1
		done
		return 1
	}
	term new-session -d -x 100 -y 24 "cd '$PWD'; env TERM=screen PATH='$PATH' sonde report; echo left with \$?; sleep 60"
	screen_has 'Samples: .* of event'
	ok $? "S4-239: report on a terminal is a browser" || diag "$(term capture-pane -p)"
	screen_has '[0-9.]+% +sonde +sonde +\[\.\] workload_leaf'
	ok $? "S4-239: with the same rows"
	screen_has 'q quit'
	ok $? "S4-239: that says its keys"
	term resize-window -x 20 -y 5 2>/dev/null
	sleep 0.5
	term resize-window -x 100 -y 24 2>/dev/null
	screen_has 'workload_leaf'
	ok $? "S4-239: it lives through a tiny screen" || diag "$(term capture-pane -p)"
	term send-keys q
	screen_has 'left with 0'
	ok $? "S4-239: q leaves it" || diag "$(term capture-pane -p)"
	term kill-server 2>/dev/null
else
	skip "tmux is not installed" "S4-239: report on a terminal"
fi
done_testing

#!/usr/bin/env bash
# Every verb and every option of trace-cmd is known to ours: it works, or it is refused with what to use instead. Which there are say
# trace-cmd's own usage texts, its manual pages where they are installed, and a table of what it takes without saying so.
# where: host
# needs:
# timeout: 60
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde trace-cmd
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/trace-cmd
ours=$PWD/bin/trace-cmd

unsaid() { # VERB: letters and words of its getopt tables that no text tells of
	case $1 in
	record) echo "-a -H --nosplice --nofifos --notimeout --debug --stderr --ts-offset --date --verbose=info --help" ;;
	start|stream) echo "-a -k -m -s -r -t -q -G -S -H -N -V -A -D -M -i -d --date --stderr --ts-offset --fork --nosplice --debug --user --quiet --tsc2nsec --poll" ;;
	profile) echo "-a -k -m -s -r -t -q -N -V -A -D -o --stderr --profile --by-comm --quiet" ;;
	set) echo "-m -A -D -i -T -q --quiet --user --tsc2nsec" ;;
	extract) echo "-a -s -t -B -p -O -o --date --compression=zstd --file-version=7" ;;
	list) echo "-s --full" ;;
	report) echo "-p -V -G --cpu=1 --events --event=x --filter-test --ts-offset=1 --ts2secs=1 --by-comm --raw-ts --align-ts --version --uname" ;;
	split) echo "-C -i" ;;
	stat) echo "-t" ;;
	restore) echo "-c -t -k -o -i" ;;
	dump) echo "--head-page --head-event --ftrace-events --systems --events --kallsyms --printk --cmd-lines --options --flyrecord --clock --all --summary --sections --strings --validate --help" ;;
	esac
}

said() { # VERB: options in its usage text and, of its manual page, what is described there
	# The options of the first lines stand in brackets; below each has a line.
	command trace-cmd "$1" -h >usage 2>&1 </dev/null
	grep -oE '\[--?[A-Za-z][A-Za-z0-9_-]*' usage | tr -d '['
	grep -oE '^ +--?[A-Za-z][A-Za-z0-9_-]*' usage
	local page=/usr/share/man/man1/trace-cmd-$1.1.gz
	[ -e "$page" ] && zcat "$page" | sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\//g' | awk 'before == ".PP" && /^-/ { print $1 } { before = $0 }' | grep -oE '^--?[A-Za-z][A-Za-z0-9_-]*'
}

verbs=$(command trace-cmd 2>&1 | sed -n 's/^ \{5\}\([a-z-]*\) - .*/\1/p')
is "$(wc -w <<<"$verbs")" 26 "trace-cmd tells of its verbs"
for verb in $verbs attach; do
	# Two words that are no option: the second is met although the first became a value. So nothing is ever begun.
	exits 129 "$verb" "$ours" "$verb" --nonsense --nonsense
	if grep -q "unknown command" <<<"$err"; then
		like "$err" "hint: [a-z].{20}" "$verb: with what to use"
		continue
	fi
	like "$err" "unknown option '--nonsense'" "$verb: is one of ours"
	bad=
	for option in $({ said "$verb"; unsaid "$verb"; } | tr ' ' '\n' | sort -u); do
		# `-verbose`-like words in prose are no options.
		[[ $option =~ ^(-[A-Za-z]|--[a-z].*)$ ]] || continue
		case $verb:$option in
		*:-h|*:--help) continue ;;
		esac
		answer=$("$ours" "$verb" "$option" --nonsense --nonsense 2>&1 </dev/null)
		status=$?
		name=${option%%=*}
		[ $status = 129 ] && ! grep -q "unknown option '$name" <<<"$answer" || bad+=" $option"
		grep -q "is not supported" <<<"$answer" && ! grep -qE 'hint: [A-Z'"'"'].{9}' <<<"$answer" && bad+=" $option(no hint)"
	done
	is "$bad" "" "$verb: every option is known"
done

# What was never said in a usage text, and is done.
data=$SONDE_SRC/tests/data/trace/6.1-events_v7_none.dat
exits 0 "split -C" "$SONDE" ftrace split -i "$data" -C 1 -o one
is "$("$SONDE" ftrace report one.1 2>/dev/null | grep -c '\[000\]')" 0 "split -C: nothing of another CPU"
is "$("$SONDE" ftrace report one.1 2>/dev/null | grep '\[001\]')" "$("$SONDE" ftrace report "$data" 2>/dev/null | grep '\[001\]')" "split -C: all of this one"
is "$(command trace-cmd report -i one.1 2>/dev/null | grep -c '\[001\]')" "$("$SONDE" ftrace report one.1 | grep -c '\[001\]')" "split -C: trace-cmd reads it"
cp "$data" trace.dat
exits 0 "split without -o" "$SONDE" ftrace split
is "$("$SONDE" ftrace report trace.dat.1 2>/dev/null)" "$("$SONDE" ftrace report trace.dat 2>/dev/null)" "split without -o: trace.dat.1"
exits 129 "restore of trace-cmd's own files" "$SONDE" ftrace restore trace.dat.cpu0 trace.dat.cpu1
like "$err" "trace-cmd itself" "says whose they are"
exits 0 "--verbose=info" "$SONDE" ftrace report --verbose=info -i "$data"
exits 129 "--verbose=loud" "$SONDE" ftrace report --verbose=loud -i "$data"
like "$err" "none, crit, err, warn, info, debug or all" "names the levels"
is "$("$SONDE" ftrace report -p -i "$data")" "$(command trace-cmd report -p -i "$data")" "report -p: sizes of pages"
done_testing

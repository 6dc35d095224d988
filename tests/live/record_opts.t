#!/usr/bin/env bash
# Options of perf 6.1's record: each is known here, and asks the kernel for the same.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need perf perf_events
cd "$SONDE_TMP" || exit 1
ln -s "$SONDE" perf

unknown=
for option in $(command perf record -h 2>&1 | grep -oE '^ +(-[A-Za-z],)? +--[a-z-]+' | grep -oE '\-\-[a-z-]+' | sort -u); do
	"$SONDE" record "$option=1" -o /dev/null --dry-run true >/dev/null 2>one.err
	grep -q "unknown option '$option" one.err && unknown="$unknown $option"
done
is "$unknown" "" "every option of perf record is known"

# An event by half of its name.
needs_or_skip "names of tracepoints" tracefs || {
	exits 1 "a tracepoint without its system" "$SONDE" record -e sched_switch -o x.data -- true
	like "$err" 'did you mean sched:sched_switch' "says where it is"
	exits 1 "a system without a tracepoint" "$SONDE" record -e sched -o x.data -- true
	like "$err" "use 'sched:\*' for all tracepoints" "says how to have all"
}

# Every field of the attrs, as the file has them.
attrs() { # FILE
	command perf evlist -v -i "$1" 2>/dev/null | sed 's/size: [0-9]*, //'
}
# Most of a recording of `true` is waiting, for the kernel to close events: some are made at once.
asked=()
same() { # OPTION...
	local n=${#asked[@]}
	asked+=("$*")
	mkdir "same$n"
	[ "$n" -lt 4 ] || wait -n
	(
		perf record -q -o "same$n/theirs.data" "$@" -- true >/dev/null 2>&1
		./perf record -q -o "same$n/mine.data" "$@" -- true >/dev/null 2>"same$n/mine.err"
		attrs "same$n/mine.data" >"same$n/mine"
		attrs "same$n/theirs.data" >"same$n/theirs"
	) &
}
were_same() {
	local n
	wait
	for n in "${!asked[@]}"; do
		is "$(cat "same$n/mine")" "$(cat "same$n/theirs")" "the same request: ${asked[n]}" || diag "$(cat "same$n/mine.err")"
		isnt "$(cat "same$n/mine")" "" "and it was recorded: ${asked[n]}"
	done
}
same -e cpu-clock
same -e cpu-clock -F 99 -g
same -e cpu-clock -F max
same -e cpu-clock -c 100000
same -e cpu-clock -c 100000 -P
same -e page-faults -d
same -e page-faults --phys-data
same -e page-faults --data-page-size
same -e cpu-clock --code-page-size
same -e cpu-clock -s
same -e cpu-clock --running-time
same -e cpu-clock -W
same -e cpu-clock --transaction
same -e cpu-clock -g --user-callchains
same -e cpu-clock -g --kernel-callchains
same -e cpu-clock -k mono
same -e cpu-clock -k boot
same -e cpu-clock --no-inherit
same -e cpu-clock --all-user
same -e cpu-clock --all-kernel
same -e cpu-clock --namespaces
same -e cpu-clock -I
same -e cpu-clock -Iax,SP
same -e cpu-clock --user-regs
same -e cpu-clock --user-regs=ip,r8 -I
were_same

# Registers, shown as perf shows them. A page fault's own IP is where it was.
"$SONDE" record -q -e page-faults -c 1 -I --user-regs=ip,sp -o regs.data -- true 2>regs.err
for fields in ip,iregs ip,uregs comm,tid,time,event,ip,iregs,uregs; do
	command perf script --no-inline -i regs.data -F $fields >theirs 2>/dev/null
	"$SONDE" script --no-inline -i regs.data -F $fields >mine 2>mine.err
	cmp mine theirs >cmp.out 2>&1 && [ -s mine ]
	ok $? "script -F $fields" || diag "$(cat cmp.out mine.err regs.err)"
done
"$SONDE" script -i regs.data -F ip,iregs | awk '{ n++; if (!index($0 " ", "    IP:0x" $1 " ")) bad++ } END { exit bad || n < 10 }'
ok $? "the register IP is the sample's ip" || diag "$("$SONDE" script -i regs.data -F ip,iregs | head -3)"
is "$("$SONDE" record '-I?')" "$(command perf record '-I?' 2>&1 | head -1)" "which registers there are"
is "$("$SONDE" record --user-regs='?')" "$("$SONDE" record '-I?')" "and the user's"
exits 129 "a register that is none" "$SONDE" record -Iax,foo -o x.data -- true
like "$err" "unknown register 'foo'" "is told"
exits 129 "registers of stacks that are unwound" "$SONDE" record --user-regs --call-graph dwarf -o x.data -- true
like "$err" "use --raw-stack to keep both" "and how to have them"
exits 0 "where they are not recorded" "$SONDE" record -q -e page-faults -c 1 -o none.data -- true
exits 1 "script does not show them" "$SONDE" script -i none.data -F +uregs
like "$err" "record --user-regs" "and says how"

exits 1 "--strict-freq" "$SONDE" record --strict-freq -F 100000000 -e cpu-clock -o x.data -- true
like "$err" 'the system limit is [0-9]+' "says what is allowed"
[ ! -e x.data ]
ok $? "and records nothing"
exits 0 "--dry-run" "$SONDE" record --dry-run -e cpu-clock -o x.data -- true
[ ! -e x.data ]
ok $? "records nothing"
exits 1 "-r of no priority" "$SONDE" record -r 100 -e cpu-clock -o x.data -- true
exits 0 "-r" "$SONDE" record -q -r 1 -e cpu-clock -o x.data -- sh -c 'cut -d" " -f41 /proc/$$/stat'
is "$out" 0 "is not for the command"
exits 0 "-m with pages for AUX" "$SONDE" record -q -m 16,16 -e cpu-clock -o x.data -- true
exits 0 "-aRf of old texts" "$SONDE" record -q -aRf -e cpu-clock -o x.data -- true
done_testing

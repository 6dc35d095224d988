#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root tracefs
# timeout: 240
# smp: 1
# `sonde probe`: adding, listing and removing probes on programs; they fire with the right values; all or nothing; other people's probes stay.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs uprobes
cd "$SONDE_TMP" || exit 1
events=$tracefs/uprobe_events

probe() { "$SONDE" probe "$@"; }
# A file of our own: nobody else's probes are on it.
cp "$SONDE" prog
prog=$SONDE_TMP/prog
mine() { grep -F "$prog" $events; }
trap 'probe -q -d "*$$:*" >/dev/null 2>&1; rm -rf "$SONDE_TMP"' EXIT

# In a private instance: what a recording of ours would print is another test's.
traced() {
	local inst=$tracefs/instances/probe-t-$$ event
	mkdir "$inst"
	for event in "${events_on[@]}"; do echo 1 >"$inst/events/$event/enable"; done
	"$@" >/dev/null 2>&1
	cat "$inst/trace" >traced
	for event in "${events_on[@]}"; do echo 0 >"$inst/events/$event/enable"; done
	rmdir "$inst"
}

# ---- static probes: arguments by their notes -------------------------------------------------------------------------------------
g=t$$
exits 0 "the definition of a static probe" probe -x prog -D '%sdt_sonde:step'
like "$out" "^p:sdt_sonde/step $prog:0x[0-9a-f]+ arg1=.*:u32 arg2=.*:u64 arg3=.*:u64$" "has its arguments with their types"
exits 1 "one that is not there" probe -x prog -D '%sdt_sonde:stpe'
like "$err" 'did you mean step' "names one that is"
is "$(probe -x prog -D '%sdt_sonde:*' | cut -d' ' -f1 | tr '\n' ' ')" "p:sdt_sonde/begin p:sdt_sonde/step p:sdt_sonde/end " "those of a glob have their own names"
exits 0 "list usdt:FILE" "$SONDE" list usdt:./prog
is "$(grep -c "^  usdt:$prog:sonde:\(begin\|step\|end\) .*\[SDT event\]$" <<<"$out")" 3 "lists them as -e takes them"
is "$("$SONDE" list 'usdt:./prog:sonde:st*' | grep -c 'usdt:')" 1 "globs"
exits 0 "a static probe is added" probe -x prog "$g:step=%sdt_sonde:step" i='$arg1' square='$arg2' 'text=$arg3:string'
like "$err" "$g:step +\\(on %sdt_sonde:step in $prog with .*\\)" "and says how it is called"
like "$err" "record -e $g:step -aR sleep 1" "and how it is used"
events_on=("$g/step")
traced ./prog workload usdt 5
is "$(grep -c ' step: ' traced)" 5 "it fires as often as it is passed"
is "$(sed -n 's/.* i=\([0-9]*\) square=\([0-9]*\) text="\(.*\)"$/\1 \2 \3/p' traced | tr '\n' ';')" \
	"0 0 even;1 1 odd;2 4 even;3 9 odd;4 16 even;" "with the right values"
exits 0 "the list" probe -l
like "$out" "$g:step +\\(on .* in $prog with i square text\\) +hits 5$" "counts its hits"
exits 0 "the list as JSON" probe -l "$g:*" --json
listed() { printf '%s' "$out" | python3 -c 'import json,sys; l=json.load(sys.stdin); print(len(l), l[0]["event"], l[0]["hits"])'; }
is "$(listed)" "1 step 5" "can be read"
exits 0 "the pattern after other options" probe -l --json "$g:st*"
is "$(listed)" "1 step 5" "belongs to -l"
exits 0 "one that nothing matches" probe -l --json "$g:nosuch"
is "$out" "[]" "is an empty list"
exits 0 "the same with -F" probe -F -x prog workload_usdt
is "$out" "workload_usdt" "is its filter"

# ---- functions -------------------------------------------------------------------------------------------------------------------
exits 0 "a function" probe -x prog "$g:begin=workload_usdt" 'n=+0(%di):u32'
exits 17 "the same name again" bash -c '"$0" probe -x prog "$1:begin=workload_usdt"; [ $? = 1 ] && exit 17' "$SONDE" "$g"
like "$err" "event \"$g:begin\" already exists" "is refused with the reason"
exits 0 "with -f" probe -f -q -x prog "$g:begin=workload_usdt"
is "$(mine | grep -c "$g/begin")" 2 "it is numbered"
exits 0 "its return" probe -q -x prog "$g:back=workload_usdt%return" 'ret=$retval:s32'
events_on=("$g/begin" "$g/back")
traced ./prog workload usdt 3
like "$(cat traced)" ' begin: .* n=3$' "a member of what a register points to"
like "$(cat traced)" ' back: .* ret=0$' "and the result"
exits 0 "the offsets of instructions" probe -x prog --offsets workload_usdt
like "$out" '^  \+0 +[a-z]' "are listed with their text"
# The first byte that is not the first of an instruction.
middle=$(printf '%s\n' "$out" | awk '{ n = substr($1, 2) + 0; if (NR > 1 && n > last + 1) { print last + 1; exit } last = n }')
exits 1 "the middle of an instruction" probe -x prog "workload_usdt+$middle"
like "$err" 'instructions begin at \+[0-9]+ and \+[0-9]+' "is refused before the kernel does, with those around it"
exits 1 "a function that is not there" probe -x prog 'workload_usdx'
like "$err" "did you mean '?workload_usdt" "names one that is"
exits 1 "an offset outside of the function" probe -x prog 'workload_usdt+1000000'
like "$err" 'bytes long' "is refused"

# ---- with debug information ------------------------------------------------------------------------------------------------------
if readelf -S prog 2>/dev/null | grep -q '\.debug_info'; then
	exits 0 "lines" probe -s "$SONDE_SRC" -x prog -L workload_usdt
	like "$out" '^<workload_usdt@.*usdt\.c:0>$' "begin with where they are"
	like "$out" '^ +0  .*workload_usdt' "those with a number can be probed"
	exits 0 "variables" probe -x prog -V workload_usdt
	like "$out" 'struct workload_args\*[[:space:]]a$' "have types and names"
	exits 0 "functions" probe -x prog -F 'workload_us*'
	is "$out" workload_usdt "are filtered"
	exits 0 "a parameter's member by its name" probe -q -x prog "$g:named=workload_usdt" 'a->n'
	# The last: the first ones may share their code with the entry.
	line=$(probe -s "$SONDE_SRC" -x prog -L workload_usdt | awk '/^ +[1-9]/ { last = $1 } END { print last }')
	exits 0 "a line" probe -x prog -D "workload_usdt:$line"
	like "$out" "^p:probe_prog/workload_usdt_L$line " "is in the event's name"
	events_on=("$g/named")
	traced ./prog workload usdt 4
	like "$(cat traced)" ' named: .* n=(0x)?4$' "has its value"
else
	skip "the program has no debug information" "lines"
fi

# ---- all or nothing ---------------------------------------------------------------------------------------------------------------
mine >before
exits 1 "the second of two cannot be added" probe -x prog -a "$g:first=workload_usdt" -a "$g:second=workload_usdt nonsense=%nosuchreg"
mine >after
is "$(diff before after)" "" "then the first is not there either"
like "$err" 'kernel reports|cannot write' "and the kernel's reason is told"
exits 0 "a raw definition" probe -q "p:$g/raw $prog:0x$(mine | sed -n 's/.*:0x0*\([0-9a-f]*\).*/\1/p;q') %di"
is "$(mine | grep -c "p:$g/raw ")" 1 "is taken as it is"
exits 0 "a dry run" probe -n -x prog "$g:dry=workload_usdt"
is "$(mine | grep -c "$g/dry")" 0 "adds nothing"
exits 0 "bundled flags" probe -fnq -x prog "$g:dry=workload_usdt"

# ---- killed at any moment ----------------------------------------------------------------------------------------------------------
mine >before
many=()
for ((i = 0; i < 60; i++)); do many+=(-a "k$$:e$i=workload_usdt"); done
left=0 partly=0
for ms in 5 10 15 20 30 40; do
	"$SONDE" probe -q -x prog "${many[@]}" >/dev/null 2>&1 &
	pid=$!
	sleep "0.$(printf %03d $ms)"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	gone() { ! compgen -G "/run/sonde/ftrace/$pid-*.journal" >/dev/null; }
	wait_until gone || left=$((left + 1))
	n=$(mine | grep -c "k$$/")
	[ "$n" = 0 ] || [ "$n" = 60 ] || partly=$((partly + 1))
	[ "$n" = 0 ] || probe -q -d "k$$:*"
done
is $left 0 "no journal stays of adds that are killed"
is $partly 0 "all or none of the probes are there"
mine >after
is "$(diff before after)" "" "and those that were there stay"

# ---- names of files ----------------------------------------------------------------------------------------------------------------
exits 0 "a bare library" probe -x libc -D 'malloc size=%di'
like "$out" '^p:probe_libc/malloc /.*/libc[.-].*:0x[0-9a-f]+ size=%di$' "is found as the loader does"
exits 0 "a bare program" probe -x bash -D main
like "$out" '^p:probe_bash/main /.*/bash:0x[0-9a-f]+$' "is found as a shell does"
exits 1 "a file that is nowhere" probe -x libnosuch -D malloc
like "$err" 'libnosuch' "is named"

if unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs none /mnt && cp prog /mnt/inner && exec sleep 60' &
	pid=$!
	inside() { [ -x "/proc/$pid/root/mnt/inner" ] && [ "$(cat /proc/$pid/comm)" = sleep ]; }
	wait_until inside
	exits 0 "a file of another mount namespace" probe -x /mnt/inner --target-ns $pid -a "$g:inner=workload_usdt"
	is "$(grep -c "^p:$g/inner /proc/$pid/root/mnt/inner:0x" $events)" 1 "is probed there"
	events_on=("$g/inner")
	traced nsenter -t $pid -m /mnt/inner workload usdt 2
	is "$(grep -c ' inner: ' traced)" 1 "and hit"
	probe -q -d "$g:inner"
	kill $pid
	wait $pid 2>/dev/null
else
	skip "no mount namespaces" "a file of another mount namespace"
fi

# ---- as perf -----------------------------------------------------------------------------------------------------------------------
mkdir -p bin && ln -sf "$SONDE" bin/perf
exits 0 "called as perf" bin/perf probe -x prog "$g:asperf=workload_usdt"
like "$err" "^Added new event:$" "it says what perf says"
like "$err" "perf record -e $g:asperf -aR sleep 1" "with its name"
exits 0 "and removes" bin/perf probe -d "$g:asperf"
like "$err" "^Removed event: $g:asperf$" "as perf does"

# ---- removing ----------------------------------------------------------------------------------------------------------------------
exits 0 "a glob" probe -d "$g:be*"
like "$err" "Removed event: $g:begin" "removes what fits"
exits 1 "once more" probe -d "$g:be*"
like "$err" "\"$g:be\\*\" does not hit any event" "there is nothing left"
exits 0 "the rest" probe -q -d "$g:*"
is "$(mine)" "" "nothing of ours stays"

# ---- without rights ----------------------------------------------------------------------------------------------------------------
chmod 755 "$SONDE_TMP"
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
if as_nobody ./prog --version >/dev/null 2>&1; then
	for how in "-x prog workload_usdt" "-l" "-d x:y"; do
		# shellcheck disable=SC2086 # words
		exits 1 "as nobody: $how" as_nobody ./prog probe $how
		is "$(grep -c '^sonde probe: ' <<<"$err")$(grep -c 'hint: run it as root' <<<"$err")" 11 "one reason and what helps: $how" || diag "$err"
	done
	exits 0 "definitions need no rights" as_nobody ./prog probe -x prog -D workload_usdt
else
	skip "nobody cannot run programs here" "without rights"
fi

# ---- Go --------------------------------------------------------------------------------------------------------------------------
if command -v objcopy >/dev/null; then
	printf x >empty
	objcopy --add-section .gopclntab=empty prog gone 2>/dev/null
	exits 1 "a probe on returns of a Go program" probe -x gone 'workload_usdt%return'
	like "$err" 'crash .*Go program' "is refused"
	exits 0 "unless it is forced" probe -f -x gone -n 'workload_usdt%return'
else
	skip "objcopy is not installed" "a probe on returns of a Go program"
fi
done_testing

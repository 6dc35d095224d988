#!/usr/bin/env bash
# where: 6.1 arm64
# needs: root tracefs
# timeout: 200
# smp: 1
# The row of the acceptance matrix about architectures: registers by their names, in kernel probes on x86_64 and arm64. They fire with the right
# values, from programs too.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest kprobes
cd "$SONDE_TMP" || exit 1
events=$tracefs/kprobe_events
case $(uname -m) in
x86_64) first=di second=si stack=sp all='ax bx cx dx si di bp sp r8 r9 r10 r11 r12 r13 r14 r15 ip flags' ;;
aarch64) first=x0 second=x1 stack=sp all="$(seq -f x%g -s ' ' 0 30) sp pc pstate" ;;
esac
args='' n=0
for r in $all; do
	args="$args $r=%$r"
	n=$((n + 1))
done
exits 0 "S1-024: all registers of the table, by name" "$SONDE" probe -q "mine:all=do_prlimit $args"
is "$(grep -o '=%[a-z0-9]*' $events | wc -l)" $n "S1-024: the kernel knows each of them"
exits 1 "S1-024: one of another architecture" "$SONDE" probe -q 'mine:no=do_prlimit %gpr3'
like "$err" 'gpr3' "S1-024: is named"
exits 0 "S1-024: arguments by position and by register" "$SONDE" probe -q \
	"mine:args=do_prlimit a=\$arg1 b=%$first c=\$arg2:u32 d=%$second:u32 e=\$stack f=%$stack g=\$comm"
echo 1 >$tracefs/events/mine/enable
bash -c 'ulimit -n >/dev/null; ulimit -c >/dev/null'
echo 0 >$tracefs/events/mine/enable
rows=$(sed -n 's/.* args: .* a=\(0x[0-9a-f]*\) b=\(0x[0-9a-f]*\) c=\([0-9]*\) d=\([0-9]*\) e=\(0x[0-9a-f]*\) f=\(0x[0-9a-f]*\) g="bash"$/\1 \2 \3 \4 \5 \6/p' $tracefs/trace)
is "$(awk '$1 != $2 || $3 != $4 || $5 != $6 { bad++ } END { print (NR > 1 ? bad + 0 : "none") }' <<<"$rows")" 0 "S1-024: are the same" || diag "$(tail -5 $tracefs/trace)"
like "$(awk '{ print $3 }' <<<"$rows" | tr '\n' ' ')" '\b7 (.* )?4 ' "S1-024: and what was passed: the numbers of the limits"
"$SONDE" probe -q -d 'mine:*'
exits 0 "S1-024: a result" "$SONDE" record -q -o r.data -e 'kretprobe:do_prlimit $retval' -- bash -c 'ulimit -n >/dev/null'
like "$("$SONDE" script -F event,trace -i r.data 2>/dev/null)" 'kretprobe:do_prlimit.* arg1=(0|0x0)$' "S1-024: of a function"
cp "$SONDE" prog
exits 0 "S1-024: an argument of a function of a program" "$SONDE" record -q -o u.data -e "uprobe:./prog:workload_usdt n=+0(%$first):u32" -- ./prog workload usdt 7
like "$("$SONDE" script -F event,trace -i u.data 2>/dev/null)" ' n=7$' "S1-024: has its value"
exits 0 "S1-024: arguments of a static probe" "$SONDE" record -q -o s.data -e 'usdt:./prog:sonde:step i=$arg1 square=$arg2 text=$arg3:string' -- ./prog workload usdt 3
is "$("$SONDE" script -F event,trace -i s.data 2>/dev/null | sed -n 's/.* i=\([0-9]*\) square=\([0-9]*\) text="\(.*\)"$/\1 \2 \3/p' | tr '\n' ';')" \
	"0 0 even;1 1 odd;2 4 even;" "S1-024: have their values"
is "$(cat $events)" "" "S1-024: nothing stays"
done_testing

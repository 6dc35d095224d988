#!/usr/bin/env bash
# where: host
# needs: root tracefs
# timeout: 120
# Rows of the acceptance matrix about probes on programs, and about points in source terms, which programs show as the kernel does.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs uprobes cc
cd "$SONDE_TMP" || exit 1
mkdir -p bin src/kernel && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH
events=$tracefs/uprobe_events
# A name of our own: nobody else's probes are in its group.
me=mp$$
trap 'sonde probe -q -d "probe_$me:*" "uprobes:*_${me}_*" >/dev/null 2>&1; rm -rf "$SONDE_TMP"' EXIT

cat >src/kernel/sched.c <<'END'
#include <stdio.h>
struct inner { int mode; unsigned flag:3; };
struct rq { struct inner *in; int arr[4]; short neg; const char *name; };

static inline __attribute__((always_inline)) int pick(struct rq *rq, int v)
{
	int picked = v * 2 + rq->neg;
	asm volatile("" : "+r"(picked));
	return picked;
}

static __attribute__((noinline)) int helper(int n) { asm volatile("" : "+r"(n)); return n + 1; }
__attribute__((noipa)) int schedule(struct rq *rq, int prev)
{
	int cpu;

	cpu = helper(prev);
	cpu = helper(cpu);
	cpu  =  pick(rq, cpu);
	asm volatile("" : "+r"(cpu));
	if (rq->arr[2] > 100)
		cpu += pick(rq, cpu);
	return cpu;
}

extern int other(int n);
int main(int argc, char **argv)
{
	struct inner in = { .mode = 66, .flag = 5 };
	struct rq rq = { &in, { 10, 20, 30, 40 }, -7, "runqueue" };
	int sum = 0;
	for (int i = 0; i < 3; i++)
		sum += schedule(&rq, i) + helper(i) + other(i);
	printf("%d\n", sum);
	return 0;
}
END
cat >src/other.c <<'END'
static __attribute__((noinline)) int helper(int n) { asm volatile("" : "+r"(n)); return n + 2; }
int other(int n) { return helper(n) * 2; }
END
cc -g -O1 -o "$me" "$PWD/src/kernel/sched.c" "$PWD/src/other.c" 2>log || diag "$(cat log)"
prog=$PWD/$me
g=probe_$me
probe() { sonde probe -x "$prog" "$@"; }
line_of() { grep -nF -- "$1" src/kernel/sched.c | head -1 | cut -d: -f1; }
# traced EVENT: runs the program with GROUP/EVENT on, in an instance of ours; its lines are in ./traced
traced() {
	local inst=$tracefs/instances/$me
	mkdir "$inst"
	echo 1 >"$inst/events/$1/enable"
	"$prog" >/dev/null
	grep -v '^#' "$inst/trace" >traced
	echo 0 >"$inst/events/$1/enable"
	rmdir "$inst"
}

# ---- add, use, delete ------------------------------------------------------------------------------------------------------------
exits 0 "S0-059 S1-080 S1-102 S1-010: add" sonde probe --exec="$prog" --add schedule
like "$err" "^Added new event:$" "S0-060 S1-102: it is announced"
like "$err" "^  $g:schedule +\\(on schedule in $prog\\)$" "S0-060: group after the file, event after the function"
like "$err" "^	sonde record -e $g:schedule -aR sleep 1$" "S0-060: and how it is used"
exits 0 "S0-059: use" sonde record -q -o m.data -e "$g:schedule" -- "$prog"
is "$(sonde script -i m.data 2>/dev/null | grep -c "$g:schedule:")" 3 "S0-059 S0-073 S1-010: three calls, three events"
exits 0 "S0-064: delete by a bare name" sonde probe --exec="$prog" --del schedule
is "$err" "Removed event: $g:schedule" "S0-064 S0-059: it is named"
is "$(grep -c "$g/" $events)" 0 "S0-064: and gone"
real=$(readlink -f "$(ldd "$SONDE" | awk '$1 ~ /^libc\.so/ { print $3 }')")
is "$(sonde probe -x /lib/x86_64-linux-gnu/libc.so.6 -D malloc 2>/dev/null | cut -d: -f1-2)" "p:probe_libc/malloc $real" "S0-060: links are resolved"

# ---- the kernel's own language ---------------------------------------------------------------------------------------------------
offset=$(probe -D schedule | sed 's/.*:0x//')
exits 0 "S0-100 S0-092 S0-093: an entry probe with registers" sonde probe -q "p:uprobes/entry_${me}_ $prog:0x$offset %ip %di:u64"
exits 0 "S0-101 S0-092: a return probe beside it" sonde probe -q "r:uprobes/exit_${me}_ $prog:0x$offset %ip %ax:s32"
is "$(grep -c "_${me}_ " $events)" 2 "S0-101 S0-073: the first is still there"
traced "uprobes/entry_${me}_"
like "$(head -1 traced)" "entry_${me}_: \\(0x[0-9a-f]+\\) arg1=0x[0-9a-f]+ arg2=[0-9]+$" "S0-100 S0-093 S0-066: hits print the address and the registers"
traced "uprobes/exit_${me}_"
like "$(head -1 traced)" "exit_${me}_: \\(0x[0-9a-f]+ <- 0x[0-9a-f]+\\) arg1=0x[0-9a-f]+ arg2=-3$" "S0-101 S0-093: returns print where from and the result"
exits 0 "S0-092: -: removes" sonde probe -q -- "-:uprobes/entry_${me}_"
exits 0 "S0-092: the other, too" sonde probe -q -d "uprobes:exit_${me}_"
is "$(grep -c "_${me}_ " $events)" 0 "S0-092: both are gone"

# ---- from a symbol to an offset in the file --------------------------------------------------------------------------------------
for how in -pie -no-pie -static; do
	cc -g -O1 $how -Wl,-z,separate-code -o "$me$how" "$PWD/src/kernel/sched.c" "$PWD/src/other.c" 2>/dev/null || { skip "cc cannot $how" "S0-099: $how"; continue; }
	value=$(nm "$me$how" | awk '$3 == "schedule" { print "0x" $1 }')
	want=
	while read -r type at address _ size _; do
		[ "$type" = LOAD ] && ((value >= address && value < address + size)) && want=$(printf 0x%x $((value - address + at)))
	done < <(readelf -lW "$me$how")
	is "$(sonde probe -x "./$me$how" -D schedule | sed 's/.*:\(0x[0-9a-f]*\).*/\1/')" "$want" "S0-095 S0-096 S0-097 S0-098 S0-099: $how: the offset follows from the program headers"
done

# ---- points ----------------------------------------------------------------------------------------------------------------------
d() { probe -D "$@" 2>&1; }
at() { d "$1" | sed 's/.*:\(0x[0-9a-f]*\).*/\1/' | sort -u | tr '\n' ' '; }
is "$(d schedule)" "p:$g/schedule $prog:0x$offset" "S1-109 S1-104: FUNC"
like "$(d helper)" "/helper_1 " "S1-110: FUNC that two files have is two places"
is "$(d helper@sched.c | wc -l)" 1 "S1-110 S1-122: FUNC@SRC is one"
is "$(d helper@kernel/sched.c)" "$(d helper@sched.c)" "S1-122: the tail of a path is enough"
like "$(d helper@ched.c)" "no |not " "S1-122: but at a folder's or file's name"
step=$(probe --offsets schedule | awk 'NR == 3 { print substr($1, 2) }')
is "$(d "schedule+$step")" "p:$g/schedule $prog:$(printf 0x%x $((0x$offset + step)))" "S1-111 S1-119: FUNC+OFFSET"
is "$(d 'schedule%return')" "r:$g/schedule__return $prog:0x$offset" "S1-112: FUNC%return"
first=$(line_of 'int schedule(struct rq')
cpu=$(line_of 'cpu = helper(cpu)')
like "$(d "schedule:$((cpu - first))")" "^p:$g/schedule_L$((cpu - first)) $prog:0x" "S1-113 S1-081 S1-119 S1-002: FUNC:LINE"
is "$(at "sched.c:$cpu")" "$(at "schedule:$((cpu - first))")" "S1-116 S1-106: SOURCE:LINE is the same place"
lazy=$(at 'schedule;cpu=pick(rq,cpu);')
isnt "$lazy" "" "S1-114 S1-123 S1-106: FUNC;PATTERN"
is "$(at 'schedule;"cpu = pick( rq , cpu );"')" "$lazy" "S1-125: blanks do not count"
is "$(at 'sched.c;cpu=pick(rq,cpu);')" "$lazy" "S1-117: SOURCE;PATTERN"
many=$(d 'schedule;cpu=*')
[ "$(wc -l <<<"$many")" -ge 2 ]
ok $? "S1-124 S1-125 S1-126: a glob is every line that fits"
like "$many" "$g/schedule_1 " "S1-126: the second is numbered"
inlined=$(d pick)
is "$(wc -l <<<"$inlined")" 2 "S1-118 S1-082 S1-071: every inlined instance"
like "$inlined" "$g/pick_1 " "S1-118: numbered"
exits 1 "S1-121: the return of what is only inlined" probe -D 'pick%return'
like "$err" 'inline' "S1-121: is refused, with the reason"
like "$(d 'mine=schedule')" "^p:$g/mine " "S1-115 S1-103: EVENT="
like "$(d 'grp:mine=schedule')" "^p:grp/mine " "S1-115: GROUP:EVENT="

# ---- arguments -------------------------------------------------------------------------------------------------------------------
like "$(d 'schedule rq rq->in->mode')" ' rq=%di:x64 mode=\+0\(\+0\(%di\)\):s32$' "S1-089 S1-131 S1-132 S1-133 S1-083 S1-078 S1-157: a variable and a member of what it points to"
like "$(d 'schedule rq->arr[2]')" ' arr=\+16\(%di\):s32$' "S1-161: an element of an array"
for type in u8 u16 u32 u64 s8 s16 s32 s64; do
	like "$(d "schedule prev:$type")" " prev_$type=%si:$type$" "S1-134 S1-132: a type: $type"
done
like "$(d 'schedule $params')" ' rq=%di:x64 prev=%si:s32$' "S1-107: \$params"
like "$(d "schedule:$((cpu - first)) \$vars")" ' (rq|cpu|prev)=' "S1-107 S1-130 S1-073: \$vars are what can be fetched there"
like "$(d 'schedule cpu')" 'optimized out|not|no ' "S1-130: a variable without a place there is refused"
exits 0 "S1-089 S1-095 S1-074: names alone" probe -q -a 'schedule prev rq->in->mode rq->neg rq->arr[1] rq->name:string rq->in->flag'
traced "$g/schedule"
is "$(sed -n 's/.*: (0x[0-9a-f]*) //p' traced | sed 's/0x\([0-9a-f]\)\b/\1/g' | head -1)" 'prev=0 mode=66 neg=-7 arr=20 name="runqueue" flag=5' "S1-083 S1-089 S1-131 S1-161: have the right values"

# ---- lists -----------------------------------------------------------------------------------------------------------------------
exits 0 "S1-085: a second, at a line" probe -q -a "schedule:$((cpu - first)) cpu"
exits 0 "S1-085: the list" sonde probe --list
like "$out" "^  $g:schedule +\\(on schedule@$PWD/src/kernel/sched.c in $prog with prev mode neg arr name flag\\)" "S1-135 S1-137: at entry without a line, arguments by name"
like "$out" "^  $g:schedule_L$((cpu - first)) +\\(on schedule:$((cpu - first))@.*sched.c in $prog with cpu\\)" "S1-085 S1-127 S1-135 S1-137: elsewhere with the line in the function"
exits 0 "all of a group" sonde probe -q -d "$g:*"

# ---- a library, as 2013 had it ------------------------------------------------------------------------------------------------------
if [ -z "$(sonde probe -l probe_libc:malloc)" ]; then
	exits 0 "S4-338: -x, --add implied" perf probe -x "$real" malloc
	is "$err" "Added new event:
  probe_libc:malloc    (on malloc in $real)

You can now use it in all perf tools, such as:

	perf record -e probe_libc:malloc -aR sleep 1" "S4-339: heading, event, example"
	is "$(grep -c "^p:probe_libc/malloc $real:0x" $events)" 1 "S4-338 S2-149: it is in uprobe_events"
	like "$(cat $tracefs/uprobe_profile)" "^ +$real malloc +[0-9]+$" "S2-150: and in uprobe_profile"
	perf probe -q -d probe_libc:malloc
else
	skip "somebody else's probe_libc:malloc is there" "S4-338 S4-339 S2-149 S2-150: a library"
fi
is "$(PATH='' "$SONDE" probe -x "$prog" -D schedule)" "p:$g/schedule $prog:0x$offset" "S1-079: no other program is needed"

# ---- the decoder ---------------------------------------------------------------------------------------------------------------------
cat >code.c <<'END'
typedef float v8 __attribute__((vector_size(32)));
v8 code(v8 *a, int n) { v8 s = *a; for (int i = 1; i < n; i++) s = s * a[i] + s; return s; }
END
for how in "S1-060 -m64 -mavx2 -mfma" "S1-059 -m32"; do
	read -r row flags <<<"$how"
	# shellcheck disable=SC2086 # words
	if cc $flags -O2 -ffreestanding -nostdlib -static -Wl,-e,code -o decoded code.c 2>log; then
		want=$(objdump -d --no-show-raw-insn decoded | awk '/<code>:$/ { on = 1; next } /^$/ { on = 0 } on { print $1 }' | tr -d :)
		start=$(head -1 <<<"$want")
		for a in $want; do echo $((0x$a - 0x$start)); done >want
		sonde probe -x ./decoded --offsets code | awk '{ print substr($1, 2) }' >got
		is "$(diff want got)" "" "$row S1-058: offsets as objdump has them ($flags)"
	else
		skip "cc cannot $flags: $(head -1 log)" "$row: offsets ($flags)"
	fi
done
if [ "$(cut -c1-16 /proc/kallsyms | sort -u | head -2 | wc -l)" -gt 1 ]; then
	like "$(sonde kallsyms vfs_read)" "^vfs_read: \\[kernel\\] .* 0x$(awk '$3 == "vfs_read" { print $1; exit }' /proc/kallsyms | sed 's/^0*//')-" "S1-062: kallsyms NAME"
	exits 1 "S1-062: one that is not there" sonde kallsyms no_such_symbol
else
	skip "the kernel hides its addresses" "S1-062: kallsyms NAME"
fi

# ---- a static probe with a semaphore -------------------------------------------------------------------------------------------------
if echo '#include <sys/sdt.h>' | cc -E - >/dev/null 2>&1; then
	cat >sem.c <<'END'
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#include <stdio.h>
unsigned short app_done_semaphore __attribute__((section(".probes")));
int main(void)
{
	for (int i; scanf("%d", &i) == 1;) {
		printf("%d\n", app_done_semaphore);
		fflush(stdout);
		if (app_done_semaphore)
			STAP_PROBE2(app, done, i, (long)-i);
	}
	return 0;
}
END
	cc -g -O1 -o "sem$me" sem.c
	like "$(sonde probe -x "./sem$me" -F '%sdt_app:*')" '^%sdt_app:done .*\(semaphore\)$' "a static probe with a semaphore is listed"
	exits 0 "it is added" sonde probe -q -x "./sem$me" "$g:done=%sdt_app:done"
	coproc sem { exec "./sem$me"; }
	ask() { echo "$1" >&"${sem[1]}"; read -r answer <&"${sem[0]}"; }
	inst=$tracefs/instances/$me
	mkdir "$inst"
	ask 1
	before=$answer
	echo 1 >"$inst/events/$g/done/enable"
	ask 2
	during=$answer
	ask 3
	echo 0 >"$inst/events/$g/done/enable"
	ask 4
	is "$before $during $answer" "0 1 0" "its semaphore is raised while somebody looks, and lowered afterwards"
	is "$(sed -n 's/.*arg1=\(.*\) arg2=\(.*\)$/\1 \2/p' "$inst/trace" | tr '\n' ';')" "2 -2;3 -3;" "only then it is passed, with its arguments"
	rmdir "$inst"
	pid=$sem_PID
	is "$(cd / && sonde probe --pid "$pid" -x "sem$me" -D main | sed 's/:0x.*//')" "p:probe_sem$me/main $PWD/sem$me" "--pid finds the file that a process has mapped"
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	sonde probe -q -d "$g:done"
else
	skip "no sys/sdt.h" "a static probe with a semaphore"
fi

# ---- a library that only a process has mapped ----------------------------------------------------------------------------------------------
echo 'int lib_work(int n) { return n + 1; }' >lib.c
cat >user.c <<'END'
#include <stdio.h>
int lib_work(int n);
int main(void) { for (int n; scanf("%d", &n) == 1;) { printf("%d\n", lib_work(n)); fflush(stdout); } return 0; }
END
cc -g -O1 -fPIC -shared -o "lib$me.so.1" lib.c && cc -O1 -o "user$me" user.c "./lib$me.so.1" -Wl,-rpath,"$PWD"
coproc user { exec "./user$me"; }
talk() { for n in 1 2 3; do echo $n >&"${user[1]}" && read -r _ <&"${user[0]}"; done; }
talk
pid=$user_PID
cd / || exit 1
for verb in stat record; do
	how=(-x ,)
	[ $verb = stat ] || how=(-q -o "$SONDE_TMP/lib.data")
	sonde $verb "${how[@]}" -p "$pid" -e "uprobe:lib$me:lib_work n=%di:s32" >"$SONDE_TMP/log" 2>&1 &
	run=$!
	wait_until counts_events $run
	wait_until catches $run INT
	talk
	kill -INT $run
	wait $run
	[ $verb = stat ] || sonde script -i "$SONDE_TMP/lib.data" >"$SONDE_TMP/log" 2>/dev/null
	is "$(grep -Ec '^3,,uprobe:lib_work,| n=[123]$' "$SONDE_TMP/log")" "$([ $verb = stat ] && echo 1 || echo 3)" "$verb -p: a library by its name" ||
		diag "$(cat "$SONDE_TMP/log")"
done
sonde stat -e "uprobe:lib$me:lib_work" true >/dev/null 2>"$SONDE_TMP/log"
isnt $? 0 "without the process it is not found"
like "$(cat "$SONDE_TMP/log")" 'hint: it is neither here, .*with -p' "and what would help is named"
cd "$SONDE_TMP" || exit 1
kill "$pid"
wait "$pid" 2>/dev/null

# ---- lines -----------------------------------------------------------------------------------------------------------------------
exits 0 "S1-096 S1-086 S1-128: --line FUNC" probe --line schedule
is "$(head -1 <<<"$out")" "<schedule@$PWD/src/kernel/sched.c:0>" "S1-100: the head"
like "$out" "^ +$((cpu - first))  	cpu = helper\\(cpu\\);$" "S1-100 S1-129 S1-101: a line that can be probed has its number"
like "$out" '^         \{$' "S1-100 S1-101: another has none"
is "$(probe -L schedule:0+3 | tail -n +2 | wc -l)" 3 "S1-097 S1-099: N+M is M lines"
is "$(probe -L schedule:3-5 | head -1 | grep -c 'sched.c:3>')" 1 "S1-097: N-E begins with N"
is "$(probe -L schedule:3-5 | tail -n +2 | wc -l)" 3 "S1-097: and ends with E"
is "$(probe -L "sched.c:$cpu+2" | tail -n +2 | wc -l)" 2 "S1-098: SOURCE:N+M"
like "$(probe -L "sched.c:$cpu-$cpu")" "^ +$cpu  	cpu = helper\\(cpu\\);" "S1-098: SOURCE:N-E counts as the file does"
bad=0
for n in $(probe -L schedule | awk '/^ +[0-9]/ { print $1 }'); do probe -D "schedule:$n" >/dev/null 2>&1 || bad=$((bad + 1)); done
is $bad 0 "S1-101: every line with a number can be probed"
exits 1 "S1-101: one without" probe -D 'schedule:1'
like "$err" 'hint:' "S1-101: is refused with a hint"

# ---- without debug information ---------------------------------------------------------------------------------------------------
strip -g -o "$me.s" "$prog"
is "$(sonde probe -x "./$me.s" -D schedule)" "p:$g/schedule $prog.s:0x$offset" "S1-156: symbols are enough for functions"
exits 1 "S1-156: variables" sonde probe -x "./$me.s" -D 'schedule rq'
like "$err" 'debug information' "S1-156: need debug information"

# ---- options ---------------------------------------------------------------------------------------------------------------------
grep "$g/" $events >before
exits 0 "S1-151 S1-144: -fnv" probe -fnv schedule
like "$err" "p:$g/schedule $prog:0x$offset" "S1-151 S1-146: the definition is shown"
grep "$g/" $events >after
is "$(diff before after)" "" "S1-144 S1-151: nothing is changed"
help=$(sonde probe --help)
like "$help" "single quotes" "S1-147 S1-150: the help recommends single quotes"
like "$help" '\$retval.*%return|%return.*\$retval' "S1-148: names what a shell would take"
like "$help" '\*.*;' "S1-149: names the other characters"
is "$(COLUMNS=200 sonde probe --help | grep -c "probe 'vfs_read count'")" 1 "S1-087: and has examples in perf's grammar"
done_testing

#!/usr/bin/env bash
# where: 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# Options of trace-cmd that its usage text leaves out, beside trace-cmd; and what `start` sets stays until `reset`.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest trace-cmd
cd "$SONDE_TMP" || exit 1
t=$tracefs
f() { "$SONDE" ftrace "$@"; }

echo 1000 >$t/buffer_size_kb # before its first use the kernel shows two sizes
was="$(cat $t/options/sym-offset) $(cat $t/buffer_size_kb | tr -d ' ')"
exits 0 "start with an option and a size" f start -O sym-offset -b 3000 -e sched:sched_process_exec
isnt "$(cat $t/options/sym-offset) $(cat $t/buffer_size_kb | tr -d ' ')" "$was" "they are set"
like "$(f status)" "started" "status tells of it"
f reset --force
is "$(cat $t/options/sym-offset) $(cat $t/buffer_size_kb | tr -d ' ')" "$was" "until reset, which puts back what start found"
unlike "$(f status)" "started" "and forgets it"

# ---- the processor's counter as clock
if grep -q tsc2nsec <<<"$(f list -C)"; then
	exits 0 "-C tsc2nsec" f record -q -C tsc2nsec -e sched:sched_process_exec -o tsc.dat -- true
	like "$(trace-cmd dump --options -i tsc.dat)" '\[x86-tsc\]' "is the counter"
	like "$(trace-cmd dump --options -i tsc.dat)" '^[1-9][0-9]* [0-9]+ 0 \[multiplier, shift, offset\]$' "and how it becomes nanoseconds"
	is "$(f report tsc.dat)" "$(trace-cmd report -i tsc.dat 2>/dev/null)" "trace-cmd reads the times so"
	like "$(f report tsc.dat | tail -1)" ' +[0-9]{1,6}\.[0-9]{6}: sched_process_exec' "which are seconds"
	exits 0 "--tsc2nsec" f record -q -C x86-tsc --tsc2nsec -e sched:sched_process_exec -o tsc2.dat -- true
	like "$(f report tsc2.dat | tail -1)" ' +[0-9]{1,6}\.[0-9]{6}: sched_process_exec' "the same by two options"
	exits 0 "stream -C tsc2nsec" f stream -C tsc2nsec -e sched:sched_process_exec -- true
	like "$out" ' +[0-9]{1,6}\.[0-9]{6}: sched_process_exec' "and while it is traced"
else
	exits 1 "-C tsc2nsec where the kernel does not go by it" f record -C tsc2nsec -e sched -o x.dat -- true
	like "$err" "use -C mono for nanoseconds" "says what does"
fi
exits 0 "-a" f record -q -a -e sched:sched_process_exec -o all.dat -- true
is "$(f report -E all.dat | grep -c irq_handler_entry)" 1 "-a: formats of events that were not asked for"
f record -q -e sched:sched_process_exec -o few.dat -- true
is "$(f report -E few.dat | grep -c irq_handler_entry)" 0 "which else are not kept"
exits 0 "--ts-offset" f record -q --ts-offset 1000000000000 -e sched:sched_process_exec -o offset.dat -- true
like "$(f report offset.dat | tail -1)" ' 1[0-9]{3}\.[0-9]{6}: ' "--ts-offset: a thousand seconds later"
is "$(f report offset.dat)" "$(trace-cmd report -i offset.dat 2>/dev/null)" "--ts-offset: for trace-cmd too"
done_testing

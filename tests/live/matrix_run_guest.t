#!/usr/bin/env bash
# where: 6.1
# needs: root bpf tracefs
# timeout: 200
# Rows of the acceptance matrix about scripts that need the kernel's functions: kprobes, fentry, SystemTap's example. In a guest.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf tracefs guest kprobes
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/stap
PATH=$PWD/bin:$PATH
mount -t debugfs nodev /sys/kernel/debug 2>/dev/null
run() { timeout 100 "$SONDE" run -q "$@"; }
example='probe vfs.read {printf("read performed\n"); exit()}'

run -e 'kprobe:vfs_read /arg2 == 1234/ { @ = count(); }' -c 'dd if=/dev/zero of=/dev/null bs=1234 count=7 status=none' >out.txt 2>err.txt
is "$(sed -n 's/^@: //p' out.txt)" 7 "S0-105: a program runs at each hit of a kprobe, and sees arguments" || diag "$(cat err.txt)"

# ---- jprobes: the arguments of kernel_clone(), do_fork() of the documents, by their names -------------------------------------------
run -e 'fentry:kernel_clone { printf("jprobe my_fork: clone_flags = 0x%lx, stack_size = 0x%lx\n", args.args->flags, args.args->stack_size); }' \
	-c "bash -c '/bin/true; /bin/true; /bin/true; :'" >out.txt 2>err.txt
like "$(cat out.txt)" '^jprobe my_fork: clone_flags = 0x[0-9a-f]+, stack_size = 0x[0-9a-f]+$' "S2-063: a line for each fork with both values in hexadecimal" || diag "$(cat err.txt)"
# bash starts the first two as children, and becomes the last or waits for it, too
lines=$(grep -c '^jprobe my_fork: clone_flags = 0x1200000, stack_size = 0x0$' out.txt)
[ "$lines" -ge 3 ]
ok $? "S2-072: each command that a shell starts is a line with CLONE_CHILD_SETTID|CLONE_CHILD_CLEARTID ($lines)" || diag "$(cat out.txt)"
run -c "bash -c '/bin/true; :'" forkargs >out.txt 2>err.txt
like "$(cat out.txt)" '^bash: clone_flags = 0x1200000, stack_size = 0x0, exit_signal = 17$' "S2-072: the ready script forkargs has the signal, too" || diag "$(cat err.txt out.txt)"

# ---- SystemTap ---------------------------------------------------------------------------------------------------------------------
# Something reads all the time; the first read anywhere ends it.
bash -c 'while :; do read -r x </proc/uptime; done' &
reader=$!
timeout 100 stap -v -e "$example" >out.txt 2>err.txt
is "$?" 0 "S2-085: the documents' example exits with 0" || diag "$(cat err.txt)"
is "$(sort -u out.txt)" "read performed" "S2-085: after the first read" || diag "$(head -3 out.txt)"
like "$(cat err.txt)" '^compile [0-9.]+ ms \(lex [0-9.]+, parse [0-9.]+, check [0-9.]+, lower [0-9.]+, registers [0-9.]+\), expand [0-9.]+ ms, load [0-9.]+ ms, attach [0-9.]+ ms' \
	"S2-086: -v reports all passes with their times"
timeout 100 stap -v -e "$example" -p3 >out.txt 2>err.txt
is "$?" 0 "S2-088: -p3 stops after the code is made"
like "$(cat out.txt)" '^kprobe:vfs_read$' "S2-088: and prints it"
like "$(cat out.txt)" '^ +[0-9]+: exit$' "S2-088: to its end"
unlike "$(cat out.txt)" 'read performed' "S2-088: nothing ran"
unlike "$(cat err.txt)" 'attached' "S2-088: nothing was attached"

"$SONDE" run -q --stap -e 'probe vfs.write { if (execname() == "nobody") next } probe vfs.write.return { if ($return < -4095) next }' >out.txt 2>err.txt &
pid=$!
wait_until grep -q vfs_write /sys/kernel/debug/kprobes/list
like "$(cat /sys/kernel/debug/kprobes/list)" '^[0-9a-f]+ +k +vfs_write' "S2-090: a probe of a script is a kprobe, seen in its list" || diag "$(cat err.txt /sys/kernel/debug/kprobes/list)"
like "$(cat /sys/kernel/debug/kprobes/list)" '^[0-9a-f]+ +r +vfs_write' "S2-090: and a .return probe a kretprobe"
kill -INT $pid
wait $pid
unlike "$(cat /sys/kernel/debug/kprobes/list)" vfs_write "S2-090: both are gone with the script"

cat >language.stp <<'END'
global bytes, reads, slow
function kind(n) { if (n < 0) return "error"; if (n == 0) return "end"; return "data" }
probe vfs.read { if (execname() == "dd") { bytes <<< bytes_to_read; if ($count == 1234) reads[$file->f_mode & 1]++ } }
probe kernel.function("vfs_read").return { if (execname() == "dd") slow[kind($return)]++ }
probe end {
	printf("%d of 1234, largest %d, readable %d\n", @count(bytes) >= 7, @max(bytes) >= 1234, reads[1])
	foreach (k in slow-) if (k == "data") printf("%s %s\n", k, slow[k] >= 7 ? "many" : "few")
}
END
timeout 100 stap -q -c 'dd if=/dev/zero of=/dev/null bs=1234 count=7 status=none' language.stp >out.txt 2>err.txt
is "$(cat out.txt)" "1 of 1234, largest 1, readable 7
data many" "S2-078: functions, statistics, arrays, typed arguments and results" || diag "$(cat err.txt)"
kill $reader
done_testing

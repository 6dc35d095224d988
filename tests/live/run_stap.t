#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root bpf tracefs
# timeout: 200
# run --stap: scripts in SystemTap's language on the running kernel, by value: begin probes compute, tracepoints and functions of programs
# are hit as often as a workload hits them; functions of the kernel where there are kprobes.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf tracefs uprobes
cd "$SONDE_TMP" || exit 1
me=s$$
ln -s "$SONDE" $me
run() { timeout 100 "$SONDE" run -q --stap "$@"; }
# what a script prints
prints() { run "${@:2}" -e "$1" 2>err.txt | grep .; }
gives() {
	local name=$1 script=$2 want=$3
	shift 3
	is "$(prints "$script" "$@")" "$want" "$name" || diag "$(cat err.txt)"
}

# ---- the language, in begin probes --------------------------------------------------------------------------------------------------
gives "numbers, precedence, signs" 'probe begin { println(1 + 2 * 3 - 8 / 2 % 3, " ", -7 / 2, " ", (1 << 4) | 3, " ", 5 > 3 && 2 > 3, " ", !0, " ", ~0) }' "6 -3 19 0 1 -1"
gives "globals with first values, locals, loops" 'global n = 5, s = "x"
probe begin { for (i = 0; i < 5; i++) { if (i == 1) continue; if (i == 4) break; n += i } x = 12; while (x > 8) x--; println(s, n + x - x, x) }' x108
gives "functions: parameters, results, leaving early" 'function max(a, b) { if (a > b) return a; return b }
function name:string(n) { return n == 1 ? "one" : "many" } function twice(x) { x = x * 2; return x }
probe begin { y = 4; println(max(3, 9), max(9, 3), name(1), name(2), twice(y), y) }' 99onemany84
gives "arrays with two keys, sorted by value and by key, with a limit" 'global a probe begin { a["x", 1] = 5; a["y", 2] = 9; a["z", 3] = 7; a["w", 4] = -1 }
probe begin { foreach ([k, n] in a-) print(k, n, a[k, n], " ") println("") foreach ([k, n] in a+ limit 2) print(k, " ") }
probe begin { foreach ([k, n-] in a limit 3) print(n, " ") println("") c = 0; foreach ([k, n] in a limit 2) c++; println(c) }' "y29 z37 x15 w4-1 
w x 4 3 2 
2"
is "$(run -e 'global a probe begin { for (i = 0; i < 100; i++) a[i] = 1000 - i } probe begin { foreach (k in a-) println(k) }' 2>err.txt)" "$(seq 0 63)" "a sorted loop without a limit has one"
like "$(cat err.txt)" 'ends after 64 keys' "which is reported"
gives "break leaves a sorted loop" 'global a probe begin { for (i = 0; i < 90; i++) a[i] = i } probe begin { foreach (k in a- limit 10) { n++; if (n == 2) break } println(n) }' 2
gives "in and delete" 'global a, x = 7 probe begin { a[1] = 1; a[2] = 2; delete a[1]; println(1 in a, 2 in a); delete a; println(2 in a); delete x; println(x) }' "01
0
0"
gives "statistics" 'global s, t probe begin { for (i = 1; i <= 4; i++) { s <<< i * 10; t[i % 2] <<< i } println(@count(s), " ", @sum(s), " ", @avg(s), " ", @min(s), " ", @max(s)) }
probe begin { foreach (k+ in t) println(k, ":", @count(t[k]), ",", @sum(t[k])) delete t; println(@count(t[1])) }' "4 100 25 10 40
0:2,6
1:2,4
0"
like "$(prints 'global s probe begin { s <<< 3; s <<< 70; s <<< 3 print(@hist_linear(s, 0, 100, 10)) }')" '^\[0, 10\) +2 \|' "a linear histogram"
like "$(prints 'global s probe begin { s <<< 3; s <<< 70; s <<< 3 print(@hist_log(s)) }')" '^\[2, 4\) +2 \|' "and a logarithmic one"
gives "formats, joined texts, sprintf" 'probe begin { x = 255; printf("%d %x %5d|%-5s|%s%%\n", x, x, 42, "ab", "q" . sprint(1, "z") . sprintf("%03d", 7)) printd("-", 1, "b", 3) println() }' "255 ff    42|ab   |q1z007%
1-b-3"
echo 'probe begin { println(@1, " ", $2 + 1, " ", $#) }' >params.stp
is "$(run params.stp arg 5)" "arg 6 2" "parameters"
gives "exit() takes effect where the probe ends" 'probe begin { exit() println("still") } probe begin { println("never") } probe end { println("end") }' "still
end"
run -e 'probe begin { error("this is wrong") println("never") }' >out.txt 2>err.txt
is "$?.$(cat out.txt)" "1." "error() ends it with status 1"
like "$(cat err.txt)" "this is wrong" "and its message"
gives "globals that nobody reads are printed at the end" 'global hits probe begin { hits["a"]++; hits["a"]++ }' "@hits[a]: 2"
gives "who" 'probe begin { println(pid() == tid(), uid(), execname() != "", cpu() >= 0) }' "1011"
now=$(date +%s)
[ "$(prints 'probe begin { println(gettimeofday_s()) }')" -ge "$now" ] 2>/dev/null
ok $? "the time of day"
gives "comments" '# a
probe begin { /* b */ println("# no /* comment") // c
}' "# no /* comment"

# ---- probes ---------------------------------------------------------------------------------------------------------------------------
gives "a system call with its arguments, and its result" "probe syscall.pwrite64 { if (execname() == \"$me\") s[name] <<< count } probe syscall.pwrite64.return { if (execname() == \"$me\") r <<< \$return }
global s, r probe end { println(@count(s[\"pwrite64\"]), \" \", @sum(s[\"pwrite64\"]), \" \", @min(r)) }" "30 122880 4096" -c "./$me workload io 30"
gives "all system calls by name" "global c probe syscall.* { if (execname() == \"$me\") c[name]++ } probe end { println(c[\"getppid\"]) }" 55 -c "./$me workload syscalls 55"
# A program, its event and its link take a file each: whichever comes first at the limit, the limit is raised.
for most in 300 301 302; do
	is "$(ulimit -Sn $most; prints "global c probe syscall.* { if (execname() == \"$me\") c[name]++ } probe end { println(c[\"getppid\"]) }" -c "./$me workload syscalls 3")" \
		3 "with $most open files allowed" || diag "$(cat err.txt)"
done
like "$(prints "probe syscall.getppid, syscall.pwrite64 { if (execname() == \"$me\") printf(\"%s %s\\n\", name, \$\$parms) }" -c "./$me workload io 1")" \
	'^pwrite64 fd=0x[0-9a-f]+ buf=0x[0-9a-f]+ count=0x1000 pos=0x' "\$\$parms"
like "$(prints 'probe timer.ms(20) { n++; exit() } probe timer.s(100) { } probe end { println("over") }')" over "timers"
is "$(prints 'probe kernel.trace("sched_switch") { if ($prev->pid != $next->pid && $next->pid >= 0) { println("differ"); exit() } }' | sort -u)" differ \
	"a raw tracepoint with its arguments by name and type"
gives "an alias of the library with its names" "probe kprocess.exec_complete { if (execname() == \"$me\") println(pid() > 1) }" 1 -c "./$me workload usdt 1"
gives "functions of a program, their arguments and results" "probe process(\"$SONDE\").function(\"workload_usdt\") { printf(\"%s %d\\n\", ppfunc(), pointer_arg(1) > 0) }
probe process(\"$SONDE\").function(\"workload_usdt\").return { println(\"returns \", \$return) }" "workload_usdt 1
returns 0" -c "./$me workload usdt 3"
if ! needs_or_skip "variables of a program" gcc; then
	cat >names.c <<'END'
struct item { int id; const char *name; };
static volatile long sink;
__attribute__((noipa)) long work(struct item *n, int count, const char *what)
{
	long sum = 0;
	for (int i = 0; i < count; i++) {
		sum += i * n->id;
		sink = sum;
	}
	return sum + *what;
}
int main(void)
{
	char hello[] = "hello", first[] = "first"; /* on the stack, which is there: a probe reads no page that is not */
	struct item n = { -7, first };
	work(&n, 2, hello);
	return 0;
}
END
	gcc -g -O0 -o names names.c
	gives "parameters of a function and locals of a line by name" 'probe process("./names").function("work") { println($count, " ", $n->id, " ", user_string($what), " ", user_string($n->name)) }
probe process("./names").statement("work@names.c:8") { println($i, " ", $sum) }' "2 -7 hello first
0 0
1 -7" -c ./names
	run -e 'probe process("./names").function("work") { println($cuont) }' >out.txt 2>err.txt
	like "$(cat err.txt)" "did you mean 'count'" "a misspelt one"
	run -e 'probe process("./names").statement("work+4") { println($count) }' >out.txt 2>err.txt
	like "$(cat err.txt)" 'the form is .statement\("FUNCTION@FILE:LINE"\)' "a statement without a line"
fi
if "$SONDE" run -l "usdt:$SONDE:*" | grep -q ':sonde:step$'; then
	gives "arguments of a static probe" "probe process(\"$SONDE\").mark(\"step\") { println(\$arg1, \" \", \$arg2) }" "0 0
1 1
2 4" -c "./$me workload usdt 3"
	gives "static probes" "global n probe process(\"$SONDE\").mark(\"step\") { n++ } probe process(\"$SONDE\").provider(\"sonde\").mark(\"end\") { println(\"end\") } probe end { println(n) }" "end
31" -c "./$me workload usdt 31"
else
	skip "built without sys/sdt.h" "static probes"
fi

# ---- what is refused ------------------------------------------------------------------------------------------------------------------
run -e 'probe begin {
	x = "a" . "b"
}' >out.txt 2>err.txt
is "$?.$(cat out.txt)" "1." "what is not supported is refused"
like "$(cat err.txt)" 'line 2: a text can be built only where it is printed' "with its line"
like "$(cat err.txt)" '^ +\^~+$' "and its place"
is "$(run -p3 -e 'probe begin { println(1) }' | grep -c ': exit$')" 1 "-p3 prints the code"
like "$(run -p1 -e 'probe begin { println(1) }')" 'call printf' "-p1 the tree"

# ---- functions of the kernel ----------------------------------------------------------------------------------------------------------
example='probe vfs.read {printf("read performed\n"); exit()}'
if lacks kprobes >/dev/null; then
	run -e "$example" >out.txt 2>err.txt
	like "$?.$(cat err.txt)" '^1\..*cannot attach to kprobe:vfs_read: this kernel has no kprobes' "without kprobes it is said what is missing"
else
	bash -c 'while :; do read -r x </proc/uptime; done' &
	reader=$!
	is "$(prints "$example" | sort -u)" "read performed" "the documents' example"
	kill $reader
	gives "arguments by name, members, results" "global n, t probe vfs.read { if (execname() == \"dd\" && bytes_to_read == 777) n[\$file->f_mode & 1]++ }
probe vfs.read.return { if (execname() == \"dd\" && \$return == 777) t++ } probe end { println(n[1], \" \", t) }" "5 5" -c 'dd if=/dev/zero of=/dev/null bs=777 count=5 status=none'
	like "$(prints "probe kernel.function(\"vfs_rea*\").call { if (execname() == \"dd\") println(probefunc()) }" -c 'dd if=/dev/zero of=/dev/null bs=777 count=5 status=none')" \
		'^vfs_read$' "a pattern, and which function it was"
	like "$(prints 'probe kernel.function("vfs_read") { print_backtrace(); exit() }' -c 'cat /proc/uptime')" 'ksys_read|vfs_read|do_syscall' "a stack"
	like "$(prints "probe kernel.function(\"vfs_read\") { if (execname() == \"dd\") println(\$\$parms) }" -c 'dd if=/dev/zero of=/dev/null bs=777 count=1 status=none')" \
		'^file=0x[0-9a-f]+ buf=0x[0-9a-f]+ count=0x309 pos=0x' "all arguments"
	run -e 'probe kernel.function("vfs_read") { println($cuont) }' >out.txt 2>err.txt
	like "$(cat err.txt)" 'did you mean \$count\?' "a wrong name"
fi
done_testing

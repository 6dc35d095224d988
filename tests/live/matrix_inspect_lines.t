#!/usr/bin/env bash
# where: 6.1
# needs: root tracefs debuginfo
# timeout: 300
# smp: 1
# Rows of the acceptance matrix about source lines of live kernel text, with the debug information of exactly the kernel that runs, and about the
# kernel's stack as it is inside of a probe.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest kprobes bpf
cd "$SONDE_TMP" || exit 1
i() { "$SONDE" inspect "$@"; }
hex='0x[0-9a-f]+'

# ---- source lines ------------------------------------------------------------------------------------------------------------------
if ! needs_or_skip "S2-047 S2-074 S2-091 S2-092: source lines" debuginfo; then
	vmlinux=$SONDE_DEBUGINFO/vmlinux
	# The compiler gives the entry to the line of the opening brace.
	line=$(awk '/^pid_t kernel_clone\(/ { found = 1 } found && /^\{/ { print NR; exit }' "$SONDE_DEBUGINFO/source/kernel/fork.c")
	exits 0 "S2-047: from the start of a function to an address" i dis -lr -k "$vmlinux" kernel_clone+0x5
	like "$(sed -n 1p <<<"$out")" "kernel/fork\\.c: $line\$" "S2-047: file and line, as the source has it"
	like "$(sed -n 2p <<<"$out")" "^$hex <kernel_clone>: +nopl   0x0\\(%rax,%rax,1\\)" "S2-047: the first instruction"
	like "$(tail -1 <<<"$out")" "^$hex <kernel_clone\\+5>: +push " "S2-047: the last is the one at the address"
	i dis -l -k "$vmlinux" kernel_clone 2>err | head -n 3 >out
	is "${PIPESTATUS[0]}" 0 "S2-074: a closed pipe is no error"
	is "$(cat err)" "" "S2-074: nor is it reported"
	like "$(sed -n 1p out)" "kernel/fork\\.c: $line\$" "S2-074: file and line"
	like "$(sed -n 2p out)" "^$hex <kernel_clone>: +nopl " "S2-074: then instructions"
	i dis -l -k "$vmlinux" kernel_clone >all
	[ "$(grep -c 'fork\.c: [0-9]*$' all)" -gt 10 ]
	ok $? "S2-074: a line before the instructions of each" || diag "$(head -20 all)"
	is "$(grep -c 'include/.*\.h: [0-9]*$' all | sed 's/[1-9][0-9]*/some/')" some "S2-074: those of inlined functions are in their own files"
	addr=$(awk '$3 == "__x64_sys_futex" { print $1; exit }' /proc/kallsyms)
	exits 0 "S2-091: a symbol" i sym -l -k "$vmlinux" __x64_sys_futex
	like "$out" "^$addr \\(T\\) __x64_sys_futex  .*kernel/futex/syscalls\\.c: [1-9][0-9]*\$" "S2-091 S2-092: address (type) name file: line"
fi

# ---- the stack inside of a probe -----------------------------------------------------------------------------------------------------
# A trigger walks the stack from within the probe's handler, unlike the stack that -T records with an event.
stack() { # stack POINT
	"$SONDE" ftrace record -q -o trace.dat -e "kprobe:$1" -R stacktrace -F -c -- bash -c '(true); (true)' >said 2>&1 || cat said
	"$SONDE" ftrace report -i trace.dat
}
stack kernel_clone >out
like "$(cat out)" '^=> kprobe_ftrace_handler( |$)' "S2-043: a probe at the entry: ftrace calls its handler"
like "$(cat out)" '^=> kernel_clone( |$)' "S2-043: below it, the function"
echo 0 >/proc/sys/debug/kprobes-optimization
stack kernel_clone+5 >out
like "$(cat out)" '^=> kprobe_int3_handler( |$)' "S0-017: a probe inside of a function: the breakpoint's handler calls it"
like "$(cat out)" '^=> (asm_)?exc_int3( |$)' "S0-017: and the trap calls that"
unlike "$(cat out)" 'kprobe_ftrace_handler' "S0-017: without ftrace"
echo 1 >/proc/sys/debug/kprobes-optimization
done_testing

#!/usr/bin/env bash
# where: 6.1
# needs: root tracefs
# timeout: 300
# smp: 1
# Rows of the acceptance matrix about the kernel's data structures and text: in a guest, whose symbol list has data.
# It takes a minute: some 70 runs, most of which read the symbol list anew, for which the emulated kernel takes most of a second.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest kprobes bpf
mount -t debugfs nodev /sys/kernel/debug 2>/dev/null
events=$tracefs/kprobe_events
i() { "$SONDE" inspect "$@"; }
hex='0x[0-9a-f]+'

# ---- print a global, walk a list -------------------------------------------------------------------------------------------------
like "$(i trace_types)" "^trace_types = \\\$1 = \\(struct tracer \\*\\) $hex <[a-z]+_tracer>$" "S2-169: a global: type, value, symbol"
tracers=$(i list "$(i trace_types | sed 's/.*\(0x[0-9a-f]*\).*/\1/')" -o tracer.next -s tracer.name,init)
like "$tracers" "^  name = $hex \"function_graph\",$" "S2-170 S2-171: a name with its string"
like "$tracers" "^  init = $hex <graph_trace_init>,$" "S2-170 S2-171: a function with its symbol"
is "$(printf '%s\n' "$tracers" | grep -Ec '^[0-9a-f]{16}$')" "$(wc -w <$tracefs/available_tracers)" "S2-170 S2-171: one address for each tracer"
is "$(printf '%s\n' "$tracers" | sed -n 's/^  name = .*"\(.*\)",$/\1/p' | sort)" "$(tr ' ' '\n' <$tracefs/available_tracers | grep . | sort)" "S2-168 S2-170: they are those of available_tracers"

# ---- one probe on an entry -------------------------------------------------------------------------------------------------------
like "$(i dis kernel_clone 1)" "^$hex <kernel_clone>: +nopl   0x0\\(%rax,%rax,1\\) \\[FTRACE NOP\\]$" "S2-164 S2-046 S2-165: nobody traces it: the NOP is marked"
like "$(i --probed kernel_clone)" 'none in this function' "S2-045: not probed"
echo 'p:mine/one kernel_clone' >>$events
echo 1 >$tracefs/events/mine/enable
call=$(i dis kernel_clone 1)
like "$call" "^$hex <kernel_clone>: +call   $hex <ftrace_(trampoline|regs_caller)> \\[FTRACE: " "S2-046 S2-048 S2-165: its entry calls ftrace now"
like "$(i ftrace_ops_list)" "^ftrace_ops_list = \\\$1 = \\(struct ftrace_ops \\*\\) $hex <kprobe_ftrace_ops>$" "S2-050: ftrace_ops_list"
ops=$(i ftrace_ops_list | sed 's/.*\(0x[0-9a-f]*\).*/\1/')
list=$(i list -o ftrace_ops.next -s ftrace_ops.func "$ops")
is "$(printf '%s\n' "$list" | head -1)" "${ops#0x}" "S2-051 S2-052: the address of a node"
like "$(printf '%s\n' "$list" | sed -n 2p)" "^  func = $hex <kprobe_ftrace_handler>,$" "S2-049 S2-051 S2-052: a handler with its symbol"
like "$(printf '%s\n' "$list" | tail -1)" "^  func = $hex <ftrace_stub>,$" "S2-052 S2-049: the last is ftrace_list_end"
like "$(i struct ftrace_ops.func,next "$ops")" "^  func = $hex <kprobe_ftrace_handler>,$" "S2-095: members that were asked for"
is "$(i struct ftrace_ops.func,next "$ops" | grep -c .)" 2 "S2-095: and no others"

table=$(i kprobe_table)
like "$table" '<repeats [0-9]+ times>' "S2-053 S2-054: most heads are empty"
is "$(i --json kprobe_table | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["rows"][0]["value"]))')" 64 "S2-053: 64 heads"
is "$(printf '%s\n' "$table" | grep -c 'first = 0x[1-9a-f]')" 1 "S2-054: one is not"
kp=$(printf '%s\n' "$table" | sed -n 's/.*first = \(0x[1-9a-f][0-9a-f]*\).*/\1/p')
dump=$(i kprobe "$kp")
is "$(printf '%s\n' "$dump" | head -1)" 'struct kprobe {' "S2-055 S2-003: kprobe ADDRESS is struct kprobe ADDRESS"
like "$dump" '^  hlist = \{$' "S2-004 S2-055: hlist, in braces"
like "$dump" "^    pprev = $hex <kprobe_table(\\+0x[0-9a-f]+)?>$" "S2-004 S2-056: the head of its chain"
like "$dump" '^  list = \{$' "S2-005: list"
like "$dump" '^  nmissed = 0,$' "S2-056: nmissed"
like "$dump" "^  addr = $hex <kernel_clone> \"\\\\350" "S2-007 S2-056: addr: symbol and bytes, the first is the call's"
like "$dump" "^  symbol_name = (0x0|$hex \"kernel_clone\"),$" "S2-008: symbol_name"
like "$dump" '^  offset = 0,$' "S2-009: offset"
like "$dump" "^  pre_handler = $hex <kprobe_dispatcher>,$" "S2-010: pre_handler"
like "$dump" '^  post_handler = 0x0,$' "S2-011: post_handler"
like "$dump" '^  opcode = [0-9]+,$' "S2-014: opcode"
like "$dump" '^  ainsn = \{$' "S2-015: ainsn"
like "$dump" '^    boostable = (true|false|[0-9]+)' "S2-015: its members are this kernel's"
like "$dump" '^  flags = 24$' "S2-016 S2-056 S1-171: flags"
probed=$(i --probed kernel_clone)
like "$probed" "kprobe at kernel_clone: struct kprobe ${kp#0x}, pre_handler kprobe_dispatcher, flags 24 \\(FTRACE\\|ON_FUNC_ENTRY\\)" "S2-045 S2-016 S1-171 S2-003: probed, by which probe, its flags by name"
like "$probed" 'its entry calls ftrace' "S2-045: and the text says so too"
like "$(cat /sys/kernel/debug/kprobes/list)" "kernel_clone\\+0x0 .*\\[FTRACE\\]" "S2-045: as debugfs does"
is "$(i --memory kcore kprobe "$kp" | grep -v nmissed)" "$(i --memory bpf kprobe "$kp" | grep -v nmissed)" "S2-055: the same through /proc/kcore"

# ---- disassembly -----------------------------------------------------------------------------------------------------------------
addr=$(awk '$3 == "kernel_clone" { print $1; exit }' /proc/kallsyms)
first=$(i dis -l "$addr" 2>/dev/null | head -n 2)
like "$first" "^0x$addr <kernel_clone>: +call   $hex <ftrace_" "S2-093: by address: the call at the entry"
like "$first" "^$hex <kernel_clone\\+5>: +[a-z]+" "S2-048 S2-093: address <symbol+offset>: instruction"
# The same bytes at their address in the direct mapping: text that no symbol covers.
alias=$(i -x "page_offset_base + phys_base + 0x$addr - 0xffffffff80000000" | sed 's/.* = //')
exits 0 "S2-100: seven instructions" i dis -l "$alias" 7
is "$(printf '%s\n' "$out" | grep -c .)" 7 "S2-100 S2-103: exactly seven"
like "$err" "${alias#0x}: no associated kernel symbol found" "S2-101: no symbol covers it"
like "$(printf '%s\n' "$out" | head -1)" "^$alias:  call " "S2-102: the address alone before the instruction"
echo 0 >$tracefs/events/mine/enable
echo '-:mine/one' >>$events
like "$(i dis "$alias" 1 2>/dev/null)" "^$alias:  nopl   0x0\\(%rax,%rax,1\\)$" "S2-102: the NOP is back, in AT&T syntax"
is "$(i dis -l "$alias" 15 2>/dev/null | grep -c .)" 15 "S2-104 S2-103: exactly fifteen"
found=none
for f in ksys_read ksys_write do_sys_openat2 vfs_statx kernel_clone do_epoll_wait do_sys_poll __do_sys_newuname do_pipe2 ksys_mmap_pgoff vfs_fstatat do_select core_sys_select; do
	lines=$(i dis "$f" 60 2>/dev/null) || continue
	if [[ $lines == *'%gs:0x28'* && $lines == *'(%rip)'*'# 0x'* ]]; then found=$f; break; fi
done
isnt "$found" none "S2-104: %gs:0x28, and an address after a rip-relative operand"

# ---- a tracer, and a kretprobe ---------------------------------------------------------------------------------------------------
echo kernel_clone >$tracefs/set_ftrace_filter
echo function >$tracefs/current_tracer
like "$(i dis kernel_clone 1)" "call   $hex <ftrace_(caller|trampoline)> \\[FTRACE: " "S2-165: a tracer is on: call ftrace_caller or its trampoline"
echo 'r:mine/back kernel_clone' >>$events
echo 1 >$tracefs/events/mine/enable
like "$(i dis kernel_clone 1)" "call   $hex <ftrace_regs_caller> \\[FTRACE: several users, all registers\\]" "S2-046 S2-094: a tracer and a probe: ftrace_regs_caller"
like "$(i list -o ftrace_ops.next -s ftrace_ops.func ftrace_ops_list)" '<kprobe_ftrace_handler>' "S2-094: the list of ops has the probes' handler"
like "$(i sym arch_ftrace_ops_list_func)" '\(T\) arch_ftrace_ops_list_func$' "S2-094: who walks it"
like "$(i --help)" 'arch_ftrace_ops_list_func' "S2-094: and it is explained"
like "$(i --help | tr -s '\n ' ' ')" 'breakpoint \(int3\).* kprobe_int3_handler.* single-steps a copy .* emulates .* \(boosted\)' "S0-018: breakpoint, handler, single step, emulation, boost"
kp=0x$(i --probed kernel_clone | sed -n 's/.*kretprobe at kernel_clone: struct kprobe \([0-9a-f]*\),.*/\1/p')
like "$(i kprobe.addr,pre_handler,post_handler "$kp")" "^  pre_handler = $hex <pre_handler_kretprobe>,$" "S2-096 S2-097: a return probe has its own pre_handler"
is "$(i kprobe.addr,pre_handler,post_handler "$kp" | grep -c .)" 3 "S2-096: three members"
like "$(i --probed kernel_clone)" 'kretprobe at kernel_clone' "S2-097: and is called a kretprobe"
members=$(i struct kretprobe)
if [[ $members == *free_instances* ]]; then pool=free_instances; else pool=rh; fi
like "$(i kretprobe.$pool "$kp")" "^  $pool = (\\{|$hex)" "S2-098: where its instances are ($pool)"
both=$(i kretprobe.entry_handler,handler,$pool "$kp")
like "$both" "^  handler = $hex <kretprobe_dispatcher>,$" "S2-099: its handlers"
like "$both" "^  entry_handler = (0x0|$hex.*),$" "S2-099: entry_handler"
# Two probes at one address: one stands for both, and has them on its list.
echo 'p:mine/two kernel_clone' >>$events
echo 1 >$tracefs/events/mine/two/enable
is "$(i --probed kernel_clone | grep -c ' at kernel_clone: struct kprobe ')" 2 "S2-005: several probes at one address are followed"
echo 0 >$tracefs/events/mine/enable
echo nop >$tracefs/current_tracer
echo >$tracefs/set_ftrace_filter
echo '-:mine/back' >>$events
echo '-:mine/two' >>$events
like "$(i dis kernel_clone 1)" '\[FTRACE NOP\]$' "S2-164 S2-046: all are gone: the NOP again"

# ---- symbols of a module ---------------------------------------------------------------------------------------------------------
read -r at kind name module <<<"$(awk '$4 == "[fuse]" && $2 == "t" { print; exit }' /proc/kallsyms)"
is "$(i sym "0x$at" | head -1 | awk '{ print $1, $2, $NF }')" "$at ($kind) $module" "S2-077: a module's function: $name"
read -r at kind name module <<<"$(awk '$4 == "[fuse]" && $2 == "d" { print; exit }' /proc/kallsyms)"
is "$(i sym "$at" | head -1 | awk '{ print $1, $2, $NF }')" "$at ($kind) $module" "S2-075: a module's data: letter and module: $name"
done_testing

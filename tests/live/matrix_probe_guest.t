#!/usr/bin/env bash
# where: 6.1
# needs: root tracefs
# timeout: 400
# smp: 1
# Rows of the acceptance matrix about probes in the kernel: in a guest.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest kprobes bpf
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH
events=$tracefs/kprobe_events
mount -t debugfs nodev /sys/kernel/debug 2>/dev/null
p() { sonde probe "$@"; }
reads() { dd if=/dev/zero of=/dev/null bs=1234 count=7 2>/dev/null; }
# traced GROUP/EVENT [FILTER]: seven reads of 1234 bytes with the event on; its lines are in ./traced
traced() {
	local inst=$tracefs/instances/m dir=$tracefs/instances/m/events/$1
	mkdir "$inst"
	[ -z "${2:-}" ] || echo "$2" >"$dir/filter"
	echo 1 >"$dir/enable"
	reads
	echo 0 >"$dir/enable"
	grep -v '^#' "$inst/trace" >traced
	rmdir "$inst"
}
echo 'p:mine/other vfs_fsync' >>$events

# ---- add, use, delete ------------------------------------------------------------------------------------------------------------
function=clear_huge_page
grep -q " $function$" /proc/kallsyms || function=folio_zero_user
exits 0 "S0-039 S0-040 S1-008 S2-023: a function of the kernel" perf probe --add $function
like "$err" "^Added new event:$" "S0-040: it is announced"
like "$err" "^  probe:$function +\\(on $function\\)$" "S0-040 S1-105: group probe, event after the function"
like "$err" "^You can now use it in all perf tools, such as:$" "S0-040: and how to use it"
like "$err" "^	perf record -e probe:$function -aR sleep 1$" "S0-040: with an example"
exits 0 "S0-042 S0-048 S1-012: delete by GROUP:EVENT" perf probe --del=probe:$function
is "$err" "Removed event: probe:$function" "S0-042 S0-048: it is named"
is "$(cat $events)" "p:mine/other vfs_fsync" "S0-042 S1-012 S1-028 S1-029: it is gone, and those of others stay"

exits 0 "S0-045: a parameter" p --add 'tcp_sendmsg size'
like "$err" "^  probe:tcp_sendmsg +\\(on tcp_sendmsg with size\\)$" "S0-045: it is named"
like "$(cat $tracefs/events/probe/tcp_sendmsg/format)" 'field:u64 size;' "S0-045: and has its type"
exits 0 "S1-084 S0-048: delete by a bare name" p --del tcp_sendmsg
is "$err" "Removed event: probe:tcp_sendmsg" "S1-084 S0-048: the group is told"

# ---- parameters, members, strings ------------------------------------------------------------------------------------------------
exits 0 "S1-089 S0-016: a parameter and a member by name" p --add 'vfs_read file file->f_mode count'
traced probe/vfs_read 'count == 1234'
is "$(wc -l <traced)" 7 "S1-014 S1-013 S1-067: a filter on an argument, by ftrace"
like "$(head -1 traced)" 'vfs_read: \([^)]+\) file=0x[0-9a-f]+ f_mode=(0x[0-9a-f]+|[0-9]+) count=1234$' "S1-089 S0-016 S1-015 S1-074 S1-095: values by their names"
exits 0 "S1-013 S1-014: the same event by perf, with a filter" sonde record -q -o k.data -e probe:vfs_read --filter 'count == 1234' -- bash -c 'dd if=/dev/zero of=/dev/null bs=1234 count=7 2>/dev/null'
is "$(sonde script -i k.data 2>/dev/null | grep -c 'count=1234$')" 7 "S1-013 S1-014: seven of them"
exits 0 "S1-090 S1-136 S1-032: the list" p --list
like "$out" '^  probe:vfs_read +\(on vfs_read.* with file f_mode count\) +hits [0-9]+' "S1-090 S1-136 S1-032: arguments by name, and hits"
like "$(cat $tracefs/kprobe_profile)" '^ +vfs_read +[0-9]+ +0$' "S1-031 S1-032: hits and misses of kprobe_profile"
is "$(p -l probe:vfs_read --json | grep -c '"misses": 0')" 1 "S1-032 S2-006: misses, too"
exits 1 "S1-142: the same again" p vfs_read
like "$err" 'event "probe:vfs_read" already exists' "S1-142: is refused"
exits 0 "S1-142 S1-143: with -f" p -f -q vfs_read
is "$(grep -c '^p:probe/vfs_read_1 ' $events)" 1 "S1-143: it gets a number"
exits 0 "S1-138 S1-140: delete by a glob" p --del 'vfs_re*'
is "$(grep -c '^.:probe/' $events)" 0 "S1-138 S1-140: all that fit"

exits 0 "S0-052 S1-159: a string" p -q 'do_sys_open=do_sys_openat2 filename:ustring'
mkdir $tracefs/instances/m
echo 1 >$tracefs/instances/m/events/probe/do_sys_open/enable
cat /proc/version >/dev/null
echo 0 >$tracefs/instances/m/events/probe/do_sys_open/enable
like "$(cat $tracefs/instances/m/trace)" 'filename_ustring="/proc/version"$' "S0-052 S1-159: in quotes"
rmdir $tracefs/instances/m
exits 0 "S0-056 S1-043 S1-018: nested dereferences" p -q 'do_execve=__x64_sys_execve +0(+0(+104(%di))):ustring +0(+8(+104(%di))):ustring'
mkdir $tracefs/instances/m
echo 1 >$tracefs/instances/m/events/probe/do_execve/enable
sh -c 'exec /bin/true first'
echo 0 >$tracefs/instances/m/events/probe/do_execve/enable
like "$(cat $tracefs/instances/m/trace)" 'arg1="/bin/true" arg2="first"$' "S0-056 S0-052 S1-043 S1-018: the strings of argv"
rmdir $tracefs/instances/m
exits 0 "S0-055: delete by its name alone" p --del do_sys_open
is "$err" "Removed event: probe:do_sys_open" "S0-055: the group is told"
exits 0 "S0-058: the other, too" p --del do_execve
is "$err" "Removed event: probe:do_execve" "S0-058: the group is told"
exits 0 "S1-120 S1-011 S1-112: a return" p -q 'vfs_read%return $retval'
is "$(grep -c '^r[0-9]*:probe/vfs_read__return vfs_read' $events)" 1 "S1-120 S1-011 S1-105: is named after it"
traced probe/vfs_read__return 'arg1 == 1234'
like "$(head -1 traced)" 'vfs_read__return: \([^)]+ <- [^)]+\) arg1=1234$' "S1-042 S1-120: its value"
exits 0 "S1-094 S1-141: delete all of a group" p --del 'probe:*'
is "$(grep -c ':probe/' $events)" 0 "S1-094 S1-141: none is left"
exits 1 "S1-094: once more" p --del 'probe:*'
like "$err" '"probe:\*" does not hit any event' "S1-094: nothing fits"

# ---- the kernel's own language ---------------------------------------------------------------------------------------------------
offsets=$(p --offsets vfs_read)
like "$offsets" '^  \+0 +[a-z]' "S1-058: the offsets of instructions"
off=$(awk 'NR == 3 { print substr($1, 2) }' <<<"$offsets")
exits 0 "S1-033 S1-064 S1-009 S1-016 S2-002 S1-119: an unnamed probe inside of a function" p -q "p vfs_read+$off %di +0x3c(%di):u32"
is "$(grep -c "^p:kprobes/p_vfs_read_$off vfs_read+$off arg1=%di arg2=+0x3c(%di):u32$" $events)" 1 "S1-033 S1-064 S1-030 S1-066 S1-026: it has the kernel's name and reads back"
format=$(cat "$tracefs/events/kprobes/p_vfs_read_$off/format")
like "$format" '__probe_ip;' "S1-065: its format: the address"
like "$format" 'field:u64 arg1;' "S1-065: a register"
like "$format" 'field:u32 arg2;' "S1-065: a u32"
traced "kprobes/p_vfs_read_$off"
like "$(head -1 traced)" "p_vfs_read_$off: \\([^)]+\\) arg1=0x[0-9a-f]+ arg2=[0-9]+$" "S1-067 S1-064 S1-037 S1-036: hits show both"
exits 0 "S1-035 S1-069: -: removes" p -q -- "-:kprobes/p_vfs_read_$off"
is "$(grep -c kprobes/ $events)" 0 "S1-035 S1-069: it is gone"
exits 0 "S1-034: r" p -q 'r:mine/back vfs_read+0 $retval'
is "$(grep -c '^r[0-9]*:mine/back vfs_read' $events)" 1 "S1-034: is there"
addr=0x$(awk '$3 == "vfs_read" { print $1; exit }' /proc/kallsyms)
exits 0 "S1-033 S2-022 S2-028: by address" p -q "p:mine/address $addr"
exits 0 "S2-028 S2-023 S2-034: by name, of a static function" p -q mine:name=net_rx_action
exits 129 "S2-028 S2-033: neither" p
like "$err" 'which probe' "S2-033: is an error"
jiffies=$(awk '$3 == "jiffies_64" { print $1; exit }' /proc/kallsyms)
exits 0 "S1-036 S1-017 S1-177 S1-108: every kind of value" p -q 'mine:kinds=vfs_read reg=%di sym=@jiffies_64:u64 mem=@0x'"$jiffies"':u64 stack=$stack0 comm=$comm deref=+0(%si):u8 count'
traced mine/kinds 'count == 1234'
like "$(head -1 traced)" 'reg=0x[0-9a-f]+ sym=[0-9]+ mem=[0-9]+ stack=0x[0-9a-f]+ comm="dd" deref=[0-9]+ count=1234$' "S1-036 S1-017 S1-037 S1-038 S1-039 S1-044 S1-177 S1-108: is fetched"
is "$(sed -n 's/.*sym=\([0-9]*\) mem=\([0-9]*\) .*/\1 \2/p' traced | awk '$1 != $2' | wc -l)" 0 "S1-038 S1-039: by symbol and by address the same"
exits 0 "S1-054: a dereference of a register as u32" p -q "p:mine/foo vfs_read+$off foo=+10(%bp):u32"
like "$(cat $tracefs/events/mine/foo/format)" 'field:u32 foo;' "S1-054: has that type"
exits 0 "S1-055: a variable of the kernel" p -q 'mine:bar=vfs_read bar=@tick_usec:u64'
traced mine/bar
like "$(head -1 traced)" 'bar=[0-9]+$' "S1-055: its value"
types=
for type in u8 u16 u32 u64 s8 s16 s32 s64; do types="$types $type=%dx:$type"; done
exits 0 "S1-045: types" p -q "mine:types=vfs_read$types count"
traced mine/types 'count == 1234'
row=$(head -1 traced)
for pair in u8=210 u16=1234 u32=1234 u64=1234 s8=-46 s16=1234 s32=1234 s64=1234; do
	like "$row" " $pair( |$)" "S1-045 S1-046 S1-047 S1-048 S1-049 S1-050 S1-051 S1-052 S1-053: ${pair%=*}"
done
is "$(printf 'p:mine/a vfs_open\np:mine/b vfs_open\n' >>$events; grep -c '^p:mine/[ab] ' $events)" 2 "S1-027 S1-025: the file itself takes several lines"
like "$(p -l 'mine:*')" 'mine:a +\(on vfs_open' "S1-026 S1-030: they are listed"

# ---- what is refused -------------------------------------------------------------------------------------------------------------
middle=$(printf '%s\n' "$offsets" | awk '{ n = substr($1, 2) + 0; if (NR > 1 && n > last + 1) { print last + 1; exit } last = n }')
exits 1 "S1-056 S1-057 S1-178: the middle of an instruction" p "vfs_read+$middle"
like "$err" 'middle of an instruction' "S1-056 S1-057 S1-178: is refused, in words"
like "$err" 'instructions begin at' "S1-057 S1-058: with those around it"
exits 1 "S1-057: past us, the kernel" p "p:mine/raw vfs_read+$middle"
like "$err" 'middle of an instruction|instruction boundary' "S1-057: its error is translated"
unlike "$err" 'multibyte' "S1-057: without the words of libc"
awk '{ print $1 }' $tracefs/available_filter_functions >can
awk '($2 == "t" || $2 == "T") && NF == 3 { print $3 }' /proc/kallsyms | sort | uniq -d >names
twice=$(grep -Fx -f can names | head -n 1)
isnt "$twice" "" "S2-034: there are functions of one name ($(wc -l <can) $(wc -l <names))"
like "$(p -D "$twice")" "^p:probe/[a-zA-Z0-9_]+ _text\\+[0-9]+$" "S2-034: functions of one name are told apart by their place"
like "$(p -D "$twice")" "^p:probe/[a-zA-Z0-9_]+_1 _text\\+[0-9]+$" "S2-034: each of them"
exits 1 "S2-034: a return has no such way" p -D "$twice%return"
like "$err" 'functions .* cannot tell them apart' "S2-034: which is reported"
exits 0 "a glob" p -D 'vfs_rea[dl]*'
like "$out" '^p:probe/vfs_read vfs_read\+0$' "is every function that fits"
exits 1 "more places than allowed" p --max-probes 1 -D 'vfs_re*'
like "$err" 'more than 1' "are refused"
exits 1 "S1-042: a result at the entry" p 'vfs_read $retval'
exits 1 "S1-180: a function that is not there" p vfs_raed
like "$err" "did you mean 'vfs_read'" "S1-180: the closest name"
exits 1 "S1-070: a line without debug information" p 'vfs_read:3'
like "$err" 'debug information' "S1-070: is refused with what is missing"
exits 1 "S2-023: a function on the kernel's blacklist" p do_int3
like "$err" 'blacklist|not allow|no function' "S2-023: is named as such"
grep . $events >before
exits 0 "S1-144 S1-145: a dry run" p -n vfs_open
exits 0 "S1-144: of a removal" p -n -d 'mine:a'
exits 0 "S1-151: -fnv" p -fnv 'vfs_open path'
like "$err" 'p:probe/vfs_open vfs_open\+0 path=' "S1-151 S1-146: shows the definition"
grep . $events >after
is "$(diff before after)" "" "S1-144 S1-151: changes nothing"
exits 0 "S1-145: the list" p -n -l
like "$out" 'mine:a' "S1-145: ignores it"

# ---- what instruments the kernel -------------------------------------------------------------------------------------------------
echo 1 >$tracefs/events/mine/name/enable
echo 1 >$tracefs/events/mine/foo/enable
optimized() { p --audit | grep -q "vfs_read+0x$(printf %x "$off").*\[OPTIMIZED\]"; }
exits 0 "S1-172: the audit" p --audit
like "$out" 'kprobe +net_rx_action\+0x0 +\[FTRACE\]' "S1-172 S1-166: a probe at an entry is called by ftrace"
like "$out" 'mine:foo at vfs_read\+[0-9a-fx]+ +on' "which event it is, and that it is on"
like "$out" '^  function +net_rx_action' "ftrace says the same"
wait_until optimized
ok $? "S1-166 S1-174 S1-169 S1-170 S1-182: one inside of a function becomes a jump, without a change of its definition"
exits 0 "S1-173 S1-175: optimization off" p --optimize=off
is "$(cat /proc/sys/debug/kprobes-optimization)" 0 "S1-173 S1-175: is off"
unoptimized() { ! optimized; }
wait_until unoptimized
like "$(p --audit)" "vfs_read\\+0x$(printf %x "$off") +\\[INT3\\]" "S1-175 S1-172: the jump is a breakpoint again"
exits 0 "S1-173 S1-174: on again" p --optimize=on
wait_until optimized
ok $? "S1-173 S1-174: the jump comes back"
is "$(p --optimize)" "debug.kprobes-optimization = 1" "S1-173: shown"
is "$(p --audit --json | grep -c '"kprobes_optimization": true')" 1 "S1-172: also as JSON"
echo 0 >$tracefs/events/mine/name/enable
echo 0 >$tracefs/events/mine/foo/enable
exits 0 "all of ours are removed" p -q -d 'mine:*'
is "$(cat $events)" "" "S1-176: on the running system"
done_testing

#!/usr/bin/env bash
# inspect: what is refused, and how. The kernel's memory is not needed.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
[ -r /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
i() { "$SONDE" inspect "$@"; }

exits 129 "nothing" i
like "$err" "which expression, or which command" "asks for one"
for c in p struct whatis list tree rd sym dis; do
	exits 129 "$c alone" i $c
	like "$err" "^sonde inspect $c: (which|where)" "$c: asks for one"
	is "$out" "" "$c: nothing on stdout"
done
exits 129 "-H and -h" i list -H -h 0
exits 129 "-r and -f" i dis -r -f vfs_read
exits 129 "-x and --decimal" i -x --decimal 1
exits 129 "an unknown source of memory" i --memory floppy 1
exits 129 "an odd width" i rd -w 7 0
exits 129 "--diff without a dump" i --diff live
like "$err" '--diff live needs a dump to compare with' "asks for one"
exits 129 "--diff and -i" i --diff live -i 1 1
exits 1 "--diff with a dump that is not there" i --diff no-such-dump
exits 1 "an unknown structure" i struct no_such_struct
like "$err" "this kernel has no structure 'no_such_struct'" "is named"
exits 1 "an unknown name" i whatis no_such_name
exits 0 "arithmetic needs no memory" i '(1 << 4) + 0x10 * 2'
is "$out" '(1 << 4) + 0x10 * 2 = $1 = 48' "and is right"
exits 0 "in hexadecimal" i -x '1 << 8'
is "$out" '1 << 8 = $1 = 0x100' "with -x"
exits 0 "options after the expression" i '1 << 8' -x
is "$out" '1 << 8 = $1 = 0x100' "count, too"
exits 1 "half an expression" i '1 +'
is "$err" "$(printf "sonde inspect: expression ends where an operand is expected\n  1 +\n     ^")" "the caret is where something is missing"
exits 1 "division by zero" i '7 / (3 - 3)'
like "$err" 'division by zero' "is an error"
exits 1 "a type that is not there" i '(struct no_such_struct *)0'
like "$err" "unknown type 'struct no_such_struct'" "is named"

# Without privileges: which are missing.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	exits 1 "an ordinary user" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$SONDE" inspect '*(int *)0xffffffff81000000'
	like "$err" 'cannot read kernel memory: BPF: .*; /proc/kcore: ' "neither way is open"
	like "$err" 'hint: run as root, or with CAP_BPF and CAP_PERFMON' "the capabilities are named"
	exits 1 "an ordinary user asks for a symbol" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$SONDE" inspect sym vfs_read
	like "$err" 'kernel\.kptr_restrict' "the setting is named"
	exits 0 "types need no privileges" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$SONDE" inspect struct list_head
else
	skip "not root, or no setpriv" "an ordinary user"
fi
done_testing

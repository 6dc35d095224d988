#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root bpf kprobes
# run: functions of the kernel and of modules, by name, pattern, offset and address; typed arguments.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf tracefs kprobes
cd "$SONDE_TMP" || exit 1

run() { timeout 120 "$SONDE" run -q "$@" >out.txt 2>err.txt; }
shows() { like "$(cat out.txt)" "$1" "$2" || sed 's/^/# /' out.txt err.txt; }

# any module that functions of can be traced
module=$(sed -n 's/^[a-z0-9_]* \[\([a-z0-9_]*\)\]$/\1/p' $tracefs/available_filter_functions | head -1)
if [ -n "$module" ]; then
	run --dry-run -e "kprobe:$module:* { @[func] = count(); }"
	is $? 0 "all functions of a module" || sed 's/^/# /' err.txt
	"$SONDE" run -l "fentry:$module:*" >list.txt 2>err.txt
	like "$(cat list.txt)" "^fentry:$module:" "which -l lists"
else
	skip "no module with functions is loaded" "all functions of a module"
fi
run --dry-run -e "kprobe:nosuch_module:* { }"
is $? 1 "a module that is not there"

run -e 'kprobe:vfs_read+0 { @ = count(); }' -c /bin/true
shows '^@: [1-9]' "an offset behind a function"
address=$(awk '$3 == "vfs_read" { print $1; exit }' /proc/kallsyms)
run -e "kprobe:0x$address { @ = count(); }" -c /bin/true
is $? 1 "an address is refused"
run --unsafe -e "kprobe:0x$address { @ = count(); }" -c /bin/true
shows '^@: [1-9]' "unless --unsafe allows it"
run -e 'kprobe:vfs_read { @in[tid] = count(); } kretprobe:vfs_read { @out[tid] = count(); }' -c /bin/true
shows '^@out\[[0-9]+\]: [1-9]' "entry and return in one script"

if "$SONDE" run --info | grep -q '^  fentry .* yes'; then
	run -e 'fentry:vfs_read { @[args.count > 0] = count(); } fexit:vfs_read { @r[retval >= 0, args.count > 0] = count(); }' -c /bin/true
	shows '^@\[true\]: [1-9]' "typed arguments"
	shows '^@r\[true, true\]: [1-9]' "and results with them"
	like "$("$SONDE" run -lv fentry:vmlinux:vfs_read)" '^    size_t count$' "which -lv lists"
	run -e 'fentry:vfs_re* { @[func] = count(); }' -c /bin/true
	shows '^@\[vfs_read\]: [1-9]' "a pattern of fentry"
else
	skip "fentry is not to be had here" "typed arguments"
fi
run -e 'kprobe@fs/nosuch.c:1 { }'
is $? 1 "a line without debug information is refused"
like "$(cat err.txt)" '\^~' "at its place in the script"
done_testing

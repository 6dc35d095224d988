#!/usr/bin/env bash
# where: host
# timeout: 400
# Rows of the acceptance matrix about source lines and variables of the kernel, with the debug information (590 MB) and some source files of the kernel
# that the 6.1 guest runs. The kernel itself need not run for that: -k names its image.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
cd "$SONDE_TMP" || exit 1
debug=$("$SONDE_SRC/tests/vm/debug-fetch" 6.1 2>why) || skip_all "$(tail -1 why)"
mkdir bin && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH
vmlinux=$debug/vmlinux

# ---- variables ---------------------------------------------------------------------------------------------------------------------
exits 0 "S0-043 S0-044 S1-179: variables of a function" perf probe -k "$vmlinux" -V tcp_sendmsg
is "$out" "$(printf 'Available variables at tcp_sendmsg\n\t@<tcp_sendmsg+0>\n\t\tsize_t\tsize\n\t\tstruct msghdr*\tmsg\n\t\tstruct sock*\tsk')" \
	"S0-043 S0-044: head, place, and types with names, sorted"
size=$(stat -Lc %s "$vmlinux")
[ "$size" -gt 400000000 ]
ok $? "S1-155: the file has hundreds of MB" || diag "$size"
# A sanitizer's shadow would count.
if nm "$SONDE" 2>/dev/null | grep -q __asan_init; then
	skip "the sanitizer's shadow memory counts" "S1-155: with room for 200 MB of memory"
else
	exits 0 "S1-155: with room for 200 MB of memory" bash -c 'ulimit -d 200000; SONDE_CACHE=/nonexistent exec perf probe -k "$1" -V tcp_sendmsg' - "$vmlinux"
	like "$out" 'struct sock\*.sk$' "S1-155: it is mapped, not read"
fi

# ---- lines -------------------------------------------------------------------------------------------------------------------------
exits 255 "S0-050: without the source" perf probe -k "$vmlinux" -L tcp_sendmsg
like "$err" 'tcp\.c' "S0-050: what is missing"
for row in S0-050:tcp_sendmsg:net/ipv4/tcp.c S1-088:vfs_read:fs/read_write.c; do
	IFS=: read -r id function file <<<"$row"
	exits 0 "$id S1-077: lines of $function" perf probe -k "$vmlinux" -s "$debug/source" --line "$function"
	like "$(head -1 <<<"$out")" "^<$function@.*$file:0>\$" "$id S0-051: the function and its file"
	start=$(grep -n "^[a-z].*\\b$function(" "$debug/source/$file" | tail -1 | cut -d: -f1)
	is "$(sed -n '2,9p' <<<"$out" | cut -c10-)" "$(sed -n "$start,$((start + 7))p" "$debug/source/$file")" "$id S0-051: its source, line by line"
	like "$out" "^ {6}0  .*$function\\(" "$id S0-051: numbers from the function's line on"
	like "$out" '^ {9}\{$' "$id S0-051: only on lines that can be probed"
done
exits 0 "S0-049: the lines of a function" perf probe -k "$vmlinux" -s "$debug/source" -L tcp_sendmsg
like "$out" '^         EXPORT_SYMBOL\(tcp_sendmsg\);$' "S0-049 S0-051: where its symbol is exported, without a number"
line=$(awk '/ret = tcp_sendmsg_locked/ { print $1; exit }' <<<"$out")
exits 0 "S1-077 S1-179: a line of the function, with a parameter and a member" perf probe -k "$vmlinux" -D "tcp_sendmsg:$line sk size sk->sk_wmem_queued"
like "$out" '^p:probe/tcp_sendmsg_L[0-9]+ _text\+[0-9]+ sk=[^ ]+ size=[^ ]+ sk_wmem_queued=\+[0-9]+\([^ ]+\):s32$' "S1-077 S1-179: becomes places, registers and offsets"
done_testing

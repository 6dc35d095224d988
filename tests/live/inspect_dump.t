#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 900
# inspect -d: QEMU dumps the memory of a guest, as ELF and compressed; what is read from the dump is compared with what the guest said of itself.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root
cd "$SONDE_TMP" || exit 1

# functions FILE: of a stack as bt prints it. /proc/PID/stack leaves out those of the scheduler, which come first.
functions() { sed -n 's/^ *#[0-9]* \[[0-9a-f ]*\] \([^ ]*\) at .*/\1/p' "$1"; }

# compare KERNEL
compare() {
	local k=$1 f sleeper addr kind name task
	i() { "$SONDE" inspect -d "$SONDE_TMP/$k" "$@"; }
	sleeper=$(cat "$k.out/sleeper")
	i sys >sys
	ok $? "$k: sys"
	is "$(sed -n 's/^ *RELEASE: //p; s/^ *NODENAME: //p' sys)" "$(cat "$k.out/hostname" "$k.out/release")" "$k: sys: the guest's name and kernel"
	i ps >ps
	ok $? "$k: ps"
	# Workers come and go, and /proc has longer names of kernel threads than their tasks.
	awk '$2 !~ /^kworker/ { print $1, substr($2, 1, 15) }' "$k.out/tasks" | sort >had
	sed 's/^>/ /' ps | awk 'NR > 1 { gsub(/[][]/, "", $9); print $1, $9 }' | sort >have
	is "$(grep -Fxf had have)" "$(cat had)" "$k: ps: every task that the guest had"
	[ "$(grep -c . ps)" -le $(($(grep -c . "$k.out/tasks") + 20)) ]
	ok $? "$k: ps: and not many more"
	i bt "$sleeper" >stack
	is "$(functions stack | tail -n "$(grep -c . "$k.out/stack")")" "$(sed 's/^\[<[0-9a-f]*>\] \([^+]*\)+.*/\1/' "$k.out/stack")" "$k: bt: the frames that /proc/PID/stack had"
	is "$(functions stack | head -1)" __schedule "$k: bt: from where it sleeps"
	like "$(cat stack)" '^    ORIG_RAX: 00000000000000e6  CS: 0033  SS: 002b$' "$k: bt: the program's registers: clock_nanosleep"
	i foreach IN bt >stacks
	ok $? "$k: bt of all tasks that sleep"
	is "$(awk '/^PID/ { if (n && last !~ /^(ret_from_fork|ret_from_fork_asm|entry_SYSCALL_64_after_hwframe)$/) print last; n = 1 } /^ *#/ { last = $(NF - 2) } /missing|^    \(/ { print }' stacks)" "" "$k: bt: each stack is read to its end"
	i bt "swapper/0" >idle
	like "$(cat idle)" '^    \[exception RIP: |^ #0 ' "$k: bt: the first task"
	like "$(i log -t)" '^sonde inspects this dump$' "$k: log: what the guest wrote"
	like "$(i log)" '^\[    0\.000000\] Linux version ' "$k: log: from its first line"
	is "$(i mod | awk 'NR > 1 { print $2 }' | sort)" "$(sort "$k.out/modules")" "$k: mod: the guest's modules"
	while read -r addr kind name _; do
		like "$(i sym "$name")" "^$addr \\($kind\\) $name" "$k: sym: $name"
	done <"$k.out/symbols"
	task=$(awk -v p="$sleeper" '$1 == p { print $4 }' ps)
	i identify "$task" >identity
	like "$(cat identity)" "^$task: task: PID $sleeper \"sleep\"\$" "$k: identify: whose task_struct, also where another one is before it"
	like "$(cat identity)" " slab object: task_struct, [0-9]+ bytes at $task, allocated" "$k: identify: the object of the slab cache"
	like "$(i mount)" ' proc +proc +/proc$' "$k: mount"
	like "$(i files "$sleeper")" " REG  $SONDE_SRC/README.md\$" "$k: files: what the sleeper had opened"
	is "$(i list -o task_struct.tasks -s task_struct.pid -h init_task | grep -c 'pid = ')" "$(i --json ps | python3 -c 'import json, sys; print(len({r["tgid"] for r in json.load(sys.stdin)["rows"]}))')" "$k: list: as many processes as ps has"
	is "$(i '((struct task_struct *)0x'"$(awk -v p="$sleeper" '$1 == p { print $4 }' ps)"')->pid' | sed 's/.*= //')" "$sleeper" "$k: an expression"
	like "$(i whatis vfs_read)" '^ssize_t vfs_read\(struct file \*, char \*, size_t, loff_t \*\);$' "$k: types"
	like "$(i struct fuse_conn | tail -1)" '^SIZE: [1-9]' "$k: types of a module"
	exits 0 "$k: dis" i dis vfs_read 3
	is "$(grep -c '<vfs_read+' <<<"$out")" 2 "$k: dis: code" || diag "$out"
	exits 0 "$k: --how" i --how init_task.pid
	like "$err" '^memory: dump \(ELF\), [0-9]+ bytes' "$k: --how: memory came from the dump"
	like "$err" '^types: BTF \(in the dump\)' "$k: --how: types, too"
	for f in ps log mod 'bt kthreadd'; do
		# shellcheck disable=SC2086 # several words
		is "$("$SONDE" inspect -d "$SONDE_TMP/$k.kdump" $f 2>&1 | cut -c1-48 | md5sum)" "$(i $f 2>&1 | cut -c1-48 | md5sum)" "$k: $f: the same from the compressed dump"
	done
	"$SONDE" inspect -d "$SONDE_TMP/$k.kdump" --how init_task.pid 2>&1 >/dev/null | grep -q '^memory: dump (kdump-compressed)'
	ok $? "$k: --how: the compressed one was read"
}

for k in 6.1 6.12; do
	"$SONDE_SRC/tests/vm/boot" $k --build "$(dirname "$SONDE")" --dump "$SONDE_TMP/$k" --out "$SONDE_TMP/$k.out" "$SONDE_SRC/tests/vm/dump-facts" >boot.log 2>&1
	rc=$?
	if [ $rc = 77 ]; then
		skip "no guest of $k: $(sed -n 's/.*SKIP//p' boot.log | head -1)" "$k"
		continue
	fi
	is $rc 0 "$k: the guest was dumped" || { sed 's/^/# /' boot.log; continue; }
	compare $k
	rm -f "$k" "$k.kdump"
done
done_testing

#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 120
# inspect against what /proc and the tools say: values, types, lists, code; through BPF, and through /proc/kcore where there is one.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root
[ -e /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
"$SONDE" inspect '$current->pid' >/dev/null 2>&1 || skip_all "kernel memory cannot be read here: $("$SONDE" inspect '$current->pid' 2>&1 | head -1)"
i() { "$SONDE" inspect "$@"; }
value() { i "$@" 2>&1 | sed 's/.* = \$1 = //'; }

# ---- values ----------------------------------------------------------------------------------------------------------------------
is "$(value init_task.pid)" 0 "the first task"
like "$(value init_task.comm)" '^"swapper(/0)?\\000' "its name, as an array of characters"
is "$(value '$current->comm' | cut -c1-6)" '"sonde' "the task that asks"
is "$(value 'init_task.tasks.next->prev == &init_task.tasks')" 1 "a pointer there and back"
is "$(value 'container_of(init_task.tasks.next, struct task_struct, tasks)->pid')" 1 "container_of: the second task is process 1"
is "$(value '((struct task_struct *)0)->comm' 2>&1 | grep -c 'bad address')" 1 "a bad address is an error"
exits 1 "a bad address" i 'p' '*(int *)0xdead000000000000'
like "$err" 'cannot read 4 bytes at 0xdead000000000000' "says what could not be read"
exits 1 "a member that is not there" i 'init_task.comms'
like "$err" "hint: did you mean 'comm'" "the closest is offered"
exits 0 "--how" i --how init_task.pid
like "$err" '^memory: BPF \(bpf_probe_read_kernel\), [0-9]+ bytes in [0-9]+ reads$' "memory came through BPF"
like "$err" '^types: BTF' "types from BTF"

# ---- types: sizes and offsets as the compiler's own table (BTF through bpftool) says ---------------------------------------------
sizes_differ() {
	local name
	bpftool btf dump file /sys/kernel/btf/vmlinux format raw >raw || return 0
	for name in list_head task_struct file inode kprobe ftrace_ops sk_buff page; do
		python3 - raw "$name" <<'END' >want || return 0
import re, sys
lines = open(sys.argv[1]).read().split("\n")
for n, line in enumerate(lines):
    m = re.match(r"\[\d+\] STRUCT '" + sys.argv[2] + r"' size=(\d+) vlen=(\d+)", line)
    if m:
        for member in lines[n + 1:n + 1 + int(m[2])]:
            m2 = re.match(r"\t'(.*)' type_id=\d+ bits_offset=(\d+)", member)
            if m2[1] != "(anon)":
                print(m2[1], int(m2[2]) // 8)
        print("SIZE", m[1])
        sys.exit(0)
sys.exit(1)
END
		i --json struct "$name" | python3 -c '
import json, sys
row = json.load(sys.stdin)["rows"][0]
for m in row["members"]:
    if m["name"]:
        print(m["name"], m["offset"])
print("SIZE", row["size"])' >got
		cmp -s want got || { diag "$name"; diff want got | head -5 | sed 's/^/# /'; return 0; }
	done
	return 1
}
cd "$SONDE_TMP" || exit 1
if command -v bpftool >/dev/null && [ "$SONDE_GUEST" = host ]; then
	sizes_differ
	[ $? = 1 ]
	ok $? "members, offsets and sizes of eight structs as bpftool dumps them"
else
	skip "no bpftool here" "members, offsets and sizes of eight structs as bpftool dumps them"
fi
is "$(i struct list_head)" "$(printf 'struct list_head {\n    struct list_head *next;\n    struct list_head *prev;\n}\nSIZE: 16')" "a definition"
is "$(i struct -o list_head | sed -n 3p)" '   [8] struct list_head *prev;' "with offsets"
like "$(i whatis vfs_read)" '^ssize_t vfs_read\(struct file \*, char \*, size_t, loff_t \*\);$' "a prototype"
is "$(value 'sizeof(struct list_head) + offsetof(struct list_head, prev)')" 24 "sizeof and offsetof"

# ---- lists and trees -------------------------------------------------------------------------------------------------------------
sleep 300 &
sleeper=$!
i list -o task_struct.tasks -s task_struct.pid,comm -h init_task >tasks
ok $? "the list of tasks"
# PIDs are those of the first namespace, ours may be another: the task is known by a name of its own.
cp "$(command -v sleep)" "$SONDE_TMP/inspectee"
echo text >gone
exec 9<gone
rm gone
sleep 300 | "$SONDE_TMP/inspectee" 300 3</proc/self/status 4<&9 7<"$SONDE_TMP" &
inspectee=$!
listed() { i list -o task_struct.tasks -s task_struct.comm -h init_task 2>/dev/null | grep -q '"inspectee'; }
wait_until listed
ok $? "a new process is on it"
like "$(i ps inspectee)" ' (IN|RU) +[0-9.]+ +[1-9][0-9]* +[1-9][0-9]*  inspectee$' "ps knows its state and sizes"
addr=$(i ps inspectee | awk '$NF == "inspectee" { print $4; exit }')
like "$(i struct task_struct.comm "$addr")" '^  comm = "inspectee\\000' "a member at that address"
is "$(i tree -t maple -s vm_area_struct.vm_start "&((struct task_struct *)0x$addr)->mm->mm_mt" | grep -c '^ ')" "$(grep -vc vsyscall "/proc/$inspectee/maps")" "its maple tree has as many areas as /proc says"
sleeps() { i bt inspectee | grep -q nanosleep; }
wait_until sleeps
ok $? "bt: the stack of a task that sleeps"
i bt -s inspectee >stack
like "$(head -1 stack)" "^PID: [0-9]+ +TASK: $addr  CPU: [0-9]+ +COMMAND: \"inspectee\"\$" "bt: which task"
is "$(sed -n 's/^ *#[0-9]* \[[0-9a-f]*\] \([^+]*\)+[0-9]* at .*/\1/p' stack)" "$(sed 's/^\[<[0-9a-f]*>\] \([^+]*\)+.*/\1/' "/proc/$inspectee/stack")" "bt: the frames of /proc/PID/stack"
is "$(grep -Ec '^ #[0-9]+ \[ff[0-9a-f]{14}\] ' stack)" "$(grep -c '^ #' stack)" "bt: each with its place on the stack"
[ "$(uname -m)" != x86_64 ] || like "$(cat stack)" '^    ORIG_RAX: 00000000000000(e6|23)  CS: 0033  SS: 002b$' "bt: registers: the system call is clock_nanosleep"
is "$(i files inspectee | awk '$1 ~ /^[0-9]+$/ { fd = $1; sub(/^ *[0-9]+ [0-9a-f]+ [0-9a-f]+ [0-9a-f]+ [A-Z]+ +/, ""); print fd, $0 }')" "$(for f in $(ls "/proc/$inspectee/fd" | sort -n); do echo "$f $(readlink "/proc/$inspectee/fd/$f")"; done)" "files: descriptors and paths as in /proc/PID/fd, also of what was deleted"
like "$(i files inspectee)" "^ROOT: /    CWD: $PWD\$" "files: its root and directory"
is "$(i vm inspectee | awk '$3 ~ /^[0-9a-f]+$/ && NF >= 4 && length($1) == 16 && NR > 3 { print $2 "-" $3 }')" "$(sed 's/ .*//' "/proc/$inspectee/maps" | grep -v ffffffffff)" "vm: areas as in /proc/PID/maps"
is "$(i foreach inspectee task -R comm | sed -n 2p)" "$(i struct task_struct.comm "$addr")" "foreach and task: members of the tasks that were named"
is "$(i foreach kernel ps | grep -c ' \[kthreadd\]$')" 1 "foreach kernel: kernel threads"
exits 1 "a task that is not there" i bt no-such-task
like "$err" "no such task: 'no-such-task'" "is named"
exits 129 "foreach without a command" i foreach inspectee
kill "$inspectee" "$sleeper" $(jobs -p)
wait "$inspectee" "$sleeper" 2>/dev/null
exits 1 "a list without an end" i list -o 0 0xdead000000000000
like "$err" 'cannot read the list at 0xdead000000000000' "ends with the address"

# ---- code ------------------------------------------------------------------------------------------------------------------------
entry=$(awk '$3 == "vfs_read" { print $1; exit }' /proc/kallsyms)
is "$(i sym vfs_read)" "$entry (T) vfs_read" "a symbol's address"
is "$(i sym "$entry")" "$entry (T) vfs_read" "and back"
like "$(i sym 0x"$(printf %x $((0x$entry + 5)))")" '\(T\) vfs_read\+5$' "inside of it"
if [ "$(uname -m)" = x86_64 ]; then
	like "$(i dis vfs_read 1)" "^0x$entry <vfs_read>: +(nopl   0x0\\(%rax,%rax,1\\) \\[FTRACE NOP\\]|call|endbr64|nopw   \\(%rax\\))" "its first instruction"
	is "$(i rd -8 vfs_read 16 | cut -d' ' -f1)" "$entry:" "its bytes"
fi
is "$(i dis vfs_read 7 | grep -c .)" 7 "seven instructions"
i dis vfs_read | head -1 >/dev/null
is "${PIPESTATUS[0]}" 0 "a closed pipe is no error" || diag "status ${PIPESTATUS[0]}"

# Source lines: an image whose debug information has a function of the same name.
if command -v gcc >/dev/null && [ "$SONDE_GUEST" = host ]; then
	printf 'long vfs_read(long a);\n\nlong vfs_read(long a)\n{\n\treturn a;\n}\nint main(void) { return (int)vfs_read(0); }\n' >image.c
	gcc -g -O0 -o image image.c
	is "$(i sym -l -k ./image vfs_read)" "$entry (T) vfs_read  $PWD/image.c: 4" "-l: the source file and line of a symbol"
	is "$(i dis -l -k ./image vfs_read 2 | head -1)" "$PWD/image.c: 4" "-l: before the instructions"
else
	skip "no compiler here" "-l: source files and lines"
fi

# ---- the same through /proc/kcore ------------------------------------------------------------------------------------------------
if [ -r /proc/kcore ]; then
	for e in init_task.comm init_task.tasks.next 'sizeof(init_task)' linux_banner; do
		is "$(value --memory kcore "$e" 2>&1)" "$(value --memory bpf "$e" 2>&1)" "kcore and BPF agree: $e"
	done
	exits 0 "--how with kcore" i --how --memory kcore init_task.pid
	like "$err" '^memory: /proc/kcore' "memory came through kcore"
else
	exits 1 "no /proc/kcore here" i --memory kcore init_task.pid
	like "$err" 'through /proc/kcore: No such file' "is said"
fi

# ---- per-CPU variables: also where the symbol list has functions only -------------------------------------------------------------
is "$(value runqueues:0.cpu)" 0 "a CPU's copy of a per-CPU variable"
like "$(i runqueues)" '^  \[0\]: ff[0-9a-f]{14}$' "where each copy is"
is "$(i hrtimer_bases:a.cpu | sed 's/.* = //' | tr '\n' ' ')" "$(seq -s ' ' 0 $(($(nproc --all) - 1))) " "every CPU's copy of another one"

# ---- where the symbol list has data ----------------------------------------------------------------------------------------------
if grep -q ' [dD] init_task$' /proc/kallsyms; then
	before=$(cut -d. -f1 /proc/uptime)
	hz=$(getconf CLK_TCK)
	jiffies=$(value jiffies_64)
	# jiffies begin five minutes before they wrap around 32 bits; HZ is 100 to 1000.
	[ "$jiffies" -ge $((4294967296 - 300 * 1000 + before * hz / 100 * 100)) ]
	ok $? "jiffies_64 is at least what the time since boot makes it: $jiffies"
	[ "$(value jiffies_64)" -ge "$jiffies" ]
	ok $? "and does not go back"
	is "$(i mod | awk 'NR > 1 { print $2, $4 }' | sort)" "$(awk '{ print $1, $2 }' /proc/modules | sort)" "modules and their sizes as in /proc/modules"
	is "$(value nr_cpu_ids)" "$(($(sed 's/.*-//' /sys/devices/system/cpu/possible) + 1))" "nr_cpu_ids"
	exits 0 "-i" i -i 1 -n 2 jiffies_64
	like "$out" '  \+[0-9]+  \+[0-9.]+/s$' "the second line has the change per second"
else
	skip "the symbol list has functions only" "globals by name"
	exits 1 "a global that the symbol list does not have" i jiffies_64
	like "$err" 'CONFIG_KALLSYMS_ALL is off' "says why"
fi
done_testing

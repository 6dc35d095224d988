#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 240
# inspect runq, ps, mount, net and kmem -s, against what /proc and ip say.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
[ -e /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
"$SONDE" inspect '$current->pid' >/dev/null 2>&1 || skip_all "kernel memory cannot be read here: $("$SONDE" inspect '$current->pid' 2>&1 | head -1)"
i() { "$SONDE" inspect "$@"; }
cd "$SONDE_TMP" || exit 1

# ---- runq: three that want the same CPU ------------------------------------------------------------------------------------------
cp "$(command -v bash)" crowd
pids=()
for _ in 1 2 3; do
	taskset -c 0 ./crowd -c 'while :; do :; done' &
	pids+=($!)
done
# Each is running, or waits in the tree of CPU 0. Our own reader may have the CPU meanwhile.
seen() {
	i --json runq >runq.json && python3 - "$1" "$2" <<'END'
import json, sys
cpu0 = [c for c in json.load(open("runq.json"))["rows"] if c["cpu"] == 0][0]
there = [t for t in cpu0[sys.argv[1]] if t["command"] == "crowd"]
sys.exit(len(there) < int(sys.argv[2]))
END
}
wait_until seen cfs 2
ok $? "runq: tasks that wait for CPU 0 are in the tree of its fair class" || diag "$(cat runq.json)"
i runq >runq
like "$(cat runq)" '^CPU 0 RUNQUEUE: ff[0-9a-f]{14}$' "runq: the address of the queue"
is "$(sed -n 's/^CPU 0 RUNQUEUE: //p' runq)" "$(i '&runqueues:0' | sed 's/.*0x//; s/ .*//')" "runq: that of the per-CPU variable"
like "$(cat runq)" '^  CURRENT: PID: [0-9]+ +TASK: ff[0-9a-f]{14}  COMMAND: "' "runq: what runs"
is "$(grep -c '^  CURRENT: ' runq)" "$(nproc)" "runq: each CPU"
python3 - >bad <<'END'
import json
for c in json.load(open("runq.json"))["rows"]:
    for t in c["cfs"]:
        if t["priority"] < 100:
            print("cfs", t)
    for t in c["rt"]:
        if t["priority"] >= 100:
            print("rt", t)
END
is "$(cat bad)" "" "runq: priorities are those of the queue's class"
for p in "${pids[@]}"; do renice -n 5 -p "$p" >/dev/null; done
nice_seen() { i runq | grep -Eq '^     \[1[2-3][0-9]\] PID: .*COMMAND: "crowd"' && i runq | grep -E '"crowd"' | grep -Eq "\[$want\]"; }
want=$(i --json ps crowd | python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"][0]["address"])')
want=$(i "((struct task_struct *)$want)->static_prio" | sed 's/.* = //')
wait_until nice_seen
ok $? "runq: the priority that belongs to their niceness: $want"
# A real-time task that runs is on its queue, too. It leaves the CPU to others after a moment.
if [ "$SONDE_GUEST" != host ] && chrt -r 5 true 2>/dev/null; then
	chrt -r -p 5 "${pids[0]}" 2>/dev/null
	wait_until seen rt 1
	ok $? "runq: a real-time task is in the RT queues"
else
	skip "a real-time task would stop other tests here" "runq: a real-time task is in the RT queues"
fi
kill -9 "${pids[@]}"
wait 2>/dev/null
gone() { ! i runq | grep -q '"crowd"'; }
wait_until gone
ok $? "runq: they are gone"
exits 129 "runq with an argument" i runq 1

# ---- ps -p, -c, -S, -A -----------------------------------------------------------------------------------------------------------
cp "$(command -v bash)" pstree
./pstree -c 'sleep 3000 & wait' &
parent=$!
has_child() { pgrep -P "$parent" -x sleep >/dev/null; }
wait_until has_child
ok $? "a task with a child"
pid=$(i ps pstree | awk '$NF == "pstree" { print $1; exit }')
like "$(i ps -c "$pid")" '^  PID: [0-9]+ +TASK: ff[0-9a-f]{14} +CPU: [0-9]+ +COMMAND: "sleep"$' "ps -c: its child"
is "$(i ps -c "$pid" | grep -c '^  PID')" 1 "ps -c: and no other"
i ps -p "$pid" >ancestors
like "$(head -1 ancestors)" '^PID: 0 .*COMMAND: "swapper/0"$' "ps -p: from the first task"
like "$(grep . ancestors | tail -1)" "^ +PID: $pid .*COMMAND: \"pstree\"\$" "ps -p: down to it"
# Each line is one below the task that its parent is.
is "$(awk '/PID/ { match($0, /^ */); if (RLENGTH != NR - 1) print }' ancestors)" "" "ps -p: a generation a line"
like "$(i ps -S IN)" '^  IN: [0-9]+$' "ps -S: tasks by state"
states=$(i ps -S | awk '{ s += $2 } END { print s }')
[ "$states" -gt 10 ]
ok $? "ps -S: all of them: $states"
like "$(i ps -A)" "^> +[0-9]+ .* $(basename "$SONDE" | cut -c1-15)\$" "ps -A: the task that asks runs"
is "$(i ps -A | awk 'NR > 1 && !/^>/')" "" "ps -A: and the others that are listed"
exits 1 "-S of a task that is not there" i ps -S no-such-task
like "$err" "no such task: 'no-such-task'" "is said"
exits 129 "-S and -A" i ps -S -A
kill "$(pgrep -P "$parent")"
wait "$parent" 2>/dev/null

# ---- mount -----------------------------------------------------------------------------------------------------------------------
i --json mount >mount.json
python3 - >missing 2>&1 <<'END'
import json, re
unescape = lambda s: re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), s)
ours = {(r["path"], r["type"]) for r in json.load(open("mount.json"))["rows"]}
for line in open("/proc/self/mountinfo"):
    left, right = line.split(" - ")
    # /proc adds a file system's subtype.
    want = (unescape(left.split()[4]), right.split()[0].split(".")[0])
    if want not in ours:
        print(want)
END
is "$(cat missing)" "" "mount: every mount of /proc/self/mountinfo, with its type"
i mount >mount
like "$(head -1 mount)" '^     MOUNT           SUPERBLK     TYPE     DEVNAME   DIRNAME$' "mount: crash's columns"
proc=$(awk '$3 == "proc" && $NF == "/proc" { print $2; exit }' mount)
like "$(i "((struct super_block *)0x$proc)->s_type->name")" '"proc"$' "mount: the address is that of a super block of this type"
exits 1 "a task that is not there" i mount no-such-task
exits 129 "two tasks" i mount 1 2

# ---- net -------------------------------------------------------------------------------------------------------------------------
is "$(i net | awk 'NR > 1 { print $2 }' | sort)" "$(ls /sys/class/net | sort)" "net: every device of /sys/class/net"
for d in /sys/class/net/*; do echo "${d##*/} $(cat "$d/ifindex")"; done | sort >want
i --json net >net.json
is "$(python3 -c 'import json
for r in json.load(open("net.json"))["rows"]: print(r["name"], r["index"])' | sort)" "$(cat want)" "net: their numbers"
if command -v ip >/dev/null; then
	is "$(i net | awk 'NR > 1 { gsub(",", ""); for (n = 3; n <= NF; n++) print $2, $n }' | sort)" "$(ip -o addr | awk '{ sub("/.*", "", $4); print $2, $4 }' | sort)" "net: their addresses, as ip has them"
else
	skip "no ip here" "net: their addresses, as ip has them"
fi

# ---- net -s ------------------------------------------------------------------------------------------------------------------------
cat >sockets.py <<'END'
import signal, socket
open("/proc/self/comm", "w").write("sockets")
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
u = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
d.connect(("127.0.0.7", 4242))
open("ports", "w").write(f"{s.fileno()} {s.getsockname()[1]} {u.fileno()} {d.fileno()} {d.getsockname()[1]}\n")
signal.pause()
END
python3 sockets.py &
program=$!
if wait_until grep -qs . ports && [ "$(wc -w <ports)" = 5 ]; then
	read -r fd port ufd dfd dport <ports
	i net -s sockets >sockets
	like "$(cat sockets)" "^ +$fd  ff[0-9a-f]{14}  ff[0-9a-f]{14}  INET:STREAM 127\.0\.0\.1-$port 0\.0\.0\.0-0\$" "net -s: a socket that listens"
	like "$(cat sockets)" "^ +$ufd  ff[0-9a-f]{14}  ff[0-9a-f]{14}  UNIX:DGRAM\$" "net -s: a UNIX socket"
	like "$(cat sockets)" "^ +$dfd  ff[0-9a-f]{14}  ff[0-9a-f]{14}  INET:DGRAM 127\.0\.0\.1-$dport 127\.0\.0\.7-4242\$" "net -s: both ends of a connected one"
	read -r socket sock <<<"$(awk -v fd="$fd" '$1 == fd { print $2, $3 }' sockets)"
	like "$(i p "((struct socket *)0x$socket)->sk")" " 0x$sock" "net -s: the address is that of the socket"
	like "$(i p "((struct sock *)0x$sock)->__sk_common.skc_num")" " = $port\$" "net -s: and of its sock"
else
	ok 1 "net -s: a program with sockets"
fi
kill "$program"
wait "$program" 2>/dev/null

# ---- kmem ------------------------------------------------------------------------------------------------------------------------
if [ -r /proc/slabinfo ]; then
	i kmem -s >caches
	is "$(awk 'NR > 1 { print $NF }' caches | sort)" "$(awk 'NR > 2 { print $1 }' /proc/slabinfo | sort)" "kmem -s: the caches of /proc/slabinfo"
	# Counts move while they are read: a cache agrees in one of some rounds.
	agree() { [ "$(i kmem -s "$1" | awk 'NR == 2 { print $4, $5 }')" = "$(awk -v c="$1" '$1 == c { print $3, $15 }' /proc/slabinfo)" ]; }
	for c in task_struct kmem_cache proc_inode_cache; do
		wait_until agree $c
		ok $? "kmem -s: objects and slabs of $c"
	done
else
	skip "no /proc/slabinfo here" "kmem -s"
fi
exits 1 "a cache that is not there" i kmem -s no_such_cache
like "$err" "no slab cache 'no_such_cache'" "is named"
exits 129 "kmem without an option" i kmem
for c in runq 'ps -S' 'ps -A' 'ps -p' 'ps -c' mount net 'net -s' 'kmem -s'; do
	# shellcheck disable=SC2086 # two words
	i $c --json | python3 -m json.tool >/dev/null
	ok $? "$c --json"
done
done_testing

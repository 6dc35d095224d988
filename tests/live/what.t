#!/usr/bin/env bash
# where: host 6.1
# needs: root
# timeout: 120
# `sonde what` against loads of known size, against the tools whose columns it has (their number lies between two readings of ours), and where
# little is allowed. Nothing here depends on how long anything takes.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
cd "$SONDE_TMP" || exit 1

# total METRIC OPTION...: the value of a metric now
total() {
	local metric=$1
	shift
	"$SONDE" what --openmetrics "$@" 1 1 | awk -v m="$metric" '$1 == m { printf "%.0f\n", $2 }'
}
# between A X B NAME
between() {
	awk -v a="$1" -v x="$2" -v b="$3" 'BEGIN { exit !(x != "" && a <= x && x <= b) }'
	ok $? "$4" || diag "$1 <= $2 <= $3 does not hold"
}
# column KEY...: of the last JSON line on standard input
column() { python3 -c 'import json,sys
v = json.loads(sys.stdin.readlines()[-1])
for k in sys.argv[1:]: v = v[k]
print("null" if v is None else v)' "$@"; }

# ---- loads of known size ----

before=$(total sonde_proc_forks_total -p)
for ((i = 0; i < 200; i++)); do /bin/true; done
after=$(total sonde_proc_forks_total -p)
[ $((after - before)) -ge 200 ]
ok $? "200 forks are 200 forks at least"

cat >send.py <<'END'
import socket
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); r.bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(500):
    s.sendto(b"x" * 1000, r.getsockname()); r.recv(2000)
END
cat >netns.sh <<'END'
ip link set lo up 2>/dev/null || python3 -c 'import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x49))' # SIOCSIFFLAGS: up
"$SONDE" what -n -N lo --packets --udp-rate --openmetrics 1 1 >one
python3 send.py
"$SONDE" what -n -N lo --packets --udp-rate --openmetrics 1 1 >two
END
if unshare -n true 2>/dev/null; then
	unshare -n bash netns.sh
	grown() { awk -v m="$1" '$1 == m { v[FILENAME] = $2 } END { printf "%.0f\n", v["two"] - v["one"] }' one two; }
	is "$(grown 'sonde_net_received_bytes_total{name="lo"}')" 514000 "500 datagrams of 1000 bytes: 500 times 1028 bytes on the interface"
	is "$(grown 'sonde_packets_sent_packets_total{name="lo"}')" 500 "and 500 packets"
	is "$(grown sonde_udp_rate_in_datagrams_total)" 500 "and 500 datagrams"
else
	skip "no network namespaces here" "datagrams of known size"
fi

if needs_or_skip "a disk write of known size" losetup; then :; else
	truncate -s 8M disk.img
	if loop=$(losetup -f --show disk.img 2>/dev/null); then
		dev=${loop#/dev/}
		before=$(total "sonde_disk_written_bytes_total{name=\"$dev\"}" -d -D "$dev")
		dd if=/dev/zero of="$loop" bs=64k count=64 oflag=direct conv=fsync status=none
		after=$(total "sonde_disk_written_bytes_total{name=\"$dev\"}" -d -D "$dev")
		is $((after - before)) 4194304 "4 MiB written to a disk are 4 MiB"
		losetup -d "$loop"
	else
		skip "no loop devices here" "a disk write of known size"
	fi
fi

ticks() { "$SONDE" what --raw /proc/stat --json | python3 -c 'import json,sys
print(sum(i["value"] for i in json.load(sys.stdin)["items"] if i.get("row") == "cpu" and i["field"] in sys.argv[1:]))' "$@"; }
"$SONDE" workload leaf 600 >/dev/null &
pid=$!
before=$(ticks user nice)
burn 500 $pid
after=$(ticks user nice)
kill $pid
wait $pid 2>/dev/null
[ $((after - before)) -ge 45 ]
ok $? "500 ms of CPU time show up in the CPU's user time" || diag "$before to $after"

# ---- processes ----

"$SONDE" what -c --top-process --json 0.2 4 >top.json
is "$(python3 -c 'import json
lines = [json.loads(l) for l in open("top.json")]
print(all(set(l["top_process"]) == {"pid", "command", "cpu"} and l["top_process"]["cpu"] > 0 for l in lines if "top_process" in l), "top_process" in lines[0])')" \
	"True False" "--top-process: a process with its CPU time; none is known since boot"
like "$("$SONDE" what -c --top-process 0.2 2 | head -2 | tr '\n' ' ')" 'most-expensive-.*\|process +pid +cpu ' "its head"
exits 129 "--top-process has no place in a table" "$SONDE" what --preset mpstat --top-process 0.2 1
"$SONDE" workload leaf 600 >/dev/null &
pid=$!
listed() { "$SONDE" what --preset pidstat 0.5 1 --json | python3 -c 'import json,sys
sys.exit(not any(t["pid"] == int(sys.argv[1]) and t["user_percent"] > 0 and t["cpu_percent"] >= t["user_percent"] for t in json.load(sys.stdin)["tasks"]))' $pid; }
wait_until listed
ok $? "pidstat preset: a process that runs is listed with its time in user space"
kill $pid
wait $pid 2>/dev/null
exits 129 "which has no columns of the system" "$SONDE" what --preset pidstat -m 0.2 1

# ---- cgroups ----

group=/sys/fs/cgroup/sonde-what-$$
[ -e /sys/fs/cgroup/cgroup.controllers ] || group=/sys/fs/cgroup/cpuacct/sonde-what-$$
if mkdir "$group" 2>/dev/null; then
	"$SONDE" workload leaf 600 >/dev/null &
	pid=$!
	echo $pid >"$group/cgroup.procs"
	used() { "$SONDE" what --cgroup -G "sonde-what-$$" --openmetrics 0.2 1 | awk '/^sonde_cgroup.*_cpu_percent\{name="sonde-what/ { print ($2 > 0) }'; }
	is_used() { [ "$(used)" = 1 ]; }
	wait_until is_used
	ok $? "--cgroup: CPU time of a cgroup" || diag "$("$SONDE" what --cgroup --json 0.2 1)"
	like "$("$SONDE" what --cgroup --csv 0.2 1 | head -1)" "sonde-what-$$/cpu" "it is one of all of them"
	kill $pid
	wait $pid 2>/dev/null
	wait_until rmdir "$group"
else
	skip "cgroups cannot be made here" "--cgroup: CPU time of a cgroup"
fi
if [ ! -e /sys/class/thermal/thermal_zone0 ] && [ ! -e /sys/class/hwmon/hwmon0 ]; then
	exits 1 "temperatures of a machine without sensors" "$SONDE" what --temperature 0.2 1
else
	skip "this machine has sensors" "temperatures of a machine without sensors"
fi

# ---- other tools, over the same interval ----

peer_metric() { # TOOL NAME METRIC OPTIONS... <<< value command in $peer
	local tool=$1 name=$2 metric=$3 a b
	shift 3
	if needs_or_skip "$tool: $name lies between two readings of ours" "$tool"; then return; fi
	a=$(total "$metric" "$@")
	x=$(peer)
	b=$(total "$metric" "$@")
	between "$a" "$x" "$b" "$tool: $name lies between two readings of ours"
}
peer() { vmstat -s | awk '/CPU context switches/ { print $1 }'; }
peer_metric vmstat "context switches" sonde_sys_switches_total -y
peer() { vmstat -s | awk '/ forks$/ { print $1 }'; }
peer_metric vmstat "forks" sonde_proc_forks_total -p
peer() { vmstat -s | awk '/K paged out/ || / pages paged out/ { print $1 }'; }
peer_metric vmstat "kilobytes written" sonde_vmstat_io_written_kilobytes_total --preset vmstat
disk=$("$SONDE" what -d -f --json 1 1 | python3 -c 'import json,sys; print(next((d for d in json.load(sys.stdin).get("disk", {}) if not d.startswith(("loop", "zram", "ram"))), ""))')
if [ -n "$disk" ]; then
	peer() { iostat -d -k "$disk" | awk -v d="$disk" '$1 == d { printf "%.0f\n", $6 * 1024 }'; }
	peer_metric iostat "kilobytes read" "sonde_disk_read_bytes_total{name=\"$disk\"}" -d -D "$disk"
	peer() { iostat -d -k "$disk" | awk -v d="$disk" '$1 == d { printf "%.0f\n", $7 * 1024 + 1023 }'; }
	if ! needs_or_skip "iostat: bytes written" iostat; then
		a=$(total "sonde_disk_written_bytes_total{name=\"$disk\"}" -d -D "$disk")
		x=$(peer)
		b=$(total "sonde_disk_written_bytes_total{name=\"$disk\"}" -d -D "$disk")
		between "$a" "$x" $((b + 1024)) "iostat: bytes written lie between two readings of ours, to the kilobyte"
	fi
else
	skip "no disk here" "iostat: bytes read lie between two readings of ours"
fi
# Shares since boot: bounded by what each part and the whole were before and after.
if ! needs_or_skip "mpstat: idle time lies between two readings of ours" mpstat; then
	all="user nice system idle iowait irq softirq steal"
	# shellcheck disable=SC2086
	{ i1=$(ticks idle); t1=$(ticks $all); x=$(LC_ALL=C mpstat | awk '$2 == "all" || $3 == "all" { print $NF }'); i2=$(ticks idle); t2=$(ticks $all); }
	between "$(awk "BEGIN { print 100 * $i1 / $t2 - 0.01 }")" "$x" "$(awk "BEGIN { print 100 * $i2 / $t1 + 0.01 }")" \
		"mpstat: idle time lies between two readings of ours"
fi
# dstat's first line is a total divided by the time since boot, in seconds.
if ! needs_or_skip "dstat: context switches since boot lie between two readings of ours" dstat; then
	up() { cut -d' ' -f1 /proc/uptime; }
	u1=$(up); a=$(total sonde_sys_switches_total -y)
	dstat -y --nocolor 1 1 >dstat.out 2>/dev/null # (its CSV has no lines where Python 3 runs it)
	b=$(total sonde_sys_switches_total -y); u2=$(up)
	# Four figures, or thousands with a k.
	read -r x unit <<<"$(tail -1 dstat.out | awk '{ v = $2; k = sub(/k$/, "", v) ? 1000 : 1; print v * k, k }')"
	between "$(awk "BEGIN { print $a / ($u2 + 1) - $unit }")" "$x" "$(awk "BEGIN { print $b / ($u1 - 1) + $unit }")" \
		"dstat: context switches since boot lie between two readings of ours"
	u1=$(up)
	x=$("$SONDE" what -y --json 1 1 | column sys switches)
	u2=$(up)
	c=$(total sonde_sys_switches_total -y)
	between "$(awk "BEGIN { print $b / ($u2 + 1) }")" "$x" "$(awk "BEGIN { print $c / ($u1 - 1) }")" "and so does our own first line"
fi
# What sar counts in its interval cannot be more than what we counted around it.
if ! needs_or_skip "sar: context switches of its interval are among ours" sar; then
	a=$(total sonde_sys_switches_total -y)
	x=$(LC_ALL=C sar -w 1 1 | awk '/^Average/ { print $3 }')
	b=$(total sonde_sys_switches_total -y)
	between 1 "$x" "$(awk "BEGIN { print ($b - $a) / 0.9 }")" "sar: context switches of its interval are among ours"
fi

# ---- events, formats, rights ----

exits 0 "an event as a column" "$SONDE" what -y -e sched:sched_switch --json 0.2 2
is "$(head -1 <<<"$out" | column events sched:sched_switch)" null "an event has no value since boot"
[ "$(column events sched:sched_switch <<<"$out" | cut -d. -f1)" -gt 0 ]
ok $? "and one for the interval"
exits 129 "an event that does not exist" "$SONDE" what -e no:such 0.1 1
[ -n "$err" ]
ok $? "is refused with a message"

"$SONDE" what --csv -cy 0.1 3 >csv
is "$(wc -l <csv)" 4 "CSV: names and three lines"
like "$(head -1 csv)" '^time,cpu/total/user,.*,sys/interrupts,sys/switches$' "CSV: names"
like "$(tail -1 csv)" '^[0-9]+\.[0-9]{3}(,[0-9.e+-]*){7}$' "CSV: values"
is "$("$SONDE" what --color=always -c 0.1 2 | grep -c $'\x1b')" 2 "colours are on numbers, not on titles"
is "$("$SONDE" what -c 0.1 2 | grep -c $'\x1b')" 0 "none without a terminal"

"$SONDE" what -f --openmetrics 0.1 2 >metrics
python3 - metrics <<'END'
import re, sys
for text in open(sys.argv[1]).read().split("# EOF\n")[:-1]:
    kinds, order = {}, []
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds, line
            kinds[name] = kind
            order.append(name)
        elif not line.startswith("# HELP "):
            m = re.fullmatch(r'([a-zA-Z_]\w*)(\{name="(?:[^"\\]|\\.)*"\})? (-?[0-9.e+-]+)', line)
            assert m, line
            base = m[1].removesuffix("_total")
            assert base == order[-1], line
            assert (kinds[base] == "counter") == m[1].endswith("_total"), line
END
ok $? "OpenMetrics: every value below its own type, counters end in _total"

mkdir pub && chmod 755 . pub && cp "$SONDE" pub/sonde && chmod 755 pub/sonde
if ! needs_or_skip "without root: the default columns" setpriv; then
	exits 0 "without root: the default columns" setpriv --reuid 65534 --regid 65534 --clear-groups "$PWD/pub/sonde" what 0.1 2
	is "$err" "" "without root: nothing is missing"
	is "$(grep -c '|' <<<"$out")" 3 "without root: titles and two lines"
fi
if unshare --mount --pid --fork true 2>/dev/null; then
	exits 0 "with hidepid, in namespaces of its own" unshare --mount --pid --fork sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$0" what -a --vm --socket 0.1 2' "$SONDE"
	is "$(grep -c '|' <<<"$out")" 3 "with hidepid: titles and two lines"
else
	skip "no namespaces here" "with hidepid, in namespaces of its own"
fi
done_testing

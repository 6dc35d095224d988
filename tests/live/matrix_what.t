#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 120
# Rows of the acceptance matrix about counters: each asks its own question and compares with the file or tool it names.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH

# ---- raw counters ----

# raw FILE FIELD [ROW]: value, unit, about of one item
raw() { sonde what --raw "$1" --json | python3 -c 'import json,sys
field, row = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
for i in json.load(sys.stdin)["items"]:
    if i["field"] == field and i.get("row", "") == row:
        print(i["value"], i.get("unit", "-"), i.get("about", "-"), sep="\t")' "${@:2}"; }
# grows ROWS FILE FIELD ROW: the value lies between what the file says before and after, as awk program $5 finds it
grows() {
	local a b x
	a=$(awk "$5" "$2")
	x=$(raw "$2" "$3" "$4" | cut -f1)
	b=$(awk "$5" "$2")
	awk -v a="$a" -v x="$x" -v b="$b" 'BEGIN { exit !(x != "" && a <= x && x <= b) }'
	ok $? "$1: $2 $3 is what the file says" || diag "$a <= $x <= $b does not hold"
}
n=4
for field in user nice system idle iowait irq softirq steal guest guest_nice; do
	n=$((n + 1))
	case $field in idle | iowait) continue ;; esac # may step back
	grows S4-073 /proc/stat $field cpu "\$1 == \"cpu\" { print \$$((n - 3)) }"
done
grows S4-073 /proc/stat intr "" '$1 == "intr" { print $2 }'
grows S4-073 /proc/stat ctxt "" '$1 == "ctxt" { print $2 }'
grows S4-073 /proc/stat btime "" '$1 == "btime" { print $2 }'
grows S4-073 /proc/stat processes "" '$1 == "processes" { print $2 }'
grows S4-073 /proc/stat softirqs "" '$1 == "softirq" { print $2 }'
like "$(raw /proc/stat procs_running)" $'^[0-9]+\ttasks\t' "S4-073: procs_running, a state"
like "$(raw /proc/stat procs_blocked)" $'^[0-9]+\ttasks\t' "S4-073: procs_blocked"

is "$(raw /proc/meminfo MemTotal | cut -f1,2)" "$(awk '$1 == "MemTotal:" { print $2 "\t" $3 }' /proc/meminfo)" "S4-074: MemTotal, in kB"
is "$(sonde what --raw /proc/meminfo --json | python3 -c 'import json,sys; print(*[i["field"] for i in json.load(sys.stdin)["items"]])')" \
	"$(cut -d: -f1 /proc/meminfo | paste -sd' ')" "S4-074: every row of /proc/meminfo"

line=$(awk -F: 'NR > 1 { gsub(/ /, "", $1); print $1 }' /proc/interrupts | tail -1)
first=$(awk 'NR == 1 { print $1 }' /proc/interrupts)
[ -n "$(raw /proc/interrupts "$first" "$line")" ]
ok $? "S4-075: a count for each interrupt and CPU"
"$SONDE" workload leaf 600 >/dev/null &
pid=$!
out=$(sonde what --raw /proc/interrupts 0.5 2)
kill $pid
wait $pid 2>/dev/null
like "$out" '^(LOC|IPI0|arch_timer|[0-9A-Z]+)/all +[0-9]+ +[0-9]+\.[0-9] +times' "S4-075: and differences per second"
like "$(sonde what --raw /proc/interrupts)" '/source +[^ ]' "S4-075: controller, type and name"

cp "$(command -v sleep)" 'a) b (c'
'./a) b (c' 600 &
odd=$!
wait_until grep -q '(a) b' /proc/$odd/stat
# same ROWS NAME FILE FIELD AWK: value and unit are the file's, which may change while the program starts
same() {
	local a b x
	for _ in {1..100}; do
		a=$(awk "$5" "$3")
		x=$(raw "$3" "$4" | cut -f1,2)
		b=$(awk "$5" "$3")
		[ "$a" != "$b" ] || break
	done
	is "$x" "$a" "$1: $2"
}
same S4-076 "PID/statm" /proc/$odd/statm size '{ print $1 "\tpages" }'
same S4-076 "PID/statm, memory that is present" /proc/$odd/statm resident '{ print $2 "\tpages" }'
is "$(sonde what --raw /proc/$odd/statm --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["items"]))')" 7 "S4-076: seven page counts"
is "$(raw /proc/$odd/stat comm | cut -f1)" 'a) b (c' "S4-077: PID/stat, a name with parentheses"
is "$(raw /proc/$odd/stat ppid | cut -f1)" $$ "S4-077: the field after the name is the right one"
is "$(sonde what --raw /proc/$odd/stat --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["items"]))')" "$(sed 's/.*) //' /proc/$odd/stat | awk '{ print NF + 2 }')" "S4-077: all of its fields"
is "$(raw /proc/$odd/status Name | cut -f1)" 'a) b (c' "S4-078: PID/status, a name"
same S4-078 "a value in kB" /proc/$odd/status VmSize '$1 == "VmSize:" { print $2 "\t" $3 }'
kill $odd
wait $odd 2>/dev/null

dev=$(for d in /sys/block/*/stat; do awk -v d="$d" '$1 > 0 { print d; exit }' "$d"; done | head -1)
dev=${dev:-$(echo /sys/block/*/stat | cut -d' ' -f1)}
if [ -e "$dev" ]; then
	is "$(sonde what --raw "$dev" --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["items"]))')" "$(wc -w <"$dev")" "S4-079: all values of $dev"
	at=0
	for spec in S4-082:read_ios:requests:'number of read I/Os processed' S4-083:read_merges:requests:'number of read I/Os merged with in-queue I/O' \
		S4-084:read_sectors:sectors:'number of sectors read' S4-085:read_ticks:milliseconds:'total wait time for read requests' \
		S4-086:write_ios:requests:'number of write I/Os processed' S4-087:write_merges:requests:'number of write I/Os merged with in-queue I/O' \
		S4-088:write_sectors:sectors:'number of sectors written' S4-089:write_ticks:milliseconds:'total wait time for write requests' \
		S4-090:in_flight:requests:'number of I/Os' S4-091:io_ticks:milliseconds:'total time this block device has been active' \
		S4-092:time_in_queue:milliseconds:'total wait time for all requests'; do
		IFS=: read -r row field unit about <<<"$spec"
		at=$((at + 1))
		like "$(raw "$dev" "$field")" $'^[0-9]+\t'"$unit"$'\t'"$about" "$row: $field, in $unit, explained"
		[ $field = in_flight ] || grows "$row" "$dev" $field "" "{ print \$$at }"
	done
	unlike "$(sonde what --raw "$dev" 0.1 2 | grep '^in_flight' | tail -1)" '[0-9]\.[0-9]' "S4-090: a state has no rate"
else
	for row in S4-079 S4-082 S4-083 S4-084 S4-085 S4-086 S4-087 S4-088 S4-089 S4-090 S4-091 S4-092; do skip "no block device here" "$row: fields of a disk"; done
fi
grows S4-080 /proc/net/dev rx_bytes lo '$1 ~ /^lo:/ { sub(/.*:/, ""); print $1 }'
grows S4-080 /proc/net/dev tx_packets lo '{ if (sub(/^ *lo:/, "")) print $10 }'
for file in /proc/stat /proc/meminfo /proc/interrupts /proc/softirqs /proc/vmstat /proc/net/dev /proc/net/snmp /proc/self/statm /proc/self/stat /proc/self/status; do
	exits 0 "S4-072: reads $file" sonde what --raw $file
done
exits 0 "S4-093: every column explained" sonde what --list
like "$out" 'growth per second of intr in /proc/stat' "S4-093: where a column comes from"
like "$out" 'mean number of tasks that ran, wanted to, or slept uninterruptibly' "S4-093: what it means exactly"
like "$(raw /proc/stat iowait cpu)" 'says little on several CPUs' "S4-093: and where a counter misleads"

# ---- tools ----

exits 0 "S4-007: the default" sonde what 0.2 3
is "$(sed -n 1p <<<"$out")" "--total-cpu-usage-- -dsk/total- -net/total- ---paging-- ---system--" "S4-007: groups of dstat's default"
is "$(sed -n 2p <<<"$out")" "usr sys idl wai stl| read  writ| recv  send|  in   out | int   csw " "S4-007: columns"
is "$(wc -l <<<"$out")" 5 "S4-007: one line for each interval"
if ! needs_or_skip "S4-007: titles are dstat's, to the character" dstat; then
	is "$(sed -n 1,2p <<<"$out")" "$(dstat 1 1 2>/dev/null | grep -v '^You did' | sed -n 1,2p)" "S4-007: titles are dstat's, to the character"
fi
exits 0 "S4-008: --udp --tcp --socket" sonde what --udp --tcp --socket 0.1 1
is "$(sed -n 1p <<<"$out")" "---udp--- ------tcp-sockets------- --------sockets---------" "S4-008 S4-011: groups in the order of the options, titles centred"
is "$(sed -n 2p <<<"$out")" "lis  act |lis  act  syn  tim  clo |tot  tcp  udp  raw  frg " "S4-012: columns of sockets"
is "$(sonde what --tcp --udp 0.1 1 | sed -n 1p)" "------tcp-sockets------- ---udp---" "S4-008: another order"
python3 -c 'import socket, time
s = [socket.socket() for i in range(7)]
for i in s: i.bind(("127.0.0.1", 0)); i.listen()
open("listening", "w").close(); time.sleep(600)' &
pid=$!
before=$(awk 'FNR > 1 && $4 == "0A"' /proc/net/tcp /proc/net/tcp6 2>/dev/null | wc -l)
wait_until test -e listening
is "$(sonde what --tcp --json 0.1 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["tcp"]["listen"])')" \
	"$(awk 'FNR > 1 && $4 == "0A"' /proc/net/tcp /proc/net/tcp6 2>/dev/null | wc -l)" "S4-012: listening sockets are counted (7 more than $before)"
kill $pid
wait $pid 2>/dev/null
exits 0 "S4-009: --vm --aio" sonde what --vm --aio 0.2 2
is "$(sed -n 1p <<<"$out")" "-----virtual-memory---- async" "S4-009 S4-010: groups virtual-memory and async"
is "$(sed -n 2p <<<"$out")" "majpf minpf alloc  free| #aio" "S4-010: columns"
like "$(sed -n 3p <<<"$out")" '^( *[0-9.]+[ kM]){4}\| *[0-9.]+[ k]$' "S4-010: values scaled, a bar between groups"

exits 0 "S0-003: as sar" sonde what --preset sar 0.3 2
is "$(grep -cE '^[0-9]{2}:[0-9]{2}:[0-9]{2} ' <<<"$out")" 2 "S0-003: rows with a time"
like "$out" '^Average: ' "S0-003: averages"
like "$out" '%user.*%idle.*kbmemfree.*bread/s.*rxkB/s' "S0-003: CPU, memory, I/O, network"
exits 0 "S0-004: as vmstat" sonde what --preset vmstat 0.3 2
if ! needs_or_skip "S0-004: vmstat's own columns" vmstat; then
	is "$(sed -n 2p <<<"$out" | tr -s ' ' | sed 's/^ //')" "$(vmstat | sed -n 2p | tr -s ' ' | sed 's/^ //; s/ gu$//')" "S0-004: vmstat's own columns"
fi
is "$(sonde what --preset vmstat | wc -l)" 3 "S0-004: without a delay one line, since boot"
is "$(sonde what --preset vmstat --json 0.1 2 | grep -c '"since_boot":true')" 1 "S0-004: the first line is since boot, the second is not"
exits 0 "S4-004: as iostat" sonde what --preset iostat
like "$(head -1 <<<"$out")" '^Device +r/s +rkB/s +rrqm/s +r_await +rareq-sz +w/s +wkB/s .*%util$' "S4-004: columns of iostat -x"
exits 0 "S4-005: as netstat -i" sonde what --preset netstat
if ! needs_or_skip "S4-005: packets of an interface as netstat -i says" netstat; then
	is "$(sonde what --preset netstat | awk '$1 == "Iface" { print $2, $3, $4, $5, $6, $7, $8, $9 }')" \
		"$(netstat -i | awk '$1 == "Iface" { print $3, $4, $5, $6, $7, $8, $9, $10 }')" "S4-005: columns of netstat -i"
	a=$(netstat -s 2>/dev/null | awk '/total packets received/ { print $1 }')
	x=$(raw /proc/net/snmp InReceives Ip | cut -f1)
	b=$(netstat -s 2>/dev/null | awk '/total packets received/ { print $1 }')
	[ "$a" -le "$x" ] && [ "$x" -le "$b" ]
	ok $? "S4-005: protocol statistics are those of netstat -s" || diag "$a $x $b"
fi
exits 0 "S4-005: sockets by state" sonde what --tcp --udp --unix --socket 0.1 1
exits 0 "S4-006: as ifstat" sonde what --preset ifstat 0.2 2
like "$out" 'KB/s in +KB/s out' "S4-006: KB/s in and out for each interface"
is "$(sed -n '3,$p' <<<"$out" | grep -c .)" 2 "S4-006: a line for each interval"
for tool in iostat vmstat netstat ifstat dstat; do
	exits 0 "S4-003: the form of $tool" sonde what --preset $tool 0.1 1
done
exits 0 "S4-014: sampled counters" sonde what -y --json 0.2 3
is "$(python3 -c 'import json,sys
rows = [json.loads(l) for l in sys.stdin]
print(all(r["interval_s"] >= 0.19 and r["sys"]["interrupts"] is not None for r in rows[1:]) and len(rows) == 3)' <<<"$out")" True "S4-014: differences of every interval"
done_testing

#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 240
# inspect kmem -i and -z, bpf, ipcs, swap and dev, against /proc and what we make here.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
[ -e /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
"$SONDE" inspect '$current->pid' >/dev/null 2>&1 || skip_all "kernel memory cannot be read here: $("$SONDE" inspect '$current->pid' 2>&1 | head -1)"
i() { "$SONDE" inspect "$@"; }
cd "$SONDE_TMP" || exit 1

# ---- kmem -z -----------------------------------------------------------------------------------------------------------------------
cat >zones.py <<'END'
import json, re, sys

def read(path):
    zones, zone, node_stats = {}, None, False
    for line in open(path):
        if m := re.match(r"Node (\d+), zone +(\S+)", line):
            zone = zones[int(m[1]), m[2]] = {}
            node_stats = False
        elif "per-node stats" in line:
            node_stats = True
        elif "pages free" in line:
            node_stats = False
        elif "pagesets" in line:
            zone = {}
        elif (m := re.match(r" +(\w+) +(\d+)$", line)) and not node_stats:
            zone[m[1]] = int(m[2])
    return zones

before, after = read("zoneinfo.before"), read("zoneinfo.after")
ours = {(r["node"], r["name"]): r for r in json.load(open("zones.json"))["rows"] if "zone" in r}
if set(ours) < set(before):
    print("missing:", set(before) - set(ours))
for key, want in before.items():
    have = ours.get(key, {})
    for name in ("spanned", "present", "managed", "min", "low", "high"):
        # A boost for a while is part of what zoneinfo prints.
        boost = want.get("boost", 0) if name in ("min", "low", "high") else 0
        if have.get(name) != want[name] - boost:
            print(key, name, have.get(name), want[name])
    counters = {n.lower(): v for n, v in have.get("counters", {}).items()}
    compared = 0
    for name, value in want.items():
        # Those that stood still meanwhile.
        if name in counters and after[key].get(name) == value:
            compared += 1
            if counters[name] != value:
                print(key, name, counters[name], value)
    if want["present"] and compared < 3:
        print(key, "too few counters:", sorted(counters))
END
zones_agree() {
	cat /proc/zoneinfo >zoneinfo.before
	i --json kmem -z >zones.json
	cat /proc/zoneinfo >zoneinfo.after
	python3 zones.py >bad 2>&1
	[ ! -s bad ]
}
WAIT_SECONDS=30 wait_until zones_agree
ok $? "kmem -z: zones, sizes, watermarks and counters as in /proc/zoneinfo" || diag "$(cat bad)"
i kmem -z >zones
like "$(cat zones)" '^NODE: 0  ZONE: [0-9]  ADDR: ff[0-9a-f]{14}  NAME: "[A-Z0-9]+"$' "kmem -z: crash's head"
like "$(cat zones)" '^ +NR_FREE_PAGES: [0-9]+$' "kmem -z: a zone's counter"
like "$(cat zones)" '^ +NR_FILE_PAGES: [0-9]+$' "kmem -z: a node's counter"
zone=$(sed -n 's/.* ADDR: \([0-9a-f]*\) .*/\1/p' zones | head -1)
like "$(i p "((struct zone *)0x$zone)->name")" "\"$(sed -n 's/.*NAME: "\(.*\)"/\1/p' zones | head -1)\"\$" "kmem -z: the address is the zone's"

# ---- kmem -i -----------------------------------------------------------------------------------------------------------------------
i kmem -i >usage
page=$(getconf PAGESIZE)
kb() { awk -v n="$1:" '$1 == n { print $2 }' /proc/meminfo; }
is "$(awk '/TOTAL MEM +[0-9]/ { print $3; exit }' usage)" "$(($(kb MemTotal) * 1024 / page))" "kmem -i: all memory, in pages"
is "$(awk '/TOTAL SWAP +[0-9]/ { print $3; exit }' usage)" "$(($(kb SwapTotal) * 1024 / page))" "kmem -i: swap"
like "$(cat usage)" '^ +FREE +[0-9]+ +[0-9.]+ [KMG]B +[0-9]+% of TOTAL MEM$' "kmem -i: free memory"
i --json kmem -i >usage.json
is "$(python3 -c '
import json
u = json.load(open("usage.json"))["rows"][0]
print(u["used"] + u["free"] == u["total"], 0 < u["cached"] < u["total"])')" "True True" "kmem -i: used and free make the total"
exits 129 "-i and -z" i kmem -i -z
exits 129 "-z with an argument" i kmem -z DMA

# ---- bpf: somebody who holds the program that reads memory -----------------------------------------------------------------------
"$SONDE" inspect --memory bpf -i 3600 '$current->pid' >watch.out 2>&1 &
watch=$!
wait_until grep -q ' = [0-9]' watch.out
ok $? "one who reads memory again and again"
grep -h '^prog_id:' "/proc/$watch/fdinfo/"* | awk '{ print $2; exit }' >held
like "$(cat held)" '^[0-9]+$' "and holds a program"
i --json bpf >bpf.json
ok $? "bpf"
python3 - >prog <<'END'
import json
rows = json.load(open("bpf.json"))["rows"]
maps = {r["id"]: r for r in rows if "map" in r}
p = [r for r in rows if "prog" in r and r["id"] == int(open("held").read())][0]
m = maps[p["maps"][0]]
print(p["id"], p["prog"], p["aux"], p["bytes"], m["id"], m["map"], m["type"], m["max_entries"])
END
read -r id prog aux bytes map_id map type entries <prog
is "$(i p "((struct bpf_prog *)$prog)->aux->id")" "((struct bpf_prog *)$prog)->aux->id = \$1 = $id" "bpf: the address is that of the program"
is "$(i p "((struct bpf_prog_aux *)$aux)->used_maps[0]->id" | sed 's/.* = //')" "$map_id" "bpf: its maps"
is "$(i p "((struct bpf_map *)$map)->max_entries" | sed 's/.* = //')" "$entries" "bpf: and the map's address"
like "$(i p "((struct bpf_map *)$map)->map_type")" " = BPF_MAP_TYPE_$type\$" "bpf: its type"
is "$((8 * $(i p "((struct bpf_prog *)$prog)->len" | sed 's/.* = //')))" "$bytes" "bpf: the size of its instructions"
like "$(i bpf -p "$id")" "^ *$id  ${prog#0x}  ${aux#0x}  RAW_TRACEPOINT +[0-9a-f]{16}  .* $map_id(,[0-9]+)*\$" "bpf -p: one program"
is "$(i bpf -p "$id" | wc -l)" 2 "bpf -p: and no other"
like "$(i bpf -m "$map_id")" "^ *$map_id  ${map#0x}  $type " "bpf -m: one map"
is "$(i bpf -P | grep -c MAP_FLAGS)" 0 "bpf -P: no maps"
kill "$watch"
wait "$watch" 2>/dev/null
exits 1 "a program that is not there" i bpf -p 4000000000
exits 1 "a number that no program has" i bpf -p 4294967297
like "$err" 'no BPF program 4294967297' "is not cut to one that exists"
exits 129 "-p and -m" i bpf -p 1 -m 1

# ---- ipcs --------------------------------------------------------------------------------------------------------------------------
if [ -e /proc/sysvipc/shm ] && command -v ipcmk >/dev/null; then
	made() { sed 's/.*: //'; }
	shm=$(ipcmk -M 12345 -p 0640 | made)
	sem=$(ipcmk -S 3 -p 0600 | made)
	msg=$(ipcmk -Q -p 0644 | made)
	i --json ipcs >ipcs.json
	cat >ipcs.py <<'END'
import json, sys
kinds = {"shared": ("shm", "shmid", "bytes", "size"), "semaphores": ("sem", "semid", "semaphores", "nsems"), "messages": ("msg", "msqid", "bytes", "cbytes")}
rows = json.load(open("ipcs.json"))["rows"]
for kind, (file, id_name, ours, theirs) in kinds.items():
    lines = [l.split() for l in open(f"/proc/sysvipc/{file}")]
    for line in lines[1:]:
        want = dict(zip(lines[0], line))
        if want[id_name] not in sys.argv[1:]:
            continue
        have = [r for r in rows if r["kind"] == kind and str(r["id"]) == want[id_name]]
        if len(have) != 1:
            print(kind, want, have)
            continue
        r = have[0]
        got = (int(r["key"], 16), r["uid"], "%o" % r["mode"], r[ours])
        if got != (int(want["key"]) & 0xffffffff, int(want["uid"]), want["perms"][-3:], int(want[theirs])):
            print(kind, want, r)
        print("found", file=sys.stderr)
END
	python3 ipcs.py "$shm" "$sem" "$msg" >bad 2>found
	is "$(cat bad)" "" "ipcs: keys, owners, permissions and sizes as in /proc/sysvipc"
	is "$(grep -c found found)" 3 "ipcs: all three kinds"
	addr=$(i ipcs -m "$shm" | awk -v id="$shm" '$3 == id { print $1 }')
	like "$(i p "((struct shmid_kernel *)0x$addr)->shm_segsz")" ' = 12345$' "ipcs -m: the address is that of the segment"
	is "$(i ipcs -m "$addr" | awk 'NR == 2 { print $3 }')" "$shm" "ipcs: by address"
	addr=$(i ipcs -s "$sem" | awk -v id="$sem" '$3 == id { print $1 }')
	like "$(i p "((struct sem_array *)0x$addr)->sem_nsems")" ' = 3$' "ipcs -s: semaphores"
	ipcrm -m "$shm" -s "$sem" -q "$msg"
	exits 1 "one that is gone" i ipcs -m "$shm"
else
	skip "no System V IPC here, or no ipcmk" "ipcs"
fi
# ---- swap --------------------------------------------------------------------------------------------------------------------------
swaps() { awk 'NR > 1 { print $1, ($2 == "partition" ? "PARTITION" : "FILE"), $3 "k", $5 }' /proc/swaps; }
is "$(i swap | awk 'NR > 1 { print $NF, $2, $3, $(NF - 1) }')" "$(swaps)" "swap: as in /proc/swaps"
exits 129 "swap with an argument" i swap 1

# ---- dev ---------------------------------------------------------------------------------------------------------------------------
i --json dev >dev.json
python3 - >bad 2>&1 <<'END'
import json, os
rows = json.load(open("dev.json"))["rows"]
chars, kind = set(), None
for line in open("/proc/devices"):
    if ":" in line:
        kind = line
    elif line.strip() and kind.startswith("Character"):
        major, name = line.split(None, 1)
        chars.add((int(major), name.strip()))
have = {(r["major"], r["name"]) for r in rows if r["kind"] == "char"}
if not chars <= have:
    print("char", chars - have)
disks = {r["name"]: r for r in rows if r["kind"] == "disk"}
for name in os.listdir("/sys/block"):
    major, minor = map(int, open(f"/sys/block/{name}/dev").read().split(":"))
    r = disks.get(name)
    if not r or (r["major"], r["minor"]) != (major, minor):
        print("disk", name, major, minor, r)
END
is "$(cat bad)" "" "dev: the character devices of /proc/devices, the disks of /sys/block"
disk=$(i dev -d | awk 'NR == 2 { print $2, $3, $4 }')
if [ -n "$disk" ]; then
	read -r addr name queue <<<"$disk"
	like "$(i p "((struct gendisk *)0x$addr)->disk_name")" "\"$name(\\\\000|\")" "dev -d: the address is that of the disk"
	like "$(i p "((struct gendisk *)0x$addr)->queue")" " 0x$queue" "dev -d: and its queue"
else
	skip "no disk here" "dev -d"
fi
for d in /sys/bus/pci/devices/*; do
	[ -e "$d" ] && echo "${d##*/} $(cut -c3-6 "$d/class") $(cut -c3- "$d/vendor"):$(cut -c3- "$d/device")"
done | sort >want
is "$(i dev -p | awk 'NR > 1 { print $2, $3, $4 }' | sort)" "$(cat want)" "dev -p: names, classes and numbers as in sysfs"
exits 129 "-d and -p" i dev -d -p

for c in 'kmem -z' 'kmem -i' bpf ipcs swap dev 'dev -d' 'dev -p'; do
	# shellcheck disable=SC2086 # two words
	i $c --json | python3 -m json.tool >/dev/null
	ok $? "$c --json"
done
done_testing

#!/usr/bin/env bash
# inspect -d: dumps of every form that is read, made by tests/gen/vmcore.py; and those that are refused. (A guest's: tests/live/inspect_dump.t)
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
cd "$SONDE_TMP" || exit 1
make() { python3 "$SONDE_SRC/tests/gen/vmcore.py" "$@"; }

# form NAME WORDS...: memory through the page tables, and symbols
form() {
	local name=$1 base=${base:-ffffffff81}
	shift
	make dump "$@"
	is "$("$SONDE" inspect -d dump sym counter 2>/dev/null)" "${base}000100 (D) counter" "$name: a symbol"
	like "$("$SONDE" inspect -d dump rd counter 2>/dev/null)" "^${base}000100:  1122334455667788 " "$name: memory"
	like "$("$SONDE" inspect -d dump rd ${base}200100 2>/dev/null)" "^${base}200100:  1122334455667788 " "$name: memory through a large page"
	exits 1 "$name: a hole" "$SONDE" inspect -d dump rd ${base}100000
	like "$err" 'bad address' "$name: a hole is a bad address"
}
form "ELF" elf
form "ELF, VMCOREINFO in memory only" elf scan
form "five levels of tables" x86-5
base=ffff800080 form "arm64" arm64
base=ffff800080 form "arm64, compressed" arm64 zlib scan
form "kdump, not compressed" raw
form "kdump, zlib" zlib
form "kdump, zlib, VMCOREINFO in memory only" zlib scan
form "kdump, zstd" zstd
form "flattened ELF" elf flat
form "flattened kdump" zlib flat

# vtop: physical memory begins at 200000, the page of data is its first one.
make dump
exits 0 "vtop" "$SONDE" inspect -d dump vtop ffffffff81000100 ffffffff81200100
is "$(awk '/^ffff/ { print $2 } /PAGE/ { print }' <<<"$out")" "$(printf '200100\n  PAGE: 200000 (4 KB)\n200100\n  PAGE: 200000 (2 MB)')" "vtop: a page, and a large one"
is "$(grep -cE '^   (PGD|PUD|PMD|PTE): [0-9a-f]+ => [0-9a-f]+$' <<<"$out")" 7 "vtop: four tables, and three"
exits 0 "vtop: a hole" "$SONDE" inspect -d dump vtop ffffffff81100000
like "$out" '^ffffffff81100000  \(not mapped\)$' "vtop: a hole is not mapped"
make dump x86-5
like "$("$SONDE" inspect -d dump vtop ffffffff81000100 2>/dev/null)" '^   P4D: ' "vtop: five tables"
exits 0 "vtop --json" "$SONDE" inspect --json vtop --dump dump ffffffff81000100
like "$out" '"physical":"0x200100","page_bytes":4096' "vtop --json"
exits 129 "vtop alone" "$SONDE" inspect -d dump vtop

make dump zlib flat
exits 0 "--json" "$SONDE" inspect --json sym --dump dump counter
like "$out" '"symbols": "kallsyms \(in the dump\)"' "--json: where symbols came from"

# refused WHAT PATTERN WORDS...
refused() {
	local name=$1 pattern=$2
	shift 2
	make dump "$@"
	exits 1 "$name" "$SONDE" inspect -d dump sym counter
	like "$err" "$pattern" "$name: why"
	is "$out" "" "$name: nothing on stdout"
}
refused "LZO" 'compressed by LZO' lzo
refused "one of several" 'one of several files that one dump was split into' split
refused "a kernel before 6.0" 'cannot read the symbols of kernel 6\.1\.0-made in the dump: .*before 6\.0' old
refused "cut off" 'it is cut off' zlib cut
make whole raw flat
head -c 30000 whole >dump
exits 1 "a flattened one that is cut off" "$SONDE" inspect -d dump sym counter
like "$err" 'cannot read the dump dump: it is broken' "a flattened one that is cut off: why"
head -c 20000 /dev/zero >zeros
exits 1 "zeros" "$SONDE" inspect -d zeros sys
like "$err" 'zeros: not a dump of a kernel' "zeros: why"
printf 'QEVM%05000d' 0 >migration
exits 1 "a migration stream" "$SONDE" inspect -d migration sys
like "$err" 'this is a QEMU migration stream' "a migration stream: by its name"
exits 1 "a program" "$SONDE" inspect -d "$(command -v sleep)" sys
like "$err" 'an ELF file, but not a core dump' "a program: why"
exits 1 "no file" "$SONDE" inspect -d no-such-file sys
like "$err" 'cannot read the dump no-such-file: No such file' "no file: why"
exits 1 "a device" "$SONDE" inspect -d /dev/zero sys
exits 129 "-d and -i" "$SONDE" inspect -d zeros -i 1 jiffies
exits 129 "-d and --probed" "$SONDE" inspect -d zeros --probed vfs_read

# A sparse file that claims terabytes takes no memory.
make dump raw
python3 - <<'END'
import struct
d = bytearray(open("dump", "rb").read())
struct.pack_into("<I", d, 436, 1 << 20)      # bitmap blocks
struct.pack_into("<Q", d, 4096 + 96, 1 << 33) # pages
with open("huge", "wb") as f:
    f.write(d)
    f.truncate(1 << 42)
END
(ulimit -v 400000 && exec "$SONDE" inspect -d huge sys) >out 2>err
is $? 1 "a sparse dump that claims terabytes"
like "$(cat err)" 'would take too much (memory|time) for a file of' "is refused before memory is taken"
done_testing

#!/usr/bin/env bash
# annotate of kernel functions: the running kernel's own text, through /proc/kcore; a copy of it with the recording (--kcore) or in the
# cache; the image it was booted from; lines of a module.
# Rows of the matrix stand at the head of names.
# where: 6.1 6.12
# needs: root perf_events tracefs module
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP
[ -r /proc/kcore ] || { skip "there is no /proc/kcore" "kernel text"; done_testing; exit; }

"$SONDE" record -e cpu-clock:k -F 999 -o k.data -- dd if=/dev/zero of=/dev/null bs=1M count=500 >/dev/null 2>&1
ok $? "a recording of the kernel"
"$SONDE" report -i k.data --stdio --no-children -g none --sort sym -n >rows 2>/dev/null
hot=$(awk '$1 ~ /%$/ && $3 == "[k]" { print $4; exit }' rows)
samples=$(awk -v f="$hot" '$4 == f { print $2; exit }' rows)
exits 0 "annotate -s $hot" "$SONDE" annotate -i k.data -s "$hot"
like "$out" "Disassembly of .* for cpu-clock:k \\($samples samples" "as many samples as the report says"
like "$out" "<$hot>:" "the function"
[ "$(grep -cE '^ +[0-9.]+ : +f{4}[0-9a-f]+: .*[a-z]' <<<"$out")" -ge 3 ]
ok $? "instructions at the kernel's addresses"
bad=$(grep -c '(bad)' <<<"$out")
is "$bad" 0 "which are code"
first=$(sed -n 's/^ *[0-9.]* : *\([0-9a-f]*\): .*/\1/p' <<<"$out" | head -1)
is "$first" "$(awk -v f="$hot" '$3 == f { print $1; exit }' /proc/kallsyms | sed 's/^0*//')" "from where the kernel says it begins"
total=$(awk '$2 == ":" && $1 ~ /^[0-9.]+$/ { s += $1 } END { printf "%d", s + 0.5 }' <<<"$out")
[ "$total" -ge 98 ] && [ "$total" -le 102 ]
ok $? "the percentages are all of it ($total)"

# ---- from the file that was booted: packed, without names, but the same kernel
vmlinuz=${SONDE_MODULES%/*}/vmlinuz
insns() { sed -n 's/^ *[0-9.]* :   \(ffff[0-9a-f]*\): *\(\([0-9a-f][0-9a-f] \)*\) *\([a-z]*\).*/\1 \2\4/p'; }
exits 0 "annotate -k vmlinuz" "$SONDE" annotate --stdio --asm-raw -i k.data -k "$vmlinuz" -s "$hot"
like "$out" ': 3 +Disassembly of section \.text:' "S4-254: the code is that of the image inside"
packed=$(insns <<<"$out")
[ "$(wc -l <<<"$packed")" -ge 3 ] && [ "$(grep -c ffffffff8 <<<"$packed")" = "$(wc -l <<<"$packed")" ]
ok $? "S4-254: at the addresses that it was linked for"
# The same taken out by other means, and read as an ELF file.
python3 - "$vmlinuz" <<'END'
import lzma, struct, subprocess, sys
data = open(sys.argv[1], "rb").read()
offset, length = struct.unpack_from("<II", data, 0x248)
at = (data[0x1f1] + 1) * 512 + offset
payload = data[at:at + length]
if payload.startswith(b"\xfd7zXZ"):
    elf = lzma.LZMADecompressor().decompress(payload)
elif payload.startswith(b"\x02\x21\x4c\x18"):
    import ctypes, ctypes.util
    lz4, elf, at = ctypes.CDLL("liblz4.so.1"), b"", 4
    while len(elf) < struct.unpack("<I", payload[-4:])[0]:
        size, = struct.unpack_from("<I", payload, at)
        block = ctypes.create_string_buffer(8 << 20)
        made = lz4.LZ4_decompress_safe(payload[at + 4:at + 4 + size], block, size, 8 << 20)
        elf, at = elf + block.raw[:made], at + 4 + size
else:
    elf = subprocess.run(["zstd", "-dcq"], input=payload[:-4], capture_output=True).stdout
open("vmlinux", "wb").write(elf)
END
exits 0 "annotate -k vmlinux" "$SONDE" annotate --stdio --asm-raw -i k.data -k vmlinux -s "$hot"
is "$(insns <<<"$out")" "$packed" "S4-252 S4-254: the same as from the file extracted by other means"
like "$out" "Disassembly of .* for cpu-clock:k \\($samples samples" "S4-252: with the samples that the report says"
python3 - <<'END'
# The ids of the vDSOs are in it, too.
data, mark, at = bytearray(open("vmlinux", "rb").read()), b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", -1
while (at := data.find(mark, at + 1)) >= 0:
    data[at + 20] ^= 1
open("other", "wb").write(data)
END
exits 0 "annotate -k of another build" "$SONDE" annotate --stdio -i k.data -k other -s "$hot"
like "$err" "has a different build ID than the recorded kernel" "S4-252: the build id must match"
rm -f other vmlinux

# ---- --kcore: the recording brings the kernel's code along, in perf's directory format
burn_kernel() { "$@" -- dd if=/dev/zero of=/dev/null bs=1M count=500; }
nops() { # RECORDING: the hot function becomes nops in its copy of the code, and gets another name in its list
	python3 - "$1/kcore_dir" "$hot" <<'END'
import struct, sys
folder, name = sys.argv[1:]
text = open(folder + "/kallsyms").read()
addr = next(int(line.split()[0], 16) for line in text.splitlines() if line.split()[2] == name)
core = open(folder + "/kcore", "r+b")
head = core.read(64)
offset, = struct.unpack_from("<Q", head, 32)
number, = struct.unpack_from("<H", head, 56)
for i in range(number):
    core.seek(offset + 56 * i)
    kind, flags, at, start, _, size, memory, align = struct.unpack("<IIQQQQQQ", core.read(56))
    if start <= addr < start + size:
        core.seek(at + addr - start)
        core.write(b"\x90" * 12)
        print(hex(addr))
open(folder + "/kallsyms", "w").write(text.replace(" %s\n" % name, " renamed_in_copy\n"))
END
}
exits 0 "record --kcore" burn_kernel "$SONDE" record --kcore -e cpu-clock:k -F 999 -o kc.data
is "$(cd kc.data && find . -type f -printf '%m %P\n' | sort -k2)" "$(printf '600 %s\n' data kcore_dir/kallsyms kcore_dir/kcore kcore_dir/modules)" \
	"a directory with the records, the kernel's code and its lists, for the owner only"
like "$(command perf report --header-only -i kc.data 2>/dev/null)" 'directory data version : 0' "perf reads its head"
exits 0 "annotate from it" "$SONDE" annotate --stdio --asm-raw -i kc.data -s "$hot"
fromcopy=$(insns <<<"$out")
"$SONDE" annotate --stdio --asm-raw -i k.data -s "$hot" >live.out 2>/dev/null
is "$fromcopy" "$(insns <live.out)" "the same instructions as in the running kernel"
rows_of() { grep -oE '\[k\] +[A-Za-z_0-9.]+' | sort -u; }
is "$("$SONDE" report -i kc.data --stdio --no-children -g none --sort sym 2>/dev/null | rows_of)" \
	"$(command perf report -i kc.data --stdio --no-children -g none --sort sym 2>/dev/null | rows_of)" "report names as perf does"
if [ "$SONDE_GUEST" = 6.1 ]; then # the rest once is enough: perf is slow here
	[ "$(nops kc.data)" ]
	ok $? "the copy holds the hot function"
	like "$("$SONDE" report -i kc.data --stdio --no-children -g none --sort sym 2>/dev/null)" 'renamed_in_copy' "report takes names from the recording's own list"
	like "$("$SONDE" script -i kc.data -F ip,sym 2>/dev/null)" 'renamed_in_copy' "script too"
	"$SONDE" flame -o flame.svg kc.data >/dev/null 2>&1
	like "$(cat flame.svg)" 'renamed_in_copy' "and flame"
	exits 0 "annotate of what it holds" "$SONDE" annotate --stdio -i kc.data -s renamed_in_copy
	[ "$(grep -cE ': +nop$' <<<"$out")" -ge 12 ]
	ok $? "shows the code of the recording, not that of the running kernel" || diag "$out"
	[ "$(command perf annotate --stdio -i kc.data -s renamed_in_copy 2>/dev/null | grep -cE ': +nop$')" -ge 12 ]
	ok $? "and so does perf"
	truncate -s 5000 kc.data/kcore_dir/kcore
	exits 1 "a copy that is cut off" "$SONDE" annotate --stdio -i kc.data -s renamed_in_copy
	like "$err" 'no code to show' "is not replaced by the running kernel's code"
	"$SONDE" record -q --kcore -o kc.data -- true 2>/dev/null && "$SONDE" record -q --kcore -o kc.data -- true 2>/dev/null
	is "$(ls -d kc.data* | tr '\n' ' ')" "kc.data kc.data.old " "recording over one keeps the last as .old"
	exits 127 "a command that cannot be started" "$SONDE" record --kcore -o none.data -- /no/such/program
	is "$(ls -d none.data* 2>/dev/null)" "" "leaves no directory"
	exits 129 "--kcore into a pipe" "$SONDE" record --kcore -o - -- true
	like "$err" 'writes a directory' "is refused"
	rm -rf kc.data kc.data.old
	burn_kernel command perf record -q --kcore -e cpu-clock:k -F 999 -o pk.data >/dev/null 2>&1
	is "$("$SONDE" report -i pk.data --stdio --no-children -g none --sort sym 2>/dev/null | rows_of)" \
		"$(command perf report -i pk.data --stdio --no-children -g none --sort sym 2>/dev/null | rows_of)" "a directory that perf made: the same names"
	[ "$(nops pk.data)" ] && "$SONDE" annotate --stdio -i pk.data -s renamed_in_copy >out 2>err
	[ "$(grep -cE ': +nop$' out)" -ge 12 ]
	ok $? "and the code in it" || diag "$(cat err; head -20 out)"
	rm -rf pk.data

	# ---- buildid-cache -k: a copy by build ID, for recordings without one
	export PERF_BUILDID_DIR=$SONDE_TMP/kcache
	copies() { find "$PERF_BUILDID_DIR/[kernel.kcore]" -name kcore | wc -l; }
	exits 0 "buildid-cache -k /proc/kcore" "$SONDE" buildid-cache -k /proc/kcore
	is "$(cd kcache && find . -type f | sed -E 's/[0-9a-f]{40}/ID/; s/[0-9]{16}/TIME/' | sort | tr '\n' ' ')" \
		"./[kernel.kcore]/ID/TIME/kallsyms ./[kernel.kcore]/ID/TIME/kcore ./[kernel.kcore]/ID/TIME/modules " "where perf keeps it"
	exits 0 "once more" "$SONDE" buildid-cache -v -k /proc/kcore
	is "$(copies)" 1 "adds nothing"
	command perf buildid-cache -k /proc/kcore 2>/dev/null
	is "$(copies)" 1 "nor does perf, which finds ours"
	exits 0 "-f" "$SONDE" buildid-cache -f -k /proc/kcore
	is "$(copies)" 2 "adds another"
	exits 1 "-k of anything else" "$SONDE" buildid-cache -k k.data
	# Another kernel runs, as far as anyone can tell.
	printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\0aaaaaaaaaaaaaaaaaaaa' >notes
	elsewhere() { unshare -m sh -c 'mount --bind notes /sys/kernel/notes && exec "$@"' sh "$@"; }
	exits 0 "annotate under another kernel" elsewhere "$SONDE" annotate --stdio --asm-raw -i k.data -s "$hot"
	is "$(insns <<<"$out")" "$fromcopy" "finds names and code in the cache"
	PERF_BUILDID_DIR=$SONDE_TMP/none elsewhere "$SONDE" annotate --stdio -i k.data -s "$hot" >out 2>err
	unlike "$(cat out)" 'Disassembly' "and without it there is none"
	rm -rf kcache
	unset PERF_BUILDID_DIR
fi
rm -rf kc.data

# ---- a module that was built with debugging information: source between the instructions
busybox insmod "$SONDE_TEST_MODULE/sonde_test.ko"
"$SONDE" buildid-cache --add "$SONDE_TEST_MODULE/sonde_test.ko" >/dev/null 2>&1
"$SONDE" record -q -e sonde_test:sonde_exit -c 1 -o m.data -- sh -c 'echo event >/proc/sonde_test' 2>/dev/null
exits 0 "annotate of the module's function" "$SONDE" annotate --stdio -l -P -i m.data -s sonde_test_loop
path=$(sed -n 's/^ *[0-9.]* \(\/.*sonde_test\.c\):[0-9]*$/\1/p' <<<"$out" | head -n 1)
like "$out" '^ +100\.00 /.*\.[ch]:[0-9]+' "S1-072: the line that the event stands in"
[ "$(grep -cE '^ +[0-9.]+ : +ffff[0-9a-f]+: .*[a-z]' <<<"$out")" -gt 8 ]
ok $? "S1-072: and the code as the kernel runs it"
path=${path:-$(readelf --debug-dump=info "$SONDE_TEST_MODULE/sonde_test.ko" 2>/dev/null | sed -n 's/.*DW_AT_name.*: \(\/.*\/sonde_test\.c\)$/\1/p' | head -n 1)}
folders=$(tr -cd / <<<"$path" | wc -c)
exits 0 "annotate --prefix" "$SONDE" annotate --stdio -i m.data --prefix "$SONDE_TEST_MODULE" --prefix-strip $((folders - 1)) -s sonde_test_loop
like "$out" ': [0-9]+ +	+int err = sonde_test_step\(reasons\[i\]\);' "S1-072: with source between the instructions"
"$SONDE" record -q --kcore -e sonde_test:sonde_exit -c 1 -o mk.data -- sh -c 'echo event >/proc/sonde_test' 2>/dev/null
busybox rmmod sonde_test
exits 0 "a module that is gone" "$SONDE" annotate --stdio -i mk.data -s sonde_test_loop
[ "$(grep -cE '^ +[0-9.]+ : +ffff[0-9a-f]+: .*[a-z]' <<<"$out")" -gt 8 ]
ok $? "--kcore kept its code, too"
done_testing

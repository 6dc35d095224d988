#!/usr/bin/env bash
# annotate of kernel functions: the running kernel's own text, through /proc/kcore; the image it was booted from; lines of a module.
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
busybox rmmod sonde_test
done_testing

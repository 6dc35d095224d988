#!/usr/bin/env bash
# annotate -k: an image of the kernel with debugging information gives code and source; packed as it boots (bzImage), the code alone. The image is
# a small program linked where the kernel lies, the recording is made of known samples. Rows of the matrix stand at the head of names.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
gen=$(dirname "$SONDE")/tests/stacks_gen
cd "$SONDE_TMP" || exit 1
for t in gcc objdump xz zstd gzip; do # lz4 is written here: its program is not among the packages that tests need
	command -v $t >/dev/null || { skip "there is no $t" "everything"; done_testing; exit; }
done
[ "$(uname -m)" = x86_64 ] || { skip "the image is x86_64's" "everything"; done_testing; exit; }

# Without an image: what helps, and of /proc/kcore only if it is there and not ours to read.
printf '0 app 7 7 1000 @;lex\n' | "$gen" no.data no.names
exits 1 "kernel code that is nowhere" "$SONDE" annotate -i no.data --kallsyms no.names -s lex
like "$err" 'hint: use -k VMLINUX to give an image' "says what helps"
like "$err" '^sonde annotate: no code to show' "and that nothing came of it"
if [ -e /proc/kcore ] && [ "$(id -u)" != 0 ]; then
	like "$err" 'as root the running kernel can be read' "root could have read the running kernel"
else
	unlike "$err" 'kcore' "nothing about what root is or this kernel has not"
fi

# Functions of 256 bytes, one behind the other, as stacks_gen places them.
cat >kernel.c <<'END'
#define FUNC __attribute__((noinline, used, aligned(256)))
asm(".globl _text\n_text = first");
FUNC int first(int n) { asm volatile(""); return n + 2; }
FUNC int startup(int n) { asm volatile(""); return n + 1; }
static inline __attribute__((always_inline)) int checksum(int x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ 5;
}
FUNC int do_work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += checksum(i);
	return sum;
}
FUNC int last(int n) { asm volatile(""); return n; }
END
gcc -O1 -g -mcmodel=kernel -fno-pic -fcf-protection=none -fno-toplevel-reorder -nostdlib -static -Wl,-Ttext=0xffffffff81000000 -Wl,-e,startup \
	-Wl,--build-id -o vmlinux kernel.c 2>log || diag "$(cat log)"
nm vmlinux | awk '/ T (first|startup|do_work|last)$/ { print $1, $3 }' | sort >where
is "$(tr '\n' ';' <where)" "ffffffff81000000 first;ffffffff81000100 startup;ffffffff81000200 do_work;ffffffff81000300 last;" "an image of a kernel"
for i in {1..40}; do echo "$i app 7 7 1000 startup;do_work"; done >story
echo "50 app 7 7 1000 startup;do_work;last" >>story
"$gen" k.data names <story
ok $? "a recording of it"

exits 0 "annotate -k vmlinux" "$SONDE" annotate --stdio --asm-raw -i k.data -k vmlinux -s do_work
like "$out" '\(40 samples, percent: local period\)' "S4-252: what fell on a function of the kernel"
like "$out" ': 3 +Disassembly of section \.text:' "S4-252: with code from vmlinux"
like "$out" '100\.00 :   ffffffff810002[0-9a-f]{2}: ' "S4-252: at the kernel's addresses, with percentages"
like "$out" ': [0-9]+ +		sum \+= checksum\(i\);' "S1-063: source between the instructions"
like "$out" ': [0-9]+ +checksum\(\):
.*
.*	x \^= x << 13;' "S1-063: of inlined functions too"
size=$(nm -S vmlinux | awk '$4 == "do_work" { print $2 }')
objdump -d vmlinux --start-address=0xffffffff81000200 --stop-address="$(printf 0x%x $((0xffffffff81000200 + 0x$size)))" | sed -n 's/^\(ffff[0-9a-f]*\):	\(\([0-9a-f][0-9a-f] \)*\) *	\([a-z]*\).*/\1 \2\4/p' |
	grep -v ' nop\| cs\| data16\| xchg' >want
sed -n 's/^ *[0-9.]* :   \(ffff[0-9a-f]*\): *\(\([0-9a-f][0-9a-f] \)*\) *\([a-z]*\).*/\1 \2\4/p' <<<"$out" | grep -v ' nop\| cs\| data16\| xchg' >got
[ "$(wc -l <want)" -gt 8 ] && cmp -s want got
ok $? "S1-063: addresses, bytes and instructions are those of objdump -Sd vmlinux --start-address" || diag "$(diff want got | head -n 6)"
code=$(cat got)

# Packed as it boots: names are the list's, code and addresses the image's.
strip -o stripped vmlinux
pack() { # HOW COMMAND...
	local how=$1
	shift
	"$@" <stripped >payload || return 1
	python3 - "$how" <<'END'
import struct, sys
how, elf, payload = sys.argv[1], open("stripped", "rb").read(), open("payload", "rb").read()
if how != "gzip":
    payload += struct.pack("<I", len(elf))
head = bytearray(2 * 512)
head[0x1f1] = 1
struct.pack_into("<H", head, 0x1fe, 0xaa55)
head[0x202:0x206] = b"HdrS"
struct.pack_into("<H", head, 0x206, 0x20f)
struct.pack_into("<II", head, 0x248, 64, len(payload))
open("vmlinuz-" + how, "wb").write(head + bytes(64) + payload)
END
}
# LZ4's old frame format: all literals but for runs of zeroes, which repeat the byte before.
lz4() {
	python3 -c 'import struct, sys
data, out, at = sys.stdin.buffer.read(), b"", 0
def number(n):
    r = b""
    while n >= 255:
        r, n = r + b"\xff", n - 255
    return r + bytes([n])
while at < len(data):
    zeroes = data.find(bytes(32), at)
    end = len(data) - 12 if zeroes < 0 or zeroes + 32 > len(data) - 12 else zeroes + 1
    run = 0
    while zeroes >= 0 and end < len(data) - 12 and end + run < len(data) - 12 and data[end + run] == 0:
        run += 1
    literals = data[at:] if run < 4 else data[at:end]
    token = min(len(literals), 15) << 4 | (min(run - 4, 15) if run >= 4 else 0)
    out += bytes([token]) + (number(len(literals) - 15) if len(literals) >= 15 else b"") + literals
    if run < 4:
        break
    out += struct.pack("<H", 1) + (number(run - 4 - 15) if run - 4 >= 15 else b"")
    at = end + run
sys.stdout.buffer.write(struct.pack("<II", 0x184c2102, len(out)) + out)'
}
pack gzip gzip -9nc && pack lz4 lz4 && pack xz xz --check=crc32 --x86 --lzma2=,dict=1MiB -c && pack zstd zstd -q -19 -c
ok $? "the image packed in four ways"
for how in gzip xz zstd lz4; do
	exits 0 "annotate -k vmlinuz-$how" "$SONDE" annotate --stdio --asm-raw -i k.data -k vmlinuz-$how --kallsyms names -s do_work
	got=$(sed -n 's/^ *[0-9.]* :   \(ffff[0-9a-f]*\): *\(\([0-9a-f][0-9a-f] \)*\) *\([a-z]*\).*/\1 \2\4/p' <<<"$out" | grep -v ' nop\| cs\| data16\| xchg' | head -n "$(wc -l <want)")
	is "$got" "$code" "S4-254: the same code out of the compressed image ($how)"
done
# Damage: said, never believed.
python3 - <<'END'
data = bytearray(open("vmlinuz-xz", "rb").read())
data[1500] ^= 0xff
open("hurt", "wb").write(data)
open("short", "wb").write(data[:1200])
open("bzip", "wb").write(open("vmlinuz-xz", "rb").read().replace(b"\xfd7zXZ", b"BZh91"))
END
for bad in hurt short kernel.c; do
	exits 1 "annotate -k $bad" "$SONDE" annotate --stdio -i k.data -k $bad --kallsyms names -s do_work
	like "$err" "neither an ELF file nor a bzImage" "$bad is not used"
done
exits 1 "annotate -k bzip" "$SONDE" annotate --stdio -i k.data -k bzip --kallsyms names -s do_work
like "$err" "uses an unsupported compression" "nor one packed by something else"

# The source may be elsewhere.
mkdir -p moved/src && mv kernel.c moved/src/
depth=$(tr -cd / <<<"$PWD" | wc -c)
unlike "$("$SONDE" annotate -i k.data -k vmlinux -s do_work)" 'sum \+= checksum' "without its source there are none"
like "$("$SONDE" annotate -i k.data -k vmlinux -s do_work --prefix "$PWD/moved/src" --prefix-strip "$depth")" 'sum \+= checksum' "--prefix --prefix-strip says where it is now"
done_testing

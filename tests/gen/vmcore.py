#!/usr/bin/env python3
"""Small dumps of a kernel that never was: page tables, VMCOREINFO, symbols, a page of data.

usage: vmcore.py FILE [x86 | x86-5 | arm64] [elf | raw | zlib | zstd | lzo | split] [note | scan] [flat] [cut] [old]

The page of data is at V0 (_stext), and once more at V0 + 2 MB, through a large page.
"""
import struct
import sys
import zlib

PAGE = 4096
words = sys.argv[2:]
arch = next((w for w in words if w in ("x86", "x86-5", "arm64")), "x86")
kind = next((w for w in words if w in ("elf", "raw", "zlib", "zstd", "lzo", "split")), "elf")
X86 = arch != "arm64"
V0 = 0xffffffff81000000 if X86 else 0xffff800080000000
P0 = 0x200000 if X86 else 0x40200000
DATA, SYMS, TOKENS, INFO, TABLE = 0, 1, 2, 3, 4
pages = {n: bytearray(PAGE) for n in range(TABLE)}


def put(page, at, data):
    pages[page][at:at + len(data)] = data


# ---- data
put(DATA, 0, b"the first page\0")
put(DATA, 0x100, struct.pack("<QI", 0x1122334455667788, 4242))

# ---- symbols: each letter is its own token, and "count" is one
tokens = [bytes([c]) if 32 < c < 127 else b"" for c in range(256)]
tokens[1] = b"count"
table, index = b"", []
for t in tokens:
    index.append(len(table))
    table += t + b"\0"
put(TOKENS, 0, table)
LONG = b"a" * 150
rows = [(b"T_stext", V0), (b"tdo_it", V0 + 0x40), (b"D\1er", V0 + 0x100), (b"T" + LONG, V0 + 0x200), (b"R__start_BTF", V0 + 0x300), (b"R__stop_BTF", V0 + 0x300)]
if X86:
    rows.insert(0, (b"Aper_cpu", 0x8000))
names = b""
offsets = []
for name, addr in rows:
    names += bytes([len(name)]) if len(name) < 128 else bytes([len(name) & 0x7f | 0x80, len(name) >> 7])
    names += name
    offsets.append(addr if addr < 1 << 32 else V0 - 1 - addr) if X86 else offsets.append(addr - V0)
put(SYMS, 0, struct.pack("<IIQ", len(rows), 0, V0))
put(SYMS, 0x100, struct.pack("<%di" % len(offsets), *offsets))
put(SYMS, 0x200, names)
put(SYMS, 0x800, struct.pack("<256H", *index))

# ---- page tables, from the last one up
next_page = TABLE


def new_table(entries):
    global next_page
    pages[next_page] = bytearray(PAGE)
    for at, value in entries.items():
        put(next_page, at * 8, struct.pack("<Q", value))
    next_page += 1
    return P0 + (next_page - 1) * PAGE


PRESENT = 0x63 if X86 else 0x703
LARGE = 0xe3 if X86 else 0x701
levels = 5 if arch == "x86-5" else 4
at = [V0 >> 12 + 9 * n & 511 for n in range(levels)]
table = new_table({at[0] + n: P0 + n * PAGE | PRESENT for n in range(16)})
table = new_table({at[1]: table | PRESENT, at[1] + 1: P0 | LARGE})
for n in range(2, levels):
    table = new_table({at[n]: table | PRESENT})
root = V0 + table - P0

# ---- VMCOREINFO
info = "OSRELEASE=6.1.0-made\nPAGESIZE=4096\nSYMBOL(swapper_pg_dir)=%x\nSYMBOL(_stext)=%x\n" % (root, V0)
if X86:
    info += "NUMBER(phys_base)=%d\nNUMBER(pgtable_l5_enabled)=%d\n" % (P0 - (V0 - 0xffffffff80000000), levels == 5)
else:
    info += "NUMBER(VA_BITS)=48\nNUMBER(kimage_voffset)=0x%x\n" % (V0 - P0)
if "old" not in words:
    for name, a in (("num_syms", 0), ("relative_base", 8), ("offsets", 0x100), ("names", 0x200), ("token_index", 0x800)):
        info += "SYMBOL(kallsyms_%s)=%x\n" % (name, V0 + SYMS * PAGE + a)
    info += "SYMBOL(kallsyms_token_table)=%x\n" % (V0 + TOKENS * PAGE)
info = info.encode()


def note(name, kind_, desc):
    pad = lambda b: b + bytes(-len(b) % 4)
    return struct.pack("<III", len(name), len(desc), kind_) + pad(name) + pad(desc)


info_note = note(b"VMCOREINFO\0", 0, info)
if "scan" in words:
    put(INFO, 0, info_note)
regs = 27 if X86 else 34
notes = note(b"CORE\0", 1, bytes(112) + struct.pack("<%dQ" % regs, *range(1, regs + 1)) + bytes(8))
if "scan" not in words:
    notes += info_note
memory = b"".join(bytes(pages[n]) for n in range(next_page))

# ---- the file
if kind == "elf":
    head = 64 + 2 * 56
    out = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 4, 62 if X86 else 183, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    out += struct.pack("<IIQQQQQQ", 4, 0, head, 0, 0, len(notes), len(notes), 0)
    out += struct.pack("<IIQQQQQQ", 1, 7, head + len(notes), 0, P0, len(memory), len(memory), 0)
    out += notes + memory
else:
    uts = b"".join(w.ljust(65, b"\0") for w in (b"Linux", b"made", b"6.1.0-made", b"#1", b"x86_64" if X86 else b"aarch64", b"none"))
    first = P0 // PAGE
    nr = first + next_page
    blocks = (nr // 8 + PAGE) // PAGE
    bitmap = bytearray(blocks * PAGE)
    for n in range(first, nr):
        bitmap[n // 8] |= 1 << n % 8
    flags = {"raw": 0, "split": 0, "zlib": 1, "lzo": 2, "zstd": 0x20}[kind]
    out = (b"KDUMP   " + struct.pack("<i", 6) + uts + bytes(6 + 16) + struct.pack("<IiiIIIIIIi", flags, PAGE, 1, 2 * blocks, nr, 0, 0, 0, 0, 1)).ljust(PAGE, b"\0")
    heads = (2 + 2 * blocks) * PAGE
    data = heads + next_page * 24
    packed, descs = b"", b""
    for n in range(next_page):
        page = bytes(pages[n])
        if kind == "zlib":
            page = zlib.compress(page)
        elif kind == "zstd" and page == page[:1] * PAGE:  # a frame of one block that repeats a byte; the other pages stay as they are
            page = struct.pack("<IBH", 0xfd2fb528, 0x60, PAGE - 256) + struct.pack("<I", 1 | 1 << 1 | PAGE << 3)[:3] + page[:1]
        packed_flags = flags if kind != "zstd" or len(page) < PAGE else 0
        descs += struct.pack("<QIIQ", data + len(packed), len(page), packed_flags, 0)
        packed += page
    sub = struct.pack("<QiiQQQQQQQQQQQ", 0, 0, 1 if kind == "split" else 0, 0, 0, 0, 0, data + len(packed), len(notes), 0, 0, 0, 0, nr)
    out += sub.ljust(PAGE, b"\0") + bytes(bitmap) * 2 + descs + packed + notes
if "cut" in words:
    out = out[:len(out) * 2 // 3]
if "flat" in words:  # the end first, and the first bytes twice: those that are written last count
    record = lambda offset, data_: struct.pack(">qq", offset, len(data_)) + data_
    half = len(out) // 2
    out = (b"makedumpfile\0\0\0\0" + struct.pack(">qq", 1, 1)).ljust(PAGE, b"\0") + record(half, out[half:]) + \
        record(0, b"junk" * 100) + record(0, out[:half]) + record(half - 8, out[half - 8:half + 8]) + struct.pack(">qq", -1, -1)
with open(sys.argv[1], "wb") as f:
    f.write(out)

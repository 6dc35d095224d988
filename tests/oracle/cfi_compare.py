#!/usr/bin/env python3
"""Our flat tables against what readelf -wF shows, row by row, for files of this system.

usage: cfi_compare.py BUILD [FILE...]          prints TAP

readelf writes "u" for a register that is undefined and for one nothing is said of; ours are compared as that.
"""
import bisect
import os
import re
import subprocess
import sys

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
FILES = sys.argv[2:] or [
    "/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/aarch64-linux-gnu/libc.so.6", "/lib/ld-linux-aarch64.so.1", "/bin/bash",
    "/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
    os.path.join(BUILD, "sonde"),
]
X86 = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra".split()
ARM = ["x%d" % i for i in range(29)] + ["x29", "ra", "sp"]
HEX = re.compile(r"^[0-9a-f]{8,16} ")
count = failed = 0


def ok(good, what):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)


def our_rows(path):
    loads, starts, rows = [], [], []
    text = subprocess.run([os.path.join(BUILD, "tests", "cfi_dump"), path], capture_output=True, text=True).stdout
    for line in text.splitlines():
        words = line.split()
        if words[0] == "load":
            loads.append([int(w, 16) for w in words[1:]])
            continue
        starts.append(int(words[0], 16))
        regs = dict(w.split("=") for w in words[2:] if "=" in w)
        rows.append((words[1], regs))
    return loads, starts, rows


def register(names, word):
    return names.index(word) if word in names else None


def their_rows(path, names):
    """(address, cfa, {register: where}) of every row."""
    out = subprocess.run(["readelf", "-wF", path], capture_output=True, text=True, errors="replace").stdout
    columns = None
    in_fde = end = None
    for line in out.splitlines():
        if " FDE " in line:
            columns, in_fde = None, True
            end = int(line.split("..")[-1], 16)
        elif " CIE " in line or line.startswith("Contents"):
            in_fde = False
        elif line.lstrip().startswith("LOC "):
            columns = line.split()
        elif in_fde and columns and HEX.match(line):
            words = re.sub(r" \(\w+\)", "", line).split()  # "r9 (r9)": a register
            if words[1:2] == ["ZERO"]:
                continue
            address = int(words[0], 16)
            regs = {}
            for name, where in zip(columns[2:], words[2:]):
                reg = register(names, name)
                if reg is not None:
                    regs[str(reg)] = where
            if address < end:
                yield address, words[1], regs


def our_form(where, names):
    if where in ("u", "s", "exp", "vexp"):
        return where
    if where[0] in "cv" and where[1:2] in "+-":
        return where
    reg = register(names, where)
    return f"r{reg}" if reg is not None else where


def differs(ours, cfa, regs, names):
    if ours is None or ours[0] == "-":
        return "no row"
    if cfa == "exp" or ours[0] == "exp":
        if cfa != ours[0]:
            return f"CFA {ours[0]}"
    else:
        m = re.match(r"(\w+)([+-]\d+)$", cfa)
        name = "ra" if m and m[1] == "x30" else m and m[1]
        if not m or ours[0] != f"{register(names, name)}{int(m[2]):+d}":
            return f"CFA {ours[0]}"
    for reg, where in regs.items():
        want, got = our_form(where, names), ours[1].get(reg, "u")
        if want == "s":
            want = "u"
        if want != got:
            return f"register {reg}: {got}, not {want}"
    return None


def check(path):
    with open(path, "rb") as f:
        names = ARM if f.read(20)[18] == 183 else X86
    loads, starts, rows = our_rows(path)
    total = wrong = 0
    # Of rows with the same address the last one holds.
    theirs = {}
    for address, cfa, regs in their_rows(path, names):
        theirs[address] = (cfa, regs)
    for address, (cfa, regs) in theirs.items():
        offset = next((address - v + o for v, o, s in loads if 0 <= address - v < s), None)
        if offset is None:
            continue
        at = bisect.bisect_right(starts, offset) - 1
        why = differs(rows[at] if at >= 0 else None, cfa, regs, names)
        total += 1
        wrong += why is not None
        if why and wrong <= 5:
            print(f"#   {address:x}: {cfa} {regs}: {why}")
    ok(total > 0 and not wrong, f"{os.path.basename(path)}: {total} rows, {wrong} differ")


for file in FILES:
    if os.path.exists(file):
        check(file)
print(f"1..{count}")
sys.exit(failed > 0)

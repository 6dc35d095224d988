#!/usr/bin/env python3
"""Stacks of arm64 cores, in the lines that unwind_truth compares: what is mapped, registers, the stack, and the frames that gdb found.

usage: core_stacks.py PROGRAM CORES.tar.xz FRAMES

FRAMES: lines "CORE REASON PC:TYPE..." as unwind_gdb.py writes them. PROGRAM stands for the only file that the cores have mapped.
"""

import struct
import sys
import tarfile

PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_AUXV, NT_FILE = 1, 6, 0x46494C45
AT_SYSINFO_EHDR = 33
REGS_AT, NR_REGS = 112, 33  # x0 to x30, sp, pc in struct elf_prstatus
SP = 31


def notes_of(data):
    at = 0
    while at + 12 <= len(data):
        namesz, descsz, kind = struct.unpack_from("<III", data, at)
        begin = at + 12 + (namesz + 3 & ~3)
        yield kind, data[begin : begin + descsz]
        at = begin + (descsz + 3 & ~3)


def files_of(desc):
    count, page = struct.unpack_from("<QQ", desc)
    for i in range(count):
        start, end, offset = struct.unpack_from("<QQQ", desc, 16 + 24 * i)
        yield start, end, offset * page


def core_lines(core, program):
    assert core[:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<HH", core, 16) == (4, 183), "no arm64 core"
    (phoff,) = struct.unpack_from("<Q", core, 32)
    phentsize, phnum = struct.unpack_from("<HH", core, 54)
    loads, notes = [], []
    for i in range(phnum):
        kind, flags, offset, addr, _, size, memory, _ = struct.unpack_from("<IIQQQQQQ", core, phoff + i * phentsize)
        if kind == PT_LOAD:
            loads.append((addr, addr + memory, core[offset : offset + size], flags))
        elif kind == PT_NOTE:
            notes += notes_of(core[offset : offset + size])
    regs = next(struct.unpack_from("<%dQ" % NR_REGS, desc, REGS_AT) for kind, desc in notes if kind == NT_PRSTATUS)
    auxv = dict(struct.iter_unpack("<QQ", next(desc for kind, desc in notes if kind == NT_AUXV)))
    executable = {addr for addr, _, _, flags in loads if flags & 1}
    maps = [(s, e, o, program) for s, e, o in files_of(next(desc for kind, desc in notes if kind == NT_FILE)) if s in executable]
    maps += [(s, e, 0, "[vdso]") for s, e, _, _ in loads if s == auxv[AT_SYSINFO_EHDR]]
    yield "maps"
    for start, end, offset, path in maps:
        yield "%x-%x r-xp %x 00:00 0 %s" % (start, end, offset, path)
    yield "."
    yield "regs " + " ".join("%x" % r for r in regs)
    yield "stack " + next(data[regs[SP] - start :].hex() for start, end, data, _ in loads if start <= regs[SP] < end)


def main():
    program, cores, frames = sys.argv[1:]
    with open(frames) as file:
        gdb = dict(line.rstrip("\n").split(" ", 1) for line in file if not line.startswith("#"))
    with tarfile.open(cores) as tar:
        for member in tar:
            for line in core_lines(tar.extractfile(member).read(), program):
                print(line)
            print("gdb", gdb.pop(member.name))
    assert not gdb, "frames of cores that are not there"


main()

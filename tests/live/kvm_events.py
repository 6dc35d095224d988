#!/usr/bin/env python3
"""Adds events of kvm to a recording that has none: usage: kvm_events.py RECORDING FORMATS RESULT. RECORDING is of kvm:kvm_entry, kvm_exit, kvm_mmio and
kvm_pio in this order, with raw samples; FORMATS is the folder events/kvm of tracefs. What is added, and what must come of it, stands in EVENTS.

Two virtual CPUs of two processes. Times are in microseconds."""
import pathlib
import re
import struct
import sys

# time, pid, tid, cpu, event, fields. perf knows a virtual CPU from its first kvm_entry on.
EVENTS = [
    (900, 10, 11, 0, "kvm_entry", dict(vcpu_id=0)),
    (900, 20, 21, 1, "kvm_entry", dict(vcpu_id=1)),
    (1200, 10, 11, 0, "kvm_exit", dict(exit_reason=0x7B, isa=2, vcpu_id=0)),  # io 10 us
    (1205, 10, 11, 0, "kvm_pio", dict(rw=1, port=0x3F8, size=1, count=1)),  # port 5 us
    (1210, 10, 11, 0, "kvm_entry", dict(vcpu_id=0)),
    (1300, 10, 11, 0, "kvm_exit", dict(exit_reason=0x7B, isa=2, vcpu_id=0)),  # io 30 us
    (1310, 10, 11, 0, "kvm_pio", dict(rw=0, port=0x60, size=1, count=1)),  # port 20 us
    (1330, 10, 11, 0, "kvm_entry", dict(vcpu_id=0)),
    (1340, 20, 21, 1, "kvm_exit", dict(exit_reason=0x400, isa=2, vcpu_id=1)),  # npf 50 us
    (1350, 20, 21, 1, "kvm_mmio", dict(type=2, len=4, gpa=0xFEE00300, val=7)),  # write 40 us
    (1390, 20, 21, 1, "kvm_entry", dict(vcpu_id=1)),
    (1400, 20, 21, 1, "kvm_exit", dict(exit_reason=0x400, isa=2, vcpu_id=1)),  # npf 30 us
    (1420, 20, 21, 1, "kvm_mmio", dict(type=1, len=4, gpa=0xFEE00020, val=7)),  # read 20 us
    (1430, 20, 21, 1, "kvm_entry", dict(vcpu_id=1)),
    (1500, 20, 21, 1, "kvm_exit", dict(exit_reason=0x78, isa=2, vcpu_id=1)),  # hlt, without an end
]
# From the start of 2^40 ns on: after what a recording of `true` holds.
BASE = 1 << 40
ORDER = ["kvm_entry", "kvm_exit", "kvm_mmio", "kvm_pio"]


def formats(folder):
    result = {}
    for name in ORDER:
        text = (pathlib.Path(folder) / name / "format").read_text()
        fields = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"field:[^;]*?(\w+)(?:\[\d+\])?;\s*offset:(\d+);\s*size:(\d+);", text)}
        result[name] = (int(re.search(r"^ID: (\d+)", text, re.M)[1]), fields)
    return result


def raw_of(number, layout, tid, values):
    size = max(offset + size for offset, size in layout.values())
    raw = bytearray(size)
    for name, value in dict(values, common_type=number, common_pid=tid).items():
        if name in layout:
            offset, length = layout[name]
            raw[offset : offset + length] = value.to_bytes(length, "little")
    return bytes(raw)


def sample(kind, sample_id, at, pid, tid, cpu, raw):
    body = b""
    for bit, value in (
        (16, struct.pack("<Q", sample_id)),
        (0, struct.pack("<Q", 0xFFFFFFFF81000000)),
        (1, struct.pack("<II", pid, tid)),
        (2, struct.pack("<Q", BASE + at * 1000)),
        (6, struct.pack("<Q", sample_id)),
        (7, struct.pack("<II", cpu, 0)),
        (8, struct.pack("<Q", 1)),
    ):
        if kind & 1 << bit:
            body += value
    assert not kind & ~0x105C7, hex(kind)
    if kind & 1 << 10:
        padded = raw + b"\0" * (-(len(raw) + 4) % 8)
        body += struct.pack("<I", len(padded)) + padded
    return struct.pack("<IHH", 9, 1, 8 + len(body)) + body


def main():
    data = bytearray(pathlib.Path(sys.argv[1]).read_bytes())
    layouts = formats(sys.argv[2])
    attr_size, attrs, attrs_size, start, size = struct.unpack_from("<QQQQQ", data, 16)
    events = {}
    for i, name in enumerate(ORDER):
        at = attrs + i * attr_size
        kind = struct.unpack_from("<Q", data, at + 24)[0]
        ids = struct.unpack_from("<Q", data, at + attr_size - 16)[0]
        events[name] = (kind, struct.unpack_from("<Q", data, ids)[0])
    added = b"".join(
        sample(*events[name], at, pid, tid, cpu, raw_of(*layouts[name], tid, values)) for at, pid, tid, cpu, name, values in EVENTS
    )
    table = start + size
    flags = int.from_bytes(data[72:104], "little")
    for i in range(bin(flags).count("1")):
        offset = struct.unpack_from("<Q", data, table + 16 * i)[0]
        struct.pack_into("<Q", data, table + 16 * i, offset + (len(added) if offset >= table else 0))
    struct.pack_into("<Q", data, 48, size + len(added))
    data[table:table] = added
    pathlib.Path(sys.argv[3]).write_bytes(data)


main()

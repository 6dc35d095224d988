#!/usr/bin/env python3
"""Writes small files that were made to cost time or memory, or to break arithmetic: hostile.py KIND FILE.

Each kind is one function; its comment says what the file pretends. tests/cli/hostile.t runs the program on all of them.
"""

import struct
import sys

U64 = (1 << 64) - 1

# ---- perf.data ----

SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_ADDR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
SAMPLE_CALLCHAIN, SAMPLE_ID, SAMPLE_CPU, SAMPLE_PERIOD = 1 << 5, 1 << 6, 1 << 7, 1 << 8
SAMPLE_IDENTIFIER = 1 << 16
REC_MMAP2, REC_MMAP, REC_COMM, REC_SAMPLE, REC_COMPRESSED = 10, 1, 3, 9, 81
FEAT_BUILD_ID, FEAT_EVENT_DESC, FEAT_GROUP_DESC = 2, 12, 23
CONTEXT_USER = U64 - 512 + 1


def attr(sample_type, size=64, sample_id_all=False):
    """perf_event_attr of the software clock."""
    flags = (1 << 18) if sample_id_all else 0
    return struct.pack("<IIQQQQQ", 1, size, 0, 1, sample_type, 0, flags).ljust(size, b"\0")


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def perf_file(attrs, data, features=(), ids=None, blob=b""):
    """attrs: list of attr bytes; ids: (offset, size) within blob for each, blob lies behind the attrs."""
    head = 104
    entry = len(attrs[0]) + 16
    blob_at = head + entry * len(attrs)
    table = b""
    for i, one in enumerate(attrs):
        at, size = ids[i] if ids else (0, 0)
        table += one + struct.pack("<QQ", blob_at + at, size)
    data_at = blob_at + len(blob)
    bits = [0, 0, 0, 0]
    for number, _ in features:
        bits[number // 64] |= 1 << number % 64
    out = [b"PERFILE2", struct.pack("<QQQQQQQQ", head, entry, head, len(table), data_at, len(data), 0, 0),
           struct.pack("<QQQQ", *bits), table, blob, data]
    at = data_at + len(data) + 16 * len(features)
    bodies = []
    for _, body in sorted(features):
        out.append(struct.pack("<QQ", at, len(body)))
        at += len(body)
        bodies.append(body)
    return b"".join(out + bodies)


def sample(ip, tid, time, period=1):
    return record(REC_SAMPLE, struct.pack("<QIIQQ", ip, tid, tid, time, period))


SIMPLE = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_PERIOD


def wild_times():
    """From the last nanosecond there can be down to the first: their number does not fit into a word."""
    times = [U64, U64 - 1, U64 // 2, 77777, 1, 0]
    return perf_file([attr(SIMPLE)], b"".join(sample(0x1000 + i, 7, t) for i, t in enumerate(times)))


def late_zero():
    """Samples without a time between others that have one."""
    times = [5000, 0, 9000, 0, 7000]
    return perf_file([attr(SIMPLE)], b"".join(sample(0x1000 + i, 7, t) for i, t in enumerate(times)))


def wild_periods():
    """Two tasks that weigh half a word each: together they weigh nothing."""
    return perf_file([attr(SIMPLE)], sample(0x1000, 7, 10, 1 << 63) + sample(0x2000, 8, 20, 1 << 63))


KINDS = {f.__name__: f for f in (wild_times, late_zero, wild_periods)}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: hostile.py KIND FILE\nkinds: {' '.join(KINDS)}")
    with open(sys.argv[2], "wb") as f:
        f.write(KINDS[sys.argv[1]]())


main()

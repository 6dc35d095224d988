#!/usr/bin/env python3
"""Writes small files that were made to cost time or memory, or to break arithmetic: hostile.py KIND FILE.

Each kind is one function; its comment says what the file pretends. tests/cli/hostile.t runs the program on all of them.
"""

import os
import struct
import sys
import zlib

U64 = (1 << 64) - 1

# ---- perf.data ----

SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_ADDR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
SAMPLE_CALLCHAIN, SAMPLE_ID, SAMPLE_CPU, SAMPLE_PERIOD = 1 << 5, 1 << 6, 1 << 7, 1 << 8
SAMPLE_IDENTIFIER = 1 << 16
REC_MMAP2, REC_MMAP, REC_COMM, REC_SAMPLE, REC_COMPRESSED = 10, 1, 3, 9, 81
FEAT_BUILD_ID, FEAT_EVENT_DESC, FEAT_GROUP_DESC, FEAT_STAT = 2, 12, 17, 19
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


def ids_overlap():
    """10,000 events, each of which says that the same 87,000 ids are its own."""
    ids = b"".join(struct.pack("<Q", i * 7919 + 1) for i in range(87000))
    nr = 10000
    return perf_file([attr(SIMPLE | SAMPLE_IDENTIFIER)] * nr, one_sample(1), ids=[(0, len(ids))] * nr, blob=ids)


def one_sample(number):
    return record(REC_SAMPLE, struct.pack("<QQIIQQ", number, 0x1000, 7, 7, 5, 1))


GOLDEN = 0x9E3779B97F4A7C15
USER = 2  # enum frame_mode
UNGOLDEN = pow(GOLDEN, -1, 1 << 64)


def colliding(nr):
    """Numbers which the multiplication that tables once used puts into one place: both halves of the product are equal."""
    return [(i << 32 | i) * UNGOLDEN & U64 for i in range(1, nr + 1)]


def ids_collide():
    """Two events with 120,000 ids that all had one place in a table."""
    half = [struct.pack(f"<{len(part)}Q", *part) for part in (colliding(120000)[::2], colliding(120000)[1::2])]
    size = len(half[0])
    return perf_file([attr(SIMPLE | SAMPLE_IDENTIFIER)] * 2, one_sample(colliding(1)[0]), ids=[(0, size), (size, size)], blob=b"".join(half))


def frames_collide():
    """120,000 samples at places that all had one place in a table."""
    mixed = (USER << 32) * GOLDEN & U64
    mixed ^= mixed >> 32
    return perf_file([attr(SIMPLE)], b"".join(sample(v ^ mixed, 7, 1000) for v in colliding(120000)))


def groups_many():
    """200,000 groups over 30,000 events."""
    group = struct.pack("<I", 8) + b"g\0\0\0\0\0\0\0" + struct.pack("<II", 29998, 2)
    groups = struct.pack("<I", 200000) + group * 200000
    return perf_file([attr(SIMPLE | SAMPLE_IDENTIFIER)] * 30000, one_sample(0), [(FEAT_GROUP_DESC, groups)])


def maps_of_one_path():
    """60,000 maps of files that all have one path, and 60,000 build ids for it."""
    data = b"".join(record(REC_MMAP2, struct.pack("<IIQQQIIQQII", 7, 7, 0x1000 * i, 0x1000, 0, 8, 1, i, 0, 5, 2) + b"/x\0\0\0\0\0\0")
                    for i in range(60000))
    data += sample(0x1000, 7, 5)
    ids = b"".join(struct.pack("<IHHi", 67, 2, 48, -1) + struct.pack("<I", 0) * 6 + b"/x\0\0\0\0\0\0\0\0\0\0" for i in range(60000))
    return perf_file([attr(SIMPLE)], data, [(FEAT_BUILD_ID, ids)])


def zstd_block(unit, last):
    """128 KB in 54 bytes: 40 bytes, and one match that says them again and again (RFC 8878: codes in RLE mode, so only extra bits)."""
    assert len(unit) == 40
    again = 131040 - 40
    bits = 1 << 24 | (40 + 3 - 32) << 19 | (again - 65539) << 3
    body = struct.pack("<H", 40 << 4 | 1 << 2) + unit + bytes([1, 0x54, 23, 5, 52]) + struct.pack("<I", bits)
    return struct.pack("<I", len(body) << 3 | 2 << 1 | last)[:3] + body


def expands(mb=3000):
    """1.3 MB of compressed records that are 3 GB of samples."""
    nr = (mb << 20) // 131040
    unit = sample(0x1000, 7, 5)
    stream = struct.pack("<IBB", 0xFD2FB528, 0, 0x58) + zstd_block(unit, False) * nr + zstd_block(unit, True)
    pieces = [stream[i:i + 60000] for i in range(0, len(stream), 60000)]
    data = b"".join(struct.pack("<IHH", REC_COMPRESSED, 0, 8 + len(p)) + p for p in pieces)
    return perf_file([attr(SIMPLE)], data, [(27, struct.pack("<IIIII", 1, 1, 1, 1000, 1 << 20))])


def expands_allowed():
    """The same with 25 MB: as much as a file of this size may bring."""
    return expands(25)


def zstd_variants(unit, values):
    """512 bytes again and again, of which the first 8 are new each time: 8 literals and one match, 11 bytes."""
    assert len(unit) == 512
    blocks = []
    per = 255
    for i in range(0, len(values), per):
        some = values[i:i + per]
        bits, width = 1, 0
        for _ in some:
            # Read backwards: the first sequence's offset comes first, then its match length.
            bits = bits << 9 | 3
            bits = bits << 8 | (504 - 259)
            width += 17
        stream = bits.to_bytes((width + 8) // 8, "little")
        literals = b"".join(struct.pack("<Q", v) for v in some)
        head = struct.pack("<I", len(literals) << 4 | 3 << 2)[:3]
        count = bytes([len(some)]) if len(some) < 128 else bytes([(len(some) >> 8) + 128, len(some) & 255])
        body = head + literals + count + bytes([0x54, 8, 9, 44]) + stream
        blocks.append(struct.pack("<I", len(body) << 3 | 2 << 1)[:3] + body)
    return b"".join(blocks)


def variants(sample_type, unit, at, nr, seed=b""):
    """A compressed recording of nr records like `unit` that differ in the word at `at`."""
    turned = unit[at:] + unit[:at]
    raw = seed + unit[:at] + turned
    stream = struct.pack("<IBB", 0xFD2FB528, 0, 0x58) + struct.pack("<I", len(raw) << 3)[:3] + raw
    stream += zstd_variants(turned, [0x400000 + i * 64 for i in range(nr)])
    stream += struct.pack("<I", len(unit) - at << 3 | 1)[:3] + unit[at:]
    pieces = [stream[i:i + 60000] for i in range(0, len(stream), 60000)]
    data = b"".join(struct.pack("<IHH", REC_COMPRESSED, 0, 8 + len(p)) + p for p in pieces)
    return perf_file([attr(sample_type)], data, [(27, struct.pack("<IIIII", 1, 1, 1, 1000, 1 << 20))])


def expands_chains(nr=300000):
    """3.4 MB of samples with call chains of 58 addresses, each unlike all others: 150 MB."""
    chain = [CONTEXT_USER] + [0x10000 + i * 16 for i in range(57)]
    body = struct.pack("<QIIQQQ", 0x1000, 7, 7, 5, 1, len(chain)) + struct.pack("<58Q", *chain)
    unit = record(REC_SAMPLE, body)
    return variants(SIMPLE | SAMPLE_CALLCHAIN, unit, len(unit) - 8, nr)


def expands_maps(nr=300000):
    """3.4 MB of maps of files with long names, each at another address: 150 MB."""
    body = struct.pack("<IIQQQ", 7, 7, 0x400000, 64, 0) + (b"/" + b"x" * 460).ljust(472, b"\0")
    unit = record(REC_MMAP, body)
    return variants(SIMPLE, unit, 16, nr, sample(0x1000, 7, 5))


# ---- trace.dat ----

HEADER_PAGE = b"""\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
"""
FORMAT = b"""name: thing
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

print fmt: "hello"
"""
OPTION_BUFFER, OPTION_HEADER_INFO, OPTION_FTRACE_EVENTS, OPTION_EVENT_FORMATS = 3, 16, 17, 18
PACKED = 1


def trace_start(version, page_size=4096):
    return b"\x17\x08\x44tracing" + version + b"\0" + struct.pack("<BBI", 0, 8, page_size)


def header_info():
    return b"header_page\0" + struct.pack("<Q", len(HEADER_PAGE)) + HEADER_PAGE + b"header_event\0" + struct.pack("<Q", 0)


def event_formats():
    return struct.pack("<I", 1) + b"test\0" + struct.pack("<IQ", 1, len(FORMAT)) + FORMAT


def page(time, nr=1, size=4096):
    """Events of eight bytes."""
    body = b"".join(struct.pack("<IHBBi", 2 | 1 << 5, 300, 0, 0, 7) for _ in range(nr))
    return (struct.pack("<QQ", time, len(body)) + body).ljust(size, b"\0")


def option(number, body):
    return struct.pack("<HI", number, len(body)) + body


class V7:
    """Sections one after the other; options() comes last."""

    def __init__(self, packer):
        self.head = trace_start(b"7") + packer + b"\0" + b"1\0"
        self.out = b""

    def at(self):
        return len(self.head) + 8 + len(self.out)

    def section(self, number, body, packed=False):
        at = self.at()
        self.out += struct.pack("<HHIQ", number, PACKED if packed else 0, 0, len(body)) + body
        return at

    def usual(self):
        """The options that tell about formats."""
        return option(OPTION_HEADER_INFO, struct.pack("<Q", self.section(OPTION_HEADER_INFO, header_info()))) + option(
            OPTION_EVENT_FORMATS, struct.pack("<Q", self.section(OPTION_EVENT_FORMATS, event_formats())))

    def finish(self, options):
        at = self.section(0, options + option(0, struct.pack("<Q", 0)))
        return self.head + struct.pack("<Q", at) + self.out


def packed(body):
    z = zlib.compress(body, 9)
    return struct.pack("<II", len(z), len(body)) + z


def buffer_option(at, page_size, cpus, name=b""):
    """cpus: (cpu, offset, size)."""
    return option(OPTION_BUFFER, struct.pack("<Q", at) + name + b"\0local\0" + struct.pack("<II", page_size, len(cpus)) +
                  b"".join(struct.pack("<IQQ", *c) for c in cpus))


def page_size_1():
    """Pages of one byte, and chunks that claim to be 64 million of them each."""
    return pages_claimed(1)


def pages_claimed(page_size=4096):
    """The same with pages of a usual size."""
    f = V7(b"zlib")
    usual = f.usual()
    chunks = struct.pack("<IIB", 1, 64 << 20, 0) * 32
    at = f.section(OPTION_BUFFER, struct.pack("<I", 32) + chunks, True)
    return f.finish(usual + buffer_option(at, page_size, [(i, at + 16, 1000) for i in range(20)]))


def cpus_and_buffers():
    """Version 6: one table of 65,535 CPUs that is each of 2,000 buffers'."""
    head = trace_start(b"6") + header_info() + struct.pack("<I", 0) + event_formats() + struct.pack("<IIQ", 0, 0, 0)
    cpus = 65535
    table_at = len(head) + 4 + 10 + 2000 * (6 + 8 + 2) + 2
    options = b"".join(option(OPTION_BUFFER, struct.pack("<Q", table_at) + b"b\0") for _ in range(2000))
    return head + struct.pack("<I", cpus) + b"options  \0" + options + struct.pack("<H", 0) + b"flyrecord\0" + bytes(64)


def chunk_lists():
    """Version 7: 3,000 CPUs, whose pages are the same list of 60,000 chunks."""
    f = V7(b"zlib")
    usual = f.usual()
    at = f.section(OPTION_BUFFER, struct.pack("<I", 60000) + struct.pack("<II", 0, 0) * 60000, True)
    return f.finish(usual + buffer_option(at, 4096, [(i, at + 16, 1000) for i in range(3000)]))


def chunks_of_cpus(cpus=500, chunk_mb=32):
    """Version 7: 500 CPUs, whose pages are one chunk that unpacks to 32 MB."""
    f = V7(b"zlib")
    usual = f.usual()
    body = b"".join(page(1000 + i, 300) for i in range(64)) * (chunk_mb * 4)
    at = f.section(OPTION_BUFFER, struct.pack("<I", 1) + packed(body), True)
    return f.finish(usual + buffer_option(at, 4096, [(i, at + 16, 1000) for i in range(cpus)]))


def chunks_held():
    """The same of 12 CPUs: each chunk could be unpacked, but all are needed at once."""
    return chunks_of_cpus(12)


def chunks_allowed():
    """The same of 2 CPUs with 2 MB each: as much as a file of this size may bring."""
    return chunks_of_cpus(2, 2)


def section_again():
    """Version 7: one packed section of 64 MB that 5,000 options name."""
    f = V7(b"zlib")
    usual = f.usual()
    at = f.section(OPTION_EVENT_FORMATS, packed(event_formats() + b"\0" * (64 << 20)), True)
    return f.finish(usual + option(OPTION_EVENT_FORMATS, struct.pack("<Q", at)) * 5000)


def formats_again():
    """Version 7: one section with 1,000 formats that 5,000 options name."""
    f = V7(b"zlib")
    usual = f.usual()
    body = struct.pack("<I", 1) + b"test\0" + struct.pack("<I", 1000) + (struct.pack("<Q", len(FORMAT)) + FORMAT) * 1000
    at = f.section(OPTION_EVENT_FORMATS, body)
    return f.finish(usual + option(OPTION_EVENT_FORMATS, struct.pack("<Q", at)) * 5000)


def pages_again(nr=2000, step=1000):
    """Version 6: 2,000 buffers, each with the same megabyte of pages."""
    head = trace_start(b"6") + header_info() + struct.pack("<I", 0) + event_formats() + struct.pack("<IIQ", 0, 0, 0)
    table_at = len(head) + 4 + 10 + nr * (6 + 8 + 2) + 2
    data_at = table_at + 10 + 16 + 2
    options = b"".join(option(OPTION_BUFFER, struct.pack("<Q", table_at) + b"b\0") for _ in range(nr))
    data = b"".join(page(1000 + step * i, 300) for i in range(256))
    return (head + struct.pack("<I", 1) + b"options  \0" + options + struct.pack("<H", 0) + b"flyrecord\0" +
            struct.pack("<QQ", data_at, len(data)) + b"\0\0" + data)


def pages_at_once():
    """The same of 50 buffers, with all events at one time."""
    return pages_again(50, 0)


def pages_allowed():
    """The same of 100 buffers: as much as a file of this size may bring."""
    return pages_again(100)


COMMON = FORMAT[FORMAT.index(b"format:"):FORMAT.index(b"\nprint fmt")]


def trace_format(name, number, fields, fmt=b'""'):
    """fields: (C type and name, size); they follow the common ones."""
    text, at = b"", 8
    for declared, size in fields:
        text += b"\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:0;\n" % (declared, at, size)
        at += size
    return b"name: %s\nID: %d\n%s\n%s\nprint fmt: %s\n" % (name, number, COMMON, text, fmt)


def one_event(time, number, body=b"", size=4096, pid=7):
    """A page with one event."""
    event = struct.pack("<HBBi", number, 0, 0, pid) + body
    event = struct.pack("<I", len(event) // 4) + event
    return (struct.pack("<QQ", time, len(event)) + event).ljust(size, b"\0")


def trace_of(system, formats, pages):
    """Version 6, one CPU."""
    head = trace_start(b"6") + header_info() + struct.pack("<I", 0)
    head += struct.pack("<I", 1) + system + b"\0" + struct.pack("<I", len(formats))
    head += b"".join(struct.pack("<Q", len(f)) + f for f in formats) + struct.pack("<IIQ", 0, 0, 0)
    data = b"".join(pages)
    head += struct.pack("<I", 1) + b"flyrecord\0"
    return head + struct.pack("<QQ", len(head) + 16, len(data)) + data


def wild_trace():
    """Events in the first microsecond there is, and in the last."""
    return trace_of(b"test", [FORMAT], [one_event(1000, 300), one_event(U64 - 5000, 300), one_event(U64 - 1, 300)])


def backwards_wakeup():
    """A task that runs 4 us before it is woken up."""
    wakeup = trace_format(b"sched_wakeup", 301, [(b"char comm[16]", 16), (b"pid_t pid", 4), (b"int prio", 4), (b"int target_cpu", 4)])
    switch = trace_format(b"sched_switch", 302, [(b"char prev_comm[16]", 16), (b"pid_t prev_pid", 4), (b"int prev_prio", 4), (b"long prev_state", 8),
                                                 (b"char next_comm[16]", 16), (b"pid_t next_pid", 4), (b"int next_prio", 4)])
    woken = struct.pack("<16siii", b"late", 9, 120, 0)
    runs = struct.pack("<16siiq16sii", b"idle", 0, 120, 0, b"late", 9, 120)
    return trace_of(b"sched", [wakeup, switch], [one_event(9000, 301, woken), one_event(5000, 302, runs)])


def backwards_calls():
    """A function that returns 4 us before it is called, and tells nothing of how long it took."""
    entry = trace_format(b"funcgraph_entry", 11, [(b"unsigned long func", 8), (b"int depth", 4)])
    leave = trace_format(b"funcgraph_exit", 10, [(b"unsigned long func", 8), (b"int depth", 4)])
    body = struct.pack("<Qi", 0xffffffff81000000, 0)
    return trace_of(b"ftrace", [entry, leave], [one_event(9000, 11, body), one_event(5000, 10, body)])


# ---- perf.data with events of the scheduler, of locks and of memory ----

SAMPLE_RAW, FEAT_TRACING_DATA = 1 << 10, 1
TRACED = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_PERIOD | SAMPLE_RAW
SWITCH = [(b"char prev_comm[16]", 16), (b"pid_t prev_pid", 4), (b"int prev_prio", 4), (b"long prev_state", 8),
          (b"char next_comm[16]", 16), (b"pid_t next_pid", 4), (b"int next_prio", 4)]
WAKING = [(b"char comm[16]", 16), (b"pid_t pid", 4), (b"int prio", 4), (b"int target_cpu", 4)]
MIGRATE = [(b"char comm[16]", 16), (b"pid_t pid", 4), (b"int prio", 4), (b"int orig_cpu", 4), (b"int dest_cpu", 4)]
FORK = [(b"char parent_comm[16]", 16), (b"pid_t parent_pid", 4), (b"char child_comm[16]", 16), (b"pid_t child_pid", 4)]
RUNTIME = [(b"char comm[16]", 16), (b"pid_t pid", 4), (b"u64 runtime", 8)]
CONTENTION = [(b"void * lock_addr", 8), (b"unsigned int flags", 4)]
ACQUIRE = [(b"unsigned int flags", 4), (b"char name[16]", 16), (b"void * lockdep_addr", 8)]
KMALLOC = [(b"unsigned long call_site", 8), (b"const void * ptr", 8), (b"size_t bytes_req", 8), (b"size_t bytes_alloc", 8), (b"int node", 4)]
KFREE = [(b"unsigned long call_site", 8), (b"const void * ptr", 8)]


def traced_file(system, events, data):
    """events: (name, fields, end of the format), with the numbers 301, 302 ..."""
    formats = [trace_format(name, 301 + i, fields, fmt) for i, (name, fields, fmt) in enumerate(events)]
    table = trace_start(b"0.6") + header_info() + struct.pack("<I", 0) + struct.pack("<I", 1) + system + b"\0"
    table += struct.pack("<I", len(formats)) + b"".join(struct.pack("<Q", len(f)) + f for f in formats) + struct.pack("<IIQ", 0, 0, 0)
    attrs = [struct.pack("<IIQQQQQ", 2, 64, 301 + i, 1, TRACED | SAMPLE_IDENTIFIER, 0, 1 << 18).ljust(64, b"\0") for i in range(len(formats))]
    ids = struct.pack(f"<{len(formats)}Q", *range(301, 301 + len(formats)))
    return perf_file(attrs, data, [(FEAT_TRACING_DATA, table)], ids=[(8 * i, 8) for i in range(len(formats))], blob=ids)


def traced(number, time, cpu, tid, body, size=None):
    """size: what the record says of its payload, which may be more than there is."""
    raw = struct.pack("<HBBi", number, 0, 0, tid) + body
    raw += b"\0" * (-(len(raw) + 4) % 8)
    return record(REC_SAMPLE, struct.pack("<QQIIQIIQI", number, 0x1000, tid & 0xffffffff, tid & 0xffffffff, time, cpu, 0, 1,
                                          len(raw) if size is None else size) + raw)


def switch(time, cpu, prev, following, state=0, comm=b"a"):
    return traced(301, time, cpu, prev, struct.pack("<16siiq16sii", comm, prev, 120, state, comm, following, 120))


def waking(time, cpu, tid, woken, target=0):
    return traced(302, time, cpu, tid, struct.pack("<16siii", b"w", woken, 120, target))


SCHED = [(b"sched_switch", SWITCH, b'"prev_state=%ld", REC->prev_state'), (b"sched_waking", WAKING, b'""')]
CPU_LAST = 65535


def sched_wild():
    """Times, processors and tasks at all ends, payloads that are too short, states and names that a terminal would obey."""
    ends = [0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff, 4096, CPU_LAST, CPU_LAST + 1]
    more = [(b"sched_migrate_task", MIGRATE, b'""'), (b"sched_process_fork", FORK, b'""'), (b"sched_stat_runtime", RUNTIME, b'""'),
            (b"sched_wakeup_new", WAKING, b'""')]
    kinds = [SWITCH, WAKING, MIGRATE, FORK, RUNTIME, WAKING]
    data = b""
    for i, time in enumerate([U64, U64 - 1, U64 // 2, 1 << 63, 5000, 4000, 1, 0] * 3):
        for k, number in enumerate(ends):
            tid = ends[(i + k) % len(ends)]
            signed = tid - (1 << 32) if tid >> 31 else tid
            other = ends[(3 * i + 5 * k) % len(ends)]
            for event, fields in enumerate(kinds):
                body = b"".join(b"\x1b]0;x\x07\nroot 1".ljust(size, b"!") if size == 16 else struct.pack("<Q", other)[:size] for _, size in fields)
                data += traced(301 + event, time, number, signed, body)
                data += traced(301 + event, time, number, signed, body[:(i * 7 + k) % len(body)])
                data += traced(301 + event, time, number, signed, b"", 0)
    state = b'"prev_state=%s", __print_symbolic(REC->prev_state, { 7, "\x1b[2J" })'
    return traced_file(b"sched", [(b"sched_switch", SWITCH, state), SCHED[1]] + more, data)


def sched_cpus():
    """50,000 switches, on the last of 65,536 processors."""
    return traced_file(b"sched", SCHED, b"".join(switch(1000 * i, CPU_LAST, 7 + i % 2, 8 - i % 2) for i in range(50000)))


def sched_columns():
    """8,000 switches, each on a processor of its own; and 8,000 again."""
    return traced_file(b"sched", SCHED, b"".join(switch(1000 * i, i * 8 % (CPU_LAST + 1), 7 + i, 8 + i) for i in range(16000)))


def sched_tasks():
    """100,000 tasks that are woken once, on the last of all processors."""
    return traced_file(b"sched", SCHED, switch(1, CPU_LAST, 1, 0) + switch(2, CPU_LAST, 0, 1) + b"".join(waking(1000 + i, CPU_LAST, 1, 1000 + i) for i in range(100000)))


def sched_waits():
    """30,000 tasks wait from the beginning on, for a processor that 30,000 others have before them: all of one with all of the other."""
    nr = 30000
    data = b"".join(waking(1000 + i, 0, 1, 100000 + i) for i in range(nr))
    data += b"".join(switch(1000000 + 1000 * i, 0, 200000 + i, 200001 + i, 1) for i in range(nr))
    data += b"".join(switch(1000000 + 1000 * (nr + i), 0, 200000 + nr if not i else 100000 + i - 1, 100000 + i, 1) for i in range(nr))
    return traced_file(b"sched", SCHED, data)


def sched_names():
    """One task with a name of 30,000 bytes, and 100,000 switches of others."""
    fields = [(b"char prev_comm[30000]", 30000)] + SWITCH[1:]
    body = b"n" * 30000 + struct.pack("<iiq16sii", 7, 120, 0, b"next", 8, 120)
    own = (b"sched_switch", fields, b'""')
    data = traced(301, 1000, 0, 7, body) + traced(301, 2000, 0, 7, body)
    data += b"".join(traced(301, 3000 + i, 0, 8, struct.pack("<16s", b"n" * 15)) for i in range(100000))
    return traced_file(b"sched", [own], data)


def sched_one_waits(nr=60000):
    """One task that waits for 60,000 others in turn."""
    out = []
    for i in range(nr):
        out.append(switch(15 * i, 0, 7, 1000 + i, 1))
        out.append(traced(302, 15 * i + 5, 0, 1000 + i, struct.pack("<16siii", b"w", 7, 120, 0)))
        out.append(switch(15 * i + 10, 0, 1000 + i, 7, 1))
    return traced_file(b"sched", SCHED, b"".join(out))


def lock_wild():
    """30,000 locks and tasks; times from all ends; payloads that are too short; names that a terminal would obey."""
    name = b"\x1b]0;x\x07\nroot"
    data = b""
    for i, time in enumerate([U64, U64 - 1, 1 << 63, 5000, 4000, 1, 0] * 4):
        for event in (301, 302):
            for tid in (0, 7, -1, 0x7fffffff):
                data += traced(event, time, i, tid, struct.pack("<QI", U64 - i % 3, 0xffffffff >> i))
                data += traced(event, time, 0xffffffff - i, tid, struct.pack("<QI", U64 - i % 3, i)[:i % 12])
        for event in (303, 304):
            data += traced(event, time, i, 7, struct.pack("<I16sQ", i, name, i % 5))
            data += traced(event, time, i, 7, struct.pack("<I16sQ", i, name, i % 5)[:i], 1 << 20 if i == 9 else None)
    data += b"".join(traced(301 + i % 2, 9000 + i, i, 1000 + i // 2, struct.pack("<QI", 0x1000 + i // 2 * 8, i % 70)) for i in range(60000))
    return traced_file(b"lock", [(b"contention_begin", CONTENTION, b'""'), (b"contention_end", CONTENTION, b'""'),
                                 (b"lock_acquire", ACQUIRE, b'""'), (b"lock_release", ACQUIRE, b'""')], data)


def kmem_wild():
    """40,000 places and addresses; sizes that do not fit; memory given back that was never taken, or twice."""
    data = b""
    for i, size in enumerate([0, 1, U64, 1 << 63, 0xffffffff, 1 << 32] * 3):
        for cpu in (0, 7, 0x80000000, 0xffffffff):
            body = struct.pack("<QQQQi", U64 - i, i % 4, size, U64 - size, -i)
            data += traced(301, U64 - i, cpu, i - 1, body) + traced(301, i, cpu, i - 1, body[:i])
            data += traced(302, i, cpu, i, body[:16]) + traced(302, i, cpu, i, body[:16]) + traced(302, i, cpu, i, body[:i % 16], 0)
    data += b"".join(traced(301, 9000 + i, i, 7, struct.pack("<QQQQi", 0xffffffff81000000 + i, i * 64, 60, 64, 0)) for i in range(40000))
    return traced_file(b"kmem", [(b"kmalloc", KMALLOC, b'""'), (b"kfree", KFREE, b'""')], data)


SOFTIRQ = [(b"unsigned int vec", 4)]
VM_EXIT = [(b"unsigned int exit_reason", 4), (b"unsigned long guest_rip", 8), (b"u32 isa", 4), (b"unsigned int vcpu_id", 4)]


def kwork_braces(nr=100000):
    """100,000 softirqs without a name, of an event whose format may have 900,000 of them."""
    fmt = b'"vec=%u", REC->vec' + b"{" * 900000
    events = [(b"softirq_entry", SOFTIRQ, fmt), (b"softirq_exit", SOFTIRQ, b'""')]
    return traced_file(b"irq", events, b"".join(traced(301 + i % 2, 1000 + i, 0, 7, struct.pack("<I", 5)) for i in range(nr)))


def kvm_braces(nr=100000):
    """100,000 exits for reasons without a name, of an event with such a format."""
    fmt = b'"%s", __print_symbolic(REC->exit_reason, ' + b"{" * 900000 + b")"
    return traced_file(b"kvm", [(b"kvm_exit", VM_EXIT, fmt), (b"kvm_entry", [(b"unsigned int vcpu_id", 4)], b'""')],
                       b"".join(traced(301 + i % 2, 1000 + i, 0, 7, struct.pack("<IQII", i, 0, 1, 0)) for i in range(nr)))


def events_many(nr=30000):
    """30,000 kinds of events, one of which occurred."""
    return traced_file(b"thing", [(b"thing%d" % i, [(b"int a", 4)], b'""') for i in range(nr)], traced(301, 5, 0, 7, b"1234"))


def tasks_of_one_stack(nr=200000):
    """200,000 tasks that were seen once each, all at one place."""
    return perf_file([attr(SIMPLE)], b"".join(sample(0x1000, 7 + i, 1000 + i) for i in range(nr)))


# ---- ELF: FILE is a recording with samples in FILE.elf ----

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHF_COMPRESSED = 1, 2, 3, 7, 1 << 11
TB = 1 << 40


def elf(path, sections, data, length=0, text=0x1000):
    """sections: (name, type, flags, address, offset, size, link, entry size); data: (offset, bytes). One segment of code from 0 to `text`."""
    names = b"\0" + b"".join(s[0] + b"\0" for s in sections) + b".shstrtab\0"
    end = max(at + len(body) for at, body in data) if data else 0x1000
    names_at = max(end, 0x1000)
    table_at = names_at + len(names) + 8
    rows = [struct.pack("<IIQQQQIIQQ", *([0] * 10))]
    at = 1
    for name, kind, flags, addr, offset, size, link, entry in sections + [(b".shstrtab", SHT_STRTAB, 0, 0, names_at, len(names), 0, 0)]:
        rows.append(struct.pack("<IIQQQQIIQQ", at, kind, flags, addr, offset, size, link, 0, 4, entry))
        at += len(name) + 1
    head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, table_at, 0, 64, 56, 1, 64, len(rows), len(rows) - 1)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, text, text, 0x1000)
    with open(path, "wb") as f:
        f.write(head)
        for offset, body in data + [(names_at, names), (table_at, b"".join(rows))]:
            f.seek(offset)
            f.write(body)
        if length:
            f.truncate(length)


def recording_of(path, text=0x1000, step=16, until=0x4000):
    """Samples all over the code of a file."""
    name = path.encode() + b"\0"
    name += b"\0" * (-len(name) % 8)
    data = record(REC_MMAP2, struct.pack("<IIQQQIIQQII", 7, 7, 0x400000, text, 0, 8, 1, 5, 0, 5, 2) + name)
    data += b"".join(sample(0x400000 + at, 7, 5) for at in range(0x200, min(text, until), step))
    return perf_file([attr(SIMPLE)], data)


def sparse_note(path):
    """A note of 4 TB, all of it a hole."""
    elf(path, [(b".note", SHT_NOTE, 0, 0, 0x10000, 4 * TB - 0x20000, 0, 0)], [(0x200, b"\xc3" * 16)], 4 * TB)
    return recording_of(path)


def sparse_symbols(path):
    """A symbol table of 2 TB, all of it a hole."""
    elf(path, [(b".symtab", SHT_SYMTAB, 0, 0, 0x10000, 2 * TB // 24 * 24, 2, 24), (b".strtab", SHT_STRTAB, 0, 0, 3 * TB, 4096, 0, 0)],
        [(0x200, b"\xc3" * 16)], 4 * TB)
    return recording_of(path)


def sparse_link(path):
    """A debug file of 4 TB whose checksum is asked for."""
    debug = path + ".debug"
    elf(debug, [(b".x", SHT_PROGBITS, 0, 0, 0x200, 16, 0, 0)], [(0x200, b"\xc3" * 16)], 4 * TB)
    name = os.path.basename(debug).encode() + b"\0"
    name += b"\0" * (-len(name) % 4)
    link = name + struct.pack("<I", 0x12345678)
    elf(path, [(b".gnu_debuglink", SHT_PROGBITS, 0, 0, 0x300, len(link), 0, 0)], [(0x300, link)])
    return recording_of(path)


def notes_overlap(path):
    """20,000 sections that are the same 2 MB of notes."""
    note = struct.pack("<III", 0, 0, 77) * 180000
    elf(path, [(b"n", SHT_NOTE, 0, 0, 0x1000, len(note), 0, 0)] * 20000, [(0x1000, note)])
    return recording_of(path)


def dwarf_shared(path):
    """All sections of debug information are one compressed stream of 1 GB."""
    z = zlib.compressobj(9)
    stream = b"".join([z.compress(b"\0" * (1 << 20)) for _ in range(1000)] + [z.flush()])
    body = struct.pack("<IIQQ", 1, 0, 1000 << 20, 1) + stream
    names = ["info", "abbrev", "line", "str", "line_str", "ranges", "rnglists", "addr", "str_offsets", "aranges"]
    elf(path, [(f".debug_{n}".encode(), SHT_PROGBITS, SHF_COMPRESSED, 0, 0x1000, len(body), 0, 0) for n in names], [(0x1000, body)])
    return recording_of(path)


def eh_frame(entries, cie_program=b""):
    """entries: (address, size, program), all of the first CIE."""
    out = []
    body = struct.pack("<IB", 0, 1) + b"zR\0" + bytes([1, 0x78, 16, 1, 0x00]) + cie_program
    body += b"\0" * (-len(body) % 4)
    cie = struct.pack("<I", len(body)) + body
    out.append(cie)
    at = len(cie)
    for address, size, program in entries:
        body = struct.pack("<QQB", address, size, 0) + program
        body += b"\0" * (-(len(body) + 4) % 4)
        fde = struct.pack("<II", len(body) + 4, at + 4) + body
        out.append(fde)
        at += len(fde)
    return b"".join(out) + struct.pack("<I", 0)


def cfi_rules(path):
    """A rule of all registers for every byte of code, no two alike."""
    saved = b"\x0c\x07\x08" + b"".join(bytes([0x80 | r, 1]) for r in range(16))
    program, nr = saved, 2000000
    step = b"".join(b"\x41" + bytes([0x0E, 0x80 | i & 0x7F, 0x80 | i >> 7 & 0x7F, i >> 14 & 0x7F]) for i in range(1, nr))
    frame = eh_frame([(0x200, nr + 10, program + step)])
    text = 0x200 + nr + 100
    at = text + 0x1000
    elf(path, [(b".eh_frame", SHT_PROGBITS, 2, at, at, len(frame), 0, 0)], [(at, frame)], text=text)
    return recording_of(path)


def cfi_cie(path):
    """200 long programs that 60,000 functions begin with in turn: each function reads another one again."""
    nr_cies, nr = 200, 60000
    out, at, cies = [], 0, []
    for _ in range(nr_cies):
        body = struct.pack("<IB", 0, 1) + b"zR\0" + bytes([1, 0x78, 16, 1, 0x00]) + b"\x0c\x07\x08" + b"\0" * 3900
        body += b"\0" * (-len(body) % 4)
        cies.append(at)
        out.append(struct.pack("<I", len(body)) + body)
        at += len(out[-1])
    for i in range(nr):
        body = struct.pack("<QQB", 0x200 + i * 4, 4, 0) + b"\0\0\0"
        out.append(struct.pack("<II", len(body) + 4, at + 4 - cies[i % nr_cies]) + body)
        at += len(out[-1])
    frame = b"".join(out) + struct.pack("<I", 0)
    text = 0x200 + nr * 4 + 100
    at = text + 0x1000
    elf(path, [(b".eh_frame", SHT_PROGBITS, 2, at, at, len(frame), 0, 0)], [(at, frame)], text=text)
    return stacks_of(path, text)


def stacks_of(path, text):
    """A recording of the file with registers and a copy of the stack, to be unwound."""
    regs = 0xff0fff
    one = bytearray(attr(SIMPLE | 1 << 12 | 1 << 13, size=112))
    struct.pack_into("<QI", one, 80, regs, 64)
    name = path.encode() + b"\0"
    name += b"\0" * (-len(name) % 8)
    data = record(REC_MMAP2, struct.pack("<IIQQQIIQQII", 7, 7, 0x400000, text, 0, 8, 1, 5, 0, 5, 2) + name)
    values = [0] * 20
    values[7], values[8] = 0x7ffe0000, 0x400400
    body = struct.pack("<QIIQQ", 0x400400, 7, 7, 5, 1) + struct.pack("<Q20Q", 2, *values)
    body += struct.pack("<Q", 64) + struct.pack("<8Q", *([0x400500] * 8)) + struct.pack("<Q", 64)
    data += record(REC_SAMPLE, body) * 3
    return perf_file([bytes(one)], data)


def lines_again(path):
    """A line program that says of all the code, 100,000 times, that it is line 1; and 30,000 samples in it."""
    text, nr = 0x80000, 100000
    high = struct.pack("<Q", text)
    abbrev = bytes([1, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0, 0, 0])
    unit = struct.pack("<HIB", 4, 0, 8) + bytes([1]) + struct.pack("<IQ", 0, 0) + high
    info = struct.pack("<I", len(unit)) + unit
    sequence = b"\0\x09\x02" + struct.pack("<Q", 0) + b"\1" + b"\2\x80\x80\x20" + b"\0\1\1"
    head = bytes([1, 1, 1, 0xFB, 14, 13]) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"\0" + b"x.c\0\0\0\0" + b"\0"
    body = struct.pack("<HI", 4, len(head)) + head + sequence * nr
    line = struct.pack("<I", len(body)) + body
    at, sections, data = text + 0x1000, [], []
    for name, part in ((b".debug_abbrev", abbrev), (b".debug_info", info), (b".debug_line", line)):
        sections.append((name, SHT_PROGBITS, 0, 0, at, len(part), 0, 0))
        data.append((at, part))
        at += len(part) + 64
    elf(path, sections, data, text=text)
    return recording_of(path, text, 16, text)


def stubs_of_one_slot(path):
    """60,000 linkage stubs that all jump through one slot, and 60,000 relocations of it."""
    nr, plt = 60000, 0x1000
    text = plt + 16 * nr
    stubs = b"".join(b"\xff\x25" + struct.pack("<i", text + 0x1000 - (plt + 16 * i + 6)) + b"\x68" + struct.pack("<I", i) + b"\xe9\0\0\0\0"
                     for i in range(nr))
    relocations = struct.pack("<QQQ", text + 0x1000, 0x25, 0x200) * nr
    at = text + 0x2000
    elf(path, [(b".plt", SHT_PROGBITS, 6, plt, plt, len(stubs), 0, 16), (b".rela.plt", 4, 2, at, at, len(relocations), 0, 24)],
        [(plt, stubs), (at, relocations)], text=text)
    return recording_of(path, text, 16, text)


def counts_of_cpus():
    """400,000 counts of the last of 32,000 CPUs."""
    cpus = list(range(32000))
    data = record(74, struct.pack("<HH", 0, len(cpus)) + struct.pack(f"<{len(cpus)}H", *cpus))
    data += record(73, struct.pack("<QQ16s", 1, U64, b""))
    data += record(76, struct.pack("<QIIQQQ", 5, cpus[-1], 0, 1, 1, 1)) * 400000
    data += record(77, struct.pack("<QQ", 1, 1000))
    return perf_file([attr(0)], data, [(FEAT_STAT, b"")], ids=[(0, 8)], blob=struct.pack("<Q", 5))


OF_ELF = {f.__name__: f for f in (sparse_note, sparse_symbols, sparse_link, notes_overlap, dwarf_shared, cfi_rules, cfi_cie, lines_again,
                                  stubs_of_one_slot)}
KINDS = {f.__name__: f for f in (wild_times, late_zero, wild_periods, ids_overlap, ids_collide, frames_collide, groups_many,
                                 maps_of_one_path, expands, expands_allowed, expands_chains, expands_maps, page_size_1, cpus_and_buffers, chunk_lists, chunks_of_cpus, chunks_held, chunks_allowed, section_again,
                                 formats_again, pages_again, pages_at_once, pages_allowed, pages_claimed, counts_of_cpus, wild_trace, backwards_wakeup, backwards_calls,
                                 sched_wild, sched_cpus, sched_columns, sched_tasks, sched_waits, sched_names, sched_one_waits,
                                 lock_wild, kmem_wild, kwork_braces, kvm_braces, events_many, tasks_of_one_stack)}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in {**KINDS, **OF_ELF}:
        sys.exit(f"usage: hostile.py KIND FILE\nkinds: {' '.join([*KINDS, *OF_ELF])}")
    kind, path = sys.argv[1], os.path.abspath(sys.argv[2])
    body = OF_ELF[kind](path + ".elf") if kind in OF_ELF else KINDS[kind]()
    with open(path, "wb") as f:
        f.write(body)


main()

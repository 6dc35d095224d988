#!/usr/bin/env python3
"""Turns a perf.data in pipe form into one in file form: pipe_to_file.py PIPE FILE. (perf inject of 6.1 writes one that nobody reads.)"""

import struct
import sys

HEADER_ATTR, FEATURE = 64, 80
data = open(sys.argv[1], "rb").read()
attrs, records, at = [], b"", 16
while at < len(data):
    kind, _, size = struct.unpack_from("<IHH", data, at)
    body = data[at + 8:at + size]
    if kind == HEADER_ATTR:
        attr_size = struct.unpack_from("<I", body, 4)[0]
        attrs.append((body[:attr_size], body[attr_size:]))
    elif kind != FEATURE:
        records += data[at:at + size]
    at += size
head = 104
ids = b"".join(i for _, i in attrs)
entries, offset = b"", head
for attr, own in attrs:
    entries += attr + struct.pack("<QQ", offset, len(own))
    offset += len(own)
size = len(attrs[0][0]) + 16
with open(sys.argv[2], "wb") as out:
    out.write(b"PERFILE2" + struct.pack("<12Q", head, size, head + len(ids), len(entries), head + len(ids) + len(entries), len(records),
                                        0, 0, 0, 0, 0, 0))
    out.write(ids + entries + records)

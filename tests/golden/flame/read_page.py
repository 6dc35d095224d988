"""Reads the profile inside of a page of `sonde flame`, as view/html_flame.h describes it, and prints it as folded text with times.

usage: read_page.py PAGE            task;frame;frame side bucket count weight, a line for each point, sorted
       read_page.py --facts PAGE    key value, and the events as they stand
       read_page.py --code PAGE     function, line or offset, weight or "source", text
"""

import base64
import re
import sys

page = open(sys.argv[-1], encoding="utf-8").read()
data = base64.b64decode(re.search(r'id="data">([^<]*)</script>', page)[1], validate=True)
assert data[:4] == b"SFL1"
at = 4


def number():
    global at
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value


def text():
    global at
    length = number()
    at += length
    return data[at - length : at].decode(errors="replace")


sides, unit, bucket_ns, buckets = number(), number(), number(), number()
facts = [(text(), text()) for _ in range(number())]
strings = [text() for _ in range(number())]
frames = [[number() for _ in range(5)] for _ in range(number())]
tasks = [[number() for _ in range(3)] for _ in range(number())]
events = [number() for _ in range(number())]
trees = [(number(), number()) for _ in range(number())]
paths, stack, tree = [], [], -1
for _ in range(number()):
    up, frame = number(), number()
    del stack[len(stack) - up :]
    if not stack:
        tree += 1
        pid, tid, comm = tasks[trees[tree][1]]
        stack.append(f"{strings[comm]}-{pid}/{tid}" if tid else strings[comm])
    else:
        stack.append(strings[frames[frame][0]])
    paths.append(";".join(stack))
assert tree + 1 == len(trees)
lines = []
for path in paths:
    for side in range(sides):
        bucket = 0
        for _ in range(number()):
            bucket += number()
            count = number()
            weight = number() if count % 2 else count // 2 * unit
            assert bucket < buckets
            lines.append(f"{path} {side} {bucket} {count // 2} {weight}")
codes = {}
for _ in range(number()):
    frame, nr = number(), number()
    code = codes[strings[frames[frame][0]]] = []
    for _ in range(nr):
        what = number()
        weight = None if what % 2 else number()
        code.append((what // 2, weight, strings[number()]))
assert at == len(data), "all bytes are read"
if sys.argv[1] == "--facts":
    print(f"bucket_ns {bucket_ns}")
    print("events", *(strings[e] for e in events))
    for key, value in facts:
        print(key, value)
elif sys.argv[1] == "--code":
    for name, code in codes.items():
        for place, weight, line in code:
            print(name, place, "source" if weight is None else weight, line)
else:
    print("\n".join(sorted(lines)))

"""Reads exported profiles and prints "weight samples thread;stack" lines, sorted: readers that share nothing with the writers.

usage: export_read.py pprof|speedscope|firefox FILE [lines]

Inlined functions are shown as "name (inlined)". lines: instead "name file:line" of every function that has a line.
"""

import gzip
import json
import sys
from collections import Counter

lines = set()


def fields(data):
    """(number, value) of a protobuf message; value is an int or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            length = varint()
            at += length
            assert at <= len(data)
            yield tag >> 3, data[at - length : at]
        else:
            raise ValueError(f"wire type {tag & 7}")


def packed(data):
    out, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(value)
            value = shift = 0
    return out


def pprof(path):
    top = list(fields(gzip.open(path).read()))
    strings = [v.decode() for n, v in top if n == 6]
    assert strings[0] == ""
    types = [tuple(strings[v] for _, v in fields(m)) for n, m in top if n == 1]
    assert types[0] == ("samples", "count") and len(types) == 2 and types[1][1] == "nanoseconds", types
    functions = {dict(fields(m))[1]: dict(fields(m)) for n, m in top if n == 5}
    mappings = {dict(fields(m))[1] for n, m in top if n == 3}
    modules = {strings[dict(fields(m))[5]] for n, m in top if n == 3}
    assert modules and not any(strings[f.get(4, 0)] in modules for f in functions.values()), "a module for a source file"
    places = {}
    for n, m in top:
        if n == 4:
            f = dict(fields(m))
            assert f.get(2, 0) in mappings | {0}
            inside = [dict(fields(v)) for k, v in fields(m) if k == 4]
            names = []
            for i, line in enumerate(inside):
                func = functions[line[1]]
                names.append(strings[func[2]] + (" (inlined)" if i + 1 < len(inside) else ""))
                if 2 in line:
                    lines.add(f"{names[-1]} {strings[func[4]]}:{line[2]}")
            places[f[1]] = names
    for n, m in top:
        if n == 2:
            parts = list(fields(m))
            stack = [name for i in packed(next(v for k, v in parts if k == 1)) for name in places[i]]
            count, weight = packed(next(v for k, v in parts if k == 2))
            labels = [dict(fields(v)) for k, v in parts if k == 3]
            thread = next(strings[f[2]] for f in labels if strings[f[1]] == "thread")
            tid = next(f[3] for f in labels if strings[f[1]] == "tid")
            yield f"{thread} {tid}", stack[::-1], count, weight


def speedscope(path):
    top = json.load(open(path))
    assert top["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [f["name"] for f in top["shared"]["frames"]]
    lines.update(f"{f['name']} {f['file']}:{f['line']}" for f in top["shared"]["frames"] if "line" in f)
    assert len(top["profiles"][top["activeProfileIndex"]]["samples"]) == max(len(p["samples"]) for p in top["profiles"])
    for p in top["profiles"]:
        assert p["type"] == "sampled" and len(p["samples"]) == len(p["weights"])
        assert p["unit"] == "nanoseconds" and p["endValue"] - p["startValue"] == sum(p["weights"])
        for stack, weight in zip(p["samples"], p["weights"]):
            yield p["name"], [names[i] for i in stack], 1, weight


def firefox(path):
    top = json.load(open(path))
    assert top["meta"]["preprocessedProfileVersion"] == 47 and top["meta"]["symbolicated"]
    for t in top["threads"]:
        for table in ("samples", "stackTable", "frameTable", "funcTable", "resourceTable", "markers", "nativeSymbols"):
            lengths = {len(c) for c in t[table].values() if isinstance(c, list)}
            assert lengths <= {t[table]["length"]}, (table, lengths)
        assert isinstance(t["pid"], str) and t["samples"]["time"] == sorted(t["samples"]["time"])
        assert all(0 <= c < len(top["meta"]["categories"]) for c in t["frameTable"]["category"])
        assert all(r < t["resourceTable"]["length"] for r in t["funcTable"]["resource"])
        for s, weight in zip(t["samples"]["stack"], t["samples"]["weight"]):
            stack = []
            while s is not None:
                frame = t["stackTable"]["frame"][s]
                func, depth, line = (t["frameTable"][c][frame] for c in ("func", "inlineDepth", "line"))
                stack.append(t["stringArray"][t["funcTable"]["name"][func]] + (" (inlined)" if depth else ""))
                if line is not None:
                    lines.add(f"{stack[-1]} {t['stringArray'][t['funcTable']['fileName'][func]]}:{line}")
                assert t["stackTable"]["prefix"][s] is None or t["stackTable"]["prefix"][s] < s
                s = t["stackTable"]["prefix"][s]
            yield t["name"], stack[::-1], 1, round(weight * 1e6)


weights, counts = Counter(), Counter()
for thread, stack, count, weight in {"pprof": pprof, "speedscope": speedscope, "firefox": firefox}[sys.argv[1]](sys.argv[2]):
    key = ";".join([thread, *stack])
    weights[key] += weight
    counts[key] += count
if len(sys.argv) > 3:
    print("\n".join(sorted(lines)))
    sys.exit()
print("\n".join(sorted(f"{weights[k]} {counts[k]} {k}" for k in weights)))

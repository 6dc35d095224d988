#!/usr/bin/env python3
"""The stacks of one recording as perf script --no-inline shows them, and as we do: the same, or ours go on where perf's end.

usage: unwind_compare.py PERF.txt OURS.txt

Prints counts, and every stack where perf has a frame that we have not; status 1 when there is one. Where perf (libunwind) misses a
table it guesses: it then leaves out frames in the middle (counted as ours being longer), and ends in addresses where no code is, in
stacks and other data, or of -1 (which are left out here).
"""
import re
import sys

HEAD = re.compile(r"^(\S.*?)\s+(\d+)(?:/\d+)?\s+(?:\[\d+\] )?\s*([\d.]+):")
NO_FILES = ("[unknown]", "//anon", "[stack]", "[heap]")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


def stacks(path):
    got, key, frames = {}, None, []
    with open(path, errors="replace") as f:
        for line in f:
            head = HEAD.match(line)
            if head:
                key, frames = (head[2], head[3]), []
                while key in got:
                    key = key + ("again",)
                got[key] = frames
            elif (frame := FRAME.match(line)) and key:
                frames.append((int(frame[1], 16), frame[3]))
    return got


def is_part(few, many):
    """Whether the frames of one stand in the other in the same order."""
    rest = iter(many)
    return all(any(a == b for b, _ in rest) for a, _ in few)


def main():
    perf, ours = stacks(sys.argv[1]), stacks(sys.argv[2])
    same = longer = other = 0
    if perf.keys() != ours.keys():
        print(f"not the same samples: {len(perf)} of perf, {len(ours)} of ours")
        return 1
    for key, theirs in perf.items():
        mine = ours[key]
        while theirs and (theirs[-1][0] >= 0xFFFFFFFFFFFFFF00 or theirs[-1][1] in NO_FILES):
            if len(theirs) <= len(mine) and mine[len(theirs) - 1] == theirs[-1]:
                break
            theirs.pop()
        if mine == theirs:
            same += 1
        elif is_part(theirs, mine):
            longer += 1
        else:
            other += 1
            at = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a[0] != b[0]), min(len(mine), len(theirs)))
            print(f"# {key}: differs at frame {at} of {len(theirs)} (ours: {len(mine)})")
            for i in range(max(0, at - 2), at + 3):
                print(f"#   {theirs[i] if i < len(theirs) else '-'}   {mine[i] if i < len(mine) else '-'}")
    print(f"stacks {len(perf)} same {same} longer {longer} other {other}")
    return 1 if other or not perf else 0


sys.exit(main())

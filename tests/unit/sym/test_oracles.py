#!/usr/bin/env python3
"""Our names against perf's, addr2line's and objdump's, at some thousands of random places.

usage: test_oracles.py BUILD          BUILD/tests/symbolise is what is tested; prints TAP

perf answers through a perf.data written here, whose samples sit at the places asked for. Known differences, each counted and
bounded below; in all of them objdump agrees with us:
  * .plt.got, .plt.sec, the header of .plt: perf 6.1 has no names for them (or lets _init reach into them)
  * .plt of a file with indirect functions: perf 6.1 counts relocations, whose order is not that of the stubs
"""
import collections
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
SYMBOLISE = os.path.join(BUILD, "tests", "symbolise")
BASE = 0x7F0000000000
PLACES = 3000
random.seed(20240607)
count = failed = 0


def ok(good, what):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)


def skip(what, why):
    global count
    count += 1
    print(f"ok {count} - {what} # SKIP {why}")


def run(*argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", **kw).stdout


def code_sections(path):
    found = []
    for line in run("readelf", "-SW", path).splitlines():
        m = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+PROGBITS\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+\s+(\S*X\S*)", line)
        if m:
            found.append((m[1], int(m[2], 16), int(m[3], 16), int(m[4], 16)))
    return found


def record(type_, misc, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", type_, misc, 8 + len(body)) + body


def text_field(s):
    b = s.encode() + b"\0"
    return b + b"\0" * (-len(b) % 8)


def write_perfdata(out, path, places):
    """One process that maps the whole file executable at BASE (or the kernel), and one sample at each place."""
    comm = record(3, 0, struct.pack("<II", 1000, 1000) + text_field("oracle"))
    if path == "[kernel]":
        ref = next(int(l.split()[0], 16) for l in open("/proc/kallsyms") if l.split()[2] == "_text")
        head = struct.pack("<IIQQQ", 0xFFFFFFFF, 0, ref, 0xFFFFFFFFFFFFFFFF - ref - 0x1000, ref)
        data = record(1, 1, head + text_field("[kernel.kallsyms]_text")) + comm
        base, misc = 0, 1
    else:
        size = (os.path.getsize(path) + 4095) & ~4095
        data = comm + record(1, 2, struct.pack("<IIQQQ", 1000, 1000, BASE, size, 0) + text_field(path))
        base, misc = BASE, 2
    for at in places:
        data += record(9, misc, struct.pack("<QIIQ", base + at, 1000, 1000, 1))
    attr = struct.pack("<IIQQQQQ", 1, 112, 0, 1000, 1 | 2 | 0x100, 0, 0).ljust(112, b"\0")
    attrs = 104
    start = attrs + len(attr) + 16
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, len(attr) + 16, attrs, len(attr) + 16, start, len(data), 0, 0)
    with open(out, "wb") as f:
        f.write(header.ljust(104, b"\0") + attr + struct.pack("<QQ", 0, 0) + data)


def ask_us(path, places, style="short"):
    text = "".join(f"{at:x}\n" for at in places)
    answers = {}
    for line in run(SYMBOLISE, "-d", style, path, input=text).splitlines():
        at, _, name = line.partition(" ")
        answers[int(at, 16)] = name
    return answers


def ask_perf(path, places, tmp):
    file = os.path.join(tmp, "perf.data")
    write_perfdata(file, path, places)
    base = 0 if path == "[kernel]" else BASE
    answers = {}
    for line in run("perf", "script", "-i", file, "-F", "ip,sym,symoff").splitlines():
        at, _, name = line.strip().partition(" ")
        answers[int(at, 16) - base] = "?" if name.strip() == "[unknown]" else name.strip()
    return answers


def compare_perf(path, tmp):
    if path == "[kernel]":
        text = [int(l.split()[0], 16) for l in open("/proc/kallsyms") if l.split()[1] in "tT" and "[" not in l]
        if not any(text):
            return skip("kernel against perf", "addresses are hidden")
        places = set(random.sample(text, 2000)) | {random.randrange(min(text), max(text)) for _ in range(PLACES)}
        sections = [("kernel", 0, 0, 1 << 64)]
    else:
        sections = code_sections(path)
        places = set()
        for name, _, offset, size in sections:
            places |= {random.randrange(offset, offset + size) for _ in range(PLACES if name == ".text" else 100) if size}
    places = sorted(places)
    ours, perfs = ask_us(path, places), ask_perf(path, places, tmp)
    section_of = lambda at: next(n for n, _, o, s in sections if o <= at < o + s)
    differ = collections.Counter()
    shown = 0
    for at in places:
        if ours.get(at) == perfs.get(at):
            continue
        section = section_of(at)
        differ[section] += 1
        if not section.startswith(".plt") and shown < 5:
            shown += 1
            print(f"#   {at:x} {section}: perf {perfs.get(at)}, ours {ours.get(at)}")
    stubs = sum(n for s, n in differ.items() if s.startswith(".plt"))
    named = sum(ours.get(at, "?") != "?" for at in places)
    ok(sum(differ.values()) == stubs and named > 10,
       f"{os.path.basename(path)}: {len(places)} places, {named} named, as perf names them; {stubs} in stubs, where perf 6.1 errs")


def compare_addr2line(path):
    """addr2line reads the symbol table of the file itself: used where the file has one, or no debug file exists."""
    vaddr = {o: v for n, v, o, s in code_sections(path) if n == ".text"}
    (offset, addr), = vaddr.items()
    size = next(s for n, v, o, s in code_sections(path) if n == ".text")
    places = sorted({random.randrange(offset, offset + size) for _ in range(PLACES)})
    text = "".join(f"{at - offset + addr:x}\n" for at in places)
    names = run("addr2line", "-f", "-e", path, input=text).splitlines()[0::2]
    ours = ask_us(path, places, "no")
    starts = collections.defaultdict(set)
    ends = {}
    for line in run("nm", "-S", "--defined-only", path).splitlines():
        f = line.split()
        if len(f) == 4:
            starts[f[3]].add(int(f[0], 16))
            ends[f[3], int(f[0], 16)] = int(f[0], 16) + int(f[1], 16)
    alias = gap = bad = same = 0
    for at, theirs in zip(places, names):
        mine, _, delta = ours[at].partition("+0x")
        if mine == theirs or (mine == "?" and theirs == "??"):
            same += 1
        elif mine != "?" and any(a == at - offset + addr - int(delta, 16) for a in starts[theirs]):
            alias += 1  # another name of the same function
        elif mine == "?" and all(at - offset + addr >= ends.get((theirs, a), 0) for a in starts[theirs]):
            gap += 1  # addr2line lets the function before reach over padding
        else:
            bad += 1
            if bad < 5:
                print(f"#   {at:x}: addr2line {theirs}, ours {ours[at]}")
    ok(bad == 0 and same > len(places) // 2,
       f"{os.path.basename(path)}: {same} as addr2line -f, {alias} by another name, {gap} in padding, {bad} wrong")


def compare_stubs(path, objdump):
    """objdump -d names each stub; of an indirect function it says *ABS*, where we say the name."""
    bad = asked = 0
    for section, addr, offset, _ in code_sections(path):
        if not section.startswith(".plt"):
            continue
        want, name = {}, None
        for line in run(objdump, "-d", "-j", section, path).splitlines():
            m = re.match(r"[0-9a-f]+ <(.*)>:$", line)
            if m:
                name = m[1]
            m = re.match(r"\s*([0-9a-f]+):\t", line)
            if m and name and name.endswith("@plt") and not name.startswith("*ABS*"):
                want[int(m[1], 16) - addr + offset] = name
        ours = ask_us(path, sorted(want), "no")
        for at, name in want.items():
            asked += 1
            got = ours.get(at, "?").split("+0x")[0]
            if got != name and name.split("@@")[0] != got.removesuffix("@plt"):
                bad += 1
                if bad < 5:
                    print(f"#   {at:x} {section}: objdump {name}, ours {got}")
    ok(asked > 0 and not bad, f"{os.path.basename(path)}: {asked} instructions of stubs named as objdump names them, {bad} not")


APP = r"""
#include <vector>
#include <string>
#include <algorithm>
#include <cstdio>
namespace ns { template <class T> struct S { T v; __attribute__((noinline)) T twice(const std::vector<T> &x) const { return v + x.size(); } }; }
static int __attribute__((noinline)) helper(int x) { return x * 3; }
int main(int c, char **v) { ns::S<int> s{c}; std::vector<int> a(c * 10); std::sort(a.begin(), a.end());
	std::string t(v[0]); printf("%d %s\n", s.twice(a) + helper(c), t.c_str()); }
"""
ARM = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint f(char *s) { puts(s); return atoi(s) + (int)strlen(s); }\n"


def build(tmp, name, compiler, source, *flags):
    src = os.path.join(tmp, name + (".cc" if "++" in compiler else ".c"))
    with open(src, "w") as f:
        f.write(source)
    out = os.path.join(tmp, name)
    if not shutil.which(compiler) or subprocess.run([compiler, "-O1", "-o", out, src, *flags], capture_output=True).returncode:
        skip(name, f"{compiler} cannot build it here")
        return None
    return out


def main():
    with tempfile.TemporaryDirectory() as tmp:
        built = [build(tmp, "app-pie", "g++", APP), build(tmp, "app-static", "g++", APP, "-static", "-no-pie"),
                 build(tmp, "app-nopie", "g++", APP, "-no-pie"), build(tmp, "app-ibt", "g++", APP, "-fcf-protection", "-Wl,-z,ibtplt"),
                 build(tmp, "app-clang", "clang++", APP)]
        built = [b for b in built if b]
        system = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"]
        system = [os.path.realpath(p) for p in system if os.path.exists(p)]
        if shutil.which("perf"):
            for path in system + built + ["[kernel]"]:
                compare_perf(path, tmp)
        else:
            skip("perf", "not installed")
        for path in built:
            compare_addr2line(path)
        for path in built + system:
            if not path.endswith("static") and "/ld-" not in path:
                compare_stubs(path, "objdump")
        for name, flags in (("arm64", ()), ("arm64-bti", ("-mbranch-protection=standard", "-Wl,-z,force-bti")), ("arm64-pac", ("-Wl,-z,pac-plt",))):
            path = build(tmp, name, "aarch64-linux-gnu-gcc", ARM, "-shared", "-fPIC", *flags)
            if path:
                compare_stubs(path, "aarch64-linux-gnu-objdump")
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())

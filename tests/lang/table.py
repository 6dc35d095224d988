"""Runs the small scripts of a table (see table.txt), many in one run, and writes TAP lines: "ok" or "not ok" with the script and what it printed.

table.py WHERE TABLE COMMAND...: COMMAND runs the script that is its last argument. WHERE is
begin: in the kernel
end: as end blocks, which run in user space; not those that are refused, nor those about begin blocks and clear(), which acts at once there
peer: by bpftrace 0.17, and only rows marked "=", a few at a time and in one block, since it knows neither several begin blocks nor scopes
"""
import re
import subprocess
import sys

GROUP = 60
PEER_GROUP = 8
MARK = "#%d\n"


def read_table(path):
    definitions, rows = [], []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("%"):
            definitions.append(line[1:].strip())
        elif line and not line.startswith("#"):
            script, want = line.split(" => ", 1)
            same = script.startswith("=")
            rows.append((script[same:], want, same))
    return definitions, rows


def expand(text):
    """\\n of the table is a new line, and a doubled backslash is one."""
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else "\t" if m[1] == "t" else m[1], text)


def own_names(script, nr, variables):
    """Maps (and variables, where there are no scopes) get the number of the row; texts in quotes stay."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', script)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"@(\w*)", lambda m: "@%s_%d" % (m[1], nr), parts[i])
        if variables:
            parts[i] = re.sub(r"\$([a-z_]\w*)", lambda m: "$%s_%d" % (m[1], nr), parts[i])
    return "".join(parts)


def run(command, script):
    done = subprocess.run(command + [script], capture_output=True, timeout=280, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def answers(text, numbers):
    """What each of them printed: between its mark and the next one."""
    got, current = {}, None
    for piece in re.split(r"^(#\d+)\n", text, flags=re.M):
        if re.fullmatch(r"#\d+", piece):
            current = int(piece[1:])
            got[current] = ""
        elif current is not None:
            got[current] += piece
    for nr in numbers:
        if nr in got:
            got[nr] = re.sub(r"@(\w*)_%d\b" % nr, r"@\1", got[nr]).rstrip("\n")
    return got


def script_of(definitions, rows, where):
    if where == "peer":
        blocks = ["printf(\"#%d\\n\"); %s printf(\"\\n\");" % (nr, own_names(s, nr, True) + ("" if s.endswith("}") else ";")) for nr, s in rows]
        return "BEGIN { " + " ".join(blocks) + " printf(\"#0\\n\"); exit(); }"
    blocks = ["%s { printf(\"#%d\\n\"); %s }\n%s { printf(\"\\n\"); }" % (where, nr, own_names(s, nr, False), where) for nr, s in rows]
    if where == "end":
        blocks.insert(0, "begin { exit(); }")
    return "\n".join(definitions + blocks)


def belongs(where, script, want, same):
    if where == "peer":
        return same
    return where == "begin" or not (want == "ERROR" or re.search(r"\bprobe|\bclear\(", script))


def main():
    where, path, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    definitions, rows = read_table(path)
    chosen = [(nr, s, w) for nr, (s, w, same) in enumerate(rows, 1) if belongs(where, s, w, same)]
    together = [r for r in chosen if r[2] != "ERROR"]
    size = PEER_GROUP if where == "peer" else GROUP
    groups = [together[i:i + size] for i in range(0, len(together), size)] + [[r] for r in chosen if r[2] == "ERROR"]
    bad = 0
    for group in groups:
        pairs = [(nr, s) for nr, s, _ in group]
        status, out, err = run(command, script_of(definitions, pairs, where))
        if status and len(group) > 1:  # one of them: which?
            groups += [[r] for r in group]
            continue
        got = answers(out, [nr for nr, _ in pairs])
        for nr, script, want in group:
            have = "ERROR" if status else got.get(nr, "").rstrip("\n")
            if where == "peer":
                have = re.sub(r" +$", "", have, flags=re.M)
            wanted = want if want == "ERROR" else expand(want).rstrip("\n")
            name = re.sub(r"[#\n]", " ", script)
            if have == wanted:
                print("ok - %s" % name)
            else:
                bad += 1
                print("not ok - %s" % name)
                for line in ("want: " + wanted + "\ngot:  " + have + "\n" + (err if status else "")).split("\n"):
                    print("# " + line)
    return bad != 0


sys.exit(main())

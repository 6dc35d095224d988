#!/usr/bin/env bash
# clang-tidy 14 with the tree's checks has nothing to say about src/. Without its analyzer, which would take a hundred times as long: 40 s
# of CPU time for all files.
# timeout: 900
. "${SONDE_SRC:-.}/tests/lib.sh"

need clang-tidy python3
cd "$SONDE_SRC" || exit 1
# gcc's tuning options are unknown to clang.
python3 - "$SONDE_BUILD/compile_commands.json" "$SONDE_TMP" <<'END' || exit 1
import json, os, re, sys
def path(c): return os.path.abspath(os.path.join(c["directory"], c["file"]))
commands = [c for c in json.load(open(sys.argv[1])) if path(c).startswith(os.path.abspath("src") + "/")]
for c in commands:
    c["command"] = re.sub(r"\s'?-mmem(cpy|set)-strategy=\S+", "", c["command"])
json.dump(commands, open(sys.argv[2] + "/compile_commands.json", "w"))
with open(sys.argv[2] + "/files", "w") as files:
    files.write("".join(sorted({path(c) + "\n" for c in commands})))
END
ok "$(($(grep -c '/src/base/.*\.c$' "$SONDE_TMP/files") < 20))" "the build's sources are looked at"
xargs -P 2 -n 40 clang-tidy --quiet --checks='-clang-analyzer-*' -p "$SONDE_TMP" <"$SONDE_TMP/files" >"$SONDE_TMP/said" 2>"$SONDE_TMP/count"
status=$?
is "$status $(grep -cE '(warning|error):' "$SONDE_TMP/said")" "0 0" "clang-tidy has no warnings" ||
	diag "$(grep -E '(warning|error):' "$SONDE_TMP/said" | head -20)"
# That it can fail: one of the checks on a file of ours.
printf 'int f(int n);\nint f(int n)\n{\n\tint s = 0;\n\tfor (signed char i = 0; i < n; i++)\n\t\ts += i;\n\treturn s;\n}\n' >"$SONDE_TMP/bad.c"
clang-tidy --quiet --config-file="$SONDE_SRC/.clang-tidy" --checks='-clang-analyzer-*' "$SONDE_TMP/bad.c" -- >"$SONDE_TMP/said" 2>/dev/null
like "$(cat "$SONDE_TMP/said")" "bugprone-too-small-loop-variable" "and would have one about a loop that never ends"
done_testing

#!/usr/bin/env bash
# annotate of kernel functions: the running kernel's own text, through /proc/kcore.
# where: 6.1 6.12
# needs: root perf_events
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP
[ -r /proc/kcore ] || { skip "there is no /proc/kcore" "kernel text"; done_testing; exit; }

"$SONDE" record -e cpu-clock:k -F 999 -o k.data -- dd if=/dev/zero of=/dev/null bs=1M count=2000 >/dev/null 2>&1
ok $? "a recording of the kernel"
"$SONDE" report -i k.data --stdio --no-children -g none --sort sym -n >rows 2>/dev/null
hot=$(awk '$1 ~ /%$/ && $3 == "[k]" { print $4; exit }' rows)
samples=$(awk -v f="$hot" '$4 == f { print $2; exit }' rows)
exits 0 "annotate -s $hot" "$SONDE" annotate -i k.data -s "$hot"
like "$out" "Disassembly of .* for cpu-clock:k \\($samples samples" "as many samples as the report says"
like "$out" "<$hot>:" "the function"
[ "$(grep -cE '^ +[0-9.]+ : +f{4}[0-9a-f]+: .*[a-z]' <<<"$out")" -ge 3 ]
ok $? "instructions at the kernel's addresses"
bad=$(grep -c '(bad)' <<<"$out")
is "$bad" 0 "which are code"
first=$(sed -n 's/^ *[0-9.]* : *\([0-9a-f]*\): .*/\1/p' <<<"$out" | head -1)
is "$first" "$(awk -v f="$hot" '$3 == f { print $1; exit }' /proc/kallsyms | sed 's/^0*//')" "from where the kernel says it begins"
total=$(awk '$2 == ":" && $1 ~ /^[0-9.]+$/ { s += $1 } END { printf "%d", s + 0.5 }' <<<"$out")
[ "$total" -ge 98 ] && [ "$total" -le 102 ]
ok $? "the percentages are all of it ($total)"
done_testing

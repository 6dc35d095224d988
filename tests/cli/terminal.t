#!/usr/bin/env bash
# Names of strangers on a terminal: tasks, functions, files and events are called what a terminal would obey. On a terminal they are escaped, in files and
# pipes they are bytes; messages are escaped everywhere.
# timeout: 180
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
gen=$(dirname "$SONDE")/tests/stacks_gen
cd "$SONDE_TMP" || exit 1
export TERM=xterm SONDE_PAGER=cat
tty() { python3 "$SONDE_SRC/tests/cli/terminal.py" run "$@" </dev/null; }
obeys() { python3 "$SONDE_SRC/tests/cli/terminal.py" "$@"; }
# shown WHAT REGEX NAME CMD...: on a terminal CMD has nothing that one obeys (WHAT strict: no colours either), and shows REGEX.
shown() {
	local what=$1 regex=$2 name=$3
	shift 3
	tty got "$@"
	is "$(obeys "$what" got)" "" "$name: nothing that a terminal obeys" || diag "$(cat -v got | head -20)"
	like "$(tr -d '\r' <got)" "$regex" "$name: the name is there, as text"
}

title=$'\e]0;mine\a' # a terminal's title
c1=$'\xc2\x9b2J' # CSI as a character
raw=$'\x9b2J' # and as a byte
bidi=$'\xe2\x80\xaeidib'
red=$'\e[31mred\e[0m'
printf '%s\n' "0 $title 7 7 1000 $red;$c1;$raw" "1 $title 7 7 1000 $red;$c1;$bidi" "2 $title 7 7 1000 $red;"$'back\b\x7f' >stacks
"$gen" a.data names <stacks
cp a.data b.data

shown strict '\\x1b\]0;mine\\x07' "report" "$SONDE" report --stdio -i a.data --kallsyms names
like "$(cat got)" '\\x9b2J' "C1 characters and bytes"
like "$(cat got)" '\\u202eidib' "bidi overrides"
like "$(cat got)" '\\x1b\[31mred' "colours that are not ours"
like "$(cat got)" 'back\\x08\\x7f' "backspace and DEL"
shown strict '\\x1b\]0;mine\\x07' "report without call graphs" "$SONDE" report --stdio -g none --sort comm,sym -i a.data --kallsyms names
shown strict '\\x1b\]0;mine\\x07' "report -F" "$SONDE" report --stdio -t , -i a.data --kallsyms names
shown strict '\\x1b\]0;mine\\x07' "script" "$SONDE" script -i a.data --kallsyms names
shown strict '\\x1b\]0;mine\\x07' "script -D" "$SONDE" script -D -i a.data --kallsyms names
shown strict '\\x1b\]0;mine\\x07' "script with side-band" "$SONDE" script --show-task-events --show-mmap-events -i a.data --kallsyms names
shown strict 'x9b2J' "flame --folded" "$SONDE" flame --folded a.data --kallsyms names
shown strict '\\x1b\]0;mine\\x07' "diff" "$SONDE" diff --sort comm,sym a.data b.data
shown strict 'x9b2J' "export" "$SONDE" export --to folded -o - -i a.data --kallsyms names
shown strict 'u001b\]0;mine' "JSON" "$SONDE" --json report -i a.data --kallsyms names
SONDE_PAGER='cat; true' shown strict '\\x1b\]0;mine\\x07' "a pager's terminal" "$SONDE" script -i a.data --kallsyms names

# Events of the scheduler and of locks have names in their fields; a newline in one is no new row.
for kind in sched_wild lock_wild; do
	python3 "$SONDE_SRC/tests/gen/hostile.py" "$kind" "$kind" || exit 1
done
for way in "sched latency" "sched timehist -w -n -M --state" "sched timehist -s" "sched why" "sched map --compact"; do
	# shellcheck disable=SC2086
	shown safe '\\x1b\]0;x\\x07\\nroot' "$way" "$SONDE" $way -i sched_wild
done
for way in "lock report" "lock info"; do
	# shellcheck disable=SC2086
	shown safe '\\x1b\]0;x\\x07' "$way" "$SONDE" $way -i lock_wild
	is "$(grep -c '^root' got)" 0 "$way: a name is one line"
done

# The same bytes as ever where it is no terminal.
"$SONDE" report --stdio -i a.data --kallsyms names >report.txt 2>/dev/null
"$SONDE" script -i a.data --kallsyms names >script.txt 2>/dev/null
for name in "$title" "$c1" "$raw" "$bidi" "$red"; do
	LC_ALL=C grep -qaF -- "$name" report.txt
	ok $? "report to a file has the bytes of $(cat -v <<<"$name")"
	LC_ALL=C grep -qaF -- "$name" script.txt
	ok $? "and script"
done
LC_ALL=C "$SONDE" report --stdio -i a.data --kallsyms names >plain.txt 2>/dev/null
cmp -s report.txt plain.txt
ok $? "in any locale"

# A terminal that shows no UTF-8: its 8-bit characters are controls as well.
LC_ALL=C tty got "$SONDE" report --stdio -i a.data --kallsyms names
is "$(LC_ALL=C tr -d '\000-\177' <got | wc -c)" 0 "in the C locale a terminal gets ASCII only"

# Pages and pictures: names are text there, whatever they hold.
printf '%s\n' '0 </script><b> 7 7 1000 </title><script>x=1</script>;"onload="y'$'\x1b\xef\xbf\xbe' >stacks
"$gen" m.data names2 <stacks
exits 0 "a picture" "$SONDE" flame m.data --kallsyms names2 -o m.svg --title '</text><script>'
python3 -c 'import sys, xml.etree.ElementTree as t; r = t.parse("m.svg"); sys.exit(any(e.tag.endswith("script") for e in r.iter()))'
ok $? "is whole, and runs nothing"
exits 0 "a page" "$SONDE" flame m.data --kallsyms names2 -o m.html --title '</title><script>alert(1)</script>'
is "$(grep -c '<script' m.html) $(grep -c '</script' m.html)" "2 2" "has its own two scripts and no more"

# trace.dat: a task's name in the file.
data=$SONDE_SRC/tests/data/trace
python3 - "$data/6.1-events_v6.dat" <<'EOF'
import sys
data = open(sys.argv[1], "rb").read()
assert b"kworker/0:2" in data
open("h.dat", "wb").write(data.replace(b"kworker/0:2", b"\x1b[2Jab\x07cd\x9be"))
EOF
shown strict '\\x1b\[2J' "ftrace report" "$SONDE" ftrace report -i h.dat
shown strict '\\x1b\[2J' "report of a trace" "$SONDE" report --stdio -i h.dat

# Messages: escaped also where they do not go to a terminal.
exits 1 "a file that is not there" "$SONDE" report -i $'no\e]0;mine\a\nsuch'
like "$err" "'no\\\\x1b\]0;mine\\\\x07\\\\nsuch'" "its name is escaped in the message"
is "$(grep -c . <<<"$err")" "$(grep -cE '^(sonde|  )' <<<"$err")" "and makes no line of its own"
exits 129 "an event that is not there" "$SONDE" stat -e $'cy\e[2Jcles' true
unlike "$err" $'\e' "escaped too"
like "$err" 'cy\\x1b\[2Jcles' "in the message and in the line under which the place is marked"
like "$err" '\^~+' "with its mark"
exits 129 "an option that is not there" "$SONDE" report $'--no\e[2Jsuch'
unlike "$err" $'\e' "escaped too"
exits 129 "a command that is not there" "$SONDE" $'no\e[2Jsuch'
unlike "$err" $'\e' "escaped too"
shown safe 'no\\x1b\[2Jsuch' "messages on a terminal" "$SONDE" report -i $'no\e[2Jsuch'

# A terminal that can only print lines: no pager, no screen that is drawn, and that is said once.
seq 0 99 | sed 's/.*/& many 7 7 1000 f&/' >stacks
"$gen" long.data names3 <stacks
cat >pager <<'EOF'
#!/bin/sh
echo paged
cat
EOF
chmod +x pager
export SONDE_PAGER=$SONDE_TMP/pager
tty got "$SONDE" script -i long.data --kallsyms names3
like "$(cat got)" paged "a long text is paged"
for TERM in dumb ''; do
	export TERM
	tty got "$SONDE" script -i long.data --kallsyms names3
	unlike "$(cat got)" paged "TERM='$TERM': no pager"
	is "$(grep -c 'TERM is .*: plain text, no pager and no terminal UI' got)" 1 "one sentence says so"
	is "$(obeys strict got)" "" "and nothing but lines"
	tty got "$SONDE" report -i long.data --kallsyms names3
	is "$(grep -c 'TERM is .*: plain text, no pager and no terminal UI' got)" 1 "report: no terminal UI, and one sentence"
	is "$(obeys strict got)" "" "nothing but lines"
	like "$(cat got)" '%.*many' "the rows are there"
	tty got "$SONDE" flame --term long.data --kallsyms names3
	is "$(grep -c 'TERM is .*: plain text, no pager and no terminal UI' got)" 1 "flame --term: the same"
done
"$SONDE" script -i long.data --kallsyms names3 >/dev/null 2>err
is "$(cat err)" "" "nothing of it where there is no terminal"
export TERM=xterm SONDE_PAGER=cat

# A locale without UTF-8: ASCII instead of arrows and dots.
printf '%s\n' "0 app 7 7 1000 main;a_function_with_a_long_name" "1 app 7 7 7000 main;b" >stacks
"$gen" cut.data names4 <stacks
LC_ALL=C "$SONDE" flame --term cut.data --kallsyms names4 >got
is "$(LC_ALL=C tr -d '\000-\177' <got | wc -c)" 0 "flame --term is ASCII in the C locale"
"$SONDE" flame --term cut.data --kallsyms names4 | LC_ALL=C grep -q $'\xe2\x80\xa6'
ok $? "and has dots in one with UTF-8"
done_testing

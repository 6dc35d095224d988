#!/usr/bin/env bash
# Every verb: --help with a summary and examples first, refusal of what it does not know with a hint, the man page and the
# completion from the same table; and what the documentation writes can be typed.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3

# Every command and sub-command, a line each: words TAB summary TAB number of its own options TAB one long option
"$SONDE" help --json >"$SONDE_TMP/help.json"
ok $? "help --json"
python3 - "$SONDE_TMP/help.json" >"$SONDE_TMP/verbs" <<'END'
import json, sys
def walk(command, words):
    for sub in command.get("commands", []):
        path = words + [sub["name"]]
        longs = [o["long"] for o in sub["options"] if "long" in o]
        print("\t".join([" ".join(path), sub["summary"], str(len(longs)), next((l for l in longs if len(l) > 4), "")]))
        walk(sub, path)
walk(json.load(open(sys.argv[1])), [])
END
[ -s "$SONDE_TMP/verbs" ]
ok $? "there are commands"

while IFS=$'\t' read -r words summary _ long; do
	# shellcheck disable=SC2086 # the words are words
	set -- $words
	exits 0 "$words --help" "$SONDE" "$@" --help
	help=$out
	is "$(printf '%s\n' "$help" | head -1)" "sonde $words: $summary" "$words: its summary comes first"
	is "$(printf '%s\n' "$help" | grep -m1 -oE '^(Examples|Usage|Options|Common options|Commands):')" "Examples:" \
		"$words: examples come before anything else"
	like "$help" "^  sonde $words" "$words: the examples are its own"
	like "$help" "^Usage: sonde $words" "$words: usage"
	is "$err" "" "$words --help: nothing on stderr"
	case $summary in *.) ok 1 "$words: the summary has no full stop" ;; esac
	exits 0 "$words: help $words" "$SONDE" help "$@"
	is "$out" "$help" "$words: both ways show the same"
	exits 129 "$words --no-such-thing" "$SONDE" "$@" --no-such-thing
	like "$err" "^sonde $words: unknown option '--no-such-thing'" "$words: names the option"
	like "$err" "hint: 'sonde $words --help'" "$words: points to --help"
	is "$out" "" "$words: nothing on stdout"
	if [ -n "$long" ]; then
		exits 129 "$words --${long}x" "$SONDE" "$@" "--${long}x"
		like "$err" "hint: did you mean '--" "$words: did you mean"
	fi
	exits 0 "$words: man page" "$SONDE" help --man "$@"
	like "$out" '^\.TH SONDE-' "$words: is one"
	if ! needs_or_skip "$words: the man page renders" man; then
		printf '%s\n' "$out" >"$SONDE_TMP/page.1"
		text=$(MANWIDTH=100 man --warnings -E UTF-8 -l "$SONDE_TMP/page.1" 2>"$SONDE_TMP/stderr" | col -bx)
		is "$(cat "$SONDE_TMP/stderr")" "" "$words: the man page renders without a warning"
		for option in $(printf '%s\n' "$help" | grep -oE '^ +(-., )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
			printf '%s\n' "$text" | grep -q -- "$option" || diag "missing in the man page: $option"
			printf '%s\n' "$text" | grep -q -- "$option" || lost=1
		done
		[ -z "${lost:-}" ]
		ok $? "$words: every option of --help is in the man page"
		lost=
	fi
done <"$SONDE_TMP/verbs"

# The program as a whole.
exits 129 "no command" "$SONDE"
like "$out" "^Examples:" "shows what there is"
exits 0 "--help" "$SONDE" --help
exits 0 "-h" "$SONDE" -h
overview=$out
while IFS=$'\t' read -r words summary _; do
	case $words in *' '*) ;; *) like "$overview" "^  $words +" "the overview has $words" ;; esac
done <"$SONDE_TMP/verbs"
exits 0 "--version" "$SONDE" --version
like "$out" '^sonde version [0-9]+\.[0-9]+' "has a number"
exits 129 "an unknown command" "$SONDE" wrokload
like "$err" "there is no command 'wrokload'" "is named"
like "$err" "did you mean 'workload'" "and what is close"
exits 129 "help of an unknown command" "$SONDE" help wrokload
exits 129 "an unknown global option" "$SONDE" --jsno help
like "$err" "did you mean '--json'" "and what is close"
exits 0 "common options may stand before the verb" "$SONDE" --json workload -l
like "$out" '^\[' "and mean the same"

# Colour, pager, full disk.
exits 0 "no colour in a file" "$SONDE" help help
unlike "$out" $'\033' "no escape sequences"
exits 0 "--color" "$SONDE" help help --color
like "$out" $'\033\\[1m' "colour when asked for"
if [ -e /dev/full ]; then
	"$SONDE" help >/dev/full 2>"$SONDE_TMP/stderr"
	is $? 1 "a full disk is a failure"
	like "$(cat "$SONDE_TMP/stderr")" "cannot write to standard output: No space left" "and is told"
fi
"$SONDE" help --json 2>"$SONDE_TMP/stderr" | true
is "$(cat "$SONDE_TMP/stderr")" "" "a reader that went away is no error to talk about"
if ! needs_or_skip "pager" script; then
	page() { TERM=xterm SONDE_PAGER="$1" script -qec "stty rows $2 cols 100; $SONDE help workload $3" /dev/null; }
	like "$(page 'sed s/^/PAGED:/' 5 '')" "^PAGED:sonde workload" "long text on a terminal goes through the pager"
	unlike "$(page 'sed s/^/PAGED:/' 200 '')" "PAGED" "short text does not"
	unlike "$(page 'sed s/^/PAGED:/' 5 --no-pager)" "PAGED" "nor with --no-pager"
	unlike "$(page '' 5 '')" "PAGED" "nor without one"
	like "$(page 'no-such-pager-anywhere' 5 '')" "^sonde workload" "a missing pager loses nothing"
	like "$(page cat 200 '')" $'\033\\[1mExamples' "colour on a terminal"
	unlike "$(NO_COLOR=1 page cat 200 '')" $'\033\\[1m' "NO_COLOR"
fi

# Completion.
exits 0 "completion script" "$SONDE" help --bash-completion
printf '%s\n' "$out" >"$SONDE_TMP/sonde.bash"
bash -n "$SONDE_TMP/sonde.bash"
ok $? "is a script"
# complete_words WORD...: what the last word can become
complete_words() {
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sonde; echo "${COMPREPLY[*]}"' bash \
		"$SONDE_TMP/sonde.bash" "$@"
}
is "$(complete_words sonde workl)" workload "a verb"
is "$(complete_words sonde workload --thr)" "--threads=" "an option with its ="
is "$(complete_words sonde workload --color = al)" "always" "a value"
is "$(complete_words sonde help workl)" workload "a verb behind help"
is "$(complete_words sonde workload -- --thr)" "" "nothing behind --"

# What README and the documentation write in code, exists: verbs and long options.
python3 - "$SONDE_TMP/help.json" "$SONDE_SRC" >"$SONDE_TMP/docs" <<'END'
import json, pathlib, re, sys
program = json.load(open(sys.argv[1]))
root = pathlib.Path(sys.argv[2])
common = {o["long"] for o in program["options"]} | {"help"}
files = sorted(p for pattern in ("*.md", "doc/*.md") for p in root.glob(pattern))
for path in files:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for code in re.findall(r"`([^`]+)`", line) + ([line] if re.match(r"(    |\t|\$ )", line) else []):
            match = re.search(r"(?:^|[\s$/])sonde ((?:[a-z][\w-]*)(?: .*)?)$", code.strip())
            if not match:
                continue
            words = re.split(r"\s(?:--|\||>|&&|#)(?:\s|$)", match[1])[0].split()
            command, known = program, set(common)
            while words and words[0] in {c["name"] for c in command.get("commands", [])}:
                command = next(c for c in command["commands"] if c["name"] == words.pop(0))
                known |= {o["long"] for o in command["options"] if "long" in o}
            if command is program:
                print(f"{path.name}:{number}: no such command: {code}")
            for word in words:
                long = re.match(r"--(?:no-)?([a-z][\w-]*)", word)
                if long and long[1] not in known and "no-" + long[1] not in known:
                    print(f"{path.name}:{number}: no such option {word}: {code}")
END
is "$(cat "$SONDE_TMP/docs")" "" "the documentation writes nothing that does not exist"
done_testing

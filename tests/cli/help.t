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
like "$err" "unknown command 'wrokload'" "is named"
like "$err" "did you mean 'workload'" "and what is close"
exits 129 "a command of perf's that is not there" "$SONDE" kvm stat live
like "$err" "hint: not supported: 'kvm stat record" "says what helps meanwhile"
exits 129 "help of an unknown command" "$SONDE" help wrokload
exits 129 "help of a misspelt page" "$SONDE" help evnts
like "$err" "did you mean 'events'" "names the page that is no command"
exits 129 "an unknown global option" "$SONDE" --jsno help
like "$err" "did you mean '--json'" "and what is close"
page=$("$SONDE" help --man)
for section in ENVIRONMENT FILES "SEE ALSO"; do
	like "$page" "^\.SH $section\$" "sonde(1) has a section $section"
done
missing=
for verb in $("$SONDE" help --json | python3 -c 'import json, sys; print(*(c["name"] for c in json.load(sys.stdin)["commands"]))'); do
	grep -q "sonde.-$verb" <<<"$page" || missing+=" $verb"
done
is "$missing" "" "and names the pages of all commands"
# Events have a page of their own, made from the table of kinds.
exits 0 "help events" "$SONDE" help events
like "$out" '^  kprobe:\[MODULE:\]FUNCTION' "has the kinds"
exits 0 "as JSON" "$SONDE" help --json events
forms=$(python3 -c 'import json, sys; print("\n".join(r["form"] for r in json.load(sys.stdin)))' <<<"$out")
exits 0 "as a man page" "$SONDE" help --man events
like "$out" '^\.TH SONDE-EVENTS 7' "is one"
for section in DESCRIPTION "KINDS OF EVENTS" MODIFIERS GROUPS "OPTIONS OF ONE EVENT" FILTERS "GLOBS AND WORDS" TRIGGERS; do
	like "$out" "^\.SH $section\$" "it has a section $section"
done
if ! needs_or_skip "the page about events renders" man; then
	printf '%s\n' "$out" >"$SONDE_TMP/page.7"
	text=$(MANWIDTH=200 man --warnings -E UTF-8 -l "$SONDE_TMP/page.7" 2>"$SONDE_TMP/stderr" | col -bx)
	is "$(cat "$SONDE_TMP/stderr")" "" "without a warning"
	lost=
	while read -r form; do grep -qF -- "$form" <<<"$text" || lost+=" $form"; done <<<"$forms"
	is "$lost" "" "with every kind"
fi
# Every example of the page is understood: the events, not what this machine has.
bad=
while read -r line; do
	event=$(sed -nE "s/.* -e '?([^' ]+|[^']+)'? .*/\1/p" <<<"$line ")
	verb=$(sed -E 's/^sonde (ftrace )?([a-z]+) .*/\1\2/' <<<"$line")
	case $verb in ftrace*) verb+=' --dry-run' ;; esac
	# shellcheck disable=SC2086
	(cd "$SONDE_TMP" && "$SONDE" $verb -e "$event" -- true >/dev/null 2>"$SONDE_TMP/stderr")
	! grep -qE "not understood|is missing here|cannot start|unknown modifier|not closed" "$SONDE_TMP/stderr" || bad+=" [$line]"
done < <(sed -nE 's/^\\fB(sonde (stat|record|ftrace record) .*)\\fR$/\1/p' <<<"$out" | sed 's/\\-/-/g; s/\\e/\\/g')
is "$bad" "" "its examples are in the language"
# So has the language of run: made from the rows of the compiler.
exits 0 "help language" "$SONDE" help language
like "$out" '^  uprobe:PROGRAM:FUNCTION' "has the probes"
like "$out" '^  printf\(FORMAT, VALUE' "and the functions, with their arguments"
exits 0 "as JSON" "$SONDE" help --json language
printf '%s\n' "$out" >"$SONDE_TMP/language.json"
language() { python3 -c 'import json, sys; print("\n".join(r[sys.argv[2]] for r in json.load(open(sys.argv[3]))[sys.argv[1]]))' "$1" "$2" "$SONDE_TMP/language.json"; }
[ "$(language functions name | grep -c .)" -ge 100 ] && [ "$(language probes form | grep -c .)" -ge 18 ]
ok $? "all of them"
is "$(language functions about | grep -c '^$')" 0 "each with what it is"
exits 0 "as a man page" "$SONDE" help --man language
like "$out" '^\.TH SONDE-LANGUAGE 7' "is one"
if ! needs_or_skip "the page about the language renders" man; then
	printf '%s\n' "$out" >"$SONDE_TMP/language.7"
	text=$(MANWIDTH=200 man --warnings -E UTF-8 -l "$SONDE_TMP/language.7" 2>"$SONDE_TMP/stderr" | col -bx)
	is "$(cat "$SONDE_TMP/stderr")" "" "without a warning"
	lost=
	while read -r name; do grep -qF -- "$name" <<<"$text" || lost+=" $name"; done < <(language functions name)
	is "$lost" "" "with every function"
fi
# Its examples compile; the kernel's types are not asked for on machines that have none.
python3 - "$SONDE_TMP/language.json" "$SONDE_TMP" <<'END'
import json, sys
for i, e in enumerate(json.load(open(sys.argv[1]))["examples"]):
    open(f"{sys.argv[2]}/example.{i}.bt", "w").write(e["script"])
END
bad=
for script in "$SONDE_TMP"/example.*.bt; do
	[ -e /sys/kernel/btf/vmlinux ] || ! grep -q 'struct\|curtask' "$script" || continue
	"$SONDE" run -d types "$script" >"$SONDE_TMP/stdout" 2>"$SONDE_TMP/stderr" || bad+=" $(cat "$script" "$SONDE_TMP/stderr")"
done
is "$bad" "" "all examples about the language compile"
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
	unpaged() { # NAME PAGER ROWS OPTION
		local text
		text=$(page "$2" "$3" "$4")
		like "$text" "sonde workload" "$1: the text is there"
		unlike "$text" "PAGED" "$1"
	}
	unpaged "short text does not" 'sed s/^/PAGED:/' 200 ''
	unpaged "nor with --no-pager" 'sed s/^/PAGED:/' 5 --no-pager
	unpaged "nor without one" '' 5 ''
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

# What the examples, README, the documentation and doctor write, can be typed: verbs, options, and values where they are needed.
python3 - "$SONDE_TMP/help.json" "$SONDE_SRC" >"$SONDE_TMP/docs" <<'END'
import json, pathlib, re, shlex, sys

program = json.load(open(sys.argv[1]))
root = pathlib.Path(sys.argv[2])


def faults(line):
    """What is wrong with a command line that begins behind "sonde"."""
    try:
        words = shlex.split(re.split(r"\s(?:\||>|&&|;|#|&)(?:\s|$)", line)[0])
    except ValueError as error:
        return [str(error)]
    command, options = program, list(program["options"]) + [{"long": "help", "short": "h"}]
    found = []
    while words:
        word = words.pop(0)
        subs = {c["name"]: c for c in command.get("commands", [])}
        if word == "--":
            break
        if word in subs:
            command = subs[word]
            options = command["options"] + options
        elif word.startswith("--"):
            name, _, value = word[2:].partition("=")
            names = {name, name.removeprefix("no-"), "no-" + name}
            option = next((o for o in options if o.get("long") in names), None)
            if not option:
                found.append(f"no such option {word}")
            elif "value" in option and "=" not in word and option["long"] == name and not words[:1]:
                found.append(f"{word} needs a value")
            elif "value" in option and "=" not in word and option["long"] == name:
                words.pop(0)
        elif word.startswith("-") and len(word) > 1:
            letters = word[1:]
            while letters:
                option = next((o for o in options if o.get("short") == letters[0]), None)
                letters = letters[1:]
                if not option:
                    found.append(f"no such option in {word}")
                elif "value" in option and not letters and not words:
                    found.append(f"{word} needs a value")
                elif "value" in option and not letters:
                    words.pop(0)
                if not option or "value" in option or "optional_value" in option:
                    break
        elif command is program:
            return [f"no such command {word}"]
        elif not command["mixed_words"]:
            break
    return found


def examples(command):
    for example in command["examples"]:
        yield f"example of {command['name']}", example["line"]
    for sub in command.get("commands", []):
        yield from examples(sub)


def documents():
    for path in sorted(p for pattern in ("*.md", "doc/*.md") for p in root.glob(pattern)):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for code in re.findall(r"`([^`]+)`", line) + ([line] if re.match(r"(    |\t|\$ |sonde )", line) else []):
                match = re.match(r"(?:\$ )?(?:sudo )?(?:\./)?(?:build/)?sonde ([a-z-].*)$", code.strip())
                if match and "…" not in code and "..." not in code:
                    yield f"{path.name}:{number}", match[1]


def advice():
    """Verbs in what doctor says, on whatever machine."""
    for path in sorted(root.glob("src/session/doctor*.c")):
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text()):
            yield from ((path.name, verb) for verb in re.findall(r"\bsonde ([a-z][a-z-]*)", text))


seen = 0
for place, line in list(examples(program)) + list(documents()) + list(advice()):
    seen += 1
    for fault in faults(line):
        print(f"{place}: {fault}: {line}")
if not seen:
    print("no example was found")
if not faults("workload --no-such-option") or not faults("wrokload") or not faults("workload -t"):
    print("this check finds nothing")
END
is "$(cat "$SONDE_TMP/docs")" "" "examples and documentation write nothing that cannot be typed"

# Called by another tool's name.
ln -s "$SONDE" "$SONDE_TMP/perf"
ln -s "$SONDE" "$SONDE_TMP/other"
exits 0 "called as perf" "$SONDE_TMP/perf" --version
like "$out" '^perf version [0-9]' "answers as perf does"
exits 129 "an unknown option, called as perf" "$SONDE_TMP/perf" workload --nope
like "$err" '^perf workload: ' "speaks as perf"
exits 0 "called by a name that means nothing" "$SONDE_TMP/other" --version
like "$out" '^sonde version' "is itself"
done_testing

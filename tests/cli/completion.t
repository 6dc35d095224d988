#!/usr/bin/env bash
# Completion for zsh and fish, made from the option tables: their own shells read them, and they offer what there is.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1
"$SONDE" help --json >help.json
exits 0 "zsh script" "$SONDE" help --zsh-completion
is "$err" "" "nothing on stderr"
printf '%s\n' "$out" >_sonde
exits 0 "fish script" "$SONDE" help --fish-completion
printf '%s\n' "$out" >sonde.fish

# With or without the shells: every verb and every option of the tables is in both.
python3 - >missing <<'END'
import json, re
zsh, fish = open("_sonde").read(), open("sonde.fish").read()
def walk(command, words):
    for sub in command.get("commands", []):
        path = words + [sub["name"]]
        body = re.search(r"^_sonde_%s\(\) \{\n(.*?)^\}" % "_".join(path).replace("-", "_"), zsh, re.S | re.M)
        if not body:
            print("zsh: no function for", *path)
            continue
        at = "-n '__sonde_at \"%s\"'" % " ".join(path)
        for o in sub["options"]:
            for name, z, f in (("long", "--%s", " -l %s "), ("short", "-%s", " -s %s ")):
                if name in o:
                    if not re.search(re.escape(z % o[name]) + r"[-+=]*\[", body[1]):
                        print("zsh:", *path, z % o[name])
                    if not any(at in l and f % o[name] in l for l in fish.splitlines()):
                        print("fish:", *path, f % o[name])
        walk(sub, path)
walk(json.load(open("help.json")), [])
# Quotes of the specs are balanced on every line.
for nr, line in enumerate(zsh.splitlines(), 1):
    if line.startswith("\t\t'") and len(re.findall(r"'", line.replace("'\\''", ""))) != 2:
        print("zsh line", nr, line)
END
is "$(cat missing)" "" "every verb and option is in both"
like "$(head -1 _sonde)" '^#compdef sonde$' "zsh finds it by its first line"

# bash: values, too. Events are asked of the program when they are needed.
"$SONDE" help --bash-completion >sonde.bash
mkdir -p bin && ln -sf "$SONDE" bin/sonde
offers() {
	PATH=$PWD/bin:$PATH bash -c '. ./sonde.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sonde; printf "%s\n" "${COMPREPLY[@]}"' bash sonde "$@"
}
like "$(offers record -e cpu-c)" '^cpu-clock$' "record -e offers events"
like "$(offers stat -e page-f)" '^page-faults$' "stat -e does"
like "$(offers report -s dso)" '^dso_from$' "report -s offers keys"
like "$(offers export --to spe)" '^speedscope$' "export --to offers formats"
is "$(offers record -e nosuchevent)" "" "nothing where nothing fits"
for word in 'list --raw-dump' 'pprof speedscope'; do
	grep -q -- "$word" _sonde && grep -q -- "$word" sonde.fish
	ok $? "zsh and fish offer values, too: $word"
done

if ! needs_or_skip "zsh reads it" zsh; then
	zsh -n _sonde
	ok $? "zsh reads it"
	zsh -f -c 'fpath=($1 $fpath); autoload -Uz compinit; compinit -u -d dump; print ${_comps[sonde]}' zsh "$SONDE_TMP" >found 2>&1
	is "$(cat found)" _sonde "compinit takes it for sonde"
	# In a terminal of its own: what a person sees behind TAB.
	python3 - >seen <<'END'
import os, pty, select, time
pid, fd = pty.fork()
if not pid:
    os.environ.update(TERM="dumb", PS1="> ")
    os.execvp("zsh", ["zsh", "-f", "-i"])
seen = b""
def wait_for(word, seconds=100):
    global seen
    end = time.time() + seconds
    while word not in seen and time.time() < end:
        if select.select([fd], [], [], 0.2)[0]:
            seen += os.read(fd, 4096)
os.write(fd, b"fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -d $PWD/dump2; print rea''dy\n")
wait_for(b"ready")
for typed, offered in ((b"sonde record --mmap-p", b"mmap-pages"), (b"sonde help rec", b"help record")):
    for _ in range(6):
        time.sleep(1) # the editor, not the terminal, must see the TAB: once more where it was not there yet
        os.write(fd, typed + b"\t")
        wait_for(offered, 15)
        os.write(fd, b"\x15")
        if offered in seen:
            break
os.write(fd, b"exit\n")
print(seen.decode(errors="replace"))
END
	like "$(tr -d '\r' <seen)" 'mmap-pages=' "an option is offered"
	like "$(tr -d '\r' <seen)" 'help record' "and a verb"
fi
if ! needs_or_skip "fish reads it" fish; then
	export HOME=$SONDE_TMP
	fish -n sonde.fish
	ok $? "fish reads it"
	offers() { fish -N -c "source sonde.fish; complete -C '$1'" 2>&1 | cut -f1; }
	is "$(offers 'sonde rec')" record "a verb"
	is "$(offers 'sonde record --mmap-p' | tr -d =)" "--mmap-pages" "an option of a verb"
	is "$(offers 'sonde doctor --mmap-p')" "" "not of another"
	is "$(offers 'sonde doctor --color=al')" "--color=always" "a value"
	like "$(offers 'sonde help re')" '^report$' "help's words are verbs"
fi
done_testing

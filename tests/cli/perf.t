#!/usr/bin/env bash
# Called as perf: its verbs, options before the verb, settings, exit status; compared with perf where it is installed.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
ln -s "$SONDE" "$SONDE_TMP/perf"
ours=$SONDE_TMP/perf
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP/home PERF_CONFIG_NOSYSTEM=1
mkdir -p "$HOME"
unset PERF_CONFIG PERF_PAGER PAGER PERF_BUILDID_DIR

# ---- version
exits 0 "perf --version" "$ours" --version
like "$out" '^perf version [0-9]+\.[0-9]+\.[0-9]+ \(sonde [0-9.]+\)$' "the form that scripts parse"
is "$(awk '{print $3}' <<<"$out" | grep -cE '^[0-9]+\.[0-9]+(\.[0-9]+)?$')" 1 "its third word is a version"
version=$out
exits 0 "perf -v" "$ours" -v
is "$out" "$version" "is the same"
exits 0 "perf version" "$ours" version
is "$out" "$version" "as a verb"
exits 0 "perf version --build-options" "$ours" version --build-options
like "$out" '^ +zstd: \[ on  \]  # HAVE_ZSTD_SUPPORT$' "in perf's form"
options=$out
exits 0 "perf -vv" "$ours" -vv
is "$out" "$options" "is the same"
if ! needs_or_skip "perf version --build-options has the same form" perf; then
	is "$(perf version --build-options | sed -E '1d; s/[a-zA-Z_0-9-]+: \[ (on |OFF) \]  # HAVE_.*/X/; s/^ *X$/line/' | sort -u)" \
		"$(sed -E '1d; s/[a-zA-Z_0-9-]+: \[ (on |OFF) \]  # HAVE_.*/X/; s/^ *X$/line/' <<<"$options" | sort -u)" \
		"perf version --build-options has the same form"
fi

# ---- check
exits 0 "check feature that is there" "$ours" check feature zstd
like "$out" 'zstd: \[ on  \]' "and says so"
exits 1 "check feature that is not" "$ours" check feature libbfd
like "$out" 'libbfd: \[ OFF \]' "and says so"
exits 1 "several, one of them missing" "$ours" check feature zlib,libbfd
exits 0 "by the macro's name" "$ours" check feature HAVE_ZLIB_SUPPORT
exits 0 "-q" "$ours" check -q feature zlib
is "$out$err" "" "says nothing"
exits 1 "a feature that nobody knows" "$ours" check feature nosuch
like "$err" "Unknown feature 'nosuch'" "is named"
exits 129 "check without anything" "$ours" check

# ---- help and verbs
exits 0 "perf help" "$ours" help
like "$out" '^ usage: perf \[--version\] \[--help\] \[OPTIONS\] COMMAND \[ARGS\]$' "usage as perf writes it"
like "$out" '^   record          [a-z]' "verbs as perf lists them"
usage=$out
exits 0 "perf --help" "$ours" --help
is "$out" "$usage" "is the same"
exits 1 "perf alone" "$ours"
is "$out" "$usage" "shows it too"
exits 0 "perf help record" "$ours" help record
like "$out" '^perf record: ' "is about record"
exits 1 "a verb that perf has not" "$ours" recrod
like "$err" "^perf: 'recrod' is not a perf-command. See 'perf --help'.$" "perf's message"
like "$err" "record" "and the closest"
exits 1 "a verb that we have not" "$ours" daemon
like "$err" "There are:.* list .*record report" "says which there are"
exits 0 "perf --list-cmds" "$ours" --list-cmds
like " $out " ' list .*record report ' "for completion scripts"
exits 0 "perf --list-opts" "$ours" --list-opts
like "$out" '--version .*--buildid-dir' "likewise"
exits 129 "an option nobody knows" "$ours" --nosuch
exits 0 "--no-pager before the verb" "$ours" --no-pager version
exits 0 "doctor, which perf has not" "$ours" doctor 'software events'

# ---- scripts, which perf runs by Perl or Python
"$SONDE" record -q -o sampled.data -F 999 -e cpu-clock -- "$SONDE" workload leaf 0.1 2>/dev/null
exits 0 "script -l" "$ours" script -l
like "$out" '^  flamegraph +sonde flame' "says what there is for each"
exits 129 "script -s" "$ours" script -s some.py
like "$err" 'sonde run .*sonde export .*script --json' "says what there is instead"
exits 129 "another script of perf's" "$ours" script rwtop
like "$err" "perf's script 'rwtop' is not supported" "is known by its name"
if [ -s sampled.data ]; then
	exits 0 "script flamegraph" "$ours" script -i sampled.data flamegraph
	like "$(head -c 100 flamegraph.html)" '<!DOCTYPE html>' "writes the page"
	exits 0 "--itrace of a recording without an AUX trace" "$ours" script --itrace=i -i sampled.data
	like "$out" 'workload_leaf' "changes nothing"
fi
exits 1 "daemon" "$ours" daemon
like "$err" 'hint: .*--switch-output' "says what comes near"
exits 0 "sonde version" "$SONDE" version
is "$out" "$("$SONDE" --version)" "is --version"
exits 0 "--version after a verb" "$SONDE" record --version
is "$out" "$("$SONDE" --version)" "likewise"
exits 0 "as perf" "$ours" report --version
is "$out" "$("$ours" --version)" "with perf's line"
exits 0 "list -j" "$ours" list -j sw
like "$out" '"EventName": "cpu-clock' "is JSON"
for name in leafloop sqrtloop inlineloop context_switch_loop brstack datasym landlock; do
	exits 0 "test -w $name" "$ours" test -w $name 0
done
if ! needs_or_skip "kallsyms" root perf; then
	exits 0 "perf kallsyms" "$ours" kallsyms do_exit vfs_read no_such_symbol
	is "$out" "$(perf kallsyms do_exit vfs_read no_such_symbol 2>/dev/null)" "as perf prints it"
fi

# ---- exit status
exits 255 "report without a file" "$ours" report -i nosuch.data
like "$err" 'nosuch.data' "names it"
exits 129 "an unknown event" "$ours" record -e nosuch:event -o x.data true
exits 255 "a command that is not there" "$ours" record -o x.data -- /nonexistent
exits 1 "our own name: 1" "$SONDE" report -i nosuch.data

# ---- workloads
exits 0 "perf test -w" "$ours" test -w noploop 0.01
exits 0 "perf's name for a workload" "$ours" test -w leafloop 0.01
# perf's own workloads of these names: a child that computes, and functions that its test of branch stacks looks for.
like "$("$ours" test --list-workloads)" '^sqrtloop' "sqrtloop is one of its own"
exits 0 "sqrtloop" bash -c 'times=$( { "$0" test -w sqrtloop 0.1; times; } | sed -n 2p); [ "${times%% *}" != 0m0.000s ]' "$ours"
exits 0 "brstack" "$ours" test -w brstack 1000
exits 129 "a workload nobody has" "$ours" test -w nosuch
like "$err" "unknown workload 'nosuch'" "is named"
exits 0 "perf test --list-workloads" "$ours" test --list-workloads
like "$out" '^noploop' "lists them"
exits 255 "perf test alone" "$ours" test
like "$err" 'make check' "says where the tests are"

# ---- settings
cat >config <<'END'
# kept
[report]
	children = false ; a remark
	percent-limit = 2.5
[call-graph]
record-mode = "dwarf,4096"
[pager "x"]
	cmd = less
[colors]
	top = "red, # default"
END
export PERF_CONFIG=$SONDE_TMP/config
exits 0 "perf config -l" "$ours" config -l
list=$out
is "$list" 'report.children=false
report.percent-limit=2.5
call-graph.record-mode=dwarf,4096
pager.x.cmd=less
colors.top=red, # default' "all settings"
exits 0 "perf config" "$ours" config
is "$out" "$list" "is the same"
if ! needs_or_skip "perf reads it the same way" perf; then
	is "$(perf config -l 2>/dev/null)" "$list" "perf reads it the same way"
fi
exits 0 "one setting" "$ours" config report.children
is "$out" "report.children=false" "in perf's form"
exits 0 "one that is not set" "$ours" config report.nosuch
is "$out" "" "nothing"
exits 255 "no section" "$ours" config nosuch
like "$err" 'does not contain a section name: nosuch' "is said"
exits 0 "set one" "$ours" config report.children=true
is "$(sed -n 1p config)" "# kept" "comments stay"
is "$(grep -c children config)" 1 "it is there once"
exits 0 "a new one in a section" "$ours" config report.queue-size=5
exits 0 "a new one in a new section" "$ours" config ui.show-headers=no
exits 0 "a new one in a part of a section" "$ours" config pager.y.cmd='most # x'
exits 255 "a key with an empty part" "$ours" config ui..x=1
like "$err" 'does not contain a variable name: ui\.\.x' "no file could hold it"
exits 255 "a name with a space" "$ours" config 'ui.a b=1'
exits 0 "a section in capitals" "$ours" config UI.show-headers=no
exits 0 "is the same section" "$ours" config Ui.show-headers
is "$out" "ui.show-headers=no" "and its name is lower case"
exits 0 "all of it" "$ours" config -l
is "$out" 'report.children=true
report.percent-limit=2.5
report.queue-size=5
call-graph.record-mode=dwarf,4096
pager.x.cmd=less
colors.top=red, # default
ui.show-headers=no
pager.y.cmd=most # x' "reads back"
if ! needs_or_skip "perf reads what we wrote" perf; then
	# perf groups by the first word
	is "$(perf config -l 2>/dev/null | sort)" "$(sort <<<"$out")" "perf reads what we wrote"
fi
unset PERF_CONFIG
exits 0 "set without PERF_CONFIG" "$ours" config stat.big-num=false
is "$(cat "$HOME/.perfconfig")" "$(printf '[stat]\n\tbig-num = false')" "goes to ~/.perfconfig"
ln -s "$HOME/.perfconfig" link
exits 0 "through a link" env PERF_CONFIG="$SONDE_TMP/link" "$ours" config stat.big-num=true
if [ "$(id -u)" = 0 ]; then # whoever made it may have meant another file
	[ ! -L link ] && grep -q true link && grep -q false "$HOME/.perfconfig"
	ok $? "root replaces the link"
else
	[ -L link ] && grep -q true "$HOME/.perfconfig"
	ok $? "the link stays one"
fi
ls "$HOME"/.perfconfig.* link.* >/dev/null 2>&1
isnt $? 0 "no other file is left"
printf '[report\nchildren = 1\n[stat]\nx = "open\ny = 1\n' >"$HOME/.perfconfig"
exits 0 "broken lines" "$ours" config -l
is "$out" "stat.y=1" "what can be read is read"
like "$err" 'bad config file line 1 in .*\.perfconfig' "the others are named"
like "$err" 'line 4' "all of them"
exits 0 "and a command goes on" "$ours" list sw
if [ "$(id -u)" = 0 ]; then
	printf '[stat]\nz = 1\n' >"$HOME/.perfconfig"
	chown 65534 "$HOME/.perfconfig"
	exits 0 "somebody else's file" "$ours" config -l
	is "$out" "" "is not read"
	like "$err" "owned by neither you nor root" "and that is said"
else
	skip "not root" "somebody else's file"
fi
rm -f "$HOME/.perfconfig"

# Settings that change what we do: an option that only report takes shows that it arrived.
printf '[report]\n\tpercent-limit = 101\n' >"$HOME/.perfconfig"
exits 129 "report.percent-limit is report's option" "$ours" report -i nosuch.data
like "$err" "percent-limit: invalid percentage '101'" "with its value"
exits 255 "the command line comes last" "$ours" report --percent-limit 5 -i nosuch.data
exits 1 "our own name does not read it" "$SONDE" report -i nosuch.data
rm -f "$HOME/.perfconfig"
done_testing

#!/usr/bin/env bash
# Recordings that are not what they should be: a message that names the file and says what to do, and status 1; what is whole is shown.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde

gen=$(dirname "$SONDE")/tests
cd "$SONDE_TMP" || exit 1
refused() { # FILE REGEX NAME
	exits 1 "$3" "$SONDE" report -i "$1"
	like "$err" "$2" "$3: says what it is"
	is "$out" "" "$3: and prints nothing"
}

refused nowhere "cannot open 'nowhere': No such file" "no such file"
like "$err" 'sonde record' "no such file: and how to make one"
mkdir folder
refused folder "'folder' is a directory" "a directory"
: >empty
refused empty "'empty' is empty" "an empty file"
refused /dev/null "'/dev/null' is empty" "/dev/null"
head -c 3 /dev/zero >tiny
refused tiny "'tiny' is neither a perf.data nor a trace.dat file" "three bytes"
head -c 100000 /dev/zero >zeroes
refused zeroes "'zeroes' is neither a perf.data nor a trace.dat file" "zeroes"
# What it is instead, where the first bytes say.
cp "$SONDE" program.elf
refused program.elf "it is an ELF program" "a program"
gzip -c zeroes >zeroes.gz
refused zeroes.gz "compressed with gzip: decompress it first" "a packed file"
echo "# Samples: 12" >text
refused text "it is text starting with: # Samples: 12" "text"
exits 1 "export of neither" "$SONDE" export --to folded -i text
like "$err" "'text' is neither a perf.data nor a trace.dat file" "export says so, too"
exits 1 "a command that reads perf.data only" "$SONDE" evlist -i zeroes.gz
like "$err" "'zeroes.gz' is not a perf.data file" "says so"
like "$err" "compressed with gzip" "and what it is"
exits 1 "a command that reads trace.dat only" "$SONDE" ftrace report -i text
like "$err" "not a trace.dat file" "says so"
like "$err" "it is text starting with: # Samples: 12" "and what it is"
printf '\027\010\104tracing7\0' >trace.dat
refused trace.dat "trace.dat: the file header is damaged or truncated" "the head of a trace.dat alone"
exits 1 "an empty pipe" "$SONDE" report -i - </dev/null
like "$err" "'standard input' is empty|standard input is empty" "an empty pipe: says what it is"
if [ "$(id -u)" = 0 ]; then
	skip "root may read everything" "a file of somebody else"
else
	touch closed && chmod 0 closed
	refused closed "cannot open 'closed': Permission denied" "a file of somebody else"
fi

if [ ! -x "$gen/perf_large" ]; then
	skip "no test programs beside $SONDE" "cut files"
	done_testing
fi
"$gen/perf_large" maps 2000 whole
# What is no key may be a field of a tracepoint: the recording is opened first.
exits 129 "an unknown key" "$SONDE" report -i whole --sort comm,dos
like "$err" "did you mean 'dso'" "an unknown key: what was meant"
exits 129 "an unknown column" "$SONDE" report -i whole -F overhead,sampel
like "$err" "did you mean 'sample'" "an unknown column: what was meant"
exits 129 "a width of time that is none" "$SONDE" report -i whole --time-quantum 5x
exits 129 "a time that is none" "$SONDE" report -i whole --time 5%%
like "$err" "10%/2" "it says how times are written"
exits 129 "an expression that is none" "$SONDE" report -i whole -p '('
exits 129 "--hierarchy with --fields" "$SONDE" report -i whole --hierarchy -F comm
exits 129 "a percentage that is neither" "$SONDE" report -i whole --percentage half
exits 129 "a graph that is none" "$SONDE" report -i whole -g tree
exits 0 "--csv" "$SONDE" report -i whole --csv -F overhead,sample,comm,sym
like "$(head -1 <<<"$out")" '^overhead,samples,comm,symbol$' "--csv: names of columns first"
exits 0 "--json with levels" "$SONDE" report -i whole --json --hierarchy -s comm,dso
python3 -c 'import json, sys; e = json.load(sys.stdin)["events"]; sys.exit(not all("level" in r for x in e for r in x["rows"]))' <<<"$out"
ok $? "--json with levels: it is JSON, and every row has its level"
exits 0 "a whole file" "$SONDE" report -i whole -g none
whole=$out
unlike "$err" 'warning|error|truncated' "a whole file: nothing to warn of"
is "$(grep -c 'No such file' <<<"$err")" 5 "a whole file: the first five libraries that are not here are named"
like "$err" '[0-9]+ more files could not be used; -v lists all of them' "a whole file: the others are counted"
head -c 200000 whole >cut
exits 0 "a file that is truncated" "$SONDE" report -i cut -g none
like "$err" 'truncated' "a file that is truncated: it is said"
like "$out" '# Samples: 1K of event' "a file that is truncated: what is whole is shown"
head -c 60 whole >head
refused head "'head' is truncated in its header" "a cut header"
exits 0 "as JSON" "$SONDE" report -i whole -g none --json
like "$out" '"samples": 2000' "as JSON: all samples"

# A device or a pipe that never ends: looked at before it is kept. (The limit is of what is kept, in blocks of 1 KB.)
endless() { # NAME COMMAND...
	exits 1 "endless zeros: $1" timeout 60 bash -c 'ulimit -f 1000; exec "$@"' - "${@:2}"
	like "$err" "' is not a perf.data file" "endless zeros: $1: what it is not"
}
endless report "$SONDE" report -i /dev/zero
endless script "$SONDE" script -i /dev/zero
endless evlist "$SONDE" evlist -i /dev/zero
endless buildid-list "$SONDE" buildid-list -i /dev/zero
endless diff "$SONDE" diff /dev/zero /dev/zero
endless "a pipe" bash -c 'cat /dev/zero | "$SONDE" report -i -; exit ${PIPESTATUS[1]}'

# A file that shrinks while it is read: no crash (SIGBUS), but a word.
"$gen/perf_large" chains 60000 shrinks
"$SONDE" report -i shrinks -g none --workers 1 >out 2>err &
pid=$!
truncate -s 8192 shrinks
wait $pid
status=$?
if [ $status = 0 ]; then
	like "$(cat err)" "truncated|damaged" "a file that shrinks: read as far as it is whole"
else
	is $status 1 "a file that shrinks: status 1"
	like "$(cat err)" "'shrinks' (was truncated|is truncated|ends before|is not)" "a file that shrinks: it is said"
fi

# Large in one way: nothing grows with the square.
limit() { # SECONDS NAME KIND N
	"$gen/perf_large" "$3" "$4" large
	exits 0 "$2" bash -c "ulimit -t $1; exec \"$SONDE\" report -i large -g none" # of CPU time: what else runs does not matter
	like "$out" '# Samples: ' "$2: reported"
}
limit 20 "100,000 maps" maps 100000
limit 20 "300,000 forks" forks 300000
limit 20 "a line of 100,000 forks" line 100000
limit 20 "200,000 names" names 200000
limit 20 "50,000 build ids" ids 50000
# What diff takes for the other side is not there.
mkdir -p "$SONDE_TMP/alone" && cd "$SONDE_TMP/alone" || exit 1
exits 129 "diff of one recording" "$SONDE" diff new.data
like "$err" "no second recording: there is no ./perf.data.old" "says which is missing"
done_testing

#!/usr/bin/env bash
# Recordings so large that every step of report, flame and script is shared out: the bytes are the same for any number of workers.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde

chains=$(dirname "$SONDE")/bench/bench_chains
cd "$SONDE_TMP" || exit 1
[ -x "$chains" ] || skip_all "bench_chains is not built"

# NAME SAMPLES FRAMES VARIETY THREADS PROCESSES LIBRARIES
while read -r name numbers; do
	# shellcheck disable=SC2086
	"$chains" "$name.data" $numbers
	ok $? "$name: written"
done <<-END
	distinct 60000 24 60 2 1 0
	threads 50000 12 40 500 1 3
	processes 50000 12 40 1 2000 2
	deep 35000 120 5 3 1 0
END

same() { # NAME ARGUMENTS...
	local name=$1 n texts
	shift
	texts=$(for n in 1 2 3 16; do
		"$SONDE" "$@" --workers $n -i "$name.data" 2>&1 | md5sum
	done | sort -u | wc -l)
	is "$texts" 1 "$name: the same with 1, 2, 3 and 16 workers: $*"
}

for name in distinct threads processes deep; do
	same $name report --stdio
	same $name script
	same $name flame -o /dev/stdout
done
same distinct report --stdio -g callee,0.1
same threads report --stdio --no-children -g caller --sort tid,sym
same deep report --stdio -g count --sort sym
same distinct flame --folded -o -
same threads flame --max-frames 1000 -o /dev/stdout

# And there is something in them.
rows=$("$SONDE" report --stdio -g none -i distinct.data | grep -c 'step_')
ok "$((rows < 40))" "functions have their names ($rows rows)"
is "$("$SONDE" script -i processes.data -F tid | sort -u | wc -l)" 2000 "every process is in the script"
is "$("$SONDE" flame --folded --samples -o - -i distinct.data 2>/dev/null | awk '{ n += $NF } END { print n }')" 60000 \
	"no sample is lost on the way to the flame"
done_testing

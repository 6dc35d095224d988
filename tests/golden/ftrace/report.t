#!/usr/bin/env bash
# timeout: 300
# `ftrace report` prints what trace-cmd 3.1.6 prints, by the byte, except for what corrections.awk lists.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde xz

data=$SONDE_SRC/tests/data/trace

# Splits NAME.reports.xz into files named by the option.
split_reports() {
	rm -f "$SONDE_TMP"/want*
	xz -dc "$1" | awk -v to="$SONDE_TMP/want" '/^==> .* <==$/ { file = to $2; if ($2 == "<==") file = to; next } { print > file }'
}

same() {
	awk -f "$data/corrections.awk" "$1" >"$SONDE_TMP/want.now"
	cmp -s "$SONDE_TMP/got" "$SONDE_TMP/want.now"
	ok $? "$2" || diff "$SONDE_TMP/got" "$SONDE_TMP/want.now" | head -6 | sed 's/^/# /'
}

for dat in "$data"/*.dat; do
	name=$(basename "$dat" .dat)
	split_reports "$data/$name.reports.xz"
	for want in "$SONDE_TMP"/want "$SONDE_TMP"/want-?; do
		[ -f "$want" ] || continue
		option=${want#"$SONDE_TMP"/want}
		"$SONDE" ftrace report $option "$dat" >"$SONDE_TMP/got" 2>"$SONDE_TMP/err"
		same "$want" "$name ${option:-without option}: as stored"
	done
	is "$(cat "$SONDE_TMP/err")" "" "$name: nothing to complain about"
done

# The same, asking the tool itself, also for combinations that are not stored.
if trace-cmd --help 2>&1 | grep -q 'version 3.1.6'; then
	for dat in "$data"/*.dat; do
		name=$(basename "$dat" .dat)
		for options in "-l -t" "--cpu 0" "-R -t --cpu 0"; do
			# With --cpu it leaves out every buffer but the top one.
			case "$name $options" in *instance*--cpu*) continue ;; esac
			# shellcheck disable=SC2086 # the options are words
			trace-cmd report $options "$dat" >"$SONDE_TMP/live" 2>/dev/null
			# shellcheck disable=SC2086
			"$SONDE" ftrace report $options "$dat" >"$SONDE_TMP/got" 2>/dev/null
			same "$SONDE_TMP/live" "$name $options: as trace-cmd says now"
		done
	done
else
	skip "trace-cmd 3.1.6 is not installed" "as trace-cmd says now"
fi

got=$("$SONDE" ftrace report --cpu 1 "$data/6.1-instance_and_top.dat" | sed -n 's/^\(foo:\)\? *[^ ]* *\[\([0-9]*\)\].*/\1\2/p' | sort | uniq -c | awk '{ print $2 }' | tr '\n' ' ')
is "$got" "001 foo:001 " "--cpu holds for all buffers"

# One worker or many: the windows are put in a row.
for name in 6.1-function 6.1-graph_events; do
	"$SONDE" ftrace report --threads 1 "$data/$name.dat" >"$SONDE_TMP/one"
	"$SONDE" ftrace report --threads 7 "$data/$name.dat" >"$SONDE_TMP/many"
	cmp "$SONDE_TMP/one" "$SONDE_TMP/many" >&2
	ok $? "$name: seven workers print what one prints"
done

done_testing

#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# What --json prints is what doc/json describes.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
cd "$SONDE_TMP" || exit 1
python3 -c 'import jsonschema' 2>/dev/null || skip_all "python3-jsonschema is not installed"
python3 "$SONDE_SRC/tests/live/json_schemas.py" "$SONDE" "$SONDE_SRC" >tap 2>&1
while read -r line; do
	case $line in
	'ok '*) ok 0 "${line#*- }" ;;
	'not ok '*) ok 1 "${line#*- }" ;;
	'1..'*) plan=yes ;;
	*) diag "${line#\# }" ;;
	esac
done <tap
is "${plan:-no}" yes "all cases were run"
done_testing

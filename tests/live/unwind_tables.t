#!/usr/bin/env bash
# where: host
# timeout: 300
# Flat unwind tables of files of this system (x86_64 and arm64) hold what readelf -wF shows, row by row.
. "${SONDE_SRC:-.}/tests/lib.sh"
build=$(dirname "$SONDE")
if [ ! -x "$build/tests/cfi_dump" ]; then
	skip "cfi_dump was not built here" "tables are those of readelf"
	done_testing
	exit
fi
exec python3 "$SONDE_SRC/tests/oracle/cfi_compare.py" "$build"

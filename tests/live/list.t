#!/usr/bin/env bash
# where: host 6.1 6.12 arm64
# needs: root
# timeout: 300
# `list`, called as perf, prints what perf list prints, line by line; metrics left out.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf tracefs python3
exec python3 "$SONDE_SRC/tests/oracle/list_compare" "$(dirname "$SONDE")"

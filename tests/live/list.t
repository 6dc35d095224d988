#!/usr/bin/env bash
# where: host 6.1 6.12
# (not arm64: there perf lists the vendor tables that are compiled into it, which we do not have)
# needs: root
# timeout: 300
# `list`, called as perf, prints what perf list prints, line by line; metrics left out.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf tracefs python3
exec python3 "$SONDE_SRC/tests/oracle/list_compare" "$(dirname "$SONDE")"

#!/usr/bin/env bash
# Every C file looks as clang-format 14 with the tree's rules leaves it.
. "${SONDE_SRC:-.}/tests/lib.sh"

need clang-format
cd "$SONDE_SRC" || exit 1
# All files of one call: it takes longer to start than to look at one.
{ git ls-files '*.c' '*.h' 2>/dev/null || find src tests fuzz bench -name '*.[ch]'; } >"$SONDE_TMP/files"
xargs clang-format --dry-run -Werror <"$SONDE_TMP/files" >"$SONDE_TMP/said" 2>&1
status=$?
is "$(sed -n 's/^\(.*\.[ch]\):[0-9].*/\1/p' "$SONDE_TMP/said" | sort -u | tr '\n' ' ')" "" "all files are formatted (make format mends it)"
is "$status $(grep -c . "$SONDE_TMP/said")" "0 0" "and nothing else is said" || diag "$(head -5 "$SONDE_TMP/said")"
done_testing

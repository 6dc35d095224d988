#!/usr/bin/env bash
# Every C file looks as clang-format 14 with the tree's rules leaves it.
. "${SONDE_SRC:-.}/tests/lib.sh"

need clang-format
cd "$SONDE_SRC" || exit 1
for f in $(git ls-files '*.c' '*.h' 2>/dev/null || find src tests fuzz bench -name '*.[ch]'); do
	clang-format --dry-run -Werror "$f" >/dev/null 2>&1 || bad="${bad:-} $f"
done
is "${bad:-}" "" "all files are formatted (make format mends it)"
done_testing

#!/usr/bin/env bash
# The whole tree with clang, warnings are errors; its unit tests.
# timeout: 1500
. "${SONDE_SRC:-.}/tests/lib.sh"

dir=$SONDE_BUILD-clang
log=$SONDE_TMP/log
need clang
export CCACHE_NOHASHDIR=1 # where the checkout lies matters to nobody here
if [ ! -f "$dir/build.ninja" ]; then
	CC="$(type -P ccache) clang" meson setup "$dir" "$SONDE_SRC" -Ddebug=false -Dwerror=true >"$log" 2>&1 || diag "$(tail -20 "$log")"
fi
ninja -C "$dir" >"$log" 2>&1
ok $? "builds with clang without a warning" || diag "$(grep -E 'error|warning|FAILED' "$log" | head -20)"
for t in $(find "$dir/tests" -maxdepth 1 -type f -name '*test_*' -perm -u+x | sort); do
	"$t" >"$log" 2>&1
	ok $? "unit ${t##*/}" || diag "$(grep -vE '^ok ' "$log" | head -40)"
done
done_testing

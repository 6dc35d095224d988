#!/usr/bin/env bash
# The whole tree under AddressSanitizer and UndefinedBehaviorSanitizer (gcc, warnings are errors): all unit tests, and
# the corpora of the fuzz targets.
# timeout: 1500
. "${SONDE_SRC:-.}/tests/lib.sh"

dir=$SONDE_BUILD-asan
log=$SONDE_TMP/log
export CCACHE_NOHASHDIR=1 # where the checkout lies matters to nobody here
if [ ! -f "$dir/build.ninja" ]; then
	meson setup "$dir" "$SONDE_SRC" -Doptimization=2 -Ddebug=false -Dc_args=-g1 -Db_sanitize=address,undefined -Db_lundef=false \
		-Dwerror=true >"$log" 2>&1 || diag "$(tail -20 "$log")"
fi
ninja -C "$dir" >"$log" 2>&1
ok $? "builds with gcc without a warning" || diag "$(grep -E 'error|warning|FAILED' "$log" | head -20)"

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# Not the oracle: it spends its time in libtraceevent, which leaks.
for t in $(find "$dir/tests" -maxdepth 1 -type f -name '*test_*' ! -name '*oracle*' -perm -u+x | sort); do
	"$t" >"$log" 2>&1
	ok $? "unit ${t##*/}" || diag "$(grep -vE '^ok ' "$log" | head -40)"
done
for t in $(find "$dir/fuzz" -maxdepth 1 -type f -name 'fuzz_*' -perm -u+x | sort); do
	name=${t##*/fuzz_}
	timeout 120 "$t" "$SONDE_SRC/fuzz/corpus/$name" >"$log" 2>&1
	ok $? "corpus $name" || diag "$(tail -40 "$log")"
done
done_testing

#!/usr/bin/env bash
# More samples than a flame keeps points for (2 million), nearly every stack of its own: there is little to join. It once sorted all points again with
# every batch, which took minutes, and gave up the times.
# timeout: 600
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
chains=$(dirname "$SONDE")/bench/bench_chains
[ -x "$chains" ] || skip_all "bench_chains is not built"
cd "$SONDE_TMP" || exit 1
"$chains" many.data 2200000 8
exits 0 "2.2 million samples" timeout 300 "$SONDE" flame many.data -o many.html
rm -f many.data # 264 MB
like "$err" "2200000 samples, 0 lost" "are drawn"
python3 "$SONDE_SRC/tests/golden/flame/read_page.py" --facts many.html >facts
ok $(($(sed -n 's/^bucket_ns //p' facts) > 1000000000)) "with their times, of nine minutes" || diag "$(head -3 facts)"
done_testing

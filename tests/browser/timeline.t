#!/usr/bin/env bash
# The timeline page in a headless browser: it loads without a request or a complaint and does what it says.
# timeout: 600
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
[ -n "$(type -P chromium chromium-browser google-chrome)" ] || skip_all "chromium is not installed (tools/deps check)"
gen=$(dirname "$SONDE")/tests/timeline_gen
cd "$SONDE_TMP" || exit 1
status=0
# A waker, whom it wakes, and one that has to wait for their CPU: 100 ms. <b> must stay text.
cat >story.txt <<'E2'
thread 10 10 owner
thread 20 20 waiter
thread 21 20 waiter<b>
thread 30 30 hog
10 run 0 40000
10 block D 20000 0 io_wait <- read_block <- main
10 run 0 40000
20 block S 30000 10 futex_wait <- do_futex <- main
20 ready 0 10000
20 run 1 50000
20 block S 10000 0
21 block S 85000 20 pipe_read
21 run 0 15000
30 ready 1 40000
30 run 0 10000
30 ready 1 50000
20 sample 45000 cpu-clock spin <- main
20 sample 55000 cpu-clock spin <- main
20 sample 85000 cpu-clock parse <- main
gap 1 90000 5000 7
E2
"$gen" 'make <i>all</i>' 0 <story.txt >story.html || status=1
# 10 is the command: it made 20, a thread of 20 made 40, and that made 50. 60 and 61 are each other's parents, as only a damaged recording has it.
(cat story.txt; printf '%s\n' 'thread 40 40 grandchild' 'thread 50 50 leaf' '40 run 0 1000' '50 run 1 2000' 'forked 20 10' 'forked 40 21' 'forked 50 40' \
	'thread 60 60 loop' 'thread 61 61 loop' '60 run 0 90000' '61 run 0 90000' 'forked 60 61' 'forked 61 60') |
	"$gen" family 0 10 >family.html || status=1
"$gen" one 20 <story.txt >one.html || status=1
(cat story.txt; echo many 200000) | "$gen" many 0 >many.html || status=1
"$SONDE" timeline -o trace.html "$SONDE_SRC/tests/data/trace/6.1-events_v6.dat" 2>/dev/null || status=1
"$SONDE" timeline -o lost.html "$SONDE_SRC/tests/data/trace/6.1-lost.dat" 2>/dev/null || status=1
"$SONDE" timeline --json "$SONDE_SRC/tests/data/trace/6.1-events_v6.dat" >trace.json 2>/dev/null || status=1
ok $status "pages are made"
tap_count=1 python3 "$SONDE_SRC/tests/browser/timeline_page.py" "$SONDE_TMP" $status

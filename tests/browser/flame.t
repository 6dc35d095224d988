#!/usr/bin/env bash
# The flame graph page in a headless browser: it loads without a request or a complaint and does what it says.
# timeout: 600
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
[ -n "$(type -P chromium chromium-browser google-chrome)" ] || skip_all "chromium is not installed (tools/deps check)"
gen=$(dirname "$SONDE")/tests/stacks_gen
cd "$SONDE_TMP" || exit 1
python3 "$SONDE_SRC/tests/browser/flame_stories.py" . || skip_all "cannot write stories"
status=0
for story in phases before after light crowd types; do
	"$gen" $story.data names <$story.txt || status=1
done
"$gen" big.data big.names <big.txt || status=1
"$gen" system.data names perf record -e cpu-clock -ag -- sleep 5 <system.txt || status=1
"$gen" own.data names sonde record -g ls -a <system.txt || status=1
"$gen" user.data names sonde record -g -- app <user.txt || status=1
for story in system own user; do
	"$SONDE" flame $story.data --kallsyms names -o $story.html 2>/dev/null || status=1
done
"$SONDE" flame phases.data --kallsyms names -o phases.html 2>/dev/null || status=1
"$SONDE" flame light.data --kallsyms names -o light.html --title "A title" 2>/dev/null || status=1
"$SONDE" flame types.data --kallsyms names -o types.html 2>/dev/null || status=1
"$SONDE" flame crowd.data --kallsyms names -o crowd.html 2>/dev/null || status=1
"$SONDE" flame before.data after.data --kallsyms names -o diff.html 2>/dev/null || status=1
"$SONDE" flame big.data --kallsyms big.names -o big.html 2>/dev/null || status=1
# Code is only known of a real program.
cat >code.c <<'EOF'
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void spin(int n)
{
	for (int i = 0; i < n; i++)
		sum += i; /* <b>the loop</b> */
}
int main(void) { while (clock() < CLOCKS_PER_SEC / 2) spin(10000); }
EOF
rm -f code.html
gcc -O1 -g -fno-inline -o code code.c 2>/dev/null && "$SONDE" record -q -g -e cpu-clock:u -c 500000 -o code.data ./code >/dev/null 2>&1 &&
	"$SONDE" flame code.data -o code.html 2>/dev/null && "$SONDE" flame --no-code code.data -o nocode.html 2>/dev/null
ok $status "pages are made"
tap_count=1 python3 "$SONDE_SRC/tests/browser/flame_page.py" "$SONDE_TMP" $status

#!/usr/bin/env bash
# The tree obeys its own table: includes (tools/check-layers), state and output (tools/check-archives); and both checks notice.
. "${SONDE_SRC:-.}/tests/lib.sh"
need python3 readelf nm cc
: "${SONDE_BUILD:=$(dirname "$SONDE")}"
cd "$SONDE_SRC" || exit 1

out=$(tools/check-layers 2>&1)
ok $? "includes obey the table in meson.build" || diag "$out"
out=$(tools/check-archives "$SONDE_BUILD" 2>&1)
status=$?
case $out in
*'# SKIP'*) skip "${out##*SKIP }" "libraries below cmd/ keep no state, do not print, do not exit" ;;
*) ok $status "libraries below cmd/ keep no state, do not print, do not exit" || diag "$out" ;;
esac

# A small tree with one fault of each kind.
tree=$SONDE_TMP/tree
mkdir -p "$tree"/src/{base,model,view,other}
cat >"$tree/meson.build" <<'END'
layers = [
  ['base', [threads], [], [
    'a.c',
    'gone.c',
  ]],
  ['model', [], ['base', 'view'], [
    'm.c',
  ]],
  ['view', [], ['base'], [
    'v.c',
  ]],
]
END
sed -i '1i # a table' "$tree/meson.build"
for h in base/a model/m view/v; do printf '/* %s */\n#pragma once\n' $h >"$tree/src/$h.h"; done
printf '#include <stdio.h>\n#include "base/a.h"\n' >"$tree/src/base/a.c"
printf '#include "model/m.h"\n#include "base/a.h"\n#include "base/none.h"\n#include "a.h"\n' >"$tree/src/model/m.c"
printf '#include "view/v.h"\n#include "model/m.h"\n' >"$tree/src/view/v.c"
printf 'int x;\n' >"$tree/src/view/bare.h"
touch "$tree/src/view/left_out.c" "$tree/src/other/o.c"
mkdir -p "$tree"/src/{event,cmd}
for kind in mem kprobe uprobe usdt graph call; do echo "	{ .prefix = \"$kind\" },"; done >"$tree/src/event/provider.c"
printf '\tif (str_starts(word, "usdt:") || list("usdts:", "call: none", "record -e kprobe:x"))\n' >"$tree/src/cmd/c.c"
out=$(tools/check-layers "$tree")
is $? 1 "a faulty tree is refused"
like "$out" 'base/a.c: its own header is not included first' "own header first"
like "$out" 'view/v.c: #include "model/m.h": view may not use model' "an include against the table"
like "$out" 'model/m.c: #include "base/none.h": does not exist' "an include of nothing"
like "$out" 'model/m.c: #include "a.h": is not written' "an include without its folder"
like "$out" 'model uses view, which does not stand above it' "a row out of order"
like "$out" 'src/base/gone.c does not exist' "a source that is gone"
like "$out" 'src/view/left_out.c: is not in meson.build' "a source that is left out"
like "$out" 'src/other: has no row' "a folder without a row"
like "$out" 'src/view/bare.h: does not begin with #pragma once' "a header without its pragma"
like "$out" 'src/view/bare.h: does not say what it is for' "a header without a word"
is "$(grep -c 'has an event prefix' <<<"$out")" 1 "one event prefix in a command"
like "$out" 'src/cmd/c.c:1: has an event prefix of its own: usdt:' "is named, and neither a longer word nor an example is"
unlike "$out" 'model may not use base' "what the table allows is allowed"

# A library with one fault of each kind.
lib=$SONDE_TMP/build
mkdir -p "$lib/meson-info"
echo '[{"name": "b_sanitize", "value": "none"}]' >"$lib/meson-info/intro-buildoptions.json"
cat >"$SONDE_TMP/bad.c" <<'END'
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
int counter = 1;
static int zeroed;
static __thread int of_thread = 2;
const char *const constant[] = { "fine" };
void bad(int x);
void bad(int x)
{
	assert(x);
	printf("%d\n", counter + zeroed++ + of_thread++);
	fputs("x", stderr);
	exit(1);
}
END
cc -O1 -fPIC -c "$SONDE_TMP/bad.c" -o "$SONDE_TMP/bad.o" && ar rcs "$lib/libbase.a" "$SONDE_TMP/bad.o"
out=$(tools/check-archives "$lib")
isnt $? 0 "a faulty library is refused"
like "$out" 'bad.o: \.data has 4 writable bytes' "initialised data"
like "$out" 'bad.o: \.bss has 4 writable bytes' "zeroed data"
like "$out" 'bad.o: \.tdata has 4 writable bytes' "data of a thread"
unlike "$out" 'rel\.ro' "constants are no state"
for f in exit printf stderr __assert_fail; do
	like "$out" "bad.o: uses $f" "reference to $f"
done
echo '[{"name": "b_sanitize", "value": "address"}]' >"$lib/meson-info/intro-buildoptions.json"
like "$(tools/check-archives "$lib")" '^1\.\.0 # SKIP .' "a build with sanitizers is left alone, with the reason"
done_testing

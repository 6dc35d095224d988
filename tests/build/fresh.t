#!/usr/bin/env bash
# What README.md promises of a fresh clone: one make builds the program, and it runs from there.
# timeout: 900
. "${SONDE_SRC:-.}/tests/lib.sh"
command -v git >/dev/null || skip_all "git is not installed"
git -C "$SONDE_SRC" rev-parse HEAD >/dev/null 2>&1 || skip_all "not a git checkout"

clone=$SONDE_TMP/clone
log=$SONDE_TMP/log
export CCACHE_NOHASHDIR=1 # where the checkout lies matters to nobody here
git clone -q --depth 1 "file://$(git -C "$SONDE_SRC" rev-parse --show-toplevel)" "$clone" 2>"$log"
ok $? "S4-112: a fresh clone" || { diag "$(cat "$log")"; done_testing; }
cd "$clone" || exit 1
grep -q '`make` alone' README.md
ok $? "S4-112: README names the command"
unset MAKEFLAGS MAKELEVEL BUILD
# Without debugging information: half the time, and ccache knows the objects from other checkouts.
make MESON_ARGS=-Ddebug=false >"$log" 2>&1
ok $? "S4-112: one make" || diag "$(tail -20 "$log")"
exits 0 "S4-112: the program runs from there" build/sonde version
is "$out" "$("$SONDE" version)" "S4-112: and is this one"
is "$(git status --porcelain)" "" "S4-112: nothing but the build folder was made"
done_testing

#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root
# timeout: 120
# Scripts through the compiler on other kernels: what it makes must load there, too, and compute the same.
. "${SONDE_SRC:-.}/tests/lib.sh"
build=${SONDE_BUILD:-$SONDE_SRC/build}
if [ ! -x "$build/tests/lang_test_lang" ]; then
	echo "1..0 # SKIP tests/lang_test_lang is not built here"
	exit 0
fi
exec "$build/tests/lang_test_lang"

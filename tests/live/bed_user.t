#!/usr/bin/env bash
# where: host 6.1 6.12 arm64
# user: nobody
# Tests that must hold for an ordinary user do run as one.
. "${SONDE_SRC:-.}/tests/lib.sh"

isnt "$(id -u)" 0 "not root"
exits 0 "scratch belongs to the user" touch "$SONDE_TMP/x"
exits 1 "tracefs is closed" cat /sys/kernel/tracing/trace
done_testing

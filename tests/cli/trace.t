#!/usr/bin/env bash
# `sonde trace`: help, wrong options, recordings that cannot be read.
. "${SONDE_SRC:-.}/tests/lib.sh"
cd "$SONDE_TMP" || exit 1
exits 0 "trace --help" "$SONDE" trace --help
like "$out" 'sonde trace -- ls' "has examples"
like "$out" '--duration' "and options"
exits 0 "trace record --help" "$SONDE" trace record --help
exits 129 "an unknown option" "$SONDE" trace --no-such-option
like "$err" "no-such-option" "is named"
exits 1 "a recording that is not there" "$SONDE" trace -i missing.data
like "$err" "missing.data" "is named"
head -c 4096 /dev/zero >zeros
exits 1 "a file that is no recording" "$SONDE" trace -i zeros
exits 129 "an unknown --summary-mode" "$SONDE" trace --summary-mode cgroups
like "$err" "thread or total" "those there are"
exits 129 "--filter before -e" "$SONDE" trace --filter 'id == 1'
like "$err" "must follow" "the reason"
exits 129 "-i and -p" "$SONDE" trace -i zeros -p 1
like "$err" "for live traces" "the reason"
mkdir folder
exits 1 "-o of a folder" "$SONDE" trace -o folder true
like "$err" "folder" "is named"
exits 127 "a command that is not there" "$SONDE" trace nosuchcommand
done_testing

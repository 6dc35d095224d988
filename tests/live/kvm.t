#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 120
# kvm stat: exits, accesses to devices and ports of made-up virtual CPUs (kvm_events.py), beside perf on the same file.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
[ -e $tracefs/events/kvm/kvm_exit ] || skip_all "kernel without events of kvm"
cd "$SONDE_TMP" || exit 1

exits 0 "record" "$SONDE" kvm stat record -q -o host.data -- true
events=$("$SONDE" evlist -i host.data)
for name in entry exit mmio pio; do like "$events" "^kvm:kvm_$name\$" "records kvm_$name"; done
(cd "$SONDE_TMP" && "$SONDE" kvm stat record -q -- true && [ -s perf.data.guest ])
ok $? "the file is called as perf calls it"
exits 0 "no guest ran" "$SONDE" kvm stat report -i host.data
like "$err" "no kvm events in the recording" "which the warning says"

"$SONDE" record -q -R -c 1 -e kvm:kvm_entry -e kvm:kvm_exit -e kvm:kvm_mmio -e kvm:kvm_pio -o empty.data -- true &&
	python3 "$SONDE_SRC/tests/live/kvm_events.py" empty.data $tracefs/events/kvm kvm.data
ok $? "events are made up" || done_testing
exits 0 "exits" "$SONDE" kvm stat report -i kvm.data
rows=$(sed -n 's/^ *//; /us ( +-/p' <<<"$out" | tr -s ' ')
# 10 and 30 us: mean 20, standard error 10
is "$(grep '^io ' <<<"$rows")" "io 2 50.00% 33.33% 10.00us 30.00us 20.00us ( +- 50.00% )" "ports: number, shares, least, most, mean, error"
is "$(grep '^npf ' <<<"$rows")" "npf 2 50.00% 66.67% 30.00us 50.00us 40.00us ( +- 25.00% )" "page faults"
unlike "$rows" '^hlt' "an exit without an end counts for nothing"
like "$out" '^Total Samples:4, Total events handled time:120\.00us\.$' "sums"
exits 0 "devices" "$SONDE" kvm stat report --event mmio -i kvm.data
like "$out" '^ +0xfee00300:W +1 +50\.00% +66\.67% +40\.00us ' "a write ends when the guest runs again"
like "$out" '^ +0xfee00020:R +1 +50\.00% +33\.33% +20\.00us ' "a read when its value is there"
exits 0 "ports" "$SONDE" kvm stat report --event ioport -k time -i kvm.data
is "$(sed -n 's/^ *\(0x[^ ]*\) .*/\1/p' <<<"$out" | tr '\n' ' ')" "0x60:PIN 0x3f8:POUT " "by average time"
exits 0 "one process" "$SONDE" kvm stat report -p 20 --json -i kvm.data
is "$(python3 -c 'import json, sys; d = json.load(sys.stdin); print([(r["name"], r["samples"], r["total_ns"]) for r in d["rows"]], d["unfinished"])' <<<"$out")" \
	"[('npf', 2, 80000)] 1" "has its own"
exits 0 "one virtual CPU" "$SONDE" kvm stat report --vcpu 0 -i kvm.data
like "$out" 'Analyze events for all VMs, VCPU 0:' "is named"
unlike "$out" 'npf' "and has no others"
exits 129 "a process that is none" "$SONDE" kvm stat report -p 1x -i kvm.data
like "$err" "invalid process ID '1x'" "is named"
exits 129 "code of guests" "$SONDE" kvm --guest-code stat report -i kvm.data
like "$err" "maps for its guest cannot be symbolised" "is refused"

# perf names reasons by the CPU of this machine, ours by what the event says: SVM.
mkdir bin && ln -s "$SONDE" bin/perf
amd() { grep -q AuthenticAMD /proc/cpuinfo; }
needs_or_skip "perf's tables" perf || for args in "--event mmio" "--event ioport" "--event vmexit" "-k time" "-p 20"; do
	case $args in *event\ [mi]*) ;; *) amd || { skip "a CPU of AMD names them" "kvm stat report $args"; continue; } ;; esac
	# shellcheck disable=SC2086
	perf kvm -i kvm.data stat report $args 2>&1 | sed -n '/^Analyze/,$p' >theirs
	# shellcheck disable=SC2086
	bin/perf kvm -i kvm.data stat report $args 2>&1 | sed -n '/^Analyze/,$p' >ours
	[ "$(grep -c us theirs)" -gt 1 ] && cmp -s ours theirs
	ok $? "kvm stat report $args: what perf prints" || diag "$(diff theirs ours)"
done
done_testing

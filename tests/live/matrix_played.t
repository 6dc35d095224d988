#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Rows of the acceptance matrix about hardware that is not here. The row's own command runs, on a played machine: its PMUs in
# sysfs are those of tests/data/sysroot (which says where each value is from), mounted over ours in a namespace of our own; its
# counters are played by tests/oracle/stat_shim.c. What is asked of the kernel is held to the code that the row names.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
shim=$(dirname "$SONDE")/tests/stat_shim.so
if [ ! -e "$shim" ] || ! unshare -m true 2>/dev/null; then
	echo "1..0 # SKIP no stat_shim.so, or no mount namespaces"
	exit 0
fi
if ldd "$SONDE" 2>/dev/null | grep -q asan; then
	echo "1..0 # SKIP a preloaded library and the sanitizer do not go together"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
mkdir bin attrs && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH
fake=$SONDE_SRC/tests/data/sysroot

# on MACHINE COMMAND...: there
on() {
	local machine=$1
	shift
	rm -f attrs/*
	# shellcheck disable=SC2016
	STAT_SHIM_PMUS=1 PERF_TEST_ATTR=$PWD/attrs unshare -m bash -c '
		mount --bind "$1" /sys/bus/event_source || exit 99
		shim=$2
		shift 2
		[ "$1" != perf ] || unset PERF_TEST_ATTR
		exec env LD_PRELOAD="$shim" "$@"' x "$fake/$machine/sys/bus/event_source" "$shim" "$@"
}
# The events that were opened, as "type config config1", in hexadecimal, each once, in order.
asked() {
	local f
	for f in $(find attrs -type f | sed 's/.*-//' | sort -n); do
		awk -F= '$1 == "type" { t = $2 } $1 == "config" { c = $2 } $1 == "config1" { one = $2 }
			END { print t, c, one }' attrs/event-*-*-"$f" | xargs printf "%x %x %x\n"
	done | awk '!seen[$0]++'
}
told() { cat attrs/* | awk -F= -v k="$1" '$1 == k { print $2; exit }'; }
# counts MACHINE ROW EVENT "TYPE CONFIG CONFIG1": the event is counted, by this code
counts() {
	local row=$2 event=$3
	exits 0 "$row: stat -e $event" on "$1" sonde stat -a -x, -e "$event" -- true
	is "$(asked)" "$4" "$row: $event is asked of the kernel as it should be"
	like "$(grep -F ",$event," <<<"$err")" '^[0-9.]+,' "$row: and is counted"
}
listed() { like "$(grep -F "  $3" <<<"$2" | head -1)" "\[$4\]\$" "$1: listed as a $4"; }

# ---- the kernel's names for what hardware counts
hw=$(on intel-snbep sonde list hw)
cache=$(on intel-snbep sonde list cache)
generic() { # ROW CONFIG NAMES...
	local row=$1 config=$2 name
	shift 2
	listed "$row" "$hw" "$1" "Hardware event"
	for name; do
		counts intel-snbep "$row" "$name" "0 $config 0"
	done
}
generic S4-126 2 cache-references
generic S4-127 3 cache-misses
generic S4-128 4 branch-instructions branches
generic S4-129 5 branch-misses
generic S4-130 6 bus-cycles
generic S4-133 9 ref-cycles
of_cache() { # ROW NAME CONFIG
	listed "$1" "$cache" "$2" "Hardware cache event"
	counts intel-snbep "$1" "$2" "3 $3 0"
}
of_cache S4-144 L1-dcache-loads 0
of_cache S4-145 L1-dcache-load-misses 10000
of_cache S4-146 L1-dcache-stores 100
of_cache S4-147 L1-dcache-store-misses 10100
of_cache S4-216 dTLB-loads 3
of_cache S4-217 iTLB-loads 4

# ---- modifiers that need hardware to mean something
modifier() { # ROW LETTER FIELD VALUE
	exits 0 "$1: stat -e cycles:$2" on intel-snbep sonde stat -x, -e "cycles:$2" -- true
	is "$(told "$3")" "$4" "$1: cycles:$2 says $3=$4 to the kernel"
	like "$err" "^[0-9]+,,cycles:$2," "$1: and is counted"
}
modifier S4-229 h exclude_hv 0
is "$(told exclude_user) $(told exclude_kernel)" "1 1" "S4-229: and only the hypervisor"
modifier S4-230 G exclude_host 1
modifier S4-231 H exclude_guest 1
modifier S4-232 p precise_ip 1
modifier S4-232 pp precise_ip 2
modifier S4-232 ppp precise_ip 3
modifier S4-098 pp precise_ip 2
modifier S4-098 ukp precise_ip 1

# ---- branch stacks: what is asked of the kernel, and what the file says (samples of such hardware: tests/live/hw_samples.t)
branches() { # OPTIONS BITS NAMES
	# shellcheck disable=SC2086
	exits 0 "S4-100: record $1" on intel-snbep sonde record -e cycles $1 -o branches.data -- true
	is "$(told branch_sample_type)" "$2" "S4-100: $1 asks for branches of this kind"
	is "$(($(told sample_type) & 2048))" 2048 "S4-100: with every sample"
	if ! needs_or_skip "S4-100: what perf reads" perf; then
		like "$(perf evlist -v -i branches.data 2>/dev/null)" "branch_sample_type: $3(,|\$)" "S4-100: perf reads the same from the file"
	fi
}
branches -b 8 ANY
branches "-j any_call,u" 17 "USER\\|ANY_CALL"
branches "--call-graph lbr" 182273 "USER\\|CALL_STACK\\|NO_FLAGS\\|NO_CYCLES\\|HW_INDEX"
exits 129 "S4-100: both at once" on intel-snbep sonde record -b --call-graph lbr -o no.data -- true
like "$err" "cannot be combined with branch stacks" "S4-100: are refused"

# ---- terms of the core's PMU
counts intel-snbep S4-095 cpu/event=0x3c,any=1/ "4 20003c 0"
counts intel-snbep S4-097 cpu/event=0xb7,umask=1,offcore_rsp=0x3f80408fff/ "4 1b7 3f80408fff"

# ---- memory controllers and links between sockets: ROW PMU EVENT CONFIG
uncore=$(on intel-snbep sonde list pmu)
while read -r row pmu event config; do
	type=$(cat "$fake/intel-snbep/sys/bus/event_source/devices/$pmu/type")
	listed "$row" "$uncore" "$pmu/$event/" "Kernel PMU event"
	counts intel-snbep "$row" "$pmu/$event/" "$(printf %x "$type") $config 0"
	case $event in
	cas_*) like "$err" "^[0-9.]+,MiB,$pmu/$event/" "$row: in MiB" ;;
	esac
done <<-EOR
	S4-148 uncore_imc_1 cas_count_read 304
	S4-149 uncore_imc_1 cas_count_write c04
	S4-150 uncore_imc_1 clockticks ff
	S4-151 uncore_imc_2 cas_count_read 304
	S4-152 uncore_imc_2 cas_count_write c04
	S4-153 uncore_imc_2 clockticks ff
	S4-154 uncore_imc_3 cas_count_read 304
	S4-155 uncore_imc_3 cas_count_write c04
	S4-156 uncore_imc_3 clockticks ff
	S4-157 uncore_qpi_0 clockticks 14
	S4-158 uncore_qpi_0 drs_data 200802
	S4-159 uncore_qpi_0 ncb_data 200403
	S4-160 uncore_qpi_0 txl_flits_active 600
	S4-161 uncore_qpi_1 clockticks 14
	S4-162 uncore_qpi_1 drs_data 200802
	S4-163 uncore_qpi_1 ncb_data 200403
	S4-164 uncore_qpi_1 txl_flits_active 600
EOR
exits 0 "S4-096: uncore counters by socket" on intel-snbep sonde stat -a --per-socket -x, -e uncore_imc_0/clockticks/ -- true
like "$err" '^S0,1,[0-9]+,,uncore_imc_0/clockticks/,' "S4-096: one CPU speaks for the socket"
is "$(grep -h '^cpu=' attrs/* | xargs)" "cpu=0" "S4-096: it is opened on the CPU of cpumask only"
exits 0 "S4-096: all controllers by one name" on intel-snbep sonde stat -a -x, -e imc/clockticks/ -- true
is "$(asked | wc -l)" 4 "S4-096: four are opened"
is "$(grep -c . <<<"$err")" 1 "S4-096: and added up"

# ---- codes of Intel's manual, by name (libpfm's tables) and as rUUEE: ROW MODEL NAME CODE
if sonde list pfm 2>&1 | grep -q 'built without'; then
	skip "built without libpfm4" "S4-175 S4-201: vendor's names"
else
	named() { # ROW MODEL NAME TYPE-CONFIG-CONFIG1
		export LIBPFM_FORCE_PMU=$2
		counts intel-haswell "$1" "$3" "$4"
		unset LIBPFM_FORCE_PMU
	}
	while read -r row model name code; do
		named "$row" "$model" "$name" "4 $code 0"
		counts intel-haswell "$row" "r$code" "4 $code 0"
	done <<-EOR
		S4-175 snb L2_STORE_LOCK_RQSTS.HIT_M 827
		S4-176 snb L2_STORE_LOCK_RQSTS.ALL f27
		S4-177 snb L2_L1D_WB_RQSTS.MISS 128
		S4-178 snb L2_L1D_WB_RQSTS.HIT_E 428
		S4-179 snb L2_L1D_WB_RQSTS.HIT_M 828
		S4-180 snb L2_L1D_WB_RQSTS.ALL f28
		S4-181 hsw LONGEST_LAT_CACHE.REFERENCE 4f2e
		S4-182 hsw LONGEST_LAT_CACHE.MISS 412e
		S4-183 snb CPU_CLK_UNHALTED.THREAD_P 3c
		S4-184 hsw CPU_CLK_THREAD_UNHALTED.REF_XCLK 13c
		S4-201 ix86arch UNHALTED_REFERENCE_CYCLES 13c
	EOR
	named S4-205 snb CPU_CLK_UNHALTED:THREAD_P:e=1:c=1 "4 104003c 0"
	named S4-206 snb CPU_CLK_UNHALTED:THREAD_P:i=1:c=1 "4 180003c 0"
	named S4-207 snb CPU_CLK_UNHALTED:THREAD_P:c=7 "4 700003c 0"
	named S4-208 snb CPU_CLK_UNHALTED:THREAD_P:t=1 "4 20003c 0"

	# Precise events of Core 2.
	while read -r row name code; do
		named "$row" core "$name:p" "4 $code 0"
		is "$(told precise_ip)" 1 "$row: precise"
		named "$row" core "$name:pp" "4 $code 0"
		is "$(told precise_ip)" 2 "$row: more precise"
	done <<-EOR
		S4-378 INST_RETIRED.ANY_P c0
		S4-379 X87_OPS_RETIRED.ANY fec1
		S4-380 BR_INST_RETIRED.MISPRED c5
		S4-381 SIMD_INST_RETIRED.ANY 1fc7
		S4-382 MEM_LOAD_RETIRED.L1D_MISS 1cb
		S4-383 MEM_LOAD_RETIRED.L1D_LINE_MISS 2cb
		S4-384 MEM_LOAD_RETIRED.L2_MISS 4cb
		S4-385 MEM_LOAD_RETIRED.L2_LINE_MISS 8cb
		S4-386 MEM_LOAD_RETIRED.DTLB_MISS 10cb
	EOR
	# The slices of the last-level cache: ROW UMASK-NAME EVENT UMASK
	table=$(sonde list 'snb_unc_cbo0::*' --all --details)
	in_table() { awk -v e="$1" -v u="[$2]" '$1 == "Name" { n = $3 } $1 == "Code" { c = $3 } /^Umask/ && n == e && $7 == u { print c, $3; exit }' <<<"$table"; }
	while read -r row name event umask; do
		counts intel-haswell "$row" "uncore_cbox_0/event=0x$event,umask=0x$umask/" "a $(printf %x $((0x$umask * 256 + 0x$event))) 0"
		[ "$name" = - ] || is "$(in_table "${name%.*}" "${name#*.}")" "0x$event 0x$umask" "$row: $name has this code in the table"
	done <<-EOR
		S4-186 UNC_CBO_XSNP_RESPONSE.MISS 22 01
		S4-187 UNC_CBO_XSNP_RESPONSE.INVAL 22 02
		S4-188 UNC_CBO_XSNP_RESPONSE.HIT 22 04
		S4-189 UNC_CBO_XSNP_RESPONSE.HITM 22 08
		S4-190 UNC_CBO_XSNP_RESPONSE.INVAL_M 22 10
		S4-191 UNC_CBO_XSNP_RESPONSE.EXTERNAL_FILTER 22 20
		S4-192 UNC_CBO_XSNP_RESPONSE.XCORE_FILTER 22 40
		S4-193 UNC_CBO_XSNP_RESPONSE.EVICTION_FILTER 22 80
		S4-194 - 34 01
		S4-195 - 34 06
		S4-196 - 34 08
	EOR
fi

# ---- raw and multiplexed
calm 1900 exits 0 "S4-210: stat -e r13c -a sleep 1: options end at the first word" on intel-snbep sonde stat -e r13c -a sleep 1
like "$err" "stats for 'system wide':" "S4-210: the heading"
like "$err" '^ +[0-9]+      r13c +$' "S4-210: one row"
like "$err" '^ +1\.[0-9]{9} seconds time elapsed' "S4-210: for a second"
is "$(asked)" "4 13c 0" "S4-210: event 3CH, umask 01H"
export STAT_SHIM_SHARE=80
exits 0 "S4-214: stat with several -e" on intel-snbep sonde stat -e cache-misses -e cache-references -e cpu-cycles -e dTLB-loads -e iTLB-loads -a -- sleep 1
is "$(grep -oE '^ +[0-9]+ +(cache-misses|cache-references|cpu-cycles|dTLB-loads|iTLB-loads)' <<<"$err" | awk '{ print $2 }' | xargs)" \
	"cache-misses cache-references cpu-cycles dTLB-loads iTLB-loads" "S4-214: five rows"
is "$(grep -c '(80\.00%)$' <<<"$err")" 5 "S4-214 S4-215: each with the share of time it ran"
like "$err" 'cache-misses +# +[0-9]+\.[0-9]{3} % of all cache refs +\(80\.00%\)' "S4-215: misses per reference"
exits 0 "S4-215: only where both are counted" on intel-snbep sonde stat -e cache-misses -a -- true
unlike "$err" 'of all cache refs' "S4-215: alone there is no ratio"
unset STAT_SHIM_SHARE

# ---- transactions, as perf counts them
exits 0 "stat -T" on intel-haswell sonde stat -x, -T -- true
is "$(cut -d, -f3 <<<"$err" | xargs)" "task-clock instructions cycles cpu/cycles-t/ cpu/tx-start/ cpu/el-start/ cpu/cycles-ct/" "counts transactions"
like "$err" ',cpu/cycles-t/,.*,transactional cycles$' "and says their share"
is "$(asked | xargs)" "1 1 0 0 1 0 0 0 0 4 10000003c 0 4 1c9 0 4 1c8 0 4 30000003c 0" "by the codes of Haswell"
exits 129 "stat -T on a machine without" on amd sonde stat -T -- true
like "$err" 'cannot count transactions' "says so"
if ! needs_or_skip "as perf" perf; then
	on intel-haswell perf stat -x, -T -- true 2>perf.err
	on intel-haswell sonde stat -x, -T -- true 2>sonde.err
	is "$(cut -d, -f2,3 sonde.err)" "$(cut -d, -f2,3 perf.err)" "rows as perf's"
	on intel-snbep perf list pmu 2>/dev/null | awk "/Kernel PMU/ && \$1 ~ \"/\" { print \$1 }" | sort >perf.list
	on intel-snbep sonde list pmu | grep 'Kernel PMU' | awk '{ print $1 }' | sort >sonde.list
	is "$(comm -23 perf.list sonde.list | xargs)" "" "all PMU events that perf lists on this machine"
fi

# ---- virtual machines: recorded on the played machine; shown of a file that tests/gen/perf_guest makes
ln -sf "$SONDE" bin/perf
# This system's own lists, as `ssh guest cat` would copy them.
cat /proc/kallsyms >guest.kallsyms
cat /proc/modules >guest.modules
# Where it has none, or hides their addresses: a line as another system has it.
grep -q ' 0xf' guest.modules || echo 'virtio_net 16384 0 - Live 0xffffffffc0000000' >guest.modules
lists="--guestkallsyms=guest.kallsyms --guestmodules=guest.modules"
text=$(awk '$3 == "_text" { print $1; exit }' guest.kallsyms)
exits 0 "S4-286: perf kvm: the command" "$PWD/bin/perf" kvm --help
for word in record report top diff buildid-list stat; do
	like "$out" "^ +$word +[a-z]" "S4-286: $word"
done
# shellcheck disable=SC2086
exits 0 "S4-301: perf kvm record" on intel-snbep "$PWD/bin/perf" kvm --guest $lists record -a -- true
is "$(told exclude_host) $(told exclude_guest)" "1 0" "S4-301: guests, and not the host"
is "$(told type) $(told config)" "0 0" "S4-301: cycles"
[ -s perf.data.guest ]
ok $? "S4-301: into perf.data.guest"
# shellcheck disable=SC2086
exits 0 "S4-305: perf kvm --host --guest record" on intel-snbep "$PWD/bin/perf" kvm --host --guest $lists record -a -- true
is "$(told exclude_host) $(told exclude_guest)" "0 0" "S4-305: both"
[ -s perf.data.kvm ]
ok $? "S4-305: into perf.data.kvm"
if [ -z "$text" ] || [ "$((0x$text))" = 0 ]; then
	skip "kernel addresses are hidden" "S4-303: a list with addresses"
else
	like "$(sonde script -D -i perf.data.guest 2>/dev/null)" "PERF_RECORD_MMAP 0/0: \[0x$text\(0x[0-9a-f]+\) @ 0x$text\]: x \[guest\.kernel\.kallsyms\]_text" \
		"S4-303: where the guest's kernel is, from its list"
fi
read -r module size _ _ _ at _ <guest.modules
like "$(sonde script -D -i perf.data.guest 2>/dev/null)" "PERF_RECORD_MMAP 0/0: \[$at\($(printf 0x%x "$size")\) @ 0\]: x \[$module\]" "S4-304: where its modules are"
if grep -q . /sys/bus/event_source/devices/cpu/type 2>/dev/null; then
	skip "this machine has counters" "S4-302: a machine without counters"
else
	exits 1 "S4-302: a machine without counters" sonde kvm record -a -- true
	like "$err" "only hardware counters run in a guest" "S4-302: the message"
fi
"$(dirname "$SONDE")/tests/perf_guest" played.data
printf '%s\n' 'ffffffff81000000 T _text' 'ffffffff81001000 T do_idle' 'ffffffff81001100 t rcu_check_callbacks' 'ffffffff81001200 T schedule' \
	'ffffffff81001600 T _etext' 'ffffffffc0000000 t virtnet_poll	[virtio_net]' >played.kallsyms
echo 'virtio_net 16384 0 - Live 0xffffffffc0000000' >played.modules
exits 0 "S4-306: perf kvm report" "$PWD/bin/perf" kvm --guestkallsyms=played.kallsyms --guestmodules=played.modules --guest -i played.data report --stdio
like "$out" "^# Overhead  Command  Shared Object +Symbol" "S4-306: the columns"
like "$out" "^ +[0-9.]+%  :2202    \[guest\.kernel\.kallsyms\]  \[g\] schedule" "S4-307: the layout"
like "$out" "  \[virtio_net\] +\[g\] virtnet_poll" "S4-306: functions of a guest's modules"
like "$out" "\[g\] rcu_check_callbacks" "S4-308: the mark of a guest's kernel"
like "$out" "\[unknown\] +\[u\] 0x0000000000401000" "S4-308: and of its programs"
unlike "$out" "\[k\]|\[\.\]" "S4-306: nothing of the host"
exits 0 "S4-375: the steps that the page describes are in the help" "$PWD/bin/perf" kvm record --help
like "$(tr -s ' \n' ' ' <<<"$out")" "copies of the guest's /proc/kallsyms and /proc/modules" "S4-375: lists"
exits 0 "S4-375: options" "$PWD/bin/perf" kvm --help
for option in host guest guestkallsyms guestmodules guestmount; do
	like "$out" "--$option" "S4-375: --$option"
done

# ---- memory accesses: recorded on the played machine; shown of a file that tests/gen/perf_hw makes, with known costs
ln -sf "$SONDE" bin/perf
exits 0 "S4-269: perf mem record" on intel-snbep "$PWD/bin/perf" mem record -o mem.data -- true
is "$(asked)" "4 1cd 1e
4 2cd 0" "S4-269: loads of 30 cycles and more, and stores"
sample_type=$(told sample_type)
is "$((sample_type & 8 && sample_type & 1 << 15 && sample_type & (1 << 14 | 1 << 24)))" 1 "S4-269: with address, source and cost"
isnt "$(told precise_ip)" 0 "S4-269: of the instruction itself"
exits 0 "S4-269: --ldlat" on intel-snbep sonde mem -t load record --ldlat 50 -o mem.data -- true
is "$(asked)" "4 1cd 32" "S4-269: loads of 50 cycles and more"
exits 255 "S4-269: a machine without" on arm64 "$PWD/bin/perf" mem record -o mem.data -- true
is "$err" "failed: memory events not supported" "S4-269: perf's message"
exits 0 "S4-289: perf mem: the command" "$PWD/bin/perf" mem --help
like "$out" "^ +record +sample memory accesses" "S4-289: to record"
like "$out" "^ +report +memory accesses by" "S4-289: and to report"
exits 0 "S4-289: kinds of accesses" on intel-snbep sonde mem record -e list
is "$out" "ldlat-loads  : available
ldlat-stores : available" "S4-289: what the CPU has"

gen=$(dirname "$SONDE")/tests/perf_hw
cat >accesses.c <<'END'
int table[100] = { 1 };
int second(int x) { return x + table[x & 7]; }
int first(int x) { return second(x) * 3; }
int main(int n, char **v) { return first(n); }
END
if ! command -v gcc >/dev/null || ! gcc -g -O0 -o accesses accesses.c; then
	for row in S4-268 S4-270 S4-271 S4-273 S4-274 S4-275 S4-276; do skip "no compiler" "$row: perf mem report"; done
	done_testing
fi
at=$(nm accesses | awk '$3 == "first" { print $1 }')
object=$(nm accesses | awk '$3 == "table" { print $1 }')
read -r section place < <(readelf -SW accesses | sed 's/^ *\[ *[0-9]*\]//' | awk '$1 == ".data" { print $3, $4 }')
"$gen" loads "$PWD/accesses" "$at" loads.data "data=$(printf %x $((0x$object - 0x$section + 0x$place)))"
exits 0 "S4-270: perf mem report" "$PWD/bin/perf" mem -i loads.data report --stdio -g none
like "$out" "^ +[0-9.]+% .* \[\.\] first +accesses +\[\.\] table" "S4-270: code and data of accesses"
like "$out" "^# Samples: 300 +of event 'cpu/mem-loads,ldlat=30/P'\$" "S4-273: the event"
total=$("$SONDE" script -i loads.data -F weight | awk '{ sum += $1 } END { print sum }')
like "$out" "^# Total weight : $total\$" "S4-274: the sum of all costs"
like "$out" "^# Sort order +: local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked," "S4-275: keys in their order"
columns=$(grep '^# Overhead' <<<"$out" | sed 's/^# //; s/   */,/g')
like "$columns" "^Overhead,Samples,Local Weight,Memory access,Symbol,Shared Object,Data Symbol,Data Object,Snoop,TLB access,Locked," "S4-276: the columns"
like "$out" " L1 or L1 hit .* L2 or L2 hit | L1 or L1 hit " "S4-276: levels in words"
# A row's share is its part of the cost, whatever the number of samples.
share=$(grep -m1 '^ *[0-9]' <<<"$out" | awk -v total="$total" '{ printf "%s %.2f%%", $1, 100 * $2 * $3 / total }')
is "${share% *}" "${share#* }" "S4-268: overhead is the share of the cost"
exits 0 "S4-271: perf mem report -g" "$PWD/bin/perf" mem -i loads.data report --stdio -g caller -s mem
like "$(grep -A3 'hit *$' <<<"$out" | xargs)" "hit [|] ---first first" "S4-271: call chains under the rows"
if command -v perf >/dev/null && [ "$(type -P -a perf | sed -n 2p)" ]; then
	theirs=$(type -P -a perf | sed -n 2p)
	# perf adds a column of its own where a key holds "symbol".
	plain() { sed -E 's/ +/ /g; s/ $//; s/( -){2}$//; s/ IPC \[IPC Coverage\]$//; s/,ipc_null$//' | grep -v '^# \.\.\.\|^$\|^# (\|^#$' | sort; }
	for args in "" "-t store" "-p"; do
		# shellcheck disable=SC2086
		"$theirs" mem -i loads.data $args report --stdio -g none 2>/dev/null | plain >mem.theirs
		# shellcheck disable=SC2086
		"$PWD/bin/perf" mem -i loads.data $args report --stdio -g none 2>/dev/null | plain >mem.ours
		[ "$(grep -c . mem.theirs)" -gt 100 ] && cmp -s mem.ours mem.theirs
		ok $? "S4-270: the table of perf mem $args report" || diag "$(diff mem.theirs mem.ours | head -10)"
	done
fi
done_testing

#!/usr/bin/env bash
# Samples of virtual machines, which this machine cannot take: made by tests/gen/perf_guest in both byte orders, and shown as perf 6.1
# shows them; and what record asks the kernel for.
# where: host
# needs:
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf
gen=$(dirname "$SONDE")/tests/perf_guest
if [ ! -x "$gen" ]; then
	echo "1..0 # SKIP tests/perf_guest is not built"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP PERF_BUILDID_DIR=$SONDE_TMP/debug
mkdir bin && ln -s "$SONDE" bin/perf

cat >guest.kallsyms <<'EOS'
ffffffff81000000 T _text
ffffffff81000000 T _stext
ffffffff81001000 T do_idle
ffffffff81001100 t rcu_check_callbacks
ffffffff81001200 T schedule
ffffffff81001300 T update_process_times
ffffffff81001400 T native_write_msr
ffffffff81001500 T _raw_spin_lock
ffffffff81001600 T _etext
ffffffffc0000000 t virtnet_poll	[virtio_net]
ffffffffc0000100 t virtnet_receive	[virtio_net]
ffffffffc0000200 t start_xmit	[virtio_net]
EOS
echo 'virtio_net 16384 0 - Live 0xffffffffc0000000' >guest.modules
files="--guestkallsyms=guest.kallsyms --guestmodules=guest.modules"
for form in "" swap; do
	"$gen" guest$form.data $form
	ok $? "a recording of guests $form"
	"$gen" chains$form.data chains $form
done
"$gen" own.data pid

rows() { grep -a '^ *[0-9.]*%' | sed 's/  *$//' | sort; }
# same OPTIONS-OF-KVM -- OPTIONS-OF-REPORT: head and rows, as perf prints them
same() {
	local kvm=() form=$1
	shift
	while [ "$1" != -- ]; do
		kvm+=("$1")
		shift
	done
	shift
	command perf kvm "${kvm[@]}" -i guest$form.data report --stdio "$@" 2>/dev/null >theirs
	"$PWD/bin/perf" kvm "${kvm[@]}" -i guest$form.data report --stdio "$@" 2>ours.err >ours
	is "$(rows <ours)" "$(rows <theirs)" "rows of perf kvm ${kvm[*]} report $* $form"
	# perf makes a column wide enough also for what it leaves out.
	is "$(grep '^# [SEO]' ours | sed 's/ *$//')" "$(grep '^# [SEO]' theirs | sed 's/ *$//')" "its head"
	[ -n "$(rows <ours)" ]
	ok $? "which has rows" || diag "$(cat ours.err)"
}
for form in "" swap; do
	# shellcheck disable=SC2086
	same "$form" --guest $files --
	# shellcheck disable=SC2086
	same "$form" $files -- --sort dso,sym
	# shellcheck disable=SC2086
	same "$form" $files -- --sort comm
	# shellcheck disable=SC2086
	same "$form" $files -- -n --sort dso,sym --percentage relative
	# shellcheck disable=SC2086
	same "$form" --host --guest $files -- --sort comm,dso
	same "$form" --host --no-guest -- --sort comm,dso
done
# perf shows addresses in modules without a name from the module's start: those of the kernel itself are the same.
command perf kvm -i guest.data report --stdio --sort dso,sym 2>/dev/null | rows | grep -v virtio_net >theirs
"$PWD/bin/perf" kvm -i guest.data report --stdio --sort dso,sym 2>ours.err | rows | grep -v virtio_net >ours
cmp ours theirs && [ -s ours ]
ok $? "without the guest's files: addresses" || diag "$(diff theirs ours)"
exits 0 "without them, under our own name" "$SONDE" kvm -i guest.data report --stdio
like "$err" "guests' kernel functions are not named" "which is said"
like "$err" "hint: copy the guest.s /proc/kallsyms, and use --guestkallsyms FILE" "with what to do"

# ---- report and script called as perf leave guests out; under our own name they have their marks
is "$("$PWD/bin/perf" report --stdio -i guest.data --sort comm,dso 2>/dev/null | rows)" "$(command perf report --stdio -i guest.data --sort comm,dso 2>/dev/null | rows)" \
	"perf report: the host's samples"
out=$("$SONDE" report --stdio -i guest.data 2>/dev/null)
like "$out" '% +:2203 +\[unknown\] +\[u\] 0x0000000000401002' "sonde report: those of programs in guests"
like "$out" '% +:2202 +\[guest\.kernel\.kallsyms\] +\[g\] 0xffffffff81001' "and of guests' kernels"
is "$("$PWD/bin/perf" script -i guest.data -F tid,time,ip 2>/dev/null)" "$(command perf script -i guest.data -F tid,time,ip 2>/dev/null)" \
	"perf script: the host's samples"
for form in "" swap; do
	for fields in tid,time,event,ip comm,tid,time,period; do
		# shellcheck disable=SC2086
		command perf script $files -i guest$form.data -F $fields 2>/dev/null >theirs
		# shellcheck disable=SC2086
		"$PWD/bin/perf" script $files -i guest$form.data -F $fields 2>ours.err >ours
		cmp ours theirs >cmp.out 2>&1 && [ "$(wc -l <ours)" = 400 ]
		ok $? "script -F $fields $form" || diag "$(cat cmp.out ours.err)"
	done
	# shellcheck disable=SC2086
	command perf script $files -i guest$form.data -F tid,ip,sym,symoff,dso 2>/dev/null | grep -F -e '[guest' -e virtio_net >theirs
	# shellcheck disable=SC2086
	"$PWD/bin/perf" script $files -i guest$form.data -F tid,ip,sym,symoff,dso 2>ours.err | grep -F -e '[guest' -e virtio_net >ours
	cmp ours theirs >cmp.out 2>&1 && [ -s ours ]
	ok $? "script: functions of guests $form" || diag "$(cat cmp.out ours.err; head -3 ours theirs)"
	# perf 6.1 does not know the marks of guests in a call chain, and drops it.
	# shellcheck disable=SC2086
	out=$("$SONDE" script $files -i chains$form.data -F ip,sym 2>/dev/null | awk -v RS= -F '\n' '$1 ~ /^\t[0-9a-f]+ virtnet_poll$/ && NF == 2 { n++ } END { print n + 0 }')
	[ "$out" -gt 5 ]
	ok $? "script: call chains of guests: $out $form"
done

# ---- a guest's own files below --guestmount. perf 6.1 reads them when it records, and never finds them again when it reports.
mkdir -p mnt/2202/proc
cp guest.kallsyms mnt/2202/proc/kallsyms
cp guest.modules mnt/2202/proc/modules
# shellcheck disable=SC2086
"$SONDE" kvm $files -i guest.data report --stdio --sort sym 2>/dev/null | rows >wanted
"$SONDE" kvm --guestmount mnt -i own.data report --stdio --sort sym 2>ours.err | rows >ours
cmp ours wanted && grep -q virtnet_poll ours
ok $? "--guestmount: functions of that guest" || diag "$(diff ours wanted; cat ours.err)"
like "$("$SONDE" kvm --guestmount mnt -i own.data report --stdio --sort dso 2>/dev/null)" '\[guest\.kernel\.kallsyms\.2202\]' "and whose kernel it is"

# Files of /proc, as sshfs shows them, do not tell their size.
rm -r mnt/2202/proc && ln -s /proc mnt/2202/proc
if grep -q '^0*[1-9a-f][0-9a-f]* T _text$' /proc/kallsyms; then
	like "$("$SONDE" kvm --guestmount mnt -i own.data report --stdio --sort sym 2>/dev/null)" '\[g\] [a-z_]' "--guestmount: files without a size"
else
	skip "addresses are hidden from this user" "--guestmount: files without a size"
fi

# A guest without modules, and an image that is none beside a list that is good.
: >empty
"$SONDE" kvm --guestkallsyms guest.kallsyms --guestmodules empty -i guest.data report --stdio --sort sym 2>/dev/null >ours
like "$(cat ours)" '\[g\] rcu_check_callbacks' "an empty list of modules: the kernel has names"
"$SONDE" kvm --guestkallsyms guest.kallsyms --guestvmlinux empty -i guest.data report --stdio --sort sym 2>/dev/null >ours
like "$(cat ours)" '\[g\] rcu_check_callbacks' "an image that cannot be used: the list is"

# Options stand before the command or after it.
# shellcheck disable=SC2086
is "$("$SONDE" kvm report $files -i guest.data --host --stdio --sort sym 2>/dev/null)" "$("$SONDE" kvm --host $files -i guest.data report --stdio --sort sym 2>/dev/null)" \
	"options after the command"

# ---- files: hidden addresses, a list that was moved, damaged ones, none
sed 's/^[0-9a-f]*/0000000000000000/' guest.kallsyms >hidden
exits 0 "a list without addresses" "$SONDE" kvm --guestkallsyms hidden -i guest.data report --stdio
like "$err" "symbol list has no addresses" "is refused, and why"
like "$err" "hint: in the guest, as root: sysctl kernel.kptr_restrict=0" "with what to do"
sed 's/^ffffffff81/ffffffff99/' guest.kallsyms | grep -v virtio >moved
"$SONDE" kvm --guestkallsyms moved -i guest.data report --stdio --sort sym 2>/dev/null >ours
like "$(cat ours)" '\[g\] rcu_check_callbacks' "a guest that was booted elsewhere since: the reference symbol tells"
head -c 3000 /dev/urandom >noise
exits 0 "a file that is no list" "$SONDE" kvm --guestkallsyms noise --guestmodules noise -i guest.data report --stdio
exits 0 "one that is not there" "$SONDE" kvm --guestkallsyms nowhere -i guest.data report --stdio
exits 1 "a recording that is not there" "$SONDE" kvm report --stdio
like "$err" "perf\.data\.guest" "is called perf.data.guest"
exits 1 "with the host" "$SONDE" kvm --host report --stdio
like "$err" "perf\.data\.kvm" "it is perf.data.kvm"
exits 1 "without guests" "$SONDE" kvm --host --no-guest report --stdio
like "$err" "perf\.data\.host" "and perf.data.host"

# ---- diff, buildid-list
cp guest.data perf.data.guest
cp guestswap.data perf.data.host
# shellcheck disable=SC2086
is "$("$PWD/bin/perf" kvm $files diff 2>/dev/null | rows | grep -v unknown)" "$(command perf kvm $files diff 2>/dev/null | rows)" \
	"diff: perf.data.host against perf.data.guest (perf leaves out code without a map)"
is "$("$PWD/bin/perf" kvm buildid-list | sort)" "$(command perf kvm buildid-list | sort)" "buildid-list"
"$SONDE" kvm $files report --json >ours.json 2>/dev/null
python3 - <<'EOS'
import json
rows = json.load(open("ours.json"))["events"][0]["rows"]
assert {r["symbol"] for r in rows} >= {"rcu_check_callbacks", "virtnet_poll"}, rows
assert {r["dso"] for r in rows} == {"[guest.kernel.kallsyms]", "[virtio_net]", "[unknown]"}, rows
EOS
ok $? "--json" || diag "$(head -c 500 ours.json)"

# ---- record
exits 129 "--guest-code" "$SONDE" kvm --guest-code report
if "$SONDE" list hw 2>/dev/null | grep -q 'cpu-cycles.*Hardware'; then
	skip "this machine has counters" "record without them"
else
	exits 1 "record where there are no counters" "$SONDE" kvm record -- true
	like "$err" "only hardware counters run in a guest, and this machine has none" "is refused, and why"
	[ ! -e perf.data.kvm ]
	ok $? "nothing is left behind"
	exits 0 "with the host it is only said" "$SONDE" kvm --host $files record -F 99 -- true
	like "$err" "no samples of guests: only hardware counters run in a guest" "that there are none"
	"$SONDE" script -D -i perf.data.kvm 2>/dev/null | grep -o 'PERF_RECORD_MMAP .*guest.*\|PERF_RECORD_MMAP .*virtio_net.*' >ours
	command perf kvm --host $files record -F 99 -o theirs.data -- true >/dev/null 2>&1
	command perf script -D -i theirs.data 2>/dev/null | grep -o 'PERF_RECORD_MMAP .*\[guest.*' >theirs
	is "$(grep kallsyms ours)" "$(cat theirs)" "where the guest's kernel is, as perf records it"
	like "$(cat ours)" '\[0xffffffffc0000000\(0x4000\) @ 0\]: x \[virtio_net\]' "and its module"
fi
mkdir attrs
# sides COMMAND...: what is excluded of the event that is asked for
sides() {
	rm -f attrs/*
	PERF_TEST_ATTR=$PWD/attrs "$@" -o x.data -- true >/dev/null 2>&1
	cat $(grep -l '^sample_type=.' attrs/event-* | head -1) | grep '^exclude_[hg][ou]' | sort | xargs
}
for side in "--host --guest" "--host --no-guest"; do
	for event in cpu-clock cpu-clock:u cpu-clock:k cpu-clock:ppp cpu-clock:G cpu-clock:H cpu-clock:uG; do
		# shellcheck disable=SC2086
		theirs=$(sides perf kvm $side record -e $event)
		# shellcheck disable=SC2086
		is "$(sides "$SONDE" kvm $side record -e $event)" "$theirs" "kvm $side record -e $event: $theirs"
	done
done
# perf 6.1 forgets that only guests are wanted when an event has a letter that is not G or H, and records the host; with :ppp, only the host.
for event in cpu-clock cpu-clock:u cpu-clock:k cpu-clock:ppp cpu-clock:G; do
	is "$(sides "$SONDE" kvm record -e $event)" "exclude_guest=0 exclude_host=1" "kvm record -e $event: guests only"
done
is "$(sides "$SONDE" kvm record -e cpu-clock:H)" "exclude_guest=1 exclude_host=0" "kvm record -e cpu-clock:H: what was asked for"
done_testing

#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 240
# inspect sig and irq, against what /proc and sysfs say.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
[ -e /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
"$SONDE" inspect '$current->pid' >/dev/null 2>&1 || skip_all "kernel memory cannot be read here: $("$SONDE" inspect '$current->pid' 2>&1 | head -1)"
i() { "$SONDE" inspect "$@"; }
cd "$SONDE_TMP" || exit 1

# ---- sig: a program with handlers, blocked signals, and some that wait -------------------------------------------------------------
cat >signals.py <<'END'
import os, signal, threading
open("/proc/self/comm", "w").write("sigtest")
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
blocked = [signal.SIGUSR2, signal.SIGTERM, signal.SIGRTMIN + 1]
signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
threading.Thread(target=signal.pause, daemon=True).start()
os.kill(os.getpid(), signal.SIGUSR2)
os.kill(os.getpid(), signal.SIGRTMIN + 1)
os.kill(os.getpid(), signal.SIGRTMIN + 1)
signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)
open("ready", "w").close()
signal.pause()
END
python3 signals.py &
program=$!
wait_until [ -e ready ]
ok $? "a program with signals"
pid=$(i --json ps sigtest | python3 -c 'import json, sys; print([r for r in json.load(sys.stdin)["rows"] if r["pid"] == r["tgid"]][0]["pid"])')
i --json sig "$pid" >sig.json
status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$program/status"; }
field() { python3 -c "
import json
r = json.load(open('sig.json'))['rows'][0]
print($1)"; }
is "$(field "'%016x' % int(r['blocked'], 16)")" "$(status SigBlk)" "sig: blocked signals"
is "$(field "'%016x' % int(r['private']['signal'], 16)")" "$(status SigPnd)" "sig: pending for the thread"
is "$(field "'%016x' % int(r['shared']['signal'], 16)")" "$(status ShdPnd)" "sig: pending for the process"
is "$(field "'%016x' % sum(1 << a['signal'] - 1 for a in r['actions'] if a['handler'] == 'ignore')")" "$(status SigIgn)" "sig: ignored"
is "$(field "'%016x' % sum(1 << a['signal'] - 1 for a in r['actions'] if a['handler'].startswith('0x'))")" "$(status SigCgt)" "sig: handled"
is "$(field "sorted(q['signal'] for q in r['shared']['queue'])")" "[12, 35, 35]" "sig: each that waits for the process, twice what was sent twice"
is "$(field "[q['signal'] for q in r['private']['queue']]")" "[15]" "sig: what waits for the thread"
is "$(field "r['threads']")" 2 "sig: threads of the process"
is "$(field "r['pending']")" False "sig: what waits is blocked"
info=$(field "[q['siginfo'] for q in r['private']['queue']][0]")
like "$(i p "((struct kernel_siginfo *)$info)->si_signo")" ' = 15$' "sig: the siginfo is at its address"
action=$(field "r['actions'][9]['address']")
is "$(i p -x "((struct k_sigaction *)$action)->sa.sa_handler" | sed 's/.*(__sighandler_t) //; s/.* = //; s/.*\(0x[0-9a-f]*\).*/\1/')" "$(field "r['actions'][9]['handler']")" "sig: and the sigaction of SIGUSR1"
i sig "$pid" >sig
like "$(cat sig)" "^PID: $pid +TASK: ff[0-9a-f]{14} +CPU: [0-9]+ +COMMAND: \"sigtest\"\$" "sig: which task"
like "$(cat sig)" '^SIGNAL_STRUCT: ff[0-9a-f]{14}  NR_THREADS: 2$' "sig: crash's head"
like "$(cat sig)" '^\[ 1\] ff[0-9a-f]{14} +SIG_IGN [0-9a-f]{16} ' "sig: SIGHUP is ignored"
like "$(cat sig)" '^\[10\] ff[0-9a-f]{14} +[0-9a-f]+ [0-9a-f]{16} [0-9a-f]+ \(.*SA_RESTORER|SA_ONSTACK' "sig: flags of SIGUSR1 by name"
like "$(cat sig)" '^SIGPENDING: no$' "sig: nothing waits that is not blocked"
is "$(grep -c '^PID:' sig)" 1 "sig: one thread"
is "$(i sig -g "$pid" | grep -c '^PID:')" 2 "sig -g: all threads"
is "$(i sig -g sigtest | grep -c '^PID:')" 2 "sig -g NAME: each of them once"
is "$(i foreach "$pid" sig | grep -c '^SIGNAL_STRUCT:')" 1 "foreach sig"
is "$(i sig -s "$(status SigBlk)")" "$(printf '[12] SIGUSR2\n[15] SIGTERM\n[35] SIGRTMIN+1')" "sig -s: the members of a set"
like "$(i sig -l)" '^\[11\] SIGSEGV$' "sig -l"
is "$(i sig -l | wc -l)" 62 "sig -l: all but the two of the C library"
exits 129 "a set that is none" i sig -s 12g
exits 129 "-l with a task" i sig -l 1
exits 129 "-l and -g" i sig -l -g
exits 1 "a task that is not there" i sig no-such-task
kill -9 "$program"
wait "$program" 2>/dev/null

# ---- irq: what sysfs has of each -----------------------------------------------------------------------------------------------
if [ -e /sys/kernel/irq ]; then
	cat >irqs.py <<'END'
import json, os
rows = {r["irq"]: r for r in json.load(open("irq.json"))["rows"]}
for n in map(int, os.listdir("/sys/kernel/irq")):
    def read(name):
        try:
            return open(f"/sys/kernel/irq/{n}/{name}").read().strip()
        except OSError:
            return None
    if n not in rows:
        print("missing", n)
        continue
    r = rows[n]
    if read("actions") != ",".join(a["name"] for a in r["actions"]):
        print(n, "actions", read("actions"), r["actions"])
    if (read("chip_name") or None) != r["chip"] and r["actions"]:
        print(n, "chip", read("chip_name"), r["chip"])
    try:
        cpus = open(f"/proc/irq/{n}/smp_affinity_list").read().strip()
        if cpus != r["affinity"]:
            print(n, "affinity", cpus, r["affinity"])
    except OSError:
        pass
END
	# Once more if somebody changed an affinity meanwhile.
	irqs_agree() { i --json irq >irq.json && python3 irqs.py >bad 2>&1 && [ ! -s bad ]; }
	WAIT_SECONDS=30 wait_until irqs_agree
	is "$(cat bad)" "" "irq: handlers, chip and CPUs of each in /sys/kernel/irq"
	isnt "$(grep -c '"irqaction"' irq.json)" 0 "irq: some have handlers"
	read -r number desc action <<<"$(i irq -u | awk 'NR > 1 && NF > 3 { print $1, $2, $3; exit }')"
	like "$(i p "((struct irq_desc *)0x$desc)->irq_data.irq")" " = $number\$" "irq: the address is that of its descriptor"
	like "$(i p "((struct irq_desc *)0x$desc)->action")" " 0x$action" "irq: and the irqaction's"
	is "$(i irq "$number" | awk 'NR > 1 { print $1; exit }')" "$number" "irq: one of them"
	unlike "$(i irq -u)" unused "irq -u: only those in use"
	like "$(i irq -a | head -1)" '^IRQ NAME +AFFINITY$' "irq -a: crash's columns"
	# Counts only go up: what is read between two reads of /proc/interrupts is between them. It has online CPUs only.
	row() { awk -v n="$number:" 'NR == 1 { cpus = NF } $1 == n { for (c = 2; c < 2 + cpus; c++) s += $c; print s + 0 }' "$1"; }
	before=$(row /proc/interrupts)
	i irq -s "$number" >counts
	after=$(row /proc/interrupts)
	got=$(row counts)
	[ "$before" -le "$got" ] && [ "$got" -le "$after" ]
	ok $? "irq -s: between $before and $after: $got"
else
	skip "no /sys/kernel/irq here" "irq"
fi
if [ "$(uname -m)" = x86_64 ]; then
	like "$(i irq -d)" '^    \[0\] +ff[0-9a-f]{14}  <asm_exc_divide_error>$' "irq -d: the handler of a vector"
	like "$(i irq -d)" '^    \[14\] +ff[0-9a-f]{14}  <asm_exc_page_fault>$' "irq -d: and another one"
else
	exits 1 "an interrupt table elsewhere" i irq -d
fi
if grep -q ' softirq_vec$' /proc/kallsyms; then
	like "$(i irq -b)" '^    \[1\] +ff[0-9a-f]{14}  <run_timer_softirq>$' "irq -b: the function of a softirq"
else
	exits 1 "softirqs without symbols of variables" i irq -b
	like "$err" 'CONFIG_KALLSYMS_ALL is off' "says why"
fi
exits 1 "an interrupt that is not there" i irq 99999
exits 129 "-a and -s" i irq -a -s
for c in sig irq 'irq -s'; do
	# shellcheck disable=SC2086 # two words
	i $c --json | python3 -m json.tool >/dev/null
	ok $? "$c --json"
done
done_testing

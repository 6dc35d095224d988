#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 240
# inspect timer and waitq: timers and waits that programs make here.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
[ -e /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
"$SONDE" inspect '$current->pid' >/dev/null 2>&1 || skip_all "kernel memory cannot be read here: $("$SONDE" inspect '$current->pid' 2>&1 | head -1)"
i() { "$SONDE" inspect "$@"; }
task_of() { i --json ps "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"][0]["address"])'; }
cd "$SONDE_TMP" || exit 1

# ---- timer -r: the timer of a task that sleeps -------------------------------------------------------------------------------------
cp "$(command -v sleep)" timedone
./timedone 3000 &
sleeper=$!
asleep() { i bt timedone 2>/dev/null | grep -q nanosleep; }
wait_until asleep
ok $? "a task that sleeps"
task=$(task_of timedone)
# A hrtimer of a sleeper is in a struct hrtimer_sleeper that names its task. A timer may move to another CPU while the lists are read.
find_sleeper() {
	i --json timer -r >timers.json
	sleep_timer=
	local addr
	for addr in $(python3 -c '
import json
for r in json.load(open("timers.json"))["rows"]:
    for t in r["timers"]:
        if t["function_symbol"] == "hrtimer_wakeup" and r["clock"].startswith("CLOCK_MONOTONIC") and 2e12 < t["left_ns"] <= 3e12:
            print(t["address"])'); do
		[[ $(i p "container_of($addr, struct hrtimer_sleeper, timer)->task") == *"$task"* ]] && sleep_timer=$addr
	done
	[ -n "$sleep_timer" ]
}
wait_until find_sleeper
ok $? "timer -r: the timer of the sleeper, with up to 3000 s left" || diag "$(head -c 2000 timers.json)"
i timer -r >timers
like "$(cat timers)" '^CPU: 0  HRTIMER_CPU_BASE: ff[0-9a-f]{14}$' "timer -r: each CPU"
like "$(cat timers)" '^  CLOCK: 0  HRTIMER_CLOCK_BASE: ff[0-9a-f]{14}  \[CLOCK_MONOTONIC\]$' "timer -r: each clock"
like "$(cat timers)" "^ +[0-9]+ +[0-9]+ +[0-9]+  ${sleep_timer#0x}  ff[0-9a-f]{14}  <hrtimer_wakeup>\$" "timer -r: the row of the sleeper's timer"
is "$(i timer -r -C 0 | grep -c '^CPU: ')" 1 "timer -C: one CPU"
python3 - >bad <<'END'
import json
for r in json.load(open("timers.json"))["rows"]:
    times = [t["expires_ns"] for t in r["timers"]]
    if times != sorted(times):
        print(r["clock"], times)
END
is "$(cat bad)" "" "timer -r: the next one first"
kill "$sleeper"
wait "$sleeper" 2>/dev/null
no_sleeper() { ! find_sleeper; }
wait_until no_sleeper
ok $? "timer -r: it goes with the sleeper"

# ---- timer: keepalive of a connection --------------------------------------------------------------------------------------------
cat >keepalive.py <<'END'
import os, signal, socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
c = socket.socket()
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1234)
c.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
c.connect(s.getsockname())
open("connected", "w").close()
signal.pause()
END
if python3 -c 'import socket; socket.socket().bind(("127.0.0.1", 0))' 2>/dev/null && ip link show lo up 2>/dev/null | grep -q UP; then
	python3 keepalive.py &
	program=$!
	wait_until [ -e connected ]
	keeps() {
		i --json timer >wheel.json
		python3 - <<'END'
import json, sys
# 1234 s in jiffies at 100 to 1000 Hz.
found = [t for r in json.load(open("wheel.json"))["rows"] for t in r["timers"] if t["function_symbol"] == "tcp_keepalive_timer" and 0 < t["left"] <= 1300000]
sys.exit(not found)
END
	}
	wait_until keeps
	ok $? "timer: the keepalive timer of a connection" || diag "$(head -c 2000 wheel.json)"
	kill "$program"
	wait "$program" 2>/dev/null
else
	skip "no loopback device that is up" "timer: the keepalive timer of a connection"
fi
i timer >wheel
like "$(sed -n 1,2p wheel | tr '\n' ' ')" '^JIFFIES [0-9]+ $' "timer: jiffies first"
like "$(cat wheel)" '^TIMER_BASES\[0\]\[BASE_(STD|LOCAL)\]: ff[0-9a-f]{14}$' "timer: each base"
isnt "$(grep -Ec '^ +[0-9]+ +-?[0-9]+  ff[0-9a-f]{14}  ff[0-9a-f]{14}  <[a-z_]' wheel)" 0 "timer: timers with their functions"
exits 129 "a CPU that is none" i timer -C x
exits 1 "a CPU that is not there" i timer -C 4000
exits 129 "timer with an argument" i timer 1

# ---- waitq ---------------------------------------------------------------------------------------------------------------------------
cp "$(command -v bash)" waitsforchild
./waitsforchild -c 'sleep 3000; true' &
parent=$!
waits() { i bt waitsforchild 2>/dev/null | grep -q do_wait; }
wait_until waits
ok $? "a task that waits for its child"
task=$(task_of waitsforchild)
signal=$(i p -x "((struct task_struct *)$task)->signal" | grep -o '0x[0-9a-f]*$')
i waitq signal_struct.wait_chldexit "$signal" >queue
like "$(cat queue)" "^PID: [0-9]+ +TASK: ${task#0x} +CPU: [0-9]+ +COMMAND: \"waitsforchild\"\$" "waitq TYPE.MEMBER ADDRESS: it waits there"
is "$(wc -l <queue)" 1 "waitq: and nobody else"
is "$(i waitq "((struct task_struct *)$task)->signal->wait_chldexit")" "$(cat queue)" "waitq EXPRESSION"
is "$(i waitq "$(i p -x "&((struct task_struct *)$task)->signal->wait_chldexit" | grep -o '0x[0-9a-f]*$')")" "$(cat queue)" "waitq ADDRESS"
kill $(pgrep -P "$parent")
wait "$parent" 2>/dev/null

cat >polls.py <<'END'
import os, select, sys
open("/proc/self/comm", "w").write(sys.argv[1])
r, w = os.pipe()
os.dup2(r, 40)
if sys.argv[1] == "polls":
    p = select.poll()
    p.register(40)
else:
    p = select.epoll()
    p.register(40, select.EPOLLIN)
p.poll()
END
queue_of() { # NAME: of the pipe that is its descriptor 40
	local file
	file=$(i files "$1" | awk '$1 == 40 { print $2; exit }')
	i waitq "((struct pipe_inode_info *)((struct file *)0x$file)->private_data)->rd_wait"
}
for name in polls epolls; do
	python3 polls.py $name &
	program=$!
	sleeps() { i bt $name 2>/dev/null | grep -Eq ' (ep_poll|do_epoll_wait|do_sys_poll|do_poll)'; }
	wait_until sleeps
	queue_of $name >queue
	if [ $name = polls ]; then
		like "$(cat queue)" '^PID: [0-9]+ +TASK: ff[0-9a-f]{14} +CPU: [0-9]+ +COMMAND: "polls"$' "waitq: a task in poll()"
	else
		like "$(cat queue)" '^WAIT_QUEUE_ENTRY: ff[0-9a-f]{14}  EVENTPOLL: ff[0-9a-f]{14}  FUNCTION: ff[0-9a-f]{14}  <ep_poll_callback>$' "waitq: an epoll instance"
		pool=$(sed 's/.*EVENTPOLL: \([0-9a-f]*\) .*/\1/' queue)
		like "$(i waitq eventpoll.wq "$pool")" 'COMMAND: "epolls"$' "waitq: and who waits for that"
	fi
	kill "$program"
	wait "$program" 2>/dev/null
done
like "$(i waitq '$current->signal->wait_chldexit')" '^wait queue ff[0-9a-f]{14} is empty$' "waitq: nobody waits"
exits 1 "an address that cannot be read" i waitq 0xdead000000000000
exits 1 "something else than a wait queue" i waitq '$current->signal'
like "$err" 'not a struct wait_queue_head, but a struct signal_struct' "is named"
exits 129 "no queue" i waitq
for c in timer 'timer -r' 'waitq $current->signal->wait_chldexit'; do
	# shellcheck disable=SC2086 # words
	i $c --json | python3 -m json.tool >/dev/null
	ok $? "$c --json"
done
done_testing

#!/usr/bin/env bash
# where: host 6.1
# needs: root
# timeout: 300
# Where outputs go when other users have a say in the path: links, device nodes, pipes, folders that are swapped. Root must not be led
# elsewhere, give away what it did not make, or run a command for an output that cannot be written.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events setpriv
cd "$SONDE_TMP" || exit 1
chmod 755 .
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; } # UID CMD...
as_nobody() { as 65534 "$@"; }
as_nobody test -x . || skip_all "nobody cannot walk to $SONDE_TMP"
mode() { stat -c %F:%u:%g:%a "$1"; }
export SUDO_UID=65534 SUDO_GID=65534 TMPDIR=$SONDE_TMP/tmp

echo precious >victim
chmod 640 victim
before="$(mode victim) $(md5sum <victim)"
untouched() { is "$(mode victim) $(md5sum <victim)" "$before" "$1: the file is untouched"; } # NAME
"$SONDE" record -q -e cpu-clock -F 4000 -o in.data -- "$SONDE" workload leaf 0.2 2>/dev/null
chmod 644 in.data
cp "$SONDE_SRC/tests/data/trace/6.1-events_v6.dat" t.dat
mkdir nobody pub precious shut tmp
chown 65534:65534 nobody
chmod 1777 pub
chmod 700 shut
chmod 777 tmp

run_verb() { # VERB FILE [AS...]
	local verb=$1 file=$2
	shift 2
	case $verb in
	flame) "$@" "$SONDE" flame -i in.data -o "$file" ;;
	export) "$@" "$SONDE" export --to pprof -i in.data -o "$file" ;;
	inject) "$@" "$SONDE" inject -i in.data -o "$file" ;;
	convert) "$@" "$SONDE" data convert -i in.data --force --to-json "$file" ;;
	archive) "$@" "$SONDE" archive --all -i in.data -o "$file" ;;
	ftrace_convert) "$@" "$SONDE" ftrace convert -i t.dat -o "$file" ;;
	stat) "$@" "$SONDE" stat -e task-clock -o "$file" -- true ;;
	record) "$@" "$SONDE" record -q -e cpu-clock -o "$file" -- true ;;
	stat_record) "$@" "$SONDE" stat record -e task-clock -o "$file" -- true ;;
	esac
}
verbs="flame export inject convert archive ftrace_convert stat record stat_record"
[ "$SONDE_GUEST" = host ] || verbs="flame archive stat record" # one for each way to write; the rules are the same code for all

nobody_counts=stat
as_nobody "$SONDE" stat -e task-clock -- true 2>/dev/null || nobody_counts=

# ---- devices change neither owner nor mode, links are replaced, what they lead to stays as it is
mknod node c 1 3 && : >node
node=$?
chmod 600 node 2>/dev/null
for verb in $verbs; do
	if [ $node = 0 ]; then
		exits 0 "$verb into a device" run_verb "$verb" node
		is "$(mode node)" "character special file:0:0:600" "$verb: it is as it was"
	else
		skip "no device node can be made here" "$verb into a device"
	fi
	rm -f link link.old
	ln -s victim link
	exits 0 "$verb onto a link to a file" run_verb "$verb" link
	[ -f link ] && [ ! -L link ]
	ok $? "$verb: the link is replaced"
	untouched "$verb"
done
rm -f link link.old
ln -s victim link
run_verb record link
is "$(readlink link.old)" victim "record: it is the link that becomes .old, as with perf"
is "$(mode link)" "regular file:65534:65534:600" "record: the new file is who called sudo's"
rm -f link link.old
ln -s victim link
exits 1 "stat --append onto a link" "$SONDE" stat -e task-clock --append -o link -- touch ran
like "$err" "'link': it is a symbolic link" "is refused"
[ ! -e ran ]
ok $? "before the command runs"
untouched "stat --append"
echo 1 >own.txt
exits 0 "stat onto root's own file" run_verb stat own.txt
is "$(mode own.txt)" "regular file:0:0:644" "which stays root's"
exits 1 "data repair of a link" "$SONDE" data repair link
untouched "data repair"

# ---- in a sticky folder, by another user
as_nobody ln -s "$SONDE_TMP/precious" pub/way
for verb in $verbs; do
	rm -f pub/link pub/link.old
	as_nobody ln -s "$SONDE_TMP/victim" pub/link
	run_verb "$verb" pub/link >/dev/null 2>&1
	untouched "$verb onto nobody's link in a sticky folder"
	rm -f pub/link pub/link.old
	as 1 ln -s "$SONDE_TMP/nobody/theirs" pub/link
	as_nobody sh -c 'echo theirs >nobody/theirs'
	run_verb "$verb" pub/link as_nobody >out.txt 2>&1
	is "$? $(cat nobody/theirs)" "1 theirs" "$verb: an ordinary user does not follow somebody's link either" || diag "$(cat out.txt)"
	exits 1 "$verb through a link on the way" run_verb "$verb" pub/way/out
	like "$err" "'way' is a symbolic link in a directory that other users can write to" "$verb: it is named"
done
is "$(ls precious)" "" "nothing went there"
rm -f pub/link
as_nobody ln -s /dev/null pub/link
exits 1 "a link to a device" run_verb flame pub/link
like "$err" "'link' is a symbolic link" "is named"
as_nobody ln -s "$SONDE_TMP/victim" nobody/cfg
ln -s "$SONDE" perf
PERF_CONFIG=$SONDE_TMP/nobody/cfg ./perf config report.children=false 2>/dev/null
untouched "config"
as_nobody mkfifo pub/pipe
exits 1 "somebody's pipe" timeout 60 "$SONDE" export --to pprof -i in.data -o pub/pipe
like "$err" "pub/pipe: Permission denied" "is not opened"
echo 1 >pub/kept
chown 65534 pub/kept
chmod 666 pub/kept
exits 0 "somebody's file" run_verb flame pub/kept
is "$(mode pub/kept)" "regular file:0:0:644" "is replaced, and the new one is not theirs"

as_nobody ln -s "$SONDE_TMP/victim" nobody/ack
mkfifo ctl
exits 129 "--control with answers into somebody's link" "$SONDE" record -q -e cpu-clock --control fifo:ctl,nobody/ack -o c.data -- true
like "$err" "nobody/ack: not a named pipe" "is refused"
untouched "--control"

# ---- an ordinary user's own links stay links
(cd nobody && as_nobody ln -s target own)
for verb in flame export inject convert ftrace_convert $nobody_counts; do
	as_nobody touch nobody/target
	exits 0 "$verb through one's own link" run_verb "$verb" nobody/own as_nobody
	[ -L nobody/own ] && [ -s nobody/target ]
	ok $? "$verb: stays a link"
	rm -f nobody/target
done
is "$("$SONDE" export --to folded -i in.data -o /dev/stdout 2>/dev/null | md5sum)" "$("$SONDE" export --to folded -i in.data 2>/dev/null | md5sum)" "/dev/stdout is a pipe"
link_before=$(readlink /dev/stdout) # a guest has none
"$SONDE" export --to folded -i in.data -o /dev/stdout >to.txt 2>/dev/null
is "$(md5sum <to.txt)" "$("$SONDE" export --to folded -i in.data 2>/dev/null | md5sum)" "/dev/stdout is a file"
is "$(readlink /dev/stdout)" "$link_before" "and stays what it was"

# ---- the build ID cache in a home that is somebody else's
mkdir -p nobody/.debug/.build-id
chown -R 65534:65534 nobody/.debug
as_nobody ln -s "$SONDE_TMP/precious" "nobody/.debug/${SONDE_TMP#/}" 2>/dev/null || as_nobody ln -s "$SONDE_TMP/precious" "nobody/.debug/$(cut -d/ -f2 <<<"$SONDE_TMP")"
cp "$SONDE" program
exits 1 "buildid-cache through a link" env PERF_BUILDID_DIR="$SONDE_TMP/nobody/.debug" "$SONDE" buildid-cache -a program
is "$(ls precious)" "" "nothing went there"

# ---- a folder of parts does not say where the file goes
make_parts() { # FOLDER
	rm -rf "$1"
	mkdir "$1"
	cp t.dat "$1/head"
	printf 'output\t%s\nversion\t6\ncompression\tnone\ncpus\t1\nbuffer\t\t\tlocal\t4096\n' "$SONDE_TMP/victim" >"$1/plan"
}
make_parts r.dat.parts
touch r.dat.parts/notes
exits 0 "restore" "$SONDE" ftrace restore r.dat.parts/
untouched "restore"
exits 0 "it is beside the folder" "$SONDE" ftrace report r.dat
is "$(ls r.dat.parts)" notes "what is not the recording's stays there"
make_parts r.dat.parts
exits 0 "restore -o" "$SONDE" ftrace restore -o other.dat r.dat.parts
[ -s other.dat ] && [ ! -e r.dat.parts ]
ok $? "goes there, and the folder is gone"
ln -s victim o.dat
make_parts o.dat.parts
exits 0 "restore onto a link" "$SONDE" ftrace restore o.dat.parts
untouched "restore onto a link"
for part in plan head names text 0.0.0; do
	rm -f r.dat
	make_parts r.dat.parts
	[ $part != text ] || printf 'latency\t\n' >>r.dat.parts/plan
	[ ! -e r.dat.parts/$part ] || mv r.dat.parts/$part moved
	[ -e moved ] || yes '17 not-for-others' | head -c 8192 >moved
	ln -s ../moved r.dat.parts/$part
	want=1
	[ $part != names ] || want=0 # without names of the end there are those of the start
	exits $want "a $part that is a link" "$SONDE" ftrace restore -o r.dat r.dat.parts
	! grep -qs not-for-others r.dat
	ok $? "is not read"
	rm -f moved
done
make_parts r.dat.parts
ln -s r.dat.parts s.dat.parts
exits 1 "a folder that is a link" "$SONDE" ftrace restore s.dat.parts
[ -e r.dat.parts/plan ]
ok $? "is left alone"

# ---- the watchdog writes where the run was told to, whatever lies there now
needs_or_skip "a folder that is swapped while it is recorded" tracefs || {
	"$SONDE" ftrace record -q -e sched:sched_process_exec -o nobody/w.dat -- sleep 300 2>/dev/null & recorder=$!
	wait_until test -s nobody/w.dat.parts/plan
	dog=$(grep -lx sonde-watchdog /proc/[0-9]*/comm 2>/dev/null | while IFS=/ read -r _ _ pid _; do
		[ "$(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f2)" = $recorder ] && echo "$pid"
	done)
	sleeper=$(pgrep -P $recorder -x sleep)
	make_parts nobody/evil
	chown -R 65534:65534 nobody/evil
	as_nobody mv nobody/w.dat.parts nobody/away
	as_nobody mv nobody/evil nobody/w.dat.parts
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	wait_until is_gone "$dog"
	kill "$sleeper" 2>/dev/null
	untouched "the watchdog"
	[ -e nobody/w.dat.parts/plan ] && [ ! -e nobody/w.dat ]
	ok $? "a folder of somebody else is not joined"
	rm -rf nobody/away nobody/w.dat.parts
	# The same without an attack: still saved.
	"$SONDE" ftrace record -q -e sched:sched_process_exec --temp tmp -o nobody/v.dat -- sleep 300 2>/dev/null & recorder=$!
	wait_until test -s tmp/v.dat.parts/plan
	sleeper=$(pgrep -P $recorder -x sleep)
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	wait_until test ! -e tmp/v.dat.parts
	kill "$sleeper" 2>/dev/null
	exits 0 "what a killed run recorded is where it was meant to be" "$SONDE" ftrace report nobody/v.dat
}

# ---- outputs are tried before anything is done for them
for verb in $verbs; do
	exits 1 "$verb where it may not write" run_verb "$verb" shut/x as_nobody
	case $verb:$nobody_counts in
	stat*: | record:) skip "perf_event_paranoid keeps nobody from counting" "$verb: is said" ;;
	*) like "$err" "shut/x'?: Permission denied" "$verb: is said" ;;
	esac
done
exits 1 "flame of a command" as_nobody "$SONDE" flame -o shut/x -- touch nobody/ran
exits 1 "stat of a command" as_nobody "$SONDE" stat -e task-clock -o shut/x -- touch nobody/ran
exits 1 "stat record of a command" as_nobody "$SONDE" stat record -e task-clock -o shut/x -- touch nobody/ran
exits 1 "record of a command" as_nobody "$SONDE" record -e cpu-clock -o shut/x -- touch nobody/ran
needs_or_skip "ftrace record of a command" tracefs || {
	exits 1 "ftrace record of a command" "$SONDE" ftrace record -e sched:sched_process_exec -o missing/x -- touch nobody/ran
	exits 1 "with --temp too" "$SONDE" ftrace record -e sched:sched_process_exec --temp tmp -o missing/x -- touch nobody/ran
	like "$err" "missing/x: No such file" "is said"
	exits 1 "ftrace profile of a command" "$SONDE" ftrace profile -o missing/x -- touch nobody/ran
}
[ ! -e nobody/ran ]
ok $? "none of them ran"

# ---- the recording is never thrown away
mkdir later
# shellcheck disable=SC2016
exits 1 "an output that becomes impossible meanwhile" "$SONDE" flame -e cpu-clock -o later/x.html -- sh -c 'rmdir later; "$SONDE" workload leaf 0.3'
kept=$(sed -n 's/.*the flame graph is kept as //p' <<<"$err")
isnt "$kept" "" "it is said where the flame graph is"
grep -q "<html" "$kept" && grep -q workload_leaf "$kept" || [ "$(wc -c <"$kept")" -gt 50000 ]
ok $? "which is whole"
is "$(stat -c %a "$kept")" 600 "and ours alone"
rm -f "$kept"
is "$(ls tmp)" "" "and nothing else is left"
needs_or_skip "a full disk for a trace" tracefs || {
	exits 1 "ftrace record onto a full disk" "$SONDE" ftrace record -q -e sched:sched_process_exec -o /dev/full -- true
	like "$err" "ftrace restore -o FILE $TMPDIR/full-[0-9]+.parts" "says where the recording is"
	exits 0 "which can be restored" "$SONDE" ftrace restore -o full.dat tmp/full-*.parts
	instance=$tracefs/instances/outputs-$$
	if mkdir "$instance"; then
		echo 1 >"$instance/events/sched/sched_process_exec/enable"
		true | cat
		exits 1 "ftrace extract onto a full disk" "$SONDE" ftrace extract -B outputs-$$ -o /dev/full
		echo 0 >"$instance/events/sched/sched_process_exec/enable"
		rmdir "$instance"
		like "$err" "ftrace restore -o FILE $TMPDIR/full-[0-9]+.parts" "says where the events are"
		exits 0 "which can be restored" "$SONDE" ftrace restore -o full.dat tmp/full-*.parts
		like "$("$SONDE" ftrace report full.dat)" "sched_process_exec" "and read"
	else
		skip "no instance can be made here" "ftrace extract onto a full disk"
	fi
	is "$(ls tmp)" "" "and nothing is left"
}

# ---- ftrace record --user
needs_or_skip "--user" tracefs getent || {
	IFS=: read -r name _ _ gid _ home shell <<<"$(getent passwd 65534)"
	# shellcheck disable=SC2016
	exits 0 "--user" env HOME=/root "$SONDE" ftrace record -q --user "$name" -e sched:sched_process_exec -o u.dat -- \
		sh -c 'echo "$HOME $USER $LOGNAME $SHELL $(id -u) $(id -g) $(id -G)"'
	is "$out" "$home $name $name ${shell:-/bin/sh} 65534 $gid $(id -G "$name")" "has that user's environment and groups"
	mkdir bin
	printf '#!/bin/sh\necho "ran $1"\n' >bin/--version
	chmod 755 bin/--version
	exits 0 "a command that looks like an option" env PATH="$SONDE_TMP/bin:$PATH" "$SONDE" ftrace record -q --user "$name" -e sched:sched_process_exec -o u.dat -- --version 17
	is "$out" "ran 17" "is run"
}

# ---- the sampler of --with-samples does not outlive a recorder that dies while it starts
needs_or_skip "a recorder that dies early" tracefs strace || {
	strace -f -qq -o strace.txt -e trace=prctl -e inject=prctl:delay_enter=8000000 "$SONDE" ftrace record -q --with-samples -e sched:sched_process_exec -o d.dat 2>/dev/null & tracer=$!
	two_children() { [ "$(pgrep -c -P "$(pgrep -P $tracer)")" -ge 2 ]; } # the watchdog, and the sampler that is about to begin
	wait_until two_children 2>/dev/null
	ok $? "it is killed between the two"
	kill -KILL "$(pgrep -P $tracer)"
	WAIT_SECONDS=60 wait_until is_gone "$tracer"
	ok $? "nothing goes on" || kill $tracer
	[ ! -e d.dat.perf ]
	ok $? "and nothing is recorded"
	wait $tracer 2>/dev/null
}
done_testing

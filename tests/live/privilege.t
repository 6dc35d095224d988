#!/usr/bin/env bash
# where: host 6.1 6.12 arm64
# needs: root
# timeout: 300
# Rights that were lent: sudo (the caller owns what is written), file capabilities and set-user-id (the environment does
# not count, the command gets nothing), pid and user namespaces.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
chmod 755 . # the runner's parent is walkable; nobody must reach what is here
mkdir nobody && chown 65534:65534 nobody
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
owner() { stat -c %u:%g "$1"; }

# ---- sudo
exits 0 "records under sudo" env SUDO_UID=65534 SUDO_GID=65533 "$SONDE" record -o s.data -- true
is "$(owner s.data)" 65534:65533 "the file is the caller's"
is "$(stat -c %a s.data)" 600 "and nobody else's"
exits 0 "once more" env SUDO_UID=65534 SUDO_GID=65533 "$SONDE" record -o s.data -- true
is "$(owner s.data.old)" 65534:65533 "the older one stays the caller's"
for bad in '' -1 x 99999999999 4294967295; do
	exits 0 "SUDO_UID='$bad'" env SUDO_UID="$bad" SUDO_GID=1 "$SONDE" record -o b.data -- true
	is "$(owner b.data)" 0:0 "means nothing: the file stays root's"
done
exits 0 "without sudo" env -u SUDO_UID "$SONDE" record -o r.data -- true
is "$(owner r.data)" 0:0 "the file is root's"
HOME=$SONDE_TMP/nobody exits 0 "perf config under sudo" env SUDO_UID=65534 SUDO_GID=65534 bash -c 'ln -sf "$SONDE" perf; HOME=$SONDE_TMP/nobody ./perf config x.y=1'
is "$(owner nobody/.perfconfig)" 65534:65534 "a new ~/.perfconfig is its folder's owner's"
rm -f nobody/.perfconfig

# ---- copies with rights of their own: on a file system that keeps them, and that nobody can walk to
lent=$SONDE_TMP/lent
mkdir lent
cp "$SONDE" lent/sonde
ln -s sonde lent/perf
walk=$(as_nobody test -x lent/sonde && echo yes)
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$walk" != yes ]; then
	skip "nobody cannot walk to $lent" "file capabilities"
elif ! needs_or_skip "file capabilities" setcap; then
	if ! setcap cap_perfmon=ep lent/sonde 2>setcap.err; then
		skip "$(tail -1 setcap.err)" "file capabilities"
	else
		cd nobody || exit 1
		if [ "$paranoid" -gt 2 ] && [ "$SONDE_GUEST" != host ]; then
			# Debian's own level, which asks for CAP_SYS_ADMIN
			exits 0 "doctor at paranoid $paranoid with cap_perfmon" as_nobody "$lent/sonde" doctor perf_event_paranoid 'whole CPUs'
			like "$out" 'missing +perf_event_paranoid +3, which restricts CAP_PERFMON too' "says that it is not enough"
			exits 1 "record is refused" as_nobody "$lent/sonde" record -a -o a.data -- true
			like "$err" 'paranoid=2 \(CAP_PERFMON is not enough in this kernel\)' "and says so"
			restore=$paranoid
			echo 2 >/proc/sys/kernel/perf_event_paranoid
			paranoid=2
		fi
		exits 0 "nobody with cap_perfmon records the whole system" as_nobody "$lent/sonde" record -a -F 99 -o a.data -- \
			sh -c 'grep CapEff /proc/self/status'
		unlike "$err" 'user space only' "with the kernel (paranoid $paranoid)"
		like "$out" 'CapEff:.0000000000000000' "the command has no capability"
		is "$(owner a.data)" 65534:65534 "the file is the user's"
		exits 0 "doctor sees it" as_nobody "$lent/sonde" doctor perf_event_paranoid 'whole CPUs' 'BPF programs'
		like "$out" 'ok +perf_event_paranoid +-?[0-9]+, which does not restrict CAP_PERFMON' "paranoid does not bind"
		like "$out" 'ok +whole CPUs' "whole CPUs work"
		like "$out" 'missing +BPF programs' "BPF still needs CAP_BPF"

		# The environment of who runs it is not ours.
		printf '[report]\n\tpercent-limit = 101\n' >config
		cp config .perfconfig
		chown 65534 config .perfconfig
		exits 129 "settings count without lent rights" as_nobody env HOME="$PWD" PERF_CONFIG="$PWD/config" "$SONDE_TMP/perf" report -i none
		exits 255 "and not with them" as_nobody env HOME="$PWD" PERF_CONFIG="$PWD/config" "$lent/perf" report -i none
		mkdir cache && chown 65534 cache
		as_nobody env SONDE_CACHE="$PWD/cache" "$lent/sonde" report -i a.data >report.out 2>report.err
		is "$? $(ls cache)" "0 " "no cache of the user is written"
		if command -v python3 >/dev/null; then
			python3 - "$lent/sonde" "$PWD/paged" <<'END'
import os, pty, sys
# A pager is a program the caller chose.
pid, fd = pty.fork()
if not pid:
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    os.environ.update(PAGER="tee " + sys.argv[2], SONDE_PAGER="tee " + sys.argv[2], TERM="xterm", LINES="5")
    os.execv(sys.argv[1], [sys.argv[1], "doctor"])
try:
    while os.read(fd, 65536):
        pass
except OSError:
    pass
os.waitpid(pid, 0)
END
			[ ! -e paged ]
			ok $? "no pager of the caller's is run"
		fi
		cd .. || exit 1
	fi
fi
if [ "$walk" != yes ]; then
	skip "nobody cannot walk to $lent" "set-user-id"
else
	cp "$SONDE" lent/suid
	chmod 4755 lent/suid
	cd nobody || exit 1
	exits 0 "a set-user-id copy records" as_nobody env SUDO_UID=1 SUDO_GID=1 "$lent/suid" record -o u.data -- id -u
	if [ "$(as_nobody "$lent/suid" doctor --json | grep -c '"privileged": true')" = 1 ]; then
		is "$out" 65534 "the command is the user's own" # not through sh: some give up such rights by themselves
		is "$(owner u.data)" 65534:65534 "the file is the user's, whatever SUDO_UID says"
	else
		skip "set-user-id is ignored on this file system" "the command is the user's own"
	fi
	cd .. || exit 1
fi

# ---- namespaces
if ! needs_or_skip "a pid namespace" unshare; then
	if unshare --pid --fork --mount-proc true 2>/dev/null; then
		exits 0 "records inside a pid namespace" unshare --pid --fork --mount-proc "$SONDE" record -F 499 -g -o n.data -- \
			"$SONDE" workload leaf 1
		exits 0 "and reports" "$SONDE" report -i n.data --no-children -g none
		like "$out" 'workload_leaf' "with names"
		exits 0 "doctor knows" unshare --pid --fork --mount-proc "$SONDE" doctor container
		like "$out" 'limited +container +yes, own PID namespace' "that ids are not the machine's"
	else
		skip "pid namespaces are not allowed" "records inside a pid namespace"
	fi
	if as_nobody unshare --user --map-root-user true 2>/dev/null; then
		exits 0 "root of a user namespace" as_nobody unshare --user --map-root-user "$SONDE" doctor container 'kernel side'
		like "$out" 'own user namespace' "is told from root"
		[ "$paranoid" -lt 2 ] || like "$out" 'missing +kernel side' "and is refused what root may"
	else
		skip "user namespaces are not allowed" "root of a user namespace"
	fi
fi
[ -z "${restore:-}" ] || echo "$restore" >/proc/sys/kernel/perf_event_paranoid
done_testing

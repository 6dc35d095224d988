#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root bpf
# run: path() names files as /proc has them, and pid counts as the PID namespace does that the script runs in.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf
[ -e /sys/kernel/btf/vmlinux ] || { skip "path()" "the kernel has no BTF"; done_testing; exit; }
cd "$SONDE_TMP" || exit 1

# Files of a process of ours, of all kinds: what the kernel's own links say.
mkdir -p one/two/three
long=$(printf 'n%.0s' {1..255})
echo x >one/two/three/file.txt
echo x >one/"$long"
echo x >gone.txt
bash -c 'exec 3<one/two/three/file.txt 4<one/'"$long"' 5<gone.txt 6</ 7</proc/self/maps 8</dev/null 9<one/two
	rm gone.txt; echo ready; exec sleep 1000' >ready.txt &
pid=$!
is_ready() { [ -s ready.txt ] && [ "$(cat "/proc/$pid/comm")" = sleep ]; }
wait_until is_ready
script='iter:task_file { if (ctx.task.tgid == '$pid' && ctx.fd > 2 && ctx.fd < 10) { printf("%d %s\n", ctx.fd, path(ctx.file.f_path)); } }'
exits 0 "path() of files" timeout 100 "$SONDE" run -q -e "$script"
is "$(grep -v '^$' <<<"$out" | sort -n)" "$(for fd in 3 4 5 6 7 8 9; do echo "$fd $(readlink "/proc/$pid/fd/$fd")"; done)" \
	"as the links of /proc name them: deep, long, deleted, the root, of other mounts, a directory"

# As a key of a map, from a pointer, cut, and where nothing is.
exits 0 "path() of a pointer to a path" timeout 100 "$SONDE" run -q \
	-e "iter:task_file /ctx.task.tgid == $pid && ctx.fd == 3/ { @[path(&ctx.file.f_path)] = count(); \$p = path(ctx.file.f_path, 64);
		print(strlen(\$p)); print(path((struct path *)0)); }"
like "$out" "^@\\[$PWD/one/two/three/file.txt\\]: 1$" "as a key of a map"
exits 1 "path() of a number" "$SONDE" run -q -e 'begin { print(path(5)); }'
like "$err" 'path\(\) takes a struct path of the kernel' "says what it takes"
exits 1 "a size that is not known" "$SONDE" run -q -e 'begin { $n = 5; print(path((struct path *)8, $n)); }'
like "$err" 'the size of a path is a constant from 1 to 4096' "is refused"

# What is in no directory.
sleep 1000 | sleep 1000 &
reader=$! writer=$(jobs -p %%)
exits 0 "path() of a pipe" timeout 100 "$SONDE" run -q \
	-e "iter:task_file /ctx.task.tgid == $reader && ctx.fd == 0/ { print(path(ctx.file.f_path)); }"
is "$(grep -v '^$' <<<"$out")" pipefs "is the name of its file system"
kill "$reader" "$writer" "$pid"

# The same from a process that has another root: names begin there.
if unshare -mr true 2>/dev/null; then
	mkdir root
	cat >jail.sh <<-'END'
		mount --rbind / root && exec 3<one/two/three/file.txt && exec chroot root sleep 1000
	END
	unshare -m bash jail.sh &
	pid=$!
	in_jail() { [ "$(cat "/proc/$pid/comm")" = sleep ]; }
	wait_until in_jail
	exits 0 "path() of a file outside of the root" timeout 100 "$SONDE" run -q \
		-e "iter:task_file /ctx.task.tgid == $pid && ctx.fd == 3/ { print(path(ctx.file.f_path)); }"
	is "$(grep -v '^$' <<<"$out")" "$PWD/one/two/three/file.txt" "is its whole path"
	kill "$pid"
fi

# PID namespaces: pid and tid are numbers of the namespace that the script runs in; init is the kernel's own.
exits 0 "outside of a container" "$SONDE" run -q -e 'begin { print((pid == pid(init), tid == tid(curr_ns))); }'
exits 1 "another namespace" "$SONDE" run -q -e 'begin { print(pid(boot)); }'
like "$err" 'the namespaces of pid\(\) are curr_ns and init' "is refused"
if ! unshare -mpf --mount-proc true 2>/dev/null; then
	skip "in a container" "no new namespaces here"
	done_testing
	exit
fi
cat >inside.sh <<-END
	# Number 1 is this shell; sonde is its child.
	"$SONDE" run -q -e 'begin { printf("%d %d %d\n", pid, tid, pid(init) > pid); }' >begin.txt 2>begin.err &
	wait \$!; echo \$! >number.txt
	"$SONDE" run -q -c "$SONDE workload usdt 3" \
		-e 'uprobe:$SONDE:workload_run { @[pid == cpid] = count(); print(usym(reg("ip"))); print(ustack(1)); }' >command.txt 2>command.err
END
if why=$(lacks uprobes); then skip "in a container" "$why"; else
	unshare -mpf --mount-proc bash inside.sh
	number=$(cat number.txt)
	is "$(grep -v '^$' begin.txt)" "$number $number 1" "in a container: the numbers are its own" || diag "$(cat begin.err)"
	is "$(sed 's/^ *//' command.txt | grep .)" "workload_run
workload_run+0
@[true]: 1" "so are those of other processes, whose addresses have names" || diag "$(cat command.err)"
fi
done_testing

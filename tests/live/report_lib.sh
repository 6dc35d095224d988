# shellcheck shell=bash
# To be sourced by tests that compare our `report` with perf's: programs to record, recordings, and comparisons beside each other. In $SONDE_TMP.

export HOME=$SONDE_TMP # a cache of build ids of our own: perf record aborts over one that others write to
compare=$SONDE_SRC/tests/live/report_compare.py
flags="-O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls"
tasks=mix,left,right,renamed,swapper # names of the programs
# shellcheck disable=SC2034
mix=(./mix 1 ./lib1.so ./lib2.so)
cpus=${SONDE_JOBS:-$(nproc)} # comparisons at once

# mix and its two libraries
build_mix() {
	local i
	# shellcheck disable=SC2086
	gcc $flags -pthread "$SONDE_SRC/tests/live/report_mix.c" -o mix || return 1
	for i in 1 2; do
		# shellcheck disable=SC2086
		gcc $flags -shared -fPIC -x c - -o lib$i.so <<-END || return 1
		static volatile unsigned long s;
		__attribute__((noinline)) static void in_lib$i(unsigned n) { while (n--) s += n; }
		void lib_work(unsigned n);
		void lib_work(unsigned n) { in_lib$i(n); s += $i; }
		END
	done
}

# record FILE OPTION...: perf record of 6.1 now and then smashes its own stack after the recording, where it collects build ids: then without
# them. And some of its recordings it cannot read itself. One that hits a stub of libc is made again too (report_compare.py, FAULTS: plt).
record() {
	local out=$1 err=1
	shift
	compared
	for _ in 1 2 3 4 5 6; do
		perf record -q -o "$out" "$@" >record.err 2>&1 || perf record -q -B -o "$out" "$@" >record.err 2>&1
		err=$?
		perf report --stdio -g none -i "$out" >/dev/null 2>&1 || continue
		hits_stubs "$out" --comms $tasks || break
	done
	ok $err "recorded: $*" || diag "$(cat record.err)"
}

# same NAME FILE [COMPARE-OPTION...] -- REPORT-OPTION...
# perf is slow: as many comparisons at once as there are CPUs for us; compared() tells what they gave, in their order.
declare -a cmp_names=() cmp_pids=() cmp_statuses=()
same() {
	local name=$1 file=$2 how=() n=${#cmp_names[@]}
	shift 2
	while [ "$1" != -- ]; do how+=("$1"); shift; done
	shift
	[ "$n" -lt "$cpus" ] || done_with $((n - cpus))
	cmp_names+=("$name: report $*")
	(
		perf report --stdio --no-inline -i "$file" "$@" >"theirs.$n" 2>"theirs.err.$n"
		"$SONDE" report --stdio --no-inline -i "$file" "$@" >"ours.$n" 2>"ours.err.$n"
		python3 "$compare" "${how[@]}" "theirs.$n" "ours.$n" >"said.$n"
	) &
	cmp_pids+=($!)
}

done_with() {
	[ -n "${cmp_statuses[$1]:-}" ] && return
	wait "${cmp_pids[$1]}"
	cmp_statuses[$1]=$?
}

compared() {
	local n
	for n in "${!cmp_names[@]}"; do
		done_with "$n"
		ok "${cmp_statuses[n]}" "${cmp_names[n]} ($(head -1 "said.$n"))" || diag "$(cat "said.$n")" "$(head -3 "ours.err.$n")"
	done
	cmp_names=() cmp_pids=() cmp_statuses=()
}

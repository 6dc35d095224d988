#!/usr/bin/env bash
# where: host 6.1 rt
# needs: root
# timeout: 300
# Rows of the acceptance matrix about what a kernel is built with: doctor says the same as the kernel's configuration. Rows that
# need a kernel with the option are shown where there is one.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH

# The kernel's own word on its configuration; a guest's lies beside its modules.
where=()
if [ -e /proc/config.gz ]; then
	zcat /proc/config.gz >config
elif [ -e "${SONDE_MODULES%/*}/config" ]; then
	cat "${SONDE_MODULES%/*}/config" >config
	where=(--kernel-config "$PWD/config")
else
	echo "1..0 # SKIP no configuration of this kernel"
	exit 0
fi
exits 0 "doctor" sonde doctor "${where[@]}"
doctor=$out
json=$(sonde doctor "${where[@]}" --json)

# reports ROWS OPTION: yes as OPTION=y, no as missing
reports() {
	local rows=$1 option=$2
	if grep -qx "$option=[ym]" config; then
		like "$doctor" "(^| )$option=[ym]( |\$)" "$rows: doctor reports $option=y"
	else
		like "$doctor" "^ +missing +$option +n( |\$)" "$rows: doctor reports that $option is missing, and what that costs"
	fi
	like "$json" "$option" "$rows: and so does --json"
}
yes() { # ROWS OPTION: where the kernel has it
	if grep -qx "$2=[ym]" config; then
		reports "$1" "$2"
	else
		skip "this kernel has no $2" "$1: doctor reports $2=y"
	fi
}
yes "S1-021" CONFIG_FTRACE
yes "S1-153" CONFIG_PERF_EVENTS
yes "S1-154" CONFIG_DEBUG_INFO
like "$doctor" 'vmlinux' "S1-154: and where debug information of the kernel was looked for"
yes "S2-151 S2-152 S4-313" CONFIG_DYNAMIC_FTRACE
yes "S2-154" CONFIG_NOP_TRACER
yes "S2-155" CONFIG_HAVE_FUNCTION_TRACER
yes "S2-156" CONFIG_HAVE_FUNCTION_GRAPH_TRACER
yes "S2-157" CONFIG_CONTEXT_SWITCH_TRACER
yes "S2-158" CONFIG_GENERIC_TRACER
yes "S2-159 S4-310" CONFIG_FUNCTION_TRACER
yes "S2-160 S4-311" CONFIG_FUNCTION_GRAPH_TRACER
yes "S2-161" CONFIG_SCHED_TRACER
yes "S2-162 S2-203 S4-312" CONFIG_STACK_TRACER
if grep -qx CONFIG_KPROBE_EVENTS=y config; then
	reports "S1-022 S1-152" CONFIG_KPROBE_EVENTS
else
	like "$doctor" '^ +missing +CONFIG_KPROBE_EVENTS +n ' "S1-022: what is missing is said"
	exits 129 "S1-022: a kernel probe on such a kernel" sonde stat -e kprobe:vfs_read -- true
	like "$err" 'kprobe' "S1-022: says why it cannot be"
fi
# grep TRACER=y config: all tracers that this kernel has and doctor knows.
missing=
for option in $(grep -o '^CONFIG_[A-Z_]*TRACER=y' config | sed 's/=y//'); do
	case $option in
	CONFIG_HAVE_* | CONFIG_*_SELFTEST | CONFIG_DYNAMIC_* | CONFIG_MMIOTRACE* | CONFIG_RING_BUFFER* | CONFIG_BRANCH_*) continue ;;
	esac
	grep -qE "(^| )$option=y( |\$)" <<<"$doctor" || missing+=" $option"
done
if grep -qx CONFIG_FUNCTION_TRACER=y config; then
	is "$missing" "" "S2-153: all tracers in the configuration are in doctor's list"
	like "$doctor" 'CONFIG_FUNCTION_TRACER=y' "S2-153: function among them"
fi
done_testing

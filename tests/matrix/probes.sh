# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh has been sourced
# Probes for matrix tests, defined by hand while `sonde probe` is not there, and taken away again. Sourced after lib.sh.
# A function that cannot do it returns 1 with the reason in $reason.

defined=()

# define_probe kprobe_events|uprobe_events "p:GROUP/EVENT WHERE"
define_probe() {
	local name=${2#*:}
	name=${name%% *}
	reason=
	# The very same definition, in use by nobody: what a test left that was killed.
	if sed 's/:0x00*/:0x/' "$tracefs/$1" 2>/dev/null | grep -qxF -- "$2"; then
		{ echo "-:$name" >>"$tracefs/$1"; } 2>/dev/null
	fi
	if [ ! -e "$tracefs/$1" ]; then
		reason="kernel without $1"
	elif [ -e "$tracefs/events/$name" ]; then
		reason="somebody else's $name is there"
	elif ! { echo "$2" >>"$tracefs/$1"; } 2>/dev/null; then
		reason="$1 refuses $name"
	else
		defined+=("$1 $name")
	fi
	[ -z "$reason" ]
}

# probe_libc:malloc, as perf probe -x libc.so.6 malloc defines it
define_probe_libc_malloc() {
	local libc value type offset address size
	reason="readelf is not installed"
	command -v readelf >/dev/null || return 1
	libc=$(ldd "$SONDE" | awk '$1 ~ /^libc\.so/ { print $3 }')
	value=$(readelf --dyn-syms -W "$libc" | awk '$8 ~ /^malloc@@/ { print "0x" $2 }')
	# In the file: value - p_vaddr + p_offset of the segment that holds it.
	while read -r type offset address _ size _; do
		if [ "$type" = LOAD ] && ((value >= address && value < address + size)); then
			define_probe uprobe_events "p:probe_libc/malloc $libc:$(printf 0x%x $((value - address + offset)))"
			return
		fi
	done < <(readelf -lW "$libc")
	reason="no malloc in $libc"
	return 1
}

# Takes away what was defined here, and nothing else.
remove_probes() {
	local one
	for one in "${defined[@]}"; do
		echo "-:${one#* }" >>"$tracefs/${one%% *}"
	done
	defined=()
}

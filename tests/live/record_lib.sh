# shellcheck shell=bash
# To be sourced by tests of `record`. In $SONDE_TMP.

between() { # VALUE LOW HIGH NAME
	[ -n "$1" ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
	ok $? "$4" || diag "got $1, want $2 to $3"
}
said_samples() { sed -n 's/.*, \([0-9]*\) samples, .*/\1/p' <<<"$err"; }
has_perf() { command -v perf >/dev/null; }
# reads FILE [once]: by us, and by perf where it is, without complaint; once: by perf on the host only
reads() {
	"$SONDE" script -i "$1" >ours.txt 2>ours.err || return 1
	[ "$SONDE_GUEST" = host ] || [ -z "${2:-}" ] || return 0
	! has_perf || { perf script -i "$1" >perfs.txt 2>perfs.err && [ ! -s perfs.err ]; }
}

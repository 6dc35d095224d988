#!/usr/bin/env bash
# where: host
# needs: root tracefs
# timeout: 120
# Probes in source terms fire with the values that the program really has: strings, members, negative numbers, elements, bit fields, globals.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1
[ -e $tracefs/uprobe_events ] || need "uprobe_events"
command -v gcc >/dev/null || { skip "there is no gcc" "everything"; done_testing; exit; }
probe() { "$SONDE" probe "$@"; }
g=d$$
inst=$tracefs/instances/probe-debug-$$
trap 'probe -q -d "$g:*" >/dev/null 2>&1; rmdir "$inst" 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
mkdir "$inst" || { skip "no instance can be made" "everything"; done_testing; exit; }

# fires NAME FILE PROBE WANT: the arguments of all events, one after the other. A line may have several places: what repeats counts once.
fires() {
	local got
	exits 0 "$1: added" probe -q -x "$2" "$g:e=$3"
	for e in "$inst"/events/"$g"/*/enable; do echo 1 >"$e"; done
	./"$2" >/dev/null
	got=$(sed -n 's/^.*: ([^)]*) *//p' "$inst/trace" | grep -v '^#' | uniq | tr '\n' ';')
	for e in "$inst"/events/"$g"/*/enable; do echo 0 >"$e"; done
	echo >"$inst/trace"
	probe -q -d "$g:*"
	is "$got" "$4" "$1"
}

cp "$SONDE_SRC/tests/cli/probe_mix.c" .
for o in 0 2; do
	gcc -O$o -g -o mix$o probe_mix.c
	fires "-O$o: parameters" mix$o 'work n s:string c:u32 uc:u8' \
		'n=3 s_string="abc" c_u32=5 uc_u8=120;n=1 s_string="one" c_u32=0 uc_u8=121;'
	fires "-O$o: members" mix$o 'work p->a p->name:string p->l:s64' \
		'a=11 name="first" l=1000;a=-5 name="second" l=0;'
	fires "-O$o: bit fields and elements" mix$o 'work p->low p->mid p->high p->list[2]' \
		'low=5 mid=100 high=1234 list=-300;low=0 mid=0 high=0 list=0;'
	fires "-O$o: globals" mix$o 'pick parts[1].a global_v static_v' 'a=77 global_v=41 static_v=-6;'
	fires "-O$o: what is returned" mix$o 'pick%return $retval:string' 'arg1="one";'
	fires "-O$o: a number that is returned" mix$o 'main%return $retval' 'arg1=0;'
done
fires "through two pointers" mix0 'work:13 p->next->a:s32 r' 'a=-5 r=6108;a=0 r=-6;'
fires "a local of a loop, at its line" mix0 'work:6 i sum' 'i=0 sum=1000;i=1 sum=1001;i=2 sum=1002;i=0 sum=0;'
fires "every inlined instance" mix0 'twice x' "x=1000;x=1001;x=1002;x=49;x=3;x=0;"
fires "a struct that is passed by value" mix0 'deep h.a h.name:string g' 'a=-5 name="second" g=7;'
done_testing

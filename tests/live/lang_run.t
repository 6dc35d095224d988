#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 120
# Scripts of tests/lang/run: what they print is in them, in lines that begin with "// = ". Where bpftrace is there and the script says so, it
# has to print the same as sonde called by its name.
. "${SONDE_SRC:-.}/tests/lib.sh"
dir=$SONDE_SRC/tests/lang/run

# The lines that a script is to print.
wanted() {
	sed -n 's,^// = \{0\,1\},,p' "$1"
}

# As the script asks for: sorted, since maps are printed in an order of their own.
arranged() {
	if grep -q '^// sorted' "$1"; then LC_ALL=C sort; else cat; fi
}

for script in "$dir"/*.bt; do
	name=${script##*/}
	if grep -q '^// needs types' "$script" && [ ! -e /sys/kernel/btf/vmlinux ]; then
		skip "$name" "the kernel has no BTF"
		continue
	fi
	status=$(sed -n 's,^// status ,,p' "$script")
	"$SONDE" run -q "$script" >"$SONDE_TMP/out.txt" 2>&1
	is "$?" "${status:-0}" "$name: status"
	is "$(arranged "$script" <"$SONDE_TMP/out.txt" | sed '/^$/d')" "$(wanted "$script" | sed '/^$/d')" "$name: output"
done

# Scripts that import others, beside them.
mkdir "$SONDE_TMP/import"
cat >"$SONDE_TMP/import/lib.bt" <<'EOF'
import "base.bt";
fn twice($x: int64): int64 { return $x * FACTOR; }
begin { printf("lib first\n"); }
EOF
echo '#define FACTOR 2' >"$SONDE_TMP/import/base.bt"
echo 'import "lib.bt"; import "base.bt"; begin { print(twice(21)); }' >"$SONDE_TMP/import/main.bt"
printf '// one\nfn wrong($x: int64): int64 { return $x + missing; }\n' >"$SONDE_TMP/import/bad.bt"
echo 'import "bad.bt"; begin { print(wrong(1)); }' >"$SONDE_TMP/import/bad_main.bt"
chmod -R go-w "$SONDE_TMP/import"
exits 0 "imports a script that imports another, once" "$SONDE" run -q "$SONDE_TMP/import/main.bt"
is "$out" "lib first
42" "imported: first its own begin, then ours"
exits 1 "an error in what is imported" "$SONDE" run -q "$SONDE_TMP/import/bad_main.bt"
like "$err" "import/bad.bt: line 2: unknown name 'missing'" "names the file and its line"
like "$err" '^ *\^~~~~~~$' "with a caret"
chmod o+w "$SONDE_TMP/import/lib.bt"
exits 1 "a file that everybody may write" "$SONDE" run -q "$SONDE_TMP/import/main.bt"
like "$err" "everybody may write to it" "is refused with the reason"

# Settings of the environment.
BPFTRACE_MAX_STRLEN=16 exits 0 "a setting of the environment" "$SONDE" run -q -e 'begin { print(default_str_length()); }'
is "$out" 16 "is taken"
BPFTRACE_STRLEN=long exits 1 "one that is wrong" "$SONDE" run -q -e 'begin { }'
like "$err" "BPFTRACE_STRLEN=long in the environment: expected a number" "is named"

# The verifier must not know what a loop changes: before 6.7 it takes the function of a loop for called exactly once, and removes what
# cannot happen then; later ones follow a counter that is compared until they give up.
exits 0 "loops whose variables are compared" "$SONDE" run -q --no-final-maps -e '
begin {
	@a[1] = 1; @a[2] = 2; @a[3] = 3;
	$n = 0; $third = 0; $text = "abc";
	for ($kv : @a) { $n++; if ($n == 3) { $third = 7; } if ($n == 2) { $text = "xyz"; } }
	printf("%d %d %s\n", $n, $third, $text);
	$m = 0;
	for ($kv : @a) { $m++; if ($m == 2) { break; } }
	printf("%d\n", $m);
	clear(@a);
	@none[1] = 1; delete(@none, 1); $found = 0;
	for ($kv : @none) { $found = 1; }
	if ($found == 0) { printf("none\n"); }
	exit();
}'
is "$out" "3 7 xyz
2
none" "compute what they should"

exits 0 "loops over maps and ranges inside of each other" "$SONDE" run -q --no-final-maps -e '
begin {
	@a[1] = "x"; @a[2] = "y"; @b["p"] = 4; @b["q"] = 6;
	$n = 0; $skipped = 0;
	for ($x : @a) { for ($y : @b) {
		if ($x.0 == 2 && $y.1 == 4) { $skipped++; continue; }
		$n += $x.0 * $y.1 + len(@a);
	} }
	printf("%d %d\n", $n, $skipped);
	for ($x : @a) { for ($i : 0..$x.0) { for ($y : @b) { @rounds++; } } }
	printf("%d\n", @rounds);
	for ($i : 0..100) { for ($j : 0..100) { if ($j == 50) { break; } @square++; } }
	printf("%d\n", @square);
	for ($x : @a) { for ($y : @b) { return; } }
	printf("never\n");
}'
is "$out" "28 1
6
5000" "compute what they should"

# Arguments of static probes, wherever the compiler left them.
if why=$(lacks uprobes); then
	skip "arguments of USDT probes" "$why"
else
	exits 0 "arguments of USDT probes" "$SONDE" run -q -c "$SONDE workload usdt 5" \
		-e "usdt:$SONDE:sonde:step { @n = count(); @squares = sum(arg1); @last = max(arg0); }"
	is "$(sed '/^$/d' <<<"$out" | sort)" "@last: 4
@n: 5
@squares: 30" "by number"
	exits 1 "one that is not there" "$SONDE" run -q -e "usdt:$SONDE:sonde:step { @ = arg7; }"
	like "$err" "has no arg7: its arguments are" "says which there are"
fi

if command -v bpftrace >/dev/null && [ "$SONDE_GUEST" = host ]; then
	ln -s "$SONDE" "$SONDE_TMP/bpftrace"
	for script in $(grep -l '^// bpftrace: the same' "$dir"/*.bt); do
		name=${script##*/}
		if ! timeout 60 bpftrace "$script" >"$SONDE_TMP/theirs.txt" 2>"$SONDE_TMP/theirs.err"; then
			skip "$name: bpftrace" "it does not run here: $(head -c 200 "$SONDE_TMP/theirs.err" | tr '\n' ' ')"
			continue
		fi
		"$SONDE_TMP/bpftrace" "$script" >"$SONDE_TMP/ours.txt" 2>&1
		is "$(arranged "$script" <"$SONDE_TMP/ours.txt" | sed '/^$/d')" \
			"$(arranged "$script" <"$SONDE_TMP/theirs.txt" | sed '/^$/d')" \
			"$name: called as bpftrace, it prints what bpftrace 0.17 prints"
	done
fi
done_testing

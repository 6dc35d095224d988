#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 120
# Scripts of tests/lang/run: what they print is in them, in lines that begin with "// = ". Where bpftrace is there and the script says so, it
# has to print the same.
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

if command -v bpftrace >/dev/null && [ "$SONDE_GUEST" = host ]; then
	for script in $(grep -l '^// bpftrace: the same' "$dir"/*.bt); do
		name=${script##*/}
		if ! timeout 60 bpftrace "$script" >"$SONDE_TMP/theirs.txt" 2>"$SONDE_TMP/theirs.err"; then
			skip "$name: bpftrace" "it does not run here: $(head -c 200 "$SONDE_TMP/theirs.err" | tr '\n' ' ')"
			continue
		fi
		is "$(grep -v '^Attaching' "$SONDE_TMP/theirs.txt" | arranged "$script" | sed '/^$/d')" \
			"$(wanted "$script" | sed '/^$/d')" "$name: bpftrace prints the same"
	done
fi
done_testing

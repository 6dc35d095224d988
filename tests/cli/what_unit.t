#!/usr/bin/env bash
# sonde-what.service: systemd understands it, and what it starts works.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
unit=$(dirname "$SONDE")/sonde-what.service
cd "$SONDE_TMP" || exit 1
line=$(sed -n 's/^ExecStart=//p' "$unit")
like "$line" '^/.*/sonde what --record /var/lib/sonde/what\.data .* 10$' "it keeps a history"
set -- $line
shift
args=("$@")
for i in "${!args[@]}"; do
	[ "${args[i]}" != /var/lib/sonde/what.data ] || args[i]=what.data
	[ "${args[i]}" != 10 ] || args[i]=0.05
done
"$SONDE" "${args[@]}" 2 >/dev/null 2>err.txt
ok $? "its command works" || diag "$(cat err.txt)"
"$SONDE" how what.data >how.txt
ok $? "and how reads what it wrote"
if ! needs_or_skip "systemd understands the unit" systemd-analyze; then
	# The program is not installed where it is looked for.
	sed "s|^ExecStart=[^ ]*|ExecStart=$SONDE|" "$unit" >sonde-what.service
	is "$(systemd-analyze verify --man=no ./sonde-what.service 2>&1 | grep -F sonde-what.service)" "" "systemd understands the unit"
fi
done_testing

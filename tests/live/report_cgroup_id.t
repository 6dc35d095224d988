#!/usr/bin/env bash
# where: host
# needs: root
# report -s cgroup_id: rows by the cgroup namespace that a task was in at that time, with perf's text.
. "${SONDE_SRC:-.}/tests/lib.sh"
need root perf_events perf gcc python3 unshare sonde

cd "$SONDE_TMP" || exit 1
. "$SONDE_SRC/tests/live/report_lib.sh"
build_mix
ok $? "the programs are built"

# Two namespaces that exist at the same time, so that the kernel cannot give the second one the number of the first.
spin='i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done'
record ns.data -F 999 -e cpu-clock --namespaces -- bash -c "$spin; unshare -C bash -c '$spin; unshare -C bash -c \"$spin\"; true'"
for keys in cgroup_id comm,cgroup_id cgroup_id,comm pid,cgroup_id; do
	same ns.data ns.data --exact -- -s $keys
	same ns.data ns.data --exact -- -F $keys,sample
done
same ns.data ns.data --exact -- --hierarchy -s cgroup_id,comm
compared
is "$("$SONDE" report --stdio -i ns.data -s cgroup_id 2>/dev/null | grep -c '%')" 3 "three namespaces"
"$SONDE" report -i ns.data -s cgroup_id --json 2>/dev/null >ours.json
python3 -c 'import json
rows = json.load(open("ours.json"))["events"][0]["rows"]
assert len({r["cgroup_id"] for r in rows}) == 3 and all(r["cgroup_id"].count("/0x") == 1 for r in rows), rows'
ok $? "--json has it"

record none.data -F 999 -e cpu-clock -- bash -c "$spin"
same none.data none.data --exact -- -s cgroup_id
compared
like "$("$SONDE" report --help)" "cgroup_id" "the key is in the help"
done_testing

#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 240
# inspect identify and search, against addresses whose owner is known: from /proc, from other commands of inspect, and from the kernel's own page flags.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root
[ -e /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
"$SONDE" inspect '$current->pid' >/dev/null 2>&1 || skip_all "kernel memory cannot be read here: $("$SONDE" inspect '$current->pid' 2>&1 | head -1)"
i() { "$SONDE" inspect "$@"; }
value() { i p "$@" 2>&1 | sed 's/.* = \$1 = //; s/^(.*) 0x//; s/ .*//'; }
kinds() { i identify "$@" | sed 's/^\([0-9a-f]\{16\}: \| *\)//'; }
cd "$SONDE_TMP" || exit 1

cp "$(command -v sleep)" inspectee
./inspectee 300 3<"$SONDE_SRC/README.md" &
inspectee=$!
sleeps() { i bt inspectee 2>/dev/null | grep -q nanosleep; }
wait_until sleeps
ok $? "a task that sleeps"
task=$(i ps inspectee | awk '$NF == "inspectee" { print $4; exit }')
pid=$(i ps inspectee | awk '$NF == "inspectee" { print $1; exit }')
member() { value "((struct task_struct *)0x$task)->$1"; }

# ---- identify --------------------------------------------------------------------------------------------------------------------
like "$(kinds "$task")" "^task: PID $pid \"inspectee\"\$" "a task_struct: whose"
like "$(kinds "$task")" "^slab object: task_struct, [0-9]+ bytes at $task, allocated" "and of which slab cache"
stack=$(member stack)
like "$(kinds "0x$stack+0x123")" "^task stack: PID $pid \"inspectee\"\\+0x123\$" "in a task's stack, at an offset"
like "$(kinds "$(member mm)")" '^slab object: mm_struct, [0-9]+ bytes at ' "an mm_struct"
like "$(kinds "$(member files)")" '^slab object: files_cache, ' "a files_struct"
read -r file dentry <<<"$(i files inspectee | awk '$1 == 3 { print $2, $3 }')"
like "$(kinds "$file")" "^slab object: filp, [0-9]+ bytes at $file, " "an open file, as files has it"
like "$(kinds "$dentry")" "^slab object: dentry, [0-9]+ bytes at $dentry, " "its dentry"
like "$(kinds 'vfs_read+5')" '^symbol: vfs_read\+0x5$' "code"
like "$(kinds '&runqueues:0')" '^per-CPU variable: runqueues:0$' "a per-CPU variable, and of which CPU"
like "$(kinds "0x$(value '&runqueues:0.cpu')")" '^per-CPU variable: runqueues:0\+0x[0-9a-f]+$' "inside of one"
like "$(kinds 0xdead000000000000)" '^\(unknown\)$' "an address that is nothing"
exits 129 "no address" i identify
exits 1 "an expression that is none" i identify no_such_symbol_at_all
i --json identify "$task" >identity.json
page=$(python3 -c 'import json; print([w for w in json.load(open("identity.json"))["rows"][0]["identities"] if w["kind"] == "page"][0]["page"])')
like "$(kinds "$page")" "^struct page: ${page#0x}, of " "the struct page of that page, back"

# The kernel says itself which pages are slabs, by their numbers: this holds the physical address, too.
phys=$(python3 -c 'import json; print(int([w for w in json.load(open("identity.json"))["rows"][0]["identities"] if w["kind"] == "page"][0]["physical"], 16))')
if [ -r /proc/kpageflags ] && [ -n "$phys" ]; then
	flags=$(od -An -t u8 -j $((phys / 4096 * 8)) -N 8 /proc/kpageflags | tr -d ' ')
	isnt "$((flags >> 7 & 1))" 0 "the page of a task_struct is a slab, says /proc/kpageflags"
else
	skip "no /proc/kpageflags here" "the page of a task_struct is a slab, says /proc/kpageflags"
fi
if grep -q ' [dDbBrR] page_offset_base$' /proc/kallsyms; then
	is "$(printf %x $((0x$(i rd page_offset_base | awk '{ print $2 }') + phys)))" "$task" "physical address and page_offset_base make the address"
	is "$(printf %x $((0x$(i rd vmemmap_base | awk '{ print $2 }') + phys / 4096 * 64)))" "${page#0x}" "and vmemmap_base its struct page"
	like "$(kinds "$stack")" "^vmalloc area: $stack-[0-9a-f]+, by (dup_task_struct|alloc_thread_stack|copy_process|kernel_clone)" "a stack is an area of the vmalloc range, and who asked for it"
else
	skip "the symbol list has functions only" "page_offset_base, vmemmap_base, vmalloc"
fi

# A free object: what a slab's own list of free objects begins with. It may be taken meanwhile. The first page of a slab has the list.
slab=${page#0x}
head=$(value "((struct page *)$page)->compound_head" -x)
[ $((0x${head#0x} & 1)) = 0 ] || slab=$(printf %x $((0x${head#0x} - 1)))
first_free() { value "((struct slab *)0x$slab)->freelist"; }
has_free() { [[ $(first_free) =~ ^ff ]]; }
is_free() { kinds "$(first_free)" | grep -q '^slab object: task_struct, .*, free$'; }
free_or_full() { is_free || ! has_free; }
if has_free; then
	WAIT_SECONDS=20 wait_until free_or_full
	ok $? "the first on a slab's list of free objects is free"
else
	skip "this slab has no free object" "the first on a slab's list of free objects is free"
fi

# ---- search ----------------------------------------------------------------------------------------------------------------------
size=$(value 'sizeof(struct task_struct)')
at() { printf '%x' $((0x$task + $(value "offsetof(struct task_struct, $1)"))); }
like "$(i search -s "$task" -l "$size" -c inspectee)" "^$(at comm): inspectee" "a text, where the member is"
mm=$(member mm)
like "$(i search -s "$task" -l "$size" "$mm")" "^$(at mm): $mm\$" "a pointer, where the member is"
like "$(i search -s "$task" -e "0x$task+$size" -m 0xfff "0x$mm^0x123")" "^$(at mm): $mm\$" "bits that are ignored"
like "$(i search -s "$task" -l "$size" -w "$pid")" "^$(at tgid): $(printf %08x "$pid")\$" "a value of 32 bits"
exits 0 "a value that is not there" i search -s "$task" -l "$size" 0xdeadbeefdeadbeef
is "$out" "" "prints nothing"
read -r place ip <<<"$(i bt inspectee | sed -n 's/^ #[0-9] \[\([0-9a-f]\{16\}\)\] .*nanosleep.* at \([0-9a-f]*\).*/\1 \2/p' | head -1)"
i search -t "$ip" >stacks
like "$(sed -n '/COMMAND: "inspectee"/,/^PID/p' stacks)" "^$place: $ip\$" "-t: a return address on the stack, where bt has it"
exits 1 "a range that cannot be read" i search -s 0xdead000000000000 -l 4096 1
like "$err" 'nothing in the range can be read' "says so"
exits 129 "a start without an end" i search -s "$task" 1
exits 129 "-t with a range" i search -t -s "$task" -l 8 1
i --json search -s "$task" -l "$size" "$mm" | python3 -m json.tool >/dev/null
ok $? "search --json"
kill "$inspectee"
wait "$inspectee" 2>/dev/null
done_testing

/*
 * A program: what lang/ makes of a script and bpf/ brings to life. Plain data; making one needs no kernel, and nothing in it knows the
 * language.
 *
 *	maps      kernel memory that the code refers to by number
 *	codes     eBPF, with places where the address of a map goes
 *	probes    where code is to run: one for each attach point that was written, wildcards not expanded
 *	actions   what user space does when code sends a record through the ring: a record is a struct program_record followed by the
 *	          fields of its action
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

#include <linux/bpf.h>

/* How a value is stored, and printed. */
enum program_type_kind {
	PROGRAM_VOID,
	PROGRAM_INT, /* size, is_signed */
	PROGRAM_BOOL,
	PROGRAM_STRING, /* size: with the NUL; text ends at the first NUL */
	PROGRAM_BUFFER, /* u32 length, then size - 4 bytes */
	PROGRAM_POINTER,
	PROGRAM_TUPLE, /* fields; with names: a record of the script, (a=1, b=2) */
	PROGRAM_RECORD, /* a struct or union as it is in memory: members with their own sizes */
	PROGRAM_ARRAY, /* nr of element */
	PROGRAM_ENUM,
	PROGRAM_KSTACK, /* struct program_stack */
	PROGRAM_USTACK,
	PROGRAM_KSYM, /* u64 address */
	PROGRAM_USYM, /* u64 address, u32 pid, u32 probe number */
	PROGRAM_INET, /* u32 family, 16 bytes */
	PROGRAM_MAC, /* 6 bytes */
	PROGRAM_TIMESTAMP, /* u64 ns; format: of strftime */
	PROGRAM_USERNAME, /* u32 uid */
	PROGRAM_CGROUP_PATH, /* u64 id; format: a pattern for the hierarchy, or NULL */
	PROGRAM_PROBE_NAME, /* u64: the cookie of the attach point, which names the probe */
	PROGRAM_COUNT, /* aggregates, one for each CPU: u64 */
	PROGRAM_SUM, /* u64 or s64 */
	PROGRAM_MIN,
	PROGRAM_MAX, /* u64 value, u64 whether it is set */
	PROGRAM_AVG,
	PROGRAM_STATS, /* u64 total, u64 count */
	PROGRAM_HIST, /* u64 buckets, nr of them: program_hist_low() */
	PROGRAM_LHIST, /* u64 buckets, nr of them: below min, then each step, then from max on */
	PROGRAM_TSERIES, /* struct program_interval, nr of them: see there */
	PROGRAM_QUANTILE, /* log-linear buckets, as of a HIST with hist.bits; nr is of quantiles */
};

struct program_field;

/*
 * Values are stored with their own size only inside of a struct of somebody else's. Everywhere else (maps, tuples, records of the ring) a
 * number, bool, enum or pointer takes 8 bytes, sign-extended or not as is_signed says, and all others a multiple of 8, padded with zeros.
 */
struct program_type {
	enum program_type_kind kind;
	u32 size; /* bytes in memory */
	bool is_signed;
	const char *name; /* of a struct or enum; NULL: none */
	const struct program_field
		*fields; /* TUPLE, RECORD; ARRAY: one, the element; ENUM: values, in offset */
	u32 nr; /* fields, elements or values */
	struct {
		s64 min, max, step;
		u32 bits;
	} hist; /* LHIST: min, max, step; HIST, QUANTILE: bits; TSERIES: step: ns of an interval */
	const u8 *quantiles; /* QUANTILE: percent values, nr of them */
	const char *format; /* TIMESTAMP, CGROUP_PATH; TSERIES: "avg", "sum", "min", "max", or "" for the last value */
	const struct program_type *to; /* POINTER: what is there; NULL: unknown */
	u32 stack_mode, stack_limit; /* KSTACK, USTACK */
	u32 btf_id; /* RECORD of the kernel's types, whose members are looked up when they are asked for; 0: fields has them */
};

struct program_field {
	const char *name; /* NULL: of a plain tuple */
	const struct program_type *type;
	s64 offset; /* bytes; ENUM: the value */
	u8 bit_offset, bit_size; /* bit_size 0: no bitfield */
	u8 location; /* of a tracepoint's argument: 1: a __data_loc, 2: a __rel_loc, whose target the pointer is */
};

/* What a KSTACK or USTACK is: the key of its addresses in the map of role STACKS, whose value is their array, nr of them. */
struct program_stack {
	u64 hash;
	u32 nr;
	u32 pid; /* tgid of a USTACK; 0: of the kernel */
};

/*
 * One interval of a TSERIES on one CPU, at index epoch % nr. Epochs count intervals since boot (CLOCK_BOOTTIME), from 1 on; of the CPUs, the
 * latest epoch at an index is the one that counts. Shown are the nr intervals up to the latest that has a value.
 */
struct program_interval {
	u64 epoch; /* 0: nothing yet */
	u64 value; /* sum, least, greatest, or last value */
	u64 count; /* of an average: how many; of the last value: when, in ns */
};

/*
 * The least value of a HIST's bucket: 0 is for all below zero, then come 2^bits values one by one, then 2^bits buckets for each power of
 * two.
 */
static inline s64 program_hist_low(u32 bits, u32 bucket)
{
	u32 i = bucket - 1, mask = (1u << bits) - 1;
	if (bucket <= 1u << bits)
		return bucket ? (s64)i : INT64_MIN;
	return (s64)((u64)((1u << bits) + (i & mask)) << ((i >> bits) - 1));
}

enum program_map_role {
	PROGRAM_MAP_USER, /* @name of the script: printed at the end */
	PROGRAM_MAP_SCRATCH, /* working memory of the code */
	PROGRAM_MAP_RING, /* records */
	PROGRAM_MAP_CONTROL, /* the small ring: exit, clear, print */
	PROGRAM_MAP_DROPS, /* one entry, u64 per probe: records that found the ring full */
	PROGRAM_MAP_FULL, /* one entry, u64 per map: keys that found it full */
	PROGRAM_MAP_DATA, /* one entry, read-only (BPF_F_RDONLY_PROG, frozen): strings, tables */
	PROGRAM_MAP_STACKS, /* a hash: struct program_stack to addresses */
	PROGRAM_MAP_FACTS, /* one entry, struct program_facts: written before anything runs */
};

/* What only the run knows. */
struct program_facts {
	u64 start_ns; /* CLOCK_BOOTTIME */
	u64 command; /* -c: its process; 0: none */
	u64 spare[6];
};

struct program_map {
	const char *name; /* "@bytes"; of the kernel's for others */
	enum program_map_role role;
	u32 type; /* BPF_MAP_TYPE_* */
	u32 key_size, value_size, max_entries, flags;
	const struct program_type *key, *value; /* USER */
	bool is_scalar; /* USER: no key was written */
	const void *init; /* DATA: value_size bytes */
};

/* The two words of an instruction at insn become the address of a map, or of its value at offset. */
struct program_reloc {
	u32 insn;
	u32 map;
	bool value;
	u32 offset;
};

/* Where a function of a code begins, and its type in program.btf: struct bpf_func_info. */
struct program_func {
	u32 insn;
	u32 type_id;
};

struct program_code {
	struct bpf_insn *insns;
	u32 nr;
	const u32 *spans; /* [insn]: start in the script of what it does; UINT32_MAX: nothing */
	const struct program_reloc *relocs;
	u32 nr_relocs;
	/* bpf_loop() and others take functions: calls with BPF_PSEUDO_FUNC are relative already. */
	const struct program_func *
		funcs; /* of one with callbacks: program.btf and these have to be loaded with it; else NULL */
	u32 nr_funcs;
	const char *name; /* for the kernel: 15 characters of [A-Za-z0-9_] */
};

enum program_provider {
	PROGRAM_BEGIN,
	PROGRAM_END,
	PROGRAM_TRACEPOINT, /* target: system, name: event */
	PROGRAM_RAW_TRACEPOINT, /* name */
	PROGRAM_KPROBE, /* target: module or NULL, name: function, offset; or number: an address; or file, line */
	PROGRAM_KRETPROBE,
	PROGRAM_FENTRY, /* target: module or NULL, name */
	PROGRAM_FEXIT,
	PROGRAM_UPROBE, /* target: binary, name: function or NULL, offset: after it, or the address; or file, line */
	PROGRAM_URETPROBE,
	PROGRAM_USDT, /* target: binary, space: provider or NULL, name, arguments */
	PROGRAM_INTERVAL, /* number: ns */
	PROGRAM_PROFILE, /* number: ns or hz, per_second */
	PROGRAM_SOFTWARE, /* name: event, number: period */
	PROGRAM_HARDWARE,
	PROGRAM_ITER, /* name: task, task_file, task_vma; target: where to pin it, or NULL */
	PROGRAM_WATCHPOINT, /* address in number, offset: length (1, 2, 4, 8), access in name: letters of r, w, x */
	PROGRAM_SIGNAL, /* name: SIGUSR1. The code runs when sonde itself gets the signal */
};

/* A variable of the probed code, as it is at one place there. */
struct program_local {
	const char *name;
	const struct program_type *type; /* with its own size; a RECORD or ARRAY is in memory */
	const char *kernel_type; /* "struct sock*": of the kernel's own types; NULL: type says all */
	enum { PROGRAM_LOCAL_VALUE, PROGRAM_LOCAL_MEMORY } place;
	/* The register, or 0; then for each of derefs: add it, load from there; at the end add: that is the value, or where it is. */
	const char *reg; /* "di", "x0" */
	s64 derefs[8], add;
	u32 nr_derefs;
};

struct program_probe {
	enum program_provider provider;
	const char *text; /* as written, with aliases expanded: what the builtin `probe` is without wildcards */
	const char *target, *space, *name;
	const char *file; /* KPROBE, UPROBE at a line of the source; NULL: at a function or address */
	u32 line, column; /* then; column 0: any */
	const char *arguments; /* USDT: the code fits only sites with this argument string in the note; with locals: see there; NULL: all sites */
	/* UPROBE, KPROBE at a line: the code fits only places with these variables, which `arguments` is the key of; NULL: all places */
	const struct program_local *locals;
	u32 nr_locals;
	u64 offset, number;
	bool per_second;
	bool is_glob;
	bool here; /* END: the script's tree is run (lang/interpret.h), the code is empty */
	u32 code;
	u32 btf_id; /* FENTRY, FEXIT, ITER: resolved by lang where the types were at hand; 0: by name */
	u32 span_start, span_len; /* in the script */
};

enum program_action_kind {
	PROGRAM_PRINTF, /* fields are the arguments; errorf and warnf: .stream */
	PROGRAM_PRINT, /* a value: one field */
	PROGRAM_PRINT_MAP, /* map; fields: top, div; a third one: the key of the only row to print, as a value; sort */
	PROGRAM_CLEAR,
	PROGRAM_ZERO,
	PROGRAM_EXIT, /* one field: status. Control: in the ring, as all others, or in the control ring where that is full */
	PROGRAM_JOIN, /* field: array of strings; format: the delimiter */
	PROGRAM_TIME, /* format of strftime; field: ns where it was taken */
	PROGRAM_CAT, /* printf of a path */
	PROGRAM_SYSTEM, /* printf of a shell command */
	PROGRAM_RUNTIME_ERROR, /* memory could not be read: field: the error */
};

/* The order of the rows of a PRINT_MAP. */
enum program_sort {
	PROGRAM_SORT_DEFAULT, /* by value where it is a number, else by key */
	PROGRAM_SORT_VALUE,
	PROGRAM_SORT_KEY,
};

struct program_action {
	enum program_action_kind kind;
	u8 stream; /* 0: stdout, 1: stderr, 2: stderr as an error */
	const char *format; /* PRINT_MAP: a conversion for the values, "%x", or NULL */
	u32 map;
	struct {
		u8 by; /* enum program_sort */
		u8 member; /* of a tuple, from 1 on; 0: all of it */
		bool descending;
	} sort; /* PRINT_MAP */
	struct program_type record; /* a RECORD of the fields after struct program_record */
	u32 span_start, span_len;
};

struct program_record {
	u32 action;
	u32 probe;
};

/* What builtins that user space evaluates need: kept once in the program. */
struct program {
	struct arena arena; /* of everything below */
	VEC(struct program_map) maps;
	VEC(struct program_code) codes;
	VEC(struct program_probe) probes;
	VEC(struct program_action) actions;
	struct { /* config block and environment */
		u32 max_strlen, max_map_keys, max_probes, max_cat_bytes, ring_pages;
		u8 missing_probes; /* 0: error, 1: warn, 2: ignore */
		u8 stack_mode; /* of stacks that name none: as in struct program_type */
		bool no_final_maps, no_demangle;
	} config;
	const void *btf; /* the types of functions, for BPF_BTF_LOAD; NULL: no code needs them */
	u32 btf_size;
	void *tree; /* of lang/, for what is not run in the kernel */
	const char *text; /* what all spans point into: the script, and behind it what it imports */
	const char *license; /* "GPL" */
	bool unsafe; /* system(), signal(), override(): only with --unsafe */
};

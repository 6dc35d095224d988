/*
 * What a person wrote after -e, as a tree: nothing here knows the machine. Every node has its span in the text, so that
 * whoever finds a fault later can point at it.
 *
 *	list  := item { "," item }                    blanks may stand anywhere between
 *	item  := event | [NAME] "{" event { "," event } "}" [":" MODS]
 *	event := NAME ["/" terms "/"] [[":"] MODS]    cycles:u  L1-dcache-loads  faults//u  duration_time  inst_retired.any_p
 *	       | PMU "/" terms "/" [MODS]             cpu/event=0x3c,umask=1,name=foo/u   PMU: name, stem or glob
 *	       | "r" HEX [":" MODS]                   r13c
 *	       | NUM ":" NUM ["/" terms "/"] [":" MODS]  1:0x2 (attr.type and config)
 *	       | SYSTEM ":" EVENT [tail]              both may be globs; tail: ["/" FILTER or terms "/"] [":" MODS]
 *	       | "mem:" ADDR ["/" LEN] [":" rwx] [":" MODS]
 *	       | [PMU "::"] NAME { ":" ATTR ["=" V] } libpfm's spelling, when it is none of the above
 *	       | PREFIX ":" ...                       a row of the provider table (provider.h)
 *	       | ["!"] WORD | ["!"] [SYSTEM] ":" [EVENT]   in tracefs (ftrace): an event, a system, globs, all; then ["/" FILTER "/"]
 *	terms := term { "," term }                    term := NAME ["=" VALUE] | "r" HEX | "@" NAME ["=" VALUE]
 *
 * Probes (kprobe:, uprobe:, usdt: and their relatives) may have a line or pattern instead of a symbol, and arguments after a blank, as
 * `sonde probe` takes them: "uprobe:./a.out:main.c:42 i buf:string". They end at a comma, or at a blank and "/FILTER/".
 *
 * In tracefs any event may end in { "+" TRIGGER }: +stacktrace, +traceoff:1. One with a colon in it takes the rest of the text, commas
 * and blanks included; another ends at a comma.
 */
#pragma once

#include "base/types.h"

enum event_kind {
	EVENT_KIND_NAME, /* a word whose meaning the machine decides */
	EVENT_KIND_HARDWARE, /* the kernel's generic hardware events; from here on: what a word turned out to be, */
	EVENT_KIND_SOFTWARE, /* or what the syntax says */
	EVENT_KIND_CACHE,
	EVENT_KIND_TOOL, /* measured by us: duration_time */
	EVENT_KIND_RAW,
	EVENT_KIND_NUMERIC, /* type:config */
	EVENT_KIND_PMU,
	EVENT_KIND_PFM,
	EVENT_KIND_TRACEPOINT,
	EVENT_KIND_BREAKPOINT,
	EVENT_KIND_KPROBE,
	EVENT_KIND_KRETPROBE,
	EVENT_KIND_FPROBE,
	EVENT_KIND_FRETPROBE,
	EVENT_KIND_CALL, /* entry and return, with arguments and result */
	EVENT_KIND_UPROBE,
	EVENT_KIND_URETPROBE,
	EVENT_KIND_USDT,
	EVENT_KIND_FUNCTION,
	EVENT_KIND_GRAPH,
	EVENT_KIND_PROFILE,
	EVENT_KIND_SYSCALL,
	EVENT_KIND_NR,
};

struct event_span {
	u32 start;
	u32 len;
};

enum event_mod {
	EVENT_MOD_USER = 1 << 0, /* u */
	EVENT_MOD_KERNEL = 1 << 1, /* k */
	EVENT_MOD_HV = 1 << 2, /* h */
	EVENT_MOD_GUEST = 1 << 3, /* G */
	EVENT_MOD_HOST = 1 << 4, /* H */
	EVENT_MOD_NO_IDLE = 1 << 5, /* I */
	EVENT_MOD_PRECISE_MAX = 1 << 6, /* P */
	EVENT_MOD_READ = 1 << 7, /* S */
	EVENT_MOD_PINNED = 1 << 8, /* D */
	EVENT_MOD_WEAK = 1 << 9, /* W */
	EVENT_MOD_EXCLUSIVE = 1 << 10, /* e */
};

struct event_mods {
	u32 bits; /* enum event_mod */
	u8 precise; /* p, pp, ppp */
	struct event_span span; /* len 0: none written */
};

struct event_term {
	struct event_span name; /* without "@" */
	struct event_span value; /* without quotes; len 0 and !has_value: a bare word */
	bool has_value;
	bool driver; /* "@name": for the PMU's driver */
};

enum event_bp { EVENT_BP_R = 1, EVENT_BP_W = 2, EVENT_BP_X = 4 };

struct event_spec {
	enum event_kind kind;
	struct event_span span; /* all of it, modifiers included */
	struct event_span name; /* word; PMU; SYSTEM; BINARY; symbol, glob or number after a prefix */
	struct event_span event; /* EVENT of a tracepoint; symbol in a binary; NAME of a USDT probe */
	struct event_span provider; /* of a USDT probe */
	struct event_span filter; /* between the slashes; has_filter */
	struct event_span triggers; /* "stacktrace+traceoff:1"; len 0: none */
	struct event_span point; /* of a probe that is more than a symbol: "main.c:42 i buf:string"; len 0: it is not */
	struct event_term *terms; /* in the arena */
	u32 nr_terms;
	bool has_terms; /* slashes were written, perhaps with nothing between */
	bool has_filter;
	bool off; /* "!": not to be traced */
	struct event_mods mods;
	u64 number; /* RAW, NUMERIC: config; BREAKPOINT: address; KPROBE, UPROBE: offset after the symbol; PROFILE: Hz or ns */
	u64 type; /* NUMERIC; BREAKPOINT: length, 0 when not written */
	u32 access; /* BREAKPOINT: enum event_bp, 0 when not written */
	bool period_ns; /* PROFILE: number is a period, not a frequency */
	s32 group; /* index into event_specs.groups, -1: alone */
};

struct event_group_spec {
	struct event_span span;
	struct event_span name; /* len 0: none */
	struct event_mods mods;
	u32 first; /* index of its first event; the rest follow */
	u32 nr;
};

struct event_specs {
	const char *text; /* the arena's copy, NUL-terminated; spans point into it */
	struct event_spec *items;
	u32 nr_items;
	struct event_group_spec *groups;
	u32 nr_groups;
};

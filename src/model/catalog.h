/*
 * What a source knows before the first sample: events, images, names. Filled by prepare() and constant while workers run,
 * so they read it without locks.
 */
#pragma once

#include "base/dict.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "model/schema.h"
#include "model/timebase.h"

enum image_kind {
	IMAGE_KIND_NONE,
	IMAGE_KIND_KERNEL, /* offsets are addresses */
	IMAGE_KIND_MODULE, /* the same */
	IMAGE_KIND_FILE, /* offsets are file offsets */
	IMAGE_KIND_VDSO,
	IMAGE_KIND_ANON, /* //anon, [heap], [stack]: offsets are addresses; perf-PID.map may name them */
	IMAGE_KIND_BPF, /* a program or trampoline told by KSYMBOL */
};

enum { BUILD_ID_MAX = 20 };

struct image_info {
	enum image_kind kind;
	const char *path; /* as recorded; of code without a file: /tmp/perf-PID.map, which may name it */
	const char *name; /* what a person sees in a column: last path component, or "[kernel.kallsyms]" */
	u8 build_id[BUILD_ID_MAX];
	u8 build_id_size;
	u32 pid; /* IMAGE_KIND_ANON: whose map file to look in; of a guest: its process, 0: of any guest */
	u32 guest; /* IMAGE_KIND_KERNEL, _MODULE of a virtual machine: the first image of the same one; 0: this host's */
	const char *made_map; /* IMAGE_KIND_ANON: the map file as the recording has it; NULL: it has none */
	size_t made_map_size;
	u64 start, end; /* IMAGE_KIND_KERNEL, _MODULE, _BPF: address range; end 0: open */
	u64 reloc; /* IMAGE_KIND_KERNEL: address that the reference symbol (_text, _stext) had when recorded */
};

/* The kernel of this host, not of a guest. */
static inline bool image_is_kernel(const struct image_info *i)
{
	return i->kind == IMAGE_KIND_KERNEL && !i->guest;
}

/* Whether perf shows its path where it shows paths; others go by their names: "[kernel.kallsyms]", "[vdso]". */
static inline bool image_has_path(const struct image_info *i)
{
	return i->kind == IMAGE_KIND_FILE || i->kind == IMAGE_KIND_MODULE ||
	       i->kind == IMAGE_KIND_ANON;
}

struct event_info {
	const char *name; /* as the user wrote it, or made from type and config */
	u32 type; /* PERF_TYPE_* */
	u64 config;
	u64 sample_type;
	u64 branch_type; /* PERF_SAMPLE_BRANCH_* */
	u64 period_or_freq;
	bool is_freq;
	const struct schema *schema; /* tracepoints */
};

struct catalog {
	struct arena arena; /* of everything borrowed here */
	struct strtab strings;
	VEC(struct event_info) events;
	VEC(struct image_info) images; /* [0] is IMAGE_NONE */
	struct dict last_comm; /* tid -> string id of the name it had last: what names a task as a whole */
	struct timebase timebase;
	u64 nr_lost; /* records the kernel said it dropped */
	u64 nr_lost_events; /* how often it said so */
	u64 first_time_ns, last_time_ns;
	u32 nr_cpus;
};

int catalog_init(struct catalog *c) must_check;
void catalog_done(struct catalog *c);

/*
 * The PMUs the kernel tells about in /sys/bus/event_source/devices: their attr.type, the bits their terms go to, the events
 * they name themselves, the CPUs to open them on. Layout: the kernel's Documentation/ABI/testing/sysfs-bus-event_source-devices*.
 *
 * The list of PMUs is read at once; formats, events and caps of one PMU when they are first asked for. Nothing is written.
 */
#pragma once

#include "base/arena.h"
#include "base/types.h"
#include "base/vec.h"

enum { PMU_CONFIG_WORDS = 5 }; /* config, config1 .. config4 */

/* "config1:0-7,32": a value's bits fill the bits of the mask from the lowest up. */
struct pmu_format {
	const char *name;
	const char *text; /* as the file has it */
	u64 mask;
	u8 word;
};

struct pmu_alias {
	const char *name;
	const char *terms; /* "event=0x3c,umask=0x01" */
	const char *unit; /* NULL: none */
	double scale; /* 1 when the PMU gives none */
	bool per_pkg;
	bool snapshot;
};

struct pmu_cap {
	const char *name;
	const char *value;
};

struct pmu {
	const char *name;
	u32 type;
	bool is_core; /* counts what CPUs do: "cpu", or a PMU with a `cpus` file (cpu_core, armv8_cortex_a53) */
	const char *cpus; /* list of CPUs to open it on ("0-3,8"), NULL: any */
	VEC(struct pmu_format) formats;
	VEC(struct pmu_alias) aliases;
	VEC(struct pmu_cap) caps;
	bool have_formats, have_aliases, have_caps;
};

struct pmu_set {
	struct arena arena; /* of all strings */
	char *path; /* ROOT/sys/bus/event_source/devices */
	VEC(struct pmu)
	pmus; /* core PMUs by type, then the others by name, numbers inside by value */
	int err; /* why the folder could not be read: negative errno; 0: it was */
};

/* root: "" for the running system, or the folder a test made. -ENOMEM only: a machine without the folder has no PMUs. */
int pmu_set_open(struct pmu_set *s, const char *root) must_check;
void pmu_set_close(struct pmu_set *s);

/* NULL: no PMU of this name. Borrowed until pmu_set_close. */
struct pmu *pmu_find(struct pmu_set *s, const char *name, size_t len);
struct pmu *pmu_find_type(struct pmu_set *s, u32 type);
/* The next core PMU after `after` (NULL: the first), or NULL. */
struct pmu *pmu_next_core(struct pmu_set *s, const struct pmu *after);
/*
 * Whether `pattern` means this PMU, as people write it: its name; a glob; the name without "uncore_", without a trailing
 * number, or both ("imc" is uncore_imc_0 and uncore_imc_free_running_1 is not).
 */
bool pmu_matches(const struct pmu *p, const char *pattern, size_t len);

/* Each reads its folder at the first call; -ENOMEM or 0. Afterwards p->formats etc. are filled (empty when there are none). */
int pmu_load_formats(struct pmu_set *s, struct pmu *p) must_check;
int pmu_load_aliases(struct pmu_set *s, struct pmu *p) must_check;
int pmu_load_caps(struct pmu_set *s, struct pmu *p) must_check;

const struct pmu_format *pmu_format_find(const struct pmu *p, const char *name, size_t len);
const struct pmu_alias *pmu_alias_find(const struct pmu *p, const char *name, size_t len);

/* "config:0-7,32-35": 0, -EINVAL when it is not of this form. Outputs only on success. */
int pmu_format_parse(const char *text, u8 *word, u64 *mask) must_check;
/* The bits of value laid under the mask; *over tells that value has more bits than the mask. */
u64 pmu_scatter(u64 mask, u64 value, bool *over);

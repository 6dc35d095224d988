/*
 * What `sonde doctor` finds: facts first (files under a root, providers tried), then a row for each thing a person may miss, with what that
 * costs and what helps. doctor_look.c and doctor_kernel.c judge what files say,
 * doctor_try.c what the trials gave.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "kern/caps.h"
#include "kern/kconfig.h"
#include "kern/lockdown.h"
#include "kern/tracefs.h"
#include "kern/trial.h"

enum finding_state { FINDING_OK, FINDING_LIMITED, FINDING_MISSING };

struct finding {
	const char *section;
	const char *name;
	enum finding_state state;
	const char *value; /* what there is */
	const char *costs; /* what does not work for it; NULL: nothing */
	const char *fix; /* the one command that helps; NULL: there is none */
	const char *needs; /* what it would take where no command helps, or NULL */
};

struct doctor {
	const char *root_path; /* "" for the running system */
	const char *config_option; /* what messages call config_path; "a" where nobody says */
	struct sysroot root;
	struct arena arena; /* of all texts */
	struct strbuf buf; /* scratch */
	VEC(struct finding) findings;
	bool no_memory;

	/* Facts that judgements share. */
	char release[96], arch[80];
	bool live; /* the running system: trials can be made */
	bool root_user;
	bool pid_ns; /* process ids are not those of the machine */
	const char *container_mark; /* a file that container runtimes leave, or NULL */
	bool container; /* not in the first pid or user namespace */
	bool user_ns; /* root here is not root outside */
	bool vm;
	char distro[32]; /* ID of os-release: what installs packages */
	u64 caps;
	struct perf_rights rights;
	struct kconfig config;
	struct tracing tracing;
	struct trial trials[TRIAL_NR];
};

/* config_path: a kernel configuration to look at instead of the running kernel's; NULL. 0 or negative errno. */
int doctor_init(struct doctor *d, const char *root_path, const char *config_path) must_check;
void doctor_done(struct doctor *d);

/* Rows into d->findings; an allocation that failed is told by d->no_memory. */
void doctor_look_rights(struct doctor *d);
void doctor_look_kernel(struct doctor *d);
/* One option ("CONFIG_KPROBES" or "KPROBES"), also one that doctor_look_kernel() does not know. */
void doctor_look_config(struct doctor *d, const char *option);
void doctor_try(struct doctor *d);
/* Judges d->trials, which a test may have filled. */
void doctor_judge_trials(struct doctor *d);

/* Adds a row; cost, fix and needs complete the one added last. */
void doctor_add(struct doctor *d, const char *section, const char *name, enum finding_state state,
		const char *fmt, ...) printf_like(5, 6);
void doctor_costs(struct doctor *d, const char *fmt, ...) printf_like(2, 3);
void doctor_fix(struct doctor *d, const char *fmt, ...) printf_like(2, 3);
void doctor_needs(struct doctor *d, const char *fmt, ...) printf_like(2, 3);

/*
 * Level 3 and above is a change of distributions. Debian's asks for CAP_SYS_ADMIN and refuses CAP_PERFMON; that it does
 * shows only in a trial.
 */
bool doctor_perfmon_is_bound(const struct doctor *d);

/* "ok", "limited", "missing" */
const char *finding_word(enum finding_state state);

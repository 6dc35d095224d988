#include "memory/kmachine.h"

#include "memory/eval.h"
#include "memory/kclock.h"

#include <stdio.h>
#include <time.h>

/* By way of the first task: that is found where the symbol list has functions only, too. */
static int read_word(struct kspace *k, const char *member, char to[KMACHINE_NAME])
{
	enum { UTS = 65 };
	struct kvalue v;
	char text[64];
	u64 addr;
	(void)snprintf(text, sizeof(text), "&init_task.nsproxy->uts_ns->name.%s", member);
	int err = eval_text(k, text, &v);
	if (!err)
		err = eval_number(k, &v, &addr);
	if (!err)
		err = kspace_read(k, addr, to, UTS, "the name of the machine");
	to[UTS] = '\0';
	return err;
}

static int count_task(void *ctx, const struct ktask *t)
{
	(void)t;
	++*(u64 *)ctx;
	return 0;
}

static int count_tasks(struct kspace *k, u64 *ret)
{
	struct ktasks tasks;
	struct walk_result end;
	*ret = 0;
	int err = ktasks_open(&tasks, k);
	return err ? err : ktasks_each(&tasks, count_task, ret, &end);
}

/* Seconds since boot, from the kernel's clock; 0: not known. */
static u64 uptime_of(struct kspace *k)
{
	struct timespec up;
	u64 seconds;
	if (!k->dump)
		return clock_gettime(CLOCK_MONOTONIC, &up) ? 0 : (u64)up.tv_sec;
	return kclock_member(k, "ktime_sec", &seconds) ? seconds : 0;
}

int kmachine_read(struct kspace *k, struct kmachine *ret)
{
	struct ksym sym;
	*ret = (struct kmachine){ .tasks = 0 };
	int err = read_word(k, "nodename", ret->node);
	if (!err)
		err = read_word(k, "release", ret->release);
	if (!err)
		err = read_word(k, "version", ret->version);
	if (!err)
		err = read_word(k, "machine", ret->machine);
	if (!err)
		err = count_tasks(k, &ret->tasks);
	if (err)
		return err;
	const struct ksyms *s = kspace_try_syms(k);
	ret->has_load = s && ksyms_find(s, "avenrun", &sym) &&
			!memory_read(k->memory, sym.addr, ret->load, sizeof(ret->load));
	ret->uptime_s = uptime_of(k);
	ret->cpus = kspace_nr_cpus(k);
	ret->bytes = kspace_machine_bytes(k);
	return 0;
}

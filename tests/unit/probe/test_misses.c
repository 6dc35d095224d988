/* What kernel probes have missed, by the lists and counts of a fake tracefs. */
#include "tap.h"
#include "probe/misses.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/probe-misses.XXXXXX";

static void put(const char *file, const char *text)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/sys/kernel/tracing/%s", root, file);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static bool is_mine(void *ctx, const char *group, const char *event)
{
	const char *event_asked = ctx;
	return !strcmp(group, "mine") && (!event_asked || !strcmp(event, event_asked));
}

static const char *text_of(const struct diag *d, size_t n)
{
	return n < d->items.nr ? d->items.at[n].message : "";
}

int main(void)
{
	static const char *const folders[] = { "", "/sys", "/sys/kernel", "/sys/kernel/tracing" };
	struct tracing t;
	struct diag d;
	char path[256];
	if (!mkdtemp(root))
		abort();
	for (size_t i = 1; i < ARRAY_SIZE(folders); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		if (mkdir(path, 0755))
			abort();
	}
	put("events", "");
	put("kprobe_events",
	    "p:mine/enter vfs_read\nr10:mine/leave vfs_read\nr10:others/leave vfs_read\n");
	put("uprobe_events", "p:mine/user /bin/true:0x0000000000001000\n");
	put("uprobe_profile", "  /bin/true user 7\n");
	put("kprobe_profile", "");
	if (tracing_open(&t, root))
		abort();

	struct probe_misses none = probe_misses_read(&t, is_mine, NULL);
	is_u64(none.hits + none.returns, 0, "no counts: nothing was missed");

	put("kprobe_profile", "  enter  100  3\n  leave  90  10\n  leave  80  1000\n");
	struct probe_misses all = probe_misses_read(&t, is_mine, NULL);
	is_u64(all.hits, 3, "hits of entries");
	is_u64(all.returns, 10, "returns, without those of others of the same name");
	struct probe_misses one = probe_misses_read(&t, is_mine, (void *)"enter");
	is_u64(one.hits, 3, "one probe alone");
	is_u64(one.returns, 0, "without the other");

	diag_init(&d);
	probe_misses_report(&none, &all, &d);
	is_str(text_of(&d, 0), "probes on returns missed 10 calls: too many were open at once",
	       "returns are reported");
	is_str(text_of(&d, 1), "probes missed 3 hits: they happened inside of another probe",
	       "and entries");
	diag_done(&d);
	diag_init(&d);
	probe_misses_report(&all, &all, &d);
	is_u64(d.items.nr, 0, "nothing since: not a word");
	diag_done(&d);

	tracing_close(&t);
	(void)nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return done_testing();
}

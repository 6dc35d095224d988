#include "image/debuginfod.h"
#include "base/clock.h"
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The client's interface (elfutils 0.186 and later, soname libdebuginfod.so.1), in our own words. */
struct client;
typedef int progress_fn(struct client *c, long a, long b);

struct debuginfod_library {
	struct client *(*begin)(void);
	int (*find)(struct client *c, const unsigned char *id, int size, char **path);
	void (*set_progress)(struct client *c, progress_fn *fn);
	void (*set_data)(struct client *c, void *data);
};

struct debuginfod {
	struct debugfile_fetch fetch;
	struct debuginfod_config cfg;
	struct debuginfod_library lib;
	struct client *client;
	pthread_mutex_t lock;
	bool loaded, given_up;
	u64 spent_ns; /* by requests that ended */
	u64 began_ns, moved_ns; /* of the one under way: when it began, when something came last */
	long seen;
	char hex[BUILDID_TEXT];
};

static bool load(struct debuginfod_library *l)
{
	static const char *const names[] = {
		"debuginfod_begin",
		"debuginfod_find_debuginfo",
		"debuginfod_set_progressfn",
		"debuginfod_set_user_data",
	};
	return LIBRARY_LOAD("libdebuginfod.so.1", names, l);
}

/* The callback is told the client alone: the library, which is loaded, knows whose it is. */
static struct debuginfod *owner_of(struct client *c)
{
	void *(*get)(struct client *) = NULL;
	void *lib = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	void *at = lib ? dlsym(lib, "debuginfod_get_user_data") : NULL;
	memcpy(&get, &at, sizeof(get));
	struct debuginfod *d = get ? get(c) : NULL;
	if (lib)
		(void)dlclose(lib);
	return d;
}

/* Called at least once a second while a request runs. b 0: a counts calls; else a of b bytes have come. Not 0: the request is ended. */
static int on_progress(struct client *c, long a, long b)
{
	struct debuginfod *d = owner_of(c);
	u64 now = clock_monotonic_ns();
	if (!d)
		return 1;
	if (b > 0 && a != d->seen) {
		d->seen = a;
		d->moved_ns = now;
	}
	if (d->cfg.progress)
		d->cfg.progress(d->cfg.ctx, d->hex, b > 0 && a > 0 ? (size_t)a : 0,
				b > 0 ? (size_t)b : 0);
	bool stalled = now - d->moved_ns > d->cfg.stall_ns;
	d->given_up |= stalled || d->spent_ns + (now - d->began_ns) > d->cfg.total_ns;
	return d->given_up;
}

static bool ready(struct debuginfod *d)
{
	if (!d->loaded) {
		d->loaded = true;
		if (!load(&d->lib)) {
			(void)snprintf(
				d->fetch.note, sizeof(d->fetch.note),
				"DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed");
			return false;
		}
		d->client = d->lib.begin();
		if (d->client) {
			d->lib.set_data(d->client, d);
			d->lib.set_progress(d->client, on_progress);
		}
	}
	return d->client && !d->given_up;
}

static int fetch_open(struct debugfile_fetch *f, const struct buildid *id)
{
	struct debuginfod *d = container_of(f, struct debuginfod, fetch);
	int fd = -ENOENT;
	pthread_mutex_lock(&d->lock);
	if (ready(d) && buildid_text(id, d->hex) >= 4) {
		d->began_ns = d->moved_ns = clock_monotonic_ns();
		d->seen = 0;
		fd = d->lib.find(d->client, id->bytes, (int)id->size, NULL);
		d->spent_ns += clock_monotonic_ns() - d->began_ns;
		if (d->cfg.progress)
			d->cfg.progress(d->cfg.ctx, d->hex, SIZE_MAX, 0);
		if (fd < 0 && d->given_up)
			(void)snprintf(d->fetch.note, sizeof(d->fetch.note),
				       "DEBUGINFOD_URLS: no response after %.0f s: names and lines "
				       "may be missing",
				       (double)d->spent_ns / 1e9);
	}
	pthread_mutex_unlock(&d->lock);
	return fd;
}

struct debugfile_fetch *debuginfod_new(const struct debuginfod_config *cfg)
{
	struct debuginfod *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->fetch.open = fetch_open;
	d->cfg = *cfg;
	pthread_mutex_init(&d->lock, NULL);
	return &d->fetch;
}

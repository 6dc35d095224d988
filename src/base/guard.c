/*
 * A slot is a sequence lock: odd while it is being written. The handler reads slots without waiting: the mapping that faulted is in use, so
 * its own slot is not being written, and a slot that is cannot be the one.
 */
#include "base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 65536 }; /* the kernel allows a process 65,530 mappings unless told otherwise */

enum slot_state { SLOT_FREE, SLOT_CLAIMED, SLOT_MAPPED, SLOT_CUT_INPUT };

struct slot {
	atomic_uint state; /* enum slot_state */
	atomic_uint sequence;
	atomic_uintptr_t start, end;
	atomic_bool cut;
	int fd; /* of an input; -1 */
	char *name; /* of an input; NULL */
};

static struct slot slots[SLOTS];
static atomic_uint first_unused; /* slots from here on were never used */
static atomic_uint lowest_free; /* no free one below, as far as is known */

void guard_sigmask(sigset_t *set)
{
	(void)sigfillset(set);
	(void)sigdelset(set, SIGBUS);
}

/* ---- the handler ---- */

/* false: the slot is not of that address. */
static bool covers(struct slot *s, uintptr_t addr, uintptr_t *end)
{
	unsigned before = atomic_load_explicit(&s->sequence, memory_order_acquire);
	uintptr_t from = atomic_load_explicit(&s->start, memory_order_acquire);
	uintptr_t to = atomic_load_explicit(&s->end, memory_order_acquire);
	if (before & 1 || atomic_load_explicit(&s->sequence, memory_order_acquire) != before)
		return false;
	*end = to;
	return addr >= from && addr < to;
}

static struct slot *find(uintptr_t addr, uintptr_t *end)
{
	unsigned nr = atomic_load(&first_unused);
	for (unsigned i = 0; i < nr && i < SLOTS; i++)
		if (atomic_load(&slots[i].state) == SLOT_MAPPED && covers(&slots[i], addr, end))
			return &slots[i];
	return NULL;
}

/* Only what may be called in a handler: mmap() is nothing but the system call. */
static bool fill_with_zeros(uintptr_t addr, long page)
{
	uintptr_t end, from = addr & ~((uintptr_t)page - 1);
	struct slot *s = find(addr, &end);
	if (!s)
		return false;
	end = (end + (uintptr_t)page - 1) & ~((uintptr_t)page - 1);
	if (mmap((void *)from, end - from, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1,
		 0) == MAP_FAILED)
		return false;
	atomic_store(&s->cut, true);
	return true;
}

static void on_bus(int signo, siginfo_t *info, void *context)
{
	int saved = errno;
	bool fault = info->si_code == BUS_ADRERR;
	if (!fault || !fill_with_zeros((uintptr_t)info->si_addr, sysconf(_SC_PAGESIZE))) {
		(void)signal(SIGBUS, SIG_DFL);
		(void)raise(SIGBUS); /* when this returns and it is not blocked any more */
	}
	errno = saved;
}

void guard_install(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	(void)sigaction(SIGBUS, &sa, NULL);
}

/* ---- the table ---- */

static struct slot *claim(void)
{
	unsigned from = atomic_load(&lowest_free);
	for (unsigned i = 0; i < SLOTS; i++) {
		unsigned at = (from + i) % SLOTS, used = atomic_load(&first_unused),
			 want = SLOT_FREE;
		if (!atomic_compare_exchange_strong(&slots[at].state, &want, SLOT_CLAIMED))
			continue;
		(void)atomic_compare_exchange_strong(&lowest_free, &from,
						     at + 1 < SLOTS ? at + 1 : 0);
		while (used <= at && !atomic_compare_exchange_weak(&first_unused, &used, at + 1))
			;
		return &slots[at];
	}
	return NULL;
}

static void set_range(struct slot *s, uintptr_t start, uintptr_t end)
{
	atomic_fetch_add(&s->sequence, 1);
	atomic_store(&s->start, start);
	atomic_store(&s->end, end);
	atomic_fetch_add(&s->sequence, 1);
}

static void release(struct slot *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->name);
	s->name = NULL;
	s->fd = -1;
	atomic_store(&s->cut, false);
	atomic_store(&s->state, SLOT_FREE);
	unsigned at = (unsigned)(s - slots), low = atomic_load(&lowest_free);
	while (at < low && !atomic_compare_exchange_weak(&lowest_free, &low, at))
		;
}

static int map_into(struct slot *s, int fd, size_t size, bool shared, void *at, const void **ret)
{
	int flags = (shared ? MAP_SHARED : MAP_PRIVATE) | (at ? MAP_FIXED : 0);
	void *p = mmap(at, size, PROT_READ, flags, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	set_range(s, (uintptr_t)p, (uintptr_t)p + size);
	atomic_store(&s->state, SLOT_MAPPED);
	*ret = p;
	return 0;
}

int guard_map(int fd, size_t size, bool shared, void *at, const void **ret)
{
	struct slot *s = claim();
	if (!s)
		return -ENOMEM;
	s->fd = -1;
	int err = map_into(s, fd, size, shared, at, ret);
	if (err)
		release(s);
	return err;
}

int guard_map_input(int fd, size_t size, bool shared, void *at, const char *name, const void **ret)
{
	struct slot *s = claim();
	if (!s)
		return -ENOMEM;
	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	s->name = strdup(name);
	int err = s->fd < 0 ? -errno : !s->name ? -ENOMEM : map_into(s, fd, size, shared, at, ret);
	if (err)
		release(s);
	return err;
}

/* Looks at the file, too: what was taken from its last page shows nowhere else. */
static bool is_cut(struct slot *s)
{
	struct stat st;
	size_t size = atomic_load(&s->end) - atomic_load(&s->start);
	if (s->fd >= 0 && !fstat(s->fd, &st) && (u64)st.st_size < size)
		atomic_store(&s->cut, true);
	return atomic_load(&s->cut);
}

static bool inside(struct slot *s, const void *at, size_t size)
{
	return atomic_load(&s->state) == SLOT_MAPPED && atomic_load(&s->start) >= (uintptr_t)at &&
	       atomic_load(&s->end) <= (uintptr_t)at + size;
}

void guard_unmap(const void *at, size_t size)
{
	unsigned nr = atomic_load(&first_unused);
	for (unsigned i = 0; i < nr && i < SLOTS && size; i++) {
		struct slot *s = &slots[i];
		if (!inside(s, at, size))
			continue;
		bool tell = s->name && is_cut(s);
		set_range(s, 0, 0);
		if (tell)
			atomic_store(&s->state, SLOT_CUT_INPUT);
		else
			release(s);
	}
	if (size)
		(void)munmap((void *)(uintptr_t)at, size);
}

bool guard_is_cut(const void *at, size_t size)
{
	unsigned nr = atomic_load(&first_unused);
	bool cut = false;
	for (unsigned i = 0; i < nr && i < SLOTS; i++)
		cut = cut || (inside(&slots[i], at, size) && is_cut(&slots[i]));
	return cut;
}

static bool is_cut_input(struct slot *s)
{
	unsigned state = atomic_load(&s->state);
	return state == SLOT_CUT_INPUT || (state == SLOT_MAPPED && s->name && is_cut(s));
}

bool guard_inputs_cut(void)
{
	unsigned nr = atomic_load(&first_unused);
	for (unsigned i = 0; i < nr && i < SLOTS; i++)
		if (is_cut_input(&slots[i]))
			return true;
	return false;
}

/* The parts of one recording have one name: it is told once. */
static void drop_same(const char *name)
{
	unsigned nr = atomic_load(&first_unused);
	for (unsigned i = 0; i < nr && i < SLOTS; i++) {
		struct slot *s = &slots[i];
		if (!is_cut_input(s) || strcmp(s->name, name))
			continue;
		if (atomic_load(&s->state) == SLOT_CUT_INPUT) {
			release(s);
		} else {
			free(s->name);
			s->name = NULL;
		}
	}
}

char *guard_take_cut(void)
{
	unsigned nr = atomic_load(&first_unused);
	for (unsigned i = 0; i < nr && i < SLOTS; i++) {
		char *name = is_cut_input(&slots[i]) ? strdup(slots[i].name) : NULL;
		if (!name)
			continue;
		drop_same(name);
		return name;
	}
	return NULL;
}

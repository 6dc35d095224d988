#include "stream/live_code.h"
#include "base/dict.h"
#include "base/vec.h"
#include "kern/procfs.h"

#include <pthread.h>
#include <string.h>

enum {
	PAGE = 4096,
	PAGES_MAX = 4096, /* 16 MB */
	ANNOUNCED_MAX = 64, /* pages of one map */
};

struct page {
	u8 *data; /* NULL: could not be read */
};

struct live_code {
	pthread_mutex_t lock;
	struct dict page_of; /* hash of process and address -> page */
	VEC(struct page) pages;
};

struct live_code *live_code_new(void)
{
	struct live_code *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	dict_init(&c->page_of);
	return c;
}

void live_code_free(struct live_code *c)
{
	if (!c)
		return;
	vec_for_each (&c->pages, p)
		free(p->data);
	vec_free(&c->pages);
	dict_done(&c->page_of);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static u64 key_of(u32 pid, u64 addr)
{
	return hash_u64(addr / PAGE) ^ hash_u64((u64)pid << 32 | 1);
}

/* A page that cannot be read keeps what it had. */
static void copy_page(struct page *p, u32 pid, u64 addr)
{
	u8 fresh[PAGE];
	if (procfs_read_memory((s32)pid, addr & ~(u64)(PAGE - 1), fresh, PAGE))
		return;
	if (!p->data)
		p->data = malloc(PAGE);
	if (p->data)
		memcpy(p->data, fresh, PAGE);
}

static const u8 *page_of(struct live_code *c, u32 pid, u64 addr, bool again)
{
	u32 at = dict_get(&c->page_of, key_of(pid, addr)), got;
	if (at != DICT_NONE) {
		if (again)
			copy_page(&c->pages.at[at], pid, addr);
		return c->pages.at[at].data;
	}
	if (c->pages.nr == PAGES_MAX || !vec_reserve(&c->pages, c->pages.nr + 1) ||
	    dict_add(&c->page_of, key_of(pid, addr), (u32)c->pages.nr, &got))
		return NULL;
	struct page *p = &c->pages.at[c->pages.nr++];
	*p = (struct page){ 0 };
	copy_page(p, pid, addr);
	return p->data;
}

size_t live_code_read(struct live_code *c, u32 pid, u64 addr, u8 *to, size_t nr, bool again)
{
	size_t done = 0;
	pthread_mutex_lock(&c->lock);
	while (done < nr) {
		const u8 *page = page_of(c, pid, addr + done, again);
		size_t from = (addr + done) % PAGE, len = min(nr - done, PAGE - from);
		if (!page)
			break;
		memcpy(to + done, page + from, len);
		done += len;
	}
	pthread_mutex_unlock(&c->lock);
	return done;
}

void live_code_announce(struct live_code *c, u32 pid, u64 addr, u64 len)
{
	u64 nr = min((len + PAGE - 1) / PAGE, (u64)ANNOUNCED_MAX);
	pthread_mutex_lock(&c->lock);
	for (u64 i = 0; i < nr; i++)
		(void)page_of(c, pid, addr + i * PAGE, true);
	pthread_mutex_unlock(&c->lock);
}

#include "base/dict.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

void dict_init(struct dict *d)
{
	*d = (struct dict){ 0 };
}

void dict_done(struct dict *d)
{
	free(d->slots);
	dict_init(d);
}

static struct dict_slot *dict_find(const struct dict *d, u64 key)
{
	u32 at = (u32)hash_seeded(key, d->seed) & d->mask;
	while (d->slots[at].value != DICT_NONE && d->slots[at].key != key)
		at = (at + 1) & d->mask;
	return &d->slots[at];
}

u32 dict_get(const struct dict *d, u64 key)
{
	return d->slots ? dict_find(d, key)->value : DICT_NONE;
}

static bool dict_rehash(struct dict *d)
{
	size_t nr = d->slots ? ((size_t)d->mask + 1) * 2 : 64;
	if (nr > (size_t)1 << 31)
		return false;
	struct dict old = *d;
	struct dict_slot *slots = malloc(nr * sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < nr; i++)
		slots[i].value = DICT_NONE;
	d->slots = slots;
	d->mask = (u32)(nr - 1);
	d->seed = hash_seed();
	for (size_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].value != DICT_NONE)
			*dict_find(d, old.slots[i].key) = old.slots[i];
	free(old.slots);
	return true;
}

int dict_add(struct dict *d, u64 key, u32 fresh, u32 *ret)
{
	if ((!d->slots || d->nr + d->nr / 2 >= d->mask) && !dict_rehash(d))
		return -ENOMEM;
	struct dict_slot *slot = dict_find(d, key);
	if (slot->value == DICT_NONE) {
		slot->key = key;
		slot->value = fresh;
		d->nr++;
	}
	*ret = slot->value;
	return 0;
}

int dict_put(struct dict *d, u64 key, u32 value)
{
	u32 have;
	int err = dict_add(d, key, value, &have);
	if (!err && have != value)
		dict_find(d, key)->value = value;
	return err;
}

/* What follows a gap moves into it, unless it would stand before its own place then. */
static void close_gap(struct dict *d, u32 gap)
{
	for (u32 at = (gap + 1) & d->mask; d->slots[at].value != DICT_NONE; at = (at + 1) & d->mask) {
		u32 home = (u32)hash_seeded(d->slots[at].key, d->seed) & d->mask;
		if (((at - home) & d->mask) < ((at - gap) & d->mask))
			continue;
		d->slots[gap] = d->slots[at];
		d->slots[at].value = DICT_NONE;
		gap = at;
	}
}

u32 dict_remove(struct dict *d, u64 key)
{
	struct dict_slot *slot = d->slots ? dict_find(d, key) : NULL;
	u32 value = slot ? slot->value : DICT_NONE;
	if (value == DICT_NONE)
		return value;
	slot->value = DICT_NONE;
	d->nr--;
	close_gap(d, (u32)(slot - d->slots));
	return value;
}

u64 hash_bytes(const void *data, size_t len)
{
	const u8 *p = data;
	u64 h = len * 0x9e3779b97f4a7c15ull;
	for (; len >= 8; len -= 8, p += 8) {
		u64 v;
		memcpy(&v, p, 8);
		h = hash_u64(h ^ v) + 0x632be59bd9b4e019ull;
	}
	u64 tail = 0;
	memcpy(&tail, p, len);
	return hash_u64(h ^ tail);
}

u64 hash_text(const void *data, size_t len, u64 seed)
{
	const u8 *p = data;
	u64 h = len;
	for (; len >= 8; len -= 8, p += 8) {
		u64 v;
		memcpy(&v, p, 8);
		h = hash_seeded(h ^ v, seed) + 0x632be59bd9b4e019ull;
	}
	u64 tail = 0;
	memcpy(&tail, p, len);
	return hash_seeded(h ^ tail, seed);
}

/* Sixteen bytes that the kernel gives to every process it starts. */
u64 hash_seed(void)
{
	u64 words[2] = { 0x6a09e667f3bcc909ull, 0xbb67ae8584caa73bull };
	const void *given = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	if (given)
		memcpy(words, given, sizeof(words));
	return hash_u64(words[0] ^ hash_u64(words[1]));
}

/* Both halves of the product of 128 bits. A factor of 0, which a file may choose, must not wipe out the other: both are in it again. */
static inline u64 fold_product(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (u64)product ^ (u64)(product >> 64) ^ a ^ b;
}

u64 hash_words(const u64 *words, size_t nr, u64 seed)
{
	/* Roots of 2, 3, 5 and 7, after the point: bits without a pattern. */
	static const u64 salt[4] = { 0x6a09e667f3bcc909ull, 0xbb67ae8584caa73bull,
				     0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull };
	u64 left = seed ^ nr, right = seed;
	for (; nr >= 4; nr -= 4, words += 4) {
		left = fold_product(left ^ words[0] ^ salt[0], words[1] ^ salt[1]);
		right = fold_product(right ^ words[2] ^ salt[2], words[3] ^ salt[3]);
	}
	if (nr & 2) {
		left = fold_product(left ^ words[0] ^ salt[0], words[1] ^ salt[1]);
		words += 2;
	}
	if (nr & 1)
		right = fold_product(right ^ words[0] ^ salt[2], salt[3]);
	return fold_product(left ^ salt[1], right ^ salt[3]);
}

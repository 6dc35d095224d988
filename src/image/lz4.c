/*
 * The frame: 0x184c2102, then blocks, each after its length in bytes (lz4_Frame_format.md, "Legacy frame"). A block: sequences of a token
 * (half of it the number of literals, half the length of a match), more bytes of the first number, literals, a distance of two
 * bytes, more bytes of the second number; the last one ends after its literals (lz4_Block_format.md).
 */
#include "image/lz4.h"
#include "base/bytes.h"

#include <errno.h>

enum { MAGIC = 0x184c2102, BLOCK_MAX = 8 << 20, MATCH_LEAST = 4 };

/* A number that does not fit into half a byte goes on in bytes, up to one that is not 255. */
static size_t long_number(struct bytes *b, size_t first)
{
	u8 more = 255;
	while (first >= 15 && more == 255 && !b->bad) {
		more = bytes_u8(b);
		first += more;
	}
	return first;
}

/* Returns how many bytes it made of at most room, or -EBADMSG. */
static s64 expand_block(struct bytes *b, u8 *to, size_t room)
{
	size_t made = 0;
	while (bytes_left(b)) {
		u8 token = bytes_u8(b);
		size_t nr = long_number(b, token >> 4);
		const u8 *literals = bytes_take(b, nr);
		if (b->bad || nr > room - made)
			return -EBADMSG;
		memcpy(to + made, literals, nr);
		made += nr;
		if (!bytes_left(b))
			break;
		size_t distance = bytes_u8(b);
		distance |= (size_t)bytes_u8(b) << 8;
		nr = long_number(b, token & 15) + MATCH_LEAST;
		if (b->bad || !distance || distance > made || nr > room - made)
			return -EBADMSG;
		/* It may reach into what it makes itself. */
		for (const u8 *from = to + made - distance; nr; nr--)
			to[made++] = *from++;
	}
	return (s64)made;
}

int lz4_expand(const u8 *data, size_t len, u8 *to, size_t full)
{
	struct bytes b = bytes_of(data, len, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	size_t made = 0;
	if (bytes_u32(&b) != MAGIC)
		return -EBADMSG;
	while (made < full) {
		u32 size = bytes_u32(&b);
		if (size == MAGIC) /* another frame */
			continue;
		struct bytes block = bytes_sub(&b, size);
		s64 n = block.bad ? -EBADMSG
				  : expand_block(&block, to + made,
						 min(full - made, (size_t)BLOCK_MAX));
		if (n <= 0)
			return -EBADMSG;
		made += (size_t)n;
	}
	return 0;
}

#include "base/bytes.h"

u64 bytes_uleb(struct bytes *b)
{
	u64 v = 0;
	for (unsigned shift = 0;; shift += 7) {
		u8 byte = bytes_u8(b);
		u64 bits = byte & 0x7f;
		if (shift < 64)
			v |= bits << shift;
		if (bits && (shift > 63 || (shift == 63 && bits > 1)))
			b->bad = true;
		if (!(byte & 0x80) || b->bad)
			return v;
	}
}

s64 bytes_sleb(struct bytes *b)
{
	u64 v = 0;
	for (unsigned shift = 0;; shift += 7) {
		u8 byte = bytes_u8(b);
		u64 bits = byte & 0x7f;
		if (shift < 64)
			v |= bits << shift;
		if (shift >= 63 && bits != 0 && bits != 0x7f)
			b->bad = true;
		if (!(byte & 0x80) || b->bad)
			return (s64)(shift < 57 && byte & 0x40 ? v | -(u64)1 << (shift + 7) : v);
	}
}

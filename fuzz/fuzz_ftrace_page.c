/* First byte: byte order, size of commit; the rest is a page. */
#include "wire/ftrace_page.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < 1)
		return 0;
	u32 commit = data[0] & 2 ? 4 : 8;
	bool big_endian = data[0] & 1;
	struct page_layout l = {
		.ts_size = 8, .commit_offset = 8, .commit_size = commit, .data_offset = 8 + commit
	};
	struct ftrace_page p;
	struct ftrace_event e;
	if (ftrace_page_open(&p, &l, data + 1, size - 1, big_endian))
		return 0;
	volatile u8 sum = 0;
	while (ftrace_page_next(&p, &e) > 0)
		for (u32 i = 0; i < e.size; i++)
			sum ^= e.data[i];
	(void)sum;
	return 0;
}

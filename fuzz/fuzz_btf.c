/* BTF: every function that it names is described. Odd sizes are taken as a module's, on top of the first half as the kernel's. */
#include "image/btf.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void ask(const struct btf *b)
{
	struct btf_function f;
	volatile size_t sum = 0;
	const char *end = b->strings + b->strings_len;
	u32 asked = 0;
	for (const char *s = b->strings; s < end && asked < 64; s += strlen(s) + 1, asked++) {
		if (btf_find_function(b, s, &f))
			continue;
		if (f.nr_args > BTF_ARGS_MAX)
			abort();
		for (u32 i = 0; i < f.nr_args; i++)
			sum += strlen(f.args[i].name) + f.args[i].bytes;
		sum += (size_t)f.result.shape;
	}
	(void)sum;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct btf b, mod;
	size_t half = size & 1 ? size / 2 : size;
	if (btf_open_memory(&b, data, half, NULL))
		return 0;
	ask(&b);
	if (half < size && !btf_open_memory(&mod, data + half, size - half, &b)) {
		ask(&mod);
		btf_close(&mod);
	}
	btf_close(&b);
	return 0;
}

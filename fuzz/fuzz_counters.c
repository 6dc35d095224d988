/* Counter files: the first byte chooses the format, the second one where the text of the second read begins. */
#include "kern/counter_file.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct sysroot root = { .dir_fd = -1 };
	struct counter_file f;
	size_t nr;
	const struct counter_format *all = counter_formats_all(&nr);
	if (size < 2 || counter_file_open(&f, &root, "proc/stat"))
		return 0;
	f.format = &all[data[0] % nr];
	const char *text = (const char *)data + 2;
	size_t len = size - 2, cut = len * data[1] / 255;
	(void)!counter_file_parse(&f, text, cut);
	(void)!counter_file_parse(&f, text + cut, len - cut);
	u64 change, sum = 0;
	vec_for_each (&f.items, i) {
		if (i->text && (i->text < text || i->text + i->text_len > text + len))
			abort();
		sum += counter_item_change(i, &change) ? change : 0;
		sum += strlen(i->row) + strlen(i->field) + (counter_item_field(&f, i) != NULL);
		sum += counter_item_number(i) > 0;
	}
	counter_file_close(&f);
	__asm__ volatile("" : : "r"(sum)); /* all of it was looked at */
	return 0;
}

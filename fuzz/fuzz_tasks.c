/* Files of /proc/PID: the first byte chooses which. Whatever they hold, nothing is read beyond their end. */
#include "kern/proc_tasks_parse.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (!size)
		return 0;
	/* No byte more than there is, so that a sanitizer sees who looks behind the end. */
	size_t len = size - 1;
	char *text = malloc(len ? len : 1);
	if (!text)
		abort();
	memcpy(text, data + 1, len);
	struct task t = { 0 };
	struct system_reading s = { 0 };
	const char *groups = NULL;
	size_t groups_len = 0;
	switch (data[0] % 11) {
	case 0:
		if (task_parse_stat(text, len, &t) &&
		    strnlen(t.comm, sizeof(t.comm)) == sizeof(t.comm))
			abort();
		break;
	case 1: (void)task_parse_statm(text, len, &t); break;
	case 2:
		if (task_parse_status(text, len, &t, &groups, &groups_len) && groups_len &&
		    (groups < text || groups + groups_len > text + len))
			abort();
		break;
	case 3: (void)task_parse_io(text, len, &t); break;
	case 4: (void)task_parse_schedstat(text, len, &t); break;
	case 5: (void)task_parse_smaps(text, len, &t); break;
	case 6: (void)task_parse_autogroup(text, len, &t); break;
	case 7: (void)task_parse_ns(text, len); break;
	case 8: (void)system_parse_stat(text, len, &s); break;
	case 9:
		(void)system_parse_meminfo(text, len, &s);
		system_parse_vmstat(text, len, &s);
		break;
	default:
		(void)system_parse_loadavg(text, len, &s);
		(void)system_parse_uptime(text, len, &s);
	}
	vec_free(&s.cpus);
	free(text);
	return 0;
}

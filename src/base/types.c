#include "base/types.h"

#include <errno.h>
#include <unistd.h>

void cleanup_close(int *fd)
{
	if (*fd < 0)
		return;
	int saved = errno;
	(void)close(*fd);
	errno = saved;
}

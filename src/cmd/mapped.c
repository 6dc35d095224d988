#include "cmd/mapped.h"
#include "base/types.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *guarded;

static void put(const char *text)
{
	ssize_t n = write(STDERR_FILENO, text, strlen(text));
	(void)n;
}

static void on_bus(int sig)
{
	put("sonde: '");
	put(guarded);
	put("' became shorter while it was read\n");
	_exit(1);
}

void mapped_guard(const char *path)
{
	guarded = path;
	struct sigaction sa = { .sa_handler = on_bus, .sa_flags = SA_RESETHAND };
	(void)sigaction(SIGBUS, &sa, NULL);
}

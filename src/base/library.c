#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_load(const char *soname, const char *const *names, size_t nr, void *functions)
{
	char *to = functions;
	void *lib = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; i < nr; i++) {
		void *at = lib ? dlsym(lib, names[i]) : NULL;
		if (!at)
			return false;
		memcpy(to + i * sizeof(at), &at, sizeof(at));
	}
	return true;
}

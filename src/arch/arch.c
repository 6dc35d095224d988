#include "arch/arch.h"

#include <string.h>

static const struct arch *const all[] = { &arch_x86_64, &arch_arm64 };

const struct arch *arch_of_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

const struct arch *arch_of_elf(u16 machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i]->elf_machine == machine)
			return all[i];
	return NULL;
}

const struct arch *arch_host(void)
{
#if defined(__x86_64__)
	return &arch_x86_64;
#elif defined(__aarch64__)
	return &arch_arm64;
#else
	return NULL;
#endif
}

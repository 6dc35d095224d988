#include "lang/builtin.h"

#include "base/str.h"

#include <string.h>

static const struct builtin_group *const groups[] = {
	&builtins_task,	  &builtins_probe,  &builtins_aggregate, &builtins_output, &builtins_map,
	&builtins_text,	  &builtins_search, &builtins_string,	 &builtins_type,   &builtins_series,
	&builtins_kernel, &builtins_debug,  &builtins_path,
};

const struct builtin_group *builtin_group_at(u32 i)
{
	return i < ARRAY_SIZE(groups) ? groups[i] : NULL;
}

const struct builtin *builtin_find(const char *name)
{
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		for (u32 i = 0; i < groups[g]->nr; i++)
			if (!strcmp(groups[g]->rows[i].name, name))
				return &groups[g]->rows[i];
	return NULL;
}

bool builtin_is_planned(const char *name)
{
	static const char *const names[] = {
		"skboutput",	 "socket_cookie", "unwatch",	"write_user", "dw_ustack",
		"kfunc_allowed", "typeinfo",	  "assert_str", "config",
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

const char *builtin_closest(const char *name)
{
	const char *names[256];
	size_t nr = 0;
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		for (u32 i = 0; i < groups[g]->nr && nr < ARRAY_SIZE(names); i++)
			names[nr++] = groups[g]->rows[i].name;
	return str_closest(name, names, nr);
}

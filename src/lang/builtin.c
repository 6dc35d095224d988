#include "lang/builtin.h"

#include "base/str.h"

#include <string.h>

static const struct builtin_group *const groups[] = {
	&builtins_task, &builtins_probe, &builtins_aggregate, &builtins_output,
	&builtins_map,	&builtins_text,	 &builtins_search,
};

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
		"tseries",
		"quantile",
		"uaddr",
		"percpu_kaddr",
		"cgroupid",
		"pton",
		"override",
		"strstr",
		"strcap",
		"str_concat",
		"memcmp",
		"path",
		"len",
		"find",
		"fail",
		"assert",
		"static_assert",
		"skboutput",
		"socket_cookie",
		"unwatch",
		"is_err",
		"container_of",
		"write_user",
		"dw_ustack",
		"is_str",
		"is_ptr",
		"is_array",
		"is_integer",
		"is_literal",
		"kfunc_exist",
		"kfunc_allowed",
		"typeof",
		"typeinfo",
		"assert_str",
		"syscall_name",
		"signal_thread",
		"cpid",
		"has_cpid",
		"usermode",
		"leader_comm",
		"leader_tid",
		"probetype",
		"config",
		"default_str_length",
		"is_unsigned_integer",
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

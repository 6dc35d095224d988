#include "view/view.h"

#include <string.h>

const struct view_ops *view_find(const char *name)
{
	static const struct view_ops *const all[] = { &view_text, &view_csv, &view_json, &view_html,
						      &view_terminal };
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(name, all[i]->name))
			return all[i];
	return NULL;
}

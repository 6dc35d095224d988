#include "cmd/run/tools.h"

#include "base/json.h"

#include <string.h>

const struct run_tool *run_tool_find(const char *name)
{
	for (const struct run_tool *t = run_tools; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

static void list_json(struct app *app)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_array(&j);
	for (const struct run_tool *t = run_tools; t->name; t++) {
		json_object(&j);
		json_put_str(&j, "name", t->name);
		json_put_str(&j, "question", t->question);
		json_object_end(&j);
	}
	json_array_end(&j);
	(void)!json_end(&j);
}

int run_tools_list(struct app *app)
{
	if (app->json) {
		list_json(app);
		return APP_DONE;
	}
	for (const struct run_tool *t = run_tools; t->name; t++)
		strbuf_printf(&app->out, "%-16s %s\n", t->name, t->question);
	return APP_DONE;
}

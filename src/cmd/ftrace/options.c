/* `sonde ftrace options`, and what is behind `ftrace report -O`. */
#include "cmd/ftrace/options.h"

#include "cmd/app/app.h"
#include "cmd/app/commands.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *plugin, *name, *what;
	size_t at; /* in struct text_events_functions */
	bool on; /* unless told otherwise; the field says that it is not */
} options[] = {
	{ "ftrace", "parent", "Print parent of functions for function events",
	  offsetof(struct text_events_functions, parent), false },
	{ "ftrace", "indent", "Try to show function call indents, based on parents",
	  offsetof(struct text_events_functions, flat), true },
	{ "ftrace", "offset", "Show function names as well as their offsets",
	  offsetof(struct text_events_functions, offset), false },
	{ "fgraph", "tailprint", "Print function name at function exit in function graph",
	  offsetof(struct text_events_functions, tail), false },
	{ "fgraph", "depth", "Show the depth of each entry",
	  offsetof(struct text_events_functions, depth), false },
};

static bool is_value(const char *text, bool *ret)
{
	static const char *const words[] = { "0", "1", "false", "true", "no", "yes", "off", "on" };
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(words[i], text)) {
			*ret = i & 1;
			return true;
		}
	return false;
}

static void say_unknown(const char *text, struct diag *d)
{
	const char *names[ARRAY_SIZE(options)];
	for (unsigned i = 0; i < ARRAY_SIZE(options); i++)
		names[i] = options[i].name;
	const char *close = str_closest(text, names, ARRAY_SIZE(names));
	diag_warn(d, "-O: unknown option '%s'", text);
	if (close)
		diag_hint(d, "did you mean '%s'?", close);
	else
		diag_hint(d, "'sonde ftrace options' lists them");
}

int ftrace_options_set(struct text_events_functions *f, const char *text, struct diag *d)
{
	const char *colon = strchr(text, ':'), *name = colon ? colon + 1 : text,
		   *equal = strchr(name, '=');
	size_t len = equal ? (size_t)(equal - name) : strlen(name);
	bool on = true, found = false;
	if (equal && !is_value(equal + 1, &on))
		return diag_error(d, -EINVAL, "-O %s: expected 0 or 1, not '%s'", text, equal + 1);
	for (unsigned i = 0; i < ARRAY_SIZE(options); i++) {
		if (strlen(options[i].name) != len || strncmp(options[i].name, name, len) ||
		    (colon && (strlen(options[i].plugin) != (size_t)(colon - text) ||
			       strncmp(options[i].plugin, text, (size_t)(colon - text)))))
			continue;
		*(bool *)((char *)f + options[i].at) = on != options[i].on;
		found = true;
	}
	if (!found) {
		char word[64];
		(void)snprintf(word, sizeof(word), "%.*s",
			       (int)min((size_t)(name - text) + len, sizeof(word) - 1), text);
		say_unknown(word, d);
	}
	return 0;
}

void ftrace_options_text(struct strbuf *to)
{
	for (unsigned i = 0; i < ARRAY_SIZE(options); i++) {
		if (i)
			strbuf_str(to, strcmp(options[i].plugin, options[i - 1].plugin)
					       ? "============\n"
					       : "------------\n");
		strbuf_printf(to, "  plugin:\t%s\n  option:\t%s\n    desc:\t%s\n     set:\t%d\n",
			      options[i].plugin, options[i].name, options[i].what, options[i].on);
	}
}

/* An array of objects. */
static void ftrace_options_json(struct json *j)
{
	json_array(j);
	for (unsigned i = 0; i < ARRAY_SIZE(options); i++) {
		json_object(j);
		json_put_str(j, "plugin", options[i].plugin);
		json_put_str(j, "option", options[i].name);
		json_put_str(j, "what", options[i].what);
		json_put_bool(j, "set", options[i].on);
		json_object_end(j);
	}
	json_array_end(j);
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct json j;
	(void)opts;
	if (argc)
		return app_usage(app,
				 "unexpected argument '%s': set options with 'ftrace report -O'",
				 argv[0]);
	if (!app->json) {
		ftrace_options_text(&app->out);
		return APP_DONE;
	}
	json_begin(&j, &app->out, JSON_PRETTY);
	ftrace_options_json(&j);
	int err = json_end(&j);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt_example examples[] = {
	{ "ftrace options", "available options" },
	{ "ftrace report -O parent -O fgraph:tailprint", "set two of them" },
	{ 0 },
};

const struct command command_ftrace_options = {
	.name = "options",
	.summary = "list layout options for report -O",
	.usage = "",
	.examples = examples,
	.run = run,
};

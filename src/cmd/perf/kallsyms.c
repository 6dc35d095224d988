/* kallsyms NAME..., also called as perf: where the running kernel has these symbols. */
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/perf/perf.h"
#include "kern/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

struct found_symbol {
	u64 start, end; /* end: of the next symbol after it */
	char module[64]; /* "" of the kernel itself */
};

/* "ADDRESS TYPE NAME[\tMODULE]"; false: not such a line. */
static bool read_line(const char *line, size_t len, u64 *addr, const char **name, size_t *name_len,
		      const char **module, size_t *module_len)
{
	char *end;
	*addr = strtoull(line, &end, 16);
	if (end == line || (size_t)(end - line) + 3 >= len)
		return false;
	*name = end + 3;
	*name_len = strcspn(*name, " \t\n");
	const char *bracket =
		memchr(*name + *name_len, '[', len - (size_t)(*name + *name_len - line));
	*module = bracket ? bracket + 1 : "";
	*module_len = bracket ? strcspn(*module, "]\n") : 0;
	return true;
}

static bool find_symbol(const struct kallsyms_text *t, const char *symbol, struct found_symbol *ret)
{
	bool found = false;
	*ret = (struct found_symbol){ .end = UINT64_MAX };
	/* Once for its address, once for the next one. */
	for (int pass = 0; pass < 2; pass++) {
		for (const char *at = t->data, *end = t->data + t->len; at < end;) {
			const char *stop = memchr(at, '\n', (size_t)(end - at)), *name, *module;
			size_t name_len, module_len;
			u64 addr;
			if (!stop)
				break;
			if (read_line(at, (size_t)(stop - at), &addr, &name, &name_len, &module,
				      &module_len)) {
				if (pass && addr > ret->start && addr < ret->end)
					ret->end = addr;
				if (!pass && !found && strlen(symbol) == name_len &&
				    !strncmp(name, symbol, name_len)) {
					found = true;
					ret->start = addr;
					module_len = min(module_len, sizeof(ret->module) - 1);
					memcpy(ret->module, module, module_len);
				}
			}
			at = stop + 1;
		}
		if (!found)
			return false;
	}
	return true;
}

/* f NULL: it was not found. */
static void print_text(struct app *app, const char *name, const struct found_symbol *f)
{
	if (!f) {
		strbuf_printf(&app->out, "%s: not found\n", name);
		return;
	}
	const char *of = f->module[0] ? f->module : "kernel";
	strbuf_printf(&app->out, "%s: [%s] [%s] 0x%llx-0x%llx (0x%llx-0x%llx)\n", name, of,
		      f->module[0] ? f->module : "kernel.kallsyms", (ull)f->start, (ull)f->end,
		      (ull)f->start, (ull)f->end);
}

static void print_json(struct json *j, const char *name, const struct found_symbol *f)
{
	char addr[24];
	json_object(j);
	json_put_str(j, "name", name);
	json_put_bool(j, "found", f != NULL);
	if (f) {
		(void)snprintf(addr, sizeof(addr), "0x%llx", (ull)f->start);
		json_put_str(j, "start", addr);
		(void)snprintf(addr, sizeof(addr), "0x%llx", (ull)f->end);
		json_put_str(j, "end", addr);
		json_put_str(j, "module", f->module[0] ? f->module : NULL);
	}
	json_object_end(j);
}

static int kallsyms_run(struct app *app, void *opts, int argc, char **argv)
{
	struct kallsyms_text t;
	struct json j;
	bool all = true;
	(void)opts;
	if (!argc)
		return app_usage(app, "no symbol given");
	int err = kallsyms_read(NULL, NULL, &t);
	if (err)
		return app_fail(app, err);
	if (app->json) {
		json_begin(&j, &app->out, JSON_PRETTY);
		json_array(&j);
	}
	for (int i = 0; i < argc; i++) {
		struct found_symbol f;
		bool found = find_symbol(&t, argv[i], &f);
		all &= found;
		if (app->json)
			print_json(&j, argv[i], found ? &f : NULL);
		else
			print_text(app, argv[i], found ? &f : NULL);
	}
	if (app->json) {
		json_array_end(&j);
		err = json_end(&j);
	}
	kallsyms_text_done(&t);
	if (err)
		return app_fail(app, err);
	/* perf's status says nothing of that. */
	return all || app->dialect->perf_closing_lines ? APP_DONE : APP_FAILED;
}

static const struct opt_example kallsyms_examples[] = {
	{ "kallsyms do_exit", "its address in the running kernel" },
	{ 0 },
};

const struct command command_perf_kallsyms = {
	.name = "kallsyms",
	.group = "About the machine and sonde",
	.summary = "find symbols of the running kernel",
	.usage = "NAME...",
	.examples = kallsyms_examples,
	.mixed_words = true,
	.run = kallsyms_run,
};

/* sonde doctor: what this machine allows, what is missing, what that costs, and the one command that helps. */
#include "session/doctor.h"

#include "base/glob.h"
#include "base/json.h"
#include "base/opts_doc.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { NAME_WIDTH = 28, VALUE_COLUMN = 2 + 8 + 1 + NAME_WIDTH + 1, WIDTH_MAX = 132 };

struct doctor_opts {
	const char *root;
	const char *config;
	bool problems;
};

/* ---- which are wanted ------------------------------------------------------------------------------------------- */

static bool word_fits(const char *word, const struct finding *f)
{
	return !strcasecmp(word, f->name) || !strcasecmp(word, f->section) ||
	       glob_match(word, f->name) ||
	       (str_starts(f->name, "CONFIG_") && glob_match(word, f->name + 7));
}

static bool wanted(const struct doctor_opts *o, const struct finding *f, int argc, char **argv)
{
	if (o->problems && f->state == FINDING_OK)
		return false;
	bool fits = !argc;
	for (int i = 0; i < argc && !fits; i++)
		fits = word_fits(argv[i], f);
	return fits;
}

/* A word that names nothing is a mistake. */
static int check_words(struct app *app, const struct doctor *d, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		bool fits = false;
		const char *near = NULL;
		unsigned best = STR_FAR;
		vec_for_each (&d->findings, f) {
			fits = fits || word_fits(argv[i], f);
			unsigned far = str_distance(argv[i], f->name);
			if (far < best) {
				best = far;
				near = f->name;
			}
		}
		if (fits)
			continue;
		diag_error(&app->diag, -ENOENT, "unknown check '%s'%s", argv[i],
			   str_starts(argv[i], "CONFIG_") && !d->config.text
				   ? ": the kernel configuration is not available"
				   : "");
		if (near && str_is_close(argv[i], best))
			diag_hint(&app->diag, "did you mean '%s'?", near);
		return -ENOENT;
	}
	return 0;
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static const char *colour_of(struct app *app, enum finding_state state)
{
	static const char *const codes[] = {
		[FINDING_OK] = "\033[32m",
		[FINDING_LIMITED] = "\033[33m",
		[FINDING_MISSING] = "\033[31m",
	};
	return app_colours(app) ? codes[state] : "";
}

static void detail(struct app *app, const char *label, const char *text, unsigned width,
		   bool command)
{
	struct strbuf *to = &app->out;
	if (!text)
		return;
	strbuf_fill(to, ' ', VALUE_COLUMN);
	strbuf_printf(to, "%-7s", label);
	if (command) { /* to be copied: one line */
		strbuf_printf(to, "%s%s%s\n", app_colours(app) ? "\033[1m" : "", text,
			      app_colours(app) ? "\033[0m" : "");
		return;
	}
	opts_wrap(text, VALUE_COLUMN + 7, VALUE_COLUMN + 7, width, to);
}

static void print_finding(struct app *app, const struct finding *f, unsigned width)
{
	struct strbuf *to = &app->out;
	strbuf_printf(to, "  %s%-8s%s ", colour_of(app, f->state), finding_word(f->state),
		      app_colours(app) ? "\033[0m" : "");
	strbuf_left(to, f->name, NAME_WIDTH);
	strbuf_char(to, ' ');
	if (str_starts(f->name, "CONFIG_") && !app->verbose) { /* there are many: a line each */
		strbuf_printf(to, "%s%s%s\n", f->value, f->costs ? "  " : "",
			      f->costs ? f->costs : "");
		return;
	}
	opts_wrap(f->value, VALUE_COLUMN, VALUE_COLUMN, width, to);
	detail(app, "costs:", f->costs, width, false);
	detail(app, "try:", f->fix, width, true);
	detail(app, "needs:", f->needs, width, false);
}

/* Kernel options that are as they should be: many words in few lines. */
static void print_options(struct app *app, const struct strbuf *all, unsigned width)
{
	struct strbuf *to = &app->out;
	if (!all->len)
		return;
	strbuf_printf(to, "  %s%-8s%s ", colour_of(app, FINDING_OK), "ok",
		      app_colours(app) ? "\033[0m" : "");
	opts_wrap(strbuf_cstr((struct strbuf *)all), 11, 11, width, to);
}

static bool is_plain_option(const struct app *app, const struct finding *f, int argc)
{
	return !argc && !app->verbose && f->state == FINDING_OK && str_starts(f->name, "CONFIG_");
}

static void print_text(struct app *app, const struct doctor *d, const struct doctor_opts *o,
		       int argc, char **argv)
{
	struct strbuf *to = &app->out, plain;
	unsigned width = app->wide ? WIDTH_MAX : min(app->width, (unsigned)WIDTH_MAX), nr[3] = { 0 };
	const char *section = NULL;
	strbuf_init(&plain);
	vec_for_each (&d->findings, f) {
		if (!wanted(o, f, argc, argv))
			continue;
		nr[f->state]++;
		if (f->section != section) {
			print_options(app, &plain, width);
			strbuf_reset(&plain);
			strbuf_printf(to, "%s%s%s%s\n", section ? "\n" : "",
				      app_colours(app) ? "\033[1m" : "", f->section,
				      app_colours(app) ? "\033[0m" : "");
			section = f->section;
		}
		if (is_plain_option(app, f, argc))
			strbuf_printf(&plain, "%s%s=%s", plain.len ? " " : "", f->name, f->value);
		else
			print_finding(app, f, width);
	}
	print_options(app, &plain, width);
	strbuf_done(&plain);
	if (argc)
		return;
	strbuf_printf(to, "\n%u ok, %u limited, %u missing\n", nr[FINDING_OK], nr[FINDING_LIMITED],
		      nr[FINDING_MISSING]);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static int print_json(struct app *app, const struct doctor *d, const struct doctor_opts *o,
		      int argc, char **argv)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "release", d->release);
	json_put_str(&j, "arch", d->arch);
	json_put_bool(&j, "privileged", d->root_user);
	json_put_bool(&j, "container", d->container);
	if (d->container_mark)
		json_put_str(&j, "container_mark", d->container_mark);
	json_put_bool(&j, "virtual_machine", d->vm);
	json_key(&j, "findings");
	json_array(&j);
	vec_for_each (&d->findings, f) {
		if (!wanted(o, f, argc, argv))
			continue;
		json_object(&j);
		json_put_str(&j, "section", f->section);
		json_put_str(&j, "name", f->name);
		json_put_str(&j, "state", finding_word(f->state));
		json_put_str(&j, "value", f->value);
		if (f->costs)
			json_put_str(&j, "costs", f->costs);
		if (f->fix)
			json_put_str(&j, "fix", f->fix);
		if (f->needs)
			json_put_str(&j, "needs", f->needs);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int examine(struct app *app, struct doctor *d, const struct doctor_opts *o, int argc,
		   char **argv)
{
	int err = doctor_init(d, o->root ? o->root : "", o->config);
	d->config_option = app_option_names[DIAG_OPT_KERNEL_CONFIG];
	if (err) {
		const char *what = o->config && !d->config.text ? o->config
				   : o->root			? o->root
								: "/";
		return diag_error(&app->diag, err, "cannot read %s: %s", what,
				  err == -EBADMSG ? "not a kernel configuration" : strerror(-err));
	}
	doctor_try(d);
	doctor_look_rights(d);
	doctor_look_kernel(d);
	for (int i = 0; i < argc; i++)
		if (str_starts(argv[i], "CONFIG_") && !glob_is_pattern(argv[i]))
			doctor_look_config(d, argv[i]);
	if (d->live)
		doctor_judge_trials(d);
	if (d->no_memory)
		return -ENOMEM;
	err = check_words(app, d, argc, argv);
	if (err)
		return err;
	if (app->json)
		return print_json(app, d, o, argc, argv);
	print_text(app, d, o, argc, argv);
	return 0;
}

static int doctor_run(struct app *app, void *opts, int argc, char **argv)
{
	struct doctor d;
	int err = examine(app, &d, opts, argc, argv);
	doctor_done(&d);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt doctor_rows[] = {
	OPT_FLAG('p', "problems", struct doctor_opts, problems,
		 "Show only what is limited or missing"),
	OPT_STR(0, "kernel-config", struct doctor_opts, config, "FILE",
		"Judge this kernel configuration (plain or gzip) instead of the running kernel's"),
	OPT_STR(0, "root", struct doctor_opts, root, "DIR",
		"Inspect /proc, /sys and /boot below DIR; nothing is tried", .hidden = true),
	OPT_END(),
};

static const struct opt_example doctor_examples[] = {
	{ "doctor", "everything" },
	{ "doctor -p", "only what is limited or missing, with remedies" },
	{ "doctor kprobes uprobes", "only these" },
	{ "doctor 'CONFIG_*TRACER'", "what the kernel was built with" },
	{ "doctor --json", "machine-readable output" },
	{ 0 },
};

const struct command command_doctor = {
	.name = "doctor",
	.group = "About the machine and sonde",
	.summary = "show what this machine allows, what is missing, and how to fix it",
	.usage = "[OPTIONS] [NAME|GLOB...]",
	.about = "Each line is ok, limited or missing, followed by what that costs you and the one "
		 "command that helps (or what it would take, if no command does). Providers are "
		 "actually tried, on this process only: no kernel setting is written, and nothing "
		 "is left behind. The exit status is 0 whatever is found.",
	.examples = doctor_examples,
	.opts = doctor_rows,
	.opts_size = sizeof(struct doctor_opts),
	.mixed_words = true,
	.run = doctor_run,
};

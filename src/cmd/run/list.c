/* run -l and run --info: what can be probed, and what this kernel's BPF can do. */
#include "cmd/run/run.h"

#include "base/json.h"
#include "bpf/list.h"
#include "kern/bpf_features.h"

#include <errno.h>
#include <string.h>

struct run_list_listing {
	struct app *app;
	bool fields;
	u64 nr;
};

static int print_probe(void *ctx, const char *text, const char *fields)
{
	struct run_list_listing *l = ctx;
	strbuf_printf(&l->app->out, "%s\n", text);
	if (l->fields && fields)
		strbuf_str(&l->app->out, fields);
	l->nr++;
	return l->app->out.err;
}

int run_list(struct app *app, const struct run_opts *o, const struct sysroot *root)
{
	struct run_list_listing l = { .app = app, .fields = app->verbose > 0 };
	struct list_query q = { .pattern = o->list && *o->list ? o->list : NULL,
				.fields = l.fields };
	int rc = list_probes(root, &q, print_probe, &l, &app->diag);
	if (rc && rc != -EPIPE)
		return app_fail(app, rc);
	if (l.nr || rc)
		return APP_DONE;
	diag_error(&app->diag, -ENOENT, "no probe matches '%s'", q.pattern ? q.pattern : "*");
	diag_hint(&app->diag, "patterns are whole names: -l '*open*', -l 'tracepoint:sched:*'");
	return APP_FAILED;
}

static const char *word_of(int rc)
{
	return !rc ? "yes" : rc == -EPERM ? "not permitted" : "no";
}

static void info_json(struct app *app, const int *found)
{
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	for (u32 i = 0; i < BPF_FEATURE_NR; i++)
		json_put_bool(&j, bpfsys_feature_infos[i].word, !found[i]);
	json_object_end(&j);
	(void)!json_end(&j);
}

int run_info(struct app *app, const struct sysroot *root)
{
	int found[BPF_FEATURE_NR];
	for (u32 i = 0; i < BPF_FEATURE_NR; i++)
		found[i] = bpfsys_feature_try(root, i);
	if (app->json) {
		info_json(app, found);
		return APP_DONE;
	}
	const char *group = "";
	for (u32 i = 0; i < BPF_FEATURE_NR; i++) {
		const struct bpfsys_feature_info *f = &bpfsys_feature_infos[i];
		if (strcmp(group, f->group))
			strbuf_printf(&app->out, "%s%s\n", *group ? "\n" : "", f->group);
		group = f->group;
		strbuf_printf(&app->out, "  %-18s %-40s %s\n", f->word, f->what, word_of(found[i]));
	}
	if (found[BPF_FEATURE_MAPS] == -EPERM)
		(void)bpfsys_explain_permission(root, "use bpf(2)", &app->diag);
	return found[BPF_FEATURE_MAPS] ? APP_FAILED : APP_DONE;
}

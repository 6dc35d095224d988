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
	struct json json;
};

static void put_json(struct run_list_listing *l, const char *text, const char *fields)
{
	struct json *j = &l->json;
	json_object(j);
	json_put_str(j, "probe", text);
	if (fields) {
		json_key(j, "fields");
		json_array(j);
		for (const char *p = fields; *p; p += *p == '\n') {
			p += strspn(p, " ");
			json_strn(j, p, strcspn(p, "\n"));
			p += strcspn(p, "\n");
		}
		json_array_end(j);
	}
	json_object_end(j);
}

static int print_probe(void *ctx, const char *text, const char *fields)
{
	struct run_list_listing *l = ctx;
	struct strbuf *to = &l->app->out;
	l->nr++;
	if (l->app->json) {
		put_json(l, text, l->fields ? fields : NULL);
		return to->err;
	}
	strbuf_printf(to, "%s\n", text);
	if (l->fields && fields)
		strbuf_str(to, fields);
	return to->err;
}

int run_list(struct app *app, const struct run_opts *o, const struct sysroot *root)
{
	struct run_list_listing l = { .app = app, .fields = app->verbose > 0 };
	struct list_query q = { .pattern = o->list && *o->list ? o->list : NULL,
				.fields = l.fields };
	if (app->json) {
		json_begin(&l.json, &app->out, JSON_PRETTY);
		json_array(&l.json);
	}
	int rc = list_probes(root, &q, print_probe, &l, &app->diag);
	if (app->json) {
		json_array_end(&l.json);
		(void)!json_end(&l.json);
	}
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

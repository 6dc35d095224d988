#include "export/profile.h"
#include "base/json.h"

#include <errno.h>

static void put_frames(struct json *j, const struct flame *f)
{
	struct strbuf name;
	strbuf_init(&name);
	json_key(j, "frames");
	json_array(j);
	for (u32 i = 1; i < f->frames.nr; i++) {
		const struct flame_frame *fr = &f->frames.at[i];
		json_object(j);
		export_frame_name(f, fr, &name);
		json_put_str(j, "name", strbuf_cstr(&name));
		if (fr->file)
			json_put_str(j, "file", flame_str(f, fr->file));
		else if (fr->module)
			json_put_str(j, "file", flame_str(f, fr->module));
		if (fr->line)
			json_put_u64(j, "line", fr->line);
		json_object_end(j);
	}
	json_array_end(j);
	strbuf_done(&name);
}

static void put_stack(struct json *j, const struct flame *f, u32 node)
{
	enum { DEEPEST = 4096 };
	u32 path[DEEPEST], nr = 0;
	const struct flame_node *nodes = f->nodes.at;
	for (; nodes[node].parent != node && nr < DEEPEST; node = nodes[node].parent)
		path[nr++] = nodes[node].frame - 1;
	json_array(j);
	while (nr > 0)
		json_u64(j, path[--nr]);
	json_array_end(j);
}

static void put_thread(struct json *j, const struct flame *f, const struct flame_tree *t,
		       const u32 *points, u32 nr)
{
	struct strbuf name;
	strbuf_init(&name);
	export_thread_name(f, t, &name);
	u64 all = 0;
	for (u32 i = 0; i < nr; i++)
		all += f->points.at[points[i]].period;
	json_object(j);
	json_put_str(j, "type", "sampled");
	json_put_str(j, "name", strbuf_cstr(&name));
	json_put_str(j, "unit",
		     export_is_time(flame_str(f, f->events.at[t->event])) ? "nanoseconds" : "none");
	json_put_u64(j, "startValue", 0);
	json_put_u64(j, "endValue", all);
	json_key(j, "samples");
	json_array(j);
	for (u32 i = 0; i < nr; i++)
		put_stack(j, f, f->points.at[points[i]].node);
	json_array_end(j);
	json_key(j, "weights");
	json_array(j);
	for (u32 i = 0; i < nr; i++)
		json_u64(j, f->points.at[points[i]].period);
	json_array_end(j);
	json_object_end(j);
	strbuf_done(&name);
}

/* The thread that is shown first. */
static u32 busiest(const u32 *starts, u32 nr)
{
	u32 best = 0;
	for (u32 t = 1; t < nr; t++)
		if (starts[t + 1] - starts[t] > starts[best + 1] - starts[best])
			best = t;
	return best;
}

int export_speedscope(const struct flame *f, const struct export_opts *o, struct strbuf *to)
{
	u32 *starts, *order;
	int err = export_by_tree(f, &starts, &order);
	if (err)
		return err;
	struct json j;
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_put_str(&j, "exporter", o->version);
	json_put_str(&j, "name", o->name);
	json_put_u64(&j, "activeProfileIndex", busiest(starts, (u32)f->trees.nr));
	json_key(&j, "shared");
	json_object(&j);
	put_frames(&j, f);
	json_object_end(&j);
	json_key(&j, "profiles");
	json_array(&j);
	for (u32 t = 0; t < f->trees.nr; t++)
		put_thread(&j, f, &f->trees.at[t], order + starts[t], starts[t + 1] - starts[t]);
	json_array_end(&j);
	json_object_end(&j);
	free(starts);
	free(order);
	return json_end(&j);
}

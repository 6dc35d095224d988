#include "export/profile.h"
#include "base/json.h"

#include <errno.h>

/* Categories are kinds of frames. */
static const struct {
	const char *name, *colour;
} categories[] = {
	[FLAME_USER] = { "User", "blue" },	  [FLAME_KERNEL] = { "Kernel", "orange" },
	[FLAME_INLINED] = { "Inlined", "green" }, [FLAME_JIT] = { "JIT code", "purple" },
	[FLAME_UNKNOWN] = { "Unknown", "grey" },  [FLAME_MARK] = { "Mark", "lightred" },
};

enum { RESOURCE_LIBRARY = 1, VERSION = 47, GECKO_VERSION = 27 };

static void put_meta(struct json *j, const struct flame *f, const struct export_opts *o)
{
	const struct flame_side *s = &f->sides[0];
	u64 span = u64_less(s->last_ns, s->first_ns);
	json_key(j, "meta");
	json_object(j);
	json_put_double(j, "interval",
			s->nr_samples > 1 ? (double)span / 1e6 / (double)s->nr_samples : 1);
	json_put_u64(j, "startTime", s->recorded_s * 1000);
	json_put_u64(j, "processType", 0);
	json_put_str(j, "product", o->name);
	json_put_str(j, "importedFrom", o->version);
	json_put_str(j, "oscpu", flame_str(f, s->release));
	json_put_u64(j, "stackwalk", 1);
	json_put_u64(j, "version", GECKO_VERSION);
	json_put_u64(j, "preprocessedProfileVersion", VERSION);
	json_put_bool(j, "symbolicated", true);
	json_put_bool(j, "usesOnlyOneStackType", true);
	json_key(j, "markerSchema");
	json_array(j);
	json_array_end(j);
	json_key(j, "categories");
	json_array(j);
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
		json_object(j);
		json_put_str(j, "name", categories[i].name);
		json_put_str(j, "color", categories[i].colour);
		json_key(j, "subcategories");
		json_array(j);
		json_str(j, "Other");
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

/* What a thread uses of something the flame has, numbered again. */
struct used {
	u32 *at; /* [id of the flame] -> own number + 1; 0: not used */
	VEC(u32) list; /* ids of the flame */
};

static u32 use(struct used *u, u32 id)
{
	if (!u->at[id]) {
		u->list.at[u->list.nr++] = id; /* there is room for all */
		u->at[id] = (u32)u->list.nr;
	}
	return u->at[id] - 1;
}

static void used_reset(struct used *u)
{
	vec_for_each (&u->list, id)
		u->at[*id] = 0;
	u->list.nr = 0;
}

/* One thread: its tables are columns. Stacks are the nodes of its tree (the root has none); a frame is a function. */
struct thread {
	struct json *j;
	const struct flame *f;
	const struct flame_tree *t;
	const u32 *points;
	u32 nr;
	struct used frames, modules, strings;
};

static const struct flame_frame *frame(const struct thread *t, u32 i)
{
	return &t->f->frames.at[t->frames.list.at[i]];
}

static void column(struct json *j, const char *name)
{
	json_key(j, name);
	json_array(j);
}

/* `nr` times the same. */
static void constant(struct json *j, const char *name, u32 nr, s64 v, bool null)
{
	column(j, name);
	for (u32 i = 0; i < nr; i++) {
		if (null)
			json_null(j);
		else
			json_s64(j, v);
	}
	json_array_end(j);
}

static void put_samples(const struct thread *t)
{
	struct json *j = t->j;
	const struct flame_point *points = t->f->points.at;
	u64 first = t->f->sides[0].first_ns;
	bool time = export_is_time(flame_str(t->f, t->f->events.at[t->t->event]));
	json_key(j, "samples");
	json_object(j);
	json_put_str(j, "weightType", time ? "tracing-ms" : "samples");
	column(j, "stack");
	for (u32 i = 0; i < t->nr; i++) {
		u32 node = points[t->points[i]].node;
		if (node == t->t->root)
			json_null(j);
		else
			json_u64(j, node - t->t->root - 1);
	}
	json_array_end(j);
	column(j, "time");
	for (u32 i = 0; i < t->nr; i++)
		json_double(j, (double)u64_less(points[t->points[i]].time_ns, first) / 1e6);
	json_array_end(j);
	column(j, "weight");
	for (u32 i = 0; i < t->nr; i++) {
		const struct flame_point *p = &points[t->points[i]];
		if (time)
			json_double(j, (double)p->period / 1e6);
		else
			json_u64(j, p->count);
	}
	json_array_end(j);
	json_put_u64(j, "length", t->nr);
	json_object_end(j);
}

static void put_stacks(struct thread *t)
{
	struct json *j = t->j;
	const struct flame_node *nodes = t->f->nodes.at;
	u32 first = t->t->root + 1, end = nodes[t->t->root].end;
	json_key(j, "stackTable");
	json_object(j);
	column(j, "frame");
	for (u32 n = first; n < end; n++)
		json_u64(j, use(&t->frames, nodes[n].frame));
	json_array_end(j);
	column(j, "prefix");
	for (u32 n = first; n < end; n++) {
		if (nodes[n].parent == t->t->root)
			json_null(j);
		else
			json_u64(j, nodes[n].parent - first);
	}
	json_array_end(j);
	column(j, "category");
	for (u32 n = first; n < end; n++)
		json_u64(j, t->f->frames.at[nodes[n].frame].kind);
	json_array_end(j);
	constant(j, "subcategory", end - first, 0, false);
	json_put_u64(j, "length", end - first);
	json_object_end(j);
}

static void put_frames(const struct thread *t)
{
	struct json *j = t->j;
	u32 nr = (u32)t->frames.list.nr;
	json_key(j, "frameTable");
	json_object(j);
	constant(j, "address", nr, -1, false);
	column(j, "inlineDepth"); /* how deep differs from stack to stack */
	for (u32 i = 0; i < nr; i++)
		json_u64(j, frame(t, i)->kind == FLAME_INLINED);
	json_array_end(j);
	column(j, "category");
	for (u32 i = 0; i < nr; i++)
		json_u64(j, frame(t, i)->kind);
	json_array_end(j);
	constant(j, "subcategory", nr, 0, false);
	column(j, "func");
	for (u32 i = 0; i < nr; i++)
		json_u64(j, i);
	json_array_end(j);
	constant(j, "nativeSymbol", nr, 0, true);
	constant(j, "innerWindowID", nr, 0, true);
	constant(j, "implementation", nr, 0, true);
	column(j, "line");
	for (u32 i = 0; i < nr; i++) {
		if (frame(t, i)->line)
			json_u64(j, frame(t, i)->line);
		else
			json_null(j);
	}
	json_array_end(j);
	constant(j, "column", nr, 0, true);
	json_put_u64(j, "length", nr);
	json_object_end(j);
}

static void put_funcs(struct thread *t)
{
	struct json *j = t->j;
	u32 nr = (u32)t->frames.list.nr;
	json_key(j, "funcTable");
	json_object(j);
	column(j, "name");
	for (u32 i = 0; i < nr; i++)
		json_u64(j, use(&t->strings, frame(t, i)->name));
	json_array_end(j);
	for (u32 k = 0; k < 2; k++) {
		column(j, k ? "relevantForJS" : "isJS");
		for (u32 i = 0; i < nr; i++)
			json_bool(j, false);
		json_array_end(j);
	}
	column(j, "resource");
	for (u32 i = 0; i < nr; i++)
		json_s64(j, frame(t, i)->module ? (s64)use(&t->modules, frame(t, i)->module) : -1);
	json_array_end(j);
	column(j, "fileName");
	for (u32 i = 0; i < nr; i++) {
		if (frame(t, i)->file)
			json_u64(j, use(&t->strings, frame(t, i)->file));
		else
			json_null(j);
	}
	json_array_end(j);
	constant(j, "lineNumber", nr, 0, true);
	constant(j, "columnNumber", nr, 0, true);
	json_put_u64(j, "length", nr);
	json_object_end(j);
}

static void put_resources(struct thread *t)
{
	struct json *j = t->j;
	u32 nr = (u32)t->modules.list.nr;
	json_key(j, "resourceTable");
	json_object(j);
	constant(j, "lib", nr, 0, true);
	constant(j, "host", nr, 0, true);
	constant(j, "type", nr, RESOURCE_LIBRARY, false);
	column(j, "name");
	for (u32 i = 0; i < nr; i++)
		json_u64(j, use(&t->strings, t->modules.list.at[i]));
	json_array_end(j);
	json_put_u64(j, "length", nr);
	json_object_end(j);
}

/* Tables that are always empty here. */
static void put_empty(struct json *j, const char *name, const char *const *columns)
{
	json_key(j, name);
	json_object(j);
	for (; *columns; columns++) {
		column(j, *columns);
		json_array_end(j);
	}
	json_put_u64(j, "length", 0);
	json_object_end(j);
}

static void put_thread(struct thread *t)
{
	static const char *const markers[] = { "data",	"name",	    "startTime", "endTime",
					       "phase", "category", NULL };
	static const char *const symbols[] = { "libIndex", "address", "name", "functionSize", NULL };
	struct json *j = t->j;
	const struct flame_task *task = &t->f->tasks.at[t->t->task];
	struct strbuf text;
	strbuf_init(&text);
	json_object(j);
	export_thread_name(t->f, t->t, &text);
	json_put_str(j, "name", strbuf_cstr(&text));
	json_put_str(j, "processName", flame_str(t->f, task->comm));
	json_put_str(j, "processType", "default");
	strbuf_reset(&text);
	strbuf_s64(&text, task->pid);
	json_put_str(j, "pid", strbuf_cstr(&text));
	json_put_s64(j, "tid", task->tid);
	json_put_bool(j, "isMainThread", task->pid == task->tid);
	json_put_u64(j, "processStartupTime", 0);
	json_key(j, "processShutdownTime");
	json_null(j);
	json_put_u64(j, "registerTime", 0);
	json_key(j, "unregisterTime");
	json_null(j);
	column(j, "pausedRanges");
	json_array_end(j);
	put_samples(t);
	put_stacks(t);
	put_frames(t);
	put_funcs(t);
	put_resources(t);
	put_empty(j, "markers", markers);
	put_empty(j, "nativeSymbols", symbols);
	column(j, "stringArray");
	vec_for_each (&t->strings.list, id)
		json_str(j, flame_str(t->f, *id));
	json_array_end(j);
	json_object_end(j);
	strbuf_done(&text);
}

static int put_threads(struct thread *t)
{
	u32 *starts = NULL, *order = NULL;
	int err = export_by_tree(t->f, &starts, &order);
	for (u32 i = 0; i < t->f->trees.nr && !err; i++) {
		t->t = &t->f->trees.at[i];
		t->points = order + starts[i];
		t->nr = starts[i + 1] - starts[i];
		used_reset(&t->frames);
		used_reset(&t->modules);
		used_reset(&t->strings);
		put_thread(t);
		err = t->j->to->err;
	}
	free(starts);
	free(order);
	return err;
}

int export_firefox(const struct flame *f, const struct export_opts *o, struct strbuf *to)
{
	struct json j;
	struct thread t = { .j = &j, .f = f };
	t.frames.at = calloc(f->frames.nr + 1, sizeof(u32));
	t.modules.at = calloc((size_t)f->strings.nr + 1, sizeof(u32));
	t.strings.at = calloc((size_t)f->strings.nr + 1, sizeof(u32));
	/* All the room that will be needed, so that use() cannot fail. */
	int err = t.frames.at && t.modules.at && t.strings.at &&
				  vec_reserve(&t.frames.list, f->frames.nr + 1) &&
				  vec_reserve(&t.modules.list, (size_t)f->strings.nr + 1) &&
				  vec_reserve(&t.strings.list, (size_t)f->strings.nr + 1)
			  ? 0
			  : -ENOMEM;
	if (!err) {
		json_begin(&j, to, JSON_COMPACT);
		json_object(&j);
		put_meta(&j, f, o);
		column(&j, "libs");
		json_array_end(&j);
		column(&j, "threads");
		err = put_threads(&t);
		json_array_end(&j);
		json_object_end(&j);
		int end = json_end(&j);
		err = err ? err : end;
	}
	free(t.frames.at);
	free(t.modules.at);
	free(t.strings.at);
	vec_free(&t.frames.list);
	vec_free(&t.modules.list);
	vec_free(&t.strings.list);
	return err;
}

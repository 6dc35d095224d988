#include "stream/ftrace_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES_MAX = 1 << 14, MAPS_MAX = 1 << 20 };

static s64 add_image(struct catalog *c, struct image_info info)
{
	struct image_info *i = vec_push(&c->images);
	if (!i)
		return -ENOMEM;
	*i = info;
	return (s64)c->images.nr - 1;
}

/* Notes the image of a name: one that a file before had, or the next one to be made. */
static int note_image(struct ftrace_frames *f, bool modules, u64 id, u32 *ret)
{
	u32 image = DICT_NONE;
	for (const struct ftrace_frames *b = f->before; b && image == DICT_NONE; b = b->before)
		image = dict_get(modules ? &b->modules : &b->paths, id);
	return dict_add(modules ? &f->modules : &f->paths, id,
			image == DICT_NONE ? (u32)f->catalog->images.nr : image, ret);
}

static int add_module(void *ctx, const char *name, size_t len)
{
	struct ftrace_frames *f = ctx;
	s64 id = strtab_add(&f->catalog->strings, name, len);
	u32 got, fresh = (u32)f->catalog->images.nr;
	/* "bpf" and "__builtin__kprobes" are no modules: what they name came and went, and belongs to the kernel. */
	if (id < 0 || (len == 3 && !memcmp(name, "bpf", 3)) ||
	    (len > 2 && !memcmp(name, "__", 2)) || f->modules.nr >= MODULES_MAX)
		return id < 0 ? (int)id : 0;
	int err = note_image(f, true, (u64)id, &got);
	if (err || got != fresh)
		return err;
	char *path = arena_alloc(&f->catalog->arena, len + 3);
	if (!path)
		return -ENOMEM;
	path[0] = '[';
	memcpy(path + 1, name, len);
	memcpy(path + 1 + len, "]", 2);
	s64 image = add_image(
		f->catalog,
		(struct image_info){ .kind = IMAGE_KIND_MODULE, .path = path, .name = path });
	return image < 0 ? (int)image : 0;
}

/* ---- maps of processes ---- */

struct text {
	const char *at, *end;
};

static bool take_hex(struct text *t, u64 *ret)
{
	const char *start = t->at;
	u64 v = 0;
	for (; t->at < t->end && strchr("0123456789abcdef", *t->at) && *t->at; t->at++)
		v = v << 4 | (u64)(*t->at <= '9' ? *t->at - '0' : *t->at - 'a' + 10);
	bool any = t->at > start && t->at < t->end && *t->at == ' ';
	t->at += any;
	*ret = v;
	return any;
}

/* The rest of the line. */
static const char *take_rest(struct text *t, size_t *len)
{
	const char *start = t->at;
	while (t->at < t->end && *t->at && *t->at != '\n')
		t->at++;
	*len = (size_t)(t->at - start);
	t->at += t->at < t->end;
	return start;
}

static s64 image_of_path(struct ftrace_frames *f, const char *path, size_t len)
{
	s64 id = strtab_add(&f->catalog->strings, path, len);
	u32 got, fresh = (u32)f->catalog->images.nr;
	int err = id < 0 ? (int)id : note_image(f, false, (u64)id, &got);
	if (err || got != fresh)
		return err ? err : (s64)got;
	const char *kept = strtab_str(&f->catalog->strings, (u32)id), *slash = strrchr(kept, '/');
	return add_image(f->catalog,
			 (struct image_info){
				 .kind = *kept == '/' ? IMAGE_KIND_FILE : IMAGE_KIND_ANON,
				 .path = kept,
				 .name = slash && slash[1] ? slash + 1 : kept,
			 });
}

static int by_image(const void *pa, const void *pb)
{
	const struct ftrace_map *a = pa, *b = pb;
	if (a->tgid != b->tgid)
		return a->tgid < b->tgid ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int by_place(const void *pa, const void *pb)
{
	const struct ftrace_map *a = pa, *b = pb;
	if (a->tgid != b->tgid)
		return a->tgid < b->tgid ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void find_bases(struct ftrace_frames *f)
{
	struct ftrace_map *m = f->maps.at;
	if (!f->maps.nr)
		return;
	qsort(m, f->maps.nr, sizeof(*m), by_image);
	for (size_t i = 0; i < f->maps.nr; i++)
		m[i].base = i && m[i - 1].tgid == m[i].tgid && m[i - 1].image == m[i].image
				    ? m[i - 1].base
				    : m[i].start;
	qsort(m, f->maps.nr, sizeof(*m), by_place);
}

/* "PID NUMBER COMMAND", then "START END PATH" a line, numbers in hex. */
static int read_maps(struct ftrace_frames *f, struct tracedat_text body)
{
	struct text t = { body.data, body.data + body.len };
	u64 pid, nr;
	size_t len;
	if (!take_hex(&t, &pid) || !take_hex(&t, &nr))
		return 0;
	(void)take_rest(&t, &len);
	while (nr-- && t.at < t.end && f->maps.nr < MAPS_MAX) {
		struct ftrace_map m = { .tgid = (s32)pid };
		if (!take_hex(&t, &m.start) || !take_hex(&t, &m.end) || m.end <= m.start)
			return 0;
		const char *path = take_rest(&t, &len);
		s64 image = image_of_path(f, path, len);
		struct ftrace_map *kept = image < 0 ? NULL : vec_push(&f->maps);
		if (!kept)
			return -ENOMEM;
		m.image = (u32)image;
		*kept = m;
	}
	return 0;
}

int ftrace_frames_init(struct ftrace_frames *f, const struct ftrace_frames *before,
		       struct catalog *c, struct ftrace_env *env, const struct tracedat *file)
{
	*f = (struct ftrace_frames){ .catalog = c, .env = env, .before = before };
	dict_init(&f->modules);
	dict_init(&f->paths);
	s64 kernel = before ? (s64)before->kernel
			    : add_image(c, (struct image_info){ .kind = IMAGE_KIND_KERNEL,
								.path = "[kernel.kallsyms]",
								.name = "[kernel.kallsyms]" });
	if (kernel < 0)
		return (int)kernel;
	f->kernel = (u32)kernel;
	int err = ftrace_env_modules(env, add_module, f);
	vec_for_each (&file->options, o)
		if (!err && o->id == OPTION_PROCMAPS)
			err = read_maps(f, o->body);
	find_bases(f);
	return err;
}

void ftrace_frames_done(struct ftrace_frames *f)
{
	dict_done(&f->modules);
	dict_done(&f->paths);
	vec_free(&f->maps);
}

static const struct ftrace_map *map_of(const struct ftrace_frames *f, s32 tgid, u64 addr)
{
	size_t low = 0, high = f->maps.nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct ftrace_map *m = &f->maps.at[mid];
		if (m->tgid < tgid || (m->tgid == tgid && m->start <= addr))
			low = mid + 1;
		else
			high = mid;
	}
	const struct ftrace_map *m = low ? &f->maps.at[low - 1] : NULL;
	return m && m->tgid == tgid && addr < m->end ? m : NULL;
}

static u32 kernel_image(const struct ftrace_frames *f, u64 addr)
{
	const char *module = ftrace_env_module(f->env, addr);
	s64 id = module ? strtab_find(&f->catalog->strings, module, strlen(module)) : -1;
	u32 image = id < 0 ? DICT_NONE : dict_get(&f->modules, (u64)id);
	return image == DICT_NONE ? f->kernel : image;
}

s64 ftrace_frames_add(const struct ftrace_frames *f, struct frame_table *t, struct dict *known,
		      u64 addr, enum frame_mode mode, s32 tgid)
{
	struct frame frame = { .offset = addr, .mode = mode };
	u32 got = mode == FRAME_KERNEL ? dict_get(known, addr) : DICT_NONE;
	if (got != DICT_NONE)
		return got;
	if (mode == FRAME_KERNEL) {
		frame.image = kernel_image(f, addr);
	} else {
		const struct ftrace_map *m = map_of(f, tgid, addr);
		if (m) {
			frame.image = m->image;
			if (f->catalog->images.at[m->image].kind == IMAGE_KIND_FILE)
				frame.offset = addr - m->base;
		}
	}
	s64 id = frame_table_add(t, frame);
	if (id < 0 || mode != FRAME_KERNEL)
		return id;
	int err = dict_add(known, addr, (u32)id, &got);
	return err ? err : id;
}

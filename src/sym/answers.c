#include "sym/answers.h"
#include "base/dict.h"
#include "base/guard.h"
#include "base/atomic_file.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 1 << 20, INLINES_MAX = 1 << 22, STRINGS_MAX = 256 << 20, DEPTH_MAX = 256 };

static const char magic[8] = "sondeN1";

struct answers_head {
	char magic[8];
	u32 style, want;
	u32 nr, nr_inlines;
	u64 strings_size;
	u64 sum; /* of what follows */
};

_Static_assert(sizeof(struct answers_head) == ANSWERS_HEAD, "the head");

void answers_sum(void *data, size_t size)
{
	u64 sum = hash_bytes((u8 *)data + sizeof(struct answers_head),
			     size - sizeof(struct answers_head));
	memcpy((u8 *)data + offsetof(struct answers_head, sum), &sum, sizeof(sum));
}

/* ---- reading ---- */

static bool path_of(char to[PATH_MAX], const struct answers_key *k)
{
	char hex[BUILDID_TEXT];
	if (!k->folder || !k->files[0].ino || buildid_text(&k->id, hex) < 4)
		return false;
	int n = snprintf(to, PATH_MAX, "%s/names/%s-%016llx-%u%u", k->folder, hex,
			 (unsigned long long)hash_bytes(k->files, sizeof(k->files)),
			 (unsigned)k->style, k->want);
	return n > 0 && n < PATH_MAX;
}

static bool spot_good(const struct answers *a, const struct answers_spot *s)
{
	return s->file < a->strings_size && s->outer_file < a->strings_size && s->nr <= DEPTH_MAX &&
	       s->first <= a->nr_inlines && s->nr <= a->nr_inlines - s->first;
}

static bool all_good(const struct answers *a)
{
	for (u32 i = 0; i < a->nr; i++) {
		const struct answers_entry *e = &a->entries[i];
		if (e->name >= a->strings_size || (i && e->at <= a->entries[i - 1].at) ||
		    !spot_good(a, &e->spots[0]) || !spot_good(a, &e->spots[1]))
			return false;
	}
	for (u32 i = 0; i < a->nr_inlines; i++)
		if (a->inlines[i].name >= a->strings_size || !a->inlines[i].name ||
		    a->inlines[i].file >= a->strings_size)
			return false;
	return !a->strings[0] && !a->strings[a->strings_size - 1];
}

int answers_open_bytes(struct answers *a, const void *data, size_t size, const struct answers_key *k)
{
	struct answers_head h;
	*a = (struct answers){ 0 };
	if (size < sizeof(h))
		return -EBADMSG;
	memcpy(&h, data, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)) || h.style != (u32)k->style ||
	    h.want != k->want || h.nr > ENTRIES_MAX || h.nr_inlines > INLINES_MAX ||
	    !h.strings_size || h.strings_size > STRINGS_MAX)
		return -EBADMSG;
	size_t entries = h.nr * sizeof(struct answers_entry);
	size_t inlines = h.nr_inlines * sizeof(struct answers_inline);
	if (size != sizeof(h) + entries + inlines + h.strings_size)
		return -EBADMSG;
	const u8 *at = (const u8 *)data + sizeof(h);
	struct answers got = { .entries = (const void *)at,
			       .inlines = (const void *)(at + entries),
			       .strings = (const char *)(at + entries + inlines),
			       .nr = h.nr,
			       .nr_inlines = h.nr_inlines,
			       .strings_size = h.strings_size };
	if (hash_bytes(at, size - sizeof(h)) != h.sum || !all_good(&got))
		return -EBADMSG;
	*a = got;
	return 0;
}

int answers_open(struct answers *a, const struct answers_key *k)
{
	char path[PATH_MAX];
	*a = (struct answers){ 0 };
	void *data;
	size_t size;
	int err = path_of(path, k)
			  ? atomic_file_map_keyed(path, k->files, sizeof(k->files), &data, &size)
			  : -ENOENT;
	if (err)
		return err;
	err = answers_open_bytes(a, data, size, k);
	if (err) {
		guard_unmap(data, size + sizeof(k->files));
		return err;
	}
	a->mapped = data;
	a->mapped_size = size + sizeof(k->files);
	return 0;
}

static bool is_trusted(const struct elfimg_identity *f)
{
	return !f->ino || !f->owner || f->owner == geteuid();
}

/* The key at the end of a file says what it was made from. */
static int open_if_trusted(struct answers *a, const struct answers_key *k, const char *path)
{
	struct elfimg_identity files[ARRAY_SIZE(k->files)];
	void *data;
	size_t size;
	int err = atomic_file_map(path, &data, &size);
	if (err)
		return err;
	err = size < sizeof(files) ? -EBADMSG : 0;
	if (!err)
		memcpy(files, (u8 *)data + size - sizeof(files), sizeof(files));
	for (size_t i = 0; i < ARRAY_SIZE(files) && !err; i++)
		err = is_trusted(&files[i]) ? 0 : -EPERM;
	if (!err)
		err = answers_open_bytes(a, data, size - sizeof(files), k);
	if (err) {
		guard_unmap(data, size);
		return err;
	}
	a->mapped = data;
	a->mapped_size = size;
	return 0;
}

int answers_open_trusted(struct answers *a, const struct answers_key *k, u32 n)
{
	char hex[BUILDID_TEXT], path[PATH_MAX];
	*a = (struct answers){ 0 };
	if (!k->folder || buildid_text(&k->id, hex) < 4 ||
	    snprintf(path, sizeof(path), "%s/names", k->folder) >= (int)sizeof(path))
		return -ENOENT;
	DIR *d = opendir(path);
	int err = -ENOENT;
	for (struct dirent *e; d && err && (e = readdir(d));) {
		size_t len = strlen(hex);
		if (strncmp(e->d_name, hex, len) || e->d_name[len] != '-' ||
		    snprintf(path, sizeof(path), "%s/names/%s", k->folder, e->d_name) >=
			    (int)sizeof(path) ||
		    open_if_trusted(a, k, path))
			continue;
		err = n ? -ENOENT : 0;
		if (n--)
			answers_close(a);
	}
	if (d)
		closedir(d);
	return err;
}

void answers_close(struct answers *a)
{
	if (a->mapped)
		guard_unmap(a->mapped, a->mapped_size);
	*a = (struct answers){ 0 };
}

const struct answers_entry *answers_find(const struct answers *a, u64 at)
{
	u32 lo = 0, hi = a->nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (a->entries[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < a->nr && a->entries[lo].at == at ? &a->entries[lo] : NULL;
}

const char *answers_string(const struct answers *a, u32 string)
{
	return string ? a->strings + string : NULL;
}

int answers_spot(const struct answers *a, const struct answers_spot *s, struct arena *arena,
		 struct srcline_spot *ret)
{
	*ret = (struct srcline_spot){
		.line = { answers_string(a, s->file), s->line },
		.outer = { answers_string(a, s->outer_file), s->outer_line },
		.nr = s->nr,
	};
	if (!s->nr)
		return 0;
	struct srcline_inline *list = arena_array(arena, s->nr, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (u32 i = 0; i < s->nr; i++) {
		const struct answers_inline *in = &a->inlines[s->first + i];
		list[i] = (struct srcline_inline){ answers_string(a, in->name),
						   { answers_string(a, in->file), in->line } };
	}
	ret->inlines = list;
	return 0;
}

/* ---- writing ---- */

struct answers_writer {
	VEC(struct answers_entry) entries;
	VEC(struct answers_inline) inlines;
	struct strbuf strings;
	struct strtab seen; /* strings by text */
	VEC(u32) at; /* [id] -> place in strings */
	bool failed;
};

static u32 put_string(struct answers_writer *w, const char *s)
{
	if (!s || !*s || w->failed)
		return 0;
	u32 before = w->seen.nr;
	s64 id = strtab_add(&w->seen, s, strlen(s));
	while (id >= 0 && w->at.nr <= (size_t)id && !w->failed)
		w->failed = !vec_push(&w->at);
	if (id < 0 || w->failed || w->strings.len > STRINGS_MAX / 2) {
		w->failed = true;
		return 0;
	}
	if ((u32)id >= before || !w->at.at[id]) {
		w->at.at[id] = (u32)w->strings.len;
		strbuf_add(&w->strings, s, strlen(s) + 1);
	}
	return w->at.at[id];
}

static struct answers_spot put_spot(struct answers_writer *w, const struct srcline_spot *s)
{
	struct answers_spot to = {
		.file = put_string(w, s->line.file),
		.line = s->line.line,
		.outer_file = put_string(w, s->outer.file),
		.outer_line = s->outer.line,
		.first = (u32)w->inlines.nr,
		.nr = min(s->nr, (u32)DEPTH_MAX),
	};
	for (u32 i = 0; i < to.nr; i++) {
		struct answers_inline *in = vec_push(&w->inlines);
		if (!in || w->inlines.nr > INLINES_MAX) {
			w->failed = true;
			break;
		}
		*in = (struct answers_inline){ put_string(w, s->inlines[i].name),
					       put_string(w, s->inlines[i].line.file),
					       s->inlines[i].line.line };
		if (!in->name)
			w->failed = true;
	}
	return to;
}

static void put_new(struct answers_writer *w, const struct answers_new *n)
{
	struct answers_entry e = { .at = n->at, .start = n->start, .end = n->end };
	e.name = put_string(w, n->name);
	for (int i = 0; i < 2 && n->spots; i++)
		e.spots[i] = put_spot(w, &n->spots[i]);
	struct answers_entry *to = vec_push(&w->entries);
	if (to)
		*to = e;
	else
		w->failed = true;
}

static void put_old(struct answers_writer *w, const struct answers *a,
		    const struct answers_entry *old)
{
	struct srcline_spot spots[2];
	struct arena arena;
	arena_init(&arena);
	for (int i = 0; i < 2; i++)
		if (answers_spot(a, &old->spots[i], &arena, &spots[i]))
			w->failed = true;
	if (!w->failed)
		put_new(w, &(struct answers_new){ .at = old->at,
						  .start = old->start,
						  .end = old->end,
						  .name = answers_string(a, old->name),
						  .spots = spots });
	arena_done(&arena);
}

/* Both lists are sorted; the new answer wins. */
static void put_all(struct answers_writer *w, const struct answers *before,
		    const struct answers_new *list, u32 nr)
{
	u32 old = 0;
	for (u32 i = 0; i < nr && !w->failed; i++) {
		for (; old < before->nr && before->entries[old].at <= list[i].at; old++)
			if (before->entries[old].at < list[i].at)
				put_old(w, before, &before->entries[old]);
		put_new(w, &list[i]);
	}
	for (; old < before->nr && !w->failed; old++)
		put_old(w, before, &before->entries[old]);
}

static int write_file(const struct answers_key *k, const void *data, size_t size)
{
	char path[PATH_MAX];
	return path_of(path, k)
		       ? atomic_file_save_keyed(path, data, size, k->files, sizeof(k->files))
		       : -ENOENT;
}

static int write_answers(const struct answers_writer *w, const struct answers_key *k)
{
	struct strbuf out;
	strbuf_init(&out);
	struct answers_head h = { .style = (u32)k->style,
				  .want = k->want,
				  .nr = (u32)w->entries.nr,
				  .nr_inlines = (u32)w->inlines.nr,
				  .strings_size = w->strings.len };
	memcpy(h.magic, magic, sizeof(magic));
	strbuf_add(&out, &h, sizeof(h));
	strbuf_add(&out, w->entries.at, w->entries.nr * sizeof(*w->entries.at));
	if (w->inlines.nr)
		strbuf_add(&out, w->inlines.at, w->inlines.nr * sizeof(*w->inlines.at));
	strbuf_add(&out, w->strings.data, w->strings.len);
	int err = out.err;
	if (!err) {
		answers_sum(out.data, out.len);
		err = write_file(k, out.data, out.len);
	}
	strbuf_done(&out);
	return err;
}

int answers_save(const struct answers_key *k, const struct answers *before,
		 const struct answers_new *list, u32 nr)
{
	if (!nr || nr > ENTRIES_MAX)
		return -E2BIG;
	static const struct answers none;
	if (before->nr + nr > ENTRIES_MAX)
		before = &none;
	struct answers_writer w = { 0 };
	strbuf_init(&w.strings);
	strtab_init(&w.seen);
	strbuf_char(&w.strings, '\0');
	put_all(&w, before, list, nr);
	int err = w.failed || w.strings.err ? -ENOMEM : write_answers(&w, k);
	strbuf_done(&w.strings);
	strtab_done(&w.seen);
	vec_free(&w.entries);
	vec_free(&w.inlines);
	vec_free(&w.at);
	return err;
}

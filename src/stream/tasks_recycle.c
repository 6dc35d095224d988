/* What tasks and maps refer to in the catalogue, when that starts over (model/source.h). */
#include "model/source.h"
#include "stream/tasks_impl.h"

#include <errno.h>
#include <string.h>

static int move_string(struct carry *c, u32 *id)
{
	s64 got = carry_string(c, *id);
	if (got >= 0)
		*id = (u32)got;
	return got < 0 ? (int)got : 0;
}

static int move_image(struct carry *c, u32 *id)
{
	s64 got = carry_image(c, *id);
	if (got >= 0)
		*id = (u32)got;
	return got < 0 ? (int)got : 0;
}

static int move_events(struct tasks *t, struct carry *c)
{
	int err = 0;
	for (size_t i = 0; i < t->events.nr && !err; i++) {
		err = move_string(c, &t->events.at[i].name);
		if (!err)
			err = move_image(c, &t->events.at[i].image);
	}
	return err;
}

static int move_answers(struct tasks *t, struct carry *c)
{
	int err = 0;
	vec_for_each (&t->comms, l)
		for (size_t i = 0; i < l->changes.nr && !err; i++)
			err = move_string(c, &l->changes.at[i].value);
	vec_for_each (&t->spaces, s)
		for (size_t i = 0; i < s->maps.nr && !err; i++)
			err = move_image(c, &s->maps.at[i].image);
	return err;
}

/* Of those that live: nobody asks any more what the others were called last. */
static int move_last_comms(struct tasks *t, struct carry *c)
{
	struct dict *old = &t->catalog->last_comm, fresh;
	int err = 0;
	dict_init(&fresh);
	for (u32 i = 0; old->slots && i <= old->mask && !err; i++) {
		struct dict_slot s = old->slots[i];
		if (s.value == DICT_NONE || dict_get(&t->comm_of, s.key) == DICT_NONE)
			continue;
		err = move_string(c, &s.value);
		if (!err)
			err = dict_put(&fresh, s.key, s.value);
	}
	if (err) {
		dict_done(&fresh);
		return err;
	}
	dict_done(old);
	*old = fresh;
	return 0;
}

/* By what images are found when they are mapped again: those that somebody wants. */
static int index_images(struct tasks *t, struct carry *c)
{
	VEC(struct image_key) keys = { 0 };
	int err = vec_reserve(&keys, c->images.nr) ? 0 : -ENOMEM;
	dict_done(&t->image_of);
	dict_init(&t->image_of);
	dict_done(&t->path_of);
	dict_init(&t->path_of);
	vec_free(&t->next_same);
	if (!err)
		memset(keys.at, 0, c->images.nr * sizeof(*keys.at));
	keys.nr = c->images.nr;
	for (u32 old = 1; old < t->keys.nr && !err; old++) {
		u32 image = c->image_ids[old], got;
		struct image_key key = t->keys.at[old];
		if (!image)
			continue;
		err = move_string(c, &key.path);
		if (!err)
			err = dict_add(&t->image_of,
				       tasks_image_hash(&key, c->images.at[image].kind), image,
				       &got);
		if (!err)
			err = tasks_note_path(t, key.path, image);
		if (!err)
			keys.at[image] = key;
	}
	vec_free(&t->keys);
	memcpy(&t->keys, &keys, sizeof(t->keys));
	return err;
}

/* What is left of each guest's kernel: its images refer to the first of them. */
static int regroup_guests(struct tasks *t, struct carry *c)
{
	int err = 0;
	dict_done(&t->guest_image_of);
	dict_init(&t->guest_image_of);
	for (u32 image = 1; image < c->images.nr && !err; image++) {
		struct image_info *info = &c->images.at[image];
		if (info->guest)
			err = dict_add(&t->guest_image_of, info->pid, image, &info->guest);
	}
	return err;
}

int tasks_recycle(struct tasks *t, struct carry *c)
{
	int err = move_events(t, c);
	if (!err)
		err = move_answers(t, c);
	if (!err)
		err = move_last_comms(t, c);
	if (!err)
		err = regroup_guests(t, c);
	return err ? err : index_images(t, c);
}

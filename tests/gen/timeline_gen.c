/*
 * Writes a timeline page of a text: timeline_gen TITLE PID < TEXT > PAGE. Times are microseconds; slices of a thread follow each other from 0.
 *
 *	thread TID PID COMM
 *	TID run CPU LENGTH
 *	TID ready CPU LENGTH
 *	TID block LETTER LENGTH WAKER WHERE     WAKER: a TID that has a line of its own before; 0: nobody
 *	TID sample AT EVENT WHERE
 *	gap CPU FROM LENGTH EVENTS
 *	many N                                  two threads more, between which CPU 0 switches so often
 */
#include "view/html_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct story {
	struct timeline t;
	VEC(u64) ends; /* [track] */
};

static u32 keep(struct story *s, const char *text)
{
	s64 id = strtab_add(&s->t.strings, text, strlen(text));
	if (id < 0)
		exit(1);
	return (u32)id;
}

static u32 track_of(struct story *s, s32 tid)
{
	for (u32 i = 0; i < s->t.tracks.nr; i++)
		if (s->t.tracks.at[i].tid == tid)
			return i;
	return TIMELINE_NONE;
}

static u32 add_track(struct story *s, s32 tid, s32 pid, const char *comm)
{
	*vec_push(&s->t.tracks) = (struct timeline_track){
		.tid = tid, .pid = pid, .parent = -1, .comm = keep(s, comm)
	};
	*vec_push(&s->ends) = 0;
	return (u32)s->t.tracks.nr - 1;
}

static struct timeline_slice *add_slice(struct story *s, u32 track, unsigned state, u64 ns)
{
	struct timeline_slice *n = vec_push(&s->t.slices);
	if (!n)
		exit(1);
	*n = (struct timeline_slice){ .from_ns = s->t.first_ns + s->ends.at[track],
				      .to_ns = s->t.first_ns + s->ends.at[track] + ns,
				      .track = track,
				      .cause = TIMELINE_NONE,
				      .state = (u8)state };
	s->ends.at[track] += ns;
	s->t.last_ns = max(s->t.last_ns, n->to_ns);
	return n;
}

static void many(struct story *s, u64 nr)
{
	enum { TURN = 5000 };
	u32 two[] = { add_track(s, 9001, 9000, "ping"), add_track(s, 9002, 9000, "pong") };
	for (u64 i = 0; i < nr; i++) {
		add_slice(s, two[i & 1], TIMELINE_RUNNING, TURN);
		struct timeline_slice *b = add_slice(s, two[~i & 1], TIMELINE_BLOCKED, TURN - 1000);
		b->letter = 'S';
		b->cause = two[i & 1];
		add_slice(s, two[~i & 1], TIMELINE_READY, 1000);
	}
	s->t.nr_switches += nr;
}

static void line(struct story *s, const char *text)
{
	char word[64], name[256] = "";
	s32 tid, pid, by, cpu;
	unsigned long long us, len, nr;
	if (sscanf(text, "thread %d %d %255s", &tid, &pid, name) == 3) {
		add_track(s, tid, pid, name);
	} else if (sscanf(text, "forked %d %d", &tid, &by) == 2) {
		s->t.tracks.at[track_of(s, tid)].parent = by;
	} else if (sscanf(text, "many %llu", &nr) == 1) {
		many(s, nr);
	} else if (sscanf(text, "gap %d %llu %llu %llu", &cpu, &us, &len, &nr) == 4) {
		*vec_push(&s->t.gaps) =
			(struct timeline_gap){ .cpu = cpu,
					       .from_ns = s->t.first_ns + us * 1000,
					       .to_ns = s->t.first_ns + (us + len) * 1000,
					       .nr = (u32)nr };
		s->t.nr_lost += nr;
	} else if (sscanf(text, "%d %63s", &tid, word) == 2 && track_of(s, tid) != TIMELINE_NONE) {
		u32 track = track_of(s, tid);
		const char *rest = strstr(text, word) + strlen(word);
		char letter;
		if (sscanf(rest, " %llu %255s %n", &us, name, &cpu) == 2 && !strcmp(word, "sample"))
			*vec_push(&s->t.instants) =
				(struct timeline_instant){ .time_ns = s->t.first_ns + us * 1000,
							   .track = track,
							   .event = keep(s, name),
							   .where = keep(s, rest + cpu) };
		else if (sscanf(rest, " %c %llu %d %n", &letter, &len, &by, &cpu) == 3 &&
			 !strcmp(word, "block")) {
			u32 where = keep(s, rest + cpu);
			struct timeline_slice *b = add_slice(s, track, TIMELINE_BLOCKED, len * 1000);
			b->letter = letter;
			b->where = where;
			b->cause = by ? track_of(s, by) : TIMELINE_NONE;
		} else if (sscanf(rest, " %d %llu", &cpu, &len) == 2)
			add_slice(s, track, !strcmp(word, "run") ? TIMELINE_RUNNING : TIMELINE_READY,
				  len * 1000)
				->cpu = cpu;
	}
}

int main(int argc, char **argv)
{
	struct story s = { 0 };
	struct strbuf page;
	char text[512];
	if (argc != 3 && argc != 4)
		return 2;
	timeline_init(&s.t);
	s.t.first_ns = s.t.last_ns = 5000000000;
	s.t.nr_cpus = 2;
	s.t.host = keep(&s, "testhost");
	while (fgets(text, sizeof(text), stdin)) {
		text[strcspn(text, "\n")] = '\0';
		line(&s, text);
	}
	strbuf_init(&page);
	int err = timeline_sort(&s.t);
	if (!err)
		err = html_timeline(
			&s.t,
			&(struct html_timeline_opts){ .title = argv[1],
						      .pid = atoi(argv[2]),
						      .family = argc > 3 ? atoi(argv[3]) : 0 },
			&page);
	if (!err && fwrite(page.data, 1, page.len, stdout) != page.len)
		err = -EIO;
	strbuf_done(&page);
	timeline_done(&s.t);
	vec_free(&s.ends);
	return err ? 1 : 0;
}

#include "view/svg_timeline.h"
#include "view/markup.h"

#include <errno.h>
#include <string.h>

enum { ROW = 20, BAR = 14, TOP = 64, BOTTOM = 12, LABEL = 180, SIDE = 10, NAME_MAX_BYTES = 24 };

/* What of a pixel's time was spent how: from the bottom of the bar to its top. */
enum svg_part { PART_RUNNING, PART_READY, PART_DISK, PART_ASLEEP, NR_PARTS };
static const struct {
	const char *class, *text, *fill;
} parts[] = {
	[PART_RUNNING] = { "sample", "running", "#0072b2" },
	[PART_READY] = { "waiting", "waiting for a CPU", "#e69f00" },
	[PART_DISK] = { "blocked", "uninterruptible (D)", "#b0468e" },
	[PART_ASLEEP] = { "process", "sleeping", "#dfe4e9" },
};

struct timeline_svg {
	const struct timeline *t;
	const struct svg_timeline_opts *o;
	struct strbuf *to;
	double scale; /* pixels per nanosecond */
	float *columns; /* [pixel][part] */
	float *cpus; /* [CPU][pixel] */
	u32 y;
};

/* A stretch of time into columns of so many values each. */
static void spread(const struct timeline_svg *s, u64 from_ns, u64 to_ns, float *to, u32 stride)
{
	double a = (double)u64_less(from_ns, s->t->first_ns) * s->scale;
	double b = (double)u64_less(to_ns, s->t->first_ns) * s->scale;
	u32 last = s->o->width - 1, i = (u32)min(a, (double)last), end = (u32)min(b, (double)last);
	for (; i < end; i++) {
		to[(size_t)i * stride] += (float)(i + 1 - a);
		a = i + 1;
	}
	if (b > a)
		to[(size_t)end * stride] += (float)(b - a);
}

static enum svg_part part_of(const struct timeline_slice *n)
{
	if (n->state == TIMELINE_BLOCKED)
		return n->letter == 'D' ? PART_DISK : PART_ASLEEP;
	return n->state == TIMELINE_READY ? PART_READY : PART_RUNNING;
}

static void put_rect(struct timeline_svg *s, enum svg_part part, u32 from, u32 to, u32 above,
		     u32 high)
{
	strbuf_printf(s->to, "<rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/>\n",
		      parts[part].class, LABEL + from, s->y + BAR - above - high, to - from, high);
}

/* How high each part is: what is there at all has a pixel. */
static void heights(const float *column, u32 *ret)
{
	u32 room = BAR;
	for (enum svg_part p = 0; p < NR_PARTS; p++) {
		float share = min(column[p], 1.0f);
		u32 high = share > 0 ? max((u32)(share * BAR + 0.5f), 1u) : 0;
		if (p == PART_ASLEEP && high)
			high = room == BAR ? BAR / 4 : 0;
		ret[p] = min(high, room);
		room -= ret[p];
	}
}

static void put_columns(struct timeline_svg *s)
{
	u32 since = 0, now[NR_PARTS], last[NR_PARTS];
	for (u32 i = 0; i <= s->o->width; i++) {
		if (i < s->o->width)
			heights(&s->columns[(size_t)i * NR_PARTS], now);
		if (i && i < s->o->width && !memcmp(now, last, sizeof(now)))
			continue;
		u32 above = 0;
		for (enum svg_part p = 0; i && p < NR_PARTS; p++) {
			if (last[p])
				put_rect(s, p, since, i, above, last[p]);
			above += last[p];
		}
		since = i;
		memcpy(last, now, sizeof(now));
	}
}

static void put_label(struct timeline_svg *s, const char *name, s64 number, bool marked)
{
	size_t len = strlen(name), cut = min(len, (size_t)NAME_MAX_BYTES);
	/* A cut may not fall inside of a character. */
	while (cut < len && cut && ((unsigned char)name[cut] & 0xc0) == 0x80)
		cut--;
	strbuf_printf(s->to, "<text x=\"%u\" y=\"%u\"%s>", SIDE, s->y + BAR - 3,
		      marked ? " font-weight=\"bold\"" : "");
	markup_text(name, cut, s->to);
	strbuf_printf(s->to, " %lld</text>\n", (long long)number);
}

static void put_cpu(struct timeline_svg *s, u32 cpu)
{
	const float *busy = &s->cpus[(size_t)cpu * s->o->width];
	memset(s->columns, 0, sizeof(*s->columns) * NR_PARTS * s->o->width);
	for (u32 i = 0; i < s->o->width; i++)
		s->columns[(size_t)i * NR_PARTS + PART_RUNNING] = busy[i];
	put_label(s, "CPU", cpu, false);
	put_columns(s);
	s->y += ROW;
}

static void put_track(struct timeline_svg *s, u32 track)
{
	const struct timeline_track *k = &s->t->tracks.at[track];
	memset(s->columns, 0, sizeof(*s->columns) * NR_PARTS * s->o->width);
	for (u64 i = 0; i < k->nr_slices; i++) {
		const struct timeline_slice *n = &s->t->slices.at[k->first_slice + i];
		if (n->state != TIMELINE_UNKNOWN)
			spread(s, n->from_ns, n->to_ns, s->columns + part_of(n), NR_PARTS);
	}
	put_label(s, strtab_str(&s->t->strings, k->comm), k->tid,
		  s->o->marked && s->o->marked[track]);
	put_columns(s);
	s->y += ROW;
}

static void put_legend(struct timeline_svg *s)
{
	u32 x = SIDE;
	for (enum svg_part p = 0; p < NR_PARTS; p++) {
		strbuf_printf(s->to,
			      "<rect class=\"%s\" x=\"%u\" y=\"36\" width=\"11\" height=\"11\"/>"
			      "<text x=\"%u\" y=\"46\">%s</text>\n",
			      parts[p].class, x, x + 16, parts[p].text);
		x += 40 + (u32)strlen(parts[p].text) * 7;
	}
}

static void put_head(struct timeline_svg *s, u32 nr_rows)
{
	u32 wide = LABEL + s->o->width + SIDE, high = TOP + nr_rows * ROW + BOTTOM;
	strbuf_printf(s->to,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		      "viewBox=\"0 0 %u %u\" font-family=\"DejaVu Sans,Verdana,sans-serif\" "
		      "font-size=\"11\">\n<style>",
		      wide, high, wide, high);
	for (enum svg_part p = 0; p < NR_PARTS; p++)
		strbuf_printf(s->to, ".%s{fill:%s}", parts[p].class, parts[p].fill);
	strbuf_str(s->to, "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
	strbuf_printf(s->to, "<text x=\"%u\" y=\"22\" font-size=\"15\">", SIDE);
	markup_text(s->o->title, strlen(s->o->title), s->to);
	strbuf_printf(s->to, "</text>\n<text x=\"%u\" y=\"58\" text-anchor=\"end\">%.3f ms</text>\n",
		      LABEL + s->o->width, (double)u64_less(s->t->last_ns, s->t->first_ns) / 1e6);
}

static int fill_cpus(struct timeline_svg *s, u32 nr)
{
	s->cpus = calloc((size_t)nr * s->o->width + 1, sizeof(*s->cpus));
	if (!s->cpus)
		return -ENOMEM;
	vec_for_each (&s->t->slices, n)
		if (n->state == TIMELINE_RUNNING && n->cpu >= 0 && (u32)n->cpu < nr)
			spread(s, n->from_ns, n->to_ns, &s->cpus[(size_t)n->cpu * s->o->width], 1);
	return 0;
}

int svg_timeline(const struct timeline *t, const struct svg_timeline_opts *o, struct strbuf *to)
{
	u64 span = max(u64_less(t->last_ns, t->first_ns), (u64)1);
	u32 nr_cpus = o->cpus ? t->nr_cpus : 0, nr_tracks = 0;
	struct timeline_svg s = {
		.t = t, .o = o, .to = to, .scale = (double)o->width / (double)span, .y = TOP
	};
	if (nr_cpus > SVG_TIMELINE_MAX_CPUS)
		return -E2BIG;
	for (u32 i = 0; i < t->tracks.nr; i++)
		nr_tracks += o->tasks && o->wanted[i];
	s.columns = calloc((size_t)o->width * NR_PARTS, sizeof(*s.columns));
	int err = s.columns ? fill_cpus(&s, nr_cpus) : -ENOMEM;
	if (!err) {
		put_head(&s, nr_cpus + nr_tracks);
		put_legend(&s);
		for (u32 cpu = 0; cpu < nr_cpus; cpu++)
			put_cpu(&s, cpu);
		for (u32 i = 0; i < t->tracks.nr; i++)
			if (o->tasks && o->wanted[i])
				put_track(&s, i);
		strbuf_str(to, "</svg>\n");
		err = to->err;
	}
	free(s.columns);
	free(s.cpus);
	return err;
}

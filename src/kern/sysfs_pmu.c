#include "kern/sysfs_pmu.h"

#include "base/glob.h"
#include "base/num.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL_FILE = 4096 };

/* The file's text without trailing white space; NULL when it is not there or cannot be read. 0 or -ENOMEM. */
static int read_small(struct arena *a, int dir, const char *name, const char **ret)
{
	*ret = NULL;
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	char buf[SMALL_FILE];
	size_t len = 0;
	while (len < sizeof(buf)) {
		ssize_t n = read(fd, buf + len, sizeof(buf) - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return 0;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	while (len && isspace((unsigned char)buf[len - 1]))
		len--;
	if (memchr(buf, 0, len))
		return 0;
	*ret = arena_strndup(a, buf, len);
	return *ret ? 0 : -ENOMEM;
}

/* Names with numbers inside, as a person sorts them: imc_2 before imc_10. */
static int name_cmp(const char *a, const char *b)
{
	for (;;) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			char *ea, *eb;
			unsigned long long x = strtoull(a, &ea, 10), y = strtoull(b, &eb, 10);
			if (x != y)
				return x < y ? -1 : 1;
			if (ea - a != eb - b)
				return ea - a < eb - b ? -1 : 1;
			a = ea;
			b = eb;
			continue;
		}
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
		a++;
		b++;
	}
}

static int pmu_cmp(const void *a, const void *b)
{
	const struct pmu *x = a, *y = b;
	/* Kinds of cores in the kernel's order: cpu_core before cpu_atom. */
	if (x->is_core && y->is_core && x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->is_core != y->is_core)
		return x->is_core ? -1 : 1;
	return name_cmp(x->name, y->name);
}

static bool parse_u32(const char *s, u32 *ret)
{
	u64 v;
	if (!s || num_parse_u64(s, 10, &v) < 0 || v > UINT32_MAX)
		return false;
	*ret = (u32)v;
	return true;
}

static int pmu_add(struct pmu_set *s, int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	u32 type;
	const char *text, *cpus, *mask;
	if (read_small(&s->arena, fd, "type", &text) < 0 ||
	    read_small(&s->arena, fd, "cpus", &cpus) < 0 ||
	    read_small(&s->arena, fd, "cpumask", &mask) < 0)
		return -ENOMEM;
	if (!parse_u32(text, &type))
		return 0;
	struct pmu *p = vec_push(&s->pmus);
	if (!p)
		return -ENOMEM;
	p->type = type;
	p->name = arena_strdup(&s->arena, name);
	if (!p->name)
		return -ENOMEM;
	p->is_core = cpus || !strcmp(name, "cpu") || !strcmp(name, "cpum_cf");
	p->cpus = cpus ? cpus : mask;
	if (p->cpus && !*p->cpus)
		p->cpus = NULL;
	return 0;
}

static int pmu_set_read(struct pmu_set *s)
{
	DIR *d = opendir(s->path);
	if (!d) {
		s->err = -errno;
		return 0;
	}
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));)
		if (e->d_name[0] != '.')
			r = pmu_add(s, dirfd(d), e->d_name);
	(void)closedir(d);
	if (s->pmus.nr)
		qsort(s->pmus.at, s->pmus.nr, sizeof(*s->pmus.at), pmu_cmp);
	return r;
}

int pmu_set_open(struct pmu_set *s, const char *root)
{
	*s = (struct pmu_set){ 0 };
	arena_init(&s->arena);
	struct strbuf path;
	strbuf_init(&path);
	strbuf_printf(&path, "%s/sys/bus/event_source/devices", root);
	s->path = strbuf_steal(&path);
	if (!s->path)
		return -ENOMEM;
	int r = pmu_set_read(s);
	if (r < 0)
		pmu_set_close(s);
	return r;
}

void pmu_set_close(struct pmu_set *s)
{
	vec_for_each (&s->pmus, p) {
		vec_free(&p->formats);
		vec_free(&p->aliases);
		vec_free(&p->caps);
	}
	vec_free(&s->pmus);
	free(s->path);
	s->path = NULL;
	arena_done(&s->arena);
}

static bool str_is(const char *s, const char *word, size_t len)
{
	return !strncmp(s, word, len) && !s[len];
}

struct pmu *pmu_find(struct pmu_set *s, const char *name, size_t len)
{
	vec_for_each (&s->pmus, p)
		if (str_is(p->name, name, len))
			return p;
	return NULL;
}

struct pmu *pmu_find_type(struct pmu_set *s, u32 type)
{
	vec_for_each (&s->pmus, p)
		if (p->type == type)
			return p;
	return NULL;
}

struct pmu *pmu_next_core(struct pmu_set *s, const struct pmu *after)
{
	for (struct pmu *p = after ? s->pmus.at + (after - s->pmus.at) + 1 : s->pmus.at;
	     p && p < s->pmus.at + s->pmus.nr; p++)
		if (p->is_core)
			return p;
	return NULL;
}

/* Length of the name without a trailing "_NUMBER" (the name that several instances share). */
static size_t pmu_stem(const char *name)
{
	size_t len = strlen(name), at = len;
	while (at && isdigit((unsigned char)name[at - 1]))
		at--;
	return at > 1 && at < len && name[at - 1] == '_' ? at - 1 : len;
}

static bool name_matches(const char *name, const char *pattern)
{
	if (!strcmp(name, pattern))
		return true;
	if (glob_is_pattern(pattern))
		return glob_match(pattern, name);
	size_t len = strlen(pattern);
	return len && pmu_stem(name) == len && !strncmp(name, pattern, len);
}

bool pmu_matches(const struct pmu *p, const char *pattern, size_t len)
{
	char buf[128];
	if (!len || len >= sizeof(buf))
		return false;
	memcpy(buf, pattern, len);
	buf[len] = '\0';
	static const char uncore[] = "uncore_";
	bool is_uncore = !strncmp(p->name, uncore, sizeof(uncore) - 1);
	return name_matches(p->name, buf) ||
	       (is_uncore && name_matches(p->name + sizeof(uncore) - 1, buf));
}

int pmu_format_parse(const char *text, u8 *word, u64 *mask)
{
	static const char config[] = "config";
	if (strncmp(text, config, sizeof(config) - 1) != 0)
		return -EINVAL;
	text += sizeof(config) - 1;
	u8 w = 0;
	if (isdigit((unsigned char)*text))
		w = (u8)(*text++ - '0');
	if (w >= PMU_CONFIG_WORDS || *text++ != ':')
		return -EINVAL;
	u64 m = 0;
	do {
		char *end;
		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		unsigned long lo = strtoul(text, &end, 10), hi = lo;
		if (*end == '-') {
			text = end + 1;
			if (!isdigit((unsigned char)*text))
				return -EINVAL;
			hi = strtoul(text, &end, 10);
		}
		if (lo > hi || hi > 63)
			return -EINVAL;
		m |= (hi - lo == 63 ? ~0ull : (1ull << (hi - lo + 1)) - 1) << lo;
		text = end;
	} while (*text++ == ',');
	if (text[-1])
		return -EINVAL;
	*word = w;
	*mask = m;
	return 0;
}

u64 pmu_scatter(u64 mask, u64 value, bool *over)
{
	u64 out = 0;
	for (; mask; mask &= mask - 1, value >>= 1)
		if (value & 1)
			out |= mask & -mask;
	*over = value != 0;
	return out;
}

/* Calls fn for each plain file of the PMU's folder, in no order. */
static int each_file(struct pmu_set *s, struct pmu *p, const char *folder,
		     int (*fn)(struct pmu_set *, struct pmu *, int dir, const char *name))
{
	struct strbuf path;
	strbuf_init(&path);
	strbuf_printf(&path, "%s/%s/%s", s->path, p->name, folder);
	_cleanup_free_ char *name = strbuf_steal(&path);
	if (!name)
		return -ENOMEM;
	DIR *d = opendir(name);
	if (!d)
		return 0;
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));)
		if (e->d_name[0] != '.')
			r = fn(s, p, dirfd(d), e->d_name);
	(void)closedir(d);
	return r;
}

static int format_add(struct pmu_set *s, struct pmu *p, int dir, const char *name)
{
	const char *text;
	u8 word;
	u64 mask;
	if (read_small(&s->arena, dir, name, &text) < 0)
		return -ENOMEM;
	if (!text || pmu_format_parse(text, &word, &mask) < 0)
		return 0; /* a newer kernel's form: its term is then unknown, and said to be so by name */
	struct pmu_format *f = vec_push(&p->formats);
	if (!f)
		return -ENOMEM;
	*f = (struct pmu_format){
		.name = arena_strdup(&s->arena, name), .text = text, .word = word, .mask = mask
	};
	return f->name ? 0 : -ENOMEM;
}

static double parse_scale(const char *text)
{
	/* The kernel writes a dot, whatever the locale of the person. */
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!c)
		return 1;
	char *end;
	double v = strtod_l(text, &end, c);
	freelocale(c);
	return *end || end == text || !(v > 0) || v > 1e300 ? 1 : v;
}

static int alias_add(struct pmu_set *s, struct pmu *p, int dir, const char *name)
{
	const char *dot = strrchr(name, '.');
	if (dot && (!strcmp(dot, ".scale") || !strcmp(dot, ".unit") || !strcmp(dot, ".per-pkg") ||
		    !strcmp(dot, ".snapshot") || strstr(name, ".retirement_latency.")))
		return 0;
	const char *terms, *scale;
	if (read_small(&s->arena, dir, name, &terms) < 0)
		return -ENOMEM;
	if (!terms)
		return 0;
	struct pmu_alias *al = vec_push(&p->aliases);
	if (!al)
		return -ENOMEM;
	*al = (struct pmu_alias){ .name = arena_strdup(&s->arena, name), .terms = terms, .scale = 1 };
	if (!al->name)
		return -ENOMEM;
	char side[256 + 16];
	(void)snprintf(side, sizeof(side), "%s.unit", name);
	if (read_small(&s->arena, dir, side, &al->unit) < 0)
		return -ENOMEM;
	(void)snprintf(side, sizeof(side), "%s.scale", name);
	if (read_small(&s->arena, dir, side, &scale) < 0)
		return -ENOMEM;
	if (scale)
		al->scale = parse_scale(scale);
	(void)snprintf(side, sizeof(side), "%s.per-pkg", name);
	al->per_pkg = faccessat(dir, side, F_OK, AT_EACCESS) == 0;
	(void)snprintf(side, sizeof(side), "%s.snapshot", name);
	al->snapshot = faccessat(dir, side, F_OK, AT_EACCESS) == 0;
	return 0;
}

static int cap_add(struct pmu_set *s, struct pmu *p, int dir, const char *name)
{
	const char *value;
	if (read_small(&s->arena, dir, name, &value) < 0)
		return -ENOMEM;
	if (!value)
		return 0;
	struct pmu_cap *c = vec_push(&p->caps);
	if (!c)
		return -ENOMEM;
	*c = (struct pmu_cap){ .name = arena_strdup(&s->arena, name), .value = value };
	return c->name ? 0 : -ENOMEM;
}

/* All three start with the name. */
static int entry_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int pmu_load_formats(struct pmu_set *s, struct pmu *p)
{
	if (p->have_formats)
		return 0;
	p->have_formats = true;
	int r = each_file(s, p, "format", format_add);
	if (p->formats.nr)
		qsort(p->formats.at, p->formats.nr, sizeof(*p->formats.at), entry_cmp);
	return r;
}

int pmu_load_aliases(struct pmu_set *s, struct pmu *p)
{
	if (p->have_aliases)
		return 0;
	p->have_aliases = true;
	int r = each_file(s, p, "events", alias_add);
	if (p->aliases.nr)
		qsort(p->aliases.at, p->aliases.nr, sizeof(*p->aliases.at), entry_cmp);
	return r;
}

int pmu_load_caps(struct pmu_set *s, struct pmu *p)
{
	if (p->have_caps)
		return 0;
	p->have_caps = true;
	int r = each_file(s, p, "caps", cap_add);
	if (p->caps.nr)
		qsort(p->caps.at, p->caps.nr, sizeof(*p->caps.at), entry_cmp);
	return r;
}

const struct pmu_format *pmu_format_find(const struct pmu *p, const char *name, size_t len)
{
	vec_for_each (&p->formats, f)
		if (str_is(f->name, name, len))
			return f;
	return NULL;
}

const struct pmu_alias *pmu_alias_find(const struct pmu *p, const char *name, size_t len)
{
	vec_for_each (&p->aliases, al)
		if (str_is(al->name, name, len))
			return al;
	return NULL;
}

#include "stream/ftrace_env.h"

#include <errno.h>
#include <string.h>

enum { NR_RECENT = 1 << 14 };

struct ftrace_env_hit {
	u64 addr;
	const char *name; /* NULL: no symbol */
	const char *module; /* NULL: none */
	u64 offset;
};

static const char *print_symbol(void *ctx, u64 addr, u64 *offset)
{
	return ftrace_env_symbol(ctx, addr, offset);
}

static const char *print_string(void *ctx, u64 addr)
{
	return ftrace_env_string(ctx, addr);
}

static const char *print_comm(void *ctx, s32 pid)
{
	return ftrace_env_comm(ctx, pid);
}

int ftrace_env_init(struct ftrace_env *e,
		    const char *(*text)(void *, enum ftrace_env_text, size_t *), void *ctx)
{
	*e = (struct ftrace_env){
		.print = { .ctx = e,
			   .symbol = print_symbol,
			   .string_at = print_string,
			   .comm = print_comm },
		.text = text,
		.ctx = ctx,
	};
	pthread_mutex_init(&e->lock, NULL);
	arena_init(&e->arena);
	arena_init(&e->comm_arena);
	dict_init(&e->strings);
	dict_init(&e->comms);
	dict_init(&e->known);
	e->recent = calloc(NR_RECENT, sizeof(*e->recent));
	return e->recent ? 0 : -ENOMEM;
}

void ftrace_env_done(struct ftrace_env *e)
{
	if (!e->text)
		return;
	free(e->syms);
	free(e->recent);
	vec_free(&e->hits);
	dict_done(&e->known);
	free(e->string_texts);
	free(e->comm_texts);
	dict_done(&e->strings);
	dict_done(&e->comms);
	arena_done(&e->arena);
	arena_done(&e->comm_arena);
	pthread_mutex_destroy(&e->lock);
	*e = (struct ftrace_env){ 0 };
}

/* Steps over one line; *len without its end. */
static const char *next_line(const char **at, const char *end, size_t *len)
{
	const char *line = *at;
	if (line >= end)
		return NULL;
	const char *nl = memchr(line, '\n', (size_t)(end - line));
	*at = nl ? nl + 1 : end;
	*len = (size_t)((nl ? nl : end) - line);
	return line;
}

static bool parse_hex(const char **p, const char *end, u64 *ret)
{
	const char *q = *p;
	u64 v = 0;
	for (; q < end; q++) {
		unsigned c = (unsigned char)*q, digit;
		if (c - '0' < 10)
			digit = c - '0';
		else if ((c | 0x20) - 'a' < 6)
			digit = (c | 0x20) - 'a' + 10;
		else
			break;
		v = v << 4 | digit;
	}
	bool any = q > *p;
	*p = q;
	*ret = v;
	return any;
}

/* By address; those at one address in the reverse of the file's order. */
static int compare_syms(const void *pa, const void *pb)
{
	const struct ftrace_env_sym *a = pa, *b = pb;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->name > b->name ? -1 : a->name < b->name;
}

static void reverse_equal_runs(struct ftrace_env_sym *s, size_t nr)
{
	for (size_t i = 0; i < nr;) {
		size_t end = i + 1;
		while (end < nr && s[end].addr == s[i].addr)
			end++;
		for (size_t a = i, b = end - 1; a < b; a++, b--) {
			struct ftrace_env_sym t = s[a];
			s[a] = s[b];
			s[b] = t;
		}
		i = end;
	}
}

/* The kernel's own symbols come sorted, those of modules after them do not: sort only the tail, then merge. */
static int sort_syms(struct ftrace_env *e)
{
	struct ftrace_env_sym *s = e->syms;
	size_t sorted = e->nr_syms ? 1 : 0;
	while (sorted < e->nr_syms && s[sorted].addr >= s[sorted - 1].addr)
		sorted++;
	reverse_equal_runs(s, sorted);
	if (sorted == e->nr_syms)
		return 0;
	struct ftrace_env_sym *tail = s + sorted, *all = malloc(e->nr_syms * sizeof(*all));
	size_t nr_tail = e->nr_syms - sorted, a = 0, b = 0, n = 0;
	if (!all)
		return -ENOMEM;
	qsort(tail, nr_tail, sizeof(*tail), compare_syms);
	while (a < sorted || b < nr_tail)
		all[n++] = b >= nr_tail || (a < sorted && compare_syms(&s[a], &tail[b]) < 0)
				   ? s[a++]
				   : tail[b++];
	free(s);
	e->syms = all;
	return 0;
}

/* Sixteen hex digits, the usual form of an address, eight at a time. What is no digit gives some number. */
static inline u64 hex_word(const char *p)
{
	u64 x;
	memcpy(&x, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	x = (x & 0x0f0f0f0f0f0f0f0full) + (x >> 6 & 0x0101010101010101ull) * 9;
	x = (x << 4 | x >> 8) & 0x00ff00ff00ff00ffull;
	x = (x << 8 | x >> 16) & 0x0000ffff0000ffffull;
	return (x << 16 | x >> 32) & 0xffffffff;
}

/* "ffffffff81000000 T name[\t[module]]"; NULL when it is no such line or a symbol without use. */
static const char *parse_symbol(const char *line, size_t len, u64 *addr)
{
	const char *p = line, *end = line + len;
	if (likely(len >= 20 && line[16] == ' ')) {
		*addr = hex_word(line) << 32 | hex_word(line + 8);
		p += 16;
	} else if (!parse_hex(&p, end, addr)) {
		return NULL;
	}
	if (end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return NULL;
	/* Absolute symbols are offsets of per-CPU variables; '$' starts the marks of the arm linker. */
	return (p[1] | 0x20) == 'a' || p[3] == '$' ? NULL : p + 3;
}

static int load_syms(struct ftrace_env *e)
{
	size_t len = 0, line_len, room, nr = 0;
	const char *at = e->text(e->ctx, FTRACE_ENV_KALLSYMS, &len), *line;
	const char *end = at ? at + len : NULL;
	if (!at)
		return 0;
	room = len / 40 + 64;
	struct ftrace_env_sym *v = big_alloc(room * sizeof(*v));
	if (!v)
		return -ENOMEM;
	while ((line = next_line(&at, end, &line_len))) {
		u64 addr;
		const char *name = parse_symbol(line, line_len, &addr);
		if (!name)
			continue;
		if (unlikely(nr == room)) {
			room *= 2;
			struct ftrace_env_sym *more = realloc(v, room * sizeof(*v));
			if (!more) {
				free(v);
				return -ENOMEM;
			}
			v = more;
		}
		v[nr++] = (struct ftrace_env_sym){ .addr = addr, .name = name };
	}
	e->syms = v;
	e->nr_syms = nr;
	e->syms_end = end;
	return sort_syms(e);
}

static size_t symbol_len(const struct ftrace_env *e, const char *name)
{
	const char *p = name;
	while (p < e->syms_end && (unsigned char)*p > ' ')
		p++;
	return (size_t)(p - name);
}

/* "name\t[module]": the name of the module, or NULL. */
static const char *symbol_module(const struct ftrace_env *e, const char *name, size_t *len)
{
	const char *p = name + symbol_len(e, name);
	while (p < e->syms_end && (*p == '\t' || *p == ' '))
		p++;
	if (p >= e->syms_end || *p++ != '[')
		return NULL;
	const char *end = p;
	while (end < e->syms_end && *end != ']' && (unsigned char)*end > ' ')
		end++;
	*len = (size_t)(end - p);
	return *len ? p : NULL;
}

/*
 * The search of libtraceevent: by halves, ending at the first entry that covers the address. The last symbol covers
 * only its own start.
 */
static const struct ftrace_env_sym *search_syms(const struct ftrace_env *e, u64 addr)
{
	size_t low = 0, high = e->nr_syms;
	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct ftrace_env_sym *s = &e->syms[mid];
		if (addr < s->addr)
			high = mid;
		else if (addr == s->addr || (mid + 1 < e->nr_syms && addr < s[1].addr))
			return s;
		else
			low = mid + 1;
	}
	return NULL;
}

static int add_hit(struct ftrace_env *e, u64 addr)
{
	const struct ftrace_env_sym *s = search_syms(e, addr);
	struct ftrace_env_hit *hit = arena_zalloc(&e->arena, sizeof(*hit)),
			      **slot = vec_push(&e->hits);
	u32 index;
	if (!hit || !slot)
		return -ENOMEM;
	*slot = hit;
	hit->addr = addr;
	if (s) {
		hit->name = arena_strndup(&e->arena, s->name, symbol_len(e, s->name));
		hit->offset = addr - s->addr;
		size_t len;
		const char *module = symbol_module(e, s->name, &len);
		hit->module = module ? arena_strndup(&e->arena, module, len) : NULL;
	}
	return dict_add(&e->known, addr, (u32)e->hits.nr - 1, &index);
}

/* Under the lock. */
static const struct ftrace_env_hit *look_up(struct ftrace_env *e, u64 addr)
{
	if (!e->has_syms) {
		(void)load_syms(e); /* no memory: addresses stay numbers */
		e->has_syms = true;
	}
	u32 index = dict_get(&e->known, addr);
	if (index == DICT_NONE && !add_hit(e, addr))
		index = (u32)e->hits.nr - 1;
	return index == DICT_NONE ? NULL : e->hits.at[index];
}

static const struct ftrace_env_hit *hit_of(struct ftrace_env *e, u64 addr)
{
	u32 slot = (u32)hash_u64(addr) & (NR_RECENT - 1);
	const struct ftrace_env_hit *hit =
		atomic_load_explicit(&e->recent[slot], memory_order_acquire);
	if (!hit || hit->addr != addr) {
		pthread_mutex_lock(&e->lock);
		hit = look_up(e, addr);
		if (hit)
			atomic_store_explicit(&e->recent[slot], hit, memory_order_release);
		pthread_mutex_unlock(&e->lock);
	}
	return hit;
}

const char *ftrace_env_symbol(struct ftrace_env *e, u64 addr, u64 *offset)
{
	const struct ftrace_env_hit *hit = hit_of(e, addr);
	if (!hit)
		return NULL;
	*offset = hit->offset;
	return hit->name;
}

const char *ftrace_env_module(struct ftrace_env *e, u64 addr)
{
	const struct ftrace_env_hit *hit = hit_of(e, addr);
	return hit ? hit->module : NULL;
}

int ftrace_env_modules(struct ftrace_env *e, int (*fn)(void *ctx, const char *name, size_t len),
		       void *ctx)
{
	const char *last = NULL;
	size_t last_len = 0, len;
	int err = 0;
	(void)hit_of(e, 0); /* the list is there from now on */
	for (size_t i = 0; i < e->nr_syms && !err; i++) {
		const char *module = symbol_module(e, e->syms[i].name, &len);
		if (!module || (last && len == last_len && !memcmp(module, last, len)))
			continue;
		err = fn(ctx, module, len);
		last = module;
		last_len = len;
	}
	return err;
}

/* "0xffffffff82 : "text\n"" */
static char *printk_text(struct ftrace_env *e, const char *p, const char *end)
{
	if (p < end && *p == '"')
		p++;
	if (end > p && end[-1] == '"')
		end--;
	if (end - p >= 2 && end[-2] == '\\' && end[-1] == 'n')
		end -= 2;
	return arena_strndup(&e->arena, p, (size_t)(end - p));
}

static int load_strings(struct ftrace_env *e)
{
	size_t len = 0, line_len;
	const char *at = e->text(e->ctx, FTRACE_ENV_PRINTK, &len), *line;
	const char *end = at ? at + len : NULL;
	VEC(const char *) v = { 0 };
	int err = 0;
	while (!err && (line = next_line(&at, end, &line_len))) {
		const char *p = line, *stop = line + line_len;
		u64 addr;
		u32 index;
		if (stop - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
			p += 2;
		if (!parse_hex(&p, stop, &addr))
			continue;
		p = memchr(p, ':', (size_t)(stop - p));
		if (!p || ++p >= stop)
			continue;
		const char **slot = vec_push(&v);
		char *text = printk_text(e, p + (*p == ' '), stop);
		err = slot && text ? dict_add(&e->strings, addr, (u32)v.nr - 1, &index) : -ENOMEM;
		if (slot)
			*slot = text;
	}
	e->string_texts = v.at;
	return err;
}

const char *ftrace_env_string(struct ftrace_env *e, u64 addr)
{
	if (!atomic_load_explicit(&e->has_strings, memory_order_acquire)) {
		pthread_mutex_lock(&e->lock);
		if (!e->has_strings) {
			(void)load_strings(e);
			atomic_store_explicit(&e->has_strings, true, memory_order_release);
		}
		pthread_mutex_unlock(&e->lock);
	}
	u32 index = dict_get(&e->strings, addr);
	return index == DICT_NONE ? NULL : e->string_texts[index];
}

static int load_comms(struct ftrace_env *e, const char *at, size_t len)
{
	size_t line_len;
	const char *line, *end = at ? at + len : NULL;
	VEC(const char *) v = { 0 };
	const char **slot = vec_push(&v);
	u32 index;
	int err = slot ? dict_add(&e->comms, 0, 0, &index) : -ENOMEM;
	if (slot)
		*slot = "<idle>";
	while (!err && (line = next_line(&at, end, &line_len))) {
		const char *p = line, *stop = line + line_len;
		u32 pid = 0;
		while (p < stop && *p >= '0' && *p <= '9')
			pid = pid * 10 + (u32)(*p++ - '0');
		if (p == line || p >= stop || *p != ' ')
			continue;
		slot = vec_push(&v);
		char *comm = arena_strndup(&e->comm_arena, p + 1, (size_t)(stop - p - 1));
		err = slot && comm ? dict_add(&e->comms, pid, (u32)v.nr - 1, &index) : -ENOMEM;
		if (slot)
			*slot = comm;
	}
	e->comm_texts = v.at;
	e->nr_comms = (u32)v.nr;
	return err;
}

int ftrace_env_rename(struct ftrace_env *e, const char *text, size_t len)
{
	free(e->comm_texts);
	e->comm_texts = NULL;
	e->nr_comms = 0;
	dict_done(&e->comms);
	dict_init(&e->comms);
	arena_done(&e->comm_arena);
	arena_init(&e->comm_arena);
	int err = load_comms(e, text, len);
	atomic_store_explicit(&e->has_comms, true, memory_order_release);
	return err;
}

u32 ftrace_env_nr_comms(struct ftrace_env *e)
{
	if (!atomic_load_explicit(&e->has_comms, memory_order_acquire)) {
		pthread_mutex_lock(&e->lock);
		if (!e->has_comms) {
			size_t len = 0;
			const char *text = e->text(e->ctx, FTRACE_ENV_CMDLINES, &len);
			(void)load_comms(e, text, len);
			atomic_store_explicit(&e->has_comms, true, memory_order_release);
		}
		pthread_mutex_unlock(&e->lock);
	}
	return e->nr_comms;
}

u32 ftrace_env_comm_index(const struct ftrace_env *e, s32 pid)
{
	return dict_get(&e->comms, (u32)pid);
}

const char *ftrace_env_comm(struct ftrace_env *e, s32 pid)
{
	(void)ftrace_env_nr_comms(e);
	u32 index = ftrace_env_comm_index(e, pid);
	return index == DICT_NONE ? NULL : e->comm_texts[index];
}

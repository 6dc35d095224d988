/*
 * Every event format of some kernels, printed by us and by libtraceevent 1.7, byte for byte.
 *
 *	test_print_oracle                           all of tests/data/formats and the running kernel, in both styles
 *	test_print_oracle [--list] CORPUS.zst...    packed by tools/pack-formats
 *	test_print_oracle [--list] --live           the running kernel's tracefs
 *	test_print_oracle --plugins ...             trace-cmd's plug-ins on their side, PRINT_STYLE_TRACE_CMD on ours
 *
 * For each event payloads are made up (zeros, all ones, small numbers, single bits, random bytes; data_loc words are valid)
 * and both sides print them: the print fmt, and the fields. An event must agree on all payloads, unless print_oracle_differs.h
 * names it with the reason. Over all corpora together, a named event that agrees everywhere is an error too: the list cannot rot.
 */
#include "base/dict.h"
#include "wire/format.h"
#include "wire/print_fmt.h"
#include "tap.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <traceevent/event-parse.h>
#include <zstd.h>

#include "print_oracle_differs.h"

enum { RECORD_MAX = 1 << 16, NR_PAYLOADS = 12, SLACK = 1 << 16 };

struct counts {
	unsigned formats, equal, listed, refused, by_field, wrong, fields_equal;
};

static const char *const func_names[] = { "first_func", "middle_func", "last_func" };
static const u64 func_addrs[] = { 0x1000, 0x2000, 0xffffffff81000000 };
static bool show_all;
static enum print_style style;

/* ---- both sides know the same symbols ---- */

static const char *env_symbol(void *ctx, u64 addr, u64 *offset)
{
	for (size_t i = ARRAY_SIZE(func_addrs); i-- > 0 && addr != UINT64_MAX;)
		if (addr >= func_addrs[i]) {
			*offset = addr - func_addrs[i];
			return func_names[i];
		}
	return NULL;
}

static const char *env_string_at(void *ctx, u64 addr)
{
	return addr == 0x5000 ? "a printk string" : NULL;
}

static const struct print_env env = { .symbol = env_symbol, .string_at = env_string_at };

static struct tep_handle *new_tep(void)
{
	struct tep_handle *t = tep_alloc();
	tep_set_long_size(t, 8);
	tep_set_page_size(t, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(func_addrs); i++) {
		char *name = strdup(
			func_names[i]); /* it stores the pointer's text, but wants it writable */
		tep_register_function(t, name, func_addrs[i], NULL);
		free(name);
	}
	tep_register_print_string(t, "a printk string", 0x5000);
	return t;
}

/* ---- payloads ---- */

static u64 rnd_state;

static u64 rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state;
}

static u64 value_for(unsigned payload, u32 size, bool tame)
{
	u64 top = 1ull << (8 * size - 1);
	if (tame && payload != 0)
		return rnd() % 5;
	switch (payload) {
	case 0: return 0;
	case 1: return UINT64_MAX;
	case 2: return rnd() % 16;
	case 3: return 1ull << rnd() % (8 * size);
	case 4: return top;
	case 5: return top - 1;
	case 6: return 0x1000 + rnd() % 0x2000;
	case 7: return 0x5000;
	case 8: return rnd() % 300;
	default: return rnd();
	}
}

static void put_text(u8 *to, u32 len)
{
	for (u32 i = 0; i + 1 < len; i++)
		to[i] = (u8)(' ' + rnd() % 95);
	if (len)
		to[len - 1] = 0;
}

static void put_array(u8 *to, const struct schema_field *f, u32 len, unsigned payload)
{
	bool text = strstr(f->type, "char") && !strstr(f->type, "unsigned");
	if (payload == 0)
		memset(to, 0, len);
	else if (payload == 1 && !text)
		memset(to, 0xff, len);
	else if (text || payload == 2)
		put_text(to, len);
	else
		for (u32 i = 0; i < len; i++)
			to[i] = (u8)rnd();
}

/* The oracle reads as many bytes as the payload says, wherever they lie: lengths stay small then. */
static bool is_tame(const struct schema *s)
{
	const char *f = s->print_fmt ? s->print_fmt : "";
	return strstr(f, "__print_hex") || strstr(f, "__print_array") || strstr(f, "%*") ||
	       strstr(f, "%.*");
}

static u32 make_payload(const struct schema *s, unsigned payload, u8 *raw)
{
	u32 fixed = 0;
	for (u32 i = 0; i < s->nr_fields; i++)
		fixed = max(fixed, s->fields[i].offset + s->fields[i].size);
	fixed = (fixed + 3) & ~3u;
	u32 end = fixed;
	memset(raw, 0, RECORD_MAX + SLACK);
	for (u32 i = 0; i < s->nr_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		u64 v = value_for(payload, f->size ? min(f->size, 8u) : 1, is_tame(s));
		if (f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC)) {
			u32 len = payload == 0 ? f->elem_size
					       : (u32)(1 + rnd() % 6) * 4 * f->elem_size;
			put_array(raw + end, f, len, payload);
			u32 at = f->flags & FIELD_REL_LOC ? end - f->offset - 4 : end;
			u32 word = len << 16 | at;
			memcpy(raw + f->offset, &word, 4);
			end = (end + len + 7) & ~7u;
		} else if (f->flags & FIELD_ARRAY || f->size > 8) {
			u32 len = f->size ? f->size : 32;
			put_array(raw + f->offset, f, len, payload);
			end = max(end, f->offset + len);
		} else {
			memcpy(raw + f->offset, &v, f->size);
		}
	}
	memcpy(raw, &(u16){ (u16)s->id }, 2);
	return end;
}

/* ---- one event ---- */

struct side {
	char *info, *fields;
	bool refused;
};

static void side_done(struct side *s)
{
	free(s->info);
	free(s->fields);
}

static struct tep_handle *open_event(const char *system, const char *text, size_t len,
				     struct tep_plugin_list **plugins, bool *refused)
{
	struct tep_handle *t = new_tep();
	struct tep_event *e = NULL;
	*plugins = style == PRINT_STYLE_TRACE_CMD ? tep_load_plugins(t) : NULL;
	*refused = tep_parse_format(t, &e, text, (unsigned long)len, system) || !e ||
		   e->flags & TEP_EVENT_FL_FAILED;
	return t;
}

static void close_event(struct tep_handle *t, struct tep_plugin_list *plugins)
{
	if (plugins)
		tep_unload_plugins(plugins, t);
	tep_free(t);
}

/*
 * A fresh handle for each payload, and the text before the fields: printing by field changes the oracle's idea of what is a
 * string. Where the text itself goes by field, the fields need a handle of their own.
 */
static struct side print_theirs_bare(const char *system, const char *text, size_t len, u8 *raw,
				     u32 size)
{
	struct side r = { 0 };
	struct tep_plugin_list *plugins;
	struct tep_handle *t = open_event(system, text, len, &plugins, &r.refused);
	struct tep_record rec = { .data = raw, .size = (int)size };
	struct trace_seq s;
	trace_seq_init(&s);
	tep_print_event(t, &s, &rec, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&s);
	r.info = strdup(s.buffer);
	if (r.refused) {
		close_event(t, plugins);
		t = open_event(system, text, len, &plugins, &r.refused);
	}
	trace_seq_reset(&s);
	tep_print_event(t, &s, &rec, "%s", TEP_PRINT_INFO_RAW);
	trace_seq_terminate(&s);
	r.fields = strdup(s.buffer);
	trace_seq_destroy(&s);
	close_event(t, plugins);
	return r;
}

/* It divides by whatever the payload holds. */
static sigjmp_buf oracle_died;

static void on_fpe(int sig)
{
	siglongjmp(oracle_died, sig);
}

static struct side print_theirs(const char *system, const char *text, size_t len, u8 *raw, u32 size)
{
	if (!sigsetjmp(oracle_died, 1))
		return print_theirs_bare(system, text, len, raw, size);
	return (struct side){ .info = strdup("(died of SIGFPE)"),
			      .fields = strdup("(died of SIGFPE)") };
}

static struct side print_ours(const struct print_prog *prog, u8 *raw, u32 size)
{
	struct side r = { 0 };
	struct strbuf b;
	strbuf_init(&b);
	(void)print_prog_run(prog, raw, size, &b);
	r.info = strdup(strbuf_cstr(&b));
	strbuf_reset(&b);
	(void)print_prog_run_fields(prog, raw, size, &b);
	r.fields = strdup(strbuf_cstr(&b));
	strbuf_done(&b);
	return r;
}

/* ---- the list ---- */

struct listed {
	const struct differs *group;
	char name[96];
	bool seen, differed;
};

static VEC(struct listed) list;

static void read_list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(differs); i++) {
		if (differs[i].plugins && style != PRINT_STYLE_TRACE_CMD)
			continue;
		int n = 0;
		char name[96];
		for (const char *at = differs[i].events; sscanf(at, "%95s%n", name, &n) == 1;
		     at += n) {
			struct listed *l = vec_push(&list);
			l->group = &differs[i];
			strcpy(l->name, name);
		}
	}
}

static struct listed *find_listed(const char *name)
{
	vec_for_each (&list, l)
		if (!strcmp(l->name, name)) {
			l->seen = true;
			return l;
		}
	return NULL;
}

static void check_list(void)
{
	unsigned stale = 0;
	vec_for_each (&list, l)
		/* what a plug-in takes over may agree again */
		if (!l->differed && !l->group->sometimes &&
		    (style == PRINT_STYLE_KERNEL || l->group->plugins)) {
			printf("# %s is listed (%s) but %s\n", l->name, l->group->reason,
			       l->seen ? "agrees" : "is not there");
			stale++;
		}
	ok(!stale, "every listed event differs somewhere");
}

static bool same(const char *name, unsigned payload, const char *what, const char *ours,
		 const char *theirs, bool quiet)
{
	if (!strcmp(ours, theirs))
		return true;
	if (!quiet)
		printf("# %s payload %u %s\n#   ours   %s\n#   theirs %s\n", name, payload, what,
		       ours, theirs);
	return false;
}

static void compare_event(struct counts *n, const char *system, const char *text, size_t len)
{
	static u8 raw[RECORD_MAX + SLACK];
	struct arena a;
	arena_init(&a);
	struct schema *s;
	const struct print_prog *prog;
	bool whole;
	struct diag notes _cleanup_(diag_done) = { 0 };
	n->formats++;
	if (format_parse(&a, system, text, len, false, 8, &s, NULL) ||
	    print_prog_compile(&a, s, &env, style, &prog, &whole, &notes)) {
		printf("# %s: does not parse:\n# %.60s\n", system, text);
		n->wrong++;
		arena_done(&a);
		return;
	}
	char name[256];
	snprintf(name, sizeof(name), "%s:%s", system, s->name);
	struct listed *d = find_listed(name);
	rnd_state = hash_bytes(name, strlen(name)) | 1;
	bool info = true, fields = true, refused = false;
	bool text_may = d && d->group->text, fields_may = d && d->group->fields;
	for (unsigned i = 0; i < NR_PAYLOADS; i++) {
		u32 size = make_payload(s, i, raw);
		struct side theirs = print_theirs(system, text, len, raw, size);
		struct side ours = print_ours(prog, raw, size);
		refused |= theirs.refused;
		info &= same(name, i, "text", ours.info, theirs.info,
			     (text_may || !info) && !show_all);
		fields &= same(name, i, "fields", ours.fields, theirs.fields,
			       (fields_may || !fields) && !show_all);
		side_done(&ours);
		side_done(&theirs);
	}
	bool equal = info && fields;
	n->equal += equal;
	n->fields_equal += fields;
	n->refused += refused;
	n->by_field += !whole;
	if ((!info && !text_may) || (!fields && !fields_may))
		n->wrong++;
	else if (!equal)
		n->listed++;
	if (!equal && d)
		d->differed = true;
	if (refused && whole && show_all)
		printf("# %s: refused by libtraceevent, printed by us\n", name);
	if (!whole && (!refused || show_all))
		printf("# %s: we print it by field (%s), libtraceevent does%s\n", name,
		       notes.items.nr ? notes.items.at[0].message : "", refused ? " too" : " not");
	arena_done(&a);
}

/* ---- corpora ---- */

static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	if (!f)
		return NULL;
	struct strbuf b;
	strbuf_init(&b);
	char chunk[8192];
	size_t n;
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		strbuf_add(&b, chunk, n);
	fclose(f);
	*len = b.len;
	return strbuf_steal(&b);
}

static char *unpack(const char *path, size_t *len)
{
	size_t packed;
	char *in = read_file(path, &packed);
	if (!in)
		return NULL;
	unsigned long long size = ZSTD_getFrameContentSize(in, packed);
	char *out = size < (64u << 20) ? malloc(size + 1) : NULL;
	size_t got = out ? ZSTD_decompress(out, size, in, packed) : 0;
	free(in);
	if (!out || ZSTD_isError(got)) {
		free(out);
		return NULL;
	}
	out[got] = 0;
	*len = got;
	return out;
}

/* "@ system\n" and the format's text, again and again. */
static void compare_corpus(struct counts *n, char *text)
{
	for (char *at = text; at && *at == '@';) {
		char *body = strchr(at, '\n');
		*body++ = 0;
		char *next = strstr(body, "\n@ ");
		compare_event(n, at + 2, body, next ? (size_t)(next + 1 - body) : strlen(body));
		at = next ? next + 1 : NULL;
	}
}

static const char *live_root(void)
{
	static const char root[] = "/sys/kernel/tracing";
	struct stat st;
	if (stat("/sys/kernel/tracing/events", &st))
		(void)mount("nodev", root, "tracefs", 0, NULL);
	return stat("/sys/kernel/tracing/events", &st) ? NULL : root;
}

static void compare_live(struct counts *n, const char *root)
{
	char events[256];
	snprintf(events, sizeof(events), "%s/events", root);
	char *paths[] = { events, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *e; fts && (e = fts_read(fts));) {
		if (e->fts_info != FTS_F && e->fts_info != FTS_NSOK)
			continue;
		if (strcmp(e->fts_name, "format") || e->fts_level != 3)
			continue;
		size_t len;
		char *text = read_file(e->fts_path, &len);
		if (text)
			compare_event(n, e->fts_parent->fts_parent->fts_name, text, len);
		free(text);
	}
	if (fts)
		fts_close(fts);
}

static void report(const struct counts *n, const char *what)
{
	printf("# %s: %u formats compared, %u equal (fields: %u), %u listed with a reason, %u "
	       "wrong; libtraceevent refuses %u, we "
	       "print %u by field\n",
	       what, n->formats, n->equal, n->fields_equal, n->listed, n->wrong, n->refused,
	       n->by_field);
	ok(n->formats && !n->wrong, "%s: every format prints as libtraceevent does, or is listed",
	   what);
}

static void compare_file(const char *path)
{
	struct counts n = { 0 };
	size_t len;
	char *text = unpack(path, &len);
	if (!ok(text != NULL, "%s can be read", path))
		return;
	compare_corpus(&n, text);
	free(text);
	report(&n, path);
}

static void compare_running(void)
{
	struct counts n = { 0 };
	const char *root = live_root();
	if (!root) {
		skip("the running kernel's formats", "no tracefs here (needs root)");
		return;
	}
	compare_live(&n, root);
	report(&n, "running kernel");
}

static bool have_plugins(void)
{
	glob_t g;
	bool found = !glob("/usr/lib*/*/traceevent/plugins/plugin_sched_switch.so", 0, NULL, &g) ||
		     !glob("/usr/lib*/traceevent/plugins/plugin_sched_switch.so", 0, NULL, &g);
	globfree(&g);
	return found;
}

/* One handle holds the plug-ins open: loading them again is a count then. */
static void keep_plugins(void)
{
	static struct tep_handle *keeper;
	if (keeper)
		return;
	keeper = new_tep();
	(void)!tep_load_plugins(keeper);
}

static void use_style(enum print_style s)
{
	style = s;
	if (s == PRINT_STYLE_TRACE_CMD)
		keep_plugins();
	vec_free(&list);
	read_list();
}

/* Without arguments: everything. */
static void compare_all(void)
{
	glob_t g;
	if (!ok(!glob(FORMATS "/*.zst", 0, NULL, &g), "corpora are there"))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++)
		compare_file(g.gl_pathv[i]);
	if (style == PRINT_STYLE_KERNEL)
		compare_running();
	check_list();
	globfree(&g);
}

int main(int argc, char **argv)
{
	tep_set_loglevel(TEP_LOG_NONE);
	signal(SIGFPE, on_fpe);
	use_style(PRINT_STYLE_KERNEL);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--list"))
			show_all = true;
		else if (!strcmp(argv[i], "--plugins"))
			use_style(PRINT_STYLE_TRACE_CMD);
		else if (!strcmp(argv[i], "--live"))
			compare_running();
		else
			compare_file(argv[i]);
	}
	if (argc == 1) {
		compare_all();
		use_style(PRINT_STYLE_TRACE_CMD);
		if (have_plugins())
			compare_all();
		else
			skip("trace-cmd's layouts", "libtraceevent's plug-ins are not installed");
	}
	vec_free(&list);
	return done_testing();
}

/*
 * Random scripts that are well typed load, and leave in the kernel's maps what the interpreter leaves in its own. RANDOM_SCRIPTS: how many
 * (500), RANDOM_SEED: the first of them; an
 * argument is the seed of one to be shown and run.
 */
#include "load.h"

#include "lang/interpret.h"
#include "tap.h"

#include <sys/wait.h>

enum { VARS = 5, TEXTS = 2, KEY_MAX = 256, VALUE_MAX = 16384 };

/* --- scripts -- */

struct maker {
	u64 state;
	struct strbuf text;
	u32 depth, loops, counters;
};

static u32 pick(struct maker *m, u32 below)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return (u32)((m->state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static void put_number(struct maker *m)
{
	static const char *const some[] = { "0",
					    "1",
					    "2",
					    "7",
					    "8",
					    "63",
					    "64",
					    "255",
					    "256",
					    "65535",
					    "1000000007",
					    "0x7fffffff",
					    "4294967296",
					    "9223372036854775807",
					    "18446744073709551615",
					    "1e9" };
	strbuf_str(&m->text, some[pick(m, ARRAY_SIZE(some))]);
}

static void put_expr(struct maker *m);
static void put_text(struct maker *m);

static void put_key2(struct maker *m)
{
	put_expr(m);
	strbuf_str(&m->text, " & 3, ");
	put_text(m);
}

static void put_condition(struct maker *m)
{
	static const char *const compare[] = { "==", "!=", "<", "<=", ">", ">=" };
	switch (pick(m, 7)) {
	case 6:
		strbuf_char(&m->text, '(');
		put_expr(m);
		strbuf_str(&m->text, ", ");
		put_text(m);
		strbuf_str(&m->text, pick(m, 2) ? ") == (" : ") != (");
		put_expr(m);
		strbuf_str(&m->text, ", ");
		put_text(m);
		strbuf_char(&m->text, ')');
		break;
	case 0:
		put_text(m);
		strbuf_str(&m->text, pick(m, 2) ? " == " : " != ");
		put_text(m);
		break;
	case 1:
		strbuf_str(&m->text, "has_key(@m, ");
		put_expr(m);
		strbuf_str(&m->text, " & 7)");
		break;
	case 2:
		strbuf_str(&m->text, "!(");
		put_expr(m);
		strbuf_str(&m->text, ")");
		break;
	case 3:
		strbuf_char(&m->text, '(');
		put_expr(m);
		strbuf_str(&m->text, pick(m, 2) ? ") && (" : ") || (");
		put_expr(m);
		strbuf_str(&m->text, ")");
		break;
	default:
		strbuf_char(&m->text, '(');
		put_expr(m);
		strbuf_printf(&m->text, ") %s (", compare[pick(m, 6)]);
		put_expr(m);
		strbuf_char(&m->text, ')');
	}
}

static void put_leaf(struct maker *m)
{
	switch (pick(m, 6)) {
	case 0: put_number(m); break;
	case 1: strbuf_printf(&m->text, "@i%u", pick(m, 2)); break;
	case 5: strbuf_str(&m->text, pick(m, 2) ? "(int64)@a0" : "@a4"); break;
	case 2: strbuf_printf(&m->text, "@m[%u]", pick(m, 8)); break;
	default: strbuf_printf(&m->text, "$v%u", pick(m, VARS));
	}
}

/* What is made of strings, records, arrays and functions. */
static void put_made(struct maker *m)
{
	static const char *const needles[] = { "a", "bc", "abcdefg", "ij", "x" };
	switch (pick(m, 9)) {
	case 0:
		strbuf_str(&m->text, "((first = ");
		put_expr(m);
		strbuf_str(&m->text, ", second = ");
		put_text(m);
		strbuf_str(&m->text, ").first)");
		break;
	case 1: strbuf_printf(&m->text, "$t%u[$v%u & 15]", pick(m, TEXTS), pick(m, VARS)); break;
	case 2:
		strbuf_str(&m->text, "((uint8[8])(");
		put_expr(m);
		strbuf_printf(&m->text, "))[$v%u & 15]", pick(m, VARS));
		break;
	case 3:
		strbuf_printf(&m->text, "strstr($t%u, \"%s\")", pick(m, TEXTS),
			      needles[pick(m, ARRAY_SIZE(needles))]);
		break;
	case 4:
		strbuf_printf(&m->text, "strlen(strcap($t%u, %u))", pick(m, TEXTS), pick(m, 20));
		break;
	case 5:
		strbuf_str(&m->text, "memcmp(");
		put_text(m);
		strbuf_printf(&m->text, ", $t%u, %u)", pick(m, TEXTS), 1 + pick(m, 20));
		break;
	case 6:
		strbuf_str(&m->text, "pick(");
		put_expr(m);
		strbuf_str(&m->text, ", ");
		put_expr(m);
		strbuf_char(&m->text, ')');
		break;
	case 7:
		strbuf_str(&m->text, "{ let $own = ");
		put_expr(m);
		strbuf_str(&m->text, "; $own + 1 }");
		break;
	default:
		strbuf_str(&m->text, "(enum shade)(");
		put_expr(m);
		strbuf_char(&m->text, ')');
	}
}

static void put_expr(struct maker *m)
{
	static const char *const ops[] = { "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>" };
	static const char *const types[] = { "int8",   "uint8", "int16",  "uint16", "int32",
					     "uint32", "int64", "uint64", "bool" };
	if (m->depth > 3) {
		put_leaf(m);
		return;
	}
	m->depth++;
	switch (pick(m, 14)) {
	case 0:
	case 1: put_leaf(m); break;
	case 12:
	case 13: put_made(m); break;
	case 2:
		strbuf_printf(&m->text, "(%s)(", types[pick(m, ARRAY_SIZE(types))]);
		put_expr(m);
		strbuf_char(&m->text, ')');
		break;
	case 3:
		strbuf_str(&m->text, "((");
		put_condition(m);
		strbuf_str(&m->text, ") ? (");
		put_expr(m);
		strbuf_str(&m->text, ") : (");
		put_expr(m);
		strbuf_str(&m->text, "))");
		break;
	case 4:
		strbuf_char(&m->text, "-~"[pick(m, 2)]);
		strbuf_char(&m->text, '(');
		put_expr(m);
		strbuf_char(&m->text, ')');
		break;
	case 5:
		strbuf_str(&m->text, "@n[");
		put_key2(m);
		strbuf_str(&m->text, "]");
		break;
	case 6:
		strbuf_str(&m->text, "((");
		put_expr(m);
		strbuf_str(&m->text, ", ");
		put_text(m);
		strbuf_str(&m->text, ", ");
		put_expr(m);
		strbuf_printf(&m->text, ").%u)", pick(m, 2) * 2);
		break;
	case 7:
		strbuf_str(&m->text, "strncmp(");
		put_text(m);
		strbuf_str(&m->text, ", ");
		put_text(m);
		strbuf_printf(&m->text, ", %u)", pick(m, 20));
		break;
	default:
		strbuf_char(&m->text, '(');
		put_expr(m);
		strbuf_printf(&m->text, " %s ", ops[pick(m, ARRAY_SIZE(ops))]);
		put_expr(m);
		strbuf_char(&m->text, ')');
	}
	m->depth--;
}

static void put_text(struct maker *m)
{
	static const char *const some[] = { "",
					    "a",
					    "abc",
					    "abcdefg",
					    "abcdefgh",
					    "abcdefghi",
					    "a string of more than 32 bytes, all in all" };
	switch (pick(m, m->depth > 3 ? 2 : 4)) {
	case 0: strbuf_printf(&m->text, "\"%s\"", some[pick(m, ARRAY_SIZE(some))]); break;
	case 1: strbuf_printf(&m->text, "$t%u", pick(m, TEXTS)); break;
	case 2: strbuf_printf(&m->text, "@t[%u]", pick(m, 3)); break;
	default:
		m->depth++;
		strbuf_str(&m->text, "((");
		put_condition(m);
		strbuf_str(&m->text, ") ? ");
		put_text(m);
		strbuf_str(&m->text, " : ");
		put_text(m);
		strbuf_str(&m->text, ")");
		m->depth--;
	}
}

static void put_block(struct maker *m, u32 nr);

static void put_aggregate(struct maker *m)
{
	static const char *const kinds[] = { "count()", "sum(",	 "min(",   "max(",  "avg(",
					     "stats(",	"hist(", "lhist(", "hist(", "quantile(" };
	u32 k = pick(m, ARRAY_SIZE(kinds));
	strbuf_printf(&m->text, "@a%u", k);
	if (k % 2) {
		strbuf_char(&m->text, '[');
		put_expr(m);
		strbuf_str(&m->text, " & 3]");
	}
	strbuf_printf(&m->text, " = %s", kinds[k]);
	/* Whether a number has a sign must not differ from place to place in min() and max() of one map. */
	if (k) {
		strbuf_str(&m->text, "(int64)(");
		put_expr(m);
		strbuf_str(&m->text, k == 7 ? "), 0, 100, 7)" : k == 8 ? "), 3)" : "))");
	}
}

static void put_assign(struct maker *m)
{
	static const char *const ops[] = { "=",	 "=",  "=",  "+=", "-=",  "*=", "/=",
					   "%=", "&=", "|=", "^=", "<<=", ">>=" };
	const char *op = ops[pick(m, ARRAY_SIZE(ops))];
	switch (pick(m, 4)) {
	case 0: strbuf_printf(&m->text, "@i%u %s ", pick(m, 2), op); break;
	case 1:
		strbuf_str(&m->text, "@m[");
		put_expr(m);
		strbuf_printf(&m->text, " & 7] %s ", op);
		break;
	default: strbuf_printf(&m->text, "$v%u %s ", pick(m, VARS), op);
	}
	put_expr(m);
}

static void put_statement(struct maker *m)
{
	switch (pick(m, m->depth > 1 ? 8 : 12)) {
	case 0:
		strbuf_printf(&m->text, "$t%u = ", pick(m, TEXTS));
		put_text(m);
		break;
	case 1:
		strbuf_printf(&m->text, "@t[%u] = ", pick(m, 3));
		put_text(m);
		break;
	case 2:
		strbuf_str(&m->text, "@n[");
		put_key2(m);
		strbuf_str(&m->text, pick(m, 2) ? "] += " : "] = ");
		put_expr(m);
		break;
	case 3: put_aggregate(m); break;
	case 4:
		if (pick(m, 2))
			strbuf_printf(&m->text, "delete(@m[%u])", pick(m, 8));
		else
			strbuf_printf(&m->text, pick(m, 2) ? "++@m[%u]" : "@m[%u]--", pick(m, 8));
		break;
	case 8:
		strbuf_str(&m->text, "if (");
		put_condition(m);
		strbuf_str(&m->text, ") ");
		put_block(m, 2);
		strbuf_str(&m->text, " else ");
		put_block(m, 2);
		break;
	case 9:
		m->loops++;
		if (pick(m, 2))
			strbuf_printf(&m->text, "for ($i%u : %u..%u) ", m->depth, pick(m, 3),
				      pick(m, 5));
		else
			strbuf_printf(&m->text, "for ($i%u : -2..$v%u & 15) ", m->depth,
				      pick(m, VARS));
		put_block(m, 1);
		m->loops--;
		break;
	case 10:
		m->loops++;
		strbuf_printf(&m->text, "unroll (%u) ", 1 + pick(m, 2));
		put_block(m, 2);
		m->loops--;
		break;
	case 11:
		if (m->loops && pick(m, 3) == 0) {
			strbuf_str(&m->text, "if (");
			put_condition(m);
			strbuf_str(&m->text, pick(m, 2) ? ") { break }" : ") { continue }");
			break;
		}
		put_assign(m);
		break;
	default: put_assign(m);
	}
}

static void put_block(struct maker *m, u32 nr)
{
	m->depth++;
	strbuf_str(&m->text, "{ ");
	for (u32 i = 0; i < nr; i++) {
		put_statement(m);
		strbuf_str(&m->text, "; ");
	}
	strbuf_str(&m->text, "}");
	m->depth--;
}

static void make_script(struct maker *m, u64 seed)
{
	m->state = seed * 0x9e3779b97f4a7c15ull + 1;
	m->depth = m->loops = 0;
	strbuf_reset(&m->text);
	strbuf_str(&m->text,
		   "enum shade { LIGHT = 1, DARK = 7 };\n"
		   "fn pick($a: int64, $b: int64): int64 { if ($a > $b) { return $a - $b; } "
		   "if ($a == 3) { return pick2($b); } return $a ^ $b; }\n"
		   "fn pick2($a: int32): int64 { let $s = 0; for ($i : 0..3) { $s += $a; if ($s "
		   "> 100) { return $i; } } return $s; }\n"
		   "begin { ");
	for (u32 i = 0; i < VARS; i++)
		strbuf_printf(&m->text, "$v%u = %s(%d); ", i,
			      i == 3   ? "(uint64)"
			      : i == 4 ? "(int32)"
				       : "",
			      (int)pick(m, 100) - 30);
	strbuf_str(&m->text, "$t0 = \"abc\"; $t1 = \"abcdefghij\"; @i0 = 1; @i1 = -5; @m[0] = 1; "
			     "@n[0, \"a\"] = 2; "
			     "@t[0] = \"x\"; @a0 = count(); @a4 = avg((int64)3); ");
	u32 nr = 1 + pick(m, 8);
	for (u32 i = 0; i < nr; i++) {
		put_statement(m);
		strbuf_str(&m->text, ";\n");
	}
	strbuf_str(&m->text, "}");
}

/* --- the interpreter's maps -- */

struct entry {
	u32 map;
	u8 key[KEY_MAX];
	u8 *value;
	struct entry *next;
};

struct store {
	const struct program *p;
	struct arena arena;
	struct entry *entries;
};

static struct entry **find(struct store *s, u32 map, const void *key)
{
	struct entry **e = &s->entries;
	while (*e && ((*e)->map != map || memcmp((*e)->key, key, s->p->maps.at[map].key_size)))
		e = &(*e)->next;
	return e;
}

static int store_get(void *ctx, u32 map, const void *key, void *value)
{
	struct store *s = ctx;
	struct entry *e = *find(s, map, key);
	if (!e)
		return -ENOENT;
	memcpy(value, e->value, s->p->maps.at[map].value_size);
	return 0;
}

static int store_put(void *ctx, u32 map, const void *key, const void *value)
{
	struct store *s = ctx;
	struct entry **e = find(s, map, key);
	if (!*e) {
		*e = arena_zalloc(&s->arena, sizeof(**e));
		(*e)->map = map;
		memcpy((*e)->key, key, s->p->maps.at[map].key_size);
		(*e)->value = arena_zalloc(&s->arena, s->p->maps.at[map].value_size);
	}
	memcpy((*e)->value, value, s->p->maps.at[map].value_size);
	return 0;
}

static int store_remove(void *ctx, u32 map, const void *key)
{
	struct entry **e = find(ctx, map, key);
	if (!*e)
		return -ENOENT;
	*e = (*e)->next;
	return 0;
}

/* --- both -- */

static bool is_percpu(u32 type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH;
}

static u32 nr_cpus(void)
{
	return (u32)sysconf(_SC_NPROCESSORS_CONF);
}

/* The value of a key in the kernel; of all CPUs only the one that ran it has any. */
static int kernel_value(const struct loaded *l, const struct program *p, u32 map, const void *key,
			u8 *to)
{
	static u64 all[VALUE_MAX * 64 / 8];
	const struct program_map *m = &p->maps.at[map];
	u32 words = m->value_size / 8;
	int err = map_read(l, map, key, all);
	memset(to, 0, m->value_size);
	for (u32 cpu = 0; !err && cpu < (is_percpu(m->type) ? nr_cpus() : 1); cpu++)
		for (u32 w = 0; w < words; w++) {
			u64 v;
			memcpy(&v, to + w * 8, 8);
			v += all[cpu * words + w];
			memcpy(to + w * 8, &v, 8);
		}
	return err;
}

static u32 count_keys(const struct loaded *l, u32 map)
{
	u8 key[KEY_MAX], next[KEY_MAX];
	u32 nr = 0;
	union bpf_attr a = { .map_fd = (u32)l->map_fds[map] };
	a.next_key = (u64)(uintptr_t)next;
	while (!sys_bpf(BPF_MAP_GET_NEXT_KEY, &a)) {
		memcpy(key, next, sizeof(key));
		a.key = (u64)(uintptr_t)key;
		nr++;
	}
	return nr;
}

static bool same(const struct loaded *l, struct store *s)
{
	static u8 value[VALUE_MAX];
	u32 keys[64] = { 0 };
	for (struct entry *e = s->entries; e; e = e->next) {
		const struct program_map *m = &s->p->maps.at[e->map];
		keys[e->map]++;
		if (kernel_value(l, s->p, e->map, e->key, value)) {
			printf("# %s: the kernel lacks a key\n", m->name);
			return false;
		}
		if (memcmp(value, e->value, m->value_size)) {
			printf("# %s: kernel %lld, interpreter %lld\n", m->name,
			       *(long long *)value, *(long long *)e->value);
			return false;
		}
	}
	for (u32 i = 0; i < s->p->maps.nr; i++)
		if (s->p->maps.at[i].role == PROGRAM_MAP_USER && !s->p->maps.at[i].is_scalar &&
		    count_keys(l, i) != keys[i]) {
			printf("# %s: kernel %u keys, interpreter %u\n", s->p->maps.at[i].name,
			       count_keys(l, i), keys[i]);
			return false;
		}
	return true;
}

/* 1: the same; 0: not; negative: nothing to compare. */
static int one(const char *text)
{
	static const struct interpret_ops ops = { store_get, store_put, store_remove };
	struct program p;
	struct diag d;
	struct loaded l = { 0 };
	struct store s = { .p = &p };
	struct lang_input in = { .text = text, .len = strlen(text), .callbacks = true };
	int ret = 0;
	diag_init(&d);
	arena_init(&s.arena);
	int err = lang_compile(&in, &p, &d);
	if (err) {
		struct strbuf said;
		strbuf_init(&said);
		diag_render(&d, "random", false, &said);
		printf("# %s\n", strbuf_cstr(&said));
		strbuf_done(&said);
	}
	if (!err)
		err = load_program(&p, &l);
	if (err == -EPERM)
		ret = err;
	if (!err)
		err = run_code(&l, 0);
	if (!err)
		err = lang_interpret(&p, 0, &ops, &s, &d);
	if (!err)
		ret = same(&l, &s);
	else if (ret >= 0)
		printf("# error %d\n", err);
	unload(&l);
	program_done(&p);
	arena_done(&s.arena);
	diag_done(&d);
	return ret;
}

enum { WORKERS = 4, BAD = 1, DENIED = 2 };

static int work(struct maker *m, u64 first, u64 nr)
{
	u32 bad = 0;
	for (u64 i = 0; i < nr && bad < 3; i++) {
		make_script(m, first + i * WORKERS);
		int got = one(strbuf_cstr(&m->text));
		if (got < 0)
			return DENIED;
		if (got == 0) {
			bad++;
			printf("# script %llu\n", (unsigned long long)(first + i * WORKERS));
		}
	}
	fflush(stdout);
	return bad ? BAD : 0;
}

int main(int argc, char **argv)
{
	struct maker m = { 0 };
	const char *nr = getenv("RANDOM_SCRIPTS"), *seed = getenv("RANDOM_SEED");
	u64 first = seed ? strtoull(seed, NULL, 10) : 1, wanted = nr ? strtoull(nr, NULL, 10) : 500;
	u32 bad = 0;
	strbuf_init(&m.text);
	if (argc > 1) {
		make_script(&m, strtoull(argv[1], NULL, 10));
		puts(strbuf_cstr(&m.text));
		return one(strbuf_cstr(&m.text)) != 1;
	}
	/* Most of the time goes by waiting for the kernel to free maps: several at once. */
	pid_t workers[WORKERS];
	for (u32 w = 0; w < WORKERS; w++) {
		workers[w] = fork();
		if (!workers[w])
			_exit(work(&m, first + w, wanted / WORKERS + (w < wanted % WORKERS)));
	}
	bool denied = false;
	for (u32 w = 0; w < WORKERS; w++) {
		int status = -1;
		if (workers[w] < 0 || waitpid(workers[w], &status, 0) < 0 || !WIFEXITED(status))
			status = -1;
		denied |= status >= 0 && WEXITSTATUS(status) == DENIED;
		bad += status < 0 || WEXITSTATUS(status) == BAD;
	}
	if (denied)
		skip("random scripts", "no permission to load programs");
	else
		ok(!bad, "%llu random scripts compute what the interpreter computes",
		   (unsigned long long)wanted);
	strbuf_done(&m.text);
	return done_testing();
}

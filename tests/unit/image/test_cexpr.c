/* image/cexpr: precedence, casts, postfix chains, and where errors point to. */
#include "tap.h"

#include "image/cexpr.h"

#include <errno.h>
#include <stdlib.h>

static bool is_type(void *ctx, const char *name)
{
	(void)ctx;
	return !strcmp(name, "u64") || !strcmp(name, "size_t");
}

/* The tree in prefix form: (+ 1 (* 2 3)) */
static void dump(const struct cexpr *e, struct strbuf *to)
{
	static const char *const words[] = {
		[CEXPR_MEMBER] = ".",
		[CEXPR_ARROW] = "->",
		[CEXPR_INDEX] = "[]",
		[CEXPR_SLICE] = "[:]",
		[CEXPR_DEREF] = "deref",
		[CEXPR_ADDRESS] = "addr",
		[CEXPR_NEGATE] = "neg",
		[CEXPR_NOT] = "!",
		[CEXPR_COMPLEMENT] = "~",
		[CEXPR_CAST] = "cast",
		[CEXPR_SIZEOF_TYPE] = "sizeof-type",
		[CEXPR_SIZEOF] = "sizeof",
		[CEXPR_OFFSETOF] = "offsetof",
		[CEXPR_CONTAINER] = "container_of",
		[CEXPR_MUL] = "*",
		[CEXPR_DIV] = "/",
		[CEXPR_MOD] = "%",
		[CEXPR_ADD] = "+",
		[CEXPR_SUB] = "-",
		[CEXPR_SHL] = "<<",
		[CEXPR_SHR] = ">>",
		[CEXPR_LT] = "<",
		[CEXPR_LE] = "<=",
		[CEXPR_GT] = ">",
		[CEXPR_GE] = ">=",
		[CEXPR_EQ] = "==",
		[CEXPR_NE] = "!=",
		[CEXPR_BIT_AND] = "&",
		[CEXPR_BIT_XOR] = "^",
		[CEXPR_BIT_OR] = "|",
		[CEXPR_AND] = "&&",
		[CEXPR_OR] = "||",
	};
	if (e->op == CEXPR_NUMBER) {
		strbuf_u64(to, e->number);
		return;
	}
	if (e->op == CEXPR_NAME || e->op == CEXPR_VARIABLE) {
		strbuf_printf(to, "%s%s", e->op == CEXPR_VARIABLE ? "$" : "", e->name);
		if (e->cpu == CEXPR_ALL_CPUS)
			strbuf_str(to, ":a");
		else if (e->cpu >= 0)
			strbuf_printf(to, ":%d", e->cpu);
		return;
	}
	strbuf_printf(to, "(%s", words[e->op]);
	if (e->type.name)
		strbuf_printf(to, " <%s%s/%u%s>", e->type.tag == CEXPR_STRUCT ? "struct " : "",
			      e->type.name, e->type.pointers, e->type.is_array ? "[]" : "");
	for (unsigned i = 0; i < 3; i++)
		if (e->kids[i]) {
			strbuf_char(to, ' ');
			dump(e->kids[i], to);
		}
	if (e->name)
		strbuf_printf(to, " %s", e->name);
	strbuf_char(to, ')');
}

static void parses(const char *text, const char *want)
{
	struct arena arena;
	struct strbuf got;
	struct diag d;
	struct cexpr *e;
	arena_init(&arena);
	strbuf_init(&got);
	diag_init(&d);
	int err = cexpr_parse(text, &arena, is_type, NULL, &e, &d);
	if (!err)
		dump(e, &got);
	is_str(err ? "error" : strbuf_cstr(&got), want, text);
	diag_done(&d);
	strbuf_done(&got);
	arena_done(&arena);
}

static void refuses(const char *text, size_t start, size_t len, const char *part)
{
	struct arena arena;
	struct diag d;
	struct cexpr *e;
	arena_init(&arena);
	diag_init(&d);
	int err = cexpr_parse(text, &arena, is_type, NULL, &e, &d);
	bool good = err == -EINVAL && d.items.nr == 1 && d.items.at[0].start == start &&
		    d.items.at[0].len == len && strstr(d.items.at[0].message, part);
	ok(good, "refused: %s", text);
	if (!good && d.items.nr)
		printf("#   %s at %zu, %zu\n", d.items.at[0].message, d.items.at[0].start,
		       d.items.at[0].len);
	diag_done(&d);
	arena_done(&arena);
}

/* Nested however: bounded, and no crash. */
static void check_deep(const char *open, const char *middle, const char *close, bool fits)
{
	enum { N = 5000 };
	struct strbuf s;
	struct arena arena;
	struct cexpr *e;
	strbuf_init(&s);
	arena_init(&arena);
	for (int i = 0; i < (fits ? 50 : N); i++)
		strbuf_str(&s, open);
	strbuf_str(&s, middle);
	for (int i = 0; i < (fits ? 50 : N); i++)
		strbuf_str(&s, close);
	int err = cexpr_parse(strbuf_cstr(&s), &arena, is_type, NULL, &e, NULL);
	ok(fits ? !err : err == -EINVAL, "%s many times: %s", *open ? open : close,
	   fits ? "fits" : "refused");
	arena_done(&arena);
	strbuf_done(&s);
}

int main(void)
{
	parses("1 + 2 * 3", "(+ 1 (* 2 3))");
	parses("1 - 2 - 3", "(- (- 1 2) 3)");
	parses("a << 2 + 1 < b & c == d", "(& (< (<< a (+ 2 1)) b) (== c d))");
	parses("a || b && !c | d ^ e", "(|| a (&& b (| (! c) (^ d e))))");
	parses("init_task.tasks.next", "(. (. init_task tasks) next)");
	parses("$current->mm->mmap_base", "(-> (-> $current mm) mmap_base)");
	parses("kprobe_table[3].first", "(. ([] kprobe_table 3) first)");
	parses("kprobe_table[n:3]", "([:] kprobe_table n 3)");
	parses("kprobe_table[(rq:0)]", "([] kprobe_table rq:0)");
	parses("runqueues:1.nr", "(. runqueues:1 nr)");
	parses("runqueues:a", "runqueues:a");
	parses("(struct ftrace_ops *)ftrace_ops_list",
	       "(cast <struct ftrace_ops/1> ftrace_ops_list)");
	parses("(const struct a **) p->x", "(cast <struct a/2> (-> p x))");
	parses("(u64)x + 1", "(+ (cast <u64/0> x) 1)");
	parses("(x) + 1", "(+ x 1)");
	parses("*(unsigned long int *)0x10", "(deref (cast <unsigned long int/1> 16))");
	parses("(char[8])x", "(cast <char/0[]> x)");
	parses("&a.b", "(addr (. a b))");
	parses("-1 & ~0x0f", "(& (neg 1) (~ 15))");
	parses("sizeof(struct file) / sizeof x", "(/ (sizeof-type <struct file/0>) (sizeof x))");
	parses("sizeof(x)", "(sizeof x)");
	parses("offsetof(struct file, f_path.dentry)", "(offsetof <struct file/0> f_path.dentry)");
	parses("container_of(p->next, struct task_struct, tasks)->pid",
	       "(-> (container_of <struct task_struct/0> (-> p next) tasks) pid)");
	parses("0777 + 10UL", "(+ 511 10)");
	parses("offsetof", "offsetof");

	refuses("offsetof(struct a, b[x])", 20, 1, "number in brackets");
	refuses("", 0, 1, "operand is expected");
	refuses("1 +", 3, 1, "operand is expected");
	refuses("a b", 2, 1, "unexpected text");
	refuses("a.5", 2, 1, "expected a member");
	refuses("(struct )x", 8, 1, "expected the name of a type");
	refuses("(struct a", 9, 1, "expected ')'");
	refuses("a[1", 3, 1, "expected ']'");
	refuses("12ab", 0, 4, "invalid number");
	refuses("0x", 0, 2, "invalid number");
	refuses("99999999999999999999", 0, 20, "too large");
	refuses("$", 0, 1, "after '$'");
	refuses("rq:x", 3, 1, "number of a CPU");
	refuses("(struct a *********)x", 19, 1, "levels of pointers");

	check_deep("(", "a", ")", true);
	check_deep("(", "a", ")", false);
	check_deep("*", "a", "", false);
	check_deep("", "a", "->b", false);
	check_deep("", "a", "+1", false);
	check_deep("a[", "a", "]", false);
	return done_testing();
}

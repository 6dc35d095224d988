/*
 * inspect --probed FUNCTION: whether and by whom a function is instrumented. Each source is asked by itself, and the answer says what it
 * proves: the live text, the kprobes of kprobe_table, and ftrace's list of users.
 */
#include "cmd/inspect/inspect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

enum { HEADS = 64 }; /* of kprobe_table */

/* Where things are in this kernel's struct kprobe. */
struct kprobe_layout {
	u64 hlist, list, addr, pre_handler, flags;
};

struct kprobe_search {
	struct inspect *i;
	struct kprobe_layout l;
	u64 from, until;
	u64 aggr; /* the handler of a probe that stands for several */
	u64 kretprobe; /* pre_handler_kretprobe */
	u64 nr;
	bool inner; /* those of one that stands for several */
};

static void add_flags(u32 flags, struct strbuf *to)
{
	static const char *const names[] = { "GONE", "DISABLED", "OPTIMIZED", "FTRACE",
					     "ON_FUNC_ENTRY" };
	bool any = false;
	for (u32 n = 0; n < 32; n++) {
		if (!(flags >> n & 1))
			continue;
		if (n < ARRAY_SIZE(names))
			strbuf_printf(to, "%s%s", any ? "|" : "", names[n]);
		else
			strbuf_printf(to, "%s0x%x", any ? "|" : "", 1u << n);
		any = true;
	}
	if (!any)
		strbuf_str(to, "0");
}

static int each_kprobe(void *ctx, const struct walk_node *node)
{
	struct kprobe_search *s = ctx;
	struct inspect *i = s->i;
	u64 addr, handler;
	u32 flags;
	int err = kspace_read(&i->k, node->addr + s->l.addr, &addr, sizeof(addr), "a kprobe");
	if (!err)
		err = kspace_read(&i->k, node->addr + s->l.pre_handler, &handler, sizeof(handler),
				  "a kprobe");
	if (!err)
		err = kspace_read(&i->k, node->addr + s->l.flags, &flags, sizeof(flags), "a kprobe");
	if (err || addr < s->from || addr >= s->until)
		return err;
	if (s->aggr && handler == s->aggr && !s->inner) {
		struct kprobe_search inner = *s;
		struct walk_result r;
		struct walk_list w = { .kind = WALK_LIST_HEAD,
				       .start = node->addr + s->l.list,
				       .offset = s->l.list };
		inner.inner = true;
		err = walk_list(&i->k, &w, each_kprobe, &inner, &r);
		s->nr = inner.nr;
		return err;
	}
	struct strbuf words, place, by;
	strbuf_init(&words);
	strbuf_init(&place);
	strbuf_init(&by);
	bool is_return = s->kretprobe && handler == s->kretprobe;
	add_flags(flags, &words);
	if (!kspace_name_address(&i->k, addr, false, &place))
		strbuf_printf(&place, "0x%llx", (ull)addr);
	if (!kspace_name_address(&i->k, handler, false, &by))
		strbuf_printf(&by, "0x%llx", (ull)handler);
	s->nr++;
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "source", "kprobe_table");
		json_put_str(&i->j, "kind", is_return ? "kretprobe" : "kprobe");
		inspect_json_address(i, "address", node->addr);
		json_put_str(&i->j, "place", strbuf_cstr(&place));
		json_put_str(&i->j, "handler", strbuf_cstr(&by));
		json_put_str(&i->j, "flags", strbuf_cstr(&words));
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text,
			      "  %s at %s: struct kprobe %llx, pre_handler %s, flags %u (%s)\n",
			      is_return ? "kretprobe" : "kprobe", strbuf_cstr(&place),
			      (ull)node->addr, strbuf_cstr(&by), flags, strbuf_cstr(&words));
	}
	strbuf_done(&words);
	strbuf_done(&place);
	strbuf_done(&by);
	return 0;
}

static u64 address_of(struct inspect *i, const char *name)
{
	struct ksym sym;
	const struct ksyms *s = kspace_try_syms(&i->k);
	return s && ksyms_find(s, name, &sym) ? sym.addr : 0;
}

static void report_missing(struct inspect *i, const char *source, const char *why)
{
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "source", source);
		json_put_str(&i->j, "missing", why);
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text, "%s: not read: %s\n", source, why);
	}
}

static int probed_kprobes(struct inspect *i, u64 from, u64 until)
{
	struct kprobe_search s = { .i = i, .from = from, .until = until };
	u64 table = address_of(i, "kprobe_table");
	const struct {
		const char *member;
		u64 *to;
	} members[] = { { "hlist", &s.l.hlist },
			{ "list", &s.l.list },
			{ "addr", &s.l.addr },
			{ "pre_handler", &s.l.pre_handler },
			{ "flags", &s.l.flags } };
	if (!table) {
		report_missing(i, "kprobe_table", "this kernel's symbol list does not have it");
		return 0;
	}
	int err = 0;
	for (size_t n = 0; !err && n < ARRAY_SIZE(members); n++)
		err = kspace_offset(&i->k, "kprobe", members[n].member, members[n].to);
	s.aggr = address_of(i, "aggr_pre_handler");
	s.kretprobe = address_of(i, "pre_handler_kretprobe");
	if (!err && !i->app->json)
		strbuf_str(&i->text,
			   "kprobe_table (every kprobe in the kernel, whoever made it):\n");
	for (u32 n = 0; !err && n < HEADS; n++) {
		struct walk_result r;
		struct walk_list w = { .kind = WALK_LIST_HEAD,
				       .start = table + n * sizeof(u64),
				       .offset = s.l.hlist };
		err = walk_list(&i->k, &w, each_kprobe, &s, &r);
	}
	if (!err && !s.nr && !i->app->json)
		strbuf_str(&i->text, "  none in this function\n");
	return err;
}

/* The ftrace call at the entry: perhaps after endbr64. */
static int probed_text(struct inspect *i, const char *name, u64 addr)
{
	enum { ENTRY = 9, CALL = 5, ENDBR = 4 };
	/* endbr64, and the NOP that the kernel puts where nobody needs it. */
	static const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, sealed[] = { 0x66, 0x0f, 0x1f, 0x00 };
	u8 code[ENTRY];
	char note[INSPECT_NOTE];
	int err = kspace_read(&i->k, addr, code, sizeof(code), name);
	if (err)
		return err;
	bool has_endbr = !memcmp(code, endbr, ENDBR) || !memcmp(code, sealed, ENDBR);
	u64 at = has_endbr ? ENDBR : 0;
	inspect_note(i, addr + at, at, code + at, CALL, note);
	bool nop = !strcmp(note, "FTRACE NOP"), call = *note && !nop;
	const char *means = nop	   ? "ftrace can trace it, and nobody does"
			    : call ? "its entry calls ftrace: somebody traces it"
			    : code[at] == 0xcc
				    ? "a breakpoint at its entry: a kprobe that does not use ftrace"
				    : "ftrace cannot trace it (notrace, or inlined everywhere)";
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "source", "live text");
		inspect_json_address(i, "address", addr + at);
		json_put_str(&i->j, "note", note);
		json_put_bool(&i->j, "traced", call);
		json_put_str(&i->j, "means", means);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "live text at 0x%llx:%s%s%s %s\n", (ull)(addr + at),
		      *note ? " [" : "", note, *note ? "]" : "", means);
	return 0;
}

struct ops_search {
	struct inspect *i;
	u64 func;
	u64 nr;
};

static int each_ops(void *ctx, const struct walk_node *node)
{
	struct ops_search *s = ctx;
	struct inspect *i = s->i;
	struct strbuf name, self;
	u64 func;
	int err = kspace_read(&i->k, node->addr + s->func, &func, sizeof(func), "an ftrace_ops");
	if (err)
		return err;
	strbuf_init(&name);
	strbuf_init(&self);
	if (!kspace_name_address(&i->k, func, false, &name))
		strbuf_printf(&name, "0x%llx", (ull)func);
	(void)kspace_name_address(&i->k, node->addr, false, &self);
	/* The last of the list is a stub. */
	if (strcmp(strbuf_cstr(&name), "ftrace_stub") != 0) {
		s->nr++;
		if (i->app->json) {
			json_object(&i->j);
			json_put_str(&i->j, "source", "ftrace_ops_list");
			inspect_json_address(i, "address", node->addr);
			json_put_str(&i->j, "handler", strbuf_cstr(&name));
			json_object_end(&i->j);
		} else {
			strbuf_printf(&i->text, "  %llx%s%s%s func %s\n", (ull)node->addr,
				      self.len ? " <" : "", strbuf_cstr(&self), self.len ? ">" : "",
				      strbuf_cstr(&name));
		}
	}
	strbuf_done(&name);
	strbuf_done(&self);
	return 0;
}

/* Everybody who uses ftrace; which of their filters has this function is in the text's call. */
static int probed_ops(struct inspect *i)
{
	struct ops_search s = { .i = i };
	struct walk_list w = { .kind = WALK_LIST_NEXT };
	struct walk_result r;
	u64 head = address_of(i, "ftrace_ops_list");
	if (!head) {
		report_missing(i, "ftrace_ops_list", "this kernel's symbol list does not have it");
		return 0;
	}
	int err = kspace_offset(&i->k, "ftrace_ops", "func", &s.func);
	if (!err)
		err = kspace_offset(&i->k, "ftrace_ops", "next", &w.offset);
	if (!err)
		err = kspace_read(&i->k, head, &w.start, sizeof(w.start), "ftrace_ops_list");
	if (err)
		return err;
	if (!i->app->json)
		strbuf_str(&i->text, "ftrace_ops_list (users of ftrace, of any function):\n");
	err = walk_list(&i->k, &w, each_ops, &s, &r);
	if (!err && !s.nr && !i->app->json)
		strbuf_str(&i->text, "  none\n");
	return err;
}

int inspect_probed(struct inspect *i, int argc, char **argv)
{
	const struct ksyms *s;
	inspect_fresh_symbols(i);
	int err = kspace_syms(&i->k, &s);
	for (int n = 0; !err && n < argc; n++) {
		struct ksym sym, at;
		u64 offset, size = 0;
		if (!ksyms_find(s, argv[n], &sym) || !ksym_is_code(&sym))
			return diag_error(&i->app->diag, -ENOENT, "no function '%s' in this kernel",
					  argv[n]);
		if (!ksyms_at(s, sym.addr, &at, &offset, &size) || !size)
			size = 1;
		err = probed_text(i, argv[n], sym.addr);
		if (!err)
			err = probed_kprobes(i, sym.addr, sym.addr + size);
	}
	return err ? err : probed_ops(i);
}

/*
 * Probe points of SystemTap, and what names mean in them.
 *
 * A point is read as text, component by component: NAME or NAME("argument") or NAME(number), with dots between. Points of its library are
 * rows: the point of ours that stands for it, and which argument, field or result is behind each name that the library has for it.
 */
#include "lang/stap_impl.h"

#include "base/glob.h"
#include "base/num.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

struct stap_alias {
	const char *name, *point;
	const char *vars; /* "name=target ...": $target is meant */
};

static const struct stap_alias aliases[] = {
	{ "vfs.read", "kprobe:vfs_read", "file=file buf=buf bytes_to_read=count pos=pos" },
	{ "vfs.read.return", "kretprobe:vfs_read", "ret=return bytes_read=return" },
	{ "vfs.write", "kprobe:vfs_write", "file=file buf=buf bytes_to_write=count pos=pos" },
	{ "vfs.write.return", "kretprobe:vfs_write", "ret=return bytes_written=return" },
	{ "vfs.readv", "kprobe:vfs_readv", "file=file" },
	{ "vfs.writev", "kprobe:vfs_writev", "file=file" },
	{ "vfs.open", "kprobe:vfs_open", "path=path file=file" },
	{ "vfs.open.return", "kretprobe:vfs_open", "ret=return" },
	{ "tcp.sendmsg", "kprobe:tcp_sendmsg", "sock=sk size=size" },
	{ "tcp.sendmsg.return", "kretprobe:tcp_sendmsg", "size=return" },
	{ "tcp.recvmsg", "kprobe:tcp_recvmsg", "sock=sk size=len" },
	{ "tcp.recvmsg.return", "kretprobe:tcp_recvmsg", "size=return" },
	{ "tcp.disconnect", "kprobe:tcp_disconnect", "sock=sk flags=flags" },
	{ "udp.sendmsg", "kprobe:udp_sendmsg", "sock=sk size=len" },
	{ "udp.sendmsg.return", "kretprobe:udp_sendmsg", "size=return" },
	{ "udp.recvmsg", "kprobe:udp_recvmsg", "sock=sk size=len" },
	{ "udp.recvmsg.return", "kretprobe:udp_recvmsg", "size=return" },
	{ "process.begin", "tracepoint:sched:sched_process_exec", "" },
	{ "process.end", "tracepoint:sched:sched_process_exit", "" },
	{ "process.syscall", "tracepoint:raw_syscalls:sys_enter", "syscall=id" },
	{ "process.syscall.return", "tracepoint:raw_syscalls:sys_exit", "syscall=id" },
	{ "kprocess.create", "tracepoint:sched:sched_process_fork", "new_pid=child_pid" },
	{ "kprocess.exec", "tracepoint:syscalls:sys_enter_execve", "filename=filename" },
	{ "kprocess.exec_complete", "tracepoint:sched:sched_process_exec", "" },
	{ "kprocess.exit", "tracepoint:sched:sched_process_exit", "" },
	{ "kprocess.release", "tracepoint:sched:sched_process_free", "released_pid=pid" },
	{ "signal.send", "tracepoint:signal:signal_generate", "sig=sig sig_pid=pid pid_name=comm" },
	{ "signal.handle", "tracepoint:signal:signal_deliver", "sig=sig" },
	{ "scheduler.ctxswitch", "tracepoint:sched:sched_switch",
	  "prev_pid=prev_pid next_pid=next_pid prev_task_name=prev_comm next_task_name=next_comm "
	  "prev_priority=prev_prio next_priority=next_prio prevtsk_state=prev_state" },
	{ "scheduler.cpu_off", "tracepoint:sched:sched_switch",
	  "task_prev=prev_pid task_next=next_pid" },
	{ "scheduler.wakeup", "tracepoint:sched:sched_wakeup",
	  "task_pid=pid task_priority=prio task_cpu=target_cpu" },
	{ "scheduler.wakeup_new", "tracepoint:sched:sched_wakeup_new",
	  "task_pid=pid task_priority=prio task_cpu=target_cpu" },
	{ "scheduler.migrate", "tracepoint:sched:sched_migrate_task",
	  "pid=pid priority=prio cpu_from=orig_cpu cpu_to=dest_cpu" },
	{ "scheduler.process_fork", "tracepoint:sched:sched_process_fork",
	  "parent_pid=parent_pid child_pid=child_pid" },
	{ "scheduler.process_exit", "tracepoint:sched:sched_process_exit", "pid=pid priority=prio" },
	{ "scheduler.process_wait", "tracepoint:sched:sched_process_wait", "pid=pid priority=prio" },
	{ "scheduler.process_free", "tracepoint:sched:sched_process_free", "pid=pid priority=prio" },
	{ "ioblock.request", "tracepoint:block:block_bio_queue",
	  "sector=sector sectors=nr_sector dev=dev" },
	{ "ioblock.end", "tracepoint:block:block_bio_complete",
	  "sector=sector sectors=nr_sector dev=dev error=error" },
	{ "ioscheduler.elv_add_request", "tracepoint:block:block_rq_insert",
	  "sector=sector sectors=nr_sector dev=dev" },
	{ "ioscheduler.elv_completed_request", "tracepoint:block:block_rq_complete",
	  "sector=sector sectors=nr_sector dev=dev" },
	{ "netdev.transmit", "tracepoint:net:net_dev_queue", "length=len dev_name=name" },
	{ "netdev.hard_transmit", "tracepoint:net:net_dev_start_xmit",
	  "length=len dev_name=name protocol=protocol" },
	{ "netdev.receive", "tracepoint:net:netif_receive_skb", "length=len dev_name=name" },
	{ "vm.kmalloc", "tracepoint:kmem:kmalloc",
	  "call_site=call_site ptr=ptr bytes_req=bytes_req bytes_alloc=bytes_alloc" },
	{ "vm.kmem_cache_alloc", "tracepoint:kmem:kmem_cache_alloc",
	  "call_site=call_site ptr=ptr bytes_req=bytes_req bytes_alloc=bytes_alloc" },
	{ "vm.kfree", "tracepoint:kmem:kfree", "call_site=call_site ptr=ptr" },
	{ "vm.oom_kill", "tracepoint:oom:mark_victim", "" },
	{ "vm.pagefault", "tracepoint:exceptions:page_fault_user", "address=address" },
	{ "irq_handler.entry", "tracepoint:irq:irq_handler_entry", "irq=irq dev_name=name" },
	{ "irq_handler.exit", "tracepoint:irq:irq_handler_exit", "irq=irq ret=ret" },
	{ "softirq.entry", "tracepoint:irq:softirq_entry", "vec_nr=vec" },
	{ "softirq.exit", "tracepoint:irq:softirq_exit", "vec_nr=vec" },
	{ "workqueue.execute", "tracepoint:workqueue:workqueue_execute_start", "work_func=function" },
};

struct stap_component {
	char name[64];
	char arg[256];
	bool has_arg, is_string;
};

struct stap_point {
	struct stap *s;
	struct stap_component part[8];
	u32 nr;
	u32 start, len; /* in the script */
	bool optional;
	struct probe_block *block;
	const struct stap_alias **aliases;
};

static int bad(struct stap_point *pt, int err, const char *fmt, ...) printf_like(3, 4);

static int bad(struct stap_point *pt, int err, const char *fmt, ...)
{
	struct node at = { .start = pt->start, .len = pt->len };
	struct strbuf text;
	va_list ap;
	strbuf_init(&text);
	va_start(ap, fmt);
	strbuf_vprintf(&text, fmt, ap);
	va_end(ap);
	stap_fail_at(pt->s, &at, err, "%s", strbuf_cstr(&text));
	strbuf_done(&text);
	return pt->s->p.err;
}

/* ---- text to components ---- */

static u32 skip_blank(const struct stap *s, u32 at)
{
	while (at < s->p.lex.end && isspace((unsigned char)s->text[at]))
		at++;
	return at;
}

/* ("text") or (number): what is inside; at is behind the parenthesis. */
static int read_argument(struct stap_point *pt, struct stap_component *c, u32 *at)
{
	const char *t = pt->s->text;
	u32 end = pt->s->p.lex.end, i = skip_blank(pt->s, *at), nr = 0;
	c->has_arg = true;
	c->is_string = i < end && t[i] == '"';
	i += c->is_string;
	while (i < end && t[i] != '\n' && (c->is_string ? t[i] != '"' : t[i] != ')')) {
		if (nr == sizeof(c->arg) - 1)
			return bad(pt, -E2BIG, "argument too long");
		c->arg[nr++] = t[i++];
	}
	while (!c->is_string && nr && c->arg[nr - 1] == ' ')
		nr--;
	c->arg[nr] = 0;
	i = skip_blank(pt->s, i + c->is_string);
	if (i >= end || t[i] != ')')
		return bad(pt, -EINVAL, "expected ')' after the argument of '%s'", c->name);
	*at = i + 1;
	return 0;
}

static bool is_part(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '*';
}

static int read_components(struct stap_point *pt, u32 *at)
{
	const char *t = pt->s->text;
	u32 end = pt->s->p.lex.end, i = skip_blank(pt->s, *at);
	pt->start = i;
	pt->len = 1;
	for (;;) {
		struct stap_component *c = &pt->part[pt->nr];
		u32 nr = 0;
		if (pt->nr == ARRAY_SIZE(pt->part))
			return bad(pt, -E2BIG, "too many parts in the probe point");
		for (; i < end && is_part(t[i]); i++)
			if (nr < sizeof(c->name) - 1)
				c->name[nr++] = t[i];
		c->name[nr] = 0;
		pt->len = max(1u, i - pt->start);
		if (!nr)
			return bad(pt, -EINVAL, "expected a probe point");
		pt->nr++;
		i = skip_blank(pt->s, i);
		if (i < end && t[i] == '(') {
			i++;
			int err = read_argument(pt, c, &i);
			if (err)
				return err;
			pt->len = i - pt->start;
			i = skip_blank(pt->s, i);
		}
		if (i >= end || t[i] != '.')
			break;
		i = skip_blank(pt->s, i + 1);
	}
	if (i < end && (t[i] == '?' || t[i] == '!')) {
		if (t[i] == '!')
			return bad(pt, -ENOTSUP, "'!' after a probe point is not supported");
		pt->optional = true;
		i = skip_blank(pt->s, i + 1);
	}
	*at = i;
	return 0;
}

/* ---- components to a point of ours ---- */

static int add_point(struct stap_point *pt, const struct stap_alias *a, const char *text)
{
	struct stap *s = pt->s;
	if (pt->block->nr_points == 32)
		return bad(pt, -E2BIG, "more than 32 points of one probe");
	int err = provider_parse(s->p.in, s->p.program, text, pt->start, pt->len, s->p.diag);
	if (err) {
		s->p.err = err;
		return err;
	}
	pt->aliases[pt->block->nr_points++] = a;
	return 0;
}

static int add_printed(struct stap_point *pt, const char *fmt, ...) printf_like(2, 3);

static int add_printed(struct stap_point *pt, const char *fmt, ...)
{
	struct strbuf text;
	va_list ap;
	strbuf_init(&text);
	va_start(ap, fmt);
	strbuf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (text.err)
		pt->s->p.err = -ENOMEM;
	else
		(void)!add_point(pt, NULL, strbuf_cstr(&text));
	strbuf_done(&text);
	return pt->s->p.err;
}

static bool is_named(const struct stap_point *pt, u32 i, const char *name)
{
	return i < pt->nr && !strcmp(pt->part[i].name, name);
}

/* A part with an argument that is a text. */
static bool has_text(const struct stap_point *pt, u32 i, const char *name)
{
	return is_named(pt, i, name) && pt->part[i].is_string && pt->part[i].arg[0];
}

static bool plain_name(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_.*?[]-", *c))
			return false;
	return *name;
}

/* .call, .return and those that need debug information. */
static int suffix(struct stap_point *pt, u32 i, bool *ret)
{
	*ret = false;
	for (; i < pt->nr; i++) {
		if (is_named(pt, i, "return") && !pt->part[i].has_arg)
			*ret = true;
		else if (is_named(pt, i, "maxactive"))
			continue;
		else if (is_named(pt, i, "inline") || is_named(pt, i, "callee") ||
			 is_named(pt, i, "callees") || is_named(pt, i, "label"))
			return bad(
				pt,
				-ENOTSUP, ".%s needs places inside of functions, which the kernel does not name",
				pt->part[i].name);
		else if (!is_named(pt, i, "call") && !is_named(pt, i, "exported"))
			return bad(pt, -EINVAL, "unknown part '.%s' of the probe point",
				   pt->part[i].name);
	}
	return 0;
}

static int function_point(struct stap_point *pt, u32 i, const char *module)
{
	const char *name = pt->part[i].arg;
	bool ret;
	int err = suffix(pt, i + 1, &ret);
	if (err)
		return err;
	if (strchr(name, '@'))
		return bad(pt, -ENOTSUP,
			   "functions by source file are not supported: leave out '%s'",
			   strchr(name, '@'));
	if (!plain_name(name) || (module && !plain_name(module)))
		return bad(pt, -EINVAL, "invalid name of a function '%s'", name);
	return add_printed(pt, "%s:%s%s%s", ret ? "kretprobe" : "kprobe", module ? module : "",
			   module ? ":" : "", name);
}

static int timer_point(struct stap_point *pt)
{
	static const struct {
		const char *name, *unit;
		u64 scale;
	} units[] = {
		{ "s", "s", 1 },   { "sec", "s", 1 },	{ "ms", "ms", 1 }, { "msec", "ms", 1 },
		{ "us", "us", 1 }, { "usec", "us", 1 }, { "hz", "hz", 1 },
	};
	u64 nr;
	if (pt->nr >= 2 && is_named(pt, 1, "profile"))
		return add_point(pt, NULL, "profile:hz:100");
	if (pt->nr > 2)
		return bad(pt, -ENOTSUP, ".%s of timers is not supported", pt->part[2].name);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (is_named(pt, 1, units[i].name)) {
			const char *arg = pt->part[1].arg;
			if (!pt->part[1].has_arg || num_parse_u64(arg, 10, &nr) || !nr)
				return bad(pt, -EINVAL, "invalid interval: the form is timer.%s(1)",
					   units[i].name);
			return add_printed(pt, "interval:%s:%llu", units[i].unit,
					   (unsigned long long)nr);
		}
	return bad(pt, -ENOTSUP, "timer.%s is not supported: s, ms, us, hz and profile are",
		   pt->nr > 1 ? pt->part[1].name : "");
}

static int syscall_point(struct stap_point *pt)
{
	bool ret = is_named(pt, 2, "return");
	if (pt->nr < 2 || pt->nr > 2 + (u32)ret || pt->part[1].has_arg)
		return bad(pt, -EINVAL, "the form is syscall.NAME or syscall.NAME.return");
	return add_printed(pt, "tracepoint:syscalls:sys_%s_%s", ret ? "exit" : "enter",
			   pt->part[1].name);
}

/* statement("FUNCTION@FILE:LINE"): the line says all. begin: what comes before the file in an attach point. */
static int statement_point(struct stap_point *pt, const char *begin, const char *module)
{
	const char *file = strrchr(pt->part[1].arg, '@');
	const char *colon = file ? strrchr(file, ':') : NULL;
	if (pt->nr != 2)
		return bad(pt, -ENOTSUP, ".%s of statements is not supported", pt->part[2].name);
	if (!colon || colon == file + 1 || !isdigit((unsigned char)colon[1]) ||
	    strpbrk(file, "\", "))
		return bad(pt, -EINVAL, "the form is .statement(\"FUNCTION@FILE:LINE\")");
	return add_printed(pt, "%s@%s%s%s", begin, module ? module : "", module ? ":" : "",
			   file + 1);
}

static int process_point(struct stap_point *pt)
{
	const char *path = pt->part[0].arg;
	bool ret;
	if (strchr(path, '"') || strchr(path, ':'))
		return bad(pt, -EINVAL, "invalid path '%s'", path);
	if (has_text(pt, 1, "function")) {
		int err = suffix(pt, 2, &ret);
		if (err)
			return err;
		if (strchr(pt->part[1].arg, '@') || strchr(pt->part[1].arg, ':'))
			return bad(pt, -ENOTSUP, "functions by source file are not supported");
		return add_printed(pt, "%s:\"%s\":%s", ret ? "uretprobe" : "uprobe", path,
				   pt->part[1].arg);
	}
	if (has_text(pt, 1, "statement")) {
		struct strbuf begin;
		strbuf_init(&begin);
		strbuf_printf(&begin, "uprobe:\"%s\"", path);
		int err = begin.err ? begin.err : statement_point(pt, strbuf_cstr(&begin), NULL);
		strbuf_done(&begin);
		return err;
	}
	if (has_text(pt, 1, "mark") && pt->nr == 2)
		return add_printed(pt, "usdt:\"%s\":%s", path, pt->part[1].arg);
	if (has_text(pt, 1, "provider") && has_text(pt, 2, "mark") && pt->nr == 3)
		return add_printed(pt, "usdt:\"%s\":%s:%s", path, pt->part[1].arg, pt->part[2].arg);
	return bad(pt, -ENOTSUP,
		   "only .function(\"NAME\"), .statement(\"NAME@FILE:LINE\"), .mark(\"NAME\") and "
		   ".provider(\"NAME\").mark(\"NAME\") of a process are supported");
}

static int kernel_point(struct stap_point *pt)
{
	const char *module = pt->part[0].has_arg ? pt->part[0].arg : NULL;
	if (has_text(pt, 1, "function"))
		return function_point(pt, 1, module);
	if (has_text(pt, 1, "statement"))
		return statement_point(pt, "kprobe", module);
	if (has_text(pt, 1, "trace") && pt->nr == 2 && !module) {
		const char *colon = strchr(pt->part[1].arg, ':');
		const char *name = colon ? colon + 1 : pt->part[1].arg;
		return plain_name(name)
			       ? add_printed(pt, "rawtracepoint:%s", name)
			       : bad(pt, -EINVAL, "invalid name of a tracepoint '%s'", name);
	}
	return bad(pt, -ENOTSUP,
		   "only .function(\"NAME\"), .statement(\"NAME@FILE:LINE\") and "
		   ".trace(\"NAME\") of the kernel are supported");
}

/* "a.b.c" and its pattern "a.*.c": a star does not reach over a dot. */
static bool alias_matches(const char *pattern, const char *name)
{
	u32 dots = 0;
	for (const char *c = pattern; *c; c++)
		dots += *c == '.';
	for (const char *c = name; *c; c++)
		dots -= *c == '.';
	return !dots && glob_match(pattern, name);
}

static int library_point(struct stap_point *pt)
{
	struct strbuf name;
	u32 found = 0;
	int err = 0;
	strbuf_init(&name);
	for (u32 i = 0; i < pt->nr; i++) {
		strbuf_printf(&name, "%s%s", i ? "." : "", pt->part[i].name);
		if (pt->part[i].has_arg)
			strbuf_str(&name, "()");
	}
	if (name.err)
		err = pt->s->p.err = -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(aliases) && !err; i++)
		if (alias_matches(strbuf_cstr(&name), aliases[i].name)) {
			err = add_point(pt, &aliases[i], aliases[i].point);
			found++;
		}
	if (!found && !err) {
		const char *names[ARRAY_SIZE(aliases)];
		for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
			names[i] = aliases[i].name;
		const char *close = str_closest(strbuf_cstr(&name), names, ARRAY_SIZE(names));
		err = bad(pt, -ENOTSUP, "unknown probe point '%s'", strbuf_cstr(&name));
		if (close)
			diag_hint(pt->s->p.diag, "did you mean '%s'?", close);
	}
	strbuf_done(&name);
	return err;
}

static int one_point(struct stap_point *pt)
{
	if (is_named(pt, 0, "begin") || is_named(pt, 0, "end"))
		return pt->nr > 1 || pt->part[0].has_arg
			       ? bad(pt, -ENOTSUP, "the order of '%s' probes is that of the script",
				     pt->part[0].name)
			       : add_point(pt, NULL, pt->part[0].name);
	if (is_named(pt, 0, "timer"))
		return timer_point(pt);
	if (is_named(pt, 0, "syscall") || is_named(pt, 0, "nd_syscall"))
		return syscall_point(pt);
	if (is_named(pt, 0, "kernel") || has_text(pt, 0, "module"))
		return kernel_point(pt);
	if (is_named(pt, 0, "kprobe") && has_text(pt, 1, "function"))
		return function_point(pt, 1, NULL);
	if (has_text(pt, 0, "process"))
		return process_point(pt);
	return library_point(pt);
}

int stap_points(struct stap *s, struct probe_block *b, const struct stap_alias **ret)
{
	u32 at = s->p.t.start;
	const char *t = s->text;
	if (s->p.err)
		return s->p.err;
	for (;;) {
		struct stap_point pt = { .s = s, .block = b, .aliases = ret };
		int err = read_components(&pt, &at);
		if (!err && at < s->p.lex.end && t[at] == '=')
			err = bad(&pt, -ENOTSUP, "aliases of a script's own are not supported");
		if (!err)
			err = one_point(&pt);
		if (err)
			return err;
		if (pt.optional)
			s->p.program->config.missing_probes = 1;
		if (at >= s->p.lex.end || t[at] != ',')
			break;
		at++;
	}
	s->p.lex.at = at;
	parse_next(&s->p);
	return s->p.err;
}

/* ---- what names mean ---- */

void stap_enter(struct stap *s, const struct program_probe *p, const struct stap_alias *a)
{
	static const char *const prefixes[] = { "sys_enter_", "sys_exit_" };
	const struct lang_ops *ops = s->p.in->ops;
	s->at = (struct stap_context){ .provider = p->provider,
				       .target = p->target,
				       .name = p->name,
				       .is_glob = p->is_glob,
				       .alias = a };
	if (p->provider != PROGRAM_TRACEPOINT)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes) && !strcmp(p->target, "syscalls"); i++)
		if (str_starts(p->name, prefixes[i]))
			s->at.call = p->name + strlen(prefixes[i]);
	if (!p->is_glob && ops && ops->tracepoint &&
	    ops->tracepoint(s->p.in->ctx, p->target, p->name, &s->at.schema))
		s->at.schema = NULL;
}

static const struct schema_field *field_of(const struct stap *s, const char *name)
{
	const struct schema *y = s->at.schema;
	for (u32 i = 0; y && i < y->nr_fields; i++)
		if (!strcmp(y->fields[i].name, name))
			return &y->fields[i];
	return NULL;
}

static struct node *member(struct stap *s, const char *name, const struct node *at)
{
	struct node *n = stap_node(s, NODE_MEMBER, at);
	if (n) {
		n->a = stap_name(s, "args", at);
		n->text = name;
	}
	return n;
}

/* A field of a tracepoint: texts as texts, numbers as signed ones. */
static struct node *field(struct stap *s, const char *name, bool follow, const struct node *at)
{
	const struct schema_field *f = field_of(s, name);
	struct node *n = member(s, name, at);
	if (s->at.is_glob)
		s->wants_event = true;
	if (!f || !n)
		return n;
	bool text = f->flags & (FIELD_DATA_LOC | FIELD_REL_LOC) ||
		    (f->flags & FIELD_STRING && f->flags & FIELD_ARRAY);
	bool pointer = f->type && strchr(f->type, '*');
	if (text || (follow && pointer && strstr(f->type, "char")))
		return stap_call_of(s, "str", n, at);
	if (!pointer && !(f->flags & FIELD_ARRAY))
		return stap_cast(s, "int64", 0, n);
	return n;
}

/* The value in a register is of this type of the kernel's. */
static struct node *typed(struct stap *s, u32 type, struct node *n)
{
	struct btf *b = s->p.in->btf;
	struct btf_desc d;
	u32 stars = 0;
	while (btf_resolve(b, type, &d) && d.kind == BTF_OF_POINTER && stars < 4) {
		type = d.ref;
		stars++;
	}
	if (!btf_resolve(b, type, &d))
		return n;
	struct strbuf name;
	strbuf_init(&name);
	if ((d.kind == BTF_OF_STRUCT || d.kind == BTF_OF_UNION) && *d.name && stars)
		strbuf_printf(&name, "%s %s", d.kind == BTF_OF_STRUCT ? "struct" : "union", d.name);
	else if (d.kind == BTF_OF_INT || d.kind == BTF_OF_ENUM || d.kind == BTF_OF_ENUM64)
		strbuf_printf(&name, "%sint%u", d.is_signed ? "" : "u", d.size * 8);
	bool known = name.len || name.err;
	const char *text = known ? stap_keep(s, &name) : NULL;
	if (known && !text)
		return NULL;
	if (!known)
		strbuf_done(&name);
	if (!text)
		return stars ? n : stap_cast(s, "int64", 0, n);
	n = stap_cast(s, text, stars, n);
	return stars ? n : stap_cast(s, "int64", 0, n);
}

/* Types are read only for scripts that fail without: see program_compile(). */
static bool needs_types(struct stap *s, const struct node *at)
{
	if (s->p.in->btf)
		return false;
	stap_fail_at(s, at, -ENOENT, "the types of the kernel are not known here");
	return true;
}

static struct node *kernel_argument(struct stap *s, const char *name, const struct node *at)
{
	static const char *const registers[] = { "arg0", "arg1", "arg2", "arg3", "arg4", "arg5" };
	struct btf_desc d;
	struct btf_part p;
	if (needs_types(s, at))
		return NULL;
	if (s->at.is_glob || btf_find_prototype(s->p.in->btf, s->at.name, &d)) {
		stap_fail_at(s, at, -ENOENT, "the arguments of %s are not known",
			     s->at.name ? s->at.name : "this probe");
		return NULL;
	}
	const char *names[BTF_ARGS_MAX];
	u32 nr = 0;
	for (u32 i = 0; i < d.nr && i < BTF_ARGS_MAX && btf_part(s->p.in->btf, &d, i, &p); i++) {
		names[nr++] = p.name;
		if (strcmp(p.name, name))
			continue;
		if (i >= ARRAY_SIZE(registers)) {
			stap_fail_at(s, at, -ENOTSUP, "argument %u is not in a register", i + 1);
			return NULL;
		}
		return typed(s, p.type, stap_name(s, registers[i], at));
	}
	const char *close = str_closest(name, names, nr);
	stap_fail_at(s, at, -EINVAL, "%s() has no argument '%s'", s->at.name, name);
	if (close)
		diag_hint(s->p.diag, "did you mean $%s?", close);
	return NULL;
}

static struct node *result(struct stap *s, const struct node *at)
{
	struct btf_desc d;
	if (s->at.provider == PROGRAM_TRACEPOINT)
		return field(s, "ret", false, at);
	if (s->at.provider != PROGRAM_KRETPROBE && s->at.provider != PROGRAM_URETPROBE) {
		stap_fail_at(s, at, -EINVAL, "only a .return probe has $return");
		return NULL;
	}
	struct node *n = stap_name(s, "retval", at);
	if (s->at.provider == PROGRAM_URETPROBE)
		return stap_cast(s, "int64", 0, n);
	if (needs_types(s, at))
		return NULL;
	if (s->at.is_glob || btf_find_prototype(s->p.in->btf, s->at.name, &d))
		return stap_cast(s, "int64", 0, n);
	return typed(s, d.ref, n);
}

static struct node *mark_argument(struct stap *s, const char *name, const struct node *at)
{
	static const char *const registers[] = { "arg0", "arg1", "arg2", "arg3", "arg4",
						 "arg5", "arg6", "arg7", "arg8", "arg9" };
	u64 nr;
	if (!str_starts(name, "arg") || num_parse_u64(name + 3, 10, &nr) || !nr ||
	    nr > ARRAY_SIZE(registers)) {
		stap_fail_at(s, at, -EINVAL, "a mark has $arg1, $arg2 ...");
		return NULL;
	}
	return stap_cast(s, "int64", 0, stap_name(s, registers[nr - 1], at));
}

struct node *stap_target(struct stap *s, const char *name, const struct node *at)
{
	if (s->at.is_function) {
		stap_fail_at(s, at, -EINVAL, "$%s is of a probe: hand it to the function", name);
		return NULL;
	}
	if (!strcmp(name, "return"))
		return result(s, at);
	switch (s->at.provider) {
	case PROGRAM_TRACEPOINT: return field(s, name, false, at);
	case PROGRAM_RAW_TRACEPOINT:
	case PROGRAM_FENTRY: return member(s, name, at);
	case PROGRAM_KPROBE: return s->at.name ? kernel_argument(s, name, at) : member(s, name, at);
	case PROGRAM_UPROBE: return member(s, name, at);
	case PROGRAM_USDT: return mark_argument(s, name, at);
	case PROGRAM_KRETPROBE:
	case PROGRAM_URETPROBE:
		stap_fail_at(s, at, -ENOTSUP, "$%s is gone when the function returns", name);
		diag_hint(s->p.diag, "keep it in an array by tid() when it is called");
		return NULL;
	default: stap_fail_at(s, at, -EINVAL, "this probe has no $%s", name); return NULL;
	}
}

static void add_part(struct stap *s, struct strbuf *format, struct node *call, const char *name,
		     struct node *value)
{
	(void)s;
	bool text = value && value->kind == NODE_CALL;
	strbuf_printf(format, "%s%s=%s", format->len ? " " : "", name, text ? "\"%s\"" : "0x%x");
	struct node **at = &call->list;
	while (*at)
		at = &(*at)->next;
	*at = value;
	call->nr++;
}

/* sprintf("fd=0x%x count=0x%x", ...) */
struct node *stap_all_targets(struct stap *s, const char *name, const struct node *at)
{
	struct node *call = stap_call_of(s, "sprintf", stap_string(s, "", at), at);
	struct strbuf format;
	struct btf_desc d;
	struct btf_part p;
	if (!call)
		return NULL;
	strbuf_init(&format);
	if (!strcmp(name, "return")) {
		add_part(s, &format, call, "return", stap_target(s, name, at));
	} else if (strcmp(name, "parms") && strcmp(name, "vars")) {
		stap_fail_at(s, at, -ENOTSUP, "$$%s is not supported", name);
	} else if (s->at.provider == PROGRAM_TRACEPOINT && s->at.is_glob) {
		s->wants_event = true;
	} else if (s->at.provider == PROGRAM_TRACEPOINT && s->at.schema) {
		for (u32 i = 0; i < s->at.schema->nr_fields && !s->p.err; i++) {
			const struct schema_field *f = &s->at.schema->fields[i];
			if (!str_starts(f->name, "common_") && !str_starts(f->name, "__syscall"))
				add_part(s, &format, call, f->name, field(s, f->name, false, at));
		}
	} else if (s->at.provider == PROGRAM_KPROBE && !needs_types(s, at)) {
		if (s->at.is_glob || btf_find_prototype(s->p.in->btf, s->at.name, &d))
			stap_fail_at(s, at, -ENOENT, "the arguments of %s are not known",
				     s->at.name ? s->at.name : "this probe");
		for (u32 i = 0; !s->p.err && i < d.nr && i < 6 && btf_part(s->p.in->btf, &d, i, &p);
		     i++)
			add_part(s, &format, call, p.name, kernel_argument(s, p.name, at));
	} else {
		stap_fail_at(s, at, -ENOTSUP, "$$%s is not known of this probe", name);
	}
	const char *kept = stap_keep(s, &format);
	struct node *text = kept ? stap_string(s, kept, at) : NULL;
	if (!text || s->p.err)
		return NULL;
	text->next = call->list->next;
	call->list = text;
	return call;
}

/* The target that the library's name is for: "a=b" of the row. */
static const char *alias_target(struct stap *s, const struct stap_alias *a, const char *name)
{
	size_t len = strlen(name);
	for (const char *c = a ? a->vars : ""; *c;) {
		size_t whole = strcspn(c, " ");
		if (!strncmp(c, name, len) && c[len] == '=') {
			char *to = arena_strndup(s->p.arena, c + len + 1, whole - len - 1);
			if (!to)
				s->p.err = -ENOMEM;
			return to;
		}
		c += whole + (c[whole] == ' ');
	}
	return NULL;
}

struct node *stap_context_name(struct stap *s, const char *name, const struct node *at)
{
	if (s->at.is_function)
		return NULL;
	if (!strcmp(name, "name") && s->at.call) {
		s->wants_event |= s->at.is_glob;
		return stap_string(s, s->at.call, at);
	}
	if (!strcmp(name, "name") && s->at.alias)
		return stap_string(s, s->at.alias->name, at);
	const char *target = alias_target(s, s->at.alias, name);
	if (s->p.err)
		return NULL;
	if (target)
		return s->at.provider == PROGRAM_TRACEPOINT && strcmp(target, "return")
			       ? field(s, target, true, at)
			       : stap_target(s, target, at);
	if (s->at.provider != PROGRAM_TRACEPOINT || !s->at.call)
		return NULL;
	if (!strcmp(name, "argstr") || !strcmp(name, "retstr")) {
		stap_fail_at(s, at, -ENOTSUP, "'%s' is not supported: $$parms has the arguments",
			     name);
		return NULL;
	}
	if (!strcmp(name, "retval") && str_starts(s->at.name, "sys_exit"))
		return field(s, "ret", false, at);
	return field_of(s, name) ? field(s, name, true, at) : NULL;
}

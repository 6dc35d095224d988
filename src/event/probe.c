/*
 * kprobe:, uprobe:, usdt: as perf_event_open makes them without touching any shared file: the dynamic PMUs "kprobe" and
 * "uprobe" (kernel 4.17), config1 a pointer to the name or path, config2 the offset, bit 0 of config for returns.
 */
#include "event/resolve_impl.h"

#include "base/num.h"
#include "event/probe_elf.h"
#include "event/probe_kernel.h"
#include "kern/program_path.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The PMU and its "retprobe" bit; NULL with a diag when the kernel has none. */
static struct pmu *probe_pmu(struct event_resolver *r, const struct event_spec *e, const char *name,
			     u64 *ret_bit, struct event_desc *desc)
{
	struct pmu *p = pmu_find(&r->env->pmus, name, strlen(name));
	if (!p) {
		bool kernel = !strcmp(name, "kprobe");
		struct event_span prefix = { .start = e->span.start,
					     .len = e->name.start - e->span.start };
		(void)resolve_error(r, -EOPNOTSUPP, prefix,
				    "this kernel has no %ss (CONFIG_%s_EVENTS)", name,
				    kernel ? "KPROBE" : "UPROBE");
		diag_hint(r->diag,
			  kernel ? "tracepoints may be an alternative: sonde list tracepoint"
				 : "it needs a kernel with CONFIG_UPROBE_EVENTS=y");
		return NULL;
	}
	*ret_bit = 1;
	if (pmu_load_formats(&r->env->pmus, p) == 0) {
		const struct pmu_format *f = pmu_format_find(p, "retprobe", strlen("retprobe"));
		if (f)
			*ret_bit = f->mask;
	}
	desc->pmu = p->name;
	desc->attr.type = p->type;
	return p;
}

int resolve_check_kernel(struct event_resolver *r, const struct event_probe *p,
			 struct event_span symbol)
{
	struct probe_kernel look;
	probe_kernel_look(r->env->root, p->module, p->symbol, &look);
	if (look.unknown || (look.there && !look.refused))
		return 0;
	if (look.refused) {
		(void)resolve_error(r, -EOPNOTSUPP, symbol,
				    "the kernel does not allow probes on '%s'", p->symbol);
		diag_hint(r->diag, "it is blacklisted: /sys/kernel/debug/kprobes/blacklist");
		return -EOPNOTSUPP;
	}
	(void)resolve_error(r, -ENOENT, symbol, "this kernel has no function '%s'%s%s", p->symbol,
			    p->module ? " in module " : "", p->module ? p->module : "");
	if (look.in_module)
		diag_hint(r->diag, "it exists elsewhere: leave out the module");
	else if (look.close[0])
		diag_hint(r->diag, "did you mean %s?", look.close);
	else
		diag_hint(r->diag, "it may have been inlined: grep NAME /proc/kallsyms");
	return -ENOENT;
}

int resolve_kernel_symbol(struct event_resolver *r, const struct event_spec *e,
			  struct event_desc *desc, struct event_span *at)
{
	const char *s = resolve_at(r, e->name);
	const char *colon = memchr(s, ':', e->name.len);
	*at = e->name;
	if (colon) {
		struct event_span module = { .start = e->name.start, .len = (u32)(colon - s) };
		at->start += module.len + 1;
		at->len -= module.len + 1;
		desc->probe.module = resolve_str(r, module);
		if (!desc->probe.module)
			return -ENOMEM;
	}
	if (!at->len) {
		at->len = 1;
		return resolve_error(r, -EINVAL, *at, "expected a function name");
	}
	desc->probe.symbol = resolve_str(r, *at);
	desc->probe.offset = e->number;
	if (e->has_filter && !(desc->filter = resolve_str(r, e->filter)))
		return -ENOMEM;
	return desc->probe.symbol ? 0 : -ENOMEM;
}

/* A program or library by its name alone. 0 also when it is nowhere, or -ENOMEM. */
static int find_by_name(struct event_resolver *r, struct event_probe *p)
{
	struct strbuf file;
	strbuf_init(&file);
	int err = program_path(p->binary, r->env->pid, r->env->root, &file);
	if (!err) {
		const char *kept = arena_strdup(&r->list->arena, strbuf_cstr(&file));
		p->binary = kept ? kept : p->binary;
		err = kept ? 0 : -ENOMEM;
	}
	strbuf_done(&file);
	return err == -ENOMEM ? err : 0;
}

static int no_file(struct event_resolver *r, const struct event_spec *e, const char *binary, int err)
{
	(void)resolve_error(r, err, e->name, "cannot read %s: %s", binary, strerror(-err));
	if (err == -ENOENT && !strchr(binary, '/'))
		diag_hint(r->diag,
			  "it is neither here, nor a program in $PATH, nor a library that "
			  "the loader knows%s",
			  r->env->pid ? " or the process has mapped"
				      : "; with -p, libraries that a process has mapped are found");
	return err;
}

/* Where the text of a kernel's place begins: after "MODULE:", but "FUNC:12" is a line. */
static size_t module_len(const char *s, size_t len)
{
	size_t n = 0;
	while (n < len && (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '-'))
		n++;
	return n && n + 1 < len && s[n] == ':' && s[n + 1] != ':' &&
			       !isdigit((unsigned char)s[n + 1])
		       ? n
		       : 0;
}

int resolve_point(struct event_resolver *r, const struct event_spec *e, struct event_probe *ret)
{
	struct event_span point = e->point;
	struct event_probe p = { 0 };
	p.is_return = e->kind == EVENT_KIND_KRETPROBE || e->kind == EVENT_KIND_URETPROBE ||
		      e->kind == EVENT_KIND_FRETPROBE;
	if (e->event.len) {
		p.binary = resolve_str(r, e->name);
		if (!p.binary)
			return -ENOMEM;
		int err = find_by_name(r, &p);
		if (!err && access(p.binary, R_OK))
			err = no_file(r, e, p.binary, -errno);
		if (err)
			return err;
	} else {
		size_t n = module_len(resolve_at(r, point), point.len);
		if (n) {
			p.module = resolve_str(
				r, (struct event_span){ .start = point.start, .len = (u32)n });
			point.start += (u32)n + 1;
			point.len -= (u32)n + 1;
		}
	}
	if (e->kind == EVENT_KIND_USDT && e->provider.len &&
	    !(p.provider = resolve_str(r, e->provider)))
		return -ENOMEM;
	p.is_usdt = e->kind == EVENT_KIND_USDT;
	p.symbol = p.point = resolve_str(r, point);
	*ret = p;
	return p.point ? 0 : -ENOMEM;
}

struct defining {
	struct event_resolver *r;
	const struct event_spec *e;
};

/* Named after what was written: "kprobe:tcp_sendmsg", not after the group that is ours for a while. */
static int push_defined(void *ctx, const char *system, const char *event)
{
	struct defining *c = ctx;
	struct strbuf name;
	int err = resolve_push_tracepoint(c->r, c->e, c->e->kind, system, event);
	if (err)
		return err;
	struct event_desc *desc = &c->r->list->events.at[c->r->list->events.nr - 1];
	strbuf_init(&name);
	strbuf_printf(&name, "%s:%s", event_provider_of(c->e->kind)->prefix, event);
	desc->name = arena_strdup(&c->r->list->arena, strbuf_cstr(&name));
	strbuf_done(&name);
	return desc->name ? 0 : -ENOMEM;
}

int resolve_defined(struct event_resolver *r, const struct event_spec *e)
{
	struct event_probe p;
	struct defining c = { r, e };
	if (!r->env->probes) {
		int err = resolve_error(r, -EOPNOTSUPP, e->point,
					"this command takes probes without arguments and lines");
		diag_hint(r->diag, "add it with 'sonde probe', then use its name");
		return err;
	}
	int err = resolve_point(r, e, &p);
	return err ? err
		   : r->env->probes->define(r->env->probes->ctx, &p, push_defined, &c, r->diag);
}

int resolve_kprobe(struct event_resolver *r, const struct event_spec *e)
{
	if (e->point.len)
		return resolve_defined(r, e);
	struct event_desc *desc = resolve_push(r, e, e->kind);
	struct event_span symbol;
	if (!desc)
		return -ENOMEM;
	int err = resolve_kernel_symbol(r, e, desc, &symbol);
	if (err < 0)
		return err;
	desc->probe.is_return = e->kind == EVENT_KIND_KRETPROBE;
	desc->attr.sample_period = 1;
	u64 ret_bit;
	if (!probe_pmu(r, e, "kprobe", &ret_bit, desc))
		return -EOPNOTSUPP;
	desc->attr.config = desc->probe.is_return ? ret_bit : 0;
	u64 addr;
	bool by_address =
		num_parse_u64(desc->probe.symbol, 0, &addr) == 0 && desc->probe.symbol[0] == '0';
	err = by_address ? 0 : resolve_check_kernel(r, &desc->probe, symbol);
	if (err < 0)
		return err;
	if (by_address) {
		desc->attr.kprobe_func = 0;
		desc->attr.kprobe_addr = addr;
	} else {
		desc->attr.kprobe_func = (u64)(uintptr_t)desc->probe.symbol;
		desc->attr.probe_offset = e->number;
	}
	return 0;
}

/* The kernel accepts both: a breakpoint inside of an instruction, and return probes on stacks that move. */
static int check_place(struct event_resolver *r, const struct event_spec *e,
		       const struct event_probe *p, bool is_entry)
{
	struct probe_elf_spot at;
	if (e->kind == EVENT_KIND_URETPROBE && probe_elf_moves_stacks(p->binary)) {
		(void)resolve_error(r, -EPERM, e->event,
				    "return probes can crash %s: it is a Go program, which "
				    "moves its stacks",
				    p->binary);
		diag_hint(r->diag, "'sonde probe -f' adds it all the same");
		return -EPERM;
	}
	int inside = is_entry ? 0 : probe_elf_is_inside(p->binary, p->offset, &at);
	if (inside <= 0)
		return inside;
	(void)resolve_error(r, -EILSEQ, e->event, "%s+%llu is in the middle of an instruction",
			    at.function, (unsigned long long)at.offset);
	diag_hint(r->diag,
		  "instructions begin at +%llu and +%llu; all of them: sonde probe -x %s %s %s",
		  (unsigned long long)at.before, (unsigned long long)at.after, p->binary,
		  diag_option(r->diag, DIAG_OPT_OFFSETS), at.function);
	return -EILSEQ;
}

/* Fills offset (and semaphore) of the probe from the file; a diag when it is not there. */
static int find_in_binary(struct event_resolver *r, const struct event_spec *e,
			  struct event_desc *desc)
{
	struct event_probe *p = &desc->probe;
	u64 number;
	if (!strchr(p->binary, '/') && access(p->binary, R_OK) < 0) {
		int err = find_by_name(r, p);
		if (err)
			return err;
	}
	if (access(p->binary, R_OK) < 0)
		return no_file(r, e, p->binary, -errno);
	if (e->kind == EVENT_KIND_USDT) {
		int err = probe_elf_usdt(p->binary, p->provider, p->symbol, &p->offset,
					 &p->ref_ctr_offset);
		return err == -ENOENT
			       ? resolve_error(r, err, e->event, "%s has no static probe '%s%s%s'",
					       p->binary, p->provider ? p->provider : "",
					       p->provider ? ":" : "", p->symbol)
		       : err < 0 ? resolve_error(r, err, e->name, "cannot read the probes of %s: %s",
						 p->binary, strerror(-err))
				 : 0;
	}
	if (num_parse_u64(p->symbol, 0, &number) == 0 && p->symbol[0] >= '0' && p->symbol[0] <= '9') {
		p->offset = number + e->number;
		return check_place(r, e, p, false);
	}
	int err = probe_elf_symbol(p->binary, p->symbol, &p->offset);
	if (err == -ENOENT) {
		char close[PROBE_NAME_MAX];
		(void)resolve_error(r, err, e->event, "%s has no function '%s'", p->binary,
				    p->symbol);
		if (probe_elf_close(p->binary, p->symbol, close, sizeof(close)))
			diag_hint(r->diag, "did you mean %s?", close);
		diag_hint(r->diag, "a stripped file only has its exported symbols; a file offset "
				   "works too: 0x...");
		return err;
	}
	if (err < 0)
		return resolve_error(r, err, e->name, "cannot read the symbols of %s: %s",
				     p->binary, strerror(-err));
	p->offset += e->number;
	return check_place(r, e, p, !e->number);
}

int resolve_binary(struct event_resolver *r, const struct event_spec *e, struct event_desc *desc)
{
	desc->probe.binary = resolve_str(r, e->name);
	desc->probe.symbol = resolve_str(r, e->event);
	desc->probe.is_return = e->kind == EVENT_KIND_URETPROBE;
	if (e->provider.len && !(desc->probe.provider = resolve_str(r, e->provider)))
		return -ENOMEM;
	if (e->has_filter && !(desc->filter = resolve_str(r, e->filter)))
		return -ENOMEM;
	if (!desc->probe.binary || !desc->probe.symbol)
		return -ENOMEM;
	return find_in_binary(r, e, desc);
}

int resolve_uprobe(struct event_resolver *r, const struct event_spec *e)
{
	if (e->point.len)
		return resolve_defined(r, e);
	struct event_desc *desc = resolve_push(r, e, e->kind);
	if (!desc)
		return -ENOMEM;
	int err = resolve_binary(r, e, desc);
	if (err < 0)
		return err;
	desc->attr.sample_period = 1;
	u64 ret_bit;
	struct pmu *pmu = probe_pmu(r, e, "uprobe", &ret_bit, desc);
	if (!pmu)
		return -EOPNOTSUPP;
	desc->attr.config = desc->probe.is_return ? ret_bit : 0;
	desc->attr.uprobe_path = (u64)(uintptr_t)desc->probe.binary;
	desc->attr.probe_offset = desc->probe.offset;
	const struct pmu_format *f =
		pmu_format_find(pmu, "ref_ctr_offset", strlen("ref_ctr_offset"));
	if (desc->probe.ref_ctr_offset && f) {
		bool over;
		desc->attr.config |= pmu_scatter(f->mask, desc->probe.ref_ctr_offset, &over);
	}
	return 0;
}

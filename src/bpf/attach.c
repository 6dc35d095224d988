#include "bpf/attach.h"

#include "bpf/attach_impl.h"
#include "image/btf.h"
#include "kern/bpf_features.h"
#include "kern/bpf_sys.h"
#include "kern/cpu.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int attach_keep(struct attached *a, int fd)
{
	if (fd < 0)
		return fd;
	int *slot = vec_push(&a->fds);
	if (!slot) {
		close(fd);
		return -ENOMEM;
	}
	*slot = fd;
	return 0;
}

int attach_event(struct attached *a, int prog, int event, u64 cookie)
{
	int rc = attach_keep(a, event);
	if (rc)
		return rc;
	if (!a->no_cookie) {
		int link = bpfsys_link_perf_event(prog, event, cookie);
		if (link != -EINVAL)
			return link < 0 ? link : attach_keep(a, link);
		a->no_cookie = true;
	}
	rc = bpfsys_perf_event_set(event, prog);
	return rc ? rc : perf_event_enable(event);
}

int attach_failed(const struct attached *a, const struct point *pt, int err, struct diag *d)
{
	const struct program_probe *probe = &a->points->program->probes.at[pt->probe];
	if (err == -EPERM) {
		char what[160];
		snprintf(what, sizeof(what), "attach to %s", pt->text);
		return bpfsys_explain_permission(a->loaded->root, what, d);
	}
	/* strerror() of EILSEQ talks about multibyte characters. */
	diag_error(d, err, "cannot attach to %s: %s", err == -EILSEQ ? probe->text : pt->text,
		   err == -EILSEQ ? "it is in the middle of an instruction" : strerror(-err));
	script_span(d, a->loaded->script, probe->span_start, probe->span_len);
	if (err == -EILSEQ && pt->symbol)
		diag_hint(d, "to list where instructions begin: sonde probe %s %s",
			  diag_option(d, DIAG_OPT_OFFSETS), pt->symbol);
	/* Above 2 Debian's kernels want CAP_SYS_ADMIN for any event of perf. */
	if (err == -EACCES && a->opener.rights.paranoid > 2)
		diag_hint(d,
			  "kernel.perf_event_paranoid is %d: run it as root, or: sysctl "
			  "kernel.perf_event_paranoid=2",
			  a->opener.rights.paranoid);
	return err;
}

static int attach_raw_tracepoints(struct attached *a, const struct attach_range *r, struct diag *d)
{
	const struct load_kind kind = { .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	int prog = loaded_code(a->loaded, r->probe, &kind, d);
	for (u32 i = r->first; i < r->end && prog >= 0; i++) {
		const struct point *pt = &r->points[i];
		int link = bpfsys_link_raw_tracepoint(prog, pt->symbol, i);
		/* Before 6.10 there are no cookies here. */
		if (link == -EINVAL || link == -E2BIG)
			link = bpfsys_link_raw_tracepoint(prog, pt->symbol, 0);
		int rc = attach_keep(a, link);
		if (rc == -ENOENT) {
			diag_error(d, rc, "no raw tracepoint '%s'", pt->symbol);
			script_span(d, a->loaded->script, r->probe->span_start, r->probe->span_len);
			return rc;
		}
		if (rc)
			return attach_failed(a, pt, rc, d);
	}
	return min(prog, 0);
}

static int attach_range(struct attached *a, const struct attach_range *r, struct diag *d)
{
	switch (r->probe->provider) {
	case PROGRAM_TRACEPOINT: return attach_tracepoints(a, r, d);
	case PROGRAM_RAW_TRACEPOINT: return attach_raw_tracepoints(a, r, d);
	case PROGRAM_KPROBE:
	case PROGRAM_KRETPROBE: return attach_functions(a, r, d);
	case PROGRAM_FENTRY:
	case PROGRAM_FEXIT: return attach_typed_functions(a, r, d);
	case PROGRAM_UPROBE:
	case PROGRAM_URETPROBE:
	case PROGRAM_USDT: return attach_user(a, r, d);
	case PROGRAM_INTERVAL:
	case PROGRAM_PROFILE: return attach_timer(a, r, d);
	case PROGRAM_SOFTWARE:
	case PROGRAM_HARDWARE: return attach_counter(a, r, d);
	case PROGRAM_WATCHPOINT: return attach_watchpoint(a, r, d);
	case PROGRAM_ITER: return attach_iter(a, r, d);
	case PROGRAM_BEGIN:
	case PROGRAM_END:
	case PROGRAM_SIGNAL: {
		/* Loaded now, so that nothing is refused at the end. */
		const struct load_kind kind = { .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
		return r->probe->here ? 0 : min(loaded_code(a->loaded, r->probe, &kind, d), 0);
	}
	}
	return -EINVAL;
}

/*
 * The kernel runs the newest first at functions, its own and those of programs (each list of handlers grows at its head), and the oldest first
 * everywhere else.
 */
static bool runs_newest_first(enum program_provider provider)
{
	switch (provider) {
	case PROGRAM_KPROBE:
	case PROGRAM_KRETPROBE:
	case PROGRAM_FENTRY:
	case PROGRAM_FEXIT:
	case PROGRAM_UPROBE:
	case PROGRAM_URETPROBE:
	case PROGRAM_USDT: return true;
	default: return false;
	}
}

static int attach_points(struct attached *a, u32 first, u32 end, struct diag *d)
{
	const struct points *p = a->points;
	struct attach_range r = { .probe = &p->program->probes.at[p->at.at[first].probe],
				  .points = p->at.at,
				  .first = first,
				  .end = end };
	a->nr_points += end - first;
	return attach_range(a, &r, d);
}

static enum program_provider provider_at(const struct attached *a, u32 i)
{
	return a->points->program->probes.at[a->points->at.at[i].probe].provider;
}

static int attach_in_order(struct attached *a, struct diag *d)
{
	const struct points *p = a->points;
	int rc = 0;
	for (u32 i = 0, end; i < p->at.nr && !rc; i = end) {
		for (end = i + 1; end < p->at.nr && p->at.at[end].probe == p->at.at[i].probe;)
			end++;
		if (!runs_newest_first(provider_at(a, i)))
			rc = attach_points(a, i, end, d);
	}
	return rc;
}

static int attach_in_reverse(struct attached *a, struct diag *d)
{
	const struct points *p = a->points;
	int rc = 0;
	for (u32 end = (u32)p->at.nr, i; end && !rc; end = i) {
		for (i = end - 1; i && p->at.at[i - 1].probe == p->at.at[end - 1].probe;)
			i--;
		if (runs_newest_first(provider_at(a, i)))
			rc = attach_points(a, i, end, d);
	}
	return rc;
}

int attach_all(struct attached *a, struct loaded *l, const struct points *p,
	       const struct attach_opts *o, struct diag *d)
{
	*a = (struct attached){ .loaded = l, .points = p, .opts = *o };
	perf_opener_init(&a->opener, l->root);
	struct cpuset online;
	int rc = cpu_online(l->root, &online);
	a->cpu = rc ? 0 : max(cpuset_next(&online, 0), 0);
	rc = attach_in_order(a, d);
	if (!rc)
		rc = attach_in_reverse(a, d);
	if (rc)
		attach_close(a);
	return rc;
}

/*
 * struct bpf_link_info of 6.7 and later, of which the build's headers may know less: how often a kprobe was not run, because another one
 * was, or because too many calls were waiting for their return.
 */
static u64 missed_by(int link)
{
	enum { TYPE_PERF_EVENT = 7, TYPE_KPROBE_MULTI = 8, KPROBE = 3, KRETPROBE = 4 };
	struct {
		u32 type, id, prog_id, pad;
		union {
			struct {
				u64 addresses;
				u32 count, flags;
				u64 missed;
			} multi;
			struct {
				u32 type, pad;
				u64 name;
				u32 name_len, offset;
				u64 address, missed;
			} event;
			u8 room[128];
		};
	} info = { 0 };
	if (bpfsys_info(link, &info, sizeof(info)))
		return 0;
	if (info.type == TYPE_KPROBE_MULTI)
		return info.multi.missed;
	bool function = info.event.type == KPROBE || info.event.type == KRETPROBE;
	return info.type == TYPE_PERF_EVENT && function ? info.event.missed : 0;
}

void attach_report_missed(const struct attached *a, struct diag *d)
{
	const struct program *p = a->points->program;
	for (u32 i = 0; i < p->probes.nr; i++) {
		u64 missed = 0;
		vec_for_each (&a->links, l)
			missed += l->probe == i ? missed_by(l->fd) : 0;
		if (missed)
			diag_warn(d,
				  "%s: %llu calls missed: they happened inside of another probe, "
				  "or too "
				  "many were open at once",
				  p->probes.at[i].text, (unsigned long long)missed);
	}
}

void attach_close(struct attached *a)
{
	/* Links first: they were made last. */
	for (size_t i = a->fds.nr; i-- > 0;)
		close(a->fds.at[i]);
	vec_free(&a->fds);
	vec_free(&a->links);
	vec_free(&a->iterators);
	vec_for_each (&a->module_types, fd)
		close(*fd);
	vec_free(&a->module_types);
	if (a->btf) {
		btf_close(a->btf);
		free(a->btf);
	}
	free(a->btf_data);
	a->btf = NULL;
	a->btf_data = NULL;
}

int attach_run_one(struct loaded *l, const struct program_probe *probe, struct diag *d)
{
	const struct load_kind kind = { .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	int prog = loaded_code(l, probe, &kind, d);
	if (prog < 0)
		return prog;
	u32 status;
	int rc = bpfsys_test_run(prog, &status);
	return rc ? diag_error(d, rc, "cannot run %s: %s", probe->text, strerror(-rc)) : 0;
}

int attach_run(struct loaded *l, enum program_provider provider, const char *name, struct diag *d)
{
	vec_for_each (&l->program->probes, probe) {
		if (probe->provider != provider || (name && strcmp(name, probe->name)))
			continue;
		int rc = attach_run_one(l, probe, d);
		if (rc)
			return rc;
	}
	return 0;
}

int attach_iterate(struct attached *a, struct diag *d)
{
	vec_for_each (&a->iterators, link) {
		int fd = bpfsys_iter_open(*link);
		if (fd < 0)
			return diag_error(d, fd, "cannot start the iterator: %s", strerror(-fd));
		char text[4096];
		ssize_t n;
		do {
			n = read(fd, text, sizeof(text));
		} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
		int rc = n < 0 ? -errno : 0;
		close(fd);
		if (rc)
			return diag_error(d, rc, "cannot read the iterator: %s", strerror(-rc));
	}
	return 0;
}

/* inspect runq, mount, net and swap: the scheduler's queues, mounts, network devices and swap areas, each with its address. */
#include "cmd/inspect/inspect.h"

#include "base/printable.h"
#include "memory/kmounts.h"
#include "memory/krunq.h"
#include "memory/ksockets.h"
#include "memory/kswap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- runq ------------------------------------------------------------------------------------------------------------------ */

struct runq_text {
	struct inspect *i;
	bool with_prio;
	u32 nr;
};

static void print_queue_task(struct runq_text *t, const struct ktask *task)
{
	struct inspect *i = t->i;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_task(i, task);
		json_put_s64(&i->j, "priority", task->prio);
		json_object_end(&i->j);
		return;
	}
	if (t->with_prio)
		strbuf_printf(&i->text, "     [%3d] ", task->prio);
	strbuf_printf(&i->text, "PID: %-6u  TASK: %016llx  COMMAND: \"", task->pid, (ull)task->addr);
	printable_name(&i->text, task->comm);
	strbuf_str(&i->text, "\"\n");
}

static int each_queued(void *ctx, u64 addr)
{
	struct runq_text *t = ctx;
	struct ktask task;
	if (ktasks_read(&t->i->tasks, addr, &task))
		return 0;
	t->nr++;
	print_queue_task(t, &task);
	return 0;
}

static int print_queue(struct inspect *i, struct krunqs *r, const struct krunq *q,
		       enum krunq_class class)
{
	bool rt = class == KRUNQ_RT;
	struct runq_text t = { .i = i, .with_prio = true };
	struct walk_result end;
	if (i->app->json) {
		json_key(&i->j, rt ? "rt" : "cfs");
		json_array(&i->j);
	} else {
		strbuf_printf(&i->text, "  %s: %016llx\n", rt ? "RT PRIO_ARRAY" : "CFS RB_ROOT",
			      (ull)(rt ? q->rt : q->cfs));
	}
	int err = krunqs_each(r, q, class, each_queued, &t, &end);
	if (err)
		return err;
	if (i->app->json)
		json_array_end(&i->j);
	else if (!t.nr)
		strbuf_str(&i->text, "     [no tasks queued]\n");
	if (end.end != WALK_ENDED)
		diag_warn(&i->app->diag, "the queue of CPU %u changed while it was read", q->cpu);
	return 0;
}

static int print_runq(struct inspect *i, struct krunqs *r, const struct krunq *q)
{
	struct ktask current;
	struct runq_text t = { .i = i };
	bool has_current = !ktasks_read(&i->tasks, q->current, &current);
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "cpu", q->cpu);
		inspect_json_address(i, "address", q->addr);
		json_put_u64(&i->j, "nr_running", q->nr_running);
		if (has_current) {
			json_key(&i->j, "current");
			print_queue_task(&t, &current);
		}
	} else {
		strbuf_printf(&i->text, "CPU %u RUNQUEUE: %016llx\n  CURRENT: ", q->cpu,
			      (ull)q->addr);
		if (has_current)
			print_queue_task(&t, &current);
		else
			strbuf_printf(&i->text, "TASK: %016llx (gone)\n", (ull)q->current);
	}
	int err = print_queue(i, r, q, KRUNQ_RT);
	if (!err)
		err = print_queue(i, r, q, KRUNQ_CFS);
	if (i->app->json)
		json_object_end(&i->j);
	return err;
}

int inspect_runq(struct inspect *i, int argc, char **argv)
{
	struct krunqs r;
	u32 nr = 0;
	(void)argv;
	if (argc)
		return inspect_usage(i, "unexpected argument");
	int err = inspect_tasks(i);
	if (!err)
		err = krunqs_open(&r, &i->k);
	for (u32 cpu = 0; !err && cpu < kspace_nr_cpus(&i->k); cpu++) {
		struct krunq q;
		err = krunqs_read(&r, cpu, &q);
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		if (!err && nr++ && !i->app->json)
			strbuf_char(&i->text, '\n');
		if (!err)
			err = print_runq(i, &r, &q);
	}
	if (!err && !nr)
		err = diag_error(&i->app->diag, -ENOENT, "no CPU's run queue was found");
	return err;
}

/* ---- mount and net: of a task's namespaces --------------------------------------------------------------------------------- */

static int print_mount(void *ctx, const struct kmount *m)
{
	struct inspect *i = ctx;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "mount", m->addr);
		inspect_json_address(i, "superblock", m->superblock);
		json_put_str(&i->j, "type", m->type);
		json_put_str(&i->j, "device", m->device);
		json_put_str(&i->j, "path", m->path);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%016llx %016llx ", (ull)m->addr, (ull)m->superblock);
	size_t start = i->text.len;
	printable_name(&i->text, m->type);
	strbuf_fill(&i->text, ' ', i->text.len - start < 8 ? 8 - (i->text.len - start) : 0);
	strbuf_char(&i->text, ' ');
	start = i->text.len;
	printable_name(&i->text, *m->device ? m->device : "none");
	strbuf_fill(&i->text, ' ', i->text.len - start < 9 ? 9 - (i->text.len - start) : 0);
	strbuf_char(&i->text, ' ');
	printable_name(&i->text, m->path);
	strbuf_char(&i->text, '\n');
	return 0;
}

static int mounts_of(struct inspect *i, const struct ktask *t)
{
	int err = i->has_files ? 0 : kfiles_open(&i->files, &i->k);
	i->has_files = !err;
	if (err)
		return err;
	if (!i->app->json)
		strbuf_str(&i->text,
			   "     MOUNT           SUPERBLK     TYPE     DEVNAME   DIRNAME\n");
	err = kmounts_each(&i->files, t->addr, print_mount, i, &i->walk);
	i->walked = !err;
	return err == -ESRCH
		       ? diag_error(&i->app->diag, err, "PID %u has no namespaces any more", t->pid)
		       : err;
}

static int print_device(void *ctx, const struct kdevice *d)
{
	struct inspect *i = ctx;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "device", d->addr);
		json_put_str(&i->j, "name", d->name);
		json_put_s64(&i->j, "index", d->index);
		json_key(&i->j, "addresses");
		json_array(&i->j);
	} else {
		strbuf_printf(&i->text, "%016llx  ", (ull)d->addr);
		size_t start = i->text.len;
		printable_name(&i->text, d->name);
		if (d->nr_addresses)
			strbuf_fill(&i->text, ' ',
				    i->text.len - start < 10 ? 10 - (i->text.len - start) : 0);
	}
	for (u32 n = 0; n < d->nr_addresses; n++) {
		char text[INET6_ADDRSTRLEN] = "?";
		const struct kdevice_address *a = &d->addresses[n];
		(void)inet_ntop(a->is_v6 ? AF_INET6 : AF_INET, a->bytes, text, sizeof(text));
		if (i->app->json)
			json_str(&i->j, text);
		else
			strbuf_printf(&i->text, "%s%s", n ? ", " : " ", text);
	}
	if (i->app->json) {
		json_array_end(&i->j);
		json_object_end(&i->j);
	} else {
		strbuf_char(&i->text, '\n');
	}
	return 0;
}

static int devices_of(struct inspect *i, const struct ktask *t)
{
	if (!i->app->json)
		strbuf_str(&i->text, "   NET_DEVICE     NAME       IP ADDRESS(ES)\n");
	int err = kdevices_each(&i->k, t->addr, print_device, i, &i->walk);
	i->walked = !err;
	return err == -ESRCH
		       ? diag_error(&i->app->diag, err, "PID %u has no namespaces any more", t->pid)
		       : err;
}

/* The task that asks need not be in the first namespaces, and a task that ran when the dump was taken need not have any. */
static int of_one_task(struct inspect *i, int argc, char **argv, inspect_task_fn fn)
{
	char first[] = "1";
	char *const words[] = { first };
	if (argc > 1)
		return inspect_usage(i, "one task at a time");
	if (!argc && !i->context && i->k.opts.dump)
		return inspect_for_tasks(i, 1, (char **)words, fn);
	return inspect_for_tasks(i, argc, argv, fn);
}

int inspect_mount(struct inspect *i, int argc, char **argv)
{
	return of_one_task(i, argc, argv, mounts_of);
}

static const char *family_name(u16 family)
{
	static const struct {
		u16 family;
		const char *name;
	} names[] = { { AF_UNIX, "UNIX" },	 { AF_INET, "INET" },	  { AF_INET6, "INET6" },
		      { AF_NETLINK, "NETLINK" }, { AF_PACKET, "PACKET" }, { AF_ALG, "ALG" },
		      { AF_VSOCK, "VSOCK" } };
	for (size_t n = 0; n < ARRAY_SIZE(names); n++)
		if (names[n].family == family)
			return names[n].name;
	return "?";
}

static const char *socket_type_name(u16 type)
{
	static const char *const names[] = {
		[SOCK_STREAM] = "STREAM", [SOCK_DGRAM] = "DGRAM",	  [SOCK_RAW] = "RAW",
		[SOCK_RDM] = "RDM",	  [SOCK_SEQPACKET] = "SEQPACKET", [SOCK_DCCP] = "DCCP",
		[SOCK_PACKET] = "PACKET"
	};
	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "?";
}

/* "127.0.0.1-8080", as crash has it. */
static void end_point(const struct ksocket *s, bool source, char to[INET6_ADDRSTRLEN + 8])
{
	char text[INET6_ADDRSTRLEN] = "?";
	(void)inet_ntop(s->family, source ? s->source : s->destination, text, sizeof(text));
	(void)snprintf(to, INET6_ADDRSTRLEN + 8, "%s-%u", text,
		       source ? s->source_port : s->destination_port);
}

static int print_socket(void *ctx, const struct ksocket *s)
{
	struct inspect *i = ctx;
	char kind[32], source[INET6_ADDRSTRLEN + 8] = "", destination[INET6_ADDRSTRLEN + 8] = "";
	(void)snprintf(kind, sizeof(kind), "%s:%s", family_name(s->family),
		       socket_type_name(s->type));
	if (s->has_ports) {
		end_point(s, true, source);
		end_point(s, false, destination);
	}
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "fd", s->fd);
		inspect_json_address(i, "socket", s->addr);
		inspect_json_address(i, "sock", s->sock);
		json_put_u64(&i->j, "family", s->family);
		json_put_u64(&i->j, "type", s->type);
		json_put_str(&i->j, "kind", kind);
		if (s->has_ports) {
			json_put_str(&i->j, "source", source);
			json_put_str(&i->j, "destination", destination);
		}
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%3u  %016llx  %016llx  %s%s%s%s%s\n", s->fd, (ull)s->addr,
		      (ull)s->sock, kind, s->has_ports ? " " : "", source, s->has_ports ? " " : "",
		      destination);
	return 0;
}

static int sockets_of(struct inspect *i, const struct ktask *t)
{
	int err = i->has_files ? 0 : kfiles_open(&i->files, &i->k);
	i->has_files = !err;
	if (err)
		return err;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_task(i, t);
		json_key(&i->j, "sockets");
		json_array(&i->j);
	} else {
		inspect_task_head(i, t);
		strbuf_str(&i->text, " FD  SOCKET            SOCK              FAMILY:TYPE "
				     "SOURCE-PORT DESTINATION-PORT\n");
	}
	err = ksockets_each(&i->files, t, print_socket, i);
	if (i->app->json) {
		json_array_end(&i->j);
		json_object_end(&i->j);
	} else {
		strbuf_char(&i->text, '\n');
	}
	return err;
}

int inspect_net(struct inspect *i, int argc, char **argv)
{
	if (i->o->sockets)
		return inspect_for_tasks(i, argc, argv, sockets_of);
	return of_one_task(i, argc, argv, devices_of);
}

/* ---- swap ------------------------------------------------------------------------------------------------------------------ */

static int print_swap(void *ctx, const struct kswap *s)
{
	struct inspect *i = ctx;
	u64 percent = s->size ? (u64)((double)s->used * 100 / (double)s->size) : 0;
	if (i->app->json) {
		json_object(&i->j);
		if (s->addr)
			inspect_json_address(i, "address", s->addr);
		json_put_str(&i->j, "type", s->is_partition ? "partition" : "file");
		json_put_u64(&i->j, "size", s->size);
		json_put_u64(&i->j, "used", s->used);
		json_put_s64(&i->j, "priority", s->priority);
		json_put_str(&i->j, "path", s->path);
		json_object_end(&i->j);
		return 0;
	}
	if (s->addr)
		strbuf_printf(&i->text, "%016llx", (ull)s->addr);
	else
		strbuf_str(&i->text, "               -");
	strbuf_printf(&i->text, "  %-9s %10lluk %10lluk  %3llu%%  %4d  ",
		      s->is_partition ? "PARTITION" : "FILE", (ull)(s->size / 1024),
		      (ull)(s->used / 1024), (ull)percent, s->priority);
	printable_name(&i->text, s->path);
	strbuf_char(&i->text, '\n');
	return 0;
}

int inspect_swap(struct inspect *i, int argc, char **argv)
{
	(void)argv;
	if (argc)
		return inspect_usage(i, "unexpected argument");
	if (!i->app->json)
		strbuf_str(&i->text, "SWAP_INFO_STRUCT  TYPE            SIZE        USED   PCT   "
				     "PRI  FILENAME\n");
	return kswaps_each(&i->k, print_swap, i);
}

/* inspect ps and mod: what the kernel itself has on its lists, with the address of each. */
#include "cmd/inspect/inspect.h"

#include "base/num.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long ull;

enum { COMM = 16, MODULE_NAME = 64 };

/* ---- ps -------------------------------------------------------------------------------------------------------------------- */

/* Where things are in this kernel's task_struct and mm_struct. */
struct task_layout {
	u64 pid, tgid, state, exit_state, comm, mm, real_parent, on_cpu, signal, tasks, thread_node;
	u64 thread_head; /* in signal_struct */
	u64 total_vm; /* in mm_struct */
	u64 cpu;
	bool has_cpu;
	u64 rss[3]; /* in mm_struct: file, anonymous, shared memory */
	bool has_rss;
};

struct task_row {
	u32 pid, tgid, on_cpu, cpu;
	u32 state, exit_state;
	u64 mm, parent, signal;
	char comm[COMM];
};

struct task_print {
	struct inspect *i;
	struct task_layout l;
	int nr_wanted;
	char **wanted;
	u64 pages; /* of the machine */
	u64 nr;
};

/* The state of a task was called `state` before 5.14; where it runs moved about. */
static int find_layout(struct inspect *i, struct task_layout *l)
{
	struct kspace *k = &i->k;
	struct ktype task, mm, type;
	struct diag quiet;
	u8 bits;
	u64 bit;
	const struct {
		const char *name;
		u64 *to;
	} members[] = { { "pid", &l->pid },
			{ "tgid", &l->tgid },
			{ "__state", &l->state },
			{ "exit_state", &l->exit_state },
			{ "comm", &l->comm },
			{ "mm", &l->mm },
			{ "real_parent", &l->real_parent },
			{ "on_cpu", &l->on_cpu },
			{ "signal", &l->signal },
			{ "tasks", &l->tasks },
			{ "thread_node", &l->thread_node } };
	int err = 0;
	for (size_t n = 0; !err && n < ARRAY_SIZE(members); n++)
		err = kspace_offset(k, "task_struct", members[n].name, members[n].to);
	if (!err)
		err = kspace_offset(k, "signal_struct", "thread_head", &l->thread_head);
	if (!err)
		err = kspace_offset(k, "mm_struct", "total_vm", &l->total_vm);
	if (err)
		return err;
	/* What may be missing is found without complaint. */
	diag_init(&quiet);
	struct diag *d = k->diag;
	k->diag = &quiet;
	if (kspace_find_type(k, "task_struct", BTF_BIT(BTF_OF_STRUCT), &task) &&
	    (!eval_path(k, &task, "thread_info.cpu", &type, &bit, &bits) ||
	     !eval_path(k, &task, "cpu", &type, &bit, &bits))) {
		l->cpu = bit / 8;
		l->has_cpu = true;
	}
	static const unsigned kinds[] = { 0, 1, 3 }; /* MM_FILEPAGES, MM_ANONPAGES, MM_SHMEMPAGES */
	l->has_rss = kspace_find_type(k, "mm_struct", BTF_BIT(BTF_OF_STRUCT), &mm);
	for (size_t n = 0; l->has_rss && n < ARRAY_SIZE(kinds); n++) {
		char now[32], before[32];
		(void)snprintf(now, sizeof(now), "rss_stat[%u].count", kinds[n]);
		(void)snprintf(before, sizeof(before), "rss_stat.count[%u].counter", kinds[n]);
		l->has_rss = !eval_path(k, &mm, now, &type, &bit, &bits) ||
			     !eval_path(k, &mm, before, &type, &bit, &bits);
		l->rss[n] = bit / 8;
	}
	k->diag = d;
	diag_done(&quiet);
	return 0;
}

static int read_task(struct task_print *p, u64 task, struct task_row *t)
{
	const struct task_layout *l = &p->l;
	struct memory *m;
	struct memory_piece pieces[] = {
		{ .addr = task + l->pid, .to = &t->pid, .size = sizeof(t->pid) },
		{ .addr = task + l->tgid, .to = &t->tgid, .size = sizeof(t->tgid) },
		{ .addr = task + l->state, .to = &t->state, .size = sizeof(t->state) },
		{ .addr = task + l->exit_state, .to = &t->exit_state, .size = sizeof(t->exit_state) },
		{ .addr = task + l->on_cpu, .to = &t->on_cpu, .size = sizeof(t->on_cpu) },
		{ .addr = task + l->mm, .to = &t->mm, .size = sizeof(t->mm) },
		{ .addr = task + l->real_parent, .to = &t->parent, .size = sizeof(t->parent) },
		{ .addr = task + l->signal, .to = &t->signal, .size = sizeof(t->signal) },
		{ .addr = task + l->comm, .to = t->comm, .size = sizeof(t->comm) },
		{ .addr = task + l->cpu, .to = &t->cpu, .size = sizeof(t->cpu) },
	};
	*t = (struct task_row){ 0 };
	int err = kspace_memory(&p->i->k, &m);
	if (!err)
		err = memory_read_pieces(m, pieces, ARRAY_SIZE(pieces) - !l->has_cpu);
	for (size_t n = 0; !err && n < ARRAY_SIZE(pieces) - !l->has_cpu; n++)
		err = pieces[n].err;
	t->comm[COMM - 1] = '\0';
	return err;
}

/* crash's two letters. */
static const char *state_word(const struct task_row *t)
{
	static const char *const by_bit[] = { "IN", "UN", "ST", "TR", "DE", "ZO", "PA" };
	enum { NOLOAD = 0x400, IDLE = NOLOAD | 2, NEW = 0x800, EXIT_BITS = 0x30 };
	u32 state = t->state | (t->exit_state & EXIT_BITS);
	if (!state)
		return "RU";
	if ((t->state & IDLE) == IDLE)
		return "ID";
	if (t->state & NEW)
		return "NE";
	for (u32 n = 0; n < ARRAY_SIZE(by_bit); n++)
		if (state & (1u << n))
			return by_bit[n];
	return "??";
}

static void read_sizes(struct task_print *p, const struct task_row *t, u64 *virtual, u64 *resident)
{
	struct memory *m;
	u64 parts[4] = { 0 };
	*virtual = *resident = 0;
	if (!t->mm || kspace_memory(&p->i->k, &m))
		return;
	struct memory_piece pieces[4] = {
		{ .addr = t->mm + p->l.total_vm, .to = &parts[3], .size = sizeof(u64) }
	};
	for (u32 n = 0; n < 3; n++)
		pieces[n + 1] = (struct memory_piece){ .addr = t->mm + p->l.rss[n],
						       .to = &parts[n],
						       .size = sizeof(u64) };
	if (memory_read_pieces(m, pieces, p->l.has_rss ? 4 : 1))
		return;
	*virtual = parts[3];
	for (u32 n = 0; n < 3; n++)
		*resident += (s64)parts[n] > 0 ? parts[n] : 0;
}

static bool is_wanted(const struct task_print *p, const struct task_row *t, u64 task)
{
	for (int n = 0; n < p->nr_wanted; n++) {
		u64 number;
		if ((!num_parse_u64(p->wanted[n], 10, &number) && number == t->pid) ||
		    (!num_parse_u64(p->wanted[n], 16, &number) && number == task) ||
		    !strcmp(p->wanted[n], t->comm))
			return true;
	}
	return !p->nr_wanted;
}

static int print_task(struct task_print *p, u64 task, const struct task_row *t)
{
	struct inspect *i = p->i;
	struct task_row parent;
	u64 virtual, resident, page_kb = (u64)sysconf(_SC_PAGESIZE) / 1024;
	if (!is_wanted(p, t, task))
		return 0;
	int err = t->parent ? read_task(p, t->parent, &parent) : -ENOENT;
	u32 ppid = err ? 0 : parent.tgid;
	read_sizes(p, t, &virtual, &resident);
	p->nr++;
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "pid", t->pid);
		json_put_u64(&i->j, "tgid", t->tgid);
		json_put_u64(&i->j, "ppid", ppid);
		if (p->l.has_cpu)
			json_put_u64(&i->j, "cpu", t->cpu);
		json_put_bool(&i->j, "running", t->on_cpu);
		inspect_json_address(i, "address", task);
		json_put_str(&i->j, "state", state_word(t));
		json_put_u64(&i->j, "virtual_kb", virtual * page_kb);
		json_put_u64(&i->j, "resident_kb", resident * page_kb);
		json_put_bool(&i->j, "kernel_thread", !t->mm);
		json_put_str(&i->j, "command", t->comm);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%c %7u %7u  %3u  %016llx  %s  %4.1f %8llu %8llu  %s%s%s\n",
		      t->on_cpu ? '>' : ' ', t->pid, ppid, t->cpu, (ull)task, state_word(t),
		      p->pages ? 100.0 * (double)resident / (double)p->pages : 0.0,
		      (ull)(virtual * page_kb), (ull)(resident * page_kb), t->mm ? "" : "[",
		      t->comm, t->mm ? "" : "]");
	return 0;
}

static int each_thread(void *ctx, const struct walk_node *node)
{
	struct task_print *p = ctx;
	struct task_row t;
	/* A task may go while we look: it is not there any more then. */
	return read_task(p, node->addr, &t) ? 0 : print_task(p, node->addr, &t);
}

static int each_leader(void *ctx, const struct walk_node *node)
{
	struct task_print *p = ctx;
	struct task_row t;
	struct walk_result r;
	if (read_task(p, node->addr, &t))
		return 0;
	struct walk_list threads = { .kind = WALK_LIST_HEAD,
				     .start = t.signal + p->l.thread_head,
				     .offset = p->l.thread_node };
	u64 before = p->nr;
	int err = t.signal ? walk_list(&p->i->k, &threads, each_thread, p, &r) : -ENOENT;
	/* init_task is on no such list on some kernels. */
	if (err == -ENOENT || (!err && !r.nr && p->nr == before))
		err = print_task(p, node->addr, &t);
	return err;
}

int inspect_ps(struct inspect *i, int argc, char **argv)
{
	struct task_print p = { .i = i, .nr_wanted = argc, .wanted = argv };
	struct walk_list w = { .kind = WALK_LIST_OBJECT };
	long pages = sysconf(_SC_PHYS_PAGES);
	p.pages = pages > 0 ? (u64)pages : 0;
	int err = find_layout(i, &p.l);
	if (!err)
		err = kspace_init_task(&i->k, &w.start);
	if (err)
		return err;
	w.offset = p.l.tasks;
	if (!i->app->json)
		strbuf_str(&i->text,
			   "      PID    PPID  CPU       TASK        ST  %MEM      VSZ      "
			   "RSS  COMM\n");
	err = walk_list(&i->k, &w, each_leader, &p, &i->walk);
	i->walked = !err;
	if (!err && i->walk.end == WALK_LOOP)
		diag_warn(&i->app->diag, "the list of tasks changed while it was read: some may be "
					 "missing");
	else if (!err && i->walk.end == WALK_BAD)
		diag_warn(&i->app->diag, "a task went while it was read: the rest is missing");
	if (!err && argc && !p.nr)
		err = diag_error(&i->app->diag, -ESRCH, "no such task: '%s'", argv[0]);
	return err;
}

/* ---- mod ------------------------------------------------------------------------------------------------------------------- */

struct module_print {
	struct inspect *i;
	struct ktype type;
	u64 name;
	bool by_mem; /* 6.4: mem[] instead of core_layout */
	u64 base, size, step; /* of the text, or of the only part */
	u32 nr_parts;
};

static int find_module_layout(struct module_print *p)
{
	struct kspace *k = &p->i->k;
	struct ktype t;
	struct btf_part part;
	u64 bit, next = 0;
	u8 bits;
	int err = kspace_offset(k, "module", "name", &p->name);
	if (err)
		return err;
	if (!kspace_find_type(k, "module", BTF_BIT(BTF_OF_STRUCT), &p->type))
		return -ENOENT;
	p->by_mem = !btf_find_member(p->type.b, p->type.id, "mem", &part);
	if (!p->by_mem) {
		p->nr_parts = 1;
		err = eval_path(k, &p->type, "core_layout.base", &t, &bit, &bits);
		p->base = bit / 8;
		if (!err)
			err = eval_path(k, &p->type, "core_layout.size", &t, &bit, &bits);
		p->size = bit / 8;
		return err;
	}
	t = ktype_of(p->type.b, part.type);
	p->nr_parts = (u32)min(ktype_elements(&t), (u64)16);
	err = eval_path(k, &p->type, "mem[0].base", &t, &bit, &bits);
	p->base = bit / 8;
	if (!err)
		err = eval_path(k, &p->type, "mem[0].size", &t, &bit, &bits);
	p->size = bit / 8;
	if (!err)
		err = eval_path(k, &p->type, "mem[1].size", &t, &next, &bits);
	p->step = next / 8 - p->size;
	return err;
}

static int each_module(void *ctx, const struct walk_node *node)
{
	struct module_print *p = ctx;
	struct inspect *i = p->i;
	char name[MODULE_NAME] = "";
	u64 base = 0, total = 0;
	int err = kspace_read(&i->k, node->addr + p->name, name, sizeof(name) - 8, "a module");
	if (!err)
		err = kspace_read(&i->k, node->addr + p->base, &base, sizeof(base), "a module");
	for (u32 n = 0; !err && n < p->nr_parts; n++) {
		u32 size;
		err = kspace_read(&i->k, node->addr + p->size + n * p->step, &size, sizeof(size),
				  "a module");
		total += err ? 0 : size;
	}
	if (err)
		return err;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "address", node->addr);
		json_put_str(&i->j, "name", name);
		inspect_json_address(i, "text", base);
		json_put_u64(&i->j, "size", total);
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text, "%016llx  %-24s  %016llx  %8llu\n", (ull)node->addr, name,
			      (ull)base, (ull)total);
	}
	return 0;
}

int inspect_mod(struct inspect *i, int argc, char **argv)
{
	struct module_print p = { .i = i };
	struct walk_list w = { .kind = WALK_LIST_HEAD };
	struct kspace_global g;
	if (argc)
		return inspect_usage(i, "unexpected argument");
	(void)argv;
	int err = kspace_global(&i->k, "modules", &g);
	if (!err)
		err = kspace_offset(&i->k, "module", "list", &w.offset);
	if (!err)
		err = find_module_layout(&p);
	if (err)
		return err;
	w.start = g.addr;
	if (!i->app->json)
		strbuf_str(&i->text,
			   "     MODULE       NAME                         TEXT_BASE          "
			   "SIZE\n");
	err = walk_list(&i->k, &w, each_module, &p, &i->walk);
	i->walked = !err;
	return err;
}

/* inspect ps, task, foreach and mod: what the kernel itself has on its lists, with the address of each. */
#include "cmd/inspect/inspect.h"

#include "base/printable.h"
#include "memory/kmodules.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long ull;

/* ---- which tasks ----------------------------------------------------------------------------------------------------------- */

struct task_choice {
	struct inspect *i;
	int nr_words;
	char **words;
	VEC(struct ktask) tasks;
};

static int choose_task(void *ctx, const struct ktask *task)
{
	struct task_choice *c = ctx;
	bool wanted = !c->nr_words;
	for (int n = 0; n < c->nr_words; n++)
		wanted |= ktask_matches(task, c->words[n]);
	struct ktask *slot = wanted ? vec_push(&c->tasks) : NULL;
	if (slot)
		*slot = *task;
	return wanted && !slot ? -ENOMEM : 0;
}

static void report_walk(struct inspect *i)
{
	i->walked = true;
	if (i->walk.end == WALK_LOOP)
		diag_warn(&i->app->diag, "the list of tasks changed while it was read: some may be "
					 "missing");
	else if (i->walk.end == WALK_BAD)
		diag_warn(&i->app->diag, "a task went while it was read: the rest is missing");
}

/* Those that any of the words means; all where there are no words. */
static int choose_tasks(struct task_choice *c)
{
	struct inspect *i = c->i;
	int err = ktasks_each(&i->tasks, choose_task, c, &i->walk);
	if (err)
		return err;
	report_walk(i);
	bool none_is_fine = false; /* no task is in this state now */
	for (int n = 0; n < c->nr_words; n++)
		none_is_fine |= ktask_is_class(c->words[n]);
	if (!c->tasks.nr && c->nr_words && !none_is_fine) {
		(void)diag_error(&i->app->diag, -ESRCH, "no such task: '%s'", c->words[0]);
		diag_hint(&i->app->diag, "a PID of the first namespace, an address, a name, or "
					 "kernel, user, RU, IN, UN ...: see 'inspect ps'");
		return -ESRCH;
	}
	return 0;
}

int inspect_tasks(struct inspect *i)
{
	int err = i->has_tasks ? 0 : ktasks_open(&i->tasks, &i->k);
	i->has_tasks = !err;
	return err;
}

static int for_chosen(struct inspect *i, int nr_words, char **words, inspect_task_fn fn)
{
	struct task_choice c = { .i = i, .nr_words = nr_words, .words = words };
	int err = inspect_tasks(i);
	if (!err)
		err = choose_tasks(&c);
	vec_for_each (&c.tasks, task)
		if (!err)
			err = fn(i, task);
	vec_free(&c.tasks);
	return err;
}

int inspect_for_tasks(struct inspect *i, int nr_words, char **words, inspect_task_fn fn)
{
	struct ktask task;
	if (nr_words)
		return for_chosen(i, nr_words, words, fn);
	u64 addr = i->context;
	int err = inspect_tasks(i);
	if (!err && !addr)
		err = kspace_current(&i->k, &addr);
	if (err)
		return err;
	err = ktasks_read(&i->tasks, addr, &task);
	if (err)
		return diag_error(&i->app->diag, -ESRCH, "the task at %llx has gone", (ull)addr);
	return fn(i, &task);
}

/* ---- ps -------------------------------------------------------------------------------------------------------------------- */

static const char ps_head[] =
	"      PID    PPID  CPU       TASK        ST  %MEM      VSZ      RSS  COMM\n";

static int print_task(struct inspect *i, const struct ktask *t)
{
	struct ktask parent;
	u64 virtual, resident, page_kb = kspace_page_size(&i->k) / 1024;
	u64 machine_kb = kspace_machine_bytes(&i->k) / 1024;
	bool kernel = ktask_is_kernel_thread(t);
	u32 ppid = t->parent && !ktasks_read(&i->tasks, t->parent, &parent) ? parent.tgid : 0;
	ktask_sizes(&i->tasks, t, &virtual, &resident);
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "pid", t->pid);
		json_put_u64(&i->j, "tgid", t->tgid);
		json_put_u64(&i->j, "ppid", ppid);
		json_put_u64(&i->j, "cpu", t->cpu);
		json_put_bool(&i->j, "running", t->on_cpu);
		inspect_json_address(i, "address", t->addr);
		json_put_str(&i->j, "state", ktask_state(t));
		json_put_u64(&i->j, "virtual_kb", virtual * page_kb);
		json_put_u64(&i->j, "resident_kb", resident * page_kb);
		json_put_bool(&i->j, "kernel_thread", kernel);
		json_put_str(&i->j, "command", t->comm);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%c %7u %7u  %3u  %016llx  %s  %4.1f %8llu %8llu  %s",
		      t->on_cpu ? '>' : ' ', t->pid, ppid, t->cpu, (ull)t->addr, ktask_state(t),
		      machine_kb ? 100.0 * (double)(resident * page_kb) / (double)machine_kb : 0.0,
		      (ull)(virtual * page_kb), (ull)(resident * page_kb), kernel ? "[" : "");
	printable_name(&i->text, t->comm);
	strbuf_str(&i->text, kernel ? "]\n" : "\n");
	return 0;
}

static int print_active(struct inspect *i, const struct ktask *t)
{
	return t->on_cpu ? print_task(i, t) : 0;
}

/* One line of ps -p and -c: a task below another one. */
static void print_relative(struct inspect *i, const struct ktask *t, unsigned margin)
{
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_task(i, t);
		json_object_end(&i->j);
		return;
	}
	strbuf_fill(&i->text, ' ', margin);
	inspect_task_head(i, t);
}

static void begin_relatives(struct inspect *i, const struct ktask *t, const char *key)
{
	if (!i->app->json)
		return;
	json_object(&i->j);
	inspect_json_task(i, t);
	json_key(&i->j, key);
	json_array(&i->j);
}

static void end_relatives(struct inspect *i)
{
	if (i->app->json) {
		json_array_end(&i->j);
		json_object_end(&i->j);
	} else {
		strbuf_char(&i->text, '\n');
	}
}

/* From the first task down to this one. */
static int print_ancestors(struct inspect *i, const struct ktask *t)
{
	enum { GENERATIONS = 64 };
	struct ktask line[GENERATIONS];
	u32 nr = 0;
	line[nr++] = *t;
	/* The first task is its own parent. */
	while (nr < GENERATIONS && line[nr - 1].parent != line[nr - 1].addr &&
	       !ktasks_read(&i->tasks, line[nr - 1].parent, &line[nr]))
		nr++;
	if (line[nr - 1].parent != line[nr - 1].addr)
		diag_warn(&i->app->diag, "task %u: its first ancestors are missing: %s", t->pid,
			  nr == GENERATIONS ? "there are more than 63" : "one cannot be read");
	begin_relatives(i, t, "ancestors");
	for (u32 n = nr; n; n--)
		if (n > 1 || !i->app->json)
			print_relative(i, &line[n - 1], nr - n);
	end_relatives(i);
	return 0;
}

/* A parent is the thread that made the child. */
static int each_child(void *ctx, const struct ktask *t)
{
	struct inspect *i = ctx;
	struct ktask parent;
	if (t->pid != t->tgid || t->parent == t->addr || ktasks_read(&i->tasks, t->parent, &parent))
		return 0;
	struct inspect_child *c = vec_push(&i->children);
	if (!c)
		return -ENOMEM;
	*c = (struct inspect_child){ .parent = parent.tgid, .task = *t };
	return 0;
}

static int by_parent(const void *a, const void *b)
{
	const struct inspect_child *x = a, *y = b;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->task.pid < y->task.pid ? -1 : x->task.pid > y->task.pid;
}

static int find_children(struct inspect *i)
{
	if (i->has_children)
		return 0;
	int err = ktasks_each(&i->tasks, each_child, i, &i->walk);
	if (!err && i->children.nr)
		qsort(i->children.at, i->children.nr, sizeof(*i->children.at), by_parent);
	i->has_children = !err;
	return err;
}

static size_t first_child(const struct inspect *i, u32 parent)
{
	size_t low = 0, high = i->children.nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (i->children.at[mid].parent < parent)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int print_children(struct inspect *i, const struct ktask *t)
{
	int err = find_children(i);
	if (err)
		return err;
	size_t first = first_child(i, t->tgid), n = first;
	begin_relatives(i, t, "children");
	if (!i->app->json)
		print_relative(i, t, 0);
	for (; n < i->children.nr && i->children.at[n].parent == t->tgid; n++)
		print_relative(i, &i->children.at[n].task, 2);
	if (n == first && !i->app->json)
		strbuf_str(&i->text, "  (no children)\n");
	end_relatives(i);
	return 0;
}

static const char *const task_states[] = { "RU", "IN", "UN", "ST", "TR", "DE",
					   "ZO", "PA", "ID", "NE", "??" };

struct state_count {
	int nr_words;
	char **words;
	u64 nr[ARRAY_SIZE(task_states)];
};

static int count_state(void *ctx, const struct ktask *t)
{
	struct state_count *c = ctx;
	bool wanted = !c->nr_words;
	for (int n = 0; n < c->nr_words; n++)
		wanted |= ktask_matches(t, c->words[n]);
	for (size_t n = 0; wanted && n < ARRAY_SIZE(task_states); n++)
		c->nr[n] += !strcmp(ktask_state(t), task_states[n]);
	return 0;
}

static int print_states(struct inspect *i, int argc, char **argv)
{
	struct state_count c = { .nr_words = argc, .words = argv };
	int err = inspect_tasks(i);
	if (!err)
		err = ktasks_each(&i->tasks, count_state, &c, &i->walk);
	if (err)
		return err;
	report_walk(i);
	u64 all = 0;
	bool may_be_none = !argc;
	for (int n = 0; n < argc; n++)
		may_be_none |= ktask_is_class(argv[n]);
	for (size_t n = 0; n < ARRAY_SIZE(task_states); n++)
		all += c.nr[n];
	if (!all && !may_be_none)
		return diag_error(&i->app->diag, -ESRCH, "no such task: '%s'", argv[0]);
	for (size_t n = 0; n < ARRAY_SIZE(task_states); n++) {
		if (!c.nr[n])
			continue;
		if (!i->app->json) {
			strbuf_printf(&i->text, "  %s: %llu\n", task_states[n], (ull)c.nr[n]);
			continue;
		}
		json_object(&i->j);
		json_put_str(&i->j, "state", task_states[n]);
		json_put_u64(&i->j, "tasks", c.nr[n]);
		json_object_end(&i->j);
	}
	return 0;
}

int inspect_ps(struct inspect *i, int argc, char **argv)
{
	const struct inspect_opts *o = i->o;
	if (o->active + o->states + o->parents + o->children > 1)
		return inspect_usage(i, "-A, -S, -p and -c exclude each other");
	if (o->states)
		return print_states(i, argc, argv);
	if (o->parents || o->children)
		return inspect_for_tasks(i, argc, argv,
					 o->parents ? print_ancestors : print_children);
	if (!i->app->json)
		strbuf_str(&i->text, ps_head);
	return for_chosen(i, argc, argv, o->active ? print_active : print_task);
}

/* ---- task, foreach --------------------------------------------------------------------------------------------------------- */

void inspect_task_head(struct inspect *i, const struct ktask *t)
{
	strbuf_printf(&i->text, "PID: %-7u  TASK: %016llx  CPU: %-3u  COMMAND: \"", t->pid,
		      (ull)t->addr, t->cpu);
	printable_name(&i->text, t->comm);
	strbuf_str(&i->text, "\"\n");
}

void inspect_json_task(struct inspect *i, const struct ktask *t)
{
	json_put_u64(&i->j, "pid", t->pid);
	inspect_json_address(i, "address", t->addr);
	json_put_u64(&i->j, "cpu", t->cpu);
	json_put_str(&i->j, "command", t->comm);
}

static int print_task_struct(struct inspect *i, const struct ktask *t)
{
	struct strbuf type, addr;
	strbuf_init(&type);
	strbuf_init(&addr);
	strbuf_printf(&type, "task_struct%s%s", i->o->task_members ? "." : "",
		      i->o->task_members ? i->o->task_members : "");
	strbuf_printf(&addr, "0x%llx", (ull)t->addr);
	if (!i->app->json)
		inspect_task_head(i, t);
	char *words[] = { type.data, addr.data };
	int err = type.data && addr.data ? inspect_struct(i, 2, words) : -ENOMEM;
	if (!err && !i->app->json)
		strbuf_char(&i->text, '\n');
	strbuf_done(&type);
	strbuf_done(&addr);
	return err;
}

int inspect_task(struct inspect *i, int argc, char **argv)
{
	return inspect_for_tasks(i, argc, argv, print_task_struct);
}

static const struct {
	const char *name;
	inspect_task_fn fn;
} task_commands[] = {
	{ "bt", inspect_task_bt },   { "files", inspect_task_files }, { "ps", print_task },
	{ "sig", inspect_task_sig }, { "task", print_task_struct },   { "vm", inspect_task_vm },
};

static int find_task_command(const char *word)
{
	for (size_t n = 0; n < ARRAY_SIZE(task_commands); n++)
		if (!strcmp(task_commands[n].name, word))
			return (int)n;
	return -1;
}

/* foreach [TASK...] COMMAND */
int inspect_foreach(struct inspect *i, int argc, char **argv)
{
	int command = argc ? find_task_command(argv[argc - 1]) : -1;
	if (command < 0)
		return inspect_usage(i,
				     "which command for each task? bt, files, ps, sig, task or vm, "
				     "after the tasks");
	if (task_commands[command].fn == print_task && !i->app->json)
		strbuf_str(&i->text, ps_head);
	return for_chosen(i, argc - 1, argv, task_commands[command].fn);
}

/* ---- mod ------------------------------------------------------------------------------------------------------------------- */

static int print_module(void *ctx, const struct kmodule *m)
{
	struct inspect *i = ctx;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "address", m->addr);
		json_put_str(&i->j, "name", m->name);
		inspect_json_address(i, "text", m->text);
		json_put_u64(&i->j, "size", m->size);
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text, "%016llx  %-24s  %016llx  %8llu\n", (ull)m->addr, m->name,
			      (ull)m->text, (ull)m->size);
	}
	return 0;
}

int inspect_mod(struct inspect *i, int argc, char **argv)
{
	if (argc)
		return inspect_usage(i, "unexpected argument");
	(void)argv;
	if (!i->app->json)
		strbuf_str(&i->text,
			   "     MODULE       NAME                         TEXT_BASE          "
			   "SIZE\n");
	int err = kmodules_each(&i->k, print_module, i, &i->walk);
	i->walked = !err;
	return err;
}

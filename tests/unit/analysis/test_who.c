/* Two readings, made by hand, and what `who` says of them. */
#include "analysis/who.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

static const char *name_of(void *ctx, u32 id)
{
	(void)ctx;
	return id == 0 ? "root" : id == 1 ? "ada" : "eve";
}

static s32 node_of(void *ctx, s32 cpu)
{
	(void)ctx;
	return cpu / 2;
}

static const struct who_env env = {
	.ticks_per_second = 100, .page_bytes = 4096, .user = name_of, .group = name_of, .node = node_of
};

struct fixture {
	struct task_list before, now;
	struct system_reading system_before, system_now;
	struct who *who;
	struct who_opts o;
	struct table t;
	struct diag d;
};

static struct task *add(struct task_list *l, s32 pid, s32 tid, s32 ppid, const char *comm,
			u64 ticks, u32 uid)
{
	struct task *t = vec_push(&l->tasks);
	*t = (struct task){ .pid = pid,
			    .tid = tid,
			    .ppid = ppid,
			    .user_ticks = ticks,
			    .start_ticks = (u64)pid,
			    .state = 'S',
			    .resident_pages = 256,
			    .parts = TASK_STAT | TASK_STATM | TASK_OWNER | TASK_CGROUP,
			    .uid = { uid, uid, uid, uid } };
	snprintf(t->comm, sizeof(t->comm), "%s", comm);
	return t;
}

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	task_list_init(&f->before);
	task_list_init(&f->now);
	if (task_list_reset(&f->before) || task_list_reset(&f->now))
		exit(1);
	diag_init(&f->d);
	f->before.time_ns = 10000000000ull;
	f->now.time_ns = 12000000000ull; /* two seconds */
	add(&f->before, 1, 1, 0, "init", 100, 0);
	add(&f->before, 20, 20, 1, "shell", 10, 1);
	add(&f->before, 30, 30, 20, "busy", 0, 1);
	add(&f->before, 40, 40, 1, "ended", 500, 2);
	add(&f->before, 50, 50, 1, "reused", 900, 2)->start_ticks = 7;
	add(&f->now, 1, 1, 0, "init", 100, 0);
	add(&f->now, 20, 20, 1, "shell", 12, 1);
	add(&f->now, 30, 30, 20, "busy", 200, 1)->state = 'R';
	add(&f->now, 45, 45, 20, "fresh", 50, 1);
	add(&f->now, 50, 50, 1, "reused", 4, 2);
	f->system_now.mem_total_kb = 10240;
	struct cpu_ticks *c = vec_push(&f->system_before.cpus);
	*c = (struct cpu_ticks){ .cpu = -1, .user = 100, .idle = 100 };
	c = vec_push(&f->system_now.cpus);
	*c = (struct cpu_ticks){ .cpu = -1, .user = 250, .idle = 150 };
	c = vec_push(&f->system_now.cpus);
	*c = (struct cpu_ticks){ .cpu = 1, .system = 10 }; /* came meanwhile */
	f->who = who_new(&env);
	who_opts_init(&f->o);
	if (!f->who || who_opts_columns(&f->o, "PID,USER,%CPU,%MEM,COMMAND", &f->d) ||
	    who_column_find("%CPU", 4, &f->o.sort))
		exit(1);
	table_init(&f->t);
}

static void end(struct fixture *f)
{
	table_done(&f->t);
	who_opts_done(&f->o);
	who_free(f->who);
	diag_done(&f->d);
	vec_free(&f->system_before.cpus);
	vec_free(&f->system_now.cpus);
	task_list_done(&f->before);
	task_list_done(&f->now);
}

static int run(struct fixture *f)
{
	table_done(&f->t);
	table_init(&f->t);
	return who_table(
		f->who,
		&(struct who_readings){ &f->before, &f->now, &f->system_before, &f->system_now },
		&f->o, &f->t);
}

/* "30 20 1": the first column of all rows. */
static const char *order(const struct fixture *f)
{
	static char text[256];
	size_t len = 0;
	for (size_t i = 0; i < f->t.nr_rows; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld", i ? " " : "",
					(long long)table_cells(&f->t, i)[0].s);
	text[len] = '\0';
	return text;
}

static void test_rates(void)
{
	struct fixture f;
	begin(&f);
	ok(!run(&f), "a table");
	is_str(order(&f), "30 45 50 20 1", "by CPU usage, then by number");
	ok(table_cells(&f.t, 0)[2].f == 100.0, "two seconds of two are 100 %%");
	ok(table_cells(&f.t, 1)[2].f == 25.0, "who began meanwhile has used all its time in it");
	ok(table_cells(&f.t, 2)[2].f == 2.0, "a number that was used again is another task");
	ok(table_cells(&f.t, 0)[3].f == 10.0, "memory");
	const struct who_summary *s = who_summary(f.who);
	ok(s->total == 5 && s->running == 1 && s->sleeping == 4, "counts");
	ok(s->cpus.list.nr == 2 && s->cpus.list.at[0].user == 75 && s->cpus.list.at[0].idle == 25,
	   "CPUs together");
	ok(s->cpus.list.at[1].cpu == 1 && s->cpus.list.at[1].system == 100, "a CPU that came");
	ok(who_row_task(f.who, 0)->pid == 30 && !who_row_task(f.who, 9), "whose row it is");
	f.o.reversed = true;
	ok(!run(&f), "reversed");
	is_str(order(&f), "1 20 50 45 30", "the least first");
	f.o.max_rows = 2;
	ok(!run(&f) && f.t.nr_rows == 2, "no more rows than wanted");
	end(&f);
}

static void test_choice(void)
{
	struct fixture f;
	begin(&f);
	f.o.no_idle = true;
	ok(!run(&f), "who did something");
	is_str(order(&f), "30 45 50 20", "not who idles");
	f.o.one_user = true;
	f.o.uid = 2;
	ok(!run(&f), "one user");
	is_str(order(&f), "50", "only theirs");
	f.o.one_user = f.o.no_idle = false;
	static const struct {
		const char *text, *want;
	} filters[] = {
		{ "%CPU>2", "30 45" }, { "!USER=ada", "50 1" }, { "COMMAND=us", "30 50" },
		{ "PID=45", "45" },    { "PID<30", "20 1" },	{ "USER=a", "30 45 20" },
		{ "!%CPU>0", "1" },
	};
	for (unsigned i = 0; i < ARRAY_SIZE(filters); i++) {
		f.o.filters.list.nr = 0;
		struct who_filter *slot = vec_push(&f.o.filters.list);
		bool good = !who_filter_parse(filters[i].text, slot, &f.d) && !run(&f) &&
			    !strcmp(order(&f), filters[i].want);
		if (!ok(good, "filter %s", filters[i].text))
			printf("# got %s\n", order(&f));
	}
	static const char *const bad[] = { "", "PID", "=5", "NOSUCH=1", "PID=", "PID=x", "%CPU>5x" };
	unsigned taken = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		taken += !who_filter_parse(bad[i], &(struct who_filter){ 0 }, &f.d);
	is_u64(taken, 0, "what is no filter is refused");
	ok(who_opts_columns(&f.o, "PID,NOSUCH", &f.d) == -22 && f.o.columns.list.nr == 5,
	   "an unknown column changes nothing");
	ok(!who_opts_columns(&f.o, "+P,-USER", &f.d) && f.o.columns.list.nr == 5, "add and remove");
	u16 c;
	ok(!who_column_find("time", 4, &c) && !strcmp(who_columns[c].name, "TIME"), "any case");
	ok(!who_column_find("cpu_percent", 11, &c) && !strcmp(who_columns[c].name, "%CPU"),
	   "by key");
	end(&f);
}

static void test_tree(void)
{
	struct fixture f;
	begin(&f);
	f.o.tree = true;
	ok(!run(&f), "a tree");
	is_str(order(&f), "1 50 20 30 45", "children follow parents, by CPU usage");
	is_str(table_cells(&f.t, 3)[4].str, "     `- busy", "two levels down");
	/* Each other's parents, with one start time. */
	f.now.tasks.at[3].ppid = 50;
	f.now.tasks.at[4].ppid = 45;
	f.now.tasks.at[3].start_ticks = f.now.tasks.at[4].start_ticks;
	ok(!run(&f) && f.t.nr_rows == 5, "a circle loses nobody, and ends");
	end(&f);
}

/* Times of tasks that have ended are whole, whenever they began. */
static void test_ended(void)
{
	struct fixture f;
	begin(&f);
	struct task ended[3] = {
		{ .pid = 40, .tid = 40, .start_ticks = 41, .ended_cpu_ns = 5200000000, .comm = "ended" },
		{ .pid = 60, .tid = 60, .start_ticks = 1100, .ended_cpu_ns = 3000000, .comm = "short" },
		/* Its number was another's, which began long before. */
		{ .pid = 20,
		  .tid = 20,
		  .start_ticks = 1150,
		  .ended_cpu_ns = 1000000000,
		  .comm = "again" },
	};
	for (unsigned i = 0; i < 3; i++) {
		ended[i].parts = TASK_STAT | TASK_OWNER | TASK_ENDED;
		ended[i].state = 'X';
	}
	table_done(&f.t);
	table_init(&f.t);
	ok(!who_opts_columns(&f.o, "PID,%CPU,TIME+,S", &f.d) &&
		   !who_table(f.who,
			      &(struct who_readings){ .before = &f.before,
						      .now = &f.now,
						      .system_now = &f.system_now,
						      .ended = ended,
						      .nr_ended = 3 },
			      &f.o, &f.t),
	   "tasks that have ended");
	is_str(order(&f), "30 20 45 40 50 20 60 1", "are rows among the others");
	ok(table_cells(&f.t, 1)[1].f == 50.0, "a number that was used again: all its time");
	ok(fabs(table_cells(&f.t, 3)[1].f - 10.0) < 1e-9 && table_cells(&f.t, 3)[2].u == 5200000000,
	   "one that was known: what it used since");
	ok(fabs(table_cells(&f.t, 6)[1].f - 0.15) < 1e-9,
	   "one that nobody saw, to the microsecond");
	is_str(table_cells(&f.t, 6)[3].str, "X", "marked");
	ok(who_summary(f.who)->ended == 3 && who_summary(f.who)->total == 5, "counted apart");
	end(&f);
}

static void test_sums(void)
{
	struct fixture f;
	begin(&f);
	ok(!who_column_find("USER", 4, &f.o.by) && !run(&f) && f.t.nr_rows == 3 &&
		   f.t.columns.nr == 4,
	   "added up by user");
	const union cell *c = table_cells(&f.t, 0);
	ok(!strcmp(c[0].str, "ada") && c[1].u == 3 && c[2].f == 126.0 && c[3].f == 30.0,
	   "the busiest first");
	end(&f);
}

static void test_cgroups(void)
{
	static const struct {
		const char *list, *unit, *container, *cgroup;
	} cases[] = {
		{ "0::/system.slice/ssh.service", "ssh.service", "-", "/system.slice/ssh.service" },
		{ "0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef"
		  "0123456789abcdef.scope",
		  "docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
		  "0123456789ab", NULL },
		{ "9:name=systemd:/user.slice/a,b.scope,4:memory:/x,0::/", "a,b.scope", "-",
		  "/user.slice/a,b.scope" },
		{ "4:memory:/lxc/box/init.scope,0::/", "init.scope", "box", "/lxc/box/init.scope" },
		{ "0::/", "-", "-", "/" },
		{ "garbage", "-", "-", "-" },
	};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;
		begin(&f);
		f.now.tasks.nr = 1;
		f.now.tasks.at[0].cgroup =
			task_list_add_text(&f.now, cases[i].list, strlen(cases[i].list));
		ok(!who_opts_columns(&f.o, "UNIT,CONTAINER,CGROUP", &f.d) && !run(&f), "case %u", i);
		is_str(table_cells(&f.t, 0)[0].str, cases[i].unit, "unit");
		is_str(table_cells(&f.t, 0)[1].str, cases[i].container, "container");
		if (cases[i].cgroup)
			is_str(table_cells(&f.t, 0)[2].str, cases[i].cgroup, "cgroup");
		end(&f);
	}
}

/* All columns, of tasks of which nothing but stat could be read: nothing is invented. */
static void test_unknown(void)
{
	struct fixture f;
	begin(&f);
	unsigned invented = 0;
	for (u32 i = 0; i < who_nr_columns; i++) {
		const struct who_column *c = &who_columns[i];
		f.o.columns.list.nr = 0;
		*(u16 *)vec_push(&f.o.columns.list) = (u16)i;
		for (size_t k = 0; k < f.now.tasks.nr; k++)
			f.now.tasks.at[k].parts = TASK_STAT;
		if (run(&f)) {
			ok(false, "%s", c->name);
			continue;
		}
		const union cell *v = table_cells(&f.t, 0);
		if (!c->parts)
			continue;
		bool unknown = c->type == CELL_STR ? !strcmp(v->str, "-") : isnan(v->f);
		invented += !unknown;
		if (!unknown)
			printf("# %s\n", c->name);
	}
	is_u64(invented, 0, "what could not be read has no value, in all columns");
	end(&f);
}

static void test_memory(void)
{
	struct fixture f;
	begin(&f);
	ok(!who_opts_columns(&f.o, "PID,VIRT,nMin,RES", &f.d) && !run(&f), "columns");
	ok(!f.t.columns.at[1].memory, "as they are, unless somebody asks");
	f.o.memory = MEMORY_MIB;
	ok(!run(&f), "again");
	ok(f.t.columns.at[1].memory == MEMORY_MIB && f.t.columns.at[3].memory == MEMORY_MIB,
	   "columns in KiB");
	ok(!f.t.columns.at[0].memory && !f.t.columns.at[2].memory, "and no others");
	ok(!who_column_find("USER", 4, &f.o.by) && !run(&f) && f.t.columns.at[2].memory == MEMORY_MIB,
	   "sums, too");
	end(&f);
}

int main(void)
{
	test_memory();
	test_rates();
	test_choice();
	test_tree();
	test_ended();
	test_sums();
	test_cgroups();
	test_unknown();
	return done_testing();
}

/* The journal on a fake tracefs: what is undone, and what is left alone. */
#include "kern/journal.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[] = "/tmp/sonde-journal.XXXXXX";
static char run_dir[64], tracefs[64];

static void put(const char *file, const char *text)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/%s", tracefs, file);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static const char *get(const char *file)
{
	static char text[256];
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/%s", tracefs, file);
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	if (fd >= 0)
		close(fd);
	return text;
}

static void make(const char *dir)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/%s", tracefs, dir);
	if (mkdir(path, 0755))
		abort();
}

static struct tracing open_fake(void)
{
	struct tracing t = { .path = tracefs, .dir = open(tracefs, O_RDONLY | O_DIRECTORY) };
	return t;
}

static struct journal *begin(const struct tracing *t, bool watchdog)
{
	struct journal *j = NULL;
	struct journal_opts o = { .run_dir = run_dir, .title = "test", .no_watchdog = !watchdog };
	ok(!journal_open(&j, t, &o, NULL), "a journal opens");
	return j;
}

static unsigned nr_journals(void)
{
	struct journal_list l;
	int dir = run_dir_open(run_dir, NULL);
	unsigned nr = 0;
	if (!journal_list_all(dir, &l)) {
		nr = (unsigned)l.items.nr;
		journal_list_done(&l);
	}
	close(dir);
	return nr;
}

static void test_undo(void)
{
	struct tracing t = open_fake();
	put("tracing_on", "1\n");
	put("trace_clock", "[local] global mono\n");
	put("tracing_thresh", "0\n");
	put("filter", "none\n");
	struct journal *j = begin(&t, false);
	ok(!journal_set(j, "tracing_on", "0", NULL), "a value is set");
	ok(!strcmp(get("tracing_on"), "0"), "and written");
	ok(!journal_set(j, "tracing_on", "1", NULL) && !journal_set(j, "tracing_on", "0", NULL),
	   "twice more");
	put("tracing_thresh", "0\n");
	ok(!journal_set(j, "tracing_thresh", "50", NULL), "another value");
	put("tracing_thresh", "70\n"); /* somebody else */
	ok(!journal_set(j, "filter", "pid==1", NULL), "a filter");
	journal_close(j, NULL);
	ok(!strcmp(get("tracing_on"), "1"), "the first value is back");
	ok(!strcmp(get("tracing_thresh"), "70"),
	   "what somebody else has changed meanwhile is left");
	ok(!strcmp(get("filter"), "0"), "no filter is written as 0");
	ok(nr_journals() == 0, "the journal is gone");
	close(t.dir);
}

static void test_instance(void)
{
	struct tracing t = open_fake();
	struct journal *j = begin(&t, false);
	ok(!journal_instance(j, "mine", NULL), "an instance is made");
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/instances/mine", tracefs);
	ok(!access(path, F_OK), "it is there");
	ok(journal_owns(j, "instances/mine/tracing_on") && !journal_owns(j, "instances/mine2/x") &&
		   !journal_owns(j, "tracing_on"),
	   "what is in it is ours");
	ok(journal_instance(j, "mine", NULL) == -EEXIST, "not twice");
	ok(journal_instance(j, "../x", NULL) == -EINVAL && journal_instance(j, "", NULL) == -EINVAL,
	   "names that lead elsewhere are refused");
	journal_close(j, NULL);
	ok(access(path, F_OK), "and is removed");
	close(t.dir);
}

static void test_never_truncates(void)
{
	struct tracing t = open_fake();
	put("kprobe_events", "p:a/b c\n");
	ok(tracing_write(&t, "kprobe_events", "", true) == -EPERM,
	   "probes of others are not emptied");
	ok(!strcmp(get("kprobe_events"), "p:a/b c"), "they are there");
	close(t.dir);
}

/* Waits until the watchdog has done its work. */
static bool wait_gone(void)
{
	for (int i = 0; i < 1000 && nr_journals(); i++)
		usleep(10000);
	return nr_journals() == 0;
}

static void test_killed(void)
{
	struct tracing t = open_fake();
	put("tracing_on", "1\n");
	int ready[2];
	if (pipe(ready))
		abort();
	pid_t pid = fork();
	if (!pid) {
		struct journal *j;
		struct journal_opts o = { .run_dir = run_dir, .title = "victim" };
		char c = journal_open(&j, &t, &o, NULL) || journal_set(j, "tracing_on", "0", NULL) ||
			 journal_instance(j, "victim", NULL);
		(void)!write(ready[1], &c, 1);
		pause();
		_exit(0);
	}
	char c = 1;
	(void)!read(ready[0], &c, 1);
	ok(!c && !strcmp(get("tracing_on"), "0"), "a process has changed something");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(wait_gone(), "it is killed, and its journal goes");
	ok(!strcmp(get("tracing_on"), "1"), "the watchdog has put the value back");
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/instances/victim", tracefs);
	ok(access(path, F_OK), "and removed the instance");
	close(t.dir);
}

static void test_stale(void)
{
	struct tracing t = open_fake();
	put("tracing_on", "1\n");
	pid_t pid = fork();
	if (!pid) {
		struct journal *j;
		struct journal_opts o = { .run_dir = run_dir,
					  .title = "both dead",
					  .no_watchdog = true };
		_exit(journal_open(&j, &t, &o, NULL) || journal_set(j, "tracing_on", "0", NULL));
	}
	int status;
	waitpid(pid, &status, 0);
	int dir = run_dir_open(run_dir, NULL);
	struct journal_list l;
	ok(!status && !journal_list_all(dir, &l) && l.items.nr == 1 && !l.items.at[0].alive,
	   "a journal of the dead is found");
	ok(!strcmp(l.items.at[0].title, "both dead") && l.items.at[0].files.nr == 1,
	   "with what it did");
	ok(!journal_undo_stale(dir, &t, l.items.at[0].name, NULL, NULL), "and undone");
	ok(!strcmp(get("tracing_on"), "1") && nr_journals() == 0, "the value is back");
	journal_list_done(&l);
	close(dir);
	close(t.dir);
}

static void test_kept(void)
{
	struct tracing t = open_fake();
	put("tracing_on", "1\n");
	struct journal *j = begin(&t, true);
	ok(!journal_set(j, "tracing_on", "0", NULL) && !journal_keep(j),
	   "a change that is meant to stay");
	journal_close(j, NULL);
	ok(!strcmp(get("tracing_on"), "0"), "stays");
	int dir = run_dir_open(run_dir, NULL);
	struct journal_list l;
	ok(!journal_list_all(dir, &l) && l.items.nr == 1 && l.items.at[0].kept &&
		   !l.items.at[0].alive,
	   "and is told");
	ok(!journal_forget(dir, l.items.at[0].name) && nr_journals() == 0, "until it is forgotten");
	journal_list_done(&l);
	close(dir);
	close(t.dir);
}

static void test_lock(void)
{
	struct diag d;
	struct strbuf s;
	diag_init(&d);
	strbuf_init(&s);
	int dir = run_dir_open(run_dir, NULL);
	int a = lock_take(dir, "thing", "the first", false, &d);
	ok(a >= 0, "a lock is taken");
	ok(lock_take(dir, "thing", "the second", false, &d) == -EBUSY, "once");
	diag_render(&d, "x", false, &s);
	ok(strstr(strbuf_cstr(&s), "the first"), "and the refusal names the holder");
	close(a);
	a = lock_take(dir, "thing", "the third", false, NULL);
	ok(a >= 0, "free again when it is closed");
	close(a);
	strbuf_done(&s);
	diag_done(&d);
	close(dir);
}

static void test_knob(void)
{
	struct tracing t = open_fake();
	put("saved_cmdlines_size", "128\n");
	struct journal *j = begin(&t, false);
	ok(!journal_knob(j, "saved_cmdlines_size", 1000, NULL), "a knob is raised");
	ok(!strcmp(get("saved_cmdlines_size"), "1000"), "to what one run wants");
	int ready[2], go[2], status;
	if (pipe(ready) || pipe(go))
		abort();
	pid_t pid = fork();
	if (!pid) {
		struct journal *other;
		struct journal_opts o = { .run_dir = run_dir, .title = "other", .no_watchdog = true };
		char c = journal_open(&other, &t, &o, NULL) ||
			 journal_knob(other, "saved_cmdlines_size", 500, NULL);
		(void)!write(ready[1], &c, 1);
		(void)!read(go[0], &c, 1);
		journal_close(other, NULL);
		_exit(c);
	}
	char c = 1;
	(void)!read(ready[0], &c, 1);
	ok(!c && !strcmp(get("saved_cmdlines_size"), "1000"), "a second run is content with it");
	journal_close(j, NULL);
	ok(!strcmp(get("saved_cmdlines_size"), "1000"),
	   "the first goes: the second still needs it");
	c = 0;
	(void)!write(go[1], &c, 1);
	waitpid(pid, &status, 0);
	ok(!strcmp(get("saved_cmdlines_size"), "128"), "the last one puts it back");
	close(t.dir);
}

/* A journal as a run has left it that died at a certain moment. */
static void leave(const char *records)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/1-1.journal", run_dir);
	FILE *f = fopen(path, "w");
	if (!f || fprintf(f, "sonde journal 1\n%s", records) < 0 || fclose(f))
		abort();
}

static int undo_left(const struct tracing *t)
{
	int dir = run_dir_open(run_dir, NULL);
	int err = journal_undo_stale(dir, t, "1-1", NULL, NULL);
	close(dir);
	return err;
}

/* Between a write and the note of what the kernel has made of it. */
static void test_interrupted(void)
{
	struct tracing t = open_fake();
	put("buffer_size_kb", "513\n");
	leave("S\tbuffer_size_kb\t1408\t512\n");
	ok(!undo_left(&t) && !strcmp(get("buffer_size_kb"), "1408"),
	   "dead behind the write: a rounded value is ours");
	put("buffer_size_kb", "700\n");
	leave("S\tbuffer_size_kb\t1408\t512\nB\tbuffer_size_kb\t513\n");
	ok(!undo_left(&t) && !strcmp(get("buffer_size_kb"), "700"),
	   "dead later: another value is somebody else's");
	put("buffer_size_kb", "1001\n");
	leave("S\tbuffer_size_kb\t1408\t512\nB\tbuffer_size_kb\t513\nW\tbuffer_size_kb\t1000\n");
	ok(!undo_left(&t) && !strcmp(get("buffer_size_kb"), "1408"), "the same for a second write");
	put("buffer_size_kb", "513\n");
	leave("H\t1\tanother-boot\tx\nS\tbuffer_size_kb\t1408\t512\n");
	ok(!undo_left(&t) && !strcmp(get("buffer_size_kb"), "513") && nr_journals() == 0,
	   "a journal of another boot is only removed");
	close(t.dir);
}

/* What was refused belongs to somebody else. */
static void test_refused(void)
{
	struct tracing t = open_fake();
	char path[128];
	struct journal *j = begin(&t, false);
	ok(journal_add(j, "trigger_of_others", "stacktrace", "!stacktrace", NULL) < 0,
	   "a line is refused");
	put("trigger_of_others", "stacktrace\n");
	(void)snprintf(path, sizeof(path), "%s/instances/taken", tracefs);
	if (symlink("nowhere", path))
		abort();
	ok(journal_instance(j, "taken", NULL) == -EEXIST,
	   "an instance that another run makes in this moment");
	ok(!journal_owns(j, "instances/taken/tracing_on"), "is not ours");
	if (unlink(path))
		abort();
	make("instances/taken");
	journal_close(j, NULL);
	ok(!strcmp(get("trigger_of_others"), "stacktrace"), "the line of others stays");
	ok(!access(path, F_OK), "and their instance");
	if (rmdir(path))
		abort();
	close(t.dir);
}

/* No room for the journal: nothing is changed that could not be undone. */
static void test_full(void)
{
	struct tracing t = open_fake();
	struct rlimit old, tight;
	put("tracing_on", "1\n");
	put("tracing_thresh", "0\n");
	struct journal *j = begin(&t, false);
	ok(!journal_set(j, "tracing_on", "0", NULL), "a value is set");
	struct stat st = { 0 };
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/%s.journal", run_dir, journal_name(j));
	(void)signal(SIGXFSZ, SIG_IGN);
	if (stat(path, &st) || getrlimit(RLIMIT_FSIZE, &old))
		abort();
	tight = old;
	tight.rlim_cur = (rlim_t)st.st_size + 5; /* half a line */
	if (setrlimit(RLIMIT_FSIZE, &tight))
		abort();
	/* What is said of it would not fit into a file either: that comes when there is room again. */
	bool set = !journal_set(j, "tracing_thresh", "50", NULL);
	bool written = strcmp(get("tracing_thresh"), "0");
	bool turned = !journal_knob(j, "saved_cmdlines_size", 4000, NULL);
	if (setrlimit(RLIMIT_FSIZE, &old))
		abort();
	ok(!set, "the journal is full");
	ok(!written, "nothing is written then");
	ok(!turned, "no knob is turned either");
	ok(!journal_set(j, "tracing_thresh", "60", NULL), "there is room again");
	journal_close(j, NULL);
	ok(!strcmp(get("tracing_on"), "1") && !strcmp(get("tracing_thresh"), "0") &&
		   nr_journals() == 0,
	   "and all is undone");
	close(t.dir);
}

/* What cannot be undone now can be later, and only that. */
static void test_left(void)
{
	struct tracing t = open_fake();
	put("tracing_on", "1\n");
	struct journal *j = begin(&t, false);
	ok(!journal_set(j, "tracing_on", "0", NULL) && !journal_instance(j, "busy", NULL),
	   "a value and an instance");
	put("instances/busy/held",
	    "open\n"); /* a folder that is not empty, for a buffer that is read */
	journal_close(j, NULL);
	ok(!strcmp(get("tracing_on"), "1"), "the value is put back");
	struct journal_list l;
	int dir = run_dir_open(run_dir, NULL);
	ok(!journal_list_all(dir, &l) && l.items.nr == 1 && l.items.at[0].instances.nr == 1 &&
		   l.items.at[0].files.nr == 0 && !l.items.at[0].alive,
	   "the instance is not, and the journal tells of it alone");
	put("tracing_on", "0\n");
	ok(journal_undo_stale(dir, &t, l.items.at[0].name, NULL, NULL) == 1, "it still cannot go");
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/instances/busy/held", tracefs);
	(void)unlink(path);
	ok(!journal_undo_stale(dir, &t, l.items.at[0].name, NULL, NULL) && nr_journals() == 0,
	   "until nobody reads it any more");
	ok(!strcmp(get("tracing_on"), "0"), "a value that was put back once is nobody's any more");
	journal_list_done(&l);
	close(dir);
	close(t.dir);
}

/* Runs that are dead, watchdog and all, share a knob with the living. */
static void test_knob_of_the_dead(void)
{
	struct tracing t = open_fake();
	put("saved_cmdlines_size", "128\n");
	pid_t pid = fork();
	if (!pid) {
		struct journal *j;
		struct journal_opts o = { .run_dir = run_dir, .title = "dead", .no_watchdog = true };
		_exit(journal_open(&j, &t, &o, NULL) ||
		      journal_knob(j, "saved_cmdlines_size", 1000, NULL));
	}
	int status;
	waitpid(pid, &status, 0);
	ok(!status && !strcmp(get("saved_cmdlines_size"), "1000"), "the dead have left a knob");
	struct journal *j = begin(&t, false);
	ok(!journal_knob(j, "saved_cmdlines_size", 2000, NULL), "the living want more");
	journal_close(j, NULL);
	ok(!strcmp(get("saved_cmdlines_size"), "128"), "and put back what was there before both");
	struct journal_list l;
	int dir = run_dir_open(run_dir, NULL);
	ok(!journal_list_all(dir, &l) && l.items.nr == 1 &&
		   !journal_undo_stale(dir, &t, l.items.at[0].name, NULL, NULL),
	   "the dead are undone");
	ok(!strcmp(get("saved_cmdlines_size"), "128"), "which changes nothing");
	journal_list_done(&l);
	/* Killed between noting and reading back: the kernel has rounded 1000 to 1024. */
	int fd = openat(dir, "saved_cmdlines_size.knob", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	static const char text[] = "128 1000 ?\n1-1\n";
	(void)!write(fd, text, sizeof(text) - 1);
	close(fd);
	put("saved_cmdlines_size", "1024\n");
	leave("K\tsaved_cmdlines_size\n");
	ok(!undo_left(&t) && !strcmp(get("saved_cmdlines_size"), "128"), "a rounded knob is ours");
	close(dir);
	close(t.dir);
}

/* Killed while the folder of a recording was made: it goes while it is empty, and only then. */
static void test_folder(void)
{
	struct tracing t = open_fake();
	char folder[128], file[160], line[160];
	(void)snprintf(folder, sizeof(folder), "%s/x.dat.parts", base);
	(void)snprintf(file, sizeof(file), "%s/head", folder);
	(void)snprintf(line, sizeof(line), "M\t%s\n", folder);
	if (mkdir(folder, 0755))
		abort();
	leave(line);
	ok(!undo_left(&t) && access(folder, F_OK), "an empty folder is removed");
	if (mkdir(folder, 0755))
		abort();
	(void)snprintf(line, sizeof(line), "M\t%s\nX\n", folder);
	leave(line);
	ok(!undo_left(&t) && !access(folder, F_OK), "one that was there before is not");
	int fd = open(file, O_WRONLY | O_CREAT, 0644);
	close(fd);
	(void)snprintf(line, sizeof(line), "M\t%s\n", folder);
	leave(line);
	ok(fd >= 0 && !undo_left(&t) && !access(file, F_OK), "nor one that holds something");
	ok(nr_journals() == 0, "and the journal is gone");
	close(t.dir);
}

static void test_dry(void)
{
	struct tracing t = open_fake();
	struct strbuf out;
	struct journal *j;
	strbuf_init(&out);
	struct journal_opts o = { .run_dir = run_dir, .title = "dry", .dry = &out };
	put("tracing_on", "1\n");
	ok(!journal_open(&j, &t, &o, NULL) && !journal_set(j, "tracing_on", "0", NULL) &&
		   !journal_instance(j, "dry", NULL) &&
		   !journal_add(j, "trigger", "it's", "!it's", NULL),
	   "a dry run");
	journal_close(j, NULL);
	ok(!strcmp(get("tracing_on"), "1") && nr_journals() == 0, "changes nothing");
	ok(strstr(strbuf_cstr(&out), "/tracing_on\n") &&
		   strstr(strbuf_cstr(&out), "echo 'it'\\''s' >>"),
	   "and says what it would do, as a shell takes it");
	strbuf_done(&out);
	close(t.dir);
}

int main(void)
{
	if (!mkdtemp(base))
		abort();
	(void)snprintf(run_dir, sizeof(run_dir), "%s/run", base);
	(void)snprintf(tracefs, sizeof(tracefs), "%s/tracing", base);
	make("");
	make("instances");
	test_undo();
	test_instance();
	test_never_truncates();
	test_killed();
	test_stale();
	test_kept();
	test_lock();
	test_knob();
	test_interrupted();
	test_refused();
	test_full();
	test_left();
	test_knob_of_the_dead();
	test_folder();
	test_dry();
	char command[96];
	(void)snprintf(command, sizeof(command), "rm -rf %s", base);
	if (system(command))
		abort();
	return done_testing();
}

/* base: loop and term. */
#include "tap.h"

#include "base/clock.h"
#include "base/loop.h"
#include "base/term.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct seen {
	struct loop *l;
	struct loop_source *source;
	int pipe[2];
	u64 what;
	unsigned times;
	int answer;
};

static int note(void *ctx, u64 what)
{
	struct seen *s = ctx;
	s->what = what;
	s->times++;
	return s->answer;
}

static int note_and_remove(void *ctx, u64 what)
{
	struct seen *s = ctx;
	s->times++;
	loop_remove(s->l, s->source);
	return 0;
}

static int third_time(void *ctx, u64 what)
{
	return ++((struct seen *)ctx)->times == 3;
}

static void test_fd(void)
{
	struct seen s = { .l = loop_new(), .answer = 1 };
	ok(s.l && !pipe(s.pipe), "a loop");
	ok(!loop_add_fd(s.l, s.pipe[0], EPOLLIN, note, &s, &s.source), "a descriptor");
	ok(loop_step(s.l, 0) == 0 && s.times == 0, "nothing yet");
	ok(write(s.pipe[1], "x", 1) == 1 && loop_run(s.l) == 0 && s.what & EPOLLIN, "readable");
	s.answer = -EIO;
	ok(loop_run(s.l) == -EIO, "a handler's error ends the loop");
	ok(loop_add_fd(s.l, -1, EPOLLIN, note, &s, NULL) == -EBADF, "no descriptor");
	loop_remove(s.l, s.source);
	loop_remove(s.l, s.source);
	s.times = 0;
	ok(loop_run(s.l) == 0 && s.times == 0, "nothing to wait for is the end");
	ok(!loop_add_fd(s.l, s.pipe[0], EPOLLIN, note_and_remove, &s, &s.source), "again");
	ok(loop_run(s.l) == 0 && s.times == 1, "a handler may remove its own source");
	loop_free(s.l);
	close(s.pipe[0]);
	close(s.pipe[1]);
}

static void test_timer(void)
{
	struct seen s = { .l = loop_new() };
	u64 began = clock_monotonic_ns();
	ok(!loop_add_timer(s.l, 0, 2000000, third_time, &s, NULL), "a timer");
	ok(loop_run(s.l) == 0 && s.times == 3, "goes off again and again");
	ok(clock_monotonic_ns() - began >= 4000000, "not too early");
	loop_free(s.l);
	s = (struct seen){ .l = loop_new() };
	ok(!loop_add_timer(s.l, 1000000, 0, note, &s, NULL) && loop_run(s.l) == 0 && s.times == 1,
	   "once");
	loop_free(s.l);
	loop_free(NULL);
}

static void test_signal(void)
{
	struct seen s = { .l = loop_new(), .answer = 1 };
	sigset_t now;
	ok(!loop_add_signal(s.l, SIGUSR1, note, &s), "a signal");
	ok(loop_run(s.l) == 0 && !s.times, "a signal alone is nothing to wait for");
	kill(getpid(), SIGUSR1);
	ok(loop_step(s.l, 1000) == 1 && s.what == SIGUSR1, "its number arrives");
	ok(!sigismember(loop_old_signals(s.l), SIGUSR1), "children can be given the old mask");
	ok(loop_add_signal(s.l, 9999, note, &s) == -EINVAL, "no such signal");
	loop_free(s.l);
	sigprocmask(SIG_SETMASK, NULL, &now);
	ok(!sigismember(&now, SIGUSR1), "and the mask is put back");
}

static void test_child(void)
{
	struct seen s = { .l = loop_new() };
	pid_t pid = fork();
	if (!pid)
		_exit(7);
	int err = loop_add_child(s.l, pid, note, &s);
	if (err == -ENOSYS) {
		skip("children", "kernel without pidfd");
		waitpid(pid, NULL, 0);
	} else {
		ok(!err, "a child");
		ok(loop_run(s.l) == 0 && s.times == 1, "its end ends the wait");
		ok(WIFEXITED((int)s.what) && WEXITSTATUS((int)s.what) == 7, "with its status");
		ok(waitpid(pid, NULL, 0) < 0 && errno == ECHILD, "it is reaped");
	}
	loop_free(s.l);
}

static void test_term(void)
{
	int null = open("/dev/null", O_RDWR);
	setenv("COLUMNS", "123", 1);
	setenv("LINES", "45", 1);
	ok(!term_is_tty(null), "not a terminal");
	ok(term_width(null) == 123 && term_height(null) == 45, "size from the environment");
	setenv("COLUMNS", "junk", 1);
	unsetenv("LINES");
	ok(term_width(null) == 80 && term_height(null) == 24, "size from nowhere");
	ok(!term_colour(TERM_AUTO, null) && term_colour(TERM_ALWAYS, null) &&
		   !term_colour(TERM_NEVER, null),
	   "colour");
	struct term_progress p;
	term_progress_init(&p, null);
	ok(!term_progress_due(&p), "no progress without a terminal");
	term_progress_show(&p, "x");
	term_progress_clear(&p);
	ok(!p.shown, "and nothing shown");
	close(null);
	setenv("PAGER", "more", 1);
	is_str(term_pager_command("SONDE_PAGER"), "more", "PAGER");
	setenv("SONDE_PAGER", "most -x", 1);
	is_str(term_pager_command("SONDE_PAGER"), "most -x", "SONDE_PAGER first");
	setenv("SONDE_PAGER", "", 1);
	ok(!term_pager_command("SONDE_PAGER"), "empty: none");
	setenv("SONDE_PAGER", "cat", 1);
	ok(!term_pager_command("SONDE_PAGER"), "cat: none");
}

static void test_tty(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0 || grantpt(master) || unlockpt(master)) {
		skip("terminal", "no pseudo terminal");
		return;
	}
	int tty = open(ptsname(master), O_RDWR | O_NOCTTY);
	char got[128] = "";
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	setenv("COLUMNS", "12", 1);
	ok(term_is_tty(tty) && term_colour(TERM_AUTO, tty), "colour on a terminal");
	setenv("NO_COLOR", "1", 1);
	ok(!term_colour(TERM_AUTO, tty) && term_colour(TERM_ALWAYS, tty), "NO_COLOR");
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	ok(!term_colour(TERM_AUTO, tty), "a dumb terminal");
	setenv("TERM", "xterm", 1);
	struct term_progress p;
	term_progress_init(&p, tty);
	ok(term_progress_due(&p) && !term_progress_due(&p), "progress is due now and then");
	term_progress_show(&p, "0123456789abcdef");
	term_progress_clear(&p);
	ok(read(master, got, sizeof(got) - 1) > 0, "something came");
	ok(strstr(got, "\r0123456789a\033[K") == got, "cut to the width");
	close(tty);
	close(master);
}

static void test_pager(void)
{
	int fd = -1, status = -1;
	pid_t pid = -1;
	char path[] = "/tmp/sonde-pager-XXXXXX", command[128], got[64] = "";
	int file = mkstemp(path);
	snprintf(command, sizeof(command), "sh -c 'cat > %s; exit 3'", path);
	ok(!term_pager_open(command, &fd, &pid), "a pager");
	ok(write(fd, "hello\n", 6) == 6, "takes text");
	close(fd);
	ok(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3, "and ends");
	ok(read(file, got, sizeof(got) - 1) == 6 && !strcmp(got, "hello\n"), "it saw it all");
	close(file);
	unlink(path);
}

int main(void)
{
	test_fd();
	test_timer();
	test_signal();
	test_child();
	test_term();
	test_tty();
	test_pager();
	return done_testing();
}

/* line_edit: keys through a pipe, and the lines that come out. */
#include "tap.h"

#include "base/line_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void need(bool good, const char *what)
{
	if (!good) {
		ok(false, "%s", what);
		exit(1);
	}
}

static int complete(void *ctx, const char *line, size_t len, size_t start, struct strbuf *to)
{
	static const char *const words[] = { "task_struct", "task_group", "vfs_read" };
	for (size_t n = 0; n < ARRAY_SIZE(words); n++)
		if (!strncmp(words[n], line + start, len - start))
			strbuf_add(to, words[n], strlen(words[n]) + 1);
	return 0;
}

/* An editor whose input is these keys, and then ends. */
static void type(struct line_edit *e, const char *keys)
{
	int fds[2];
	need(!pipe(fds), "a pipe");
	ok(write(fds[1], keys, strlen(keys)) == (ssize_t)strlen(keys), "keys are typed");
	(void)close(fds[1]);
	line_edit_init(e, fds[0], open("/dev/null", O_WRONLY | O_CLOEXEC));
	e->complete = complete;
}

static void done(struct line_edit *e)
{
	(void)close(e->in);
	(void)close(e->out);
	line_edit_done(e);
}

static void expect(const char *keys, const char *want, const char *name)
{
	struct line_edit e;
	const char *line = "";
	type(&e, keys);
	int rc = line_edit_read(&e, "> ", &line);
	ok(rc == 1 && !strcmp(line, want), "%s: '%s'", name, rc == 1 ? line : "(none)");
	done(&e);
}

static void test_keys(void)
{
	expect("abc\r", "abc", "typed");
	expect("abc", "abc", "a last line without an end");
	expect("abc\x02\x02X\r", "aXbc", "^B");
	expect("abc\033[D\033[DX\033[CY\r", "aXbYc", "arrows");
	expect("abc\x01X\x05Y\r", "XabcY", "^A and ^E");
	expect("abc\033[HX\033[FY\033OHZ\r", "ZXabcY", "Home and End");
	expect("abc\x7f\r", "ab", "Backspace");
	expect("\x7f\033[3~\x02\x0b\x15\x17\033[A\033[B\tabc\r", "abc", "nothing to take away");
	expect("abc\x01\033[3~\r", "bc", "Delete");
	expect("abc\x01\x04\r", "bc", "^D on a line");
	expect("one two three\x17\r", "one two ", "^W");
	expect("one two \x17\x17three\r", "three", "^W past blanks");
	expect("abc\x02\x15\r", "c", "^U");
	expect("abc\x02\x0b\r", "ab", "^K");
	expect("a\xc3\xa4\xe2\x82\xac\x7f\x7f"
	       "b\r",
	       "ab", "characters of several bytes are taken away whole");
	expect("\xc3\xa4"
	       "b\033[D\033[DX\r",
	       "X\xc3\xa4"
	       "b",
	       "and passed whole");
	expect("a\033[200~b\033[1;5Cc\r", "abc", "keys that are not known");
}

static void test_ends(void)
{
	struct line_edit e;
	const char *line = "";
	int rc;
	type(&e, "dropped\x03kept\r\x04");
	ok(line_edit_read(&e, "> ", &line) == -EINTR, "^C drops the line");
	rc = line_edit_read(&e, "> ", &line);
	ok(rc == 1 && !strcmp(line, "kept"), "the next one is read");
	ok(line_edit_read(&e, "> ", &line) == 0, "^D on an empty line ends");
	done(&e);
	type(&e, "");
	ok(line_edit_read(&e, "> ", &line) == 0, "an input that ends");
	done(&e);
}

static void test_history(void)
{
	struct line_edit e;
	const char *line = "";
	int rc;
	type(&e, "new\033[A\033[A\033[A!\r"
		 "\x10\x10\x0e\x0e"
		 "end\r"
		 "typed\x10\x0e\r");
	ok(!line_edit_remember(&e, "first") && !line_edit_remember(&e, "second") &&
		   !line_edit_remember(&e, "second") && !line_edit_remember(&e, ""),
	   "lines are remembered");
	ok(e.history.nr == 2, "not twice, and no empty ones: %zu", e.history.nr);
	rc = line_edit_read(&e, "> ", &line);
	ok(rc == 1 && !strcmp(line, "first!"), "Up, past the start: '%s'", line);
	rc = line_edit_read(&e, "> ", &line);
	ok(rc == 1 && !strcmp(line, "end"), "up and down: '%s'", line);
	rc = line_edit_read(&e, "> ", &line);
	ok(rc == 1 && !strcmp(line, "typed"), "what was typed comes back: '%s'", line);
	for (int n = 0; n < LINE_EDIT_HISTORY + 5; n++) {
		char text[16];
		(void)snprintf(text, sizeof(text), "%d", n);
		need(!line_edit_remember(&e, text), "memory");
	}
	ok(e.history.nr == LINE_EDIT_HISTORY && !strcmp(e.history.at[0], "5"),
	   "the oldest go: '%s'", e.history.at[0]);
	done(&e);
}

static void test_completion(void)
{
	expect("p v\t\r", "p vfs_read ", "the only one, with a blank");
	expect("ta\ts\t\r", "task_struct ", "as far as they agree, then the only one");
	expect("ta\t\r", "task_", "as far as they agree");
	expect("ta\t\t\r", "task_", "listing them changes nothing");
	expect("x(v\t)\r", "x(vfs_read )", "a word begins after a bracket");
	expect("no\t\r", "no", "none");
}

static void test_long(void)
{
	struct line_edit e;
	const char *line = "";
	int fds[2], rc;
	static char keys[60000];
	memset(keys, 'x', sizeof(keys));
	keys[sizeof(keys) - 1] = '\r';
	need(!pipe(fds) && fcntl(fds[1], F_SETPIPE_SZ, sizeof(keys) + 4096) >= 0, "a pipe");
	ok(write(fds[1], keys, sizeof(keys)) == (ssize_t)sizeof(keys), "a long line is pasted");
	(void)close(fds[1]);
	line_edit_init(&e, fds[0], open("/dev/null", O_WRONLY | O_CLOEXEC));
	rc = line_edit_read(&e, "> ", &line);
	ok(rc == 1 && strlen(line) == sizeof(keys) - 1, "and read: %zu", strlen(line));
	done(&e);
}

int main(void)
{
	test_keys();
	test_ends();
	test_history();
	test_completion();
	test_long();
	return done_testing();
}

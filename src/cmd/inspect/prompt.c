/*
 * sonde inspect without arguments: a prompt. The kernel's memory, types and symbols are opened once; each command runs in a child that
 * inherits them, so that ^C ends the command and nothing else, and what it allocates goes with it.
 *
 *	COMMAND                 as after `sonde inspect`
 *	COMMAND | PROGRAM       both, and > FILE, >> FILE: what follows is the shell's, as it was typed
 *	set [TASK]              the task that bt, files, vm ... and $current refer to
 *	help [COMMAND], q, !PROGRAM
 */
#include "cmd/inspect/prompt.h"

#include "base/line_edit.h"
#include "base/printable.h"
#include "cmd/app/commands.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long ull;

enum { WORDS_MAX = 256, CANDIDATES_MAX = 1000 };

struct prompt {
	struct inspect i; /* of the kernel that stays open */
	const struct command *const *subs;
	bool is_script;
	bool failed; /* a command of a script did */
};

/* For commands that run in a child of the prompt: the open kernel. Set once, before the first fork. */
static const struct inspect *prompted;

const struct inspect *inspect_prompted(void)
{
	return prompted;
}

static const char *const own_words[] = { "exit", "help", "q", "quit", "set" };

/* ---- words ----------------------------------------------------------------------------------------------------------------- */

/*
 * Where the shell's part of a line begins: at a |, or a > that is not part of -> or >=, outside of quotes and brackets. An expression
 * that has them is written in parentheses. NULL: there is none.
 */
static char *find_shell_part(char *line)
{
	char quote = 0;
	int depth = 0;
	for (char *c = line; *c; c++) {
		if (quote) {
			quote = *c == quote ? 0 : quote;
		} else if (*c == '"' || *c == '\'') {
			quote = *c;
		} else if (*c == '(' || *c == '[') {
			depth++;
		} else if (*c == ')' || *c == ']') {
			depth -= depth > 0;
		} else if (!depth && *c == '|' && c > line) {
			return c;
		} else if (!depth && *c == '>' && c > line && c[-1] == ' ') {
			return c;
		}
	}
	return NULL;
}

/* In place. Quotes keep blanks together and are taken away. -EINVAL: a quote is open; -E2BIG. */
static int split_words(char *line, char **words)
{
	int nr = 0;
	char *from = line, *to = line;
	for (;;) {
		while (*from == ' ' || *from == '\t')
			from++;
		if (!*from)
			return nr;
		if (nr == WORDS_MAX)
			return -E2BIG;
		words[nr++] = to;
		char quote = 0;
		while (*from && (quote || (*from != ' ' && *from != '\t'))) {
			if (quote ? *from == quote : *from == '"' || *from == '\'')
				quote = quote ? 0 : *from;
			else
				*to++ = *from;
			from++;
		}
		if (quote)
			return -EINVAL;
		from += *from != '\0';
		*to++ = '\0';
	}
}

/* ---- commands in children -------------------------------------------------------------------------------------------------- */

/* In a child. A script's lines are not its input. */
static void as_before(const struct prompt *p)
{
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGQUIT, SIG_DFL);
	int fd = p->is_script ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0)
		(void)dup2(fd, STDIN_FILENO);
}

static _Noreturn void run_command(struct prompt *p, int argc, char **words)
{
	struct app app;
	char verb[] = "inspect";
	char *argv[WORDS_MAX + 2] = { verb };
	memcpy(argv + 1, words, (size_t)argc * sizeof(*words));
	prompted = &p->i;
	app_init(&app, p->i.app->dialect);
	int status = app_finish(&app, app_command(&app, &command_inspect, argc + 1, argv));
	_exit(status); /* what the parent has read of its script is the parent's */
}

static _Noreturn void run_shell(const char *text)
{
	(void)execl("/bin/sh", "sh", "-c", text, (char *)NULL);
	_exit(APP_CANNOT_RUN);
}

static int wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The shell's side of a pipe: "| grep x" is "grep x", "> file" is "cat > file". */
static pid_t start_shell(const struct prompt *p, const char *part, int pipe_fds[2])
{
	struct strbuf text;
	pid_t pid = fork();
	if (pid)
		return pid;
	as_before(p);
	strbuf_init(&text);
	strbuf_printf(&text, "%s%s", *part == '|' ? "" : "cat ", part + (*part == '|'));
	(void)dup2(pipe_fds[0], STDIN_FILENO);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	run_shell(strbuf_cstr(&text));
}

static int run_words(struct prompt *p, int argc, char **words, const char *shell_part)
{
	int fds[2] = { -1, -1 };
	pid_t shell = 0;
	if (shell_part && pipe2(fds, O_CLOEXEC))
		return -errno;
	if (shell_part)
		shell = start_shell(p, shell_part, fds);
	pid_t pid = fork();
	if (!pid) {
		as_before(p);
		if (shell_part && dup2(fds[1], STDOUT_FILENO) < 0)
			_exit(APP_FAILED);
		/* Nothing is executed here that would close them: whoever has the end to read never learns that nobody else does. */
		if (shell_part) {
			(void)close(fds[0]);
			(void)close(fds[1]);
		}
		run_command(p, argc, words);
	}
	int err = pid < 0 || shell < 0 ? -errno : 0;
	if (shell_part) {
		(void)close(fds[0]);
		(void)close(fds[1]);
	}
	int status = pid > 0 ? wait_for(pid) : APP_FAILED;
	if (shell > 0)
		(void)wait_for(shell);
	return err ? err : status;
}

/* A typed line may run a program, unless sonde has more privileges than the user. */
static bool may_run_shell(struct prompt *p)
{
	if (!getauxval(AT_SECURE))
		return true;
	(void)diag_error(
		&p->i.app->diag, -EPERM,
		"cannot run programs or write files from here: sonde has privileges that you "
		"do not have");
	return false;
}

/* ---- the prompt's own commands --------------------------------------------------------------------------------------------- */

static int show_context(struct inspect *i, const struct ktask *t)
{
	struct strbuf *to = &i->app->out;
	strbuf_printf(to, "    PID: %u\nCOMMAND: \"", t->pid);
	printable_name(to, t->comm);
	strbuf_printf(to, "\"\n   TASK: %016llx\n    CPU: %u\n  STATE: %s%s\n", (ull)t->addr,
		      t->cpu, ktask_state(t), t->on_cpu ? " (running)" : "");
	return 0;
}

static int set_context(struct inspect *i, const struct ktask *t)
{
	i->context = i->k.context = t->addr;
	return show_context(i, t);
}

/* The first of several. */
struct first_task {
	const char *word;
	struct ktask task;
	bool found;
};

static int find_first(void *ctx, const struct ktask *t)
{
	struct first_task *f = ctx;
	if (!ktask_matches(t, f->word))
		return 0;
	f->task = *t;
	f->found = true;
	return 1;
}

static int set(struct prompt *p, int argc, char **words)
{
	struct inspect *i = &p->i;
	struct walk_result r;
	if (argc > 2)
		return diag_error(&i->app->diag, -EINVAL, "one task at a time");
	int err = inspect_tasks(i);
	if (err || argc == 1)
		return err ? err : inspect_for_tasks(i, 0, NULL, show_context);
	struct first_task f = { .word = words[1] };
	err = ktasks_each(&i->tasks, find_first, &f, &r);
	if (!err && !f.found)
		err = diag_error(&i->app->diag, -ESRCH, "no such task: '%s'", words[1]);
	return err ? err : set_context(i, &f.task);
}

static void help(struct prompt *p)
{
	struct strbuf *to = &p->i.app->out;
	for (size_t n = 0; p->subs[n]; n++) {
		strbuf_str(to, "  ");
		strbuf_left(to, p->subs[n]->name, 10);
		strbuf_printf(to, " %s\n", p->subs[n]->summary);
	}
	strbuf_str(to, "  set        show or set the task that is used where none is named\n"
		       "  help       this list; help COMMAND: its options\n"
		       "  q          quit\n"
		       "Anything else is an expression. COMMAND | PROGRAM and COMMAND > FILE go "
		       "to the shell, !PROGRAM runs a program.\nAn expression with | or > goes in "
		       "parentheses.\n");
}

/* ---- a line ---------------------------------------------------------------------------------------------------------------- */

static bool is_word(const char *word, const char *a, const char *b)
{
	return !strcmp(word, a) || !strcmp(word, b);
}

static int run_typed(struct prompt *p, int argc, char **words, const char *shell_part)
{
	char option[] = "--help";
	if (!strcmp(words[0], "set") && !shell_part)
		return set(p, argc, words);
	if (is_word(words[0], "help", "?") && argc == 1 && !shell_part) {
		help(p);
		return 0;
	}
	if (is_word(words[0], "help", "?") && argc == 2) {
		words[0] = words[1];
		words[1] = option;
	}
	if (!strcmp(words[0], "-"))
		return diag_error(&p->i.app->diag, -EINVAL, "already at a prompt");
	return run_words(p, argc, words, shell_part);
}

/* false: quit. */
static bool run_line(struct prompt *p, const char *typed)
{
	struct app *app = p->i.app;
	char *words[WORDS_MAX];
	while (*typed == ' ' || *typed == '\t')
		typed++;
	if (!*typed || *typed == '#')
		return true;
	char *line = strdup(typed), *shell_part = NULL;
	int rc = line ? 0 : -ENOMEM, argc = 0;
	bool goes_on = true;
	if (!rc && *line == '!') {
		pid_t pid = may_run_shell(p) ? fork() : -1;
		if (!pid) {
			as_before(p);
			run_shell(line + 1);
		}
		rc = pid > 0 ? wait_for(pid) : -EPERM;
	} else if (!rc) {
		char *part = find_shell_part(line);
		shell_part = part ? strdup(part) : NULL;
		if (part)
			*part = '\0';
		argc = split_words(line, words);
		if (argc < 0)
			rc = diag_error(&app->diag, argc,
					argc == -EINVAL ? "a quote is not closed"
							: "too many words");
		else if (!argc)
			rc = diag_error(&app->diag, -EINVAL, "no command before the '%c'",
					*shell_part);
		else if (argc == 1 && (is_word(words[0], "q", "quit") || !strcmp(words[0], "exit")))
			goes_on = false;
		else
			rc = shell_part && !may_run_shell(p) ? -EPERM
							     : run_typed(p, argc, words, shell_part);
	}
	p->failed |= rc != 0;
	if (rc < 0)
		(void)app_fail(app, rc);
	app_say(app);
	(void)app_flush(app);
	free(shell_part);
	free(line);
	return goes_on;
}

/* ---- completion ------------------------------------------------------------------------------------------------------------ */

struct candidates {
	const char *word;
	size_t len;
	struct strbuf *to;
	u32 nr;
};

/* Names of a dump are whatever its author wrote: what a terminal or the shell would obey is not typed for anybody. */
static bool may_be_typed(const char *name, size_t len)
{
	for (size_t n = 0; n < len; n++)
		if (!isalnum((unsigned char)name[n]) && !strchr("_.$@", name[n]))
			return false;
	return true;
}

static void offer(struct candidates *c, const char *name, size_t len)
{
	if (len < c->len || memcmp(name, c->word, c->len) || c->nr >= CANDIDATES_MAX ||
	    !may_be_typed(name, len))
		return;
	c->nr++;
	strbuf_add(c->to, name, len);
	strbuf_char(c->to, '\0');
}

static void offer_commands(struct prompt *p, struct candidates *c)
{
	for (size_t n = 0; p->subs[n]; n++)
		offer(c, p->subs[n]->name, strlen(p->subs[n]->name));
	for (size_t n = 0; n < ARRAY_SIZE(own_words); n++)
		offer(c, own_words[n], strlen(own_words[n]));
}

static void offer_types(struct prompt *p, u32 kinds, struct candidates *c)
{
	struct btf *b;
	struct btf_desc d;
	if (kspace_types(&p->i.k, &b))
		return;
	for (u32 id = 1; id <= b->nr; id++)
		if (btf_describe(b, id, &d) && kinds & BTF_BIT(d.kind) && *d.name)
			offer(c, d.name, strlen(d.name));
}

static void offer_symbols(struct prompt *p, struct candidates *c)
{
	struct ksym sym;
	const struct ksyms *s = kspace_try_syms(&p->i.k);
	for (u32 n = 0; s && ksyms_row(s, n, &sym); n++)
		offer(c, sym.name, sym.name_len);
}

static void offer_members(struct prompt *p, const char *type, size_t len, struct candidates *c)
{
	char name[128];
	struct ktype t;
	struct btf_desc d;
	struct btf_part part;
	if (len >= sizeof(name))
		return;
	memcpy(name, type, len);
	name[len] = '\0';
	if (!kspace_find_type(&p->i.k, name, BTF_BIT(BTF_OF_STRUCT) | BTF_BIT(BTF_OF_UNION), &t) ||
	    !btf_describe(t.b, t.id, &d))
		return;
	for (u32 n = 0; btf_part(t.b, &d, n, &part); n++)
		offer(c, part.name, strlen(part.name));
}

/* The word before `end`, past blanks; *len 0: none. */
static const char *word_before(const char *line, size_t end, size_t *len)
{
	while (end && line[end - 1] == ' ')
		end--;
	size_t start = end;
	while (start && line[start - 1] != ' ' && line[start - 1] != '(')
		start--;
	*len = end - start;
	return line + start;
}

static bool same(const char *word, size_t len, const char *name)
{
	return len == strlen(name) && !memcmp(word, name, len);
}

static int complete(void *ctx, const char *line, size_t len, size_t start, struct strbuf *to)
{
	enum { TYPES = BTF_BIT(BTF_OF_STRUCT) | BTF_BIT(BTF_OF_UNION) };
	struct prompt *p = ctx;
	struct diag quiet, *diag = p->i.k.diag;
	struct candidates c = { .word = line + start, .len = len - start, .to = to };
	size_t before_len;
	const char *before = word_before(line, start, &before_len);
	bool tag = same(before, before_len, "struct") || same(before, before_len, "union") ||
		   same(before, before_len, "whatis") || same(before, before_len, "*");
	diag_init(&quiet);
	p->i.k.diag = &quiet;
	if (start && line[start - 1] == '.')
		offer_members(p, before, before_len - 1, &c);
	else if (!before_len || same(before, before_len, "help"))
		offer_commands(p, &c);
	else if (tag)
		offer_types(p, TYPES, &c);
	/* Not for an empty word, which has thousands of candidates, nor where a command matches. */
	if (c.len && !c.nr && !tag && !(start && line[start - 1] == '.'))
		offer_symbols(p, &c);
	if (same(before, before_len, "whatis") && c.len)
		offer_symbols(p, &c);
	p->i.k.diag = diag;
	diag_done(&quiet);
	return 0;
}

/* ---- the loop -------------------------------------------------------------------------------------------------------------- */

static int read_script(struct prompt *p)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	bool goes_on = true;
	while (goes_on && (len = getline(&line, &room, stdin)) >= 0) {
		if (len && line[len - 1] == '\n')
			line[len - 1] = '\0';
		goes_on = run_line(p, line);
	}
	int err = ferror(stdin) ? -EIO : 0;
	free(line);
	return err;
}

static int read_terminal(struct prompt *p)
{
	struct line_edit e;
	const char *line;
	int rc;
	line_edit_init(&e, STDIN_FILENO, STDOUT_FILENO);
	e.complete = complete;
	e.ctx = p;
	while ((rc = line_edit_read(&e, "sonde> ", &line)) == 1 || rc == -EINTR) {
		if (rc == -EINTR)
			continue;
		rc = line_edit_remember(&e, line);
		if (rc || !run_line(p, line))
			break;
	}
	line_edit_done(&e);
	return rc < 0 ? rc : 0;
}

/* Once, for all commands: children inherit it. */
static int open_kernel(struct inspect *i)
{
	struct memory *m;
	struct btf *b;
	int err = kspace_memory(&i->k, &m);
	if (!err)
		err = kspace_types(&i->k, &b);
	if (!err)
		err = btf_index(b);
	if (!err)
		(void)kspace_try_syms(&i->k);
	/* The default task is this process, not the child that runs the command. */
	if (!err)
		err = kspace_current(&i->k, &i->k.context);
	return err;
}

int inspect_prompt(struct app *app, const struct inspect_opts *o, bool script,
		   const struct command *const *subs)
{
	struct prompt p = { .subs = subs, .is_script = script };
	inspect_begin(&p.i, app, o);
	app_live(app);
	int err = open_kernel(&p.i);
	if (!err) {
		void (*on_int)(int) = signal(SIGINT, SIG_IGN);
		void (*on_quit)(int) = signal(SIGQUIT, SIG_IGN);
		err = script ? read_script(&p) : read_terminal(&p);
		(void)signal(SIGINT, on_int);
		(void)signal(SIGQUIT, on_quit);
	}
	inspect_end(&p.i);
	return err ? app_fail(app, err) : script && p.failed ? APP_FAILED : APP_DONE;
}

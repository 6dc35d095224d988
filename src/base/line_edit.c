#include "base/line_edit.h"

#include "base/str.h"
#include "base/term.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CONTROL(c) ((c)&0x1f)
enum { KEY_ESCAPE = 27, KEY_DELETE = 127, LISTED_MAX = 200 };

enum key_end { KEY_MORE, KEY_LINE, KEY_END, KEY_DROPPED };

void line_edit_init(struct line_edit *e, int in, int out)
{
	*e = (struct line_edit){ .in = in, .out = out };
	strbuf_init(&e->line);
	strbuf_init(&e->kept);
}

void line_edit_done(struct line_edit *e)
{
	vec_for_each (&e->history, line)
		free(*line);
	vec_free(&e->history);
	strbuf_done(&e->line);
	strbuf_done(&e->kept);
}

int line_edit_remember(struct line_edit *e, const char *line)
{
	if (!*line || (e->history.nr && !strcmp(e->history.at[e->history.nr - 1], line)))
		return 0;
	char *copy = strdup(line);
	if (!copy)
		return -ENOMEM;
	if (e->history.nr == LINE_EDIT_HISTORY) {
		free(e->history.at[0]);
		memmove(e->history.at, e->history.at + 1, --e->history.nr * sizeof(char *));
	}
	char **slot = vec_push(&e->history);
	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	*slot = copy;
	return 0;
}

/* ---- the terminal ---------------------------------------------------------------------------------------------------------- */

static void set_raw(struct line_edit *e)
{
	if (tcgetattr(e->in, &e->before))
		return;
	struct termios raw = e->before;
	raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON | INLCR);
	raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG | IEXTEN);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	e->is_raw = !tcsetattr(e->in, TCSADRAIN, &raw);
}

static void set_back(struct line_edit *e)
{
	if (e->is_raw)
		(void)tcsetattr(e->in, TCSADRAIN, &e->before);
	e->is_raw = false;
}

static void write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static bool continues(char c)
{
	return ((u8)c & 0xc0) == 0x80;
}

/* The part of the line around the cursor that fits beside the prompt. */
static void redraw(struct line_edit *e, const char *prompt)
{
	struct strbuf s;
	size_t before = strlen(prompt), width = term_width(e->out), left = 0, nr;
	size_t room = width > before + 2 ? width - before - 1 : 1;
	size_t start = e->cursor, end = e->cursor;
	/* From the cursor to both sides, so that a long line costs no more than what is seen of it. */
	for (; start && left + 1 < room; left++)
		for (start--; start && continues(e->line.data[start]);)
			start--;
	for (nr = left; end < e->line.len; end++)
		if (!continues(e->line.data[end]) && nr++ == room)
			break;
	strbuf_init(&s);
	strbuf_printf(&s, "\r%s", prompt);
	strbuf_add(&s, e->line.data + start, end - start);
	strbuf_str(&s, "\033[K\r");
	size_t right = before + left;
	if (right)
		strbuf_printf(&s, "\033[%zuC", right);
	if (e->is_raw)
		write_all(e->out, s.data, s.len);
	strbuf_done(&s);
}

/* 1, 0: the end, negative errno. */
static int next_byte(struct line_edit *e, char *ret)
{
	if (e->next_waiting == e->nr_waiting) {
		ssize_t n;
		do
			n = read(e->in, e->waiting, sizeof(e->waiting));
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return n ? -errno : 0;
		e->nr_waiting = (size_t)n;
		e->next_waiting = 0;
	}
	*ret = e->waiting[e->next_waiting++];
	return 1;
}

/* ---- editing --------------------------------------------------------------------------------------------------------------- */

static void replace(struct line_edit *e, size_t from, size_t to, const char *text, size_t len)
{
	struct strbuf s;
	if (e->line.len - (to - from) + len > LINE_EDIT_MAX)
		return;
	strbuf_init(&s);
	strbuf_add(&s, e->line.data, from);
	strbuf_add(&s, text, len);
	strbuf_add(&s, e->line.data + to, e->line.len - to);
	(void)strbuf_cstr(&s); /* never without bytes */
	strbuf_done(&e->line);
	e->line = s;
	e->cursor = from + len;
}

static size_t left_of(const struct line_edit *e, size_t at)
{
	if (at)
		at--;
	while (at && continues(e->line.data[at]))
		at--;
	return at;
}

static size_t right_of(const struct line_edit *e, size_t at)
{
	if (at < e->line.len)
		at++;
	while (at < e->line.len && continues(e->line.data[at]))
		at++;
	return at;
}

static void set_line(struct line_edit *e, const char *text)
{
	strbuf_reset(&e->line);
	strbuf_str(&e->line, text);
	e->cursor = e->line.len;
}

static void go_back(struct line_edit *e)
{
	if (!e->at)
		return;
	if (e->at == e->history.nr) {
		strbuf_reset(&e->kept);
		strbuf_add(&e->kept, e->line.data, e->line.len);
	}
	set_line(e, e->history.at[--e->at]);
}

static void go_forward(struct line_edit *e)
{
	if (e->at >= e->history.nr)
		return;
	e->at++;
	set_line(e, e->at == e->history.nr ? strbuf_cstr(&e->kept) : e->history.at[e->at]);
}

static void drop_word(struct line_edit *e)
{
	size_t from = e->cursor;
	while (from && e->line.data[from - 1] == ' ')
		from--;
	while (from && e->line.data[from - 1] != ' ')
		from--;
	replace(e, from, e->cursor, "", 0);
}

/* ---- completion ------------------------------------------------------------------------------------------------------------ */

static size_t word_start(const struct line_edit *e)
{
	size_t at = e->cursor;
	while (at && !strchr(" \t()[]{}<>=!+-*/&|^~?:,.;'\"", e->line.data[at - 1]))
		at--;
	return at;
}

static void list_candidates(struct line_edit *e, const struct strbuf *c)
{
	enum { GAP = 2 };
	struct strbuf s;
	size_t widest = 0, nr = 0, width = term_width(e->out);
	for (size_t at = 0; at < c->len; at += strlen(c->data + at) + 1)
		widest = max(widest, strlen(c->data + at));
	size_t in_row = max(width / (widest + GAP), (size_t)1);
	strbuf_init(&s);
	strbuf_str(&s, "\r\n");
	for (size_t at = 0; at < c->len && nr < LISTED_MAX; at += strlen(c->data + at) + 1, nr++) {
		strbuf_left(&s, c->data + at, (unsigned)(widest + GAP));
		if ((nr + 1) % in_row == 0)
			strbuf_str(&s, "\r\n");
	}
	if (nr % in_row)
		strbuf_str(&s, "\r\n");
	if (nr == LISTED_MAX)
		strbuf_str(&s, "...\r\n");
	if (e->is_raw)
		write_all(e->out, s.data, s.len);
	strbuf_done(&s);
}

static void complete(struct line_edit *e)
{
	struct strbuf c;
	size_t start = word_start(e), nr = 0, common = 0;
	if (!e->complete)
		return;
	strbuf_init(&c);
	if (e->complete(e->ctx, e->line.data, e->cursor, start, &c) || !c.len) {
		strbuf_done(&c);
		return;
	}
	common = strlen(c.data);
	for (size_t at = 0; at < c.len; at += strlen(c.data + at) + 1, nr++)
		for (size_t n = 0; n < common; n++)
			if (c.data[at + n] != c.data[n])
				common = n;
	if (common > e->cursor - start)
		replace(e, start, e->cursor, c.data, common);
	else if (nr > 1 && e->tabbed)
		list_candidates(e, &c);
	if (nr == 1 && e->cursor == e->line.len)
		replace(e, e->cursor, e->cursor, " ", 1);
	strbuf_done(&c);
}

/* ---- keys ------------------------------------------------------------------------------------------------------------------ */

/* After ESC: "[A", "OA", "[1~" ... What is not known is dropped as a whole. */
static int escape_key(struct line_edit *e)
{
	char c = 0, number = 0;
	int rc = next_byte(e, &c);
	if (rc <= 0 || (c != '[' && c != 'O'))
		return rc;
	do {
		rc = next_byte(e, &c);
		if (rc > 0 && c >= '0' && c <= '9' && !number)
			number = c;
	} while (rc > 0 && ((c >= '0' && c <= '9') || c == ';'));
	if (rc <= 0)
		return rc;
	switch (c == '~' ? number : c) {
	case 'A': go_back(e); break;
	case 'B': go_forward(e); break;
	case 'C': e->cursor = right_of(e, e->cursor); break;
	case 'D': e->cursor = left_of(e, e->cursor); break;
	case 'H':
	case '1':
	case '7': e->cursor = 0; break;
	case 'F':
	case '4':
	case '8': e->cursor = e->line.len; break;
	case '3': replace(e, e->cursor, right_of(e, e->cursor), "", 0); break;
	default: break;
	}
	return 1;
}

static enum key_end press(struct line_edit *e, char c)
{
	size_t at = e->cursor;
	switch ((u8)c) {
	case '\r':
	case '\n': return KEY_LINE;
	case CONTROL('C'): return KEY_DROPPED;
	case CONTROL('D'):
		if (!e->line.len)
			return KEY_END;
		replace(e, at, right_of(e, at), "", 0);
		e->cursor = at;
		break;
	case KEY_DELETE:
	case CONTROL('H'): replace(e, left_of(e, at), at, "", 0); break;
	case CONTROL('A'): e->cursor = 0; break;
	case CONTROL('E'): e->cursor = e->line.len; break;
	case CONTROL('B'): e->cursor = left_of(e, at); break;
	case CONTROL('F'): e->cursor = right_of(e, at); break;
	case CONTROL('P'): go_back(e); break;
	case CONTROL('N'): go_forward(e); break;
	case CONTROL('U'): replace(e, 0, at, "", 0); break;
	case CONTROL('K'): replace(e, at, e->line.len, "", 0); break;
	case CONTROL('W'): drop_word(e); break;
	case CONTROL('L'):
		if (e->is_raw)
			write_all(e->out, "\033[H\033[2J", strlen("\033[H\033[2J"));
		break;
	case '\t': complete(e); break;
	default:
		if ((u8)c >= ' ')
			replace(e, at, at, &c, 1);
	}
	return KEY_MORE;
}

static int read_keys(struct line_edit *e, const char *prompt, enum key_end *ret)
{
	char c = 0;
	*ret = KEY_MORE;
	while (*ret == KEY_MORE) {
		int rc = next_byte(e, &c);
		if (rc > 0 && c == KEY_ESCAPE)
			rc = escape_key(e);
		else if (rc > 0)
			*ret = press(e, c);
		/* A last line without an end is a line. */
		if (rc <= 0) {
			*ret = !rc && e->line.len ? KEY_LINE : KEY_END;
			return rc;
		}
		e->tabbed = c == '\t';
		/* A pasted text is drawn once. */
		if (e->next_waiting == e->nr_waiting)
			redraw(e, prompt);
	}
	return 0;
}

int line_edit_read(struct line_edit *e, const char *prompt, const char **ret)
{
	enum key_end end;
	strbuf_reset(&e->line);
	strbuf_reset(&e->kept);
	(void)strbuf_cstr(&e->line);
	e->cursor = 0;
	e->at = e->history.nr;
	e->tabbed = false;
	set_raw(e);
	redraw(e, prompt);
	int rc = read_keys(e, prompt, &end);
	if (e->is_raw)
		write_all(e->out, end == KEY_DROPPED ? "^C\r\n" : "\r\n",
			  end == KEY_DROPPED ? 4 : 2);
	set_back(e);
	if (rc < 0)
		return rc;
	if (end == KEY_DROPPED)
		return -EINTR;
	*ret = strbuf_cstr(&e->line);
	return end == KEY_LINE;
}

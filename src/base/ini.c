#include "base/ini.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void ini_init(struct ini *c)
{
	*c = (struct ini){ 0 };
	arena_init(&c->arena);
}

void ini_done(struct ini *c)
{
	vec_free(&c->list);
	arena_done(&c->arena);
}

const char *ini_get(const struct ini *c, const char *key)
{
	vec_for_each (&c->list, s)
		if (!strcmp(s->key, key))
			return s->value;
	return NULL;
}

static int put(struct ini *c, const char *key, const char *value)
{
	value = arena_strdup(&c->arena, value);
	if (!value)
		return -ENOMEM;
	vec_for_each (&c->list, s)
		if (!strcmp(s->key, key)) {
			s->value = value;
			return 0;
		}
	key = arena_strdup(&c->arena, key);
	struct ini_setting *s = key ? vec_push(&c->list) : NULL;
	if (!s)
		return -ENOMEM;
	*s = (struct ini_setting){ key, value };
	return 0;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* [section] or [section "part"], as "section" or "section.part"; false: not one. */
static bool parse_section(const char *line, size_t len, char to[INI_KEY_MAX])
{
	const char *close = memrchr(line, ']', len);
	if (!len || *line != '[' || !close)
		return false;
	size_t n = 0;
	bool quoted = false;
	for (const char *p = line + 1; p < close; p++) {
		if (n + 2 >= INI_KEY_MAX)
			return false;
		if (*p == '"')
			quoted = !quoted;
		else if (isspace((unsigned char)*p) && !quoted)
			to[n] = n && to[n - 1] != '.' ? '.' : to[n], n += n && to[n] == '.';
		else
			to[n++] = quoted ? *p : (char)tolower((unsigned char)*p);
	}
	while (n && to[n - 1] == '.')
		n--;
	to[n] = '\0';
	return n && !quoted;
}

/* "name", up to '=' or blank; the rest of the line in *rest. */
static bool parse_name(const char *line, size_t len, char to[INI_KEY_MAX], const char **rest)
{
	size_t n = 0;
	while (n < len && (isalnum((unsigned char)line[n]) || strchr("-_.", line[n])) && line[n])
		n++;
	if (!n || n >= INI_KEY_MAX)
		return false;
	memcpy(to, line, n);
	to[n] = '\0';
	while (n < len && (line[n] == ' ' || line[n] == '\t'))
		n++;
	*rest = line + n;
	return n == len || line[n] == '=' || line[n] == '#' || line[n] == ';';
}

/* Quotes go, a comment outside of them ends it, blanks at the end go. false: a quote stays open. */
static bool parse_value(const char *p, const char *end, struct strbuf *to)
{
	bool quoted = false;
	size_t solid = 0; /* length without blanks at the end */
	for (; p < end && (quoted || (*p != '#' && *p != ';')); p++) {
		if (*p == '"') {
			quoted = !quoted;
			solid = to->len;
			continue;
		}
		char c = *p;
		if (c == '\\' && p + 1 < end) {
			c = *++p;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		strbuf_char(to, c);
		if (quoted || !isspace((unsigned char)c))
			solid = to->len;
	}
	to->len = min(to->len, solid);
	return !quoted;
}

static void trim(const char **line, size_t *len)
{
	while (*len && isspace((unsigned char)**line))
		++*line, --*len;
	while (*len && isspace((unsigned char)(*line)[*len - 1]))
		--*len;
}

static int parse_line(struct ini *c, const char *line, size_t len, char section[INI_KEY_MAX])
{
	char name[INI_KEY_MAX], key[2 * INI_KEY_MAX];
	const char *rest;
	trim(&line, &len);
	if (!len || *line == '#' || *line == ';')
		return 0;
	if (*line == '[')
		return parse_section(line, len, section) ? 0 : -EINVAL;
	if (!*section || !parse_name(line, len, name, &rest))
		return -EINVAL;
	(void)snprintf(key, sizeof(key), "%s.%s", section, name);
	if (rest == line + len || *rest != '=') /* a name alone switches on */
		return put(c, key, "true");
	struct strbuf value;
	strbuf_init(&value);
	for (rest++; rest < line + len && (*rest == ' ' || *rest == '\t');)
		rest++;
	bool good = parse_value(rest, line + len, &value);
	int err = good ? put(c, key, strbuf_cstr(&value)) : -EINVAL;
	strbuf_done(&value);
	return err;
}

int ini_parse(struct ini *c, const char *text, const char *path, struct diag *d)
{
	char section[INI_KEY_MAX] = "";
	for (unsigned nr = 1; *text; nr++) {
		size_t len = strcspn(text, "\n");
		int err = parse_line(c, text, len, section);
		if (err == -ENOMEM)
			return err;
		if (err)
			diag_warn(d, "bad config file line %u in %s", nr, path);
		text += len + (text[len] == '\n');
	}
	return 0;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static bool is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '-' && s[i] != '_')
			return false;
	return len > 0;
}

bool ini_key(char *key)
{
	char *first = strchr(key, '.'), *last = strrchr(key, '.');
	if (!first || strlen(key) >= INI_KEY_MAX || !is_name(key, (size_t)(first - key)) ||
	    !is_name(last + 1, strlen(last + 1)))
		return false;
	for (char *p = key; p < first; p++)
		*p = (char)tolower((unsigned char)*p);
	for (char *p = first + 1; p < last;
	     p++) /* the part: any text in quotes, but no empty piece */
		if (iscntrl((unsigned char)*p) || strchr(" []\"#;", *p) ||
		    (*p == '.' && (p[-1] == '.' || p[1] == '.')))
			return false;
	return first == last || last > first + 1;
}

static void add_setting(struct strbuf *to, const char *name, const char *value)
{
	bool quote = strpbrk(value, "#;\"\\\n") || isspace((unsigned char)*value) ||
		     (*value && isspace((unsigned char)value[strlen(value) - 1]));
	strbuf_printf(to, "\t%s = %s", name, quote ? "\"" : "");
	for (; *value; value++)
		if (*value == '\n')
			strbuf_str(to, "\\n");
		else
			strbuf_printf(to, "%s%c", strchr("\"\\", *value) ? "\\" : "", *value);
	strbuf_str(to, quote ? "\"\n" : "\n");
}

void ini_edit(const char *text, const char *key, const char *value, struct strbuf *to)
{
	char section[INI_KEY_MAX] = "", found[INI_KEY_MAX], want[INI_KEY_MAX];
	const char *dot = strrchr(key, '.'), *rest;
	size_t insert = 0; /* after the section's last setting; 0: the section is not there */
	bool done = false;
	(void)snprintf(want, sizeof(want), "%.*s", (int)(dot - key), key);
	while (*text) {
		size_t len = strcspn(text, "\n"), bare = len;
		const char *line = text;
		trim(&line, &bare);
		bool here = !strcmp(section, want);
		if (bare && *line == '[') {
			here = parse_section(line, bare, section) && !strcmp(section, want);
		} else if (here && parse_name(line, bare, found, &rest) && !strcmp(found, dot + 1)) {
			if (!done)
				add_setting(to, dot + 1, value);
			done = true;
			text += len + (text[len] == '\n');
			continue;
		}
		strbuf_add(to, text, len);
		strbuf_char(to, '\n');
		if (here && bare)
			insert = to->len;
		text += len + (text[len] == '\n');
	}
	if (done)
		return;
	struct strbuf line;
	strbuf_init(&line);
	if (!insert) {
		/* A part of a section goes by its quotes. */
		const char *part = strchr(want, '.');
		if (part)
			strbuf_printf(&line, "[%.*s \"%s\"]\n", (int)(part - want), want, part + 1);
		else
			strbuf_printf(&line, "[%s]\n", want);
		insert = to->len;
	}
	add_setting(&line, dot + 1, value);
	char *room = strbuf_room(to, line.len);
	if (room) {
		memmove(to->data + insert + line.len, to->data + insert, to->len - insert);
		memcpy(to->data + insert, line.data, line.len);
		strbuf_commit(to, line.len);
	}
	strbuf_done(&line);
}

#include "session/who_settings.h"

#include "base/clock.h"
#include "base/ini.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, FILE_MAX = 1 << 20 };

/* The folder that holds ours, then ours: "/home/ada/.config", "/home/ada/.config/sonde". */
static int folders(char *config, char *own)
{
	if (getauxval(AT_SECURE))
		return -EPERM;
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int err = xdg && *xdg == '/'	 ? str_path(config, PATH_ROOM, "%s", xdg)
		  : home && *home == '/' ? str_path(config, PATH_ROOM, "%s/.config", home)
					 : -ENOENT;
	return err ? err : str_path(own, PATH_ROOM, "%s/sonde", config);
}

/* Text of a regular file of ours that nobody else can write to; "" where there is none. */
static int read_own(const char *path, struct strbuf *to)
{
	struct stat st;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : errno == ELOOP ? -EPERM : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return -EPERM;
	if (st.st_size > FILE_MAX)
		return -EFBIG;
	char *room = strbuf_room(to, (size_t)st.st_size + 1);
	ssize_t n = room ? read(fd, room, (size_t)st.st_size) : -1;
	if (n < 0)
		return room ? -errno : -ENOMEM;
	strbuf_commit(to, (size_t)n);
	return 0;
}

static const struct {
	const char *key;
	size_t offset; /* of a bool in struct who_opts */
} switches[] = {
	{ "who.threads", offsetof(struct who_opts, threads) },
	{ "who.tree", offsetof(struct who_opts, tree) },
	{ "who.command-lines", offsetof(struct who_opts, command_lines) },
	{ "who.no-idle", offsetof(struct who_opts, no_idle) },
	{ "who.reverse", offsetof(struct who_opts, reversed) },
};

static const char *const units[] = {
	[MEMORY_KIB] = "KiB", [MEMORY_MIB] = "MiB", [MEMORY_GIB] = "GiB", [MEMORY_TIB] = "TiB", [MEMORY_PIB] = "PiB"
};

static u8 unit_of(const char *name)
{
	for (u8 i = MEMORY_KIB; i < (u8)ARRAY_SIZE(units); i++)
		if (!strcmp(units[i], name))
			return i;
	return MEMORY_AS_IS;
}

static void apply(const struct who_settings *s, const struct ini *c, struct diag *d)
{
	const char *v;
	u64 ns;
	if ((v = ini_get(c, "who.columns")) && who_opts_columns(s->who, v, NULL))
		diag_warn(d, "ignoring the setting who.columns = %s: unknown column", v);
	if ((v = ini_get(c, "who.sort")) && who_column_find(v, strlen(v), &s->who->sort))
		diag_warn(d, "ignoring the setting who.sort = %s: unknown column", v);
	if ((v = ini_get(c, "who.delay"))) {
		if (!clock_parse(v, &ns) && ns)
			*s->delay_ns = ns;
		else
			diag_warn(d, "ignoring the setting who.delay = %s: invalid time", v);
	}
	if ((v = ini_get(c, "who.memory")))
		s->who->memory = unit_of(v);
	if ((v = ini_get(c, "who.memory-total")))
		*s->memory = unit_of(v);
	if ((v = ini_get(c, "who.per-cpu")))
		*s->per_cpu = !strcmp(v, "true");
	for (unsigned i = 0; i < ARRAY_SIZE(switches); i++)
		if ((v = ini_get(c, switches[i].key)))
			*(bool *)((char *)s->who + switches[i].offset) = !strcmp(v, "true");
}

int who_settings_load(const struct who_settings *s, struct diag *d)
{
	char config[PATH_ROOM], own[PATH_ROOM], path[PATH_ROOM];
	struct strbuf text;
	struct ini c;
	if (folders(config, own) || str_path(path, sizeof(path), "%s/config", own))
		return 0;
	strbuf_init(&text);
	ini_init(&c);
	int err = read_own(path, &text);
	if (!err && text.len)
		err = ini_parse(&c, strbuf_cstr(&text), path, d);
	if (!err)
		apply(s, &c, d);
	else if (err == -EPERM)
		diag_note(d, "ignoring %s: it belongs to another user, or others may write to it",
			  path);
	ini_done(&c);
	strbuf_done(&text);
	return err == -ENOMEM ? err : 0;
}

static int set(struct strbuf *text, const char *key, const char *value)
{
	struct strbuf made;
	strbuf_init(&made);
	ini_edit(strbuf_cstr(text), key, value, &made);
	int err = made.err;
	strbuf_reset(text);
	strbuf_add(text, made.data, made.len);
	strbuf_done(&made);
	return err ? err : text->err;
}

static int set_all(const struct who_settings *s, struct strbuf *text)
{
	struct strbuf value;
	strbuf_init(&value);
	vec_for_each (&s->who->columns.list, c)
		strbuf_printf(&value, "%s%s", value.len ? "," : "", who_columns[*c].name);
	int err = set(text, "who.columns", strbuf_cstr(&value));
	if (!err && s->who->sort != WHO_NO_COLUMN)
		err = set(text, "who.sort", who_columns[s->who->sort].name);
	strbuf_reset(&value);
	strbuf_printf(&value, "%llums", (unsigned long long)(*s->delay_ns / 1000000));
	if (!err)
		err = set(text, "who.delay", strbuf_cstr(&value));
	if (!err)
		err = set(text, "who.per-cpu", *s->per_cpu ? "true" : "false");
	if (!err && s->who->memory)
		err = set(text, "who.memory", units[s->who->memory]);
	if (!err && *s->memory)
		err = set(text, "who.memory-total", units[*s->memory]);
	for (unsigned i = 0; i < ARRAY_SIZE(switches) && !err; i++)
		err = set(text, switches[i].key,
			  *(bool *)((char *)s->who + switches[i].offset) ? "true" : "false");
	strbuf_done(&value);
	return err;
}

/* The folder, if it is ours or can be made: 0, -EPERM or negative errno. */
static int own_folder(const char *path)
{
	struct stat st;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

/* Whole or not at all: a new file takes the old one's place. */
static int replace(const char *path, const char *data, size_t len)
{
	char fresh[PATH_ROOM];
	int err = str_path(fresh, sizeof(fresh), "%s.XXXXXX", path);
	if (err)
		return err;
	int fd = mkostemp(fresh, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = strbuf_drain_fd(&fd, data, len);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(fresh, path))
		err = -errno;
	if (err)
		(void)unlink(fresh);
	return err;
}

int who_settings_save(const struct who_settings *s, char *path, size_t size)
{
	char config[PATH_ROOM], own[PATH_ROOM];
	struct strbuf text;
	int err = folders(config, own);
	if (!err)
		err = str_path(path, size, "%s/config", own);
	if (!err)
		err = own_folder(config);
	if (!err)
		err = own_folder(own);
	if (err)
		return err;
	strbuf_init(&text);
	err = read_own(path, &text);
	if (!err)
		err = set_all(s, &text);
	if (!err)
		err = replace(path, text.data, text.len);
	strbuf_done(&text);
	return err;
}

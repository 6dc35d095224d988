#include "kern/user_names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>

void user_names_init(struct user_names *u, const struct sysroot *root)
{
	*u = (struct user_names){ .root = root };
	strtab_init(&u->names);
	dict_init(&u->users);
	dict_init(&u->groups);
}

void user_names_done(struct user_names *u)
{
	strtab_done(&u->names);
	dict_done(&u->users);
	dict_done(&u->groups);
}

/* "NAME:x:NUMBER:...", in etc/passwd and etc/group alike: the name with this number, or the number with this name. */
static bool find_entry(const struct user_names *u, const char *file, const char *name, u32 *id,
		       struct strbuf *to)
{
	struct strbuf text;
	bool found = false;
	strbuf_init(&text);
	char *save, *rest = sysroot_read(u->root, file, &text) ? NULL : (char *)strbuf_cstr(&text);
	for (char *line = rest ? strtok_r(rest, "\n", &save) : NULL; line && !found;
	     line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':');
		char *second = colon ? strchr(colon + 1, ':') : NULL;
		char *third = second ? strchr(second + 1, ':') : NULL;
		u64 number;
		if (!third)
			continue;
		*colon = *third = '\0';
		if (num_parse_u64(second + 1, 10, &number) || number > UINT32_MAX)
			continue;
		found = name ? !strcmp(line, name) : number == *id;
		if (found && name)
			*id = (u32)number;
		else if (found)
			strbuf_str(to, line);
	}
	strbuf_done(&text);
	return found;
}

static const char *system_name(bool group, u32 id)
{
	if (group) {
		const struct group *g = getgrgid(id);
		return g ? g->gr_name : NULL;
	}
	const struct passwd *p = getpwuid(id);
	return p ? p->pw_name : NULL;
}

static const char *name_of(struct user_names *u, struct dict *known, bool group, u32 id)
{
	u32 at = dict_get(known, id);
	if (at != DICT_NONE)
		return strtab_str(&u->names, at);
	struct strbuf text;
	strbuf_init(&text);
	if (u->root) {
		(void)find_entry(u, group ? "etc/group" : "etc/passwd", NULL, &id, &text);
	} else {
		const char *name = system_name(group, id);
		if (name)
			strbuf_str(&text, name);
	}
	if (!text.len)
		strbuf_u64(&text, id);
	s64 place = strtab_add(&u->names, strbuf_cstr(&text), strlen(strbuf_cstr(&text)));
	strbuf_done(&text);
	if (place < 0 || dict_put(known, id, (u32)place))
		return "?";
	return strtab_str(&u->names, (u32)place);
}

const char *user_name(struct user_names *u, u32 uid)
{
	return name_of(u, &u->users, false, uid);
}

const char *group_name(struct user_names *u, u32 gid)
{
	return name_of(u, &u->groups, true, gid);
}

int user_by_name(struct user_names *u, const char *name, u32 *ret)
{
	u64 number;
	if (u->root) {
		if (find_entry(u, "etc/passwd", name, ret, NULL))
			return 0;
	} else {
		const struct passwd *p = getpwnam(name);
		if (p) {
			*ret = p->pw_uid;
			return 0;
		}
	}
	if (num_parse_u64(name, 10, &number) || number > UINT32_MAX)
		return -ENOENT;
	*ret = (u32)number;
	return 0;
}

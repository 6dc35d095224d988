/* Rows of groups that have files for each: which cgroups, sensors, CPUs and disks there are. */
#include "session/what_groups.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 256, CGROUP_LEVELS = 2 };

void what_rows_done(struct what_rows *r)
{
	vec_for_each (&r->list, row) {
		free(row->name);
		free(row->path);
	}
	vec_free(&r->list);
	*r = (struct what_rows){ 0 };
}

/* path: NULL: the name. */
static int add_row(struct what_rows *to, const char *name, const char *path)
{
	if (to->list.nr >= WHAT_ROWS_MAX) {
		to->cut = true;
		return 0;
	}
	struct what_row *slot = vec_push(&to->list);
	if (!slot)
		return -ENOMEM;
	*slot = (struct what_row){ .name = strdup(name), .path = path ? strdup(path) : NULL };
	return slot->name && (!path || slot->path) ? 0 : -ENOMEM;
}

static int by_name(const void *l, const void *r)
{
	const struct what_row *a = l, *b = r;
	return strverscmp(a->name, b->name);
}

/* Directories come in no order. */
static void sort_rows(struct what_rows *r)
{
	if (r->list.nr)
		qsort(r->list.at, r->list.nr, sizeof(*r->list.at), by_name);
}

/* The names in a directory, in no order. */
struct dir_walk {
	DIR *dir;
	struct dirent *at;
};

static bool next_entry(struct dir_walk *e)
{
	while (e->dir && (e->at = readdir(e->dir)))
		if (e->at->d_name[0] != '.')
			return true;
	return false;
}

static void dir_walk_close(struct dir_walk *e)
{
	if (e->dir)
		closedir(e->dir);
}

/* ---- cgroups ---- */

/* below: of `top`, which is below sys/fs/cgroup; rows are called as from there on. */
static int add_cgroups(const struct sysroot *root, const char *top, const char *below,
		       unsigned levels, struct what_rows *to)
{
	char dir[2 * PATH_SIZE], name[PATH_SIZE], path[2 * PATH_SIZE];
	int err = 0;
	(void)snprintf(dir, sizeof(dir), "sys/fs/cgroup/%s/%s", top, below);
	struct dir_walk e = { .dir = sysroot_dir(root, dir) };
	while (!err && !to->cut && next_entry(&e)) {
		if (e.at->d_type != DT_DIR ||
		    (size_t)snprintf(name, sizeof(name), "%s%s%s", below, *below ? "/" : "",
				     e.at->d_name) >= sizeof(name))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", top, name);
		err = add_row(to, name, path);
		if (!err && levels > 1)
			err = add_cgroups(root, top, name, levels - 1, to);
	}
	dir_walk_close(&e);
	return err;
}

/* The root, slices and what is directly in them: deeper ones are shown when they are named. */
static int list_cgroups(const struct sysroot *root, const char *top, struct what_rows *to)
{
	int err = add_row(to, "/", top);
	if (!err)
		err = add_cgroups(root, top, "", CGROUP_LEVELS, to);
	sort_rows(to);
	return err;
}

/* Version 2 has a place of its own beside version 1 on some systems. */
int what_rows_cgroups(const struct sysroot *root, struct what_rows *to)
{
	if (sysroot_exists(root, "sys/fs/cgroup/cgroup.controllers"))
		return list_cgroups(root, ".", to);
	if (sysroot_exists(root, "sys/fs/cgroup/unified/cgroup.controllers"))
		return list_cgroups(root, "unified", to);
	return 0;
}

/* Controllers have their own hierarchies, which are alike; the one for CPU time is there everywhere. */
int what_rows_cgroups_v1(const struct sysroot *root, struct what_rows *to)
{
	if (!sysroot_exists(root, "sys/fs/cgroup/cpuacct"))
		return 0;
	char name[] = ".";
	struct what_rows found = { 0 };
	int err = list_cgroups(root, "cpuacct", &found);
	vec_for_each (&found.list, row)
		if (!err)
			err = add_row(to, row->name, strcmp(row->name, "/") ? NULL : name);
	to->cut |= found.cut;
	what_rows_done(&found);
	return err;
}

/* ---- sensors ---- */

/* "coretemp/Core 0": the chip, and the label of the sensor if it has one. */
static int add_sensor(const struct sysroot *root, const char *dir, const char *chip,
		      const char *label_file, const char *path, struct what_rows *to)
{
	char file[2 * PATH_SIZE], chip_name[64], name[PATH_SIZE];
	struct strbuf text;
	strbuf_init(&text);
	(void)snprintf(file, sizeof(file), "%s/%s", dir, chip);
	const char *line = sysroot_line(root, file, &text);
	(void)snprintf(chip_name, sizeof(chip_name), "%.60s", line ? line : "sensor");
	(void)snprintf(file, sizeof(file), "%s/%s", dir, label_file);
	line = *label_file ? sysroot_line(root, file, &text) : NULL;
	(void)snprintf(name, sizeof(name), "%s%s%.60s", chip_name, line ? "/" : "",
		       line ? line : "");
	/* Two sensors of one name: each tells where it is. */
	vec_for_each (&to->list, row)
		if (!strcmp(row->name, name)) {
			(void)snprintf(name, sizeof(name), "%s", path);
			break;
		}
	strbuf_done(&text);
	return add_row(to, name, path);
}

static int add_chip(const struct sysroot *root, const char *chip, struct what_rows *to)
{
	char dir[PATH_SIZE], path[2 * PATH_SIZE], label[64];
	unsigned nr;
	int err = 0, end;
	if ((size_t)snprintf(dir, sizeof(dir), "sys/class/hwmon/%s", chip) >= sizeof(dir))
		return 0;
	struct dir_walk e = { .dir = sysroot_dir(root, dir) };
	while (!err && next_entry(&e)) {
		end = 0;
		if (sscanf(e.at->d_name, "temp%9u_input%n", &nr, &end) != 1 || !end ||
		    e.at->d_name[end])
			continue;
		(void)snprintf(path, sizeof(path), "hwmon/%s/temp%u_input", chip, nr);
		(void)snprintf(label, sizeof(label), "temp%u_label", nr);
		err = add_sensor(root, dir, "name", label, path, to);
	}
	dir_walk_close(&e);
	return err;
}

int what_rows_sensors(const struct sysroot *root, struct what_rows *to)
{
	char dir[2 * PATH_SIZE], path[2 * PATH_SIZE];
	int err = 0;
	struct dir_walk zones = { .dir = sysroot_dir(root, "sys/class/thermal") };
	while (!err && next_entry(&zones)) {
		if (!str_starts(zones.at->d_name, "thermal_zone"))
			continue;
		(void)snprintf(dir, sizeof(dir), "sys/class/thermal/%s", zones.at->d_name);
		(void)snprintf(path, sizeof(path), "thermal/%s/temp", zones.at->d_name);
		err = add_sensor(root, dir, "type", "", path, to);
	}
	dir_walk_close(&zones);
	struct dir_walk chips = { .dir = sysroot_dir(root, "sys/class/hwmon") };
	while (!err && next_entry(&chips))
		err = add_chip(root, chips.at->d_name, to);
	dir_walk_close(&chips);
	sort_rows(to);
	return err;
}

/* ---- CPUs, disks ---- */

int what_rows_cpus(const struct sysroot *root, struct what_rows *to)
{
	char path[2 * PATH_SIZE];
	int err = 0;
	struct dir_walk e = { .dir = sysroot_dir(root, "sys/devices/system/cpu") };
	while (!err && next_entry(&e)) {
		const char *name = e.at->d_name;
		if (!str_starts(name, "cpu") || !name[3] || name[3 + strspn(name + 3, "0123456789")])
			continue;
		(void)snprintf(path, sizeof(path),
			       "sys/devices/system/cpu/%s/cpufreq/scaling_cur_freq", name);
		err = sysroot_exists(root, path) ? add_row(to, name + 3, NULL) : 0;
	}
	dir_walk_close(&e);
	sort_rows(to);
	return err;
}

int what_rows_disks(const struct sysroot *root, struct what_rows *to)
{
	int err = 0;
	struct dir_walk e = { .dir = sysroot_dir(root, "sys/block") };
	while (!err && next_entry(&e)) {
		const char *name = e.at->d_name;
		if (what_is_whole_disk(name) && !str_starts(name, "zram") &&
		    !str_starts(name, "sr") && !str_starts(name, "nbd"))
			err = add_row(to, name, NULL);
	}
	dir_walk_close(&e);
	sort_rows(to);
	return err;
}

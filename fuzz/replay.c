/* Runs a fuzz target over files and folders of files: the corpus as a normal test. */
#include "base/types.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static unsigned nr_done;

static int replay_file(const char *path, size_t size)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return 1;
	u8 *data = malloc(size ? size : 1);
	size_t got = data ? fread(data, 1, size, f) : 0;
	fclose(f);
	if (data)
		LLVMFuzzerTestOneInput(data, got);
	free(data);
	nr_done++;
	return data ? 0 : 1;
}

static int replay(const char *path)
{
	struct stat st;
	if (stat(path, &st)) {
		perror(path);
		return 1;
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path, (size_t)st.st_size);
	DIR *dir = opendir(path);
	struct dirent *e;
	int bad = !dir;
	while (dir && (e = readdir(dir))) {
		char sub[4096];
		if (e->d_name[0] == '.')
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		bad |= replay(sub);
	}
	if (dir)
		closedir(dir);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = 0;
	for (int i = 1; i < argc; i++)
		bad |= replay(argv[i]);
	printf("%sok 1 - %u inputs replayed\n1..1\n", bad ? "not " : "", nr_done);
	return bad;
}

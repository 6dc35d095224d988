/* Runs a fuzz target over files, for compilers and machines without libFuzzer: the corpus as a test. */
#include "base/strbuf.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f)
		return -1;
	struct strbuf b;
	strbuf_init(&b);
	char chunk[4096];
	size_t n;
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		strbuf_add(&b, chunk, n);
	fclose(f);
	/* a block of exactly this size, so that the sanitizers see every byte too far */
	u8 *copy = malloc(b.len ? b.len : 1);
	if (copy && b.len)
		memcpy(copy, b.data, b.len);
	if (copy)
		LLVMFuzzerTestOneInput(copy, b.len);
	free(copy);
	strbuf_done(&b);
	return copy ? 1 : -1;
}

static int replay(const char *path)
{
	struct stat st;
	if (stat(path, &st))
		return -1;
	if (!S_ISDIR(st.st_mode))
		return replay_file(path);
	DIR *d = opendir(path);
	int nr = 0;
	for (struct dirent *e; d && (e = readdir(d));) {
		char file[4096];
		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		if (e->d_name[0] != '.' && replay_file(file) > 0)
			nr++;
	}
	if (d)
		closedir(d);
	return nr;
}

static int replay_and_tell(int i, const char *path)
{
	int nr = replay(path);
	printf("%sok %d - %s: %d inputs\n", nr > 0 ? "" : "not ", i, path, nr);
	return nr <= 0;
}

/* TAP: one line for each file or folder; without arguments the target's own corpus. */
int main(int argc, char **argv)
{
	int bad = argc == 1 ? replay_and_tell(1, CORPUS) : 0;
	for (int i = 1; i < argc; i++)
		bad |= replay_and_tell(i, argv[i]);
	printf("1..%d\n", argc == 1 ? 1 : argc - 1);
	return bad;
}

#include "kern/kconfig.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { TEXT_MAX = 16 << 20, INFLATE_STEP = 1 << 16, GZIP_WINDOW = 16 + MAX_WBITS };

static bool is_gzip(const struct strbuf *s)
{
	return s->len > 2 && (u8)s->data[0] == 0x1f && (u8)s->data[1] == 0x8b;
}

static int inflate_all(z_stream *z, struct strbuf *to)
{
	int ret = Z_OK;
	while (ret == Z_OK) {
		char *room = strbuf_room(to, INFLATE_STEP);
		if (!room)
			return -ENOMEM;
		z->next_out = (Bytef *)room;
		z->avail_out = INFLATE_STEP;
		ret = inflate(z, Z_NO_FLUSH);
		strbuf_commit(to, INFLATE_STEP - z->avail_out);
		if (to->len > TEXT_MAX)
			return -EFBIG;
	}
	return ret == Z_STREAM_END ? 0 : ret == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static int gunzip(const struct strbuf *from, struct strbuf *to)
{
	z_stream z = { .next_in = (Bytef *)from->data, .avail_in = (uInt)from->len };
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	int err = inflate_all(&z, to);
	(void)inflateEnd(&z);
	return err;
}

/* A text without a single option is something else. */
static int take_text(struct kconfig *c, struct strbuf *s, const char *path)
{
	size_t len = s->len;
	if (!strstr(strbuf_cstr(s), "CONFIG_"))
		return -EBADMSG;
	char *text = strbuf_steal(s);
	if (!text)
		return -ENOMEM;
	*c = (struct kconfig){ .text = text, .len = len };
	(void)snprintf(c->path, sizeof(c->path), "%s", path);
	return 0;
}

int kconfig_open_file(struct kconfig *c, const struct sysroot *r, const char *path)
{
	struct strbuf raw, plain;
	*c = (struct kconfig){ 0 };
	strbuf_init(&raw);
	strbuf_init(&plain);
	int err = sysroot_read(r, path, &raw);
	if (!err && is_gzip(&raw)) {
		err = gunzip(&raw, &plain);
		err = err ? err : take_text(c, &plain, path);
	} else if (!err) {
		err = take_text(c, &raw, path);
	}
	strbuf_done(&raw);
	strbuf_done(&plain);
	return err;
}

int kconfig_open(struct kconfig *c, const struct sysroot *r, const char *release)
{
	static const char *const places[] = {
		"proc/config.gz",
		"boot/config-%s",
		"lib/modules/%s/config",
		"usr/lib/modules/%s/config",
		"lib/modules/%s/build/.config",
		"usr/src/linux-headers-%s/.config",
		"usr/src/linux-%s/.config",
		"usr/src/kernels/%s/.config",
	};
	int said = -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char path[256];
		const char *mark = strstr(places[i], "%s");
		int head = mark ? (int)(mark - places[i]) : (int)strlen(places[i]);
		int n = snprintf(path, sizeof(path), "%.*s%s%s", head, places[i],
				 mark ? release : "", mark ? mark + 2 : "");
		if (n >= (int)sizeof(path))
			continue;
		int err = kconfig_open_file(c, r, path);
		if (!err || err == -ENOMEM)
			return err;
		if (err != -ENOENT && err != -ENOTDIR)
			said = err;
	}
	return said;
}

void kconfig_close(struct kconfig *c)
{
	free(c->text);
	*c = (struct kconfig){ 0 };
}

bool kconfig_get(const struct kconfig *c, const char *name, char *to, size_t size)
{
	if (!c->text)
		return false;
	size_t name_len = strlen(name);
	for (const char *line = c->text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!str_starts(line, "CONFIG_") || strncmp(line + 7, name, name_len) ||
		    line[7 + name_len] != '=')
			continue;
		const char *value = line + 7 + name_len + 1;
		size_t len = strcspn(value, "\r\n");
		if (len > 1 && value[0] == '"' && value[len - 1] == '"') {
			value++;
			len -= 2;
		}
		return snprintf(to, size, "%.*s", (int)len, value) < (int)size;
	}
	return snprintf(to, size, "n") < (int)size;
}

bool kconfig_has_module(const struct sysroot *r, const char *release)
{
	static const char *const names[] = { "configs.ko", "configs.ko.xz", "configs.ko.zst" };
	char path[256];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int n = snprintf(path, sizeof(path), "lib/modules/%s/kernel/kernel/%s", release,
				 names[i]);
		if (n < (int)sizeof(path) && sysroot_exists(r, path))
			return true;
	}
	return false;
}

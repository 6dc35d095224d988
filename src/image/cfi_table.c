/* Tables in use: finding, checking, keeping in files. */
#include "image/cfi_impl.h"
#include "base/bytes.h"
#include "base/dict.h"
#include "base/guard.h"
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct cfi_rule) == sizeof(struct cfi_reg), "a rule's head is one unit");
_Static_assert(sizeof(struct cfi_head) % 8 == 0, "what follows is aligned");

void cfi_done(struct cfi_table *t)
{
	if (t->mapped)
		guard_unmap(t->block, t->block_size);
	else
		free(t->block);
	*t = (struct cfi_table){ 0 };
}

/* A rule that begins at a unit stays inside the table and names registers that there are. */
static bool rule_is_good(const struct cfi_table *t, const struct arch *a, u32 at, u32 *next)
{
	struct cfi_rule head;
	memcpy(&head, &t->units[at], sizeof(t->units[at]));
	if (head.nr_regs > a->nr_regs || head.nr_regs >= t->nr_units - at)
		return false;
	if (head.cfa > CFI_CFA_EXPR || (head.cfa == CFI_CFA_REG && head.cfa_reg >= a->nr_regs))
		return false;
	for (u32 i = 1; i <= head.nr_regs; i++) {
		const struct cfi_reg *r = &t->units[at + i];
		if (r->reg >= a->nr_regs || r->kind >= CFI_NR_KINDS ||
		    (r->kind == CFI_REGISTER && (u32)r->value >= a->nr_regs))
			return false;
	}
	*next = at + 1 + head.nr_regs;
	return true;
}

/* Every rule that a row may name is good: rows name heads, and those are marked on the way. */
static bool rules_are_good(const struct cfi_table *t, const struct arch *a)
{
	_cleanup_free_ u8 *heads = calloc(1, t->nr_units + 1);
	if (!heads)
		return false;
	for (u32 at = 1; at < t->nr_units;) {
		heads[at] = 1;
		if (!rule_is_good(t, a, at, &at))
			return false;
	}
	for (u32 i = 0; i < t->nr_rows; i++)
		if (t->rules[i] && (t->rules[i] >= t->nr_units || !heads[t->rules[i]]))
			return false;
	return true;
}

int cfi_open_bytes(struct cfi_table *t, const struct arch *a, void *data, size_t size, bool mapped)
{
	static const char magic[] = CFI_MAGIC;
	struct cfi_head h;
	if (size < sizeof(h))
		return -EBADMSG;
	memcpy(&h, data, sizeof(h));
	u64 want = sizeof(h) + (u64)h.nr_rows * 8 + (u64)h.nr_units * sizeof(struct cfi_reg) +
		   h.exprs_size;
	if (memcmp(h.magic, magic, sizeof(h.magic)) || h.machine != a->elf_machine ||
	    want != size || !h.nr_rows || !h.nr_units)
		return -EBADMSG;
	const u32 *words = (const u32 *)((const u8 *)data + sizeof(h));
	struct cfi_table got = {
		.starts = words,
		.rules = words + h.nr_rows,
		.units = (const struct cfi_reg *)(words + 2 * (size_t)h.nr_rows),
		.nr_rows = h.nr_rows,
		.nr_units = h.nr_units,
		.exprs_size = h.exprs_size,
		.machine = (u16)h.machine,
		.nr_framed = h.nr_framed,
		.nr_functions = h.nr_functions,
		.block = data,
		.block_size = size,
		.mapped = mapped,
	};
	got.exprs = (const u8 *)(got.units + h.nr_units);
	if (!rules_are_good(&got, a))
		return -EBADMSG;
	*t = got;
	return 0;
}

const struct cfi_rule *cfi_find(const struct cfi_table *t, u64 offset)
{
	const u32 *starts = t->starts;
	u32 lo = 0, nr = t->nr_rows;
	if (offset < starts[0] || offset > UINT32_MAX)
		return NULL;
	while (nr > 1) {
		u32 half = nr / 2;
		lo = starts[lo + half] <= offset ? lo + half : lo;
		nr -= half;
	}
	u32 rule = t->rules[lo];
	return rule ? (const struct cfi_rule *)&t->units[rule] : NULL;
}

const u8 *cfi_expr(const struct cfi_table *t, s32 value, size_t *len)
{
	*len = 0;
	if (value < 0 || (u32)value > t->exprs_size)
		return NULL;
	struct bytes b = bytes_of(t->exprs + value, t->exprs_size - (u32)value, false);
	size_t n = bytes_u8(&b);
	n |= (size_t)bytes_u8(&b) << 8;
	const u8 *at = bytes_take(&b, n);
	*len = at ? n : 0;
	return at;
}

static bool path_of(char to[PATH_MAX], const char *folder, const struct buildid *id,
		    const struct elfimg_identity *file)
{
	char hex[BUILDID_TEXT];
	if (!folder || !file->ino || buildid_text(id, hex) < 4)
		return false;
	int n = snprintf(to, PATH_MAX, "%s/cfi/%s-%016llx", folder, hex,
			 (unsigned long long)hash_bytes(file, sizeof(*file)));
	return n > 0 && n < PATH_MAX;
}

int cfi_save(const struct cfi_table *t, const char *folder, const struct buildid *id,
	     const struct elfimg_identity *file)
{
	char path[PATH_MAX];
	return path_of(path, folder, id, file)
		       ? atomic_file_save_keyed(path, t->block, t->block_size, file, sizeof(*file))
		       : -ENOENT;
}

int cfi_load(struct cfi_table *t, const struct arch *a, const char *folder,
	     const struct buildid *id, const struct elfimg_identity *file)
{
	char path[PATH_MAX];
	void *data;
	size_t size;
	int err = path_of(path, folder, id, file)
			  ? atomic_file_map_keyed(path, file, sizeof(*file), &data, &size)
			  : -ENOENT;
	if (err)
		return err;
	err = cfi_open_bytes(t, a, data, size, true);
	if (err)
		guard_unmap(data, size + sizeof(*file));
	else
		t->block_size = size + sizeof(*file); /* the mapping's */
	return err;
}

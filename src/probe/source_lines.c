#include "probe/source_lines.h"

#include <stdio.h>
#include <string.h>

void source_lines_init(struct source_lines *l, const char *vmlinux, struct diag *d)
{
	*l = (struct source_lines){ .diag = d, .vmlinux = vmlinux };
}

static void close_unit(struct source_lines *l)
{
	if (l->has_unit)
		dwcode_unit_done(&l->unit);
	l->has_unit = false;
}

static void close_info(struct source_lines *l)
{
	close_unit(l);
	l->symbol[0] = '\0';
	if (l->open)
		debuginfo_close(&l->info);
	l->open = l->tried = false;
}

void source_lines_done(struct source_lines *l)
{
	close_info(l);
}

/* What has the symbol: the kernel or a module, opened once while questions stay with it. */
static bool open_info(struct source_lines *l, const struct source_place *at)
{
	struct diag quiet;
	char module[sizeof(l->module)];
	(void)snprintf(module, sizeof(module), "%.*s", (int)at->module_len, at->module);
	if (l->tried && !strcmp(module, l->module))
		return l->open;
	close_info(l);
	(void)snprintf(l->module, sizeof(l->module), "%s", module);
	l->target = (struct probe_target){ .where = *module ? PROBE_MODULE : PROBE_KERNEL,
					   .module = *module ? l->module : NULL,
					   .path = *module ? NULL : l->vmlinux,
					   .root = "" };
	diag_init(&quiet);
	l->tried = true;
	l->open = !debuginfo_open(&l->info, &l->target, &quiet);
	diag_done(&quiet);
	if (!l->open && !l->reported) {
		diag_note(l->diag, "no source lines: no debug information for %s%s",
			  *module ? "module " : "the kernel", module);
		l->reported = true;
	}
	return l->open;
}

static bool open_unit(struct source_lines *l, u64 pc)
{
	u32 index;
	if (!dwcode_unit_at(l->info.code, pc, &index))
		return false;
	if (l->has_unit && l->unit_index == index)
		return true;
	close_unit(l);
	if (dwcode_unit_open(l->info.code, index, &l->unit))
		return false;
	l->has_unit = true;
	l->unit_index = index;
	return !dwcode_unit_lines(&l->unit);
}

/* Where the symbol is in the image. Finding one by name takes a look at all of them. */
static bool find_symbol(struct source_lines *l, const struct source_place *at, u64 *addr)
{
	struct debuginfo_symbol s;
	char name[sizeof(l->symbol)];
	if (at->name_len >= sizeof(name) || !at->name_len)
		return false;
	memcpy(name, at->name, at->name_len);
	name[at->name_len] = '\0';
	if (strcmp(name, l->symbol)) {
		l->has_symbol = debuginfo_symbol(&l->info, name, false, &s);
		l->symbol_addr = l->has_symbol ? s.addr : 0;
		memcpy(l->symbol, name, at->name_len + 1);
	}
	*addr = l->symbol_addr;
	return l->has_symbol;
}

bool source_line(struct source_lines *l, const struct source_place *at, char *file, size_t size,
		 u32 *line)
{
	u64 pc;
	if (!open_info(l, at) || !find_symbol(l, at, &pc) || !open_unit(l, pc + at->offset))
		return false;
	const struct dwcode_line *found = dwcode_line_at(&l->unit, pc + at->offset);
	const char *path = found ? dwcode_path(&l->unit, found->file) : NULL;
	if (!path || !found->line)
		return false;
	(void)snprintf(file, size, "%s", path);
	*line = found->line;
	return true;
}

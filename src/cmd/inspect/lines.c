#include "cmd/inspect/lines.h"

#include <stdio.h>
#include <string.h>

void source_lines_init(struct source_lines *l, const char *vmlinux, struct diag *d)
{
	*l = (struct source_lines){ .diag = d, .vmlinux = vmlinux };
}

static void close_info(struct source_lines *l)
{
	if (l->open)
		debuginfo_close(&l->info);
	l->open = l->tried = false;
}

void source_lines_done(struct source_lines *l)
{
	close_info(l);
}

/* What has the symbol: the kernel or a module, opened once while questions stay with it. */
static bool open_info(struct source_lines *l, const struct ksym *sym)
{
	struct diag quiet;
	char module[sizeof(l->module)];
	(void)snprintf(module, sizeof(module), "%.*s", (int)sym->module_len, sym->module);
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

/* The last line that begins at or before pc. */
static bool line_at(struct dwcode_unit *u, u64 pc, const char **file, u32 *line)
{
	const struct dwcode_line *found = NULL;
	if (dwcode_unit_lines(u))
		return false;
	vec_for_each (&u->lines, n) {
		if (n->addr > pc)
			break;
		found = n;
	}
	*file = found ? dwcode_path(u, found->file) : NULL;
	*line = found ? found->line : 0;
	return *file && *line;
}

bool source_line(struct source_lines *l, const struct ksym *sym, u64 addr, char *file, size_t size,
		 u32 *line)
{
	struct debuginfo_symbol s;
	struct dwcode_unit u;
	char name[256];
	const char *path;
	u32 unit;
	if (!ksym_is_code(sym) || sym->name_len >= sizeof(name) || !open_info(l, sym))
		return false;
	memcpy(name, sym->name, sym->name_len);
	name[sym->name_len] = '\0';
	/* By the distance from the symbol: where the kernel put it does not matter. */
	if (!debuginfo_symbol(&l->info, name, false, &s))
		return false;
	u64 pc = s.addr + (addr - sym->addr);
	if (!dwcode_unit_at(l->info.code, pc, &unit) || dwcode_unit_open(l->info.code, unit, &u))
		return false;
	bool found = line_at(&u, pc, &path, line);
	if (found)
		(void)snprintf(file, size, "%s", path);
	dwcode_unit_done(&u);
	return found;
}

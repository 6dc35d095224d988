/* .debug_line (DWARF 5, section 6.2; versions 2 to 5): the files it names, and its program, which is run and not kept. */
#include "image/dwarf_impl.h"
#include "base/strbuf.h"

#include <errno.h>
#include <string.h>

enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_SET_COLUMN,
	LNS_NEGATE_STMT,
	LNS_SET_BASIC_BLOCK,
	LNS_CONST_ADD_PC,
	LNS_FIXED_ADVANCE_PC,
	LNS_SET_PROLOGUE_END,
};

enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS, LNE_DEFINE_FILE };

enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2, FORMATS_MAX = 32, PATH_LONGEST = 16 << 10 };

static int add_dir(struct dw_lines *l, const char *name)
{
	const char **d = vec_push(&l->dirs);
	if (!d)
		return -ENOMEM;
	*d = name ? name : "";
	return 0;
}

static int add_file(struct dw_lines *l, const char *name, u64 dir)
{
	struct dw_file_name *f = vec_push(&l->files);
	if (!f)
		return -ENOMEM;
	*f = (struct dw_file_name){ name ? name : "", dir };
	return 0;
}

/* Versions 2 to 4: strings, each list ends with an empty one; 0 is the folder of the compiler. */
static int read_old_names(struct dw_lines *l, struct bytes *b)
{
	int err = add_dir(l, l->comp_dir);
	if (!err)
		err = add_file(l, dw_string(l->f, l->u, &l->u->name), 0);
	for (const char *s; !err && (s = bytes_cstr(b)) && *s;)
		err = add_dir(l, s);
	for (const char *s; !err && (s = bytes_cstr(b)) && *s;) {
		u64 dir = dw_uleb(b);
		(void)dw_uleb(b); /* time */
		(void)dw_uleb(b); /* size */
		err = add_file(l, s, dir);
	}
	return err ? err : b->bad ? -EBADMSG : 0;
}

struct format {
	u64 type;
	u16 form;
};

static int read_formats(struct bytes *b, struct format *to, u32 *nr)
{
	*nr = bytes_u8(b);
	if (*nr > FORMATS_MAX)
		return -EBADMSG;
	for (u32 i = 0; i < *nr; i++) {
		to[i].type = dw_uleb(b);
		to[i].form = (u16)dw_uleb(b);
	}
	return b->bad ? -EBADMSG : 0;
}

/* Version 5: the entries say themselves what they consist of. */
static int read_new_list(struct dw_lines *l, struct bytes *b, const struct dw_unit *sizes,
			 bool files)
{
	struct format formats[FORMATS_MAX];
	u32 nr_formats;
	int err = read_formats(b, formats, &nr_formats);
	if (err)
		return err;
	u64 nr = dw_uleb(b);
	/* An entry of nothing would let a few bytes ask for any number of them. */
	if (b->bad || nr > bytes_left(b))
		return -EBADMSG;
	for (u64 i = 0; i < nr && !err; i++) {
		const char *path = NULL;
		u64 dir = 0;
		for (u32 k = 0; k < nr_formats; k++) {
			struct dw_value v = { 0 };
			dw_read_form(sizes, b, formats[k].form, 0, &v);
			if (formats[k].type == LNCT_PATH)
				path = dw_string(l->f, l->u, &v);
			else if (formats[k].type == LNCT_DIRECTORY)
				dir = v.u;
		}
		if (b->bad || !dw_step(l->f, 1))
			return -EBADMSG;
		err = files ? add_file(l, path, dir) : add_dir(l, path);
	}
	return err;
}

static int read_header(struct dw_lines *l)
{
	struct bytes b = dw_cursor(l->f, DWSEC_LINE, l->u->line_offset);
	struct dw_unit sizes = *l->u; /* how long forms are here */
	u64 length = bytes_u32(&b);
	sizes.off_size = 4;
	if (length == 0xffffffff) {
		sizes.off_size = 8;
		length = bytes_u64(&b);
	}
	b = bytes_sub(&b, length);
	l->version = sizes.version = bytes_u16(&b);
	if (b.bad || l->version < 2 || l->version > 5)
		return -EBADMSG;
	if (l->version >= 5) {
		sizes.addr_size = bytes_u8(&b);
		(void)bytes_u8(&b); /* segment selectors */
	}
	u64 header = dw_offset(&b, sizes.off_size);
	struct bytes names = bytes_sub(&b, header);
	l->program = b;
	l->min_length = bytes_u8(&names);
	if (l->version >= 4)
		(void)bytes_u8(&names); /* operations per instruction: 1 but on VLIW */
	l->default_stmt = bytes_u8(&names);
	l->line_base = (s8)bytes_u8(&names);
	l->line_range = bytes_u8(&names);
	l->opcode_base = bytes_u8(&names);
	if (names.bad || !l->line_range || !l->opcode_base)
		return -EBADMSG;
	for (u32 i = 1; i < l->opcode_base; i++)
		l->lengths[i] = bytes_u8(&names);
	if (l->version < 5)
		return read_old_names(l, &names);
	int err = read_new_list(l, &names, &sizes, false);
	return err ? err : read_new_list(l, &names, &sizes, true);
}

int dw_lines_open(struct dw_lines *l, struct dw_file *f, const struct dw_unit *u,
		  struct strtab *paths)
{
	*l = (struct dw_lines){ .f = f, .u = u, .paths = paths };
	if (!u->has_line)
		return -ENOENT;
	l->comp_dir = dw_string(f, u, &u->comp_dir);
	int err = read_header(l);
	if (!err && !vec_reserve(&l->path_of, l->files.nr + 1))
		err = -ENOMEM;
	if (!err)
		memset(l->path_of.at, 0, (l->files.nr + 1) * sizeof(*l->path_of.at));
	if (err == -EBADMSG)
		*f->broken = true;
	return err;
}

void dw_lines_done(struct dw_lines *l)
{
	vec_free(&l->dirs);
	vec_free(&l->files);
	vec_free(&l->path_of);
}

const char *dw_lines_path(struct dw_lines *l, u64 file)
{
	if (file >= l->files.nr || !l->files.at[file].name[0])
		return NULL;
	if (l->path_of.at[file])
		return strtab_str(l->paths, l->path_of.at[file] - 1);
	const struct dw_file_name *f = &l->files.at[file];
	const char *dir = f->dir < l->dirs.nr ? l->dirs.at[f->dir] : "";
	struct strbuf s;
	strbuf_init(&s);
	if (f->name[0] != '/') {
		const char *above = l->comp_dir;
		if (dir[0] != '/' && above && above[0] && (f->dir || dir[0] == '\0'))
			strbuf_printf(&s, "%.*s/", PATH_LONGEST, above);
		if (dir[0])
			strbuf_printf(&s, "%.*s/", PATH_LONGEST, dir);
	}
	strbuf_printf(&s, "%.*s", PATH_LONGEST, f->name);
	s64 id = s.err || !dw_step(l->f, s.len / 16) ? -ENOMEM : strtab_add(l->paths, s.data, s.len);
	strbuf_done(&s);
	if (id < 0)
		return NULL;
	l->path_of.at[file] = (u32)id + 1;
	return strtab_str(l->paths, (u32)id);
}

/* ---- the program ---- */

struct dwarf_line_machine {
	struct dw_lines *l;
	u64 from, until;
	void (*tell)(void *ctx, u64 low, u64 high, u64 file, u32 line);
	void (*tell_row)(void *ctx, const struct dw_row *row); /* NULL: stretches are wanted */
	void *ctx;
	u64 addr, file;
	u32 line;
	bool stmt, prologue_end;
	bool have; /* a row before this one, in the same sequence */
	u64 row_addr, row_file;
	u32 row_line;
};

static void each_row(struct dwarf_line_machine *m, bool end)
{
	struct dw_row r = { m->addr,	     (u32)min(m->file, (u64)UINT32_MAX),
			    m->line,	     m->stmt,
			    m->prologue_end, end };
	m->tell_row(m->ctx, &r);
	m->prologue_end = false;
}

/* A row ends what the row before it began; of several at one address the last counts. */
static inline void row(struct dwarf_line_machine *m)
{
	if (unlikely(m->tell_row)) {
		each_row(m, false);
		return;
	}
	if (m->have && m->row_addr < m->addr && m->row_addr < m->until && m->addr > m->from)
		m->tell(m->ctx, m->row_addr, m->addr, m->row_file, m->row_line);
	m->have = true;
	m->row_addr = m->addr;
	m->row_file = m->file;
	m->row_line = m->line;
}

static void restart(struct dwarf_line_machine *m)
{
	m->addr = 0;
	m->file = 1;
	m->line = 1;
	m->have = false;
	m->stmt = m->l->default_stmt;
	m->prologue_end = false;
}

static void extended(struct dwarf_line_machine *m, struct bytes *b)
{
	struct bytes op = bytes_sub(b, dw_uleb(b));
	switch (bytes_u8(&op)) {
	case LNE_END_SEQUENCE:
		if (m->tell_row)
			each_row(m, true);
		else
			row(m);
		restart(m);
		break;
	case LNE_SET_ADDRESS:
		m->addr = bytes_left(&op) == 4 ? bytes_u32(&op) : bytes_u64(&op);
		b->bad |= op.bad;
		break;
	case LNE_DEFINE_FILE: {
		const char *name = bytes_cstr(&op);
		u64 dir = dw_uleb(&op);
		/* Files named here come after those of the header; nobody writes them any more. */
		if (name && vec_reserve(&m->l->path_of, m->l->files.nr + 2) &&
		    !add_file(m->l, name, dir))
			m->l->path_of.at[m->l->files.nr - 1] = 0;
		break;
	}
	default: break;
	}
}

static void standard(struct dwarf_line_machine *m, struct bytes *b, u8 op)
{
	const struct dw_lines *l = m->l;
	switch (op) {
	case LNS_COPY: row(m); break;
	case LNS_ADVANCE_PC: m->addr += dw_uleb(b) * l->min_length; break;
	case LNS_ADVANCE_LINE: m->line += (u32)bytes_sleb(b); break;
	case LNS_SET_FILE: m->file = dw_uleb(b); break;
	case LNS_SET_COLUMN: (void)dw_uleb(b); break;
	case LNS_NEGATE_STMT: m->stmt = !m->stmt; break;
	case LNS_SET_BASIC_BLOCK: break;
	case LNS_SET_PROLOGUE_END: m->prologue_end = true; break;
	case LNS_CONST_ADD_PC:
		m->addr += (u64)((255 - l->opcode_base) / l->line_range) * l->min_length;
		break;
	case LNS_FIXED_ADVANCE_PC: m->addr += bytes_u16(b); break;
	default:
		for (u32 i = 0; i < l->lengths[op]; i++)
			(void)dw_uleb(b);
		break;
	}
}

static void run(struct dwarf_line_machine *m)
{
	struct dw_lines *l = m->l;
	struct bytes b = l->program;
	if (!dw_step(l->f, bytes_left(&b)))
		return;
	restart(m);
	while (b.at < b.end && !b.bad) {
		u8 op = *b.at++;
		if (op >= l->opcode_base) {
			u8 special = (u8)(op - l->opcode_base);
			m->addr += (u64)(special / l->line_range) * l->min_length;
			m->line += (u32)(l->line_base + special % l->line_range);
			row(m);
		} else if (op) {
			standard(m, &b, op);
		} else {
			extended(m, &b);
		}
	}
	if (b.bad)
		*l->f->broken = true;
}

void dw_lines_run(struct dw_lines *l, u64 from, u64 until,
		  void (*tell)(void *ctx, u64 low, u64 high, u64 file, u32 line), void *ctx)
{
	struct dwarf_line_machine m = {
		.l = l, .from = from, .until = until, .tell = tell, .ctx = ctx
	};
	run(&m);
}

void dw_lines_rows(struct dw_lines *l, void (*tell)(void *ctx, const struct dw_row *row), void *ctx)
{
	struct dwarf_line_machine m = { .l = l, .tell_row = tell, .ctx = ctx };
	run(&m);
}

#include "view/text_hw.h"
#include "model/data_src.h"

#include <string.h>

enum { ADDR_WIDTH = 16 };

/* perf has room for 99 letters. */
void text_hw_data_src(const struct text_samples_opts *o, u64 src, struct strbuf *to)
{
	enum { ROOM = 99 };
	struct strbuf text, all;
	strbuf_init(&text);
	strbuf_init(&all);
	data_src_all(src, &text);
	strbuf_printf(&all, "%*llx", ADDR_WIDTH, (unsigned long long)src);
	strbuf_char(&all, ' ');
	strbuf_add(&all, text.data ? text.data : "", min(text.len, (size_t)ROOM - 1 - ADDR_WIDTH));
	u32 len = (u32)all.len, *width = &o->so_far->data_src_width;
	*width = max(*width, len);
	strbuf_str(to, strbuf_cstr(&all));
	strbuf_fill(to, ' ', *width - len);
	strbuf_done(&text);
	strbuf_done(&all);
}

/* "(library)" */
static void add_branch_dso(const struct text_samples_opts *o, u32 frame, struct strbuf *to)
{
	const struct frame *f = &o->frames->frames[frame];
	const struct image_info *image = &o->catalog->images.at[f->image];
	strbuf_char(to, '(');
	strbuf_str(to, image_has_path(image) ? image->path : image->name);
	strbuf_char(to, ')');
}

static void add_branch_end(const struct text_samples_opts *o, u64 addr, u32 frame, u32 fields,
			   struct strbuf *to)
{
	const struct frame *f = &o->frames->frames[frame];
	const struct name_func *func = &o->names->funcs[o->names->func_of[frame]];
	if (!(fields & TEXT_BRSTACKSYM)) {
		strbuf_str(to, "0x");
		strbuf_hex(to, fields & TEXT_BRSTACKOFF ? f->offset : addr);
	} else if (func->name) {
		strbuf_str(to, func->name);
		strbuf_str(to, "+0x");
		strbuf_hex(to, f->offset - func->start);
	} else {
		strbuf_str(to, "[unknown]");
	}
	if (fields & TEXT_DSO)
		add_branch_dso(o, frame, to);
}

void text_hw_branches(const struct text_samples_opts *o, const struct sample *s, u32 fields,
		      struct strbuf *to)
{
	for (u32 i = 0; i < s->nr_branches; i++) {
		const struct sample_branch *b = &s->branches[i];
		strbuf_str(to, fields & TEXT_BRSTACKSYM ? "" : " ");
		add_branch_end(o, b->from, b->from_frame, fields, to);
		strbuf_char(to, '/');
		add_branch_end(o, b->to, b->to_frame, fields, to);
		strbuf_char(to, '/');
		strbuf_char(to, b->flags & BRANCH_PREDICTED	 ? 'P'
				: b->flags & BRANCH_MISPREDICTED ? 'M'
								 : '-');
		strbuf_str(to, b->flags & BRANCH_IN_TX ? "/X" : "/-");
		strbuf_str(to, b->flags & BRANCH_ABORT ? "/A/" : "/-/");
		strbuf_u64(to, BRANCH_CYCLES(b->flags));
		strbuf_char(to, '/');
		strbuf_str(to, branch_type_word(BRANCH_TYPE(b->flags), BRANCH_NEW_TYPE(b->flags)));
		strbuf_char(to, ' ');
	}
}

/* "AX", or "r0" of a machine that we do not know. */
static const char *reg_name(const struct text_samples_opts *o, u32 number, char *own)
{
	if (number < o->nr_reg_names && o->reg_names[number])
		return o->reg_names[number];
	own[0] = 'r';
	own[1 + num_u64(own + 1, number)] = '\0';
	return own;
}

void text_hw_regs(const struct text_samples_opts *o, const struct sample_regs *r, struct strbuf *to)
{
	char own[NUM_DIGITS_MAX + 2];
	if (!r->nr)
		return;
	strbuf_printf(to, " ABI:%llu ", (unsigned long long)r->abi);
	for (u32 i = 0, bit = 0; i < r->nr; bit++)
		if (r->mask >> bit & 1)
			strbuf_printf(to, "%5s:0x%llx ", reg_name(o, bit, own),
				      (unsigned long long)r->values[i++]);
}

static void json_regs(const struct text_samples_opts *o, const struct sample_regs *r,
		      const char *key, struct json *j)
{
	char own[NUM_DIGITS_MAX + 2];
	if (!r->nr)
		return;
	json_key(j, key);
	json_object(j);
	for (u32 i = 0, bit = 0; i < r->nr; bit++)
		if (r->mask >> bit & 1)
			json_put_u64(j, reg_name(o, bit, own), r->values[i++]);
	json_object_end(j);
}

void text_hw_json(const struct text_samples_opts *o, const struct sample_extra *e, u32 fields,
		  struct json *j)
{
	if (fields & TEXT_INS_LAT)
		json_put_u64(j, "ins_lat", e->ins_lat);
	if (fields & TEXT_RETIRE_LAT)
		json_put_u64(j, "retire_lat", e->stage_cycles);
	if (fields & TEXT_DATA_PAGE)
		json_put_u64(j, "data_page_size", e->data_page);
	if (fields & TEXT_CODE_PAGE)
		json_put_u64(j, "code_page_size", e->code_page);
	if (fields & TEXT_IREGS)
		json_regs(o, &e->intr_regs, "iregs", j);
	if (fields & TEXT_UREGS)
		json_regs(o, &e->user_regs, "uregs", j);
}

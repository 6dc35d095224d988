/* Fields of samples that only some hardware fills: branches, where data came from, registers; in perf script's layout. */
#pragma once

#include "base/json.h"
#include "view/text_samples.h"

/* Padded to the longest so far (so_far->data_src_width). */
void text_hw_data_src(const struct text_samples_opts *o, u64 src, struct strbuf *to);
void text_hw_branches(const struct text_samples_opts *o, const struct sample *s, u32 fields,
		      struct strbuf *to);
void text_hw_regs(const struct text_samples_opts *o, const struct sample_regs *r, struct strbuf *to);
/* The fields of TEXT_EXTRA, as members of the object that is open. */
void text_hw_json(const struct text_samples_opts *o, const struct sample_extra *e, u32 fields,
		  struct json *j);

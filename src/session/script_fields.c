#include "session/script_fields.h"
#include "wire/perf_record.h"

#include "base/opts.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *word;
	u32 field;
} words[] = {
	{ "comm", TEXT_COMM },
	{ "tid", TEXT_TID },
	{ "pid", TEXT_PID },
	{ "time", TEXT_TIME },
	{ "cpu", TEXT_CPU },
	{ "event", TEXT_EVENT },
	{ "trace", TEXT_TRACE },
	{ "ip", TEXT_IP },
	{ "sym", TEXT_SYM },
	{ "dso", TEXT_DSO },
	{ "addr", TEXT_ADDR },
	{ "symoff", TEXT_SYMOFF },
	{ "period", TEXT_PERIOD },
	{ "srcline", TEXT_SRCLINE },
	{ "weight", TEXT_WEIGHT },
	{ "misc", TEXT_MISC },
	{ "data_src", TEXT_DATA_SRC },
	{ "phys_addr", TEXT_PHYS_ADDR },
	{ "brstack", TEXT_BRSTACK },
	{ "brstacksym", TEXT_BRSTACKSYM },
	{ "brstackoff", TEXT_BRSTACKOFF },
	{ "ins_lat", TEXT_INS_LAT },
	{ "retire_lat", TEXT_RETIRE_LAT },
	{ "iregs", TEXT_IREGS },
	{ "uregs", TEXT_UREGS },
	{ "data_page_size", TEXT_DATA_PAGE },
	{ "code_page_size", TEXT_CODE_PAGE },
	{ "flags", TEXT_FLAGS },
	{ "tod", TEXT_TOD },
	{ "synth", TEXT_SYNTH },
};

/* Fields of perf that are not here, and what is. */
static const struct {
	const char *word, *why;
} absent[] = {
	{ "brstackinsn",
	  "code of branches is not shown: brstacksym names them, annotate shows code" },
	{ "brstackinsnlen",
	  "code of branches is not shown: brstacksym names them, annotate shows code" },
	{ "insn", "instructions of samples are not shown: use sonde annotate" },
	{ "insnlen", "instructions of samples are not shown: use sonde annotate" },
	{ "callindent", "it needs AUX traces (Intel PT and others), which are not decoded" },
	{ "ipc", "it needs AUX traces (Intel PT and others), which are not decoded" },
	{ "metric", "metrics of samples are not computed: use sonde stat -M to count them" },
	{ "srccode", "for source text use sonde annotate; srcline shows file and line" },
	{ "bpf-output", "output of BPF programs is not shown: -D prints the bytes" },
};

static const char *why_absent(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		if (strlen(absent[i].word) == len && !strncmp(absent[i].word, word, len))
			return absent[i].why;
	return NULL;
}

static u32 field_of(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == len && !strncmp(words[i].word, word, len))
			return words[i].field;
	return 0;
}

enum { ANY_TYPE = 0xffffffffu };

/* "sw:comm,tid": a list for events of one type. */
static const char *field_list(const char *text, u32 *type)
{
	static const struct {
		const char *prefix;
		u32 type;
	} types[] = {
		{ "hw:", PERF_TYPE_HARDWARE },
		{ "sw:", PERF_TYPE_SOFTWARE },
		{ "trace:", PERF_TYPE_TRACEPOINT },
		{ "raw:", PERF_TYPE_RAW },
	};
	*type = ANY_TYPE;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strncmp(text, types[i].prefix, strlen(types[i].prefix)))
			continue;
		*type = types[i].type;
		return text + strlen(types[i].prefix);
	}
	return text;
}

static const char all_fields[] =
	"comm tid pid time tod cpu event trace ip sym symoff dso addr period weight ins_lat "
	"retire_lat misc flags srcline data_src phys_addr data_page_size code_page_size iregs "
	"uregs "
	"brstack brstacksym brstackoff";

/* "comm,ip" sets, "+pid,-dso" changes. usual: what stands without -F. */
static int parse_fields(const char *text, u32 usual, u32 *ret, struct diag *d)
{
	u32 fields = 0;
	bool changes = *text == '+' || *text == '-';
	if (changes)
		fields = usual;
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ",");
		char sign = *at == '+' || *at == '-' ? *at : 0;
		u32 field = field_of(at + !!sign, len - !!sign);
		if (!field || (sign && !changes)) {
			const char *why = why_absent(at + !!sign, len - !!sign);
			(void)diag_error(d, -EINVAL, "-F: unknown field '%.*s'", (int)len, at);
			diag_span(d, text, (size_t)(at - text), len);
			diag_hint(d, "%s", why ? why : all_fields);
			return -EINVAL;
		}
		fields = sign == '-' ? fields & ~field : fields | field;
		at += len + (at[len] == ',');
	}
	*ret = fields;
	return 0;
}

/* What perf shows of an event of this type, as far as its samples carry it. */
static u32 usual_fields(const struct event_info *a)
{
	u32 fields = TEXT_COMM | TEXT_TID | TEXT_TIME | TEXT_EVENT | TEXT_CPU;
	if (a->type == PERF_TYPE_TRACEPOINT)
		fields |= TEXT_TRACE;
	else
		fields |= TEXT_PERIOD;
	if (a->type != PERF_TYPE_TRACEPOINT || a->sample_type & PERF_SAMPLE_CALLCHAIN)
		fields |= TEXT_IP | TEXT_SYM | TEXT_SYMOFF | TEXT_DSO;
	if (!(a->sample_type & PERF_SAMPLE_CPU))
		fields &= ~(u32)TEXT_CPU;
	if (!(a->sample_type & PERF_SAMPLE_TIME))
		fields &= ~(u32)TEXT_TIME;
	return fields;
}

/* What a sample has to carry for a field that was asked for. */
static const struct {
	u32 field;
	u64 bits; /* one of them; of sample_type */
	const char *record; /* with which option; NULL: */
	enum diag_option option;
} carried[] = {
	{ TEXT_ADDR, PERF_SAMPLE_ADDR, "-d" },
	{ TEXT_DATA_SRC, PERF_SAMPLE_DATA_SRC, "-d" },
	{ TEXT_WEIGHT, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, "-W" },
	{ TEXT_INS_LAT | TEXT_RETIRE_LAT, PERF_SAMPLE_WEIGHT_STRUCT, "-W" },
	{ TEXT_PHYS_ADDR, PERF_SAMPLE_PHYS_ADDR, .option = DIAG_OPT_PHYS_DATA },
	{ TEXT_DATA_PAGE, PERF_SAMPLE_DATA_PAGE_SIZE, .option = DIAG_OPT_DATA_PAGE_SIZE },
	{ TEXT_CODE_PAGE, PERF_SAMPLE_CODE_PAGE_SIZE, .option = DIAG_OPT_CODE_PAGE_SIZE },
	{ TEXT_IREGS, PERF_SAMPLE_REGS_INTR, "-I" },
	{ TEXT_UREGS, PERF_SAMPLE_REGS_USER, .option = DIAG_OPT_USER_REGS },
	{ TEXT_BRANCHES, PERF_SAMPLE_BRANCH_STACK, "-b" },
	{ TEXT_TIME | TEXT_TOD, PERF_SAMPLE_TIME, "-T" },
};

static const char *word_of(u32 field)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].field & field)
			return words[i].word;
	return "?";
}

/* What was asked for and is in no event's samples is an error; where only some have it, the others go without. */
static int check_fields(const struct source *src, u32 asked, u32 *fields, struct diag *d)
{
	const struct catalog *c = &src->catalog;
	u32 found = 0;
	for (size_t e = 0; e < c->events.nr; e++) {
		for (size_t i = 0; i < ARRAY_SIZE(carried); i++) {
			bool has = c->events.at[e].sample_type & carried[i].bits;
			found |= has ? fields[e] & carried[i].field : 0;
			fields[e] &= has ? UINT32_MAX : ~carried[i].field;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(carried) && c->events.nr; i++) {
		u32 missing = asked & carried[i].field & ~found;
		if (!missing)
			continue;
		(void)diag_error(d, -ENODATA, "-F %s: not recorded in the samples",
				 word_of(missing));
		diag_hint(d, "sonde record %s records it",
			  carried[i].record ? carried[i].record : diag_option(d, carried[i].option));
		return -ENODATA;
	}
	if (asked & TEXT_TOD && !source_facts(src).knows_wall) {
		(void)diag_error(d, -ENODATA,
				 "-F tod: the recording has no reference for the time of day");
		diag_hint(d, "record with a kernel clock: sonde record -k mono");
		return -ENODATA;
	}
	return 0;
}

int script_fields_asked(const struct opt_list *lists, u32 *ret, struct diag *d)
{
	u32 asked = 0, fields, type;
	vec_for_each (&lists->items, item) {
		int err = parse_fields(field_list(*item, &type), 0, &fields, d);
		if (err)
			return err;
		asked |= fields;
	}
	*ret = asked;
	return 0;
}

int script_fields(const struct opt_list *lists, const struct source *src, u32 *ret, struct diag *d)
{
	const struct catalog *c = &src->catalog;
	for (size_t i = 0; i < c->events.nr; i++) {
		ret[i] = usual_fields(&c->events.at[i]);
		vec_for_each (&lists->items, item) {
			u32 type;
			const char *list = field_list(*item, &type);
			if (type != ANY_TYPE && type != c->events.at[i].type)
				continue;
			int err = parse_fields(list, ret[i], &ret[i], NULL);
			if (err)
				return err;
		}
	}
	u32 asked;
	int err = script_fields_asked(lists, &asked, NULL);
	return err || source_facts(src).kind != SOURCE_PERF ? err : check_fields(src, asked, ret, d);
}

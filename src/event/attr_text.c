#include "event/attr_text.h"

struct attr_text_line {
	struct strbuf *to;
	const char *separator;
	const char *is;
};

static void field(struct attr_text_line *l, const char *name)
{
	strbuf_printf(l->to, "%s %s%s", l->separator, name, l->is);
	l->separator = ",";
}

static void number(struct attr_text_line *l, const char *name, u64 v)
{
	if (!v)
		return;
	field(l, name);
	strbuf_u64(l->to, v);
}

static void hex(struct attr_text_line *l, const char *name, u64 v)
{
	if (!v)
		return;
	field(l, name);
	strbuf_str(l->to, "0x");
	strbuf_hex(l->to, v);
}

struct bit_name {
	u64 bit;
	const char *name;
};

static void bits(struct attr_text_line *l, const char *name, u64 v, const struct bit_name *names,
		 size_t nr)
{
	bool any = false;
	if (!v)
		return;
	field(l, name);
	for (size_t i = 0; i < nr; i++) {
		if (!(v & names[i].bit))
			continue;
		if (any)
			strbuf_char(l->to, '|');
		strbuf_str(l->to, names[i].name);
		any = true;
	}
}

#define BIT_NAME(prefix, name)                                                                     \
	{                                                                                          \
		prefix##name, #name                                                                \
	}

static const struct bit_name sample_bits[] = {
#define S(name) BIT_NAME(PERF_SAMPLE_, name)
	S(IP),
	S(TID),
	S(TIME),
	S(ADDR),
	S(READ),
	S(CALLCHAIN),
	S(ID),
	S(CPU),
	S(PERIOD),
	S(STREAM_ID),
	S(RAW),
	S(BRANCH_STACK),
	S(REGS_USER),
	S(STACK_USER),
	S(IDENTIFIER),
	S(REGS_INTR),
	S(DATA_SRC),
	S(WEIGHT),
	S(PHYS_ADDR),
	S(AUX),
	S(CGROUP),
	S(DATA_PAGE_SIZE),
	S(CODE_PAGE_SIZE),
	S(WEIGHT_STRUCT),
#undef S
};

static const struct bit_name read_bits[] = {
#define R(name) BIT_NAME(PERF_FORMAT_, name)
	R(TOTAL_TIME_ENABLED), R(TOTAL_TIME_RUNNING), R(ID), R(GROUP), { 1 << 4, "LOST" },
#undef R
};

static const struct bit_name branch_bits[] = {
#define B(name) BIT_NAME(PERF_SAMPLE_BRANCH_, name)
	B(USER),
	B(KERNEL),
	B(HV),
	B(ANY),
	B(ANY_CALL),
	B(ANY_RETURN),
	B(IND_CALL),
	B(ABORT_TX),
	B(IN_TX),
	B(NO_TX),
	B(COND),
	B(CALL_STACK),
	B(IND_JUMP),
	B(CALL),
	B(NO_FLAGS),
	B(NO_CYCLES),
	B(TYPE_SAVE),
	B(HW_INDEX),
	{ 1 << 18, "PRIV_SAVE" },
#undef B
};

/* Newer than the uapi header of the reference system. */
enum { FLAG_INHERIT_THREAD = 35, FLAG_REMOVE_ON_EXEC = 36, FLAG_SIGTRAP = 37 };

static u64 flag_word(const struct perf_event_attr *a)
{
	u64 v;
	memcpy(&v, (const char *)a + offsetof(struct perf_event_attr, read_format) + 8, sizeof(v));
	return v;
}

static void flags(struct attr_text_line *l, const struct perf_event_attr *a)
{
#define FLAG(name) number(l, #name, a->name)
	FLAG(disabled);
	FLAG(inherit);
	FLAG(pinned);
	FLAG(exclusive);
	FLAG(exclude_user);
	FLAG(exclude_kernel);
	FLAG(exclude_hv);
	FLAG(exclude_idle);
	FLAG(mmap);
	FLAG(comm);
	FLAG(freq);
	FLAG(inherit_stat);
	FLAG(enable_on_exec);
	FLAG(task);
	FLAG(watermark);
	FLAG(precise_ip);
	FLAG(mmap_data);
	FLAG(sample_id_all);
	FLAG(exclude_host);
	FLAG(exclude_guest);
	FLAG(exclude_callchain_kernel);
	FLAG(exclude_callchain_user);
	FLAG(mmap2);
	FLAG(comm_exec);
	FLAG(use_clockid);
	FLAG(context_switch);
	FLAG(write_backward);
	FLAG(namespaces);
	FLAG(ksymbol);
	FLAG(bpf_event);
	FLAG(aux_output);
	FLAG(cgroup);
	FLAG(text_poke);
	FLAG(build_id);
#undef FLAG
	u64 word = flag_word(a);
	number(l, "inherit_thread", word >> FLAG_INHERIT_THREAD & 1);
	number(l, "remove_on_exec", word >> FLAG_REMOVE_ON_EXEC & 1);
	number(l, "sigtrap", word >> FLAG_SIGTRAP & 1);
}

void attr_text(const struct perf_event_attr *a, const char *first, const char *is, struct strbuf *to)
{
	struct attr_text_line l = { .to = to, .separator = first, .is = is };
	number(&l, "type", a->type);
	number(&l, "size", a->size);
	hex(&l, "config", a->config);
	number(&l, "{ sample_period, sample_freq }", a->sample_period);
	bits(&l, "sample_type", a->sample_type, sample_bits, ARRAY_SIZE(sample_bits));
	bits(&l, "read_format", a->read_format, read_bits, ARRAY_SIZE(read_bits));
	flags(&l, a);
	number(&l, "{ wakeup_events, wakeup_watermark }", a->wakeup_events);
	number(&l, "bp_type", a->bp_type);
	hex(&l, "{ bp_addr, config1 }", a->config1);
	hex(&l, "{ bp_len, config2 }", a->config2);
	bits(&l, "branch_sample_type", a->branch_sample_type, branch_bits, ARRAY_SIZE(branch_bits));
	hex(&l, "sample_regs_user", a->sample_regs_user);
	number(&l, "sample_stack_user", a->sample_stack_user);
	if (a->clockid) {
		field(&l, "clockid");
		strbuf_s64(to, a->clockid);
	}
	hex(&l, "sample_regs_intr", a->sample_regs_intr);
	number(&l, "aux_watermark", a->aux_watermark);
	number(&l, "sample_max_stack", a->sample_max_stack);
	number(&l, "aux_sample_size", a->aux_sample_size);
	number(&l, "sig_data", a->sig_data);
}

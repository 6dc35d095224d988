/*
 * libpfm is loaded when a name is asked for: its tables are 60,000 pointers that the loader would set right at every start of
 * the program, a third of what `stat -- true` costs. Nothing is kept here: loading it again only counts.
 */
#include "event/vendor.h"
#include "base/library.h"

#include <errno.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <string.h>
#include <strings.h>

struct library {
	__typeof__(&pfm_initialize) initialize;
	__typeof__(&pfm_strerror) strerror;
	__typeof__(&pfm_get_os_event_encoding) get_os_event_encoding;
	__typeof__(&pfm_get_pmu_info) get_pmu_info;
	__typeof__(&pfm_get_event_next) get_event_next;
	__typeof__(&pfm_get_event_info) get_event_info;
	__typeof__(&pfm_get_event_attr_info) get_event_attr_info;
};

/* Loads and initialises at the first call; later ones are cheap. */
static bool library_ready(struct library *l)
{
	static const char *const names[] = {
		"pfm_initialize",	   "pfm_strerror",	 "pfm_get_os_event_encoding",
		"pfm_get_pmu_info",	   "pfm_get_event_next", "pfm_get_event_info",
		"pfm_get_event_attr_info",
	};
	return LIBRARY_LOAD("libpfm.so.4", names, l) && l->initialize() == PFM_SUCCESS;
}

static int encode(const struct library *l, const char *name, struct perf_event_attr *attr)
{
	struct perf_event_attr tmp = { .size = sizeof(tmp) };
	pfm_perf_encode_arg_t arg = { .attr = &tmp, .size = sizeof(arg) };
	int r = l->get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
	/* Where debugfs is mounted libpfm has the tracepoints of this machine too: those are not its to name. */
	if (r == PFM_SUCCESS && tmp.type == PERF_TYPE_TRACEPOINT)
		return PFM_ERR_NOTFOUND;
	if (r == PFM_SUCCESS)
		*attr = tmp;
	return r;
}

/* Vendors' names with dots are libpfm's with colons, or (BR_INST_RETIRED_MISPRED) with an underscore. */
static int encode_dotted(const struct library *l, const char *name, char instead,
			 struct perf_event_attr *attr)
{
	char buf[256];
	size_t len = strlen(name);
	if (len >= sizeof(buf))
		return PFM_ERR_NOTFOUND;
	memcpy(buf, name, len + 1);
	for (char *c = buf; (c = strchr(c, '.'));)
		*c = instead;
	return encode(l, buf, attr);
}

/* Intel's fixed counters have names in perf's tables that libpfm spells in its own way. */
static int encode_fixed(const struct library *l, const char *name, struct perf_event_attr *attr,
			int r)
{
	static const char *const fixed[][2] = {
		{ "inst_retired.any", "INSTRUCTION_RETIRED" },
		{ "cpu_clk_unhalted.thread", "UNHALTED_CORE_CYCLES" },
		{ "cpu_clk_unhalted.core", "UNHALTED_CORE_CYCLES" },
		{ "cpu_clk_unhalted.ref_tsc", "UNHALTED_REFERENCE_CYCLES" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (!strcasecmp(name, fixed[i][0]))
			return encode(l, fixed[i][1], attr);
	return r;
}

int vendor_encode(const char *name, struct perf_event_attr *attr, const char **why)
{
	struct library l;
	if (!library_ready(&l))
		return -EOPNOTSUPP;
	struct perf_event_attr got = { 0 };
	int r = encode(&l, name, &got);
	if (r == PFM_ERR_NOTFOUND && strchr(name, '.'))
		r = encode_dotted(&l, name, ':', &got);
	if (r == PFM_ERR_ATTR && strchr(name, '.') && !encode_dotted(&l, name, '_', &got))
		r = PFM_SUCCESS;
	if (r == PFM_ERR_NOTFOUND || r == PFM_ERR_ATTR)
		r = encode_fixed(&l, name, &got, r);
	/* Where debugfs has tracefs, libpfm takes tracepoints (and a system's name alone) from the running kernel: those are ours. */
	if (r == PFM_SUCCESS && got.type == PERF_TYPE_TRACEPOINT)
		r = PFM_ERR_NOTFOUND;
	if (r == PFM_ERR_NOTFOUND || r == PFM_ERR_INVAL)
		return -ENOENT;
	if (r == PFM_ERR_NOTSUPP || r == PFM_ERR_NOINIT)
		return -EOPNOTSUPP;
	if (r == PFM_ERR_NOMEM)
		return -ENOMEM;
	if (r != PFM_SUCCESS) {
		*why = l.strerror(r);
		return -EINVAL;
	}
	attr->type = got.type;
	attr->config = got.config;
	attr->config1 = got.config1;
	attr->config2 = got.config2;
	attr->exclude_user = got.exclude_user;
	attr->exclude_kernel = got.exclude_kernel;
	attr->exclude_hv = got.exclude_hv;
	attr->exclude_guest = got.exclude_guest;
	attr->exclude_host = got.exclude_host;
	attr->precise_ip = got.precise_ip;
	attr->pinned = got.pinned;
	attr->exclusive = got.exclusive;
	if (got.sample_period) {
		attr->sample_period = got.sample_period;
		attr->freq = got.freq;
	}
	return 0;
}

static const char *attr_type_name(pfm_attr_t type)
{
	return type == PFM_ATTR_MOD_BOOL      ? "boolean"
	       : type == PFM_ATTR_MOD_INTEGER ? "integer"
					      : "umask";
}

static enum vendor_speculative speculative_of(unsigned int pfm)
{
	return pfm == PFM_EVENT_INFO_SPEC_TRUE	  ? VENDOR_SPECULATIVE
	       : pfm == PFM_EVENT_INFO_SPEC_FALSE ? VENDOR_NOT_SPECULATIVE
						  : VENDOR_SPECULATIVE_UNKNOWN;
}

/* Of an event or an attribute: libpfm has two types with the same members. */
#define FLAGS_OF(info)                                                                             \
	{                                                                                          \
		.precise = (info).is_precise, .hw_smpl = (info).support_hw_smpl,                   \
		.speculative = speculative_of((info).is_speculative)                               \
	}

static int fill_attrs(const struct library *l, struct arena *a, const pfm_event_info_t *info,
		      struct vendor_event *e)
{
	struct vendor_attr *attrs = arena_array(a, (size_t)info->nattrs + 1, sizeof(*attrs));
	if (!attrs)
		return -ENOMEM;
	for (int i = 0; i < info->nattrs; i++) {
		pfm_event_attr_info_t ai = { .size = sizeof(ai) };
		if (l->get_event_attr_info(info->idx, i, PFM_OS_NONE, &ai) != PFM_SUCCESS)
			continue;
		struct vendor_attr *to = &attrs[e->nr_attrs++];
		*to = (struct vendor_attr){
			.name = ai.name,
			.about = ai.desc ? ai.desc : "",
			.equiv = ai.equiv,
			.code = ai.code,
			.is_umask = ai.type == PFM_ATTR_UMASK,
			.is_default = ai.is_dfl,
			.flags = FLAGS_OF(ai),
			.type = attr_type_name(ai.type),
		};
	}
	e->attrs = attrs;
	return 0;
}

static int each_of_pmu(const struct library *l, const pfm_pmu_info_t *pi,
		       int (*fn)(void *, const struct vendor_event *), void *ctx)
{
	struct arena a;
	int r = 0;
	for (int i = pi->first_event; i != -1 && r >= 0; i = l->get_event_next(i)) {
		pfm_event_info_t info = { .size = sizeof(info) };
		if (l->get_event_info(i, PFM_OS_NONE, &info) != PFM_SUCCESS)
			continue;
		struct vendor_event e = {
			.idx = info.idx,
			.pmu = pi->name,
			.pmu_about = pi->desc,
			.name = info.name,
			.equiv = info.equiv,
			.about = info.desc ? info.desc : "",
			.code = info.code,
			.active = pi->is_present,
			.flags = FLAGS_OF(info),
		};
		arena_init(&a);
		r = fill_attrs(l, &a, &info, &e);
		if (r == 0)
			r = fn(ctx, &e);
		arena_done(&a);
	}
	return r;
}

int vendor_each(bool all, int (*fn)(void *ctx, const struct vendor_event *e), void *ctx)
{
	struct library l;
	if (!library_ready(&l))
		return -EOPNOTSUPP;
	for (pfm_pmu_t p = PFM_PMU_NONE; p < PFM_PMU_MAX; p++) {
		pfm_pmu_info_t pi = { .size = sizeof(pi) };
		/* The kernel's own names (perf, perf_raw) are the legacy tables here. */
		if (l.get_pmu_info(p, &pi) != PFM_SUCCESS || pi.first_event == -1 || !pi.name ||
		    !strcmp(pi.name, "perf") || !strcmp(pi.name, "perf_raw"))
			continue;
		if (!all && !pi.is_present)
			continue;
		int r = each_of_pmu(&l, &pi, fn, ctx);
		if (r < 0)
			return r;
	}
	return 0;
}

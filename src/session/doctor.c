#include "session/doctor.h"

#include "base/strbuf.h"

#include <stdarg.h>

const char *finding_word(enum finding_state state)
{
	static const char *const words[] = {
		[FINDING_OK] = "ok",
		[FINDING_LIMITED] = "limited",
		[FINDING_MISSING] = "missing",
	};
	return words[state];
}

static printf_like(2, 0) const char *format(struct doctor *d, const char *fmt, va_list ap)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_vprintf(&s, fmt, ap);
	const char *text = arena_strdup(&d->arena, strbuf_cstr(&s));
	if (!text || s.err)
		d->no_memory = true;
	strbuf_done(&s);
	return text ? text : "";
}

void doctor_add(struct doctor *d, const char *section, const char *name, enum finding_state state,
		const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const char *value = format(d, fmt, ap);
	va_end(ap);
	const char *kept = arena_strdup(&d->arena, name);
	struct finding *f = kept ? vec_push(&d->findings) : NULL;
	if (!f) {
		d->no_memory = true;
		return;
	}
	*f = (struct finding){ .section = section, .name = kept, .state = state, .value = value };
}

#define COMPLETE(d, field, fmt)                                                                    \
	do {                                                                                       \
		va_list ap_;                                                                       \
		va_start(ap_, fmt);                                                                \
		const char *text_ = format(d, fmt, ap_);                                           \
		va_end(ap_);                                                                       \
		if (!(d)->no_memory)                                                               \
			(d)->findings.at[(d)->findings.nr - 1].field = text_;                      \
	} while (0)

void doctor_costs(struct doctor *d, const char *fmt, ...)
{
	COMPLETE(d, costs, fmt);
}

void doctor_fix(struct doctor *d, const char *fmt, ...)
{
	COMPLETE(d, fix, fmt);
}

void doctor_needs(struct doctor *d, const char *fmt, ...)
{
	COMPLETE(d, needs, fmt);
}

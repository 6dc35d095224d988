#include "bpf/refusal.h"

#include "base/str.h"
#include "bpf/load.h"

#include <ctype.h>
#include <errno.h>

/* "12: (85) call bpf_loop#181" */
static bool is_instruction(const char *line, s64 *number)
{
	char *end;
	if (!isdigit((unsigned char)*line))
		return false;
	*number = strtoll(line, &end, 10);
	return end[0] == ':' && end[1] == ' ' && end[2] == '(';
}

/* Lines that say nothing about the reason: states of registers, comments on the walk, statistics. */
static bool is_noise(const char *line, size_t len)
{
	static const char *const starts[] = {
		"processed ",	"verification time ", "stack depth ", "; ",
		"from ",	"last_idx ",	      "regs=",	      "parent ",
		"mark_precise", "peak_states",	      "max_states",   "func#",
		"arg#",		"cur state:",	      "old state:"
	};
	if (!len)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (str_starts(line, starts[i]))
			return true;
	/* "R0=... R1=ctx()" and "12: R1=..." */
	const char *p = line;
	while (isdigit((unsigned char)*p))
		p++;
	if (p > line && *p == ':')
		return true;
	return line[0] == 'R' && isdigit((unsigned char)line[1]) &&
	       (line[2] == '=' || line[2] == '_' ||
		(isdigit((unsigned char)line[2]) && line[3] == '='));
}

struct refusal refusal_parse(const char *log)
{
	struct refusal r = { .insn = -1 };
	for (const char *p = log; p && *p;) {
		size_t len = strcspn(p, "\n");
		s64 number;
		if (is_instruction(p, &number))
			r.insn = number;
		else if (!is_noise(p, len)) {
			r.reason = p;
			r.reason_len = len;
		}
		p += len + (p[len] == '\n');
	}
	return r;
}

/* Words of the verifier that people meet, and what they mean for a script. */
static const struct {
	const char *part, *means, *hint;
} known[] = {
	{ "BPF program is too large", "the program is too long for the verifier",
	  "loop fewer times, or split the work over several probes" },
	{ "The sequence of", "too many conditions in a row: the verifier gave up",
	  "use fewer nested if statements or loops" },
	{ "combined stack size", "too many large values at once", NULL },
	{ "unknown func", "this kernel lacks a helper function that it needs",
	  "'sonde doctor' shows what this kernel has" },
	{ "program of this type cannot use helper",
	  "a function used there is not available in probes of this kind", NULL },
	{ "infinite loop detected", "the verifier cannot see that a loop ends",
	  "count its rounds: while ($i++ < 1000 && ...)" },
	{ "back-edge from insn", "the verifier cannot see that a loop ends",
	  "count its rounds: while ($i++ < 1000 && ...)" },
	{ "is not a function", "there is no such function in the kernel's types", NULL },
	{ "attach_btf_id", "this function cannot be traced by fentry or fexit", NULL },
	{ "invalid bpf_context access", "this field is not available in the probe", NULL },
};

int refusal_explain(const struct refusal_place *at, int err, const char *log, struct diag *d)
{
	struct refusal r = refusal_parse(log);
	const char *means = NULL, *hint = NULL;
	for (size_t i = 0; r.reason && i < ARRAY_SIZE(known); i++)
		if (memmem(r.reason, r.reason_len, known[i].part, strlen(known[i].part))) {
			means = known[i].means;
			hint = known[i].hint;
			break;
		}
	const char *name = at->probe->text;
	if (means)
		diag_error(d, err, "the kernel refuses the program for %s: %s (\"%.*s\")", name,
			   means, (int)r.reason_len, r.reason);
	else if (r.reason)
		diag_error(d, err, "the kernel refuses the program for %s: \"%.*s\"", name,
			   (int)r.reason_len, r.reason);
	else
		diag_error(d, err, "the kernel refuses the program for %s: %s", name,
			   strerror(-err));
	u32 start = at->probe->span_start, len = at->probe->span_len;
	s64 insn = r.insn - (s64)at->shift;
	if (insn >= 0 && insn < at->code->nr && at->code->spans &&
	    at->code->spans[insn] != UINT32_MAX) {
		start = at->code->spans[insn];
		len = 1;
	}
	script_span(d, at->script, start, len);
	if (hint)
		diag_hint(d, "%s", hint);
	else if (r.reason)
		diag_hint(d, "-v shows all that the verifier says");
	return err;
}

/*
 * An event's `print fmt`, compiled once into a small program of literals, loads, tables and conversions, and run per event
 * without parsing, allocation or printf. What the compiler does not understand prints by field, as libtraceevent does
 * ("[FAILED TO PARSE] a=1 b=2").
 *
 * A program is constant after compilation: any number of threads may run it.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "model/schema.h"

/* What a program asks for while it prints. All functions may be NULL and may return NULL (not known). Borrowed. */
struct print_env {
	void *ctx;
	/* The function that holds addr; *offset from its start. */
	const char *(*symbol)(void *ctx, u64 addr, u64 *offset);
	/* The string at a kernel address (printk_formats: trace_printk format texts and tracepoint_string). */
	const char *(*string_at)(void *ctx, u64 addr);
	/* The name of a task. */
	const char *(*comm)(void *ctx, s32 pid);
	/* Enum and macro names that the kernel left in the text, "name value" (eval_map); NULL mostly: kernels replace them. */
	bool (*eval)(void *ctx, const char *name, size_t len, s64 *value);
};

struct print_prog;

/* How the text should look. */
enum print_style {
	PRINT_STYLE_KERNEL, /* the print fmt, as libtraceevent 1.7 without plug-ins prints it */
	PRINT_STYLE_TRACE_CMD, /* with the layouts of trace-cmd 3.1.6's plug-ins (sched_switch, sched_wakeup, kmem, hrtimer ...) */
};

/*
 * Compiles s->print_fmt. Always yields a program unless memory is out: *whole tells whether the text was understood (false:
 * it prints by field). env must outlive the program.
 */
int print_prog_compile(struct arena *a, const struct schema *s, const struct print_env *env,
		       enum print_style style, const struct print_prog **ret, bool *whole,
		       struct diag *d) must_check;

int print_prog_run(const struct print_prog *p, const void *raw, u32 size, struct strbuf *to);
/*
 * " name=value" for each field as `trace-cmd report -R` prints them: a field that the print fmt shows, is shown the same way
 * (hex, decimal, a function's name), the others by their type.
 */
int print_prog_run_fields(const struct print_prog *p, const void *raw, u32 size, struct strbuf *to);
/* The same without a program: every field by its type. */
int print_fields(const struct schema *s, const struct print_env *env, const void *raw, u32 size,
		 struct strbuf *to);

/* Compiles and sets s->ops and s->impl, so that views can print the schema without knowing this module. */
int print_attach(struct arena *a, struct schema *s, const struct print_env *env,
		 enum print_style style, struct diag *d) must_check;

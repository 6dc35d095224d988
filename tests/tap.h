/* TAP for C tests: ok(), is_u64(), is_str(); end main with `return done_testing();`. */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((unused, format(printf, 2, 3))) static bool ok(bool good, const char *fmt, ...)
{
	va_list ap;
	__builtin_va_start(ap, fmt);
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	printf("\n");
	__builtin_va_end(ap);
	tap_failed += !good;
	fflush(stdout);
	return good;
}

__attribute__((unused)) static bool is_u64(uint64_t got, uint64_t want, const char *what)
{
	bool good = ok(got == want, "%s", what);
	if (!good)
		printf("#   got  %" PRIu64 " (0x%" PRIx64 ")\n#   want %" PRIu64 " (0x%" PRIx64
		       ")\n",
		       got, got, want, want);
	return good;
}

__attribute__((unused)) static bool is_str(const char *got, const char *want, const char *what)
{
	bool good = ok(got && want && !strcmp(got, want), "%s", what);
	if (!good)
		printf("#   got  '%s'\n#   want '%s'\n", got ? got : "(null)",
		       want ? want : "(null)");
	return good;
}

__attribute__((unused)) static void skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
}

__attribute__((unused)) static int done_testing(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

/* The kernel's table of functions: parsed, and added up over CPUs as if there had been one. */
#include "analysis/func_stat.h"
#include "tap.h"

#include <math.h>

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fmax(1, fabs(b));
}

static const char head[] =
	"  Function                               Hit    Time            Avg             s^2\n"
	"  --------                               ---    ----            ---             ---\n";

int main(void)
{
	struct func_stat *f = func_stat_new(NULL, NULL);
	struct strbuf text;
	size_t nr;
	/* One CPU saw 1, 2 and 3 us, the other 10 and 20. */
	strbuf_init(&text);
	strbuf_printf(
		&text, "%s  vfs_read                               3    6.000 us        2.000 us        1.000 us\n",
		head);
	strbuf_str(&text, "  schedule                               1    500.000 us      500.000 "
			  "us      0.000 us\n");
	ok(!func_stat_parse(f, strbuf_cstr(&text)), "the table of one CPU");
	strbuf_reset(&text);
	strbuf_printf(
		&text, "%s  vfs_read                               2    30.000 us       15.000 us       50.000 us\n",
		head);
	strbuf_str(&text, "nonsense\n\n  never 0 1 us 1 us 1 us\n");
	ok(!func_stat_parse(f, strbuf_cstr(&text)), "and of another");
	const struct func_stat_row *r = func_stat_rows(f, &nr);
	is_u64(nr, 2, "two functions");
	is_str(r[0].name, "schedule", "most time first");
	is_str(r[1].name, "vfs_read", "then the other");
	is_u64(r[1].hits, 5, "hits of both CPUs");
	ok(near(r[1].time_us, 36), "time of both CPUs");
	/* 1 2 3 10 20: mean 7.2, squares of the differences 254.8 */
	ok(near(func_stat_variance(&r[1]), 254.8 / 4), "the variance is that of all calls");
	ok(near(func_stat_variance(&r[0]), 0), "one call has none");
	strbuf_done(&text);
	func_stat_free(f);
	f = func_stat_new(NULL, NULL);
	ok(!func_stat_parse(f,
			    "  Function                               Hit\n  --------              "
			    "                 ---\n  kfree                                  7\n"),
	   "a kernel that does not measure times");
	r = func_stat_rows(f, &nr);
	ok(nr == 1 && r[0].hits == 7, "tells hits");
	func_stat_free(f);
	return done_testing();
}

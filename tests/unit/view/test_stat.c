/* The layouts of `stat` to the byte: widths, digit groups, shares, noise, ratios below their row. */
#include "tap.h"
#include "view/csv_stat.h"
#include "view/json_stat.h"
#include "view/text_stat.h"

static const struct stat_event events[] = {
	{ .name = "task-clock", .unit = "msec", .scale = 1e-6 },
	{ .name = "instructions", .unit = "", .scale = 1 },
	{ .name = "energy", .unit = "Joules", .scale = 0.25 },
	{ .name = "cycles", .unit = "", .scale = 1, .cgroup = "a/b" },
	{ .name = "a\"b", .unit = "", .scale = 1 },
};

static const struct stat_key keys[] = {
	{ .cpu = 3, .socket = 1, .die = 0, .core = 12, .node = 1, .tid = 77, .comm = "sh" }
};

enum { UNITS_SHORT = 2 };

static struct stat_head head(enum stat_by by)
{
	return (struct stat_head){ .by = by,
				   .events = events,
				   .nr_events = UNITS_SHORT,
				   .keys = keys,
				   .nr_keys = 1,
				   .nr_runs = 1 };
}

static struct stat_row *add_row(struct stat_rows *rows, u32 event, double value)
{
	struct stat_row *r = vec_push(&rows->rows);
	*r = (struct stat_row){ .event = event,
				.value = value,
				.enabled_ns = 1e6,
				.running_ns = 1e6,
				.nr_places = 4,
				.first_ratio = (u32)rows->ratios.nr };
	return r;
}

static void add_ratio(struct stat_rows *rows, struct stat_row *r, const char *format,
		      const char *unit, double value)
{
	struct stat_ratio *x = vec_push(&rows->ratios);
	*x = (struct stat_ratio){
		.format = format, .unit = unit, .value = value, .shown = true, .new_line = r->nr_ratios
	};
	r->nr_ratios++;
}

struct out {
	struct strbuf buf;
	struct stat_view view;
	struct stat_rows rows;
};

static void out_init(struct out *o)
{
	*o = (struct out){ 0 };
	strbuf_init(&o->buf);
	o->view = (struct stat_view){ .to = &o->buf, .separator = "," };
}

static void out_is(struct out *o, const char *want, const char *what)
{
	is_str(strbuf_cstr(&o->buf), want, what);
	strbuf_done(&o->buf);
	vec_free(&o->rows.rows);
	vec_free(&o->rows.ratios);
}

static void test_text(void)
{
	struct out o;
	struct stat_head h = head(STAT_BY_ALL);
	out_init(&o);
	add_ratio(&o.rows, add_row(&o.rows, 0, 0.4837), "%8.3f", "CPUs utilized", 0.0644);
	text_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "              0.48 msec task-clock                       #    0.064 CPUs utilized  "
	       "        \n",
	       "a clock with its ratio");

	out_init(&o);
	add_row(&o.rows, 1, 1234567);
	text_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "           1234567      instructions                                               "
	       "        \n",
	       "no ratio, no groups of digits without a locale");

	out_init(&o);
	add_row(&o.rows, 1, -1234);
	text_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "             -1234      instructions                                               "
	       "        \n",
	       "a difference that is negative");

	out_init(&o);
	o.view.digits = (struct stat_digits){ ",", "\3\3", "." };
	add_row(&o.rows, 1, 1234567);
	add_row(&o.rows, 1, 999);
	add_row(&o.rows, 0, 1234.5);
	text_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "         1,234,567      instructions                                               "
	       "        \n"
	       "               999      instructions                                               "
	       "        \n"
	       "          1,234.50 msec task-clock                                                 "
	       "        \n",
	       "groups of three");

	out_init(&o);
	o.view.digits = (struct stat_digits){ "\xe2\x80\xaf", "\3\2", "," };
	add_ratio(&o.rows, add_row(&o.rows, 1, 123456789), "%7.2f ", "insn per cycle", 1.5);
	text_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "      12\xe2\x80\xaf"
	       "34\xe2\x80\xaf"
	       "56\xe2\x80\xaf"
	       "789      instructions                     #    1,50  insn per cycle         \n",
	       "groups of three and two, by a narrow blank; a decimal comma");

	out_init(&o);
	struct stat_row *r = add_row(&o.rows, 1, 80000);
	r->running_ns = 583333;
	r->noise = 2.5;
	h.nr_runs = 3;
	add_ratio(&o.rows, r, "%7.2f ", "insn per cycle", 2.82);
	add_ratio(&o.rows, r, "%7.2f ", "stalled cycles per insn", 4.88);
	text_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "             80000      instructions                     #    2.82  insn per cycle "
	       "        \n"
	       "                                                  #    4.88  stalled cycles per "
	       "insn  ( +-  2.50% )  (58.33%)\n",
	       "a second ratio below, noise and share behind the last");

	out_init(&o);
	h.nr_runs = 1;
	add_row(&o.rows, 1, 0)->state = STAT_NOT_SUPPORTED;
	r = add_row(&o.rows, 1, 0);
	r->state = STAT_NOT_COUNTED;
	r->running_ns = 0;
	text_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "   <not supported>      instructions                                               "
	       " \n"
	       "     <not counted>      instructions                                               "
	       "   (0.00%)\n",
	       "what was not counted");

	out_init(&o);
	h.nr_events = 4;
	add_row(&o.rows, 2, 12.345);
	add_row(&o.rows, 3, 7);
	text_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "             12.35 Joules energy                                                   "
	       "          \n"
	       "                 7        cycles                           a/b                     "
	       "              \n",
	       "a long unit widens the column; a cgroup stands behind the name");
}

static void test_keys(void)
{
	static const struct {
		enum stat_by by;
		const char *text, *csv, *json;
	} rows[] = {
		{ STAT_BY_CPU, "CPU3       ", "CPU3,", "{\"cpu\" : \"3\", " },
		{ STAT_BY_CORE, "S1-D0-C12          4 ", "S1-D0-C12,4,",
		  "{\"core\" : \"S1-D0-C12\", \"aggregate-number\" : 4, " },
		{ STAT_BY_DIE, "S1-D0           4 ", "S1-D0,4,",
		  "{\"die\" : \"S1-D0\", \"aggregate-number\" : 4, " },
		{ STAT_BY_SOCKET, "S1        4 ", "S1,4,",
		  "{\"socket\" : \"S1\", \"aggregate-number\" : 4, " },
		{ STAT_BY_NODE, "N1        4 ", "N1,4,",
		  "{\"node\" : \"N1\", \"aggregate-number\" : 4, " },
		{ STAT_BY_THREAD, "              sh-77       ", "sh-77,",
		  "{\"thread\" : \"sh-77\", " },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out o;
		char want[512];
		struct stat_head h = head(rows[i].by);
		out_init(&o);
		add_row(&o.rows, 1, 5);
		text_stat_rows(&o.view, &h, &o.rows);
		snprintf(want, sizeof(want),
			 "%s                 5      instructions                                   "
			 "                    \n",
			 rows[i].text);
		out_is(&o, want, rows[i].csv);
		out_init(&o);
		add_row(&o.rows, 1, 5);
		csv_stat_rows(&o.view, &h, &o.rows);
		snprintf(want, sizeof(want), "%s5,,instructions,1000000,100.00,,\n", rows[i].csv);
		out_is(&o, want, rows[i].csv);
		out_init(&o);
		add_row(&o.rows, 1, 5);
		json_stat_rows(&o.view, &h, &o.rows);
		snprintf(want, sizeof(want),
			 "%s\"counter-value\" : \"5.000000\", \"unit\" : \"\", \"event\" : "
			 "\"instructions\", "
			 "\"event-runtime\" : 1000000, \"pcnt-running\" : 100.00, \"metric-value\" "
			 ": 0.000000, \"metric-unit\" : \"\"}\n",
			 rows[i].json);
		out_is(&o, want, rows[i].csv);
	}
}

static void test_csv_json(void)
{
	struct out o;
	struct stat_head h = head(STAT_BY_ALL);
	h.nr_events = ARRAY_SIZE(events);
	h.interval = true;
	h.time_ns = 1050000001;
	out_init(&o);
	struct stat_row *r = add_row(&o.rows, 3, 7);
	r->running_ns = 250000;
	add_ratio(&o.rows, r, "%7.2f%%", "of all branches", 12.345);
	add_ratio(&o.rows, r, "%7.2f ", "stalled cycles per insn", 0.5);
	csv_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "     1.050000001,7,,cycles,a/b,250000,25.00,12.35,of all branches\n"
	       "     1.050000001,,,,,,0.50,stalled cycles per insn\n",
	       "CSV: time, cgroup, share, ratios");

	out_init(&o);
	h.summary = true;
	h.nr_runs = 2;
	r = add_row(&o.rows, 0, 0.456);
	r->noise = 3.859;
	csv_stat_rows(&o.view, &h, &o.rows);
	out_is(&o, "         summary,0.46,msec,task-clock,3.86%,1000000,100.00,,\n",
	       "CSV: summary and noise");

	out_init(&o);
	h.summary = false;
	add_row(&o.rows, 4, 1);
	json_stat_rows(&o.view, &h, &o.rows);
	out_is(&o,
	       "{\"interval\" : 1.050000001, \"counter-value\" : \"1.000000\", \"unit\" : \"\", "
	       "\"event\" : \"a\\\"b\", "
	       "\"variance\" : 0.00, \"event-runtime\" : 1000000, \"pcnt-running\" : 100.00, "
	       "\"metric-value\" : 0.000000, "
	       "\"metric-unit\" : \"\"}\n",
	       "JSON: a quote in a name is escaped");
}

static void test_columns(void)
{
	struct stat_head h = head(STAT_BY_CPU);
	struct out o;
	h.ratios_only = true;
	for (int format = 0; format < 3; format++) {
		out_init(&o);
		add_ratio(&o.rows, add_row(&o.rows, 0, 1), "%8.3f", "GHz", 0.997);
		add_ratio(&o.rows, add_row(&o.rows, 1, 1), "%7.2f%%", "of all branches", 12.5);
		if (format == 0) {
			text_stat_columns(&o.view, &h, &o.rows);
			text_stat_rows(&o.view, &h, &o.rows);
			out_is(&o,
			       "CPU                         GHz instructions of all branches \n"
			       "CPU3                      0.997                       12.50% \n",
			       "--metric-only as text");
		} else if (format == 1) {
			csv_stat_columns(&o.view, &h, &o.rows);
			csv_stat_rows(&o.view, &h, &o.rows);
			out_is(&o, "cpu,GHz,instructions of all branches,\nCPU3,0.997,12.50,\n",
			       "as CSV");
		} else {
			json_stat_rows(&o.view, &h, &o.rows);
			out_is(&o,
			       "{\"cpu\" : \"3\", \"GHz\" : \"0.997\", \"instructions of all "
			       "branches\" : \"12.50\"}\n",
			       "as JSON");
		}
	}
}

static void test_times(void)
{
	struct out o;
	out_init(&o);
	text_stat_title(&o.view, "'true'", 1);
	text_stat_times(&o.view, &(struct stat_times){ .nr_runs = 1,
						       .mean_s = 0.007504707,
						       .has_usage = true,
						       .user_s = 0.000976 });
	out_is(&o,
	       "\n Performance counter stats for 'true':\n\n       0.007504707 seconds time "
	       "elapsed\n\n"
	       "       0.000976000 seconds user\n       0.000000000 seconds sys\n\n\n",
	       "title and times of one run");
	static const double runs[] = { 0.001178, 0.000746, 0.000956 };
	out_init(&o);
	text_stat_title(&o.view, "'true'", 3);
	text_stat_times(&o.view, &(struct stat_times){ .elapsed_s = runs,
						       .nr_runs = 3,
						       .mean_s = 0.000960,
						       .error_s = 0.000125,
						       .table = true });
	out_is(&o,
	       "\n Performance counter stats for 'true' (3 runs):\n\n"
	       "          # Table of individual measurements:\n"
	       "          0.001178 (+0.000218) ####\n"
	       "          0.000746 (-0.000214) ######\n"
	       "          0.000956 (-0.000004) #\n"
	       "\n"
	       "          # Final result:\n"
	       "          0.000960 +- 0.000125 seconds time elapsed  ( +- 13.02% )\n\n",
	       "a table of three runs, as perf drew it");
	out_init(&o);
	text_stat_times(&o.view,
			&(struct stat_times){ .nr_runs = 2, .mean_s = 12.3456, .error_s = 1.5 });
	out_is(&o, "             12.35 +- 1.50 seconds time elapsed  ( +- 12.15% )\n\n",
	       "a large error");
	out_init(&o);
	text_stat_times(&o.view, &(struct stat_times){ .nr_runs = 2, .mean_s = 0.5, .error_s = 0 });
	out_is(&o, "          0.500000 +- 0.000000 seconds time elapsed  ( +-  0.00% )\n\n",
	       "no error at all");
}

static void test_interval_head(void)
{
	static const struct {
		enum stat_by by;
		const char *want;
	} rows[] = {
		{ STAT_BY_ALL, "#           time             counts unit events\n" },
		{ STAT_BY_CPU, "#           time CPU                    counts unit events\n" },
		{ STAT_BY_CORE,
		  "#           time core            cpus             counts unit events\n" },
		{ STAT_BY_DIE,
		  "#           time die          cpus             counts unit events\n" },
		{ STAT_BY_SOCKET, "#           time socket cpus             counts unit events\n" },
		{ STAT_BY_NODE, "#           time node   cpus             counts unit events\n" },
		{ STAT_BY_THREAD,
		  "#           time             comm-pid                  counts unit events\n" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stat_head h = head(rows[i].by);
		struct out o;
		h.interval = true;
		out_init(&o);
		text_stat_columns(&o.view, &h, &o.rows);
		out_is(&o, rows[i].want, "the line above the intervals");
	}
}

int main(void)
{
	test_text();
	test_keys();
	test_csv_json();
	test_columns();
	test_times();
	test_interval_head();
	return done_testing();
}

/* The table of commands, and the program as a whole seen as a command. */
#pragma once

#include "base/opts.h"

extern const struct command *const commands[]; /* NULL-terminated, in the order of `sonde help` */
extern const struct command program; /* its subs are the commands: for help and the man page */

/* One line per file in cmd/. */
extern const struct command command_annotate;
extern const struct command command_archive;
extern const struct command command_bench;
extern const struct command command_bench_probe;
extern const struct command command_buildid_cache;
extern const struct command command_buildid_list;
extern const struct command command_doctor;
extern const struct command command_data;
extern const struct command command_data_convert;
extern const struct command command_data_repair;
extern const struct command command_diff;
extern const struct command command_evlist;
extern const struct command command_export;
extern const struct command command_flame;
extern const struct command command_ftrace;
extern const struct command command_ftrace_convert;
extern const struct command command_ftrace_mem;
extern const struct command command_ftrace_latency;
extern const struct command command_ftrace_options;
extern const struct command command_ftrace_sqlhist;
extern const struct command command_ftrace_profile;
extern const struct command command_ftrace_split;
extern const struct command command_ftrace_stream;
extern const struct command command_ftrace_hist;
extern const struct command command_ftrace_extract;
extern const struct command command_ftrace_restore;
extern const struct command command_ftrace_dump;
extern const struct command command_ftrace_list;
extern const struct command command_ftrace_stat;
extern const struct command command_ftrace_check_events;
extern const struct command command_ftrace_reset;
extern const struct command command_ftrace_status;
extern const struct command command_ftrace_start;
extern const struct command command_ftrace_set;
extern const struct command command_ftrace_stop;
extern const struct command command_ftrace_restart;
extern const struct command command_ftrace_clear;
extern const struct command command_ftrace_show;
extern const struct command command_ftrace_snapshot;
extern const struct command command_ftrace_stack;
extern const struct command command_ftrace_mark;
extern const struct command command_ftrace_record;
extern const struct command command_ftrace_graph;
extern const struct command command_ftrace_report;
extern const struct command command_help;
extern const struct command command_inject;
extern const struct command command_inspect;
extern const struct command command_kmem;
extern const struct command command_c2c;
extern const struct command command_kvm;
extern const struct command command_kwork;
extern const struct command command_list;
extern const struct command command_lock;
extern const struct command command_mem;
extern const struct command command_probe;
extern const struct command command_record;
extern const struct command command_report;
extern const struct command command_run;
extern const struct command command_sched;
extern const struct command command_timechart;
extern const struct command command_timechart_record;
extern const struct command command_timeline;
extern const struct command command_sched_latency;
extern const struct command command_sched_map;
extern const struct command command_sched_replay;
extern const struct command command_sched_stats;
extern const struct command command_sched_record;
extern const struct command command_sched_timehist;
extern const struct command command_sched_why;
extern const struct command command_sql;
extern const struct command command_sched_critical;
extern const struct command command_stack;
extern const struct command command_stat;
extern const struct command command_stat_record;
extern const struct command command_stat_report;
extern const struct command command_script;
extern const struct command command_top;
extern const struct command command_trace;
extern const struct command command_version;
extern const struct command command_what;
extern const struct command command_who;
extern const struct command command_how;
extern const struct command command_workload;

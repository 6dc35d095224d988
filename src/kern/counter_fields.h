/* What the fields of counter files mean: unit, whether they only grow, and a sentence. Each table ends with a NULL name. */
#pragma once

#include "kern/counter_file.h"

extern const struct counter_field counter_fields_stat[], counter_fields_meminfo[],
	counter_fields_vmstat[], counter_fields_per_cpu[], counter_fields_loadavg[],
	counter_fields_uptime[], counter_fields_block[], counter_fields_net_dev[],
	counter_fields_snmp[], counter_fields_netstat[], counter_fields_sockstat[],
	counter_fields_inet[], counter_fields_unix[], counter_fields_psi[],
	counter_fields_io_stat[], counter_fields_cpu_stat[], counter_fields_swaps[],
	counter_fields_locks[], counter_fields_count[], counter_fields_schedstat[],
	counter_fields_file_nr[], counter_fields_statm[], counter_fields_pid_stat[],
	counter_fields_status[], counter_fields_pid_io[], counter_fields_number[],
	counter_fields_by_device[], counter_fields_health[];

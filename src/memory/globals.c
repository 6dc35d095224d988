/*
 * Types of global variables. BTF describes the per-CPU ones only, so that the others come from this table, or from a cast that the
 * user writes. Addresses always come from the symbol list.
 */
#include "memory/kspace.h"

#include <string.h>

static const struct {
	const char *name, *type;
} globals[] = {
	{ "__per_cpu_offset", "unsigned long[8192]" },
	{ "all_bdevs", "struct list_head" },
	{ "block_class", "struct class" },
	{ "cgrp_dfl_root", "struct cgroup_root" },
	{ "chrdevs", "struct char_device_struct *[255]" },
	{ "ftrace_events", "struct list_head" },
	{ "ftrace_list_end", "struct ftrace_ops" },
	{ "ftrace_ops_list", "struct ftrace_ops *" },
	{ "ftrace_trace_arrays", "struct list_head" },
	{ "global_trace", "struct trace_array" },
	{ "init_mm", "struct mm_struct" },
	{ "init_net", "struct net" },
	{ "init_pid_ns", "struct pid_namespace" },
	{ "init_task", "struct task_struct" },
	{ "init_user_ns", "struct user_namespace" },
	{ "init_uts_ns", "struct uts_namespace" },
	{ "jiffies", "unsigned long" },
	{ "jiffies_64", "u64" },
	{ "kprobe_blacklist", "struct list_head" },
	{ "kprobe_ftrace_ops", "struct ftrace_ops" },
	{ "kprobe_ipmodify_ops", "struct ftrace_ops" },
	{ "kprobe_table", "struct hlist_head[64]" },
	{ "kprobes_all_disarmed", "bool" },
	{ "kptr_restrict", "int" },
	{ "linux_banner", "char[256]" },
	{ "max_pfn", "unsigned long" },
	{ "modules", "struct list_head" },
	{ "net_namespace_list", "struct list_head" },
	{ "nr_cpu_ids", "unsigned int" },
	{ "nr_threads", "int" },
	{ "page_offset_base", "unsigned long" },
	{ "panic_timeout", "int" },
	{ "pci_root_buses", "struct list_head" },
	{ "phys_base", "unsigned long" },
	{ "prb", "struct printk_ringbuffer *" },
	{ "saved_command_line", "char *" },
	{ "slab_caches", "struct list_head" },
	{ "softirq_vec", "struct softirq_action[10]" },
	{ "super_blocks", "struct list_head" },
	{ "swap_info", "struct swap_info_struct *[32]" },
	{ "sysctl_sched_base_slice", "unsigned int" },
	{ "system_state", "enum system_states" },
	{ "tainted_mask", "unsigned long" },
	{ "tick_usec", "unsigned long" },
	{ "total_forks", "unsigned long" },
	{ "trace_types", "struct tracer *" },
	{ "vmalloc_base", "unsigned long" },
	{ "vmap_area_list", "struct list_head" },
	{ "vmemmap_base", "unsigned long" },
};

const char *kspace_global_type(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(globals); i++)
		if (!strcmp(globals[i].name, name))
			return globals[i].type;
	return NULL;
}

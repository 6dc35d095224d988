// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A module for tests in guests: an event of its own, trace_printk(), tracing_on() and tracing_off(), ftrace_dump(), a kprobe, an oops. What is
 * to happen is written to /proc/sonde_test, a word at a time.
 */
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#define CREATE_TRACE_POINTS
#include "sonde_test_trace.h"

/* Not static: tests look for them by name. */
int sonde_test_step(u32 reason);
void sonde_test_loop(void);
void sonde_test_print(void);

static int nr_hits;

static int before_step(struct kprobe *p, struct pt_regs *regs)
{
	nr_hits++;
	return 0;
}

static struct kprobe probe = { .symbol_name = "sonde_test_step", .pre_handler = before_step };
static bool probed;

/* The event stands behind the call whose result it tells. */
noinline int sonde_test_step(u32 reason)
{
	barrier();
	return reason == 8 ? -22 : reason == 5 ? -4 : 0;
}

noinline void sonde_test_loop(void)
{
	static const u32 reasons[] = { 2, 8, 5, 0 };
	int i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		int err = sonde_test_step(reasons[i]);

		trace_sonde_exit(reasons[i], err);
	}
}

static __always_inline void sonde_test_inlined(void)
{
	trace_printk("from an inlined function\n");
}

noinline void sonde_test_print(void)
{
	trace_sonde_exit(2, 0);
	trace_printk("between %d and %s\n", 1, "two");
	trace_sonde_exit(0, 0);
	sonde_test_inlined();
}

static int set_probe(bool on)
{
	int err = 0;

	if (on && !probed)
		err = register_kprobe(&probe);
	else if (!on && probed)
		unregister_kprobe(&probe);
	if (!err)
		probed = on;
	return err;
}

static ssize_t do_word(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char buf[16] = "", *word;
	int err = 0;

	if (copy_from_user(buf, from, min(size, sizeof(buf) - 1)))
		return -EFAULT;
	word = strim(buf);
	if (!strcmp(word, "event"))
		sonde_test_loop();
	else if (!strcmp(word, "print"))
		sonde_test_print();
	else if (!strcmp(word, "on"))
		tracing_on();
	else if (!strcmp(word, "off"))
		tracing_off();
	else if (!strcmp(word, "dump"))
		ftrace_dump(DUMP_ALL);
	else if (!strcmp(word, "probe"))
		err = set_probe(true);
	else if (!strcmp(word, "unprobe"))
		err = set_probe(false);
	else if (!strcmp(word, "oops"))
		*(volatile int *)8 = 0;
	else
		err = -EINVAL;
	return err ? err : size;
}

static ssize_t show_hits(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	char buf[16];

	return simple_read_from_buffer(to, size, pos, buf,
				       scnprintf(buf, sizeof(buf), "%d\n", nr_hits));
}

static const struct proc_ops ops = { .proc_write = do_word, .proc_read = show_hits };

static int __init sonde_test_init(void)
{
	return proc_create("sonde_test", 0600, NULL, &ops) ? 0 : -ENOMEM;
}

static void __exit sonde_test_exit(void)
{
	remove_proc_entry("sonde_test", NULL);
	set_probe(false);
}

module_init(sonde_test_init);
module_exit(sonde_test_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("what a tracer can be tested with");

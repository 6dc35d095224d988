/*
 * The layouts that trace-cmd's plug-ins give some events. People's scripts and eyes know them, so they are kept to the byte;
 * but names of states and reasons come out of the event's own print fmt, where the plug-ins have tables that aged (on 6.1
 * an idle kernel thread shows as W there).
 */
#include "wire/print_fmt_impl.h"

#include <string.h>

static void add_hex(struct strbuf *to, const char *name, u64 v)
{
	strbuf_str(to, name);
	strbuf_hex(to, v);
}

static void add_u64(struct strbuf *to, const char *name, u64 v)
{
	strbuf_str(to, name);
	strbuf_u64(to, v);
}

static void add_hex8(struct strbuf *to, const char *name, u64 v)
{
	static const struct spec s = {
		.conv = 'x', .flags = SPEC_ZERO, .width = 8, .prec = -1, .size = 8
	};
	strbuf_str(to, name);
	print_number(to, &s, v);
}

/* ---- sched ---- */

/* "sh:1234 [120]" */
static void comm_pid_prio(struct print_ctx *c, unsigned first, bool sign)
{
	u32 len;
	const u8 *comm = layout_bytes(c, first, &len);
	u64 prio = layout_u64(c, first + 2);
	if (unlikely(comm && len != PRINT_COMM_SIZE))
		strbuf_add(c->to, comm, strnlen((const char *)comm, len));
	char *start = strbuf_room(c->to, PRINT_COMM_SIZE + 2 * NUM_DIGITS_MAX + 4), *at = start;
	if (unlikely(!start))
		return;
	if (likely(len == PRINT_COMM_SIZE))
		at += print_put_comm(at, comm);
	*at++ = ':';
	at += num_dec(at, (u32)layout_u64(c, first + 1));
	at = mempcpy(at, " [", 2);
	at += sign ? num_s64(at, (s32)prio) : num_dec(at, (u32)prio);
	*at++ = ']';
	strbuf_commit(c->to, (size_t)(at - start));
}

/* The flags in "cond ? __print_flags(...) : "R"", wherever they hide. */
static const struct print_fmt_node *find_flags(const struct print_fmt_node *n)
{
	if (!n || n->kind == NODE_FLAGS)
		return n;
	if (n->kind != NODE_TEXT_COND)
		return NULL;
	const struct print_fmt_node *hit = find_flags(n->b);
	return hit ? hit : find_flags(n->c);
}

static void old_state(struct print_ctx *c, u64 state)
{
	static const char letters[] = "SDTtZXxW";
	bool any = false;
	for (unsigned i = 0; letters[i]; i++) {
		if (!(state >> i & 1))
			continue;
		if (any)
			strbuf_char(c->to, '|');
		strbuf_char(c->to, letters[i]);
		any = true;
	}
	if (!any)
		strbuf_char(c->to, 'R');
}

static void print_sched_switch(struct print_ctx *c, const struct op *op)
{
	const struct print_fmt_node *flags = find_flags(op->arg);
	comm_pid_prio(c, 0, true);
	strbuf_char(c->to, ' ');
	if (!flags)
		old_state(c, layout_u64(c, 3));
	else if (print_eval(c, flags->a))
		print_text(c, flags);
	else
		strbuf_char(c->to, 'R');
	strbuf_add(c->to, " ==> ", 5);
	comm_pid_prio(c, 4, true);
}

static void print_sched_wakeup(struct print_ctx *c, const struct op *op)
{
	static const struct spec cpu = {
		.conv = 'u', .flags = SPEC_ZERO, .width = 3, .prec = -1, .size = 4
	};
	comm_pid_prio(c, 0, false);
	if (c->prog->fields[4])
		add_u64(c->to, " success=", layout_u64(c, 4));
	strbuf_add(c->to, " CPU:", 5);
	print_number(c->to, &cpu, layout_u64(c, 3));
}

/* ---- kmem, timer, tlb ---- */

static void print_call_site(struct print_ctx *c, const struct op *op)
{
	u64 offset = 0, addr = layout_u64(c, 0);
	const char *name =
		c->env && c->env->symbol ? c->env->symbol(c->env->ctx, addr, &offset) : NULL;
	if (name) {
		strbuf_char(c->to, '(');
		strbuf_str(c->to, name);
		add_hex(c->to, "+0x", offset);
		strbuf_add(c->to, ") ", 2);
	}
	layout_plain(c);
}

static void function_field(struct print_ctx *c, unsigned i)
{
	u64 offset = 0, addr = layout_u64(c, i);
	const char *name =
		c->env && c->env->symbol ? c->env->symbol(c->env->ctx, addr, &offset) : NULL;
	strbuf_str(c->to, " function=");
	if (!name) {
		add_hex8(c->to, "0x", addr);
		return;
	}
	strbuf_str(c->to, name);
	add_hex(c->to, "/0x", offset);
}

static void print_hrtimer_start(struct print_ctx *c, const struct op *op)
{
	add_hex(c->to, "hrtimer=0x", layout_u64(c, 0));
	function_field(c, 1);
	add_u64(c->to, " expires=", layout_u64(c, 2));
	add_u64(c->to, " softexpires=", layout_u64(c, 3));
}

static void print_hrtimer_expire(struct print_ctx *c, const struct op *op)
{
	add_hex(c->to, "hrtimer=0x", layout_u64(c, 0));
	add_u64(c->to, " now=", layout_u64(c, 1));
	function_field(c, 2);
}

static void print_tlb_flush(struct print_ctx *c, const struct op *op)
{
	strbuf_str(c->to, "pages=");
	strbuf_s64(c->to, (s64)layout_u64(c, 0));
	strbuf_str(c->to, " reason=");
	if (op->arg && op->arg->kind == NODE_SYMBOLIC) {
		struct print_fmt_table known = *op->arg->table;
		struct print_fmt_node n = *op->arg;
		known.silent = true;
		n.table = &known;
		print_text(c, &n);
	}
	add_u64(c->to, " (", (u32)layout_u64(c, 1));
	strbuf_char(c->to, ')');
}

/* ---- futex ---- */

enum futex_shows {
	FUTEX_VAL = 1,
	FUTEX_VAL_HEX = 2,
	FUTEX_UTIME = 4,
	FUTEX_VAL2 = 8,
	FUTEX_UADDR2 = 16,
	FUTEX_VAL3 = 32
};

static const struct {
	const char *name;
	u8 shows;
} futex_ops[] = {
	{ "FUTEX_WAIT", FUTEX_VAL_HEX | FUTEX_UTIME },
	{ "FUTEX_WAKE", FUTEX_VAL },
	{ "FUTEX_FD", FUTEX_VAL },
	{ "FUTEX_REQUEUE", FUTEX_VAL | FUTEX_VAL2 | FUTEX_UADDR2 },
	{ "FUTEX_CMP_REQUEUE", FUTEX_VAL | FUTEX_VAL2 | FUTEX_UADDR2 | FUTEX_VAL3 },
	{ "FUTEX_WAKE_OP", FUTEX_VAL | FUTEX_VAL2 | FUTEX_UADDR2 | FUTEX_VAL3 },
	{ "FUTEX_LOCK_PI", FUTEX_UTIME },
	{ "FUTEX_UNLOCK_PI", 0 },
	{ "FUTEX_TRYLOCK_PI", 0 },
	{ "FUTEX_WAIT_BITSET", FUTEX_VAL_HEX | FUTEX_UTIME | FUTEX_VAL3 },
	{ "FUTEX_WAKE_BITSET", FUTEX_VAL | FUTEX_VAL3 },
	{ "FUTEX_WAIT_REQUEUE_PI", FUTEX_VAL_HEX | FUTEX_UTIME | FUTEX_UADDR2 | FUTEX_VAL3 },
	{ "FUTEX_CMP_REQUEUE_PI", FUTEX_VAL | FUTEX_VAL2 | FUTEX_UADDR2 | FUTEX_VAL3 },
};

static void print_futex(struct print_ctx *c, const struct op *op)
{
	u64 how = layout_u64(c, 1), cmd = how & ~(u64)0x180;
	if (cmd >= ARRAY_SIZE(futex_ops)) {
		layout_plain(c);
		return;
	}
	u8 shows = futex_ops[cmd].shows;
	strbuf_str(c->to, "op=");
	strbuf_str(c->to, futex_ops[cmd].name);
	if (how & 0x80)
		strbuf_str(c->to, "|FUTEX_PRIVATE_FLAG");
	if (how & 0x100)
		strbuf_str(c->to, "|FUTEX_CLOCK_REALTIME");
	add_hex8(c->to, " uaddr=0x", layout_u64(c, 0));
	if (shows & FUTEX_VAL)
		add_u64(c->to, " val=", layout_u64(c, 2));
	if (shows & FUTEX_VAL_HEX)
		add_hex8(c->to, " val=0x", layout_u64(c, 2));
	if (shows & FUTEX_UTIME)
		add_hex8(c->to, " utime=0x", layout_u64(c, 3));
	if (shows & FUTEX_VAL2)
		add_u64(c->to, " val2=", layout_u64(c, 3));
	if (shows & FUTEX_UADDR2)
		add_hex8(c->to, " uaddr2=0x", layout_u64(c, 4));
	if (shows & FUTEX_VAL3)
		add_hex8(c->to, " val3=0x", layout_u64(c, 5));
}

/* ---- kvm ---- */

static void exit_reason(struct print_ctx *c, const struct op *op, unsigned field)
{
	strbuf_str(c->to, "reason ");
	if (op->arg)
		print_text(c, op->arg);
	else
		strbuf_u64(c->to, layout_u64(c, field));
}

static void print_kvm_exit(struct print_ctx *c, const struct op *op)
{
	exit_reason(c, op, 0);
	add_hex(c->to, " rip 0x", layout_u64(c, 1));
	if (!c->prog->fields[2])
		return;
	add_hex(c->to, " info ", layout_u64(c, 2));
	add_hex(c->to, " ", layout_u64(c, 3));
}

static void print_kvm_inject(struct print_ctx *c, const struct op *op)
{
	exit_reason(c, op, 0);
	add_hex(c->to, " info1 ", layout_u64(c, 1));
	add_hex(c->to, " info2 ", layout_u64(c, 2));
	add_hex(c->to, " int_info ", layout_u64(c, 3));
	add_hex(c->to, " int_info_err ", layout_u64(c, 4));
}

static void print_kvm_entry(struct print_ctx *c, const struct op *op)
{
	add_u64(c->to, " vcpu ", layout_u64(c, 0));
	add_hex(c->to, " rip 0x", layout_u64(c, 1));
}

/* Without a disassembler: the bytes. */
static void print_kvm_emulate(struct print_ctx *c, const struct op *op)
{
	strbuf_hex(c->to, layout_u64(c, 0));
	add_hex(c->to, ":", layout_u64(c, 1));
	strbuf_str(c->to, ": ");
	u32 have, nr = (u32)layout_u64(c, 2);
	const u8 *insn = layout_bytes(c, 4, &have);
	for (u32 i = 0; insn && i < nr && i < have; i++) {
		static const struct spec s = {
			.conv = 'x', .flags = SPEC_ZERO, .width = 2, .prec = -1, .size = 4
		};
		if (i)
			strbuf_char(c->to, ' ');
		print_number(c->to, &s, insn[i]);
	}
	if (layout_u64(c, 5))
		strbuf_str(c->to, " FAIL");
}

/* The page role as the plug-in reads it; kernels since 5.x have moved a few of the bits. */
static void page_role(struct print_ctx *c)
{
	static const char *const access[] = { "---", "--x", "w--", "w-x", "-u-", "-ux", "wu-", "wux" };
	u32 role = (u32)layout_u64(c, 1);
	strbuf_u64(c->to, role & 15);
	add_u64(c->to, " q", role >> 5 & 3);
	strbuf_str(c->to, role & 1 << 7 ? " direct " : " ");
	strbuf_str(c->to, access[role >> 8 & 7]);
	strbuf_str(c->to, role & 1 << 11 ? " invalid " : " ");
	strbuf_str(c->to, role & 1 << 4 ? "pae " : "!pae ");
	strbuf_str(c->to, role & 1 << 12 ? "nxe " : "!nxe ");
	strbuf_str(c->to, role & 1 << 13 ? "wp" : "!wp");
	strbuf_str(c->to, role & 1 << 14 ? " smep" : "");
	strbuf_str(c->to, role & 1 << 15 ? " smap" : "");
	strbuf_str(c->to, role >> 24 ? " smm" : "");
	add_u64(c->to, " root ", layout_u64(c, 2));
	strbuf_str(c->to, layout_u64(c, 3) ? " unsync" : " sync");
}

static void print_kvm_mmu(struct print_ctx *c, const struct op *op)
{
	page_role(c);
}

static void print_kvm_mmu_get(struct print_ctx *c, const struct op *op)
{
	strbuf_str(c->to, layout_u64(c, 4) ? "new " : "existing ");
	add_hex(c->to, "sp gfn ", layout_u64(c, 0));
	strbuf_char(c->to, ' ');
	page_role(c);
}

/* ---- ftrace ---- */

/* The report indents it by depth: that takes what was printed before. */
static void print_function(struct print_ctx *c, const struct op *op)
{
	print_symbol(c, layout_u64(c, 0), false);
}

static void print_stack(struct print_ctx *c, const struct op *op)
{
	u32 at = c->prog->fields[0]->offset, step = c->long_size;
	u64 end = step == 8 ? UINT64_MAX : UINT32_MAX;
	strbuf_str(c->to, "<stack trace >\n");
	for (; at < c->size && c->size - at >= step; at += step) {
		u64 offset, addr = print_load(c, at, step, false);
		if (addr == end)
			break;
		const char *name =
			c->env && c->env->symbol ? c->env->symbol(c->env->ctx, addr, &offset) : NULL;
		strbuf_add(c->to, "=> ", 3);
		if (name) {
			strbuf_str(c->to, name);
			add_hex(c->to, " (", addr);
			strbuf_add(c->to, ")\n", 2);
		} else {
			strbuf_hex(c->to, addr);
			strbuf_char(c->to, '\n');
		}
	}
}

static void print_raw_data(struct print_ctx *c, const struct op *op)
{
	static const struct spec s = {
		.conv = 'x', .flags = SPEC_ZERO, .width = 2, .prec = -1, .size = 4
	};
	add_hex(c->to, "# ", layout_u64(c, 0));
	for (u32 at = c->prog->fields[1]->offset; at < c->size; at++) {
		strbuf_char(c->to, ' ');
		print_number(c->to, &s, c->raw[at]);
	}
}

#define SWITCH_FIELDS                                                                              \
	{                                                                                          \
		"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid",       \
			"next_prio"                                                                \
	}
#define WAKEUP_FIELDS                                                                              \
	{                                                                                          \
		"comm", "pid", "prio", "target_cpu", "?success"                                    \
	}
#define ROLE_FIELDS                                                                                \
	{                                                                                          \
		"gfn", "role", "root_count", "unsync", "?created"                                  \
	}

/* ---- mac80211 ---- */

static void add_named(struct print_ctx *c, const char *name, unsigned field, bool hex)
{
	u64 v = layout_u64(c, field);
	strbuf_str(c->to, name);
	if (!hex) {
		strbuf_s64(c->to, (s64)v);
		return;
	}
	if (v)
		strbuf_str(c->to, "0x");
	strbuf_hex(c->to, v);
}

/* Four lines, below each other. */
static void print_bss_info(struct print_ctx *c, const struct op *op)
{
	enum { INDENT = 65 };
	layout_str(c, 0);
	strbuf_str(c->to, " vif:");
	layout_str(c, 1);
	add_named(c, "(", 2, false);
	strbuf_str(c->to, ")\n");
	strbuf_fill(c->to, ' ', INDENT);
	add_named(c, "assoc:", 3, false);
	add_named(c, " aid:", 4, false);
	add_named(c, " cts:", 5, false);
	add_named(c, " shortpre:", 6, false);
	add_named(c, " shortslot:", 7, false);
	add_named(c, " dtimper:", 8, false);
	strbuf_str(c->to, " \n");
	strbuf_fill(c->to, ' ', INDENT);
	add_named(c, "bcnint:", 9, false);
	add_named(c, " assoc_cap:", 10, true);
	add_named(c, " basic_rates:", 11, true);
	add_named(c, " enable_beacon:", 12, false);
	strbuf_char(c->to, '\n');
	strbuf_fill(c->to, ' ', INDENT);
	add_named(c, "ht_operation_mode:", 13, false);
}

#define BSS_FIELDS                                                                                 \
	{                                                                                          \
		"wiphy_name", "vif_name", "vif_type", "assoc", "aid", "cts", "shortpre",           \
			"shortslot", "dtimper", "bcnint", "assoc_cap", "basic_rates",              \
			"enable_beacon", "ht_operation_mode"                                       \
	}

static const struct layout layouts[] = {
	{ "mac80211", "drv_bss_info_changed", print_bss_info, BSS_FIELDS },
	{ "sched", "sched_switch", print_sched_switch, SWITCH_FIELDS, "prev_state=" },
	{ "sched", "sched_wakeup", print_sched_wakeup, WAKEUP_FIELDS },
	{ "sched", "sched_wakeup_new", print_sched_wakeup, WAKEUP_FIELDS },
	{ "kmem", "kfree", print_call_site, { "call_site" } },
	{ "kmem", "kmalloc", print_call_site, { "call_site" } },
	{ "kmem", "kmalloc_node", print_call_site, { "call_site" } },
	{ "kmem", "kmem_cache_alloc", print_call_site, { "call_site" } },
	{ "kmem", "kmem_cache_alloc_node", print_call_site, { "call_site" } },
	{ "kmem", "kmem_cache_free", print_call_site, { "call_site" } },
	{ "timer",
	  "hrtimer_start",
	  print_hrtimer_start,
	  { "hrtimer", "function", "expires", "softexpires" } },
	{ "timer", "hrtimer_expire_entry", print_hrtimer_expire, { "hrtimer", "now", "function" } },
	{ "tlb", "tlb_flush", print_tlb_flush, { "pages", "reason" }, "reason:" },
	{ "syscalls",
	  "sys_enter_futex",
	  print_futex,
	  { "uaddr", "op", "val", "utime", "uaddr2", "val3" } },
	{ "kvm",
	  "kvm_exit",
	  print_kvm_exit,
	  { "exit_reason", "guest_rip", "?info1", "?info2" },
	  "reason " },
	{ "kvm",
	  "kvm_nested_vmexit_inject",
	  print_kvm_inject,
	  { "exit_code", "exit_info1", "exit_info2", "exit_int_info", "exit_int_info_err" },
	  "reason: " },
	{ "kvm", "kvm_entry", print_kvm_entry, { "vcpu_id", "rip" } },
	{ "kvm",
	  "kvm_emulate_insn",
	  print_kvm_emulate,
	  { "csbase", "rip", "len", "flags", "insn", "failed" } },
	{ "kvmmmu", "kvm_mmu_get_page", print_kvm_mmu_get, ROLE_FIELDS },
	{ "kvmmmu", "kvm_mmu_sync_page", print_kvm_mmu, ROLE_FIELDS },
	{ "kvmmmu", "kvm_mmu_unsync_page", print_kvm_mmu, ROLE_FIELDS },
	{ "kvmmmu", "kvm_mmu_zap_page", print_kvm_mmu, ROLE_FIELDS },
	{ "kvmmmu", "kvm_mmu_prepare_zap_page", print_kvm_mmu, ROLE_FIELDS },
	{ "ftrace", "function", print_function, { "ip", "parent_ip" } },
	{ "ftrace", "kernel_stack", print_stack, { "caller" } },
	{ "ftrace", "raw_data", print_raw_data, { "id", "buf" } },
};

const struct layout *print_tracecmd_layout(const struct schema *s)
{
	return layout_find(layouts, ARRAY_SIZE(layouts), s);
}

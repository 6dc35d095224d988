/*
 * What a host records of its guests, on hardware that is not here: perf_guest FILE [swap] [nomaps] [chains] [pid]. Samples of a virtual machine
 * (process 2202, threads 2202 and 2203) in the guest's kernel and one of its modules, in programs of the guest, and outside of it.
 * pid: the guest's maps are its own (--guestmount) instead of those of any guest.
 */
#include "gen/perfwrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PID = 2202, SAMPLES = 400 };
static const u64 guest_text = 0xffffffff81000000ull, guest_module = 0xffffffffc0000000ull,
		 host_text = 0xffffffff9a000000ull;

static u64 seed = 99;

static u64 dice(u64 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void add_map(struct perfwrite *w, u16 misc, u32 pid, u64 addr, u64 len, u64 pgoff,
		    const char *name)
{
	perfwrite_rec(w, PERF_RECORD_MMAP, misc);
	perfwrite_u32(w, pid);
	perfwrite_u32(w, misc == PERF_RECORD_MISC_USER ? pid : 0);
	perfwrite_u64(w, addr);
	perfwrite_u64(w, len);
	perfwrite_u64(w, pgoff);
	perfwrite_str(w, name);
	perfwrite_trailer(w, 0, &(struct perfwrite_sample){ .pid = pid });
	perfwrite_rec_end(w, 0);
}

static void add_guest(struct perfwrite *w, u32 pid)
{
	char name[64] = "[guest.kernel.kallsyms]_text";
	if (pid)
		(void)snprintf(name, sizeof(name), "[guest.kernel.kallsyms.%u]_text", pid);
	/* As perf records them: it reads the symbols of modules when it comes to the kernel. */
	add_map(w, PERF_RECORD_MISC_GUEST_KERNEL, pid, guest_module, 0x4000, 0, "[virtio_net]");
	add_map(w, PERF_RECORD_MISC_GUEST_KERNEL, pid, guest_text, 0x1000000, guest_text, name);
}

static u64 place(u16 misc)
{
	/* Functions of 0x100 bytes each; the last place is none of the guest's list. */
	switch (misc) {
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return dice(4) ? guest_text + 0x1000 + 0x100 * dice(6) + dice(3)
			       : guest_module + 0x100 * dice(3);
	case PERF_RECORD_MISC_GUEST_USER: return 0x401000 + dice(3);
	case PERF_RECORD_MISC_KERNEL: return host_text + 0x1000 + 0x100 * dice(2);
	default: return 0x500000 + dice(2);
	}
}

static void add_sample(struct perfwrite *w, u32 i, bool chains)
{
	static const u16 modes[] = { PERF_RECORD_MISC_GUEST_KERNEL, PERF_RECORD_MISC_GUEST_KERNEL,
				     PERF_RECORD_MISC_GUEST_KERNEL, PERF_RECORD_MISC_GUEST_USER,
				     PERF_RECORD_MISC_KERNEL,	    PERF_RECORD_MISC_USER };
	u16 misc = modes[dice(ARRAY_SIZE(modes))];
	struct perfwrite_sample s = { .misc = misc,
				      .ip = place(misc),
				      .time = 1000000 + 1000 * (u64)i,
				      .pid = PID,
				      .tid = PID + (u32)dice(2),
				      .cpu = i % 2,
				      .period = 1000 + dice(3) };
	u64 chain[3] = { misc == PERF_RECORD_MISC_GUEST_KERNEL ? (u64)PERF_CONTEXT_GUEST_KERNEL
			 : misc == PERF_RECORD_MISC_GUEST_USER ? (u64)PERF_CONTEXT_GUEST_USER
			 : misc == PERF_RECORD_MISC_KERNEL     ? (u64)PERF_CONTEXT_KERNEL
							       : (u64)PERF_CONTEXT_USER,
			 s.ip, place(misc) };
	if (chains) {
		s.chain = chain;
		s.nr_chain = ARRAY_SIZE(chain);
	}
	perfwrite_sample(w, 0, &s);
}

int main(int argc, char **argv)
{
	unsigned form = 0;
	bool maps = true, chains = false, own = false;
	if (argc < 2)
		return 1;
	for (int i = 2; i < argc; i++) {
		form |= !strcmp(argv[i], "swap") ? PERFWRITE_SWAP : 0;
		maps &= strcmp(argv[i], "nomaps") != 0;
		chains |= !strcmp(argv[i], "chains");
		own |= !strcmp(argv[i], "pid");
	}
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_PERIOD | (chains ? PERF_SAMPLE_CALLCHAIN : 0),
		.sample_id_all = 1,
		.mmap = 1,
		.comm = 1,
	};
	struct perfwrite w;
	perfwrite_begin(&w, form);
	perfwrite_event(&w, &a, (u64[]){ 11 }, 1, "cycles");
	add_map(&w, PERF_RECORD_MISC_KERNEL, UINT32_MAX, host_text, 0x1000000, host_text,
		"[kernel.kallsyms]_text");
	if (maps)
		add_guest(&w, own ? PID : 0);
	perfwrite_comm(&w, PID, PID, "qemu-system-x86", true, 0);
	perfwrite_comm(&w, PID, PID + 1, "CPU 1/KVM", false, 0);
	add_map(&w, PERF_RECORD_MISC_USER, PID, 0x500000, 0x10000, 0, "/usr/bin/qemu-no-such");
	perfwrite_kernel(&w);
	for (u32 i = 0; i < SAMPLES; i++)
		add_sample(&w, i, chains);
	perfwrite_feature_str(&w, FEAT_HOSTNAME, "nowhere");
	perfwrite_feature_str(&w, FEAT_ARCH, "x86_64");
	perfwrite_end(&w);
	FILE *f = fopen(argv[1], "w");
	bool fine = f && fwrite(w.out.data, 1, w.out.len, f) == w.out.len;
	if (f && fclose(f))
		fine = false;
	perfwrite_done(&w);
	return !fine;
}

/* Kernel configuration, lockdown, capabilities and limits under a fake root; trials on kernels played by this test. */
#include "tap.h"

#include "kern/kconfig.h"
#include "kern/lockdown.h"
#include "kern/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char top[] = "/tmp/sonde-trial.XXXXXX";
static struct sysroot root;

static void put_bytes(const char *path, const void *data, size_t len)
{
	char full[512];
	snprintf(full, sizeof(full), "%s/%s", top, path);
	for (char *slash = full + strlen(top) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(full, 0755);
		*slash = '/';
	}
	FILE *f = fopen(full, "w");
	if (!f || fwrite(data, 1, len, f) != len || fclose(f)) {
		perror(full);
		exit(1);
	}
}

static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static const char config[] =
	"# Linux\nCONFIG_FTRACE=y\n# CONFIG_STACK_TRACER is not set\nCONFIG_BPF=m\n"
	"CONFIG_LSM=\"lockdown,bpf\"\nCONFIG_HZ=250\nCONFIG_FTRACE_SYSCALLS=y";

static size_t gzip(const char *text, char *to, size_t size)
{
	z_stream z = { .next_in = (Bytef *)text,
		       .avail_in = (uInt)strlen(text),
		       .next_out = (Bytef *)to,
		       .avail_out = (uInt)size };
	(void)deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	(void)deflate(&z, Z_FINISH);
	(void)deflateEnd(&z);
	return size - z.avail_out;
}

static void is_option(const struct kconfig *c, const char *name, const char *want)
{
	char value[32];
	ok(kconfig_get(c, name, value, sizeof(value)) && !strcmp(value, want), "%s is %s", name,
	   want);
}

static void test_kconfig(void)
{
	struct kconfig c;
	char packed[1024], value[4];
	ok(kconfig_open(&c, &root, "6.1.0-x") == -ENOENT, "no configuration anywhere");
	ok(!kconfig_get(&c, "FTRACE", value, sizeof(value)), "nothing is known then");
	kconfig_close(&c);

	put("lib/modules/6.1.0-x/config", config);
	ok(!kconfig_open(&c, &root, "6.1.0-x"), "found beside the modules");
	is_str(c.path, "lib/modules/6.1.0-x/config", "and says where");
	is_option(&c, "FTRACE", "y");
	is_option(&c, "STACK_TRACER", "n");
	is_option(&c, "BPF", "m");
	is_option(&c, "NEVER_HEARD_OF", "n");
	is_option(&c, "LSM", "lockdown,bpf");
	is_option(&c, "HZ", "250");
	is_option(&c, "FTRACE_SYSCALLS", "y"); /* the last line has no end */
	is_option(&c, "FTRACE_SYS", "n");
	ok(!kconfig_get(&c, "LSM", value, sizeof(value)), "a value that does not fit is not cut");
	kconfig_close(&c);

	size_t len = gzip(config, packed, sizeof(packed));
	put_bytes("proc/config.gz", packed, len);
	ok(!kconfig_open(&c, &root, "6.1.0-x"), "proc/config.gz is unpacked");
	is_str(c.path, "proc/config.gz", "and comes first");
	is_option(&c, "HZ", "250");
	kconfig_close(&c);

	for (size_t cut = 3; cut < len; cut++) {
		put_bytes("proc/broken.gz", packed, cut);
		int err = kconfig_open_file(&c, &root, "proc/broken.gz");
		if (err != -EBADMSG)
			ok(false, "cut at %zu: %d", cut, err);
		kconfig_close(&c);
	}
	ok(true, "a gzip cut at every byte is refused");
	put("proc/other", "no options here\n");
	ok(kconfig_open_file(&c, &root, "proc/other") == -EBADMSG, "another text is refused");
	kconfig_close(&c);
	ok(!kconfig_has_module(&root, "6.1.0-x"), "no module that brings it");
	put("lib/modules/6.1.0-x/kernel/kernel/configs.ko.xz", "x");
	ok(kconfig_has_module(&root, "6.1.0-x"), "a module that brings it");
}

static void test_rights(void)
{
	enum lockdown_level level = LOCKDOWN_NONE;
	ok(lockdown_read(&root, &level) == -ENOENT, "no lockdown file");
	put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	ok(!lockdown_read(&root, &level) && level == LOCKDOWN_INTEGRITY, "integrity");
	ok(lockdown_parse("[none] integrity confidentiality") == LOCKDOWN_NONE, "none");
	ok(lockdown_parse("none integrity [confidentiality]\n") == LOCKDOWN_CONFIDENTIALITY,
	   "confidentiality");
	ok(lockdown_parse("none [something] x") == LOCKDOWN_UNKNOWN &&
		   lockdown_parse("") == LOCKDOWN_UNKNOWN &&
		   lockdown_parse("[") == LOCKDOWN_UNKNOWN,
	   "what is not understood is unknown");

	struct proc_limit l;
	ok(proc_limit_read(&root, "Max open files", &l) == -ENOENT, "no limits file");
	put("proc/self/limits",
	    "Limit                     Soft Limit           Hard Limit           Units     \n"
	    "Max open files            1024                 524288               files     \n"
	    "Max locked memory         unlimited            unlimited            bytes     \n");
	ok(!proc_limit_read(&root, "Max open files", &l) && l.soft == 1024 && l.hard == 524288,
	   "open files");
	ok(!proc_limit_read(&root, "Max locked memory", &l) && l.soft == UINT64_MAX &&
		   l.hard == UINT64_MAX,
	   "unlimited");
	ok(proc_limit_read(&root, "Max nonsense", &l) == -ENOENT, "no such row");

	put("proc/self/status", "Name:\tx\nCapEff:\t000000c000000000\n");
	ok(caps_effective(&root) == 0xc000000000, "CAP_PERFMON and CAP_BPF");
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

static int refuse_with, nr_opened;
static u64 counter_step;

/* A pipe whose reads give a counter that grows by counter_step. */
static long play_open(struct perf_event_attr *a, s32 pid, s32 cpu, int group, unsigned long flags)
{
	(void)pid, (void)cpu, (void)group, (void)flags;
	if (refuse_with || a->precise_ip > 1) {
		errno = refuse_with ? refuse_with : EOPNOTSUPP;
		return -1;
	}
	int ends[2];
	u64 values[2] = { 100, 100 + counter_step };
	if (pipe(ends) || write(ends[1], values, sizeof(values)) != sizeof(values))
		return -1;
	close(ends[1]);
	nr_opened++;
	return ends[0];
}

static long play_bpf(int cmd, void *attr, unsigned size)
{
	(void)size;
	const union bpf_attr *a = attr;
	if (refuse_with) {
		errno = refuse_with;
		return -1;
	}
	if (cmd == BPF_PROG_LOAD && a->prog_type == BPF_PROG_TYPE_TRACING &&
	    a->attach_btf_id != 2) {
		errno = EINVAL;
		return -1;
	}
	return open("/dev/null", O_RDONLY);
}

static unsigned open_files(void)
{
	unsigned nr = 0;
	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static const u8 btf[] = {
	0x9f, 0xeb, 1,	 0,   24, 0,   0,   0,	 0,   0,   0,	0,   40,  0, 0, 0, 40,
	0,    0,    0,	 15,  0,  0,   0, /* head */
	1,    0,    0,	 0,   0,  0,   0,   1,	 4,   0,   0,	0,   32,  0, 0, 0, /* 1: int, "int" */
	5,    0,    0,	 0,   0,  0,   0,   12,	 3,   0,   0,	0, /* 2: function "vfs_read" */
	0,    0,    0,	 0,   0,  0,   0,   13,	 0,   0,   0,	0, /* 3: its prototype */
	0,    'i',  'n', 't', 0,  'v', 'f', 's', '_', 'r', 'e', 'a', 'd', 0, 0,
};

static void test_trials(void)
{
	struct tracing none = { .dir = -1, .err = -ENOENT };
	struct perf_rights rights = { .paranoid = 2 };
	struct trial_env e;
	struct trial t;
	put("sys/bus/event_source/devices/kprobe/type", "8\n");
	put_bytes("sys/kernel/btf/vmlinux", btf, sizeof(btf));
	trial_env_init(&e, &root, &none, &rights);
	ok(e.user_only, "at paranoid 2 without privileges: user space only");
	e.perf_open = play_open;
	e.bpf = play_bpf;
	unsigned before = open_files();

	counter_step = 1;
	trial_run(&e, TRIAL_SOFTWARE, &t);
	ok(!t.err && !t.unseen && t.value == 1, "a software event that counts");
	counter_step = 0;
	trial_run(&e, TRIAL_BREAKPOINT, &t);
	ok(!t.err && t.unseen, "a breakpoint that opens but sees nothing");
	trial_run(&e, TRIAL_PRECISE, &t);
	ok(!t.err && t.value == 1, "the highest precise_ip that opens");
	trial_run(&e, TRIAL_KPROBE, &t);
	ok(!t.err, "a kprobe");
	trial_run(&e, TRIAL_UPROBE, &t);
	ok(t.err == -ENOENT, "no uprobe PMU");
	trial_run(&e, TRIAL_TRACEPOINT, &t);
	ok(t.err == -ENOENT, "no tracefs, no tracepoint");
	trial_run(&e, TRIAL_SAMPLING, &t);
	ok(t.err != 0, "a ring that cannot be mapped");
	trial_run(&e, TRIAL_BPF_PROG, &t);
	ok(!t.err, "a BPF program");
	trial_run(&e, TRIAL_FENTRY, &t);
	ok(!t.err, "fentry on the function that BTF has as number 2");
	refuse_with = EACCES;
	for (int kind = 0; kind < TRIAL_NR; kind++) {
		trial_run(&e, (enum trial_kind)kind, &t);
		ok(t.err < 0 &&
			   (kind == TRIAL_UPROBE || kind == TRIAL_TRACEPOINT || t.err == -EACCES),
		   "trial %d tells the refusal", kind);
	}
	is_u64(open_files(), before, "no file stays open");

	is_u64(trial_function_id(btf, sizeof(btf), "vfs_read"), 2, "function in BTF");
	is_u64(trial_function_id(btf, sizeof(btf), "vfs_rea"), 0, "not a part of a name");
	is_u64(trial_function_id(btf, sizeof(btf), "int"), 0, "a type is no function");
	bool found = false;
	for (size_t len = 0; len < sizeof(btf); len++)
		found = found || trial_function_id(btf, len, "vfs_read");
	ok(!found, "BTF cut at every byte");
}

int main(void)
{
	if (!mkdtemp(top) || sysroot_open(&root, top))
		return 1;
	test_kconfig();
	test_rights();
	test_trials();
	sysroot_close(&root);
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", top);
	ok(!system(command), "removed");
	return done_testing();
}

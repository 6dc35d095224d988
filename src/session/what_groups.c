#include "session/what_groups.h"

#include <ctype.h>
#include <string.h>

/* clang-format off */
const struct what_unit what_percent = { "%", NULL, { .width = 3 } };
const struct what_unit what_bytes_rate = { "bytes/s", "bytes", { .width = 5, .base = 1024 } };
const struct what_unit what_bytes = { "bytes", NULL, { .width = 5, .base = 1024 } };
const struct what_unit what_rate = { "1/s", "", { .width = 5, .base = 1000 } };
const struct what_unit what_count = { "", NULL, { .width = 4, .base = 1000 } };
const struct what_unit what_load = { "tasks", NULL, { .width = 4, .digits = 2 } };
const struct what_unit what_ms = { "ms", NULL, { .width = 5, .digits = 2 } };
const struct what_unit what_plain_rate = { "1/s", "", { .width = 3 } };
const struct what_unit what_few = { "", NULL, { .width = 3 } };
static const struct what_unit celsius = { "celsius", NULL, { .width = 4 } };
static const struct what_unit hertz = { "hertz", NULL, { .width = 5, .base = 1000 } };
/* As other tools print: whole numbers, or two places, never scaled. */
static const struct what_unit whole = { "", NULL, { .width = 4 } };
static const struct what_unit whole_rate = { "1/s", "", { .width = 5 } };
static const struct what_unit whole_kb = { "kB", NULL, { .width = 6 } };
static const struct what_unit whole_kb_rate = { "kB/s", "kilobytes", { .width = 5 } };
static const struct what_unit whole_percent = { "%", NULL, { .width = 2 } };
static const struct what_unit exact_percent = { "%", NULL, { .width = 7, .digits = 2 } };
static const struct what_unit exact_rate = { "1/s", "", { .width = 9, .digits = 2 } };
static const struct what_unit exact_kb_rate = { "kB/s", "kilobytes", { .width = 9, .digits = 2 } };
static const struct what_unit exact_ms = { "ms", NULL, { .width = 8, .digits = 2 } };
static const struct what_unit exact_kb = { "kB", NULL, { .width = 8, .digits = 2 } };
static const struct what_unit exact = { "", NULL, { .width = 8, .digits = 2 } };
static const struct what_unit total_count = { "", NULL, { .width = 9 } };

#define ALL_TIME "user+nice+system+idle+iowait+irq+softirq+steal"

static const struct what_column cpu_columns[] = {
	{ "usr", "user", &what_percent, WHAT_SHARE, "user+nice", ALL_TIME, 0, "programs, with guests and niced ones" },
	{ "sys", "system", &what_percent, WHAT_SHARE, "system+irq+softirq", ALL_TIME, 0, "the kernel, with interrupts" },
	{ "idl", "idle", &what_percent, WHAT_SHARE, "idle", ALL_TIME, 0, "nothing to do" },
	{ "wai", "iowait", &what_percent, WHAT_SHARE, "iowait", ALL_TIME, 0, "nothing to do while I/O is waited for" },
	{ "stl", "steal", &what_percent, WHAT_SHARE, "steal", ALL_TIME, 0, "taken by the host of a virtual machine" },
	{ 0 },
};
static const struct what_column disk_columns[] = {
	{ "read", "read", &what_bytes_rate, WHAT_RATE, "read_sectors", NULL, 512, "bytes read" },
	{ "writ", "written", &what_bytes_rate, WHAT_RATE, "write_sectors", NULL, 512, "bytes written" },
	{ 0 },
};
static const struct what_column io_columns[] = {
	{ "read", "reads", &what_rate, WHAT_RATE, "read_ios", NULL, 0, "read requests completed" },
	{ "writ", "writes", &what_rate, WHAT_RATE, "write_ios", NULL, 0, "write requests completed" },
	{ 0 },
};
static const struct what_column disk_use_columns[] = {
	{ "mrg", "merges", &what_rate, WHAT_RATE, "read_merges+write_merges", NULL, 0, "requests merged with others before they were sent" },
	{ "queue", "queue", &what_ms, WHAT_RATE, "time_in_queue", NULL, 0.001, "mean number of requests that waited" },
	{ "await", "await_ms", &what_ms, WHAT_RATIO, "read_ticks+write_ticks", "read_ios+write_ios", 0, "mean time of a request, in milliseconds" },
	{ "util", "busy", &what_percent, WHAT_RATE, "io_ticks", NULL, 0.1, "part of the time that the device was busy", .width = 4 },
	{ 0 },
};
static const struct what_column net_columns[] = {
	{ "recv", "received", &what_bytes_rate, WHAT_RATE, "rx_bytes", NULL, 0, "bytes received" },
	{ "send", "sent", &what_bytes_rate, WHAT_RATE, "tx_bytes", NULL, 0, "bytes sent" },
	{ 0 },
};
static const struct what_column packets_columns[] = {
	{ "#recv", "received_packets", &what_rate, WHAT_RATE, "rx_packets", NULL, 0, "packets received" },
	{ "#send", "sent_packets", &what_rate, WHAT_RATE, "tx_packets", NULL, 0, "packets sent" },
	{ "err", "errors", &what_rate, WHAT_RATE, "rx_errors+tx_errors", NULL, 0, "packets with errors, both ways" },
	{ "drop", "dropped", &what_rate, WHAT_RATE, "rx_dropped+tx_dropped", NULL, 0, "packets dropped, both ways" },
	{ 0 },
};
static const struct what_column page_columns[] = {
	{ "in", "in", &what_bytes_rate, WHAT_RATE, "pswpin", NULL, -1, "bytes read from swap" },
	{ "out", "out", &what_bytes_rate, WHAT_RATE, "pswpout", NULL, -1, "bytes written to swap" },
	{ 0 },
};
static const struct what_column sys_columns[] = {
	{ "int", "interrupts", &what_rate, WHAT_RATE, "intr", NULL, 0, "interrupts" },
	{ "csw", "switches", &what_rate, WHAT_RATE, "ctxt", NULL, 0, "context switches" },
	{ 0 },
};
static const struct what_column load_columns[] = {
	{ "1m", "load1", &what_load, WHAT_GAUGE, "load1", NULL, 0, "mean number of tasks that ran, wanted to, or slept uninterruptibly, over a minute" },
	{ "5m", "load5", &what_load, WHAT_GAUGE, "load5", NULL, 0, "the same over five minutes" },
	{ "15m", "load15", &what_load, WHAT_GAUGE, "load15", NULL, 0, "the same over fifteen minutes" },
	{ 0 },
};
static const struct what_column mem_columns[] = {
	{ "used", "used", &what_bytes, WHAT_GAUGE, "MemTotal-MemFree-Buffers-Cached-SReclaimable+Shmem", NULL, 1024, "memory that cannot be reclaimed at once" },
	{ "free", "free", &what_bytes, WHAT_GAUGE, "MemFree", NULL, 1024, "memory that nobody uses" },
	{ "buff", "buffers", &what_bytes, WHAT_GAUGE, "Buffers", NULL, 1024, "page cache of block devices" },
	{ "cach", "cached", &what_bytes, WHAT_GAUGE, "Cached", NULL, 1024, "page cache of files, and shared memory" },
	{ 0 },
};
static const struct what_column available_columns[] = {
	{ "avail", "available", &what_bytes, WHAT_GAUGE, "MemAvailable", NULL, 1024, "what new programs can get without swapping, as the kernel estimates it" },
	{ "dirty", "dirty", &what_bytes, WHAT_GAUGE, "Dirty+Writeback", NULL, 1024, "changed pages of files, not yet written" },
	{ "slab", "slab", &what_bytes, WHAT_GAUGE, "Slab", NULL, 1024, "object caches of the kernel" },
	{ 0 },
};
static const struct what_column proc_columns[] = {
	{ "run", "running", &what_few, WHAT_GAUGE, "procs_running", NULL, 0, "tasks that run or wait for a CPU" },
	{ "blk", "blocked", &what_few, WHAT_GAUGE, "procs_blocked", NULL, 0, "tasks that wait for I/O" },
	{ "new", "forks", &what_plain_rate, WHAT_RATE, "processes", NULL, 0, "tasks created: forks and threads" },
	{ 0 },
};
static const struct what_column swap_columns[] = {
	{ "used", "used", &what_bytes, WHAT_GAUGE, "SwapTotal-SwapFree", NULL, 1024, "swap in use" },
	{ "free", "free", &what_bytes, WHAT_GAUGE, "SwapFree", NULL, 1024, "swap that is free" },
	{ 0 },
};
static const struct what_column int_columns[] = {
	{ "all", "interrupts", &what_rate, WHAT_RATE, "all", NULL, 0, "interrupts of this line, on all CPUs" },
	{ 0 },
};
static const struct what_column softirq_columns[] = {
	{ "timer", "timer", &what_rate, WHAT_RATE, "TIMER", NULL, 0, "expired timers" },
	{ "netrx", "net_rx", &what_rate, WHAT_RATE, "NET_RX", NULL, 0, "runs of the network receive path" },
	{ "nettx", "net_tx", &what_rate, WHAT_RATE, "NET_TX", NULL, 0, "runs of the network transmit path" },
	{ "block", "block", &what_rate, WHAT_RATE, "BLOCK", NULL, 0, "completions of block requests" },
	{ "tskl", "tasklet", &what_rate, WHAT_RATE, "TASKLET+HI", NULL, 0, "tasklets" },
	{ "sched", "sched", &what_rate, WHAT_RATE, "SCHED", NULL, 0, "load balancing" },
	{ "rcu", "rcu", &what_rate, WHAT_RATE, "RCU", NULL, 0, "RCU callbacks" },
	{ 0 },
};
static const struct what_column vm_columns[] = {
	{ "majpf", "major_faults", &what_rate, WHAT_RATE, "pgmajfault", NULL, 0, "page faults that waited for a device" },
	{ "minpf", "minor_faults", &what_rate, WHAT_RATE, "pgfault-pgmajfault", NULL, 0, "page faults that did not wait" },
	{ "alloc", "allocated", &what_rate, WHAT_RATE, "pgalloc_*", NULL, 0, "pages allocated, in all zones" },
	{ "free", "freed", &what_rate, WHAT_RATE, "pgfree", NULL, 0, "pages freed" },
	{ 0 },
};
static const struct what_column reclaim_columns[] = {
	{ "scan", "scanned", &what_rate, WHAT_RATE, "pgscan_kswapd+pgscan_direct", NULL, 0, "pages looked at by reclaim" },
	{ "steal", "reclaimed", &what_rate, WHAT_RATE, "pgsteal_kswapd+pgsteal_direct", NULL, 0, "pages reclaimed" },
	{ "stall", "stalls", &what_rate, WHAT_RATE, "allocstall_*", NULL, 0, "allocations that had to reclaim first" },
	{ "oom", "oom_kills", &what_rate, WHAT_RATE, "oom_kill", NULL, 0, "processes killed because memory had run out" },
	{ 0 },
};
static const struct what_column aio_columns[] = {
	{ "#aio", "requests", &what_count, WHAT_GAUGE, "value", NULL, 0, "asynchronous I/O requests that contexts may have (aio-nr)", .width = 5 },
	{ 0 },
};
static const struct what_column udp_columns[] = {
	{ "lis", "listen", &what_count, WHAT_GAUGE, "close", NULL, 0, "sockets that are bound and not connected" },
	{ "act", "active", &what_count, WHAT_GAUGE, "established", NULL, 0, "sockets that are connected" },
	{ 0 },
};
static const struct what_column tcp_columns[] = {
	{ "lis", "listen", &what_count, WHAT_GAUGE, "listen", NULL, 0, "listening sockets" },
	{ "act", "active", &what_count, WHAT_GAUGE, "established", NULL, 0, "established connections" },
	{ "syn", "opening", &what_count, WHAT_GAUGE, "syn_sent+syn_recv+last_ack", NULL, 0, "connections in SYN-SENT, SYN-RECEIVED or LAST-ACK" },
	{ "tim", "time_wait", &what_count, WHAT_GAUGE, "time_wait", NULL, 0, "connections in TIME-WAIT" },
	{ "clo", "closing", &what_count, WHAT_GAUGE, "fin_wait1+fin_wait2+close+close_wait+closing", NULL, 0, "connections that are being closed" },
	{ 0 },
};
static const struct what_column socket_columns[] = {
	{ "tot", "total", &what_count, WHAT_GAUGE, "sockets/used", NULL, 0, "sockets of all kinds" },
	{ "tcp", "tcp", &what_count, WHAT_GAUGE, "TCP/inuse", NULL, 0, "TCP sockets (IPv4)" },
	{ "udp", "udp", &what_count, WHAT_GAUGE, "UDP/inuse", NULL, 0, "UDP sockets (IPv4)" },
	{ "raw", "raw", &what_count, WHAT_GAUGE, "RAW/inuse", NULL, 0, "raw sockets (IPv4)" },
	{ "frg", "fragments", &what_count, WHAT_GAUGE, "FRAG/inuse", NULL, 0, "IP packets that wait for their other fragments" },
	{ 0 },
};
static const struct what_column unix_columns[] = {
	{ "dgm", "datagram", &what_count, WHAT_GAUGE, "datagram", NULL, 0, "datagram sockets" },
	{ "str", "stream", &what_count, WHAT_GAUGE, "stream", NULL, 0, "stream sockets" },
	{ "lis", "listen", &what_count, WHAT_GAUGE, "listen", NULL, 0, "stream sockets without a connection" },
	{ "act", "active", &what_count, WHAT_GAUGE, "established", NULL, 0, "connected stream sockets" },
	{ 0 },
};
static const struct what_column raw_columns[] = {
	{ "raw", "sockets", &what_count, WHAT_GAUGE, "all", NULL, 0, "raw sockets" },
	{ 0 },
};
static const struct what_column fs_columns[] = {
	{ "files", "files", &what_count, WHAT_GAUGE, "allocated", NULL, 0, "open files", .width = 6 },
	{ "inodes", "inodes", &what_count, WHAT_GAUGE, "allocated-unused", NULL, 0, "inodes in memory that are in use", .files = "proc/sys/fs/inode-nr", .width = 6 },
	{ 0 },
};
static const struct what_column ipc_columns[] = {
	{ "msg", "message_queues", &what_few, WHAT_GAUGE, "count", NULL, 0, "message queues", .files = "proc/sysvipc/msg" },
	{ "sem", "semaphores", &what_few, WHAT_GAUGE, "count", NULL, 0, "sets of semaphores", .files = "proc/sysvipc/sem" },
	{ "shm", "segments", &what_few, WHAT_GAUGE, "count", NULL, 0, "shared memory segments", .files = "proc/sysvipc/shm" },
	{ 0 },
};
static const struct what_column lock_columns[] = {
	{ "pos", "posix", &what_few, WHAT_GAUGE, "posix", NULL, 0, "locks of fcntl" },
	{ "lck", "flock", &what_few, WHAT_GAUGE, "flock", NULL, 0, "locks of flock" },
	{ "rea", "read", &what_few, WHAT_GAUGE, "read", NULL, 0, "of both, shared ones" },
	{ "wri", "write", &what_few, WHAT_GAUGE, "write", NULL, 0, "of both, exclusive ones" },
	{ 0 },
};
static const struct what_column psi_columns[] = {
	{ "cpu", "cpu_some", &what_percent, WHAT_RATE, "some/total", NULL, 0.0001, "part of the time that a task waited for a CPU", .files = "proc/pressure/cpu" },
	{ "mem", "memory_some", &what_percent, WHAT_RATE, "some/total", NULL, 0.0001, "part of the time that a task waited for memory", .files = "proc/pressure/memory" },
	{ "MEM", "memory_full", &what_percent, WHAT_RATE, "full/total", NULL, 0.0001, "part of the time that all tasks waited for memory", .files = "proc/pressure/memory" },
	{ "io", "io_some", &what_percent, WHAT_RATE, "some/total", NULL, 0.0001, "part of the time that a task waited for I/O", .files = "proc/pressure/io" },
	{ "IO", "io_full", &what_percent, WHAT_RATE, "full/total", NULL, 0.0001, "part of the time that all tasks waited for I/O", .files = "proc/pressure/io" },
	{ 0 },
};
static const struct what_column tcp_rate_columns[] = {
	{ "in", "in_segments", &what_rate, WHAT_RATE, "Tcp/InSegs", NULL, 0, "TCP segments received" },
	{ "out", "out_segments", &what_rate, WHAT_RATE, "Tcp/OutSegs", NULL, 0, "TCP segments sent" },
	{ "retr", "retransmitted", &what_rate, WHAT_RATE, "Tcp/RetransSegs", NULL, 0, "TCP segments sent again" },
	{ "open", "opened", &what_rate, WHAT_RATE, "Tcp/ActiveOpens+Tcp/PassiveOpens", NULL, 0, "TCP connections opened, by either side" },
	{ "rst", "resets", &what_rate, WHAT_RATE, "Tcp/OutRsts", NULL, 0, "TCP resets sent" },
	{ 0 },
};
static const struct what_column udp_rate_columns[] = {
	{ "in", "in_datagrams", &what_rate, WHAT_RATE, "Udp/InDatagrams", NULL, 0, "UDP datagrams delivered" },
	{ "out", "out_datagrams", &what_rate, WHAT_RATE, "Udp/OutDatagrams", NULL, 0, "UDP datagrams sent" },
	{ "err", "errors", &what_rate, WHAT_RATE, "Udp/InErrors+Udp/NoPorts", NULL, 0, "UDP datagrams that could not be delivered" },
	{ 0 },
};
static const struct what_column sched_columns[] = {
	{ "wait", "waiting", &what_load, WHAT_RATE, "wait_ns", NULL, 1e-9, "mean number of tasks that waited for a CPU", .width = 5 },
	{ "run", "running", &what_load, WHAT_RATE, "run_ns", NULL, 1e-9, "mean number of tasks that ran", .width = 5 },
	{ "lat", "latency_ms", &what_ms, WHAT_RATIO, "wait_ns", "slices", 1e-6, "mean wait for a CPU before a time slice, in milliseconds" },
	{ 0 },
};
static const struct what_column temperature_columns[] = {
	{ "temp", "temperature", &celsius, WHAT_GAUGE, "value", NULL, 0.001, "degrees Celsius; the total is the hottest", .total = WHAT_MOST },
	{ 0 },
};
static const struct what_column frequency_columns[] = {
	{ "freq", "frequency", &hertz, WHAT_GAUGE, "value", NULL, 1000, "clock of the CPU, as cpufreq knows it; the total is the mean", .total = WHAT_MEAN },
	{ 0 },
};
static const struct what_column health_columns[] = {
	{ "fail", "failing", &what_few, WHAT_GAUGE, "failing", NULL, 0, "1: the disk says of itself that it is failing", .width = 4 },
	{ "temp", "temperature", &celsius, WHAT_GAUGE, "temperature", NULL, 0, "degrees Celsius" },
	{ "used", "used", &what_percent, WHAT_GAUGE, "used", NULL, 0, "part of its expected life that has passed (NVMe)", .width = 4 },
	{ "bad", "errors", &what_count, WHAT_GAUGE, "media_errors+reallocated+pending+uncorrectable", NULL, 0, "NVMe: errors of the medium; ATA: sectors that were replaced, wait for it, or cannot be read" },
	{ "hours", "hours", &what_count, WHAT_GAUGE, "power_on_hours", NULL, 0, "hours it has been on", .width = 5 },
	{ 0 },
};
#define CGROUP "sys/fs/cgroup/%s/"
static const struct what_column cgroup_columns[] = {
	{ "cpu", "cpu", &what_percent, WHAT_RATE, "usage_usec", NULL, 0.0001, "CPU time, in percent of one CPU", .files = CGROUP "cpu.stat", .width = 4 },
	{ "thr", "throttled", &what_percent, WHAT_RATE, "throttled_usec", NULL, 0.0001, "time it was held back by its CPU limit", .files = CGROUP "cpu.stat" },
	{ "mem", "memory", &what_bytes, WHAT_GAUGE, "value", NULL, 0, "memory, with the page cache of its files", .files = CGROUP "memory.current" },
	{ "read", "read", &what_bytes_rate, WHAT_RATE, "rbytes", NULL, 0, "bytes read from block devices", .files = CGROUP "io.stat" },
	{ "writ", "written", &what_bytes_rate, WHAT_RATE, "wbytes", NULL, 0, "bytes written to block devices", .files = CGROUP "io.stat" },
	{ "task", "tasks", &what_count, WHAT_GAUGE, "value", NULL, 0, "tasks", .files = CGROUP "pids.current" },
	{ 0 },
};
static const struct what_column cgroup_psi_columns[] = {
	{ "cpu", "cpu_some", &what_percent, WHAT_RATE, "some/total", NULL, 0.0001, "part of the time that a task of it waited for a CPU", .files = CGROUP "cpu.pressure" },
	{ "mem", "memory_some", &what_percent, WHAT_RATE, "some/total", NULL, 0.0001, "part of the time that a task of it waited for memory", .files = CGROUP "memory.pressure" },
	{ "MEM", "memory_full", &what_percent, WHAT_RATE, "full/total", NULL, 0.0001, "part of the time that all its tasks waited for memory", .files = CGROUP "memory.pressure" },
	{ "io", "io_some", &what_percent, WHAT_RATE, "some/total", NULL, 0.0001, "part of the time that a task of it waited for I/O", .files = CGROUP "io.pressure" },
	{ "IO", "io_full", &what_percent, WHAT_RATE, "full/total", NULL, 0.0001, "part of the time that all its tasks waited for I/O", .files = CGROUP "io.pressure" },
	{ 0 },
};
#define V1(controller) "sys/fs/cgroup/" controller "/%s/"
static const struct what_column cgroup_v1_columns[] = {
	{ "cpu", "cpu", &what_percent, WHAT_RATE, "value", NULL, 1e-7, "CPU time, in percent of one CPU", .files = V1("cpuacct") "cpuacct.usage", .width = 4 },
	{ "thr", "throttled", &what_percent, WHAT_RATE, "throttled_time", NULL, 1e-7, "time it was held back by its CPU limit", .files = V1("cpu") "cpu.stat" },
	{ "mem", "memory", &what_bytes, WHAT_GAUGE, "value", NULL, 0, "memory, with the page cache of its files", .files = V1("memory") "memory.usage_in_bytes" },
	{ "read", "read", &what_bytes_rate, WHAT_RATE, "Read", NULL, 0, "bytes read from block devices", .files = V1("blkio") "blkio.throttle.io_service_bytes" },
	{ "writ", "written", &what_bytes_rate, WHAT_RATE, "Write", NULL, 0, "bytes written to block devices", .files = V1("blkio") "blkio.throttle.io_service_bytes" },
	{ "task", "tasks", &what_count, WHAT_GAUGE, "value", NULL, 0, "tasks", .files = V1("pids") "pids.current" },
	{ 0 },
};

/* ---- as other tools show it ---- */

static const struct what_column vmstat_procs[] = {
	{ "r", "running", &whole, WHAT_GAUGE, "procs_running", NULL, 0, "tasks that run or wait for a CPU", .width = 2 },
	{ "b", "blocked", &whole, WHAT_GAUGE, "procs_blocked", NULL, 0, "tasks that wait for I/O", .width = 2 },
	{ 0 },
};
static const struct what_column vmstat_memory[] = {
	{ "swpd", "swap_used", &whole_kb, WHAT_GAUGE, "SwapTotal-SwapFree", NULL, 0, "swap in use" },
	{ "free", "free", &whole_kb, WHAT_GAUGE, "MemFree", NULL, 0, "memory that nobody uses" },
	{ "buff", "buffers", &whole_kb, WHAT_GAUGE, "Buffers", NULL, 0, "page cache of block devices" },
	{ "cache", "cached", &whole_kb, WHAT_GAUGE, "Cached+SReclaimable", NULL, 0, "page cache, and what the kernel can reclaim of its object caches" },
	{ 0 },
};
static const struct what_column vmstat_swap[] = {
	{ "si", "swap_in", &whole_kb_rate, WHAT_RATE, "pswpin", NULL, -1024, "read from swap", .width = 4 },
	{ "so", "swap_out", &whole_kb_rate, WHAT_RATE, "pswpout", NULL, -1024, "written to swap", .width = 4 },
	{ 0 },
};
static const struct what_column vmstat_io[] = {
	{ "bi", "read", &whole_kb_rate, WHAT_RATE, "pgpgin", NULL, 0, "read from block devices" },
	{ "bo", "written", &whole_kb_rate, WHAT_RATE, "pgpgout", NULL, 0, "written to block devices" },
	{ 0 },
};
static const struct what_column vmstat_system[] = {
	{ "in", "interrupts", &whole_rate, WHAT_RATE, "intr", NULL, 0, "interrupts", .width = 4 },
	{ "cs", "switches", &whole_rate, WHAT_RATE, "ctxt", NULL, 0, "context switches", .width = 4 },
	{ 0 },
};
static const struct what_column vmstat_cpu[] = {
	{ "us", "user", &whole_percent, WHAT_SHARE, "user+nice", ALL_TIME, 0, "programs" },
	{ "sy", "system", &whole_percent, WHAT_SHARE, "system+irq+softirq", ALL_TIME, 0, "the kernel" },
	{ "id", "idle", &whole_percent, WHAT_SHARE, "idle", ALL_TIME, 0, "nothing to do" },
	{ "wa", "iowait", &whole_percent, WHAT_SHARE, "iowait", ALL_TIME, 0, "waiting for I/O" },
	{ "st", "steal", &whole_percent, WHAT_SHARE, "steal", ALL_TIME, 0, "taken by the host" },
	{ 0 },
};
static const struct what_column iostat_columns[] = {
	{ "r/s", "reads", &exact_rate, WHAT_RATE, "read_ios", NULL, 0, "read requests completed" },
	{ "rkB/s", "read_kb", &exact_kb_rate, WHAT_RATE, "read_sectors", NULL, 0.5, "kilobytes read" },
	{ "rrqm/s", "read_merges", &exact_rate, WHAT_RATE, "read_merges", NULL, 0, "read requests merged" },
	{ "r_await", "read_await", &exact_ms, WHAT_RATIO, "read_ticks", "read_ios", 0, "mean time of a read request" },
	{ "rareq-sz", "read_size", &exact_kb, WHAT_RATIO, "read_sectors", "read_ios", 0.5, "mean size of a read request" },
	{ "w/s", "writes", &exact_rate, WHAT_RATE, "write_ios", NULL, 0, "write requests completed" },
	{ "wkB/s", "written_kb", &exact_kb_rate, WHAT_RATE, "write_sectors", NULL, 0.5, "kilobytes written" },
	{ "wrqm/s", "write_merges", &exact_rate, WHAT_RATE, "write_merges", NULL, 0, "write requests merged" },
	{ "w_await", "write_await", &exact_ms, WHAT_RATIO, "write_ticks", "write_ios", 0, "mean time of a write request" },
	{ "wareq-sz", "write_size", &exact_kb, WHAT_RATIO, "write_sectors", "write_ios", 0.5, "mean size of a write request" },
	{ "aqu-sz", "queue", &exact, WHAT_RATE, "read_ticks+write_ticks+discard_ticks+flush_ticks", NULL, 0.001, "mean number of requests that waited or were served" },
	{ "%util", "busy", &exact_percent, WHAT_RATE, "io_ticks", NULL, 0.1, "part of the time that the device was busy" },
	{ 0 },
};
#define MPSTAT_TIME ALL_TIME
static const struct what_column mpstat_columns[] = {
	{ "%usr", "user", &exact_percent, WHAT_SHARE, "user-guest", MPSTAT_TIME, 0, "programs, without guests" },
	{ "%nice", "nice", &exact_percent, WHAT_SHARE, "nice-guest_nice", MPSTAT_TIME, 0, "niced programs" },
	{ "%sys", "system", &exact_percent, WHAT_SHARE, "system", MPSTAT_TIME, 0, "the kernel, without interrupts" },
	{ "%iowait", "iowait", &exact_percent, WHAT_SHARE, "iowait", MPSTAT_TIME, 0, "waiting for I/O" },
	{ "%irq", "irq", &exact_percent, WHAT_SHARE, "irq", MPSTAT_TIME, 0, "interrupts" },
	{ "%soft", "softirq", &exact_percent, WHAT_SHARE, "softirq", MPSTAT_TIME, 0, "softirqs" },
	{ "%steal", "steal", &exact_percent, WHAT_SHARE, "steal", MPSTAT_TIME, 0, "taken by the host" },
	{ "%guest", "guest", &exact_percent, WHAT_SHARE, "guest", MPSTAT_TIME, 0, "guests" },
	{ "%gnice", "guest_nice", &exact_percent, WHAT_SHARE, "guest_nice", MPSTAT_TIME, 0, "niced guests" },
	{ "%idle", "idle", &exact_percent, WHAT_SHARE, "idle", MPSTAT_TIME, 0, "nothing to do" },
	{ 0 },
};
static const struct what_column sar_columns[] = {
	{ "%user", "user", &exact_percent, WHAT_SHARE, "user", ALL_TIME, 0, "programs" },
	{ "%nice", "nice", &exact_percent, WHAT_SHARE, "nice", ALL_TIME, 0, "niced programs" },
	{ "%system", "system", &exact_percent, WHAT_SHARE, "system+irq+softirq", ALL_TIME, 0, "the kernel", .width = 8 },
	{ "%iowait", "iowait", &exact_percent, WHAT_SHARE, "iowait", ALL_TIME, 0, "waiting for I/O" },
	{ "%steal", "steal", &exact_percent, WHAT_SHARE, "steal", ALL_TIME, 0, "taken by the host" },
	{ "%idle", "idle", &exact_percent, WHAT_SHARE, "idle", ALL_TIME, 0, "nothing to do" },
	{ 0 },
};
static const struct what_column sar_mem_columns[] = {
	{ "kbmemfree", "free", &whole_kb, WHAT_GAUGE, "MemFree", NULL, 0, "memory that nobody uses", .width = 10 },
	{ "kbavail", "available", &whole_kb, WHAT_GAUGE, "MemAvailable", NULL, 0, "what new programs can get", .width = 10 },
	{ "kbcached", "cached", &whole_kb, WHAT_GAUGE, "Cached", NULL, 0, "page cache", .width = 10 },
	{ "kbdirty", "dirty", &whole_kb, WHAT_GAUGE, "Dirty", NULL, 0, "changed pages, not yet written", .width = 9 },
	{ 0 },
};
static const struct what_column sar_io_columns[] = {
	{ "bread/s", "read_sectors", &exact_rate, WHAT_RATE, "read_sectors", NULL, 0, "sectors of 512 bytes read" },
	{ "bwrtn/s", "written_sectors", &exact_rate, WHAT_RATE, "write_sectors", NULL, 0, "sectors of 512 bytes written", .width = 10 },
	{ 0 },
};
static const struct what_column sar_net_columns[] = {
	{ "rxkB/s", "received_kb", &exact_kb_rate, WHAT_RATE, "rx_bytes", NULL, 1.0 / 1024, "kilobytes received" },
	{ "txkB/s", "sent_kb", &exact_kb_rate, WHAT_RATE, "tx_bytes", NULL, 1.0 / 1024, "kilobytes sent" },
	{ 0 },
};
static const struct what_column netstat_columns[] = {
	{ "RX-OK", "rx_packets", &total_count, WHAT_GAUGE, "rx_packets", NULL, 0, "packets received, in all" },
	{ "RX-ERR", "rx_errors", &total_count, WHAT_GAUGE, "rx_errors", NULL, 0, "packets received with errors" },
	{ "RX-DRP", "rx_dropped", &total_count, WHAT_GAUGE, "rx_dropped", NULL, 0, "packets received and dropped" },
	{ "RX-OVR", "rx_fifo", &total_count, WHAT_GAUGE, "rx_fifo", NULL, 0, "packets lost to a full queue" },
	{ "TX-OK", "tx_packets", &total_count, WHAT_GAUGE, "tx_packets", NULL, 0, "packets sent, in all" },
	{ "TX-ERR", "tx_errors", &total_count, WHAT_GAUGE, "tx_errors", NULL, 0, "packets that could not be sent" },
	{ "TX-DRP", "tx_dropped", &total_count, WHAT_GAUGE, "tx_dropped", NULL, 0, "packets dropped before they were sent" },
	{ "TX-OVR", "tx_fifo", &total_count, WHAT_GAUGE, "tx_fifo", NULL, 0, "packets lost to a queue" },
	{ 0 },
};
static const struct what_column ifstat_columns[] = {
	{ "KB/s in", "received_kb", &exact_kb_rate, WHAT_RATE, "rx_bytes", NULL, 1.0 / 1024, "kilobytes received" },
	{ "KB/s out", "sent_kb", &exact_kb_rate, WHAT_RATE, "tx_bytes", NULL, 1.0 / 1024, "kilobytes sent" },
	{ 0 },
};

/* ---- which rows ---- */

/* Whole disks: parts of one, and what is made of several, would count twice. */
bool what_is_whole_disk(const char *name)
{
	size_t len = strlen(name);
	bool ends_in_digit = len && isdigit((unsigned char)name[len - 1]);
	if (!strncmp(name, "dm-", 3) || !strncmp(name, "md", 2) || !strncmp(name, "loop", 4) ||
	    !strncmp(name, "ram", 3))
		return false;
	if ((!strncmp(name, "nvme", 4) || !strncmp(name, "mmcblk", 6)) && ends_in_digit)
		return !strrchr(name, 'p');
	bool lettered = len > 2 && name[1] == 'd' && strchr("hsv", name[0]);
	return !((lettered || !strncmp(name, "xvd", 3)) && ends_in_digit);
}

/* What others do not carry: no loopback, no bond over interfaces that count themselves, no VLAN (eth0.5). */
static bool is_real_interface(const char *name)
{
	return strcmp(name, "lo") && strncmp(name, "bond", 4) && !strchr(name, '.');
}

static bool any_in_use(const char *row, bool idle)
{
	(void)row;
	return !idle;
}
static bool is_one_cpu(const char *row, bool idle)
{
	(void)idle;
	return !strncmp(row, "cpu", 3) && row[3];
}
static bool any_row(const char *row, bool idle)
{
	(void)row;
	(void)idle;
	return true;
}

#define OF_CPU "proc/stat", .total_row = "cpu", .row_prefix = "cpu", .in_all = is_one_cpu
#define OF_DISKS "proc/diskstats", .in_total = what_is_whole_disk, .in_all = any_in_use
#define OF_NET "proc/net/dev", .in_total = is_real_interface, .in_all = any_in_use

const struct what_group what_groups[] = {
	{ .name = "cpu", .title = "total cpu usage", .row_title = "cpu%s usage", .files = OF_CPU, .columns = cpu_columns, .about = "where CPU time goes" },
	{ .name = "disk", .title = "dsk/total", .row_title = "dsk/%s", .files = OF_DISKS, .columns = disk_columns, .about = "bytes read and written by disks" },
	{ .name = "net", .title = "net/total", .row_title = "net/%s", .files = OF_NET, .columns = net_columns, .about = "bytes received and sent by network interfaces" },
	{ .name = "page", .title = "paging", .files = "proc/vmstat", .columns = page_columns, .about = "bytes swapped in and out" },
	{ .name = "sys", .title = "system", .files = "proc/stat", .columns = sys_columns, .about = "interrupts and context switches" },
	{ .name = "load", .title = "load avg", .files = "proc/loadavg", .columns = load_columns, .about = "load averages" },
	{ .name = "proc", .title = "procs", .files = "proc/stat", .columns = proc_columns, .about = "tasks: runnable, blocked, new" },
	{ .name = "mem", .title = "memory usage", .files = "proc/meminfo", .columns = mem_columns, .about = "memory" },
	{ .name = "mem-more", .title = "more memory", .files = "proc/meminfo", .columns = available_columns, .about = "memory that is available, dirty, the kernel's" },
	{ .name = "swap", .title = "swap", .files = "proc/meminfo", .columns = swap_columns, .about = "swap space" },
	{ .name = "io", .title = "io/total", .row_title = "io/%s", .files = OF_DISKS, .columns = io_columns, .about = "requests completed by disks" },
	{ .name = "disk-use", .title = "dsk/total-use", .row_title = "use/%s", .files = OF_DISKS, .columns = disk_use_columns, .about = "merges, queue, waiting time and utilisation of disks" },
	{ .name = "packets", .title = "pkt/total", .row_title = "pkt/%s", .files = OF_NET, .columns = packets_columns, .about = "packets, errors and drops of network interfaces" },
	{ .name = "int", .title = "intr", .row_title = "int/%s", .files = "proc/interrupts", .columns = int_columns, .in_all = any_in_use, .about = "interrupts, with -f or -I by line" },
	{ .name = "softirq", .title = "softirqs", .files = "proc/stat", .columns = softirq_columns, .about = "deferred interrupt work" },
	{ .name = "vm", .title = "virtual memory", .files = "proc/vmstat", .columns = vm_columns, .about = "page faults, pages allocated and freed" },
	{ .name = "reclaim", .title = "reclaim", .files = "proc/vmstat", .columns = reclaim_columns, .about = "what the kernel does when memory runs short" },
	{ .name = "psi", .title = "pressure", .files = "proc/pressure/cpu", .columns = psi_columns, .about = "time that tasks lost waiting for CPU, memory, I/O" },
	{ .name = "aio", .title = "async", .files = "proc/sys/fs/aio-nr", .columns = aio_columns, .about = "asynchronous I/O" },
	{ .name = "fs", .title = "filesystem", .files = "proc/sys/fs/file-nr", .columns = fs_columns, .about = "open files and inodes" },
	{ .name = "ipc", .title = "sysv ipc", .files = "proc/sysvipc/msg", .columns = ipc_columns, .about = "System V IPC objects" },
	{ .name = "lock", .title = "file locks", .files = "proc/locks", .columns = lock_columns, .about = "file locks" },
	{ .name = "raw", .title = "raw", .files = "proc/net/raw proc/net/raw6", .columns = raw_columns, .about = "raw sockets" },
	{ .name = "socket", .title = "sockets", .files = "proc/net/sockstat", .columns = socket_columns, .about = "sockets in use" },
	{ .name = "tcp", .title = "tcp sockets", .files = "proc/net/tcp proc/net/tcp6", .columns = tcp_columns, .about = "TCP sockets by state" },
	{ .name = "udp", .title = "udp", .files = "proc/net/udp proc/net/udp6", .columns = udp_columns, .about = "UDP sockets by state" },
	{ .name = "unix", .title = "unix sockets", .files = "proc/net/unix", .columns = unix_columns, .about = "Unix sockets" },
	{ .name = "tcp-rate", .title = "tcp segments", .files = "proc/net/snmp", .columns = tcp_rate_columns, .about = "TCP segments, retransmissions, connections" },
	{ .name = "udp-rate", .title = "udp datagrams", .files = "proc/net/snmp", .columns = udp_rate_columns, .about = "UDP datagrams and errors" },
	{ .name = "sched", .title = "scheduler", .row_title = "sched/cpu%s", .files = "proc/schedstat", .columns = sched_columns, .row_prefix = "cpu", .in_all = is_one_cpu, .about = "waiting for CPUs, on kernels with CONFIG_SCHEDSTATS" },
	{ .name = "temperature", .title = "temp", .row_title = "temp/%s", .files = "sys/class/%s", .list = what_rows_sensors, .columns = temperature_columns, .none = "no temperature sensors in /sys/class/thermal and /sys/class/hwmon", .about = "temperatures; with -f by sensor" },
	{ .name = "frequency", .title = "clock", .row_title = "clock/%s", .files = "sys/devices/system/cpu/cpu%s/cpufreq/scaling_cur_freq", .list = what_rows_cpus, .columns = frequency_columns, .none = "this kernel does not say how fast CPUs are clocked (no cpufreq)", .about = "clock of the CPUs" },
	{ .name = "disk-health", .title = "health", .row_title = "health/%s", .files = "dev/%s", .list = what_rows_disks, .columns = health_columns, .only_rows = true, .none = "no disks", .about = "health that disks report (SMART)" },
	{ .name = "cgroup", .title = "cgroups", .row_title = "%s", .files = CGROUP "cpu.stat", .list = what_rows_cgroups, .columns = cgroup_columns, .only_rows = true, .none = "no cgroups below /sys/fs/cgroup", .unless = "sys/fs/cgroup/cgroup.controllers", .instead = "cgroup-v1", .about = "CPU time, memory, I/O and tasks of cgroups" },
	{ .name = "cgroup-psi", .title = "cgroups", .row_title = "%s", .files = CGROUP "cpu.pressure", .list = what_rows_cgroups, .columns = cgroup_psi_columns, .only_rows = true, .none = "no cgroups of version 2, which have pressure, at /sys/fs/cgroup", .about = "pressure by cgroup: time that its tasks lost waiting for CPU, memory, I/O" },
	{ .name = "cgroup-v1", .title = "cgroups", .row_title = "%s", .files = V1("cpuacct") "cpuacct.usage", .list = what_rows_cgroups_v1, .columns = cgroup_v1_columns, .only_rows = true, .none = "no cgroups below /sys/fs/cgroup", .of_preset = true },

	{ .name = "vmstat-procs", .title = "procs", .files = "proc/stat", .columns = vmstat_procs, .of_preset = true },
	{ .name = "vmstat-memory", .title = "memory", .files = "proc/meminfo", .columns = vmstat_memory, .of_preset = true },
	{ .name = "vmstat-swap", .title = "swap", .files = "proc/vmstat", .columns = vmstat_swap, .of_preset = true },
	{ .name = "vmstat-io", .title = "io", .files = "proc/vmstat", .columns = vmstat_io, .of_preset = true },
	{ .name = "vmstat-system", .title = "system", .files = "proc/stat", .columns = vmstat_system, .of_preset = true },
	{ .name = "vmstat-cpu", .title = "cpu", .files = "proc/stat", .total_row = "cpu", .columns = vmstat_cpu, .of_preset = true },
	{ .name = "iostat", .title = "Device", .row_title = "%s", .files = OF_DISKS, .columns = iostat_columns, .only_rows = true, .of_preset = true },
	{ .name = "mpstat", .title = "all", .row_title = "%s", .files = OF_CPU, .columns = mpstat_columns, .of_preset = true },
	{ .name = "sar-cpu", .title = "cpu", .files = "proc/stat", .total_row = "cpu", .columns = sar_columns, .of_preset = true },
	{ .name = "sar-mem", .title = "memory", .files = "proc/meminfo", .columns = sar_mem_columns, .of_preset = true },
	{ .name = "sar-io", .title = "io", .files = "proc/diskstats", .in_total = what_is_whole_disk, .columns = sar_io_columns, .row_title = "%s", .of_preset = true },
	{ .name = "sar-net", .title = "network", .files = "proc/net/dev", .in_total = is_real_interface, .columns = sar_net_columns, .row_title = "%s", .of_preset = true },
	{ .name = "netstat", .title = "Iface", .row_title = "%s", .files = "proc/net/dev", .in_all = any_row, .columns = netstat_columns, .only_rows = true, .of_preset = true },
	{ .name = "ifstat", .title = "total", .row_title = "%s", .files = OF_NET, .columns = ifstat_columns, .only_rows = true, .of_preset = true },
	{ 0 },
};

const struct what_preset what_presets[] = {
	{ "dstat", "cpu disk net page sys", "the default: cpu, disk, net, paging, system", .first_since_boot = true },
	{ "vmstat", "vmstat-procs vmstat-memory vmstat-swap vmstat-io vmstat-system vmstat-cpu", "processes, memory, swap, block I/O, CPU", .first_since_boot = true },
	{ "iostat", "iostat", "requests, sizes, waiting times and utilisation by disk (iostat -x)", .first_since_boot = true, .table = true, .rows = true },
	{ "mpstat", "mpstat", "time by CPU (mpstat -P ALL)", .table = true, .stamped = true, .averages = true, .rows = true },
	{ "sar", "sar-cpu sar-mem sar-io sar-net", "CPU, memory, disk and network activity, with averages", .stamped = true, .averages = true },
	{ "netstat", "netstat", "packets and errors by interface (netstat -i)", .first_since_boot = true, .table = true, .rows = true },
	{ "ifstat", "ifstat", "kilobytes per second by interface", .rows = true },
	{ "pidstat", "", "processes that used CPU time (pidstat)", .table = true },
	{ 0 },
};
/* clang-format on */

const struct what_group *what_group_find(const char *name)
{
	for (const struct what_group *g = what_groups; g->name; g++)
		if (!strcmp(g->name, name))
			return g;
	return NULL;
}

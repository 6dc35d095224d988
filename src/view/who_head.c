#include "view/who_head.h"

#include <time.h>

static void uptime_text(double seconds, struct strbuf *to)
{
	u64 minutes = (u64)seconds / 60, days = minutes / 1440;
	if (days)
		strbuf_printf(to, "%llu day%s, ", (unsigned long long)days, days == 1 ? "" : "s");
	minutes %= 1440;
	if (minutes >= 60)
		strbuf_printf(to, "%2llu:%02llu", (unsigned long long)(minutes / 60),
			      (unsigned long long)(minutes % 60));
	else
		strbuf_printf(to, "%llu min", (unsigned long long)minutes);
}

static void cpu_text(const struct who_cpu *c, struct strbuf *to)
{
	if (c->cpu < 0)
		strbuf_str(to, "%Cpu(s): ");
	else
		strbuf_printf(to, "%%Cpu%-3d : ", c->cpu);
	strbuf_printf(to,
		      "%4.1f us, %4.1f sy, %4.1f ni, %4.1f id, %4.1f wa, %4.1f hi, %4.1f si, %4.1f "
		      "st\n",
		      c->user, c->system, c->nice, c->idle, c->iowait, c->irq, c->softirq, c->steal);
}

static void memory_text(const struct system_reading *m, unsigned unit, struct strbuf *to)
{
	static const char *const names[] = { "MiB", "KiB", "MiB", "GiB", "TiB", "PiB" };
	unit = unit <= MEMORY_PIB ? unit : MEMORY_AS_IS;
	const char *name = names[unit];
	int digits = unit == MEMORY_KIB ? 0 : 1;
	double of = 1;
	for (unsigned i = MEMORY_KIB; i < (unit ? unit : (unsigned)MEMORY_MIB); i++)
		of *= 1024;
	u64 cache = m->buffers_kb + m->cached_kb + m->reclaimable_kb;
	u64 used = u64_less(m->mem_total_kb, m->mem_available_kb);
	strbuf_printf(to, "%s Mem : %8.*f total, %8.*f free, %8.*f used, %8.*f buff/cache\n", name,
		      digits, (double)m->mem_total_kb / of, digits, (double)m->mem_free_kb / of,
		      digits, (double)used / of, digits, (double)cache / of);
	strbuf_printf(to, "%s Swap: %8.*f total, %8.*f free, %8.*f used. %8.*f avail Mem\n", name,
		      digits, (double)m->swap_total_kb / of, digits, (double)m->swap_free_kb / of,
		      digits, (double)u64_less(m->swap_total_kb, m->swap_free_kb) / of, digits,
		      (double)m->mem_available_kb / of);
}

void who_head_text(const struct who_summary *s, const struct system_reading *m,
		   const struct who_head_style *style, struct strbuf *to)
{
	char clock[16] = "";
	time_t now = (time_t)style->now_s;
	struct tm tm;
	if (localtime_r(&now, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	strbuf_printf(to, "who - %s up ", clock);
	uptime_text(m->uptime_s, to);
	strbuf_printf(to, ", load average: %.2f, %.2f, %.2f\n", m->load[0], m->load[1], m->load[2]);
	strbuf_printf(to, "%s: %u total, %u running, %u sleeping, %u stopped, %u zombie",
		      s->threads ? "Threads" : "Tasks", s->total, s->running, s->sleeping,
		      s->stopped, s->zombie);
	if (s->ended)
		strbuf_printf(to, ", %u ended", s->ended);
	strbuf_char(to, '\n');
	vec_for_each (&s->cpus.list, c)
		if (style->per_cpu == (c->cpu >= 0))
			cpu_text(c, to);
	memory_text(m, style->memory, to);
	if (!style->disks)
		return;
	strbuf_printf(to, "Total DISK READ : %12.2f KiB/s | Total DISK WRITE : %12.2f KiB/s\n",
		      s->read_per_s / 1024, s->write_per_s / 1024);
	strbuf_printf(to, "Actual DISK READ: %12.2f KiB/s | Actual DISK WRITE: %12.2f KiB/s\n",
		      s->paged_in_per_s / 1024, s->paged_out_per_s / 1024);
}

static void cpu_json(const struct who_cpu *c, struct json *j)
{
	json_object(j);
	if (c->cpu >= 0)
		json_put_s64(j, "cpu", c->cpu);
	json_put_double(j, "user", c->user);
	json_put_double(j, "nice", c->nice);
	json_put_double(j, "system", c->system);
	json_put_double(j, "idle", c->idle);
	json_put_double(j, "iowait", c->iowait);
	json_put_double(j, "irq", c->irq);
	json_put_double(j, "softirq", c->softirq);
	json_put_double(j, "steal", c->steal);
	json_object_end(j);
}

void who_head_json(const struct who_summary *s, const struct system_reading *m, struct json *j)
{
	json_key(j, "system");
	json_object(j);
	json_put_double(j, "uptime_s", m->uptime_s);
	json_key(j, "load");
	json_array(j);
	for (unsigned i = 0; i < 3; i++)
		json_double(j, m->load[i]);
	json_array_end(j);
	json_put_u64(j, "memory_total_kib", m->mem_total_kb);
	json_put_u64(j, "memory_free_kib", m->mem_free_kb);
	json_put_u64(j, "memory_available_kib", m->mem_available_kb);
	json_put_u64(j, "swap_total_kib", m->swap_total_kb);
	json_put_u64(j, "swap_free_kib", m->swap_free_kb);
	json_put_double(j, "disk_read_bytes_per_s", s->paged_in_per_s);
	json_put_double(j, "disk_write_bytes_per_s", s->paged_out_per_s);
	json_key(j, "cpus");
	json_array(j);
	vec_for_each (&s->cpus.list, c)
		cpu_json(c, j);
	json_array_end(j);
	json_object_end(j);
	json_key(j, "counts");
	json_object(j);
	json_put_u64(j, "total", s->total);
	json_put_u64(j, "running", s->running);
	json_put_u64(j, "sleeping", s->sleeping);
	json_put_u64(j, "stopped", s->stopped);
	json_put_u64(j, "zombie", s->zombie);
	json_put_u64(j, "ended", s->ended);
	json_object_end(j);
}

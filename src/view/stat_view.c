#include "view/stat_view.h"

#include "base/printable.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

bool stat_view_is_column(const struct stat_ratio *r)
{
	return !r->is_rate;
}

void stat_view_column(const struct stat_head *h, const struct stat_row *row,
		      const struct stat_ratio *r, struct strbuf *to)
{
	if (!strncmp(r->unit, "of all ", 7)) {
		strbuf_str(to, h->events[row->event].name);
		strbuf_char(to, ' ');
	}
	strbuf_str(to, r->unit);
}

int stat_view_decimals(const struct stat_event *e)
{
	return floor(e->scale) < e->scale ? 2 : 0;
}

double stat_view_share(const struct stat_row *row)
{
	return row->enabled_ns > 0 ? 100 * row->running_ns / row->enabled_ns : 100;
}

void stat_view_plain(const struct stat_ratio *r, struct strbuf *to)
{
	char text[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, sizeof(text), r->format, r->value);
#pragma GCC diagnostic pop
	const char *p = text;
	while (*p == ' ')
		p++;
	size_t len = strspn(p, "-0123456789.");
	strbuf_add(to, p, len);
}

void stat_view_key(const struct stat_head *h, const struct stat_row *row, struct strbuf *to)
{
	const struct stat_key *k = &h->keys[row->key];
	switch (h->by) {
	case STAT_BY_ALL: break;
	case STAT_BY_CPU: strbuf_printf(to, "CPU%d", k->cpu); break;
	case STAT_BY_CORE: strbuf_printf(to, "S%d-D%d-C%d", k->socket, k->die, k->core); break;
	case STAT_BY_DIE: strbuf_printf(to, "S%d-D%d", k->socket, k->die); break;
	case STAT_BY_SOCKET: strbuf_printf(to, "S%d", k->socket); break;
	case STAT_BY_NODE: strbuf_printf(to, "N%d", k->node); break;
	case STAT_BY_THREAD:
		printable_name(to, k->comm);
		strbuf_printf(to, "-%d", k->tid);
		break;
	}
}

bool stat_view_has_places(enum stat_by by)
{
	return by == STAT_BY_CORE || by == STAT_BY_DIE || by == STAT_BY_SOCKET || by == STAT_BY_NODE;
}

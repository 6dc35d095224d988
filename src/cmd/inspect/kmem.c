/* inspect kmem: slab caches, zones of memory, and how memory is used. */
#include "cmd/inspect/inspect.h"

#include "base/printable.h"
#include "memory/kslabs.h"
#include "memory/kzones.h"

#include <errno.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- -s: slab caches -------------------------------------------------------------------------------------------------------- */

static void print_cache(struct inspect *i, const struct kslab_cache *c, const struct kslab_usage *u)
{
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "cache", c->addr);
		json_put_str(&i->j, "name", c->name);
		json_put_u64(&i->j, "object_bytes", c->object_size);
		json_put_u64(&i->j, "allocated", u->allocated);
		json_put_u64(&i->j, "objects", u->objects);
		json_put_u64(&i->j, "slabs", u->slabs);
		json_put_u64(&i->j, "slab_bytes", c->slab_bytes);
		json_object_end(&i->j);
		return;
	}
	strbuf_printf(&i->text, "%016llx  %8u  %9llu  %8llu  %5llu  %4uk  ", (ull)c->addr,
		      c->object_size, (ull)u->allocated, (ull)u->objects, (ull)u->slabs,
		      c->slab_bytes / 1024);
	printable_name(&i->text, c->name);
	strbuf_char(&i->text, '\n');
}

static bool cache_wanted(const struct kslab_cache *c, int argc, char **argv)
{
	for (int n = 0; n < argc; n++)
		if (!strcmp(argv[n], c->name))
			return true;
	return !argc;
}

static int check_caches(struct inspect *i, const struct kslabs *s, int argc, char **argv)
{
	for (int n = 0; n < argc; n++) {
		bool found = false;
		vec_for_each (&s->caches, c)
			found |= !strcmp(argv[n], c->name);
		if (!found)
			return diag_error(&i->app->diag, -ENOENT, "no slab cache '%s'", argv[n]);
	}
	return 0;
}

static int print_caches(struct inspect *i, struct kslabs *s, int argc, char **argv)
{
	u64 changed = 0;
	if (!i->app->json)
		strbuf_str(&i->text,
			   "CACHE              OBJSIZE  ALLOCATED     TOTAL  SLABS  SSIZE  NAME\n");
	vec_for_each (&s->caches, c) {
		struct kslab_usage u;
		if (!cache_wanted(c, argc, argv))
			continue;
		int err = kslabs_usage(s, c, &u);
		if (err)
			return err;
		changed += u.changed;
		print_cache(i, c, &u);
	}
	if (changed)
		diag_warn(&i->app->diag, "%llu %s while %s read", (ull)changed,
			  changed == 1 ? "cache changed" : "caches changed",
			  changed == 1 ? "it was" : "they were");
	return 0;
}

static int show_slabs(struct inspect *i, int argc, char **argv)
{
	struct kslabs s;
	int err = kslabs_open(&s, &i->k);
	if (err)
		return err;
	err = check_caches(i, &s, argc, argv);
	if (!err)
		err = print_caches(i, &s, argc, argv);
	kslabs_close(&s);
	return err;
}

/* ---- -z: zones ------------------------------------------------------------------------------------------------------------- */

struct zone_text {
	struct inspect *i;
	struct kzones z;
};

static void print_counters(struct zone_text *t, const struct kzone_counters *c, bool of_node)
{
	struct inspect *i = t->i;
	if (i->app->json) {
		json_key(&i->j, "counters");
		json_object(&i->j);
	} else {
		strbuf_str(&i->text, "  VM_STAT:\n");
	}
	for (u32 n = 0; n < c->nr; n++) {
		const char *name = kzones_item_name(&t->z, of_node, n);
		if (!name)
			continue;
		if (i->app->json) {
			json_put_s64(&i->j, name, c->pages[n]);
			continue;
		}
		strbuf_right(&i->text, name, 30);
		strbuf_printf(&i->text, ": %lld\n", (long long)c->pages[n]);
	}
	if (i->app->json)
		json_object_end(&i->j);
}

static void print_zone(struct zone_text *t, const struct kzone_node *node, u32 n)
{
	struct inspect *i = t->i;
	const struct kzone *z = &node->zones[n];
	if (i->app->json) {
		json_object(&i->j);
		json_put_s64(&i->j, "node", node->number);
		json_put_u64(&i->j, "zone", n);
		inspect_json_address(i, "address", z->addr);
		json_put_str(&i->j, "name", z->name);
		json_put_u64(&i->j, "start_pfn", z->start_pfn);
		json_put_u64(&i->j, "spanned", z->spanned);
		json_put_u64(&i->j, "present", z->present);
		json_put_u64(&i->j, "managed", z->managed);
		json_put_u64(&i->j, "min", z->min);
		json_put_u64(&i->j, "low", z->low);
		json_put_u64(&i->j, "high", z->high);
		print_counters(t, &z->counters, false);
		json_object_end(&i->j);
		return;
	}
	strbuf_printf(&i->text, "NODE: %d  ZONE: %u  ADDR: %016llx  NAME: \"", node->number, n,
		      (ull)z->addr);
	printable_name(&i->text, z->name);
	strbuf_str(&i->text, "\"\n");
	if (!z->spanned) {
		strbuf_str(&i->text, "  [unpopulated]\n\n");
		return;
	}
	strbuf_printf(&i->text,
		      "  SIZE: %llu  PRESENT: %llu  MANAGED: %llu  MIN/LOW/HIGH: %llu/%llu/%llu\n",
		      (ull)z->spanned, (ull)z->present, (ull)z->managed, (ull)z->min, (ull)z->low,
		      (ull)z->high);
	print_counters(t, &z->counters, false);
	strbuf_char(&i->text, '\n');
}

static int print_node(void *ctx, const struct kzone_node *node)
{
	struct zone_text *t = ctx;
	struct inspect *i = t->i;
	for (u32 n = 0; n < node->nr_zones; n++)
		print_zone(t, node, n);
	if (i->app->json) {
		json_object(&i->j);
		json_put_s64(&i->j, "node", node->number);
		inspect_json_address(i, "address", node->addr);
	} else {
		strbuf_printf(&i->text, "NODE: %d  PGLIST_DATA: %016llx\n", node->number,
			      (ull)node->addr);
	}
	print_counters(t, &node->counters, true);
	if (i->app->json)
		json_object_end(&i->j);
	else
		strbuf_char(&i->text, '\n');
	return 0;
}

static int show_zones(struct inspect *i)
{
	struct zone_text t = { .i = i };
	int err = kzones_open(&t.z, &i->k);
	return err ? err : kzones_each(&t.z, print_node, &t);
}

/* ---- -i: how memory is used ------------------------------------------------------------------------------------------------ */

struct usage_row {
	const char *name, *key;
	enum kusage_item item, of; /* of: what it is a part of; itself: a total */
	bool is_used; /* of less item */
	bool gap; /* a blank line before it */
};
static const struct usage_row usage_rows[] = {
	{ "TOTAL MEM", "total", KUSAGE_TOTAL, KUSAGE_TOTAL },
	{ "FREE", "free", KUSAGE_FREE, KUSAGE_TOTAL },
	{ "USED", "used", KUSAGE_FREE, KUSAGE_TOTAL, .is_used = true },
	{ "SHARED", "shared", KUSAGE_SHARED, KUSAGE_TOTAL },
	{ "BUFFERS", "buffers", KUSAGE_BUFFERS, KUSAGE_TOTAL },
	{ "CACHED", "cached", KUSAGE_CACHED, KUSAGE_TOTAL },
	{ "SLAB", "slab", KUSAGE_SLAB, KUSAGE_TOTAL },
	{ "TOTAL HUGE", "huge_total", KUSAGE_HUGE_TOTAL, KUSAGE_HUGE_TOTAL, .gap = true },
	{ "HUGE FREE", "huge_free", KUSAGE_HUGE_FREE, KUSAGE_HUGE_TOTAL },
	{ "TOTAL SWAP", "swap_total", KUSAGE_SWAP_TOTAL, KUSAGE_SWAP_TOTAL, .gap = true },
	{ "SWAP USED", "swap_used", KUSAGE_SWAP_FREE, KUSAGE_SWAP_TOTAL, .is_used = true },
	{ "SWAP FREE", "swap_free", KUSAGE_SWAP_FREE, KUSAGE_SWAP_TOTAL },
	{ "COMMIT LIMIT", "commit_limit", KUSAGE_COMMIT_LIMIT, KUSAGE_COMMIT_LIMIT, .gap = true },
	{ "COMMITTED", "committed", KUSAGE_COMMITTED, KUSAGE_COMMIT_LIMIT },
};

static void print_size(struct strbuf *to, u64 bytes)
{
	static const char units[][3] = { "B", "KB", "MB", "GB", "TB" };
	double size = (double)bytes;
	size_t unit = 0;
	while (size >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		size /= 1024;
		unit++;
	}
	strbuf_printf(to, unit < 2 ? "%8.0f %s" : "%8.1f %s", size, units[unit]);
}

static void print_usage_row(struct inspect *i, const struct kusage *u, const struct usage_row *row)
{
	u64 total = u->bytes[row->of], bytes = u->bytes[row->item];
	if (row->is_used)
		bytes = total > bytes ? total - bytes : 0;
	if (i->app->json) {
		json_put_u64(&i->j, row->key, bytes);
		return;
	}
	if (row->gap)
		strbuf_char(&i->text, '\n');
	strbuf_right(&i->text, row->name, 13);
	strbuf_printf(&i->text, " %9llu  ", (ull)(bytes / kspace_page_size(&i->k)));
	print_size(&i->text, bytes);
	if (row->item == row->of)
		strbuf_str(&i->text, "         ----\n");
	else
		strbuf_printf(&i->text, "  %3llu%% of %s\n",
			      (ull)(total ? (u64)((double)bytes * 100 / (double)total) : 0),
			      row->of == KUSAGE_COMMIT_LIMIT ? "TOTAL LIMIT"
			      : row->of == KUSAGE_SWAP_TOTAL ? "TOTAL SWAP"
			      : row->of == KUSAGE_HUGE_TOTAL ? "TOTAL HUGE"
							     : "TOTAL MEM");
}

static int show_usage(struct inspect *i)
{
	struct kusage u;
	int err = kusage_read(&i->k, &u);
	if (err)
		return err;
	if (i->app->json)
		json_object(&i->j);
	else
		strbuf_str(&i->text, "                  PAGES        TOTAL      PERCENTAGE\n");
	for (size_t n = 0; n < ARRAY_SIZE(usage_rows); n++)
		if (u.has[usage_rows[n].item] && u.has[usage_rows[n].of])
			print_usage_row(i, &u, &usage_rows[n]);
	if (i->app->json)
		json_object_end(&i->j);
	return 0;
}

int inspect_kmem(struct inspect *i, int argc, char **argv)
{
	const struct inspect_opts *o = i->o;
	if (o->slabs + o->zones + o->usage != 1)
		return inspect_usage(i, "expected one of -i (usage), -s (slab caches), -z (zones)");
	if (o->slabs)
		return show_slabs(i, argc, argv);
	if (argc)
		return inspect_usage(i, "unexpected argument");
	return o->zones ? show_zones(i) : show_usage(i);
}

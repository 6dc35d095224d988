/* inspect dev: character devices, disks and PCI devices with their structures. */
#include "cmd/inspect/inspect.h"

#include "base/printable.h"
#include "memory/kdevs.h"

#include <errno.h>

typedef unsigned long long ull;

/* The name of a structure of operations; "-" where no symbol covers it. */
static void add_operations(struct inspect *i, u64 addr, struct strbuf *to)
{
	size_t before = to->len;
	if (addr && !kspace_name_address(&i->k, addr, false, to))
		strbuf_printf(to, "%llx", (ull)addr);
	if (to->len == before)
		strbuf_char(to, '-');
}

static void json_operations(struct inspect *i, u64 addr)
{
	struct strbuf name;
	if (!addr)
		return;
	strbuf_init(&name);
	bool named = kspace_name_address(&i->k, addr, false, &name);
	inspect_json_address(i, "operations", addr);
	json_put_str(&i->j, "operations_symbol", named ? strbuf_cstr(&name) : NULL);
	strbuf_done(&name);
}

static void add_name(struct inspect *i, const char *name, size_t width)
{
	size_t start = i->text.len;
	printable_name(&i->text, name);
	size_t len = i->text.len - start;
	strbuf_fill(&i->text, ' ', len < width ? width - len : 0);
}

static void add_address(struct inspect *i, u64 addr)
{
	if (addr)
		strbuf_printf(&i->text, "  %016llx  ", (ull)addr);
	else
		strbuf_str(&i->text, "                 -  ");
}

static int print_char(void *ctx, const struct kdev_char *d)
{
	struct inspect *i = ctx;
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "kind", "char");
		json_put_u64(&i->j, "major", d->major);
		json_put_str(&i->j, "name", d->name);
		if (d->cdev)
			inspect_json_address(i, "cdev", d->cdev);
		json_operations(i, d->operations);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%4u      ", d->major);
	add_name(i, d->name, 16);
	add_address(i, d->cdev);
	add_operations(i, d->operations, &i->text);
	strbuf_char(&i->text, '\n');
	return 0;
}

static int print_disk(void *ctx, const struct kdev_disk *d)
{
	struct inspect *i = ctx;
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "kind", "disk");
		json_put_u64(&i->j, "major", d->major);
		json_put_u64(&i->j, "minor", d->minor);
		json_put_str(&i->j, "name", d->name);
		inspect_json_address(i, "gendisk", d->addr);
		inspect_json_address(i, "request_queue", d->queue);
		json_operations(i, d->operations);
		if (d->has_inflight) {
			json_put_u64(&i->j, "reading", d->reading);
			json_put_u64(&i->j, "writing", d->writing);
		}
		json_object_end(&i->j);
		return 0;
	}
	if (i->o->disks) {
		strbuf_printf(&i->text, "%5u  %016llx  ", d->major, (ull)d->addr);
		add_name(i, d->name, 9);
		strbuf_printf(&i->text, "  %016llx", (ull)d->queue);
		if (d->has_inflight)
			strbuf_printf(&i->text, "  %5llu %5llu %5llu\n",
				      (ull)(d->reading + d->writing), (ull)d->reading,
				      (ull)d->writing);
		else
			strbuf_str(&i->text, "      -     -     -\n");
		return 0;
	}
	strbuf_printf(&i->text, "%4u      ", d->major);
	add_name(i, d->name, 16);
	add_address(i, d->addr);
	add_operations(i, d->operations, &i->text);
	strbuf_char(&i->text, '\n');
	return 0;
}

static int print_pci(void *ctx, const struct kdev_pci *d)
{
	enum { INTERFACE_BITS = 8 };
	struct inspect *i = ctx;
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "kind", "pci");
		inspect_json_address(i, "pci_dev", d->addr);
		json_put_str(&i->j, "name", d->name);
		inspect_json_address(i, "class", d->class);
		inspect_json_address(i, "vendor", d->vendor);
		inspect_json_address(i, "device", d->device);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "%016llx  ", (ull)d->addr);
	add_name(i, d->name, 12);
	strbuf_printf(&i->text, "  %04x   %04x:%04x\n", d->class >> INTERFACE_BITS, d->vendor,
		      d->device);
	return 0;
}

static void print_head(struct inspect *i, const char *text)
{
	if (!i->app->json)
		strbuf_str(&i->text, text);
}

int inspect_dev(struct inspect *i, int argc, char **argv)
{
	(void)argv;
	if (argc)
		return inspect_usage(i, "unexpected argument");
	if (i->o->disks && i->o->pci)
		return inspect_usage(i, "-d and -p exclude each other");
	if (i->o->pci) {
		print_head(i, "PCI_DEV           DO:BU:SL.FN   CLASS  PCI_ID\n");
		return kdevs_each_pci(&i->k, print_pci, i);
	}
	if (i->o->disks) {
		print_head(i, "MAJOR  GENDISK           NAME       REQUEST_QUEUE     TOTAL  READ "
			      "WRITE\n");
		return kdevs_each_disk(&i->k, print_disk, i);
	}
	print_head(i, "CHRDEV    NAME              CDEV              OPERATIONS\n");
	int err = kdevs_each_char(&i->k, print_char, i);
	if (err)
		return err;
	print_head(i, "\nBLKDEV    NAME              GENDISK           OPERATIONS\n");
	return kdevs_each_disk(&i->k, print_disk, i);
}

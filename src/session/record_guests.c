/* What a recording says of virtual machines: where the kernel of each is, by the files that were named. */
#include "session/record.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

enum { GUESTS_MAX = 1024 };

static void text_done(struct sym_text *t)
{
	if (t->data && t->release)
		t->release(t);
}

/* 0, also where nothing is known of it. */
static int describe_guest(struct record_session *s, struct synth *to, u32 pid)
{
	struct guest_opts *o = (struct guest_opts *)&s->o->guest;
	struct sym_text kallsyms = { 0 }, modules = { 0 };
	int err = guest_text(o, pid, SYM_KALLSYMS, &kallsyms);
	if (err) {
		if (!pid && o->kallsyms)
			return diag_error(s->tell.diag, err, "%s: %s", o->kallsyms, strerror(-err));
		return err == -ENOMEM ? err : 0;
	}
	err = guest_text(o, pid, SYM_MODULES, &modules);
	if (!pid && o->modules && err && err != -ENODATA) {
		err = diag_error(s->tell.diag, err, "%s: %s", o->modules, strerror(-err));
	} else {
		err = synth_guest(to, &(struct synth_guest){ .pid = pid,
							     .kallsyms = kallsyms.data,
							     .kallsyms_len = kallsyms.len,
							     .modules = modules.data,
							     .modules_len = modules.len });
		if (err == -ENOENT) {
			diag_warn(s->tell.diag, "the symbol list of the guest has no addresses: "
						"functions of its kernel will have no names");
			diag_hint(s->tell.diag,
				  "in the guest, as root: sysctl "
				  "kernel.kptr_restrict=0; then copy /proc/kallsyms again");
			err = 0;
		}
	}
	text_done(&kallsyms);
	text_done(&modules);
	return err;
}

int record_describe_guests(void *ctx, struct synth *to)
{
	struct record_session *s = ctx;
	const struct guest_opts *o = &s->o->guest;
	int err = o->kallsyms ? describe_guest(s, to, 0) : 0;
	DIR *d = !err && o->mount ? opendir(o->mount) : NULL;
	if (!err && o->mount && !d)
		return diag_error(s->tell.diag, -errno, "%s: %s", o->mount, strerror(errno));
	u32 nr = 0;
	for (struct dirent *e; d && !err && nr < GUESTS_MAX && (e = readdir(d));) {
		char *end;
		unsigned long pid = strtoul(e->d_name, &end, 10);
		if (*end || !pid || pid > INT32_MAX)
			continue;
		err = describe_guest(s, to, (u32)pid);
		nr++;
	}
	if (d)
		closedir(d);
	return err;
}

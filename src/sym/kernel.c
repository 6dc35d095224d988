#include "sym/kernel.h"
#include "base/foreign.h"
#include "base/guard.h"
#include "base/str.h"
#include "image/idcache.h"
#include "image/kimage.h"
#include "sym/kallsyms.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Names of another kernel, and how they are asked for. */
static void say_other(struct kernel_syms *k, const struct sym_config *cfg, const char *note,
		      const char *whose)
{
	free(k->note);
	free(k->hint);
	k->note = strdup(note);
	if (asprintf(&k->hint, "use -k VMLINUX or %s FILE of %s",
		     cfg->kallsyms_option ? cfg->kallsyms_option : "a kallsyms", whose) < 0)
		k->hint = NULL;
}

static void say(struct kernel_syms *k, const char *note, const char *hint)
{
	free(k->note);
	free(k->hint);
	k->note = note ? strdup(note) : NULL;
	k->hint = hint ? strdup(hint) : NULL;
}

static const struct image_info *kernel_of(const struct catalog *c)
{
	vec_for_each (&c->images, info)
		if (image_is_kernel(info))
			return info;
	return NULL;
}

static void text_release(struct sym_text *t)
{
	if (t->data && t->release)
		t->release(t);
	*t = (struct sym_text){ 0 };
}

static void text_unmap(struct sym_text *t)
{
	guard_unmap(t->data, t->len);
}

static int text_open(struct opener *opener, const char *path, struct sym_text *ret)
{
	_cleanup_close_ int fd = opener_open_path(opener, path, 0);
	struct stat st;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !st.st_size)
		return -ENOENT;
	const void *p;
	int err = guard_map(fd, (size_t)st.st_size, false, NULL, &p);
	if (err)
		return err;
	*ret = (struct sym_text){ .data = p, .len = (size_t)st.st_size, .release = text_unmap };
	return 0;
}

/*
 * How far the kernel moved between the symbols and the recording. perf writes down the address of _text, or of _stext
 * where that is hidden; which one it was is not told, but an exact match tells.
 */
static bool reference_shift(u64 recorded, bool have_text, u64 text, bool have_stext, u64 stext,
			    u64 *shift)
{
	*shift = 0;
	if (!recorded || (have_text && recorded == text) || (have_stext && recorded == stext))
		return true;
	if (!have_text && !have_stext)
		return false;
	*shift = (have_text ? text : stext) - recorded;
	return true;
}

static bool kallsyms_shift(const struct sym_text *t, u64 recorded, u64 *shift)
{
	u64 text = 0, stext = 0;
	bool have_text = kallsyms_address(t->data, t->len, "_text", &text);
	bool have_stext = kallsyms_address(t->data, t->len, "_stext", &stext);
	return reference_shift(recorded, have_text, text, have_stext, stext, shift);
}

static bool vmlinux_shift(const struct elfimg *e, u64 recorded, u64 *shift)
{
	struct elfimg_symtab t;
	u64 text = 0, stext = 0;
	bool have_text = false, have_stext = false;
	if (!elfimg_symtab(e, SHT_SYMTAB, &t))
		return false;
	for (size_t i = 0; i < t.nr && !(have_text && have_stext); i++) {
		struct elfimg_sym s;
		elfimg_sym(e, &t, i, &s);
		if (!strcmp(s.name, "_text")) {
			text = s.value;
			have_text = true;
		} else if (!strcmp(s.name, "_stext")) {
			stext = s.value;
			have_stext = true;
		}
	}
	return reference_shift(recorded, have_text, text, have_stext, stext, shift);
}

static int use_vmlinux(struct kernel_syms *k, struct elfimg *e, u64 recorded)
{
	if (!vmlinux_shift(e, recorded, &k->shift)) {
		elfimg_close(e);
		return -ENOENT;
	}
	k->vmlinux = *e;
	return 0;
}

/* The image that the user named. */
static int try_given_vmlinux(struct kernel_syms *k, const struct sym_config *cfg,
			     const struct buildid *id, u64 recorded)
{
	struct elfimg e;
	struct buildid got;
	if (!cfg->vmlinux)
		return -ENOENT;
	int err = kimage_open(&e, cfg->vmlinux);
	if (err) {
		say(k,
		    err == -ENOTSUP ? "the given kernel image uses an unsupported compression (not "
				      "gzip, xz, zstd or LZ4): ignored"
				    : "the given kernel image is neither an ELF file nor a "
				      "bzImage: ignored",
		    NULL);
		return err;
	}
	if (id->size && !buildid_of_image(&e, &got) && !buildid_equal(&got, id)) {
		say(k, "the given kernel image has a different build ID than the recorded kernel: ignored",
		    NULL);
		elfimg_close(&e);
		return -ESTALE;
	}
	return use_vmlinux(k, &e, recorded);
}

enum same { SAME_YES, SAME_NO, SAME_UNKNOWN };

static enum same is_running(const struct sym_config *cfg, const struct buildid *id)
{
	struct sym_text notes = { 0 };
	struct buildid running;
	if (!id->size || cfg->kernel_text(cfg->kernel_ctx, SYM_NOTES, &notes))
		return SAME_UNKNOWN;
	int err = buildid_of_notes(notes.data, notes.len, 4, false, &running);
	text_release(&notes);
	return err ? SAME_UNKNOWN : buildid_equal(&running, id) ? SAME_YES : SAME_NO;
}

static int try_running(struct kernel_syms *k, const struct sym_config *cfg,
		       const struct buildid *id, u64 recorded)
{
	if (!cfg->kernel_text)
		return -ENOENT;
	enum same same = cfg->kallsyms_given ? SAME_YES : is_running(cfg, id);
	if (same == SAME_NO) {
		say_other(k, cfg,
			  "the recording is from a different kernel than the running one: kernel "
			  "functions are not named",
			  "that kernel");
		return -ENOENT;
	}
	int err = cfg->kernel_text(cfg->kernel_ctx, SYM_KALLSYMS, &k->kallsyms);
	if (err) {
		say(k, "cannot read the kernel's symbol list: kernel functions are not named", NULL);
		return err == -ENOMEM ? err : -ENOENT;
	}
	bool hidden = kallsyms_hidden(k->kallsyms.data, k->kallsyms.len);
	if (hidden)
		say(k, "kernel addresses are hidden from this user: kernel functions are not named",
		    "as root, or after: sudo sysctl kernel.kptr_restrict=0 "
		    "kernel.perf_event_paranoid=1");
	if (hidden || !kallsyms_shift(&k->kallsyms, recorded, &k->shift)) {
		text_release(&k->kallsyms);
		return -ENOENT;
	}
	if (k->shift && same == SAME_UNKNOWN) {
		say_other(
			k, cfg,
			"the kernel was loaded at a different address when this was recorded, and "
			"there is no build ID to prove that it is the same one: kernel functions "
			"are not named",
			"the recorded kernel");
		text_release(&k->kallsyms);
		return -ENOENT;
	}
	if (!cfg->kallsyms_given && !cfg->kernel_text(cfg->kernel_ctx, SYM_MODULES, &k->modules))
		k->same_boot = true;
	return 0;
}

/* What was kept under the build id: perf's copy of the list ... */
static int try_kept_list(struct kernel_syms *k, const struct debugfile_where *w,
			 const struct buildid *id, u64 recorded)
{
	char path[PATH_MAX];
	if (!id->size || debugfile_cached(w, NULL, id, "kallsyms", path, sizeof(path)) ||
	    text_open(w->opener, path, &k->kallsyms))
		return -ENOENT;
	if (!kallsyms_hidden(k->kallsyms.data, k->kallsyms.len) &&
	    kallsyms_shift(&k->kallsyms, recorded, &k->shift))
		return 0;
	text_release(&k->kallsyms);
	return -ENOENT;
}

struct kept_kcore {
	struct kernel_syms *k;
	struct opener *opener;
	u64 recorded;
	bool anywhere; /* also of another boot, when the kernel lay elsewhere */
};

static int try_kcore_folder(void *ctx, const char *folder)
{
	const struct kept_kcore *t = ctx;
	struct kernel_syms *k = t->k;
	char path[PATH_MAX];
	if (str_path(path, sizeof(path), "%s/kallsyms", folder) ||
	    text_open(t->opener, path, &k->kallsyms))
		return 0;
	if (!kallsyms_hidden(k->kallsyms.data, k->kallsyms.len) &&
	    kallsyms_shift(&k->kallsyms, t->recorded, &k->shift) && (!k->shift || t->anywhere))
		return 1;
	text_release(&k->kallsyms);
	k->shift = 0;
	return 0;
}

/* ... or the list beside a copy of its code (buildid-cache -k), of the same boot if there is one ... */
static int try_kept_kcore(struct kernel_syms *k, const struct debugfile_where *w,
			  const struct buildid *id, u64 recorded)
{
	struct kept_kcore t = { .k = k, .opener = w->opener, .recorded = recorded };
	if (!id->size || !w->cache)
		return -ENOENT;
	for (int i = 0; i < 2; i++) {
		t.anywhere = i;
		if (idcache_each_kcore(w->cache, id, try_kcore_folder, &t) == 1)
			return 0;
	}
	return -ENOENT;
}

/* ... or the kernel's image with its symbols. */
static int try_kept_image(struct kernel_syms *k, const struct debugfile_where *w,
			  const struct buildid *id, u64 recorded)
{
	struct elfimg e;
	return !id->size || debugfile_open_id(w, id, &e) ? -ENOENT : use_vmlinux(k, &e, recorded);
}

/* A kept list knows nothing of modules, programs and trampolines that came later: the kernel's own text is the same for ever. */
static bool in_own_text(const struct kernel_syms *k, const struct kernel_want *want)
{
	const struct sym_text *t = &k->kallsyms;
	u64 start, end, last = want->last + k->shift;
	const char *behind = kallsyms_above(t->data, t->len, last);
	if (!behind) /* not in order: it may stand anywhere */
		behind = t->data;
	return !want->modules && kallsyms_address(t->data, t->len, "_stext", &start) &&
	       kallsyms_address(behind, (size_t)(t->data + t->len - behind), "_etext", &end) &&
	       want->first + k->shift >= start && last < end;
}

static int try_kept_first(struct kernel_syms *k, const struct sym_config *cfg,
			  const struct debugfile_where *w, const struct buildid *id, u64 recorded,
			  const struct kernel_want *want)
{
	if (cfg->kallsyms_given || !recorded || try_kept_list(k, w, id, recorded))
		return -ENOENT;
	k->own_text = in_own_text(k, want);
	if (k->own_text)
		return 0;
	text_release(&k->kallsyms);
	k->shift = 0;
	return -ENOENT;
}

int kernel_syms_open(struct kernel_syms *k, const struct sym_config *cfg,
		     const struct debugfile_where *w, const struct catalog *c,
		     const struct kernel_want *want)
{
	*k = (struct kernel_syms){ 0 };
	const struct image_info *info = kernel_of(c);
	struct buildid id =
		info ? buildid_make(info->build_id, info->build_id_size) : (struct buildid){ 0 };
	u64 recorded = info ? info->reloc : 0;
	if (!try_given_vmlinux(k, cfg, &id, recorded) ||
	    !try_kept_first(k, cfg, w, &id, recorded, want))
		return 0;
	int err = try_running(k, cfg, &id, recorded);
	if (err != -ENOENT)
		return err;
	err = try_kept_list(k, w, &id, recorded);
	if (err)
		err = try_kept_kcore(k, w, &id, recorded);
	if (err && !cfg->no_vmlinux)
		err = try_kept_image(k, w, &id, recorded);
	if (!err)
		say(k, NULL, NULL);
	return err;
}

/* ---- guests ---- */

static u64 guest_reloc(const struct catalog *c, u32 guest)
{
	vec_for_each (&c->images, info)
		if (info->kind == IMAGE_KIND_KERNEL && info->guest == guest)
			return info->reloc;
	return 0;
}

static int use_guest_vmlinux(struct kernel_syms *k, const char *path, u64 recorded)
{
	struct elfimg e;
	int err = kimage_open(&e, path);
	if (!err)
		err = use_vmlinux(k, &e, recorded);
	if (err && err != -ENOMEM)
		say(k, "the given image of the guest's kernel cannot be used: ignored", NULL);
	return err;
}

static int use_guest_list(struct kernel_syms *k, u64 recorded)
{
	const struct sym_text *t = &k->kallsyms;
	if (kallsyms_hidden(t->data, t->len))
		say(k,
		    "the guest's symbol list has no addresses: its kernel functions are not named",
		    "in the guest, as root: sysctl kernel.kptr_restrict=0; then copy "
		    "/proc/kallsyms "
		    "again");
	else if (!kallsyms_shift(t, recorded, &k->shift))
		say(k,
		    "the guest's symbol list has neither _text nor _stext: its kernel functions "
		    "are "
		    "not named",
		    NULL);
	else
		return 0;
	return -ENOENT;
}

int kernel_syms_open_guest(struct kernel_syms *k, const struct sym_config *cfg,
			   const struct catalog *c, const struct image_info *image)
{
	*k = (struct kernel_syms){ 0 };
	u64 recorded = guest_reloc(c, image->guest);
	int err = cfg->guest_vmlinux ? use_guest_vmlinux(k, cfg->guest_vmlinux, recorded) : -ENOENT;
	if (!err || err == -ENOMEM)
		return err;
	err = cfg->guest_text
		      ? cfg->guest_text(cfg->guest_ctx, image->pid, SYM_KALLSYMS, &k->kallsyms)
		      : -ENOENT;
	if (err == -ENOMEM)
		return err;
	if (err) {
		say(k, "guests' kernel functions are not named: no symbol list of the guest", NULL);
		if (asprintf(&k->hint, "copy the guest's /proc/kallsyms, and use %s FILE",
			     cfg->guest_option ? cfg->guest_option : "the copy as") < 0)
			k->hint = NULL;
		return -ENOENT;
	}
	err = use_guest_list(k, recorded);
	/* A guest may have no modules; its kernel has names all the same. */
	if (!err && cfg->guest_text(cfg->guest_ctx, image->pid, SYM_MODULES, &k->modules) == -ENOMEM)
		err = -ENOMEM;
	if (err)
		text_release(&k->kallsyms);
	return err;
}

void kernel_syms_close(struct kernel_syms *k)
{
	text_release(&k->kallsyms);
	text_release(&k->modules);
	elfimg_close(&k->vmlinux);
}

/* "[ext4]", "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz" -> "ext4" */
static bool module_name(const struct image_info *info, char *to, size_t size)
{
	const char *slash = strrchr(info->path, '/');
	const char *from = slash ? slash + 1 : info->path;
	if (*from == '[')
		from++;
	size_t len = strcspn(from, "].");
	if (!len || len >= size)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

bool kernel_syms_shift(const struct kernel_syms *k, const struct image_info *info, u64 *shift)
{
	*shift = k->shift;
	if (info->kind == IMAGE_KIND_KERNEL)
		return true;
	/* Modules lie where the loader found room at that boot. An image of the kernel does not hold them. */
	*shift = 0;
	if (k->vmlinux.data)
		return false;
	if (!k->same_boot)
		return !k->shift;
	char name[64];
	u64 start, size;
	if (!module_name(info, name, sizeof(name)) ||
	    !kallsyms_module(k->modules.data, k->modules.len, name, &start, &size))
		return false;
	*shift = info->start ? start - info->start : 0;
	return true;
}

int kernel_syms_find(const struct kernel_syms *k, const u64 *at, u32 nr, struct symtab_sym *ret)
{
	struct sweep s;
	int err = sweep_init(&s, at, nr, k->vmlinux.data ? SYMTAB_BEST : SYMTAB_LAST);
	if (err)
		return err;
	if (k->vmlinux.data) {
		struct elfimg_funcs it;
		struct elfimg_func f;
		bool have = elfimg_funcs_init(&it, &k->vmlinux, &k->vmlinux, SHT_SYMTAB);
		it.addresses = true;
		while (have && elfimg_funcs_next(&it, &f))
			sweep_add(&s, &(struct symtab_sym){
					      .start = f.start,
					      .end = f.start + f.size,
					      .limit = f.limit,
					      .name = f.name,
					      .flags = f.bind == STB_WEAK    ? SYMTAB_WEAK
						       : f.bind == STB_LOCAL ? SYMTAB_LOCAL
									     : 0,
				      });
	} else if (!k->own_text || !kallsyms_sweep_ordered(k->kallsyms.data, k->kallsyms.len, &s)) {
		(void)kallsyms_sweep(k->kallsyms.data, k->kallsyms.len, k->modules.data,
				     k->modules.len, &s);
	}
	err = sweep_finish(&s, ret);
	sweep_done(&s);
	return err;
}

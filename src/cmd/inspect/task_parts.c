/* inspect bt, files and vm: what belongs to a task. */
#include "cmd/inspect/inspect.h"

#include "base/printable.h"
#include "probe/source_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long ull;

/* ---- bt -------------------------------------------------------------------------------------------------------------------- */

/* One frame of a stack. */
struct frame_text {
	u64 ip, place;
	struct ksym sym;
	u64 offset;
	bool has_sym, has_line;
	char file[PATH_MAX];
	u32 line;
};

static void describe_frame(struct inspect *i, struct source_lines *lines, struct frame_text *f)
{
	const struct ksyms *s = kspace_try_syms(&i->k);
	u64 size;
	f->has_sym = s && ksyms_at(s, f->ip, &f->sym, &f->offset, &size);
	/* A return address is after the call: the line is that of the call. */
	struct source_place at = { .name = f->sym.name,
				   .name_len = f->sym.name_len,
				   .module = f->sym.module,
				   .module_len = f->sym.module_len,
				   .offset = f->offset - (f->offset > 0) };
	f->has_line =
		lines && f->has_sym && source_line(lines, &at, f->file, sizeof(f->file), &f->line);
}

/* " #0 [ffffc9000d35bcd0] schedule at ffffffff8105a407" */
static void print_frame(struct inspect *i, const struct frame_text *f, u32 number)
{
	strbuf_printf(&i->text, "%s#%u [", number < 10 ? " " : "", number);
	if (f->place)
		strbuf_printf(&i->text, "%016llx", (ull)f->place);
	else
		strbuf_fill(&i->text, ' ', 16);
	strbuf_str(&i->text, "] ");
	if (!f->has_sym)
		strbuf_str(&i->text, "(unknown)");
	else
		strbuf_add(&i->text, f->sym.name, f->sym.name_len);
	if (f->has_sym && i->o->symbols)
		strbuf_printf(&i->text, "+%llu", (ull)f->offset);
	strbuf_printf(&i->text, " at %016llx", (ull)f->ip);
	if (f->has_sym && f->sym.module_len)
		strbuf_printf(&i->text, " [%.*s]", (int)f->sym.module_len, f->sym.module);
	strbuf_char(&i->text, '\n');
	if (f->has_line)
		strbuf_printf(&i->text, "    %s: %u\n", f->file, f->line);
}

static void json_frame(struct inspect *i, const struct frame_text *f)
{
	json_object(&i->j);
	inspect_json_address(i, "ip", f->ip);
	if (f->place)
		inspect_json_address(i, "place", f->place);
	if (f->has_sym) {
		json_key(&i->j, "symbol");
		json_strn(&i->j, f->sym.name, f->sym.name_len);
		json_put_u64(&i->j, "offset", f->offset);
	}
	if (f->has_sym && f->sym.module_len) {
		json_key(&i->j, "module");
		json_strn(&i->j, f->sym.module, f->sym.module_len);
	}
	if (f->has_line) {
		json_put_str(&i->j, "file", f->file);
		json_put_u64(&i->j, "line", f->line);
	}
	json_object_end(&i->j);
}

/* What the task will have in its registers when it is back in its program. */
static void print_registers(struct inspect *i, const struct kregs *r)
{
	struct strbuf *to = &i->text;
	strbuf_printf(to, "    RIP: %016llx  RSP: %016llx  RFLAGS: %08llx\n", (ull)r->ip,
		      (ull)r->sp, (ull)r->flags);
	strbuf_printf(to, "    RAX: %016llx  RBX: %016llx  RCX: %016llx\n", (ull)r->ax, (ull)r->bx,
		      (ull)r->cx);
	strbuf_printf(to, "    RDX: %016llx  RSI: %016llx  RDI: %016llx\n", (ull)r->dx, (ull)r->si,
		      (ull)r->di);
	strbuf_printf(to, "    RBP: %016llx   R8: %016llx   R9: %016llx\n", (ull)r->bp, (ull)r->r8,
		      (ull)r->r9);
	strbuf_printf(to, "    R10: %016llx  R11: %016llx  R12: %016llx\n", (ull)r->r10,
		      (ull)r->r11, (ull)r->r12);
	strbuf_printf(to, "    R13: %016llx  R14: %016llx  R15: %016llx\n", (ull)r->r13,
		      (ull)r->r14, (ull)r->r15);
	strbuf_printf(to, "    ORIG_RAX: %016llx  CS: %04llx  SS: %04llx\n", (ull)r->orig_ax,
		      (ull)r->cs, (ull)r->ss);
}

/* A stack as it is shown: from the kernel's own unwinder, or from a dump. */
struct stack_text {
	struct kframe frames[KSTACK_FRAMES];
	u32 nr;
	const char *missing; /* why there are no frames; NULL: there are */
	struct kregs regs;
	bool has_regs,
		first_regs; /* first: those that it ran with, not those that it will have in its program */
};

static int live_stack(struct inspect *i, const struct ktask *t, struct stack_text *s)
{
	u64 places[KSTACK_FRAMES];
	const u64 *ips = NULL;
	bool seen = kstacks_find(i->stacks, t->addr, &ips, &s->nr);
	int err = kstack_places(&i->k, t, ips, s->nr, places);
	for (u32 n = 0; n < s->nr; n++)
		s->frames[n] = (struct kframe){ ips[n], places[n] };
	if (!s->nr)
		s->missing = t->on_cpu ? "running: its stack changes meanwhile"
			     : seen    ? "the kernel's unwinder found no frames"
				       : "not seen: another PID namespace, or it has ended";
	return err;
}

static int dumped_stack(struct inspect *i, const struct ktask *t, struct stack_text *s)
{
	const struct vmcore_cpu *cpu;
	int err = kunwind_task(i->unwind, t, s->frames, &s->nr);
	s->first_regs = kunwind_regs(i->unwind, t, &cpu);
	if (s->first_regs && kspace_is_x86(&i->k)) {
		memcpy(&s->regs, cpu->regs, sizeof(s->regs));
		s->has_regs = true;
	}
	if (!s->nr)
		s->missing = s->first_regs ? "in its program"
			     : t->on_cpu   ? "running: the dump has no registers of its CPU"
					   : "its stack is not in the dump";
	return err;
}

static void print_first_registers(struct inspect *i, const struct stack_text *s)
{
	struct strbuf *to = &i->text;
	if (s->nr) {
		strbuf_str(to, "    [exception RIP: ");
		if (!kspace_name_address(&i->k, s->regs.ip, false, to))
			strbuf_str(to, "unknown");
		strbuf_str(to, "]\n");
	}
	print_registers(i, &s->regs);
}

static int print_stack(struct inspect *i, const struct ktask *t, struct source_lines *lines)
{
	struct stack_text s = { .nr = 0 };
	int err = i->k.dump ? dumped_stack(i, t, &s) : live_stack(i, t, &s);
	if (err)
		return err;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_task(i, t);
		if (s.missing)
			json_put_str(&i->j, "missing", s.missing);
		json_key(&i->j, "frames");
		json_array(&i->j);
	} else {
		inspect_task_head(i, t);
		if (s.missing)
			strbuf_printf(&i->text, "    (%s)\n", s.missing);
		if (s.has_regs)
			print_first_registers(i, &s);
	}
	for (u32 n = 0; n < s.nr; n++) {
		struct frame_text f = { .ip = s.frames[n].ip, .place = s.frames[n].place };
		describe_frame(i, lines, &f);
		if (i->app->json)
			json_frame(i, &f);
		else
			print_frame(i, &f, n);
	}
	if (i->app->json) {
		json_array_end(&i->j);
		json_object_end(&i->j);
		return 0;
	}
	if (s.nr && !ktask_is_kernel_thread(t) && kstack_user_regs(&i->k, t, &s.regs))
		print_registers(i, &s.regs);
	strbuf_char(&i->text, '\n');
	return 0;
}

static int open_stacks(struct inspect *i)
{
	struct memory *m;
	int err = kspace_memory(&i->k, &m);
	if (err)
		return err;
	if (i->k.dump)
		return i->unwind ? 0 : kunwind_open(&i->k, &i->unwind);
	return i->stacks ? 0 : kstacks_open(&i->k, &i->stacks);
}

int inspect_task_bt(struct inspect *i, const struct ktask *t)
{
	struct source_lines lines;
	int err = open_stacks(i);
	if (err)
		return err;
	if (i->o->lines)
		source_lines_init(&lines, i->o->vmlinux, &i->app->diag);
	err = print_stack(i, t, i->o->lines ? &lines : NULL);
	if (i->o->lines)
		source_lines_done(&lines);
	return err;
}

int inspect_bt(struct inspect *i, int argc, char **argv)
{
	/* Stacks may lead through BPF programs and trampolines. */
	inspect_fresh_symbols(i);
	return inspect_for_tasks(i, argc, argv, inspect_task_bt);
}

/* ---- files ----------------------------------------------------------------------------------------------------------------- */

static int open_files(struct inspect *i)
{
	int err = i->has_files ? 0 : kfiles_open(&i->files, &i->k);
	i->has_files = !err;
	return err;
}

static int print_file(void *ctx, const struct kfile *f)
{
	struct inspect *i = ctx;
	struct strbuf path;
	strbuf_init(&path);
	kfiles_path_of(&i->files, f->addr, &path);
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "fd", f->fd);
		inspect_json_address(i, "file", f->addr);
		inspect_json_address(i, "dentry", f->dentry);
		inspect_json_address(i, "inode", f->inode);
		json_put_str(&i->j, "type", kfile_type(f->mode));
		json_put_str(&i->j, "path", strbuf_cstr(&path));
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text, "%3u %016llx %016llx %016llx %-4s ", f->fd, (ull)f->addr,
			      (ull)f->dentry, (ull)f->inode, kfile_type(f->mode));
		printable_name_len(&i->text, path.data, path.len);
		strbuf_char(&i->text, '\n');
	}
	strbuf_done(&path);
	return 0;
}

static void print_places(struct inspect *i, const struct strbuf *root, const struct strbuf *pwd)
{
	strbuf_str(&i->text, "ROOT: ");
	printable_name_len(&i->text, root->data, root->len);
	strbuf_str(&i->text, "    CWD: ");
	printable_name_len(&i->text, pwd->data, pwd->len);
	strbuf_char(&i->text, '\n');
}

int inspect_task_files(struct inspect *i, const struct ktask *t)
{
	struct strbuf root, pwd;
	int err = open_files(i);
	if (err)
		return err;
	strbuf_init(&root);
	strbuf_init(&pwd);
	bool has_root = !kfiles_root(&i->files, t, &root, &pwd);
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_task(i, t);
		if (has_root) {
			json_put_str(&i->j, "root", strbuf_cstr(&root));
			json_put_str(&i->j, "cwd", strbuf_cstr(&pwd));
		}
		json_key(&i->j, "files");
		json_array(&i->j);
	} else {
		inspect_task_head(i, t);
		if (has_root)
			print_places(i, &root, &pwd);
		strbuf_str(&i->text, " FD       FILE            DENTRY           INODE       TYPE "
				     "PATH\n");
	}
	err = kfiles_each(&i->files, t, print_file, i);
	if (i->app->json) {
		json_array_end(&i->j);
		json_object_end(&i->j);
	} else {
		strbuf_char(&i->text, '\n');
	}
	strbuf_done(&root);
	strbuf_done(&pwd);
	return err;
}

int inspect_files(struct inspect *i, int argc, char **argv)
{
	return inspect_for_tasks(i, argc, argv, inspect_task_files);
}

/* ---- vm -------------------------------------------------------------------------------------------------------------------- */

static int print_vma(void *ctx, const struct kvma *v)
{
	struct inspect *i = ctx;
	struct strbuf path;
	strbuf_init(&path);
	if (v->file)
		kfiles_path_of(&i->files, v->file, &path);
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "address", v->addr);
		inspect_json_address(i, "start", v->start);
		inspect_json_address(i, "end", v->end);
		inspect_json_address(i, "flags", v->flags);
		if (v->file)
			json_put_str(&i->j, "path", strbuf_cstr(&path));
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text, "%016llx %12llx %12llx %8llx%s", (ull)v->addr,
			      (ull)v->start, (ull)v->end, (ull)v->flags, path.len ? " " : "");
		printable_name_len(&i->text, path.data, path.len);
		strbuf_char(&i->text, '\n');
	}
	strbuf_done(&path);
	return 0;
}

static void print_mm(struct inspect *i, const struct ktask *t, u64 pgd)
{
	u64 virtual, resident, page_kb = kspace_page_size(&i->k) / 1024;
	ktask_sizes(&i->tasks, t, &virtual, &resident);
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_task(i, t);
		inspect_json_address(i, "mm", t->mm);
		inspect_json_address(i, "pgd", pgd);
		json_put_u64(&i->j, "resident_kb", resident * page_kb);
		json_put_u64(&i->j, "virtual_kb", virtual * page_kb);
		json_key(&i->j, "areas");
		json_array(&i->j);
		return;
	}
	inspect_task_head(i, t);
	strbuf_printf(&i->text,
		      "       MM               PGD          RSS    TOTAL_VM\n"
		      "%016llx  %016llx  %lluk  %lluk\n",
		      (ull)t->mm, (ull)pgd, (ull)(resident * page_kb), (ull)(virtual * page_kb));
	strbuf_str(&i->text, "      VMA           START          END      FLAGS FILE\n");
}

int inspect_task_vm(struct inspect *i, const struct ktask *t)
{
	struct walk_result r;
	u64 pgd = 0;
	int err = open_files(i);
	if (err)
		return err;
	/* It may have gone meanwhile: the walk says so. */
	if (t->mm && memory_read(i->k.memory, t->mm + i->files.at.pgd, &pgd, sizeof(pgd)))
		pgd = 0;
	print_mm(i, t, pgd);
	err = kfiles_each_vma(&i->files, t, print_vma, i, &r);
	if (i->app->json) {
		json_array_end(&i->j);
		json_object_end(&i->j);
	} else {
		strbuf_char(&i->text, '\n');
	}
	if (!err && r.end != WALK_ENDED)
		diag_warn(&i->app->diag,
			  "the areas of task %u changed while they were read: some may be missing",
			  t->pid);
	return err;
}

int inspect_vm(struct inspect *i, int argc, char **argv)
{
	return inspect_for_tasks(i, argc, argv, inspect_task_vm);
}

#include "session/thread_stacks.h"

#include "base/printable.h"
#include "image/elfcore.h"
#include "kern/proc_tasks_parse.h"
#include "kern/procfs.h"
#include "kern/thread_sample.h"
#include "kern/thread_stop.h"
#include "sym/unwind_cfi.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STACK_MAX = 512 << 10, FRAMES_MOST = 4096 };

struct mapping {
	u64 start, end;
	u64 offset; /* in the image, of start */
	u32 image; /* 0: memory without code */
};

/* While stacks are taken. */
struct taker {
	struct thread_stacks *s;
	const struct thread_stacks_opts *o;
	struct diag *d;
	struct sysroot root;
	struct procfs procfs;
	VEC(struct mapping) maps; /* by address */
	struct unwind_tables *tables;
	struct unwinder *unwinder;
	const struct arch *arch;
	struct thread_copy copy;
	const struct elfcore *core; /* NULL: a process */
	u64 pcs[FRAMES_MOST]; /* where each frame goes on */
	u64 calls[FRAMES_MOST]; /* where it called the one before: what names go by */
	bool kernel_denied;
	struct perf_opener perf;
	u32 kernel_image; /* 0: none was needed so far */
};

/* ---- mappings ---- */

static s64 add_image(struct taker *t, enum image_kind kind, const char *path)
{
	struct catalog *c = &t->s->catalog;
	for (u32 i = 1; i < c->images.nr; i++)
		if (!strcmp(c->images.at[i].path, path))
			return i;
	char *kept = arena_strdup(&t->s->arena, path);
	struct image_info *info = kept ? vec_push(&c->images) : NULL;
	if (!info)
		return -ENOMEM;
	const char *slash = strrchr(kept, '/');
	*info = (struct image_info){ .kind = kind,
				     .path = kept,
				     .name = slash && kind == IMAGE_KIND_FILE ? slash + 1 : kept,
				     .pid = (u32)t->o->pid };
	int err = unwind_tables_reserve(t->tables, (u32)c->images.nr);
	return err ? err : (s64)c->images.nr - 1;
}

static enum image_kind kind_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return IMAGE_KIND_VDSO;
	return *path == '/' && strncmp(path, "/memfd:", 7) && strncmp(path, "/dev/zero", 9)
		       ? IMAGE_KIND_FILE
		       : IMAGE_KIND_ANON;
}

static int add_mapping(struct taker *t, u64 start, u64 end, u64 offset, bool code, const char *path)
{
	s64 image = 0;
	enum image_kind kind = kind_of(path);
	if (code)
		image = add_image(t, kind, *path ? path : "//anon");
	struct mapping *m = image < 0 ? NULL : vec_push(&t->maps);
	if (!m)
		return -ENOMEM;
	*m = (struct mapping){ .start = start,
			       .end = end,
			       .offset = kind == IMAGE_KIND_ANON ? start : offset,
			       .image = (u32)image };
	return 0;
}

static int on_map(void *ctx, const struct proc_map *m)
{
	return add_mapping(ctx, m->start, m->end, m->file_offset, m->prot & PROT_EXEC, m->path);
}

static const struct mapping *mapping_at(const struct taker *t, u64 addr)
{
	size_t lo = 0, hi = t->maps.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->maps.at[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->maps.nr && addr >= t->maps.at[lo].start ? &t->maps.at[lo] : NULL;
}

static u64 stack_end(void *ctx, u64 sp)
{
	const struct mapping *m = mapping_at(ctx, sp);
	return m ? m->end : 0;
}

static bool find_code(void *ctx, u64 addr, struct unwind_place *ret)
{
	const struct taker *t = ctx;
	const struct mapping *m = mapping_at(t, addr);
	if (!m || !m->image)
		return false;
	*ret = (struct unwind_place){ .image = m->image,
				      .info = &t->s->catalog.images.at[m->image],
				      .offset = m->offset + (addr - m->start),
				      .until = UINT64_MAX };
	return true;
}

/* Code that no file holds. */
static size_t read_code(void *ctx, u64 addr, u8 *to, size_t nr, bool again)
{
	const struct taker *t = ctx;
	size_t size = 0;
	(void)again;
	if (!t->core)
		return procfs_read_memory(t->o->pid, addr, to, nr) ? 0 : nr;
	const u8 *from = elfcore_memory(t->core, addr, &size, NULL);
	size = from ? min(size, nr) : 0;
	if (size)
		memcpy(to, from, size);
	return size;
}

/* ---- frames ---- */

static int push_frame(struct taker *t, struct thread_stack *th, struct thread_frame f)
{
	struct thread_frame *slot = vec_push(&t->s->frames);
	if (!slot)
		return -ENOMEM;
	*slot = f;
	th->nr++;
	return 0;
}

/* Until all are named, .line is the frame's id, and .offset how far after the call it goes on. */
static int push_user(struct taker *t, struct thread_stack *th, u64 pc, u64 addr)
{
	struct unwind_place at;
	struct frame f = { .offset = pc, .mode = FRAME_USER };
	if (find_code(t, pc, &at)) {
		f.image = at.image;
		f.offset = at.offset;
	}
	s64 id = frame_table_add(&t->s->table, f);
	if (id < 0)
		return (int)id;
	return push_frame(
		t, th, (struct thread_frame){ .addr = addr, .offset = addr - pc, .line = (u32)id });
}

static int unwind_copy(struct taker *t, struct thread_stack *th)
{
	struct cfi_regs regs;
	enum unwind_end end = UNWIND_WHOLE;
	if (!unwind_regs(t->arch, t->copy.regs_mask, t->copy.regs, &regs)) {
		th->why = "registers are not known";
		return 0;
	}
	struct unwind_thread u = { .regs = &regs,
				   .stack = t->copy.stack,
				   .stack_at = t->copy.sp,
				   .stack_size = t->copy.stack_size,
				   .find = find_code,
				   .code = read_code,
				   .ctx = t };
	u32 max = min(t->o->max_frames, (u32)FRAMES_MOST);
	u32 nr = unwind(t->unwinder, &u, true, t->calls, max, &end);
	(void)unwind(t->unwinder, &u, false, t->pcs, max, &end);
	int err = 0;
	for (u32 i = 0; i < nr && !err; i++)
		err = push_user(t, th, t->calls[i], t->pcs[i]);
	th->why = end == UNWIND_WHOLE ? NULL : unwind_end_text(end);
	return err;
}

/* "[<0>] do_wait+0x5a/0xe0 [module]": a line a frame. */
static int kernel_line(struct taker *t, struct thread_stack *th, const char *line)
{
	const char *name = strstr(line, "] ");
	char symbol[256] = "", module[64] = "";
	unsigned long long offset = 0;
	if (!name || sscanf(name + 2, "%255[^+ \n]+%llx/%*x [%63[^]]]", symbol, &offset, module) < 1)
		return 0;
	struct thread_frame f = { .kernel = true, .offset = offset };
	f.name = arena_strdup(&t->s->arena, symbol);
	f.module = *module ? arena_strdup(&t->s->arena, module) : "kernel";
	return f.name && f.module ? push_frame(t, th, f) : -ENOMEM;
}

static int kernel_frames(struct taker *t, struct thread_stack *th)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "proc/%d/task/%d/stack", t->o->pid, th->tid);
	struct strbuf text;
	strbuf_init(&text);
	int err = sysroot_read(&t->root, path, &text);
	th->kernel_denied = err == -EACCES || err == -EPERM;
	t->kernel_denied |= th->kernel_denied;
	char *save, *line = err ? NULL : strtok_r((char *)strbuf_cstr(&text), "\n", &save);
	for (err = 0; line && !err; line = strtok_r(NULL, "\n", &save))
		err = kernel_line(t, th, line);
	strbuf_done(&text);
	return err;
}

/* Addresses of the kernel, innermost first; names come with all others. */
static int push_kernel(struct taker *t, struct thread_stack *th, const u64 *addrs, u32 nr)
{
	int err = 0;
	if (nr && !t->kernel_image) {
		s64 image = add_image(t, IMAGE_KIND_KERNEL, "[kernel.kallsyms]");
		if (image < 0)
			return (int)image;
		t->kernel_image = (u32)image;
		t->s->catalog.images.at[image].name = "kernel";
	}
	for (u32 i = 0; i < nr && !err; i++) {
		struct frame f = { .offset = addrs[i] - (i > 0),
				   .image = t->kernel_image,
				   .mode = FRAME_KERNEL };
		s64 id = frame_table_add(&t->s->table, f);
		err = id < 0 ? (int)id
			     : push_frame(t, th,
					  (struct thread_frame){ .kernel = true,
								 .unnamed = true,
								 .offset = i > 0,
								 .line = (u32)id });
	}
	return err;
}

/*
 * The kernel stack of a running thread cannot be read: a sample has it, along with the registers and stack of the program. 1: this is its
 * stack; 0: it was in its program, or cannot be sampled.
 */
static int sample_kernel(struct taker *t, struct thread_stack *th)
{
	enum { CHAIN_MAX = 128 };
	u64 kernel[CHAIN_MAX];
	u32 nr = 0;
	int err = thread_sample(&t->perf, th->tid, &t->copy, kernel, CHAIN_MAX, &nr);
	if (err || !nr)
		return err == -ENOMEM ? err : 0;
	err = push_kernel(t, th, kernel, nr);
	if (!err && t->copy.regs_mask)
		err = unwind_copy(t, th);
	return err ? err : 1;
}

/* ---- a process ---- */

static bool read_state(struct taker *t, struct thread_stack *th)
{
	char path[64];
	struct task task;
	struct strbuf text;
	(void)snprintf(path, sizeof(path), "proc/%d/task/%d/stat", t->o->pid, th->tid);
	strbuf_init(&text);
	bool ok =
		!sysroot_read(&t->root, path, &text) && task_parse_stat(text.data, text.len, &task);
	if (ok) {
		th->state = task.state;
		memcpy(th->comm, task.comm, sizeof(th->comm));
	}
	strbuf_done(&text);
	return ok;
}

static int take_thread(struct taker *t, s32 tid)
{
	struct thread_stack th = { .tid = tid, .first = (u32)t->s->frames.nr };
	if (!read_state(t, &th))
		return 0; /* it has ended */
	int err = th.state == 'R' ? sample_kernel(t, &th) : kernel_frames(t, &th);
	if (err < 0)
		return err;
	bool kernel_thread = !t->maps.nr, sampled = err > 0;
	err = 0;
	int got = sampled	    ? 0
		  : kernel_thread   ? -EINVAL
		  : th.state == 'D' ? -ETIMEDOUT
		  : th.state == 'Z' ? -ESRCH
				    : thread_copy(tid, STACK_MAX, stack_end, t, &t->copy);
	th.stopped_ns = got ? 0 : t->copy.stopped_ns;
	if (!got)
		err = sampled ? 0 : unwind_copy(t, &th);
	else if (got == -EPERM && !t->s->threads.nr)
		return diag_error(
			t->d, -EPERM,
			"cannot look at process %d: permission denied, or it is being traced",
			t->o->pid);
	else if (got == -ENOTSUP && !t->s->threads.nr)
		return diag_error(t->d, -ENOTSUP,
				  "process %d is a program of another kind (32 bit)", t->o->pid);
	else if (!kernel_thread)
		th.why = got == -ETIMEDOUT ? "the thread sleeps uninterruptibly"
			 : got == -ESRCH   ? "the thread has ended"
					   : "the thread could not be stopped";
	struct thread_stack *slot = err ? NULL : vec_push(&t->s->threads);
	if (!slot)
		return err ? err : -ENOMEM;
	*slot = th;
	return 0;
}

static int take_process(struct taker *t)
{
	s32 *ids;
	size_t nr;
	int err = procfs_maps(&t->procfs, t->o->pid, on_map, t);
	if (err == -EACCES || err == -EPERM) {
		diag_error(t->d, err, "cannot look at process %d: %s", t->o->pid, strerror(-err));
		diag_hint(t->d, "run as root, or as the user of the process");
		return err;
	}
	if (err && err != -ESRCH)
		return err;
	err = procfs_tids(&t->procfs, t->o->pid, &ids, &nr);
	if (err)
		return diag_error(t->d, err, "no process %d", t->o->pid);
	/* Listing again would change the list. */
	s32 *tids = malloc(nr * sizeof(*tids) + 1);
	if (!tids)
		return -ENOMEM;
	memcpy(tids, ids, nr * sizeof(*tids));
	for (size_t i = 0; i < nr && !err; i++)
		err = take_thread(t, tids[i]);
	free(tids);
	if (!err && t->kernel_denied) {
		diag_note(t->d, "kernel stacks cannot be read");
		diag_hint(t->d, "run as root to see where threads sleep in the kernel");
	}
	return err;
}

/* ---- a core ---- */

static int core_mappings(struct taker *t)
{
	int err = 0;
	vec_for_each (&t->core->files, f) {
		bool code = elfcore_may_run(t->core, f->start);
		err = err ? err : add_mapping(t, f->start, f->end, f->offset, code, f->path);
	}
	return err;
}

static int take_core(struct taker *t)
{
	int err = core_mappings(t);
	vec_for_each (&t->core->threads, from) {
		struct thread_stack th = { .tid = from->tid,
					   .state = '?',
					   .first = (u32)t->s->frames.nr };
		if (err)
			break;
		memcpy(th.comm, t->core->comm, sizeof(t->core->comm));
		if (thread_regs_decode(t->core->image->machine, from->regs, from->regs_size,
				       &t->copy)) {
			t->copy.stack = (u8 *)(uintptr_t)elfcore_memory(t->core, t->copy.sp,
									&t->copy.stack_size, NULL);
			if (!t->copy.stack)
				t->copy.stack_size = 0;
			err = unwind_copy(t, &th);
			t->copy.stack = NULL;
		} else {
			th.why = "registers of an unknown machine";
		}
		struct thread_stack *slot = err ? NULL : vec_push(&t->s->threads);
		if (!slot)
			return err ? err : -ENOMEM;
		*slot = th;
	}
	return err;
}

/* ---- names ---- */

/* Frames with their names, and one more for each function that was inlined there, innermost first. */
static int name_frames(struct thread_stacks *s, const struct names_result *n)
{
	VEC(struct thread_frame) named = { 0 };
	vec_for_each (&s->threads, th) {
		u32 first = (u32)named.nr;
		for (u32 i = 0; i < th->nr; i++) {
			struct thread_frame f = s->frames.at[th->first + i];
			u32 id = f.line;
			bool named_already = f.kernel && !f.unnamed;
			struct name_stack st = named_already ? (struct name_stack){ .nr = 1 }
							     : names_stack(n, id, false);
			for (u32 k = st.nr; k-- > 0;) {
				struct thread_frame *to = vec_push(&named);
				if (!to) {
					vec_free(&named);
					return -ENOMEM;
				}
				*to = f;
				to->unnamed = false;
				if (named_already)
					continue;
				u32 at = st.first + k;
				const struct name_func *fn = &n->funcs[n->func_of[at]];
				const struct frame *place = &s->table.frames[id];
				to->name = fn->name;
				to->inlined = fn->inlined;
				to->offset =
					fn->name ? u64_less(place->offset, fn->start) + f.offset : 0;
				to->module = place->image ? s->catalog.images.at[place->image].name
							  : NULL;
				to->file = n->lines ? n->lines[at].file : NULL;
				to->line = n->lines ? n->lines[at].line : 0;
			}
		}
		th->first = first;
		th->nr = (u32)named.nr - first;
	}
	vec_free(&s->frames);
	s->frames.at = named.at;
	s->frames.nr = named.nr;
	s->frames.cap = named.cap;
	return 0;
}

static int resolve(struct thread_stacks *s, const struct thread_stacks_opts *o,
		   struct symbols *symbols)
{
	struct names_result n;
	s->names = symbols_open(symbols, &s->symbol_opts);
	if (!s->names)
		return -ENOMEM;
	int err = s->names->ops->resolve(s->names, &s->catalog, &s->table,
					 WANT_SYMBOL | (o->no_lines ? 0 : WANT_LINE | WANT_INLINE),
					 &n);
	return err ? err : name_frames(s, &n);
}

/* ---- all ---- */

static int take_all(struct taker *t, struct symbols *symbols)
{
	char cache[4096];
	struct elfimg image;
	struct elfcore core;
	int err = t->o->pid ? 0 : elfimg_open(&image, t->o->core, NULL);
	if (err)
		return diag_error(t->d, err, "cannot open '%s': %s", t->o->core, strerror(-err));
	if (!t->o->pid) {
		err = elfcore_read(&core, &image);
		t->core = &core;
		t->s->pid = core.pid;
	}
	t->arch = t->o->pid ? arch_host() : arch_of_elf(image.machine);
	if (!err && !t->arch)
		err = -ENOTSUP;
	if (err == -ENOEXEC)
		(void)diag_error(t->d, err, "'%s' is not a core of a 64-bit program", t->o->core);
	t->tables = err ? NULL
			: unwind_tables_new(&(struct unwind_config){
				  .arch = t->arch,
				  .opener = symbols->opener,
				  .places = symbols_places(symbols, NULL),
				  .cache = cache_folder(NULL, cache, sizeof(cache)) });
	t->unwinder = t->tables ? unwinder_new(t->tables) : NULL;
	if (!err && !t->unwinder)
		err = -ENOMEM;
	if (!err)
		err = t->core ? take_core(t) : take_process(t);
	unwinder_free(t->unwinder);
	unwind_tables_free(t->tables);
	if (t->core)
		elfcore_done(&core);
	if (!t->o->pid)
		elfimg_close(&image);
	return err;
}

int thread_stacks_open(struct thread_stacks *s, const struct thread_stacks_opts *o,
		       struct symbols *symbols, struct diag *d)
{
	*s = (struct thread_stacks){ .pid = o->pid };
	arena_init(&s->arena);
	int err = catalog_init(&s->catalog);
	if (!err)
		err = frame_table_init(&s->table);
	struct taker *t = err ? NULL : calloc(1, sizeof(*t));
	if (!t)
		return err ? err : -ENOMEM;
	t->s = s;
	t->o = o;
	t->d = d;
	err = sysroot_open(&t->root, NULL);
	procfs_init(&t->procfs, &t->root);
	perf_opener_init(&t->perf, &t->root);
	if (!err)
		err = take_all(t, symbols);
	if (!err)
		err = resolve(s, o, symbols);
	procfs_done(&t->procfs);
	sysroot_close(&t->root);
	vec_free(&t->maps);
	free(t->copy.stack);
	free(t);
	return err;
}

void thread_stacks_close(struct thread_stacks *s)
{
	if (s->names)
		s->names->ops->free(s->names);
	vec_free(&s->threads);
	vec_free(&s->frames);
	frame_table_done(&s->table);
	catalog_done(&s->catalog);
	arena_done(&s->arena);
}

/* ---- what is shown ---- */

static void frame_text(const struct thread_frame *f, u32 nr, struct strbuf *to)
{
	strbuf_printf(to, "#%-3u", nr);
	if (f->kernel)
		strbuf_str(to, " [kernel]           ");
	else
		strbuf_printf(to, " 0x%016llx  ", (unsigned long long)f->addr);
	if (f->name)
		printable_name(to, f->name);
	else
		strbuf_str(to, "??");
	if (f->inlined)
		strbuf_str(to, " (inlined)");
	else if (f->name)
		strbuf_printf(to, "+0x%llx", (unsigned long long)f->offset);
	if (f->module && !(f->kernel && !strcmp(f->module, "kernel"))) {
		strbuf_str(to, " (");
		printable_name(to, f->module);
		strbuf_char(to, ')');
	}
	if (f->file) {
		strbuf_char(to, ' ');
		printable_name(to, f->file);
		strbuf_printf(to, ":%u", f->line);
	}
	strbuf_char(to, '\n');
}

void thread_stacks_text(const struct thread_stacks *s, struct strbuf *to)
{
	vec_for_each (&s->threads, th) {
		if (th != s->threads.at)
			strbuf_char(to, '\n');
		strbuf_printf(to, "thread %d (", th->tid);
		printable_name(to, th->comm);
		strbuf_char(to, ')');
		if (th->state != '?')
			strbuf_printf(to, " %c", th->state);
		strbuf_char(to, '\n');
		for (u32 i = 0; i < th->nr; i++)
			frame_text(&s->frames.at[th->first + i], i, to);
		if (th->why)
			strbuf_printf(to, "     ... %s\n", th->why);
	}
}

static void frame_json(const struct thread_frame *f, struct json *j)
{
	char addr[24];
	json_object(j);
	json_put_str(j, "mode", frame_mode_word(f->kernel ? FRAME_KERNEL : FRAME_USER));
	if (!f->kernel) {
		(void)snprintf(addr, sizeof(addr), "0x%llx", (unsigned long long)f->addr);
		json_put_str(j, "address", addr);
	}
	json_put_str(j, "function", f->name);
	if (f->name && !f->inlined)
		json_put_u64(j, "offset", f->offset);
	json_put_str(j, "module", f->module);
	if (f->inlined)
		json_put_bool(j, "inlined", true);
	if (f->file) {
		json_put_str(j, "file", f->file);
		json_put_u64(j, "line", f->line);
	}
	json_object_end(j);
}

int thread_stacks_json(const struct thread_stacks *s, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_put_s64(&j, "pid", s->pid);
	json_key(&j, "threads");
	json_array(&j);
	vec_for_each (&s->threads, th) {
		char state[2] = { th->state, '\0' };
		json_object(&j);
		json_put_s64(&j, "tid", th->tid);
		json_put_str(&j, "comm", th->comm);
		json_put_str(&j, "state", th->state == '?' ? NULL : state);
		if (th->stopped_ns)
			json_put_u64(&j, "stopped_ns", th->stopped_ns);
		json_put_str(&j, "incomplete", th->why);
		json_key(&j, "frames");
		json_array(&j);
		for (u32 i = 0; i < th->nr; i++)
			frame_json(&s->frames.at[th->first + i], &j);
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

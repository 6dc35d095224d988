/* Scripts in either language: the whole compiler, from text to eBPF, and the texts of all its stages. */
#include "lang/compile.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Fields of every kind, whatever the name. */
static int tracepoint(void *ctx, const char *system, const char *name, const struct schema **ret)
{
	static const struct schema_field fields[] = {
		{ .name = "a", .type = "int", .offset = 8, .size = 4, .flags = FIELD_SIGNED },
		{ .name = "b", .type = "char *", .offset = 16, .size = 8, .flags = FIELD_POINTER },
		{ .name = "c",
		  .type = "char[16]",
		  .offset = 24,
		  .size = 16,
		  .elem_size = 1,
		  .nr_elems = 16,
		  .flags = FIELD_ARRAY | FIELD_STRING },
		{ .name = "d",
		  .type = "__data_loc char[]",
		  .offset = 40,
		  .size = 4,
		  .flags = FIELD_DATA_LOC },
		{ .name = "e",
		  .type = "u8[4]",
		  .offset = 44,
		  .size = 4,
		  .elem_size = 1,
		  .nr_elems = 4,
		  .flags = FIELD_ARRAY },
	};
	static const struct schema s = { .fields = fields, .nr_fields = 5 };
	(void)ctx;
	(void)name;
	if (*system == 'x')
		return -ENOENT;
	*ret = &s;
	return 0;
}

static int address(void *ctx, const char *name, u64 *ret)
{
	(void)ctx;
	*ret = 0x1000;
	return *name == 'x' ? -ENOENT : 0;
}

static int user_address(void *ctx, const char *program, const char *name, u64 *ret)
{
	(void)program;
	return address(ctx, name, ret);
}

static const char *syscall_name(void *ctx, u32 nr)
{
	(void)ctx;
	return nr < 3 ? "call" : NULL;
}

/* A library that imports itself. */
static int import(void *ctx, const char *from, const char *name, const char **ret_path,
		  const char **ret_text)
{
	(void)ctx;
	(void)from;
	*ret_path = name;
	*ret_text = "import \"lib\";\n#define LIB 1\nmacro lib(x) { x + LIB }\nstruct lib { int a; "
		    "};\n";
	return *name == 'x' ? -ENOENT : 0;
}

static int usdt_site(void *ctx, const struct program_probe *p, u32 nth, const char **ret)
{
	static const char *const sites[] = { "8@%rdi -4@%eax 2@$5",
					     "-4@8(%rsp) 1@%al 4@(%rax,%rbx)" };
	(void)ctx;
	if (nth >= ARRAY_SIZE(sites) || !p->name)
		return 0;
	*ret = sites[nth];
	return 1;
}

/* A jump stays inside, and the last instruction leaves. */
static void check_code(const struct program *p, const struct program_code *c)
{
	if (!c->nr || c->insns[c->nr - 1].code != (BPF_JMP | BPF_EXIT))
		abort();
	for (u32 i = 0; i < c->nr; i++) {
		const struct bpf_insn *in = &c->insns[i];
		if (in->dst_reg > 10 || in->src_reg > 10)
			abort();
		if ((in->code & 7) == BPF_JMP && (in->code & 0xf0) != BPF_CALL &&
		    (in->code & 0xf0) != BPF_EXIT &&
		    ((s64)i + 1 + in->off < 0 || i + 1 + in->off >= c->nr))
			abort();
		if (in->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
	for (u32 i = 0; i < c->nr_relocs; i++)
		if (c->relocs[i].map >= p->maps.nr || c->relocs[i].insn + 1 >= c->nr)
			abort();
}

/* Two events, whatever the pattern. */
static int tracepoint_list(void *ctx, const char *system, const char *name, u32 nth,
			   const char **ret_system, const char **ret_name)
{
	static const char *const names[] = { "sys_enter_one", "sys_enter_two" };
	(void)ctx;
	(void)name;
	*ret_system = *system == '*' ? "syscalls" : system;
	*ret_name = nth < 2 ? names[nth] : NULL;
	return nth < 2;
}

static void compile(const char *text, bool stap)
{
	static const struct lang_ops ops = { .tracepoint = tracepoint,
					     .tracepoint_list = tracepoint_list,
					     .kernel_symbol = address,
					     .user_symbol = user_address,
					     .cgroup_id = address,
					     .syscall_name = syscall_name,
					     .import = import,
					     .usdt_site = usdt_site };
	static const char *const params[] = { "1", "two" };
	struct program p;
	struct diag d;
	struct strbuf dump, said;
	diag_init(&d);
	strbuf_init(&dump);
	strbuf_init(&said);
	struct lang_input in = { .text = text,
				 .len = strlen(text),
				 .ops = &ops,
				 .params = params,
				 .nr_params = 2,
				 .stap = stap,
				 .allow_unsafe = true,
				 .callbacks = true,
				 .end_here = true,
				 .machine = "x86_64",
				 .dump_ast = &dump,
				 .dump_types = &dump,
				 .dump_ir = &dump,
				 .dump_bpf = &dump };
	int err = lang_compile(&in, &p, &d);
	/* Whoever is refused is told why, once. */
	if (err && err != -ENOMEM && d.nr_errors != 1)
		abort();
	/* An end block that is run here has no code. */
	for (u32 i = 0; !err && i < p.probes.nr; i++)
		if (!p.probes.at[i].here)
			check_code(&p, &p.codes.at[p.probes.at[i].code]);
	diag_render(&d, "p", false, &said);
	program_done(&p);
	strbuf_done(&dump);
	strbuf_done(&said);
	diag_done(&d);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, min(size, (size_t)8192));
	if (!text)
		return 0;
	compile(text, false);
	compile(text, true);
	return 0;
}

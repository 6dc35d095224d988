/* Compiles a script, loads it where that is allowed, and runs its begin blocks: for looking at what the compiler does. */
#include "load.h"

#include "base/clock.h"

#include <glob.h>

/* The fields of a tracepoint, read as plainly as can be. */
static int tracepoint(void *ctx, const char *system, const char *name, const struct schema **ret)
{
	static struct schema_field fields[64];
	static struct schema s;
	static char lines[64][512];
	char path[512];
	u32 nr = 0;
	(void)ctx;
	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/%s/format", system, name);
	FILE *f = fopen(path, "r");
	if (!f)
		return -ENOENT;
	while (nr < 64 && fgets(lines[nr], sizeof(lines[nr]), f)) {
		char *line = lines[nr], *semi = strchr(line, ';');
		u32 offset, size;
		int is_signed;
		if (strncmp(line, "\tfield:", 7) || !semi ||
		    sscanf(semi, ";\toffset:%u;\tsize:%u;\tsigned:%d;", &offset, &size,
			   &is_signed) != 3)
			continue;
		*semi = 0;
		char *bracket = strchr(line, '['), *word;
		bool loc = strstr(line, "__data_loc") != NULL;
		if (bracket && !loc)
			*bracket = 0;
		word = strrchr(line, ' ');
		*word++ = 0;
		fields[nr] = (struct schema_field){
			.name = word, .type = line + 7, .offset = offset, .size = size
		};
		fields[nr].flags = (is_signed ? FIELD_SIGNED : 0) | (loc ? FIELD_DATA_LOC : 0);
		fields[nr].elem_size = size;
		if (bracket && !loc) {
			bool text = strstr(line + 7, "char") != NULL;
			u32 count = (u32)atoi(bracket + 1);
			fields[nr].flags |= FIELD_ARRAY | (text ? FIELD_STRING : 0);
			fields[nr].nr_elems = count ? count : 1;
			fields[nr].elem_size = count ? size / count : size;
		}
		nr++;
	}
	fclose(f);
	s = (struct schema){ .fields = fields, .nr_fields = nr };
	*ret = &s;
	return 0;
}

static int list(void *ctx, const char *system, const char *name, u32 nth, const char **ret_system,
		const char **ret_name)
{
	static glob_t g;
	char pattern[512];
	(void)ctx;
	if (!nth) {
		snprintf(pattern, sizeof(pattern), "/sys/kernel/tracing/events/%s/%s/format",
			 system, name);
		if (glob(pattern, 0, NULL, &g))
			return 0;
	}
	if (nth >= g.gl_pathc)
		return 0;
	static char path[512];
	snprintf(path, sizeof(path), "%s", g.gl_pathv[nth] + strlen("/sys/kernel/tracing/events/"));
	*ret_system = strtok(path, "/");
	*ret_name = strtok(NULL, "/");
	return 1;
}

static int symbol(void *ctx, const char *name, u64 *ret)
{
	(void)ctx;
	(void)name;
	*ret = 0xffffffff81000000ull;
	return 0;
}

static char *read_all(const char *path)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = 0;
	if (f)
		fclose(f);
	return text;
}

int main(int argc, char **argv)
{
	struct program p;
	struct diag d;
	struct strbuf s, out;
	struct loaded l;
	u64 ns[LANG_STAGES] = { 0 };
	diag_init(&d);
	strbuf_init(&s);
	strbuf_init(&out);
	struct lang_input in = { .text = argc > 1 ? argv[1] : "",
				 .stage_ns = ns,
				 .allow_unsafe = true,
				 .callbacks = true };
	static const struct lang_ops ops = { .tracepoint = tracepoint,
					     .tracepoint_list = list,
					     .kernel_symbol = symbol };
	in.ops = &ops;
	if (*in.text == '/')
		in.text = read_all(in.text);
	in.len = strlen(in.text);
	in.params = (const char *const *)argv + 3;
	in.nr_params = argc > 3 ? (u32)argc - 3 : 0;
	const char *what = argc > 2 ? argv[2] : "";
	if (strchr(what, 'a'))
		in.dump_ast = &out;
	if (strchr(what, 't'))
		in.dump_types = &out;
	if (strchr(what, 'i'))
		in.dump_ir = &out;
	if (strchr(what, 'b'))
		in.dump_bpf = &out;
	static u8 types[32 << 20];
	struct btf btf = { 0 };
	FILE *f = strchr(what, 'k') ? fopen("/sys/kernel/btf/vmlinux", "r") : NULL;
	size_t got = f ? fread(types, 1, sizeof(types), f) : 0;
	if (got && !btf_open_memory(&btf, types, got, NULL))
		in.btf = &btf;
	u64 start = clock_monotonic_ns();
	int err = lang_compile(&in, &p, &d);
	u64 took = clock_monotonic_ns() - start;
	diag_render(&d, "try", false, &s);
	fputs(strbuf_cstr(&s), stderr);
	fputs(strbuf_cstr(&out), stdout);
	printf("compile: %d, %llu us (parse %llu check %llu lower %llu registers %llu)\n", err,
	       (unsigned long long)took / 1000, (unsigned long long)ns[LANG_PARSE] / 1000,
	       (unsigned long long)ns[LANG_CHECK] / 1000, (unsigned long long)ns[LANG_LOWER] / 1000,
	       (unsigned long long)ns[LANG_REGISTERS] / 1000);
	if (!err && !strchr(what, 'n')) {
		err = load_program(&p, &l);
		printf("load: %d\n", err);
		for (u32 i = 0; !err && i < p.probes.nr; i++)
			if (p.probes.at[i].provider == PROGRAM_BEGIN && !strchr(what, 'l'))
				printf("run: %d\n", run_code(&l, i));
		for (u32 i = 0; !err && i < p.maps.nr; i++) {
			u64 value[64] = { 0 };
			u32 key = 0;
			if (p.maps.at[i].role == PROGRAM_MAP_USER &&
			    p.maps.at[i].type == BPF_MAP_TYPE_ARRAY &&
			    p.maps.at[i].value_size <= sizeof(value) &&
			    !map_read(&l, i, &key, value))
				printf("%s: %lld \"%.*s\"\n", p.maps.at[i].name, (long long)value[0],
				       (int)p.maps.at[i].value_size, (const char *)value);
		}
		unload(&l);
	}
	program_done(&p);
	strbuf_done(&s);
	strbuf_done(&out);
	diag_done(&d);
	return err ? 1 : 0;
}

/* Compiles a script, loads it where that is allowed, and runs its begin blocks: for looking at what the compiler does. */
#include "load.h"

#include "base/clock.h"

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
				 .allow_unsafe = true };
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
			if (p.probes.at[i].provider == PROGRAM_BEGIN)
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

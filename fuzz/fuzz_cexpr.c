/*
 * Expressions of inspect: parsed, and evaluated over a kernel without symbols whose memory is the text itself and whose types are those of
 * tests/gen. Spans of errors lie in the text.
 */
#include "../tests/gen/btfwrite.h"
#include "memory/print.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* struct node { struct node *next; int num; char name[8]; }; and a typedef. */
static void write_types(struct writer *w)
{
	*w = (struct writer){ .id = 1 };
	(void)name(w, "");
	u32 sint = type(w, "int", INT, 0, 4);
	word(w, 1u << 24 | 32);
	u32 chr = type(w, "char", INT, 0, 1);
	word(w, 1u << 24 | 8);
	u32 array = type(w, "", ARRAY, 0, 0);
	word(w, chr);
	word(w, sint);
	word(w, 8);
	u32 self = w->id + 1;
	u32 pointer = type(w, "", PTR, 0, self);
	(void)type(w, "node", STRUCT, 3, 24);
	word(w, name(w, "next"));
	word(w, pointer);
	word(w, 0);
	word(w, name(w, "num"));
	word(w, sint);
	word(w, 64);
	word(w, name(w, "name"));
	word(w, array);
	word(w, 96);
	(void)type(w, "u64", TYPEDEF, 0, sint);
	finish(w);
}

static void check_spans(const struct diag *d, const char *text)
{
	size_t len = strlen(text);
	vec_for_each (&d->items, i)
		if (i->text && i->start > len)
			abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct writer w;
	struct kspace k;
	struct kvalue v;
	struct diag d;
	struct strbuf s;
	struct json j;
	char text[512];
	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!w.size)
		write_types(&w);
	diag_init(&d);
	strbuf_init(&s);
	kspace_init(&k, &(struct kspace_opts){ .root = "/nonexistent" }, &d);
	if (memory_open_bytes(16, text, sizeof(text), &k.memory) ||
	    btf_open_memory(&k.btf, w.all, w.size, NULL))
		abort();
	k.has_types = true;
	k.modules_read = true;
	if (!eval_text(&k, text, &v)) {
		volatile int err = print_value(&k, &v, &(struct print_opts){ 0 }, &s);
		json_begin(&j, &s, JSON_COMPACT);
		err = print_json(&k, &v, &(struct print_opts){ .depth = 2 }, &j);
		(void)err;
	}
	check_spans(&d, text);
	kspace_done(&k);
	strbuf_done(&s);
	diag_done(&d);
	return 0;
}

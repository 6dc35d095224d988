/*
 * SCSI command descriptor blocks as drivers/scsi/scsi_trace.c words them: reads, writes and their kin with block address and
 * length, the rest as "-". All numbers in a block are big endian.
 */
#include "wire/print_fmt_impl.h"

static u64 big(const u8 *p, unsigned len)
{
	u64 v = 0;
	for (unsigned i = 0; i < len; i++)
		v = v << 8 | p[i];
	return v;
}

static void add_number(struct strbuf *to, const char *name, u64 v)
{
	strbuf_str(to, name);
	strbuf_u64(to, v);
}

static void rw_6(struct strbuf *to, const u8 *cdb)
{
	add_number(to, "lba=", big(cdb + 1, 3) & 0x1fffff);
	add_number(to, " txlen=", cdb[4] ? cdb[4] : 256); /* none means all of 256 */
}

static void rw(struct strbuf *to, const u8 *cdb, unsigned lba, unsigned at, unsigned len)
{
	add_number(to, "lba=", big(cdb + 2, lba));
	add_number(to, " txlen=", big(cdb + at, len));
	add_number(to, " protect=", cdb[1] >> 5);
}

enum scsi_shape {
	SHAPE_RW6,
	SHAPE_RW10,
	SHAPE_RW12,
	SHAPE_RW16,
	SHAPE_SAME10,
	SHAPE_SAME16,
	SHAPE_UNMAP,
	SHAPE_SERVICE
};

static const struct {
	u8 op, need;
	enum scsi_shape shape;
} commands[] = {
	{ 0x08, 6, SHAPE_RW6 },	   { 0x0a, 6, SHAPE_RW6 },     { 0x28, 10, SHAPE_RW10 },
	{ 0x2a, 10, SHAPE_RW10 },  { 0x2f, 10, SHAPE_RW10 },   { 0x41, 10, SHAPE_SAME10 },
	{ 0x42, 10, SHAPE_UNMAP }, { 0xa8, 12, SHAPE_RW12 },   { 0xaa, 12, SHAPE_RW12 },
	{ 0xaf, 12, SHAPE_RW12 },  { 0x88, 16, SHAPE_RW16 },   { 0x8a, 16, SHAPE_RW16 },
	{ 0x8f, 16, SHAPE_RW16 },  { 0x93, 16, SHAPE_SAME16 }, { 0x9e, 16, SHAPE_SERVICE },
};

static void service_action(struct strbuf *to, const u8 *cdb)
{
	u8 action = cdb[1] & 0x1f;
	if (action != 0x10 && action != 0x12) {
		strbuf_str(to, "UNKNOWN");
		return;
	}
	strbuf_str(to, action == 0x10 ? "READ_CAPACITY_16" : "GET_LBA_STATUS");
	add_number(to, " lba=", big(cdb + 2, 8));
	add_number(to, " alloc_len=", big(cdb + 10, 4));
}

static void print_shape(struct strbuf *to, enum scsi_shape shape, const u8 *cdb)
{
	switch (shape) {
	case SHAPE_RW6: rw_6(to, cdb); return;
	case SHAPE_SAME10:
	case SHAPE_RW10: rw(to, cdb, 4, 7, 2); break;
	case SHAPE_RW12: rw(to, cdb, 4, 6, 4); break;
	case SHAPE_SAME16:
	case SHAPE_RW16: rw(to, cdb, 8, 10, 4); break;
	case SHAPE_UNMAP: add_number(to, "regions=", ((u32)big(cdb + 7, 2) - 8) / 16); break;
	case SHAPE_SERVICE: service_action(to, cdb); break;
	}
	if (shape == SHAPE_SAME10 || shape == SHAPE_SAME16)
		add_number(to, " unmap=", cdb[1] >> 3 & 1);
}

/* READ_32 and the like: the real command stands in bytes 8 and 9. */
static void variable_length(struct strbuf *to, const u8 *cdb)
{
	static const struct {
		u16 op;
		const char *name;
	} rows[] = { { 9, "READ" }, { 10, "VERIFY" }, { 11, "WRITE" }, { 13, "WRITE_SAME" } };
	u16 op = (u16)big(cdb + 8, 2);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].op != op)
			continue;
		strbuf_str(to, rows[i].name);
		add_number(to, "_32 lba=", big(cdb + 12, 8));
		add_number(to, " txlen=", big(cdb + 28, 4));
		add_number(to, " protect=", cdb[10] >> 5);
		add_number(to, " ei_lbrt=", big(cdb + 20, 4));
		if (op == 13)
			add_number(to, " unmap=", cdb[10] >> 3 & 1);
		return;
	}
	strbuf_char(to, '-');
}

void print_scsi_cdb(struct print_ctx *c, const struct print_fmt_node *n)
{
	u32 len;
	const u8 *cdb = print_bytes(c, n->a, &len);
	if (!cdb || !len) {
		strbuf_char(c->to, '-');
		return;
	}
	if (cdb[0] == 0x7f && len >= 32) {
		variable_length(c->to, cdb);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].op == cdb[0] && len >= commands[i].need) {
			print_shape(c->to, commands[i].shape, cdb);
			return;
		}
	strbuf_char(c->to, '-');
}

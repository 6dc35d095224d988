#include "wire/print_fmt_impl.h"
int print_tracecmd_layout(struct parser *p, const struct op **ret, const struct schema_field *const **fields) { return 0; }

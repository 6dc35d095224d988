/* Shared by the parts that look by name and those that read units. */
#pragma once

#include "base/strtab.h"
#include "image/dwarf_code.h"
#include "image/dwarf_impl.h"

struct dwcode {
	struct dwinfo *info;
	struct dw_file *file; /* its main one */
	const struct elfimg *image;
	struct strtab paths;
	struct dw_lines other; /* of the unit that was asked about last */
	bool has_other;
};

/* Whether types of a unit may hold functions, by its language. */
bool dwcode_has_classes(const struct dw_die *root);

/* Where an answer goes, for engines that print for a command. */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"

struct tell {
	struct strbuf *out;
	struct diag *diag;
	bool json; /* the data on out is JSON */
};

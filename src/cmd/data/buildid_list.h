/* The options of `sonde buildid-list`. */
#pragma once

#include "base/types.h"

struct buildid_opts {
	const char *input;
	bool no_host,
		no_guest; /* of what samples hit: not the host's, not those of virtual machines */
	bool sides_given;
	bool hits;
	bool kernel;
	bool modules;
	bool force;
};

/*
 * Debug files from the servers that DEBUGINFOD_URLS names.
 *
 * Root may have that variable from a user (sudo -E). Then: only servers (http, https), never files of a user's choice; and the client's
 * cache folder must be such that nobody else can put a link or another file into it, else root's own is used.
 */
#pragma once

#include "base/diag.h"
#include "image/debuginfod.h"

/* Zero-initialised, but for who is told what is being fetched (NULL: nobody), which outlives the process's threads. */
struct debug_server {
	void (*progress)(void *ctx, const char *hex, size_t done,
			 size_t total); /* as in debuginfod_config */
	void *ctx;

	/* Of debug_server.c. */
	bool asked;
	struct debugfile_fetch *fetch;
};

/* As long as the program; NULL: not asked for, or not safe (noted in the diag). */
struct debugfile_fetch *debug_server(struct debug_server *s, struct diag *d);

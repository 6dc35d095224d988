/*
 * Debug files from the servers that DEBUGINFOD_URLS names.
 *
 * Root may have that variable from a user (sudo -E). Then: only servers (http, https), never files of a user's choice; and the client's
 * cache folder must be such that nobody else can put a link or another file into it, else root's own is used.
 */
#pragma once

#include "cmd/app/app.h"
#include "image/debugfile.h"

/* As long as the program; NULL: not asked for, or not safe (noted in app->diag). */
struct debugfile_fetch *debug_server(struct app *app);

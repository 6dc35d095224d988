/*
 * Recordings are read where they lie, mapped. Whoever makes such a file shorter meanwhile (`> perf.data`, a recorder that starts
 * again in place) takes the pages away under our hands, and the kernel sends SIGBUS. There is nothing left to read then: say so
 * and end, instead of dying of it.
 */
#pragma once

/* From here on. path: in the message; kept. */
void mapped_guard(const char *path);

/*
 * Another program tells us what to do while we run, one command a line, over a descriptor or a named pipe:
 * enable, disable, snapshot, evlist, ping, stop. Each is answered with "ack" where a second descriptor or pipe is given.
 */
#pragma once

#include "base/diag.h"

enum control_command {
	CONTROL_NONE, /* nothing whole has come yet */
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_SNAPSHOT,
	CONTROL_EVLIST,
	CONTROL_PING,
	CONTROL_STOP,
	CONTROL_UNKNOWN, /* see control.word */
};

enum { CONTROL_LINE = 256 };

struct control {
	int fd; /* -1: there is none */
	int ack_fd; /* -1: no answers */
	size_t len;
	char buf[CONTROL_LINE]; /* read, not yet handed out */
	char word[CONTROL_LINE];
};

/* "fd:3", "fd:3,4", "fifo:PATH", "fifo:PATH,PATH"; negative errno with a diag, where the option that said so is
 * called `option`. */
int control_open(struct control *c, const char *option, const char *text, struct diag *d) must_check;
/* Reads what is there, once: 1 go on with control_next(), 0 the other side closed it, or negative errno. */
int control_read(struct control *c) must_check;
enum control_command control_next(struct control *c);
void control_ack(struct control *c);
void control_close(struct control *c);

/* What a task does with signals, and which wait for it, as the kernel's memory has them. */
#pragma once

#include "memory/ktasks.h"

enum { KSIGNALS = 64 };

struct ksignal_action {
	u64 addr; /* of its struct k_sigaction */
	u64 handler; /* KSIGNAL_DEFAULT, KSIGNAL_IGNORE, or a function of the program */
	u64 flags, mask;
};
enum { KSIGNAL_DEFAULT, KSIGNAL_IGNORE };

/* Sets have bit n - 1 for signal n. */
struct ksignal_state {
	u64 signal, sighand; /* of its struct signal_struct and sighand_struct */
	s32 nr_threads;
	u64 blocked;
	u64 private, shared; /* waiting for this thread, and for any of its process */
	struct ksignal_action actions[KSIGNALS];
};

struct ksignals {
	struct kspace *k;
	struct {
		u64 sighand, blocked, pending; /* task_struct; that of its queue and set */
		u64 shared, nr_threads; /* signal_struct */
		u64 action; /* sighand_struct */
		u64 handler, flags, mask; /* k_sigaction */
		u64 set, list; /* sigpending */
		u64 queue, info, number; /* sigqueue: its list, its info, the number in that */
	} at;
	u64 action_bytes;
};

/* -ENOENT with a diag: BTF lacks a member. */
int ksignals_open(struct ksignals *s, struct kspace *k) must_check;
/* -ESRCH without a diag: it is exiting, and has none any more. */
int ksignals_read(struct ksignals *s, const struct ktask *task,
		  struct ksignal_state *ret) must_check;

/* Each signal that waits with what was sent along; info is the address of that. */
typedef int (*ksignal_fn)(void *ctx, u32 number, u64 info);
int ksignals_each(struct ksignals *s, const struct ktask *task, bool shared, ksignal_fn fn,
		  void *ctx, struct walk_result *ret) must_check;

enum { KSIGNAL_NAME = 24 };
/* "SIGHUP", "SIGRTMIN+2"; "" for numbers that are none's. */
void ksignal_name(u32 number, char ret[KSIGNAL_NAME]);
/* "SA_SIGINFO|SA_RESTART"; nothing is added for 0. */
void ksignal_flags(u64 flags, struct strbuf *to);

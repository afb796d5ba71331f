/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of this program: read from descriptors, or passed on to the command. From signals_open()
 * on they are blocked, so none interrupts a call; a wait polls wait_fd. A verb that waits or runs a
 * command calls it first, before it starts a thread.
 */
#ifndef ROWLOCK_SIGNALS_H
#define ROWLOCK_SIGNALS_H

#include <signal.h>

#include "system/command/calls.h"

struct signals {
    sigset_t original; /* the mask that the command gets back */
    sigset_t handled;  /* those that are ours: a signal ignored by the caller stays ignored */
    struct sigaction broken_pipe; /* the caller's action for SIGPIPE, which we ignore */
    int wait_fd;                  /* readable: give up waiting; silent while the command runs */
    int fd;                       /* while the command runs: readable, a signal for it; else -1 */
    int awake_fd; /* while the command runs: readable after we were stopped; else -1 */
};

/* nohup and background jobs ignore some signals; this program and the command
   keep ignoring them. */
int signals_are_ignored(int number);

/* Blocks the signals, and opens wait_fd. Also ignores SIGPIPE, and no longer ignores SIGCHLD. 0; or
   -1 with errno, as the two below. */
int signals_open(struct signals *signals);
/* From now on signals are for the command, and interrupt no wait of ours. */
int signals_turn_to_command(struct signals *signals);
/* From now on signals interrupt our waits again. A stop signal that is still pending is discarded,
   because it was meant for the command. */
int signals_turn_to_wait(struct signals *signals);
/* Stops us: while the command runs, the terminal's stop signals do not. */
void signals_stop(void);
/* Ends this process as the signal would have, but without a core. */
_Noreturn void die_by(int number);
/* Ends this process without its exit handlers, because a thread still uses the library; standard
   output is flushed. With the status, or -N: by signal N. */
_Noreturn void end_at_once(int status);

/* Ignores SIGXFSZ, so that a write beyond `ulimit -f` fails instead of ending this program. */
void ignore_large_files(void);
/* Restores the caller's mask and actions. Call it in the command's process, before exec. */
void signals_give_back(const struct signals *signals);

#endif

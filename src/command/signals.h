/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of this program: read from descriptors, or passed on to the command. */
#ifndef ROWLOCK_SIGNALS_H
#define ROWLOCK_SIGNALS_H

#include <signal.h>
#include <sys/signalfd.h>

struct signals {
    sigset_t original; /* the mask that the command gets back */
    sigset_t handled;  /* those that are ours: a signal ignored by the caller stays ignored */
    struct sigaction broken_pipe; /* and what SIGPIPE was to the caller: we ignore it */
    int wait_fd;                  /* readable: give up waiting */
    int fd;                       /* while the command runs: the same */
    int awake_fd;                 /* and then readable: we were stopped, and are awake again */
};

/* nohup and background jobs ignore some: that stays so, for this program and for the command. */
int signals_are_ignored(int number);

int signals_open(struct signals *signals);
/* From now on nothing is interrupted: signals are the command's. */
int signals_turn_to_command(struct signals *signals);
/* And back: they interrupt what is waited for. */
int signals_turn_to_wait(struct signals *signals);
/* While the command runs the terminal's stop signals do not stop us: this does, as they would have.
   */
void signals_stop(void);
/* The next one, or 0. */
int signals_next(int fd, struct signalfd_siginfo *info);
/* Ends this process as the signal would have. */
_Noreturn void die_by(int number);

/* A file that may not grow (ulimit -f) then makes a write fail, and does not end this program. */
void ignore_large_files(void);
/* Before a command of the caller's is executed: SIGXFSZ is what it was to the caller. */
void leave_large_files_to_command(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of this machine, as /proc shows them: the guard ends those of a command by it,
   `acquire --while-pid` watches one, and doctor reports what is visible. */
#ifndef ROWLOCK_SYSTEM_PROCESSES_H
#define ROWLOCK_SYSTEM_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid, parent, group;
    int is_dead;    /* all its threads have ended; its parent has not collected it yet */
    int is_stopped; /* by a signal such as SIGSTOP or ^Z; not by a debugger */
    /* When it started, in clock ticks since the boot; with the pid: this process and no other. */
    unsigned long long born;
};

/* One scan of /proc; zeroed at first. */
struct processes {
    struct process *all; /* in order of pid */
    size_t n, room;
};

/* Reads one process. 1: it exists; 0: not, or /proc does not show it. */
int process_read(pid_t pid, struct process *out);

/* Adds all that /proc shows to `out`, which is zeroed before. The caller frees `all`, also after an
   error. Not a snapshot: a process that starts meanwhile may be missing. -1: there is no /proc of
   our PID namespace, or no memory. */
int processes_read(struct processes *out);
/* That of this pid, or NULL. */
const struct process *processes_find(const struct processes *processes, pid_t pid);

/* Signals exactly that process. Does nothing if it has ended, even if its pid is in use again. 1:
   this user may not signal it. */
int process_signal_same(const struct process *process, int number);

/* The first word of its command line; empty if it cannot be read. */
void process_program(pid_t pid, char *out, size_t size);

/* Opens its standard error for appending, if that is a file, a terminal or a pipe. Writing to it
   does not block. The caller closes it. -1 if not. */
int process_errors(pid_t pid);
/* Whether its standard error and our descriptor are the same regular file. */
int process_errors_are(pid_t pid, int fd);

/* ---- for doctor ------------------------------------------------------------------------------ */

/* Whether the processes of other users are visible. */
int processes_are_visible(void);

/* The signals that process 1 blocks, ignores or catches: bit n - 1 for signal n. 0, and `name` as
   before, if it is not visible. */
unsigned long long handled_by_init(char name[32]);

/* 1: this process belongs to a service of systemd; `unit` gets its name, `*user` whether it is one
   of a user's own systemd. 0: not; both may have changed. */
int find_service(char *unit, size_t size, int *user);

#endif

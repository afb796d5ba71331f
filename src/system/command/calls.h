/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of Linux that the command needs; the library makes none of them. Calls that only Linux has
   are in this folder, and nowhere else in the command (tools/check-rooms). */
#ifndef ROWLOCK_SYSTEM_CALLS_H
#define ROWLOCK_SYSTEM_CALLS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- this process, its parent, and a process that it watches --------------------------------- */

/* A descriptor of that process, and of no later process with the same pid. It becomes readable when
   the process ends. -1 with errno; ENOSYS before Linux 5.3. */
int process_descriptor(pid_t pid);
/* Sends that process a signal; 0 only asks whether it has ended and been collected. 0; or -1 with
   errno. */
int process_signal(int process_fd, int number);

/* This process, after a fork, is killed as soon as `parent` ends; to Linux that is the thread that
   forked. -1: that has happened already. */
int end_with_parent(pid_t parent);

/* If this process is stopped, it wakes up as soon as its parent ends. Without this the kernel wakes
   it only if no process of its session becomes the parent, as process 1 of a container may. */
void wake_without_parent(void);

/* Descendants whose parent ends become children of this process. 0; or -1 with errno. */
int adopt_orphans(void);

/* Whether a set-user-ID program that this process starts may become one that it may not signal. */
int may_lose_children(void);

/* Hides this process's memory from core files and from other processes of this user, because it may
   hold a URL with a password. A forked child inherits it; exec ends it. */
void hide_memory(void);

/* The name that ps shows, of which 15 bytes count. */
void name_this_process(const char *name);

/* The file of this program, even if it was replaced. For messages, too. */
#define THIS_PROGRAM "/proc/self/exe"

/* Executes this program again, with these arguments and the same environment. Returns only after an
   error, with errno. */
void execute_again(char *const argv[]);

/* Many descriptors at once. */

/* Closes all descriptors of this process except `n`, which may be in any order; -1 counts for
   nothing. */
void close_all_but(const int *kept, size_t n);

/* From now on exec closes those from `from` on, before `to`. */
void close_range_on_exec(int from, int to);

/* A descriptor that is readable while one of `n` is; the caller closes it. None of them may be a
   regular file. -1 with errno. */
int any_of(const int *fds, size_t n);
/* From now on `any`, made by any_of, ignores `fd`. */
void any_of_others(int any, int fd);

/* A descriptor that reports signals, without handlers and their races. */

/* A descriptor that is readable while a signal of the set is pending. The caller has blocked them
   all. -1 with errno. */
int signals_descriptor(const sigset_t *set);

/* From now on it reports these. 0; or -1 with errno. */
int signals_report(int fd, const sigset_t *set);

/* Takes the next one without blocking: its number, or 0 if none is pending. `by_kernel` (may be
   NULL) becomes 1 if no process sent it, as with a key at the terminal. */
int signals_next(int fd, int *by_kernel);

/* Sockets between processes of this machine. exec closes them all. */

/* Two connected sockets that block: each send() is one message, and each end sees the end of the
   other. 0; or -1 with errno. */
int message_pair(int ends[2]);
/* The same for bytes: a read may return a part, or several writes at once. */
int stream_pair(int ends[2]);

/* A stream socket of that family that does not block. -1 with errno. */
int stream_socket(int family);

/* A Unix socket of that type. -1 with errno. */
int unix_socket(int type);

/*
 * An announcement: another process can ask whether a process of its user, or of root, has announced
 * `name` and has not ended. Any user may announce any name, so the question includes the user.
 */

/* A non-blocking descriptor; the announcement ends when it and its copies in child processes are
   closed. Of `name` 107 bytes count. -1: the announcement is not possible, perhaps because another
   process has made it. */
int announce(const char *name);
/* While the descriptor is readable, processes have asked. Takes their questions, of which only a
   limited number can wait: an announcer that never takes them appears to be gone. */
void announce_again(int fd);
/* Asks, without blocking. False also if the questions that wait are too many. */
int is_announced(const char *name);

/* A descriptor that reports a time. It counts while the machine sleeps; a time-out of poll() does
   not. */

/* Such a descriptor, at first without a time; non-blocking, closed by exec. -1 with errno. */
int timer_descriptor(void);

/* It becomes readable at that time of the clock in system/system.h, also if that has passed. It is
   not readable before. INT64_MAX: never. */
void timer_set(int fd, int64_t at_ms);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* This process, its parent, and a process that it watches. */
#ifndef ROWLOCK_SYSTEM_PROCESS_H
#define ROWLOCK_SYSTEM_PROCESS_H

#include <sys/types.h>

/* A descriptor of that process, and of no later process with the same pid. It becomes readable when
   the process ends. -1 with errno; ENOSYS before Linux 5.3. */
int process_descriptor(pid_t pid);
int process_signal(int process_fd, int number);

/* This process, after a fork, is killed as soon as `parent` ends. -1: that has happened already. */
int end_with_parent(pid_t parent);

/* If this process is stopped, it wakes up as soon as its parent ends. Without this the kernel wakes
   it only if no process of its session becomes the parent, as process 1 of a container may. */
void wake_without_parent(void);

/* Descendants whose parent ends become children of this process. 0; or -1 with errno. */
int adopt_orphans(void);

/* Hides this process's memory from core files and from other processes of this user. */
void hide_memory(void);

/* The name that ps shows. */
void name_this_process(const char *name);

/* The name, perhaps with a path, by which this program was called. */
char *called_as(void);

/* The file of this program, even if it was replaced. For messages, too. */
#define THIS_PROGRAM "/proc/self/exe"

/* Executes this program again. Returns only after an error. */
void execute_again(char *const argv[]);

#endif

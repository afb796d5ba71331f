/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that a system may lack: linux/ has them for Linux, posix/ by POSIX alone; the Makefile
 * chooses one of the two (docs/internals/portability.md). The lowest room: every other one may use
 * it. These are the calls of the library; command/ has those of the command, which runs on Linux
 * only.
 */
#ifndef ROWLOCK_SYSTEM_H
#define ROWLOCK_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- to wake a thread or process that waits by poll() ---------------------------------------- */

/* A copy of it refers to the same descriptors, so it may be in several structs and processes. */
struct rowlock_wakeup {
    int fd;     /* readable: it was sent, and not taken yet */
    int sender; /* the same descriptor, or the other end of a pipe */
};

#define ROWLOCK_NO_WAKEUP \
    {                     \
        -1, -1            \
    }

/* The descriptors do not block, and end with exec. 0; or -1 with errno, and ROWLOCK_NO_WAKEUP. */
int rowlock__wakeup_open(struct rowlock_wakeup *wakeup);

/* Does nothing if it is not open. */
void rowlock__wakeup_close(struct rowlock_wakeup *wakeup);

/* Makes `fd` readable until it is taken. Any thread or process, and a signal handler; does not
   block, does nothing if it is not open. */
void rowlock__wakeup_send(const struct rowlock_wakeup *wakeup);

/* How often it was sent since the last call; 0: never. Does not block. If several threads take,
   only one of them receives each wake-up. */
uint64_t rowlock__wakeup_take(const struct rowlock_wakeup *wakeup);

/* ---- clock, descriptors, files --------------------------------------------------------------- */

/* Milliseconds of a clock that never jumps. On Linux it also counts while the machine is suspended;
   POSIX does not say whether its clock does. */
int64_t rowlock__system_ms(void);

/* A pipe whose ends are closed by exec. 0; or -1 with errno. With POSIX alone, a process that
   another thread starts at the same moment may inherit them. */
int rowlock__pipe(int ends[2]);

/* Calls visit(data, fd) for each open descriptor of this process, in any order. Where /proc is
   missing, and with POSIX alone, only for those below 4096. */
void rowlock__visit_descriptors(void (*visit)(void *data, int fd), void *data);

/* Whether the other side has ended this idle connection. `fd` < 0: false. With POSIX alone it is
   also false while bytes wait to be read. */
bool rowlock__has_hung_up(int fd);

/* When a connection counts as dead, because the other machine is gone: after 20 seconds of silence
   it is probed four times, every 5 seconds; or data is not acknowledged for 40 seconds. */
#define ROWLOCK_SILENT_S 20
#define ROWLOCK_PROBE_S 5
#define ROWLOCK_PROBES 4
#define ROWLOCK_UNANSWERED_MS 40000

/* Sets these limits of a TCP socket, except those that are not the system's defaults. POSIX alone
   can only switch the probes on. Does nothing for another socket, and for -1. */
void rowlock__keep_alive(int fd);

/* Whether a mount shows this file alone, without its folder (mount --bind FILE). False with POSIX
   alone, before Linux 5.8, and if the file cannot be found. */
bool rowlock__is_mounted_alone(const char *path);

/* ---- processes ------------------------------------------------------------------------------- */

/* Identifies the numbering of processes on this machine: a container has its own. 0: unknown, as
   always with POSIX alone. */
uintmax_t rowlock__pid_namespace(void);
/* Identifies this machine since its boot; "": unknown, as always with POSIX alone. Not to be freed.
   Safe to call from threads. */
const char *rowlock__boot_id(void);

/* ---- libraries, this program, random bytes --------------------------------------------------- */

/* For dlsym(): the libraries that the process has loaded already. NULL is a valid
   value here, not an error. */
void *rowlock__own_symbols(void);

/* The handle of the library that was loaded from `file`, a path or the last part of one; or NULL.
   With POSIX alone it is loaded if it was not. The caller closes the handle. */
void *rowlock__loaded_library(const char *file);

/* The path of the library that has this function; NULL: unknown, as always with POSIX alone. The
   text belongs to the loader. */
const char *rowlock__path_of_function(const void *function);

/* This program's name without a folder. POSIX has no such function: there it is "program". */
const char *rowlock__program_name(void);

/* `n` unguessable bytes of the system's random generator. Blocks only while a machine that boots
   has not filled it yet. 0, or -1. */
int rowlock__random_bytes(void *out, size_t n);

#endif

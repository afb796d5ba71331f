/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets between processes of this machine. exec closes them all. */
#ifndef ROWLOCK_SYSTEM_SOCKETS_H
#define ROWLOCK_SYSTEM_SOCKETS_H

/* Two connected sockets: each send() is one message, and each end sees the end of the other. 0; or
   -1 with errno. */
int message_pair(int ends[2]);
/* The same for bytes. */
int stream_pair(int ends[2]);

/* A stream socket of that family that does not block. -1 with errno. */
int stream_socket(int family);

/* A Unix socket of that type. -1 with errno. */
int unix_socket(int type);

/*
 * An announcement: another process can ask whether a process of its user, or of root, has announced
 * `name` and has not ended. Any user may announce any name, so the question includes the user.
 */

/* A non-blocking descriptor; the announcement ends when it is closed. -1: the announcement is not
   possible, perhaps because another process has made it. */
int announce(const char *name);
/* While the descriptor is readable, processes have asked. Takes their questions. */
void announce_again(int fd);
int is_announced(const char *name);

#endif

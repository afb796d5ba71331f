/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's descriptors before and after a client library opened a session. ODBC and JDBC do
 * not report the socket of a session, so it is found by the difference.
 */
#ifndef ROWLOCK_DESCRIPTORS_H
#define ROWLOCK_DESCRIPTORS_H

struct rowlock_descriptors;

/* The descriptors that are open now. The caller frees the result by free(). NULL: out of memory. */
struct rowlock_descriptors *rowlock__descriptors(void);

/*
 * The stream socket that was opened since `before` and is connected, or connects, to a server. With
 * `port` > 0, a TCP socket must be connected to that port. -1: there is none, or several, of which
 * none can be chosen.
 */
int rowlock__new_socket(const struct rowlock_descriptors *before, int port);

/* Sets FD_CLOEXEC on every descriptor that was opened since `before`. */
void rowlock__close_new_on_exec(const struct rowlock_descriptors *before);

#endif

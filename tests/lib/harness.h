/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the files of the test harness; tests do not call them. */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H

void t_enter_harness(void);
/* t_clean_harness runs after each test: it closes every session and joins every thread.
   t_close_harness runs after the last test. */
void t_clean_harness(void);
void t_close_harness(void);

/* Joins and forgets threads that have ended; returns how many still run. `connection` NULL: any. */
int t_reap(const void *connection);
void t_free_threads(void);
void t_forget_threads(void);

/* A session of the superuser, open for the program's life; NULL where there is no server. */
void *t_admin(void);

#endif

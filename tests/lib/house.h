/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the test house only. */
#ifndef TEST_HOUSE_H
#define TEST_HOUSE_H

void t_enter_house(void); /* before each test */
/* After each test: closes every session, joins every thread. After the last one. */
void t_clean_house(void);
void t_close_house(void);

/* Joins and forgets the threads that have ended; how many still run. `connection` NULL: any. */
int t_reap(const void *connection);
void t_free_threads(void);
void t_forget_threads(void);

/* A session of the superuser, kept for the program's life; NULL where there is no server. */
void *t_admin(void);

#endif

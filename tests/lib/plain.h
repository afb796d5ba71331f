/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowlock itself through ODBC and JDBC, on a database of the test's own where nothing else is
 * installed. A program that uses it has a line "Needs: derby h2 hsqldb postgresql mariadb".
 */
#ifndef TEST_PLAIN_H
#define TEST_PLAIN_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/test.h"

struct t_plain {
    const char *name;     /* of the engine */
    const char *variable; /* of the environment: the URL of its database */
    const char *driver;   /* odbc or jdbc */
    const char *file;     /* of its ODBC driver */
    const char *account;  /* in an ODBC URL */
};

extern const struct t_plain t_plain_postgresql, t_plain_mariadb, t_plain_derby, t_plain_h2,
    t_plain_hsqldb;

/* Whether this build has the engine's driver; the quick scope has one engine of each driver. */
int t_plain_runs(const struct t_plain *on);

#define T_PLAIN_ON(engine, name)                                         \
    static void name##_on_##engine(void **state)                         \
    {                                                                    \
        (void)state;                                                     \
        name(&t_plain_##engine);                                         \
    }                                                                    \
    __attribute__((constructor)) static void add_##name##_##engine(void) \
    {                                                                    \
        if (t_plain_runs(&t_plain_##engine))                             \
            t_add(#name "_on_" #engine, name##_on_##engine);             \
    }

/* A test on each engine; its body follows. */
#define T_PLAIN_ON_EACH(name)                   \
    static void name(const struct t_plain *on); \
    T_PLAIN_ON(postgresql, name)                \
    T_PLAIN_ON(mariadb, name)                   \
    T_PLAIN_ON(derby, name)                     \
    T_PLAIN_ON(h2, name)                        \
    T_PLAIN_ON(hsqldb, name)                    \
    static void name(const struct t_plain *on)

/* The file of an ODBC driver (psqlodbcw.so): no driver is registered on the machine. Fails the test
   if it is not installed. */
const char *t_odbc_driver(const char *file);

/* The odbc: or jdbc: URL of the database. Static memory. */
const char *t_plain_url(const struct t_plain *on);
/* A session, which the harness closes. */
struct rowlock_connection *t_plain_connect(const struct t_plain *on);
/* The same, after rowlock_install. */
struct rowlock_connection *t_plain_open(const struct t_plain *on);

/* Threads that do the same, each with a connection of its own. */
#define T_CROWD_THREADS 8
#define T_CROWD_ROUNDS 25
#define T_CROWD_ALL (T_CROWD_THREADS * T_CROWD_ROUNDS)

struct t_crowd {
    const struct t_plain *on;
    const char *url;  /* set by t_crowd_run */
    const char *name; /* that the threads lock */
    int rounds;       /* 0: T_CROWD_ROUNDS */
    int (*round)(struct t_crowd *crowd, struct rowlock_connection *connection,
                 struct rowlock_error *error);
    void *data;
    atomic_int inside, most, done, turn;
    atomic_llong token;         /* the greatest so far */
    atomic_int not_greater;     /* tokens that did not rise */
    struct rowlock_error error; /* of the first round that failed */
    pthread_mutex_t mutex;
};

/* Between the two calls a thread is inside; `most` is how many were at once. */
void t_crowd_enter(struct t_crowd *crowd);
void t_crowd_leave(struct t_crowd *crowd);
/* Runs all rounds; asserts that none failed, and that all were done. */
void t_crowd_run(struct t_crowd *crowd);

#endif

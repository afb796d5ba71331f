/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of the JDBC driver itself, on the servers of the test (Needs: derby h2 hsqldb
 * postgresql mariadb). The linker replaces the driver's question for the dialect: see
 * sessions/jdbc_test.mk.
 */
#ifndef TEST_JDBC_H
#define TEST_JDBC_H

#include <sys/types.h>

#include "driver/driver.h"

struct t_jdbc_facts {
    const char *name;                      /* of the engine, as in lib/server.sh */
    const char *variable;                  /* of the environment: the URL */
    const char *sqlstate;                  /* of a duplicate key */
    int duplicate;                         /* its native number */
    enum rowlock_transaction after_error;  /* this one, in a transaction */
    enum rowlock_transaction after_cancel; /* of a wait for a row */
};

extern const struct t_jdbc_facts t_jdbc_derby, t_jdbc_h2, t_jdbc_hsqldb, t_jdbc_postgresql,
    t_jdbc_mariadb;

/* A test on each engine; its body follows. */
#define T_JDBC_ON(engine, name)      \
    TEST(jdbc_##engine##_##name)     \
    {                                \
        name##_on(&t_jdbc_##engine); \
    }
#define T_JDBC_ON_EACH(name)                              \
    static void name##_on(const struct t_jdbc_facts *on); \
    T_JDBC_ON(derby, name)                                \
    T_JDBC_ON(h2, name)                                   \
    T_JDBC_ON(hsqldb, name)                               \
    T_JDBC_ON(postgresql, name)                           \
    T_JDBC_ON(mariadb, name)                              \
    static void name##_on(const struct t_jdbc_facts *on)

/* Set it before the JVM starts: from then on SIGSEGV and the like belong to it, not to cmocka. */
extern int t_java_runs;

const struct rowlock_driver *t_jdbc(void); /* the driver; sets it */
const char *t_jdbc_url(const struct t_jdbc_facts *on);
/* A budget of NULL is a minute, here and below. */
int t_jdbc_open_url(const char *url, const struct rowlock_budget *budget,
                    struct rowlock_link **link);
struct rowlock_link *t_jdbc_open(const struct t_jdbc_facts *on);

/* The outcome of the last run(). */
extern struct rowlock_outcome t_jdbc_outcome;

/* Runs one statement; `types` is that of its parameters. */
int t_jdbc_run(struct rowlock_link *link, unsigned flags, const struct rowlock_budget *budget,
               struct rowlock_call *call, const char *text, const char *types);
int t_jdbc_sql(struct rowlock_link *link, unsigned flags, const char *text);
/* COMMIT or ROLLBACK. */
int t_jdbc_end(struct rowlock_link *link, int commits);
/* The first column of the last row. */
int64_t t_jdbc_ask(struct rowlock_link *link, const char *text);
void t_jdbc_take_number(void *data, const struct rowlock_value *columns, unsigned n);

/* A session, and the table item of two rows, made by a script that is hard to split. */
struct rowlock_link *t_jdbc_prepare(const struct t_jdbc_facts *on);

/* A server of this test's own (lib/server.sh). `name`: its database is in files; a call with the
   same name after it was killed starts it on the same port and files. NULL: another server, with
   its database in memory. Returns its pid. */
pid_t t_jdbc_start_server(const struct t_jdbc_facts *on, const char *name, char *url, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowlock through ODBC and JDBC, compared with the same statements by hand, through the same
 * transport. transport TITLE URL ROUNDS LOCK. By hand is the session's own HDBC with prepared
 * statements, or the class ByHand, in the same JVM with a session of its own. LOCK is the engine's
 * statement that locks the row of a name.
 *
 * A lock by hand locks the row of the name, looks at its leases, and commits. A lease by hand is a
 * conditional UPDATE of an existing row, by the client's clock, and the UPDATE that empties it,
 * each with COMMIT. rowlock's lease also has its own row, a heartbeat, a token and a queue.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/jdbc/jni.h"
#include "driver/jdbc/jvm.h"
#include "driver/odbc/library.h"
#include "rate.h"
#include "rowlock.h"
#include "rowlock/odbc.h"

#define NAMES 50
#define OWNER "0123456789abcdef0123456789abcdef"
#define LOOK                                                                             \
    "SELECT token, kind, permits, owner, host, pid, command, note, acquired, name FROM " \
    "rowlock_lease WHERE name = ?"
#define O rowlock__odbc

static const char *lock_text;

struct session {
    struct rowlock_connection *connection;
    SQLHDBC dbc; /* the same session; NULL: JDBC */
    SQLHSTMT lock, look, claim, free;
    char key[64];
    SQLLEN key_length, owner_length;
    int64_t now, expires;
    rowlock__jni *jni;
    rowlock__jni_object class;
    rowlock__jni_method lock_method, lease_method;
};

/* ---- by hand through ODBC -------------------------------------------------------------------- */

static void odbc_ok(SQLSMALLINT kind, SQLHANDLE handle, SQLRETURN result)
{
    SQLCHAR state[6], text[300] = "";
    SQLINTEGER native;
    SQLSMALLINT length;

    if (SQL_SUCCEEDED(result) || result == SQL_NO_DATA)
        return;
    O.SQLGetDiagRec(kind, handle, 1, state, &native, text, sizeof text, &length);
    bench_die("%s", text);
}

static void odbc_commit(const struct session *session)
{
    odbc_ok(SQL_HANDLE_DBC, session->dbc, O.SQLEndTran(SQL_HANDLE_DBC, session->dbc, SQL_COMMIT));
}

static SQLHSTMT odbc_prepare(const struct session *session, const char *text)
{
    SQLHSTMT stmt;

    odbc_ok(SQL_HANDLE_DBC, session->dbc, O.SQLAllocHandle(SQL_HANDLE_STMT, session->dbc, &stmt));
    odbc_ok(SQL_HANDLE_STMT, stmt, O.SQLPrepare(stmt, (SQLCHAR *)text, SQL_NTS));
    return stmt;
}

static void odbc_bind_text(SQLHSTMT stmt, SQLUSMALLINT i, char *text, SQLLEN *length)
{
    odbc_ok(SQL_HANDLE_STMT, stmt,
            O.SQLBindParameter(stmt, i, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_VARCHAR, 510, 0, text, 0,
                               length));
}

static void odbc_bind_number(SQLHSTMT stmt, SQLUSMALLINT i, int64_t *number)
{
    odbc_ok(SQL_HANDLE_STMT, stmt,
            O.SQLBindParameter(stmt, i, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0, number,
                               sizeof *number, NULL));
}

static void odbc_run(SQLHSTMT stmt)
{
    SQLSMALLINT columns = 0;

    odbc_ok(SQL_HANDLE_STMT, stmt, O.SQLExecute(stmt));
    odbc_ok(SQL_HANDLE_STMT, stmt, O.SQLNumResultCols(stmt, &columns));
    while (columns > 0 && SQL_SUCCEEDED(O.SQLFetch(stmt)))
        continue;
    if (columns > 0)
        odbc_ok(SQL_HANDLE_STMT, stmt, O.SQLFreeStmt(stmt, SQL_CLOSE));
}

static void odbc_direct(const struct session *session, const char *text)
{
    SQLHSTMT stmt;

    odbc_ok(SQL_HANDLE_DBC, session->dbc, O.SQLAllocHandle(SQL_HANDLE_STMT, session->dbc, &stmt));
    odbc_ok(SQL_HANDLE_STMT, stmt, O.SQLExecDirect(stmt, (SQLCHAR *)text, SQL_NTS));
    O.SQLFreeHandle(SQL_HANDLE_STMT, stmt);
    odbc_commit(session);
}

static void odbc_create(struct session *session)
{
    char text[100];

    odbc_direct(session, "DROP TABLE IF EXISTS bench_lease");
    odbc_direct(session, "CREATE TABLE bench_lease (name VARCHAR(510) NOT NULL PRIMARY KEY, owner "
                         "VARCHAR(32), expires BIGINT)");
    for (int i = 0; i < NAMES; i++) {
        snprintf(text, sizeof text, "INSERT INTO bench_lease (name) VALUES ('bench:%d')", i);
        odbc_direct(session, text);
    }
}

static void odbc_open(struct session *session)
{
    static char owner[] = OWNER;

    odbc_create(session);
    session->owner_length = SQL_NTS;
    session->lock = odbc_prepare(session, lock_text);
    session->look = odbc_prepare(session, LOOK);
    session->claim = odbc_prepare(session, "UPDATE bench_lease SET owner = ?, expires = ? WHERE "
                                           "name = ? AND (owner IS NULL OR expires <= ?)");
    session->free =
        odbc_prepare(session, "UPDATE bench_lease SET owner = NULL WHERE name = ? AND owner = ?");
    odbc_bind_text(session->lock, 1, session->key, &session->key_length);
    odbc_bind_text(session->look, 1, session->key, &session->key_length);
    odbc_bind_text(session->claim, 1, owner, &session->owner_length);
    odbc_bind_number(session->claim, 2, &session->expires);
    odbc_bind_text(session->claim, 3, session->key, &session->key_length);
    odbc_bind_number(session->claim, 4, &session->now);
    odbc_bind_text(session->free, 1, session->key, &session->key_length);
    odbc_bind_text(session->free, 2, owner, &session->owner_length);
}

static void odbc_lock(struct session *session)
{
    odbc_run(session->lock);
    odbc_run(session->look);
    odbc_commit(session);
}

static void odbc_lease(struct session *session)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    session->now = time.tv_sec * 1000LL + time.tv_nsec / 1000000;
    session->expires = session->now + 30000;
    odbc_run(session->claim);
    odbc_commit(session);
    odbc_run(session->free);
    odbc_commit(session);
}

/* ---- by hand through JDBC -------------------------------------------------------------------- */

static void jdbc_call(struct session *session, rowlock__jni_method method, const char *text)
{
    union rowlock__jni_value argument = {.number = 0};
    int32_t length = (int32_t)strlen(text);
    rowlock__jni *jni = session->jni;
    rowlock__jni_object failure;
    char message[300] = "";

    (*jni)->PushLocalFrame(jni, 4);
    argument.object = (*jni)->NewByteArray(jni, length);
    (*jni)->SetByteArrayRegion(jni, argument.object, 0, length, (const signed char *)text);
    failure = (*jni)->CallStaticObjectMethodA(jni, session->class, method, &argument);
    if (failure) {
        length = (*jni)->GetArrayLength(jni, failure);
        (*jni)->GetByteArrayRegion(jni, failure, 0, length < 299 ? length : 299,
                                   (signed char *)message);
        bench_die("%s", message);
    }
    (*jni)->PopLocalFrame(jni, NULL);
}

/* The JVM has run since rowlock opened its session. */
static void jdbc_open(struct session *session, const char *url)
{
    int32_t (*created)(rowlock__jni_vm **, int32_t, int32_t *);
    void *library = NULL, *symbol, *env = NULL;
    char text[1000];
    rowlock__jni_vm *vm = NULL;
    int32_t n = 0;

    if (rowlock__jdbc_find_jvm(&library, NULL) ||
        !(symbol = dlsym(library, "JNI_GetCreatedJavaVMs")))
        bench_die("no Java virtual machine");
    memcpy(&created, &symbol, sizeof symbol);
    if (created(&vm, 1, &n) || n != 1)
        bench_die("the Java virtual machine does not run");
    if ((*vm)->AttachCurrentThreadAsDaemon(vm, &env, NULL))
        bench_die("this thread cannot call Java");
    session->jni = env;
    session->class = (*session->jni)->FindClass(session->jni, "ByHand");
    if (!session->class)
        bench_die("the class ByHand is not in ROWLOCK_CLASSPATH");
    session->lock_method =
        (*session->jni)->GetStaticMethodID(session->jni, session->class, "lock", "([B)[B");
    session->lease_method =
        (*session->jni)->GetStaticMethodID(session->jni, session->class, "lease", "([B)[B");
    snprintf(text, sizeof text, "%s\n%s", url, lock_text);
    jdbc_call(session,
              (*session->jni)->GetStaticMethodID(session->jni, session->class, "open", "([B)[B"),
              text);
}

/* ---- the contestants ------------------------------------------------------------------------- */

static void *open_session(const char *url, int worker)
{
    struct session *session = calloc(1, sizeof *session);

    (void)worker;
    session->connection = bench_connect(url);
    session->dbc = rowlock_odbc_handle(session->connection);
    if (session->dbc)
        odbc_open(session);
    else
        jdbc_open(session, url);
    return session;
}

static void close_session(void *data)
{
    struct session *session = data;

    rowlock_close(session->connection);
    free(session);
}

static const char *name_of(struct session *session, unsigned long i)
{
    session->key_length = snprintf(session->key, sizeof session->key, "bench:%lu", i % NAMES);
    return session->key;
}

static void lock(void *data, unsigned long i)
{
    struct session *session = data;

    bench_lock_and_commit(session->connection, name_of(session, i));
}

static void lease(void *data, unsigned long i)
{
    struct session *session = data;

    bench_pair(session->connection, name_of(session, i));
}

/* The names that rowlock's warm-up has created: hexadecimal digits. */
static void hand_lock(void *data, unsigned long i)
{
    static const char digits[] = "0123456789ABCDEF";
    struct session *session = data;
    char name[20], *to = session->key;

    snprintf(name, sizeof name, "bench:%lu", i % NAMES);
    for (const char *at = name; *at; at++) {
        *to++ = digits[*at >> 4 & 15];
        *to++ = digits[*at & 15];
    }
    *to = '\0';
    session->key_length = to - session->key;
    if (session->dbc)
        odbc_lock(session);
    else
        jdbc_call(session, session->lock_method, session->key);
}

static void hand_lease(void *data, unsigned long i)
{
    struct session *session = data;

    name_of(session, i);
    if (session->dbc)
        odbc_lease(session);
    else
        jdbc_call(session, session->lease_method, session->key);
}

int main(int argc, char **argv)
{
    struct comparison locks = {"", open_session, lock, hand_lock, close_session, 0.8},
                      leases = {"", open_session, lease, hand_lease, close_session, 0};
    char titles[2][80];
    int rounds;

    if (argc != 5)
        bench_die("usage: transport TITLE URL ROUNDS LOCK");
    rounds = atoi(argv[3]);
    lock_text = argv[4];
    snprintf(titles[0], sizeof titles[0], "%s: lock, look, COMMIT / by hand", argv[1]);
    snprintf(titles[1], sizeof titles[1], "%s: lease / two conditional UPDATEs", argv[1]);
    locks.title = titles[0];
    leases.title = titles[1];
    bench_compare(&locks, argv[2], 1, rounds, 100);
    bench_compare(&leases, argv[2], 1, rounds, 100);
    return 0;
}

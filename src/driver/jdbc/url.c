/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses jdbc: URLs, and accepts only those of servers. A database that runs inside this process
 * belongs to this process alone, or locks its file against all others, so a lock in it would
 * exclude no other process.
 */
#include "driver/jdbc/link.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "driver/credentials.h"
#include "util/bytes.h"
#include "util/error.h"

#define JARS "/usr/share/java/"
#define EMBEDDED "a database inside this process cannot lock for others; "
#define DERBY "org.apache.derby.jdbc.ClientDriver"
#define H2 "org.h2.Driver"
#define HSQLDB "org.hsqldb.jdbc.JDBCDriver"

struct form { /* the first one whose prefix fits */
    const char *prefix, *engine, *package, *jar, *refusal;
    const char *driver; /* the class of the JDBC driver; NULL: any of them may accept the URL */
};

static const struct form forms[] = {
    {"jdbc:derby://", "derby", "libderbyclient-java", JARS "derbyclient.jar", NULL, DERBY},
    {"jdbc:derby:", "", NULL, NULL,
     EMBEDDED "start Derby's network server and write " ROWLOCK_JDBC_DERBY, NULL},
    {"jdbc:h2:tcp:", "h2", "libh2-java", JARS "h2.jar", NULL, H2},
    {"jdbc:h2:ssl:", "h2", "libh2-java", JARS "h2.jar", NULL, H2},
    {"jdbc:h2:", "", NULL, NULL, EMBEDDED "start H2's TCP server and write " ROWLOCK_JDBC_H2, NULL},
    {"jdbc:hsqldb:hsql:", "hsqldb", "libhsqldb-java", JARS "hsqldb.jar", NULL, HSQLDB},
    {"jdbc:hsqldb:hsqls:", "hsqldb", "libhsqldb-java", JARS "hsqldb.jar", NULL, HSQLDB},
    {"jdbc:hsqldb:", "", NULL, NULL,
     EMBEDDED "start HSQLDB's server and write " ROWLOCK_JDBC_HSQLDB, NULL},
    {"jdbc:postgresql:", "postgresql", "libpostgresql-jdbc-java", JARS "postgresql.jar", NULL,
     "org.postgresql.Driver"},
    {"jdbc:mariadb:", "mariadb", "libmariadb-java", JARS "mariadb-java-client.jar", NULL,
     "org.mariadb.jdbc.Driver"},
    {"jdbc:mysql:", "mariadb", "libmariadb-java", JARS "mariadb-java-client.jar", NULL, NULL},
    {"jdbc:oracle:", "oracle", NULL, "ojdbc11.jar, from Oracle", NULL, "oracle.jdbc.OracleDriver"},
    {"jdbc:sqlserver:", "sqlserver", NULL, "mssql-jdbc.jar, from Microsoft", NULL,
     "com.microsoft.sqlserver.jdbc.SQLServerDriver"},
    {"jdbc:db2:", "db2", NULL, "jcc.jar, from IBM", NULL, "com.ibm.db2.jcc.DB2Driver"},
    {"jdbc:firebird", "", NULL, NULL,
     "Firebird's clock is its server's local time, which jumps with daylight saving time, so a "
     "lease could end early; use another database",
     NULL},
    {"jdbc:sqlite:", "", NULL, NULL, "write sqlite:PATH: rowlock opens SQLite without Java", NULL},
    {"jdbc:", "", NULL, NULL, NULL, NULL},
};

/* The number after the host of scheme://host:port; 0: none, or several hosts. */
static int port_of(const char *url)
{
    const char *host = strstr(url, "//");
    size_t length = host ? strcspn(host + 2, "/;?") : 0;
    const char *at;

    if (!host || memchr(host + 2, ',', length))
        return 0;
    at = host + 2 + length;
    while (at > host + 2 && *at != ':')
        at--;
    if (*at != ':' || memchr(at, ']', length - (size_t)(at - host - 2)))
        return 0;
    return atoi(at + 1);
}

int rowlock__jdbc_url(const char *url, struct rowlock__jdbc_url *out, struct rowlock_error *error)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *form = &forms[i];

        if (strncasecmp(url, form->prefix, strlen(form->prefix)) != 0)
            continue;
        if (form->refusal)
            return rowlock__fail(error, ROWLOCK_EINVAL, "%s", form->refusal);
        *out = (struct rowlock__jdbc_url){
            .text = url,
            .engine = form->engine,
            .package = form->package,
            .jar = form->jar,
            .port = form->package ? port_of(url) : 0,
            .driver = form->driver,
        };
        return ROWLOCK_OK;
    }
    return rowlock__fail(error, ROWLOCK_EINVAL, "not a jdbc: URL");
}

/* ---- passwords ----------------------------------------------------------------------------- */

/* The value of a setting (password=secret) ends here. */
#define ENDS "&;,)}"

void rowlock__jdbc_hide(const struct rowlock__jdbc_url *url, char *message)
{
    static const char *const keys[] = {"password=", "passwd=", "pwd="};
    const char *at = strrchr(url->text, '@');

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (const char *key = url->text; (key = rowlock__find_caseless(key, keys[i]));) {
            key += strlen(keys[i]);
            rowlock__hide_password(message, key, strcspn(key, ENDS));
        }
    if (at) { /* user:password@host, user/password@host */
        const char *from = at;

        while (from > url->text && !strchr(":/", from[-1]))
            from--;
        rowlock__hide_password(message, from, (size_t)(at - from));
    }
}

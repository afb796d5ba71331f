/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers of this build: the Makefile writes ROWLOCK_DRIVERS from its list. */
#include <string.h>

#include "driver/driver.h"
#include "driver/library.h"
#include "util/error.h"
#include "util/utf8.h"

#define ROWLOCK_XX(name) extern const struct rowlock_driver rowlock__driver_##name;
ROWLOCK_DRIVERS(ROWLOCK_XX)
#undef ROWLOCK_XX

static const struct rowlock_driver *const drivers[] = {
#define ROWLOCK_XX(name) &rowlock__driver_##name,
    ROWLOCK_DRIVERS(ROWLOCK_XX)
#undef ROWLOCK_XX
        NULL,
};

const char *rowlock__driver_list(void)
{
#define ROWLOCK_XX(name) " " #name
    static const char list[] = "" ROWLOCK_DRIVERS(ROWLOCK_XX);
#undef ROWLOCK_XX

    return list[0] ? list + 1 : "none";
}

/* Without a server at hand, a database's documentation is the only source. */
#define UNTESTED "YugabyteDB, Oracle, SQL Server, DB2"

void rowlock__describe_drivers(FILE *out)
{
    for (size_t i = 0; drivers[i]; i++) {
        fprintf(out, "  %s: ", drivers[i]->name);
        if (drivers[i]->describe)
            drivers[i]->describe(out);
        else
            rowlock__describe_library(drivers[i]->client, out);
    }
    fputs("written from the vendor's documentation, not tested on a server: " UNTESTED "\n", out);
}

#define FORMS                                                                                \
    "sqlite:PATH, postgresql://user@host:port/database, mariadb://user@host:port/database, " \
    "mysql://user@host:port/database, odbc:DSN=..., odbc:Driver={...};... or jdbc:..."

static const struct rowlock_driver *driver_of(const char *scheme, size_t length)
{
    for (size_t i = 0; length > 0 && drivers[i]; i++)
        for (const char *at = drivers[i]->schemes; *at; at += strcspn(at, ","), at += *at == ',')
            if (strcspn(at, ",") == length && strncmp(at, scheme, length) == 0)
                return drivers[i];
    return NULL;
}

/* Refuses "URL,URL": a driver would read the second URL as a part of the database's name, and so
   show its password. A host with the name of a scheme is followed by a port, which begins with a
   digit. */
const struct rowlock_driver *rowlock__driver_for_url(const char *url, struct rowlock_error *error)
{
    const char *colon = url ? strchr(url, ':') : NULL;
    const char *unseen = url ? rowlock__utf8_unseen(url, NULL) : NULL;
    const struct rowlock_driver *driver;
    bool two = false;

    if (unseen && strstr(url, "://")) { /* a path may have one */
        rowlock__fail(error, ROWLOCK_EINVAL,
                      "the URL contains %s: remove it, or write its bytes as %%XX", unseen);
        return NULL;
    }
    if (!colon) {
        rowlock__fail(error, ROWLOCK_EINVAL, "not a database URL: write " FORMS);
        return NULL;
    }
    for (const char *at = strchr(url, ','); at && !two; at = strchr(at + 1, ',')) {
        size_t length = strcspn(at + 1, ":/?@,");
        const char *end = at + 1 + length;

        two = *end == ':' && end[1] && !strchr("0123456789", end[1]) && driver_of(at + 1, length);
    }
    if (two) {
        rowlock__fail(error, ROWLOCK_EINVAL,
                      "two URLs, joined by a comma: name one database; several hosts of one "
                      "database are postgresql://user@host1,host2/database");
        return NULL;
    }
    if ((driver = driver_of(url, (size_t)(colon - url))))
        return driver;
    rowlock__fail(error, ROWLOCK_EDRIVER,
                  "no driver for '%.*s:'%s%s; this build has: %s; a URL is " FORMS,
                  (int)(colon - url > 20 ? 20 : colon - url), url,
                  unseen ? ", which contains " : "", unseen ? unseen : "", rowlock__driver_list());
    return NULL;
}

const struct rowlock_driver *rowlock__driver_named(const char *name, struct rowlock_error *error)
{
    for (size_t i = 0; drivers[i]; i++)
        if (strcmp(drivers[i]->name, name) == 0)
            return drivers[i];
    rowlock__fail(error, ROWLOCK_EDRIVER, "no driver '%s'; this build has: %s", name,
                  rowlock__driver_list());
    return NULL;
}

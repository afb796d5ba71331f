/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects, and a cache table that the tests refresh (subject.h). */
#include "lib/subject.h"

#include "lib/lease.h"

#include <stdio.h>
#include <string.h>

struct rowlock_subject subject_here(void)
{
    return (struct rowlock_subject){.name = t_name(0), .max_age_ms = HOUR};
}

void cache_create(struct rowlock_connection *connection)
{
    t_try_sql(t_handle(connection),
              "CREATE TABLE data_cache (object_name VARCHAR(50), created INTEGER)");
    t_sql(connection, "DELETE FROM data_cache");
    t_sql(connection, "INSERT INTO data_cache VALUES ('old', 0)");
}

const char *cache_seen(void)
{
    static char seen[100];
    void *other = t_engine()->open(t_url());
    char name[41], created[11];

    snprintf(name, sizeof name, "%.40s",
             t_native_sql(other, "SELECT max(object_name) FROM data_cache"));
    snprintf(created, sizeof created, "%.10s",
             t_native_sql(other, "SELECT max(created) FROM data_cache"));
    snprintf(seen, sizeof seen, "%s %s of %.10s", name, created,
             t_native_sql(other, "SELECT count(*) FROM data_cache"));
    t_engine()->close(other);
    return seen;
}

void cache_fill(struct rowlock_connection *connection, int number)
{
    t_sql(connection, "DELETE FROM data_cache");
    t_sql(connection, "INSERT INTO data_cache VALUES ('new', %d)", number);
}

struct kept {
    struct rowlock_subject_view view;
    char name[256], description[256], by[256], host[256], error[2100];
    int rows;
};

static int keep(const struct rowlock_subject_view *view, void *data)
{
    struct kept *kept = data;

    kept->view = *view;
    kept->rows++;
    snprintf(kept->name, sizeof kept->name, "%s", view->name);
    snprintf(kept->description, sizeof kept->description, "%.250s", view->description);
    snprintf(kept->by, sizeof kept->by, "%s", view->by);
    snprintf(kept->host, sizeof kept->host, "%s", view->host);
    snprintf(kept->error, sizeof kept->error, "%s", view->error);
    return 0;
}

struct rowlock_subject_view subject_seen(void)
{
    static struct kept kept;
    struct rowlock_connection *other = t_open();

    kept = (struct kept){.rows = 0};
    t_ok(rowlock_subjects(other, t_name(0), keep, &kept, &t_error));
    t_close(other);
    t_int(kept.rows, 1);
    kept.view.name = kept.name;
    kept.view.description = kept.description;
    kept.view.by = kept.by;
    kept.view.host = kept.host;
    kept.view.error = kept.error;
    return kept.view;
}

void subject_grow_old(struct rowlock_connection *connection, long by_ms)
{
    t_sql(connection, "UPDATE %s SET updated = updated - %ld WHERE name = '%s'", t_table("subject"),
          by_ms, t_key(t_name(0)));
}

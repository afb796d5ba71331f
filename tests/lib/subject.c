/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects, and a cache table that the tests refresh (subject.h). */
#include "lib/subject.h"

#include "lib/lease.h"

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
    void *other = t_engine()->open(t_url());
    const char *name = t_say("%s", t_native_sql(other, "SELECT max(object_name) FROM data_cache"));
    const char *created = t_say("%s", t_native_sql(other, "SELECT max(created) FROM data_cache"));
    const char *seen =
        t_say("%s %s of %s", name, created, t_native_sql(other, "SELECT count(*) FROM data_cache"));

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
    int rows;
};

static int keep(const struct rowlock_subject_view *view, void *data)
{
    struct kept *kept = data;

    kept->view = *view;
    kept->rows++;
    kept->view.name = t_say("%s", view->name);
    kept->view.description = t_say("%s", view->description);
    kept->view.by = t_say("%s", view->by);
    kept->view.host = t_say("%s", view->host);
    kept->view.error = t_say("%s", view->error);
    return 0;
}

struct rowlock_subject_view subject_seen(void)
{
    struct kept kept = {.rows = 0};
    struct rowlock_connection *other = t_open();

    t_ok(rowlock_subjects(other, t_name(0), keep, &kept, &t_error));
    t_close(other);
    t_int(kept.rows, 1);
    return kept.view;
}

void subject_grow_old(struct rowlock_connection *connection, long by_ms)
{
    t_sql(connection, "UPDATE %s SET updated = updated - %ld WHERE name = '%s'", t_table("subject"),
          by_ms, t_key(t_name(0)));
}

void subject_outlast(long long began)
{
    t_until(t_now() > began + SUBJECT_BRIEF_MS);
}

/* The database rounds both times to milliseconds. A busy machine may hand over late. */
void subject_is_as_old_as_its_end(const struct rowlock_refresh *found, long long began)
{
    long long most = t_now() - began + 1;

    t_true(found->age_ms >= 0 && found->age_ms <= most);
    t_int(found->stale, found->age_ms >= SUBJECT_BRIEF_MS);
}

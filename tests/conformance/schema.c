/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installing the schema, by any number of nodes at once, and every way in which a schema can be
 * wrong.
 */
#include <string.h>

#include "lib/test.h"

static struct rowlock_connection *bare(void)
{
    struct rowlock_connection *connection = NULL;

    t_ok(rowlock_open(t_url(), NULL, &connection, &t_error));
    return t_adopt(connection);
}

static int install(struct rowlock_connection *connection, enum rowlock_technique technique)
{
    struct rowlock_plan plan = {.technique = technique};

    return rowlock_install(connection, &plan, &t_error);
}

/* A test leaves the schema installed, as it found it. */
static struct rowlock_connection *uninstalled(void)
{
    struct rowlock_connection *connection = t_open();

    t_ok(rowlock_uninstall(connection, &t_error));
    return connection;
}

TEST(installing_again_or_upgrading_a_current_schema_does_nothing)
{
    struct rowlock_connection *connection = t_open();

    t_ok(install(connection, t_facts()->code));
    t_ok(install(connection, ROWLOCK_DEFAULT));
    t_ok(rowlock_install(connection, NULL, &t_error));
    t_ok(rowlock_upgrade(connection, &t_error));
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
}

TEST(the_installed_schema_is_reported)
{
    struct rowlock_connection *connection = t_open();
    enum rowlock_technique technique = ROWLOCK_DEFAULT;

    t_ok(rowlock_installed(connection, &technique, &t_error));
    t_int(technique, t_facts()->code);
    t_fails(rowlock_installed(connection, NULL, &t_error), EINVAL);
    t_fails(rowlock_installed(NULL, &technique, &t_error), EINVAL);
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_fails(rowlock_installed(connection, &technique, &t_error), EINTX);
    t_ok(rowlock_rollback(connection, &t_error));
    t_ok(rowlock_uninstall(connection, &t_error));
    technique = ROWLOCK_DEFAULT;
    t_fails(rowlock_installed(connection, &technique, &t_error), ESCHEMA);
    t_int(technique, ROWLOCK_DEFAULT);
    t_ok(rowlock_uninstall(connection, &t_error));
    t_ok(install(connection, t_facts()->code));
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
}

/* tests/sql covers a server with the extension. */
TEST(what_install_made_belongs_to_no_extension)
{
    struct rowlock_connection *connection = t_open();
    char *version = NULL;

    t_ok(rowlock_extension(connection, &version, &t_error));
    t_true(version == NULL);
    t_fails(rowlock_extension(connection, NULL, &t_error), EINVAL);
    t_fails(rowlock_extension(NULL, &version, &t_error), EINVAL);
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_fails(rowlock_extension(connection, &version, &t_error), EINTX);
    t_ok(rowlock_rollback(connection, &t_error));
    t_ok(rowlock_uninstall(connection, &t_error));
    t_ok(rowlock_extension(connection, &version, &t_error));
    t_true(version == NULL);
    t_ok(install(connection, t_facts()->code));
}

TEST(the_text_of_the_extension_is_of_postgresql_and_native)
{
    struct rowlock_plan plan = {.extension = 1};
    char *text = NULL;

    t_ok(rowlock_schema_text("postgresql", &plan, &text, &t_error));
    t_contains(text, "pg_extension_config_dump");
    t_true(strstr(text, "\nCOMMIT;") == NULL && strstr(text, "\nGRANT ") == NULL);
    rowlock_free(text);
    t_fails(rowlock_schema_text("sqlite", &plan, &text, &t_error), EMODE);
    plan.technique = ROWLOCK_INSERT;
    t_fails(rowlock_schema_text("postgresql", &plan, &text, &t_error), EMODE);
    t_contains(t_error.text, "--technique insert");
}

static int is_offered(const char *technique)
{
    return !t_facts()->plain && !(t_is_mysql() && strcmp(technique, "insert") == 0) &&
           t_find_facts(t_facts()->engine, technique) != NULL;
}

TEST(another_technique_is_refused_by_name)
{
    static const struct {
        enum rowlock_technique code;
        const char *name;
    } techniques[] = {{ROWLOCK_NATIVE, "native"}, {ROWLOCK_ROW, "row"}, {ROWLOCK_INSERT, "insert"}};
    struct rowlock_connection *connection = t_open();

    for (int i = 0; i < 3; i++) {
        int code;

        if (techniques[i].code == t_facts()->code)
            continue;
        code = install(connection, techniques[i].code);
        if (is_offered(techniques[i].name)) {
            t_int(code, ROWLOCK_EINVAL);
            t_contains(t_error.text, t_facts()->technique);
        } else {
            t_int(code, ROWLOCK_EMODE);
            t_contains(t_error.text, techniques[i].name);
        }
    }
    t_fails(install(connection, (enum rowlock_technique)9), EINVAL);
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
}

TEST(without_a_schema_locks_are_refused_or_it_is_made)
{
    struct rowlock_connection *gone = uninstalled(), *other;

    other = bare();
    if (t_facts()->installs_itself) {
        t_ok(t_begin(other, t_x(t_name(1)), 0));
        t_ok(rowlock_commit(other, &t_error));
    } else if (t_facts()->server) {
        t_fails(t_begin(other, t_x(t_name(1)), 0), ESCHEMA);
        t_left(NONE);
        t_contains(t_error.text, "schema install");
        t_fails(rowlock_vacuum(other, NULL, &t_error), ESCHEMA);
        t_fails(rowlock_upgrade(other, &t_error), ESCHEMA);
    }
    t_ok(install(gone, t_facts()->code));
    t_ok(t_begin(other, t_x(t_name(1)), 0));
}

TEST(p11_a_missing_schema_is_reported_inside_a_transaction_too)
{
    struct rowlock_connection *gone, *own;
    void *handle;

    if (!t_facts()->wraps)
        t_not_here(WHY_WRAP);
    gone = uninstalled();
    handle = t_engine()->open(t_url());
    t_ok(t_engine()->wrap(handle, NULL, &own, &t_error));
    t_own_begin(handle, t_engine()->begin);
    t_fails(t_lock(own, t_x(t_name(1)), 0), ESCHEMA);
    t_left_is_true(own);
    t_native_sql(handle, "ROLLBACK");
    rowlock_close(own);
    t_engine()->close(handle);
    t_ok(install(gone, t_facts()->code));
}

TEST(a_newer_schema_is_refused_and_one_that_never_was)
{
    struct rowlock_connection *connection = t_open(), *other;

    t_sql(connection, "UPDATE %s SET version = 99", t_engine()->meta);
    other = bare();
    t_fails(t_begin(other, t_x(t_name(1)), 0), ESCHEMA);
    t_contains(t_error.text, "newer");
    t_left(NONE);
    t_fails(install(other, t_facts()->code), ESCHEMA);
    t_fails(rowlock_upgrade(other, &t_error), ESCHEMA);
    if (t_facts()->server) { /* SQLite recreates the schema for a version that never existed */
        t_sql(connection, "UPDATE %s SET version = 0", t_engine()->meta);
        t_fails(t_begin(bare(), t_x(t_name(1)), 0), ESCHEMA);
    }
    t_sql(connection, "UPDATE %s SET version = 1", t_engine()->meta);
    t_ok(t_begin(bare(), t_x(t_name(1)), 0));
}

TEST(nothing_of_it_runs_inside_a_transaction)
{
    struct rowlock_connection *connection = t_open();

    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_fails(install(connection, t_facts()->code), EINTX);
    t_left(KEPT);
    t_fails(rowlock_upgrade(connection, &t_error), EINTX);
    t_fails(rowlock_uninstall(connection, &t_error), EINTX);
    t_fails(rowlock_vacuum(connection, NULL, &t_error), EINTX);
    t_left_is_true(connection);
    t_int(t_is_free(t_x(t_name(1))), 0);
}

static int install_in_thread(struct rowlock_connection *connection, void *data,
                             struct rowlock_error *error)
{
    return rowlock_install(connection, data, error);
}

TEST(eight_nodes_install_at_once)
{
    struct rowlock_plan plan = {.technique = t_facts()->code};

    if (t_facts()->installs_alone)
        t_not_here(WHY_CATALOG);
    for (int round = 0; round < 2; round++) {
        struct rowlock_connection *gone = uninstalled();
        struct thread *threads[8];
        struct rowlock_error failed = {0};

        for (int i = 0; i < 8; i++)
            threads[i] = t_thread(bare(), install_in_thread, &plan);
        for (int i = 0; i < 8; i++) /* all of them: they use the plan */
            if (t_join(threads[i]))
                failed = t_error;
        t_text(failed.text, "");
        t_ok(t_begin(gone, t_x(t_name(1)), 0));
        t_ok(rowlock_commit(gone, &t_error));
    }
}

/* A lock of rowlock writes a row into the table. On PostgreSQL only other programs do. */
static int writes_rows(void)
{
    return t_facts()->code == ROWLOCK_INSERT && strcmp(t_facts()->engine, "postgresql") != 0;
}

TEST(the_article_s_table_is_used_where_it_is_there_already_and_stays)
{
    struct rowlock_plan plan = {.technique = ROWLOCK_INSERT, .table = "businessobjectlock"};
    struct rowlock_connection *connection, *other;

    if (t_facts()->code != ROWLOCK_INSERT)
        return;
    connection = uninstalled();
    other = t_open();
    t_sql(connection, "CREATE TABLE businessobjectlock (uuid VARCHAR(32) NOT NULL PRIMARY KEY, "
                      "id VARCHAR(80) NOT NULL UNIQUE, locked_ts TIMESTAMP NOT NULL)");
    t_ok(rowlock_install(connection, &plan, &t_error));
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_fails(t_begin(other, t_x(t_name(1)), 0), EBUSY);
    t_ok(rowlock_commit(connection, &t_error));
    if (writes_rows()) {
        t_fails(t_begin(connection,
                        t_x("a name of more than eighty characters is too wide for the "
                            "column of that table, and is not to be cut off"),
                        0),
                EINVAL);
        t_contains(t_error.text, "80");
    }
    t_ok(rowlock_uninstall(connection, &t_error));
    t_text(t_sql(connection, "SELECT count(*) FROM businessobjectlock"), "0");
    t_sql(connection, "DROP TABLE businessobjectlock");
    t_ok(install(connection, t_facts()->code));
}

TEST(a_committed_row_of_another_program_is_reported_and_vacuumed)
{
    struct rowlock_connection *connection;
    const char *name = t_name(1);
    int64_t removed = 0;

    if (!writes_rows())
        return;
    connection = t_open();
    t_sql(connection,
          "INSERT INTO rowlock_object (uuid, id, locked_ts) VALUES "
          "('u-left', '%s', '2020-02-02 02:02:02')",
          name);
    t_fails(t_begin(connection, t_x(name), 0), ELEFTOVER);
    t_left(NONE);
    t_contains(t_error.text, "u-left");
    t_contains(t_error.text, "2020-02-02");
    /* and does not wait for it */
    t_fails(t_begin(connection, t_x(name), 20000), ELEFTOVER);
    t_ok(rowlock_vacuum(connection, &removed, &t_error));
    t_int(removed, 1);
    t_ok(t_begin(connection, t_x(name), 0));
    t_ok(rowlock_commit(connection, &t_error));
    t_text(t_sql(connection, "SELECT count(*) FROM rowlock_object"), "0");
}

TEST(p12_a_table_that_is_no_plain_name_is_refused)
{
    static const char *const tables[] = {
        "", "1a", "a b", "a;b", "a.b", "a\"b", "a`b", "a'b", "x; DROP TABLE y"};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct rowlock_plan plan = {.technique = ROWLOCK_INSERT, .table = tables[i]};
        char *text = NULL;

        if (t_facts()->plain || t_is_mysql()) /* it has no technique insert */
            t_fails(rowlock_install(t_open(), &plan, &t_error), EMODE);
        else
            t_fails(rowlock_install(t_open(), &plan, &t_error), EINVAL);
        if (!t_find_facts(t_facts()->engine, "insert"))
            t_fails(rowlock_schema_text(t_facts()->engine, &plan, &text, &t_error), EMODE);
        else
            t_fails(rowlock_schema_text(t_facts()->engine, &plan, &text, &t_error), EINVAL);
        t_true(text == NULL);
    }
}

TEST(a_schema_of_this_account_is_no_risk)
{
    struct rowlock_connection *connection = t_open();
    char none[] = "unchanged", *risk = none;

    t_fails(rowlock_schema_risk(connection, NULL, &t_error), EINVAL);
    t_fails(rowlock_schema_risk(NULL, &risk, &t_error), EINVAL);
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_fails(rowlock_schema_risk(connection, &risk, &t_error), EINTX);
    t_ok(rowlock_rollback(connection, &t_error));
    t_true(risk == none);
    t_ok(rowlock_schema_risk(connection, &risk, &t_error));
    t_true(risk == NULL);
}

/* The servers of the tests run with settings that lose commits in a crash. */
TEST(durability_names_the_setting_that_is_against_it)
{
    struct rowlock_connection *connection = t_open();
    char *warning = NULL;

    t_fails(rowlock_durability(connection, NULL, &t_error), EINVAL);
    t_fails(rowlock_durability(NULL, &warning, &t_error), EINVAL);
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_fails(rowlock_durability(connection, &warning, &t_error), EINTX);
    t_ok(rowlock_rollback(connection, &t_error));
    t_true(warning == NULL);
    t_ok(rowlock_durability(connection, &warning, &t_error));
    if (t_facts()->plain) {
        t_true(warning == NULL);
        t_not_here(WHY_SETTINGS);
    }
    if (!t_facts()->server) {
        t_true(warning == NULL);
        return;
    }
    t_true(warning != NULL);
    t_contains(warning, "after a crash of its machine");
    rowlock_free(warning);
}

TEST(the_text_of_the_schema_names_table_and_role)
{
    /* behind ODBC and JDBC PostgreSQL has technique row, of the plain dialect */
    int plain = t_is_postgresql() && t_facts()->code == ROWLOCK_ROW;
    struct rowlock_plan plan = {.technique = plain ? ROWLOCK_NATIVE : t_facts()->code,
                                .role = "clerk",
                                .table = t_facts()->code == ROWLOCK_INSERT ? "my_table" : NULL};
    char *text = NULL;

    t_ok(rowlock_schema_text(t_facts()->engine, &plan, &text, &t_error));
    t_contains(text, "CREATE TABLE");
    if (t_facts()->server) {
        t_contains(text, "GRANT");
        t_contains(text, "clerk");
    }
    if (plan.table)
        t_contains(text, "my_table");
    rowlock_free(text);
    rowlock_free(NULL);
    t_fails(rowlock_schema_text("dbase", &plan, &text, &t_error), EINVAL);
    t_fails(rowlock_schema_text(NULL, &plan, &text, &t_error), EINVAL);
    t_ok(rowlock_schema_text(t_facts()->engine, NULL, &text, &t_error));
    rowlock_free(text);
}

TEST(a_role_of_mariadbs_may_have_a_host_and_is_quoted)
{
    static const char *const refused[] = {"clerk@", "@host", "clerk@a'b", "clerk@a b", "cl'erk@h"};
    struct rowlock_plan plan = {.role = "clerk@10.%", .grants_only = 1};
    char *text = NULL;

    t_ok(rowlock_schema_text("mariadb", &plan, &text, &t_error));
    t_contains(text, " TO 'clerk'@'10.%';");
    rowlock_free(text);
    text = NULL;
    t_fails(rowlock_schema_text("postgresql", &plan, &text, &t_error), EINVAL);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        plan.role = refused[i];
        t_fails(rowlock_schema_text("mariadb", &plan, &text, &t_error), EINVAL);
    }
    t_true(text == NULL);
}

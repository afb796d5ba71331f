/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate is an advisory lock with two keys, which the test's session holds and the player waits
 * for. A player has two gates in turn: so the test can close one while the player passes it.
 */
#include "lib/postgresql_gates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

#define SPACE 7777 /* of the gates' keys */

static const char *const machinery =
    "CREATE SCHEMA gates;"
    "CREATE TABLE gates.original (text text);"
    "CREATE TABLE gates.setting (moves boolean);"
    "INSERT INTO gates.setting VALUES (false);"
    "CREATE SEQUENCE gates.passed_0; CREATE SEQUENCE gates.passed_1; CREATE SEQUENCE "
    "gates.passed_2;"
    "CREATE FUNCTION gates.stop() RETURNS boolean LANGUAGE plpgsql SET lock_timeout = 0 AS $$"
    " DECLARE player constant text := current_setting('gates.player', true); gate integer;"
    " BEGIN"
    "  IF coalesce(player, '') = '' THEN RETURN true; END IF;"
    "  gate := player::integer * 2 + nextval('gates.passed_' || player) % 2;"
    "  PERFORM pg_advisory_lock_shared(7777, gate); PERFORM pg_advisory_unlock_shared(7777, gate);"
    "  RETURN true;"
    " END $$;"
    /* the function's text with the first text replaced; an error if it is missing */
    "CREATE FUNCTION gates.change(name text, from_ text, to_ text) RETURNS void LANGUAGE plpgsql "
    "AS $$"
    " DECLARE f record; changed integer := 0;"
    " BEGIN"
    "  FOR f IN SELECT pg_get_functiondef(p.oid) AS text FROM pg_proc p"
    "            WHERE p.prokind = 'f' AND p.pronamespace = 'rowlock'::regnamespace"
    "              AND (name = '' OR 'rowlock.' || p.proname = name)"
    "              AND strpos(pg_get_functiondef(p.oid), from_) > 0 LOOP"
    "   EXECUTE replace(f.text, from_, to_); changed := changed + 1;"
    "  END LOOP;"
    "  IF changed = 0 THEN RAISE EXCEPTION 'no function % has: %', name, from_; END IF;"
    " END $$;";

/* Stops in functions that have no mark, because a mark there would be in the middle of a statement;
   and a test decides which names move, not a clock. */
static const struct gates_change in_functions[] = {
    {"", "--@", "IF gates.stop() THEN END IF;"},
    {"rowlock.move", "IF fastest",
     "IF NOT (SELECT s.moves FROM gates.setting s) OR false AND fastest"},
    {"rowlock.take", "pg_catalog.mod(token, 61::bigint) = 0::bigint",
     "(SELECT s.moves FROM gates.setting s)"},
    {"rowlock.turn", "pg_catalog.mod(turn.token, 61::bigint) <> 0::bigint",
     "NOT (SELECT s.moves FROM gates.setting s)"},
    {"rowlock.enqueue", "THEN rowlock.next_number() END",
     "AND gates.stop() THEN rowlock.next_number() END"},
    {"rowlock.fence", "AND l.token > 0 AND", "AND l.token > 0 AND gates.stop() AND"},
    {NULL, NULL, NULL}};

static const struct gates_change in_statements[] = {
    {"grant_free", "pg_catalog.random() > 0.0156::double precision",
     "NOT (SELECT s.moves FROM gates.setting s)"},
    {"grant_free", "CASE WHEN pg_catalog.pg_try_advisory_xact_lock",
     "CASE WHEN gates.stop() AND pg_catalog.pg_try_advisory_xact_lock"},
    {"grant_free", "THEN true END", "THEN gates.stop() END"},
    {"grant_free", "RETURNING token,", "RETURNING token, gates.stop(),"},
    {"release_free", "AND pg_catalog.set_config(", "AND gates.stop() AND pg_catalog.set_config("},
    {"release_free", "RETURNING ", "RETURNING gates.stop(), "},
    {"renew_free", "AND l.alone", "AND gates.stop() AND l.alone"},
    {"renew_free", "RETURNING 0", "RETURNING 0, gates.stop()"},
    {NULL, NULL, NULL}};

static char *texts[ROWLOCK_SQL_COUNT]; /* NULL: as the library has it */

const char *gates_sql(PGconn *session, const char *format, ...)
{
    static char value[400];
    char text[4000];
    va_list arguments;
    PGresult *result;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    result = PQexec(session, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        t_fail(__FILE__, __LINE__, "%s: %s", text, PQerrorMessage(session));
    snprintf(value, sizeof value, "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return value;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *out;

    if (!at)
        t_fail(__FILE__, __LINE__, "no \"%s\" in: %s", from, text);
    out = malloc(size);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

const char *gates_of(enum rowlock_statement_id id)
{
    return texts[id] ? texts[id] : rowlock__dialect_postgresql.statements[id].text;
}

static void change_statement(const struct gates_change *change)
{
    int id = 0;
    char *text;

    while (id < ROWLOCK_SQL_COUNT &&
           (!gates_of((enum rowlock_statement_id)id) ||
            strcmp(rowlock__dialect_postgresql.statements[id].name, change->where) != 0))
        id++;
    if (id == ROWLOCK_SQL_COUNT)
        t_fail(__FILE__, __LINE__, "no statement %s", change->where);
    text = replaced(gates_of((enum rowlock_statement_id)id), change->from, change->to);
    free(texts[id]);
    texts[id] = text;
}

static void change_function(PGconn *admin, const struct gates_change *change)
{
    const char *values[] = {change->where, change->from, change->to};
    PGresult *result =
        PQexecParams(admin, "SELECT gates.change($1, $2, $3)", 3, NULL, values, NULL, NULL, 0);

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        t_fail(__FILE__, __LINE__, "%s", PQerrorMessage(admin));
    PQclear(result);
}

void gates_change(PGconn *admin, const struct gates_change *changes)
{
    for (; changes->where; changes++)
        if (strncmp(changes->where, "rowlock.", 8) == 0 || !changes->where[0])
            change_function(admin, changes);
        else
            change_statement(changes);
}

static void change_statements(void)
{
    for (int id = 0; id < ROWLOCK_SQL_COUNT; id++) {
        free(texts[id]);
        texts[id] = NULL;
    }
    for (const struct gates_change *each = in_statements; each->where; each++)
        change_statement(each);
}

void gates_restore(PGconn *admin)
{
    gates_sql(admin, "DO $$ DECLARE f record; BEGIN FOR f IN SELECT o.text FROM gates.original o "
                     "LOOP EXECUTE f.text; END LOOP; END $$");
    change_statements();
}

/* ---- gates ----------------------------------------------------------------------------------- */

void gates_install(PGconn *admin, int players)
{
    t_install();
    /* as in production, longer than a sweep waits: so only sweeps give up */
    gates_sql(admin, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET deadlock_timeout = "
                     "''1s''', current_database()); END $$");
    gates_sql(admin, "%s", machinery);
    gates_change(admin, in_functions);
    gates_sql(admin, "INSERT INTO gates.original SELECT pg_get_functiondef(p.oid) FROM pg_proc p "
                     "WHERE p.pronamespace = 'rowlock'::regnamespace AND p.prokind = 'f'");
    gates_sql(admin, "GRANT USAGE ON SCHEMA gates TO public; "
                     "GRANT ALL ON ALL TABLES IN SCHEMA gates TO public; "
                     "GRANT ALL ON ALL SEQUENCES IN SCHEMA gates TO public");
    change_statements();
    for (int gate = 0; gate < 2 * players; gate++)
        gates_sql(admin, "SELECT pg_advisory_lock(%d, %d)", SPACE, gate);
}

void gates_move(PGconn *admin, int moves)
{
    gates_sql(admin, "UPDATE gates.setting SET moves = %s", moves ? "true" : "false");
}

void gates_enter(PGconn *session, int player)
{
    gates_sql(session, "SET gates.player = %d", player);
}

int gates_at(const char *class_id, const char *object_id, int player)
{
    return atoi(class_id) == SPACE && atoi(object_id) / 2 == player ? atoi(object_id) % 2 : -1;
}

void gates_open(PGconn *admin, int player, int gate)
{
    int key = 2 * player + gate;

    gates_sql(admin, "SELECT pg_advisory_unlock(%d, %d)", SPACE, key);
    gates_sql(admin, "SELECT pg_advisory_lock(%d, %d)", SPACE, key);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a test is not run (t_not_here). Tests ask facts, and give one of these reasons;
 * docs/databases.md has them for users, with the programs whose line "Runs on:" leaves an engine
 * out.
 */
#ifndef TEST_REASONS_H
#define TEST_REASONS_H

#define WHY_MYSQL_TIME "MySQL has no max_statement_time"
#define WHY_MYSQL_GALERA "MySQL has no Galera"
#define WHY_MYSQL_PROC "MySQL has no table mysql.proc"
#define WHY_MYSQL_SWEEP "rowlock_sweep does nothing on MySQL"
#define WHY_MYSQL_GRANT "MySQL grants leases by procedures only"
#define WHY_WRAP "a JDBC connection of the application's cannot be wrapped"
#define WHY_SESSION_LOCKS "sessions have no session locks"
#define WHY_IDLE_LIMIT "rowlock sets no time limit for idle transactions"
#define WHY_POLLS "the client polls, and no view shows whether it has reached the name lock"
#define WHY_READERS "a SELECT of the application's waits there for every writer"
#define WHY_COMMIT_UNSEEN "a COMMIT in the middle of a refresh is not detected"
#define WHY_ROLLBACK_UNSEEN "a ROLLBACK in the middle of a refresh is not detected"
#define WHY_DDL_UNSEEN "a statement that commits in the middle of a refresh is not detected"
#define WHY_SAVEPOINT "the ODBC driver ends the application's savepoint with its own one"
#define WHY_CREATES "a client creates the database"
#define WHY_FUNCTION "the server has no function that claims a job"
#define WHY_LIMIT_ABORTS "the end of a limited wait aborts the transaction"
#define WHY_LIMIT_ENDS "the end of a limited wait costs the session, and so the transaction"
#define WHY_LIMIT_STAYS "the limit of rowlock's last wait stays until the transaction ends"
#define WHY_INTERRUPT_ABORTS "an interrupt of a wait aborts the transaction"
#define WHY_INTERRUPT_ENDS "a wait can be interrupted only at the cost of its session"
#define WHY_CATALOG "nodes that install at the same time deadlock in the server's catalog"
#define WHY_SETTINGS "the server's settings are not checked"
#define WHY_ISOLATION "the isolation level of the caller's transaction is not checked"
#define WHY_VACUUM "a vacuum that meets a fence reads what its own lost session has locked"
#define WHY_NO_TABLE_LOCK "the test has no statement that locks a table of this server"
#define WHY_PREPARE "the test's session does not survive the preparation of a locked name there"

#endif

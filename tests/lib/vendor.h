/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of database products of which no server is at hand, by their documentation: the product's
 * name, the failure table's, SQLSTATE, number and text of the error; then rowlock's code, and the
 * state of the transaction.
 */
#ifndef TEST_VENDOR_H
#define TEST_VENDOR_H

/* clang-format off */
#define VENDOR_FAILURES(XX) \
    XX("Oracle", "oracle", "61000", 54, "ORA-00054: refused", ETIMEDOUT, KEPT)                    \
    XX("Oracle", "oracle", "HY000", 54, "ORA-00054: refused", ETIMEDOUT, KEPT)                    \
    XX("Oracle", "oracle", "HY000", 30006, "ORA-30006: refused", ETIMEDOUT, KEPT)                 \
    XX("Oracle", "oracle", "61000", 60, "ORA-00060: refused", EABORTED, KEPT)                     \
    XX("Oracle", "oracle", "HY000", 8177, "ORA-08177: refused", ESNAPSHOT, ABORTED)               \
    XX("Oracle", "oracle", "HY008", 1013, "ORA-01013: refused", ECANCELED, ABORTED)               \
    XX("Oracle", "oracle", "42S02", 942, "ORA-00942: refused", ESCHEMA, ABORTED)                  \
    XX("Oracle", "oracle", "HY000", 904, "ORA-00904: refused", ESCHEMA, ABORTED)                  \
    XX("Oracle", "oracle", "42000", 1031, "ORA-01031: refused", EDENIED, ABORTED)                 \
    XX("Oracle", "oracle", "28000", 1017, "ORA-01017: refused", EDENIED, ABORTED)                 \
    XX("Oracle", "oracle", "HY000", 28000, "ORA-28000: refused", EDENIED, ABORTED)                \
    XX("Oracle", "oracle", "HY000", 28001, "ORA-28001: refused", EDENIED, ABORTED)                \
    XX("Oracle", "oracle", "HY000", 1045, "ORA-01045: refused", EDENIED, ABORTED)                 \
    XX("Oracle", "oracle", "25006", 1456, "ORA-01456: refused", ESERVER, ABORTED)                 \
    XX("Oracle", "oracle", "25006", 16000, "ORA-16000: refused", ESERVER, ABORTED)                \
    XX("Oracle", "oracle", "HY000", 28, "ORA-00028: refused", ECONN, DEAD)                        \
    XX("Oracle", "oracle", "HY000", 1012, "ORA-01012: refused", ECONN, DEAD)                      \
    XX("Oracle", "oracle", "HY000", 1033, "ORA-01033: refused", ECONN, DEAD)                      \
    XX("Oracle", "oracle", "HY000", 1034, "ORA-01034: refused", ECONN, DEAD)                      \
    XX("Oracle", "oracle", "HY000", 1089, "ORA-01089: refused", ECONN, DEAD)                      \
    XX("Oracle", "oracle", "08S01", 3113, "ORA-03113: refused", ECONN, DEAD)                      \
    XX("Oracle", "oracle", "HY000", 3114, "ORA-03114: refused", ECONN, DEAD)                      \
    XX("Oracle", "oracle", "HY000", 3135, "ORA-03135: refused", ECONN, DEAD)                      \
    XX("Oracle", "oracle", "HY000", 12170, "ORA-12170: refused", ECONN, DEAD)                     \
    XX("Oracle", "oracle", "HY000", 12514, "ORA-12514: refused", ECONN, DEAD)                     \
    XX("Oracle", "oracle", "HY000", 12541, "ORA-12541: refused", ECONN, DEAD)                     \
    XX("Oracle", "oracle", "HY000", 52, "ORA-00052: refused", ECONN, ABORTED)                     \
    XX("Oracle", "oracle", "HY000", 55, "ORA-00055: refused", ECONN, ABORTED)                     \
    XX("Oracle", "oracle", "HY000", 4031, "ORA-04031: refused", ECONN, ABORTED)                   \
    XX("Oracle", "oracle", "28000", 0, "refused", EDENIED, ABORTED)                               \
    XX("Oracle", "oracle", "08S01", 0, "refused", ECONN, DEAD)                                    \
    XX("Oracle", "oracle", "23000", 1, "ORA-00001: refused", EDB, KEPT)                           \
    XX("Microsoft SQL Server", "sqlserver", "HYT00", 1222, "error 1222", ETIMEDOUT, KEPT)         \
    XX("Microsoft SQL Server", "sqlserver", "42000", 1222, "error 1222", ETIMEDOUT, KEPT)         \
    XX("Microsoft SQL Server", "sqlserver", "40001", 1205, "error 1205", EROLLEDBACK, GONE)       \
    XX("Microsoft SQL Server", "sqlserver", "42000", 3960, "error 3960", ESNAPSHOT, GONE)         \
    XX("Microsoft SQL Server", "sqlserver", "42S02", 208, "error 208", ESCHEMA, ABORTED)          \
    XX("Microsoft SQL Server", "sqlserver", "42S22", 207, "error 207", ESCHEMA, ABORTED)          \
    XX("Microsoft SQL Server", "sqlserver", "42000", 229, "error 229", EDENIED, ABORTED)          \
    XX("Microsoft SQL Server", "sqlserver", "42000", 262, "error 262", EDENIED, ABORTED)          \
    XX("Microsoft SQL Server", "sqlserver", "42000", 916, "error 916", EDENIED, ABORTED)          \
    XX("Microsoft SQL Server", "sqlserver", "08004", 911, "error 911", EDENIED, DEAD)             \
    XX("Microsoft SQL Server", "sqlserver", "42000", 4060, "error 4060", EDENIED, ABORTED)        \
    XX("Microsoft SQL Server", "sqlserver", "28000", 18456, "error 18456", EDENIED, ABORTED)      \
    XX("Microsoft SQL Server", "sqlserver", "28000", 18487, "error 18487", EDENIED, ABORTED)      \
    XX("Microsoft SQL Server", "sqlserver", "28000", 18488, "error 18488", EDENIED, ABORTED)      \
    XX("Microsoft SQL Server", "sqlserver", "25000", 3906, "error 3906", ESERVER, ABORTED)        \
    XX("Microsoft SQL Server", "sqlserver", "HY000", 701, "error 701", ECONN, ABORTED)            \
    XX("Microsoft SQL Server", "sqlserver", "HY000", 1204, "error 1204", ECONN, ABORTED)          \
    XX("Microsoft SQL Server", "sqlserver", "HY000", 596, "error 596", ECONN, DEAD)               \
    XX("Microsoft SQL Server", "sqlserver", "HY000", 6005, "error 6005", ECONN, DEAD)             \
    XX("Microsoft SQL Server", "sqlserver", "01000", 20017, "error 20017", ECONN, DEAD)           \
    XX("Microsoft SQL Server", "sqlserver", "08S01", 10054, "error 10054", ECONN, DEAD)           \
    XX("Microsoft SQL Server", "sqlserver", "HYT01", 0, "refused", ECONN, DEAD)                   \
    XX("Microsoft SQL Server", "sqlserver", "HYT00", 0, "refused", ECONN, DEAD)                   \
    XX("Microsoft SQL Server", "sqlserver", "28000", 0, "refused", EDENIED, ABORTED)              \
    XX("Microsoft SQL Server", "sqlserver", "23000", 2627, "error 2627", EDB, KEPT)               \
    XX("DB2/LINUXX8664", "db2", "40001", -911, "SQL0911N  Reason code \"2\".", EROLLEDBACK, GONE) \
    XX("DB2/LINUXX8664", "db2", "57014", -952, "error -952", ECANCELED, ABORTED)                  \
    XX("DB2/LINUXX8664", "db2", "42S02", -204, "error -204", ESCHEMA, ABORTED)                    \
    XX("DB2/LINUXX8664", "db2", "42S22", -206, "error -206", ESCHEMA, ABORTED)                    \
    XX("DB2/LINUXX8664", "db2", "42501", -551, "error -551", EDENIED, ABORTED)                    \
    XX("DB2/LINUXX8664", "db2", "42502", -552, "error -552", EDENIED, ABORTED)                    \
    XX("DB2/LINUXX8664", "db2", "08004", -1060, "error -1060", EDENIED, DEAD)                     \
    XX("DB2/LINUXX8664", "db2", "08001", -30082, "error -30082", EDENIED, DEAD)                   \
    XX("DB2/LINUXX8664", "db2", "57011", -912, "error -912", ECONN, ABORTED)                      \
    XX("DB2/LINUXX8664", "db2", "55032", -1224, "error -1224", ECONN, DEAD)                       \
    XX("DB2/LINUXX8664", "db2", "08001", -30081, "error -30081", ECONN, DEAD)                     \
    XX("DB2/LINUXX8664", "db2", "28000", 0, "refused", EDENIED, ABORTED)                          \
    XX("DB2/LINUXX8664", "db2", "08003", -99999, "error -99999", ECONN, DEAD)                     \
    XX("DB2/LINUXX8664", "db2", "23505", -803, "error -803", EDB, KEPT)
/* clang-format on */

#endif

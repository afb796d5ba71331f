/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libpq (14 or later) that the driver uses, loaded on first use. */
#ifndef ROWLOCK_POSTGRESQL_LIBRARY_H
#define ROWLOCK_POSTGRESQL_LIBRARY_H

#include <libpq-fe.h>
#include <stdio.h>

#include "rowlock.h"

#define ROWLOCK_POSTGRESQL_FUNCTIONS(XX) \
    XX(PQpipelineStatus)                 \
    XX(PQenterPipelineMode)              \
    XX(PQexitPipelineMode)               \
    XX(PQpipelineSync)                   \
    XX(PQconninfoParse)                  \
    XX(PQconninfoFree)                   \
    XX(PQfreemem)                        \
    XX(PQconnectStartParams)             \
    XX(PQconnectPoll)                    \
    XX(PQfinish)                         \
    XX(PQparameterStatus)                \
    XX(PQstatus)                         \
    XX(PQtransactionStatus)              \
    XX(PQsocket)                         \
    XX(PQbackendPID)                     \
    XX(PQconnectionNeedsPassword)        \
    XX(PQerrorMessage)                   \
    XX(PQsetErrorVerbosity)              \
    XX(PQsetNoticeReceiver)              \
    XX(PQisnonblocking)                  \
    XX(PQsetnonblocking)                 \
    XX(PQflush)                          \
    XX(PQconsumeInput)                   \
    XX(PQisBusy)                         \
    XX(PQgetResult)                      \
    XX(PQsendQuery)                      \
    XX(PQsendPrepare)                    \
    XX(PQsendQueryPrepared)              \
    XX(PQsendQueryParams)                \
    XX(PQresultStatus)                   \
    XX(PQresultErrorField)               \
    XX(PQntuples)                        \
    XX(PQnfields)                        \
    XX(PQgetvalue)                       \
    XX(PQgetlength)                      \
    XX(PQftype)                          \
    XX(PQunescapeBytea)                  \
    XX(PQgetisnull)                      \
    XX(PQcmdTuples)                      \
    XX(PQcmdStatus)                      \
    XX(PQclear)                          \
    XX(PQgetCancel)                      \
    XX(PQcancel)                         \
    XX(PQlibVersion)                     \
    XX(PQfreeCancel)

struct rowlock_postgresql_library {
#define ROWLOCK_XX(function) __typeof__(function) *function;
    ROWLOCK_POSTGRESQL_FUNCTIONS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

extern struct rowlock_postgresql_library rowlock__postgresql;

/* Fills the table once; any thread. EDRIVER if libpq is missing, or too old for pipeline mode. */
int rowlock__postgresql_load(struct rowlock_error *error);
/* Of struct rowlock_driver. */
void rowlock__postgresql_describe(FILE *out);

#endif

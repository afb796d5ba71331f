/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that speak the protocol of PostgreSQL or MySQL, and cannot keep rowlock's locks. */
#include "driver/driver.h"
#include "util/bytes.h"
#include "util/error.h"

static const struct {
    const char *word, *reason; /* a word of its version, in any case */
} products[] = {
    {"Vitess", "Vitess, which was not tried with rowlock's statements for TiDB"},
    {"Dolt", "Dolt, which ignores FOR UPDATE"},
    {"SingleStore", "SingleStore, which lacks the locks of InnoDB"},
    {"CockroachDB", "CockroachDB, which has no advisory locks"},
    {"Greenplum", "Greenplum, which locks whole tables"},
    {"Redshift", "Redshift, which has no row locks"},
};

int rowlock__refuse_product(const char *version, struct rowlock_error *error)
{
    for (size_t i = 0; version && i < sizeof products / sizeof *products; i++)
        if (rowlock__find_caseless(version, products[i].word))
            return rowlock__fail(error, ROWLOCK_ESERVER,
                                 "this server cannot keep a lock: it is %s; use a database that "
                                 "docs/databases.md lists",
                                 products[i].reason);
    return ROWLOCK_OK;
}

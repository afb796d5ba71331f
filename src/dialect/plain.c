/* SPDX-License-Identifier: Apache-2.0 */
#include "dialect/plain.h"

#include <string.h>

#define ENGINES(XX) \
    XX(derby) XX(h2) XX(hsqldb) XX(postgresql) XX(mariadb) XX(tidb) XX(oracle) XX(sqlserver) XX(db2)

#define ROWLOCK_XX(engine) extern const struct rowlock_dialect rowlock__plain_##engine;
ENGINES(ROWLOCK_XX)
#undef ROWLOCK_XX

static const struct rowlock_dialect *const dialects[] = {
#define ROWLOCK_XX(engine) &rowlock__plain_##engine,
    ENGINES(ROWLOCK_XX)
#undef ROWLOCK_XX
};

const struct rowlock_dialect *rowlock__plain_dialect(const char *product)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (strncmp(dialects[i]->plain->product, product, strlen(dialects[i]->plain->product)) == 0)
            return dialects[i];
    return NULL;
}

const struct rowlock_dialect *rowlock__plain_named(const char *engine)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (strcmp(dialects[i]->name, engine) == 0)
            return dialects[i];
    return NULL;
}

int rowlock__has_plain_schema(const struct rowlock_dialect *dialect)
{
    return dialect->plain && !dialect->plain->whole;
}

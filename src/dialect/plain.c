/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the plain dialects. */
#include "dialect/plain.h"

#include <stddef.h>

const struct rowlock_dialect *rowlock__plain_dialect(const char *product)
{
    (void)product;
    return NULL;
}

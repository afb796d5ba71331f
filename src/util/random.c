/* SPDX-License-Identifier: Apache-2.0 */
/* Random bits for jitter. */
#include "util/random.h"

#include "system/random.h"

uint32_t rowlock__dice(void)
{
    uint32_t bits = 0;

    return rowlock__random_bytes(&bits, sizeof bits) ? 0 : bits;
}

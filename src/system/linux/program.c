/* SPDX-License-Identifier: Apache-2.0 */
#include "system/program.h"

#include <errno.h>

const char *rowlock__program_name(void)
{
    return program_invocation_short_name;
}

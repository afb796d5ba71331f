/* SPDX-License-Identifier: Apache-2.0 */
#include "command/job_name.h"

#include <stdio.h>
#include <string.h>

#include "command/output/output.h"
#include "util/utf8.h"

#define NAME_MOST (255 - sizeof JOB_LOCK_PREFIX + 1)

int job_name_check(const char *name, char *why, size_t size)
{
    size_t length = strlen(name);

    if (length == 0)
        snprintf(why, size, "a job's name must not be empty");
    else if (length > NAME_MOST)
        snprintf(why, size, "the name '%.40s...' has more than %zu bytes", shown(name), NAME_MOST);
    else if (rowlock__utf8_length(name, length) < 0)
        snprintf(why, size, "the name '%.80s' is not UTF-8", shown(name));
    else
        return 0;
    return -1;
}

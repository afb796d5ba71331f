/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the time and a job's name before each line of output. A line is passed on as a whole, so
   that lines of jobs that run at once do not mix. */
#include <string.h>

#include "command/output/output.h"
#include "run/supervise/pass_output.h"

static int add_byte(struct prefix *prefix, char byte, prefix_emit *emit, void *data)
{
    int failed;

    if (!prefix->in_line) {
        prefix->n = put_time_now(prefix->line, sizeof prefix->line);
        prefix->n += escape_controls(prefix->name, prefix->line + prefix->n, PREFIX_NAME_MOST);
        memcpy(prefix->line + prefix->n, ": ", 2);
        prefix->n += 2;
        prefix->in_line = 1;
    }
    prefix->line[prefix->n++] = byte;
    if (byte == '\n')
        prefix->in_line = 0;
    if (prefix->in_line && prefix->n < sizeof prefix->line)
        return 0;
    failed = emit(data, prefix->line, prefix->n);
    prefix->n = 0;
    return failed;
}

int prefix_take(struct prefix *prefix, const char *bytes, size_t n, prefix_emit *emit, void *data)
{
    int failed = 0;

    if (!prefix->name)
        return emit(data, bytes, n);
    for (size_t i = 0; !failed && i < n; i++)
        failed = add_byte(prefix, bytes[i], emit, data);
    return failed;
}

int prefix_end(struct prefix *prefix, prefix_emit *emit, void *data)
{
    return prefix->in_line ? add_byte(prefix, '\n', emit, data) : 0;
}

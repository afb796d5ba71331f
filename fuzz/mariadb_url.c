/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the parser of MariaDB URLs: it accepts or refuses, and no message contains a possible
 * secret.
 */
#include <stdlib.h>
#include <string.h>

#include "driver/mariadb_url.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char secret[] = "mysql://u:hunter2hunter2@";
    char *rest = fuzz_text(data, size), *url = malloc(sizeof secret + size);
    struct rowlock__mariadb_url *parsed = NULL;
    struct rowlock_error error = {0};
    int code = rowlock__mariadb_url(rest, &parsed, &error);

    fuzz_check(code == 0 || (code == ROWLOCK_EINVAL && parsed == NULL && error.text[0]));
    rowlock__mariadb_url_free(parsed);
    parsed = NULL;
    memcpy(url, secret, sizeof secret);
    memcpy(url + sizeof secret - 1, rest, strlen(rest) + 1);
    error = (struct rowlock_error){0};
    code = rowlock__mariadb_url(url, &parsed, &error);
    fuzz_check(code == 0 || strstr(rest, "hunter2") || !strstr(error.text, "hunter2"));
    rowlock__mariadb_url_free(parsed);
    free(rest);
    free(url);
    return 0;
}

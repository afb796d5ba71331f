/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cutter PORT postgresql|mariadb: a proxy before a server on 127.0.0.1 (lib/proxy.h). Prints its
 * own port. For each line "cut N" of its input it cuts the connection that carries the Nth message
 * from now on, to the server if N is even, else to the client. For "stall N" it forwards nothing
 * more on that connection, in either direction, and closes none of its ends until the next "stall",
 * which cuts all connections first. Ends at a line "end".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/proxy.h"

int main(int argc, char **argv)
{
    struct proxy *proxy;
    char line[40];

    if (argc != 3)
        return 64;
    proxy = proxy_start(atoi(argv[1]), strcmp(argv[2], "postgresql") == 0);
    printf("%d\n", proxy_port(proxy));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n") != 0) {
        int messages = atoi(line + strcspn(line, " "));
        int stall = strncmp(line, "stall", 5) == 0;

        if (stall)
            proxy_cut_all(proxy);
        proxy_arm(proxy, stall ? PROXY_STALL : PROXY_CUT,
                  messages % 2 ? PROXY_TO_CLIENT : PROXY_TO_SERVER, messages);
    }
    proxy_stop(proxy);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cutter PORT ENGINE: a proxy before a server on 127.0.0.1 (lib/proxy.h). Prints its
 * own port. Each line of its input is a fault of the connection that carries the Nth message from
 * now on, to the server if N is even, else to the client:
 *
 *   cut N        cuts it
 *   tear N       cuts it inside the message after that one
 *   delay N MS   forwards nothing in that direction for MS milliseconds, then all of it
 *   split N MS   the same inside the message after that one
 *   oneway N     forwards nothing more in that direction; the other one works
 *   stall N      forwards nothing more in either direction
 *   half N       ends that direction; the other one works
 *   hang         cuts all connections, and leaves new ones without an answer
 *   heal         ends the fault
 *
 * Each line cuts the connections that "oneway", "stall" or "half" left open. It ends at a line
 * "end", and prints how many of the faults have occurred: some were replaced by the next one
 * before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/proxy.h"

static void do_fault(struct proxy *proxy, const char *word, int messages, int ms)
{
    enum proxy_direction direction = messages % 2 ? PROXY_TO_CLIENT : PROXY_TO_SERVER;

    if (strcmp(word, "cut") == 0)
        proxy_arm(proxy, PROXY_CUT, direction, messages);
    else if (strcmp(word, "tear") == 0)
        proxy_split(proxy, PROXY_CUT, direction, messages, 0);
    else if (strcmp(word, "split") == 0)
        proxy_split(proxy, PROXY_HOLD, direction, messages, ms);
    else if (strcmp(word, "delay") == 0)
        proxy_hold(proxy, direction, messages, ms);
    else if (strcmp(word, "oneway") == 0)
        proxy_hold(proxy, direction, messages, -1);
    else if (strcmp(word, "stall") == 0)
        proxy_arm(proxy, PROXY_STALL, direction, messages);
    else if (strcmp(word, "half") == 0)
        proxy_arm(proxy, PROXY_HALF, direction, messages);
    else
        proxy_arm(proxy, strcmp(word, "hang") == 0 ? PROXY_HANG : PROXY_NONE, direction, messages);
}

int main(int argc, char **argv)
{
    struct proxy *proxy;
    char line[40], word[10];
    int open = 0, struck = 0; /* open: connections that forward nothing */

    if (argc != 3)
        return 64;
    proxy = proxy_start(atoi(argv[1]), strcmp(argv[2], "postgresql") == 0 ? 1
                                       : strcmp(argv[2], "mariadb") == 0  ? 0
                                                                          : -1);
    printf("%d\n", proxy_port(proxy));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n") != 0) {
        int messages = 0, ms = 0;

        if (sscanf(line, "%9s %d %d", word, &messages, &ms) < 1)
            continue;
        struck += proxy_has_struck(proxy);
        if (open) { /* first without a fault, which might strike after the cut */
            do_fault(proxy, "heal", 0, 0);
            proxy_cut_all(proxy);
        }
        open = strcmp(word, "cut") != 0 && strcmp(word, "tear") != 0 && strcmp(word, "heal") != 0 &&
               strcmp(word, "delay") != 0 && strcmp(word, "split") != 0;
        do_fault(proxy, word, messages, ms);
        if (strcmp(word, "hang") == 0)
            proxy_cut_all(proxy);
    }
    proxy_stop(proxy);
    printf("%d\n", struck);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* src/system as the library uses it, and src/util/bytes.c. `make check-posix` runs the same tests
   on the half that needs POSIX alone. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "system/system.h"
#include "util/bytes.h"

static int is_readable(int fd)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};

    return poll(&pollfd, 1, 0) == 1;
}

static int ends_with_exec(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

/* ---- wakeups ------------------------------------------------------------------------------- */

TEST(a_wakeup_counts_its_sendings)
{
    struct rowlock_wakeup wakeup;

    t_int(rowlock__wakeup_open(&wakeup), 0);
    t_true(ends_with_exec(wakeup.fd) && ends_with_exec(wakeup.sender));
    t_true(!is_readable(wakeup.fd));
    t_int(rowlock__wakeup_take(&wakeup), 0);
    for (int i = 0; i < 3; i++)
        rowlock__wakeup_send(&wakeup);
    t_true(is_readable(wakeup.fd));
    t_int(rowlock__wakeup_take(&wakeup), 3);
    t_true(!is_readable(wakeup.fd));
    t_int(rowlock__wakeup_take(&wakeup), 0);
    rowlock__wakeup_close(&wakeup);
    t_int(wakeup.fd, -1);
    rowlock__wakeup_close(&wakeup);
}

TEST(a_wakeup_that_nothing_takes_never_blocks_its_sender)
{
    struct rowlock_wakeup wakeup;

    t_int(rowlock__wakeup_open(&wakeup), 0);
    for (int i = 0; i < 200000; i++)
        rowlock__wakeup_send(&wakeup);
    t_true(is_readable(wakeup.fd));
    t_true(rowlock__wakeup_take(&wakeup) > 0);
    t_true(!is_readable(wakeup.fd));
    rowlock__wakeup_close(&wakeup);
}

/* ---- descriptors --------------------------------------------------------------------------- */

static void count(void *data, int fd)
{
    int *seen = data;

    for (int i = 0; i < 2; i++)
        if (seen[2 * i] == fd)
            seen[2 * i + 1]++;
}

TEST(the_open_descriptors_are_visited_once)
{
    int ends[2], seen[4] = {0};

    t_int(rowlock__pipe(ends), 0);
    t_true(ends_with_exec(ends[0]) && ends_with_exec(ends[1]));
    close(ends[1]);
    seen[0] = ends[0];
    seen[2] = ends[1];
    rowlock__visit_descriptors(count, seen);
    t_int(seen[1], 1);
    t_int(seen[3], 0);
    close(ends[0]);
}

TEST(the_end_of_an_idle_connection_is_seen)
{
    int pair[2];

    t_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    t_true(!rowlock__has_hung_up(-1));
    t_true(!rowlock__has_hung_up(pair[0]));
    t_int(shutdown(pair[1], SHUT_WR), 0);
    t_true(rowlock__has_hung_up(pair[0]));
    close(pair[1]);
    t_true(rowlock__has_hung_up(pair[0]));
    close(pair[0]);
}

/* ---- the rest ------------------------------------------------------------------------------ */

TEST(the_clock_does_not_go_back)
{
    int64_t before = rowlock__system_ms();

    t_true(before > 0);
    for (int i = 0; i < 1000; i++) {
        int64_t now = rowlock__system_ms();

        t_true(now >= before);
        before = now;
    }
}

TEST(random_bytes_fill_the_whole_room)
{
    unsigned char all[4096] = {0}, other[4096] = {0};
    size_t zeros = 0;

    t_int(rowlock__random_bytes(all, sizeof all), 0);
    t_int(rowlock__random_bytes(other, sizeof other), 0);
    t_true(memcmp(all, other, sizeof all) != 0);
    for (size_t i = sizeof all - 16; i < sizeof all; i++)
        zeros += all[i] == 0 && other[i] == 0;
    t_true(zeros < 16);
}

TEST(a_function_of_the_process_is_found)
{
    void *own = rowlock__own_symbols(), *function = dlsym(own, "strlen");
    const char *path = rowlock__path_of_function(function);
    void *library = path ? rowlock__loaded_library(path) : NULL;

    t_true(function != NULL);
    t_true(dlsym(own, "rowlock_no_such_function") == NULL);
    t_true(!path || library); /* POSIX does not tell the path */
    t_true(rowlock__loaded_library("librowlock-no-such.so") == NULL);
    if (library)
        dlclose(library);
}

TEST(the_program_has_a_name)
{
    t_true(*rowlock__program_name());
    t_lacks(rowlock__program_name(), "/");
}

/* ---- bytes --------------------------------------------------------------------------------- */

TEST(a_secret_is_overwritten)
{
    char secret[] = "swordfish";

    rowlock__wipe(secret, sizeof secret);
    for (size_t i = 0; i < sizeof secret; i++)
        t_int(secret[i], 0);
}

TEST(bytes_and_words_are_found)
{
    static const char text[] = "ab\0abc";
    const char *end = text + sizeof text - 1;

    t_true(rowlock__find_bytes(text, sizeof text - 1, "abc", 3) == end - 3);
    t_true(rowlock__find_bytes(text, sizeof text - 2, "abc", 3) == NULL);
    t_true(rowlock__find_bytes(text, 2, "abc", 3) == NULL);
    t_text(rowlock__find_caseless("Db2 for Linux", "DB2"), "Db2 for Linux");
    t_text(rowlock__find_caseless("x;Pwd=1", "pwd="), "Pwd=1");
    t_true(rowlock__find_caseless("pw", "pwd=") == NULL);
    t_true(rowlock__find_caseless("", "x") == NULL);
}

TEST(three_texts_become_one)
{
    char *joined = rowlock__join("a", "", "bc");

    t_text(joined, "abc");
    free(joined);
}

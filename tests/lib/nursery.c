/* SPDX-License-Identifier: Apache-2.0 */
/* Forks the children of a test (nursery.h). */
#include "lib/nursery.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"

#define ARENA 1000000

static struct arena {
    pid_t child;
    size_t used;
    char bytes[ARENA];
} * arena;

void *t_shared(size_t size)
{
    void *memory;

    if (!arena)
        arena =
            mmap(NULL, sizeof *arena, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    arena->used = (arena->used + 63) / 64 * 64;
    if (arena == MAP_FAILED || size > ARENA - arena->used)
        abort();
    memory = arena->bytes + arena->used;
    arena->used += size;
    return memory;
}

/* ---- the nursery ----------------------------------------------------------------------------- */

struct order {
    t_body *body;
    const void *data;
    char *stack; /* its lowest byte, and its size */
    size_t size;
};

static struct {
    int socket; /* 0: there is no nursery */
    char *stack;
} nursery;

static int send_all(int fd, const void *data, size_t size)
{
    ssize_t sent;

    for (const char *at = data; size > 0; at += sent, size -= (size_t)sent)
        if ((sent = send(fd, at, size, MSG_NOSIGNAL)) <= 0)
            return 1;
    return 0;
}

static int receive_all(int fd, void *data, size_t size)
{
    return size > 0 && recv(fd, data, size, MSG_WAITALL) != (ssize_t)size;
}

/* One byte, with a descriptor. `fd` -1: receives it. */
static int pass_descriptor(int socket, int fd)
{
    char byte = '!', space[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    if (fd < 0) {
        if (recvmsg(socket, &message, 0) != 1 || !(head = CMSG_FIRSTHDR(&message)))
            return -1;
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
        return fd;
    }
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? fd : -1;
}

/* The child. Its only thread has a stack elsewhere, so the main thread's is free for the test's. */
static void be_child(const struct order *order, const char *stack, int to)
{
    close(nursery.socket);
    nursery.socket = 0;
    memcpy(order->stack, stack, order->size);
    t_enter_child();
    _exit(order->body(order->data, to));
}

/* The test waits for the child as for its own: the process between them ends, and the kernel makes
   the test the parent (PR_SET_CHILD_SUBREAPER). */
static void bear(const struct order *order, const char *stack, int to)
{
    pid_t between = fork(), child;

    if (between == 0) {
        child = fork();
        if (child == 0)
            be_child(order, stack, to);
        arena->child = child;
        _exit(0);
    }
    waitpid(between, NULL, 0);
}

static void *serve(void *ignored)
{
    struct order order;

    (void)ignored;
    for (;;) {
        int to = pass_descriptor(nursery.socket, -1);
        char *stack;

        if (to < 0 || receive_all(nursery.socket, &order, sizeof order))
            _exit(0);
        stack = malloc(order.size);
        if (!stack || receive_all(nursery.socket, stack, order.size))
            _exit(1);
        bear(&order, stack, to);
        free(stack);
        close(to);
        if (send_all(nursery.socket, &arena->child, sizeof arena->child))
            _exit(1);
    }
}

static void be_nursery(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, serve, NULL) == 0)
        pthread_join(thread, NULL);
    _exit(1);
}

void t_start_nursery(void *stack)
{
    const char *technique = getenv("ROWLOCK_TEST_TECHNIQUE");
    int sockets[2];
    pid_t pid;

    t_shared(0);
    nursery.stack = stack;
    if (!technique || strcmp(technique, "jdbc") != 0)
        return;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) || (pid = fork()) < 0) {
        perror("the nursery");
        exit(2);
    }
    nursery.socket = sockets[pid == 0];
    close(sockets[pid != 0]);
    if (pid == 0)
        be_nursery();
}

/* ---- the test -------------------------------------------------------------------------------- */

static pid_t order_child(t_body *body, const void *data, int to)
{
    char *here = __builtin_frame_address(0);
    struct order order = {body, data, here, (size_t)(nursery.stack - here)};
    pid_t child = 0;

    if (pass_descriptor(nursery.socket, to) < 0 || send_all(nursery.socket, &order, sizeof order) ||
        send_all(nursery.socket, here, order.size) ||
        receive_all(nursery.socket, &child, sizeof child) || child <= 0)
        t_fail(__FILE__, __LINE__, "the nursery has ended");
    return child;
}

pid_t t_fork(t_body *body, const void *data, int to)
{
    pid_t pid;

    fflush(NULL);
    if (nursery.socket)
        return order_child(body, data, to);
    pid = fork();
    if (pid == 0) {
        t_enter_child();
        _exit(body(data, to));
    }
    return pid;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time limits for calls that only block. The blocked call is a read from a socket, connected to a
 * listener of the test; its "server" is the other end.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/watch.h"
#include "lib/test.h"

/* In a child of a process with threads, ThreadSanitizer allows no further thread. */
#if defined(__SANITIZE_THREAD__)
#define CAN_FORK 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CAN_FORK 0
#endif
#endif
#ifndef CAN_FORK
#define CAN_FORK 1
#endif

struct server {
    int listener, port;
};

struct session {
    struct rowlock_watch *watch;
    int socket, peer; /* our end, the server's end */
};

static struct server serve(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    struct server server = {.listener = socket(AF_INET, SOCK_STREAM, 0)};

    t_int(bind(server.listener, (struct sockaddr *)&address, size), 0);
    t_int(listen(server.listener, 8), 0);
    t_int(getsockname(server.listener, (struct sockaddr *)&address, &size), 0);
    server.port = ntohs(address.sin_port);
    return server;
}

static int connect_to(const struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server->port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    t_int(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static struct rowlock_budget within(int64_t ms)
{
    return (struct rowlock_budget){.deadline_ms = rowlock__after(rowlock__now_ms(), ms),
                                   .interrupt_fd = -1};
}

static struct session open_session(const struct server *server)
{
    struct session session = {0};
    struct rowlock_budget budget = within(60000);

    t_ok(rowlock__watch_new(&session.watch, &t_error));
    t_ok(rowlock__watch_opening(session.watch, &budget, server->port, &t_error));
    session.socket = connect_to(server);
    session.peer = accept(server->listener, NULL, NULL);
    t_int(rowlock__watch_opened(session.watch, true).result, ROWLOCK_WATCH_CALM);
    t_int(rowlock__watch_socket(session.watch), session.socket);
    return session;
}

/* The only session of its server. */
static struct session open_alone(void)
{
    struct server server = serve();
    struct session session = open_session(&server);

    close(server.listener);
    return session;
}

static void nothing(void *data)
{
    (void)data;
}

static void close_session(struct session *session)
{
    rowlock__watch_free(session->watch, nothing, NULL);
    close(session->socket);
    close(session->peer);
}

/* The cancel of a server that obeys: it answers. */
static void answer(void *data)
{
    struct session *session = data;

    if (write(session->peer, "c", 1) != 1)
        abort(); /* not the test's thread */
}

static char blocking_read(const struct session *session)
{
    char byte = '-';

    return read(session->socket, &byte, 1) == 1 ? byte : '-';
}

static bool on_exec(int fd)
{
    return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

TEST(a_call_that_returns_in_time_is_left_alone)
{
    struct session session = open_alone();
    struct rowlock_budget budget = within(60000);

    for (int i = 0; i < 2000; i++) {
        struct rowlock_watched end;

        rowlock__watch_begin(session.watch, &budget, answer, &session);
        end = rowlock__watch_end(session.watch);
        t_int(end.result, ROWLOCK_WATCH_CALM);
        t_int(end.why, ROWLOCK_WAKE_READY);
    }
    answer(&session);
    t_int(blocking_read(&session), 'c'); /* the socket is as it was */
    close_session(&session);
}

TEST(the_deadline_cancels_a_call)
{
    struct session session = open_alone();
    struct rowlock_budget budget = within(30);
    struct rowlock_watched end;

    rowlock__watch_begin(session.watch, &budget, answer, &session);
    t_int(blocking_read(&session), 'c');
    end = rowlock__watch_end(session.watch);
    t_int(end.result, ROWLOCK_WATCH_CANCELED);
    t_int(end.why, ROWLOCK_WAKE_DEADLINE);
    close_session(&session);
}

/* The number of an interrupt_fd that was closed may be another file in the next call. */
TEST(an_interrupt_cancels_a_call_whichever_file_has_the_number)
{
    struct session session = open_alone();

    for (int i = 0; i < 5; i++) {
        struct rowlock_budget budget = within(60000);
        struct rowlock_watched end;
        int ends[2];

        t_int(pipe(ends), 0);
        budget.interrupt_fd = ends[0];
        rowlock__watch_begin(session.watch, &budget, answer, &session);
        if (i % 2) { /* nothing happens: the watcher may still know the number */
            t_int(rowlock__watch_end(session.watch).result, ROWLOCK_WATCH_CALM);
        } else {
            t_true(write(ends[1], "i", 1) == 1);
            t_int(blocking_read(&session), 'c');
            end = rowlock__watch_end(session.watch);
            t_int(end.result, ROWLOCK_WATCH_CANCELED);
            t_int(end.why, ROWLOCK_WAKE_INTERRUPT);
        }
        close(ends[0]);
        close(ends[1]);
        while (recv(session.socket, ends, 1, MSG_DONTWAIT) > 0)
            continue; /* of a second cancel */
    }
    close_session(&session);
}

struct obeys_later {
    struct session *session;
    int tries;
};

static void answer_the_third(void *data)
{
    struct obeys_later *later = data;

    if (++later->tries == 3)
        answer(later->session);
}

static bool is_canceled_by_the_third(void)
{
    struct session session = open_alone();
    struct obeys_later later = {.session = &session};
    struct rowlock_budget budget = within(0);
    char read;
    bool is_canceled;

    rowlock__watch_begin(session.watch, &budget, answer_the_third, &later);
    read = blocking_read(&session);
    is_canceled = rowlock__watch_end(session.watch).result == ROWLOCK_WATCH_CANCELED;
    t_true(!is_canceled || (read == 'c' && later.tries >= 3));
    close_session(&session);
    return is_canceled;
}

/* A session is given up after 2 s, in which a busy machine may suspend the test. */
TEST(a_cancel_without_effect_is_repeated)
{
    int tries = 5;

    while (tries > 0 && !is_canceled_by_the_third())
        tries--;
    t_true(tries > 0);
}

TEST(a_server_that_ignores_the_cancel_is_given_up)
{
    struct session session = open_alone();
    struct rowlock_budget budget = within(20);

    budget.give_up_ms = budget.deadline_ms + 50;
    rowlock__watch_begin(session.watch, &budget, nothing, NULL);
    t_int(blocking_read(&session), '-');
    t_true(rowlock__now_ms() >= budget.give_up_ms);
    t_int(rowlock__watch_end(session.watch).result, ROWLOCK_WATCH_GIVEN_UP);
    close_session(&session);
}

TEST(without_a_cancel_the_session_is_given_up_at_once)
{
    struct session session = open_alone();
    struct rowlock_budget budget = within(20);
    struct rowlock_watched end;

    budget.give_up_ms = budget.deadline_ms + 3600000;
    rowlock__watch_begin(session.watch, &budget, NULL, NULL);
    t_int(blocking_read(&session), '-');
    end = rowlock__watch_end(session.watch);
    t_int(end.result, ROWLOCK_WATCH_GIVEN_UP);
    t_int(end.why, ROWLOCK_WAKE_DEADLINE);
    close_session(&session);
}

/* As when the client library closes its socket, and another thread opens one. */
TEST(a_file_that_got_the_number_of_the_socket_is_left_alone)
{
    struct server server = serve();
    struct session session = open_session(&server);
    int other = connect_to(&server), peer = accept(server.listener, NULL, NULL);
    int kept = dup(session.socket);

    t_int(dup2(other, session.socket), session.socket);
    rowlock__watch_shut_down(session.watch);
    t_int(write(peer, "d", 1), 1);
    t_int(blocking_read(&session), 'd');
    t_int(dup2(kept, session.socket), session.socket);
    rowlock__watch_shut_down(session.watch);
    t_int(blocking_read(&session), '-'); /* the end */
    close_session(&session);
    close(other);
    close(peer);
    close(kept);
    close(server.listener);
}

static struct {
    sem_t go, released;
    atomic_int begun;
} stuck;

static void cancel_that_blocks(void *data)
{
    (void)data;
    atomic_store(&stuck.begun, 1);
    while (sem_wait(&stuck.go) != 0)
        continue;
}

static void release(void *data)
{
    if (data == &stuck)
        sem_post(&stuck.released);
}

/* The handles are in use until the cancel returns, and the caller does not wait for it. On a busy
   machine the call may be given up before a cancel begins: then the handles are free at once. */
TEST(a_cancel_that_blocks_delays_nobody_and_frees_the_handles_later)
{
    struct session session = open_alone();
    struct rowlock_budget budget = within(20);
    int n;

    sem_init(&stuck.go, 0, 0);
    sem_init(&stuck.released, 0, 0);
    budget.give_up_ms = budget.deadline_ms + 20;
    rowlock__watch_begin(session.watch, &budget, cancel_that_blocks, NULL);
    t_int(blocking_read(&session), '-');
    t_int(rowlock__watch_end(session.watch).result, ROWLOCK_WATCH_GIVEN_UP);
    rowlock__watch_free(session.watch, release, &stuck);
    sem_getvalue(&stuck.released, &n);
    if (n == 0) /* its thread may still have to begin */
        t_until(atomic_load(&stuck.begun));
    t_int(n, !atomic_load(&stuck.begun));
    sem_post(&stuck.go);
    t_int(sem_wait(&stuck.released), 0);
    close(session.socket);
    close(session.peer);
}

TEST(opening_sets_close_on_exec_and_finds_the_socket_by_its_port)
{
    struct server server = serve(), other = serve();
    struct rowlock_budget budget = within(60000);
    struct rowlock_watch *watch;
    int ours, others, peer, file, pair[2], old = dup(0);

    t_ok(rowlock__watch_new(&watch, &t_error));
    t_ok(rowlock__watch_opening(watch, &budget, server.port, &t_error));
    ours = connect_to(&server);
    others = connect_to(&other);
    peer = accept(server.listener, NULL, NULL);
    file = open("/dev/null", O_RDONLY);
    t_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    rowlock__watch_opened(watch, true);
    t_int(rowlock__watch_socket(watch), ours);
    t_true(on_exec(ours) && on_exec(others) && on_exec(peer) && on_exec(file) && on_exec(pair[0]));
    t_true(!on_exec(old));

    close(ours);
    close(peer);
    t_ok(rowlock__watch_opening(watch, &budget, 0, &t_error)); /* the port is not known */
    ours = connect_to(&server);
    rowlock__watch_opened(watch, true);
    t_int(rowlock__watch_socket(watch), ours);
    rowlock__watch_free(watch, nothing, NULL);
    close(ours);
    close(others);
    close(file);
    close(pair[0]);
    close(pair[1]);
    close(old);
    close(server.listener);
    close(other.listener);
}

TEST(of_two_candidates_neither_is_the_socket)
{
    struct server server = serve();
    struct rowlock_budget budget = within(60000);
    struct rowlock_watch *watch;
    int first, second;

    t_ok(rowlock__watch_new(&watch, &t_error));
    t_ok(rowlock__watch_opening(watch, &budget, 0, &t_error));
    first = connect_to(&server);
    second = connect_to(&server);
    rowlock__watch_opened(watch, true);
    t_int(rowlock__watch_socket(watch), -1);
    rowlock__watch_free(watch, nothing, NULL);
    close(first);
    close(second);
    close(server.listener);
}

TEST(opening_a_silent_server_ends_at_the_deadline_for_each_of_its_addresses)
{
    struct server server = serve();
    struct rowlock_budget budget = within(30);
    struct rowlock_watched end;
    struct session session;

    t_ok(rowlock__watch_new(&session.watch, &t_error));
    t_ok(rowlock__watch_opening(session.watch, &budget, server.port, &t_error));
    for (int i = 0; i < 3; i++) { /* as a driver that tries several addresses */
        session.socket = connect_to(&server);
        t_int(blocking_read(&session), '-');
        close(session.socket);
    }
    end = rowlock__watch_opened(session.watch, false);
    t_int(end.result, ROWLOCK_WATCH_GIVEN_UP);
    t_int(end.why, ROWLOCK_WAKE_DEADLINE);
    t_int(rowlock__watch_socket(session.watch), -1);
    rowlock__watch_free(session.watch, nothing, NULL);
    close(server.listener);
}

TEST(only_one_session_opens_at_a_time)
{
    struct rowlock_budget budget = within(60000), little = within(20);
    struct rowlock_watch *first, *second;
    int ends[2];

    t_ok(rowlock__watch_new(&first, &t_error));
    t_ok(rowlock__watch_new(&second, &t_error));
    t_ok(rowlock__watch_opening(first, &budget, 0, &t_error));
    t_fails(rowlock__watch_opening(second, &little, 0, &t_error), ETIMEDOUT);
    t_int(pipe(ends), 0);
    t_true(write(ends[1], "i", 1) == 1);
    budget.interrupt_fd = ends[0];
    t_fails(rowlock__watch_opening(second, &budget, 0, &t_error), ECANCELED);
    rowlock__watch_opened(first, false);
    budget.interrupt_fd = -1;
    t_ok(rowlock__watch_opening(second, &budget, 0, &t_error));
    rowlock__watch_opened(second, false);
    rowlock__watch_free(first, nothing, NULL);
    rowlock__watch_free(second, nothing, NULL);
    close(ends[0]);
    close(ends[1]);
}

static void *calls(void *data)
{
    struct session *session = data;

    for (int i = 0; i < 200; i++) {
        bool in_time = i % 4;
        struct rowlock_budget budget = within(in_time ? 60000 : 1);
        char byte;

        rowlock__watch_begin(session->watch, &budget, answer, session);
        if (!in_time && blocking_read(session) != 'c')
            return "not cancelled";
        if (rowlock__watch_end(session->watch).result !=
            (in_time ? ROWLOCK_WATCH_CALM : ROWLOCK_WATCH_CANCELED))
            return "the wrong end";
        while (recv(session->socket, &byte, 1, MSG_DONTWAIT) > 0)
            continue;
    }
    return NULL;
}

TEST(many_threads_are_watched_at_the_same_time)
{
    struct server server = serve();
    struct session sessions[6];
    pthread_t threads[6];

    for (int i = 0; i < 6; i++)
        sessions[i] = open_session(&server);
    for (int i = 0; i < 6; i++)
        t_int(pthread_create(&threads[i], NULL, calls, &sessions[i]), 0);
    for (int i = 0; i < 6; i++) {
        void *mistake;

        pthread_join(threads[i], &mistake);
        t_text(mistake ? mistake : "none", "none");
    }
    for (int i = 0; i < 6; i++)
        close_session(&sessions[i]);
    close(server.listener);
}

static int child_is_cut(const struct server *server)
{
    struct rowlock_budget budget = within(20);
    struct session session;

    if (rowlock__watch_new(&session.watch, NULL) != ROWLOCK_OK ||
        rowlock__watch_opening(session.watch, &budget, server->port, NULL) != ROWLOCK_OK)
        return 1;
    session.socket = connect_to(server);
    if (blocking_read(&session) != '-')
        return 2;
    if (rowlock__watch_opened(session.watch, false).result != ROWLOCK_WATCH_GIVEN_UP)
        return 3;
    rowlock__watch_free(session.watch, nothing, NULL);
    return 0;
}

/* Also while the parent has a session, and while it opens one. */
TEST(a_child_has_a_thread_of_its_own)
{
    struct rowlock_budget budget = within(60000);
    struct session session;
    struct server server;
    int status;
    pid_t child;

    if (!CAN_FORK)
        skip();
    server = serve();
    session = open_session(&server);
    t_ok(rowlock__watch_opening(session.watch, &budget, 0, &t_error));
    child = fork();
    if (child == 0) {
        t_enter_child();
        _exit(child_is_cut(&server));
    }
    t_int(waitpid(child, &status, 0), child);
    t_int(status, 0);
    rowlock__watch_opened(session.watch, false);
    budget = within(20); /* the parent's thread still works */
    rowlock__watch_begin(session.watch, &budget, answer, &session);
    t_int(blocking_read(&session), 'c');
    t_int(rowlock__watch_end(session.watch).result, ROWLOCK_WATCH_CANCELED);
    close_session(&session);
    close(server.listener);
}

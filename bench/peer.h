/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contestant: one way to lock a name, on one server, with one durability. Each file of peers/ holds a
 * few of them, and nothing else knows how they do it. All calls are made in a client process of
 * their own; whoever fails says why by bench_die, which ends that process and fails the measurement.
 *
 * Clients are processes, or with `threads` the threads of one process. Then open is called once for each
 * of them, in any order and at the same time: what they share is a static of the file, made under a mutex by
 * the first that comes (not always client 0: in a take-over each of the two is alone in its process), and
 * freed by the last close. What open returns is still that client's own.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>

#define BENCH_HOT 4096

struct bench_place {     /* where the servers are, as bench/run started them; all of one run */
    const char *url;     /* of the contestant's server; "" where it has none */
    const char *folder;  /* for files */
    const char *rowlock; /* the program */
    const char *psql;    /* the program itself, no wrapper */
    const char *loader;  /* examples/documents */
    const char *documents, *loader_options; /* for it; "": made-up documents */
    int made_up;                            /* how many of these */
    int pid;                                /* of the server; 0: none */
    unsigned names; /* they are numbered from 0; BENCH_HOT more follow, hot ones */
    int ttl_ms;     /* of what expires */
};

#define BENCH_ARGUMENTS 32
struct bench_command {
    const char *argv[BENCH_ARGUMENTS];
    char text[2048]; /* for what has to be put together */
};

enum { BENCH_NOTHING = 0, BENCH_GRANT = 1, BENCH_RELEASE = 2, BENCH_BOTH = 3 };

struct bench_peer {
    const char *name;
    const char *server; /* which one it talks to, as bench/run calls it; "" none */
    int ours;           /* 1: rowlock */
    int durable;        /* what is on disk when the call returns */
    const char *what;   /* in a few words, for people */
    /* Before the first measurement, once, in a process of its own; may be NULL. */
    void (*setup)(const struct bench_place *place);
    void *(*open)(const struct bench_place *place, int client); /* NULL: it has no sessions */
    void (*acquire)(void *session, unsigned name);              /* waits for ever */
    void (*release)(void *session, unsigned name);
    void (*close)(void *session);
    /* A process that locks, runs true, and ends; NULL: it has none. */
    void (*command)(const struct bench_place *place, struct bench_command *out);
    /* The document loader; NULL: has nothing to do with it. */
    void (*load)(const struct bench_place *place, struct bench_command *out);
    int expires; /* 1: who was killed holds on until the ttl is over */
    int alone;   /* 1: not measured where clients meet: there it is, and has on disk, what another is */
    int variant; /* 1: differs from another only in what is on disk: not measured where that decides nothing */
    int threads; /* 1: its clients are threads of one process */
};

/* What a file of peers/ offers: ends with one that has no name. */
extern const struct bench_peer bench_peers_rowlock[], bench_peers_postgresql[],
    bench_peers_mariadb[], bench_peers_redis[], bench_peers_etcd[], bench_peers_zookeeper[],
    bench_peers_flock[];

/* The text of a name, the same for all. */
#define BENCH_NAME 24
void bench_name(unsigned name, char out[BENCH_NAME]);

/* Before the next try of who cannot be woken: longer each time, at random. `pause` begins with 0. */
void bench_pause(unsigned *pause);

/* Says why and ends this process; of the measurement it is the reason. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif

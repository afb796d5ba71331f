/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contestant: one way to lock a name, on one server, with one durability. Each file of peers/
 * defines a few, and hides how they work. All calls run in a client process of their own. A call
 * that fails reports by bench_die, which ends that process and fails the measurement.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>

#define BENCH_HOT 4096

/* the servers that bench/run started, and everything else that is the same for a whole run */
struct bench_place {
    const char *url;                        /* of the contestant's server; "" if it has none */
    const char *folder;                     /* for lock files and databases */
    const char *rowlock;                    /* the path of the rowlock command */
    const char *psql;                       /* the path of psql itself, not of a wrapper */
    const char *loader;                     /* examples/documents */
    const char *documents, *loader_options; /* input of the loader; "": generated documents */
    int made_up;                            /* the number of generated documents */
    int pid;                                /* of the server; 0: none */
    unsigned names; /* names are numbered from 0; BENCH_HOT more follow, for shared names */
    int ttl_ms;     /* of leases and other locks that expire */
};

#define BENCH_ARGUMENTS 32
struct bench_command {
    const char *argv[BENCH_ARGUMENTS];
    char text[2048]; /* buffer for composed arguments */
};

enum { BENCH_NOTHING = 0, BENCH_GRANT = 1, BENCH_RELEASE = 2, BENCH_BOTH = 3 };

struct bench_peer {
    const char *name;
    const char *server; /* the name of its server in bench/run; "": none */
    int ours;           /* 1: rowlock */
    int durable;        /* what has reached the disk when the calls return */
    const char *what;   /* a short description for people */
    /* Called once before the first measurement, in a process of its own; may be NULL. */
    void (*setup)(const struct bench_place *place);
    void *(*open)(const struct bench_place *place, int client); /* NULL: it has no sessions */
    void (*acquire)(void *session, unsigned name);              /* waits without a timeout */
    void (*release)(void *session, unsigned name);
    void (*close)(void *session);
    /* A process that locks, runs true, and ends; NULL: none. */
    void (*command)(const struct bench_place *place, struct bench_command *out);
    /* The document loader; NULL: not used with this contestant. */
    void (*load)(const struct bench_place *place, struct bench_command *out);
    int expires; /* 1: a killed holder keeps the lock until its ttl ends */
    /* 1: differs from another only in durability: not measured where that does not matter */
    int variant;
};

/* The contestants of each file of peers/; a NULL name ends an array. */
extern const struct bench_peer bench_peers_rowlock[], bench_peers_postgresql[],
    bench_peers_mariadb[], bench_peers_redis[], bench_peers_etcd[], bench_peers_zookeeper[],
    bench_peers_flock[];

/* The text of a name, the same for all contestants. */
#define BENCH_NAME 24
void bench_name(unsigned name, char out[BENCH_NAME]);

/* Sleeps before the next try of a client that cannot be woken: longer each time, randomized.
   `pause` starts at 0. */
void bench_pause(unsigned *pause);

/* Reports the reason of the failed measurement and ends this process. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif

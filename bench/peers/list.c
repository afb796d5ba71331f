/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contestants in this build. A peer whose client library is not installed is left out, which
 * the benchmark reports.
 */
#include "peers/list.h"

#include <stdio.h>
#include <stdlib.h>

#include "crew.h"

#ifdef ROWLOCK_WITH_POSTGRESQL
#define IF_POSTGRESQL(peers) peers,
#else
#define IF_POSTGRESQL(peers)
#endif
#ifdef ROWLOCK_WITH_MARIADB
#define IF_MARIADB(peers) peers,
#else
#define IF_MARIADB(peers)
#endif
#ifdef BENCH_WITH_REDIS
#define IF_REDIS(peers) peers,
#else
#define IF_REDIS(peers)
#endif
#ifdef BENCH_WITH_ETCD
#define IF_ETCD(peers) peers,
#else
#define IF_ETCD(peers)
#endif
#ifdef BENCH_WITH_ZOOKEEPER
#define IF_ZOOKEEPER(peers) peers,
#else
#define IF_ZOOKEEPER(peers)
#endif

const struct bench_peer *const bench_peer_files[] = {
    bench_peers_rowlock,
    IF_POSTGRESQL(bench_peers_postgresql) /**/
    IF_MARIADB(bench_peers_mariadb)       /**/
    IF_ETCD(bench_peers_etcd)             /**/
    IF_ZOOKEEPER(bench_peers_zookeeper)   /**/
    IF_REDIS(bench_peers_redis)           /**/
    bench_peers_flock,
    NULL,
};

/* The pairs that are compared: a lease outlives its connection, a lock does not. */
const struct bench_pair bench_pairs[] = {
    {"rowlock-postgresql-lease", "etcd"},
    {"rowlock-postgresql-lease", "zookeeper"},
    {"rowlock-postgresql-lease", "redis-always"},
    {"rowlock-postgresql-lease", "redis"},
    {"rowlock-postgresql-lease", "postgres-update"},
    {"rowlock-postgresql-lease", "postgres-update-lazy"},
    {"rowlock-postgresql-lease-sync", "etcd"},
    {"rowlock-postgresql-lease-sync", "zookeeper"},
    {"rowlock-postgresql-lease-sync", "redis-always"},
    {"rowlock-postgresql-lease-sync", "postgres-update"},
    {"rowlock-postgresql-lease-nosync", "redis"},
    {"rowlock-postgresql-lock", "postgres-advisory"},
    {"rowlock-postgresql-lock", "postgres-advisory-xact"},
    {"rowlock-postgresql-lock", "postgres-for-update"},
    {"rowlock-postgresql-lock-nosync", "postgres-for-update-nosync"},
    {"rowlock-postgresql-lock", "postgres-no-lock"},
    {"rowlock-postgresql-lock", "redis"},
    {"rowlock-mariadb-lease", "etcd"},
    {"rowlock-mariadb-lease", "zookeeper"},
    {"rowlock-mariadb-lease", "redis-always"},
    {"rowlock-mariadb-lease", "mariadb-update"},
    {"rowlock-mariadb-lock", "mariadb-get-lock"},
    {"rowlock-mariadb-lock", "mariadb-for-update"},
    {"rowlock-mariadb-lock", "mariadb-no-lock"},
    {"rowlock-sqlite-lease", "flock"},
    {"rowlock-sqlite-lock", "flock"},
    {"rowlock-sqlite-lock", "sqlite-no-lock"},
    {NULL, NULL},
};

void bench_name(unsigned name, char out[BENCH_NAME])
{
    snprintf(out, BENCH_NAME, "bench:%07u", name);
}

void bench_pause(unsigned *pause)
{
    *pause = *pause == 0 ? 1000 : *pause < 25000 ? *pause * 2 : 50000;
    bench_rest((int)(*pause / 2 + (unsigned)random() % (*pause / 2)));
}

void bench_append(struct bench_command *command, const char *argument)
{
    size_t i = 0;

    while (command->argv[i])
        i++;
    if (i + 1 >= BENCH_ARGUMENTS)
        bench_die("too many arguments");
    command->argv[i] = argument;
}

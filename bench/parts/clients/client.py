# SPDX-License-Identifier: Apache-2.0
"""The measured client in Python; bench/parts/run describes its commands and its output."""

import os
import sys
import time
from typing import Any

import psycopg
import rowlock

URL, COMMAND, *REST = sys.argv[1:]
REQUEST = (
    "SELECT token, ticket, place, holder FROM rowlock.request(%s::text,"
    " %s::bigint * interval '1 ms', %s::text, %s::bigint * interval '1 ms', %s::text,"
    " %s::integer, %s::text, %s::bigint, %s::text, %s::text)"
)
HOST = os.uname().nodename


class Kept(psycopg.Connection[Any]):
    """One connection for all leases, as of a pool."""

    def close(self) -> None:
        pass


kept: Any = Kept.connect(URL)
kept.autocommit = True


def take(connect: Any, name: str) -> None:
    with rowlock.lease(connect, name):
        pass


def by_hand(connection: Any, name: str) -> None:
    values = (name, 30000, os.urandom(16).hex(), 5000, "exclusive", None, HOST, os.getpid(),
              "client.py", None)  # fmt: skip
    with connection.cursor() as cursor:
        token = cursor.execute(REQUEST, values).fetchone()[0]
    with connection.cursor() as cursor:
        assert cursor.execute("SELECT rowlock.release(%s::bigint)", (token,)).fetchone()[0]


def by_hand_connecting(name: str) -> None:
    connection = psycopg.connect(URL)
    connection.autocommit = True
    by_hand(connection, name)
    connection.close()


WAYS = {
    "kept": (lambda name: take(lambda: kept, name), lambda name: by_hand(kept, name)),
    "connecting": (lambda name: take(URL, name), by_hand_connecting),
}


def rate(way: Any) -> float:
    count, began = 0, time.monotonic()
    while time.monotonic() < began + 0.1:
        way(f"bench:{count % 100}")
        count += 1
    return count / (time.monotonic() - began)


def pairs(which: str, rounds: str) -> None:
    ways = WAYS[which]
    for i in range(-5, int(rounds)):  # the first ones warm up
        order = (0, 1) if i % 2 else (1, 0)
        rates = {of: rate(ways[of]) for of in order}
        if i >= 0:
            print(rates[0] / rates[1], rates[0], rates[1])


def handover(count: str) -> None:
    for _ in range(int(count)):
        asked = time.monotonic_ns()
        with rowlock.lease(URL, "bench:handover"):
            got = time.monotonic_ns()
            time.sleep(0.05)
            released = time.monotonic_ns()
        print(asked, got, released)


def wait() -> None:
    with rowlock.lease(URL, "bench:idle"):
        pass


{"pairs": pairs, "handover": handover, "wait": wait}[COMMAND](*REST)

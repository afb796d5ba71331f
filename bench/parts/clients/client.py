# SPDX-License-Identifier: Apache-2.0
"""The measured client in Python; bench/parts/run describes its commands and its output."""

import os
import sys
import threading
import time
import traceback
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


def keep() -> Any:
    kept: Any = Kept.connect(URL)
    kept.autocommit = True
    return kept


def pool() -> Any:
    import sqlalchemy

    scheme, _, rest = URL.partition("://")
    driver, options = "mysql+pymysql", {}
    if scheme == "postgresql":  # a pooler keeps no named statements
        driver, options = "postgresql+psycopg", {"prepare_threshold": None}
    return sqlalchemy.create_engine(
        f"{driver}://{rest}", pool_size=10, max_overflow=0, connect_args=options
    )


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


def ways_of(which: str) -> Any:
    if which == "connecting":
        return (lambda name: take(URL, name), by_hand_connecting)
    kept = keep()
    return (lambda name: take(lambda: kept, name), lambda name: by_hand(kept, name))


def rate(way: Any) -> float:
    count, began = 0, time.monotonic()
    while time.monotonic() < began + 0.1:
        way(f"bench:{count % 100}")
        count += 1
    return count / (time.monotonic() - began)


def pairs(which: str, rounds: str) -> None:
    ways = ways_of(which)
    for i in range(-5, int(rounds)):  # the first ones warm up
        order = (0, 1) if i % 2 else (1, 0)
        rates = {of: rate(ways[of]) for of in order}
        if i >= 0:
            print(rates[0] / rates[1], rates[0], rates[1])


def handover(count: str, source: Any = URL) -> None:
    for _ in range(int(count)):
        asked = time.monotonic_ns()
        with rowlock.lease(source, "bench:handover"):
            got = time.monotonic_ns()
            time.sleep(0.05)
            released = time.monotonic_ns()
        print(asked, got, released)


def pooled(count: str) -> None:
    handover(count, pool())


def others(waiters: str, ms: str) -> None:
    engine, name = pool(), f"bench:others {os.getpid()}"

    def work() -> None:
        try:
            while True:
                with rowlock.lease(engine, name):
                    time.sleep(0.02)
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    for _ in range(int(waiters)):
        threading.Thread(target=work, daemon=True).start()
    end = time.monotonic() + int(ms) / 1000
    while time.monotonic() < end:
        asked = time.monotonic_ns()
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("SELECT 1").scalar()
        print(time.monotonic_ns() - asked)
        time.sleep(0.01)
    sys.stdout.flush()
    os._exit(0)


def wait() -> None:
    with rowlock.lease(URL, "bench:idle"):
        pass


{"pairs": pairs, "handover": handover, "pooled": pooled, "others": others, "wait": wait}[COMMAND](
    *REST
)

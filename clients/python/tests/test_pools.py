# SPDX-License-Identifier: Apache-2.0
"""Pools, poolers and frameworks as the source of leases: ROWLOCK_TEST_URL.

ROWLOCK_TEST_POOLER is the URL of PgBouncer before it, in transaction mode with few sessions.
"""

import asyncio
import contextlib
import functools
import importlib
import os
import threading
import unittest
from typing import Any, AsyncIterator, Callable, ContextManager, Dict, Iterator, List
from urllib.parse import unquote, urlsplit

import rowlock
from rowlock import _session, aio

URL = os.environ["ROWLOCK_TEST_URL"]
POOLER = os.environ.get("ROWLOCK_TEST_POOLER", "")
PARTS = urlsplit(URL)
MARIADB = PARTS.scheme in ("mariadb", "mysql")
SIZE, CALLERS = 10, 12


def alchemy_url(driver: str) -> str:
    return f"{'mysql' if MARIADB else 'postgresql'}+{driver}" + URL[URL.index(":") :]


@contextlib.contextmanager
def of_psycopg() -> Iterator[Any]:
    kind = importlib.import_module("psycopg_pool").ConnectionPool
    with kind(URL, min_size=1, max_size=SIZE, timeout=60) as pool:
        yield pool, pool.connection


@contextlib.contextmanager
def of_psycopg2() -> Iterator[Any]:
    kind = importlib.import_module("psycopg2.pool").ThreadedConnectionPool
    pool = kind(1, SIZE, URL)
    room = threading.BoundedSemaphore(SIZE - 1)  # this pool waits for nobody

    @contextlib.contextmanager
    def connection() -> Iterator[Any]:
        with room:
            lent = pool.getconn()
            try:
                yield lent
            finally:
                pool.putconn(lent)

    yield pool, connection
    pool.closeall()


@contextlib.contextmanager
def of_alchemy(driver: str) -> Iterator[Any]:
    create = importlib.import_module("sqlalchemy").create_engine
    engine = create(alchemy_url(driver), pool_size=SIZE, max_overflow=0, pool_timeout=60)

    @contextlib.contextmanager
    def connection() -> Iterator[Any]:
        lent = engine.raw_connection()
        try:
            yield lent
        finally:
            lent.close()

    yield engine, connection
    engine.dispose()


def pools() -> Dict[str, Callable[[], ContextManager[Any]]]:
    if MARIADB:
        return {"sqlalchemy": functools.partial(of_alchemy, "pymysql")}
    return {
        "psycopg": of_psycopg,
        "psycopg2": of_psycopg2,
        "sqlalchemy": functools.partial(of_alchemy, "psycopg"),
    }


def settings(connection: Any) -> Any:
    """What the next user of the connection would notice."""
    with connection.cursor() as cursor:
        if not MARIADB:
            cursor.execute("SHOW client_encoding")
            found = cursor.fetchone()
            connection.rollback()
            return found, getattr(connection, "driver_connection", connection).autocommit
        variables = "'tx_isolation', 'transaction_isolation', 'innodb_lock_wait_timeout'"
        cursor.execute(
            f"SHOW VARIABLES WHERE variable_name IN ({variables}, 'autocommit')"
        )
        return cursor.fetchall()


class Blocking(unittest.TestCase):
    def in_threads(self, work: Callable[[], None], count: int) -> None:
        errors: List[BaseException] = []

        def caught() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=caught) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_more_requests_than_the_pool_has_connections_finish(self) -> None:
        for what, pool_of in pools().items():
            with self.subTest(what), pool_of() as (pool, borrowed):
                inside, most, done = [0], [0], []

                def request() -> None:
                    with rowlock.lease(pool, "pooled", ttl=30) as held:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                        with borrowed() as connection, connection.cursor() as cursor:
                            cursor.execute("SELECT 1")
                        held.check()
                        done.append(held.token)
                        inside[0] -= 1

                self.in_threads(request, CALLERS)
                self.assertEqual((most[0], len(set(done))), (1, CALLERS))
                self.assertEqual(_session.GATES, {})

    def test_a_borrowed_connection_goes_back_as_it_came(self) -> None:
        for what, pool_of in pools().items():
            with self.subTest(what), pool_of() as (pool, borrowed):
                with borrowed() as connection:
                    before = settings(connection)
                with rowlock.lease(pool, "pooled", ttl=3) as held:
                    with self.assertRaises(rowlock.Busy):
                        rowlock.lease(pool, "pooled", wait=0).acquire()
                with borrowed() as connection:
                    self.assertEqual(settings(connection), before)
                self.assertGreater(held.token, 0)

    def test_an_exhausted_pool_is_unavailable_in_time(self) -> None:
        for what, pool_of in pools().items():
            with self.subTest(what), pool_of() as (pool, borrowed), contextlib.ExitStack() as all:
                for _ in range(SIZE - (what == "psycopg2")):
                    all.enter_context(borrowed())
                if what == "psycopg2":
                    all.callback(pool.putconn, pool.getconn())
                with self.assertRaises(rowlock.Unavailable):
                    rowlock.lease(pool, "pooled", wait=0).acquire()

    def test_a_connection_that_the_pool_lends_may_be_dead(self) -> None:
        for what, pool_of in pools().items():
            with self.subTest(what), pool_of() as (pool, borrowed):
                with borrowed() as connection, connection.cursor() as cursor:
                    which = "CONNECTION_ID()" if MARIADB else "pg_backend_pid()"
                    cursor.execute(f"SELECT {which}")
                    pid = cursor.fetchone()[0]
                    connection.rollback()
                    end(pid)
                with rowlock.lease(pool, "pooled", wait=20):
                    pass

    @unittest.skipIf(MARIADB, "a setting of PostgreSQL's roles")
    def test_transactions_may_be_of_another_kind_by_default(self) -> None:
        options = "-c default_transaction_isolation=serializable -c default_transaction_read_only=on"
        connect = importlib.import_module("psycopg").connect
        with rowlock.lease(lambda: connect(URL, options=options), "other", ttl=3) as held:
            self.assertIn("other", str(held))

    @unittest.skipUnless(POOLER, "without a pooler")
    def test_behind_a_pooler_no_waiter_keeps_a_session(self) -> None:
        psycopg = importlib.import_module("psycopg")
        lost = []
        with rowlock.lease(POOLER, "held", ttl=3, on_event=lost.append) as held:
            over = threading.Event()
            asked = threading.Semaphore(0)

            def wait() -> None:
                with contextlib.suppress(rowlock.Busy):
                    rowlock.lease(POOLER, "held", wait=6).acquire().release()
                asked.release()

            def look() -> None:
                while not over.is_set():
                    with psycopg.connect(POOLER, autocommit=True) as connection:
                        connection.execute("SELECT 1", prepare=False)

            looker = threading.Thread(target=look)
            looker.start()
            self.in_threads(wait, 20)
            over.set()
            looker.join()
            held.check()
        self.assertEqual([event.what for event in lost], ["acquired", "released"])

    @unittest.skipIf(MARIADB, "Django uses mysqlclient there")
    def test_a_connection_of_django(self) -> None:
        from django.conf import settings as django_settings
        from django.db import connections

        database = {
            "ENGINE": "django.db.backends.postgresql", "NAME": PARTS.path[1:],
            "HOST": PARTS.hostname, "PORT": PARTS.port, "USER": PARTS.username,
        }  # fmt: skip
        if not django_settings.configured:
            django_settings.configure(DATABASES={"default": database})
        with rowlock.lease(connections["default"], "django"):
            with self.assertRaises(rowlock.Busy):
                rowlock.lease(connections["default"], "django", wait=0).acquire()
            with self.assertRaisesRegex(rowlock.RowlockError, "atomic"):
                rowlock.lock(connections["default"], "x")
        connections.close_all()


def end(pid: int) -> None:
    if MARIADB:
        module = importlib.import_module("pymysql")
        connection = module.connect(
            host=PARTS.hostname, port=PARTS.port, user=PARTS.username,
            password=unquote(PARTS.password or ""), database=PARTS.path[1:],
        )  # fmt: skip
        connection.cursor().execute(f"KILL {pid}")
        connection.close()
    else:
        with importlib.import_module("psycopg").connect(URL) as connection:
            connection.execute(f"SELECT pg_terminate_backend({pid}, 10000)")


@unittest.skipIf(MARIADB, "asyncio works on PostgreSQL only")
class Asyncio(unittest.IsolatedAsyncioTestCase):
    @contextlib.asynccontextmanager
    async def pools(self) -> AsyncIterator[Any]:
        asyncpg = importlib.import_module("asyncpg")
        kind = importlib.import_module("psycopg_pool").AsyncConnectionPool
        create = importlib.import_module("sqlalchemy.ext.asyncio").create_async_engine
        text = importlib.import_module("sqlalchemy").text
        pool = await asyncpg.create_pool(URL, min_size=1, max_size=SIZE)
        other = kind(URL, min_size=1, max_size=SIZE, open=False)
        await other.open()
        engine = create(alchemy_url("asyncpg"), pool_size=SIZE, max_overflow=0)

        async def select(lent: Any) -> None:
            async with lent as connection:
                await connection.execute(text("SELECT 1") if lent_by is engine else "SELECT 1")

        lent_by: Any = None

        async def query(source: Any) -> None:
            nonlocal lent_by
            lent_by = source
            await select(
                pool.acquire() if source is pool
                else other.connection() if source is other
                else engine.connect()
            )  # fmt: skip

        yield {"asyncpg": pool, "psycopg": other, "sqlalchemy": engine}, query
        await pool.close()
        await other.close()
        await engine.dispose()

    async def test_more_requests_than_the_pool_has_connections_finish(self) -> None:
        async with self.pools() as (sources, query):
            for what, source in sources.items():
                with self.subTest(what):
                    inside = 0

                    async def request() -> int:
                        nonlocal inside
                        async with aio.lease(source, "pooled") as held:
                            inside += 1
                            self.assertEqual(inside, 1)
                            await query(source)
                            inside -= 1
                            return held.token

                    tokens = await asyncio.gather(*(request() for _ in range(CALLERS)))
                    self.assertEqual(len(set(tokens)), CALLERS)

    async def test_a_lease_of_a_pool_is_renewed(self) -> None:
        async with self.pools() as (sources, _):
            for what, source in sources.items():
                with self.subTest(what):
                    async with aio.lease(source, "pooled", ttl=1.5) as held:
                        while held._state._end < held._state._since + 3:
                            self.assertFalse(held.lost.is_set())
                            await asyncio.sleep(0.1)
                        held.check()

    @unittest.skipUnless(POOLER, "without a pooler")
    async def test_behind_a_pooler_by_each_driver(self) -> None:
        asyncpg = importlib.import_module("asyncpg")
        psycopg = importlib.import_module("psycopg").AsyncConnection
        drivers = {"asyncpg": asyncpg.connect, "psycopg": psycopg.connect}
        for what, connect in drivers.items():
            with self.subTest(what):
                async def request() -> None:
                    async with aio.lease(lambda: connect(POOLER), "pooled", ttl=3) as held:
                        for _ in range(10):  # psycopg prepares after five
                            await held._state._session.call(5, "holders", "pooled")
                        held.check()

                await asyncio.gather(*(request() for _ in range(8)))


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""The asyncio half on a real server: ROWLOCK_TEST_URL, ROWLOCK_TEST_DRIVER: psycopg or asyncpg."""

import asyncio
import functools
import importlib
import json
import os
import socket
import sys
import time
import unittest
import unittest.mock
from typing import Any, Dict, List

import rowlock
from rowlock import _core, aio
from test_rowlock import DRIVER, URL, command, settings

ASYNCPG = DRIVER == "asyncpg"


async def connect(url: str = URL, **options: Any) -> Any:
    module = importlib.import_module(DRIVER)
    return await getattr(module, "AsyncConnection", module).connect(url, **options)


def asyncio_settings() -> Dict[str, Dict[str, Any]]:
    if not ASYNCPG:
        module = importlib.import_module("psycopg")
        return {**settings(), "bound by the client": {"cursor_factory": module.AsyncClientCursor}}
    module = importlib.import_module("asyncpg")

    class Reversed(module.Record):  # type: ignore[misc, name-defined]
        def __getitem__(self, place: Any) -> Any:
            return super().__getitem__(place if isinstance(place, str) else -1 - place)

    return {
        "record_class": {"record_class": Reversed},
        "never prepared": {"statement_cache_size": 0},
        "latin1": {"server_settings": {"client_encoding": "latin1"}},
    }


async def execute(connection: Any, statement: str) -> None:
    await connection.execute(statement)


async def begin(connection: Any) -> None:
    await execute(connection, "BEGIN" if ASYNCPG else "SELECT 1")


async def show(*words: str) -> str:
    return await asyncio.to_thread(command, *words)


async def until_waiting(name: str, waiters: int = 1) -> None:
    while (await show("ls", name)).count("waiting") < waiters:
        await asyncio.sleep(0.02)


def changed(**functions: Any) -> Any:
    """Leases that are acquired meanwhile do this in another way."""
    return unittest.mock.patch("rowlock.aio.ASYNCIO", aio.ASYNCIO._replace(**functions))


class Test(unittest.IsolatedAsyncioTestCase):
    async def asyncTearDown(self) -> None:
        deadline = time.monotonic() + 20  # a lost lease is released in the background
        while await show("ls") and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        self.assertEqual(await show("ls"), "")

    async def test_a_lease_excludes_and_is_shown(self) -> None:
        async with aio.lease(connect, "x", note="mine") as held:
            held.check()
            self.assertGreater(held.remaining(), 20)
            shown = await show("ls", "x")
            self.assertIn("mine", shown)
            self.assertIn(f":{os.getpid()} ", shown)
            with self.assertRaises(rowlock.Busy) as refused:
                await aio.lease(connect, "x", wait=0)
            self.assertIn("mine", refused.exception.holder or "")
            with self.assertRaises(rowlock.Busy):
                async with aio.lease(connect, "x", wait=0.5):
                    self.fail("the body ran")
        again = await aio.lease(URL, "x", wait=0)
        self.assertGreater(again.token, held.token)
        await again.release()

    async def test_an_application_may_set_what_rows_and_texts_are(self) -> None:
        name = "it's \\ \u00e9"  # of latin1
        for what, options in asyncio_settings().items():
            with self.subTest(what):
                opens = functools.partial(connect, **options)
                async with aio.lease(opens, name, note=name) as held:
                    with self.assertRaises(rowlock.Busy) as refused:
                        await aio.lease(opens, name, wait=0)
                    self.assertIn(str(os.getpid()), refused.exception.holder or "")
                    (shown,) = json.loads(await show("--json", "ls", name))
                    self.assertEqual((shown["name"], shown["note"]), (name, name))
                    connection = await opens()
                    await execute(connection, "BEGIN")
                    await held.fence(connection)
                    await aio.next_number(connection, "invoice")
                    await execute(connection, "ROLLBACK")
                    await connection.close()
                await (await aio.lease(connect, name, wait=0)).release()

    async def test_a_lock_object_acquires_each_time(self) -> None:
        lock = aio.lease(connect, "x", wait=0)
        tokens = []
        for _ in range(2):
            async with lock as held:
                tokens.append(held.token)
                held.check()
        self.assertLess(tokens[0], tokens[1])
        async with aio.lease(connect, "x"):
            with self.assertRaises(rowlock.Busy):
                async with lock:
                    self.fail("the body ran")
        async with lock as held:
            with self.assertRaisesRegex(rowlock.RowlockError, "is held here already"):
                async with lock:
                    self.fail("the body ran")
            self.assertIn(f":{os.getpid()} ", await show("ls", "x"))
        with self.assertRaisesRegex(rowlock.RowlockError, "acquire another"):
            async with held:
                self.fail("the body ran")

    async def test_tasks_share_a_lock_object(self) -> None:
        lock, inside, most = aio.lease(connect, "x"), [], []

        async def work(number: int) -> None:
            async with lock:
                inside.append(number)
                most.append(len(inside))
                await asyncio.sleep(0)
                inside.remove(number)

        await asyncio.gather(*map(work, range(3)))
        self.assertEqual(most, [1, 1, 1])

    async def test_a_connection_that_was_closed_is_replaced(self) -> None:
        async with aio.lease(connect, "x", ttl=3) as held:
            await held._state._session._line.connection.close()
            await asyncio.sleep(4)
            held.check()

    async def test_a_break_is_reported(self) -> None:
        with self.assertRaises(rowlock.Lost):
            async with aio.lease(connect, "x", ttl=9) as held:
                await show("break", "x")
                await asyncio.wait_for(held.lost.wait(), 20)
                self.assertGreater(held._state._end - held._state._margin, _core.now())  # by a renewal
                with self.assertRaises(rowlock.Lost):
                    held.check()
                self.assertEqual(held.remaining(), 0)

    async def test_an_error_of_the_body_is_not_hidden(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            async with aio.lease(connect, "x", ttl=3) as held:
                await show("break", "--now", "x")
                await asyncio.wait_for(held.lost.wait(), 20)
                raise ZeroDivisionError

    async def test_work_is_cancelled_when_the_lease_is_lost(self) -> None:
        ended = []

        async def work(seconds: float) -> str:
            try:
                await asyncio.sleep(seconds)
                return "done"
            finally:
                ended.append(seconds)

        with self.assertRaisesRegex(rowlock.Lost, "stop the work"):
            async with aio.lease(connect, "x", ttl=3) as held:
                self.assertEqual(await held.run(work(0)), "done")
                await show("break", "x")
                await held.run(work(60))
        self.assertEqual(ended, [0, 60])

    async def test_work_after_the_end_never_begins(self) -> None:
        begun = []

        async def work() -> None:
            begun.append(1)

        async with aio.lease(connect, "x") as held:
            await held.run(work())
        with self.assertRaises(rowlock.Lost):
            await held.run(work())
        self.assertFalse(held.lost.is_set())
        self.assertEqual(begun, [1])

    async def test_a_cancelled_body_takes_its_work_along_and_releases(self) -> None:
        running, ended = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            running.set()
            try:
                await asyncio.sleep(600)
            finally:
                ended.set()

        async def body() -> None:
            async with aio.lease(connect, "x") as held:
                await held.run(work())

        task = asyncio.create_task(body())
        await running.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertTrue(ended.is_set())
        self.assertEqual(await show("ls"), "")

    async def test_work_that_is_cancelled_twice_has_ended_with_it(self) -> None:
        running, ended = asyncio.Event(), []

        async def work() -> None:
            running.set()
            try:
                await asyncio.sleep(600)
            finally:
                try:
                    await asyncio.sleep(600)  # it is ending
                finally:
                    ended.append(1)

        async with aio.lease(connect, "x") as held:
            task = asyncio.create_task(held.run(work()))
            await running.wait()
            for _ in range(2):
                task.cancel()
                await asyncio.sleep(0.1)
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(ended, [1])

    async def test_a_cancellation_of_work_that_is_ending_is_not_lost(self) -> None:
        ending = asyncio.Event()

        async def work() -> None:
            try:
                await asyncio.sleep(600)
            finally:
                ending.set()
                await asyncio.sleep(600)

        with self.assertRaises(rowlock.Lost):
            async with aio.lease(connect, "x", ttl=3) as held:
                task = asyncio.create_task(held.run(work()))
                await show("break", "x")
                await ending.wait()
                task.cancel()
                (error,) = await asyncio.gather(task, return_exceptions=True)
                self.assertIsInstance(error, asyncio.CancelledError)

    @unittest.skipIf(ASYNCPG, "its connections begin in autocommit mode")
    async def test_a_connection_that_cannot_be_prepared_is_closed(self) -> None:
        opened = []

        async def failing(_: bool) -> None:
            raise ZeroDivisionError

        async def connect_to_fail() -> Any:
            opened.append(await connect())
            opened[-1].set_autocommit = failing
            return opened[-1]

        with self.assertRaises(ZeroDivisionError):
            await aio.lease(connect_to_fail, "x")
        self.assertTrue(opened)
        self.assertTrue(all(connection.closed for connection in opened))

    async def test_a_database_that_hangs_ends_it_in_time(self) -> None:
        answers = asyncio.Event()

        async def hanging(connection: Any, statement: str, values: Any) -> Any:
            if "renew" in statement or "release" in statement:
                await answers.wait()
            return await aio.run(connection, statement, values)

        before = time.monotonic()
        with changed(run=hanging):
            held = await aio.lease(connect, "x", ttl=3)
        await asyncio.wait_for(held.lost.wait(), 20)
        self.assertLess(time.monotonic() - before, 3)
        with self.assertRaisesRegex(rowlock.Lost, r"\(not renewed for . s: .*did not answer in"):
            await held.release()  # while the database hangs
        answers.set()
        await (await aio.lease(connect, "x")).release()  # it has expired

    async def test_a_session_that_hangs_is_replaced(self) -> None:
        answers, stuck = asyncio.Event(), []

        async def hanging(connection: Any, statement: str, values: Any) -> Any:
            if "renew" in statement and not stuck:
                stuck.append(connection)
            if connection in stuck:
                await answers.wait()
            return await aio.run(connection, statement, values)

        with changed(run=hanging):
            async with aio.lease(connect, "x", ttl=6) as held:
                end = held._state._end
                while held._state._end == end and not held.lost.is_set():
                    await asyncio.sleep(0.02)
                held.check()
                self.assertTrue(stuck)
                answers.set()

    async def test_a_server_that_says_nothing_is_unavailable(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"postgresql://me@127.0.0.1:{listener.getsockname()[1]}/x"
            for wait in (0, 1, None):
                with self.assertRaises(rowlock.Unavailable):
                    await aio.lease(functools.partial(connect, url), "x", wait=wait)
            waiting = asyncio.create_task(aio.lease(functools.partial(connect, url), "x").acquire())
            await asyncio.sleep(0)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting

    async def test_a_cancellation_of_the_first_call_leaves_no_lease(self) -> None:
        sent, withdrawn = asyncio.Event(), asyncio.Event()

        async def slow(connection: Any, statement: str, values: Any) -> Any:
            if "request" in statement:  # it reaches the server after the withdrawal
                sent.set()
                await withdrawn.wait()
            row = await aio.run(connection, statement, values)
            if "cancel" in statement:
                withdrawn.set()
            return row

        with changed(run=slow):
            waiting = asyncio.create_task(aio.lease(connect, "x", ttl=600).acquire())
            await sent.wait()
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
        self.assertTrue(withdrawn.is_set())

    async def test_an_open_transaction_that_fenced_is_reported(self) -> None:
        connection = await connect()
        with self.assertRaisesRegex(rowlock.RowlockError, "a transaction that called fence"):
            async with aio.lease(connect, "x") as held:
                await begin(connection)
                await held.fence(connection)
        await connection.close()
        await show("break", "--now", "x")

    @unittest.skipUnless(sys.platform == "linux", "its clock stops while the machine sleeps")
    async def test_a_machine_that_slept_finds_it_lost(self) -> None:
        clock = time.clock_gettime

        def later(which: int) -> float:
            return clock(which) + (60 if which == time.CLOCK_BOOTTIME else 0)

        with self.assertRaises(rowlock.Lost):
            async with aio.lease(connect, "x", ttl=30) as held:
                with unittest.mock.patch("time.clock_gettime", later):
                    with self.assertRaises(rowlock.Lost):
                        held.check()

    async def test_a_lost_reply_is_repeated_with_the_same_owner(self) -> None:
        owners: List[str] = []
        tokens: List[int] = []

        async def losing(connection: Any, statement: str, values: Any) -> Any:
            row = await aio.run(connection, statement, values)
            if "request" in statement:
                owners.append(values[2])
                tokens.append(row[0])
            # the reply to what commits: by asyncpg that is the COMMIT
            if len(owners) == 1 and statement.startswith(commits):
                raise ConnectionResetError("lost")
            return row

        commits = "COMMIT" if DRIVER == "asyncpg" else "SELECT"

        for wait in (20, 0):
            with changed(run=losing):
                async with aio.lease(connect, "x", wait=wait) as held:
                    self.assertEqual(owners, [held.owner] * 2)
                    self.assertEqual(tokens, [held.token] * 2)
            owners.clear()
            tokens.clear()

    async def test_exclusive_run(self) -> None:
        calls = []

        @aio.exclusive_run(connect, "nightly", skip=True)
        async def nightly(what: str) -> str:
            if what == "outer":
                calls.append(await nightly("inner"))
            return what

        self.assertTrue(asyncio.iscoroutinefunction(nightly))
        self.assertEqual(await nightly("outer"), "outer")
        self.assertEqual(calls, [None])
        await (await aio.lease(connect, "nightly", wait=0)).release()  # it is free

    async def test_exclusive_run_refuses_what_it_cannot_protect(self) -> None:
        async def generator() -> Any:
            yield 1

        for function in (lambda: 1, generator):
            with self.assertRaisesRegex(TypeError, "is not an async def"):
                aio.exclusive_run(connect, "x")(function)  # type: ignore[arg-type]

    async def test_exclusive_run_has_the_terms_of_a_lease(self) -> None:
        @aio.exclusive_run(connect, "p", permits=2, wait=5, note="mine")
        async def nightly() -> str:
            return await show("ls", "p")

        async with aio.lease(connect, "p", permits=2, note="other"):
            self.assertRegex(await nightly(), "(?s)mine.*other|other.*mine")

    async def test_an_exclusive_run_waits_its_turn(self) -> None:
        @aio.exclusive_run(connect, "nightly")
        async def nightly() -> str:
            return "done"

        async with aio.lease(connect, "nightly"):
            waiting = asyncio.create_task(nightly())
            await until_waiting("nightly")
            self.assertFalse(waiting.done())
        self.assertEqual(await asyncio.wait_for(waiting, 30), "done")

    async def test_an_exclusive_run_raises_what_its_body_does(self) -> None:
        @aio.exclusive_run(connect, "nightly", skip=True)
        async def nightly() -> None:
            raise rowlock.Busy("other", "another holder")  # not of this lease: it does not skip

        with self.assertRaisesRegex(rowlock.Busy, "other"):
            await nightly()

    async def test_an_exclusive_run_is_cancelled_when_the_lease_is_lost(self) -> None:
        ended = []

        @aio.exclusive_run(connect, "nightly", ttl=3)
        async def nightly() -> None:
            try:
                await show("break", "nightly")
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        with self.assertRaisesRegex(rowlock.Lost, "stop the work"):
            await nightly()
        self.assertEqual(ended, ["cancelled"])

    async def test_the_fence(self) -> None:
        connection = await connect()
        async with aio.lease(connect, "x") as held:
            await begin(connection)
            await held.fence(connection)
            await execute(connection, "COMMIT")
            await begin(connection)
            with self.assertRaises(rowlock.Lost):
                await aio.fence(connection, "x", held.token - 1)
            await execute(connection, "ROLLBACK")
        await connection.close()

    async def test_a_lock_that_would_end_at_once_is_refused(self) -> None:
        connection = await connect()
        if not ASYNCPG:
            await connection.set_autocommit(True)
        async with aio.lease(connect, "y") as held:
            with self.assertRaisesRegex(rowlock.RowlockError, "no transaction is open"):
                await held.fence(connection)
        with self.assertRaisesRegex(rowlock.RowlockError, "no transaction is open"):
            await aio.lock(connection, "x")
        async with connection.transaction():
            await aio.lock(connection, "x")
        await connection.close()

    async def test_a_lock_in_a_transaction_of_sqlalchemy(self) -> None:
        import sqlalchemy
        import sqlalchemy.ext.asyncio as orm

        if not ASYNCPG and sqlalchemy.__version__ < "2":
            self.skipTest("SQLAlchemy 1.4 has no dialect for psycopg 3")
        url = f"postgresql+{DRIVER}:" + URL.partition(":")[2]
        engine = orm.create_async_engine(url)
        two = await connect()
        await begin(two)
        async with aio.lease(connect, "y") as held, orm.AsyncSession(engine) as session:
            await aio.lock(session, "x")
            with self.assertRaises(rowlock.Busy):
                await aio.lock(two, "x", timeout=0)
            await held.fence(session)
            await session.commit()
            async with engine.begin() as connection:
                await aio.lock(connection, "x", timeout=5)
        await engine.dispose()
        await two.close()

    async def test_a_wrong_source_is_no_endless_wait(self) -> None:
        with self.assertRaises(rowlock.Unavailable):
            await aio.lease("postgresql://somebody@127.0.0.1:1/x", "x")  # no server there
        with self.assertRaisesRegex(rowlock.RowlockError, "PostgreSQL only"):
            aio.lease("mariadb://somebody@127.0.0.1:1/x", "x")
        with self.assertRaises(ValueError):
            await aio.lease(connect, "x", shared=True, permits=3)

    async def cancelled_wait(self, again: bool) -> None:
        """Cancels a wait, and again while it leaves the queue."""
        leaving = asyncio.Event()

        async def slow(connection: Any, statement: str, values: Any) -> Any:
            if "cancel" in statement:
                leaving.set()
                await asyncio.sleep(0.3)
            return await aio.run(connection, statement, values)

        before = asyncio.all_tasks()
        with changed(run=slow):
            waiting = asyncio.create_task(aio.lease(connect, "x").__aenter__())
            await until_waiting("x")
        began = time.monotonic()
        waiting.cancel()
        if again:
            await leaving.wait()
            waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        self.assertLess(time.monotonic() - began, 30)  # 5 s; the machine may be busy
        left = asyncio.all_tasks() - before
        self.assertEqual(bool(left), again)
        await asyncio.gather(*left)
        self.assertNotIn("waiting", await show("ls", "x"))

    async def test_a_cancellation_ends_a_wait_and_leaves_the_queue(self) -> None:
        token = await show("acquire", "--ttl", "5m", "x")
        try:
            await self.cancelled_wait(False)
            await self.cancelled_wait(True)
        finally:
            await show("release", "x", "--token", token.strip())

    async def test_a_cancellation_does_not_wait_for_a_database_that_hangs(self) -> None:
        async def hanging(connection: Any, statement: str, values: Any) -> Any:
            if "cancel" in statement:
                await asyncio.sleep(600)
            return await aio.run(connection, statement, values)

        async with aio.lease(connect, "x"):
            with changed(run=hanging):
                waiting = asyncio.create_task(aio.lease(connect, "x").__aenter__())
                await until_waiting("x")
            waiting.cancel()
            done, _ = await asyncio.wait({waiting}, timeout=60)  # 5 s
            self.assertTrue(done and waiting.cancelled())
        await (await aio.lease(connect, "x")).release()  # it passes the ticket

    async def test_a_forked_child_does_not_use_it(self) -> None:
        async with aio.lease(connect, "x") as held:
            child = os.fork()
            if child == 0:
                try:
                    held.check()
                except rowlock.RowlockError:
                    os._exit(7)
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1] >> 8, 7)


if __name__ == "__main__":
    unittest.main(verbosity=2)

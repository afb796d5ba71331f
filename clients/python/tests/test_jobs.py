# SPDX-License-Identifier: Apache-2.0
"""Jobs of both halves on a real server: ROWLOCK_TEST_URL, ROWLOCK_TEST_DRIVER."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import unittest
import unittest.mock
from typing import Any, Dict, Iterator, List

import rowlock
from rowlock import aio
from rowlock._sources import hang_up
from test_rowlock import DRIVER, MARIADB, URL, command, connect, execute

# in between no claim can write
BLOCK = "LOCK TABLES rowlock_job WRITE" if MARIADB else "LOCK TABLE rowlock.job IN EXCLUSIVE MODE"
UNBLOCK = "UNLOCK TABLES" if MARIADB else "ROLLBACK"
FAR = "50w"  # a period that does not come due during a test; a new job is due at once
PROGRAM = f"""
import sys, time
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import rowlock, test_rowlock
jobs = rowlock.Jobs(test_rowlock.connect)
@jobs.job("j", every="{FAR}", ttl=5)
def job(run):
    run.note("retry %d" % run.retry)
    print("began", flush=True)
    run.lost.wait(60)
    print("told", flush=True)
jobs.run(grace=0.5)
"""


def history(job: str = "j") -> List[Dict[str, Any]]:
    """Its runs, the latest first."""
    shown: List[Dict[str, Any]] = json.loads(command("--json", "jobs", job))
    return list(shown[0]["history"])


def outcome(job: str = "j") -> str:
    return str(history(job)[0]["outcome"])


@contextlib.contextmanager
def start() -> "Iterator[subprocess.Popen[str]]":
    words = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        try:
            yield program
        finally:
            program.kill()


class Link:
    """Connections of run_due(), which are cut, and then refused for three times."""

    def __init__(self) -> None:
        self.connections: List[Any] = []
        self.refusals = 0
        self.nowhere = ("mariadb" if MARIADB else "postgresql") + "://app@127.0.0.1:1/app"

    def cut(self) -> None:
        self.refusals = 3
        for connection in self.connections:
            getattr(connection, "terminate", lambda: hang_up(connection))()  # noqa: B023

    def url(self) -> str:
        if self.refusals:
            self.refusals -= 1
            return self.nowhere
        return URL

    def connect(self) -> Any:
        self.connections.append(connect(self.url()))
        return self.connections[-1]

    async def connect_async(self) -> Any:
        from test_aio import connect as connects

        self.connections.append(await connects(self.url()))
        return self.connections[-1]


class Jobs(unittest.TestCase):
    def setUp(self) -> None:
        for job in json.loads(command("--json", "jobs")):
            command("jobs", job["name"], "--forget")

    def test_an_exception_is_recorded_with_its_text(self) -> None:
        jobs = rowlock.Jobs(connect)

        @jobs.job("j", every=FAR, retry=1, backoff=0)
        def _(run: rowlock.Run) -> None:
            raise ValueError("no mail server: \u00e9\0\udce9")  # as of a name of a file

        with self.assertLogs("rowlock", "WARNING") as logged:
            self.assertEqual(jobs.run_due(), 1)
        (record,) = logged.records
        self.assertRegex(record.getMessage(), "^the job 'j': failed after .*: ValueError: no mail")
        run = history()[0]
        self.assertEqual((run["outcome"], run["exit"]), ("failed", 1))
        self.assertTrue(run["output"].endswith("ValueError: no mail server: \u00e9??\n"), run)
        self.assertEqual(jobs.run_due(), 1)
        self.assertEqual(history()[0]["repeat"], 1)
        self.assertEqual(jobs.run_due(), 0)

    def test_a_result_is_sent_again_while_the_database_is_away(self) -> None:
        link = Link()
        jobs = rowlock.Jobs(link.connect)

        @jobs.job("j", every=FAR, ttl=30)
        def _(run: rowlock.Run) -> None:
            run.note("37 mails")
            link.cut()

        with self.assertLogs("rowlock", "WARNING") as logged:
            self.assertEqual(jobs.run_due(), 1)
        self.assertIn("the job 'j': the result could not be recorded", logged.output[0])
        self.assertEqual((len(logged.output), link.refusals), (1, 0))
        self.assertEqual(jobs.run_due(), 0)
        (run,) = history()
        self.assertEqual((run["outcome"], run["exit"], run["output"]), ("done", 0, "37 mails"))

    def test_a_result_is_recorded_as_soon_as_a_fence_has_ended(self) -> None:
        jobs = rowlock.Jobs(connect)
        with contextlib.closing(connect()) as connection:

            class Ending(logging.Handler):
                def emit(self, record: logging.LogRecord) -> None:
                    if "is sent again" in record.getMessage():
                        connection.rollback()

            @jobs.job("j", every=FAR, ttl=30)
            def _(run: rowlock.Run) -> None:
                if MARIADB:
                    execute(connection, "BEGIN")
                run.fence(connection)

            ending = Ending()
            logging.getLogger("rowlock").addHandler(ending)
            try:
                jobs.run_due()
            finally:
                logging.getLogger("rowlock").removeHandler(ending)
        self.assertEqual(outcome(), "done")

    def test_an_error_after_max_run_is_recorded_as_timed_out(self) -> None:
        jobs = rowlock.Jobs(connect)

        @jobs.job("j", every=FAR, max_run=0.2)
        def _(run: rowlock.Run) -> None:
            with self.assertRaises(rowlock.Overrun):
                while not run.lost.wait(0.05):
                    run.check()
            raise ValueError("no mail server")

        with self.assertLogs("rowlock", "WARNING"):
            jobs.run_due()
        self.assertEqual(outcome(), "timed out")
        self.assertIn("no mail server", history()[0]["output"])

    def test_a_graceful_end_gives_the_run_to_another_node_at_once(self) -> None:
        with start() as ending:
            assert ending.stdout
            self.assertEqual(ending.stdout.readline(), "began\n")
            ending.send_signal(signal.SIGTERM)
            self.assertEqual(ending.wait(60), 0)
        self.assertEqual(outcome(), "lost")
        jobs = rowlock.Jobs(connect)
        jobs.job("j", every=FAR)(lambda run: None)
        self.assertEqual(jobs.run_due(), 1)

    def test_another_schedule_is_a_warning(self) -> None:
        for period in (FAR, "51w"):
            jobs = rowlock.Jobs(connect)
            jobs.job("j", every=period)(lambda run: None)
            if period == FAR:
                jobs.run_due()
                continue
            with self.assertLogs("rowlock", "WARNING") as logged:
                jobs.run_due()
        self.assertIn("another node has the schedule 'every 50w'", logged.output[0])

    def test_a_wrong_schedule_is_refused_with_the_name_of_the_job(self) -> None:
        jobs = rowlock.Jobs(connect)
        jobs.job("fine", every=FAR)(lambda run: None)
        jobs.job("j", cron="60 * * * *")(lambda run: None)
        with self.assertRaises(Exception) as refused:
            jobs.run_due()
        text = refused.exception.args[-1]  # MariaDB's drivers have a number before it
        self.assertRegex(text, "^the job 'j': rowlock: minute.*allowed are 0 to 59")

    def test_a_wrong_argument_ends_the_loop(self) -> None:
        jobs = rowlock.Jobs(connect)
        jobs.job("j", every=FAR, retry=10**12)(lambda run: None)
        with self.assertLogs("rowlock", "ERROR") as logged, jobs:
            assert jobs._thread
            jobs._thread.join(60)
        self.assertIn("the jobs have ended", logged.output[0])

    def test_a_lock_timeout_of_the_first_claim_is_a_warning_and_the_loop_asks_again(self) -> None:
        ran, warned = threading.Event(), threading.Event()
        handler = logging.Handler()
        handler.emit = lambda record: warned.set()  # type: ignore[method-assign]
        logging.getLogger("rowlock").addHandler(handler)
        self.addCleanup(logging.getLogger("rowlock").removeHandler, handler)

        def impatient() -> Any:
            connection = connect()
            limit = "lock_wait_timeout = 1" if MARIADB else "lock_timeout = 100"
            execute(connection, f"SET SESSION {limit}")
            connection.commit()
            return connection

        jobs = rowlock.Jobs(impatient)
        jobs.job("j", every=FAR)(lambda run: ran.set())
        with contextlib.closing(connect()) as blocking:
            execute(blocking, BLOCK)
            with self.assertRaises(rowlock.Busy):
                jobs.run_due()  # which does not ask again
            with unittest.mock.patch("rowlock._jobs.AGAIN", 0.1), jobs:
                self.assertTrue(warned.wait(60))
                self.assertFalse(ran.is_set())
                execute(blocking, UNBLOCK)
                self.assertTrue(ran.wait(60))
        self.assertEqual(outcome(), "done")

    def test_wrong_arguments_are_refused_when_the_job_is_defined(self) -> None:
        jobs = rowlock.Jobs(connect)
        jobs.job("j", every="1h")(lambda run: None)
        for wrong, error in (
            (lambda: jobs.job("k"), ValueError),
            (lambda: jobs.job("k", every="1h", cron="@daily"), ValueError),
            (lambda: jobs.job("k", every="1h", missed="never"), ValueError),
            (lambda: jobs.job("k", every="1h", ttl="30s"), TypeError),
            (lambda: jobs.job("k", every="1h", retry=1.5), TypeError),
            (lambda: jobs.job("j", every="1h")(print), ValueError),
            (lambda: jobs.job("k", every="1h")(asyncio.sleep), TypeError),
            (lambda: rowlock.Jobs(connect, limit=0), ValueError),
            (lambda: rowlock.Jobs(5), TypeError),
        ):
            with self.assertRaises(error):
                wrong()


@unittest.skipIf(MARIADB or DRIVER == "psycopg2", "no driver for asyncio")
class Asyncio(unittest.IsolatedAsyncioTestCase):
    setUp = Jobs.setUp

    async def connect(self) -> Any:
        from test_aio import connect as connects

        return await connects()

    async def test_a_result_is_sent_again_while_the_database_is_away(self) -> None:
        link = Link()
        jobs = aio.Jobs(link.connect_async)

        @jobs.job("j", every=FAR, ttl=30)
        async def _(run: aio.Run) -> None:
            run.note("37 mails")
            link.cut()

        self.assertEqual((await jobs.run_due(), link.refusals), (1, 0))
        self.assertEqual(await jobs.run_due(), 0)
        (run,) = await asyncio.to_thread(history)
        self.assertEqual((run["outcome"], run["output"]), ("done", "37 mails"))



if __name__ == "__main__":
    unittest.main()

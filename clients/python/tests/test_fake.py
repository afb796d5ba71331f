# SPDX-License-Identifier: Apache-2.0
"""rowlock.testing.Fake, and by it what a lease tells: events, warnings, holders. No server."""

import asyncio
import gc
import logging
import subprocess
import sys
import threading
import unittest
import unittest.mock
from typing import Any, Callable, List

import rowlock
from rowlock import aio
from rowlock.testing import Connection, Fake


class SlowFake(Fake):
    """Its first answer to a statement takes so many seconds."""

    def __init__(self, which: str, seconds: float) -> None:
        super().__init__()
        self.which, self.seconds, self.calls = which, seconds, 0
        self.reached, self.over = threading.Event(), threading.Event()

    def __call__(self) -> Connection:
        return SlowConnection(self)


class SlowConnection(Connection):
    def execute(self, which: str, *values: Any) -> Any:
        row = super().execute(which, *values)
        slow = self._fake
        assert isinstance(slow, SlowFake)
        if which == slow.which:
            slow.calls += 1
            if slow.calls == 1:
                slow.reached.set()
                slow.over.wait(slow.seconds)
        return row

    def fileno(self) -> int:  # hang_up() ends the wait
        assert isinstance(self._fake, SlowFake)
        self._fake.over.set()
        raise OSError


class Blocking(unittest.TestCase):
    def setUp(self) -> None:
        self.fake = Fake()

    def test_a_lease_excludes_and_waits_its_turn(self) -> None:
        order: List[str] = []
        threads = []
        with rowlock.lease(self.fake, "x", note="mine") as held:
            with self.assertRaises(rowlock.Busy) as refused:
                rowlock.lease(self.fake, "x", wait=0).acquire()
            holder = refused.exception.holder
            self.assertEqual((holder.kind, holder.note), ("lease", "mine"))
            for who in ("first", "second"):

                def work(who: str = who) -> None:
                    with rowlock.lease(self.fake, "x"):
                        order.append(who)

                threads.append(threading.Thread(target=work))
                threads[-1].start()
                while ["x"] * len(threads) != [name for name, _ in self.fake.queue]:
                    threads[-1].join(0.01)
            held.check()
        for thread in threads:
            thread.join()
        self.assertEqual(order, ["first", "second"])

    def test_shared_leases_and_permits(self) -> None:
        with rowlock.lease(self.fake, "x", shared=True):
            rowlock.lease(self.fake, "x", shared=True, wait=0).acquire().release()
            with self.assertRaises(rowlock.Busy):
                rowlock.lease(self.fake, "x", wait=0).acquire()
        with rowlock.lease(self.fake, "p", permits=2):
            with rowlock.lease(self.fake, "p", permits=2, wait=0):
                with self.assertRaises(rowlock.Busy):
                    rowlock.lease(self.fake, "p", permits=2, wait=0).acquire()

    def test_a_broken_lease_is_lost(self) -> None:
        events: List[rowlock.Event] = []
        with self.assertRaises(rowlock.Lost):
            with rowlock.lease(self.fake, "x", ttl=1, on_event=events.append) as held:
                self.fake.break_("x")
                self.assertTrue(held.lost.wait(30))
        self.assertEqual([event.what for event in events], ["acquired", "lost"])
        self.assertIn("broken", events[1].reason)

    def test_it_can_be_unavailable(self) -> None:
        self.fake.stop()
        with self.assertRaises(rowlock.Unavailable):
            rowlock.lease(self.fake, "x", wait=0).acquire()
        self.fake.start()
        rowlock.lease(self.fake, "x", wait=0).acquire().release()

    def test_locks_numbers_and_refreshes_of_a_transaction(self) -> None:
        one, other = self.fake.connection(), self.fake.connection()
        rowlock.lock(one, "x")
        with self.assertRaises(rowlock.Busy):
            rowlock.lock(other, "x", timeout=0.05)
        with self.assertRaises(rowlock.Busy):
            rowlock.lease(self.fake, "x", wait=0).acquire()
        one.commit()
        rowlock.lock(other, "x", timeout=0)
        self.assertEqual([rowlock.next_number(one, "n") for _ in range(2)], [1, 2])
        loads: List[int] = []
        for _ in range(2):
            rowlock.refresh(one, "rates", 60, lambda: loads.append(1))
            one.commit()
        self.assertEqual(loads, [1])
        held = rowlock.lease(self.fake, "y").acquire()
        held.fence(one)
        self.fake.break_("y")
        for call in (lambda: rowlock.fence(one, "y", held.token), held.release):
            with self.assertRaises(rowlock.Lost):
                call()

    def test_an_object_that_was_dropped_is_released_with_a_warning(self) -> None:
        held = rowlock.lease(self.fake, "x").acquire()
        with self.assertLogs("rowlock", logging.WARNING) as logs:
            del held
            gc.collect()
        self.assertIn("dropped", logs.output[0])
        rowlock.lease(self.fake, "x", wait=30).acquire().release()

    def test_release_all(self) -> None:
        held = [rowlock.lease(self.fake, name).acquire() for name in ("x", "y")]
        rowlock.release_all()
        self.assertEqual(self.fake.held, [])
        for lease in held:  # its body hears of it
            self.assertTrue(lease.lost.is_set())
            for call in (lease.check, lease.release):
                with self.assertRaisesRegex(rowlock.Lost, "released by release_all"):
                    call()
            lease.release()

    def test_release_all_waits_for_a_release_of_another_caller(self) -> None:
        slow = SlowFake("release", 1.0)
        held = rowlock.lease(slow, "x").acquire()
        first = threading.Thread(target=rowlock.release_all)
        first.start()
        self.assertTrue(slow.reached.wait(30))
        rowlock.release_all()
        self.assertTrue(held._state._released.is_set())
        first.join()

    def test_an_answer_that_took_longer_than_the_lease_begins_no_block(self) -> None:
        slow = SlowFake("request", 1.5)
        with rowlock.lease(slow, "x", ttl=1) as held:
            self.assertGreater(held.remaining(), 0)
        self.assertGreater(slow.calls, 1)

    def test_a_renewal_without_an_answer_does_not_hold_up_the_end(self) -> None:
        slow = SlowFake("renew", 60)
        held = rowlock.lease(slow, "x", ttl=9).acquire()
        self.assertTrue(slow.reached.wait(30))
        with unittest.mock.patch("rowlock._lease.REPLY", 0.2):
            held.release()
        self.assertEqual(slow.held, [])

    def test_a_block_may_end_in_another_thread_if_it_is_the_only_one(self) -> None:
        lock = rowlock.lease(self.fake, "x", permits=2)
        lock.__enter__()
        self.in_a_thread(lambda: lock.__exit__(None, None, None))
        self.assertEqual(self.fake.held, [])
        entered, over = threading.Event(), threading.Event()

        def other() -> None:
            lock.__enter__()
            entered.set()
            over.wait()  # else a later thread could have its number

        lock.__enter__()
        threading.Thread(target=other).start()
        self.assertTrue(entered.wait(30))
        with self.assertRaisesRegex(rowlock.RowlockError, "acquire"):
            self.in_a_thread(lambda: lock.__exit__(None, None, None))
        over.set()
        rowlock.release_all()

    def in_a_thread(self, work: Callable[[], object]) -> None:
        errors: List[BaseException] = []

        def caught() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=caught)
        thread.start()
        thread.join()
        for error in errors:
            raise error

    def test_an_interrupt_in_on_event_leaves_no_lease(self) -> None:
        def interrupted(_: rowlock.Event) -> None:
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            rowlock.lease(self.fake, "x", on_event=interrupted).acquire()
        self.assertEqual(self.fake.held, [])

    def test_what_on_event_raises_changes_nothing(self) -> None:
        def fails(_: rowlock.Event) -> None:
            raise ValueError("of the application")

        with self.assertLogs("rowlock", logging.ERROR):
            with rowlock.lease(self.fake, "x", on_event=fails) as held:
                held.check()

    def test_a_lease_shows_its_state(self) -> None:
        with rowlock.lease(self.fake, "x") as held:
            self.assertRegex(repr(held), r"Lease 'x', token 1, \d+\.\d s left")
        self.assertIn("released", repr(held))


class Jobs(unittest.TestCase):
    def test_a_job_is_performed_when_it_is_due(self) -> None:
        fake = Fake()
        jobs = rowlock.Jobs(fake)

        @jobs.job("j", every="1h")
        def _(run: rowlock.Run) -> None:
            run.note("37 mails")
            if len(fake.runs) == 1:
                raise ValueError("no mail server")

        self.assertEqual([jobs.run_due(), jobs.run_due()], [1, 0])
        fake.due.add("j")
        self.assertEqual(jobs.run_due(), 1)
        self.assertEqual(fake.runs[0], ("j", "done", "37 mails"))
        self.assertEqual(fake.runs[1][:2], ("j", "failed"))
        self.assertIn("no mail server", fake.runs[1][2])
        self.assertEqual(fake.held, [])


    def test_a_result_that_waits_for_a_renewal_is_not_replaced_when_the_program_ends(self) -> None:
        fake = SlowFake("renew", 60)
        jobs, leaving = rowlock.Jobs(fake), threading.Event()
        half = jobs.half

        async def ended(task: Any, limit: float) -> bool:
            leaving.set()
            return await half.ended(task, limit)

        async def wait(event: Any, limit: float) -> None:
            if event is jobs.jobs["j"].state._released:  # of stop(), which takes the run away
                fake.over.set()
            await half.wait(event, limit)

        @jobs.job("j", every="50w", ttl=6)
        def _(run: rowlock.Run) -> None:
            run._state._end += 60  # on a slow machine, too
            self.assertTrue(fake.reached.wait(60))
            jobs.half = run._state.half = half._replace(ended=ended, wait=wait)

        jobs.start()
        self.assertTrue(leaving.wait(60))
        jobs.stop(grace=0)
        self.assertEqual(fake.runs, [("j", "done", "")])

    def test_a_signal_inside_of_the_wait_of_the_loop_ends_it(self) -> None:
        program = """
import signal, rowlock, rowlock.testing
jobs = rowlock.Jobs(rowlock.testing.Fake())
half = jobs.half
async def wait(event, limit):
    if event is jobs._wake:
        with event._cond:
            signal.raise_signal(signal.SIGTERM)
            repr(jobs)
    await half.wait(event, limit)
jobs.half = half._replace(wait=wait)
jobs.run(grace=0)
"""
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

    def test_a_run_for_which_no_thread_can_be_started_is_not_started(self) -> None:
        for which in ("rowlock job:j", "the second", "job j"):
            with self.subTest(which):
                self.no_thread_for(which)

    def no_thread_for(self, which: str) -> None:
        fake, started = Fake(), []
        jobs: Any = rowlock.Jobs(fake)
        start = jobs.half.start

        def start_another(work: Any, name: str) -> Any:
            if name == which or name == "rowlock job:j" and started and which == "the second":
                work.close()
                raise RuntimeError("can't start new thread")
            thread = start(work, name)
            started.extend([thread] if name == "rowlock job:j" else [])
            return thread

        jobs.half = jobs.half._replace(start=start_another)
        jobs.job("j", every="50w")(lambda run: None)
        with self.assertLogs("rowlock", "WARNING") as logged:
            self.assertEqual(jobs.run_due(), 0)
        self.assertIn("the job 'j': can't start new thread", logged.output[0])
        self.assertEqual(fake.runs, [("j", "not started", "can't start new thread")])
        self.assertEqual(fake.held, [])
        for thread in started:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        jobs.stop(grace=0)

    def test_an_exception_without_a_text_is_a_failure(self) -> None:
        class Silent(Exception):
            def __str__(self) -> str:
                raise ValueError

        fake = Fake()
        jobs = rowlock.Jobs(fake)

        @jobs.job("j", every="50w")
        def _(run: rowlock.Run) -> None:
            raise Silent

        with self.assertLogs("rowlock", "WARNING") as logged:
            jobs.run_due()
        ((_, outcome, text),) = fake.runs
        self.assertEqual(outcome, "failed")
        self.assertIn("Silent: <exception str() failed>", text)
        self.assertIn("Silent: <exception str() failed>", logged.output[0])

    def test_two_loops_at_once_are_refused(self) -> None:
        jobs, began, leave = rowlock.Jobs(Fake()), threading.Event(), threading.Event()

        @jobs.job("j", every="1h")
        def _(run: rowlock.Run) -> None:
            began.set()
            leave.wait(60)

        with jobs:
            self.assertTrue(began.wait(60))
            with self.assertRaisesRegex(RuntimeError, "has not ended"):
                jobs.run_due()
            leave.set()

    def test_more_jobs_than_the_limit_are_performed_one_after_another(self) -> None:
        fake = Fake()
        jobs, seen, inside = rowlock.Jobs(fake, limit=1), [], threading.Lock()
        ran = threading.Semaphore(0)

        def work(run: rowlock.Run) -> None:
            self.assertTrue(inside.acquire(blocking=False))
            seen.append(run.job)
            inside.release()
            ran.release()

        for name in "abc":
            jobs.job(name, every="1h")(work)
        self.assertEqual(jobs.run_due(), 3)
        self.assertEqual(seen, ["a", "b", "c"])
        fake.due |= {"a", "b"}
        with jobs:
            for _ in range(5):
                self.assertTrue(ran.acquire(timeout=60))


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def test_run_due_waits_for_a_long_run(self) -> None:
        fake = Fake()
        jobs = aio.Jobs(fake)

        @jobs.job("j", every="1h")
        async def _(run: aio.Run) -> None:
            await asyncio.sleep(0.1)

        with unittest.mock.patch("rowlock._jobs.AGAIN", 0.01):
            self.assertEqual(await jobs.run_due(), 1)
        self.assertEqual(fake.runs, [("j", "done", "")])

    async def test_a_cancellation_of_its_own_fails_a_run(self) -> None:
        fake = Fake()
        jobs = aio.Jobs(fake)

        @jobs.job("j", every="50w", max_run=600)
        async def _(run: aio.Run) -> None:
            raise asyncio.CancelledError

        self.assertEqual(await jobs.run_due(), 1)
        self.assertEqual(fake.runs, [("j", "failed", "it was cancelled")])

    async def test_a_run_whose_task_is_cancelled_is_lost(self) -> None:
        fake = Fake()
        jobs = aio.Jobs(fake)

        @jobs.job("j", every="50w")
        async def _(run: aio.Run) -> None:
            jobs.jobs["j"].task.cancel()  # as asyncio.run() does at its end
            await asyncio.sleep(600)

        self.assertEqual(await jobs.run_due(), 1)
        self.assertEqual(fake.runs, [("j", "lost", "the program ended")])

    async def test_the_same(self) -> None:
        fake, inside, order = Fake(), 0, []

        async def work(number: int) -> None:
            nonlocal inside
            async with aio.lease(fake, "x"):
                inside += 1
                self.assertEqual(inside, 1)
                await asyncio.sleep(0.01)
                order.append(number)
                inside -= 1

        await asyncio.gather(*(work(number) for number in range(5)))
        self.assertEqual(sorted(order), list(range(5)))
        await aio.lock(fake.connection(), "y")
        with self.assertRaises(rowlock.Busy):
            async with aio.lease(fake, "y", wait=0):
                pass

    async def test_an_object_that_was_dropped_is_released_with_a_warning(self) -> None:
        fake: Any = Fake()
        held = await aio.lease(fake, "x")
        with self.assertLogs("rowlock", logging.WARNING):
            del held
            gc.collect()
        await (await aio.lease(fake, "x", wait=30)).release()

    async def test_release_all(self) -> None:
        fake = Fake()
        await aio.lease(fake, "x")
        await aio.release_all()
        self.assertEqual(fake.held, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)

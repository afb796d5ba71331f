# SPDX-License-Identifier: Apache-2.0
"""rowlock.testing.Fake, and by it what a lease tells: events, warnings, holders. No server."""

import asyncio
import gc
import logging
import threading
import unittest
from typing import Any, List

import rowlock
from rowlock import aio
from rowlock.testing import Fake


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
        for lease in held:
            with self.assertRaisesRegex(rowlock.Lost, "was released"):
                lease.check()
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


class Asyncio(unittest.IsolatedAsyncioTestCase):
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

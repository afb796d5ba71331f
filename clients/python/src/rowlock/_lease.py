# SPDX-License-Identifier: Apache-2.0
"""A lease: how it is acquired, renewed, watched and released, once for both halves.

A lease is certain until the time before its last successful call was sent, and its ttl, by a clock
that is never set. It counts as lost a little before that, whether or not the database answers.
"""

from __future__ import annotations

import math
import os
import random
import threading
import uuid
import weakref
from typing import Any, Callable, Dict, Generic, Optional, Set, Tuple, TypeVar, cast

from ._core import Event, Terms, now, this_process
from ._engine import number_of, text_of
from ._errors import Busy, Holder, Lost, RowlockError, Unavailable, lease_lost
from ._session import REPLY, WITHDRAW, Half, Session, gate_of, log

WAIT = 5.0  # the longest wait of one call in the server
GIVE_UP = 5.0  # the time in which an interrupt ends a wait
BACKGROUND = 0.5  # how long the end of a block waits for the release of a lease that is lost
HELD: Set["State"] = set()  # for release_all()


def pause_after(failures: int) -> float:
    """The pauses between failed calls grow from 50 ms to 1 s."""
    return min(1.0, 0.05 * 2.0 ** min(failures, 5)) * random.uniform(0.5, 1)


def margin(ttl: float) -> float:
    return min(1.0, max(0.1, ttl / 10))


class State:
    """A lease that is held, and its two tasks: one renews it, one watches its end."""

    _patience = 1.0  # how long its release waits for a renewal that was given up

    def __init__(
        self, session: Session, owner: str, token: int, terms: Terms, sent: float
    ) -> None:
        self.name, self.owner, self.token, self.ttl = terms.name, owner, token, terms.ttl
        self.half, self._session, self._terms = session.half, session, terms
        self._margin = margin(self.ttl)
        self._since, self._due, self._end = sent, sent + self.ttl / 3, sent + self.ttl
        self._leaving = threading.Lock()  # locked by the one that releases
        self._why, self._taken = "", False
        self.ending: Tuple[Any, ...] = ("release", token)  # the call that ends it; false: lost
        self._pid, self._failure = os.getpid(), ""  # of the last renewal
        half = session.half
        self._start_anywhere = half.starter()
        # over: lost, or being released
        self.lost, self._over, self._released = half.event(), half.event(), half.event()
        try:
            self._renewer = half.start(self._renew(), f"rowlock {self.name}")
            self._watcher = half.start(self._watch(), f"rowlock {self.name}")
        except BaseException:  # no more threads can be started
            self._over.set()
            raise
        HELD.add(self)

    def remaining(self) -> float:
        self._in_this_process()
        return 0.0 if self._over.is_set() else max(0.0, self._end - self._margin - now())

    def check(self) -> None:
        if self.remaining() <= 0:
            if not self._over.is_set():  # else it may be whole until it is released
                self._lose()
            raise self._loss()

    def _in_this_process(self) -> None:
        if os.getpid() != self._pid:
            raise RowlockError(f"the lease of {self.name!r} belongs to the parent process")

    def enter(self) -> None:
        """Refuses a second block: the first one has released it."""
        self._in_this_process()
        if self._leaving.locked():
            raise RowlockError(f"the lease of {self.name!r} was released: acquire another one")

    async def leave(self, failed: bool, *ending: Any) -> None:
        """Releases, once. `failed`: the error of the body is raised, and not Lost."""
        self._in_this_process()
        if self._leaving.acquire(blocking=False):
            self.ending = ending or self.ending
            self._over.set()
            await self.half.to_its_end(self._release(failed), self.ttl + GIVE_UP)
        elif self._taken and not failed:
            self._taken = False
            raise self._loss()

    async def take_away(self, why: str, *ending: Any) -> None:
        """Releases it under its holder, who learns of it first; or waits for its release."""
        if self._leaving.acquire(blocking=False):
            self._taken, self.ending = True, ending or self.ending
            self._lose(lease_lost(self.name, why))
            await self.half.to_its_end(self._send_release(True), self.ttl + GIVE_UP)
        else:
            await self.half.wait(self._released, self.ttl + GIVE_UP)

    def dropped(self) -> None:
        """Nobody can release it any more."""
        if os.getpid() == self._pid and not self._leaving.locked():
            log.warning("the lease of %r was dropped without release()", self.name)
            self._start_anywhere(lambda: self.leave(True))

    async def _release(self, failed: bool) -> None:
        self._lost_by_now()
        if not self.lost.is_set():
            await self._send_release(failed)
        else:  # it may be held until it expires, but nobody waits for that
            self._releaser = self.half.start(self._release_later(), "rowlock release")
            await self.half.wait(self._released, BACKGROUND)
        if not self.lost.is_set():
            self._tell("released")
        elif not failed:
            raise self._loss()

    async def _release_later(self) -> None:
        try:
            await self._send_release(True)
        except Exception as error:
            log.debug("release of %s: %s", self.name, error)

    async def _send_release(self, failed: bool) -> None:
        limit = max(2.0, min(self.ttl / 3, REPLY))  # longer than its wait for a fence
        stopped = await self.half.ended(self._renewer, min(REPLY, max(0.0, self._end - now())))
        if not stopped:  # a renewal without an answer
            await self._session.cut()
            stopped = await self.half.ended(self._renewer, self._patience)
        self._lost_by_now()
        try:
            if stopped:
                await self._send_ending(limit)
        except Busy as error:
            if not failed:
                raise RowlockError(
                    f"the lease of {self.name!r} was not released, and stays until it expires: a"
                    " transaction that called fence() is open; end it before the lease's block ends"
                ) from error
            log.warning("release of %s: a transaction that called fence() is open", self.name)
        except RowlockError as error:  # it expires
            log.debug("release of %s: %s", self.name, error)
        finally:
            await self._session.close()
            HELD.discard(self)
            self._released.set()

    async def _send_ending(self, limit: float) -> None:
        try:
            answer = await self._session.call(limit, *self.ending)
            if not number_of(answer[0]):
                self._lose(await self._how())
        except Unavailable:  # it may have been released: the repetition does not tell
            await self._session.call(limit, *self.ending)

    async def _how(self) -> Optional[Lost]:
        """The server's words on a lease that is gone."""
        try:
            await self._session.call(WITHDRAW, "renew", self.token, int(self.ttl * 1000))
        except Lost as error:
            return error
        except Exception as error:
            log.debug("how %s was lost: %s", self.name, error)
        return None

    def _lost_by_now(self) -> None:
        if now() >= self._end - self._margin:
            self._lose()

    def _loss(self) -> Lost:
        if self._leaving.locked() and not self.lost.is_set():
            return Lost(f"the lease of {self.name!r} was released", self.name, "it was released")
        return lease_lost(self.name, self._why)

    def _lose(self, error: Optional[Lost] = None) -> None:
        first = not self.lost.is_set()
        self.lost.set()
        self._over.set()
        if first:
            since = now() - (self._end - self.ttl)
            expired = now() >= self._end - self._margin
            self._why = error.reason if error else (
                f"not renewed for {since:.0f} s{self._failure}" if expired else "it was removed"
            )  # fmt: skip
            log.warning("the lease of %r is lost: %s", self.name, self._why)
            self._tell("lost", self._why)

    def _tell(self, what: str, reason: str = "") -> None:
        self._terms.tell(Event(what, self.name, self.token, now() - self._since, reason))

    async def _pause(self, until: float) -> bool:
        """Sleeps until then; false if the lease has ended meanwhile."""
        while not self._over.is_set():
            left = until - now()
            if left <= 0:
                return True
            # its clock stops while the machine sleeps
            await self.half.wait(self._over, min(left, 1.0))
        return False

    async def _renew(self) -> None:
        failures = 0
        while await self._pause(self._due):
            sent = now()
            try:
                limit = min(max(1.0, self.ttl / 3), self._end - sent)
                await self._session.call(limit, "renew", self.token, int(self.ttl * 1000))
            except Lost as error:
                self._lose(error)
                return
            except Exception as error:  # until the end, by the watcher
                log.warning("the renewal of %r failed, and is repeated: %s", self.name, error)
                self._failure = f": {error}"
                self._due = now() + pause_after(failures)
                failures += 1
                continue
            failures, self._failure = 0, ""
            self._due, self._end = sent + self.ttl / 3, sent + self.ttl

    async def _watch(self) -> None:
        """Announces the end in time, also while a renewal hangs."""
        while await self._pause(self._end - self._margin):
            self._lost_by_now()


class Handle:
    """What the application holds. When it is dropped, the renewal ends."""

    lost: Any  # an Event, of threading or of asyncio

    def __init__(self, state: State) -> None:
        self._state, self.lost = state, state.lost
        self.name, self.owner = state.name, state.owner
        self.token, self.ttl = state.token, state.ttl
        weakref.finalize(self, state.dropped).atexit = False

    def __repr__(self) -> str:
        left = "released" if self._state._leaving.locked() else f"{self.remaining():.1f} s left"
        return f"<{type(self).__module__}.Lease {self.name!r}, token {self.token}, {left}>"

    def remaining(self) -> float:
        """The seconds for which the lease is still certain; 0: it is lost."""
        return self._state.remaining()

    def check(self) -> None:
        """Raises Lost if the lease is not certain any more. Asks only the clock."""
        self._state.check()

    def __reduce__(self) -> Any:
        raise TypeError("a lease belongs to its process, and cannot be pickled")


H = TypeVar("H", bound=Handle)


class Gate(Generic[H]):
    """A lock object: what both halves keep of it."""

    def __init__(self, half: Half, kind: Callable[[State], H], source: Any, terms: Terms) -> None:
        half.source(source)  # raises an error if it is none
        self._half, self._kind, self._source, self._terms = half, kind, source, terms
        # the leases of this object, by the thread or task that is in its block
        self._held = cast(Dict[object, Optional[H]], {})

    async def _acquire(self) -> H:
        session = Session(self._half, self._source, self._terms.name)
        return self._kind(await acquire(session, self._terms))

    async def _enter(self, who: object) -> H:
        """Refuses a second lease of one thread or task, which waits for itself."""
        if who in self._held:
            raise RowlockError(
                f"this lock object of {self._terms.name!r} is held here already: leave its block"
                " first, or use another object"
            )
        self._held[who] = None  # being acquired
        try:
            held = self._held[who] = await self._acquire()
            return held
        except BaseException:
            del self._held[who]
            raise

    async def _leave(self, who: object, failed: bool) -> None:
        if who not in self._held:  # the block ends in another thread or task
            inside = [one for one, held in self._held.items() if held is not None]
            if len(inside) != 1:
                raise RowlockError(
                    f"a block of {self._terms.name!r} must end in the thread or task in which it"
                    " began; elsewhere call acquire() and release()"
                )
            (who,) = inside
        held = cast(Handle, self._held.pop(who))  # until the end: it must not count as dropped
        await held._state.leave(failed)


async def acquire(session: Session, terms: Terms) -> State:
    began = now()
    try:
        with gate_of(session.half, session.source.pool) as gate:
            state = await queue(session, terms, uuid.uuid4().hex, gate)
    except BaseException as error:
        reason = str(error) or type(error).__name__
        terms.tell(Event("waited", terms.name, None, now() - began, reason))
        raise
    try:
        terms.tell(Event("acquired", terms.name, state.token, now() - began, ""))
    except BaseException:  # ^C
        await state.leave(True)
        raise
    return state


async def queue(session: Session, terms: Terms, owner: str, gate: Any) -> State:
    half, name, wait = session.half, terms.name, terms.wait
    deadline = math.inf if wait is None else now() + wait
    failures, holder, pause, inside = 0, None, 0.0, False
    try:
        while True:
            try:
                if pause:  # it was refused
                    inside = await session.waits_inside()
                if pause and not inside:
                    pause *= random.uniform(0.75, 1)
                    await half.wait(half.event(), max(0, min(pause, deadline - now())))
                most = max(0.0, min(WAIT, deadline - now())) if inside else 0.0
                limit = min(most, deadline - now()) + REPLY
                if not await half.take(gate, limit):
                    raise Unavailable("other waiters of this process have the pool's sessions")
                try:
                    sent = now()
                    answer = await session.call(
                        limit, "request", name, int(terms.ttl * 1000), owner,
                        int(1000 * most), terms.mode, terms.permits, *this_process(),
                        terms.note,
                    )  # fmt: skip
                finally:
                    gate.release()
                token, place = number_of(answer[0]), number_of(answer[2])
                if token is not None and now() >= sent + terms.ttl - margin(terms.ttl):
                    raise Unavailable(f"the answer took {now() - sent:.1f} s: the lease is over")
            except Unavailable as error:
                late = now() >= deadline and (failures or not session.opened)
                late = late or now() >= deadline + REPLY - WITHDRAW
                if late or wait is None and not session.opened:
                    if session.opened:  # nobody waits for the end of this
                        half.start(session.give_up(owner), f"rowlock {name}")
                    raise  # else a lost reply is repeated at least once
                log.warning("waiting for %r: %s", name, error)
                await half.wait(half.event(), pause_after(failures))
                failures += 1
                continue
            failures = 0
            if token is not None:
                return State(session, owner, token, terms, sent)
            holder = text_of(answer[3]) or holder
            if now() >= deadline and place != 0:
                raise Busy(name, Holder(holder, await session.holder(), own=place is not None))
            pause = 0 if place == 0 else (number_of(answer[4]) or 0) / 1000
    except Unavailable:
        raise
    except BaseException:  # also a lost reply may have queued, or acquired
        await half.to_its_end(session.give_up(owner), GIVE_UP)
        raise


async def release_all(half: Half) -> None:
    for state in list(HELD):
        if state.half is half and state._pid == os.getpid():
            try:
                await state.take_away("released by release_all()")
            except Exception as error:
                log.warning("release of %s: %s", state.name, error)

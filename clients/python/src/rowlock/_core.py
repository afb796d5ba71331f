# SPDX-License-Identifier: Apache-2.0
"""Every decision, once for both halves: what is sent, when, and what an answer means.

The halves differ in how they send, pause, and run two tasks for each lease. These functions are
coroutines: in the blocking half an await has blocked when it returns, so nothing ever suspends, and
finish() runs a coroutine to its end.

A lease is certain until the time before its last successful call was sent, and its ttl, by a clock
that is never set. It counts as lost a little before that, whether or not the database answers.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import os
import random
import socket
import sys
import threading
import time
import uuid
from typing import Any, Awaitable, Callable, Coroutine, Dict, Generic, Iterator, NamedTuple
from typing import Optional, Sequence, Tuple, Type, TypeVar, Union, cast

from ._engine import MARIADB, Connect, Row, T as TEXT, engine_of, number_of, target, text_of
from ._errors import Busy, Lost, RowlockError, Unavailable
from ._errors import code, lease_lost, refresh_lost, translating

log = logging.getLogger("rowlock")
log.addHandler(logging.NullHandler())  # else Python prints warnings if nothing is configured
WAIT = 5.0  # the longest wait of one call in the server
REPLY = 5.0  # how long the rest of a call may take, with a new connection
GIVE_UP = 5.0  # the time in which an interrupt ends a wait
WITHDRAW = 1.5  # of it: a call that leaves the queue
BACKGROUND = 0.5  # how long the end of a block waits for the release of a lease that is lost
LONGEST_TTL = 100 * 365.25 * 86400  # the server's
INSTEAD = "use `with lease(...)` in its body; for an async def, rowlock.aio.exclusive_run"
T = TypeVar("T")
Run = Callable[[Any, str, Sequence[Any]], Awaitable[Row]]


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    raise AssertionError("a blocking call was suspended")


def now() -> float:
    """Counts the sleep of the machine, too, where the system can."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def pause_after(failures: int) -> float:
    """The pauses between failed calls grow from 50 ms to 1 s."""
    return min(1.0, 0.05 * 2.0 ** min(failures, 5)) * random.uniform(0.5, 1)


# ---- arguments: errors of Python, before anything is sent


def seconds(what: str, value: object, least: float = 0.0, most: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number of seconds, not {value!r}")
    if not least <= value <= most:  # also NaN
        limits = f"from {least:g} to {most:.0f}" if most < math.inf else f"at least {least:g}"
        raise ValueError(f"{what} must be {limits} seconds, not {value!r}")
    return float(value)


def patience(what: str, value: object) -> Optional[float]:
    """Seconds; None: without limit, as is a time that no clock here reaches."""
    limit = math.inf if value is None else seconds(what, value)
    return limit if limit < LONGEST_TTL else None


def text(what: str, value: object, most: float = math.inf) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {value!r}")
    size = len(value.encode())  # a lone surrogate is a UnicodeEncodeError, and so a ValueError
    if size > most or most < math.inf and not size:
        raise ValueError(f"{what} must have 1 to {most} bytes in UTF-8, not {size}")
    return value


def name_of(value: object) -> str:
    return text("name", value, 255)


class Terms(NamedTuple):
    """Of a lease."""

    name: str
    ttl: float
    wait: Optional[float]
    mode: str
    permits: Optional[int]
    note: Optional[str]


def terms(
    name: object, ttl: object, wait: object, shared: object, permits: object, note: object
) -> Terms:
    if not isinstance(shared, bool):
        raise TypeError(f"shared must be a bool, not {shared!r}")
    if permits is not None and type(permits) is not int:
        raise TypeError(f"permits must be an int, not {permits!r}")
    if permits is not None and not 1 <= permits < 2**31:
        raise ValueError(f"permits must be at least 1, not {permits}")
    if shared and permits is not None:
        raise ValueError("shared and permits exclude each other")
    mode = "permit" if permits is not None else "shared" if shared else "exclusive"
    return Terms(
        name_of(name), seconds("ttl", ttl, 1.0, LONGEST_TTL), patience("wait", wait), mode,
        permits, None if note is None else text("note", note),
    )  # fmt: skip


def check_source(source: object) -> None:
    if isinstance(source, str):
        target(source)
    if isinstance(source, str) or callable(source):
        return
    kind = type(source)
    raise TypeError(
        f"a lease needs a connection of its own: pass a URL or a function that opens one, such as"
        f" lambda: psycopg.connect(...), not {kind.__module__}.{kind.__qualname__}"
    )


def is_generator_function(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def is_generator(result: Any) -> bool:
    return inspect.isgenerator(result) or inspect.isasyncgen(result)


# ---- in the caller's transaction


async def lock(run: Run, connection: Any, name: str, shared: bool, wait: Optional[float]) -> None:
    mode = "shared" if shared else "exclusive"
    attempt = f"SELECT rowlock.try_{mode}(%s::text, %s::bigint * interval '1 ms')::integer"
    name, wait = name_of(name), patience("timeout", wait)
    with translating(name):
        in_transaction(connection)
        if engine_of(connection) is MARIADB:
            await lock_mariadb(run, connection, name, mode, wait)
        elif wait is None:
            await run(connection, f"SELECT rowlock.{mode}(%s::text)", (name,))
        elif not number_of((await run(connection, attempt, (name, math.ceil(wait * 1000))))[0]):
            raise await busy(run, connection, name)


async def lock_mariadb(
    run: Run, connection: Any, name: str, mode: str, wait: Optional[float]
) -> None:
    if wait is not None:  # MySQL has no SET STATEMENT
        limit = f"innodb_lock_wait_timeout = {max(0, math.ceil(wait))}"
        await run(connection, f"SET @rowlock_wait = @@innodb_lock_wait_timeout, {limit}", ())
    try:
        await run(connection, f"CALL rowlock_begin_{mode}({TEXT})", (name,))
    except Exception as error:
        if code(error) != "30007":  # a transaction is open
            raise
        await run(connection, f"CALL rowlock_{mode}({TEXT})", (name,))
    finally:
        if wait is not None:
            with contextlib.suppress(Exception):  # an interrupt has closed the connection
                await run(connection, "SET innodb_lock_wait_timeout = @rowlock_wait", ())


async def within(run: Run, connection: Any, name: str, which: str, *values: Any) -> Row:
    """One statement by its name in Engine, in the caller's transaction."""
    name_of(name)
    with translating(name):
        in_transaction(connection)
        return await run(connection, engine_of(connection)[which], values)


async def next_number(run: Run, connection: Any, counter: str) -> int:
    text("counter", counter, 247)
    with translating(f"counter:{counter}"):
        return int((await run(connection, engine_of(connection)["next"], (counter,)))[0])


async def refresh(
    run: Run, connection: Any, name: str, max_age: Optional[float],
    load: Callable[[], Awaitable[object]], wait: Optional[float],
) -> bool:  # fmt: skip
    locked = f"subject:{text('name', name, 247)}"
    limits = (patience("max_age", max_age), patience("timeout", wait))
    sent = (None if limit is None else math.ceil(limit * 1000) for limit in limits)
    answer = await within(run, connection, locked, "refresh", name, *sent, *this_process())
    version = number_of(answer[0])
    if version == 0:
        raise await busy(run, connection, locked)
    if version is not None:
        await load()
        with translating(locked, refresh_lost(name)):  # also if no transaction is open any more
            await run(connection, engine_of(connection)["refreshed"], (name, version))
    return version is not None


async def busy(run: Run, connection: Any, name: str) -> Busy:
    answer = await run(connection, engine_of(connection)["holder"], (name,))
    return Busy(name, text_of(answer[0]))


def this_process() -> Tuple[str, int, str]:
    """The host, the pid and the program, for those who look."""
    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
    return socket.gethostname(), os.getpid(), program


def in_transaction(connection: Any) -> None:
    """Refuses a connection of PostgreSQL on which the lock would end with the statement."""
    if engine_of(connection) is MARIADB:
        return
    if hasattr(connection, "is_in_transaction"):  # asyncpg
        lasts = connection.is_in_transaction()
    else:
        lasts = not connection.autocommit or connection.info.transaction_status
    if not lasts:
        raise RowlockError(
            "no transaction is open, and the connection is in autocommit mode: the lock would end"
            " at once; begin a transaction (Django: transaction.atomic())"
        )


# ---- leases


class Half(NamedTuple):
    """How a half does what the decisions ask for."""

    by_url: Callable[[str], Connect]  # its function that opens a connection
    opened: Callable[[Connect], Awaitable[Any]]  # a connection in autocommit mode
    run: Run  # a statement on a driver's connection; its first row, or the procedure's answer
    shut: Callable[[Any], Awaitable[None]]  # the connection
    to_its_end: Callable[[Coroutine[Any, Any, None], float], Awaitable[None]]  # or for so long;
    # an interrupt does not end it
    event: Callable[[], Any]
    wait: Callable[[Any, float], Awaitable[None]]  # for an event, for so many seconds
    start: Callable[[Coroutine[Any, Any, None], str], Any]  # a task, by its name
    ended: Callable[[Any, float], Awaitable[bool]]  # a task, after so many seconds at most
    cut: Callable[[Any, Any], None]  # a task that does not answer, and its connection or None


class Call:
    """A statement that is on its way, in a task of its own: nobody has to wait for it."""

    def __init__(self, session: "Session", connection: Any, which: str, values: Any) -> None:
        self.connection, self.given_up = connection, False
        self.row: Row = ()
        self.error: Optional[BaseException] = None
        self._session, self._over = session, session.half.event()
        work = self._work(which, values)
        self.task = session.half.start(work, f"rowlock {session.name}: {which}")

    async def _work(self, which: str, values: Sequence[Any]) -> None:
        half = self._session.half
        try:
            if self.connection is None:
                self.connection = await half.opened(self._session.connect)
                self._session.opened = True
            if not self.given_up:
                engine = engine_of(self.connection)
                if "before " + which in engine:
                    await half.run(self.connection, engine["before " + which], ())
                self.row = await half.run(self.connection, engine[which], values)
        except BaseException as error:
            self.error = error
        self._over.set()
        if self.given_up:
            await shut(half, self.connection)

    async def answered(self, limit: float) -> bool:
        """Waits for the answer; an interrupt leaves the call on its way."""
        await self._session.half.wait(self._over, max(0.0, limit))
        return bool(self._over.is_set())

    async def give_up(self) -> None:
        """Closes the connection now, or as soon as the driver lets go of it."""
        self.given_up = True
        if self._over.is_set():
            await shut(self._session.half, self.connection)
        else:
            self._session.half.cut(self.task, self.connection)


async def shut(half: Half, connection: Any) -> None:
    try:
        if connection is not None:
            await half.shut(connection)
    except Exception as error:  # it is gone already
        log.debug("closing: %s", error)


class Session:
    """A connection that is opened when it is needed, and again after it was lost."""

    def __init__(self, half: Half, source: Union[str, Connect], name: str) -> None:
        self.half, self.name = half, name
        self.connect = source if callable(source) else half.by_url(source)
        self.connection: Any = None
        self.opened = False  # once at least
        self._interrupted: Optional[Call] = None

    async def call(self, limit: float, which: str, *values: Any) -> Row:
        """One statement by its name in Engine, for at most so many seconds.

        Unavailable: it may have been executed. After an interrupt it is still on its way.
        """
        call = self._interrupted = Call(self, self.connection, which, values)
        self.connection = None
        answered = await call.answered(limit)
        self._interrupted = None
        if answered and call.error is None:
            self.connection = call.connection
            return call.row
        try:
            with translating(self.name):
                raise call.error or TimeoutError(f"the database did not answer in {limit:.1f} s")
        except Unavailable:
            await call.give_up()
            raise
        except BaseException:
            self.connection = call.connection
            raise

    async def close(self) -> None:
        connection, self.connection = self.connection, None
        await shut(self.half, connection)
        if self._interrupted:
            await self._interrupted.give_up()

    async def give_up(self, owner: str) -> None:
        """Leaves the queue; if that fails, the ticket is removed after 7 s.

        A request that is still on its way may queue or acquire: it is withdrawn after its end.
        """
        request, self._interrupted = self._interrupted, None
        try:
            if request and request.connection is None:
                await request.give_up()  # it is still connecting, and will send nothing
            await self.call(WITHDRAW, "cancel", self.name, owner)
            if request and not request.given_up:
                await request.answered(1.0)
                await request.give_up()
                await self.call(WITHDRAW, "cancel", self.name, owner)
        except Exception as error:
            log.debug("leaving the queue of %s: %s", self.name, error)
            if request:
                await request.give_up()
        await self.close()


class Held:
    """A lease, and its two tasks: one renews it, one watches its end."""

    lost: Any  # an Event, of threading or of asyncio

    def __init__(self, session: Session, owner: str, token: int, ttl: float, sent: float) -> None:
        self.name, self.owner, self.token, self.ttl = session.name, owner, token, ttl
        self._session, half = session, session.half
        self._margin = min(1.0, max(0.1, ttl / 10))
        self._end = sent + ttl
        self._due = sent + ttl / 3
        self._leaving = threading.Lock()  # locked by the one that releases
        self._why = ""
        self._pid = os.getpid()
        self._failure = ""  # of the last renewal
        self.lost, self._over = half.event(), half.event()  # over: lost, or being released
        self._released = half.event()
        self._renewer = half.start(self._renew(), f"rowlock {self.name}")
        self._watcher = half.start(self._watch(), f"rowlock {self.name}")

    def remaining(self) -> float:
        """The seconds for which the lease is still certain; 0: it is lost."""
        self._in_this_process()
        return 0.0 if self._over.is_set() else max(0.0, self._end - self._margin - now())

    def check(self) -> None:
        """Raises Lost if the lease is not certain any more. Asks only the clock."""
        if self.remaining() <= 0:
            if not self._over.is_set():  # else it may be whole until it is released
                self._lose()
            raise self._loss()

    def _in_this_process(self) -> None:
        if os.getpid() != self._pid:
            raise RowlockError(f"the lease of {self.name!r} belongs to the parent process")

    def _enter(self) -> None:
        """Refuses a second block: the first one has released it."""
        self._in_this_process()
        if self._leaving.locked():
            raise RowlockError(f"the lease of {self.name!r} was released: acquire another one")

    async def _leave(self, failed: bool) -> None:
        """Releases, once. `failed`: the error of the body is raised, and not Lost."""
        self._in_this_process()
        if self._leaving.acquire(blocking=False):
            self._over.set()
            await self._session.half.to_its_end(self._release(failed), self.ttl + GIVE_UP)

    async def _release(self, failed: bool) -> None:
        self._lost_by_now()
        if not self.lost.is_set():
            await self._send_release(failed)
        else:  # it may be held until it expires, but nobody waits for that
            self._releaser = self._session.half.start(self._release_later(), "rowlock release")
            await self._session.half.wait(self._released, BACKGROUND)
        if self.lost.is_set() and not failed:
            raise self._loss()

    async def _release_later(self) -> None:
        try:
            await self._send_release(True)
        except Exception as error:
            log.debug("release of %s: %s", self.name, error)

    async def _send_release(self, failed: bool) -> None:
        limit = max(1.0, min(self.ttl / 3, REPLY))
        stopped = await self._session.half.ended(self._renewer, max(0.0, self._end - now()))
        self._lost_by_now()
        try:
            if stopped:
                try:
                    answer = await self._session.call(limit, "release", self.token)
                    if not number_of(answer[0]):
                        self.lost.set()
                except Unavailable:  # it may have been released: the repetition does not tell
                    await self._session.call(limit, "release", self.token)
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
            self._released.set()

    def _lost_by_now(self) -> None:
        if now() >= self._end - self._margin:
            self.lost.set()

    def _loss(self) -> Lost:
        if self._leaving.locked() and not self.lost.is_set():
            return Lost(f"the lease of {self.name!r} was released", self.name, "it was released")
        return lease_lost(self.name, self._why)

    def _lose(self, error: Optional[Lost] = None) -> None:
        if not self.lost.is_set():
            since = now() - (self._end - self.ttl)
            self._why = error.reason if error else f"not renewed for {since:.0f} s{self._failure}"
            log.warning("the lease of %r is lost: %s", self.name, self._why)
        self.lost.set()
        self._over.set()

    async def _pause(self, until: float) -> bool:
        """Sleeps until then; false if the lease has ended meanwhile."""
        while not self._over.is_set():
            left = until - now()
            if left <= 0:
                return True
            # its clock stops while the machine sleeps
            await self._session.half.wait(self._over, min(left, 1.0))
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
            if now() >= self._end - self._margin:
                self._lose()


L = TypeVar("L", bound=Held)


class Entered(Generic[L]):
    """The leases of one lock object, by the thread or task that is in its block."""

    def __init__(self, name: str) -> None:
        self._name, self._held = name, cast(Dict[object, Optional[L]], {})

    @contextlib.contextmanager
    def by(self, who: object) -> Iterator[Callable[[L], L]]:
        """To acquire in: refuses a second lease of one thread or task, which waits for itself."""
        if who in self._held:
            raise RowlockError(
                f"this lock object of {self._name!r} is held here already: leave its block first,"
                " or use another object"
            )

        def keep(held: L) -> L:
            self._held[who] = held
            return held

        self._held[who] = None  # being acquired
        try:
            yield keep
        except BaseException:
            del self._held[who]
            raise

    def pop(self, who: object) -> L:
        if who not in self._held and len(self._held) == 1:
            (who,) = self._held  # the block ends in another thread or task
        return cast(L, self._held.pop(who))


async def acquire(kind: Type[L], session: Session, terms: Terms) -> L:
    name, owner = session.name, uuid.uuid4().hex
    ttl, wait = terms.ttl, terms.wait
    deadline = math.inf if wait is None else now() + wait
    failures, holder, half = 0, None, session.half
    try:
        while True:
            sent = now()
            wait_ms = int(1000 * max(0, min(WAIT, deadline - sent)))
            try:
                answer = await session.call(
                    min(wait_ms / 1000, deadline - sent) + REPLY, "request", name, int(ttl * 1000),
                    owner, wait_ms, terms.mode, terms.permits, *this_process(), terms.note,
                )  # fmt: skip
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
            token, place = number_of(answer[0]), number_of(answer[2])
            if token is not None:
                return kind(session, owner, token, ttl, sent)
            holder = text_of(answer[3]) or holder
            if now() >= deadline and place != 0:
                raise Busy(name, holder)
    except Unavailable:
        raise
    except BaseException:  # also a lost reply may have queued, or acquired
        await half.to_its_end(session.give_up(owner), GIVE_UP)
        raise

# SPDX-License-Identifier: Apache-2.0
"""Calls that end in time: a statement in a task of its own, on a session that may be a pool's.

A session of a pool is borrowed for one call, and goes back as it came. Any other session is the
lease's own, and is kept until the lease ends.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import Any, Awaitable, Callable, Coroutine, Dict, Iterator, List, NamedTuple, Optional
from typing import Sequence

from ._engine import Row, driver_name, engine_of, number_of
from ._errors import Unavailable, code, judged, translating
from ._sources import Run, Source, driver_connection, pid_of, ready

log = logging.getLogger("rowlock")
log.addHandler(logging.NullHandler())  # else Python prints warnings if nothing is configured
REPLY = 5.0  # how long a call may take beyond its wait in the server, with a new connection
WITHDRAW = 1.5  # a call that leaves the queue
READ_COMMITTED = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"


class Half(NamedTuple):
    """How the blocking half, or that for asyncio, does what the decisions ask for."""

    source: Callable[[Any], Source]  # of what the application passed
    run: Run  # a statement on a driver's connection; its first row, or the procedure's answer
    to_its_end: Callable[[Coroutine[Any, Any, None], float], Awaitable[None]]  # or for so long;
    # an interrupt does not end it
    event: Callable[[], Any]
    wait: Callable[[Any, float], Awaitable[None]]  # for an event, for so many seconds
    lock: Callable[[], Any]
    take: Callable[[Any, float], Awaitable[bool]]  # a lock, in so many seconds
    start: Callable[[Coroutine[Any, Any, None], str], Any]  # a task, by its name
    ended: Callable[[Any, float], Awaitable[bool]]  # a task, after so many seconds at most
    cut: Callable[[Any, Any], None]  # a task that does not answer, and its connection or None
    starter: Callable[[], Callable[[Callable[[], Coroutine[Any, Any, None]]], None]]  # what starts
    # a task from whatever thread, or not any more


class Line(NamedTuple):
    """A session that is open."""

    handle: Any
    connection: Any  # the driver's
    restore: Callable[[], Awaitable[Any]]


class Call:
    """A statement that is on its way, in a task of its own: nobody has to wait for it."""

    def __init__(self, session: Session, line: Optional[Line]) -> None:
        self.line, self.given_up, self._lock = line, False, threading.Lock()
        self.row: Row = ()
        self.error: Optional[BaseException] = None
        self.task: Any = None
        self._session, self._over = session, session.half.event()

    def start(self, limit: float, which: str, values: Sequence[Any]) -> None:
        name = f"rowlock {self._session.name}: {which}"
        self.task = self._session.half.start(self._work(limit, which, values), name)

    async def _work(self, limit: float, which: str, values: Sequence[Any]) -> None:
        try:
            if self.line is None:
                await self._open(limit)
            if not self.given_up:
                await self._execute(which, values)
        except BaseException as error:
            self.error = error
        if self._session.source.pool is not None and not self.given_up:
            await self._give_back()
        self._over.set()
        if self.given_up:
            await self._session.end(self.line, True)

    async def _give_back(self) -> None:
        line, broken = self.line, self.error is not None and judged(self.error) == "gone"
        try:
            if line and not broken:
                await line.restore()
        except Exception as error:
            log.debug("restoring: %s", error)
            broken = True
        with self._lock:  # from here on the session is the pool's, and give_up does not cut it
            self.line, broken = None, broken or self.given_up
        await self._session.end(line, broken)

    async def _open(self, limit: float) -> None:
        source, half = self._session.source, self._session.half
        handle = await source.open(limit)
        try:
            connection = driver_connection(handle)
            restore = await ready(half.run, connection, source.pool is not None)
        except BaseException:
            await source.close(handle, True)
            raise
        self.line = Line(handle, connection, restore)
        self._session.opened = True

    async def _execute(self, which: str, values: Sequence[Any]) -> None:
        assert self.line is not None
        connection, run = self.line.connection, self._session.half.run
        engine = engine_of(connection)
        if "before " + which in engine:
            await run(connection, engine["before " + which], ())
        # asyncpg sends two messages for a statement, which a pooler may give to two sessions
        begin = self._session.begin or driver_name(connection) == "asyncpg"
        if begin:
            await run(connection, READ_COMMITTED, ())
        try:
            self.row = await run(connection, engine[which], values)
        except Exception as error:
            if begin:
                with contextlib.suppress(Exception):
                    await run(connection, "ROLLBACK", ())
            elif code(error) in ("RL001", "25006"):  # by default transactions are of another kind
                self._session.begin = True
                await self._execute(which, values)
                return
            raise
        if begin:
            await run(connection, "COMMIT", ())

    async def answered(self, limit: float) -> bool:
        """Waits for the answer; an interrupt leaves the call on its way."""
        await self._session.half.wait(self._over, max(0.0, limit))
        return bool(self._over.is_set())

    async def give_up(self) -> None:
        """Ends the session now, or as soon as the driver lets go of it."""
        with self._lock:
            self.given_up, line = True, self.line
        if self._over.is_set():
            await self._session.end(line, True)
        else:
            self._session.half.cut(self.task, line and line.connection)


class Session:
    """Opened when it is needed, and again after it was lost."""

    def __init__(self, half: Half, source: Any, name: str) -> None:
        self.half, self.name, self.source = half, name, half.source(source)
        self.opened = False  # once at least
        self.begin = False  # whether each call needs a transaction that is begun for it
        self._line: Optional[Line] = None
        self._direct: Optional[bool] = None
        self._interrupted: Optional[Call] = None

    async def call(self, limit: float, which: str, *values: Any) -> Row:
        """One statement by its name in Engine, for at most so many seconds.

        Unavailable: it may have been executed. After an interrupt it is still on its way.
        """
        call = self._interrupted = Call(self, self._line)
        self._line = None
        call.start(limit, which, values)  # an interrupt in it finds the call
        answered = await call.answered(limit)
        self._interrupted = None
        try:
            with translating(self.name):
                if not answered:
                    raise TimeoutError(f"the database did not answer in {limit:.1f} s")
                if call.error is not None:
                    raise call.error
        except Unavailable:
            self._direct = None
            await call.give_up()
            raise
        except BaseException:
            self._line = call.line
            raise
        self._line = call.line  # a pool's has been given back
        return call.row

    async def waits_inside(self) -> bool:
        """Whether a call may wait in the server: on a session of its own, and no pooler's."""
        if self.source.pool is None and self._line and self._direct is None:
            pid = pid_of(self._line.connection)
            row = await self.call(REPLY, "session")
            self._direct = pid is not None and pid == number_of(row[0])
        return bool(self._direct)

    async def holder(self) -> Row:
        try:
            return await self.call(WITHDRAW, "holders", self.name)
        except Exception as error:
            log.debug("the holder of %s: %s", self.name, error)
            return ()

    async def end(self, line: Optional[Line], broken: bool) -> None:
        try:
            if line:
                await self.source.close(line.handle, broken)
        except Exception as error:  # it is gone already
            log.debug("closing: %s", error)

    async def cut(self) -> None:
        """Gives up the call that another task is waiting for."""
        if self._interrupted:
            await self._interrupted.give_up()

    async def close(self) -> None:
        line, self._line = self._line, None
        await self.end(line, False)
        await self.cut()

    async def give_up(self, owner: str, request: Any = None, limit: float = 2.0) -> None:
        """Leaves the queue; if that fails, the ticket is removed after 7 s.

        A request that is still on its way may queue or acquire: it is withdrawn after its end, for
        which this waits so many seconds, and then a task of its own.
        """
        request, self._interrupted = request or self._interrupted, None
        if request and request.line is None:
            await request.give_up()  # it is still connecting, and will send nothing
        try:
            await self.call(WITHDRAW, "cancel", self.name, owner)
            if request and request.task and request.line:  # it may have been sent
                if not await request.answered(limit):
                    raise TimeoutError("the request is still on its way")
                await request.give_up()
                await self.call(WITHDRAW, "cancel", self.name, owner)
        except Exception as error:
            log.debug("leaving the queue of %s: %s", self.name, error)
            if request and limit == 2.0:
                self.half.start(self.give_up(owner, request, 10.0), f"rowlock {self.name}: cancel")
                return
            if request:
                await request.give_up()
        await self.close()


GATES: Dict[int, List[Any]] = {}  # of pools in which somebody waits: a lock, and how many wait
COUNTING = threading.Lock()


@contextlib.contextmanager
def gate_of(half: Half, pool: object) -> Iterator[Any]:
    """The lock that waiters of a pool take for each call: so at most one of them has a session."""
    if pool is None:
        yield half.lock()
        return
    with COUNTING:
        gate = GATES.setdefault(id(pool), [half.lock(), 0])
        gate[1] += 1
    try:
        yield gate[0]
    finally:
        with COUNTING:
            gate[1] -= 1
            if not gate[1]:
                del GATES[id(pool)]

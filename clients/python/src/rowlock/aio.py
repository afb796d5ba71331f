# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio, by psycopg 3 (AsyncConnection) or asyncpg, on PostgreSQL.

A lease belongs to the event loop that acquired it. Its renewal is a task there, so a body that
blocks the loop also stops the renewal: call what blocks by asyncio.to_thread().
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Coroutine, Generator
from typing import Optional, Protocol, Tuple, Type, TypeVar, overload

from . import _core, _jobs, _lease
from ._core import Event, T
from ._engine import driver_name
from ._errors import Busy
from ._lease import Gate, Handle
from ._session import Half, log
from ._sources import async_run as run, async_source, hang_up

if TYPE_CHECKING:
    from typing_extensions import Literal, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["Jobs", "Lease", "Run", "exclusive_run", "fence", "lease", "lock", "next_number"]
__all__ += ["refresh", "release_all"]


async def to_its_end(work: Coroutine[Any, Any, None], limit: float) -> None:
    try:
        await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(work)), limit)
    except asyncio.TimeoutError:
        log.debug("the database did not answer in %s s", limit)


async def stop(task: asyncio.Future[Any]) -> None:
    """Cancels a task, and again with each cancellation of the caller, until it has ended."""
    try:
        task.cancel()  # without effect if it has ended
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await stop(task)
        raise


async def wait(event: asyncio.Event, limit: float) -> None:
    waiting = asyncio.ensure_future(event.wait())
    try:  # wait_for() of Python 3.11 may swallow a cancellation
        await asyncio.wait({waiting}, timeout=limit)
    finally:
        waiting.cancel()


def start(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    return asyncio.create_task(work, name=name)


async def ended(task: asyncio.Task[None], limit: float) -> bool:
    _, running = await asyncio.wait({task}, timeout=limit)
    task.cancel()  # without effect if it has ended
    return not running


def cut(task: Optional[asyncio.Task[None]], connection: Any) -> None:
    """Ends a call. To cancel psycopg's would block the loop until the server answers."""
    if connection is None:
        task and task.cancel()  # None: an interrupt came before it began
    elif driver_name(connection) == "asyncpg":
        connection.terminate()
    else:
        hang_up(connection)


async def take(lock_: asyncio.Lock, limit: float) -> bool:
    taking = asyncio.ensure_future(lock_.acquire())
    try:
        await asyncio.wait({taking}, timeout=max(0.0, limit))
    except asyncio.CancelledError:
        if taking.done():
            lock_.release()
        taking.cancel()
        raise
    return taking.done() or not taking.cancel()


def starter() -> Callable[[Callable[[], Coroutine[Any, Any, None]]], None]:
    loop = asyncio.get_running_loop()
    tasks = set()  # the loop itself keeps none

    def begin(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = loop.create_task(work())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def anywhere(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(begin, work)

    return anywhere


ASYNCIO = Half(
    async_source, run, to_its_end, asyncio.Event, wait, asyncio.Lock, take, start, ended, cut,
    starter,
)  # fmt: skip


async def connection_of(connection: Any) -> Any:
    """The driver's connection inside SQLAlchemy's AsyncSession or AsyncConnection."""
    if callable(getattr(type(connection), "connection", None)):  # a session
        connection = await connection.connection()
    if hasattr(connection, "get_raw_connection"):
        await connection.exec_driver_sql("SELECT 1")  # with it a transaction begins
        connection = (await connection.get_raw_connection()).driver_connection
    return connection


async def lock(
    connection: Any, name: str, *, shared: bool = False, timeout: Optional[float] = None
) -> None:
    """Locks a name until the connection's transaction ends: rowlock.lock()."""
    await _core.lock(run, await connection_of(connection), name, shared, timeout)


async def fence(connection: Any, name: str, token: int) -> None:
    """Keeps a lease valid until the connection's transaction ends; raises Lost if it is lost."""
    found = await connection_of(connection)
    await _core.within(run, found, name, "fence", name, token)


async def next_number(connection: Any, counter: str) -> int:
    """The next number of a counter, without a gap: a rollback takes it back."""
    return await _core.next_number(run, await connection_of(connection), counter)


async def refresh(
    connection: Any, name: str, max_age: Optional[float], load: Callable[[], Awaitable[object]], *,
    timeout: Optional[float] = None,
) -> bool:  # fmt: skip
    """Awaits load() if the data of that name is older than max_age seconds: rowlock.refresh()."""
    found = await connection_of(connection)
    return await _core.refresh(run, found, name, max_age, load, timeout)


class Lease(Handle):
    """A lease that is held: use lease()."""

    lost: asyncio.Event

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs it as a task, which is cancelled when the lease is lost: then raises Lost."""
        task, lost = asyncio.ensure_future(work), asyncio.ensure_future(self.lost.wait())
        try:
            self.check()  # the work has not begun
            await asyncio.wait({task, lost}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
            await stop(task)
        if task.cancelled() or self.lost.is_set() and not task.exception():
            self.check()
        return task.result()

    async def fence(self, connection: Any) -> None:
        """Keeps the lease valid until that connection's transaction ends; raises Lost."""
        self.check()
        await fence(connection, self.name, self.token)

    async def release(self) -> None:
        """Ends the lease. Raises Lost if it was lost before."""
        await self._state.leave(False)

    async def __aenter__(self) -> Lease:
        self._state.enter()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        await self._state.leave(kind is not None)


class Run(_jobs.Run):
    """A run of a job: what its function gets. It is cancelled when it is lost, and at max_run."""

    lost: asyncio.Event

    async def fence(self, connection: Any) -> None:
        """Keeps the run's lease valid until that connection's transaction ends; raises Lost."""
        self.check()
        await fence(connection, self.name, self.token)


async def perform(job: _jobs.Job, run: Any) -> Tuple[str, str]:
    task, lost = asyncio.ensure_future(job.function(run)), asyncio.ensure_future(run.lost.wait())
    limit = None if run._until is None else run._until - _core.now()
    try:
        await asyncio.wait({task, lost}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    finally:
        lost.cancel()
        await stop(task)
    if task.cancelled():
        own = "timed out" if run._is_late() else "failed"  # it has awaited what was cancelled
        return "lost" if run.lost.is_set() else own, "it was cancelled"
    return _jobs.result_of(task.exception(), run)


class Jobs(_jobs.Loop):
    """The jobs of this program, each an async def: rowlock.Jobs. At most `limit` at once."""

    def __init__(
        self, source: Any, *, limit: int = 10, on_event: Optional[Callable[[Event], object]] = None
    ) -> None:
        super().__init__(ASYNCIO, Run, source, perform, limit, on_event)

    def job(self, name: str, **terms: Any) -> Callable[[_jobs.F], _jobs.F]:
        """Decorates an async def, which gets a Run; terms: those of rowlock.Jobs.job()."""

        def decorate(function: _jobs.F) -> _jobs.F:
            if not inspect.iscoroutinefunction(function):
                raise TypeError(f"{function!r} is not an async def: use rowlock.Jobs")
            return self.add(name, function, _jobs.terms(**terms))

        return decorate

    async def run(self, *, grace: float = 10.0) -> None:
        """Performs the jobs until it is cancelled; then waits for runs, for `grace` seconds."""
        self.stopping = False
        try:
            await self.serve()
        finally:
            self.stopping = True
            await self.stop_runs(grace)

    async def run_due(self) -> int:
        """Performs what is due now, and returns how many runs that were."""
        return await self.once()


async def release_all() -> None:
    """Releases each lease that was acquired by this module: rowlock.release_all()."""
    await _lease.release_all(ASYNCIO)


class lease(Gate[Lease]):
    """A lock object: each `async with` acquires a lease, and so does each `await`, or acquire().

    source: a URL, a function that returns an awaitable connection of psycopg 3 or asyncpg, a pool
    of them, or an AsyncEngine of SQLAlchemy. The rest is as in rowlock.lease(). Tasks may share it:
    each `async with` has a lease of its own.
    """

    def __init__(
        self, source: Any, name: str, *, ttl: float = 30.0, wait: Optional[float] = None,
        shared: bool = False, permits: Optional[int] = None, note: Optional[str] = None,
        on_event: Optional[Callable[[Event], object]] = None,
    ) -> None:  # fmt: skip
        wanted = _core.terms(name, ttl, wait, shared, permits, note, on_event)
        super().__init__(ASYNCIO, Lease, source, wanted)

    def __repr__(self) -> str:
        return f"<rowlock.aio.lease {self._terms.name!r}>"

    async def acquire(self) -> Lease:
        """A lease, which ends by its release(), or at the end of an `async with` of its own."""
        return await self._acquire()

    def __await__(self) -> Generator[Any, Any, Lease]:
        return self.acquire().__await__()

    async def __aenter__(self) -> Lease:
        return await self._enter(asyncio.current_task())

    async def __aexit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        await self._leave(asyncio.current_task(), kind is not None)


class Decorator(Protocol):
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]]
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...


class SkippingDecorator(Protocol):
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]]
    ) -> Callable[P, Coroutine[Any, Any, Optional[R]]]: ...


@overload
def exclusive_run(
    source: Any, name: str, *, skip: Literal[False] = ..., **options: Any
) -> Decorator: ...
@overload
def exclusive_run(source: Any, name: str, *, skip: bool, **options: Any) -> SkippingDecorator: ...
def exclusive_run(source: Any, name: str, *, skip: bool = False, **options: Any) -> Any:
    """Decorates a coroutine function: it runs under the lease, and is cancelled if that is lost.

    Then the call raises Lost. options: those of lease(). skip: returns None if the name is still
    held after `wait` seconds, which are 0 then by default.
    """
    if skip:
        options.setdefault("wait", 0)
    gate = lease(source, name, **options)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"{function!r} is not an async def: use rowlock.exclusive_run, or"
                            " `async with lease(...)` in its body")  # fmt: skip

        @functools.wraps(function)
        async def run_it(*args: Any, **kwargs: Any) -> Any:
            try:
                held = await gate.acquire()
            except Busy:
                if skip:
                    return None
                raise
            async with held:
                return await held.run(function(*args, **kwargs))

        return run_it

    return decorate

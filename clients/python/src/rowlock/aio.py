# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio, by psycopg 3 (AsyncConnection) or asyncpg, on PostgreSQL.

A lease belongs to the event loop that acquired it. Its renewal is a task there, so a body that
blocks the loop also stops the renewal: call what blocks by asyncio.to_thread().
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import inspect
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Coroutine, Generator, Optional
from typing import Protocol, Sequence, Type, TypeVar, Union, overload

from . import _core
from ._blocking import hang_up
from ._core import T, log
from ._engine import MARIADB, Row, driver_of, target
from ._errors import Busy, RowlockError

if TYPE_CHECKING:
    from typing_extensions import Literal, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["Lease", "exclusive_run", "fence", "lease", "lock", "next_number", "refresh"]
Connect = Callable[[], Awaitable[Any]]


def checked(source: str) -> str:
    engine, url = target(source)
    if engine is MARIADB:
        raise RowlockError("asyncio works on PostgreSQL only; here use asyncio.to_thread()")
    return url


def by_url(source: str) -> Connect:
    url = checked(source)
    module = driver_of("PostgreSQL with asyncio", "psycopg", "asyncpg")
    connect = getattr(module, "AsyncConnection", module).connect
    return lambda: connect(url)


def is_asyncpg(connection: Any) -> bool:
    return hasattr(connection, "fetchrow")


async def opened(connect: Connect) -> Any:
    connection = await connect()
    try:
        if not is_asyncpg(connection):
            await connection.rollback()  # of what the application's function has begun
            await connection.set_autocommit(True)
            if connection.info.encoding != "utf-8":
                await run(connection, "SET client_encoding TO 'UTF8'", ())
    except BaseException:
        await shut(connection)
        raise
    return connection


async def run(connection: Any, statement: str, values: Sequence[Any]) -> Row:
    if is_asyncpg(connection):
        first, *others = statement.split("%s")
        numbered = (f"${place}{text}" for place, text in enumerate(others, 1))
        record = importlib.import_module("asyncpg").Record  # not what the application makes of it
        row: Optional[Row] = await connection.fetchrow(
            first + "".join(numbered), *values, record_class=record
        )
    else:
        rows = importlib.import_module("psycopg.rows").tuple_row  # as in the blocking half
        kind = importlib.import_module("psycopg").AsyncCursor
        async with kind(connection, row_factory=rows) as cursor:
            await cursor.execute(statement, tuple(values), prepare=False)
            row = await cursor.fetchone() if cursor.description else None
    return row or ()


async def shut(connection: Any) -> None:
    await (connection.close(timeout=1) if is_asyncpg(connection) else connection.close())


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
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), limit)


def start(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    return asyncio.create_task(work, name=name)


async def ended(task: asyncio.Task[None], limit: float) -> bool:
    _, running = await asyncio.wait({task}, timeout=limit)
    task.cancel()  # without effect if it has ended
    return not running


def cut(task: asyncio.Task[None], connection: Any) -> None:
    """Ends a call. To cancel psycopg's would block the loop until the server answers."""
    if connection is None:
        task.cancel()
    elif is_asyncpg(connection):
        connection.terminate()
    else:
        hang_up(connection)


ASYNCIO = _core.Half(by_url, opened, run, shut, to_its_end, asyncio.Event, wait, start, ended, cut)


async def driver_connection(connection: Any) -> Any:
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
    await _core.lock(run, await driver_connection(connection), name, shared, timeout)


async def fence(connection: Any, name: str, token: int) -> None:
    """Keeps a lease valid until the connection's transaction ends; raises Lost if it is lost."""
    found = await driver_connection(connection)
    await _core.within(run, found, name, "fence", name, token)


async def next_number(connection: Any, counter: str) -> int:
    """The next number of a counter, without a gap: a rollback takes it back."""
    return await _core.next_number(run, await driver_connection(connection), counter)


async def refresh(
    connection: Any, name: str, max_age: Optional[float], load: Callable[[], Awaitable[object]], *,
    timeout: Optional[float] = None,
) -> bool:  # fmt: skip
    """Awaits load() if the data of that name is older than max_age seconds: rowlock.refresh()."""
    found = await driver_connection(connection)
    return await _core.refresh(run, found, name, max_age, load, timeout)


class Lease(_core.Held):
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
        await self._leave(False)

    async def __aenter__(self) -> Lease:
        self._enter()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        await self._leave(kind is not None)


class lease:
    """A lock object: each `async with` acquires a lease, and so does each `await`, or acquire().

    source: a URL, or a function that returns an awaitable connection of psycopg 3 or asyncpg. The
    rest is as in rowlock.lease(). Tasks may share it: each `async with` has a lease of its own.
    """

    def __init__(
        self, source: Union[str, Connect], name: str, *, ttl: float = 30.0,
        wait: Optional[float] = None, shared: bool = False, permits: Optional[int] = None,
        note: Optional[str] = None,
    ) -> None:  # fmt: skip
        self._source, self._terms = source, _core.terms(name, ttl, wait, shared, permits, note)
        _core.check_source(source)
        if isinstance(source, str):
            checked(source)
        self._entered: _core.Entered[Lease] = _core.Entered(name)

    def __repr__(self) -> str:
        return f"<rowlock.aio.lease {self._terms.name!r}>"

    async def acquire(self) -> Lease:
        """A lease, which ends by its release(), or at the end of an `async with` of its own."""
        session = _core.Session(ASYNCIO, self._source, self._terms.name)
        return await _core.acquire(Lease, session, self._terms)

    def __await__(self) -> Generator[Any, Any, Lease]:
        return self.acquire().__await__()

    async def __aenter__(self) -> Lease:
        with self._entered.by(asyncio.current_task()) as keep:
            return keep(await self.acquire())

    async def __aexit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        await self._entered.pop(asyncio.current_task())._leave(kind is not None)


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
    source: Union[str, Connect], name: str, *, ttl: float = ..., wait: Optional[float] = ...,
    shared: bool = ..., permits: Optional[int] = ..., note: Optional[str] = ...,
    skip: Literal[False] = ...,
) -> Decorator: ...  # fmt: skip
@overload
def exclusive_run(
    source: Union[str, Connect], name: str, *, ttl: float = ..., wait: Optional[float] = ...,
    shared: bool = ..., permits: Optional[int] = ..., note: Optional[str] = ..., skip: bool,
) -> SkippingDecorator: ...  # fmt: skip
def exclusive_run(
    source: Union[str, Connect], name: str, *, ttl: float = 30.0, wait: Optional[float] = None,
    shared: bool = False, permits: Optional[int] = None, note: Optional[str] = None,
    skip: bool = False,
) -> Any:  # fmt: skip
    """Decorates a coroutine function: it runs under the lease, and is cancelled if that is lost.

    Then the call raises Lost. skip: returns None if the name is still held after `wait` seconds,
    which are 0 then by default.
    """
    wait = 0 if skip and wait is None else wait
    gate = lease(source, name, ttl=ttl, wait=wait, shared=shared, permits=permits, note=note)

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

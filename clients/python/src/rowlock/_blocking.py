# SPDX-License-Identifier: Apache-2.0
"""The blocking half: a lease is renewed by a thread, and watched by another."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib
import inspect
import os
import socket
import threading
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Optional, Protocol, Sequence, Type
from typing import TypeVar, Union, overload
from urllib.parse import unquote, urlsplit

from . import _core
from ._core import finish
from ._engine import MARIADB, POSTGRESQL, Connect, Row
from ._engine import driver_name, driver_of, engine_of, target, values_for
from ._errors import Busy

if TYPE_CHECKING:
    from typing_extensions import Literal, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R", covariant=True)


def by_url(source: str) -> Connect:
    engine, url = target(source)
    if engine is POSTGRESQL:
        module = driver_of("PostgreSQL", "psycopg", "psycopg2")
        return lambda: module.connect(url)
    module = driver_of("MariaDB", "pymysql")
    parts = urlsplit(url)
    return lambda: module.connect(
        host=parts.hostname or "localhost",
        port=parts.port or 3306,
        user=unquote(parts.username or "") or None,
        password=unquote(parts.password or ""),
        database=unquote(parts.path.lstrip("/")),
    )


async def opened(connect: Connect) -> Any:
    connection = connect()
    name = driver_name(connection)
    if engine_of(connection) is MARIADB:
        connection.autocommit(True)
        return connection
    connection.rollback()  # of what the application's function has begun
    connection.autocommit = True
    if name == "psycopg2" and connection.encoding not in ("UTF8", "UNICODE"):
        connection.set_client_encoding("UTF8")
    elif name == "psycopg" and connection.info.encoding != "utf-8":
        await run(connection, "SET client_encoding TO 'UTF8'", ())
    return connection


def plain_cursor(connection: Any) -> Any:
    """A cursor whose rows are tuples, whatever the application's connection makes of them."""
    name = driver_name(connection)
    if name == "psycopg":
        rows = importlib.import_module("psycopg.rows").tuple_row
        return importlib.import_module(name).Cursor(connection, row_factory=rows)
    if name == "psycopg2":
        return importlib.import_module("psycopg2.extensions").cursor(connection)
    return importlib.import_module(name + ".cursors").Cursor(connection)


async def run(connection: Any, statement: str, values: Sequence[Any]) -> Row:
    engine = engine_of(connection)
    # a prepared statement would outlive the call, which a pooler may give another session
    options = {"prepare": False} if driver_name(connection) == "psycopg" else {}
    with plain_cursor(connection) as cursor:
        cursor.execute(statement, values_for(engine, values), **options)
        row: Optional[Row] = cursor.fetchone() if cursor.description else None
        while engine is MARIADB and cursor.nextset():
            pass  # the end of the CALL
        if "@rowlock_answer" in statement:
            cursor.execute("SELECT @rowlock_answer")
            row = cursor.fetchone()
        return row or ()


async def shut(connection: Any) -> None:
    connection.close()


async def to_its_end(work: Coroutine[Any, Any, None], _: float) -> None:
    await work  # a second ^C ends it


async def wait(event: threading.Event, limit: float) -> None:
    event.wait(limit)


def start(task: Coroutine[Any, Any, None], name: str) -> threading.Thread:
    run_it = contextvars.copy_context().run  # for the application's function that connects
    thread = threading.Thread(target=run_it, args=(finish, task), name=name, daemon=True)
    thread.start()
    return thread


async def ended(thread: threading.Thread, limit: float) -> bool:
    thread.join(limit)
    return not thread.is_alive()


def hang_up(connection: Any) -> None:
    """Ends a connection that another thread or task is using, whose call fails then.

    A driver's close() would wait for that call.
    """
    with contextlib.suppress(Exception):
        # PyMySQL has no fileno(); the number of a copy, so that no other file can have it
        holder = connection if hasattr(connection, "fileno") else connection._sock
        with socket.socket(fileno=os.dup(holder.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)


def cut(_: threading.Thread, connection: Any) -> None:
    hang_up(connection)


BLOCKING = _core.Half(
    by_url, opened, run, shut, to_its_end, threading.Event, wait, start, ended, cut
)


def driver_connection(connection: Any) -> Any:
    """The driver's connection inside a SQLAlchemy Session or Connection, or a Django connection."""
    if callable(getattr(connection, "connection", None)):  # a Session
        connection = connection.connection()
    if hasattr(connection, "ensure_connection"):  # Django
        connection.ensure_connection()
    for attribute in ("connection", "driver_connection"):
        if type(connection).__module__.partition(".")[0] in ("sqlalchemy", "django"):
            connection = getattr(connection, attribute, connection)
    return connection


def lock(
    connection: Any, name: str, *, shared: bool = False, timeout: Optional[float] = None
) -> None:
    """Locks a name until the connection's transaction ends.

    timeout: seconds; 0 does not wait; None: as long as the server's settings allow. Raises Busy.
    MariaDB: if no transaction is open it begins one, at READ COMMITTED.
    """
    finish(_core.lock(run, driver_connection(connection), name, shared, timeout))


def fence(connection: Any, name: str, token: int) -> None:
    """Keeps a lease valid until the connection's transaction ends; raises Lost if it is lost."""
    finish(_core.within(run, driver_connection(connection), name, "fence", name, token))


def next_number(connection: Any, counter: str) -> int:
    """The next number of a counter, without a gap: a rollback takes it back."""
    return finish(_core.next_number(run, driver_connection(connection), counter))


def refresh(
    connection: Any, name: str, max_age: Optional[float], load: Callable[[], object], *,
    timeout: Optional[float] = None,
) -> bool:  # fmt: skip
    """Calls load() if the data of that name is older than max_age seconds; None: fresh at any age.

    load writes the new data, in the connection's transaction: of all callers one does, the others
    wait until its commit. Returns whether load was called. After an error, of load too, roll back.
    """

    async def work() -> None:
        load()

    found = driver_connection(connection)
    return finish(_core.refresh(run, found, name, max_age, work, timeout))


class Lease(_core.Held):
    """A lease that is held: lease(...).acquire(). A context manager, for one block."""

    lost: threading.Event

    def fence(self, connection: Any) -> None:
        """Keeps the lease valid until that connection's transaction ends; raises Lost."""
        self.check()
        fence(connection, self.name, self.token)

    def release(self) -> None:
        """Ends the lease. Raises Lost if it was lost before."""
        finish(self._leave(False))

    def __enter__(self) -> "Lease":
        self._enter()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        finish(self._leave(kind is not None))


class lease:
    """A lock object: each `with` acquires a lease, and so does each acquire().

    source: a URL (postgresql://, mariadb://), or a function that opens a connection of a driver.
    ttl: seconds after which the lease of a killed holder ends. wait: seconds in the queue, None:
    without limit, 0: none; then raises Busy. permits: how many holders the name may have.
    Threads may share it: each `with` has a lease of its own. One inside another, on the same object
    in the same thread, is a RowlockError.
    """

    def __init__(
        self, source: Union[str, Connect], name: str, *, ttl: float = 30.0,
        wait: Optional[float] = None, shared: bool = False, permits: Optional[int] = None,
        note: Optional[str] = None,
    ) -> None:  # fmt: skip
        self._source, self._terms = source, _core.terms(name, ttl, wait, shared, permits, note)
        _core.check_source(source)
        self._entered: _core.Entered[Lease] = _core.Entered(name)

    def __repr__(self) -> str:
        return f"<rowlock.lease {self._terms.name!r}>"

    def acquire(self) -> Lease:
        """A lease, which ends by its release(), or at the end of a `with` of its own."""
        session = _core.Session(BLOCKING, self._source, self._terms.name)
        return finish(_core.acquire(Lease, session, self._terms))

    def __enter__(self) -> Lease:
        with self._entered.by(threading.get_ident()) as keep:
            return keep(self.acquire())

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        finish(self._entered.pop(threading.get_ident())._leave(kind is not None))


class Decorator(Protocol):
    def __call__(self, function: Callable[P, R]) -> Callable[P, R]: ...


class SkippingDecorator(Protocol):
    def __call__(self, function: Callable[P, R]) -> Callable[P, Optional[R]]: ...


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
    """Decorates a function: it runs under the lease.

    skip: returns None if the name is still held after `wait` seconds, which are 0 then by default.
    An `async def` needs rowlock.aio.exclusive_run. A generator runs after the call: use lease() in
    its body.
    """
    wait = 0 if skip and wait is None else wait
    gate = lease(source, name, ttl=ttl, wait=wait, shared=shared, permits=permits, note=note)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function) or _core.is_generator_function(function):
            raise TypeError(f"{function!r} would run after its lease: {_core.INSTEAD}")

        @functools.wraps(function)
        def run_it(*args: Any, **kwargs: Any) -> Any:
            try:
                held = gate.acquire()
            except Busy:
                if skip:
                    return None
                raise
            with held:
                result = function(*args, **kwargs)
                if inspect.isawaitable(result) or _core.is_generator(result):
                    getattr(result, "close", getattr(result, "cancel", bool))()
                    raise TypeError(f"{result!r} would run after its lease: {_core.INSTEAD}")
                return result

        return run_it

    return decorate

# SPDX-License-Identifier: Apache-2.0
"""What differs between the engines: the statements, and how a driver opens a session."""

from __future__ import annotations

import importlib
from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import unquote, urlsplit

from ._errors import RowlockError


class Engine(NamedTuple):
    """The statements of one engine; %s is the placeholder of all drivers here."""

    request: str  # name, ttl_ms, owner, wait_ms, mode, limit, host, pid, program, note
    renew: str  # token, ttl_ms
    cancel: str  # name, owner
    release: str  # token
    fence: str  # name, token
    next_number: str  # counter


POSTGRESQL = Engine(
    request="SELECT token, ticket, place, holder FROM rowlock.request(%s::text,"
    " %s::bigint * interval '1 ms', %s::text, %s::bigint * interval '1 ms', %s::text,"
    " %s::integer, %s::text, %s::bigint, %s::text, %s::text)",
    renew="SELECT rowlock.renew(%s::bigint, %s::bigint * interval '1 ms')",
    cancel="SELECT rowlock.cancel(%s::text, %s::text)",
    release="SELECT rowlock.release(%s::bigint)",
    fence="SELECT rowlock.fence(%s::text, %s::bigint)",
    next_number="SELECT rowlock.next(%s::text)",
)
MARIADB = Engine(
    request="CALL rowlock_request_row(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
    renew="CALL rowlock_renew(%s, %s)",
    cancel="CALL rowlock_cancel(%s, %s, @rowlock_answer)",
    release="CALL rowlock_release(%s, @rowlock_answer)",
    fence="CALL rowlock_fence(%s, %s)",
    next_number="CALL rowlock_next(%s, @rowlock_answer)",
)
DRIVERS = {
    "psycopg": POSTGRESQL,
    "psycopg2": POSTGRESQL,
    "pymysql": MARIADB,
    "MySQLdb": MARIADB,
}
Row = Tuple[Any, ...]
Connect = Callable[[], Any]


def engine_of(connection: Any) -> Engine:
    for kind in type(connection).__mro__:
        engine = DRIVERS.get(kind.__module__.partition(".")[0])
        if engine:
            return engine
    raise RowlockError(
        f"{type(connection).__module__} is not a driver that rowlock knows (psycopg, psycopg2,"
        " PyMySQL, mysqlclient); on another database use the command rowlock"
    )


def driver_connection(connection: Any) -> Any:
    """The driver's connection inside a SQLAlchemy Session or Connection, or a Django connection."""
    inner = connection
    if callable(getattr(inner, "connection", None)):  # a Session
        inner = inner.connection()
    if hasattr(inner, "ensure_connection"):  # Django
        inner.ensure_connection()
    for attribute in ("connection", "driver_connection"):
        if type(inner).__module__.partition(".")[0] in ("sqlalchemy", "django"):
            inner = getattr(inner, attribute, inner)
    return inner


def run(connection: Any, statement: str, values: Sequence[Any]) -> Optional[Row]:
    """Executes a statement, and returns its first row, if it has one."""
    with connection.cursor() as cursor:
        cursor.execute(statement, tuple(values))
        row: Optional[Row] = cursor.fetchone() if cursor.description else None
        while hasattr(cursor, "nextset") and engine_of(connection) is MARIADB and cursor.nextset():
            pass  # the end of the CALL
        return row


def answer(connection: Any, engine: Engine, statement: str, values: Sequence[Any]) -> Any:
    """The value of a function, or of a procedure's last parameter."""
    row = run(connection, statement, values)
    if engine is MARIADB:
        row = run(connection, "SELECT @rowlock_answer", ())
    return row[0] if row else None


def driver_of(engine: str, *names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise RowlockError(f"no driver for {engine} is installed: pip install {names[0]}")


def connector(source: Any) -> Connect:
    """A function that opens a session in autocommit mode: from a URL, or the caller's function."""
    if callable(source):
        return lambda: autocommitting(source())
    parts = urlsplit(source)
    scheme = parts.scheme.partition("+")[0]
    if scheme in ("postgresql", "postgres"):
        module = driver_of("PostgreSQL", "psycopg", "psycopg2")
        return lambda: autocommitting(module.connect(source))
    if scheme in ("mariadb", "mysql"):
        module = driver_of("MariaDB", "pymysql")
        return lambda: autocommitting(
            module.connect(
                host=parts.hostname or "localhost",
                port=parts.port or 3306,
                user=unquote(parts.username or "") or None,
                password=unquote(parts.password or ""),
                database=unquote(parts.path.lstrip("/")),
            )
        )
    raise RowlockError(f"not a URL of PostgreSQL or MariaDB: {scheme or 'no scheme'}")


def autocommitting(connection: Any) -> Any:
    """MariaDB's drivers have a method, those of PostgreSQL an attribute."""
    if engine_of(connection) is MARIADB:
        connection.autocommit(True)
    else:
        connection.autocommit = True
    return connection

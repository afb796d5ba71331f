# SPDX-License-Identifier: Apache-2.0
"""What differs between the engines: the statements, and what a driver's connection is.

An answer is a number or a text, and is read by its position. Texts for MariaDB are sent as
hexadecimal digits, so a name is the same in each character set and sql_mode of a connection.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._errors import RowlockError


INSTALL = "install"  # not a statement: the values are statements
Engine = Dict[str, str]  # its statements; %s is the placeholder of all drivers here but asyncpg
POSTGRESQL: Engine = {
    # name, ttl_ms, owner, wait_ms, mode, limit, host, pid, program, note
    "request": "SELECT token, ticket, place, holder,"
    " (extract(epoch FROM pause) * 1000)::bigint FROM rowlock.request(%s::text,"
    " %s::bigint * interval '1 ms', %s::text, %s::bigint * interval '1 ms', %s::text,"
    " %s::integer, %s::text, %s::bigint, %s::text, %s::text)",
    "renew": "SELECT rowlock.renew(%s::bigint, %s::bigint * interval '1 ms')",  # token, ttl_ms
    "cancel": "SELECT rowlock.cancel(%s::text, %s::text)",  # name, owner
    # token; it waits for a transaction that has fenced, which may be the caller's own
    "release": "SELECT CASE WHEN pg_catalog.set_config('lock_timeout', '1s', true) = '1s'"
    " THEN rowlock.release(%s::bigint)::integer END",
    "exclusive": "SELECT rowlock.exclusive(%s::text)",  # name
    "shared": "SELECT rowlock.shared(%s::text)",
    "try exclusive": "SELECT rowlock.try_exclusive(%s::text,"
    " %s::bigint * interval '1 ms')::integer",
    "try shared": "SELECT rowlock.try_shared(%s::text, %s::bigint * interval '1 ms')::integer",
    "fence": "SELECT rowlock.fence(%s::text, %s::bigint)",  # name, token
    "next": "SELECT rowlock.next(%s::text)",  # counter
    # name, max_age_ms, wait_ms, host, pid, program
    "refresh": "SELECT rowlock.refresh(%s::text, %s::bigint * interval '1 ms',"
    " %s::bigint * interval '1 ms', %s::text, %s::bigint, %s::text)",
    "refreshed": "SELECT rowlock.refreshed(%s::text, %s::bigint)",  # name, version
    "holders": "SELECT kind, pid, host, program, since, expires, note, waiting"
    " FROM rowlock.holders(%s::text)",  # name
    "session": "SELECT pg_catalog.pg_backend_pid()",
}
T = "CONVERT(UNHEX(%s) USING utf8mb4)"  # a text
MARIADB: Engine = {
    "request": f"CALL rowlock_request_row({T}, %s, {T}, %s, {T}, %s, {T}, %s, {T}, {T})",
    "renew": "CALL rowlock_renew(%s, %s)",
    "cancel": f"CALL rowlock_cancel({T}, {T}, @rowlock_answer)",
    "before release": "SET innodb_lock_wait_timeout = 1",  # as above
    "release": "CALL rowlock_release(%s, @rowlock_answer)",
    "exclusive": f"CALL rowlock_exclusive({T})",
    "shared": f"CALL rowlock_shared({T})",
    "begin exclusive": f"CALL rowlock_begin_exclusive({T})",
    "begin shared": f"CALL rowlock_begin_shared({T})",
    "isolation": "SHOW VARIABLES LIKE 't%%isolation'",  # MySQL has another name
    "limit": "SET @rowlock_wait = @@innodb_lock_wait_timeout, innodb_lock_wait_timeout = %s",
    "no limit": "SET innodb_lock_wait_timeout = @rowlock_wait",
    "fence": f"CALL rowlock_fence({T}, %s)",
    "next": f"CALL rowlock_next({T}, @rowlock_answer)",
    "refresh": f"CALL rowlock_refresh({T}, %s, %s, {T}, %s, {T}, @rowlock_answer)",
    "refreshed": f"CALL rowlock_refreshed({T}, %s)",
    "holders": f"CALL rowlock_holder({T})",
    "session": "SELECT CONNECTION_ID()",
}
FAKE: Engine = {which: which for which in POSTGRESQL}  # of rowlock.testing
DRIVERS = {"rowlock": FAKE, **dict.fromkeys(("psycopg", "psycopg2", "asyncpg"), POSTGRESQL)}
DRIVERS.update(dict.fromkeys(("pymysql", "MySQLdb"), MARIADB))
Row = Tuple[Any, ...]


def driver_name(connection: Any) -> str:
    for kind in type(connection).__mro__:
        name = kind.__module__.partition(".")[0]
        if name in DRIVERS:
            return name
    kind = type(connection)
    raise RowlockError(
        "a connection must be one of psycopg, psycopg2, PyMySQL, mysqlclient or asyncpg, not"
        f" {kind.__module__}.{kind.__qualname__}; on another database use the command rowlock"
    )


def engine_of(connection: Any) -> Engine:
    return DRIVERS[driver_name(connection)]


def values_for(engine: Engine, values: Sequence[Any]) -> List[Any]:
    if engine is POSTGRESQL:
        return list(values)
    return [value.encode().hex() if isinstance(value, str) else value for value in values]


def number_of(answer: Any) -> Optional[int]:
    """A number, whatever type the application's settings make of it."""
    return None if answer is None else int(answer)


def text_of(answer: Any) -> Optional[str]:
    if isinstance(answer, (bytes, bytearray)):
        return answer.decode("utf-8", "replace")
    return None if answer is None else str(answer)


def driver_of(engine: str, *names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:  # it is installed, and lacks something
                raise
    raise RowlockError(f"no driver for {engine} is installed: pip install {names[0]}")

# SPDX-License-Identifier: Apache-2.0
"""Calls on the application's own connection, in its transaction."""

from __future__ import annotations

import math
from typing import Any, Optional

from ._engine import MARIADB, Engine, answer, driver_connection, engine_of, run
from ._errors import Busy, RowlockError, number, translated


def in_transaction(connection: Any, engine: Engine) -> Any:
    """The connection; refuses one on which the lock would end with the statement."""
    if engine is not MARIADB and connection.autocommit and not connection.info.transaction_status:
        raise RowlockError(
            "no transaction is open, and the connection is in autocommit mode: the lock would end"
            " at once; begin a transaction (Django: transaction.atomic())"
        )
    return connection


def lock(
    connection: Any, name: str, *, shared: bool = False, timeout: Optional[float] = None
) -> None:
    """Locks a name until the connection's transaction ends.

    timeout: seconds; 0 does not wait; None: as long as the server's settings allow. Raises Busy.
    MariaDB: if no transaction is open it begins one, at READ COMMITTED.
    """
    inner = driver_connection(connection)
    try:
        if engine_of(inner) is MARIADB:
            _lock_mariadb(inner, name, "shared" if shared else "exclusive", timeout)
        else:
            in_transaction(inner, engine_of(inner))
            _lock_postgresql(inner, name, "shared" if shared else "exclusive", timeout)
    except Exception as error:
        meaning = translated(error, name)
        if meaning is error:
            raise
        raise meaning from error


def _lock_postgresql(connection: Any, name: str, mode: str, timeout: Optional[float]) -> None:
    if timeout is None:
        run(connection, f"SELECT rowlock.{mode}(%s::text)", (name,))
        return
    row = run(
        connection,
        f"SELECT rowlock.try_{mode}(%s::text, %s::bigint * interval '1 ms')",
        (name, math.ceil(timeout * 1000)),
    )
    if not row or not row[0]:
        holder = run(connection, "SELECT rowlock.holder(%s::text)", (name,))
        raise Busy(name, holder[0] if holder else None)


def _lock_mariadb(connection: Any, name: str, mode: str, timeout: Optional[float]) -> None:
    limit = "" if timeout is None else (
        f"SET STATEMENT innodb_lock_wait_timeout = {max(0, math.ceil(timeout))} FOR "
    )
    try:
        run(connection, f"{limit}CALL rowlock_begin_{mode}(%s)", (name,))
    except Exception as error:
        if number(error) != 1644 or "is open" not in str(error):
            raise
        run(connection, f"{limit}CALL rowlock_{mode}(%s)", (name,))


def fence(connection: Any, name: str, token: int) -> None:
    """Keeps a lease valid until the connection's transaction ends; raises Lost if it is lost."""
    inner = driver_connection(connection)
    try:
        run(in_transaction(inner, engine_of(inner)), engine_of(inner).fence, (name, token))
    except Exception as error:
        meaning = translated(error, name)
        if meaning is error:
            raise
        raise meaning from error


def next_number(connection: Any, counter: str) -> int:
    """The next number of a counter, without a gap: a rollback takes it back."""
    inner = driver_connection(connection)
    engine = engine_of(inner)
    try:
        return int(answer(inner, engine, engine.next_number, (counter,)))
    except Exception as error:
        meaning = translated(error, f"counter:{counter}")
        if meaning is error:
            raise
        raise meaning from error

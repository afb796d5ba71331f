# SPDX-License-Identifier: Apache-2.0
"""Installs in the database ROWLOCK_TEST_URL, and leaves it installed."""

import importlib
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
from typing import Any, List

import rowlock
import rowlock._core
import rowlock._install
import rowlock._sources
import rowlock.testing
from rowlock._install import statements
from test_rowlock import DRIVER, MARIADB, URL, command, connect, execute

DIALECT = rowlock._install.dialect_of(str(execute(connect(), "SELECT version()")[0]))
META = "rowlock_meta" if MARIADB else "rowlock.meta"
LOCK = (  # of installers, as sql/*/install_lock.sql; and who waits for it
    {
        "postgresql": "SELECT pg_advisory_lock(8246125620394091379)",
        "mariadb": "SELECT GET_LOCK(CONCAT('rowlock:', MD5(DATABASE())), 60)",
        "mysql": "SELECT GET_LOCK(CONCAT('rowlock:', LEFT(SHA2(DATABASE(), 256), 32)), 60)",
    }[DIALECT],
    "SELECT count(*) FROM information_schema.processlist"
    " WHERE db = DATABASE() AND state = 'User lock'"
    if MARIADB
    else "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database"
    " WHERE NOT granted AND locktype = 'advisory' AND datname = current_database()",
)


def module(*words: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "rowlock", *words], capture_output=True, text=True
    )


def failing() -> List[str]:
    found = [each.replace("\nCOMMIT;", "\nSELECT no_column;")
             for each in statements(DIALECT, rowlock.schema(DIALECT))]  # fmt: skip
    return [*found[:9], "SELECT no_column"] if MARIADB else found


class Test(unittest.TestCase):
    def setUp(self) -> None:
        command("schema", "uninstall", "--force")

    def tearDown(self) -> None:
        command("schema", "uninstall", "--force")
        rowlock.install(connect)

    def test_it_installs_once_and_leases_work(self) -> None:
        with self.assertRaisesRegex(rowlock.NotInstalled, "python -m rowlock install"):
            rowlock.lease(connect, "x").acquire()
        self.assertTrue(rowlock.install(connect))
        with rowlock.lease(connect, "x"):
            self.assertFalse(rowlock.install(connect))
        said = command("schema", "install")  # of the default technique, and complete
        self.assertRegex(said, "installed already.*technique " + ("row" if MARIADB else "native"))

    def test_of_two_at_once_one_installs(self) -> None:
        holder, results = connect(), []  # type: Any, List[bool]
        execute(holder, LOCK[0])
        both = [threading.Thread(target=lambda: results.append(rowlock.install(connect)))
                for _ in range(2)]  # fmt: skip
        for one in both:
            one.start()
        watch = connect()
        while execute(watch, LOCK[1])[0] < 2:
            self.assertTrue(all(one.is_alive() for one in both))
            watch.rollback()
            time.sleep(0.02)
        watch.close()
        holder.close()
        for one in both:
            one.join()
        self.assertEqual(sorted(results), [False, True])
        with rowlock.lease(connect, "x"):
            pass

    def test_the_next_version_is_accepted_and_any_other_refused(self) -> None:
        rowlock.install(connect)
        connection = connect()
        execute(connection, f"UPDATE {META} SET version = version + 1")
        connection.commit()
        self.assertFalse(rowlock.install(connect))
        range = "this package works with [1-9] to [1-9]"
        for version, advice in ((-1, f"-1, {range}; run: rowlock schema upgrade"),
                                (99, f"99, {range}; use a newer package")):  # fmt: skip
            execute(connection, f"UPDATE {META} SET version = {version}")
            connection.commit()
            with self.assertRaisesRegex(rowlock.RowlockError, "schema is version " + advice):
                rowlock.install(connect)
        connection.close()

    def test_an_interrupted_install_is_completed(self) -> None:
        if not MARIADB:
            self.skipTest("there it is one transaction")
        rowlock.install(connect)
        connection = connect()
        execute(connection, f"UPDATE {META} SET version = 0")
        connection.commit()
        execute(connection, "DROP PROCEDURE rowlock_request_row")
        connection.close()
        self.assertTrue(rowlock.install(connect))
        with rowlock.lease(connect, "x"):
            pass

    def test_a_failed_install_ends_its_session(self) -> None:
        connection = connect()
        with self.assertRaisesRegex(Exception, "no_column"):
            rowlock._core.finish(rowlock._sources.run(connection, "install", failing()))
        try:
            answer = execute(connection, "SELECT 1")
        except Exception:
            answer = "none"  # so its lock and its settings are gone
        else:
            connection.close()
        self.assertEqual(answer, "none")
        self.assertTrue(rowlock.install(connect))

    def test_a_pool_gets_its_session_back_as_it_was(self) -> None:
        if DRIVER == "psycopg":
            self.skipTest("Debian's SQLAlchemy does not know it")
        kind = {"psycopg2": "postgresql", "pymysql": "mysql+pymysql", "MySQLdb": "mysql+mysqldb"}
        engine = importlib.import_module("sqlalchemy").create_engine(
            kind[DRIVER] + "://", creator=connect, pool_size=1, max_overflow=0
        )
        with unittest.mock.patch("rowlock._install.statements", lambda *_: failing()):
            with self.assertRaisesRegex(Exception, "no_column"):
                rowlock.install(engine)
        self.assertTrue(rowlock.install(engine))
        setting = "@@sql_mode" if MARIADB else "current_setting('client_min_messages')"
        borrowed, own = engine.raw_connection(), connect()
        for each in (setting, "@@autocommit") if MARIADB else (setting,):
            self.assertEqual(execute(borrowed, "SELECT " + each), execute(own, "SELECT " + each))
        borrowed.close()
        own.close()
        engine.dispose()

    def test_the_printed_text_is_that_of_the_command(self) -> None:
        for dialect in ("postgresql", "mariadb", "mysql"):
            printed = command("schema", "print", dialect, "--role", "shop")
            self.assertEqual(module("install", "--print", dialect, "--role", "shop").stdout, printed)
            bare = module("install", "--print", dialect).stdout
            self.assertNotIn("GRANT ", "".join(line for line in bare.splitlines(True)
                                               if not line.lstrip().startswith("--")))  # fmt: skip
        self.assertIn("TO 'shop'@'%'", rowlock.schema("mysql", role="shop@%"))
        for wrong in ("x; DROP", "", "x@y"):
            with self.assertRaises(ValueError):
                rowlock.schema("postgresql", role=wrong)
        with self.assertRaises(ValueError):
            rowlock.schema("oracle")

    def test_the_module_installs(self) -> None:
        for said in ("rowlock is installed\n", "rowlock is installed already\n"):
            done = module("install", URL)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, said, ""))
        self.assertEqual(module("install", "--role", "x", URL).returncode, 2)
        done = module("install", "sqlite:x")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("rowlock: no URL of PostgreSQL or MariaDB", done.stderr)

    def test_a_fake_needs_no_install(self) -> None:
        self.assertFalse(rowlock.install(rowlock.testing.Fake()))


if __name__ == "__main__":
    unittest.main()

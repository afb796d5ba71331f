# SPDX-License-Identifier: Apache-2.0
"""On a real server: ROWLOCK_TEST_URL, and the driver in ROWLOCK_TEST_DRIVER."""

import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
from typing import Any, Dict, Generator, List
from urllib.parse import unquote, urlsplit

import rowlock
import rowlock._core
import rowlock._blocking

URL = os.environ["ROWLOCK_TEST_URL"]
DRIVER = os.environ["ROWLOCK_TEST_DRIVER"]
MARIADB = urlsplit(URL).scheme in ("mariadb", "mysql")


PROGRAM = f"""
import functools, sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import rowlock, test_rowlock
rowlock.lease(functools.partial(test_rowlock.connect, sys.argv[1]), "x").acquire()
"""  # waits for a lease


def connect(url: str = URL, **options: Any) -> Any:
    module = importlib.import_module(DRIVER)
    parts = urlsplit(url)
    if not MARIADB:
        return module.connect(url, **options)
    connection = module.connect(
        host=parts.hostname,
        port=parts.port,
        user=parts.username,
        password=unquote(parts.password or ""),
        database=parts.path[1:],
        **options,
    )
    execute(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    return connection


def execute(connection: Any, statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone() if cursor.description else None


def settings() -> Dict[str, Dict[str, Any]]:
    """How applications change what a connection of this driver returns, or sends."""
    if DRIVER == "psycopg":
        rows = importlib.import_module("psycopg.rows")
        kinds = ("dict_row", "namedtuple_row", "scalar_row")  # the last is new in 3.2
        shapes = {kind: getattr(rows, kind) for kind in kinds if hasattr(rows, kind)}
        shapes.update(class_row=rows.class_row(dict), args_row=rows.args_row(lambda *_: {"a": 1}))
        module = importlib.import_module("psycopg")
        return {
            **{name: {"row_factory": shape} for name, shape in shapes.items()},
            "bound by the client": {"cursor_factory": module.ClientCursor},
            "autocommit": {"autocommit": True},
            "always prepared": {"prepare_threshold": 0},
            "latin1": {"client_encoding": "latin1"},
        }
    if DRIVER == "psycopg2":
        extras = importlib.import_module("psycopg2.extras")
        kinds = ("RealDictCursor", "DictCursor", "NamedTupleCursor")
        return {
            **{kind: {"cursor_factory": getattr(extras, kind)} for kind in kinds},
            "DictConnection": {"connection_factory": extras.DictConnection},
            "latin1": {"client_encoding": "latin1"},
        }
    cursors = importlib.import_module(DRIVER + ".cursors")
    return {
        **{
            kind: {"cursorclass": getattr(cursors, kind)}
            for kind in ("DictCursor", "SSCursor", "SSDictCursor")
        },
        "autocommit": {"autocommit": True},
        "latin1": {"charset": "latin1"},
        "bytes": {"use_unicode": False},
        "no escapes": {"init_command": "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'"},
    }


def command(*words: str) -> str:
    return subprocess.run(
        [os.environ["ROWLOCK"], "--db", URL, *words], check=True, capture_output=True, text=True
    ).stdout


def changed(**functions: Any) -> Any:
    """Leases that are acquired meanwhile do this in another way."""
    half = rowlock._blocking.BLOCKING._replace(**functions)
    return unittest.mock.patch("rowlock._blocking.BLOCKING", half)


class Test(unittest.TestCase):
    def tearDown(self) -> None:
        deadline = time.monotonic() + 20  # a lost lease is released in the background
        while command("ls") and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(command("ls"), "")

    def test_a_lease_excludes_and_is_shown(self) -> None:
        with rowlock.lease(connect, "x", note="mine") as held:
            held.check()
            self.assertGreater(held.remaining(), 20)
            shown = command("ls", "x")
            self.assertIn("mine", shown)
            self.assertIn(f":{os.getpid()} ", shown)
            with self.assertRaises(rowlock.Busy) as refused:
                rowlock.lease(connect, "x", wait=0).acquire()
            self.assertIn("mine", refused.exception.holder or "")
        with rowlock.lease(URL, "x", wait=0) as again:
            self.assertGreater(again.token, held.token)

    def test_a_refused_lease_never_runs_the_body(self) -> None:
        with rowlock.lease(connect, "x"):
            with self.assertRaises(rowlock.Busy):
                with rowlock.lease(connect, "x", wait=0.5):
                    self.fail("the body ran")

    def test_an_application_may_set_what_rows_and_texts_are(self) -> None:
        name = "it's \\\\ \u00e9"  # of latin1
        for what, options in settings().items():
            with self.subTest(what):
                opens = functools.partial(connect, **options)
                with rowlock.lease(opens, name, ttl=30, note=name) as held:
                    with self.assertRaises(rowlock.Busy) as refused:
                        rowlock.lease(opens, name, wait=0).acquire()
                    self.assertIn(str(os.getpid()), refused.exception.holder or "")
                    (shown,) = json.loads(command("--json", "ls", name))
                    self.assertEqual((shown["name"], shown["note"]), (name, name))
                    self.in_a_transaction(opens(), held)
                rowlock.lease(connect, name, wait=0).acquire().release()

    def in_a_transaction(self, connection: Any, held: rowlock.Lease) -> None:
        command("next", "invoice")
        execute(connection, "BEGIN" if not MARIADB else "COMMIT")
        rowlock.lock(connection, "counter:invoice")
        held.fence(connection)
        rowlock.next_number(connection, "invoice")
        rival = connect()
        with self.assertRaises(rowlock.Busy):
            rowlock.lock(rival, "counter:invoice", timeout=0)
        for end in (rival, connection):
            end.rollback()
            end.close()

    def test_a_connection_may_be_in_a_transaction_already(self) -> None:
        def in_one() -> Any:
            connection = connect()
            execute(connection, "BEGIN" if MARIADB else "SELECT 1")
            return connection

        with rowlock.lease(in_one, "x"):
            self.assertIn(f":{os.getpid()} ", command("ls", "x"))

    def test_a_lock_object_acquires_each_time(self) -> None:
        lock = rowlock.lease(connect, "x", wait=0)
        tokens = []
        for _ in range(2):
            with lock as held:
                tokens.append(held.token)
                held.check()
        self.assertLess(tokens[0], tokens[1])
        with rowlock.lease(connect, "x"):
            with self.assertRaises(rowlock.Busy):
                with lock:
                    self.fail("the body ran")
        with lock:
            with self.assertRaisesRegex(rowlock.RowlockError, "is held here already"):
                with lock:
                    self.fail("the body ran")
            self.assertIn(f":{os.getpid()} ", command("ls", "x"))

    def test_threads_share_a_lock_object(self) -> None:
        lock, guard, inside, most = rowlock.lease(connect, "x"), threading.Lock(), [], []

        def work(number: int) -> None:
            with lock as held:
                with guard:
                    inside.append(number)
                    most.append(len(inside))
                held.check()
                with guard:
                    inside.remove(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(most, [1, 1, 1])

    def test_a_lease_that_was_released_has_no_second_block(self) -> None:
        held = rowlock.lease(connect, "x").acquire()
        with held:
            pass
        with self.assertRaisesRegex(rowlock.RowlockError, "acquire another"):
            with held:
                self.fail("the body ran")

    def test_a_break_is_reported(self) -> None:
        with self.assertRaises(rowlock.Lost):
            with rowlock.lease(connect, "x", ttl=9) as held:
                command("break", "x")
                self.assertTrue(held.lost.wait(20))
                self.assertGreater(held._state._end - held._state._margin, rowlock._core.now())  # by a renewal
                with self.assertRaises(rowlock.Lost):
                    held.check()
                self.assertEqual(held.remaining(), 0)

    def test_an_error_of_the_body_is_not_hidden(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            with rowlock.lease(connect, "x", ttl=3) as held:
                command("break", "--now", "x")
                held.lost.wait(20)
                raise ZeroDivisionError

    def test_a_database_that_hangs_ends_it_in_time(self) -> None:
        answers, before = threading.Event(), time.monotonic()

        async def hanging(connection: Any, statement: str, values: Any) -> Any:
            if "renew" in statement or "release" in statement:
                answers.wait()
            return await rowlock._blocking.run(connection, statement, values)

        with changed(run=hanging):
            held = rowlock.lease(connect, "x", ttl=3).acquire()
        self.assertTrue(held.lost.wait(20))
        self.assertLess(time.monotonic() - before, 3)
        with self.assertRaisesRegex(rowlock.Lost, r"\(not renewed for . s: .*did not answer in"):
            held.release()  # while the database hangs
        answers.set()
        rowlock.lease(connect, "x").acquire().release()  # it has expired

    def test_a_session_that_hangs_is_replaced(self) -> None:
        answers, stuck = threading.Event(), []

        async def hanging(connection: Any, statement: str, values: Any) -> Any:
            if "renew" in statement and not stuck:
                stuck.append(connection)
            if connection in stuck:
                answers.wait()
            return await rowlock._blocking.run(connection, statement, values)

        with changed(run=hanging), rowlock.lease(connect, "x", ttl=6) as held:
            end = held._state._end
            while held._state._end == end and not held.lost.is_set():
                time.sleep(0.02)
            held.check()
            self.assertTrue(stuck)
            answers.set()

    def silent(self) -> str:
        """A URL of a server that accepts connections, and says nothing."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return urlsplit(URL).scheme + f"://me@127.0.0.1:{listener.getsockname()[1]}/x"

    def test_a_server_that_says_nothing_is_unavailable(self) -> None:
        for wait in (0, 1, None):
            with self.assertRaises(rowlock.Unavailable):
                rowlock.lease(functools.partial(connect, self.silent()), "x", wait=wait).acquire()

    def test_a_refused_login_is_raised_at_once(self) -> None:
        at = urlsplit(URL)
        url = at._replace(netloc=f"nobody.here@{at.hostname}:{at.port}").geturl()
        for wait in (600, None):
            with self.assertRaises(Exception) as refused:
                rowlock.lease(functools.partial(connect, url), "x", wait=wait).acquire()
            self.assertEqual(type(refused.exception).__module__.partition(".")[0], DRIVER)

    def test_an_interrupt_ends_a_connection_attempt(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        url = urlsplit(URL).scheme + f"://me@127.0.0.1:{listener.getsockname()[1]}/x"
        waiting = subprocess.Popen([sys.executable, "-c", PROGRAM, url], stderr=subprocess.PIPE)
        listener.accept()[0].detach()  # it stays open
        waiting.send_signal(signal.SIGINT)
        self.assertIn(b"KeyboardInterrupt", waiting.communicate(timeout=60)[1])
        listener.close()

    def test_an_interrupt_of_the_first_call_leaves_no_lease(self) -> None:
        withdrawn = threading.Event()

        async def slow(connection: Any, statement: str, values: Any) -> Any:
            if "request" in statement:  # it reaches the server after the withdrawal
                os.kill(os.getpid(), signal.SIGINT)
                withdrawn.wait(60)
            row = await rowlock._blocking.run(connection, statement, values)
            if "cancel" in statement:
                withdrawn.set()
            return row

        with changed(run=slow), self.assertRaises(KeyboardInterrupt):
            rowlock.lease(connect, "x", ttl=600).acquire()
        self.assertTrue(withdrawn.is_set())

    def test_an_interrupt_of_a_call_that_the_server_executes_leaves_no_lease(self) -> None:
        blocking = connect()
        execute(blocking, "LOCK TABLES rowlock_name WRITE" if MARIADB else
                "BEGIN; LOCK TABLE rowlock.lease IN ACCESS EXCLUSIVE MODE")  # fmt: skip

        async def sent(connection: Any, statement: str, values: Any) -> Any:
            if "request" in statement:
                os.kill(os.getpid(), signal.SIGINT)
            return await rowlock._blocking.run(connection, statement, values)

        with changed(run=sent), self.assertRaises(KeyboardInterrupt):
            rowlock.lease(connect, "x", ttl=600).acquire()
        blocking.close()  # now the request goes on, and acquires
        for thread in threading.enumerate():
            if thread.name.startswith("rowlock x: "):
                thread.join()

    def test_an_interrupt_of_a_call_that_just_started_leaves_no_lease(self) -> None:
        withdrawn = threading.Event()

        def interrupted(task: Any, name: str) -> Any:
            thread = rowlock._blocking.start(task, name)
            if "request" in name:  # it is connecting, or has sent already
                raise KeyboardInterrupt
            return thread

        async def slow(connection: Any, statement: str, values: Any) -> Any:
            if "request" in statement:
                withdrawn.wait(60)
            row = await rowlock._blocking.run(connection, statement, values)
            if "cancel" in statement:
                withdrawn.set()
            return row

        with changed(run=slow, start=interrupted), self.assertRaises(KeyboardInterrupt):
            rowlock.lease(connect, "x", ttl=600).acquire()
        for thread in threading.enumerate():
            if thread.name == "rowlock x: request":
                thread.join()

    def test_an_open_transaction_that_fenced_is_reported_by_the_end_of_the_block(self) -> None:
        connection = connect()
        with self.assertRaisesRegex(rowlock.RowlockError, "a transaction that called fence"):
            with rowlock.lease(connect, "x") as held:
                execute(connection, "BEGIN" if MARIADB else "SELECT 1")
                held.fence(connection)
        with self.assertRaises(ZeroDivisionError), rowlock.lease(connect, "y") as held:
            held.fence(connection)
            raise ZeroDivisionError
        connection.rollback()
        connection.close()
        for name in ("x", "y"):
            command("break", "--now", name)

    def test_a_lost_reply_is_repeated_with_the_same_owner(self) -> None:
        owners: List[str] = []
        tokens: List[int] = []

        async def losing(connection: Any, statement: str, values: Any) -> Any:
            row = await rowlock._blocking.run(connection, statement, values)
            if "request" in statement:
                owners.append(values[2])
                tokens.append(row[0])
                if len(owners) == 1:
                    raise ConnectionResetError("lost")
            return row

        for wait in (20, 0):
            with changed(run=losing), rowlock.lease(connect, "x", wait=wait) as held:
                self.assertEqual(owners, [held.owner] * 2)
                self.assertEqual(tokens, [held.token] * 2)
            owners.clear()
            tokens.clear()

    @unittest.skipUnless(sys.platform == "linux", "its clock stops while the machine sleeps")
    def test_a_machine_that_slept_finds_it_lost(self) -> None:
        clock = time.clock_gettime

        def later(which: int) -> float:
            return clock(which) + (60 if which == time.CLOCK_BOOTTIME else 0)

        with self.assertRaises(rowlock.Lost):
            with rowlock.lease(connect, "x", ttl=30) as held:
                with unittest.mock.patch("time.clock_gettime", later):
                    with self.assertRaises(rowlock.Lost):
                        held.check()

    def test_the_fence(self) -> None:
        connection = connect()
        with rowlock.lease(connect, "x") as held:
            execute(connection, "BEGIN" if MARIADB else "SELECT 1")
            held.fence(connection)
            connection.commit()
            execute(connection, "BEGIN" if MARIADB else "SELECT 1")
            with self.assertRaises(rowlock.Lost):
                rowlock.fence(connection, "x", held.token - 1)
            connection.rollback()
        connection.close()

    def test_a_lock_in_the_transaction(self) -> None:
        one, two = connect(), connect()
        rowlock.lock(one, "x")
        with self.assertRaises(rowlock.Busy) as refused:
            rowlock.lock(two, "x", timeout=0.1)
        self.assertNotIn('"', str(refused.exception))  # the driver's text, not its tuple
        two.rollback()
        one.commit()
        rowlock.lock(two, "x", shared=True, timeout=5)
        two.commit()
        one.close()
        two.close()

    def test_a_lock_leaves_the_isolation_of_its_session(self) -> None:
        if not MARIADB:
            self.skipTest("there it is the transaction's")
        for autocommit in (True, False):
            connection = connect()
            connection.autocommit(autocommit)
            for level in ("REPEATABLE READ", "SERIALIZABLE", "READ COMMITTED"):
                execute(connection, f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
                if level == "READ COMMITTED":
                    rowlock.lock(connection, "x")
                else:
                    with self.assertRaisesRegex(rowlock.RowlockError, "needs .* READ COMMITTED"):
                        rowlock.lock(connection, "x", timeout=0)
                connection.commit()
                shown = execute(connection, "SHOW VARIABLES LIKE 't%isolation'")
                self.assertEqual(shown[1], level.replace(" ", "-"))
            connection.close()

    def test_a_lock_that_would_end_at_once_is_refused(self) -> None:
        if MARIADB:
            self.skipTest("there it begins a transaction")
        connection = connect()
        connection.autocommit = True
        with rowlock.lease(connect, "y") as held:
            with self.assertRaisesRegex(rowlock.RowlockError, "no transaction is open"):
                held.fence(connection)
        with self.assertRaisesRegex(rowlock.RowlockError, "no transaction is open"):
            rowlock.lock(connection, "x")
        execute(connection, "BEGIN")
        rowlock.lock(connection, "x")
        connection.close()

    def test_a_wrong_url_is_no_endless_wait(self) -> None:
        nowhere = urlsplit(URL).scheme + "://somebody@127.0.0.1:1/x"  # no server there
        with self.assertRaises(rowlock.Unavailable):
            rowlock.lease(nowhere, "x").acquire()
        with self.assertRaisesRegex(rowlock.RowlockError, "no options"):  # TLS would be dropped
            rowlock.lease("mariadb://somebody@127.0.0.1:1/x?ssl=on", "x", wait=0)

    def test_a_lock_in_a_transaction_of_sqlalchemy(self) -> None:
        import sqlalchemy
        import sqlalchemy.orm

        if DRIVER == "psycopg" and sqlalchemy.__version__ < "2":
            self.skipTest("SQLAlchemy 1.4 has no dialect for psycopg 3")
        dialect = f"mysql+{DRIVER.lower()}" if MARIADB else f"postgresql+{DRIVER}"
        command("next", "invoice")
        engine = sqlalchemy.create_engine(
            f"{dialect}://", creator=connect, isolation_level="READ COMMITTED"
        )
        two = connect()
        with rowlock.lease(connect, "y") as held, sqlalchemy.orm.Session(engine) as session:
            rowlock.lock(session, "x")
            with self.assertRaises(rowlock.Busy):
                rowlock.lock(two, "x", timeout=0)
            held.fence(session)
            number = rowlock.next_number(session, "invoice")
            session.rollback()
            session.execute(sqlalchemy.text("SELECT 1"))  # begins on MariaDB
            self.assertEqual(rowlock.next_number(session, "invoice"), number)
            session.commit()
        two.rollback()
        with engine.connect() as connection, connection.begin():
            rowlock.lock(connection, "x", timeout=5)
        engine.dispose()
        two.close()

    def test_a_lock_in_a_transaction_of_django(self) -> None:
        import django.conf
        import django.db

        parts = urlsplit(URL)
        if DRIVER == "pymysql":
            self.skipTest("Django uses mysqlclient")
        if not django.conf.settings.configured:
            database = {
                "ENGINE": "django.db.backends." + ("mysql" if MARIADB else "postgresql"),
                "NAME": parts.path[1:],
                "USER": parts.username,
                "PASSWORD": unquote(parts.password or ""),
                "HOST": parts.hostname,
                "PORT": parts.port,
            }
            django.conf.settings.configure(DATABASES={"default": database})
        import django.db.transaction

        two = connect()
        with rowlock.lease(connect, "y") as held, django.db.transaction.atomic():
            rowlock.lock(django.db.connection, "x")
            with self.assertRaises(rowlock.Busy):
                rowlock.lock(two, "x", timeout=0)
            held.fence(django.db.connection)
        rowlock.lock(two, "x", timeout=5)
        two.rollback()
        two.close()
        django.db.connection.close()

    def test_no_number_is_drawn_outside_a_transaction(self) -> None:
        command("next", "invoice")
        connection = connect()
        execute(connection, "BEGIN" if MARIADB else "SELECT 1")
        drawn = rowlock.next_number(connection, "invoice")
        connection.commit()
        set_it = connection.autocommit
        set_it(True) if callable(set_it) else setattr(connection, "autocommit", True)
        with self.assertRaisesRegex(rowlock.RowlockError, "no transaction is open"):
            rowlock.next_number(connection, "invoice")
        execute(connection, "BEGIN")
        self.assertEqual(rowlock.next_number(connection, "invoice"), drawn + 1)  # none was lost
        connection.close()

    def reader(self) -> Any:
        """A connection at READ COMMITTED, and the table of what was loaded, which is empty."""
        connection = connect()
        if MARIADB:
            execute(connection, "CALL rowlock_prepare('subject:rates')")
        execute(connection, "DROP TABLE IF EXISTS rates")
        execute(connection, "CREATE TABLE rates (n INT)")
        connection.commit()
        self.addCleanup(connection.close)
        return connection

    def test_stale_data_is_refreshed_once(self) -> None:
        one, two = self.reader(), self.reader()
        loads = []

        def load() -> None:
            loads.append(execute(one, "INSERT INTO rates VALUES (1)"))

        self.assertTrue(rowlock.refresh(one, "rates", 0, load))
        with self.assertRaises(rowlock.Busy) as refused:
            rowlock.refresh(two, "rates", 0, load, timeout=0.1)
        self.assertEqual(refused.exception.name, "subject:rates")
        if not MARIADB:
            self.assertIn("transaction", refused.exception.holder or "")
        self.assertEqual(execute(two, "SELECT count(*) FROM rates"), (0,))  # it continues
        one.commit()
        self.assertFalse(rowlock.refresh(two, "rates", 60, load))
        self.assertFalse(rowlock.refresh(two, "rates", None, load))
        self.assertEqual(execute(two, "SELECT count(*) FROM rates"), (1,))
        two.rollback()
        self.assertEqual(len(loads), 1)
        shown = json.loads(command("--json", "subjects", "rates"))[0]
        self.assertEqual(shown["pid"], os.getpid())

    def test_a_load_that_commits_does_not_refresh(self) -> None:
        connection = self.reader()
        with self.assertRaisesRegex(rowlock.Lost, "^the refresh of 'rates' .*; roll back"):
            rowlock.refresh(connection, "rates", 0, connection.commit)
        connection.rollback()
        self.assertTrue(rowlock.refresh(connection, "rates", 0, lambda: None))
        connection.rollback()
        self.assertEqual(json.loads(command("--json", "subjects", "rates"))[0]["status"], "ERROR")
        if not MARIADB:
            connection.autocommit = True
            with self.assertRaisesRegex(rowlock.RowlockError, "no transaction is open"):
                rowlock.refresh(connection, "rates", 0, lambda: self.fail("it was called"))

    def test_exclusive_run(self) -> None:
        calls = []

        @rowlock.exclusive_run(connect, "nightly", skip=True)
        def nightly() -> str:
            calls.append(nightly())
            return "done"

        self.assertEqual(nightly(), "done")
        self.assertEqual(calls, [None])

    def test_exclusive_run_has_the_terms_of_a_lease(self) -> None:
        @rowlock.exclusive_run(connect, "p", permits=2, wait=5, note="mine")
        def nightly() -> str:
            return command("ls", "p")

        with rowlock.lease(connect, "p", permits=2, note="other"):
            self.assertRegex(nightly(), "(?s)mine.*other|other.*mine")
        with rowlock.lease(connect, "s", shared=True):
            shared = rowlock.exclusive_run(connect, "s", shared=True, skip=True)(lambda: 7)
            self.assertEqual(shared(), 7)
        with rowlock.lease(connect, "x"):
            with self.assertRaises(rowlock.Busy):
                rowlock.exclusive_run(connect, "x", wait=0)(lambda: self.fail("it ran"))()

    def test_exclusive_run_refuses_what_would_run_later(self) -> None:
        run, ran = rowlock.exclusive_run(connect, "x"), []

        async def coroutine() -> None:
            ran.append("coroutine")

        def generator() -> Generator[int, None, None]:
            ran.append("generator")
            yield 1

        async def both() -> Any:
            yield 1

        for function in (coroutine, generator, both, functools.partial(coroutine)):
            with self.assertRaisesRegex(TypeError, "would run after its lease"):
                run(function)
        for hidden in (lambda: coroutine(), lambda: generator(), lambda: both()):
            with self.assertRaisesRegex(TypeError, "would run after its lease"):
                run(hidden)()
        self.assertEqual(ran, [])

    def test_a_connection_that_was_closed_is_replaced(self) -> None:
        with rowlock.lease(connect, "x", ttl=3) as held:
            held._state._session._line.connection.close()
            time.sleep(4)
            held.check()

    def test_a_forked_child_does_not_use_it(self) -> None:
        with rowlock.lease(connect, "x") as held:
            child = os.fork()
            if child == 0:
                try:
                    held.check()
                except rowlock.RowlockError:
                    os._exit(7)
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1] >> 8, 7)


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""run.py FOLDER LANGUAGE[:DRIVER]... [--only TEXT]: runs the scenarios, or those with TEXT in name or
file, and prints TAP.

FOLDER/LANGUAGE/run is the client of a language (build). With one language all clients of a scenario
are in it. With several each scenario runs twice, by clients of different languages.
The database is that of ROWLOCK_TEST_URL; ROWLOCK is the command. CONFORMANCE_LIMIT is how long a
loss may take to be announced, in seconds. CONFORMANCE_POOLER is the URL of a pooler before the
database, through which the clients connect.
"""

import datetime
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
URL = os.environ["ROWLOCK_TEST_URL"]
SERVER = os.environ.get("CONFORMANCE_POOLER", URL)  # of the clients
FAKETIME = "".join(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")[:1])
LIMIT_S = int(os.environ.get("CONFORMANCE_LIMIT", "120"))
TEXTS = {"name", "mode", "note", "counter", "load", "url"}
TEXTS |= {"every", "cron", "zone", "missed", "body"}


class Failure(Exception):
    pass


class Proxy:
    """Between a client and the server. It can hold back each reply for a while, or pass nothing."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.latency = 0.0
        self.delayed = 0  # replies, since latency was set
        self.is_cut = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        at = urlsplit(SERVER)
        while True:
            client = self.listener.accept()[0]
            try:
                server = socket.create_connection((at.hostname, at.port))
            except OSError:
                client.close()
                continue
            for pair in ((client, server), (server, client)):
                pair[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.copy, args=(*pair, server), daemon=True).start()

    def copy(self, source: socket.socket, target: socket.socket, server: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if source is server and self.latency:
                    self.delayed += 1
                    time.sleep(self.latency)
                if not self.is_cut:
                    target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Client:
    """A program of one language."""

    def __init__(self, folder: str, language: str) -> None:
        self.language, self.folder = language, folder
        self.proxy = Proxy()
        self.start({})

    def start(self, environment: Dict[str, str]) -> None:
        program, _, driver = self.language.partition(":")
        at = urlsplit(SERVER)
        port = self.proxy.listener.getsockname()[1]
        url = at._replace(netloc=f"{at.netloc.rpartition('@')[0]}@127.0.0.1:{port}").geturl()
        self.process = subprocess.Popen(
            [os.path.join(self.folder, program, "run"), url, *([driver] if driver else [])],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.ready = self.read()

    def read(self) -> Dict[str, Any]:
        assert self.process.stdout
        if not select.select([self.process.stdout], [], [], LIMIT_S)[0]:
            raise Failure(f"{self.language} does not answer within {LIMIT_S} s")
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"{self.language} has ended: {self.process.wait()}")
        answer: Dict[str, Any] = json.loads(line)
        return answer

    def send(self, command: Dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def rowlock(*words: str) -> str:
    command = [os.environ["ROWLOCK"], "--db", URL, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode and not {"ls", "--json"} & set(words):  # which tell what they list by it
        raise Failure(f"rowlock {' '.join(words)} exits with {done.returncode}")
    return done.stdout


class Run:
    """One scenario, with a client for each letter. Its names are its own."""

    def __init__(self, prefix: str, client_of: Callable[[str], Client]) -> None:
        self.prefix = prefix
        self.client_of = client_of
        self.token = 0
        self.remaining = 0
        self.ttl = 0
        self.killed: List[Client] = []
        self.defined: List[Client] = []  # those that have jobs
        self.waiter: Optional["subprocess.Popen[bytes]"] = None

    def line(self, text: str) -> None:
        call, _, expected = text.partition(" # ")[0].partition(" -> ")
        words = call.split()
        if not re.fullmatch("[A-C]", words[0]):
            getattr(self, "do_" + words[0].replace("-", "_"))(*words[1:])
            return
        client = self.client_of(words[0])
        if words[1] == "starts":
            client.send(self.command(client, words[2:]))
            return
        if words[1] != "answers":
            client.send(self.command(client, words[1:]))
        self.compare(client, expected.split())

    def command(self, client: Client, words: List[str]) -> Dict[str, Any]:
        command: Dict[str, Any] = {"do": words[0]}
        if words[0] in ("acquire", "job"):
            command["ttl"] = 60000
        if words[0] == "job" and client not in self.defined:
            self.defined.append(client)
            command["fresh"] = 1  # the jobs of an earlier scenario are forgotten
        for word in words[1:]:
            key, equals, value = word.partition("=")
            if not equals:
                key = "counter" if words[0] == "next" else "name"
                kind, colon, rest = word.rpartition(":")
                value = kind + colon + self.prefix + rest.replace("_", " ")
            if key == "at":
                key, value = "url", elsewhere(value)
            if key == "cron":
                value = value.replace("_", " ")
            value = value.replace("LIMIT", str(LIMIT_S * 1000))
            command[key] = value if key in TEXTS else int(value)
        self.ttl = command.get("ttl", self.ttl)
        return command

    def compare(self, client: Client, expected: List[str]) -> None:
        answer = client.read()

        def must(condition: Any) -> None:
            if not condition:
                raise Failure(f"expected {' '.join(expected)}: {answer}")

        must(answer["is"] in expected[0].split("|"))
        earlier, self.token = self.token, max(self.token, answer.get("token", 0))
        self.remaining = answer.get("remaining", 0)
        if "due" in answer:  # of a run that has begun
            self.compare_run(answer, must)
        for condition in expected[1:]:
            key, _, value = condition.partition("=")
            if key == "rising":
                must(answer["token"] > earlier)
            elif key == "names":
                ready = self.client_of(value).ready
                parts = [str(ready["pid"]), socket.gethostname(), ready["program"]]
                must(all(part in answer["holder"] for part in parts))
            elif key == "text":
                said = (answer.get("holder") or "") + (answer.get("text") or "")
                must(value.replace("_", " ") in said)
            elif key in ("number", "loaded"):
                must(answer[key] == int(value))
            elif key == "short":  # of the ttl, and of the margin that the packages subtract
                margin = 0 if client.language == "c" else min(1000, self.ttl // 10)
                must(0 < answer["remaining"] <= self.ttl - margin - int(value))
            else:
                raise ValueError(condition)

    def compare_run(self, answer: Dict[str, Any], must: Callable[[Any], None]) -> None:
        run = json.loads(rowlock("--json", "jobs", answer["job"]))[0]["history"][0]
        due = datetime.datetime.fromisoformat(run["due"].replace("Z", "+00:00"))
        must(answer["job"].startswith(self.prefix))
        must((answer["token"], answer["number"]) == (run["token"], run["repeat"]))
        must(abs(answer["due"] - due.timestamp() * 1000) < 1)

    def until(self, what: str, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > deadline:
                raise Failure(f"{what}: not within {LIMIT_S} s; {rowlock('ls')}")
            time.sleep(0.05)

    # ---- what the runner does

    def listed(self, name: str) -> List[Dict[str, Any]]:
        rows: List[Dict[str, Any]] = json.loads(rowlock("--json", "ls", self.prefix + name) or "[]")
        return rows

    def waiters(self, name: str) -> int:
        return sum(row["state"] == "waiting" for row in self.listed(name))

    def do_waiting(self, name: str, count: str) -> None:
        self.until(f"{count} waiters", lambda: self.waiters(name) == int(count))

    def do_free_of_waiters(self, name: str) -> None:
        self.do_waiting(name, "0")

    def do_break(self, name: str) -> None:
        kind, colon, rest = name.rpartition(":")
        rowlock("break", kind + colon + self.prefix + rest)

    def do_break_now(self, name: str) -> None:
        rowlock("break", "--now", self.prefix + name)

    def do_draw(self, counter: str, number: str) -> None:
        drawn = rowlock("next", self.prefix + counter).strip()
        if drawn != number:
            raise Failure(f"the command drew {drawn}, not {number}")

    def do_stale(self, subject: str) -> None:
        """The subject has its row, and the lock of a name that was never locked; it is stale."""
        rowlock("refresh", self.prefix + subject, "--max-age", "0s", "--", "true")
        rowlock("expire", self.prefix + subject)

    def do_outlast(self, ms: str) -> None:
        time.sleep(int(ms) / 1000)

    def do_stop(self, who: str) -> None:
        self.client_of(who).signal(signal.SIGSTOP)

    def do_continue(self, who: str) -> None:
        self.client_of(who).signal(signal.SIGCONT)

    def do_cancel(self, who: str) -> None:
        self.client_of(who).signal(signal.SIGINT)

    def do_kill(self, who: str) -> None:
        self.client_of(who).end()
        self.killed.append(self.client_of(who))

    def do_latency(self, who: str, ms: str) -> None:
        proxy = self.client_of(who).proxy
        proxy.delayed, proxy.latency = 0, int(ms) / 1000

    def do_cut(self, who: str) -> None:
        """Until the client is killed."""
        self.client_of(who).proxy.is_cut = True

    def do_renewing(self, who: str, ms: str) -> None:
        """The client, which does nothing else, has sent a renewal; each reply takes so long."""
        self.do_latency(who, ms)
        self.until("a renewal", lambda: self.client_of(who).proxy.delayed)

    def do_queue(self, name: str) -> None:
        """The command waits for a name that is free, because it wants another one, too."""
        names = [self.prefix + name, self.prefix + "taken"]
        rowlock("acquire", "--ttl", "10m", names[1])
        waiter = [os.environ["ROWLOCK"], "--db", URL, "run", *names, "--", "true"]
        self.waiter = subprocess.Popen(waiter)
        self.do_waiting(name, "1")

    def do_leave(self) -> None:
        rowlock("break", "--now", self.prefix + "taken")
        if self.waiter and self.waiter.wait():
            raise Failure(f"the waiter ended with {self.waiter.returncode}")

    # ---- jobs

    def do_now(self, job: str) -> None:
        rowlock("jobs", "--now", self.prefix + job)

    def do_hold(self, job: str) -> None:
        self.held = rowlock("hold", "--note", "repairs", "job:" + self.prefix + job).strip()

    def do_let_go(self, job: str) -> None:
        rowlock("release", "job:" + self.prefix + job, "--token", self.held)

    def do_missed(self, job: str) -> None:
        """Its due time, once a week, was two weeks ago."""
        table = "rowlock.job" if URL.startswith("postgresql") else "rowlock_job"
        sql(
            f"UPDATE {table} SET version = version + 1, last = due - 1814400000,"
            f" due = due - 1209600000 WHERE name = '{self.prefix}{job}'"
        )

    def runs(self, job: str) -> List[Dict[str, Any]]:
        shown: List[Dict[str, Any]] = json.loads(
            rowlock("--json", "jobs", self.prefix + job) or "[]"
        )
        runs: List[Dict[str, Any]] = shown[0]["history"] if shown else []
        return runs

    def do_outcomes(self, job: str, *expected: str) -> None:
        """Of its runs, the latest first."""

        def are_so() -> bool:
            found = [run["outcome"].replace(" ", "_") for run in self.runs(job)]
            return len(found) == len(expected) and all(
                one in words.split("|") for one, words in zip(found, expected)
            )

        self.until(f"outcomes {' '.join(expected)}", are_so)

    def do_output(self, job: str, text: str) -> None:
        if text.replace("_", " ") not in (self.runs(job)[0]["output"] or ""):
            raise Failure(f"the output is {self.runs(job)[0]['output']!r}")

    def do_last_line(self, job: str, text: str) -> None:
        output = self.runs(job)[0]["output"] or ""
        if text.replace("_", " ") not in output.rstrip().rpartition("\n")[2]:
            raise Failure(f"the last line is another one: {output!r}")

    def do_clock(self, who: str, offset: str) -> None:
        """The client begins again, with a clock that is so wrong."""
        client = self.client_of(who)
        client.end()
        client.start({"FAKETIME": offset, "DONT_FAKE_MONOTONIC": "1",
                      "LD_PRELOAD": FAKETIME})  # fmt: skip
        self.killed.append(client)
        # libfaketime makes the first call of a JVM so slow that it may end without an answer
        if client.language.startswith("java"):
            self.until("a call with the wrong clock", lambda: self.acquires(client))

    def acquires(self, client: Client) -> bool:
        client.send(self.command(client, ["acquire", "a_first_call", "mode=exclusive", "wait=0"]))
        return bool(client.read()["is"] != "unavailable")

    def do_renewed(self, who: str) -> None:
        """The remaining time is more than it was: a renewal has succeeded."""

        def has_risen() -> bool:
            before = self.remaining
            self.line(f"{who} check -> ok")
            return 0 < before < self.remaining

        self.until("a renewal", has_risen)

    def do_shows(self, name: str, who: str, note: str) -> None:
        ready = self.client_of(who).ready
        row = self.listed(name)[0]
        expected = (socket.gethostname(), ready["pid"], ready["program"], note)
        if (row["host"], row["pid"], row["command"], row["note"]) != expected:
            raise Failure(f"not {expected}: {row}")

    def do_repeats(self, name: str) -> None:
        """The owner of the lease requests it again, by SQL."""
        owner = self.listed(name)[0]["owner"]
        token = sql(REPEAT[URL.startswith("postgresql")].format(self.prefix + name, owner))
        if token.split() != [str(self.token)]:
            raise Failure(f"the repetition returned {token!r}, not {self.token}")


def elsewhere(what: str) -> str:
    """The URL of a port that refuses, or of a login that is refused."""
    at = urlsplit(URL)
    if what == "login":
        return at._replace(netloc=f"nobody:wrong@{at.hostname}:{at.port}").geturl()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    return at._replace(netloc=f"{at.netloc.rpartition('@')[0]}@127.0.0.1:{port}").geturl()


REPEAT = {
    True: "SELECT token FROM rowlock.request('{}', '60 s', '{}')",
    False: "CALL rowlock_request('{}', 60000, '{}', 0, 'exclusive', NULL, NULL, NULL, NULL, NULL,"
    " @token, @ticket, @place, @holder, @pause_ms); SELECT @token",
}


def sql(statement: str) -> str:
    at = urlsplit(URL)
    command = ["psql", "-qXAt", URL, "-c", statement]
    if at.scheme != "postgresql":
        command = ["mariadb", "--no-defaults", "-NB", "-h", at.hostname or "", "-P", str(at.port)]
        command += ["-u", at.username or "", f"--password={at.password or ''}"]
        command += ["-e", statement, at.path[1:]]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Cast:
    """The clients that run, by letter and language; they are used again by the next scenario."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.running: Dict[Tuple[str, str], Client] = {}

    def client(self, letter: str, language: str) -> Client:
        key = (letter, language)
        if key not in self.running:
            self.running[key] = Client(self.folder, language)
        return self.running[key]

    def forget(self, which: Callable[[Tuple[str, str], Client], bool]) -> None:
        for key, client in list(self.running.items()):
            if which(key, client):
                client.end()
                del self.running[key]


def read_scenarios(file: str) -> List[Tuple[str, List[str], List[str]]]:
    """The name of each, the languages that lack what it shows, and its lines."""
    scenarios: List[Tuple[str, List[str], List[str]]] = []
    everywhere: List[str] = []
    with open(os.path.join(HERE, file), encoding="utf-8") as lines:
        for line in (line.strip() for line in lines):
            if line.startswith("== "):
                scenarios.append((line[3:], [*everywhere], []))
            elif line.startswith("without "):
                without = scenarios[-1][1] if scenarios else everywhere
                without.extend(line.partition(" # ")[0].split()[1:])
            elif line and not line.startswith("#"):
                scenarios[-1][2].append(line)
    return scenarios


def casts(languages: List[str], number: int) -> List[Dict[str, str]]:
    """Who is A, B and C: in each scenario two other languages are A; the others change as well."""
    count = len(languages)
    if not count:
        return []
    found = []
    for first in {number % count, (number + 2) % count}:
        step = 1 + (number + first) % (count - 1) if count > 1 else 0
        found.append({letter: languages[(first + place * step) % count]
                      for place, letter in enumerate("ABC")})  # fmt: skip
    return found


def able(languages: List[str], without: List[str]) -> List[str]:
    return [each for each in languages if not {each, each.partition(":")[0]} & set(without)]


def play(cast: Cast, prefix: str, languages: Dict[str, str], lines: List[str]) -> Optional[str]:
    """What went wrong, or None."""
    run = Run(prefix, lambda letter: cast.client(letter, languages[letter]))
    at = ""
    try:
        for at in lines:
            run.line(at)
    except (Failure, KeyError, ValueError, OSError, subprocess.CalledProcessError) as error:
        cast.forget(lambda key, client: languages[key[0]] == key[1])  # in whatever state
        return f"{at}\n#   {type(error).__name__}: {error}"
    finally:
        if run.waiter:
            run.waiter.kill()
    cast.forget(lambda key, client: client in run.killed)
    return None


def main() -> int:
    arguments = sys.argv[1:]
    only = ""
    if "--only" in arguments:
        at = arguments.index("--only")
        only = arguments[at + 1]
        del arguments[at : at + 2]
    cast = Cast(arguments[0])
    scenarios = [
        (file, *scenario) for file in ("scenarios.txt", "jobs.txt") for scenario in read_scenarios(file)
    ]
    tests = [
        (name, languages, lines, f"s{number}.{''.join(languages.values())}.")
        for number, (file, name, without, lines) in enumerate(scenarios)
        if only in f"{name} {file}"
        for languages in casts(able(arguments[1:], without), number)
        if not {f"{letter}={language}" for letter, language in languages.items()} & set(without)
    ]
    print(f"1..{len(tests)}")
    failed = 0
    try:
        for number, (name, languages, lines, prefix) in enumerate(tests, 1):
            wrong = play(cast, f"{prefix}{os.getpid()}.", languages, lines)
            failed += bool(wrong)
            who = " ".join(f"{letter}={languages[letter]}" for letter in "ABC")
            print(f"{'not ok' if wrong else 'ok'} {number} {name} ({who})", flush=True)
            if wrong:
                print(f"#   {wrong}", flush=True)
    finally:
        cast.forget(lambda key, client: True)
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    assert shutil.which("psql") or shutil.which("mariadb")
    sys.exit(main())

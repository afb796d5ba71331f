#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The frameworks of Python, from PyPI: the app rowlock.django in a project with two apps.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash

CLIENT=$BATS_TEST_DIRNAME/../../clients/python
export PYTHONPATH=$CLIENT/src PYTHONDONTWRITEBYTECODE=1 ROWLOCK
export PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

setup_file() { :; }
setup() { # nothing is installed
    cd "$BATS_TEST_TMPDIR" || return 1
    rowlock schema uninstall --force
    sql 'DROP TABLE IF EXISTS django_migrations, django_session'
}
teardown() { end_started; }

environment() { # FOLDER PACKAGE...: an empty one, with these packages
    python3 -m venv --clear "$1"
    "$1"/bin/pip install "${@:2}" >&2
}
django_of() { environment "$2" "django==$1" 'psycopg[binary]==3.3.9' 'PyMySQL[rsa]==1.2.4'; }

# project VERSION: manage.py of a project with the apps shop (the README's jobs.py) and slow
project() {
    once "django-$1" django_of "$1"
    python=$SHARED/django-$1/bin/python
    mkdir shop slow
    touch shop/__init__.py slow/__init__.py
    awk '/^```python$/ {inside = 1; text = ""; next}
        /^```$/ {if (text ~ /rowlock.django/) print text; inside = 0}
        inside {text = text $0 "\n"}' "$CLIENT/README.md" |
        sed 's/every="5m"/every="50w"/' >shop/jobs.py
    grep -q '@job("sessions", every="50w")' shop/jobs.py
    cat >slow/jobs.py <<'PYTHON'
import os
from rowlock.django import Run, job

@job("slow", every="50w", ttl=6)
def slow(run: Run) -> None:
    print("began", run.retry, flush=True)
    if "WAITS" in os.environ:
        run.lost.wait(600)
PYTHON
    cat >settings.py <<'PYTHON'
import os
from urllib.parse import unquote, urlsplit

url = urlsplit(os.environ["ROWLOCK_TEST_URL"])
if url.scheme != "postgresql":
    import pymysql
    pymysql.install_as_MySQLdb()
DATABASES = {"default": {
    "ENGINE": "django.db.backends." + ("postgresql" if url.scheme == "postgresql" else "mysql"),
    "NAME": url.path[1:], "HOST": url.hostname, "PORT": url.port, "USER": url.username,
    "PASSWORD": unquote(url.password or ""),
}}
INSTALLED_APPS = ["django.contrib.sessions", "rowlock.django", "shop", "slow"]
SECRET_KEY, USE_TZ = "tests", True
PYTHON
    export DJANGO_SETTINGS_MODULE=settings PYTHONPATH=$CLIENT/src:$PWD
}
manage() { "$python" -m django "$@"; }
# has_outcomes JOB OUTCOMES: of its runs, the latest first
has_outcomes() {
    [ "$(rowlock --json jobs "$1" | jq -r '[.[0].history[].outcome] | join(" ")')" = "$2" ]
}

@test "Django: the app's commands, closed connections, and another engine" {
    project 5.2.19
    manage migrate
    "$python" "$CLIENT/tests/test_django.py"
}

@test "Django: migrate installs the schema, and leaves it when it migrates back" {
    project 5.2.19
    run -1 manage rowlock run
    [[ $output == *"CommandError: no schema of rowlock here; run: manage.py migrate"* ]]
    run -1 manage rowlock ls
    [[ $output == *"CommandError: no schema of rowlock here; run: manage.py migrate"* ]]
    manage migrate
    [[ $(rowlock schema install) == *"installed already"* ]]
    [ "$(manage rowlock install)" = "rowlock is installed already" ]
    manage migrate rowlock zero
    manage migrate
    [[ $(manage rowlock jobs) == NAME* ]]
}

@test "Django: of two nodes one performs a job; if it is killed, the other repeats the run" {
    project 5.2.19
    manage migrate
    WAITS=1 start "$python" -m django rowlock run
    killed=$started
    until_true grep -q 'began 0' out
    mv out first
    start "$python" -m django rowlock run
    until_true grep -q 'performs sessions, slow' out
    kill -s KILL "$killed"
    until_true grep -q 'began 1' out
    until_true has_outcomes slow 'done lost'
    kill -s TERM "$started"
    wait "$started"
    [ "$(grep -c began first out | paste -sd ' ')" = 'first:1 out:1' ]
    [ "$(rowlock --json jobs sessions | jq -r '.[0].last_output')" = '0 expired sessions' ]
    manage rowlock jobs | grep -E '^slow +done .* 0 +every 50w'
}

@test "Django 4.2, the oldest: migrate and the jobs of all apps" {
    on_postgresql || return 0
    project 4.2.27
    manage migrate
    start "$python" -m django rowlock run
    until_true grep -q 'began 0' out
    kill -s TERM "$started"
    wait "$started"
    has_outcomes sessions 'done'
    has_outcomes slow 'done'
}

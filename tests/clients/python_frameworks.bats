#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The frameworks of Python, from PyPI: the app rowlock.django in a project with two apps, and the
# programs of docs/in-your-application.md and docs/coming-from.
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

frameworks() { # FOLDER
    python3 -m venv --clear "$1"
    "$1"/bin/pip install django==5.2.19 celery==5.7.0 apscheduler==3.11.3 gunicorn==27.0.1 \
        fastapi==0.165.0 uvicorn==0.54.0 'psycopg[binary]==3.3.9' 'PyMySQL[rsa]==1.2.4'
}
with_frameworks() {
    once frameworks frameworks
    bin=$SHARED/frameworks/bin
}

project() { # a project of Django, with the apps shop (the README's jobs.py) and slow
    with_frameworks
    python=$bin/python
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
    print("began", run.retry, os.getpid(), flush=True)
    if "WAITS" in os.environ and not run.retry:
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
outcomes() { # JOB: of its runs that have ended, the latest first
    rowlock --json jobs "$1" | jq -r '[.[0].history[].outcome] | join(" ")'
}
has_outcomes() { [ "$(outcomes "$1")" = "$2" ]; } # JOB OUTCOMES
has_lines() { [ "$(grep -c "$2" out)" = "$1" ]; } # NUMBER PATTERN
# The process that performs the job is killed, and another one repeats the run.
is_repeated_elsewhere() {
    until_true grep -q '^began 0' out
    killed=$(awk '/^began 0/ {print $3}' out)
    kill -s KILL "$killed"
    until_true grep -q '^began 1' out
    has_lines 2 '^began'
}

ends_by_term() { # PID: once it handles the signal, which it does from jobs.run() on
    until_done_by "$1" handles_term "$1"
    kill -s TERM "$1"
    until_true is_gone "$1"
    ends_with 0 "$1"
}
handles_term() { # PID
    (($(awk '/^SigCgt:/ {print "0x" $2}' "/proc/$1/status") & 1 << 14))
}

@test "Django: the app's commands, closed connections, and another engine" {
    project
    manage migrate
    "$python" "$CLIENT/tests/test_django.py"
}

@test "Django: migrate installs the schema, and leaves it when it migrates back" {
    project
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
    project
    manage migrate
    export WAITS=1
    start "$python" -m django rowlock run
    one=$started
    start "$python" -m django rowlock run
    until_true has_lines 2 'performs sessions, slow'
    until_true has_outcomes sessions 'done'
    is_repeated_elsewhere
    until_true has_outcomes slow 'done lost'
    [ "$killed" = "$one" ] || started=$one
    ends_by_term "$started"
    [ "$(rowlock --json jobs sessions | jq -r '.[0].last_output')" = '0 expired sessions' ]
    manage rowlock jobs | grep -E '^slow +done .* 0 +every 50w'
}

@test "Django 4.2, the oldest: migrate and the jobs of all apps" {
    on_postgresql || return 0
    project
    "$python" -m pip install --no-deps --target oldest django==4.2.27
    export PYTHONPATH=$PWD/oldest:$PYTHONPATH
    [ "$(manage version)" = 4.2.27 ]
    manage migrate
    start "$python" -m django rowlock run
    until_true grep -q 'began 0' out
    ends_by_term "$started"
    has_outcomes sessions 'done'
    has_outcomes slow 'done'
}

# program PAGE FILE: the program of docs/PAGE whose first line names the FILE, which it writes. Its
# jobs are due once here.
program() {
    awk -v first="# $2" '/^```python$/ {begins = 1; next} /^```$/ {inside = 0}
        begins {inside = $0 == first; begins = 0} inside' \
        "$BATS_TEST_DIRNAME/../../docs/$1.md" |
        sed 's/every="5m"/every="50w"/; s/cron=.*"Europe\/Berlin"/every="50w"/' >"$2"
    [ -s "$2" ]
}
with_schema() { # for the programs of a page
    with_frameworks
    export ROWLOCK_URL=$ROWLOCK_TEST_URL PYTHONPATH=$CLIENT/src:$PWD
    rowlock schema install
}
# A folder is the broker; its messages name the process that sent them.
celery_application() {
    mkdir broker
    cat >shop.py <<'PYTHON'
from celery import Celery

app = Celery("shop", broker="filesystem://")
app.conf.broker_transport_options = {"data_folder_in": "broker", "data_folder_out": "broker",
                                     "control_folder": "control"}
app.conf.worker_redirect_stdouts = False
app.conf.beat_schedule = {"tick": {"task": "shop.tick", "schedule": 0.2}}

@app.task
def tick():
    pass

@app.task
def report(due):
    print("report", due, flush=True)
PYTHON
}
has_sent() { grep -qr "\"origin\": \"gen$1@" broker; } # PID
pids_in() { rowlock --json ls beat | jq -r ".[] | select(.state == \"$1\").pid"; } # STATE
has_waiters() { [ "$(pids_in waiting | wc -l)" = "$1" ]; } # NUMBER

@test "Celery beat: one of the programs is beat, until it is killed or its lease is lost" {
    on_postgresql || return 0
    with_schema
    celery_application
    program coming-from/celery-beat beat.py
    sed -i 's/"beat", /"beat", ttl=6, /' beat.py
    for _ in 1 2 3; do start "$bin/python" beat.py; done
    until_true has_waiters 2
    first=$(pids_in held) second=$(pids_in waiting | head -n 1)
    until_true has_sent "$first"
    kill -s KILL "$first"
    until_true has_sent "$second"
    third=$(pids_in waiting)
    ! has_sent "$third" || false
    rowlock break beat
    until_true is_gone "$second"
    ends_with 1 "$second"
    until_true has_sent "$third"
    ends_by_term "$third"
    is_free beat
}
@test "Celery: a job sends the task once, from one of two programs, and a worker executes it" {
    on_postgresql || return 0
    with_schema
    celery_application
    program coming-from/celery-beat jobs.py
    start "$bin/python" jobs.py
    one=$started
    start "$bin/python" jobs.py
    until_true has_outcomes report 'done'
    ends_by_term "$one"
    ends_by_term "$started"
    [ "$(find broker -type f | wc -l)" = 1 ]
    start "$bin/celery" -A shop worker --pool solo --without-gossip --without-mingle
    until_true grep -q '^report 20' out
}

@test "APScheduler: jobs instead of it, and inside of it" {
    on_postgresql || return 0
    with_schema
    program coming-from/apscheduler prices.py
    start "$bin/python" prices.py
    until_true grep -q prices out
    ends_by_term "$started"
    rowlock jobs prices --forget
    program coming-from/apscheduler scheduler.py
    sed -i 's/minutes=1/seconds=0.1/; s/seconds=10/seconds=0.1/' scheduler.py
    hold warm
    start "$bin/python" scheduler.py
    start "$bin/python" scheduler.py
    until_true has_outcomes prices 'done'
    ! grep -q warm out || false
    let_go
    until_true grep -q warm out
    has_lines 2 prices
}

@test "gunicorn: a worker that is killed loses its run to another; at the end a run is given up" {
    on_postgresql || return 0
    with_schema
    program in-your-application gunicorn.conf.py
    sed -i 's/grace=10/grace=0.1/' gunicorn.conf.py
    cat >shop.py <<'PYTHON'
import os
import rowlock

jobs = rowlock.Jobs(os.environ["ROWLOCK_URL"])

@jobs.job(os.environ["JOB"], every="50w", ttl=6, retry=9)
def slow(run):
    print("began", run.retry, os.getpid(), flush=True)
    run.lost.wait(600)

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"shop\n"]
PYTHON
    for job in forked preloaded; do
        mkdir $job
        cp shop.py gunicorn.conf.py $job
        cd $job
        JOB=$job start "$bin/gunicorn" ${preload:-} --bind unix:socket shop:app
        servers+=("$started")
        cd ..
        preload=--preload
    done
    for job in forked preloaded; do
        cd $job
        is_repeated_elsewhere
        [ "$(curl -s --unix-socket socket http://shop/)" = shop ]
        cd ..
    done
    for server in "${servers[@]}"; do ends_by_term "$server"; done
    for job in forked preloaded; do
        [[ $(outcomes $job) == 'lost lost'* ]]
        is_free job:$job
    done
}

@test "FastAPI: one of two processes performs a job; at its end the other one does" {
    on_postgresql || return 0
    with_schema
    program in-your-application shop.py
    # a run that does not end, and that no process gets by waiting for the end of a lease
    sed -i 's/every="50w"/every="50w", ttl=600/; s/jobs\.run()/jobs.run(grace=0.1)/
        s/print("prices"/print("prices", os.getpid()/; /print(/a\    await asyncio.sleep(600)
        ' shop.py
    start "$bin/uvicorn" --uds one shop:app
    one=$started
    start "$bin/uvicorn" --uds two shop:app
    two=$started
    for node in one two; do
        until_true curl -s --unix-socket $node http://shop/openapi.json -o answer
        grep -q FastAPI answer
    done
    until_true has_lines 1 prices
    [ "$(awk '/^prices/ {print $2}' out)" = "$one" ] || { two=$one one=$started; }
    kill -s TERM "$one"
    until_true has_lines 1 "prices $two"
    has_lines 2 prices
    kill -s TERM "$two"
    until_true is_gone "$one"
    until_true is_gone "$two"
    [ "$(grep -c 'Application shutdown complete' err)" = 2 ]
    has_outcomes prices 'lost lost'
}

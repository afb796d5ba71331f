# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of the command: runs it on the database under test, starts holders that release on
# request, and asks the server which sessions wait. Tests wait for events, and never sleep for a
# fixed time. Unless a file replaces setup_file and setup, rowlock is installed with the technique,
# and each test works in a folder of its own. `! COMMAND` ends no test, because set -e exempts it:
# write `! COMMAND || false`.

bats_require_minimum_version 1.5.0
# shellcheck source=tests/lib/processlist.bash
. "${BASH_SOURCE[0]%/*}/../lib/processlist.bash"
ROWLOCK=${ROWLOCK:-${ROWLOCK_TEST_BIN:-build}/rowlock}

rowlock() { "$ROWLOCK" --db "$ROWLOCK_TEST_URL" "$@"; }
install_technique() { rowlock schema install --technique "$ROWLOCK_TEST_TECHNIQUE"; }

ours=rowlock_ # what the names of its tables begin with
[ "${ROWLOCK_TEST_ENGINE:-}" != postgresql ] || ours=rowlock.

sql() { # STATEMENT: as superuser; prints rows, one per line
    case $ROWLOCK_TEST_ENGINE in
    sqlite) sqlite3 -cmd '.timeout 10000' "${ROWLOCK_TEST_URL#sqlite:}" "$1" ;;
    postgresql) psql -qXAt "$ROWLOCK_TEST_ADMIN" -c "$1" ;;
    mariadb) as_root_of_mariadb -N -B "${ROWLOCK_TEST_URL##*/}" -e "$1" ;;
    esac
}
as_root_of_mariadb() {
    mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u root "$@"
}

# Skips the test if PostgreSQL is of another version (tests/versions) and has no pg_dump.
needs_pg_dump() {
    [ -z "${POSTGRESQL_BIN:-}" ] || [ -x "$POSTGRESQL_BIN/pg_dump" ] ||
        skip "pg_dump of the server's version is missing"
}

put_away() { sql "ALTER TABLE ${ours}$1 RENAME TO put_away"; } # TABLE: it is missing until put_back
put_back() { sql "ALTER TABLE ${ours%rowlock_}put_away RENAME TO ${ours#rowlock.}$1"; }

# The server of the engine mariadb is MySQL (tests/versions).
is_mysql() { [ "${ROWLOCK_TEST_ENGINE:-}" = mariadb ] && [ -n "${MYSQL_BIN:-}" ]; }
# The end of a URL with a password: without TLS rowlock sends none to MySQL. So the account rowlock
# has no password there.
tls='' password=secret
! is_mysql || tls='?ssl=on' password=''

# Repeats the COMMAND until it succeeds. The pauses are as long as the COMMAND takes, because what
# it waits for needs the processor too. The COMMAND may be a function, which sees these local names.
# Gives up after a minute, or as many times more as the machine has more load than tests/run itself
# makes, and after at least 100 tries. Gives up at once when what it waits for can no longer come.
until_true() { until_done_by '' "$@"; } # COMMAND...
until_done_by() { # PID COMMAND...: the same, for what only the process PID can do
    local _by=$1 _since=$SECONDS _tries=0 _least=20000 _tried _pause
    shift
    while _tried=${EPOCHREALTIME/[.,]/} && ! "$@"; do
        _tries=$((_tries + 1))
        # the COMMAND once more, because the process may have made it succeed before it ended
        if [ $((_tries % 10)) = 0 ] && has_no_process "$_by" "$1" && ! "$@"; then
            echo "never true, because its process has ended: $*"
            return 1
        elif [ $_tries -ge 100 ] && [ $((SECONDS - _since)) -ge "$(give_up_after)" ]; then
            echo "never true: $*"
            touch "${BATS_FILE_TMPDIR:-.}/gave-up"
            return 1
        fi
        [ $_tries -le 25 ] || _least=100000
        _pause=$((${EPOCHREALTIME/[.,]/} - _tried))
        _pause=$((_pause < _least ? _least : _pause < 500000 ? _pause : 500000))
        sleep "0.$(printf %06d $_pause)"
    done
}
give_up_after() { # seconds; fewer when a wait of this file has failed already
    local least=60 load
    [ ! -e "${BATS_FILE_TMPDIR:-.}/gave-up" ] || least=20
    read -r load _ </proc/loadavg
    load=$((${load%.*} / ${ROWLOCK_TEST_JOBS:-1}))
    echo $((least * (load > 1 ? load : 1)))
}
# Succeeds if the process has ended that could make the COMMAND succeed: PID, or without it all that
# the test has started. Those that they left behind work in the folder of the test. Another COMMAND
# than these may also succeed because a lease expires, or a session ends.
has_no_process() { # PID COMMAND
    [ -z "$1" ] || { is_gone "$1"; return; }
    case $2 in
    is_there | has_text | has_seen | has_lines | is_held | is_waited_for) ;;
    *) return 1 ;;
    esac
    [ ${#all_started[@]} -gt 0 ] && [ -z "$(jobs -rp)" ] && is_alone_here
}
is_alone_here() { # this shell
    local pid
    for pid in $(find /proc -maxdepth 2 -name cwd -lname "$PWD" 2>/dev/null); do
        pid=${pid#/proc/} pid=${pid%/cwd}
        case $pid in
        self | thread-self | $$ | "$BASHPID") ;;
        *) is_gone "$pid" || return 1 ;;
        esac
    done
}
is_there() { [ -e "$1" ]; }
has_text() { [ -s "$1" ]; } # for the output of a shell's >, which is there before it has text
is_gone() { # PID: has ended, or is a zombie, which holds nothing
    local state
    { read -r state <"/proc/$1/stat"; } 2>/dev/null || return 0
    [[ ${state##*) } == [ZX]* ]]
}

# How many sessions of this database wait for a lock, as the server reports it.
waiters() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ;;
    mariadb)
        local waiting
        waiting=$(waiting_sessions | paste -sd,)
        sql "SELECT count(*) FROM $processlist
             WHERE db = database() AND id IN (${waiting:-0})"
        ;;
    esac
}
# The numbers of the sessions that wait for a row, on MariaDB or MySQL. Not from
# information_schema.innodb_trx, which is not refreshed while other sessions read it; MySQL's STATUS
# omits a session that waits for a shared lock.
waiting_sessions() {
    if is_mysql; then
        sql 'SELECT DISTINCT t.processlist_id FROM performance_schema.data_lock_waits w
               JOIN performance_schema.threads t ON t.thread_id = w.requesting_thread_id'
    else
        sql 'SHOW ENGINE INNODB STATUS' | sed 's/\\n/\n/g' |
            awk '/^---TRANSACTION/ { waits = 0 } /^LOCK WAIT/ { waits = 1 }
                 waits && /thread id/ { sub(/.*thread id /, ""); print $0 + 0 }'
    fi
}
somebody_waits() { [ "$(waiters)" != 0 ]; }

# open_client: starts the engine's own client, on MariaDB as root. It reads statements from
# descriptor 8, and writes its answers to the file answers; its process is $client.
open_client() {
    rm -f statements answers
    mkfifo statements
    case $ROWLOCK_TEST_ENGINE in
    sqlite) exec sqlite3 "${ROWLOCK_TEST_URL#sqlite:}" ;;
    postgresql) exec psql -qXAt "$ROWLOCK_TEST_URL" ;;
    mariadb) exec mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u root -n \
        -N -B "${ROWLOCK_TEST_URL##*/}" ;;
    esac <statements >answers 2>&1 3>&- 4>&- &
    client=$!
    all_started+=("$client")
    exec 8>statements
}
in_client() { # STATEMENTS: returns when they are done
    all_done=$((${all_done:-0} + 1))
    echo "$1; SELECT 'all done $all_done';" >&8
    until_done_by "$client" grep -qx "all done $all_done" answers
}
close_client() {
    exec 8>&-
    wait "$client"
}
start_fence() { # NAME TOKEN: a transaction that has checked the token, until end_fence
    open_client
    case $ROWLOCK_TEST_ENGINE in
    postgresql) in_client "BEGIN; SELECT rowlock.fence('$1', $2)" ;;
    mariadb) in_client "START TRANSACTION; CALL rowlock_fence('$1', $2)" ;;
    esac
}
end_fence() {
    echo 'COMMIT;' >&8
    close_client
}

end_sessions() { # kills every session of rowlock in this database
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
             AND backend_type = 'client backend'" >/dev/null
        ;;
    mariadb)
        local id
        for id in $(sql "SELECT id FROM $processlist
                         WHERE db = database() AND user = 'rowlock'"); do
            sql "KILL $id"
        done
        ;;
    esac
}

# start COMMAND...: in the background, without bats' own descriptors and 8; its pid is $started. A
# shell without job control makes its background commands ignore some signals: these get their
# default action again.
start() {
    env --default-signal=INT,QUIT "$@" >>out 2>>err 3>&- 4>&- 8>&- &
    started=$!
    all_started+=("$started")
}
start_rowlock() { start "$ROWLOCK" --db "$ROWLOCK_TEST_URL" "$@"; } # VERB...
all_started=()
ends_with() { # STATUS PID: of a child that was started in the background
    local status=0
    wait "$2" || status=$?
    echo "ended with $status"
    [ "$status" = "$1" ]
}
end_by_term() { # PID: of a rowlock, which TERM ends, as it does its command
    kill -s TERM "$1"
    ends_with 143 "$1"
}
runs() { # STATUS COMMAND...: as `run -STATUS`; a failure shows which command it was, and its output
    run "${@:2}"
    echo "${*:2}: $status: $output"
    [ "$status" = "$1" ]
}
# end_started [SIGNAL]: ends those that still run. The number of one that has ended may belong to
# another process by now, but not to another child of this shell.
end_started() {
    local pid
    for pid in $(jobs -rp); do
        case " ${all_started[*]} " in *" $pid "*) ;; *) continue ;; esac
        kill -s "${1:-KILL}" "$pid" 2>/dev/null || true
        until_true is_gone "$pid"
    done
}
# end_here PID: kills this process, if it still works in the current folder
end_here() {
    [ "$(readlink "/proc/$1/cwd")" != "$PWD" ] || kill -s KILL "$1" 2>/dev/null || true
}
setup_file() { # where the tests of the file have a database
    [ -z "${ROWLOCK_TEST_TECHNIQUE:-}" ] || install_technique
}
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
# A test that failed must not leave a lock to the next one.
teardown() { end_started; }
# hold NAME [OPTION...]: starts a holder that has the lock when this returns; `let_go` ends it.
hold() { hold_by run --tx "$@"; }
hold_by() { # VERB ARGUMENT...: as hold, by a verb with a command
    rm -f holding let-go
    start_rowlock "$@" -- sh -c 'echo $$ >holding.tmp; mv holding.tmp holding
        until [ -e let-go ]; do sleep 0.02; done'
    holder=$started
    until_done_by "$holder" is_there holding
}
let_go() {
    touch let-go
    wait "$holder"
}
# Listens, closes every connection, and writes the number of connections to the file calls.
counter='use IO::Socket::INET; $| = 1;
    my $s = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1") or die;
    open my $p, ">", "port.tmp"; print $p $s->sockport; close $p; rename "port.tmp", "port";
    while (my $c = $s->accept) { open my $n, ">>", "calls"; print $n "call\n"; close $n; close $c }'
start_counter() { # sets counter_url, the URL of such a server of the engine under test
    start perl -e "$counter"
    until_done_by "$started" is_there port
    counter_url="${ROWLOCK_TEST_ENGINE}://somebody@127.0.0.1:$(cat port)/x"
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] ||
        counter_url="$counter_url?sslmode=disable&gssencmode=disable"
}
calls() { wc -l <calls; }
# start_listener ADDRESS: receives what a program reports to a service manager there; writes each
# datagram to the file datagrams, as one line: its newlines become blanks.
receiver='use Socket; $| = 1; my $path = $ARGV[0] =~ s/^@/\0/r;
    socket my $s, AF_UNIX, SOCK_DGRAM, 0 or die; bind $s, pack_sockaddr_un($path) or die;
    open my $out, ">>", "datagrams"; $out->autoflush;
    open my $ready, ">", "listens"; close $ready;
    while (defined recv $s, my $text, 65536, 0) { $text =~ tr/\n/ /; print $out "$text\n" }'
start_listener() {
    rm -f listens datagrams
    start perl -e "$receiver" "$1"
    until_done_by "$started" is_there listens
}
has_unread() { # PORT: bytes that a program sent to it are unread in a socket
    awk -v port="$(printf ':%04X' "$1")" \
        'substr($2, length($2) - 4) == port && $4 == "01" && $5 !~ /:00000000$/ { found = 1 }
         END { exit !found }' /proc/net/tcp
}
# A command that appends the signals that it gets to the file seen, in order, and exits with 5 when
# the file stop exists. In perl, because a shell with foreground children may miss a signal.
listener='sub see { open my $seen, ">>", "seen"; print $seen "$_[0]\n" }
    for my $name (qw(TERM INT HUP QUIT USR1 USR2)) {
        $SIG{$name} = sub { see($name) } if ($SIG{$name} // "") ne "IGNORE";
    }
    see("ready"); select undef, undef, undef, 0.02 until -e "stop"; exit 5'
exits() { # STATUS COMMAND...: for one whose standard output is closed, or full
    local want=$1 got=0
    shift
    "$@" || got=$?
    echo "$*: $got" >>exits
    [ "$got" = "$want" ]
}
has_seen() { grep -qx "$1" seen 2>/dev/null; }
# How it ended: "exit N" or "signal N".
how_it_ended() {
    perl -e 'system { $ARGV[0] } @ARGV;
        print $? & 127 ? "signal " . ($? & 127) : "exit " . ($? >> 8), "\n"' \
        "$@"
}

# ---- leases ------------------------------------------------------------------------------------

json() { # PATH: the value at that path in the JSON on standard input
    json_sql "json_extract(document, '$1')"
}
json_sql() { # EXPRESSION: its value for the document on standard input
    local document
    IFS= read -rd '' document || true # all of it, without a process
    sqlite3 -batch :memory: "SELECT $1 FROM (SELECT '${document//\'/\'\'}' AS document)"
}
item() { # NAME PATH: a field of the name in `ls --json`
    rowlock --json ls "$1" | json "$2"
}
is_held() { # NAME: by a lease. The transaction that grants one has the name before.
    rowlock --json ls "$1" | jq -e 'any(.state == "held" and .kind == "lease")' >/dev/null
}
is_free() { ! rowlock ls "$1" >/dev/null; } # of leases, transactions and waiters
is_waited_for() { [[ $(rowlock ls "$1") == *' waiting '* ]]; }
nobody_waits_for() { ! is_waited_for "$1"; }
start_waiter() { # NAME [OPTION...]: a `run` that is in the queue when this returns
    start_rowlock run "${@:2}" "$1" -- true
    until_done_by "$started" is_waited_for "$1"
}
start_cycle() { # ONE TWO: two commands, each holds one of the names and waits for the other
    cat >cycle <<'EOF'
touch "$2"
until [ -e "$3" ]; do sleep 0.02; done
exec "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run "$1" -- true
EOF
    export ROWLOCK
    start_rowlock run "$1" -- sh cycle "$2" held-one held-two
    start_rowlock run "$2" -- sh cycle "$1" held-two held-one
}
# In a SQLite file a waiter that is suspended for a second may lose its place. Those who enter the
# queue of the name from now on keep theirs.
keep_places() { # NAME
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] ||
        sql "CREATE TRIGGER IF NOT EXISTS \"keep $1\" AFTER INSERT ON rowlock_waiter
             WHEN new.name = '$1'
             BEGIN UPDATE rowlock_waiter SET alive_until = new.alive_until + 3600000
                    WHERE name = new.name AND ticket = new.ticket; END"
}

# start_too_late NAME OPTION...: a rowlock that acquires the lease NAME, with a ttl of 4s, and stops
# before it starts its command, because its standard error is a full pipe. It continues when the
# lease has expired, so that no renewal can save it. Its pid is $started.
start_too_late() {
    local name=$1
    shift
    mkfifo full
    exec 7<>full
    perl -e 'use Fcntl; fcntl STDOUT, F_SETFL, O_NONBLOCK | fcntl(STDOUT, F_GETFL, 0);
        1 while syswrite STDOUT, "x" x 4096; 1 while syswrite STDOUT, "x"' >&7
    start sh -c 'exec "$@" 2>full 7>&-' sh "$ROWLOCK" --db "$ROWLOCK_TEST_URL" "$@"
    until_true is_held "$name"
    until_true is_over "$(date -d "$(item "$name" '$[0].expires')" +%s%3N)"
    cat full >/dev/null 3>&- 4>&- 7>&- &
    all_started+=($!)
    exec 7>&-
}
is_over() { [ "$(date +%s%3N)" -gt "$1" ]; } # MS

page_signatures() { # PAGE...: their lines; a signature of two lines becomes one line
    sed -e ':a' -e '/^    rowlock[._][a-z_]*([^)]*$/{N;s/\n */ /;ba' -e '}' "$@"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The manifests of examples/kubernetes: Kubernetes' schemas, from PyPI, accept them; and the
# commands of their containers and probes, taken from them, behave as the comments there state. As
# root each container is a PID namespace with the user of the Pod and without capabilities.
# Runs on: postgresql/native

bats_require_minimum_version 1.5.0
load ../command/lib
. "$BATS_TEST_DIRNAME/../lib/server.sh"

PATH=/usr/bin:$PATH # Debian's python3 has psycopg, and other users can execute it
MANIFESTS=$BATS_TEST_DIRNAME/../../examples/kubernetes
export PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

setup_file() {
    install_technique
    cd "$BATS_FILE_TMPDIR" || return 1
    install_schemas >&2
    for kind in cronjob leader server; do
        tools/bin/python -c 'import json, sys, yaml
json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)' "$MANIFESTS/$kind.yaml" >"$kind.json"
    done
}
# kubernetes-validate, with the schemas of one version of Kubernetes: all are 17,000 files.
install_schemas() {
    python3 -m venv --clear tools
    tools/bin/pip install jsonschema==4.26.0 pyyaml==6.0.4 importlib_resources packaging \
        typing_extensions
    tools/bin/pip download --no-deps --only-binary :all: kubernetes-validate==1.37.0
    python3 -c 'import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
for name in wheel.namelist():
    if name.endswith(".py") or "/v1.37.0-local-strict/" in name:
        wheel.extract(name, "schemas")' kubernetes_validate-*.whl
}
setup() {
    mkdir "$ROWLOCK_TEST_TEMP/$BATS_TEST_NUMBER" # another user can enter it
    cd "$ROWLOCK_TEST_TEMP/$BATS_TEST_NUMBER" || return 1
    mkdir bin
    cp "$ROWLOCK" bin/rowlock
    export PATH=$PWD/bin:$PATH
    unset ROWLOCK_URL ROWLOCK_DB
    # A program that ends after TERM, when it may; and meanwhile shows that it is alive.
    cat >bin/worker <<'PERL'
#!/usr/bin/perl
my ($pod, $told) = $ENV{POD};
sub see { open my $seen, ">>", "$pod/run/seen"; print $seen "$_[0]\n" }
$SIG{TERM} = sub { $told = see("told") };
open my $alive, ">", "$pod/run/alive";
see("began");
select undef, undef, undef, 0.05 until $told && -e "$pod/run/may-end";
PERL
    cp bin/worker bin/report
    chmod 755 bin/*
}
# The change of the user would keep the first process of a container alive after its unshare.
teardown() {
    for pid in "${inits[@]}"; do
        end_here "$pid"
    done
    end_started
    rowlock break --now leader:worker >/dev/null || true
}
inits=()

value() { jq -r "$2" "$BATS_FILE_TMPDIR/$1.json"; } # KIND PATH
pod_of() { value "$1" "first(.. | objects | select(.containers)) | $2"; }

# container POD KIND: the container of a manifest, with its volumes at the folder POD
container() {
    pod_of "$2" '.containers[0]' | jq --arg pod "$PWD/$1" 'reduce .volumeMounts[] as $m (tojson;
        split($m.mountPath) | join($pod + "/" + $m.name)) | fromjson'
}
strings() { jq -r "$1 | @sh"; } # PATH: for eval
new_pod() { # POD KIND: its volumes, as Kubernetes mounts them
    mkdir -p "$1/rowlock/..data" "$1/run"
    echo "$ROWLOCK_TEST_URL" >"$1/rowlock/..data/url"
    ln -s ..data/url "$1/rowlock/url"
    chmod 777 "$1/run"
    chmod "$(pod_of "$2" '.volumes[].secret.defaultMode // empty' | xargs printf %o)" \
        "$1/rowlock/..data/url"
    isolated=()
    ! am_root || isolate "$@"
}
am_root() { [ "$(id -u)" = 0 ]; }
isolate() { # POD KIND
    local user group files
    read -r user group files < <(pod_of "$2" \
        '.securityContext | "\(.runAsUser) \(.runAsGroup) \(.fsGroup)"')
    chgrp "$files" "$1/rowlock/..data/url"
    isolated=(unshare --pid --fork --kill-child --mount-proc setpriv --reuid "$user"
        --regid "$group" --groups "$files" --no-new-privs --bounding-set=-all --inh-caps=-all --)
}
start_pod() { # POD KIND: its pid is $started, and that of its first process $init
    local command environment
    [ -e "$1" ] || new_pod "$@"
    eval "command=($(container "$@" | strings .command))"
    eval "environment=($(container "$@" | strings '.env[] | "\(.name)=\(.value)"'))"
    POD=$PWD/$1 start "${isolated[@]}" env "${environment[@]}" "${command[@]}"
    init=$started
    ! am_root || until_true find_init
    inits+=(${init:+"$init"})
}
find_init() { init=$(pgrep -P "$started") || is_gone "$started"; }
is_alive() { # POD: the probe of a leader
    local command
    eval "command=($(container "$1" leader | strings .livenessProbe.exec.command))"
    (cd / && "${command[@]}")
}
saw() { grep -qx "$2" "$1/run/seen" 2>/dev/null; } # POD EVENT
start_leader() { # POD: leads when this returns
    start_pod "$1" leader
    until_done_by "$started" saw "$1" began
}
start_standby() { # POD: waits when this returns
    start_pod "$1" leader
    until_done_by "$started" is_waited_for leader:worker
}

@test "the schemas of Kubernetes accept the manifests, and no misspelled field" {
    validate() { # FILE
        PYTHONPATH=$BATS_FILE_TMPDIR/schemas "$BATS_FILE_TMPDIR/tools/bin/python" \
            -m kubernetes_validate --strict --quiet "$1"
    }
    for manifest in "$MANIFESTS"/*.yaml; do
        validate "$manifest"
        for field in terminationGracePeriodSeconds runAsNonRoot mountPath; do
            sed "s/$field/${field}s/" "$manifest" >wrong.yaml
            runs 1 validate wrong.yaml
        done
    done
}

@test "the URL is in no argument and no variable, and the containers have few rights" {
    for kind in cronjob leader server; do
        ! grep -q :// "$BATS_FILE_TMPDIR/$kind.json" || false
        [ "$(pod_of $kind '.volumes[0].secret.secretName')" = rowlock ]
        pod_of $kind '[.securityContext.runAsNonRoot, (.automountServiceAccountToken | not),
            (.containers[0].securityContext | .readOnlyRootFilesystem,
                .capabilities.drop == ["ALL"], (.allowPrivilegeEscalation | not))] | all' |
            grep -qx true
    done
}

@test "after TERM the worker ends under its lock, in its time, and then the other Pod leads" {
    start_leader a
    one=$started first=$init
    start_standby b
    kill -s TERM "$first"
    until_true saw a told
    is_held leader:worker
    [ ! -e b/run/seen ]
    touch a/run/may-end
    ends_with 0 "$one"
    until_done_by "$started" saw b began
    # the time of a hung worker is the shorter one, and that of a drain is longer than the ttl
    [ "$(pod_of leader '.terminationGracePeriodSeconds
        > .containers[0].livenessProbe.terminationGracePeriodSeconds')" = true ]
    [ "$(pod_of leader .terminationGracePeriodSeconds)" -gt 10 ]
}

@test "a Pod that waits ends at TERM" {
    start_leader a
    start_standby b
    kill -s TERM "$init"
    ends_with 143 "$started"
    [ ! -e b/run/seen ]
    saw a began
}

@test "after KILL the other Pod leads, without the worker" {
    start_leader a
    one=$started first=$init
    start_standby b
    kill -s TERM "$first"
    until_true saw a told
    kill -s KILL "$first"
    until_true is_gone "$one"
    until_done_by "$started" saw b began
    [ "$(pgrep -f -c "^/usr/bin/perl $PWD/bin/worker")" = 1 ]
}

@test "a lock that is broken ends the container, which Kubernetes starts again" {
    start_leader a
    touch a/run/may-end
    rowlock break leader:worker
    ends_with 123 "$started"
}

@test "the probe finds a worker that hangs; a Pod that waits is alive, also after one that hung" {
    start_leader a
    one=$started first=$init
    start_standby b
    is_alive a
    is_alive b
    touch -d '10 minutes ago' a/run/alive
    ! is_alive a || false
    kill -s KILL "$first"
    until_true is_gone "$one"
    until_true saw b began
    start_standby a
    is_alive a
}

@test "of two Pods of the CronJob one runs the report; a drained one leaves it to a later Pod" {
    start_pod a cronjob # not due
    wait "$started"
    grep -q "'report' is not due" err
    [ ! -e a/run/seen ]
    rowlock jobs report --now
    start_pod a cronjob
    one=$started first=$init
    until_done_by "$started" saw a began
    start_pod b cronjob
    wait "$started"
    [ ! -e b/run/seen ]
    kill -s TERM "$first"
    until_true saw a told
    [ "$(rowlock --json jobs report | jq -r '.[0].running_at != null')" = true ]
    touch a/run/may-end
    wait "$one"
    [ "$(rowlock --json jobs report | jq -r '.[0].last_outcome')" = done ]
    # the next one fails, and is repeated after --backoff, not at the next due time
    rowlock jobs report --now
    printf '#!/bin/sh\nexit 1\n' >bin/report
    start_pod c cronjob
    ends_with 1 "$started"
    start_pod d cronjob
    wait "$started"
    grep "'report' is not due before" err >when
    [ "$(sort -u when | wc -l)" = 2 ]
}

start_server() { # POD SECONDS: serves when this returns, at $port; SECONDS are its JOBS_GRACE
    port=$(free_port)
    jq --arg port "$port" --arg seconds "$2" '.spec.template.spec.containers[0].env[] |=
        (if .name == "PORT" then .value = $port elif .name == "JOBS_GRACE" then .value = $seconds
         else . end)' "$BATS_FILE_TMPDIR/server.json" >"$BATS_FILE_TMPDIR/$1.json"
    start_pod "$1" "$1"
    until_done_by "$started" answers "$1" "$port"
}
answers() { # POD PORT: both of its probes
    local probe
    for probe in readinessProbe livenessProbe; do
        curl -sf -o page "http://127.0.0.1:$2$(pod_of "$1" ".containers[0].$probe.httpGet.path")" ||
            return
    done
}
is_closed() { ! curl -s -o page "http://127.0.0.1:$1/"; } # PORT
of_prices() { rowlock --json jobs prices | jq -r ".[0] | $1"; } # PATH

@test "after TERM a server's run ends, or after JOBS_GRACE another Pod performs it at once" {
    # the job waits for a file, and no lease of it expires
    sed 's/every="10m"/every="50w", ttl=600/
        s/print("prices", part/print("began", run.retry, os.environ["POD"]/
        /print(/a\        while not (run.lost.wait(0.05) or os.path.exists("may-end")): pass' \
        "$MANIFESTS/server.py" >server.py
    cp -R "$BATS_TEST_DIRNAME/../../clients/python/src/rowlock" .
    export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD
    start_server a 0.5
    until_done_by "$started" grep -qx "began 0 $PWD/a" out
    declare -A server init_of ports
    ended=$started first=$init
    for pod in b c; do
        start_server $pod 20
        server[$pod]=$started init_of[$pod]=$init ports[$pod]=$port
    done
    kill -s TERM "$first"
    until_true is_gone "$ended"
    ends_with 0 "$ended"
    until_true grep -q '^began 1' out
    pod=$(sed -n 's,^began 1 .*/,,p' out)
    kill -s TERM "${init_of[$pod]}"
    until_true is_closed "${ports[$pod]}"
    [ "$(of_prices '.running_at != null')" = true ]
    touch may-end
    until_true is_gone "${server[$pod]}"
    ends_with 0 "${server[$pod]}"
    [ "$(of_prices '[.history[].outcome] | join(" ")')" = 'done lost' ]
    # the Pod has this time: JOBS_GRACE begins after preStop
    pod_of server '.terminationGracePeriodSeconds >= 10 + (.containers[0] |
        .lifecycle.preStop.sleep.seconds +
            (.env[] | select(.name == "JOBS_GRACE").value | tonumber))' | grep -qx true
    pod_of server '.containers[0] | .ports[0] == {name: "http", containerPort:
        (.env[] | select(.name == "PORT").value | tonumber)}' | grep -qx true
}

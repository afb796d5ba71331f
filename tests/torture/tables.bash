# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The cells of make torture: workload/fault/engine-technique.

workloads='counter documents gapless lease fence permits shared tokens several jobs
    names refused refresh command cron ways sql-counter sql-gapless sql-fence sql-tokens
    sql-requests'
# By the packages of clients/: those of one language by itself, and clients-..., a mixture of all
# that LANGUAGES names.
packages=
for package in ${LANGUAGES:+$LANGUAGES clients}; do
    [ "$package" != c ] || continue # it is the library: no package
    packages="$packages $package"
    workloads="$workloads $package-counter $package-lease $package-fence $package-permits
    $package-shared $package-tokens $package-jobs"
done
is_by_package() { # WORKLOAD
    case "$packages " in *" ${1%%-*} "*) ;; *) return 1 ;; esac
}
faults='none kill stop terminate cancel crash cut delay oneway stall half hang freeze exhaust
    clock upgrade failover async restore vacuum full mixed'
engines='sqlite-native sqlite-insert postgresql-native postgresql-insert
    mariadb-row mariadb-insert mysql-row postgresql-odbc mariadb-odbc postgresql-jdbc
    h2-jdbc hsqldb-jdbc derby-jdbc
    postgresql-pool_transaction postgresql-pool_session'
# Of several servers, if CLUSTERS names them: tests/torture/clusters.
for cluster in ${CLUSTERS:-}; do
    case $cluster in
    patroni) engines="$engines patroni-strict patroni-sync patroni-relaxed" ;;
    group) engines="$engines group-eventual group-failover" ;;
    esac
done
[ -z "${CLUSTERS:-}" ] || faults="$faults leader_killed leader_frozen cut_off cut_clients
    cut_standbys cut_store store_paused switchover"

# By make check-tidb, which builds the server: make torture does not.
[ -z "${TIDB_BIN:-}" ] || engines="$engines tidb-row"

# The faults that an engine can have.
faults_of() { # ENGINE-TECHNIQUE
    case $1 in
    patroni-*)
        echo leader_killed leader_frozen cut_off cut_clients cut_standbys cut_store \
            store_paused switchover
        ;;
    group-*) echo leader_killed leader_frozen cut_off cut_clients cut_standbys switchover ;;
    sqlite-*) echo "$(mixed_of "$1") none upgrade mixed" ;;
    h2-* | hsqldb-* | derby-* | tidb-*) echo "$(mixed_of "$1") none mixed" ;;
    *-odbc | *-jdbc) echo "$(mixed_of "$1") none clock mixed" ;;
    *-pool_*) echo "$(mixed_of "$1") none mixed" ;;
    mysql-*) echo "$(mixed_of "$1") none upgrade mixed" ;;
    postgresql-*)
        echo "$(mixed_of "$1") none clock upgrade failover async restore vacuum full mixed"
        ;;
    *) echo "$(mixed_of "$1") none clock upgrade failover async restore full mixed" ;;
    esac
}
mixed_of() { # ENGINE-TECHNIQUE: the faults that "mixed" combines
    case $1 in
    sqlite-*) echo kill stop ;;
    *-pool_*) echo kill stop terminate cancel crash cut delay ;; # behind the pooler
    # no statement of these servers ends a session or a wait, and sessions have no limit
    h2-* | hsqldb-* | derby-*) echo kill stop crash cut delay oneway stall ;;
    tidb-*) echo kill stop terminate cancel crash cut delay oneway stall half hang freeze ;;
    *) echo kill stop terminate cancel crash cut delay oneway stall half hang freeze exhaust ;;
    esac
}
exists() { # WORKLOAD FAULT ENGINE-TECHNIQUE
    ! is_by_package "$1" || case $2/$3 in
    # it knows one server
    clock/* | upgrade/* | failover/* | async/* | restore/* | vacuum/* | full/*) return 1 ;;
    */sqlite-* | *-odbc | *-jdbc) return 1 ;; # without functions on the server
    esac
    case $1/$3 in
    lease/*-relaxed | tokens/*-relaxed | shared/*-relaxed | permits/*-relaxed) ;;
    */*-relaxed) return 1 ;; # the clients' own commits may be lost
    # without functions on the server
    sql-*/sqlite-* | sql-*/tidb-* | sql-*/*-odbc | sql-*/*-jdbc) return 1 ;;
    cron/*-jdbc) return 1 ;; # each run starts a JVM: they take longer than the jobs' period
    esac
    [ -n "${faults_found[$3]:-}" ] || faults_found[$3]=$(faults_of "$3")
    case " ${faults_found[$3]} " in *" $2 "*) return 0 ;; *) return 1 ;; esac
}
declare -A faults_found=() # by engine: asked for once
all_cells() {
    local workload fault engine
    for workload in $workloads; do
        for fault in $faults; do
            for engine in $engines; do
                if exists "$workload" "$fault" "$engine"; then
                    echo "$workload/$fault/$engine"
                fi
            done
        done
    done
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The cells of make torture: workload/fault/engine-technique.

workloads='counter documents gapless lease fence permits shared tokens group jobs
    refresh command'
faults='none kill stop terminate cancel crash cut stall exhaust mixed'
engines='sqlite-native sqlite-insert postgresql-native postgresql-row postgresql-insert
    mariadb-row mariadb-insert postgresql-odbc mariadb-odbc'

# The faults that an engine can have.
faults_of() { # ENGINE-TECHNIQUE
    case $1 in
    sqlite-*) echo none kill stop mixed ;;
    *) echo none kill stop terminate cancel crash cut stall exhaust mixed ;;
    esac
}
exists() { # WORKLOAD FAULT ENGINE-TECHNIQUE
    case $1/$3 in group/postgresql-native) ;; group/*) return 1 ;; esac # others do not batch
    case " $(faults_of "$3") " in *" $2 "*) return 0 ;; *) return 1 ;; esac
}
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

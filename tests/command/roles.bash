# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# For the tests with accounts of their own. Those of MariaDB have the password "least".

create_role() { # NAME
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "CREATE ROLE $1 LOGIN" ;;
    mariadb) sql "CREATE USER $1@'%' IDENTIFIED BY 'least'" ;;
    esac
}
drop_role() { # NAME
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "DROP OWNED BY $1; DROP ROLE $1" ;;
    mariadb) sql "DROP USER $1@'%'" ;;
    esac
}
url_of_role() { # NAME
    case $ROWLOCK_TEST_ENGINE in
    postgresql) echo "postgresql://$1@${ROWLOCK_TEST_URL#*@}" ;;
    mariadb) echo "${ROWLOCK_TEST_URL%%://*}://$1:least@${ROWLOCK_TEST_URL#*@}$tls" ;;
    esac
}
paste_in() { # SQL text on standard input, as an administrator; an error ends it
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" ;;
    mariadb) as_root_of_mariadb "${ROWLOCK_TEST_URL##*/}" ;;
    esac
}
print_grants() { # NAME: of an account that locks
    rowlock schema print --technique "$ROWLOCK_TEST_TECHNIQUE" --grants --role "$1"
}

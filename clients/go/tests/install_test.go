// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"rowlock.example/rowlock"
	"rowlock.example/rowlock/rowlocktest"
)

// uninstalled opens the database without rowlock. At the end of the test it is installed.
func uninstalled(t *testing.T) *sql.DB {
	t.Helper()
	remove := func() { command(t, "schema", "uninstall", "--force") }
	remove()
	t.Cleanup(func() {
		remove()
		command(t, "schema", "install")
	})
	return openAt(t, address(t).Host, address(t).Path)
}

func query(t *testing.T, on interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, statement string) (answer string) {
	t.Helper()
	fine(t, on.QueryRowContext(background, statement).Scan(&answer))
	return answer
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.Exec(statement)
	fine(t, err)
}

func leases(t *testing.T, db *sql.DB) {
	t.Helper()
	do(t, db, "x", rowlock.Options{}, func(context.Context, *lease) error { return nil })
}

func TestInstallOnce(t *testing.T) {
	db := uninstalled(t)
	err := rowlock.Do(background, db, "x", rowlock.Options{}, never(t))
	mustBe(t, err, rowlock.ErrNotInstalled)
	if !strings.Contains(err.Error(), "rowlock.Install") {
		t.Error(err)
	}
	fine(t, rowlock.Install(background, db))
	leases(t, db)
	fine(t, rowlock.Install(background, db))
	leases(t, db)
	// of the default technique, and complete
	said := regexp.MustCompile("installed already.*technique (native|row)\n")
	if found := said.FindStringSubmatch(command(t, "schema", "install")); found == nil ||
		(found[1] == "row") != mariadb {
		t.Error(found)
	}
}

// lockAndWaiters are the lock of installers, as sql/*/install_lock.sql, and how many wait for it.
func lockAndWaiters(t *testing.T, db *sql.DB) (string, string) {
	if !mariadb {
		return "SELECT pg_advisory_lock(8246125620394091379)::text",
			"SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE NOT granted" +
				" AND locktype = 'advisory' AND datname = current_database()"
	}
	lock := "SELECT GET_LOCK(CONCAT('rowlock:', MD5(DATABASE())), 60)"
	if !strings.Contains(query(t, db, "SELECT VERSION()"), "MariaDB") {
		lock = "SELECT GET_LOCK(CONCAT('rowlock:', LEFT(SHA2(DATABASE(), 256), 32)), 60)"
	}
	return lock, "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE()" +
		" AND state = 'User lock'"
}

func TestTwoInstallAtOnce(t *testing.T) {
	db := uninstalled(t)
	lock, waiters := lockAndWaiters(t, db)
	holder, err := db.Conn(background)
	fine(t, err)
	query(t, holder, lock)
	installed := make(chan error, 2)
	for range [2]int{} {
		go func() { installed <- rowlock.Install(background, db) }()
	}
	for query(t, db, waiters) != "2" {
		if len(installed) > 0 {
			t.Fatal("it did not wait: ", <-installed)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if mariadb {
		query(t, holder, "SELECT COALESCE(RELEASE_ALL_LOCKS(), 0)")
	} else {
		query(t, holder, "SELECT pg_advisory_unlock_all()::text")
	}
	fine(t, <-installed)
	fine(t, <-installed)
	leases(t, db)
	holder.Close()
}

func TestInstallAcceptsTheNextVersionAndRefusesOthers(t *testing.T) {
	db := uninstalled(t)
	fine(t, rowlock.Install(background, db))
	meta := "rowlock.meta"
	if mariadb {
		meta = "rowlock_meta"
	}
	execute(t, db, "UPDATE "+meta+" SET version = version + 1")
	fine(t, rowlock.Install(background, db))
	for version, advice := range map[string]string{
		"-1": "is version -1, this package works with [1-9] to [1-9]; run: rowlock schema upgrade",
		"99": "is version 99, this package works with [1-9] to [1-9]; use a newer package"} {
		execute(t, db, "UPDATE "+meta+" SET version = "+version)
		if err := rowlock.Install(background, db); err == nil ||
			!regexp.MustCompile(advice).MatchString(err.Error()) {
			t.Error(err)
		}
	}
}

func TestInstallCompletesAnother(t *testing.T) {
	if !mariadb {
		t.Skip("there it is one transaction")
	}
	db := uninstalled(t)
	fine(t, rowlock.Install(background, db))
	execute(t, db, "UPDATE rowlock_meta SET version = 0")
	execute(t, db, "DROP PROCEDURE rowlock_request_row")
	fine(t, rowlock.Install(background, db))
	leases(t, db)
}

// A view, or a table of an engine without transactions, is in the way. Afterwards the pool has no
// connection with the settings, the transaction or the lock of the script.
func TestAFailedInstallLeavesNothing(t *testing.T) {
	db := uninstalled(t)
	db.SetMaxOpenConns(1)
	settings, create, drop := "SELECT current_setting('client_min_messages')",
		"CREATE SCHEMA rowlock CREATE VIEW job AS SELECT 1 AS one", "DROP SCHEMA rowlock CASCADE"
	if mariadb {
		settings = "SELECT @@sql_mode"
		create, drop = "CREATE TABLE rowlock_number (a INT) ENGINE = MyISAM", "DROP TABLE rowlock_number"
	}
	before := query(t, db, settings)
	execute(t, db, create)
	if err := rowlock.Install(background, db); err == nil {
		t.Error("installed beside another's object")
	}
	if after := query(t, db, settings); after != before {
		t.Errorf("%s, and not %s", after, before)
	}
	execute(t, db, drop)
	fine(t, rowlock.Install(background, db))
	leases(t, db)
}

func TestSchemaIsThatOfTheCommand(t *testing.T) {
	for _, dialect := range []string{"postgresql", "mariadb", "mysql"} {
		text, err := rowlock.Schema(dialect, "shop")
		fine(t, err)
		if text != command(t, "schema", "print", dialect, "--role", "shop") {
			t.Error(dialect)
		}
		text, err = rowlock.Schema(dialect, "")
		fine(t, err)
		if regexp.MustCompile(`(?m)^ *GRANT `).MatchString(text) || len(text) < 100_000 {
			t.Error("GRANTs of ", dialect)
		}
	}
	text, err := rowlock.Schema("mysql", "shop@%")
	if err != nil || !strings.Contains(text, "TO 'shop'@'%'") {
		t.Error(err)
	}
	for _, wrong := range []string{"x; DROP", "x@y", "1"} {
		_, err = rowlock.Schema("postgresql", wrong)
		mustBe(t, err, rowlock.ErrArgument)
	}
	_, err = rowlock.Schema("oracle", "")
	mustBe(t, err, rowlock.ErrArgument)
	printed, err := exec.Command("go", "run", "rowlock.example/rowlock/cmd/rowlock-schema", "-role",
		"shop@%", "mysql").Output()
	if err != nil || string(printed) != text {
		t.Error(err)
	}
}

func TestInstallNeedsTheRight(t *testing.T) {
	url := os.Getenv("ROWLOCK_TEST_UNPRIVILEGED")
	if url == "" {
		t.Skip("no such account")
	}
	uninstalled(t)
	t.Setenv("ROWLOCK_TEST_URL", url)
	err := rowlock.Install(background, openAt(t, address(t).Host, address(t).Path))
	if err == nil || !strings.Contains(err.Error(), "denied") ||
		!strings.Contains(err.Error(), os.Getenv("ROWLOCK_TEST_NEEDS")) ||
		!strings.Contains(err.Error(), "or run the text of rowlock.Schema(") {
		t.Error(err)
	}
}

func TestAStandInNeedsNoInstall(t *testing.T) {
	fine(t, rowlock.Install(background, rowlocktest.New().DB()))
}

// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"rowlock.example/rowlock"
)

// openWith opens the database with a setting of the driver, KEY=VALUE.
func openWith(t *testing.T, settings string) *sql.DB {
	t.Helper()
	return openAt(t, address(t).Host, address(t).Path+"?"+settings)
}

func TestEachExecModeOfPgx(t *testing.T) {
	if driver != "pgx" {
		t.Skip()
	}
	open(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec",
		"simple_protocol"} {
		db := openWith(t, "default_query_exec_mode="+mode)
		do(t, db, "x", rowlock.Options{TTL: time.Second, Permits: 2, Note: "mine"},
			func(ctx context.Context, l *lease) error {
				first := l.Remaining()
				for l.Remaining() <= first { // until it is renewed
					time.Sleep(10 * time.Millisecond)
					first = min(first, l.Remaining())
				}
				tx := begin(t, db, "counter:c")
				fine(t, l.Fence(ctx, tx))
				_, err := rowlock.Next(ctx, tx, "c")
				fine(t, err)
				_, err = rowlock.Refresh(ctx, tx, "s", rowlock.AnyAge,
					func(context.Context) error { return nil })
				fine(t, err)
				return tx.Commit()
			})
	}
}

func TestAPoolOfPgx(t *testing.T) {
	if driver != "pgx" {
		t.Skip()
	}
	open(t)
	pool, err := pgxpool.New(background, address(t).String())
	fine(t, err)
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	do(t, db, "x", rowlock.Options{}, func(ctx context.Context, l *lease) error {
		refused(t, db, "x", rowlock.Options{})
		tx, err := db.BeginTx(ctx, nil)
		fine(t, err)
		fine(t, l.Fence(ctx, tx))
		return tx.Commit()
	})
}

// The settings of the connection do not change a name: the command finds it.
func TestANameIsTheSameWithEachSetting(t *testing.T) {
	db := open(t)
	settings := map[string][]string{
		"pgx":      {"client_encoding=UTF8"},
		"postgres": {"binary_parameters=yes", "standard_conforming_strings=off"},
		"mysql": {"charset=latin1", "sql_mode=%27NO_BACKSLASH_ESCAPES%27",
			"interpolateParams=true&sql_mode=%27NO_BACKSLASH_ESCAPES%27"},
	}[driver]
	for _, setting := range settings {
		other := openWith(t, setting)
		for _, name := range []string{"blåbær 🫐", `o'clock \' "x" \\`, "a\nb;--"} {
			do(t, other, name, rowlock.Options{Note: name}, func(context.Context, *lease) error {
				if busy := refused(t, db, name, rowlock.Options{}); busy.By.Note != name {
					t.Errorf("%s: %q instead of %q", setting, busy.By.Note, name)
				}
				return nil
			})
		}
	}
}

func TestTransactionsAreFitWhateverTheAccountHas(t *testing.T) {
	open(t)
	settings := "default_transaction_isolation=serializable&default_transaction_read_only=on"
	of := "tx" // MySQL has another name
	if strings.HasPrefix(os.Getenv("ROWLOCK_TEST_URL"), "mysql:") {
		of = "transaction"
	}
	if mariadb {
		settings = of + "_isolation=%27SERIALIZABLE%27&" + of + "_read_only=1"
	}
	db := openWith(t, settings)
	db.SetMaxOpenConns(1)
	do(t, db, "x", rowlock.Options{TTL: time.Second}, func(_ context.Context, l *lease) error {
		refused(t, db, "x", rowlock.Options{})
		for first := l.Remaining(); l.Remaining() <= first; { // until it is renewed
			first = min(first, l.Remaining())
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	})
	show, want := "SHOW transaction_isolation", "serializable"
	if mariadb {
		show, want = "SELECT @@"+of+"_isolation", "SERIALIZABLE"
	}
	var got string
	fine(t, db.QueryRow(show).Scan(&got))
	if got != want {
		t.Errorf("the connection came back at %s", got)
	}
}

func TestAPoolWithoutAFreeConnection(t *testing.T) {
	db := open(t)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(background)
	fine(t, err)
	err = rowlock.Do(background, db, "x", rowlock.Options{Wait: rowlock.NoWait}, never(t))
	mustBe(t, err, rowlock.ErrUnavailable)
	fine(t, conn.Close())
}

func TestABusyErrorHasFields(t *testing.T) {
	db := open(t)
	do(t, db, "x", rowlock.Options{Note: "mine"}, func(context.Context, *lease) error {
		host, _ := os.Hostname()
		by := refused(t, db, "x", rowlock.Options{Wait: 300 * time.Millisecond}).By
		if by.Kind != "lease" || by.Host != host || by.PID != int64(os.Getpid()) ||
			by.Program != filepath.Base(os.Args[0]) || by.Note != "mine" || by.Waiting != 0 ||
			time.Since(by.Since) > time.Hour || time.Until(by.Expires) < time.Second {
			t.Errorf("%+v", by)
		}
		return nil
	})
}

func TestALeaseSaysThatItWasReleased(t *testing.T) {
	var held *lease
	do(t, open(t), "x", rowlock.Options{}, func(_ context.Context, l *lease) error {
		held = l
		if shown := fmt.Sprint(l); !strings.HasPrefix(shown, `lease of "x", token `) {
			t.Error(shown)
		}
		return nil
	})
	err := held.Check()
	mustBe(t, err, rowlock.ErrLost)
	if err.Error() != `the lease of "x" was released` {
		t.Error(err)
	}
}

func TestAReleaseThatHangsIsRepeatedOnAnotherConnection(t *testing.T) {
	open(t)
	p := newProxy(t)
	release := "rowlock.release"
	if mariadb {
		release = "rowlock_release"
	}
	do(t, p.open(t), "x", rowlock.Options{}, func(context.Context, *lease) error {
		t.Cleanup(p.swallow(release))
		return nil
	})
}

func TestABlockThatEndsBeforeItsOwnFencedTransaction(t *testing.T) {
	db := openAt(t, address(t).Host, address(t).Path)
	for _, fence := range []func(context.Context, *sql.Tx, *lease) error{
		func(ctx context.Context, tx *sql.Tx, l *lease) error { return l.Fence(ctx, tx) },
		func(ctx context.Context, tx *sql.Tx, l *lease) error {
			return rowlock.Fence(ctx, tx, l.Name(), l.Token())
		},
	} {
		var tx *sql.Tx
		err := rowlock.Do(background, db, "fenced", rowlock.Options{TTL: time.Hour},
			func(ctx context.Context, l *lease) error {
				tx = begin(t, db, "y")
				return fence(ctx, tx, l)
			})
		if err == nil || !strings.Contains(err.Error(), "a transaction that called Fence is open") {
			t.Error(err)
		}
		fine(t, tx.Commit())
		command(t, "break", "--now", "fenced")
	}
}

func TestEventsTellWhatHappened(t *testing.T) {
	db := open(t)
	var heard []string
	opts := rowlock.Options{TTL: 3 * time.Second, OnEvent: func(e rowlock.Event) {
		if e.Name != "x" || (e.Token == 0) == (e.Kind != rowlock.Waited) || e.Duration < 0 {
			t.Errorf("%+v", e)
		}
		heard = append(heard, e.Kind)
	}}
	do(t, db, "x", opts, func(context.Context, *lease) error { return nil })
	waits := make(chan error, 1)
	do(t, db, "x", rowlock.Options{}, func(context.Context, *lease) error {
		for _, opts.Wait = range []time.Duration{rowlock.NoWait, 100 * time.Millisecond} {
			err := rowlock.Do(background, db, "x", opts, never(t))
			mustBe(t, err, rowlock.ErrBusy)
		}
		opts.Wait = 0
		ctx, cancel := context.WithCancel(background)
		go func() { waits <- rowlock.Do(ctx, db, "x", opts, never(t)) }()
		untilWaiting(t, 1)
		cancel()
		mustBe(t, <-waits, context.Canceled)
		go func() {
			waits <- rowlock.Do(background, db, "x", opts,
				func(context.Context, *lease) error { return nil })
		}()
		untilWaiting(t, 1)
		return nil
	})
	fine(t, <-waits)
	away := openAt(t, "127.0.0.1:1", address(t).Path)
	mustBe(t, rowlock.Do(background, away, "x", opts, never(t)), rowlock.ErrUnavailable)
	mustBe(t, rowlock.Do(background, db, "x", opts, func(ctx context.Context, _ *lease) error {
		command(t, "break", "--now", "x")
		<-ctx.Done()
		return nil
	}), rowlock.ErrLost)
	want := "acquired released waited waited waited acquired released waited acquired lost"
	if got := strings.Join(heard, " "); got != want {
		t.Errorf("%s instead of %s", got, want)
	}
}

// Behind a pooler with 5 sessions 20 callers wait, by the driver's default settings. Nobody keeps a
// session between two calls, so the others' queries are answered, and no holder loses its lease.
func TestBehindAPooler(t *testing.T) {
	at := os.Getenv("ROWLOCK_TEST_POOLER")
	if at == "" {
		t.Skip("no pooler")
	}
	open(t)
	db := openAt(t, at, address(t).Path)
	db.SetMaxOpenConns(30)
	var waiters sync.WaitGroup
	var held atomic.Int64
	do(t, db, "x", rowlock.Options{TTL: 3 * time.Second}, func(ctx context.Context, l *lease) error {
		for waiter := 0; waiter < 20; waiter++ {
			waiters.Add(1)
			go func() {
				defer waiters.Done()
				do(t, db, "x", rowlock.Options{TTL: 3 * time.Second},
					func(context.Context, *lease) error {
						if held.Add(1) != 1 {
							t.Error("two at once")
						}
						held.Add(-1)
						tx := begin(t, db, "counter:c")
						_, err := rowlock.Next(background, tx, "c")
						fine(t, err)
						return tx.Commit()
					})
			}()
		}
		untilWaiting(t, 20)
		plain := "default_query_exec_mode=exec"
		if driver != "pgx" {
			plain = "binary_parameters=yes"
		}
		others := openAt(t, at, address(t).Path+"?"+plain)
		for renewed := time.Now(); time.Since(renewed) < 4*time.Second; { // longer than the ttl
			began := time.Now()
			fine(t, others.QueryRowContext(ctx, "SELECT 1").Scan(new(int)))
			t.Logf("SELECT 1: %v", time.Since(began))
			time.Sleep(100 * time.Millisecond)
		}
		return l.Check()
	})
	waiters.Wait()
}

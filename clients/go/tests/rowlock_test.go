// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"rowlock.example/rowlock"
)

var (
	background = context.Background()
	errBody    = errors.New("the body failed")
)

type (
	lease = rowlock.Lease
	body  = func(context.Context, *lease) error
)

// never is a body that must not run.
func never(t *testing.T) body {
	return func(context.Context, *lease) error {
		t.Error("the body ran")
		return nil
	}
}

// do runs the body under a lease that must be acquired and kept.
func do(t *testing.T, db *sql.DB, name string, opts rowlock.Options, run body) {
	t.Helper()
	ran := false
	err := rowlock.Do(background, db, name, opts, func(ctx context.Context, l *lease) error {
		ran = true
		return run(ctx, l)
	})
	if err != nil || !ran {
		t.Errorf("%s: %v, ran: %v", name, err, ran)
	}
}

func refused(t *testing.T, db *sql.DB, name string, opts rowlock.Options) *rowlock.BusyError {
	t.Helper()
	if opts.Wait == 0 {
		opts.Wait = rowlock.NoWait
	}
	var busy *rowlock.BusyError
	err := rowlock.Do(background, db, name, opts, never(t))
	if !errors.Is(err, rowlock.ErrBusy) || !errors.As(err, &busy) {
		t.Fatalf("not busy: %v", err)
	}
	return busy
}

func mustBe(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("not %v: %v", kind, err)
	}
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, db *sql.DB, name string) *sql.Tx {
	t.Helper()
	tx, err := rowlock.Begin(background, db, name)
	fine(t, err)
	return tx
}

func TestALeaseExcludesAndIsShown(t *testing.T) {
	db := open(t)
	var before int64
	do(t, db, "x", rowlock.Options{Note: "mine"}, func(_ context.Context, l *lease) error {
		fine(t, l.Check())
		if l.Remaining() < 20*time.Second || l.Remaining() > 29*time.Second {
			t.Errorf("remaining: %v", l.Remaining())
		}
		host, _ := os.Hostname()
		shown := command(t, "ls", "x")
		for _, part := range []string{"mine", fmt.Sprintf("%s:%d ", host, os.Getpid())} {
			if !strings.Contains(shown, part) {
				t.Errorf("no %q in %s", part, shown)
			}
		}
		if busy := refused(t, db, "x", rowlock.Options{}); !strings.Contains(busy.Holder, "mine") ||
			!strings.Contains(busy.Error(), `could not acquire "x": held by `) {
			t.Errorf("holder: %v", busy)
		}
		before = l.Token()
		return nil
	})
	do(t, db, "x", rowlock.Options{Wait: rowlock.NoWait},
		func(_ context.Context, l *lease) error {
			if l.Token() <= before {
				t.Errorf("token %d after %d", l.Token(), before)
			}
			return nil
		})
}

func TestARefusedLeaseNeverRunsTheBody(t *testing.T) {
	db := open(t)
	do(t, db, "x", rowlock.Options{}, func(context.Context, *lease) error {
		refused(t, db, "x", rowlock.Options{Wait: 500 * time.Millisecond})
		short, cancel := context.WithTimeout(background, 500*time.Millisecond)
		defer cancel()
		err := rowlock.Do(short, db, "x", rowlock.Options{}, never(t))
		mustBe(t, err, context.DeadlineExceeded)
		return nil
	})
}

func TestABreakIsReported(t *testing.T) {
	db := open(t)
	for _, fails := range []error{nil, errBody} {
		warned := make(chan string, 9)
		opts := rowlock.Options{TTL: 3 * time.Second,
			Warn: func(message string, _ ...any) { warned <- message }}
		err := rowlock.Do(background, db, "x", opts, func(ctx context.Context, l *lease) error {
			command(t, "break", "x")
			<-ctx.Done()
			mustBe(t, l.Check(), rowlock.ErrLost)
			var gone *rowlock.LostError
			if cause := context.Cause(ctx); !errors.As(cause, &gone) ||
				!strings.HasPrefix(gone.Reason, "was broken on ") {
				t.Errorf("cause: %v", cause)
			}
			if l.Remaining() != 0 {
				t.Errorf("remaining: %v", l.Remaining())
			}
			return fails
		})
		mustBe(t, err, rowlock.ErrLost)
		if fails != nil {
			mustBe(t, err, fails)
		}
		if first := <-warned; !strings.Contains(first, "lost") {
			t.Errorf("warned: %s", first)
		}
	}
}

func TestAnErrorAndAPanicRelease(t *testing.T) {
	db := open(t)
	err := rowlock.Do(background, db, "x", rowlock.Options{},
		func(context.Context, *lease) error { return errBody })
	if err != errBody {
		t.Errorf("instead: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = rowlock.Do(background, db, "x", rowlock.Options{Wait: rowlock.NoWait},
			func(context.Context, *lease) error { panic("in the body") })
	}()
	do(t, db, "x", rowlock.Options{Wait: rowlock.NoWait},
		func(context.Context, *lease) error { return nil })
}

func TestADatabaseThatHangsEndsItInTime(t *testing.T) {
	open(t)
	p := newProxy(t)
	db := p.open(t)
	before := time.Now()
	err := rowlock.Do(background, db, "x", rowlock.Options{TTL: 6 * time.Second},
		func(ctx context.Context, l *lease) error {
			thaw := p.freeze()
			defer thaw()
			last := l.Remaining()
			for ; l.Remaining() > 0; time.Sleep(time.Millisecond) {
				last = l.Remaining()
			}
			<-ctx.Done()
			if taken := time.Since(before); taken < 5*time.Second || taken >= 6*time.Second {
				t.Errorf("lost after %v, %v remained", taken, last)
			}
			return ctx.Err()
		})
	mustBe(t, err, rowlock.ErrLost)
	mustBe(t, err, context.Canceled)
	for command(t, "ls") != "" { // it expires
		time.Sleep(20 * time.Millisecond)
	}
}

func TestACutConnectionIsReplaced(t *testing.T) {
	open(t)
	p := newProxy(t)
	do(t, p.open(t), "x", rowlock.Options{TTL: 6 * time.Second},
		func(_ context.Context, l *lease) error {
			p.cut()
			time.Sleep(7 * time.Second)
			return l.Check()
		})
}

func TestALostReplyIsRepeatedByTheSameOwner(t *testing.T) {
	open(t)
	p := newProxy(t)
	for _, wait := range []time.Duration{20 * time.Second, rowlock.NoWait} {
		p.misbehave("a lost reply", 0)
		do(t, p.open(t), "x", rowlock.Options{Note: "a lost reply", Wait: wait},
			func(context.Context, *lease) error {
				if shown := command(t, "ls", "x"); strings.Count(shown, "exclusive") != 1 {
					t.Errorf("not one: %s", shown)
				}
				return nil
			})
		if p.text != "" {
			t.Error("no reply was lost")
		}
	}
}

func TestTheFence(t *testing.T) {
	db := open(t)
	do(t, db, "x", rowlock.Options{}, func(ctx context.Context, l *lease) error {
		tx := begin(t, db, "y")
		fine(t, l.Fence(ctx, tx))
		fine(t, tx.Commit())
		tx = begin(t, db, "y")
		mustBe(t, rowlock.Fence(ctx, tx, "x", l.Token()-1), rowlock.ErrLost)
		return tx.Rollback()
	})
}

func TestALockInTheTransaction(t *testing.T) {
	db := open(t)
	one, two := begin(t, db, "x"), begin(t, db, "x")
	fine(t, rowlock.Lock(background, one, "x"))
	mustBe(t, rowlock.TryLock(background, two, "x", 0), rowlock.ErrBusy)
	mustBe(t, rowlock.TryLockShared(background, two, "x", 100*time.Millisecond), rowlock.ErrBusy)
	fine(t, one.Commit())
	fine(t, rowlock.LockShared(background, two, "x"))
	one = begin(t, db, "x")
	fine(t, rowlock.TryLockShared(background, one, "x", 5*time.Second))
	mustBe(t, rowlock.TryLock(background, begin(t, db, "x"), "x", 0), rowlock.ErrBusy)
	fine(t, one.Commit())
	fine(t, two.Rollback())
}

func TestALockThatALeaseRefusesNamesItsHolder(t *testing.T) {
	db := open(t)
	do(t, db, "x", rowlock.Options{Note: "mine"}, func(ctx context.Context, _ *lease) error {
		tx := begin(t, db, "x")
		var busy *rowlock.BusyError
		err := rowlock.TryLock(ctx, tx, "x", 0)
		if !errors.As(err, &busy) || !strings.Contains(busy.Holder, "note: mine") {
			t.Errorf("refused: %v", err)
		}
		return tx.Rollback()
	})
}

func TestADatabaseThatIsNotThere(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	fine(t, err)
	fine(t, closed.Close())
	db := openAt(t, closed.Addr().String(), address(t).Path)
	err = rowlock.Do(background, db, "x", rowlock.Options{Wait: 300 * time.Millisecond}, never(t))
	mustBe(t, err, rowlock.ErrUnavailable)
	fine(t, db.Close())
	if err = rowlock.Do(background, db, "x", rowlock.Options{}, never(t)); err == nil {
		t.Error("no error, although db is closed")
	}
}

func TestASchemaThatIsNotThere(t *testing.T) {
	database := "/postgres"
	if mariadb {
		database = "/test_without_rowlock"
		db := open(t)
		_, err := db.Exec("CREATE DATABASE IF NOT EXISTS test_without_rowlock")
		fine(t, err)
		defer func() { _, _ = db.Exec("DROP DATABASE test_without_rowlock") }()
	}
	db := openAt(t, address(t).Host, database)
	mustBe(t, rowlock.Do(background, db, "x", rowlock.Options{}, never(t)), rowlock.ErrNotInstalled)
}

func TestStaleDataIsRefreshedOnce(t *testing.T) {
	db := open(t)
	loads := 0
	load := func(context.Context) error { loads++; return nil }
	one, two := begin(t, db, "subject:rates"), begin(t, db, "subject:rates")
	if did, err := rowlock.Refresh(background, one, "rates", 0, load); err != nil || !did {
		t.Errorf("%v: %v", did, err)
	}
	var busy *rowlock.BusyError
	for _, wait := range []time.Duration{-1, 0, 10 * time.Millisecond} {
		_, err := rowlock.TryRefresh(background, two, "rates", 0, wait, load)
		if !errors.As(err, &busy) || busy.Name != "subject:rates" {
			t.Errorf("not busy: %v", err)
		}
	}
	fine(t, one.Commit())
	for _, age := range []time.Duration{time.Minute, rowlock.AnyAge} { // two continues
		if did, err := rowlock.Refresh(background, two, "rates", age, load); err != nil || did {
			t.Errorf("%v: %v", did, err)
		}
	}
	fine(t, two.Rollback())
	if loads != 1 {
		t.Errorf("%d loads", loads)
	}
}

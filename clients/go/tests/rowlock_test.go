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
	"sync"
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

func TestWaitersAreServedInTheirOrder(t *testing.T) {
	db := open(t)
	var all sync.WaitGroup
	served := make(chan int, 3)
	do(t, db, "x", rowlock.Options{}, func(context.Context, *lease) error {
		for number := 0; number < 3; number++ {
			number := number
			all.Add(1)
			go func() {
				defer all.Done()
				do(t, db, "x", rowlock.Options{}, func(context.Context, *lease) error {
					served <- number
					return nil
				})
			}()
			untilWaiting(t, number+1)
		}
		return nil
	})
	all.Wait()
	for number := 0; number < 3; number++ {
		if got := <-served; got != number {
			t.Errorf("served %d instead of %d", got, number)
		}
	}
}

func TestItIsRenewedBeyondItsTTL(t *testing.T) {
	do(t, open(t), "x", rowlock.Options{TTL: 3 * time.Second},
		func(_ context.Context, l *lease) error {
			time.Sleep(6 * time.Second)
			return l.Check()
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

func TestTheEndCountsFromBeforeTheRequest(t *testing.T) {
	open(t)
	p := newProxy(t)
	p.misbehave("a late reply", 3*time.Second)
	do(t, p.open(t), "x", rowlock.Options{Note: "a late reply"},
		func(_ context.Context, l *lease) error {
			if l.Remaining() > 26*time.Second { // of 30 s, 1 s margin, 3 s until the reply
				t.Errorf("remaining: %v", l.Remaining())
			}
			return nil
		})
}

func TestPermitsAndShared(t *testing.T) {
	db := open(t)
	for name, opts := range map[string]rowlock.Options{"p": {Permits: 2}, "s": {Shared: true}} {
		do(t, db, name, opts, func(context.Context, *lease) error {
			do(t, db, name, opts, func(context.Context, *lease) error {
				if opts.Permits > 0 {
					refused(t, db, name, opts)
				} else {
					refused(t, db, name, rowlock.Options{})
				}
				return nil
			})
			return nil
		})
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

func TestNumbersWithoutAGap(t *testing.T) {
	db := open(t)
	draw := func(end func(*sql.Tx) error) int64 {
		tx := begin(t, db, "counter:invoice")
		number, err := rowlock.Next(background, tx, "invoice")
		fine(t, err)
		fine(t, end(tx))
		return number
	}
	first, second := draw((*sql.Tx).Commit), draw((*sql.Tx).Rollback)
	third := draw((*sql.Tx).Commit)
	if second != first+1 || third != first+1 {
		t.Errorf("%d, %d, %d", first, second, third)
	}
}

func TestAnInterruptEndsAWaitAndLeavesTheQueue(t *testing.T) {
	db := open(t)
	do(t, db, "x", rowlock.Options{}, func(context.Context, *lease) error {
		ctx, cancel := context.WithCancel(background)
		ended := make(chan error)
		go func() { ended <- rowlock.Do(ctx, db, "x", rowlock.Options{}, never(t)) }()
		untilWaiting(t, 1)
		before := time.Now()
		cancel()
		mustBe(t, <-ended, context.Canceled)
		if taken := time.Since(before); taken > 30*time.Second { // 5 s; the machine may be busy
			t.Errorf("after %v", taken)
		}
		if shown := command(t, "ls", "x"); strings.Contains(shown, "waiting") {
			t.Errorf("still there: %s", shown)
		}
		return nil
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

func TestAFailedLoadLeavesTheDataStale(t *testing.T) {
	db := open(t)
	command(t, "refresh", "rates", "--max-age", "0s", "--", "true")
	command(t, "expire", "rates")
	for _, end := range []struct {
		load func(*sql.Tx) error
		want error
	}{
		{func(*sql.Tx) error { return errBody }, errBody},
		{func(tx *sql.Tx) error { // ends the transaction that began the refresh
			_, err := tx.Exec("COMMIT")
			if err == nil {
				_, err = tx.Exec("BEGIN")
			}
			return err
		}, rowlock.ErrLost},
		{func(*sql.Tx) error { return nil }, nil},
	} {
		tx := begin(t, db, "subject:rates")
		did, err := rowlock.Refresh(background, tx, "rates", rowlock.AnyAge,
			func(context.Context) error { return end.load(tx) })
		if !did || !errors.Is(err, end.want) {
			t.Errorf("%v: %v, not %v", did, err, end.want)
		}
		text := `the refresh of "rates" is lost: load ended its transaction; roll back`
		if end.want == rowlock.ErrLost && !strings.HasPrefix(err.Error(), text) {
			t.Error(err)
		}
		fine(t, tx.Rollback())
	}
}

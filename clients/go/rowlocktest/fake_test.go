// SPDX-License-Identifier: Apache-2.0

package rowlocktest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rowlock.example/rowlock"
)

var background = context.Background()

func TestItExcludesAndQueues(t *testing.T) {
	db := New().DB()
	var all sync.WaitGroup
	var held atomic.Int64
	for caller := 0; caller < 5; caller++ {
		all.Add(1)
		go func() {
			defer all.Done()
			err := rowlock.Do(background, db, "x", rowlock.Options{},
				func(context.Context, *rowlock.Lease) error {
					if held.Add(1) != 1 {
						t.Error("two at once")
					}
					held.Add(-1)
					return nil
				})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
}

func TestItIsBusyLostAndAway(t *testing.T) {
	fake := New()
	db := fake.DB()
	try := func(body func(context.Context) error) error {
		opts := rowlock.Options{TTL: time.Second, Wait: rowlock.NoWait,
			Warn: func(string, ...any) {}}
		return rowlock.Do(background, db, "x", opts,
			func(ctx context.Context, _ *rowlock.Lease) error { return body(ctx) })
	}
	fake.Hold("x", rowlock.Holder{Host: "web3", Note: "nightly"})
	var busy *rowlock.BusyError
	if err := try(nil); !errors.As(err, &busy) || busy.By.Host != "web3" || busy.By.Waiting != 0 {
		t.Error(err)
	}
	fake.Break("x")
	err := try(func(ctx context.Context) error {
		fake.Break("x")
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, rowlock.ErrLost) {
		t.Error(err)
	}
	fake.Fail(driver.ErrBadConn)
	if err := try(nil); !errors.Is(err, rowlock.ErrUnavailable) {
		t.Error(err)
	}
}

func TestItHasTransactions(t *testing.T) {
	db := New().DB()
	one, two := begin(t, db), begin(t, db)
	must(t, rowlock.Lock(background, one, "x"), nil)
	must(t, rowlock.TryLock(background, two, "x", 0), rowlock.ErrBusy)
	must(t, rowlock.TryLockShared(background, two, "y", 0), nil)
	must(t, rowlock.LockShared(background, one, "y"), nil)
	number, err := rowlock.Next(background, one, "c")
	if number != 1 || err != nil {
		t.Error(number, err)
	}
	for _, want := range []bool{true, false} {
		did, err := rowlock.Refresh(background, one, "s", rowlock.AnyAge,
			func(context.Context) error { return nil })
		if did != want || err != nil {
			t.Error(did, err)
		}
	}
	must(t, rowlock.Fence(background, one, "x", 7), rowlock.ErrLost)
	must(t, one.Commit(), nil)
	must(t, rowlock.TryLock(background, two, "x", 0), nil)
	must(t, two.Rollback(), nil)
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := rowlock.Begin(background, db, "x")
	must(t, err, nil)
	return tx
}

func must(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%v instead of %v", err, kind)
	}
}

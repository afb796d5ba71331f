// SPDX-License-Identifier: Apache-2.0

package rowlocktest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
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

func nothing(context.Context, *rowlock.Run) error { return nil }

func TestItHasJobs(t *testing.T) {
	fake := New()
	jobs := rowlock.NewJobs(fake.DB(), rowlock.JobsOptions{Warn: func(string, ...any) {}})
	of := rowlock.JobOptions{Every: "1h", TTL: time.Second}
	must(t, jobs.Add("prices", of, func(_ context.Context, run *rowlock.Run) error {
		run.Note("37")
		return nil
	}), nil)
	must(t, jobs.Add("broken", of, func(ctx context.Context, _ *rowlock.Run) error {
		fake.Break("job:broken")
		<-ctx.Done()
		return nil
	}), nil)
	for round, want := range []int{2, 0, 1, 0} {
		if round == 2 {
			fake.Due("prices")
		} else if round == 3 {
			fake.Due("prices")
			fake.Hold("job:prices", rowlock.Holder{})
		}
		if count, err := jobs.RunDue(background); count != want || err != nil {
			t.Errorf("%d: %d, %v", round, count, err)
		}
	}
	done := Run{"prices", "done", "37"}
	if got := fake.Runs(); !slices.Equal(got, []Run{done, done}) {
		t.Errorf("%+v", got)
	}
}

// A job never runs beside itself, no more than Limit run at once, and the end of one begins the next.
func TestRunsAreLimited(t *testing.T) {
	fake := New()
	ctx, end := context.WithCancel(background)
	jobs := rowlock.NewJobs(fake.DB(), rowlock.JobsOptions{Limit: 2})
	var active, most atomic.Int64
	left := make(chan struct{}, 99)
	for _, name := range []string{"a", "b", "c", "d"} {
		must(t, jobs.Add(name, rowlock.JobOptions{Every: "1h"},
			func(_ context.Context, run *rowlock.Run) error {
				fake.Due(run.Job())
				if now := active.Add(1); now > most.Load() {
					most.Store(now)
				}
				time.Sleep(time.Millisecond)
				active.Add(-1)
				left <- struct{}{}
				return nil
			}), nil)
	}
	ended := make(chan error)
	go func() { ended <- jobs.Run(ctx) }()
	for range [20]int{} {
		<-left
	}
	end()
	must(t, soon(t, ended), nil)
	if most.Load() > 2 || active.Load() != 0 {
		t.Errorf("%d at once, %d left", most.Load(), active.Load())
	}
}

// Run continues when the database is away, and when a job is refused that was answered before.
func TestRunSurvivesErrors(t *testing.T) {
	fake := New()
	ctx, end := context.WithCancel(background)
	warned := make(chan string, 999)
	jobs := rowlock.NewJobs(fake.DB(), rowlock.JobsOptions{
		Warn: func(message string, _ ...any) { warned <- message }})
	for _, name := range []string{"a", "b"} {
		must(t, jobs.Add(name, rowlock.JobOptions{Every: "1h"}, nothing), nil)
	}
	fake.Fail(errors.New("refused"))
	if err := jobs.Run(ctx); err == nil || err.Error() != `the job "a": refused` {
		t.Error(err)
	}
	fake.Fail(driver.ErrBadConn)
	ended := make(chan error)
	go func() { ended <- jobs.Run(ctx) }()
	for range [3]int{} {
		if text := <-warned; text != "rowlock: a claim failed, and is repeated" {
			t.Error(text)
		}
	}
	if err := jobs.Run(ctx); err == nil {
		t.Error("it was active twice")
	}
	fake.Fail(nil)
	until(func() bool { return len(fake.Runs()) == 2 })
	fake.Fail(errors.New("refused"))
	until(func() bool { return <-warned == "rowlock: a claim failed" })
	end()
	must(t, soon(t, ended), nil)
}

// A function that does not end does not keep Run, and its job does not run beside it.
func TestAFunctionThatDoesNotEndIsLost(t *testing.T) {
	fake := New()
	ctx, end := context.WithCancel(background)
	jobs := rowlock.NewJobs(fake.DB(), rowlock.JobsOptions{Grace: rowlock.NoWait,
		Warn: func(string, ...any) {}})
	began, told, leave := make(chan struct{}), make(chan error, 1), make(chan struct{})
	must(t, jobs.Add("x", rowlock.JobOptions{Every: "1h"},
		func(ctx context.Context, run *rowlock.Run) error {
			run.Note("began")
			close(began)
			<-ctx.Done()
			told <- context.Cause(ctx)
			<-leave
			return nil
		}), nil)
	ended := make(chan error)
	go func() { ended <- jobs.Run(ctx) }()
	<-began
	end()
	must(t, soon(t, ended), nil)
	must(t, <-told, rowlock.ErrLost)
	fake.Due("x")
	if count, err := jobs.RunDue(background); count != 0 || err != nil {
		t.Error(count, err)
	}
	close(leave)
	if got := fake.Runs(); !slices.Equal(got, []Run{{"x", "lost", "began\nthe program ends"}}) {
		t.Errorf("%+v", got)
	}
}

// A run does not hear of the end of Run's context, and may end by itself.
func TestARunMayEndInTheGrace(t *testing.T) {
	fake := New()
	ctx, end := context.WithCancel(background)
	jobs := rowlock.NewJobs(fake.DB(), rowlock.JobsOptions{})
	must(t, jobs.Add("x", rowlock.JobOptions{Every: "1h"},
		func(ctx context.Context, run *rowlock.Run) error {
			end()
			return errors.Join(ctx.Err(), run.Check())
		}), nil)
	must(t, jobs.Run(ctx), nil)
	if got := fake.Runs(); !slices.Equal(got, []Run{{"x", "done", ""}}) {
		t.Errorf("%+v", got)
	}
}

// The end of the only run wakes Run, which would sleep for a minute.
func TestAJobIsAskedForWhenItsRunHasEnded(t *testing.T) {
	fake := New()
	ctx, end := context.WithCancel(background)
	jobs := rowlock.NewJobs(fake.DB(), rowlock.JobsOptions{})
	began, ended := make(chan error, 99), make(chan error)
	must(t, jobs.Add("x", rowlock.JobOptions{Every: "1h"},
		func(_ context.Context, run *rowlock.Run) error {
			time.Sleep(10 * time.Millisecond) // until Run sleeps
			fake.Due("x")
			began <- nil
			return nil
		}), nil)
	go func() { ended <- jobs.Run(ctx) }()
	for range [3]int{} {
		must(t, soon(t, began), nil)
	}
	end()
	must(t, soon(t, ended), nil)
}

// soon is what is sent within half the time that Run may sleep.
func soon(t *testing.T, sent chan error) error {
	t.Helper()
	select {
	case err := <-sent:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("nothing happens")
		return nil
	}
}

func until(is func() bool) {
	for !is() {
		time.Sleep(time.Millisecond)
	}
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

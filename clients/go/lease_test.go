// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var asleep atomic.Int64 // for how long the machine was suspended

func init() {
	awake := now
	now = func() time.Duration { return awake() + time.Duration(asleep.Load()) }
}

func suspend(length time.Duration) { asleep.Add(int64(length)) }

// errQueued of a stub's function: the request has a place in the queue.
var errQueued = errors.New("queued")

// stub is a driver and its connections. It grants each lease, and calls the function of the test at
// each statement.
type stub func(ctx context.Context, statement string) error

func (s stub) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s stub) Driver() driver.Driver                        { return nil }
func (s stub) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("unused") }
func (s stub) Begin() (driver.Tx, error)                    { return nil, errors.New("unused") }
func (s stub) Close() error                                 { return nil }

func (s stub) ExecContext(ctx context.Context, statement string,
	_ []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, s(ctx, statement)
}

func (s stub) QueryContext(ctx context.Context, statement string,
	values []driver.NamedValue) (driver.Rows, error) {
	switch {
	case strings.Contains(statement, "claim"):
		return &row{int64(7), int64(0), int64(0), "claimed", int64(0), nil, nil}, s(ctx, statement)
	case strings.Contains(statement, "finish"):
		return &row{int64(1)}, s(ctx, fmt.Sprint("finish: ", values[1].Value))
	case strings.Contains(statement, "version"):
		return &row{"PostgreSQL 16"}, nil
	case strings.Contains(statement, "request"):
		err := s(ctx, statement)
		if errors.Is(err, errQueued) {
			return &row{nil, int64(1), int64(1), "another", int64(0)}, nil
		}
		return &row{int64(7), nil, nil, nil, nil}, err
	}
	return &row{int64(1)}, s(ctx, statement)
}

// row is the only row of a result; without values it has been read.
type row []driver.Value

func (r *row) Columns() []string { return make([]string, len(*r)) }
func (r *row) Close() error      { return nil }
func (r *row) Next(values []driver.Value) error {
	if len(*r) == 0 {
		return io.EOF
	}
	copy(values, *r)
	*r = nil
	return nil
}

func TestTheContextEndsBeforeTheRelease(t *testing.T) {
	var held context.Context
	var during, after error
	db := sql.OpenDB(stub(func(_ context.Context, statement string) error {
		if strings.Contains(statement, "release") {
			after = held.Err()
		}
		return nil
	}))
	err := Do(context.Background(), db, "x", Options{}, func(ctx context.Context, _ *Lease) error {
		held, during = ctx, ctx.Err()
		return nil
	})
	if err != nil || during != nil || after == nil {
		t.Errorf("%v; the context in the body: %v, at the release: %v", err, during, after)
	}
}

// A suspend is followed by a loss within 2 s (its timers are of 1 s), without a renewal.
func TestALossIsAnnouncedAfterASuspend(t *testing.T) {
	var renewals atomic.Int64
	db := sql.OpenDB(stub(func(_ context.Context, statement string) error {
		if strings.Contains(statement, "renew") {
			renewals.Add(1)
		}
		return nil
	}))
	err := Do(context.Background(), db, "x", Options{}, func(ctx context.Context, _ *Lease) error {
		time.Sleep(100 * time.Millisecond) // until the timer of the renewal runs
		suspend(time.Minute)
		return endsSoon(ctx)
	})
	if !errors.Is(err, ErrLost) || !errors.Is(err, context.Canceled) || renewals.Load() != 0 {
		t.Errorf("%v; %d renewals", err, renewals.Load())
	}
}

func TestALossIsAnnouncedAfterASuspendDuringARenewal(t *testing.T) {
	hangs := make(chan struct{})
	db := sql.OpenDB(stub(func(ctx context.Context, statement string) error {
		if strings.Contains(statement, "renew") {
			close(hangs)
			<-ctx.Done()
		}
		return ctx.Err()
	}))
	opts := Options{TTL: time.Minute}
	err := Do(context.Background(), db, "x", opts, func(ctx context.Context, _ *Lease) error {
		suspend(20 * time.Second) // a renewal is due
		<-hangs
		suspend(time.Minute)
		return endsSoon(ctx)
	})
	if !errors.Is(err, ErrLost) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A renewal may hang for a third of the TTL, but the end of the block does not wait for it.
func TestTheEndOfTheBlockCutsARenewalThatHangs(t *testing.T) {
	hangs, ended := make(chan struct{}), make(chan error, 1)
	var released atomic.Int64
	db := sql.OpenDB(stub(func(ctx context.Context, statement string) error {
		switch {
		case strings.Contains(statement, "renew"):
			close(hangs)
			<-ctx.Done()
		case strings.Contains(statement, "release"):
			released.Add(1)
		}
		return ctx.Err()
	}))
	opts := Options{TTL: time.Hour, Warn: func(message string, values ...any) {
		t.Error(message, values)
	}}
	go func() {
		ended <- Do(context.Background(), db, "x", opts, func(context.Context, *Lease) error {
			suspend(21 * time.Minute) // a renewal is due
			<-hangs
			return nil
		})
	}()
	select {
	case err := <-ended:
		if err != nil || released.Load() != 1 {
			t.Errorf("%v; %d releases", err, released.Load())
		}
	case <-time.After(time.Minute):
		t.Error("the block has not ended")
	}
}

// The server refuses a release after waiting a second for a fence: the call lasts longer.
func TestAReleaseHearsOfAnOpenFenceWithAShortTTL(t *testing.T) {
	db := sql.OpenDB(stub(func(ctx context.Context, statement string) error {
		if !strings.Contains(statement, "release") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(1100 * time.Millisecond):
			return coded("55P03")
		}
	}))
	err := Do(context.Background(), db, "x", Options{TTL: 3 * time.Second},
		func(context.Context, *Lease) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "a transaction that called Fence is open") {
		t.Error(err)
	}
}

// A hook may use the lease, and a panic of it leaves none behind.
func TestAHookMayCheckAndPanic(t *testing.T) {
	var held *Lease
	var heard, warned []string
	released := false
	db := sql.OpenDB(stub(func(_ context.Context, statement string) error {
		released = released || strings.Contains(statement, "release")
		return nil
	}))
	opts := Options{
		OnEvent: func(e Event) {
			heard = append(heard, e.Kind)
			if held != nil && held.Check() == nil {
				t.Error("held")
			}
			panic(e.Kind)
		},
		Warn: func(_ string, values ...any) { warned = append(warned, values[3].(string)) },
	}
	err := Do(context.Background(), db, "x", opts, func(_ context.Context, l *Lease) error {
		held = l
		return nil
	})
	if got := strings.Join(append(heard, warned...), " "); err != nil || !released ||
		got != "acquired released acquired released" {
		t.Errorf("%v; released: %v; heard and warned: %s", err, released, got)
	}
}

func TestARequestThatHangsEndsAfterASuspend(t *testing.T) {
	db := sql.OpenDB(stub(func(ctx context.Context, statement string) error {
		if strings.Contains(statement, "request") {
			suspend(time.Minute)
			<-ctx.Done()
		}
		return ctx.Err()
	}))
	began := time.Now()
	err := Do(context.Background(), db, "x", Options{Wait: NoWait}, nil)
	if taken := time.Since(began); !errors.Is(err, ErrUnavailable) || taken > 12*time.Second {
		t.Errorf("%v after %v", err, taken)
	}
}

// A waiter that has a place in the queue has reached the database: a restart, in which several
// requests in a row fail, does not end a wait without a limit.
func TestAWaitWithoutALimitOutlivesARestart(t *testing.T) {
	requests := 0
	db := sql.OpenDB(stub(func(_ context.Context, statement string) error {
		if !strings.Contains(statement, "request") {
			return nil
		}
		switch requests++; requests {
		case 1:
			return errQueued
		case 2, 3, 4:
			return coded("57P03")
		}
		return nil
	}))
	ran := false
	err := Do(context.Background(), db, "x", Options{Warn: func(string, ...any) {}},
		func(context.Context, *Lease) error {
			ran = true
			return nil
		})
	if err != nil || !ran {
		t.Errorf("%v after %d requests", err, requests)
	}
}

// endsSoon is the error of the context if it ends within 8 s: the machine may be busy.
func endsSoon(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(8 * time.Second):
		return errors.New("the context has not ended")
	}
}

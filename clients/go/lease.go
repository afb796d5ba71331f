// SPDX-License-Identifier: Apache-2.0

// Package rowlock gives programs on many machines locks and leases on the database that they
// already use: PostgreSQL, MariaDB or MySQL, through database/sql.
//
// Do runs a function under a lease, which it renews in the background. Lock locks a name in the
// caller's transaction. Next draws from a counter without a gap. Refresh loads stale data once. Jobs
// performs what is due, on one node of many. The database needs rowlock's schema: Install creates
// it. Package rowlocktest is a stand-in for tests.
package rowlock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// NoWait, as Options.Wait, does not wait.
const NoWait time.Duration = -1

// Options of Do. The zero value waits without a limit for an exclusive lease of 30 s.
type Options struct {
	TTL     time.Duration // a holder that died has the lease for that long; 1 s or more, 0: 30 s
	Wait    time.Duration // the longest wait in the queue; 0: until ctx ends; NoWait
	Shared  bool          // with other shared leases of the name
	Permits int           // how many holders the name may have; 0: it is not a permit
	Note    string        // for those that look for the holder

	// OnEvent, for metrics and traces, hears of each Event. It must return soon. A panic of it is a
	// warning.
	OnEvent func(Event)
	// Warn hears of failed calls that are repeated, and of a loss; nil: slog.Warn.
	Warn func(message string, values ...any)
	// Debug, such as slog.Debug, hears what else happens in the background; nil: nothing does.
	Debug func(message string, values ...any)
}

// An Event of a lease. Duration is how long it took to acquire, or how long it was held.
type Event struct {
	Kind     string // one of these constants
	Name     string
	Token    int64 // 0 if the lease was not acquired
	Duration time.Duration
	Err      error // why a wait failed, or the lease was lost; nil: it was not
}

// The kinds of events. Each call of Do that sent a request tells one of Acquired and Waited.
const (
	Waited   = "waited" // without success: busy, unavailable, interrupted, or refused
	Acquired = "acquired"
	Lost     = "lost"
	Released = "released"
)

// A Lease is held while the function that Do called runs. Its methods may be called by several
// goroutines.
//
// It is certain until the time before its last successful call was sent, and its TTL. It counts
// as lost a little before that, whether or not the database answers.
type Lease struct {
	requester
	token    int64
	acquired time.Duration
	ending   ending
	cancel   context.CancelCauseFunc // ends the context of the holder
	leaving  context.Context         // of the renewals; ends when the holder has ended
	leave    context.CancelFunc      // ends it
	left     chan struct{}           // closed when nothing renews the lease any more

	mutex   sync.Mutex
	sent    time.Duration // when the last successful call was sent
	failure error         // of the last renewal
	gone    *LostError    // nil: it is held
}

// An ending is the call that ends a lease, and its values. It answers 0 if the lease was lost.
type ending struct {
	call   call
	values []any
	again  func(answer, error, time.Duration) (answer, error) // of a run: after the first call
}

// Do acquires a lease of a name, calls body, and releases the lease. Others wait in a queue. It
// returns a *BusyError, and does not call body, if it had to wait longer than opts.Wait.
//
// The context of body ends before another holder can have the lease; its cause is then a *LostError.
// If the lease was lost, Do returns an error that is ErrLost, and also that of body, if there was
// one. When ctx ends, a wait ends within 5 s, and with the error of ctx.
//
// Do borrows a connection of db for each call, and keeps none. If the database cannot be reached
// first, it is ErrUnavailable: after opts.Wait, or at once if there is no limit.
func Do(ctx context.Context, db *sql.DB, name string, opts Options,
	body func(ctx context.Context, lease *Lease) error) (err error) {
	r, token, sent, err := acquire(ctx, db, name, opts)
	if err != nil {
		return err
	}
	lease, held := r.hold(ctx, token, sent)
	finished := false
	defer func() {
		lease.cancel(nil)
		if failed := lease.release(); failed != nil && finished {
			err = joined(failed, err)
		}
	}()
	err = body(held, lease)
	finished = true
	return err
}

// hold renews the lease of a request from now on; the context is that of its holder.
func (r requester) hold(ctx context.Context, token int64, sent time.Duration) (*Lease,
	context.Context) {
	held, cancel := context.WithCancelCause(ctx)
	lease := &Lease{requester: r, token: token, acquired: now(), cancel: cancel, sent: sent,
		ending: ending{release, []any{token}, nil}, left: make(chan struct{})}
	lease.leaving, lease.leave = context.WithCancel(context.Background())
	go lease.keep()
	return lease, held
}

// joined is the error of the end of a lease with that of the body.
func joined(end, body error) error {
	var gone *LostError
	switch {
	case errors.As(end, &gone) && !errors.Is(body, ErrLost):
		return &LostError{gone.Name, gone.Reason, gone.cause, body}
	case body != nil:
		return body
	}
	return end
}

// Name is the name of the lease.
func (l *Lease) Name() string { return l.name }

// Token is the number of the lease, greater than that of every earlier lease that it excludes.
func (l *Lease) Token() int64 { return l.token }

// String shows name, token and remaining time.
func (l *Lease) String() string {
	return fmt.Sprintf("lease of %q, token %d, %v", l.name, l.token,
		l.Remaining().Round(time.Millisecond))
}

// Remaining is the time for which the lease is still certain; 0: it is lost or released.
func (l *Lease) Remaining() time.Duration {
	l.mutex.Lock()
	left, gone := certain(l.sent, l.opts.TTL)-now(), l.gone != nil
	l.mutex.Unlock()
	if left > 0 && !gone {
		return left
	}
	l.lose(nil)
	return 0
}

// Check returns a *LostError if the lease is not certain any more. It asks only the clock.
func (l *Lease) Check() error {
	if l.Remaining() > 0 {
		return nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.gone
}

// Fence keeps the lease valid until tx ends. It is ErrLost if the lease is lost: roll back. End tx
// before the body of Do ends.
func (l *Lease) Fence(ctx context.Context, tx *sql.Tx) error {
	if err := l.Check(); err != nil {
		return err
	}
	return Fence(ctx, tx, l.name, l.token)
}

// lose announces a loss, once. why is a *LostError, or the lease was not renewed in time because of
// this error; nil: that of the last renewal.
func (l *Lease) lose(why error) {
	l.mutex.Lock()
	if l.gone != nil {
		l.mutex.Unlock()
		return
	}
	if why == nil {
		why = l.failure
	}
	if !errors.As(why, &l.gone) {
		l.gone = &LostError{Name: l.name, Reason: withCause(
			fmt.Sprintf("not renewed for %.0f s", (now()-l.sent).Seconds()), why), cause: why}
	}
	gone := l.gone
	l.mutex.Unlock()
	l.cancel(gone)
	l.opts.Warn("rowlock: the lease is lost", "name", l.name, "reason", gone.Reason)
	l.tell(Event{Kind: Lost, Token: l.token, Duration: now() - l.acquired, Err: gone})
}

// release ends the lease. It returns a *LostError if it was lost before: nobody waits for that
// release, so it is given up after 0.5 s.
func (l *Lease) release() error {
	done, held := make(chan error, 1), l.Remaining() > 0 // before it is released
	go func() { done <- l.sendRelease() }()
	if held {
		return <-done
	}
	select {
	case <-done:
	case <-time.After(lostMost):
	}
	return l.Check()
}

// sendRelease lets a renewal on its way end for interruptMost; what remains of its limit is for the
// call, and for a second one on another connection.
func (l *Lease) sendRelease() error {
	l.leave()
	end := now() + max(releaseLeast, min(l.opts.TTL/3, replyMost))
	<-l.left
	l.Remaining()
	end = max(end, now()+2*releaseLeast)
	// on MariaDB the server has it after three round trips of five, which may take 2 s
	first := now() + (end-now())*3/4
	a, _, err := borrowed(context.Background(), l.pool, first, l.name, l.releaseBy)
	if l.ending.again != nil {
		a, err = l.ending.again(a, err, end)
	} else if errors.Is(err, ErrUnavailable) {
		_, _, err = borrowed(context.Background(), l.pool, end, l.name, l.releaseBy)
		a.number.Int64 = 1 // it finds nothing if the first has released it
	}
	if err == nil && a.number.Int64 == 0 {
		l.lose(&LostError{Name: l.name, Reason: "it has expired, or was broken"})
	}
	if errors.Is(err, ErrBusy) {
		return fmt.Errorf("the lease of %q was not released, and stays until it expires: a "+
			"transaction that called Fence is open; end it before the body ends", l.name)
	}
	l.opts.Debug("rowlock: release", "name", l.name, "error", err) // after an error it expires
	l.mutex.Lock()
	gone := l.gone
	if gone == nil {
		l.gone = &LostError{Name: l.name, Reason: released}
	}
	l.mutex.Unlock()
	if gone != nil {
		return gone
	}
	l.tell(Event{Kind: Released, Token: l.token, Duration: now() - l.acquired})
	return nil
}

// releaseBy waits for a transaction that has fenced, which may be the caller's own, for a second.
func (l *Lease) releaseBy(ctx context.Context, s session) (a answer, err error) {
	if s.engine == mariadb {
		_, err = s.on.ExecContext(ctx, "SET @rowlock_wait = @@innodb_lock_wait_timeout, "+
			"innodb_lock_wait_timeout = 1")
		defer func() {
			_, restored := s.on.ExecContext(ctx, "SET innodb_lock_wait_timeout = @rowlock_wait")
			if err == nil {
				err = restored
			}
		}()
	}
	if err == nil {
		a, err = s.execute(ctx, l.ending.call, l.ending.values...)
	}
	return a, err
}

// keep renews the lease until the holder has ended, or the lease is lost. It announces the loss in
// time, also while a renewal hangs.
func (l *Lease) keep() {
	defer close(l.left)
	ttl := l.opts.TTL
	failures, due := 0, l.sent+ttl/3
	for end := certain(l.sent, ttl); sleep(l.leaving.Done(), min(due, end)) && l.Remaining() > 0; {
		sent := now()
		limit := min(sent+max(ttl/3, time.Second), end)
		_, _, err := borrowed(l.leaving, l.pool, limit, l.name,
			func(ctx context.Context, s session) (answer, error) {
				return s.execute(ctx, renew, l.token, ttl.Milliseconds())
			})
		switch {
		case err == nil && l.extend(sent):
			failures, due, end = 0, sent+ttl/3, certain(sent, ttl)
		case errors.Is(err, ErrLost) || now() >= end:
			l.lose(err)
		case l.leaving.Err() != nil:
			return
		case err != nil:
			l.opts.Warn("rowlock: a renewal failed, and is repeated", "name", l.name, "error", err)
			l.mutex.Lock()
			l.failure = err
			l.mutex.Unlock()
			due, failures = now()+pauseAfter(failures), failures+1
		}
	}
}

// extend notes a renewal that was sent then; false: the lease is lost already.
func (l *Lease) extend(sent time.Duration) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.gone == nil {
		l.sent, l.failure = sent, nil
	}
	return l.gone == nil
}

// certain is the time until which a lease is certain: a margin before its end.
func certain(sent, ttl time.Duration) time.Duration { return sent + ttl - min(time.Second, ttl/10) }

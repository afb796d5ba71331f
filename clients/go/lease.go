// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// A Lease is held while the function that Do called runs. Its methods may be called by several
// goroutines.
//
// It is certain until the time before its last successful call was sent, and its TTL. It counts
// as lost a little before that, whether or not the database answers.
type Lease struct {
	name   string
	token  int64
	ttl    time.Duration
	line   *line
	debug  func(string, ...any)
	cancel context.CancelFunc // ends the context of the holder
	leave  chan struct{}      // closed when the holder has ended
	left   chan struct{}      // closed when nothing renews the lease any more

	mutex sync.Mutex
	sent  time.Duration // when the last successful call was sent
	gone  bool
}

// Do acquires a lease of a name, calls body, and releases the lease. Others wait in a queue. It
// returns a *BusyError, and does not call body, if it had to wait longer than opts.Wait.
//
// The context of body ends before another holder can have the lease. If the lease was lost, Do
// returns an error that is ErrLost, and also that of body, if there was one. When ctx ends, a wait
// ends within 5 s, and with the error of ctx.
//
// The lease occupies a connection of db, besides those of body.
func Do(ctx context.Context, db *sql.DB, name string, opts Options,
	body func(ctx context.Context, lease *Lease) error) (err error) {
	lease, err := acquire(ctx, db, name, opts)
	if err != nil {
		return err
	}
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	lease.cancel = cancel
	go lease.keep()
	defer func() {
		if lease.release() {
			err = lost(name, err)
		}
	}()
	return body(held, lease)
}

// Token is the number of the lease, greater than that of every earlier lease that it excludes.
func (l *Lease) Token() int64 { return l.token }

// Remaining is the time for which the lease is still certain; 0: it is lost.
func (l *Lease) Remaining() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if left := certain(l.sent, l.ttl) - now(); left > 0 && !l.gone {
		return left
	}
	l.lose("it was not renewed in time")
	return 0
}

// Check returns an ErrLost if the lease is not certain any more. It asks only the clock.
func (l *Lease) Check() error {
	if l.Remaining() > 0 {
		return nil
	}
	return lost(l.name, nil)
}

// Fence keeps the lease valid until tx ends. It is ErrLost if the lease is lost: roll back.
func (l *Lease) Fence(ctx context.Context, tx *sql.Tx) error {
	if err := l.Check(); err != nil {
		return err
	}
	return Fence(ctx, tx, l.name, l.token)
}

// lose needs the mutex.
func (l *Lease) lose(why any) {
	if !l.gone {
		l.gone = true
		l.debug("rowlock: the lease is lost", "name", l.name, "why", why)
		l.cancel()
	}
}

// release ends the lease, and tells whether it was lost before.
func (l *Lease) release() bool {
	close(l.leave)
	<-l.left
	gone := l.Remaining() == 0
	for try := 0; try < 2; try++ {
		ctx, cancel := context.WithTimeout(context.Background(), waitMost)
		a, err := l.line.call(ctx, release, l.token)
		cancel()
		if err == nil {
			// a second call does not find the lease that the first has released
			gone = gone || try == 0 && a.number == 0
			break
		}
		l.debug("rowlock: release", "name", l.name, "error", err) // it expires
		if gone || !errors.Is(err, ErrUnavailable) {
			break
		}
	}
	l.line.close()
	l.mutex.Lock()
	l.gone = true
	l.mutex.Unlock()
	return gone
}

// keep renews the lease until the holder has ended, or the lease is lost. It announces the loss in
// time, also while a renewal hangs.
func (l *Lease) keep() {
	defer close(l.left)
	pause, due := pauseLeast, l.sent+l.ttl/3
	for end := certain(l.sent, l.ttl); sleep(l.leave, least(due, end)-now()); {
		sent := now()
		err := l.renew(least(l.ttl/3, end-sent))
		l.mutex.Lock()
		switch {
		case err == nil && !l.gone:
			l.sent, end = sent, certain(sent, l.ttl)
			pause, due = pauseLeast, sent+l.ttl/3
		case l.gone || errors.Is(err, ErrLost) || now() >= end:
			l.lose(err)
			l.mutex.Unlock()
			return
		default:
			l.debug("rowlock: renewal", "name", l.name, "error", err)
			due = now() + jitter(pause)
			pause = least(2*pause, pauseMost)
		}
		l.mutex.Unlock()
	}
}

// renew waits no longer than this for a connection and the reply.
func (l *Lease) renew(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := l.line.call(ctx, renew, l.token, l.ttl.Milliseconds())
	return err
}

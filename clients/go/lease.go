// SPDX-License-Identifier: Apache-2.0

// Package rowlock gives programs on many machines locks and leases on the database that they
// already use: PostgreSQL, MariaDB or MySQL, through database/sql.
//
// Do runs a function under a lease, which it renews in the background. Lock locks a name in the
// caller's transaction. Next draws from a counter without a gap. Refresh loads stale data once. The
// database needs rowlock's schema: rowlock schema install.
package rowlock

import (
	"context"
	crypto "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// NoWait, as Options.Wait, does not wait.
const NoWait time.Duration = -1

const (
	waitMost      = 5 * time.Second // the longest wait of one request
	interruptMost = 4 * time.Second // for that long a request may end by itself
	replyMost     = 15 * time.Second
	pauseLeast    = 50 * time.Millisecond
	pauseMost     = time.Second
	forever       = 100 * 365 * 24 * time.Hour
)

// Options of Do. The zero value waits without a limit for an exclusive lease of 30 s.
type Options struct {
	TTL     time.Duration // a holder that died has the lease for that long; 1 s or more, 0: 30 s
	Wait    time.Duration // the longest wait in the queue; 0: until ctx ends; NoWait
	Shared  bool          // with other shared leases of the name
	Permits int           // how many holders the name may have; 0: it is not a permit
	Note    string        // for those that look for the holder

	// Debug, such as slog.Debug, hears what happens in the background; nil: nothing does.
	Debug func(message string, values ...any)
}

// A Lease is held while the function that Do called runs. Its methods may be called by several
// goroutines.
//
// It is certain until the time before its last successful call was sent, and its TTL. It counts
// as lost a little before that, whether or not the database answers.
type Lease struct {
	requester
	token  int64
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
	lease.cancel = cancel
	go lease.keep()
	defer func() {
		cancel()
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
	if left := certain(l.sent, l.opts.TTL) - now(); left > 0 && !l.gone {
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
	return lost(l.line.name, nil)
}

// Fence keeps the lease valid until tx ends. It is ErrLost if the lease is lost: roll back.
func (l *Lease) Fence(ctx context.Context, tx *sql.Tx) error {
	if err := l.Check(); err != nil {
		return err
	}
	return Fence(ctx, tx, l.line.name, l.token)
}

// lose needs the mutex.
func (l *Lease) lose(why any) {
	if !l.gone {
		l.gone = true
		l.opts.Debug("rowlock: the lease is lost", "name", l.line.name, "why", why)
		l.cancel()
	}
}

// release ends the lease, and tells whether it was lost before.
func (l *Lease) release() bool {
	close(l.leave)
	<-l.left
	gone := l.Remaining() == 0
	for try := 0; ; try++ {
		a, err := l.line.call(context.Background(), now()+waitMost, release, l.token)
		// a second call finds nothing if the first has released it
		gone = gone || err == nil && a.number.Int64 == 0 && try == 0
		if gone || try > 0 || !errors.Is(err, ErrUnavailable) {
			l.opts.Debug("rowlock: release", "name", l.line.name, "error", err) // after an error it expires
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
	pause, due := pauseLeast, l.sent+l.opts.TTL/3
	for end := certain(l.sent, l.opts.TTL); sleep(l.leave, least(due, end)) && l.Remaining() > 0; {
		sent := now()
		_, err := l.line.call(context.Background(), least(sent+l.opts.TTL/3, end), renew, l.token,
			l.opts.TTL.Milliseconds())
		l.mutex.Lock()
		switch {
		case err == nil && !l.gone:
			l.sent, end = sent, certain(sent, l.opts.TTL)
			pause, due = pauseLeast, sent+l.opts.TTL/3
		case l.gone || errors.Is(err, ErrLost) || now() >= end:
			l.lose(err)
		default:
			l.opts.Debug("rowlock: renewal", "name", l.line.name, "error", err)
			due = now() + jitter(pause)
			pause = least(2*pause, pauseMost)
		}
		l.mutex.Unlock()
	}
}

// A requester repeats one request, with the same owner.
type requester struct {
	line     *line
	opts     Options
	owner    string
	deadline time.Duration
	holder   string
}

func acquire(ctx context.Context, db *sql.DB, name string, opts Options) (*Lease, error) {
	if opts.TTL == 0 {
		opts.TTL = 30 * time.Second
	}
	if opts.Wait == 0 {
		opts.Wait = forever
	}
	if opts.Debug == nil {
		opts.Debug = func(string, ...any) {}
	}
	var owner [16]byte
	if _, err := crypto.Read(owner[:]); err != nil {
		return nil, err
	}
	r := requester{line: &line{db: db, name: name}, opts: opts, owner: fmt.Sprintf("%x", owner),
		deadline: now() + opts.Wait}
	token, sent, err := r.granted(ctx)
	if err != nil {
		r.giveUp()
		return nil, err
	}
	return &Lease{requester: r, token: token, leave: make(chan struct{}),
		left: make(chan struct{}), sent: sent}, nil
}

// granted repeats the request until it has a token that is still certain.
func (r *requester) granted(ctx context.Context) (token int64, sent time.Duration, err error) {
	name, pause := r.line.name, pauseLeast
	for ctx.Err() == nil {
		sent = now()
		a, err := r.send(ctx)
		if a.token.Valid && now() < certain(sent, r.opts.TTL) && ctx.Err() == nil {
			return a.token.Int64, sent, nil
		}
		late := now() >= r.deadline
		// a reply that was lost, on a session that had begun, is repeated at least once
		repeats := !late || r.line.engine != "" && pause == pauseLeast
		switch {
		case ctx.Err() != nil:
		case err != nil && !(repeats && errors.Is(err, ErrUnavailable)):
			return 0, 0, err
		case err != nil:
			r.opts.Debug("rowlock: request", "name", name, "error", err)
			sleep(ctx.Done(), now()+jitter(pause))
			pause = least(2*pause, pauseMost)
		default:
			pause = pauseLeast
			if a.holder.Valid {
				r.holder = a.holder.String
			}
			reserved := a.place.Valid && a.place.Int64 == 0 // the next call returns the token
			if late && !a.token.Valid && !reserved {
				return 0, 0, busyError(name, r.holder)
			}
		}
	}
	return 0, 0, fmt.Errorf("%v: %w", busyError(name, r.holder), ctx.Err())
}

// send sends the request once.
func (r *requester) send(ctx context.Context) (answer, error) {
	wait := least(waitMost, r.deadline-now())
	if at, limited := ctx.Deadline(); limited {
		wait = least(wait, time.Until(at))
	}
	mode, permits := "exclusive", sql.NullInt64{}
	if r.opts.Permits > 0 {
		mode, permits = "permit", sql.NullInt64{Int64: int64(r.opts.Permits), Valid: true}
	} else if r.opts.Shared {
		mode = "shared"
	}
	values := []any{r.line.name, r.opts.TTL.Milliseconds(), r.owner, wait.Milliseconds(), mode,
		permits}
	note := sql.NullString{String: r.opts.Note, Valid: r.opts.Note != ""}
	values = append(append(values, process()...), note)
	return r.line.call(ctx, now()+wait+replyMost, request, values...)
}

// process is the host, the pid and the program, for those that look.
func process() []any {
	host, err := os.Hostname()
	return []any{sql.NullString{String: host, Valid: err == nil}, os.Getpid(),
		filepath.Base(append(os.Args, "go")[0])}
}

// giveUp leaves the queue. If that fails, the ticket is removed after 7 s.
func (r *requester) giveUp() {
	_, err := r.line.call(context.Background(), now()+waitMost-interruptMost, cancelRequest,
		r.line.name, r.owner)
	r.opts.Debug("rowlock: leaving the queue", "name", r.line.name, "error", err)
	r.line.close()
}

// certain is the time until which a lease is certain: a margin before its end.
func certain(sent, ttl time.Duration) time.Duration {
	return sent + ttl - least(time.Second, ttl/10)
}

func least(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

// jitter is between a half of a pause and all of it.
func jitter(pause time.Duration) time.Duration {
	return pause/2 + time.Duration(rand.Int63n(int64(pause/2)))
}

// sleep returns at a time, or false if done ends before. A timer stops while the machine is
// suspended, so none is longer than 1 s.
func sleep(done <-chan struct{}, end time.Duration) bool {
	for now() < end {
		select {
		case <-done:
			return false
		case <-time.After(least(end-now(), time.Second)):
		}
	}
	return true
}

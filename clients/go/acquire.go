// SPDX-License-Identifier: Apache-2.0

// Package rowlock gives programs on many machines locks and leases on the database that they
// already use: PostgreSQL, MariaDB or MySQL, through database/sql.
//
// Do runs a function under a lease, which it renews in the background. Lock locks a name in the
// caller's transaction. Next draws from a counter without a gap. The database needs rowlock's
// schema: rowlock schema install.
package rowlock

import (
	"context"
	crypto "crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
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

// A requester repeats one request, with the same owner.
type requester struct {
	line     *line
	opts     Options
	owner    string
	deadline time.Duration // 0: none
	holder   string
}

func acquire(ctx context.Context, db *sql.DB, name string, opts Options) (*Lease, error) {
	if opts.TTL == 0 {
		opts.TTL = 30 * time.Second
	}
	if opts.Debug == nil {
		opts.Debug = func(string, ...any) {}
	}
	var owner [16]byte
	if _, err := crypto.Read(owner[:]); err != nil {
		return nil, err
	}
	r := requester{line: &line{db: db, name: name}, opts: opts, owner: hex.EncodeToString(owner[:])}
	if opts.Wait != 0 {
		r.deadline = now() + greatest(0, opts.Wait)
	}
	token, sent, err := r.granted(ctx)
	if err != nil {
		r.giveUp()
		return nil, err
	}
	return &Lease{name: name, token: token, ttl: opts.TTL, line: r.line, debug: opts.Debug,
		leave: make(chan struct{}), left: make(chan struct{}), sent: sent}, nil
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
		late := r.deadline != 0 && now() >= r.deadline
		switch {
		case ctx.Err() != nil:
		case err != nil && (late || !errors.Is(err, ErrUnavailable)):
			return 0, 0, err
		case err != nil:
			r.opts.Debug("rowlock: request", "name", name, "error", err)
			sleep(ctx.Done(), jitter(pause))
			pause = least(2*pause, pauseMost)
		default:
			pause = pauseLeast
			if a.holder.Valid {
				r.holder = a.holder.String
			}
			reserved := a.place.Valid && a.place.Int64 == 0 // the next call returns the token
			if late && !a.token.Valid && !reserved {
				return 0, 0, busy(name, r.holder)
			}
		}
	}
	return 0, 0, fmt.Errorf("%v: %w", busy(name, r.holder), ctx.Err())
}

// send sends the request once. When ctx ends, the statement may still end by itself: a connection
// that is closed during a statement may acquire the lease later.
func (r *requester) send(ctx context.Context) (answer, error) {
	wait := waitMost
	if r.deadline != 0 {
		wait = least(wait, r.deadline-now())
	}
	if at, limited := ctx.Deadline(); limited {
		wait = least(wait, time.Until(at))
	}
	wait = greatest(wait, 0)
	own, cancel := context.WithTimeout(context.Background(), wait+replyMost)
	defer cancel()
	go func() {
		select {
		case <-own.Done():
		case <-ctx.Done():
			sleep(own.Done(), interruptMost)
			cancel()
		}
	}()
	mode, permits := "exclusive", sql.NullInt64{Int64: int64(r.opts.Permits), Valid: true}
	switch {
	case r.opts.Permits > 0:
		mode = "permit"
	case r.opts.Shared:
		mode = "shared"
	}
	permits.Valid = mode == "permit"
	host, err := os.Hostname()
	return r.line.call(own, request, r.line.name, r.opts.TTL.Milliseconds(), r.owner,
		wait.Milliseconds(), mode, permits, sql.NullString{String: host, Valid: err == nil},
		os.Getpid(), filepath.Base(append(os.Args, "go")[0]),
		sql.NullString{String: r.opts.Note, Valid: r.opts.Note != ""})
}

// giveUp leaves the queue. If that fails, the ticket is removed after 7 s.
func (r *requester) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), waitMost-interruptMost)
	defer cancel()
	if _, err := r.line.call(ctx, cancelRequest, r.line.name, r.owner); err != nil {
		r.opts.Debug("rowlock: leaving the queue", "name", r.line.name, "error", err)
	}
	r.line.close()
}

// certain is the time until which a lease is certain: a margin before its end.
func certain(sent, ttl time.Duration) time.Duration {
	return sent + ttl - least(time.Second, greatest(100*time.Millisecond, ttl/10))
}

func least(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func greatest(a, b time.Duration) time.Duration { return a + b - least(a, b) }

// jitter is between a half of a pause and all of it.
func jitter(pause time.Duration) time.Duration {
	return pause/2 + time.Duration(rand.Int63n(int64(pause/2)))
}

// sleep returns false if done ends before.
func sleep(done <-chan struct{}, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-done:
		return false
	case <-timer.C:
		return true
	}
}

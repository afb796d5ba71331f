// SPDX-License-Identifier: Apache-2.0

// Package gocronlock is a Locker for gocron v2 on leases of rowlock: of all schedulers with the same
// job, one performs each tick.
package gocronlock

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"rowlock.example/rowlock"
	"rowlock.example/rowlock/schedulers/internal/tick"
)

// A Locker is for gocron.WithDistributedLocker and gocron.WithDistributedJobLocker. Its methods may
// be called by several goroutines.
type Locker struct {
	db      *sql.DB
	atLeast time.Duration
	opts    rowlock.Options

	mutex sync.Mutex
	held  map[string]*tick.Held
}

// New is a Locker whose leases have the names of the jobs: set them by gocron.WithName. A name stays
// taken for atLeast after the start of a tick, even if the job ends sooner, or its program. Choose it
// longer than the clocks of the schedulers differ, and shorter than the period of the job. Of opts,
// Wait is not used; TTL is at least atLeast.
func New(db *sql.DB, atLeast time.Duration, opts rowlock.Options) *Locker {
	return &Locker{db: db, atLeast: atLeast, opts: opts, held: map[string]*tick.Held{}}
}

// Lock acquires the lease of a job, for gocron, which does not perform the tick after an error:
// rowlock.ErrBusy, if another scheduler does. It blocks for the reply of the database, 5 s at most.
func (l *Locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	held, err := tick.Acquire(ctx, l.db, key, l.atLeast, l.opts)
	if err != nil {
		return nil, err
	}
	l.mutex.Lock()
	l.held[key] = held
	l.mutex.Unlock()
	return lock{l, key, held}, nil
}

// Lease is the lease of the job that is performed here, for its Check and Fence; nil: it is not
// performed here.
func (l *Locker) Lease(name string) *rowlock.Lease {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if held := l.held[name]; held != nil {
		return held.Lease
	}
	return nil
}

type lock struct {
	locker *Locker
	key    string
	held   *tick.Held
}

// Unlock releases the lease, also after the end of ctx: gocron ends it before the jobs end.
func (l lock) Unlock(context.Context) error {
	l.locker.mutex.Lock()
	if l.locker.held[l.key] == l.held { // not one that was acquired after a loss
		delete(l.locker.held, l.key)
	}
	l.locker.mutex.Unlock()
	return l.held.Release()
}

// SPDX-License-Identifier: Apache-2.0

// Package tick holds the lease of one tick of a scheduler.
package tick

import (
	"context"
	"database/sql"
	"time"

	"rowlock.example/rowlock"
)

const defaultTTL = 30 * time.Second // that of rowlock.Options

// Held is the lease of a tick. Its context ends with the lease.
type Held struct {
	Context context.Context
	Lease   *rowlock.Lease

	until time.Time     // the name stays taken until then
	done  chan struct{} // closed by Release
	ended chan error    // of rowlock.Do
}

// Acquire acquires the lease of a name, and does not wait for it: *rowlock.BusyError.
func Acquire(ctx context.Context, db *sql.DB, name string, atLeast time.Duration,
	opts rowlock.Options) (*Held, error) {
	if opts.TTL == 0 {
		opts.TTL = defaultTTL
	}
	// a program that ends sooner leaves the lease, which lasts for TTL
	opts.Wait, opts.TTL = rowlock.NoWait, max(opts.TTL, atLeast)
	held := &Held{done: make(chan struct{}), ended: make(chan error, 1)}
	acquired := make(chan struct{})
	go func() {
		held.ended <- rowlock.Do(ctx, db, name, opts,
			func(ctx context.Context, lease *rowlock.Lease) error {
				held.Context, held.Lease, held.until = ctx, lease, time.Now().Add(atLeast)
				close(acquired)
				<-held.done // not the end of ctx, which a job may ignore
				time.Sleep(time.Until(held.until))
				return nil
			})
	}()
	select {
	case <-acquired:
		return held, nil
	case err := <-held.ended:
		return nil, err
	}
}

// Release ends the lease, or lets it end when atLeast has passed; then it does not block. It may be
// called once.
func (h *Held) Release() error {
	close(h.done)
	if time.Now().Before(h.until) {
		return nil
	}
	return <-h.ended
}

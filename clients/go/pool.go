// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"
)

// A pool is the application's. Each call borrows a connection and gives it back as it was. Of all
// requests in this process, which may wait for a lease, one at a time has a connection: so renewals
// and releases never wait behind them.
type pool struct {
	db   *sql.DB
	turn chan struct{} // full during a request; those that wait are served in their order
	uses int
}

var pools = struct {
	sync.Mutex
	of map[*sql.DB]*pool
}{of: map[*sql.DB]*pool{}}

// poolOf is that of all requests to db; leave it at the end.
func poolOf(db *sql.DB) *pool {
	pools.Lock()
	defer pools.Unlock()
	p := pools.of[db]
	if p == nil {
		p = &pool{db: db, turn: make(chan struct{}, 1)}
		pools.of[db] = p
	}
	p.uses++
	return p
}

func (p *pool) leave() {
	pools.Lock()
	defer pools.Unlock()
	if p.uses--; p.uses == 0 {
		delete(pools.of, p.db)
	}
}

// inTurn is call for a request.
func inTurn[T any](ctx context.Context, p *pool, end time.Duration, name string,
	do func(context.Context, session) (T, error)) (result T, sent bool, err error) {
	timeout, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		sleep(timeout.Done(), end)
		cancel()
	}()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
		return borrowed(ctx, p, end, name, do)
	case <-timeout.Done():
		return result, false, translated(fmt.Errorf("other requests of this process wait for an "+
			"answer: %w", context.DeadlineExceeded), name)
	}
}

// borrowed calls do on a connection of the pool. It returns at its end, even if the driver does
// not, and also if the machine was suspended meanwhile. When ctx ends, the statement may end by
// itself for interruptMost: a connection that is closed during a statement may acquire the lease
// later. sent: there was a connection, so after an ErrUnavailable the statement may have been
// executed.
func borrowed[T any](ctx context.Context, p *pool, end time.Duration, name string,
	do func(context.Context, session) (T, error)) (result T, sent bool, err error) {
	own, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupt, stop := context.WithCancel(ctx)
	defer stop()
	began := now()
	go func() {
		if !sleep(interrupt.Done(), end) {
			sleep(own.Done(), min(end, now()+interruptMost))
		}
		cancel()
	}()
	connected, done := make(chan struct{}), make(chan error, 1)
	answered := make(chan T, 1)
	go func() {
		conn, err := p.db.Conn(own)
		if err == nil {
			close(connected)
			var value T
			value, err = execute(own, conn, do)
			if err != nil && (own.Err() != nil || kindOf(err) == ErrUnavailable) {
				discard(conn)
			} else {
				_ = conn.Close()
			}
			answered <- value
		}
		done <- err
	}()
	select {
	case err = <-done:
		if err == nil {
			result = <-answered
		}
	case <-own.Done():
		err = own.Err()
	}
	select {
	case <-connected:
		sent = true
	default:
	}
	if err != nil && own.Err() != nil {
		what := "no answer"
		if !sent {
			what = "no connection was free, or none could be opened,"
		}
		err = fmt.Errorf("%s within %.1f s: %w", what, (now() - began).Seconds(),
			context.DeadlineExceeded)
	}
	return result, sent, translated(err, name)
}

// execute calls do with the session of a connection. If the account's transactions are at another
// isolation level, or only read, it repeats that in one that is fit.
func execute[T any](ctx context.Context, conn *sql.Conn,
	do func(context.Context, session) (T, error)) (result T, err error) {
	s, err := sessionOf(ctx, conn)
	if err != nil {
		return result, err
	}
	result, err = do(ctx, s)
	if err == nil || s.engine != postgresql || !isUnfit(err) {
		return result, err
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return result, err
	}
	defer func() { _ = tx.Rollback() }()
	s.on = tx
	if _, err = tx.ExecContext(ctx, "SET TRANSACTION READ WRITE"); err == nil {
		result, err = do(ctx, s)
	}
	if err == nil {
		err = tx.Commit()
	}
	return result, err
}

// isUnfit: of the transaction.
func isUnfit(err error) bool {
	for _, code := range codesOf(err) {
		if code == "RL001" || code == "25006" {
			return true
		}
	}
	return false
}

// discard closes a connection, also for the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

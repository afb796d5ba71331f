// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// Lock locks a name until tx ends. It waits as long as the server's settings allow; then it is
// ErrBusy, and tx must be rolled back. MariaDB: the session must be at READ COMMITTED, and the name
// prepared, before tx begins: see Begin.
func Lock(ctx context.Context, tx *sql.Tx, name string) error {
	return lockIn(ctx, tx, name, lock)
}

// LockShared is Lock, together with other shared locks.
func LockShared(ctx context.Context, tx *sql.Tx, name string) error {
	return lockIn(ctx, tx, name, lockShared)
}

// TryLock is Lock, but waits for this time at most; 0: not at all. After an ErrBusy tx continues.
func TryLock(ctx context.Context, tx *sql.Tx, name string, wait time.Duration) error {
	return tryLock(ctx, tx, try, name, wait)
}

// TryLockShared is TryLock, together with other shared locks.
func TryLockShared(ctx context.Context, tx *sql.Tx, name string, wait time.Duration) error {
	return tryLock(ctx, tx, tryShared, name, wait)
}

// Fence keeps a lease valid until tx ends. It is ErrLost if the lease is lost: roll back.
func Fence(ctx context.Context, tx *sql.Tx, name string, token int64) error {
	err := checkName("name", name, 255)
	if err == nil {
		_, err = within(ctx, tx, name, fence, name, token)
	}
	return err
}

// Next returns the next number of a counter, without a gap: a rollback takes it back. Others wait
// for the next one until tx ends. MariaDB: prepare "counter:" + counter, as for Lock.
func Next(ctx context.Context, tx *sql.Tx, counter string) (int64, error) {
	if err := checkName("counter", counter, 247); err != nil {
		return 0, err
	}
	a, err := within(ctx, tx, "counter:"+counter, next, counter)
	return a.number.Int64, err
}

// AnyAge, as the greatest age of data, calls it fresh at any age.
const AnyAge time.Duration = -1

// Refresh calls load if the data of a name is older than maxAge. load writes the new data in tx: of
// all callers one does, and the others wait until tx ends. It returns whether load was called. After
// an error, which may be that of load, tx must be rolled back. ErrLost: load has ended tx and begun
// another one. MariaDB: prepare "subject:" + name, as for Lock.
func Refresh(ctx context.Context, tx *sql.Tx, name string, maxAge time.Duration,
	load func(context.Context) error) (bool, error) {
	return refreshWithin(ctx, tx, name, maxAge, nil, load)
}

// TryRefresh is Refresh, but waits for this time at most. After an ErrBusy tx continues.
func TryRefresh(ctx context.Context, tx *sql.Tx, name string, maxAge, wait time.Duration,
	load func(context.Context) error) (bool, error) {
	limit, err := milliseconds("wait", wait, int64(0))
	if err != nil {
		return false, err
	}
	return refreshWithin(ctx, tx, name, maxAge, limit, load)
}

// Begin prepares a name, and begins a transaction at READ COMMITTED, which any engine's Lock,
// Next and Refresh of that name can use. The connection of MariaDB is closed after it, and not pooled.
func Begin(ctx context.Context, db *sql.DB, name string) (tx *sql.Tx, err error) {
	if err = checkName("name", name, 255); err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, translated(err, name)
	}
	s, err := begin(ctx, conn, name)
	if err == nil {
		tx = s.on.(*sql.Tx)
		begun.Store(tx, s)
	}
	fit := s.engine == postgresql && (err == nil || kindOf(err) != ErrUnavailable)
	go func(tx *sql.Tx) { // waits for the end of tx
		if fit {
			_ = conn.Close()
		} else {
			discard(conn)
		}
		begun.Delete(tx)
	}(tx)
	return tx, translated(err, name)
}

// begun has the sessions of the transactions of Begin.
var begun sync.Map

func begin(ctx context.Context, conn *sql.Conn, name string) (s session, err error) {
	s, err = execute(ctx, conn, func(ctx context.Context, s session) (session, error) {
		_, err := s.execute(ctx, prepare, name)
		return s, err
	})
	if err == nil && s.engine == mariadb {
		_, err = conn.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
	}
	if err == nil {
		s.on, err = conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	}
	return s, err
}

// within executes a statement in the caller's transaction.
func within(ctx context.Context, tx *sql.Tx, name string, c call, v ...any) (a answer, err error) {
	s, err := sessionIn(ctx, tx)
	if err == nil {
		a, err = s.execute(ctx, c, v...)
	}
	return a, ofCaller(ctx, err, name)
}

// sessionIn finds how statements are sent: in a transaction that Begin did not begin, as the
// driver's settings say.
func sessionIn(ctx context.Context, tx *sql.Tx) (session, error) {
	if known, found := begun.Load(tx); found {
		return known.(session), nil
	}
	of, err := engineOf(ctx, tx)
	return session{on: tx, engine: of}, err
}

// ofCaller is the error of ctx, if that has ended.
func ofCaller(ctx context.Context, err error, name string) error {
	if ctx.Err() != nil {
		return err
	}
	return translated(err, name)
}

func lockIn(ctx context.Context, tx *sql.Tx, name string, which call) error {
	err := checkName("name", name, 255)
	if err == nil {
		_, err = within(ctx, tx, name, which, name)
	}
	return err
}

func tryLock(ctx context.Context, tx *sql.Tx, which call, name string, wait time.Duration) error {
	limit, err := milliseconds("wait", wait, int64(0))
	if err == nil {
		err = checkName("name", name, 255)
	}
	if err != nil {
		return err
	}
	a, err := within(ctx, tx, name, which, name, limit)
	if err == nil && a.number.Int64 != 1 {
		err = busy(ctx, tx, name)
	}
	return err
}

// milliseconds is a value for the server; -1 (NoWait, AnyAge) is special.
func milliseconds(what string, length time.Duration, special any) (any, error) {
	switch {
	case length == -1:
		return special, nil
	case length < 0:
		return nil, wrong("%s must not be negative, but is %v", what, length)
	}
	return length.Milliseconds(), nil
}

// busy is the error of a name that was not locked in time.
func busy(ctx context.Context, tx *sql.Tx, name string) error {
	s, err := sessionIn(ctx, tx)
	var by Holder
	if err == nil {
		by, err = s.holder(ctx, name)
	}
	if err != nil {
		return ofCaller(ctx, err, name)
	}
	return busyError(name, by)
}

// refreshWithin has no limit for a wait of nil.
func refreshWithin(ctx context.Context, tx *sql.Tx, name string, maxAge time.Duration, wait any,
	load func(context.Context) error) (bool, error) {
	locked := "subject:" + name
	age, err := milliseconds("maxAge", maxAge, nil)
	if err == nil {
		err = checkName("name", name, 247)
	}
	if err != nil {
		return false, err
	}
	v := append([]any{name, age, wait}, process("")[:3]...)
	a, err := within(ctx, tx, locked, refresh, v...)
	if err != nil || !a.number.Valid {
		return false, err
	}
	if a.number.Int64 == 0 {
		return false, busy(ctx, tx, locked)
	}
	if err = load(ctx); err == nil {
		_, err = within(ctx, tx, locked, refreshed, name, a.number.Int64)
		if gone := (*LostError)(nil); errors.As(err, &gone) {
			err = refreshLost(name, gone.cause)
		}
	}
	return true, err
}

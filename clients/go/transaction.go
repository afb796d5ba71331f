// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Lock locks a name until tx ends. It waits as long as the server's settings allow; then it is
// ErrBusy, and tx must be rolled back. MariaDB: the session must be at READ COMMITTED, and the name
// prepared, before tx begins: see Begin.
func Lock(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := within(ctx, tx, name, lock, name)
	return err
}

// LockShared is Lock, together with other shared locks.
func LockShared(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := within(ctx, tx, name, lockShared, name)
	return err
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
	_, err := within(ctx, tx, name, fence, name, token)
	return err
}

// Next returns the next number of a counter, without a gap: a rollback takes it back. Others wait
// for the next one until tx ends. MariaDB: prepare "counter:" + counter, as for Lock.
func Next(ctx context.Context, tx *sql.Tx, counter string) (int64, error) {
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
	return refreshWithin(ctx, tx, name, maxAge, -1, load)
}

// TryRefresh is Refresh, but waits for this time at most. After an ErrBusy tx continues.
func TryRefresh(ctx context.Context, tx *sql.Tx, name string, maxAge, wait time.Duration,
	load func(context.Context) error) (bool, error) {
	if wait < 0 {
		wait = 0
	}
	return refreshWithin(ctx, tx, name, maxAge, wait, load)
}

// Begin prepares a name, and begins a transaction at READ COMMITTED, which any engine's Lock,
// Next and Refresh of that name can use. The connection of MariaDB is closed after it, and not pooled.
func Begin(ctx context.Context, db *sql.DB, name string) (tx *sql.Tx, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, translated(err, name)
	}
	of, err := engineOf(ctx, conn)
	if err == nil {
		_, err = of.execute(ctx, conn, prepare, name)
	}
	if err == nil && of == mariadb {
		_, err = conn.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
	}
	if err == nil {
		tx, err = conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	}
	go (&line{conn: conn, engine: of}).close() // waits for the end of tx
	return tx, translated(err, name)
}

func within(ctx context.Context, tx *sql.Tx, name string, c call, v ...any) (a answer, err error) {
	of, err := engineOf(ctx, tx)
	if err == nil {
		a, err = of.execute(ctx, tx, c, v...)
	}
	if ctx.Err() != nil {
		return a, err
	}
	return a, translated(err, name)
}

func tryLock(ctx context.Context, tx *sql.Tx, which call, name string, wait time.Duration) error {
	a, err := within(ctx, tx, name, which, name, wait.Milliseconds())
	if err == nil && a.number.Int64 != 1 {
		err = busy(ctx, tx, name)
	}
	return err
}

// busy is the error of a name that was not locked in time.
func busy(ctx context.Context, tx *sql.Tx, name string) error {
	a, err := within(ctx, tx, name, holder, name)
	if err == nil {
		err = busyError(name, a.holder.String)
	}
	return err
}

// refreshWithin has no limit for a negative time.
func refreshWithin(ctx context.Context, tx *sql.Tx, name string, maxAge, wait time.Duration,
	load func(context.Context) error) (bool, error) {
	values, locked := []any{name}, "subject:"+name
	for _, limit := range []time.Duration{maxAge, wait} {
		values = append(values, sql.NullInt64{Int64: limit.Milliseconds(), Valid: limit >= 0})
	}
	a, err := within(ctx, tx, locked, refresh, append(values, process()...)...)
	if err != nil || !a.number.Valid {
		return false, err
	}
	if a.number.Int64 == 0 {
		return false, busy(ctx, tx, locked)
	}
	if err = load(ctx); err == nil {
		_, err = within(ctx, tx, locked, refreshed, name, a.number.Int64)
		if errors.Is(err, ErrLost) {
			err = refreshLost(name, errors.Unwrap(err))
		}
	}
	return true, err
}

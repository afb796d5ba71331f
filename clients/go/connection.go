// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// A line is the connection of the pool that a lease has for itself. It is opened when it is needed,
// and again after it was lost.
type line struct {
	db     *sql.DB
	name   string
	conn   *sql.Conn
	engine engine
}

// call executes a statement, and returns when ctx ends, even if the driver does not. After an
// ErrUnavailable the statement may have been executed.
func (l *line) call(ctx context.Context, which call, values ...any) (answer, error) {
	type result struct {
		line
		answer
		err error
	}
	done := make(chan result, 1)
	r := result{line: *l}
	l.conn = nil
	go func() {
		r.answer, r.err = r.execute(ctx, which, values)
		done <- r
	}()
	select {
	case r := <-done:
		*l = r.line
		return r.answer, translated(r.err, l.name)
	case <-ctx.Done():
		go func() { discard((<-done).conn) }()
		return answer{}, unavailable(ctx.Err())
	}
}

func (l *line) execute(ctx context.Context, which call, values []any) (a answer, err error) {
	if l.conn == nil {
		l.conn, err = l.db.Conn(ctx)
	}
	if err == nil && l.engine == nil {
		l.engine, err = engineOf(ctx, l.conn)
	}
	if err == nil {
		a, err = l.engine.execute(ctx, l.conn, which, values...)
	}
	if err != nil && kindOf(err) == ErrUnavailable {
		discard(l.conn)
		l.conn = nil
	}
	return a, err
}

// close returns the connection to the pool. MariaDB's procedures have set its session to READ
// COMMITTED, which its next user would inherit.
func (l *line) close() {
	if l.conn != nil && !l.engine.isMariadb() {
		_ = l.conn.Close()
	} else {
		discard(l.conn)
	}
	l.conn = nil
}

// discard closes a connection, also for the pool, when the transaction on it has ended.
func discard(conn *sql.Conn) {
	if conn != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}
}

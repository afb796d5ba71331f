// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

// A call is a statement of each engine. On MariaDB a procedure returns its number in a session
// variable.
type call struct{ postgresql, mariadb string }

const ms = `::bigint::double precision * interval '1 ms'`

var (
	// name, ttl_ms, owner, wait_ms, mode, limit, host, pid, program, note
	request = call{`SELECT token, ticket, place, holder, NULL FROM rowlock.request($1::text,
		$2` + ms + `, $3::text, $4` + ms + `, $5::text, $6::integer, $7::text, $8::bigint, $9::text,
		$10::text)`, `CALL rowlock_request_row(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`}
	// token, ttl_ms
	renew = call{`SELECT rowlock.renew($1::bigint, $2` + ms + `)`, `CALL rowlock_renew(?, ?)`}
	// name, owner
	cancelRequest = call{`SELECT rowlock.cancel($1::text, $2::text)`,
		`CALL rowlock_cancel(?, ?, @rowlock_canceled)`}
	// token
	release = call{`SELECT rowlock.release($1::bigint)::integer`,
		`CALL rowlock_release(?, @rowlock_answer)`}
	// name
	prepare    = call{`SELECT rowlock.prepare($1::text)`, `CALL rowlock_prepare(?)`}
	lock       = call{`SELECT rowlock.exclusive($1::text)`, `CALL rowlock_exclusive(?)`}
	lockShared = call{`SELECT rowlock.shared($1::text)`, `CALL rowlock_shared(?)`}
	// name, wait_ms
	try = call{`SELECT rowlock.try_exclusive($1::text, $2` + ms + `)::integer`,
		`CALL rowlock_try_exclusive(?, ?, @rowlock_answer)`}
	tryShared = call{`SELECT rowlock.try_shared($1::text, $2` + ms + `)::integer`,
		`CALL rowlock_try_shared(?, ?, @rowlock_answer)`}
	// name, token
	fence = call{`SELECT rowlock.fence($1::text, $2::bigint)`, `CALL rowlock_fence(?, ?)`}
	// counter
	next = call{`SELECT rowlock.next($1::text)`, `CALL rowlock_next(?, @rowlock_answer)`}
	// name, max_age_ms, wait_ms, host, pid, program
	refresh = call{`SELECT rowlock.refresh($1::text, $2` + ms + `, $3` + ms + `, $4::text,
		$5::bigint, $6::text)`, `CALL rowlock_refresh(?, ?, ?, ?, ?, ?, @rowlock_answer)`}
	// name, version
	refreshed = call{`SELECT rowlock.refreshed($1::text, $2::bigint)`,
		`CALL rowlock_refreshed(?, ?)`}
	// name
	holder = call{`SELECT rowlock.holder($1::text)`,
		`SELECT (SELECT CONCAT_WS(', ', CONCAT('a ', kind), CONCAT('pid ', pid, ' on ', host),
		CONCAT('since ', since), CONCAT('note: ', note)) FROM rowlock_holders WHERE name = ? LIMIT 1)`}
)

// An answer is the row of a request, the number of a function, or the text of holder.
type answer struct {
	token, ticket, place, number sql.NullInt64
	holder                       sql.NullString
}

// A session is a *sql.Conn or a *sql.Tx.
type session interface {
	ExecContext(ctx context.Context, statement string, values ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, statement string, values ...any) *sql.Row
}

// An engine is one of these; "" if it is not known.
type engine string

const postgresql, mariadb engine = "PostgreSQL", "MariaDB"

func (e engine) execute(ctx context.Context, s session, c call, v ...any) (a answer, err error) {
	numbers, statement := strings.Contains(c.mariadb, "@rowlock_answer"), c.postgresql
	if e == mariadb {
		statement = c.mariadb
	}
	switch {
	case c == request:
		err = s.QueryRowContext(ctx, statement, v...).
			Scan(&a.token, &a.ticket, &a.place, &a.holder, new(any))
	case c == holder:
		err = s.QueryRowContext(ctx, statement, v...).Scan(&a.holder)
	case numbers && e == postgresql:
		err = s.QueryRowContext(ctx, statement, v...).Scan(&a.number)
	default:
		_, err = s.ExecContext(ctx, statement, v...)
		if numbers && err == nil {
			err = s.QueryRowContext(ctx, "SELECT @rowlock_answer").Scan(&a.number)
		}
	}
	return a, err
}

// engineOf tells the engine by the drivers in the program. If they are for both engines, or
// unknown, it asks the server.
func engineOf(ctx context.Context, s session) (engine, error) {
	if known := engineOfDrivers(sql.Drivers()); known != "" {
		return known, nil
	}
	var version string
	err := s.QueryRowContext(ctx, "SELECT version()").Scan(&version)
	switch {
	case err != nil && kindOf(err) == ErrUnavailable && !strings.Contains(err.Error(), "version"):
		return "", err
	case strings.HasPrefix(version, "PostgreSQL"):
		return postgresql, nil
	case version != "" && version[0] >= '0' && version[0] <= '9':
		return mariadb, nil
	}
	return "", fmt.Errorf("no PostgreSQL, MariaDB or MySQL: %q; use the command rowlock", version)
}

func engineOfDrivers(names []string) (found engine) {
	known := map[string]engine{"pgx": postgresql, "pgx/v5": postgresql, "postgres": postgresql,
		"mysql": mariadb}
	for _, name := range names {
		of := known[name]
		if of == "" || found != "" && of != found {
			return ""
		}
		found = of
	}
	return found
}

// A line is the connection of the pool that a lease has for itself. It is opened when it is needed,
// and again after it was lost.
type line struct {
	db     *sql.DB
	name   string
	conn   *sql.Conn
	engine engine
}

// call executes a statement, and returns at its end, even if the driver does not, and also if the
// machine was suspended meanwhile. When ctx ends, the statement may end by itself for interruptMost:
// a connection that is closed during a statement may acquire the lease later. After an
// ErrUnavailable it may have been executed.
func (l *line) call(ctx context.Context, end time.Duration, which call, v ...any) (answer, error) {
	own, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupt, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		if !sleep(interrupt.Done(), end) {
			sleep(own.Done(), least(end, now()+interruptMost))
		}
		cancel()
	}()
	type result struct {
		line
		answer
		err error
	}
	done := make(chan result, 1)
	r := result{line: *l}
	l.conn = nil
	go func() {
		r.answer, r.err = r.execute(own, which, v)
		done <- r
	}()
	select {
	case r := <-done:
		*l = r.line
		return r.answer, translated(r.err, l.name)
	case <-own.Done():
		go func() { discard((<-done).conn) }()
		return answer{}, translated(context.DeadlineExceeded, l.name)
	}
}

func (l *line) execute(ctx context.Context, which call, values []any) (a answer, err error) {
	if l.conn == nil {
		l.conn, err = l.db.Conn(ctx)
	}
	if err == nil && l.engine == "" {
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
	if l.conn != nil && l.engine != mariadb {
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

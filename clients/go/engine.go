// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// A call is a statement of each engine. On MariaDB a procedure returns its number in a session
// variable, and a text is sent as hexadecimal digits: so a name is the same in each character set
// and sql_mode of the connection.
type call struct{ postgresql, mariadb string }

const (
	ms   = `::bigint::double precision * interval '1 ms'`
	text = `CONVERT(UNHEX(?) USING utf8mb4)`
)

var (
	// name, ttl_ms, owner, mode, limit, host, pid, program, note
	request = call{`SELECT token, ticket, place, holder, (extract(epoch FROM pause) * 1000)::bigint
		FROM rowlock.request($1::text, $2` + ms + `, $3::text, '0', $4::text, $5::integer, $6::text,
		$7::bigint, $8::text, $9::text)`,
		`CALL rowlock_request_row(` + text + `, ?, ` + text + `, 0, ` + text + `, ?, ` + text +
			`, ?, ` + text + `, ` + text + `)`}
	// token, ttl_ms
	renew = call{`SELECT rowlock.renew($1::bigint, $2` + ms + `)`, `CALL rowlock_renew(?, ?)`}
	// name, owner
	cancelRequest = call{`SELECT rowlock.cancel($1::text, $2::text)`,
		`CALL rowlock_cancel(` + text + `, ` + text + `, @rowlock_canceled)`}
	// token; it waits for a transaction that has fenced, which may be the caller's own
	release = call{`SELECT CASE WHEN pg_catalog.set_config('lock_timeout', '1s', true) = '1s'
		THEN rowlock.release($1::bigint)::integer END`, `CALL rowlock_release(?, @rowlock_answer)`}
	// name
	prepare    = call{`SELECT rowlock.prepare($1::text)`, `CALL rowlock_prepare(` + text + `)`}
	lock       = call{`SELECT rowlock.exclusive($1::text)`, `CALL rowlock_exclusive(` + text + `)`}
	lockShared = call{`SELECT rowlock.shared($1::text)`, `CALL rowlock_shared(` + text + `)`}
	// name, wait_ms
	try = call{`SELECT rowlock.try_exclusive($1::text, $2` + ms + `)::integer`,
		`CALL rowlock_try_exclusive(` + text + `, ?, @rowlock_answer)`}
	tryShared = call{`SELECT rowlock.try_shared($1::text, $2` + ms + `)::integer`,
		`CALL rowlock_try_shared(` + text + `, ?, @rowlock_answer)`}
	// name, token
	fence = call{`SELECT rowlock.fence($1::text, $2::bigint)`, `CALL rowlock_fence(` + text + `, ?)`}
	// counter
	next = call{`SELECT rowlock.next($1::text)`, `CALL rowlock_next(` + text + `, @rowlock_answer)`}
	// name, max_age_ms, wait_ms, host, pid, program
	refresh = call{`SELECT rowlock.refresh($1::text, $2` + ms + `, $3` + ms + `, $4::text,
		$5::bigint, $6::text)`, `CALL rowlock_refresh(` + text + `, ?, ?, ` + text + `, ?, ` + text +
		`, @rowlock_answer)`}
	// name, version
	refreshed = call{`SELECT rowlock.refreshed($1::text, $2::bigint)`,
		`CALL rowlock_refreshed(` + text + `, ?)`}
	// name
	holders = call{`SELECT kind, pid, host, program, since, expires, note, waiting
		FROM rowlock.holders($1::text) LIMIT 1`, `CALL rowlock_holder(` + text + `)`}
)

// An answer is the row of a request, or the number of a function.
type answer struct {
	token, place, number, pause sql.NullInt64
	holder                      sql.NullString
}

// A querier is a *sql.Conn or a *sql.Tx.
type querier interface {
	ExecContext(ctx context.Context, statement string, values ...any) (sql.Result, error)
	QueryContext(ctx context.Context, statement string, values ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, statement string, values ...any) *sql.Row
}

// An engine is one of these; "" if it is not known.
type engine string

const postgresql, mariadb engine = "PostgreSQL", "MariaDB"

// A session sends statements on a connection or in a transaction. On a connection no statement gets
// a name, because a pooler may execute the next one on another session of the server.
type session struct {
	on     querier
	engine engine
	mode   any  // pgx's name of such statements, an argument before the values; nil: none
	quotes bool // lib/pq's statement is without a name and one round trip if it has no values
}

// prepared is the statement that is sent, and its values. They are int64, string, or nil.
func (s session) prepared(c call, values []any) (statement string, sent []any) {
	statement = c.postgresql
	switch {
	case s.engine == mariadb:
		statement, values = c.mariadb, digits(values)
	case s.quotes:
		statement, values = quoted(statement, values), nil
	case s.mode != nil:
		values = append([]any{s.mode}, values...)
	}
	return statement, values
}

// row returns the row of a statement.
func (s session) row(ctx context.Context, c call, values ...any) *sql.Row {
	statement, values := s.prepared(c, values)
	return s.on.QueryRowContext(ctx, statement, values...)
}

func (s session) execute(ctx context.Context, c call, values ...any) (a answer, err error) {
	numbers := strings.Contains(c.mariadb, "@rowlock_answer")
	switch {
	case c == request:
		err = s.row(ctx, c, values...).
			Scan(&a.token, new(any), &a.place, &a.holder, &a.pause)
	case s.engine == mariadb:
		_, err = s.on.ExecContext(ctx, c.mariadb, digits(values)...)
		if numbers && err == nil {
			err = s.on.QueryRowContext(ctx, "SELECT @rowlock_answer").Scan(&a.number)
		}
	case numbers:
		err = s.row(ctx, c, values...).Scan(&a.number)
	default:
		err = s.row(ctx, c, values...).Scan(new(any))
	}
	return a, err
}

// holder describes the first holder of a name.
func (s session) holder(ctx context.Context, name string) (h Holder, err error) {
	statement, values := s.prepared(holders, []any{name})
	rows, err := s.on.QueryContext(ctx, statement, values...)
	if err != nil {
		return h, err
	}
	defer rows.Close()
	if !rows.Next() {
		return h, rows.Err()
	}
	var pid, waits sql.NullInt64
	var kind, host, program, since, expires, note sql.NullString
	err = rows.Scan(&kind, &pid, &host, &program, &since, &expires, &note, &waits)
	if err == nil {
		err = rows.Close()
	}
	of := func(text sql.NullString) string { return strings.ToValidUTF8(text.String, "?") }
	return Holder{Kind: kind.String, Host: of(host), PID: pid.Int64, Program: of(program),
		Since: moment(since.String), Expires: moment(expires.String), Note: of(note),
		Waiting: int(waits.Int64)}, err
}

// digits has the texts as hexadecimal digits.
func digits(values []any) []any {
	sent := make([]any, len(values))
	for i, value := range values {
		sent[i] = value
		if text, is := value.(string); is {
			sent[i] = hex.EncodeToString([]byte(text))
		}
	}
	return sent
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// quoted writes the values into a statement of PostgreSQL.
func quoted(statement string, values []any) string {
	return placeholder.ReplaceAllStringFunc(statement, func(place string) string {
		number, _ := strconv.Atoi(place[1:])
		switch value := values[number-1].(type) {
		case nil:
			return "NULL"
		case string: // E'': whatever standard_conforming_strings is
			return ` E'` + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value) + `'`
		default:
			return fmt.Sprintf("(%d)", value)
		}
	})
}

// sessionOf finds the engine of a connection, and how statements are sent, by its driver.
func sessionOf(ctx context.Context, conn *sql.Conn) (s session, err error) {
	s.on = conn
	err = conn.Raw(func(raw any) error {
		of := reflect.TypeOf(raw)
		path := of.String()
		if of.Kind() == reflect.Pointer {
			path = of.Elem().PkgPath()
		}
		switch {
		case strings.HasPrefix(path, "github.com/jackc/pgx/"):
			s.engine, s.mode = postgresql, unnamed(of)
		case path == "github.com/lib/pq":
			s.engine, s.quotes = postgresql, true
		case path == "github.com/go-sql-driver/mysql":
			s.engine = mariadb
		}
		return nil
	})
	if err == nil && s.engine == "" {
		s.engine, err = engineOf(ctx, conn)
	}
	return s, err
}

// unnamed is QueryExecModeExec of the pgx that has this type of connection; nil: it has none. This
// package imports no driver, but Conn() *pgx.Conn and Config() *pgx.ConnConfig lead to the type.
func unnamed(of reflect.Type) any {
	for _, name := range []string{"Conn", "Config"} {
		method, found := of.MethodByName(name)
		if !found || method.Type.NumOut() != 1 || method.Type.Out(0).Kind() != reflect.Pointer {
			return nil
		}
		of = method.Type.Out(0)
	}
	field, found := of.Elem().FieldByName("DefaultQueryExecMode")
	if !found || !field.Type.ConvertibleTo(reflect.TypeOf(0)) {
		return nil
	}
	for number := 0; number < 10; number++ {
		if mode := reflect.ValueOf(number).Convert(field.Type).Interface(); named(mode) == "exec" {
			return mode
		}
	}
	return nil
}

// named is the name of a mode; that of an unknown one panics.
func named(mode any) (name string) {
	defer func() { _ = recover() }()
	return mode.(fmt.Stringer).String()
}

// engineOf tells the engine by the drivers in the program. If they are for both engines, or
// unknown, it asks the server.
func engineOf(ctx context.Context, on querier) (engine, error) {
	if known := engineOfDrivers(sql.Drivers()); known != "" {
		return known, nil
	}
	var version string
	err := on.QueryRowContext(ctx, "SELECT version()").Scan(&version)
	switch {
	case err != nil && !strings.Contains(err.Error(), "version"):
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

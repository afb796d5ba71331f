// SPDX-License-Identifier: Apache-2.0

// Package rowlocktest has a stand-in for the database, for tests: a *sql.DB with which all functions
// of package rowlock work in this process, without a server. It excludes, queues, counts and
// refreshes as the server does, except that a rollback takes back neither a number nor a refresh.
package rowlocktest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"rowlock.example/rowlock"
)

// A Fake is the database. Its methods may be called by several goroutines.
type Fake struct {
	mutex   sync.Mutex
	leases  []*lease                  // of holders and, without a token, of waiters
	locks   map[string]map[*conn]bool // the transactions of a name, and whether they share it
	counter map[string]int64
	fresh   map[string]time.Time
	jobs    map[string]bool // whether it is due
	runs    []Run
	last    int64
	failure error
}

// A Run is one that has ended.
type Run struct{ Job, Outcome, Output string }

type lease struct {
	name, owner, mode string
	limit, token      int64
	holder            rowlock.Holder
}

// New is a database without a lease.
func New() *Fake {
	return &Fake{locks: map[string]map[*conn]bool{}, counter: map[string]int64{},
		fresh: map[string]time.Time{}, jobs: map[string]bool{}}
}

// DB is what to pass to the functions of package rowlock. It knows no other statements.
func (f *Fake) DB() *sql.DB { return sql.OpenDB(connector{f}) }

// Hold makes a name busy: somebody holds it until Break.
func (f *Fake) Hold(name string, by rowlock.Holder) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	by.Kind, by.Since = "lease", time.Now()
	f.last++
	f.leases = append(f.leases, &lease{name: name, mode: "exclusive", token: f.last, holder: by})
}

// Break ends all leases of a name. Their next renewal, after a third of the TTL, announces the loss.
func (f *Fake) Break(name string) {
	f.end(func(l *lease) bool { return l.name == name && l.token > 0 })
}

// Due makes a job due. Each is due once without that; its schedule does not matter.
func (f *Fake) Due(job string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.jobs[job] = true
}

// Runs are those that have ended, in this order. A run whose lease was broken is not one of them.
func (f *Fake) Runs() []Run {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return append([]Run(nil), f.runs...)
}

// Fail makes each statement fail, such as with driver.ErrBadConn; nil: none.
func (f *Fake) Fail(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.failure = err
}

func (f *Fake) end(which func(*lease) bool) (ended int64) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.remove(which)
}

func (f *Fake) remove(which func(*lease) bool) (ended int64) {
	var left []*lease
	for _, l := range f.leases {
		if which(l) {
			ended++
		} else {
			left = append(left, l)
		}
	}
	f.leases = left
	return ended
}

// state is an error with the SQLSTATE of the server's.
type state struct{ code, text string }

func (s state) Error() string    { return s.text }
func (s state) SQLState() string { return s.code }

// calls are the functions of the server, by the beginning of their arguments in a statement.
var calls = []struct {
	function string
	call     func(f *Fake, c *conn, v []any) ([]any, error)
}{
	{"request(", (*Fake).request}, {"renew(", (*Fake).renew}, {"cancel(", (*Fake).cancel},
	{"release(", (*Fake).release}, {"fence(", (*Fake).renew}, {"holders(", (*Fake).holders},
	{"try_exclusive(", try(false)}, {"try_shared(", try(true)},
	{"exclusive(", wait(false)}, {"shared(", wait(true)}, {"next(", (*Fake).next},
	{"claim(", (*Fake).claim}, {"finish(", (*Fake).finish}, {"refreshed(", (*Fake).refreshed}, {"refresh(", (*Fake).refresh},
	{"prepare(", func(*Fake, *conn, []any) ([]any, error) { return []any{""}, nil }},
}

func (f *Fake) request(_ *conn, v []any) ([]any, error) {
	name, owner, mode := v[0].(string), v[2].(string), v[3].(string)
	limit, _ := v[4].(int64)
	mine, place := (*lease)(nil), int64(1)
	for _, l := range f.leases {
		if l.owner == owner {
			mine = l
		} else if l.name == name && mine == nil && l.token == 0 {
			place++
		}
	}
	if mine == nil {
		text := func(value any) string { text, _ := value.(string); return text }
		pid, _ := v[6].(int64)
		mine = &lease{name: name, owner: owner, mode: mode, limit: limit, holder: rowlock.Holder{
			Kind: "lease", Host: text(v[5]), PID: pid, Program: text(v[7]), Note: text(v[8]),
			Since: time.Now()}}
		f.leases = append(f.leases, mine)
	}
	if mine.token == 0 && place == 1 && f.isFree(mine) {
		f.last++
		mine.token, mine.holder.Since = f.last, time.Now()
	}
	if mine.token != 0 {
		return []any{mine.token, nil, nil, nil, int64(0)}, nil
	}
	return []any{nil, int64(1), place, f.holder(name).String(), int64(10)}, nil
}

// isFree: no lease and no transaction excludes a request.
func (f *Fake) isFree(wanted *lease) bool {
	holders := int64(0)
	for _, l := range f.leases {
		switch {
		case l.name != wanted.name || l.token == 0:
		case wanted.mode == "permit" && l.mode == "permit":
			holders++
		case wanted.mode != "shared" || l.mode != "shared":
			return false
		}
	}
	for _, shared := range f.locks[wanted.name] {
		if !shared || wanted.mode != "shared" {
			return false
		}
	}
	return holders == 0 || holders < wanted.limit
}

func (f *Fake) holder(name string) (h rowlock.Holder) {
	for _, l := range f.leases {
		switch {
		case l.name != name:
		case l.token == 0:
			h.Waiting++
		case h.Kind == "":
			waiting := h.Waiting
			h = l.holder
			h.Waiting = waiting
		}
	}
	if h.Kind == "" && len(f.locks[name]) > 0 {
		h.Kind = "transaction"
	}
	return h
}

func (f *Fake) holders(_ *conn, v []any) ([]any, error) {
	h := f.holder(v[0].(string))
	if h.Kind == "" {
		return nil, nil
	}
	return []any{h.Kind, h.PID, h.Host, h.Program, h.Since.UTC().Format(time.RFC3339Nano), nil, h.Note,
		int64(h.Waiting)}, nil
}

// renew is also fence: the token is among the values.
func (f *Fake) renew(_ *conn, v []any) ([]any, error) {
	for _, l := range f.leases {
		if l.token != 0 && (v[0] == any(l.token) || v[0] == any(l.name) && v[1] == any(l.token)) {
			return []any{""}, nil
		}
	}
	return nil, state{"RL005", "rowlock: was broken"}
}

func (f *Fake) cancel(_ *conn, v []any) ([]any, error) {
	return []any{f.remove(func(l *lease) bool { return l.owner == v[1] }) > 0}, nil
}

func (f *Fake) release(_ *conn, v []any) ([]any, error) {
	return []any{f.remove(func(l *lease) bool { return l.token == v[0] })}, nil
}

func (f *Fake) claim(_ *conn, v []any) ([]any, error) {
	job, owner, now := v[0].(string), v[2].(string), time.Now()
	mine := &lease{name: "job:" + job, owner: owner, mode: "exclusive",
		holder: rowlock.Holder{Kind: "lease", Since: now}}
	due, known := f.jobs[job]
	for _, l := range f.leases {
		if l.owner == owner {
			mine = l
		}
	}
	if mine.token == 0 {
		if known && !due || !f.isFree(mine) {
			return []any{nil, nil, nil, "waiting", int64(10), nil, nil}, nil
		}
		f.jobs[job] = false
		f.last++
		mine.token = f.last
		f.leases = append(f.leases, mine)
	}
	return []any{mine.token, now.UnixMilli(), int64(0), "claimed", int64(0), nil, nil}, nil
}

func (f *Fake) finish(c *conn, v []any) ([]any, error) {
	for _, l := range f.leases {
		if v[0] == any(l.token) {
			f.runs = append(f.runs, Run{strings.TrimPrefix(l.name, "job:"), v[1].(string),
				v[2].(string)})
		}
	}
	return f.release(c, v)
}

// try locks a name for a transaction, or returns 0 at once: its wait is in conn.
func try(shared bool) func(*Fake, *conn, []any) ([]any, error) {
	return func(f *Fake, c *conn, v []any) ([]any, error) { return []any{f.lock(c, v[0], shared)}, nil }
}

func wait(shared bool) func(*Fake, *conn, []any) ([]any, error) {
	return func(f *Fake, c *conn, v []any) ([]any, error) {
		if f.lock(c, v[0], shared) == 0 {
			return nil, errWait
		}
		return []any{""}, nil
	}
}

// errWait: the statement is repeated until its context ends.
var errWait = errors.New("wait")

func (f *Fake) lock(c *conn, value any, shared bool) int64 {
	name, mode := value.(string), "exclusive"
	if shared {
		mode = "shared"
	}
	own, held := f.locks[name][c]
	delete(f.locks[name], c)
	free := f.isFree(&lease{name: name, mode: mode})
	if f.locks[name] == nil {
		f.locks[name] = map[*conn]bool{}
	}
	if held || free {
		f.locks[name][c] = shared && (!held || own)
	}
	if free {
		return 1
	}
	return 0
}

func (f *Fake) next(c *conn, v []any) ([]any, error) {
	name := v[0].(string)
	if f.lock(c, "counter:"+name, false) == 0 {
		return nil, errWait
	}
	f.counter[name]++
	return []any{f.counter[name]}, nil
}

func (f *Fake) refresh(c *conn, v []any) ([]any, error) {
	name := v[0].(string)
	at, loaded := f.fresh[name]
	age, limited := v[1].(int64)
	if loaded && (!limited || time.Since(at) <= time.Duration(age)*time.Millisecond) {
		return []any{nil}, nil
	}
	if f.lock(c, "subject:"+name, false) == 0 {
		if v[2] == nil {
			return nil, errWait
		}
		return []any{int64(0)}, nil
	}
	f.last++
	return []any{f.last}, nil
}

func (f *Fake) refreshed(_ *conn, v []any) ([]any, error) {
	f.fresh[v[0].(string)] = time.Now()
	return []any{""}, nil
}

// A driver that is registered under a name of its own makes package rowlock ask for the engine, also
// in a program whose other driver is that of MariaDB.
func init() { sql.Register("rowlocktest", connector{New()}) }

type connector struct{ fake *Fake }

func (c connector) Connect(context.Context) (driver.Conn, error) { return &conn{fake: c.fake}, nil }
func (c connector) Open(string) (driver.Conn, error)             { return &conn{fake: c.fake}, nil }
func (c connector) Driver() driver.Driver                        { return c }

// conn is a connection, and its transaction.
type conn struct{ fake *Fake }

func (c *conn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not in this stand-in") }
func (c *conn) Begin() (driver.Tx, error)           { return c, nil }
func (c *conn) Close() error                        { return c.Rollback() }
func (c *conn) Commit() error                       { return c.Rollback() }

// BeginTx accepts each isolation level.
func (c *conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c, nil }

func (c *conn) Rollback() error {
	c.fake.mutex.Lock()
	defer c.fake.mutex.Unlock()
	for _, of := range c.fake.locks {
		delete(of, c)
	}
	return nil
}

func (c *conn) QueryContext(ctx context.Context, statement string,
	named []driver.NamedValue) (driver.Rows, error) {
	if strings.Contains(statement, "version()") {
		return &rows{[]any{"PostgreSQL, a stand-in"}}, nil
	}
	values := make([]any, len(named))
	for i, value := range named {
		values[i] = value.Value
	}
	for {
		row, err := c.call(statement, values)
		if err != errWait {
			return &rows{row}, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *conn) call(statement string, values []any) ([]any, error) {
	c.fake.mutex.Lock()
	defer c.fake.mutex.Unlock()
	if c.fake.failure != nil {
		return nil, c.fake.failure
	}
	for _, each := range calls {
		if strings.Contains(statement, "rowlock."+each.function) {
			return each.call(c.fake, c, values)
		}
	}
	return nil, fmt.Errorf("not in this stand-in: %s", statement)
}

// rows is one row; without values it has been read, or there is none.
type rows struct{ values []any }

func (r *rows) Columns() []string { return make([]string, len(r.values)) }
func (r *rows) Close() error      { return nil }
func (r *rows) Next(to []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	for i, value := range r.values {
		to[i] = value
	}
	r.values = nil
	return nil
}

// SPDX-License-Identifier: Apache-2.0

// The conformance client in Go: a command a line on standard input, an answer a line. Its arguments
// are a URL and, if it is not pgx, the driver: postgres is lib/pq.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"rowlock.example/rowlock"
)

type command struct {
	Do, Name, Mode, Note, Counter, SQL, Load, URL string
	TTL, Limit, Age                               int64
	Permits, Callers, Pool                        int
	Wait                                          *int64
}
type answer map[string]any

type client struct {
	db    *sql.DB
	lease *rowlock.Lease
	lost  context.Context // ends when the loss of the lease is announced
	leave func()
	ended chan error // of Do
	tx    *sql.Tx
}

func open(address string) *sql.DB {
	driver := append(os.Args, "pgx")[2]
	parts, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	parts.RawQuery = "sslmode=disable"
	source := parts.String()
	if parts.Scheme != "postgresql" {
		password, _ := parts.User.Password()
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)%s", parts.User.Username(), password,
			parts.Host, parts.Path)
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		panic(err)
	}
	return db
}

func millis(number int64) time.Duration { return time.Duration(number) * time.Millisecond }

func (c *client) acquire(o command) (answer, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	lost, announce := context.WithCancel(context.Background())
	c.lost = lost
	opts := rowlock.Options{TTL: millis(o.TTL), Shared: o.Mode == "shared", Permits: o.Permits,
		Note: o.Note, OnEvent: func(e rowlock.Event) {
			if e.Kind == rowlock.Lost { // also when Do has ended held
				announce()
			}
		}}
	if o.Wait != nil {
		opts.Wait = millis(*o.Wait)
		if opts.Wait == 0 {
			opts.Wait = rowlock.NoWait
		}
	}
	db := c.db
	if o.URL != "" {
		db = open(o.URL)
		defer db.Close()
	}
	began, leave := make(chan bool), make(chan bool)
	c.ended = make(chan error, 1)
	c.leave = func() { close(leave) }
	go func() {
		c.ended <- rowlock.Do(ctx, db, o.Name, opts,
			func(held context.Context, lease *rowlock.Lease) error {
				c.lease = lease
				close(began)
				select {
				case <-held.Done():
					announce()
					<-leave
				case <-leave:
				}
				stop()
				return nil
			})
	}()
	select {
	case <-began:
		return answer{"token": c.lease.Token()}, nil
	case err := <-c.ended:
		stop()
		return nil, err
	}
}

// crowd has so many callers of one name, which query the same pool while they hold the lease.
func (c *client) crowd(o command) (answer, error) {
	db := open(os.Args[1])
	defer db.Close()
	db.SetMaxOpenConns(o.Pool)
	done := make(chan error, o.Callers)
	for caller := 0; caller < o.Callers; caller++ {
		go func() {
			done <- rowlock.Do(context.Background(), db, o.Name, rowlock.Options{},
				func(ctx context.Context, _ *rowlock.Lease) error {
					_, err := db.ExecContext(ctx, "SELECT 1")
					return err
				})
		}()
	}
	for caller := 0; caller < o.Callers; caller++ {
		if err := <-done; err != nil {
			return nil, err
		}
	}
	return answer{"number": o.Callers}, nil
}

// begin begins a transaction, unless one is open.
func (c *client) begin(name string) (err error) {
	if c.tx == nil {
		c.tx, err = rowlock.Begin(context.Background(), c.db, name)
	}
	return err
}

func (c *client) lock(o command) error {
	if err := c.begin(o.Name); err != nil {
		return err
	}
	ctx, shared := context.Background(), o.Mode == "shared"
	switch {
	case o.Wait == nil && shared:
		return rowlock.LockShared(ctx, c.tx, o.Name)
	case o.Wait == nil:
		return rowlock.Lock(ctx, c.tx, o.Name)
	case shared:
		return rowlock.TryLockShared(ctx, c.tx, o.Name, millis(*o.Wait))
	}
	return rowlock.TryLock(ctx, c.tx, o.Name, millis(*o.Wait))
}

func (c *client) refresh(o command) (answer, error) {
	if err := c.begin("subject:" + o.Name); err != nil {
		return nil, err
	}
	load := func(context.Context) error {
		switch o.Load {
		case "fail":
			return errors.New("the load failed")
		case "commit":
			if _, err := c.tx.Exec("COMMIT"); err != nil {
				return err
			}
			_, err := c.tx.Exec("BEGIN")
			return err
		}
		return nil
	}
	loaded, err := false, error(nil)
	if o.Wait == nil {
		loaded, err = rowlock.Refresh(context.Background(), c.tx, o.Name, millis(o.Age), load)
	} else {
		loaded, err = rowlock.TryRefresh(context.Background(), c.tx, o.Name, millis(o.Age),
			millis(*o.Wait), load)
	}
	number := map[bool]int{true: 1}[loaded]
	return answer{"loaded": number}, err
}

func (c *client) end(how func(*sql.Tx) error) error {
	tx := c.tx
	if tx == nil { // it did not begin
		return nil
	}
	c.tx = nil
	return how(tx)
}

func (c *client) call(o command) (answer, error) {
	ctx := context.Background()
	switch o.Do {
	case "acquire":
		return c.acquire(o)
	case "crowd":
		return c.crowd(o)
	case "check":
		left := c.lease.Remaining().Milliseconds()
		return answer{"remaining": left}, c.lease.Check()
	case "lost":
		select {
		case <-c.lost.Done():
			return answer{"is": "lost"}, nil
		case <-time.After(millis(o.Limit)):
			return nil, nil
		}
	case "fence":
		if err := c.begin(fmt.Sprint("own ", os.Getpid())); err != nil {
			return nil, err
		}
		return nil, c.lease.Fence(ctx, c.tx)
	case "release":
		c.leave()
		return nil, <-c.ended
	case "lock":
		return nil, c.lock(o)
	case "next":
		if err := c.begin("counter:" + o.Counter); err != nil {
			return nil, err
		}
		number, err := rowlock.Next(ctx, c.tx, o.Counter)
		return answer{"number": number}, err
	case "refresh":
		return c.refresh(o)
	case "execute":
		_, err := c.tx.Exec(o.SQL)
		return nil, err
	case "commit":
		return nil, c.end((*sql.Tx).Commit)
	}
	return nil, c.end((*sql.Tx).Rollback)
}

func say(result answer) {
	line, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func main() {
	c := client{db: open(os.Args[1])}
	say(answer{"is": "ok", "pid": os.Getpid(), "program": filepath.Base(os.Args[0])})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var o command
		if err := json.NewDecoder(strings.NewReader(lines.Text())).Decode(&o); err != nil {
			panic(err)
		}
		result, err := c.call(o)
		var busy *rowlock.BusyError
		switch {
		case errors.Is(err, context.Canceled):
			result = answer{"is": "cancelled"}
		case errors.As(err, &busy):
			result = answer{"is": "busy", "holder": busy.Holder}
		case errors.Is(err, rowlock.ErrLost):
			result = answer{"is": "lost", "text": err.Error()}
		case errors.Is(err, rowlock.ErrUnavailable):
			result = answer{"is": "unavailable"}
		case err != nil:
			result = answer{"is": "error", "text": err.Error()}
		case result == nil:
			result = answer{"is": "ok"}
		case result["is"] == nil:
			result["is"] = "ok"
		}
		say(result)
	}
	os.Exit(0) // a lease is not released
}

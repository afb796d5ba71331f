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

	Every, Cron, Zone, Missed, Body string // of a job
	Backoff, Grace                  *int64
	MaxRun                          int64 `json:"max_run"`
	Fresh, Retry                    int
}
type answer map[string]any

type begun struct {
	run  *rowlock.Run
	lost context.Context
	end  chan bool
}

type client struct {
	db    *sql.DB
	lease *rowlock.Lease
	lost  context.Context // ends when the loss of the lease is announced
	leave func()
	ended chan error // of Do
	tx    *sql.Tx

	defined []func(*rowlock.Jobs) error // its jobs
	runs    chan begun                  // that have begun
	run     *rowlock.Run                // instead of a lease
	end     chan bool                   // closed: the run may end
	stop    func()
	stopped chan error
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
	c.run = nil
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

// orNot is the time; 0: there is none.
func orNot(time *int64) time.Duration {
	if time != nil && *time == 0 {
		return rowlock.NoWait
	}
	if time == nil {
		return 0
	}
	return millis(*time)
}

func (c *client) job(o command) error {
	if o.Fresh == 1 {
		c.defined = nil
	}
	c.defined = append(c.defined, func(jobs *rowlock.Jobs) error {
		return jobs.Add(o.Name, rowlock.JobOptions{Every: o.Every, Cron: o.Cron, Zone: o.Zone,
			TTL: millis(o.TTL), MaxRun: millis(o.MaxRun), Retry: o.Retry, Backoff: orNot(o.Backoff),
			Missed: o.Missed}, func(ctx context.Context, run *rowlock.Run) error {
			run.Note("37 mails")
			switch o.Body {
			case "fails":
				return errors.New("no mail server")
			case "waits":
				end := make(chan bool)
				c.runs <- begun{run, ctx, end}
				select {
				case <-end:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		})
	})
	return nil
}

func (c *client) jobs(grace *int64) (*rowlock.Jobs, error) {
	jobs := rowlock.NewJobs(c.db, rowlock.JobsOptions{Grace: orNot(grace)})
	for _, add := range c.defined {
		if err := add(jobs); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

func (c *client) due() (answer, error) {
	jobs, err := c.jobs(nil)
	if err != nil {
		return nil, err
	}
	count, err := jobs.RunDue(context.Background())
	return answer{"number": count}, err
}

func (c *client) serve(o command) error {
	jobs, err := c.jobs(o.Grace)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop, c.stopped = stop, make(chan error, 1)
	go func() { c.stopped <- jobs.Run(ctx) }()
	return nil
}

func (c *client) began(o command) (answer, error) {
	select {
	case begun := <-c.runs:
		c.run, c.lost, c.end = begun.run, begun.lost, begun.end
		return answer{"token": c.run.Token(), "number": c.run.Retry(), "job": c.run.Job(),
			"due": c.run.Due().UnixMilli()}, nil
	case <-time.After(millis(o.Limit)):
		return nil, errors.New("no run began")
	}
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

func (c *client) finish(how func(*sql.Tx) error) error {
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
	case "job":
		return nil, c.job(o)
	case "due":
		return c.due()
	case "serve":
		return nil, c.serve(o)
	case "began":
		return c.began(o)
	case "end":
		close(c.end)
		return nil, nil
	case "stop":
		c.stop()
		return nil, <-c.stopped
	case "check":
		if c.run != nil {
			left := c.run.Remaining().Milliseconds()
			return answer{"remaining": left}, c.run.Check()
		}
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
		if c.run != nil {
			return nil, c.run.Fence(ctx, c.tx)
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
		return nil, c.finish((*sql.Tx).Commit)
	}
	return nil, c.finish((*sql.Tx).Rollback)
}

func say(result answer) {
	line, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func main() {
	c := client{db: open(os.Args[1]), runs: make(chan begun, 10)}
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
			result = answer{"is": "unavailable", "text": err.Error()}
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

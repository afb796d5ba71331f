// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	crypto "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	replyMost     = 5 * time.Second
	interruptMost = 2 * time.Second // for that long a request may end by itself
	withdrawMost  = 2 * time.Second
	releaseLeast  = 2 * time.Second // more than a release waits for a fence
	lostMost      = 500 * time.Millisecond
	ttlMost       = 100 * 366 * 24 * time.Hour // the server's
	forever       = time.Duration(math.MaxInt64)
)

// A requester repeats one request, with the same owner.
type requester struct {
	pool     *pool
	name     string
	opts     Options
	owner    string
	began    time.Duration
	deadline time.Duration
	reached  bool // a connection was there, so the request may have been executed
}

// acquire returns the token, and when the request for it was sent.
func acquire(ctx context.Context, db *sql.DB, name string, opts Options) (r requester, token int64,
	sent time.Duration, err error) {
	if err = opts.complete(name); err != nil {
		return r, 0, 0, err
	}
	owner, err := newOwner()
	if err != nil {
		return r, 0, 0, err
	}
	r = requester{pool: poolOf(db), name: name, opts: opts, owner: owner, began: now(),
		deadline: forever}
	defer r.pool.leave()
	if opts.Wait == NoWait {
		r.deadline = r.began
	} else if limit := r.began + opts.Wait; opts.Wait > 0 && limit > 0 {
		r.deadline = limit
	}
	token, sent, err = r.granted(ctx)
	if err != nil && r.reached {
		r.giveUp()
	}
	if errors.Is(err, ErrBusy) {
		err = r.busy()
	}
	event := Event{Kind: Acquired, Token: token, Duration: now() - r.began, Err: err}
	if err != nil {
		event.Kind = Waited
	}
	r.tell(event)
	return r, token, sent, err
}

func newOwner() (string, error) {
	var owner [16]byte
	_, err := crypto.Read(owner[:])
	return fmt.Sprintf("%x", owner), err
}

// complete checks the options, and sets those that are absent.
func (o *Options) complete(name string) error {
	o.TTL = or(o.TTL, 30*time.Second)
	if o.Warn == nil {
		o.Warn = slog.Warn
	}
	if o.Debug == nil {
		o.Debug = func(string, ...any) {}
	}
	switch {
	case o.TTL < time.Second || o.TTL > ttlMost:
		return wrong("TTL must be 1 s to 100 years, not %v", o.TTL)
	case o.Wait < 0 && o.Wait != NoWait:
		return wrong("Wait must not be negative, but is %v", o.Wait)
	case o.Permits < 0 || o.Permits > math.MaxInt32:
		return wrong("Permits must be at least 1, or 0 for none, not %d", o.Permits)
	case o.Permits > 0 && o.Shared:
		return wrong("Shared and Permits exclude each other")
	case !isText(o.Note):
		return wrong("Note must be UTF-8 without NUL")
	}
	return checkName("name", name, 255)
}

// isText: PostgreSQL has no NUL.
func isText(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

func checkName(what, name string, most int) error {
	if len(name) < 1 || len(name) > most || !isText(name) {
		return wrong("%s must have 1 to %d bytes of UTF-8 without NUL: %q", what, most, name)
	}
	return nil
}

func (r *requester) tell(e Event) {
	e.Name = r.name
	defer func() {
		if failed := recover(); failed != nil {
			r.opts.Warn("rowlock: OnEvent panicked", "name", r.name, "panic", failed)
		}
	}()
	if r.opts.OnEvent != nil {
		r.opts.OnEvent(e)
	}
}

// granted repeats the request until it has a token that is still certain.
func (r *requester) granted(ctx context.Context) (token int64, sent time.Duration, err error) {
	last, failures, answered := fmt.Errorf("could not acquire %q", r.name), 0, false
	_, limited := ctx.Deadline()
	limited = limited || r.deadline < forever
	for ctx.Err() == nil {
		sent = now()
		a, reached, err := r.send(ctx)
		r.reached = r.reached || reached
		if a.token.Valid && now() < certain(sent, r.opts.TTL) && ctx.Err() == nil {
			return a.token.Int64, sent, nil
		}
		late := now() >= r.deadline
		switch {
		case err == nil:
			answered, failures = true, 0
			// after place 0 the next call returns the token
			if late && !a.token.Valid && a.place.Int64 != 0 {
				return 0, 0, busyError(r.name, Holder{})
			}
			last = fmt.Errorf("could not acquire %q: held by %s", r.name, a.holder.String)
			pause := time.Duration(a.pause.Int64) * time.Millisecond * 3 / 4
			pause += time.Duration(rand.Int63n(int64(pause/3) + 1))
			sleep(ctx.Done(), min(now()+pause, r.deadline))
		case ctx.Err() != nil:
		case !errors.Is(err, ErrUnavailable):
			return 0, 0, err
		// a reply that was lost is repeated at least once
		case failures > 0 || !reached:
			if late || !limited && !answered {
				return 0, 0, err
			}
			fallthrough
		default:
			last = err
			r.opts.Warn("rowlock: a request failed, and is repeated", "name", r.name, "error", err)
			sleep(ctx.Done(), now()+pauseAfter(failures))
			failures++
		}
	}
	return 0, 0, fmt.Errorf("%v: %w", last, ctx.Err())
}

// send sends the request once.
func (r *requester) send(ctx context.Context) (a answer, sent bool, err error) {
	mode, permits := "exclusive", any(nil)
	if r.opts.Permits > 0 {
		mode, permits = "permit", int64(r.opts.Permits)
	} else if r.opts.Shared {
		mode = "shared"
	}
	values := append([]any{r.name, r.opts.TTL.Milliseconds(), r.owner, mode, permits},
		process(r.opts.Note)...)
	end := now() + replyMost
	if r.deadline < end {
		end = max(r.deadline, r.began) + replyMost
	}
	return inTurn(ctx, r.pool, end, r.name, func(ctx context.Context, s session) (answer, error) {
		return s.execute(ctx, request, values...)
	})
}

// process is the host, the pid and the program, for those that look, and the note.
func process(note string) []any {
	host, err := os.Hostname()
	values := []any{host, int64(os.Getpid()), filepath.Base(append(os.Args, "go")[0]), note}
	if err != nil {
		values[0] = nil
	}
	if note == "" {
		values[3] = nil
	}
	return values
}

// giveUp leaves the queue. If that fails, the ticket is removed after 7 s.
func (r *requester) giveUp() {
	_, _, err := borrowed(context.Background(), r.pool, now()+withdrawMost, r.name,
		func(ctx context.Context, s session) (answer, error) {
			return s.execute(ctx, cancelRequest, r.name, r.owner)
		})
	r.opts.Debug("rowlock: leaving the queue", "name", r.name, "error", err)
}

// busy is the error of a name that was not acquired in time.
func (r *requester) busy() error {
	holder, _, err := borrowed(context.Background(), r.pool, now()+withdrawMost, r.name,
		func(ctx context.Context, s session) (Holder, error) { return s.holder(ctx, r.name) })
	if err != nil {
		r.opts.Debug("rowlock: the holder", "name", r.name, "error", err)
	}
	return busyError(r.name, holder)
}

// pauseAfter: the pauses between failed calls grow from 50 ms to 1 s.
func pauseAfter(failures int) time.Duration {
	pause := min(time.Second, 50*time.Millisecond<<min(failures, 5))
	return pause/2 + time.Duration(rand.Int63n(int64(pause/2)))
}

// sleep returns at a time, or false if done ends before. A timer stops while the machine is
// suspended, so none is longer than 1 s.
func sleep(done <-chan struct{}, end time.Duration) bool {
	for now() < end {
		select {
		case <-done:
			return false
		case <-time.After(min(end-now(), time.Second)):
		}
	}
	return true
}

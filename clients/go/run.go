// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const outputMost = 2048 // bytes that the server keeps

// ErrOverrun: the run has exceeded its MaxRun.
var ErrOverrun = errors.New("the run has exceeded its MaxRun")

// finish has the values: token, outcome, output. It waits as release does.
var finish = call{`SELECT CASE WHEN pg_catalog.set_config('lock_timeout', '1s', true) = '1s'
	THEN rowlock.finish($1::bigint, $2::text, $3::text)::integer END`,
	`CALL rowlock_finish(?, ` + text + `, ` + text + `, NULL, @rowlock_answer)`}

// A Run is one run of a job, while its function runs. Its methods may be called by several
// goroutines.
type Run struct {
	claimed
	lease *Lease
	of    *job
	until time.Duration // by now(): MaxRun ends
	// for the one that ends it, and the first that takes it away
	once, taking sync.Once
	// closed when its end is recorded, and when it is taken away
	ended, taken chan struct{}

	mutex sync.Mutex
	notes string
}

// Job is the name of the job.
func (r *Run) Job() string { return r.of.name }

// Due is the due time of the run, in UTC.
func (r *Run) Due() time.Time { return time.UnixMilli(r.due.Int64).UTC() }

// Retry is the number of the retry; 0: it is the first try.
func (r *Run) Retry() int { return int(r.repeats.Int64) }

// Token is that of the run's lease, greater than that of every earlier run of the job.
func (r *Run) Token() int64 { return r.lease.token }

// Remaining is the time for which the run's lease is still certain; 0: it is lost or ended.
func (r *Run) Remaining() time.Duration { return r.lease.Remaining() }

// Check returns a *LostError if another node may run the job now, and ErrOverrun after MaxRun. It
// asks only the clock.
func (r *Run) Check() error {
	if err := r.lease.Check(); err != nil || now() < r.until {
		return err
	}
	return ErrOverrun
}

// Fence keeps the run from being replaced until tx ends. It is ErrLost if the run is lost: roll
// back. End tx before the function ends.
func (r *Run) Fence(ctx context.Context, tx *sql.Tx) error { return r.lease.Fence(ctx, tx) }

// Note adds a line to what rowlock jobs shows of this run; the last 2,048 bytes are kept.
func (r *Run) Note(line string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.notes = tail(r.notes + tail(line) + "\n")
}

// tail is the end that is kept, as text that the server accepts.
func tail(text string) string {
	text = text[max(0, len(text)-outputMost):]
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// carryOut calls the function if the lease is certain and the program does not end, and ends the run.
func (r *Run) carryOut(ctx context.Context, j *Jobs, stopped bool) {
	outcome, text := "failed", "the function has called runtime.Goexit"
	defer func() { // also after runtime.Goexit
		r.lease.cancel(nil)
		r.end(outcome, text, false)
		r.of.run.Store(nil)
		<-j.slots
		j.look()
	}()
	r.lease.tell(Event{Kind: Acquired, Token: r.Token(), Duration: now() - r.lease.began})
	switch {
	case r.lease.Remaining() == 0:
		outcome, text = "not started", "the answer came too late"
	case stopped:
		outcome, text = "not started", "the program ends"
	default:
		go func() {
			if sleep(r.lease.leaving.Done(), r.until) {
				r.lease.cancel(ErrOverrun)
			}
		}()
		outcome, text = r.perform(ctx)
	}
}

// perform calls the function, and returns the outcome, with the text of an error or a panic.
func (r *Run) perform(ctx context.Context) (outcome, text string) {
	outcome = "failed"
	defer func() {
		if failed := recover(); failed != nil {
			r.lease.opts.Warn("rowlock: a job panicked", "job", r.of.name, "panic", failed)
			// the first frames of the stack are the nearest
			text = fmt.Sprintf("%.*s\npanic: %v", outputMost*3/4, debug.Stack(), failed)
		}
	}()
	err := r.of.function(ctx, r)
	late, gone := now() >= r.until, (*LostError)(nil)
	if late && err == nil {
		err = ErrOverrun
	}
	switch {
	case err == nil:
		return "done", ""
	case errors.As(err, &gone) && gone.Name == r.lease.name:
		outcome = "lost"
	case late:
		outcome = "timed out"
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	r.lease.opts.Warn("rowlock: a run failed", "job", r.of.name, "outcome", outcome, "error", line)
	return outcome, err.Error()
}

// end ends the run, once, and records its outcome. It is taken away from a function that has not
// ended, which hears of it first.
func (r *Run) end(outcome, text string, taken bool) {
	r.once.Do(func() {
		send := r.lease.release // after a loss the database need not answer
		if taken {
			r.lease.lose(&LostError{Name: r.lease.name, Reason: text})
			send = r.lease.sendRelease
		} else if outcome != "not started" && r.lease.Remaining() == 0 {
			outcome = "lost"
		}
		r.mutex.Lock()
		output := tail(strings.TrimSuffix(r.notes+tail(text), "\n"))
		r.mutex.Unlock()
		r.lease.ending = ending{finish, []any{r.Token(), outcome, output}, r.sendAgain}
		if err := send(); err != nil && !errors.Is(err, ErrLost) {
			r.lease.opts.Warn("rowlock: a run was not ended", "job", r.of.name, "error", err)
		}
		r.lease.opts.Debug("rowlock: a run has ended", "job", r.of.name, "outcome", outcome)
		close(r.ended)
	})
}

// sendAgain repeats a finish that failed, once more and then as long as the lease lasts, unless the
// run is taken away. A repeated finish answers the same.
func (r *Run) sendAgain(a answer, err error, end time.Duration) (answer, error) {
	l := r.lease
	for failures := 0; errors.Is(err, ErrUnavailable) || errors.Is(err, ErrBusy); failures++ {
		if failures == 0 {
			l.opts.Warn("rowlock: a result could not be stored, and is sent again", "job", r.of.name,
				"error", err)
		}
		rested := sleep(r.taken, now()+pauseAfter(failures))
		if failures > 0 && !(rested && l.Remaining() > 0) {
			l.lose(err)
			break
		}
		a, _, err = borrowed(context.Background(), l.pool, max(end, now()+2*releaseLeast), l.name,
			l.releaseBy)
	}
	return a, err
}

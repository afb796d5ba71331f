// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const askAgain = time.Minute // after an error of one job
const countMost = 1000000    // the server's

// NoRetry, as JobOptions.Retry, repeats no run.
const NoRetry = -1

// JobsOptions of NewJobs.
type JobsOptions struct {
	Limit int           // how many runs at once; 0: 10
	Grace time.Duration // for that long Run waits for runs when its context ends; 0: 10 s; NoWait

	// OnEvent, Warn and Debug are those of Options, for all runs.
	OnEvent     func(Event)
	Warn, Debug func(message string, values ...any)
}

// JobOptions of a job: either Every or Cron, and what differs from the defaults. All nodes must pass
// the same.
type JobOptions struct {
	Every   string        // a period, such as "5m"
	Cron    string        // five fields, or "@daily"; rowlock help cron
	Zone    string        // of Cron, such as "Europe/Berlin"; "": UTC
	TTL     time.Duration // another node takes over from one that died after that; 0: 30 s
	MaxRun  time.Duration // the context of a run ends after that; 0: no limit
	Retry   int           // how often a failed or lost run is repeated; 0: once, if lost; NoRetry
	Backoff time.Duration // before a failed run is repeated; 0: 10 s; NoWait
	Missed  string        // "once", which "" is: one run for all due times that no node saw; "skip"
	AtLeast time.Duration // no other run begins before that, even if this one ends sooner
	History int           // how many runs are kept; 0: 100
	Note    string        // for those that look for the holder
}

// Jobs are those of a program. Each due run is performed by one program of all that have the job.
// The methods may be called by several goroutines.
type Jobs struct {
	pool        *pool
	opts        JobsOptions
	turn        sync.Mutex    // locked while Run or RunDue is active
	slots, wake chan struct{} // one for each run; full: look again

	mutex sync.Mutex
	jobs  []*job
}

// A job. All but its run is for the loop alone.
type job struct {
	name, schedule string
	function       func(context.Context, *Run) error
	opts           Options // of the leases of its runs
	terms          JobOptions

	owner    string // of a claim whose answer is not known
	answered bool
	former   string              // another node's schedule, if that was reported
	ask      time.Duration       // when the server is asked again
	run      atomic.Pointer[Run] // nil: none is active here
}

// claim has the values: job, schedule, owner, ttl_ms, zone, retry, backoff_ms, missed, at_least_ms,
// history, host, pid, program, note.
var claim = call{`SELECT token, (extract(epoch FROM due) * 1000)::bigint, repeats, state,
	(extract(epoch FROM pause) * 1000)::bigint, lost, former_schedule
	FROM rowlock.claim($1::text, $2::text, $3::text, $4` + ms + `, $5::text, $6::integer, $7` + ms +
	`, $8::text, $9` + ms + `, $10::integer, $11::text, $12::bigint, $13::text, $14::text)`,
	`CALL rowlock_claim_row(` + text + `, ` + text + `, ` + text + `, ?, ` + text + `, ?, ?, ` + text +
		`, ?, ?, ` + text + `, ?, ` + text + `, ` + text + `)`}

// A claimed is the answer to a claim; without a token the job is not due, or runs elsewhere.
type claimed struct {
	token, due, repeats, pause, lost sql.NullInt64
	former                           sql.NullString
}

// NewJobs is a program's set of jobs, without one. It borrows a connection of db for each call.
func NewJobs(db *sql.DB, opts JobsOptions) *Jobs {
	opts.Limit, opts.Grace = or(opts.Limit, 10), or(opts.Grace, 10*time.Second)
	if opts.Warn == nil {
		opts.Warn = slog.Warn
	}
	return &Jobs{pool: &pool{db: db}, opts: opts, slots: make(chan struct{}, max(opts.Limit, 0)),
		wake: make(chan struct{}, 1)}
}

// Add defines a job. Its function gets a context that ends when the run is lost (its cause is then a
// *LostError) and after MaxRun (ErrOverrun). An error of it is recorded, and so is a panic. If the
// database does not answer then, the result is sent again as long as the run's lease lasts. Add is
// ErrArgument if a value is wrong or the name is defined already. It does not block; the server
// checks the schedule at the first claim. In an active Run the job is asked for within a minute.
func (j *Jobs) Add(name string, opts JobOptions,
	function func(ctx context.Context, run *Run) error) error {
	added := &job{name: name, schedule: or(opts.Cron, "every "+opts.Every), function: function,
		terms: opts, opts: Options{TTL: opts.TTL, Note: opts.Note, OnEvent: j.opts.OnEvent,
			Warn: j.opts.Warn, Debug: j.opts.Debug}}
	if err := errors.Join(added.complete(j.opts), checkName("name", name, 251),
		added.opts.complete("job")); err != nil {
		return err
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if slices.ContainsFunc(j.jobs, func(other *job) bool { return other.name == name }) {
		return wrong("the job %q is defined already", name)
	}
	j.jobs = append(j.jobs, added)
	return nil
}

// complete checks the options, and sets those that are absent.
func (of *job) complete(all JobsOptions) error {
	o := &of.terms
	switch {
	case all.Limit < 0 || all.Grace < NoWait:
		return wrong("Limit and Grace must not be negative: %d, %v", all.Limit, all.Grace)
	case of.function == nil:
		return wrong("the function of the job %q is nil", of.name)
	case (o.Every == "") == (o.Cron == ""):
		return wrong(`pass Every: "5m" or Cron: "0 3 * * *"`)
	case !isText(o.Every) || !isText(o.Cron) || !isText(o.Zone):
		return wrong("Every, Cron and Zone must be UTF-8 without NUL")
	case o.MaxRun < 0 || o.MaxRun > ttlMost:
		return wrong("MaxRun must be 0 to 100 years, not %v", o.MaxRun)
	case o.Retry < NoRetry || o.Retry > countMost:
		return wrong("Retry must be 0 to %d, or NoRetry, not %d", countMost, o.Retry)
	case o.Backoff < NoWait || o.AtLeast < 0 || max(o.Backoff, o.AtLeast) > 366*24*time.Hour:
		return wrong("Backoff and AtLeast must be 0 to 366 days: %v, %v", o.Backoff, o.AtLeast)
	case o.Missed != "" && o.Missed != "once" && o.Missed != "skip":
		return wrong(`Missed must be "once" or "skip", not %q`, o.Missed)
	case o.History < 0 || o.History > countMost:
		return wrong("History must be 1 to %d, or 0 for 100, not %d", countMost, o.History)
	}
	o.Zone, o.Missed, o.MaxRun = or(o.Zone, "UTC"), or(o.Missed, "once"), or(o.MaxRun, ttlMost)
	o.Backoff, o.History = or(o.Backoff, 10*time.Second), or(o.History, 100)
	return nil
}

func or[T comparable](value, otherwise T) T {
	if value == *new(T) {
		return otherwise
	}
	return value
}

// Run performs the jobs until ctx ends; then it claims no more, and is nil. It waits for the active
// runs, for Grace. Those that remain it ends as lost: their contexts end, another node may begin at
// once, and Run returns within 15 s more, even if a function does not. A run does not hear of the
// end of ctx, but has its values.
//
// A database that does not answer is a warning, and so is a run that fails; Run continues. An error
// that may pass, such as of a server that only reads, is a warning as well, and Run asks for that job
// again after a minute. It returns the error of a job whose first claim was refused, such as for a
// wrong schedule; the text names the job.
func (j *Jobs) Run(ctx context.Context) error {
	return j.active(ctx, func() error {
		for failures := 0; ctx.Err() == nil; {
			_, err := j.askAll(ctx, false)
			next := j.next()
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, ErrUnavailable):
				j.opts.Warn("rowlock: a claim failed, and is repeated", "error", err)
				next, failures = now()+pauseAfter(failures), failures+1
			case err != nil:
				return err
			default:
				failures = 0
			}
			sleep(j.wake, next)
		}
		return nil
	})
}

// RunDue performs what is due now, waits for these runs, and returns how many they were. It asks for
// each job once: if the database does not answer, it is ErrUnavailable. When ctx ends, it ends as
// Run does, with the error of ctx.
func (j *Jobs) RunDue(ctx context.Context) (count int, err error) {
	err = j.active(ctx, func() error {
		runs, err := j.askAll(ctx, true)
		count = len(runs)
		for _, run := range runs {
			select {
			case <-run.ended:
			case <-ctx.Done():
			}
		}
		return or(ctx.Err(), err)
	})
	return count, err
}

// active calls do, and ends the runs that are active after it.
func (j *Jobs) active(ctx context.Context, do func() error) error {
	if !j.turn.TryLock() {
		return errors.New("rowlock: Run or RunDue of these jobs is active already")
	}
	defer j.turn.Unlock()
	defer context.AfterFunc(ctx, j.look)()
	defer j.stop()
	return do()
}

// stop waits for the runs, and then ends them.
func (j *Jobs) stop() {
	end := now() + max(j.opts.Grace, 0)
	for _, each := range j.all() {
		if run := each.run.Load(); run != nil {
			go func() {
				if sleep(run.ended, end) {
					run.taking.Do(func() { close(run.taken) })
					run.end("lost", "the program ends", true)
				}
			}()
			defer func() { <-run.ended }()
		}
	}
}

// askAll claims the jobs whose time has come, or each, and begins their runs. It waits while there
// are as many runs as are allowed. A job that is refused at its first claim is wrong, unless the
// error may pass and the loop asks again.
func (j *Jobs) askAll(ctx context.Context, each bool) (runs []*Run, err error) {
	for _, of := range j.all() {
		if of.run.Load() != nil || !each && now() < of.ask {
			continue
		}
		select {
		case j.slots <- struct{}{}:
		case <-ctx.Done():
			return runs, nil
		}
		run, err := j.ask(ctx, of)
		if run != nil {
			runs = append(runs, run)
			continue
		}
		<-j.slots
		switch {
		case errors.Is(err, ErrUnavailable) || err != nil && !of.answered && (each || !passes(err)):
			return runs, &failure{text: `the job "` + of.name + `"`, cause: err}
		case err != nil:
			of.ask = now() + askAgain
			of.opts.Warn("rowlock: a claim failed", "job", of.name, "error", err)
		}
	}
	return runs, nil
}

// ask claims one job. After an unknown reply the owner is the same. The end of ctx does not cut the
// call: a run that is granted after it would be nobody's until its TTL.
func (j *Jobs) ask(ctx context.Context, of *job) (*Run, error) {
	owner, err := newOwner()
	if err != nil {
		return nil, err
	}
	of.owner = or(of.owner, owner)
	r := requester{pool: j.pool, name: "job:" + of.name, opts: of.opts, owner: of.owner, began: now()}
	c, _, err := borrowed(context.WithoutCancel(ctx), j.pool, r.began+replyMost, r.name,
		func(ctx context.Context, s session) (c claimed, err error) {
			err = s.row(ctx, claim, of.values()...).
				Scan(&c.token, &c.due, &c.repeats, new(any), &c.pause, &c.lost, &c.former)
			return c, err
		})
	if err != nil {
		return nil, err
	}
	of.owner, of.answered, of.ask = "", true, 0
	if c.lost.Int64 != 0 {
		of.opts.Warn("rowlock: the previous run was lost", "job", of.name, "token", c.lost.Int64)
	}
	if c.former.String != "" && c.former.String != of.former {
		of.former = c.former.String
		of.opts.Warn("rowlock: another node has another schedule", "job", of.name, "schedule",
			of.former, "here", of.schedule)
	}
	if !c.token.Valid {
		of.ask = now() + time.Duration(c.pause.Int64)*time.Millisecond
		return nil, nil
	}
	lease, held := r.hold(context.WithoutCancel(ctx), c.token.Int64, r.began)
	run := &Run{lease: lease, of: of, claimed: c, until: now() + of.terms.MaxRun,
		ended: make(chan struct{}), taken: make(chan struct{})}
	of.run.Store(run)
	go run.carryOut(held, j, ctx.Err() != nil)
	return run, nil
}

func (of *job) values() []any {
	retry := any(int64(max(of.terms.Retry, 0)))
	if of.terms.Retry == 0 {
		retry = nil
	}
	return append([]any{of.name, of.schedule, of.owner, of.opts.TTL.Milliseconds(), of.terms.Zone,
		retry, max(of.terms.Backoff, 0).Milliseconds(), of.terms.Missed,
		of.terms.AtLeast.Milliseconds(), int64(of.terms.History)}, process(of.opts.Note)...)
}

// next is when the server is asked next; a minute from now, if all jobs are active.
func (j *Jobs) next() time.Duration {
	next := now() + askAgain
	for _, each := range j.all() {
		if each.run.Load() == nil {
			next = min(next, each.ask)
		}
	}
	return next
}

// look ends a pause of Run.
func (j *Jobs) look() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *Jobs) all() []*job {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return slices.Clone(j.jobs)
}

// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"rowlock.example/rowlock"
	"rowlock.example/rowlock/schedulers/cronlock"
)

// once is a schedule with one tick, soon.
type once struct{ asked bool }

func (o *once) Next(now time.Time) time.Time {
	if o.asked {
		return time.Time{} // never
	}
	o.asked = true
	return now
}

// ticks performs one tick of a scheduler, and waits for its end.
func ticks(job cron.Job) {
	ran := make(chan bool)
	scheduler := cron.New()
	scheduler.Schedule(&once{}, cron.FuncJob(func() {
		defer close(ran)
		job.Run()
	}))
	scheduler.Start()
	<-ran
	<-scheduler.Stop().Done()
}

func TestOneOfTwoCronsPerformsATick(t *testing.T) {
	db, opts, runs, others := open(t), quiet, 0, 0
	opts.Debug = func(message string, values ...any) {
		if err, is := values[3].(error); is && errors.Is(err, rowlock.ErrBusy) {
			others++
		}
	}
	chain := cron.NewChain(cronlock.Once(db, "mail", time.Hour, opts))
	for range [2]int{} {
		ticks(chain.Then(cron.FuncJob(func() { runs++ })))
	}
	equal(t, fmt.Sprint(runs, others), "1 1")
	command(t, "break", "--now", "mail")
	ticks(chain.Then(cron.FuncJob(func() { runs++ })))
	equal(t, runs, 2)
	command(t, "break", "--now", "mail")
}

func TestAPanicReleases(t *testing.T) {
	db, recovered := open(t), atomic.Bool{}
	logger := cron.PrintfLogger(printer(func(string, ...any) { recovered.Store(true) }))
	ticks(cron.NewChain(cron.Recover(logger), cronlock.Once(db, "mail", 0, quiet)).
		Then(cron.FuncJob(func() { panic("no mail server") })))
	equal(t, recovered.Load(), true)
	equal(t, command(t, "ls"), "")
}

type printer func(string, ...any)

func (p printer) Printf(format string, values ...any) { p(format, values...) }

func TestAJobHearsOfALoss(t *testing.T) {
	var warnings []string
	opts := rowlock.Options{TTL: time.Second, Warn: func(message string, values ...any) {
		warnings = append(warnings, message)
	}}
	ticks(cronlock.Job(open(t), "mail", 0, opts,
		func(ctx context.Context, lease *rowlock.Lease) error {
			fine(t, lease.Check())
			command(t, "break", "mail")
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), rowlock.ErrLost) {
				t.Error(context.Cause(ctx))
			}
			return ctx.Err()
		}))
	equal(t, fmt.Sprint(warnings), "[rowlock: the lease is lost rowlock: a job failed]")
}

func TestADatabaseThatDoesNotAnswerIsAWarning(t *testing.T) {
	db, err := opened()
	fine(t, err)
	fine(t, db.Close())
	warned := false
	opts := rowlock.Options{Warn: func(string, ...any) { warned = true }}
	ticks(cron.NewChain(cronlock.Once(db, "mail", 0, opts)).
		Then(cron.FuncJob(func() { t.Error("it ran") })))
	equal(t, warned, true)
}

// SPDX-License-Identifier: Apache-2.0

// Package cronlock lets one of all programs with the same job perform each tick of
// github.com/robfig/cron/v3, by leases of rowlock.
package cronlock

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"rowlock.example/rowlock"
	"rowlock.example/rowlock/schedulers/internal/tick"
)

// Once is a wrapper for the chain of one job. The job runs if the lease of name can be acquired
// without waiting, else not. The name stays taken for atLeast after the start of a tick, even if the
// job ends sooner, or its program. Choose it longer than the clocks of the programs differ, and
// shorter than the period of the job. Of opts, Wait is not used; TTL is at least atLeast.
//
// A tick that another program performs is a message of opts.Debug; another error, such as
// rowlock.ErrUnavailable after 5 s, is one of opts.Warn.
func Once(db *sql.DB, name string, atLeast time.Duration, opts rowlock.Options) cron.JobWrapper {
	return func(job cron.Job) cron.Job {
		return Job(db, name, atLeast, opts, func(context.Context, *rowlock.Lease) error {
			job.Run()
			return nil
		})
	}
}

// Job is a job as Once makes it, from a function that hears of a loss: its context ends before
// another program can perform the job. An error of the function is a message of opts.Warn.
func Job(db *sql.DB, name string, atLeast time.Duration, opts rowlock.Options,
	function func(ctx context.Context, lease *rowlock.Lease) error) cron.Job {
	warn, debug := opts.Warn, opts.Debug
	if warn == nil {
		warn = slog.Warn
	}
	if debug == nil {
		debug = func(string, ...any) {}
	}
	return cron.FuncJob(func() {
		err := perform(db, name, atLeast, opts, function)
		if errors.Is(err, rowlock.ErrBusy) {
			debug("rowlock: another program performs the job", "name", name, "error", err)
		} else if err != nil {
			warn("rowlock: a job failed", "name", name, "error", err)
		}
	})
}

// perform calls the function under the lease, which it also releases after a panic.
func perform(db *sql.DB, name string, atLeast time.Duration, opts rowlock.Options,
	function func(context.Context, *rowlock.Lease) error) (err error) {
	held, err := tick.Acquire(context.Background(), db, name, atLeast, opts)
	if err != nil {
		return err
	}
	defer func() {
		if failed := held.Release(); err == nil {
			err = failed
		}
	}()
	return function(held.Context, held.Lease)
}

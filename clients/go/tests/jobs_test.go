// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rowlock.example/rowlock"
)

const far = "50w" // a period that does not come due during a test; a new job is due at once

type perform = func(context.Context, *rowlock.Run) error

// ran is a run in the history.
type ran struct {
	Outcome, Output string
	Exit, Repeat    int
}

// history has the runs of a job, the latest first.
func history(t *testing.T, job string) []ran {
	t.Helper()
	var jobs []struct{ History []ran }
	fine(t, json.Unmarshal([]byte(command(t, "--json", "jobs", job)), &jobs))
	return jobs[0].History
}

func outcome(t *testing.T, job string) string {
	t.Helper()
	return history(t, job)[0].Outcome
}

// openForJobs opens the database, which has no job then.
func openForJobs(t *testing.T) *sql.DB {
	t.Helper()
	var jobs []struct{ Name string }
	fine(t, json.Unmarshal([]byte(command(t, "--json", "jobs")), &jobs))
	for _, job := range jobs {
		command(t, "jobs", job.Name, "--forget")
	}
	return open(t)
}

func jobOf(t *testing.T, db *sql.DB, of rowlock.JobOptions, function perform) *rowlock.Jobs {
	t.Helper()
	jobs := rowlock.NewJobs(db, rowlock.JobsOptions{})
	if of.Every == "" && of.Cron == "" {
		of.Every = far
	}
	fine(t, jobs.Add("j", of, function))
	return jobs
}

func nothing(context.Context, *rowlock.Run) error { return nil }

// due performs so many runs.
func due(t *testing.T, jobs *rowlock.Jobs, want int) {
	t.Helper()
	if count, err := jobs.RunDue(background); err != nil || count != want {
		t.Errorf("%d runs instead of %d: %v", count, want, err)
	}
}

func TestAnErrorIsRecordedWithItsText(t *testing.T) {
	db := openForJobs(t)
	opts, warned := warnings()
	jobs := rowlock.NewJobs(db, opts)
	of := rowlock.JobOptions{Every: far, Retry: 1, Backoff: rowlock.NoWait}
	fine(t, jobs.Add("j", of, func(_ context.Context, run *rowlock.Run) error {
		run.Note("a note")
		return errors.New("no mail\n" + strings.Repeat("x", 3000) + "no server: \u00e9\x00\xff")
	}))
	due(t, jobs, 1)
	due(t, jobs, 1)
	due(t, jobs, 0)
	for i, run := range history(t, "j") {
		if run.Outcome != "failed" || run.Exit != 1 || run.Repeat != 1-i || len(run.Output) != 2048 ||
			!strings.HasSuffix(run.Output, "no server: \u00e9??") {
			t.Errorf("%+v", run)
		}
	}
	want := fmt.Sprint("rowlock: a run failed", "job", "j", "outcome", "failed", "error", "no mail")
	if !slices.Equal(*warned, []string{want, want}) {
		t.Errorf("warned: %q", *warned)
	}
}

func panicking() error { panic("no mail server") }

func TestAPanicIsRecordedAndEndsNothing(t *testing.T) {
	db := openForJobs(t)
	warned := make(chan string, 9)
	jobs := rowlock.NewJobs(db, rowlock.JobsOptions{
		Warn: func(message string, _ ...any) { warned <- message }})
	fine(t, jobs.Add("panics", rowlock.JobOptions{Every: far, Backoff: rowlock.NoWait},
		func(context.Context, *rowlock.Run) error { return panicking() }))
	fine(t, jobs.Add("exits", rowlock.JobOptions{Every: far},
		func(context.Context, *rowlock.Run) error { runtime.Goexit(); return nil }))
	due(t, jobs, 2)
	due(t, jobs, 0) // by default only a lost run is repeated
	run := history(t, "panics")[0]
	if run.Outcome != "failed" || !strings.HasSuffix(run.Output, "\npanic: no mail server") ||
		!strings.Contains(run.Output, "tests.panicking") || <-warned != "rowlock: a job panicked" {
		t.Errorf("%+v", run)
	}
	if run = history(t, "exits")[0]; run.Outcome != "failed" ||
		run.Output != "the function has called runtime.Goexit" {
		t.Errorf("%+v", run)
	}
}

func TestARunThatExceedsMaxRunHearsOfIt(t *testing.T) {
	of := rowlock.JobOptions{MaxRun: 200 * time.Millisecond}
	var cause, checked error
	jobs := jobOf(t, openForJobs(t), of, func(ctx context.Context, run *rowlock.Run) error {
		<-ctx.Done()
		cause, checked = context.Cause(ctx), run.Check()
		return ctx.Err()
	})
	due(t, jobs, 1)
	mustBe(t, cause, rowlock.ErrOverrun)
	mustBe(t, checked, rowlock.ErrOverrun)
	if run := history(t, "j")[0]; run.Outcome != "timed out" || run.Output != "context canceled" {
		t.Errorf("%+v", run)
	}
}

func TestABrokenRunHearsOfIt(t *testing.T) {
	of := rowlock.JobOptions{TTL: 6 * time.Second} // renewed after 2 s
	var cause error
	jobs := jobOf(t, openForJobs(t), of, func(ctx context.Context, run *rowlock.Run) error {
		command(t, "break", "job:j")
		<-ctx.Done()
		cause = context.Cause(ctx)
		mustBe(t, run.Check(), rowlock.ErrLost)
		return nil
	})
	due(t, jobs, 1)
	var gone *rowlock.LostError
	if !errors.As(cause, &gone) || !strings.HasPrefix(gone.Reason, "was broken") {
		t.Errorf("cause: %v", cause)
	}
	if got := outcome(t, "j"); got != "broken" {
		t.Error(got)
	}
}

// A fence refuses a run whose lease the server has removed, before the run hears of that.
func TestAFenceRefusesALostRun(t *testing.T) {
	db := openForJobs(t)
	jobs := jobOf(t, db, rowlock.JobOptions{}, func(ctx context.Context, run *rowlock.Run) error {
		command(t, "break", "--now", "job:j")
		tx := begin(t, db, "y")
		defer func() { _ = tx.Rollback() }()
		return run.Fence(ctx, tx)
	})
	due(t, jobs, 1)
	run := history(t, "j")[0]
	if run.Outcome != "broken" || !strings.HasPrefix(run.Output, `the lease of "job:j" is lost`) {
		t.Errorf("%+v", run)
	}
}

func TestALostReplyOfAClaimIsRepeatedByTheSameOwner(t *testing.T) {
	openForJobs(t)
	p := newProxy(t)
	p.misbehave("a lost reply", 0)
	jobs := jobOf(t, p.open(t), rowlock.JobOptions{Note: "a lost reply"}, nothing)
	_, err := jobs.RunDue(background)
	mustBe(t, err, rowlock.ErrUnavailable)
	due(t, jobs, 1)
	if got := history(t, "j"); len(got) != 1 || got[0].Outcome != "done" || got[0].Repeat != 0 {
		t.Errorf("%+v", got)
	}
}

const sentAgain = "could not be stored, and is sent again"

// leaving is a job whose database is away when its function returns. heard is called at the first
// warning that the result is sent again; the warnings are collected.
func leaving(t *testing.T, p *proxy, opts rowlock.JobsOptions,
	heard func()) (*rowlock.Jobs, *[]string) {
	t.Helper()
	collect, warned := warnings()
	opts.Warn = func(message string, values ...any) {
		collect.Warn(message, values...)
		if strings.Contains(message, sentAgain) {
			heard()
		}
	}
	jobs := rowlock.NewJobs(p.open(t), opts)
	of := rowlock.JobOptions{Every: far, TTL: time.Hour, Retry: 1, Backoff: rowlock.NoWait}
	fine(t, jobs.Add("j", of, func(_ context.Context, run *rowlock.Run) error {
		run.Note("37 prices")
		p.leave()
		return nil
	}))
	return jobs, warned
}

func TestAResultIsSentAgainWhenTheDatabaseIsBack(t *testing.T) {
	openForJobs(t)
	p := newProxy(t)
	jobs, warned := leaving(t, p, rowlock.JobsOptions{}, p.come)
	due(t, jobs, 1)
	p.come()
	due(t, jobs, 0) // it is not repeated
	want := []ran{{Outcome: "done", Output: "37 prices"}}
	if got := history(t, "j"); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if len(*warned) != 1 || !strings.Contains((*warned)[0], sentAgain) {
		t.Errorf("warned: %q", *warned)
	}
}

// The lease lasts for an hour, but Run returns.
func TestAProgramThatEndsSendsAResultNoMore(t *testing.T) {
	openForJobs(t)
	p := newProxy(t)
	ctx, end := context.WithCancel(background)
	defer end()
	jobs, warned := leaving(t, p, rowlock.JobsOptions{Grace: rowlock.NoWait}, end)
	fine(t, jobs.Run(ctx))
	last := (*warned)[len(*warned)-1]
	if !strings.Contains((*warned)[0], sentAgain) || !strings.Contains(last, "the lease is lost") {
		t.Errorf("warned: %q", *warned)
	}
	command(t, "break", "--now", "job:j")
}

// TestNode is no test, but the program of another node.
func TestNode(t *testing.T) {
	what := os.Getenv("ROWLOCK_TEST_NODE")
	if what == "" {
		t.Skip()
	}
	ctx, stop := signal.NotifyContext(background, syscall.SIGTERM)
	defer stop()
	jobs := rowlock.NewJobs(openAt(t, address(t).Host, address(t).Path),
		rowlock.JobsOptions{Grace: 500 * time.Millisecond})
	fine(t, jobs.Add("j", rowlock.JobOptions{Every: far, TTL: 5 * time.Second},
		func(ctx context.Context, run *rowlock.Run) error {
			fmt.Println("began")
			if what == "waits" {
				<-ctx.Done()
				fmt.Println(context.Cause(ctx))
				select {} // a function that does not end
			}
			return nil
		}))
	fine(t, jobs.Run(ctx))
	fmt.Println("ended")
}

// A node is a process that performs the job, and its output.
type node struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, what string) node {
	t.Helper()
	program := exec.Command(os.Args[0], "-test.run", "^TestNode$")
	program.Env = append(os.Environ(), "ROWLOCK_TEST_NODE="+what)
	output, err := program.StdoutPipe()
	fine(t, err)
	fine(t, program.Start())
	t.Cleanup(func() { _ = program.Process.Kill() })
	n := node{program, bufio.NewScanner(output)}
	n.prints(t, "began")
	return n
}

func (n node) prints(t *testing.T, want string) {
	t.Helper()
	if !n.lines.Scan() || !strings.Contains(n.lines.Text(), want) {
		t.Fatalf("%q instead of %q", n.lines.Text(), want)
	}
}

func TestANodeThatEndsGivesTheRunToAnotherAtOnce(t *testing.T) {
	db := openForJobs(t)
	ending := start(t, "waits")
	fine(t, ending.Process.Signal(syscall.SIGTERM))
	ending.prints(t, `the lease of "job:j" is lost: stop the work done under it (the program ends)`)
	ending.prints(t, "ended")
	if got := outcome(t, "j"); got != "lost" {
		t.Error(got)
	}
	opts, warned := warnings()
	jobs := rowlock.NewJobs(db, opts)
	fine(t, jobs.Add("j", rowlock.JobOptions{Every: far}, nothing))
	due(t, jobs, 1)
	if len(*warned) != 1 || !strings.Contains((*warned)[0], "the previous run was lost") {
		t.Errorf("warned: %q", *warned)
	}
}

// warnings are options that collect them.
func warnings() (rowlock.JobsOptions, *[]string) {
	warned := new([]string)
	return rowlock.JobsOptions{Warn: func(message string, values ...any) {
		*warned = append(*warned, fmt.Sprint(append([]any{message}, values...)...))
	}}, warned
}

func TestAnotherScheduleIsAWarning(t *testing.T) {
	db := openForJobs(t)
	opts, warned := warnings()
	jobs := rowlock.NewJobs(db, opts)
	fine(t, jobs.Add("j", rowlock.JobOptions{Every: "51w"}, nothing))
	for range [2]int{} { // the warning is logged once
		command(t, "job", "j", "--every", far, "--", "true")
		due(t, jobs, 0)
	}
	if len(*warned) != 1 || !strings.Contains((*warned)[0], "another node has another schedule") ||
		!strings.Contains((*warned)[0], "every "+far) {
		t.Errorf("warned: %q", *warned)
	}
}

func TestAWrongScheduleIsRefused(t *testing.T) {
	db := openForJobs(t)
	jobs := jobOf(t, db, rowlock.JobOptions{Cron: "60 * * * *"}, nothing)
	_, err := jobs.RunDue(background)
	for _, err := range []error{err, jobs.Run(background)} {
		if err == nil || !strings.HasPrefix(err.Error(), `the job "j": `) ||
			!strings.Contains(err.Error(), "allowed are 0 to 59") || errors.Unwrap(err) == nil {
			t.Error(err)
		}
	}
}

func TestWrongArgumentsAreRefusedWhenTheJobIsDefined(t *testing.T) {
	db := openForJobs(t)
	hourly := func(change func(*rowlock.JobOptions)) rowlock.JobOptions {
		of := rowlock.JobOptions{Every: "1h"}
		change(&of)
		return of
	}
	jobs := jobOf(t, db, rowlock.JobOptions{}, nothing)
	for what, of := range map[string]rowlock.JobOptions{
		"no schedule":   {},
		"two schedules": hourly(func(of *rowlock.JobOptions) { of.Cron = "@daily" }),
		"a zone":        hourly(func(of *rowlock.JobOptions) { of.Zone = "UTC\x00" }),
		"a TTL":         hourly(func(of *rowlock.JobOptions) { of.TTL = time.Millisecond }),
		"MaxRun":        hourly(func(of *rowlock.JobOptions) { of.MaxRun = -1 }),
		"Retry":         hourly(func(of *rowlock.JobOptions) { of.Retry = -2 }),
		"Backoff":       hourly(func(of *rowlock.JobOptions) { of.Backoff = 367 * 24 * time.Hour }),
		"Missed":        hourly(func(of *rowlock.JobOptions) { of.Missed = "never" }),
		"AtLeast":       hourly(func(of *rowlock.JobOptions) { of.AtLeast = -1 }),
		"History":       hourly(func(of *rowlock.JobOptions) { of.History = -1 }),
		"a note":        hourly(func(of *rowlock.JobOptions) { of.Note = "\xff" }),
	} {
		if err := jobs.Add("k", of, nothing); !errors.Is(err, rowlock.ErrArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
	fits := rowlock.JobOptions{Every: "1h"}
	mustBe(t, jobs.Add("j", fits, nothing), rowlock.ErrArgument) // twice
	mustBe(t, jobs.Add("", fits, nothing), rowlock.ErrArgument)
	mustBe(t, jobs.Add("k", fits, nil), rowlock.ErrArgument)
	mustBe(t, jobs.Add(strings.Repeat("x", 252), fits, nothing), rowlock.ErrArgument)
	fine(t, jobs.Add(strings.Repeat("x", 251), fits, nothing))
	for _, opts := range []rowlock.JobsOptions{{Limit: -1}, {Grace: -2}} {
		mustBe(t, rowlock.NewJobs(db, opts).Add("j", fits, nothing), rowlock.ErrArgument)
	}
}

// All options together are accepted, and the longest name.
func TestAllOptions(t *testing.T) {
	db, name := openForJobs(t), strings.Repeat("x", 251)
	of := rowlock.JobOptions{Every: far, TTL: time.Minute, MaxRun: time.Hour, Retry: rowlock.NoRetry,
		Backoff: time.Millisecond, Missed: "skip", AtLeast: time.Millisecond, History: 1, Zone: "+02:00",
		Note: "it's blåbær"}
	jobs := rowlock.NewJobs(db, rowlock.JobsOptions{})
	fine(t, jobs.Add(name, of, func(context.Context, *rowlock.Run) error {
		time.Sleep(2 * of.AtLeast) // so that no lease is left
		return errBody
	}))
	due(t, jobs, 1)
	due(t, jobs, 0) // NoRetry
	if got := history(t, name); len(got) != 1 || got[0].Outcome != "failed" {
		t.Errorf("%+v", got)
	}
}

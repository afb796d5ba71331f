// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// endOf performs a job on a stub that calls claimed at its claim, and returns the outcome.
func endOf(t *testing.T, of JobOptions, claimed func(end func()),
	function func(context.Context, *Run) error) string {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	outcomes := make(chan string, 9)
	db := sql.OpenDB(stub(func(_ context.Context, statement string) error {
		if strings.Contains(statement, "claim") {
			claimed(end)
		}
		if outcome, is := strings.CutPrefix(statement, "finish: "); is {
			outcomes <- outcome
		}
		return nil
	}))
	of.Every = "1h"
	jobs := NewJobs(db, JobsOptions{Warn: func(string, ...any) {}})
	err := jobs.Add("x", of, function)
	if err == nil {
		_, err = jobs.RunDue(ctx)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case outcome := <-outcomes:
		return outcome
	case <-time.After(time.Minute):
		return "nothing is recorded"
	}
}

func TestARunIsNotStarted(t *testing.T) {
	for what, claimed := range map[string]func(func()){
		"the answer came too late": func(func()) { suspend(2 * time.Second) },
		"the program ends":         func(end func()) { end() },
	} {
		got := endOf(t, JobOptions{TTL: time.Second}, claimed, func(context.Context, *Run) error {
			t.Error("it ran")
			return nil
		})
		if got != "not started" {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// The context ends during a claim, which the server grants later than a request could end.
func TestARunThatIsGrantedAfterTheEndIsGivenBack(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	outcomes := make(chan string, 1)
	jobs := NewJobs(sql.OpenDB(stub(func(ctx context.Context, statement string) error {
		if outcome, is := strings.CutPrefix(statement, "finish: "); is {
			outcomes <- outcome
		} else if strings.Contains(statement, "claim") {
			end()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(interruptMost * 5 / 4):
			}
		}
		return nil
	})), JobsOptions{Warn: func(string, ...any) {}})
	err := jobs.Add("x", JobOptions{Every: "50w"}, func(context.Context, *Run) error {
		t.Error("it ran")
		return nil
	})
	if err = errors.Join(err, jobs.Run(ctx)); err != nil || len(outcomes) == 0 {
		t.Fatal("it is nobody's: ", err)
	}
	if got := <-outcomes; got != "not started" {
		t.Error(got)
	}
}

// firstClaim performs a job whose first claim fails, by Run and by RunDue. After the warning a minute
// passes. It returns the errors of both, and whether the job ran.
func firstClaim(t *testing.T, failure error) (errs [2]error, ran bool) {
	t.Helper()
	for i := range errs {
		ctx, end := context.WithCancel(context.Background())
		defer end()
		claims := 0
		jobs := NewJobs(sql.OpenDB(stub(func(_ context.Context, statement string) error {
			if !strings.Contains(statement, "claim") {
				return nil
			}
			if claims++; claims == 1 {
				return failure
			}
			return nil
		})), JobsOptions{Warn: func(string, ...any) { suspend(time.Minute) }})
		err := jobs.Add("x", JobOptions{Every: "50w"}, func(context.Context, *Run) error {
			ran = true
			end()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			errs[i] = jobs.Run(ctx)
		} else {
			_, errs[i] = jobs.RunDue(ctx)
		}
	}
	return errs, ran
}

func TestAnErrorOfTheServerAtTheFirstClaimMayPass(t *testing.T) {
	for _, failure := range []error{coded("57014"), coded("55P03"), &numbered{Number: 1290}} {
		if errs, ran := firstClaim(t, failure); errs[0] != nil || !ran || errs[1] == nil {
			t.Errorf("%#v: %v", failure, errs)
		}
	}
	for _, failure := range []error{coded("22003"), coded("RL003"), coded("42883"),
		&numbered{Number: 1264}, errors.New("sql: converting argument")} {
		errs, ran := firstClaim(t, failure)
		if ran || !errors.Is(errs[0], failure) || !errors.Is(errs[1], failure) {
			t.Errorf("%#v: %v", failure, errs)
		}
	}
}

func TestMaxRunCountsASuspend(t *testing.T) {
	of := JobOptions{TTL: 3 * time.Hour, MaxRun: time.Hour}
	got := endOf(t, of, func(func()) {}, func(ctx context.Context, _ *Run) error {
		suspend(61 * time.Minute)
		if err := endsSoon(ctx); !errors.Is(err, context.Canceled) || context.Cause(ctx) != ErrOverrun {
			t.Errorf("%v: %v", err, context.Cause(ctx))
		}
		return nil
	})
	if got != "timed out" {
		t.Error(got)
	}
}

func TestARunThatOutlivedItsLeaseIsLost(t *testing.T) {
	got := endOf(t, JobOptions{}, func(func()) {}, func(context.Context, *Run) error {
		suspend(time.Minute)
		return nil
	})
	if got != "lost" {
		t.Error(got)
	}
}

func TestALossOfAnotherLeaseIsAFailure(t *testing.T) {
	for name, want := range map[string]string{"job:x": "lost", "x": "failed"} {
		got := endOf(t, JobOptions{}, func(func()) {}, func(context.Context, *Run) error {
			return fmt.Errorf("it is %w", &LostError{Name: name})
		})
		if got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTheEndOfALongTextIsKept(t *testing.T) {
	for _, text := range []string{"", "ends", strings.Repeat("x", outputMost) + "ends",
		strings.Repeat("\u00e9", outputMost) + "ends", "\x00\xff ends"} {
		got := tail(text)
		if len(got) > outputMost || !strings.HasSuffix(got, text[max(0, len(text)-4):]) ||
			!isText(got) {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}

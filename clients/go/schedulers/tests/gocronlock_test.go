// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"rowlock.example/rowlock"
	"rowlock.example/rowlock/schedulers/gocronlock"
)

// A node is a scheduler with a clock of its own, and the job mail each minute.
type node struct {
	gocron.Scheduler
	locker  *gocronlock.Locker
	clock   *clockwork.FakeClock
	refused chan error // of ticks that it does not perform
}

func newNode(t *testing.T, db *sql.DB, atLeast time.Duration, job any) *node {
	t.Helper()
	n := &node{locker: gocronlock.New(db, atLeast, quiet), clock: clockwork.NewFakeClock(),
		refused: make(chan error, 1)}
	var err error
	n.Scheduler, err = gocron.NewScheduler(gocron.WithDistributedLocker(n.locker),
		gocron.WithClock(n.clock))
	fine(t, err)
	_, err = n.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(job), gocron.WithName("mail"),
		gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) {
			n.refused <- err
		})))
	fine(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown() })
	return n
}

// tick makes the job due.
func (n *node) tick() {
	n.clock.BlockUntilContext(context.Background(), 1)
	n.clock.Advance(time.Minute)
}

// isRefused: the tick of a node is performed by another one.
func (n *node) isRefused(t *testing.T) {
	t.Helper()
	n.tick()
	if err := <-n.refused; !errors.Is(err, rowlock.ErrBusy) {
		t.Error(err)
	}
}

func (n *node) untilUnlocked() {
	for n.locker.Lease("mail") != nil {
		time.Sleep(time.Millisecond)
	}
}

func TestOneOfTwoSchedulersPerformsEachTickAlthoughTheJobIsShortAndTheirClocksDiffer(t *testing.T) {
	db, runs := open(t), make(chan bool, 10)
	job := func() { runs <- true }
	early, late := newNode(t, db, time.Hour, job), newNode(t, db, time.Hour, job)
	for range [2]int{} {
		early.tick()
		<-runs
		early.untilUnlocked()
		late.isRefused(t)
		command(t, "break", "--now", "mail") // the next tick is not an hour later
		early, late = late, early
	}
	equal(t, len(runs), 0)
}

func TestALongJobExcludesOtherSchedulersUntilItsEnd(t *testing.T) {
	db, begun := open(t), make(chan context.Context)
	end := make(chan bool)
	job := func(ctx context.Context) {
		begun <- ctx
		<-end
	}
	first, second := newNode(t, db, 0, job), newNode(t, db, 0, job)
	first.tick()
	ctx := <-begun
	fine(t, first.locker.Lease("mail").Check())
	second.isRefused(t)
	ended := make(chan error)
	go func() { ended <- first.Shutdown() }()
	<-ctx.Done()
	second.isRefused(t)
	end <- true
	fine(t, <-ended)
	untilFree(t)
	second.tick()
	<-begun
	end <- true
	second.untilUnlocked()
}

func TestANameIsReleasedAfterItsTime(t *testing.T) {
	runs := make(chan bool)
	n := newNode(t, open(t), 100*time.Millisecond, func() { runs <- true })
	n.tick()
	<-runs
	untilFree(t)
	n.tick()
	<-runs
}

func TestALostLeaseIsReported(t *testing.T) {
	db, checked := open(t), make(chan error)
	var n *node
	n = newNode(t, db, 0, func() {
		lease := n.locker.Lease("mail")
		command(t, "break", "--now", "mail")
		tx, err := db.Begin()
		fine(t, err)
		defer tx.Rollback()
		checked <- lease.Fence(context.Background(), tx)
	})
	n.tick()
	if err := <-checked; !errors.Is(err, rowlock.ErrLost) {
		t.Error(err)
	}
}

func TestAProgramThatIsKilled(t *testing.T) {
	db := open(t)
	locker := gocronlock.New(db, 0, quiet)
	t.Run("after its job keeps the tick", func(t *testing.T) {
		killed(t, "after")
		_, err := locker.Lock(context.Background(), "mail")
		if !errors.Is(err, rowlock.ErrBusy) {
			t.Error(err)
		}
		command(t, "break", "--now", "mail")
	})
	t.Run("during its job is replaced", func(t *testing.T) {
		killed(t, "during")
		lock, err := locker.Lock(context.Background(), "mail")
		for errors.Is(err, rowlock.ErrBusy) {
			time.Sleep(20 * time.Millisecond)
			lock, err = locker.Lock(context.Background(), "mail")
		}
		fine(t, err)
		fine(t, lock.Unlock(context.Background()))
	})
}

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

// tick makes the job due. It may be called once: when a clock jumps while gocron still notes the
// former tick, gocron repeats that.
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
	for range [2]int{} {
		early, late := newNode(t, db, time.Hour, job), newNode(t, db, time.Hour, job)
		early.tick()
		<-runs
		early.untilUnlocked()
		late.isRefused(t)
		command(t, "break", "--now", "mail") // the next tick is not an hour later
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
	first, next := newNode(t, db, 0, job), newNode(t, db, 0, job)
	first.tick()
	ctx := <-begun
	fine(t, first.locker.Lease("mail").Check())
	newNode(t, db, 0, job).isRefused(t)
	ended := make(chan error)
	go func() { ended <- first.Shutdown() }()
	<-ctx.Done()
	newNode(t, db, 0, job).isRefused(t)
	end <- true
	fine(t, <-ended)
	untilFree(t)
	next.tick()
	<-begun
	end <- true
	next.untilUnlocked()
}

func TestANameIsReleasedAfterItsTime(t *testing.T) {
	db, runs := open(t), make(chan bool)
	for range [2]int{} {
		newNode(t, db, 100*time.Millisecond, func() { runs <- true }).tick()
		<-runs
		untilFree(t)
	}
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

// SPDX-License-Identifier: Apache-2.0

// The tests run on PostgreSQL: ROWLOCK_TEST_URL.
package tests

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/robfig/cron/v3"

	"rowlock.example/rowlock"
	"rowlock.example/rowlock/schedulers/cronlock"
)

// quiet hears of the losses that the tests cause.
var quiet = rowlock.Options{Warn: func(string, ...any) {}}

func opened() (*sql.DB, error) {
	return sql.Open("pgx", os.Getenv("ROWLOCK_TEST_URL")+"?sslmode=disable")
}

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := opened()
	fine(t, err)
	t.Cleanup(func() {
		untilFree(t)
		db.Close()
	})
	return db
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, words ...string) string {
	t.Helper()
	words = append([]string{"--db", os.Getenv("ROWLOCK_TEST_URL")}, words...)
	output, err := exec.Command(os.Getenv("ROWLOCK"), words...).Output()
	if err != nil {
		t.Errorf("%v: %v", words, err)
	}
	return string(output)
}

// untilFree returns when no lease is left.
func untilFree(t *testing.T) {
	t.Helper()
	for !t.Failed() && command(t, "ls") != "" {
		time.Sleep(20 * time.Millisecond)
	}
}

func equal[T comparable](t *testing.T, is, want T) {
	t.Helper()
	if is != want {
		t.Errorf("%v, not %v", is, want)
	}
}

// TestMain is also a program with one tick, which a test kills: it prints a line when its job has
// begun ("during") or ended ("after"), and waits.
func TestMain(m *testing.M) {
	when := os.Getenv("ROWLOCK_TEST_NODE")
	if when == "" {
		os.Exit(m.Run())
	}
	db, err := opened()
	if err != nil {
		panic(err)
	}
	opts, atLeast := rowlock.Options{TTL: 2 * time.Second}, time.Duration(0)
	if when == "after" {
		atLeast = time.Hour
	}
	cron.NewChain(cronlock.Once(db, "mail", atLeast, opts)).Then(cron.FuncJob(func() {
		if when == "during" {
			fmt.Println("begun")
			select {}
		}
	})).Run()
	fmt.Println("ended")
	select {}
}

// killed returns after such a program was killed.
func killed(t *testing.T, when string) {
	t.Helper()
	node := exec.Command(os.Args[0])
	node.Env = append(os.Environ(), "ROWLOCK_TEST_NODE="+when)
	output, err := node.StdoutPipe()
	fine(t, err)
	fine(t, node.Start())
	defer node.Wait()
	defer node.Process.Kill()
	_, err = bufio.NewReader(output).ReadString('\n')
	fine(t, err)
}

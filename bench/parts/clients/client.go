// SPDX-License-Identifier: Apache-2.0

// The measured client in Go; bench/parts/run describes its commands and its output.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"rowlock.example/rowlock"
)

const (
	milliseconds = `::bigint::double precision * interval '1 ms'`
	request      = `SELECT token, ticket, place, holder FROM rowlock.request($1::text,
		$2` + milliseconds + `, $3::text, $4` + milliseconds + `, $5::text, $6::integer, $7::text,
		$8::bigint, $9::text, $10::text)`
)

var (
	ctx     = context.Background()
	db      *sql.DB
	host, _ = os.Hostname()
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ours(name string) {
	check(rowlock.Do(ctx, db, name, rowlock.Options{},
		func(context.Context, *rowlock.Lease) error { return nil }))
}

func byHand(name string) {
	var owner [16]byte
	var token, ticket, place sql.NullInt64
	var holder sql.NullString
	var released bool
	_, err := rand.Read(owner[:])
	check(err)
	check(db.QueryRowContext(ctx, request, name, 30000, fmt.Sprintf("%x", owner), 5000, "exclusive",
		nil, host, os.Getpid(), "client.go", nil).Scan(&token, &ticket, &place, &holder))
	check(db.QueryRowContext(ctx, `SELECT rowlock.release($1::bigint)`, token.Int64).
		Scan(&released))
	if !released {
		panic("not released")
	}
}

func rate(way func(string)) float64 {
	began, count := time.Now(), 0
	for ; time.Since(began) < 100*time.Millisecond; count++ {
		way(fmt.Sprint("bench:", count%100))
	}
	return float64(count) / time.Since(began).Seconds()
}

func pairs(rounds int) {
	ways := []func(string){ours, byHand}
	for i := -5; i < rounds; i++ { // the first ones warm up
		var rates [2]float64
		first := i & 1
		rates[first] = rate(ways[first])
		rates[1-first] = rate(ways[1-first])
		if i >= 0 {
			fmt.Println(rates[0]/rates[1], rates[0], rates[1])
		}
	}
}

func handover(count int) {
	for i := 0; i < count; i++ {
		asked, got, released := time.Now(), time.Time{}, time.Time{}
		check(rowlock.Do(ctx, db, "bench:handover", rowlock.Options{},
			func(context.Context, *rowlock.Lease) error {
				got = time.Now()
				time.Sleep(50 * time.Millisecond)
				released = time.Now()
				return nil
			}))
		fmt.Println(asked.UnixNano(), got.UnixNano(), released.UnixNano())
	}
}

func others(waiters int, limit time.Duration) {
	name, end := fmt.Sprint("bench:others ", os.Getpid()), time.Now().Add(limit)
	for i := 0; i < waiters; i++ {
		go func() {
			for {
				check(rowlock.Do(ctx, db, name, rowlock.Options{},
					func(context.Context, *rowlock.Lease) error {
						time.Sleep(20 * time.Millisecond)
						return nil
					}))
			}
		}()
	}
	for time.Now().Before(end) {
		asked := time.Now()
		check(db.QueryRowContext(ctx, "SELECT 1").Scan(new(int)))
		fmt.Println(time.Since(asked).Nanoseconds())
		time.Sleep(10 * time.Millisecond)
	}
}

// open has the driver's defaults, or as a pool ten sessions, and no named statement, which a pooler
// would not keep.
func open(address string, pooled bool) {
	parts, err := url.Parse(address)
	check(err)
	driver, source := "pgx", address+"?sslmode=disable"
	if parts.Scheme != "postgresql" {
		password, _ := parts.User.Password()
		driver, source = "mysql", fmt.Sprintf("%s:%s@tcp(%s)%s", parts.User.Username(), password,
			parts.Host, parts.Path)
	} else if pooled {
		source += "&default_query_exec_mode=exec"
	}
	db, err = sql.Open(driver, source)
	check(err)
	if pooled {
		db.SetMaxOpenConns(10)
		db.SetMaxIdleConns(10)
	}
}

func main() {
	open(os.Args[1], os.Args[2] == "pooled" || os.Args[2] == "others")
	count, _ := strconv.Atoi(os.Args[len(os.Args)-1])
	switch os.Args[2] {
	case "pairs":
		pairs(count)
	case "others":
		waiters, _ := strconv.Atoi(os.Args[3])
		others(waiters, time.Duration(count)*time.Millisecond)
	case "handover", "pooled":
		handover(count)
	default:
		ours("bench:idle")
	}
}

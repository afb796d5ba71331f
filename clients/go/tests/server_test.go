// SPDX-License-Identifier: Apache-2.0

// The tests run on a real server: ROWLOCK_TEST_URL by the driver ROWLOCK_TEST_DRIVER.
package tests

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
)

var (
	driver  = os.Getenv("ROWLOCK_TEST_DRIVER")
	mariadb = driver == "mysql"
)

func address(t *testing.T) *url.URL {
	t.Helper()
	parts, err := url.Parse(os.Getenv("ROWLOCK_TEST_URL"))
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// openAt opens the database, or another one of the server, at HOST:PORT; also DATABASE?SETTINGS.
func openAt(t *testing.T, at, database string) *sql.DB {
	t.Helper()
	parts := *address(t)
	name, settings, _ := strings.Cut(database, "?")
	parts.Host, parts.Path, parts.RawQuery = at, name, "sslmode=disable&"+settings
	source := strings.TrimSuffix(parts.String(), "&")
	if mariadb {
		password, _ := parts.User.Password()
		source = parts.User.Username() + ":" + password + "@tcp(" + at + ")" + database
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// open opens the database. When the test ends, no lease and no waiter may be left.
func open(t *testing.T) *sql.DB {
	t.Helper()
	t.Cleanup(func() {
		if left := command(t, "ls"); left != "" {
			t.Errorf("left: %s", left)
		}
	})
	return openAt(t, address(t).Host, address(t).Path)
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

func untilWaiting(t *testing.T, count int) {
	t.Helper()
	for strings.Count(command(t, "ls", "x"), "waiting") < count {
		time.Sleep(20 * time.Millisecond)
	}
}

// proxy is between a program and the server, and misbehaves.
type proxy struct {
	listener net.Listener
	server   string

	mutex  sync.Mutex
	text   string        // in what the program sends: the next reply is cut off or delayed
	delay  time.Duration // 0: cut off
	hang   chan struct{} // not nil: what has this text is not forwarded, until it is closed
	frozen chan struct{} // closed to continue; nil: not frozen
	away   bool          // it refuses connections
	pairs  []net.Conn
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, server: address(t).Host}
	t.Cleanup(func() {
		listener.Close()
		p.cut()
	})
	go func() {
		for {
			program, err := listener.Accept()
			if err != nil {
				return
			}
			p.serve(program)
		}
	}()
	return p
}

func (p *proxy) open(t *testing.T) *sql.DB {
	t.Helper()
	return openAt(t, p.listener.Addr().String(), address(t).Path)
}

func (p *proxy) serve(program net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		program.Close()
		return
	}
	p.mutex.Lock()
	p.pairs = append(p.pairs, program, server)
	away := p.away
	p.mutex.Unlock()
	if away {
		p.cut()
		return
	}
	matched := make(chan time.Duration, 1)
	go p.forward(program, server, func(sent []byte) bool {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if p.text != "" && (bytes.Contains(sent, []byte(p.text)) ||
			bytes.Contains(sent, []byte(hex.EncodeToString([]byte(p.text))))) { // to MariaDB
			p.text = ""
			if p.hang != nil {
				p.mutex.Unlock()
				<-p.hang
				p.mutex.Lock()
				return false
			}
			matched <- p.delay
		}
		return true
	})
	go p.forward(server, program, func([]byte) bool {
		select {
		case delay := <-matched:
			time.Sleep(delay)
			return delay != 0
		default:
			return true
		}
	})
}

func (p *proxy) forward(from, to net.Conn, may func([]byte) bool) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 65536)
	for {
		n, err := from.Read(buffer)
		p.mutex.Lock()
		frozen := p.frozen
		p.mutex.Unlock()
		if frozen != nil {
			<-frozen
		}
		if err != nil || !may(buffer[:n]) {
			return
		}
		if _, err = to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// misbehave cuts off or delays the reply to the next statement with this text.
func (p *proxy) misbehave(text string, delay time.Duration) {
	p.mutex.Lock()
	p.text, p.delay = text, delay
	p.mutex.Unlock()
}

// swallow lets the connection hang that sends this text next, until the returned function is called.
func (p *proxy) swallow(text string) func() {
	p.mutex.Lock()
	p.text, p.hang = text, make(chan struct{})
	p.mutex.Unlock()
	return func() { close(p.hang) }
}

// freeze forwards nothing until the returned function is called.
func (p *proxy) freeze() func() {
	frozen := make(chan struct{})
	p.mutex.Lock()
	p.frozen = frozen
	p.mutex.Unlock()
	return func() {
		p.mutex.Lock()
		p.frozen = nil
		p.mutex.Unlock()
		close(frozen)
	}
}

// leave cuts all connections, and each new one, until come.
func (p *proxy) leave() {
	p.mutex.Lock()
	p.away = true
	p.mutex.Unlock()
	p.cut()
}

func (p *proxy) come() {
	p.mutex.Lock()
	p.away = false
	p.mutex.Unlock()
}

func (p *proxy) cut() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, conn := range p.pairs {
		conn.Close()
	}
	p.pairs = nil
}

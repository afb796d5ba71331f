// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The kinds of errors, for errors.Is. Other errors are the driver's own, which errors.As finds
// beneath these too.
var (
	// ErrBusy: the name is held or waited for. *BusyError names the holder.
	ErrBusy = errors.New("busy")
	// ErrLost: the lease has expired, was broken, or was released. Stop the work that it protects.
	// *LostError has the reason. Of a refresh: its load has ended the transaction.
	ErrLost = errors.New("the lease is lost")
	// ErrUnavailable: the database does not answer.
	ErrUnavailable = errors.New("the database does not answer")
	// ErrNotInstalled: the database has no rowlock schema, or one without these functions.
	ErrNotInstalled = errors.New("no schema of rowlock here; call rowlock.Install, or run: " +
		"rowlock schema install")
	// ErrArgument: an argument is wrong. Nothing was sent.
	ErrArgument = errors.New("wrong argument")
)

// BusyError is an ErrBusy with its holder.
type BusyError struct {
	Name   string
	Holder string // the holder, since when, and its note; "another session" if it is not known
	By     Holder // the same, in fields
}

// A Holder is who holds a name. What is not known is the zero value.
type Holder struct {
	Kind           string // "lease" or "transaction"
	Host           string
	PID            int64 // of the process, or of the server's session of a transaction
	Program        string
	Since, Expires time.Time
	Note           string
	Waiting        int // the number of waiters, without you
}

// String is as PostgreSQL's function rowlock.holder.
func (h Holder) String() string {
	if h.Kind == "" {
		return "another session"
	}
	process, where := "pid", "on"
	if h.Kind != "lease" {
		process, where = "server session", "of a client on"
	}
	var who []string
	parts := []string{"a " + h.Kind}
	add := func(to *[]string, is bool, format string, values ...any) {
		if is {
			*to = append(*to, fmt.Sprintf(format, values...))
		}
	}
	add(&who, h.PID != 0, "%s %d", process, h.PID)
	add(&who, h.Host != "", "%s %s", where, h.Host)
	add(&who, h.Program != "", "(%s)", h.Program)
	add(&parts, len(who) > 0, "%s", strings.Join(who, " "))
	add(&parts, !h.Since.IsZero(), "since %s", h.Since.Format(timeFormat))
	add(&parts, !h.Expires.IsZero(), "expires %s", h.Expires.Format(timeFormat))
	add(&parts, h.Note != "", "note: %s", h.Note)
	add(&parts, h.Waiting > 0, "%d waiting", h.Waiting)
	return strings.Join(parts, ", ")
}

const timeFormat = "2006-01-02T15:04:05.000Z"

func moment(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

func busyError(name string, by Holder) error { return &BusyError{name, by.String(), by} }

func (e *BusyError) Error() string {
	return fmt.Sprintf("could not acquire %q: held by %s", e.Name, e.Holder)
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// LostError is an ErrLost of a lease with its reason. It is the cause of the context of Do's body.
type LostError struct {
	Name   string
	Reason string // such as "was broken by ann@web3", "not renewed for 10 s: connection refused"
	cause  error  // of the driver, whose text is in the reason
	body   error  // that of the body of Do; nil: none
}

func (e *LostError) Error() string {
	if e.Reason == released {
		return fmt.Sprintf("the lease of %q %s", e.Name, released)
	}
	return withCause(fmt.Sprintf("the lease of %q is lost: stop the work done under it (%s)", e.Name,
		e.Reason), e.body)
}

// Is makes errors.Is(err, ErrLost) true.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns the errors of the driver and of the body.
func (e *LostError) Unwrap() []error {
	return slices.DeleteFunc([]error{e.cause, e.body}, func(err error) bool { return err == nil })
}

const released = "was released"

// failure is another error of one of the kinds, and its cause, which may be nil.
type failure struct {
	kind  error
	text  string
	cause error
}

func (e *failure) Error() string        { return withCause(e.text, e.cause) }
func (e *failure) Is(target error) bool { return target == e.kind }
func (e *failure) Unwrap() error        { return e.cause }

func withCause(text string, cause error) string {
	if cause == nil {
		return text
	}
	return text + ": " + cause.Error()
}

func wrong(format string, values ...any) error {
	return &failure{ErrArgument, fmt.Sprintf("rowlock: "+format, values...), nil}
}

func refreshLost(subject string, cause error) error {
	return &failure{ErrLost, fmt.Sprintf("the refresh of %q is lost: load ended its transaction; "+
		"roll back, and refresh again with a load that leaves it open", subject), cause}
}

// errRefused is the kind of the errors that another attempt would repeat. They are returned as they
// are.
var errRefused = errors.New("refused")

// codes is clients/errors.txt: SQLSTATEs, classes of them, and the numbers of MariaDB. No code is
// of both engines.
var codes = table(map[error]string{
	ErrLost:         "RL005 30005",
	ErrBusy:         "55P03 1205",
	ErrNotInstalled: "42883 3F000 42P01 42703 1305 1146 1054 1356",
	ErrUnavailable: "08* 57P01 57P02 57P03 57P05 25P03 25P04 53200 53300 1040 1041 1053 1077" +
		" 1079 1152 1158 1159 1160 1161 1203 1206 1226 1927 2002 2003 2005 2006" +
		" 2012 2013 2055 3169 4031 5013 5014",
	errRefused: "RL* 22* 28* 3D000 42501 1044 1045 1049 1129 1130 1142 1227 1251 1264 1366 1370" +
		" 1406 1698 1820 1862 2026 2059 3118 4151 30001 30002 30003 30004 30006 30007 30008 30009",
})

func table(listed map[error]string) map[string]error {
	codes := map[string]error{}
	for kind, words := range listed {
		for _, code := range strings.Fields(words) {
			codes[code] = kind
		}
	}
	return codes
}

// kindOf is the kind of a driver's error: by its code, or else if it is known as one of a lost
// connection. nil: it has none.
func kindOf(err error) error {
	for _, code := range codesOf(err) {
		if kind := codes[code]; kind != nil {
			return kind
		}
		if len(code) == 5 && codes[code[:2]+"*"] != nil {
			return codes[code[:2]+"*"]
		}
	}
	if len(codesOf(err)) == 0 && isOfConnection(err) {
		return ErrUnavailable
	}
	return nil
}

// passes: the same call may succeed later, because a lock timed out, or the server has an error that
// is not of the caller.
func passes(err error) bool {
	return errors.Is(err, ErrBusy) || kindOf(err) == nil && len(codesOf(err)) > 0
}

func isOfConnection(err error) bool {
	var network net.Error
	var operation *net.OpError
	var retry interface{ SafeToRetry() bool } // pgx's: nothing was sent
	if errors.As(err, &operation) && strings.HasSuffix(operation.Op, " error") {
		return false // "remote error": an alert of TLS
	}
	for _, known := range []error{driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF,
		net.ErrClosed, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &network) || errors.As(err, &retry) && retry.SafeToRetry() ||
		err.Error() == "invalid connection" || err.Error() == "conn closed" // mysql's, pgx's
}

// codesOf finds the codes. pgx and lib/pq have a method; go-sql-driver/mysql has fields, which are
// found by their names: this package imports no driver.
func codesOf(err error) []string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) && len(coded.SQLState()) == 5 {
		return []string{coded.SQLState()}
	}
	for ; err != nil; err = errors.Unwrap(err) {
		fields := reflect.Indirect(reflect.ValueOf(err))
		if fields.Kind() != reflect.Struct || !fields.FieldByName("Number").IsValid() {
			continue
		}
		found := []string{fmt.Sprint(fields.FieldByName("Number"))}
		if state := fields.FieldByName("SQLState"); state.IsValid() {
			if text := fmt.Sprintf("%s", state); strings.HasPrefix(text, "RL") {
				found = append(found, text)
			}
		}
		return found
	}
	return nil
}

var (
	holderIn = regexp.MustCompile(`held by (.*?)(?: \(SQLSTATE|\n|$)`)
	reasonIn = regexp.MustCompile(`rowlock: (?:the lease \d+ )?(.*?)(?:: stop the work| \(SQLSTATE|\n|$)`)
)

// translated is the error of this package that a driver's error means; else the driver's own.
func translated(err error, name string) error {
	var done *failure
	if err == nil || errors.As(err, &done) {
		return err
	}
	switch kind := kindOf(err); kind {
	case ErrLost:
		reason := reasonIn.FindStringSubmatch(err.Error())
		return &LostError{Name: name, Reason: append(reason, "", "")[1], cause: err}
	case ErrBusy:
		holder := "another session"
		if found := holderIn.FindStringSubmatch(err.Error()); found != nil && found[1] != "" {
			holder = found[1]
		}
		return &BusyError{Name: name, Holder: holder}
	case nil, errRefused:
		return err
	default:
		return &failure{kind, kind.Error(), err}
	}
}

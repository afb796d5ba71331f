// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// The kinds of errors, for errors.Is. Other errors are the driver's own, which errors.As finds
// beneath these too.
var (
	// ErrBusy: the name is held or waited for. *BusyError names the holder.
	ErrBusy = errors.New("rowlock: busy")
	// ErrLost: the lease has expired, or was broken. Stop the work that it protects.
	ErrLost = errors.New("rowlock: the lease is lost")
	// ErrUnavailable: the database does not answer.
	ErrUnavailable = errors.New("rowlock: the database does not answer")
	// ErrNotInstalled: the database has no rowlock schema, or one without these functions.
	ErrNotInstalled = errors.New("rowlock: the schema is not installed")
)

// BusyError is an ErrBusy with its holder.
type BusyError struct {
	Name   string
	Holder string // the holder, since when, and its note; "another session" if it is not known
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("could not acquire %q: held by %s", e.Name, e.Holder)
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

func busy(name, holder string) *BusyError {
	if holder == "" {
		holder = "another session"
	}
	return &BusyError{name, holder}
}

// failure is an error of one of the kinds, and its cause, which may be nil.
type failure struct {
	kind  error
	text  string
	cause error
}

func (e *failure) Error() string {
	if e.cause == nil {
		return e.text
	}
	return e.text + ": " + e.cause.Error()
}
func (e *failure) Is(target error) bool { return target == e.kind }
func (e *failure) Unwrap() error        { return e.cause }

func lost(name string, cause error) error {
	return &failure{ErrLost,
		fmt.Sprintf("the lease of %q is lost: stop the work done under it", name), cause}
}

func unavailable(cause error) error {
	return &failure{ErrUnavailable, "the database does not answer", cause}
}

// kinds has the codes of errors that have a kind: SQLSTATEs, or the numbers of MariaDB.
var kinds = map[string]error{
	"RL005": ErrLost,
	"55P03": ErrBusy, "1205": ErrBusy,
	"42883": ErrNotInstalled, "3F000": ErrNotInstalled, "42P01": ErrNotInstalled,
	"1305":  ErrNotInstalled,
	"53300": ErrUnavailable, "57P01": ErrUnavailable, "57P02": ErrUnavailable,
	"57P03": ErrUnavailable, "25P03": ErrUnavailable, "25P04": ErrUnavailable,
	"1040": ErrUnavailable, "1053": ErrUnavailable, "1152": ErrUnavailable,
	"1203": ErrUnavailable, "1927": ErrUnavailable,
}

// kindOf is the kind of a driver's error; nil: it has none. An error without a code is one of the
// connection, unless it is database/sql's own, such as that db is closed.
func kindOf(err error) error {
	code, text := codeOf(err), err.Error()
	if strings.HasPrefix(code, "08") || code == "" && !strings.HasPrefix(text, "sql: ") ||
		errors.Is(err, sql.ErrConnDone) {
		return ErrUnavailable
	}
	return kinds[code]
}

// codeOf finds the code. pgx and lib/pq have a method; go-sql-driver/mysql has fields, which are
// found by their names: this package imports no driver.
func codeOf(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	for ; err != nil; err = errors.Unwrap(err) {
		fields := reflect.Indirect(reflect.ValueOf(err))
		if fields.Kind() != reflect.Struct || !fields.FieldByName("Number").IsValid() {
			continue
		}
		if state := fmt.Sprintf("%s", fields.FieldByName("SQLState")); state == "RL005" {
			return state
		}
		return fmt.Sprint(fields.FieldByName("Number"))
	}
	return ""
}

// translated is the error of this package that a driver's error means; else the driver's own.
func translated(err error, name string) error {
	var done *failure
	if err == nil || errors.As(err, &done) {
		return err
	}
	switch kindOf(err) {
	case ErrLost:
		return lost(name, err)
	case ErrBusy:
		_, holder, _ := strings.Cut(err.Error(), "held by ")
		holder, _, _ = strings.Cut(holder, "\n")
		holder, _, _ = strings.Cut(holder, " (SQLSTATE")
		return busy(name, holder)
	case ErrNotInstalled:
		return &failure{ErrNotInstalled, "no schema of rowlock here; run: rowlock schema install", err}
	case ErrUnavailable:
		return unavailable(err)
	}
	return err
}

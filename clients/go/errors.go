// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// The kinds of errors, for errors.Is. Other errors are the driver's own, which errors.As finds
// beneath these too.
var (
	// ErrBusy: the name is held or waited for. *BusyError says by whom.
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

// code is the SQLSTATE of a driver's error, and the server's number on MariaDB. pgx and lib/pq
// have a method; go-sql-driver/mysql has fields, which are found by name: this package imports no
// driver.
func code(err error) (state string, number uint64) {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState(), 0
	}
	for ; err != nil; err = errors.Unwrap(err) {
		fields := reflect.Indirect(reflect.ValueOf(err))
		if fields.Kind() != reflect.Struct {
			continue
		}
		at, of := fields.FieldByName("Number"), fields.FieldByName("SQLState")
		if at.Kind() == reflect.Uint16 && of.Kind() == reflect.Array {
			bytes := make([]byte, of.Len())
			reflect.Copy(reflect.ValueOf(bytes), of)
			return string(bytes), at.Uint()
		}
	}
	return "", 0
}

// isConnection: the session is gone, or never was. The call may have been executed.
func isConnection(err error) bool {
	state, number := code(err)
	switch number {
	case 0:
	case 1040, 1053, 1152, 1203, 1927:
		return true
	default:
		return false
	}
	switch state {
	case "":
		return err.Error() != "sql: database is closed"
	case "53300", "57P01", "57P02", "57P03", "25P03", "25P04":
		return true
	}
	return strings.HasPrefix(state, "08")
}

// translated is the error of this package that a driver's error means; else the driver's own.
func translated(err error, name string) error {
	var done *failure
	if err == nil || errors.As(err, &done) {
		return err
	}
	state, number := code(err)
	switch {
	case state == "RL005":
		return lost(name, err)
	case state == "55P03" || number == 1205:
		_, holder, _ := strings.Cut(err.Error(), "held by ")
		holder, _, _ = strings.Cut(holder, "\n")
		holder, _, _ = strings.Cut(holder, " (SQLSTATE")
		return busy(name, holder)
	case number == 1305 || state == "42883" || state == "3F000" || state == "42P01":
		return &failure{ErrNotInstalled, "no schema of rowlock here; run: rowlock schema install", err}
	case isConnection(err):
		return unavailable(err)
	}
	return err
}

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
	ErrBusy = errors.New("busy")
	// ErrLost: the lease has expired, or was broken. Stop the work that it protects. Of a refresh:
	// its load has ended the transaction.
	ErrLost = errors.New("the lease is lost")
	// ErrUnavailable: the database does not answer.
	ErrUnavailable = errors.New("the database does not answer")
	// ErrNotInstalled: the database has no rowlock schema, or one without these functions.
	ErrNotInstalled = errors.New("no schema of rowlock here; run: rowlock schema install")
)

// BusyError is an ErrBusy with its holder.
type BusyError struct {
	Name   string
	Holder string // the holder, since when, and its note; "another session" if it is not known
}

func busyError(name, holder string) error {
	if holder == "" {
		holder = "another session"
	}
	return &BusyError{name, holder}
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("could not acquire %q: held by %s", e.Name, e.Holder)
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// failure is an error of one of the kinds, and its cause, which may be nil.
type failure struct {
	kind  error
	text  string
	cause error
}

func (e *failure) Error() string {
	return strings.TrimSuffix(fmt.Sprint(e.text, ": ", e.cause), ": <nil>")
}
func (e *failure) Is(target error) bool { return target == e.kind }
func (e *failure) Unwrap() error        { return e.cause }

func lost(name string, cause error) error {
	return &failure{ErrLost,
		fmt.Sprintf("the lease of %q is lost: stop the work done under it", name), cause}
}

func refreshLost(subject string, cause error) error {
	return &failure{ErrLost, fmt.Sprintf("the refresh of %q is lost: load ended its transaction; "+
		"roll back, and refresh again with a load that leaves it open", subject), cause}
}

// kinds has the codes of errors that have a kind: SQLSTATEs, or the numbers of MariaDB.
var kinds = map[string]error{
	"RL005": ErrLost, "55P03": ErrBusy, "1205": ErrBusy,
	"42883": ErrNotInstalled, "3F000": ErrNotInstalled, "42P01": ErrNotInstalled,
	"1046": ErrNotInstalled, "1305": ErrNotInstalled, // no database, no procedure
	"53300": ErrUnavailable, "1040": ErrUnavailable, "1053": ErrUnavailable,
	"1152": ErrUnavailable, "1203": ErrUnavailable, "1927": ErrUnavailable,
}

// kindOf is the kind of a driver's error; nil: it has none. An error without a code is one of the
// connection, unless it is database/sql's own, such as that db is closed.
func kindOf(err error) error {
	code, ofSQL := codeOf(err), strings.HasPrefix(err.Error(), "sql: ")
	if strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P0") ||
		strings.HasPrefix(code, "25P0") || code == "" && !ofSQL || errors.Is(err, sql.ErrConnDone) {
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
	switch kind := kindOf(err); kind {
	case ErrLost:
		return lost(name, err)
	case ErrBusy:
		_, holder, _ := strings.Cut(err.Error(), "held by ")
		holder, _, _ = strings.Cut(holder, "\n")
		holder, _, _ = strings.Cut(holder, " (SQLSTATE")
		return busyError(name, holder)
	case nil:
		return err
	default:
		return &failure{kind, kind.Error(), err}
	}
}

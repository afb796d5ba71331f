// SPDX-License-Identifier: Apache-2.0

package rowlock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTheCodesAreThoseOfAllPackages(t *testing.T) {
	kinds := map[string]error{"busy": ErrBusy, "lost": ErrLost, "missing": ErrNotInstalled,
		"gone": ErrUnavailable, "refused": errRefused}
	listed, err := os.ReadFile("../errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]error{}
	for _, line := range strings.Split(string(listed), "\n") {
		if words := strings.Fields(line); len(words) == 3 && words[0] != "#" {
			want[words[1]] = kinds[words[2]]
		}
	}
	if len(want) < 50 || !reflect.DeepEqual(codes, want) {
		t.Errorf("%v instead of %v", codes, want)
	}
}

type coded string

func (c coded) Error() string    { return "coded" }
func (c coded) SQLState() string { return string(c) }

type numbered struct {
	Number   uint16
	SQLState [5]byte
}

func (n *numbered) Error() string { return "numbered" }

func TestWhatIsNotKnownIsNotRepeated(t *testing.T) {
	state := func(text string) (array [5]byte) { copy(array[:], text); return array }
	refused := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, row := range []struct {
		err  error
		kind error
	}{
		{errors.New("cannot find encode plan"), nil},
		{errors.New("sql: database is closed"), nil},
		{coded("25006"), nil},
		{coded("22023"), errRefused},
		{coded("08006"), ErrUnavailable},
		{coded("RL003"), errRefused},
		{coded("28P01"), errRefused},
		{&numbered{30004, state("RL004")}, errRefused},
		{&numbered{1644, state("RL005")}, ErrLost},
		{&numbered{1064, state("42000")}, nil},
		{&numbered{2013, state("HY000")}, ErrUnavailable},
		{fmt.Errorf("failed to connect: %w", refused), ErrUnavailable},
		{fmt.Errorf("failed to connect: %w", coded("28P01")), errRefused},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, nil},
		{io.ErrUnexpectedEOF, ErrUnavailable},
		{errors.New("invalid connection"), ErrUnavailable},
	} {
		if got := kindOf(row.err); got != row.kind {
			t.Errorf("%#v: %v", row.err, got)
		}
	}
}

func TestAnUnknownErrorEndsAWaitAtOnce(t *testing.T) {
	broken := errors.New("cannot encode")
	db := sql.OpenDB(stub(func(_ context.Context, statement string) error {
		if strings.Contains(statement, "request") {
			return broken
		}
		return nil
	}))
	err := Do(context.Background(), db, "x", Options{}, nil)
	if !errors.Is(err, broken) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrBusy) {
		t.Error(err)
	}
}

func TestAWrongArgumentIsRefusedBeforeAnythingIsSent(t *testing.T) {
	db := sql.OpenDB(stub(func(context.Context, string) error {
		t.Error("something was sent")
		return nil
	}))
	long := strings.Repeat("x", 256)
	for name, opts := range map[string]Options{
		"": {}, long: {}, "a\x00b": {}, "\xff": {},
		"1": {TTL: time.Millisecond}, "2": {TTL: -1}, "3": {TTL: 200 * 365 * 24 * time.Hour},
		"4": {Wait: -2}, "5": {Permits: -1}, "6": {Permits: 1, Shared: true}, "7": {Note: "\xff"},
	} {
		if err := Do(context.Background(), db, name, opts, nil); !errors.Is(err, ErrArgument) {
			t.Errorf("%q %+v: %v", name, opts, err)
		}
	}
	if _, err := Next(context.Background(), nil, long[:248]); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	if err := TryLock(context.Background(), nil, "x", -2); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	if _, err := Refresh(context.Background(), nil, "x", -2, nil); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
}

func TestTheTextOfAHolder(t *testing.T) {
	at := time.Date(2026, 11, 28, 1, 2, 3, 4e6, time.UTC)
	for want, holder := range map[string]Holder{
		"another session": {},
		"a lease, pid 7 on web3 (import), since 2026-11-28T01:02:03.004Z, note: mine, 2 waiting": {
			Kind: "lease", Host: "web3", PID: 7, Program: "import", Since: at, Note: "mine", Waiting: 2},
		"a transaction, server session 7 of a client on web3": {Kind: "transaction", PID: 7,
			Host: "web3"},
	} {
		if holder.String() != want {
			t.Error(holder)
		}
	}
}

func TestValuesInAStatement(t *testing.T) {
	got := quoted("f($1, $2, $10)", []any{`a\'b$2`, int64(-5), 3, 4, 5, 6, 7, 8, 9, nil})
	if got != `f( E'a\\''b$2', (-5), NULL)` {
		t.Error(got)
	}
}

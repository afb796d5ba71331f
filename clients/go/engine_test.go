// SPDX-License-Identifier: Apache-2.0

package rowlock

import "testing"

func TestTheDriversTellTheEngine(t *testing.T) {
	for _, row := range []struct {
		names []string
		want  engine
	}{
		{[]string{"pgx", "pgx/v5"}, postgresql},
		{[]string{"postgres"}, postgresql},
		{[]string{"mysql"}, mariadb},
		{[]string{"mysql", "postgres"}, nil},
		{[]string{"mysql", "traced"}, nil},
		{nil, nil},
	} {
		got := engineOfDrivers(row.names)
		if (got == nil) != (row.want == nil) || got.isMariadb() != row.want.isMariadb() {
			t.Errorf("%v: %v", row.names, got)
		}
	}
}

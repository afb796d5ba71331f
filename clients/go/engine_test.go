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
		{[]string{"mysql", "postgres"}, ""},
		{[]string{"mysql", "traced"}, ""},
		{nil, ""},
	} {
		got := engineOfDrivers(row.names)
		if got != row.want {
			t.Errorf("%v: %q", row.names, got)
		}
	}
}

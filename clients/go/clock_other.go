// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package rowlock

import "time"

var began = time.Now()

var now = func() time.Duration { return time.Since(began) }

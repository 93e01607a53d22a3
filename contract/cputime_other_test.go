// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package contract_test

import "time"

var started = time.Now()

func cpuTime() time.Duration { return time.Since(started) }

// SPDX-License-Identifier: Apache-2.0

package check

import "testing"

func TestSendableOrigins(t *testing.T) {
	for origin, want := range map[string]bool{
		"http://attacker.example":                    true,
		"http://127.0.0.1.attacker.example":          true,
		"http://localhost.attacker.example":          true,
		"http://attackerlocalhost":                   true,
		"http://127.0.0.1:3000":                      true,
		"http://attacker127.0.0.1":                   false, // the last label is a number, and the name no address
		"http://attacker.example/127.0.0.1":          false,
		"http://127.0.0.1:3000.attacker.example":     false,
		"http://localhost:not-a-port.attacker.tests": false,
	} {
		if got := sendable(origin); got != want {
			t.Errorf("%s: sendable is %v", origin, got)
		}
	}
}

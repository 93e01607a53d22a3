// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"fmt"

	"github.com/mcprove/mcprove/authtest"
)

// A token check is tested with one good token and all wrong ones.
func Example() {
	idp := authtest.New(authtest.Options{Issuer: "https://as.test"})
	good := idp.Claims("alice", "https://mcp.test/mcp", "mcp:read")

	accepts := func(token string) bool { return token == idp.Mint(good) } // the check under test
	fmt.Println("good:", accepts(idp.Mint(good)))
	for _, wrong := range idp.Wrongs() {
		if accepts(wrong.Token(good)) {
			fmt.Println("accepted:", wrong.Name, wrong.What)
		}
	}
	// Output: good: true
}

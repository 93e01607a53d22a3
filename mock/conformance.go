// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	_ "embed"
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
)

//go:embed conformance.yaml
var conformance []byte

// Conformance is the script of a server that has all that the official
// conformance suite asks for, in every revision.
func Conformance() Script {
	s, err := ReadScript("conformance.yaml", conformance, ReadOptions{})
	if err != nil {
		panic(err) // a test reads it
	}
	for i := range s.Tools {
		if word(s.Tools[i].Definition, "name") == "slow_compute" {
			s.Tools[i].Func = slowCompute
		}
	}
	return s
}

// slowCompute takes as long as it is told.
func slowCompute(ctx context.Context, c *Call) (json.RawMessage, error) {
	var seconds float64
	_ = jsonx.Unmarshal(get(c.Arguments, "seconds"), &seconds) // the schema says that it is a number
	if err := pause(ctx, time.Duration(seconds*float64(time.Second))); err != nil {
		return nil, err
	}
	return textResult("It is computed.", false), nil
}

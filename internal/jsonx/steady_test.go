// SPDX-License-Identifier: Apache-2.0

package jsonx_test

import (
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// An error has the same words in every run.
func TestErrorsAreSteady(t *testing.T) {
	_, err := jsonx.Marshal(make(chan int))
	if err == nil || err.Error() != "json: cannot marshal from Go chan int" {
		t.Errorf("marshal: %v", err)
	}
	var n int
	if err := jsonx.Unmarshal([]byte(`{}`), &n); err == nil || !strings.HasPrefix(err.Error(), "json: cannot unmarshal") {
		t.Errorf("unmarshal: %v", err)
	}
}

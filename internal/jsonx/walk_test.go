// SPDX-License-Identifier: Apache-2.0

package jsonx_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
)

func TestWalk(t *testing.T) {
	text := ` {"a": [1, "x"], "a": {"b": null}}`
	var got []string
	err := jsonx.Walk([]byte(text), func(k jsonx.Token) error {
		got = append(got, fmt.Sprintf("%c%s@%d%s/%v", k.Kind, string(k.Raw), k.Offset, k.Pointer(), k.Name))
		return nil
	})
	want := `{@1/false ""a"@2/a/true [@7/a/false 01@8/a/0/false ""x"@11/a/1/false ]@14/a/false ` +
		`""a"@17/a/true {@22/a/false ""b"@23/a/b/true nnull@28/a/b/false }@32/a/false }@33/false`
	if s := strings.Join(got, " "); err != nil || s != want {
		t.Errorf("Walk visits\n%s\nwant\n%s\n%v", s, want, err)
	}
	stop := errors.New("stop")
	if err := jsonx.Walk([]byte(text), func(jsonx.Token) error { return stop }); err != stop {
		t.Errorf("Walk = %v, want the visit's error", err)
	}
	nop := func(jsonx.Token) error { return nil }
	for in, want := range map[string]error{
		"{} {}":                        jsonx.ErrTrailing,
		strings.Repeat("[", 10_001):    jsonx.ErrDepth,
		strings.Repeat(`{"a":[`, 5001): jsonx.ErrDepth,
		"[1":                           nil,
	} {
		err := jsonx.Walk([]byte(in), nop)
		var syn *jsonx.SyntaxError
		if !errors.As(err, &syn) || want != nil && !errors.Is(err, want) {
			t.Errorf("Walk(%.10s) = %v, want %v", in, err, want)
		}
	}
}

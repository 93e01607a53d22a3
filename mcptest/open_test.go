// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// echo is a tool that gives back its text, after a pause that it is asked for.
var echo = mock.Tool{
	Definition: []byte(`{"name":"echo","description":"Gives back the text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"minutes":{"type":"integer"}},"required":["text"]}}`),
	Func: func(ctx context.Context, c *mock.Call) (json.RawMessage, error) {
		var in struct {
			Text    string
			Minutes int
		}
		if err := json.Unmarshal(c.Arguments, &in); err != nil {
			return nil, err
		}
		t := time.NewTimer(time.Duration(in.Minutes) * time.Minute)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		text, _ := json.Marshal(in.Text)
		return json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}]}`), nil
	},
}

func echoing(change ...func(*mock.Script)) mock.Script {
	s := mock.Script{Tools: []mock.Tool{echo}}
	for _, c := range change {
		c(&s)
	}
	return s
}

// stdio serves a script as a function over a pair of streams.
func stdio(s mock.Script) func(ctx context.Context, in io.Reader, out io.Writer) error {
	return mock.New(s).ServeStdio
}

// targets are the ways in which one server is reached inside the process.
var targets = map[string]func(mock.Script) any{
	"handler":  func(s mock.Script) any { return http.Handler(mock.New(s)) },
	"function": func(s mock.Script) any { return stdio(s) },
	"mock":     func(s mock.Script) any { return mock.New(s) },
	"script":   func(s mock.Script) any { return s },
	"pipes":    func(s mock.Script) any { return mock.New(s).Stdio("pipes") },
	"fresh": func(s mock.Script) any {
		return mcptest.Fresh(func(testing.TB) any { return mock.New(s) })
	},
	"streams": func(s mock.Script) any {
		s.Stream = true
		return http.Handler(mock.New(s))
	},
}

func TestOneBodyInEveryRevision(t *testing.T) {
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			mcptest.EachEra(t, target(echoing()), func(t *testing.T, c *mcptest.Client) {
				n++
				c.HasTool("echo")
				c.CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hello")
				c.CallTool("ecco", nil).HasErrorCode(spec.CodeInvalidParams)
			})
			if n != len(spec.All()) {
				t.Errorf("the body ran %d times", n)
			}
		})
	}
}

func TestHalfAnHourTakesNoTime(t *testing.T) {
	for name, target := range targets {
		for _, era := range []struct {
			name string
			opt  mcptest.Option
		}{{"legacy", mcptest.Legacy}, {"modern", mcptest.Modern}} {
			t.Run(name+"/"+era.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					c := mcptest.Open(t, target(echoing()), era.opt)
					c.CallTool("echo", mcptest.Args{"text": "late", "minutes": 30}).HasText("late").Within(30*time.Minute + time.Second)
					if took := time.Since(begin); took < 30*time.Minute {
						t.Errorf("it took %s", took)
					}
				})
			})
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/transport"
)

// A response that was broken off ends at once, before its head and after it, and
// its handler writes in vain.
func TestBreakOff(t *testing.T) {
	for name, first := range map[string]string{"before the head": "", "after it": "data: 1\n\n"} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rc := http.NewResponseController(w)
				if first != "" {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = w.Write([]byte(first))
					_ = rc.Flush()
				}
				w.(interface{ BreakOff(error) }).BreakOff(errors.New("lost"))
				<-r.Context().Done()
				_, _ = w.Write([]byte("more"))
				ended <- rc.Flush()
			})
			c := open(t, &transport.Handler{Handler: h}, transport.Options{})
			if _, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			for {
				e, err := c.Receive(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind != transport.EventClosed {
					continue
				}
				if e.Err == nil || !strings.Contains(e.Err.Error(), "lost") {
					t.Errorf("the channel ended with %v", e.Err)
				}
				break
			}
			if err := <-ended; err == nil {
				t.Error("the handler writes on")
			}
		})
	}
}

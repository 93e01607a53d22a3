// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// readBehaviour names what no operator can do, with its arguments.
type readBehaviour struct {
	Name   string    `yaml:"name"`
	Sends  []sending `yaml:"sends"`
	Raw    string    `yaml:"raw"`
	Status int       `yaml:"status"`
	Type   string    `yaml:"type"`
	Body   string    `yaml:"body"`
	Allow  string    `yaml:"allow"`
}

// behaviours build the servers that behave so.
var behaviours = map[string]func(*readBehaviour, mock.Script) transport.Target{
	"orphans-move-on":         orphansMoveOn,
	"results-move-on":         resultsMoveOn,
	"before-ack":              beforeAck,
	"progress-on-listen":      progressOnListen,
	"ignores-cancelled":       ignoresCancelled,
	"cancelled-silences":      cancelledSilences,
	"disconnect-ends-all":     disconnectEndsAll,
	"disconnect-breaks":       disconnectBreaks,
	"notifications":           answersNotifications,
	"origins":                 allowsOrigins,
	"everything":              answersEverything,
	"prompts-by-connection":   promptsByConnection,
	"prompts-in-turned-order": promptsTurned,
	"prompt-added-once":       promptAdded,
}

// handled is a handler as a target.
func handled(f http.HandlerFunc) transport.Target {
	return &transport.Handler{Handler: f, Name: "mock"}
}

// messageOf reads the message of a request, and leaves it to be read again.
func messageOf(r *http.Request) *wire.Message {
	body, _ := io.ReadAll(r.Body) // a short one is no message
	r.Body = io.NopCloser(bytes.NewReader(body))
	return wire.Read(body)
}

// listeners are the open streams of subscriptions.
type listeners struct {
	mu   sync.Mutex
	open map[*listener]bool
}

// listener is one of them, and its ResponseWriter.
type listener struct {
	http.ResponseWriter
	mu sync.Mutex
	id json.RawMessage
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ResponseWriter.Write(b)
}

func (l *listener) FlushError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return http.NewResponseController(l.ResponseWriter).Flush()
}

// tell sends a message on every open stream.
func (ls *listeners) tell(message string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.open {
		_, _ = fmt.Fprintf(l, "data: %s\n\n", message) // who is gone needs none
		_ = l.FlushError()
	}
}

// serve serves a subscription, open to what tell says meanwhile.
func (ls *listeners) serve(s http.Handler, w http.ResponseWriter, r *http.Request, id json.RawMessage) {
	l := &listener{ResponseWriter: w, id: id}
	ls.mu.Lock()
	if ls.open == nil {
		ls.open = map[*listener]bool{}
	}
	ls.open[l] = true
	ls.mu.Unlock()
	defer func() {
		ls.mu.Lock()
		delete(ls.open, l)
		ls.mu.Unlock()
	}()
	s.ServeHTTP(l, r)
}

// orphansMoveOn sends what comes for a subscription whose stream was closed on
// the streams of the others.
func orphansMoveOn(_ *readBehaviour, script mock.Script) transport.Target {
	s, ls := mock.New(script), &listeners{}
	return handled(func(w http.ResponseWriter, r *http.Request) {
		m := messageOf(r)
		if m.Method != spec.MethodListen {
			s.ServeHTTP(w, r)
			return
		}
		ls.serve(s, w, r, m.ID)
		if r.Context().Err() != nil {
			ls.tell(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID))
		}
	})
}

func resultsMoveOn(_ *readBehaviour, script mock.Script) transport.Target {
	script.Faults = append(script.Faults, mock.On(spec.MethodToolsCall).Stray())
	return mock.New(script).HTTP("mock")
}

// first writes a text before everything else of a body.
type first struct {
	http.ResponseWriter
	text string
}

func (f *first) WriteHeader(status int) {
	f.ResponseWriter.WriteHeader(status)
	_, _ = io.WriteString(f.ResponseWriter, f.text) // who is gone needs none
}

func (f *first) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func beforeAck(b *readBehaviour, script mock.Script) transport.Target {
	for _, n := range b.Sends {
		script.Faults = append(script.Faults, mock.On(spec.MethodListen).NotifyFirst(n.Method, strings.ReplaceAll(n.Params, "$id", "{{/id}}")))
	}
	s := mock.New(script)
	return handled(func(w http.ResponseWriter, r *http.Request) {
		if messageOf(r).Method == spec.MethodListen {
			w = &first{w, b.Raw}
		}
		s.ServeHTTP(w, r)
	})
}

// progressOnListen answers calls by JSON, and reports their progress to whoever
// listens.
func progressOnListen(_ *readBehaviour, script mock.Script) transport.Target {
	script.Faults = append(script.Faults, mock.Fault{Place: mock.On(spec.MethodToolsCall), Op: mock.OpJSON})
	s, ls := mock.New(script), &listeners{}
	return handled(func(w http.ResponseWriter, r *http.Request) {
		m := messageOf(r)
		token := probe.Lookup(m.Params, "/_meta/progressToken")
		switch {
		case m.Method == spec.MethodListen:
			ls.serve(s, w, r, m.ID)
			return
		case m.Method == spec.MethodToolsCall && token != nil && probe.Text(probe.Lookup(m.Params, "/name")) == "work":
			ls.tell(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"total":3}}`, token))
		}
		s.ServeHTTP(w, r)
	})
}

func ignoresCancelled(_ *readBehaviour, script mock.Script) transport.Target {
	script.Faults = append(script.Faults, mock.Lenient(mock.CheckCancel), mock.Lenient(mock.CheckCancelAnswer))
	return mock.New(script).Stdio("mock")
}

// cancelledSilences answers nothing more on a connection that a cancellation
// came on.
func cancelledSilences(_ *readBehaviour, script mock.Script) transport.Target {
	cancelled := mock.Condition{Of: mock.OfEarlier, Name: "/params/requestId", Is: mock.IsPresent}
	script.Faults = append(script.Faults, mock.On("").When(cancelled).Drop())
	return mock.New(script).Stdio("mock")
}

// disconnectEndsAll ends every request when a client leaves one.
func disconnectEndsAll(_ *readBehaviour, script mock.Script) transport.Target {
	s := mock.New(script)
	var mu sync.Mutex
	running := map[*http.Request]context.CancelFunc{}
	return handled(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		mu.Lock()
		running[r] = cancel
		mu.Unlock()
		stop := context.AfterFunc(r.Context(), func() {
			mu.Lock()
			defer mu.Unlock()
			for _, end := range running {
				end()
			}
		})
		defer func() {
			stop()
			mu.Lock()
			defer mu.Unlock()
			delete(running, r)
		}()
		s.ServeHTTP(w, r.WithContext(ctx))
	})
}

// disconnectBreaks serves nobody any more once a client has left a request.
func disconnectBreaks(_ *readBehaviour, script mock.Script) transport.Target {
	s := mock.New(script)
	var broken atomic.Bool
	return handled(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		defer context.AfterFunc(r.Context(), func() { broken.Store(true) })()
		s.ServeHTTP(w, r)
	})
}

// answersNotifications answers those that nobody knows in one way.
func answersNotifications(b *readBehaviour, script mock.Script) transport.Target {
	s := mock.New(script)
	return handled(func(w http.ResponseWriter, r *http.Request) {
		m := messageOf(r)
		if _, known := spec.MethodAt(m.Method, spec.Rev20260728); m.Kind != wire.Notification || known {
			s.ServeHTTP(w, r)
			return
		}
		b.write(w)
	})
}

func (b *readBehaviour) write(w http.ResponseWriter) {
	if b.Type != "" {
		w.Header().Set(spec.HeaderContentType, b.Type)
	}
	w.WriteHeader(b.Status)
	_, _ = io.WriteString(w, b.Body) // who is gone needs none
}

// allowsOrigins serves the origins that match, and refuses all others.
func allowsOrigins(b *readBehaviour, script mock.Script) transport.Target {
	s, allowed := mock.New(script), regexp.MustCompile(b.Allow)
	return handled(func(w http.ResponseWriter, r *http.Request) {
		if o := r.Header.Values(spec.HeaderOrigin); len(o) > 0 {
			if !allowed.MatchString(o[0]) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			r.Header.Del(spec.HeaderOrigin)
		}
		s.ServeHTTP(w, r)
	})
}

func answersEverything(b *readBehaviour, _ mock.Script) transport.Target {
	return handled(func(w http.ResponseWriter, _ *http.Request) { b.write(w) })
}

// eachOpen is a target over stdio that makes each of its connections anew.
type eachOpen struct {
	n    atomic.Int64
	made func(n int64) transport.Target
}

func (e *eachOpen) Kind() transport.Kind { return transport.Stdio }
func (e *eachOpen) String() string       { return "mock" }

func (e *eachOpen) Open(ctx context.Context, o transport.Options) (transport.Conn, error) {
	return e.made(e.n.Add(1)).Open(ctx, o)
}

func promptsByConnection(_ *readBehaviour, script mock.Script) transport.Target {
	return &eachOpen{made: func(n int64) transport.Target {
		own := script
		own.Prompts = slices.Clone(script.Prompts)
		for i := range own.Prompts {
			d := &own.Prompts[i].Definition
			*d = bytes.Replace(*d, []byte(`{"name":"`), fmt.Appendf(nil, `{"name":"p%d-`, n), 1)
		}
		return mock.New(own).Stdio("mock")
	}}
}

func promptsTurned(_ *readBehaviour, script mock.Script) transport.Target {
	return &eachOpen{made: func(n int64) transport.Target {
		own := script
		own.Prompts = slices.Clone(script.Prompts)
		if n == 2 {
			slices.Reverse(own.Prompts)
		}
		return mock.New(own).Stdio("mock")
	}}
}

// promptAdded is one server, to which a prompt is added before its second
// connection opens.
func promptAdded(_ *readBehaviour, script mock.Script) transport.Target {
	s := mock.New(script)
	return &eachOpen{made: func(n int64) transport.Target {
		if n == 2 {
			s.Change(mock.Change{AddPrompts: []mock.Prompt{{Definition: []byte(`{"name":"later"}`)}}})
		}
		return s.Stdio("mock")
	}}
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
	"github.com/spf13/cobra"
)

// listenFlags are those of listen alone.
type listenFlags struct {
	kinds []string
	uris  []string
	span  time.Duration
	count int
}

// listenKinds are the kinds of notifications that can be chosen, by the members
// of a subscription's filter and the methods.
var listenKinds = []struct{ word, filter, method string }{
	{"tools", "toolsListChanged", spec.NotificationToolsListChanged},
	{"prompts", "promptsListChanged", spec.NotificationPromptsListChanged},
	{"resources", "resourcesListChanged", spec.NotificationResourcesListChanged},
}

func (a *app) listenCommand() *cobra.Command {
	var (
		f askFlags
		l listenFlags
	)
	cmd := &cobra.Command{
		Use:   "listen [flags] TARGET",
		Short: "Print what a server tells of itself, as it comes",
		Long: `Print notifications as they come, until Ctrl-C, --for or --count ends it. Servers of
2026-07-28 are asked by subscriptions/listen; older ones are heard on the standing
stream of HTTP, or on stdout, and asked to tell of resources by resources/subscribe.

Changes of all lists are asked for, unless --kind chooses, and of the resources that
--uri names. What else a server sends, such as log messages, is printed too.

Exit 0: it ended as it was asked to. 6: --count did not come. 4: the server went away.`,
		Example: `  mcprove listen demo:
  mcprove listen --kind tools --count 1 --for 30s -- ./my-server
  mcprove listen --uri file:///log.txt -o ndjson http://localhost:3000/mcp | jq .params`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOfFormats(f.format, "text", "ndjson"); err != nil {
				return err
			}
			if l.span < 0 || l.count < 0 {
				return usage("--for", "write it like 30s; --count is a number above 0", "a bound must be more than nothing")
			}
			for _, w := range l.kinds {
				if !slices.ContainsFunc(listenKinds, func(x struct{ word, filter, method string }) bool { return x.word == w }) {
					return usage("--kind", "tools, prompts or resources; --uri names a resource", "unknown kind %q", w)
				}
			}
			own, t, err := a.parted(cmd, &f.targetFlags, args, 0)
			if err != nil {
				return err
			}
			if len(own) > 0 && isTarget(own[0]) {
				return twoTargets(t, own[0], "")
			}
			if len(own) > 0 {
				return usage("", "the server's command stands behind --", "%q is no target", own[0])
			}
			heard := &hearing{a: a, f: &f, left: l.count, counted: l.count > 0, more: make(chan struct{}, 1)}
			return a.talk(cmd.Context(), "listen", &f, t, heard.options, func(ctx context.Context, k *talk) error {
				a.serving = l.span == 0 && l.count == 0 // to be told to end is the end of it
				return k.listen(ctx, &l, heard)
			})
		},
	}
	f.addTo(cmd, "text", "ndjson")
	f.lasting(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&l.kinds, "kind", nil, "only changes of this list: tools, prompts or resources (repeatable)")
	fs.StringArrayVar(&l.uris, "uri", nil, "changes of the resource `URI` too (repeatable)")
	fs.DurationVar(&l.span, "for", 0, "listen for so long")
	fs.IntVar(&l.count, "count", 0, "end after `N` notifications")
	return cmd
}

// maxHeard bounds the bytes of notifications that wait to be printed.
const maxHeard = 16 << 20

// hearing takes in what a server tells, and gives it to who prints.
type hearing struct {
	a       *app
	f       *askFlags
	left    int
	counted bool

	more chan struct{} // has a token when something changed

	mu      sync.Mutex
	frames  []*wire.Frame
	size    int // of the frames in bytes
	lost    int // frames that there was no room for
	refused int // HTTP status of a standing stream that is not there
}

// add takes in a notification.
func (h *hearing) add(f *wire.Frame) {
	h.mu.Lock()
	if h.size+len(f.Raw) > maxHeard {
		h.lost++
	} else {
		h.size += len(f.Raw)
		h.frames = append(h.frames, f)
	}
	h.mu.Unlock()
	h.wake()
}

func (h *hearing) wake() {
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// flush prints what has come, and reports whether that was all that is wanted.
func (h *hearing) flush() (done bool, err error) {
	h.mu.Lock()
	frames, lost, refused := h.frames, h.lost, h.refused
	h.frames, h.size, h.lost, h.refused = nil, 0, 0, 0
	h.mu.Unlock()
	if refused > 0 {
		h.a.say("mcprove: the server has no standing stream (HTTP %d): it can tell nothing between requests", refused)
	}
	for _, f := range frames {
		if done, err := h.print(f); done || err != nil {
			return done, err
		}
	}
	if lost > 0 {
		h.a.say("mcprove: %d notifications came too fast to be printed", lost)
	}
	return false, nil
}

// options makes a session hand over its notifications.
func (h *hearing) options(o *session.Options) {
	o.Listen = true
	o.OnNotification = h.add
	var get transport.Channel
	asked := false
	o.Tap = func(e transport.TapEvent) {
		if e.Head == nil || e.Kind != transport.EventHead {
			return
		}
		switch {
		case e.Sent && e.Head.Method == "GET":
			get, asked = e.Channel, true
		case !e.Sent && asked && e.Channel == get && e.Head.Status >= 300:
			h.mu.Lock()
			h.refused = e.Head.Status
			h.mu.Unlock()
			h.wake()
		}
	}
}

// listen prints until it is over.
func (k *talk) listen(ctx context.Context, l *listenFlags, h *hearing) error {
	var over <-chan time.Time
	if l.span > 0 {
		t := time.NewTimer(l.span)
		defer t.Stop()
		over = t.C
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	gone := make(chan error, 1)
	watched := make(chan struct{})
	stop, err := k.subscribe(ctx, l, gone, watched)
	if err != nil {
		return err
	}
	defer func() {
		cancel(nil)
		<-watched
		stop()
	}()
	k.status.done()
	k.a.say("mcprove: listening to %s", k.a.clean(k.name))
	for {
		select {
		case <-h.more:
			if done, err := h.flush(); done || err != nil {
				return err
			}
		case <-over:
			return h.unmet("--for ended")
		case err := <-gone:
			if done, perr := h.flush(); done || perr != nil {
				return perr
			}
			if errors.Is(err, io.EOF) {
				k.a.say("mcprove: the server ended the subscription")
				return h.unmet("the server ended the subscription")
			}
			return err
		case <-ctx.Done():
			if k.a.serving && errors.Is(ctx.Err(), context.Canceled) {
				return nil
			}
			return ctx.Err()
		}
	}
}

// unmet is the error of an end that came before --count.
func (h *hearing) unmet(why string) error {
	if !h.counted {
		return nil
	}
	return &Error{Exit: exitIncomplete, Code: "not-heard", Message: fmt.Sprintf("%s, and %s did not come", why, plural(h.left, "notification"))}
}

// subscribe asks for the notifications in the way of the era. gone gets the
// error of a connection that ended; watched is closed when nobody watches it
// any more. stop takes back what was asked for.
func (k *talk) subscribe(ctx context.Context, l *listenFlags, gone chan<- error, watched chan struct{}) (stop func(), err error) {
	n := k.s.Negotiated()
	chosen := []string{}
	for _, x := range listenKinds {
		if len(l.kinds) == 0 && len(l.uris) == 0 || slices.Contains(l.kinds, x.word) {
			chosen = append(chosen, x.filter)
		}
	}
	if n.Era == spec.Legacy {
		go k.watch(ctx, gone, watched)
		return func() {}, k.subscribeEach(ctx, l.uris)
	}
	filter := jsonx.Raw("{}")
	for _, c := range chosen {
		filter = put(filter, []string{c}, jsonx.Raw("true"))
	}
	if len(l.uris) > 0 {
		list, _ := jsonx.Marshal(l.uris)
		filter = put(filter, []string{"resourceSubscriptions"}, list)
	}
	sub, err := k.s.Subscribe(ctx, []byte(filter))
	if err != nil {
		close(watched)
		return nil, err
	}
	for _, c := range chosen {
		if string(look(jsonx.Raw(sub.Acknowledged()), "/"+c)) != "true" {
			k.a.say("mcprove: the server does not tell of %s", c)
		}
	}
	go func() {
		defer close(watched)
		for {
			if _, err := sub.Next(ctx); err != nil { // printed by OnNotification
				if ctx.Err() == nil {
					gone <- err
				}
				return
			}
		}
	}()
	return func() {
		limit, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		_ = sub.Close(limit)
	}, nil
}

// subscribeEach asks a legacy server to tell of resources.
func (k *talk) subscribeEach(ctx context.Context, uris []string) error {
	for _, u := range uris {
		if _, err := k.s.Call(ctx, spec.MethodResourcesSubscribe, object("uri", jsonx.Quote(u))); err != nil {
			_, failed, other := k.outcome("resource "+u, nil, err)
			if failed != nil {
				return failed
			}
			return other
		}
	}
	return nil
}

// pingEvery is how often a legacy connection is asked whether it is there.
const pingEvery = 15 * time.Second

// watch notices that a legacy server went away: by its process, or by a ping
// that is not answered.
func (k *talk) watch(ctx context.Context, gone chan<- error, watched chan struct{}) {
	defer close(watched)
	var ended <-chan struct{}
	if p, ok := k.s.Conn().(transport.ProcessConn); ok {
		ended = p.Exited()
	}
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
		case <-t.C:
		}
		_, err := k.s.Call(ctx, spec.MethodPing, nil)
		if _, answered := errors.AsType[*session.RPCError](err); err == nil || answered {
			continue
		}
		if ctx.Err() == nil {
			gone <- err
		}
		return
	}
}

// print prints one notification, and reports whether that was the last.
func (h *hearing) print(f *wire.Frame) (done bool, err error) {
	m := f.Message()
	if m.Method == spec.NotificationSubscriptionsAck {
		return false, nil
	}
	if h.f.format == "ndjson" {
		err = h.a.printFrame(f.Raw)
	} else {
		params := string(m.Params)
		if params != "" {
			params = " " + text.Clip(params, 2_000)
		}
		err = h.a.printf("%s %s%s\n", f.Time.Format("15:04:05.000"), h.a.clean(m.Method), h.a.clean(params))
	}
	h.left--
	return h.counted && h.left <= 0, err
}

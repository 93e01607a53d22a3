// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// change is a kind of change that a subscription is told of, with the member of
// the filter that asks for it and the capability that declares it.
type change struct{ member, method, family, capability string }

// changes are all of them (2026-07-28/basic/patterns/subscriptions#notification-filter).
var changes = []change{
	{"toolsListChanged", spec.NotificationToolsListChanged, "tools", "tools.listChanged"},
	{"promptsListChanged", spec.NotificationPromptsListChanged, "prompts", "prompts.listChanged"},
	{"resourcesListChanged", spec.NotificationResourcesListChanged, "resources", "resources.listChanged"},
	{memberResources, spec.NotificationResourcesUpdated, "resources", "resources.subscribe"},
}

// memberResources is the member of a filter that names resources.
const memberResources = "resourceSubscriptions"

// Filters of the subscriptions that the checks open. That of everything also
// names resources, where there are any.
const (
	filterAll   = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`
	filterOne   = `{"toolsListChanged":true}`
	filterEmpty = `{}`
)

// Ids of subscriptions, in the other type that an id may have.
const (
	idOne   = `"mcprove-one"`
	idEmpty = `"mcprove-none"`
	idURI   = `"mcprove-resource"`
)

// subscription is one listen request and what came of it.
type subscription struct {
	x *probe.Exchange
	// ack is its acknowledgement, nil when none came. Over stdio it may have
	// come under another id.
	ack *wire.Frame
}

// refused reports whether the listen request was answered by an error, or
// by nothing that can be a stream.
func (s *subscription) refused() bool {
	return s.ack == nil && s.x != nil && (s.x.Refused() || s.x.Died() || s.x.Status() >= 300)
}

// subscriptionSet is what the rules on subscriptions look at: several that are
// open at once on a connection of their own, made one time for all.
type subscriptionSet struct {
	failed string // why there is nothing

	all, empty, one, uri *subscription // uri is nil where less than two resources are listed

	// calls were made with a progress token and a log level while all were open.
	calls []*probe.Exchange
	// cancelled is when one was ended, as a client ends it. barrier was asked
	// after that: a server that has answered it has read the cancellation.
	cancelled time.Time
	cancel    *probe.Exchange // the notification, nil over HTTP
	barrier   *probe.Exchange
	// moved is how many frames it had when, after that, tools were called that
	// change something, and
	// changed says that the others were told of it.
	moved   int
	changed bool
}

// listenRequest subscribes.
func listenRequest(c *probe.Case, filter string) *probe.Request {
	return c.Request(spec.MethodListen, "").Param("notifications", filter)
}

// subscribed is the set, with at least everything subscribed to. Otherwise the
// case is skipped because of the rule that says what is wrong.
func subscribed(c *probe.Case) (*subscriptionSet, bool) {
	s := probe.Share(c.Probe(), "subscriptions", func() *subscriptionSet { return subscribe(c) })
	switch {
	case s.failed != "":
		c.Skip("%s", s.failed)
	case s.all.refused():
		c.Lacks(s.all.x)
	case s.all.ack == nil:
		c.SkipFor("subscriptions.ack-sent", "subscriptions are not acknowledged: %s", s.all.x.Brief())
	default:
		return s, true
	}
	return s, false
}

// stirSubscriptions opens them for the rules that look on.
func stirSubscriptions(c *probe.Case) {
	probe.Share(c.Probe(), "subscriptions", func() *subscriptionSet { return subscribe(c) })
}

func subscribe(c *probe.Case) *subscriptionSet {
	s := &subscriptionSet{}
	conn := c.Open()
	if conn == nil {
		s.failed = "a further connection could not be opened"
		return s
	}
	o := &opening{c: c, conn: conn}
	uris := resourceURIs(c)
	filter := filterAll
	if len(uris) > 0 {
		filter = strings.TrimSuffix(filter, "}") + `,"` + memberResources + `":` + textList(uris) + "}"
	}
	all := o.open(listenRequest(c, filter))
	if s.all = all.now(); s.all.ack == nil {
		return s
	}
	one := o.open(listenRequest(c, filterOne).WithID(idOne))
	empty := o.open(listenRequest(c, filterEmpty).WithID(idEmpty))
	others := []*opened{all, empty}
	var uri *opened
	if len(uris) > 1 && c.Facts().Declares("resources.subscribe") {
		uri = o.open(listenRequest(c, `{"`+memberResources+`":`+textList(uris[:1])+`}`).WithID(idURI))
		others = append(others, uri)
	}
	calls := &besideCalls{c: c, conn: conn, all: all}
	movers := calls.make()
	s.calls = calls.made
	c.SendOn(conn, c.Request(spec.MethodDiscover, ""))

	s.one = one.now()
	s.cancelled = time.Now()
	s.cancel = one.stream.Close()
	s.barrier = c.SendOn(conn, c.Request(spec.MethodDiscover, ""))
	told := changesIn(all.now().x)
	if len(movers) > 0 {
		c.Rest(c.Probe().Quiet()) // for what was on its way
	}
	s.moved = len(one.stream.Now().Frames)
	for _, t := range movers {
		calls.call(t)
	}
	until := time.Now().Add(c.Probe().Quiet())
	for _, o := range others {
		o.stream.Until(time.Until(until), func(*probe.Exchange) bool { return false })
	}
	s.one.x = one.stream.Now()
	s.all, s.empty = all.now(), empty.now()
	if uri != nil {
		s.uri = uri.now()
	}
	s.changed = changesIn(s.all.x) > told
	for _, o := range others {
		o.stream.Close()
	}
	return s
}

// opening opens subscriptions on one connection, one after the other, so that
// an acknowledgement under a wrong id can be told to belong to the latest.
type opening struct {
	c     *probe.Case
	conn  *probe.Conn
	stray int // acknowledgements without a subscription, so far
}

// opened is a subscription that goes on.
type opened struct {
	stream *probe.Stream
	stray  *wire.Frame
}

func (o *opened) now() *subscription {
	s := &subscription{x: o.stream.Now(), ack: o.stray}
	if f := acknowledgement(s.x); f != nil {
		s.ack = f
	}
	return s
}

// open subscribes and waits until that is acknowledged, answered or over.
func (o *opening) open(r *probe.Request) *opened {
	s := &opened{stream: o.c.Start(o.conn, r)}
	x, came := s.stream.Until(o.c.Probe().Patience(), func(x *probe.Exchange) bool {
		return acknowledgement(x) != nil || x.Response != nil || len(strayAcknowledgements(o.conn)) > o.stray
	})
	switch {
	case x.Died():
		s.stream.Answer() // which finds out whether the server is gone
	case !came && !x.Closed:
		s.stream.Missed()
	}
	if acks := strayAcknowledgements(o.conn); len(acks) > o.stray {
		s.stray, o.stray = acks[o.stray], len(acks)
	}
	return s
}

func strayAcknowledgements(conn *probe.Conn) []*wire.Frame {
	var out []*wire.Frame
	for _, f := range conn.Stray() {
		if f.Message().Method == spec.NotificationSubscriptionsAck {
			out = append(out, f)
		}
	}
	return out
}

// acknowledgement is the first one of an exchange, nil without one.
func acknowledgement(x *probe.Exchange) *wire.Frame {
	if fs := x.Notifications(spec.NotificationSubscriptionsAck); len(fs) > 0 {
		return fs[0]
	}
	return nil
}

// besideCalls calls tools on the connection of open subscriptions.
type besideCalls struct {
	c    *probe.Case
	conn *probe.Conn
	all  *opened
	made []*probe.Exchange
}

// Bounds on the calls that are made beside subscriptions: a tool that took
// longer when it was called before is left out.
const (
	quickCall  = 250 * time.Millisecond
	callBudget = time.Second
)

// make calls tools that may be called, with everything that makes a server talk
// about a request. It returns those after which a change was told.
func (b *besideCalls) make() (movers []probe.Tool) {
	tools := b.c.Probe().Callable()
	begin := time.Now()
	for i, x := range b.c.Calls() {
		t := tools[i]
		if !x.OK() || x.End.Sub(x.Start) > quickCall || time.Since(begin) > callBudget {
			continue
		}
		told := changesIn(b.all.stream.Now())
		b.call(t)
		if changesIn(b.all.stream.Now()) > told && len(movers) < 2 {
			movers = append(movers, t)
		}
	}
	return movers
}

func (b *besideCalls) call(t probe.Tool) {
	r := b.c.Probe().CallRequest(t.Item, t.Arguments).LogLevel("debug")
	b.made = append(b.made, b.c.SendOn(b.conn, r.Progress(`"mcprove-beside-`+strconv.Itoa(len(b.made))+`"`)))
}

// changesIn counts the changes that a subscription was told.
func changesIn(x *probe.Exchange) int {
	n := 0
	for _, f := range x.Notifications("") {
		if isChange(f.Message().Method) {
			n++
		}
	}
	return n
}

func isChange(method string) bool {
	for _, ch := range changes {
		if ch.method == method {
			return true
		}
	}
	return false
}

// mostURIs bounds how many resources a subscription names.
const mostURIs = 20

// resourceURIs are those of the first listed resources.
func resourceURIs(c *probe.Case) []string {
	var out []string
	for _, r := range c.Facts().Resources() {
		if len(out) < mostURIs && r.Name != "" {
			out = append(out, r.Name)
		}
	}
	return out
}

// textList is an array of strings as JSON.
func textList(texts []string) string {
	var b bytes.Buffer
	for i, t := range texts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonx.Quote(t))
	}
	return "[" + b.String() + "]"
}

// subscriptionID is the subscription that a message says it belongs to, nil
// when it says none.
func subscriptionID(f *wire.Frame) json.RawMessage {
	at := jsonx.Push("/"+spec.FieldMeta, spec.MetaSubscriptionID)
	m := f.Message()
	if m.IsResponse() {
		return probe.Lookup(m.Result, at)
	}
	return probe.Lookup(m.Params, at)
}

// honoured is the filter of an acknowledgement, nil without one.
func honoured(ack *wire.Frame) json.RawMessage {
	if ack == nil {
		return nil
	}
	return probe.Lookup(ack.Message().Params, "/notifications")
}

// asked is the filter that a listen request sent.
func asked(x *probe.Exchange) json.RawMessage {
	if x.Sent == nil {
		return nil
	}
	return probe.Lookup(x.Sent.Message().Params, "/notifications")
}

// wants reports whether a member of a filter asks for, or grants, anything.
func wants(filter json.RawMessage, member string) bool {
	v := probe.Lookup(filter, jsonx.Push("", member))
	return jsonx.KindOf(v) == jsonx.True || len(probe.Elements(v)) > 0
}

// beside is the second connection of the run, or one of the case's own where
// that was lost.
func beside(c *probe.Case) (conn *probe.Conn, ok bool) {
	if conn, ok = c.Elsewhere(); !ok {
		return nil, false
	}
	if lost, _ := conn.Lost(); lost {
		conn = c.Open()
	}
	return conn, conn != nil
}

// outcome says in a sentence about a request what became of it.
func outcome(x *probe.Exchange) string {
	switch {
	case x.Response != nil, x.Head != nil:
		return "is answered by " + x.Brief()
	case x.Err == nil, x.Silent():
		return "is not answered"
	}
	return "is not answered: " + x.Brief()
}

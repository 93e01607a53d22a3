// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// Options of a probe. The zero value probes well-formed requests only, calls
// read-only tools, and waits as long as its defaults say.
type Options struct {
	Revision spec.Revision // zero is the latest
	Timeout  time.Duration // one request, zero is 5 s
	// Start bounds the start of a process and its first word. Zero gives it 60 s to
	// be reached, and 25 s of the run's time to say something.
	Start time.Duration
	// Mine allows messages that are wrong on purpose. It is set for a server
	// on this machine, and where the user says that the target is theirs.
	Mine bool
	// Started says that the server was started for this run.
	Started bool
	// Tools are tools that the user allows to be called, each with the
	// arguments to call it with; nil arguments are made from its schema.
	Tools map[string]json.RawMessage
	// Failing are requests that the user says fail inside the server: the
	// params by method, without _meta.
	Failing map[string]json.RawMessage
	// StateTTL is how long a requestState of the server is valid, zero when
	// it is not known.
	StateTTL time.Duration
	// Tokens are further access tokens, for rules on them.
	Tokens Tokens
	// MaxListBytes is the ceiling for the answers to tools/list together, zero
	// for DefaultListBytes. One that the user named counts for more.
	MaxListBytes int
	// Stressing: the cases put a load on the server, so that its end is blamed by
	// the case in which it comes.
	Stressing bool
	// Listen opens a listener on this machine for a [Lure], nil a port of loopback.
	Listen func() (net.Listener, error)
	// Version of the program, for clientInfo.
	Version string
	// Quiet is how long silence is listened to, zero is 150 ms.
	Quiet  time.Duration
	Tap    transport.Tap
	Stderr io.Writer
	// Progress is told what is being done, may be nil.
	Progress func(string)
	// Clock is told where the time goes, may be nil.
	Clock *Clock
	// Full is called once, when the server has sent more than a run keeps; may be
	// nil. It should end the run's context because of [ErrFull].
	Full func()
}

// mostKept bounds the bytes of a server that a run keeps. Rules look at all of
// them when it is over, and a server may send without end.
const mostKept = 128 << 20

// ErrFull is the cause of the end of a run whose server sent more than is kept.
var ErrFull = errors.New("the server sent more than a run keeps")

// keeps counts what came.
func (p *Probe) keeps(e *transport.Event) {
	n := len(e.Body)
	if e.Frame != nil {
		n += len(e.Frame.Raw)
	}
	if now := p.kept.Add(int64(n)); now > mostKept && now-int64(n) <= mostKept && p.o.Full != nil {
		p.o.Full()
	}
}

// Defaults of Options.
const (
	DefaultTimeout = 5 * time.Second
	DefaultStart   = 60 * time.Second
	DefaultQuiet   = 150 * time.Millisecond
	// DefaultListBytes is what tools/list may weigh before it fills too much of
	// a model's context.
	DefaultListBytes = 64 << 10
)

// Probe is one target under test at one revision.
type Probe struct {
	target  transport.Target
	o       Options
	firstID int64

	facts  Facts
	shared *Conn
	// renewing guards the begin of another session on the shared connection, and
	// the count of them.
	renewing Turn
	sessions int
	serial   Turn // stdio: one case at a time on the shared process

	turns  atomic.Int64
	silent atomic.Int64 // exchanges to which nothing came
	slow   atomic.Int64 // slowest answer so far, in nanoseconds
	// running is slow without the first answers of processes.
	running atomic.Int64
	// started is how long a process took to its first word, the slowest until now.
	started atomic.Int64
	warm    atomic.Bool // the first answer of all has come
	stays   atomic.Bool // stdio: it does not end with its input

	called callings

	kept      atomic.Int64 // bytes of the server
	elsewhere elsewhere
	capable   capable
	alone     alone

	mu       sync.Mutex
	conns    []*Conn
	onces    map[string]*shared // exchanges made once for all, by content
	made     map[string]*thing
	callable *[]Tool
	reopens  int

	down down

	limit    throttle
	surveyed atomic.Bool // the facts are known
}

// Open connects to a target and takes in what it says of itself; see
// [Probe.Facts]. The error is a *transport.Error: the target cannot be reached
// or its process does not start. Close must be called in any case but that.
func Open(ctx context.Context, target transport.Target, o Options) (*Probe, error) {
	if o.Revision == 0 {
		o.Revision = spec.Latest
	}
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{{&o.Timeout, DefaultTimeout}, {&o.Quiet, DefaultQuiet}} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	p := &Probe{target: target, o: o, firstID: 1000, onces: map[string]*shared{}, made: map[string]*thing{}, serial: NewTurn(), renewing: NewTurn()}
	p.down.checking = NewTurn()
	c, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	p.shared = c
	p.survey(ctx)
	p.surveyed.Store(true)
	p.greetAgain(ctx)
	return p, nil
}

// Close ends every connection.
func (p *Probe) Close(ctx context.Context) {
	p.mu.Lock()
	conns := p.conns
	p.mu.Unlock()
	if c := p.capable.conn; c != nil {
		c.disown() // its standing stream
	}
	var wait sync.WaitGroup
	for _, c := range conns {
		wait.Go(func() { c.close(ctx) })
	}
	wait.Wait()
}

// Revision is the one that is judged.
func (p *Probe) Revision() spec.Revision { return p.o.Revision }

// Stdio reports whether the target is a stream of lines.
func (p *Probe) Stdio() bool { return p.target.Kind() == transport.Stdio }

// HTTP reports whether the target is reached by Streamable HTTP.
func (p *Probe) HTTP() bool { return p.target.Kind() == transport.StreamableHTTP }

// OneStream reports whether all answers of a connection come on one stream, as
// over stdio and HTTP+SSE: what belongs to nobody is told apart there only when
// one thing goes on at a time.
func (p *Probe) OneStream() bool { return !p.HTTP() }

// Mine reports whether messages may be wrong on purpose.
func (p *Probe) Mine() bool { return p.o.Mine }

// Started reports whether the server was started for this run.
func (p *Probe) Started() bool { return p.o.Started }

// StateTTL is how long a requestState is valid; zero when it is not known.
func (p *Probe) StateTTL() time.Duration { return p.o.StateTTL }

// ListBytes is the ceiling for tools/list, and whether the user named it.
func (p *Probe) ListBytes() (most int, named bool) {
	if p.o.MaxListBytes > 0 {
		return p.o.MaxListBytes, true
	}
	return DefaultListBytes, false
}

// Clock is told where the time goes; nil where nobody asks.
func (p *Probe) Clock() *Clock { return p.o.Clock }

// Quiet is how long silence is listened to.
func (p *Probe) Quiet() time.Duration { return p.o.Quiet }

// Request is a well-formed request. Params is a JSON object without _meta, may
// be empty.
func (p *Probe) Request(method, params string) *Request {
	r := &Request{Method: method, Revision: p.o.Revision}
	for _, m := range Members(raw(params)) {
		r.params = append(r.params, member{m.Name, json.RawMessage(m.Value)})
	}
	if p.o.Revision.Era() == spec.Modern {
		version := p.o.Version
		if version == "" {
			version = "0.0.0"
		}
		r.meta = []member{
			{spec.MetaProtocolVersion, json.RawMessage(jsonx.Quote(p.o.Revision.String()))},
			{spec.MetaClientInfo, json.RawMessage(`{"name":"mcprove","version":` + string(jsonx.Quote(version)) + `}`)},
			{spec.MetaClientCapabilities, json.RawMessage(`{}`)},
		}
	}
	return r
}

// Notification is a well-formed notification.
func (p *Probe) Notification(method string) *Request {
	return &Request{Method: method, Revision: p.o.Revision, noID: true}
}

func (p *Probe) turn() int { return int(p.turns.Add(1)) }

// patience is how long an answer is waited for: the request's bound at first,
// less once the server was silent a few times, so that a server that hangs on
// many things does not cost the bound for each of them.
func (p *Probe) patience() time.Duration {
	if p.silent.Load() < patientTimes {
		return p.o.Timeout
	}
	return min(p.o.Timeout, max(leastPatience, 20*time.Duration(p.slow.Load())))
}

// briefPatience is patience where silence would be no news, and more than it
// shows that there is any.
func (p *Probe) briefPatience() time.Duration {
	return min(p.o.Timeout, max(leastPatience, 4*time.Duration(p.running.Load())))
}

const (
	patientTimes  = 2
	leastPatience = 600 * time.Millisecond
)

// allowance is what a process gets for its start before the time of its first
// answer counts: what the slowest one took several times over, since others start
// beside it, and up to the bound for the first one.
func (p *Probe) allowance() time.Duration {
	first := cmp.Or(p.o.Start, firstStart)
	if took := p.SlowestStart(); took != 0 {
		return min(first, laterStart+6*took)
	}
	return first
}

// firstStart bounds, where the user says nothing else, the wait for the first word
// of a process; laterStart is the least that later ones get.
const (
	firstStart = 25 * time.Second
	laterStart = 5 * time.Second
)

// wasSilent takes note that nothing came in time.
func (p *Probe) wasSilent(x *Exchange) {
	p.silent.Add(1)
	if x.Method == spec.MethodToolsCall {
		p.called.take(x)
	}
}

// hasStarted takes note of how long a process took to its first word.
func (p *Probe) hasStarted(took time.Duration) { raise(&p.started, int64(took)) }

// SlowestStart is how long the slowest process of the run took to its first word.
func (p *Probe) SlowestStart() time.Duration { return time.Duration(p.started.Load()) }

// raise makes a value the largest so far.
func raise(most *atomic.Int64, value int64) {
	for {
		old := most.Load()
		if value <= old || most.CompareAndSwap(old, value) {
			return
		}
	}
}

// wasQuick takes note of how long an answer took; first says that it is the first
// one of a connection.
func (p *Probe) wasQuick(x *Exchange, first bool) {
	if x.Response == nil || x.Busy() {
		return
	}
	took := int64(x.End.Sub(x.Start))
	if p.Stdio() && p.warm.CompareAndSwap(false, true) {
		return // the start counts, not the answer
	}
	if x.Method == spec.MethodToolsCall {
		p.called.take(x)
		return // how long a tool takes says nothing of the server
	}
	raise(&p.slow, took)
	if !first {
		raise(&p.running, took)
	}
}

// errNotMine is the Err of a message that was not sent, because it is wrong on
// purpose and the target is not the user's.
var errNotMine = errors.New("the target is not on this machine, so nothing malformed was sent")

// maxReopens bounds how often a process that died is started again.
const maxReopens = 8

// main is the shared connection, opened again where it was lost.
func (p *Probe) main(ctx context.Context) (*Conn, error) {
	p.mu.Lock()
	c := p.shared
	p.mu.Unlock()
	lost, err := c.Lost()
	if !lost {
		return c, nil
	}
	p.mu.Lock()
	p.reopens++
	again := p.reopens <= maxReopens
	p.mu.Unlock()
	if !again {
		return nil, err
	}
	fresh, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shared = fresh
	return fresh, nil
}

// send makes one exchange on a connection, the shared one where it is nil.
func (p *Probe) send(ctx context.Context, c *Conn, r *Request) *Exchange {
	shared := c == nil
	k, c, x := p.begin(ctx, c, r)
	if x != nil {
		return x
	}
	if shared && c.unsent(k) { // the process before it ended just now
		if k, c, x = p.begin(ctx, nil, r); x != nil {
			return x
		}
	}
	x = c.finish(ctx, k)
	for range mostAnew {
		if !c.endedBy(ctx, x) || !shared {
			break
		}
		fresh := p.anew(ctx, c)
		if fresh == nil {
			break
		}
		c = fresh
		x = c.exchange(ctx, r)
	}
	switch {
	case !x.Died():
	case !p.Stdio():
		p.fell(ctx, x)
	case shared && ctx.Err() == nil:
		// A process may end for another reason than what it was just sent.
		if k, c, _ := p.begin(ctx, nil, r); k != nil {
			if again := c.finish(ctx, k); again.Response != nil {
				return again
			}
		}
	}
	return x
}

func (p *Probe) begin(ctx context.Context, c *Conn, r *Request) (*call, *Conn, *Exchange) {
	unsent := &Exchange{Request: r, Method: r.Method, Closed: true, Start: time.Now()}
	if r.Planted != "" && !p.o.Mine {
		unsent.Err = errNotMine
		return nil, nil, unsent
	}
	if p.Down() != nil {
		unsent.Err = errDown
		return nil, nil, unsent
	}
	if c == nil {
		var err error
		if c, err = p.main(ctx); err != nil {
			unsent.Err = err
			return nil, nil, unsent
		}
	}
	return c.start(ctx, r), c, nil
}

// Patience is how long an answer is waited for.
func (p *Probe) Patience() time.Duration { return p.patience() }

// Word is the transport as the ids of rules name it: http or stdio.
func (p *Probe) Word() string {
	if p.Stdio() {
		return "stdio"
	}
	return "http"
}

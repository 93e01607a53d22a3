// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const (
	tasksPage    = "2025-11-25/basic/utilities/tasks"
	tasksOfTools = "tasks.requests.tools.call"
	// askTask is the member of params that asks for a task.
	askTask = `{"ttl":60000}`
	// noTask is a task that nobody has, noTaskCursor a cursor that nobody gave.
	noTask       = `"mcprove-no-such-task"`
	noTaskCursor = `"mcprove-no-such-page-of-tasks"`
)

// tasksLegacyRules are those of tasks, which are of the core in 2025-11-25 alone.
var tasksLegacyRules = []Rule{
	{
		Info: rule.Info{
			ID: "tasks-legacy.capability", Level: rule.Must, Basis: rule.Keyword, Section: tasksPage + "#capabilities",
			Title: "a server with tasks declares the tasks capability",
			Why:   "clients that go by the capability never ask for a task, and wait for long calls with the connection open",
			Fix:   `add "tasks" to the capabilities, with the requests that may become tasks`,
		},
		In: only2511, Check: tasksDeclared,
		Break: Break{Base: withoutTasks, Faults: []mock.Fault{mock.On(spec.MethodTasksList).Result(`{"tasks":[]}`)}},
	},
	{
		Info: rule.Info{
			ID: "tasks-legacy.undeclared-ignored", Level: rule.Must, Basis: rule.Keyword, Section: tasksPage + "#task-support-and-handling",
			Title: "a call that asks for a task is served plainly where no tasks are declared",
			Why:   "a client gets an error, or a task that it cannot follow, for a call that the server could answer",
			Fix:   "ignore params.task unless you declare tasks for the request",
		},
		In: only2511, Check: taskIgnored, Needs: "--tool",
		Break:  Break{Base: withoutTasks, Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.HasParam("/task")).Error(spec.CodeInvalidParams, "no tasks here")}},
		Breaks: []Break{{Base: withoutTasks, Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.HasParam("/task")).OfResult().Result(madeTask)}}},
	},
	{
		Info: rule.Info{
			ID: "tasks-legacy.tool-forbidden-32601", Level: rule.Should, Basis: rule.Keyword, Section: tasksPage + "#tool-level-negotiation",
			Title: "a task of a tool that runs as none is refused with -32601",
			Why:   "a client waits for a task that never begins, or takes the result for one",
			Fix:   "answer code -32601 where the tool's execution.taskSupport is forbidden or missing",
		},
		In: only2511, Check: taskForbidden, Needs: "--tool",
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.HasParam("/task")).OfCode(spec.CodeMethodNotFound).Set("/error/code", "-32600")}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.HasParam("/task")).OfCode(spec.CodeMethodNotFound).Result(`{"content":[]}`)}}},
	},
	{
		Info: rule.Info{
			ID: "tasks-legacy.unknown-id-32602", Level: rule.Must, Basis: rule.Keyword, Section: tasksPage + "#protocol-errors",
			Title: "an unknown task is refused with -32602",
			Why:   "a client cannot tell that its task is gone from a server that is broken, and asks again and again",
			Fix:   "answer code -32602 to tasks/get, tasks/result and tasks/cancel where nobody has the task",
		},
		In: only2511, Check: taskUnknown,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckTaskUnknown)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodTasksCancel).OfCode(spec.CodeInvalidParams).Set("/error/code", "-32603")}},
		},
	},
	{
		Info: rule.Info{
			ID: "tasks-legacy.list-cursor-32602", Level: rule.Must, Basis: rule.Keyword, Section: tasksPage + "#protocol-errors",
			Title: "a cursor of tasks/list that the server never gave is refused with -32602",
			Why:   "a client whose cursor went stale is given the first page again, and shows its tasks twice",
			Fix:   "answer a cursor you cannot read or did not make with code -32602",
		},
		In: only2511, Check: taskCursor,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodTasksList).Lenient(mock.CheckCursorInvalid)}},
	},
	{
		Info: rule.Info{
			ID: "tasks-legacy.list-not-without-identity", Level: rule.ShouldNot, Basis: rule.Keyword, Section: tasksPage + "#task-isolation-and-access-control",
			Title: "tasks are listed for who began them alone",
			Why:   "anybody who connects reads of the work of others, and can fetch or cancel it",
			Fix:   "bind tasks to a user or a session; where that cannot be, leave tasks.list out",
		},
		In: only2511, Check: taskOfOthers, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodTasksList).Lenient(mock.CheckTaskOwner)}, Only: transport.StreamableHTTP},
	},
	{
		Info: rule.Info{
			ID: "tasks-legacy.cancel-by-tasks-cancel", Level: rule.Must, Basis: rule.Keyword, Section: "2025-11-25/basic/utilities/cancellation#behavior-requirements",
			Title: "a server cancels a task of the client by tasks/cancel",
			Why:   "the request was answered when the task began: the client finds nothing to cancel, and works on",
			Fix:   "send tasks/cancel with the id of the task, not notifications/cancelled",
		},
		In: only2511, Watch: taskCancelled, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			askedCapably.Request(spec.MethodCreateMessage, sampledAsTask, `"task-1"`),
			askedCapably.Notify(spec.NotificationCancelled, `{"requestId":"task-1"}`),
		}, Also: []string{"tasks-legacy.requestor-checks-capability"}},
	},
	{
		Info: rule.Info{
			ID: "tasks-legacy.requestor-checks-capability", Level: rule.Should, Basis: rule.Keyword, Section: tasksPage + "#capability-negotiation",
			Title: "a server asks for a task only where the client declares that it has such",
			Why:   "the client ignores it and answers plainly, while the server waits for a task",
			Fix:   "look at the client's tasks.requests before you add task to a request",
		},
		In: only2511, Watch: taskUndeclaredAsk, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{askedCapably.Request(spec.MethodCreateMessage, sampledAsTask, `"task-1"`)}},
	},
}

// askedCapably is a call by a client that can be asked.
var askedCapably = mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"draw_chart"`), mock.EarlierHas("/params/capabilities/sampling/tools"))

const (
	sampledAsTask = `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":10,"task":{"ttl":60000}}`
	madeTask      = `{"task":{"taskId":"t-1","status":"working","createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z","ttl":60000}}`
)

// withoutTasks is a server no tool of which runs as a task.
func withoutTasks(s *mock.Script) {
	for i := range s.Tools {
		s.Tools[i].Task = ""
	}
}

func tasksDeclared(c *probe.Case) {
	switch {
	case c.Facts().Capabilities == nil:
		c.SkipFor(ruleGreeting(c.Probe().Revision()), "what the server declares is not known")
		return
	case c.Facts().Declares("tasks"):
		c.Pass(c.Facts().Greeting)
		return
	}
	x := c.Send(c.Request(spec.MethodTasksList, "").Planting("a method of a capability that is not declared"))
	if x.OK() && jsonx.KindOf(x.Member("tasks")) == jsonx.Array {
		c.Fail(x, "tasks/list is served, and initialize declares no tasks").And(c.Facts().Greeting)
		return
	}
	c.Pass(x)
}

// taskCall is how long a call may take to be made again as a task.
const taskCall = time.Second

// calledPlainly is a tool whose plain call works, with that call. Where none is
// as wanted the case is skipped, and ok is false.
func calledPlainly(c *probe.Case, wanted func(probe.Tool) bool) (t probe.Tool, x *probe.Exchange, ok bool) {
	tools, reason := c.Probe().Callable(), probe.NoTool
	for i, x := range c.Calls() {
		switch {
		case !wanted(tools[i]) || !x.OK() || isError(x):
		case x.End.Sub(x.Start) <= taskCall:
			return tools[i], x, true
		default:
			reason = fmt.Sprintf("no call of such a tool was answered in time: within %s", taskCall)
		}
	}
	c.Skip("%s", reason)
	return t, nil, false
}

func taskIgnored(c *probe.Case) {
	if c.Facts().Declares(tasksOfTools) {
		c.Skip("the server declares that calls of tools run as tasks")
		return
	}
	t, plain, ok := calledPlainly(c, func(probe.Tool) bool { return true })
	if !ok {
		return
	}
	x := c.Send(c.Probe().CallRequest(t.Item, t.Arguments).Param("task", askTask).Planting("a call that asks for a task where none are declared"))
	switch {
	case busy(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
	case !x.OK():
		c.Fail(x, "the server declares no tasks for tools/call, and a call of %s that asks for one was answered by %s", jsonQuote(t.Name), x.Brief()).
			And(plain).Of("tool", t.Name)
	case x.Member("task") != nil && x.Member("content") == nil:
		c.Fail(x, "the server declares no tasks for tools/call, and a call of %s that asks for one became a task", jsonQuote(t.Name)).
			And(plain).Of("tool", t.Name)
	default:
		c.Pass(x)
	}
}

func taskForbidden(c *probe.Case) {
	if !c.Declared(tasksOfTools) {
		return
	}
	t, plain, ok := calledPlainly(c, func(t probe.Tool) bool { return !t.AsTask() })
	if !ok {
		return
	}
	x := c.Send(c.Probe().CallRequest(t.Item, t.Arguments).Param("task", askTask).Planting("a task of a tool that runs as none"))
	switch {
	case x.Is(spec.CodeMethodNotFound):
		c.Pass(x)
	case busy(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
	default:
		c.Fail(x, "a task of %s, whose execution.taskSupport allows none, was answered by %s, not by error %d", jsonQuote(t.Name), x.Brief(), spec.CodeMethodNotFound).
			And(plain).Of("tool", t.Name)
	}
}

// begunTask is a task that was begun on the shared connection, nil where no tool
// that may be called runs as one.
type begunTask struct {
	x  *probe.Exchange
	id string
}

func begin(c *probe.Case) *begunTask {
	return probe.Share(c.Probe(), "a task", func() *begunTask {
		for _, t := range c.Probe().TaskTools() {
			x := c.Send(c.Probe().CallRequest(t.Item, t.Arguments).Param("task", askTask))
			if id := probe.Text(x.At("/task/taskId")); id != "" {
				return &begunTask{x, id}
			}
		}
		return nil
	})
}

// aboutTask is a request about a task.
func aboutTask(c *probe.Case, method, id string) *probe.Request {
	return c.Request(method, "").Param("taskId", id)
}

func taskUnknown(c *probe.Case) {
	if !c.Declared("tasks") {
		return
	}
	var control *probe.Exchange
	if k := begin(c); k != nil {
		if control = c.Send(aboutTask(c, spec.MethodTasksGet, string(jsonx.Quote(k.id)))); !control.OK() {
			c.Lacks(control)
			return
		}
	}
	methods := []string{spec.MethodTasksGet, spec.MethodTasksResult}
	if c.Facts().Declares("tasks.cancel") {
		methods = append(methods, spec.MethodTasksCancel)
	}
	for _, m := range methods {
		x := c.Send(aboutTask(c, m, noTask).Planting("a task that does not exist"))
		switch {
		case x.Is(spec.CodeInvalidParams):
			c.Pass(x)
		case busy(x):
			c.Skip("%s was answered by %s", m, x.Brief())
		case control == nil && x.Is(spec.CodeMethodNotFound):
			c.Skip("whether the server has %s at all is not known: it needs a tool that runs as a task and may be called", m)
		default:
			c.Fail(x, "%s of a task that does not exist was answered by %s, not by error %d", m, x.Brief(), spec.CodeInvalidParams).And(control)
		}
	}
}

func taskCursor(c *probe.Case) {
	if !c.Declared("tasks.list") {
		return
	}
	r := c.Request(spec.MethodTasksList, "")
	control, ok := c.Works(r)
	if !ok {
		return
	}
	x := c.Send(r.Param(spec.FieldCursor, noTaskCursor).Planting("a cursor that the server never gave"))
	switch {
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
	case busy(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
	default:
		c.Fail(x, "tasks/list with a cursor that was never given was answered by %s, not by error %d", x.Brief(), spec.CodeInvalidParams).And(control)
	}
}

// identifying are words in the names of headers by which a client says who it
// is.
var identifying = []string{"auth", "cookie", "key", "token"}

// taskOfOthers lists tasks in a session of its own, by a client that says no
// more of who it is than the one that began a task.
func taskOfOthers(c *probe.Case) {
	switch {
	case !c.Declared("tasks.list"):
		return
	case !c.HTTP():
		c.Skip("over stdio the process has one client, and nobody else to list tasks for")
		return
	}
	k := begin(c)
	if k == nil {
		c.Skip("it needs a tool that runs as a task and may be called: one with readOnlyHint true, or named with --tool 'NAME={...}'")
		return
	}
	if k.x.SentHead != nil && slices.ContainsFunc(k.x.SentHead.Header, func(f wire.HeaderField) bool {
		return slices.ContainsFunc(identifying, func(w string) bool { return strings.Contains(strings.ToLower(f.Name), w) })
	}) {
		c.Skip("every connection of this run says that it is of the same user")
		return
	}
	conn, ok := c.Elsewhere()
	if !ok {
		return
	}
	own := c.Send(c.Request(spec.MethodTasksList, ""))
	x := c.SendOn(conn, c.Request(spec.MethodTasksList, ""))
	switch {
	case !own.OK():
		c.Lacks(own)
	case !x.OK(), !showsTask(x, k.id):
		c.Pass(x)
	default:
		c.Fail(x, "tasks/list shows a task to a client that did not begin it, and of which the server knows as little").And(k.x)
	}
}

// showsTask reports whether a list of tasks has one of an id.
func showsTask(x *probe.Exchange, id string) bool {
	return slices.ContainsFunc(probe.Elements(x.Member("tasks")), func(raw json.RawMessage) bool { return probe.Text(probe.Lookup(raw, "/taskId")) == id })
}

// asTask reports whether a request of the server asks for a task.
func asTask(r probe.Received) bool { return probe.Lookup(r.Message().Params, "/task") != nil }

func taskCancelled(c *probe.Case, t *probe.Traffic) {
	asked := slices.DeleteFunc(t.Messages(wire.Request), func(r probe.Received) bool { return !asTask(r) })
	for _, k := range cancellations(t) {
		i := slices.IndexFunc(asked, func(r probe.Received) bool { return sameID(r.Message().ID, k.id) && r.Conn == k.conn })
		if i >= 0 {
			c.Fail(k.x, "notifications/cancelled names a request of the server that asked for a task").In(k.frame, "/params/requestId").And(asked[i].Exchange)
			return
		}
		c.Pass(k.x)
	}
	c.Unseen("the server cancelled nothing")
}

func taskUndeclaredAsk(c *probe.Case, t *probe.Traffic) {
	var bad one
	for _, r := range t.Messages(wire.Request) {
		m := r.Message()
		declared, known := t.Declared(r, "tasks.requests."+strings.ReplaceAll(m.Method, "/", "."))
		switch {
		case asTask(r) && declared == nil && known:
			bad.add(c.Fail, said{Frame: r.Frame, x: r.Exchange}, "%s asks for a task, and the client declares none for it", m.Method)
		default:
			c.Pass(r.Exchange)
		}
	}
	c.Unseen("%s", probe.NoAsk)
}

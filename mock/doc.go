// SPDX-License-Identifier: Apache-2.0

// Package mock is a scripted MCP server, over HTTP and over stdio, in every
// revision of the protocol, that keeps all rules until a Fault tells it not to.
//
// A [Script] says what the server shows and answers. [New] makes a [Server] of
// it, which is an http.Handler and serves stdio; [Server.HTTP] and
// [Server.Stdio] are targets inside the process, without sockets. Which eras
// it speaks follows from the revisions of the script.
//
// # Answers
//
// A tool, a resource or a prompt gives one result, or one of several [Answer]
// values by the arguments and by the number of the call, or what a [Func]
// makes. An Answer is data: it waits, reports progress, logs, changes the
// server, and asks the client first. The same [Ask] is an input request of the
// modern era, sealed into a requestState, and a request of the server in the
// legacy one. A tool with a [TaskUse] runs as a task of either era.
//
//	mock.Tool{
//		Definition: []byte(`{"name":"greet","inputSchema":{"type":"object"}}`),
//		Answers: []mock.Answer{{
//			Ask: []mock.Ask{{Key: "who", Method: spec.MethodElicit, Params: form}},
//			Result: []byte(`{"content":[{"type":"text","text":"Hello, {{input.who.content.name}}."}]}`),
//		}},
//	}
//
// [Specimen] is a script on which every rule has something to look at.
//
// # For tests
//
// On a server whatever a test needs is registered in one line each, at any time,
// and who listens is told. [Script.Open] declares from the start all that may
// come, so that a client which connected first is told too.
//
//	srv := mock.New(mock.Script{}).
//		Tool("add", mock.Typed(func(ctx context.Context, in AddIn) (AddOut, error) { ... })).
//		Tool("hi", mock.Text("hello")).
//		Tool("broken", mock.ToolError("no such file")).
//		Tool("bad", mock.ProtocolError(-32000, "nope")).
//		Resource("file:///a.txt", mock.Text("text")).
//		Prompt("p", mock.UserMessage("Greet {{who}}."), mock.Argument("who", "whom to greet"))
//
// A [Behaviour] is a value, an error, a function, or a [Sequence] of them. What
// a tool's function returns as an error is a result with isError, a
// [ProtocolError] is the error of the protocol, and a panic is an internal error
// that says nothing of it: [Server.Panics] does. A registration that cannot be
// right, such as a picture that is a text, panics with a [*RegistrationError].
//
// [Server.Exchange] takes one message and returns its answer, or nothing.
// [Server.Expect] says which calls should come, and [Server.Unmet] which did
// not:
//
//	srv.Expect("tools/call").Named("add").With(map[string]any{"a": 1}).Times(2)
//	srv.NoOtherCalls()
//
// # Faults
//
// A [Fault] is data: a [Place] and an [Op]. The server first makes the correct
// answer, then applies the faults to it, so a fault changes exactly what it
// names. A place is a method, a page and a turn, narrowed by conditions on the
// request or on the answer; it may also be what the server sends by itself.
//
//	mock.On(spec.MethodToolsList).OnPage(2).Remove("/result/resultType")
//	mock.Place{}.OfCode(spec.CodeUnsupportedVersion).Set("/error/code", "-32000")
//	mock.Place{}.When(mock.HasHeader(spec.HeaderSessionID)).Status(404)
//	mock.OnNotification(spec.NotificationProgress).Set("/params/progress", "1")
//	mock.On(spec.MethodPromptsGet).Lenient(mock.CheckHeaderNameMismatch)
//
// The last one is a leniency. Whatever the server refuses has a name in
// [Checks]; where a leniency stands it is not refused but answered, as if that
// one check had passed.
package mock

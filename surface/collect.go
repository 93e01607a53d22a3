// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// CollectOptions steers Collect; the zero value is ready.
type CollectOptions struct {
	// Secrets are values that must not be recorded, should the server show
	// them: they are replaced by text.Redacted.
	Secrets []string
	// Forced says that the session was told which era or revision to speak.
	// What the server offers besides cannot be seen then, so the revisions are
	// not captured.
	Forced bool
	// Progress is told which listing is being read.
	Progress func(method string)
}

// Collect reads everything that the server shows. It asks for the listings
// whose capability is declared, every page of them, and for nothing else: it
// never calls a tool, gets a prompt or reads a resource.
//
// A listing that answers -32601 is not served. Any other failure, on any page,
// fails the whole: a partial surface would turn into removals.
func Collect(ctx context.Context, s *session.Session, opt CollectOptions) (*Surface, error) {
	out := New()
	n := s.Negotiated()
	out.Facets.add(ServerName, ServerVersion, ServerOther, Instructions, Capabilities, CacheScope)
	if !opt.Forced {
		out.Facets.add(Revisions)
	}
	if err := out.negotiated(n); err != nil {
		return nil, err
	}
	declared := map[string]bool{}
	ms, _ := jsonx.Members(out.Capabilities, jsonx.Strict)
	for _, m := range ms {
		declared[m.Name] = true
	}
	for _, k := range Kinds {
		out.Facets.addKind(k)
		out.Facets.add(k.Order())
		if !declared[capabilityOf(k)] {
			continue
		}
		if opt.Progress != nil {
			opt.Progress(k.Method())
		}
		if err := out.collect(ctx, s, k); err != nil {
			return nil, err
		}
	}
	out.redact(opt.Secrets)
	out.sort()
	for _, a := range s.Anomalies() {
		out.Notes = append(out.Notes, NoteOf(a))
	}
	return out, nil
}

// negotiated takes what the server said of itself on the way.
func (s *Surface) negotiated(n session.Negotiated) error {
	canonical := func(what string, raw json.RawMessage) (jsonx.Raw, error) {
		if raw == nil {
			return nil, nil
		}
		if k := jsonx.KindOf(raw); k != jsonx.Object {
			return nil, fmt.Errorf("%s must be an object, is %s", what, k.Name())
		}
		c, err := jsonx.Canonical(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return c, nil
	}
	var err error
	if s.Server, err = canonical("serverInfo", n.ServerInfo); err != nil {
		return err
	}
	if s.Capabilities, err = canonical("capabilities", n.Capabilities); err != nil {
		return err
	}
	if n.Instructions != nil {
		s.Instructions = *n.Instructions
	}
	s.Revisions = []string{n.Revision.String()}
	if n.Era == spec.Modern && len(n.Supported) > 0 {
		s.Revisions = slices.Sorted(slices.Values(n.Supported))
	}
	return nil
}

// ListError is a listing that could not be read to its end.
type ListError struct {
	Kind Kind
	Err  error
}

func (e *ListError) Error() string {
	if m := e.Err.Error(); strings.HasPrefix(m, e.Kind.Method()+": ") {
		return m // it names the method itself
	}
	return e.Kind.Method() + ": " + e.Err.Error()
}

func (e *ListError) Unwrap() error { return e.Err }

// collect reads every page of one listing.
func (s *Surface) collect(ctx context.Context, from *session.Session, k Kind) error {
	list, err := from.List(ctx, k.Method())
	if err != nil {
		if rpc, ok := errors.AsType[*session.RPCError](err); ok && rpc.Code == spec.CodeMethodNotFound && firstPage(err) {
			s.NotServed = append(s.NotServed, k)
			s.Notes = append(s.Notes, fmt.Sprintf("%s is not served (-32601) though the capability %q is declared", k.Method(), capabilityOf(k)))
			return nil
		}
		return &ListError{k, err}
	}
	s.Notes = append(s.Notes, list.Notes...)
	index := 0
	for p, page := range list.Pages {
		ms, err := resultMembers(page)
		if err != nil {
			return &ListError{k, fmt.Errorf("page %d: %w", p+1, err)}
		}
		items := jsonx.Raw(nil)
		for _, m := range ms {
			switch m.Name {
			case string(k):
				items = m.Value
			case "cacheScope":
				s.cacheScope(k, m.Value, p)
			}
		}
		if kind := jsonx.KindOf(items); kind != jsonx.Array {
			return &ListError{k, fmt.Errorf("page %d: %s must be an array, is %s", p+1, k, kind.Name())}
		}
		es := jsonx.Skim(items)
		for _, e := range es {
			if err := s.add(k, e.Value, index); err != nil {
				return err
			}
			index++
		}
	}
	return nil
}

// resultMembers are those of a page's result. A response without faults was read
// strictly when it arrived; any other is read so here, and refused.
func resultMembers(page *session.Result) ([]jsonx.Member, error) {
	if x := page.Exchange; x != nil && x.Response != nil && len(x.Response.Message().Faults) == 0 {
		return jsonx.Skim(page.Raw), nil
	}
	return jsonx.Members(page.Raw, jsonx.Strict)
}

// firstPage reports whether a listing failed at once: -32601 on a later page
// is a failure, not a listing that is not served.
func firstPage(err error) bool {
	page, ok := errors.AsType[*session.PageError](err)
	return !ok || page.Page == 1
}

// cacheScope records the scope of a listing. All its pages must have one; where
// they differ, the wider one counts, since it is the one that can leak.
func (s *Surface) cacheScope(k Kind, raw jsonx.Raw, page int) {
	scope, ok := jsonx.Text(raw)
	if !ok {
		return
	}
	was, had := s.CacheScopes[k.Method()]
	if had && was != scope {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: page %d has cacheScope %s, another page has %s", k.Method(), page+1, text.Line(scope), text.Line(was)))
	}
	if !had || scope == "public" {
		s.CacheScopes[k.Method()] = scope
	}
}

// redact replaces secrets that the server shows. Texts are canonical, so a
// secret is spelled in one way.
func (s *Surface) redact(secrets []string) {
	for _, secret := range secrets {
		if len(secret) < 6 {
			continue
		}
		quoted := jsonx.Quote(secret)
		inner := quoted[1 : len(quoted)-1]
		hide := func(raw jsonx.Raw) jsonx.Raw { return bytes.ReplaceAll(raw, inner, []byte(text.Redacted)) }
		s.Server, s.Capabilities = hide(s.Server), hide(s.Capabilities)
		s.Instructions = string(bytes.ReplaceAll([]byte(s.Instructions), []byte(secret), []byte(text.Redacted)))
		for k, items := range s.items {
			for i := range items {
				if bytes.Contains(items[i].Raw, inner) {
					it, err := newItem(k, hide(items[i].Raw), items[i].Index)
					if err == nil {
						items[i] = it
					}
				}
			}
		}
	}
}

// NoteOf words an anomaly for the user. It may quote foreign text, escaped.
func NoteOf(a session.Anomaly) string {
	n := a.Note
	if n == "" {
		n = string(a.Kind)
	}
	if a.Count > 1 {
		n = fmt.Sprintf("%s (%d times)", n, a.Count)
	}
	if a.Kind == session.Noise && a.Frame != nil {
		n = "1 line on stdout is not JSON-RPC: "
		if a.Count > 1 {
			n = fmt.Sprintf("%d lines on stdout are not JSON-RPC; the first is: ", a.Count)
		}
		n += text.Clip(text.Line(string(a.Frame.Raw)), 160)
	}
	return n
}

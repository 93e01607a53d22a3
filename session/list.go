// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// List asks for every page of a list method. On an error the pages read so
// far are returned with it. The error is a *PageError, that wraps what Call
// returns, or a *CursorError.
func (s *Session) List(ctx context.Context, method string) (*Listing, error) {
	return s.ListAll(ctx, Request{Method: method})
}

// ListAll is List with every choice of a request; the cursor is the session's.
func (s *Session) ListAll(ctx context.Context, r Request) (*Listing, error) {
	var pages []*Result
	l, err := s.EachPage(ctx, r, func(page *Result) error {
		pages = append(pages, page)
		return nil
	})
	l.Pages = pages
	return l, err
}

// EachPage is ListAll that keeps no page: each is given to visit when it came.
// An error of visit ends the listing, and is returned as it is.
func (s *Session) EachPage(ctx context.Context, r Request, visit func(*Result) error) (*Listing, error) {
	l := &Listing{}
	params := r.Params
	seen := map[string]struct{}{}
	for n := 0; ; {
		if n == s.o.MaxPages {
			cursor, _ := jsonx.Text(member(params, spec.FieldCursor))
			return l, &CursorError{Method: r.Method, Cursor: cursor, Pages: n}
		}
		page := r
		page.Params = params
		result, err := s.Do(ctx, page)
		if err != nil {
			if result != nil && result.Exchange.Request() != nil {
				l.Failed = result
			}
			return l, &PageError{Method: r.Method, Page: n + 1, Err: err}
		}
		n++
		if err := visit(result); err != nil {
			return l, err
		}
		cursor, more, err := s.cursor(r.Method, result, l)
		if err != nil {
			return l, &PageError{Method: r.Method, Page: n, Err: err}
		}
		if !more {
			return l, nil
		}
		if _, again := seen[cursor]; again {
			return l, &CursorError{Method: r.Method, Cursor: cursor, Pages: n, Repeat: true}
		}
		seen[cursor] = struct{}{}
		params, err = withMembers(r.Params, true, pair{spec.FieldCursor, json.RawMessage(jsonx.Quote(cursor))})
		if err != nil {
			return l, &PageError{Method: r.Method, Page: n, Err: err}
		}
	}
}

// cursor reads nextCursor. An empty one is a cursor in the modern era
// (2026-07-28/server/utilities/pagination); before, the text is silent and
// clients stop there.
func (s *Session) cursor(method string, r *Result, l *Listing) (cursor string, more bool, err error) {
	raw := r.Member(spec.FieldNextCursor)
	switch jsonx.KindOf(raw) {
	case 0:
		return "", false, nil
	case jsonx.Null:
		l.Notes = append(l.Notes, method+": nextCursor is null, read as the end of the list")
		return "", false, nil
	case jsonx.String:
	default:
		return "", false, &ResultError{Method: method, Detail: "nextCursor is no string", Frame: r.Exchange.Response}
	}
	cursor, _ = jsonx.Text(raw)
	if cursor == "" && s.link.spoken().Era() != spec.Modern {
		s.facts.note(EmptyCursor, method+": nextCursor is empty, read as the end of the list", r.Exchange.Response)
		return "", false, nil
	}
	return cursor, true, nil
}

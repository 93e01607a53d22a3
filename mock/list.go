// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Cursors are opaque to clients; this server numbers its pages in them.
const cursorPrefix = "page-"

func cursorOf(page int) string { return cursorPrefix + strconv.Itoa(page) }

// pageOf is the page that a cursor leads to, zero for a cursor that was never
// given.
func pageOf(cursor string) int {
	digits, ok := strings.CutPrefix(cursor, cursorPrefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || cursorOf(n) != cursor {
		return 0
	}
	return n
}

// setPage finds the page that a request for a list is about. Faults need it
// before there is an answer.
func (s *Server) setPage(q *request) {
	if s.catalog.Load().lists[q.Method] == nil && q.Method != spec.MethodTasksList {
		return
	}
	raw := q.param(spec.FieldCursor)
	if raw == nil {
		return
	}
	cursor, ok := jsonx.Text(raw)
	if !ok {
		q.page = 0
		return
	}
	q.page = pageOf(cursor)
	if f := s.cursorFault(q.Method, OpEmptyCursor); f != nil && cursor == "" {
		q.page = max(f.Page, 1) + 1
	}
}

// list answers one page.
func (s *Server) list(_ context.Context, q *request) (json.RawMessage, *Error) {
	l := s.catalog.Load().lists[q.Method]
	return s.page(q, l.key, l.at(q.revision))
}

// page answers one page of items.
func (s *Server) page(q *request, key string, items []json.RawMessage) (json.RawMessage, *Error) {
	size := s.script.PageSize
	if size <= 0 {
		size = max(len(items), 1)
	}
	pages := max((len(items)+size-1)/size, 1)
	endless := s.cursorFault(q.Method, OpEndlessCursors) != nil
	page := q.page
	if page < 1 || page > pages && !endless {
		if !q.lenient(CheckCursorInvalid) {
			return nil, invalidParams("unknown cursor")
		}
		page = 1
	}
	from := min((page-1)*size, len(items))
	out := []member{{key, array(items[from:min(from+size, len(items))])}}
	if page < pages || endless {
		out = append(out, member{spec.FieldNextCursor, quote(cursorOf(page + 1))})
	}
	return object(out...), nil
}

// cursorFault returns the fault by which the server hands out other cursors
// for a list. It must be known before the answer: the server has to follow
// what it gave.
func (s *Server) cursorFault(method string, o Op) *Fault {
	for i := range s.script.Faults {
		f := &s.script.Faults[i]
		if f.Op == o && (f.Method == "" || f.Method == method) {
			return f
		}
	}
	return nil
}

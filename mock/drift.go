// SPDX-License-Identifier: Apache-2.0

package mock

import "slices"

// drift is one change of the library's next release: a value of a tool's
// definition that is other, or gone where it is empty.
type drift struct {
	tool    string
	pointer string
	value   string
}

// libraryDrift is what happens to servers: each change looks harmless to the
// one who makes it.
var libraryDrift = []drift{
	// The name was thought to be clearer. The old one is called by every agent.
	{"list_loans", "/name", `"list_member_loans"`},
	// The home branch closed, so one must be named now.
	{"place_hold", "/inputSchema/properties/pickup/required", `["branch"]`},
	// Letters were given up.
	{"send_reminder", "/inputSchema/properties/channel/enum", `["email","sms"]`},
	// A slow query was bounded.
	{"search_books", "/inputSchema/properties/limit/maximum", `50`},
	// Books in repair are told apart: readers of the result meet a new word.
	{"search_books", "/outputSchema/properties/books/items/properties/availability/enum", `["on_shelf","on_loan","in_repair"]`},
	// Old books have no number.
	{"get_book", "/outputSchema/properties/isbn/type", `["string","null"]`},
	// Looking at a book is counted, so the tool writes.
	{"get_book", "/annotations/readOnlyHint", `false`},
	// A text was made shorter; models choose by it.
	{"renew_loan", "/description", `"Extend a loan."`},
	// A zero-width space came in by the clipboard. No reviewer sees it.
	{"cancel_hold", "/description", "\"Cancel a hold.\u200b The book goes to the next member who waits.\""},
	// An addition that hurts nobody.
	{"renew_loan", "/inputSchema/properties/notify", `{"type":"boolean","default":false,"description":"Tell the member."}`},
}

// LibraryDrift is the script of the server that demo:drift names: Library after
// an incompatible release.
func LibraryDrift() Script {
	s := Library()
	s.ServerInfo = set(s.ServerInfo, "/version", quote("2.4.0"))
	// The tool had few users, and was removed.
	s.Tools = slices.DeleteFunc(s.Tools, func(t Tool) bool { return word(t.Definition, "name") == "recommend_books" })
	was := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		was[i] = word(t.Definition, "name")
	}
	for _, d := range libraryDrift {
		if i := slices.Index(was, d.tool); i >= 0 {
			s.Tools[i].Definition = set(s.Tools[i].Definition, d.pointer, []byte(d.value))
		}
	}
	return s
}

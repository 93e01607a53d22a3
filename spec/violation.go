// SPDX-License-Identifier: Apache-2.0

package spec

import "fmt"

// ViolationKind sorts violations by what is wrong.
type ViolationKind uint8

const (
	// Unreadable texts are no JSON by RFC 7493; nothing else was judged.
	Unreadable ViolationKind = iota + 1
	// WrongType is a value of another JSON type than expected.
	WrongType
	// WrongValue is a value of the right type that is not allowed.
	WrongValue
	// Missing is a required member that is not there.
	Missing
	// Forbidden is a member or a message that must not be there.
	Forbidden
	// OtherRevision is a method that other revisions have and this one lacks.
	OtherRevision
)

// String returns the kind as a word or two.
func (k ViolationKind) String() string {
	names := [...]string{Unreadable: "unreadable", WrongType: "wrong type", WrongValue: "wrong value",
		Missing: "missing", Forbidden: "forbidden", OtherRevision: "other revision"}
	if k < Unreadable || int(k) >= len(names) {
		return fmt.Sprintf("violation(%d)", uint8(k))
	}
	return names[k]
}

// Violation is one point where a message leaves its revision's rules. Found and
// Pointer repeat what the peer sent, shortened: escape them before showing them.
type Violation struct {
	Kind ViolationKind
	// Pointer leads from the root of the validated text to the value (RFC 6901);
	// for Missing, to the object that lacks the member.
	Pointer string
	// Member is the name that is missing, for Missing; empty when any one of
	// several would do.
	Member   string
	Message  string // one line that needs no other field
	Expected string
	Found    string
	// Disputed violations rest on a point where the official texts disagree,
	// and should weigh less.
	Disputed bool
}

// String returns the pointer and the message.
func (v Violation) String() string {
	if v.Pointer == "" {
		return v.Message
	}
	return v.Pointer + ": " + v.Message
}

// MaxViolations is how many violations one validation returns at most.
const MaxViolations = 100

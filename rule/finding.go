// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"crypto/sha256"
	"encoding/hex"
)

// Status is the outcome of one judgement.
type Status uint8

// The statuses, from the best to the worst that may be ignored least.
const (
	Pass  Status = iota + 1 // it was judged, and holds
	Skip                    // it was not judged, or is excepted; Reason says why
	Note                    // nobody is hurt, but it should be seen
	Warn                    // somebody may be hurt
	Fail                    // somebody is hurt
	Error                   // it could not be judged
)

var statusNames = [...]string{"", "pass", "skip", "info", "warn", "fail", "error"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// Where is the place of a finding on a server's surface.
type Where struct {
	Kind    string // "tool", "prompt", "resource", "template", "server"
	Name    string // the tool's name, also for a place inside its schema
	Pointer string // RFC 6901, into the surface item (or the document)
	Path    string // the same for people: "filters.city", "tags[].name"
}

// Form says how an evidence's text is to be read.
type Form uint8

// The forms of evidence.
const (
	Plain   Form = iota + 1 // a sentence or a value
	Command                 // a shell command that shows it
	Diff                    // words: [-gone-]{+new+}
)

// Evidence is one labelled text that lets a reader check a finding. Text may
// hold foreign text; sinks escape it.
type Evidence struct {
	Label string
	Text  string
	Form  Form
}

// Finding is the one event of mcprove: what was judged, where, and how it came
// out. Passes are findings too.
type Finding struct {
	ID          string
	Group       string // heading to print it under, in the family's words: "breaking"
	Status      Status
	Reason      string // of a skip or an exception
	Target      string
	Where       Where
	Also        []Where // further places with the same cause
	Count       int     // places in all, at least 1
	Message     string  // one sentence: what is so
	Why         string  // who is hurt, and how
	Evidence    []Evidence
	Fingerprint string // stable name of exactly this finding; see Fingerprint
	Detail      any    // the family's own JSON form; nil when it has none
}

// Fingerprint names a finding by the digest of the parts that make it this
// one and no other. Parts are kept apart, so ("ab","c") and ("a","bc") differ.
// It is 16 hexadecimal digits.
func Fingerprint(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		d := sha256.Sum256([]byte(p))
		h.Write(d[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

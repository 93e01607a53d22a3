// SPDX-License-Identifier: Apache-2.0

package record

import (
	"math"
	"slices"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Recording is what a Recorder kept up to some moment, or what a file holds.
// It does not change.
type Recording struct {
	// Dropped is how many entries are missing at the beginning, because there
	// was no room for them.
	Dropped int

	entries []entry
	records []Record
	redact  Redaction
}

func newRecording(entries []entry, before []*question, dropped int, redact Redaction) *Recording {
	return &Recording{Dropped: dropped, entries: entries, records: joined(entries, before), redact: redact}
}

// Records is every record, in order. The slice is the caller's; what the
// records point to is not to be changed.
func (r *Recording) Records() []Record { return slices.Clone(r.records) }

// Filter is the records that keep wants.
func (r *Recording) Filter(keep func(*Record) bool) []Record {
	var out []Record
	for i := range r.records {
		if out = append(out, r.records[i]); !keep(&out[len(out)-1]) { // it sees a copy
			out = out[:len(out)-1]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// ByMethod is the records of a method: its messages, and the answers to them.
func (r *Recording) ByMethod(method string) []Record {
	return r.Filter(func(x *Record) bool { return x.Method == method })
}

// Counts is the number of records by [Record.Name]. They add up to all.
func (r *Recording) Counts() map[string]int {
	n := map[string]int{}
	for i := range r.records {
		n[r.records[i].Name()]++
	}
	return n
}

// Unanswered is the requests of either side that have no answer so far. Those
// that failed to be sent, and those that were cancelled, are not waited for.
func (r *Recording) Unanswered() []Record {
	return r.Filter(func(x *Record) bool { return x.Kind == Request && !x.Answered && !x.Cancelled })
}

// AfterCancel is the answers that came when their request was cancelled: by a
// notification, or by closing its stream.
func (r *Recording) AfterCancel() []Record {
	return r.Filter(func(x *Record) bool { return x.AfterCancel })
}

// Stray is what a server put out that is no JSON-RPC: noise on a stream, with
// its line, texts that are no message, and the bodies of successful HTTP
// responses that are none.
func (r *Recording) Stray() []Record {
	return r.Filter(func(x *Record) bool {
		switch x.Kind {
		case Noise:
			return x.Dir == wire.ToClient
		case Body:
			return x.HTTP == nil || x.HTTP.Status >= 200 && x.HTTP.Status < 300
		}
		return false
	})
}

// Failed is what could not be sent, with the reason.
func (r *Recording) Failed() []Record {
	return r.Filter(func(x *Record) bool { return x.Kind == FailedSend })
}

// Latencies is how long each first answer of the server took, sorted: all, or
// those of some methods. How long the client took is seen by Filter.
func (r *Recording) Latencies(methods ...string) []time.Duration {
	var out []time.Duration
	for i := range r.records {
		if x := &r.records[i]; x.Timed() && x.Dir == wire.ToClient && (len(methods) == 0 || slices.Contains(methods, x.Method)) {
			out = append(out, x.Latency)
		}
	}
	slices.Sort(out)
	return out
}

// Average is the mean of Latencies, zero without any.
func (r *Recording) Average(methods ...string) time.Duration {
	all := r.Latencies(methods...)
	if len(all) == 0 {
		return 0
	}
	// Each is divided first: a sum of many long ones would overflow.
	var whole, rest time.Duration
	n := time.Duration(len(all))
	for _, d := range all {
		whole, rest = whole+d/n, rest+d%n
	}
	return whole + rest/n
}

// Percentile is the least of Latencies that p percent of them do not exceed
// (nearest rank), zero without any. A p outside of 0 to 100 is taken as the
// nearer of the two.
func (r *Recording) Percentile(p float64, methods ...string) time.Duration {
	all := r.Latencies(methods...)
	if len(all) == 0 {
		return 0
	}
	rank := 1
	if p > 0 { // a NaN is not
		rank = int(math.Ceil(min(p, 100) / 100 * float64(len(all))))
	}
	return all[max(rank, 1)-1]
}

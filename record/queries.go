// SPDX-License-Identifier: Apache-2.0

package record

import (
	"io"
	"time"
)

// Records is [Recording.Records] of what was kept until now; so are the
// methods that follow.
func (r *Recorder) Records() []Record { return r.Recording().Records() }

// Filter is [Recording.Filter].
func (r *Recorder) Filter(keep func(*Record) bool) []Record { return r.Recording().Filter(keep) }

// ByMethod is [Recording.ByMethod].
func (r *Recorder) ByMethod(method string) []Record { return r.Recording().ByMethod(method) }

// Counts is [Recording.Counts].
func (r *Recorder) Counts() map[string]int { return r.Recording().Counts() }

// Unanswered is [Recording.Unanswered].
func (r *Recorder) Unanswered() []Record { return r.Recording().Unanswered() }

// AfterCancel is [Recording.AfterCancel].
func (r *Recorder) AfterCancel() []Record { return r.Recording().AfterCancel() }

// Stray is [Recording.Stray].
func (r *Recorder) Stray() []Record { return r.Recording().Stray() }

// Failed is [Recording.Failed].
func (r *Recorder) Failed() []Record { return r.Recording().Failed() }

// Calls is [Recording.Calls].
func (r *Recorder) Calls() []Call { return r.Recording().Calls() }

// Latencies is [Recording.Latencies].
func (r *Recorder) Latencies(methods ...string) []time.Duration {
	return r.Recording().Latencies(methods...)
}

// Average is [Recording.Average].
func (r *Recorder) Average(methods ...string) time.Duration { return r.Recording().Average(methods...) }

// Percentile is [Recording.Percentile].
func (r *Recorder) Percentile(p float64, methods ...string) time.Duration {
	return r.Recording().Percentile(p, methods...)
}

// WriteJSONL is [Recording.WriteJSONL].
func (r *Recorder) WriteJSONL(w io.Writer) error { return r.Recording().WriteJSONL(w) }

// WriteHAR is [Recording.WriteHAR].
func (r *Recorder) WriteHAR(w io.Writer, version string) error {
	return r.Recording().WriteHAR(w, version)
}

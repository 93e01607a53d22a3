// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Condition narrows a place to some requests, or some answers. It is data; the
// functions below make the useful ones.
type Condition struct {
	Of    Subject
	Name  string // of a header or a _meta key; a pointer into params, a message or the answer
	Is    Relation
	Value string // JSON for a _meta key, params and the answer; text otherwise
}

// Subject is what a condition looks at.
type Subject string

// The subjects.
const (
	OfHeader     Subject = "header"     // of the HTTP request; never present over stdio
	OfMeta       Subject = "meta"       // a key of params._meta
	OfParam      Subject = "param"      // a pointer into params
	OfID         Subject = "id"         // its type: string, number, none or other
	OfTransport  Subject = "transport"  // http or stdio
	OfConnection Subject = "connection" // the number of the client's connection, from 1
	OfRevision   Subject = "revision"   // that the request claims or its session agreed on
	OfAnswer     Subject = "answer"     // a pointer into the answer, before the faults
	OfEarlier    Subject = "earlier"    // a pointer into a message that came before on the connection
	OfDepth      Subject = "depth"      // how many arrays and objects stand in each other in the message
	OfSpelling   Subject = "spelling"   // an HTTP header whose name is spelled so, inside the process alone
)

// Relation is what must hold.
type Relation string

// The relations.
const (
	IsPresent Relation = "present"
	IsAbsent  Relation = "absent"
	IsEqual   Relation = "equal"
	IsOther   Relation = "other" // present, and not equal
	IsFrom    Relation = "from"  // a number or a revision not below the value
)

// HasHeader holds for requests with an HTTP header.
//
//go:noinline
func HasHeader(name string) Condition { return Condition{Of: OfHeader, Name: name, Is: IsPresent} }

// NoHeader holds for requests without an HTTP header.
//
//go:noinline
func NoHeader(name string) Condition { return Condition{Of: OfHeader, Name: name, Is: IsAbsent} }

// HeaderIs holds for requests with that value of an HTTP header.
//
//go:noinline
func HeaderIs(name, value string) Condition { return Condition{OfHeader, name, IsEqual, value} }

// HasMeta holds for requests with a key in _meta.
//
//go:noinline
func HasMeta(key string) Condition { return Condition{Of: OfMeta, Name: key, Is: IsPresent} }

// NoMeta holds for requests without a key in _meta.
//
//go:noinline
func NoMeta(key string) Condition { return Condition{Of: OfMeta, Name: key, Is: IsAbsent} }

// MetaIs holds for requests whose _meta has that JSON value at a key.
//
//go:noinline
func MetaIs(key, value string) Condition { return Condition{OfMeta, key, IsEqual, value} }

// HasParam holds for requests whose params have something at a pointer.
//
//go:noinline
func HasParam(pointer string) Condition { return Condition{Of: OfParam, Name: pointer, Is: IsPresent} }

// NoParam holds for requests whose params have nothing at a pointer.
//
//go:noinline
func NoParam(pointer string) Condition { return Condition{Of: OfParam, Name: pointer, Is: IsAbsent} }

// ParamIs holds for requests whose params have that JSON value at a pointer.
//
//go:noinline
func ParamIs(pointer, value string) Condition { return Condition{OfParam, pointer, IsEqual, value} }

// IDIs holds for requests with an id of a type: string, number, none or other.
//
//go:noinline
func IDIs(kind string) Condition { return Condition{Of: OfID, Is: IsEqual, Value: kind} }

// RevisionIs holds for requests of one revision.
func RevisionIs(r spec.Revision) Condition {
	return Condition{Of: OfRevision, Is: IsEqual, Value: r.String()}
}

// RevisionFrom holds for requests of a revision and later ones.
func RevisionFrom(r spec.Revision) Condition {
	return Condition{Of: OfRevision, Is: IsFrom, Value: r.String()}
}

// AnswerHas holds where the answer has something at a pointer. Like every
// condition on the answer it is of use only to operators that change it.
func AnswerHas(pointer string) Condition {
	return Condition{Of: OfAnswer, Name: pointer, Is: IsPresent}
}

// AnswerIs holds where the answer has that JSON value at a pointer.
func AnswerIs(pointer, value string) Condition { return Condition{OfAnswer, pointer, IsEqual, value} }

// Not returns the opposite of a condition of presence or equality.
//
//go:noinline
func Not(c Condition) Condition {
	switch c.Is {
	case IsPresent:
		c.Is = IsAbsent
	case IsAbsent:
		c.Is = IsPresent
	case IsEqual:
		c.Is = IsOther
	case IsOther:
		c.Is = IsEqual
	}
	return c
}

// holds judges a condition on a request.
func (c *Condition) holds(s *Server, q *request) bool {
	switch c.Of {
	case OfHeader:
		vs := q.header.Values(c.Name)
		if len(vs) == 0 {
			return c.Is == IsAbsent
		}
		return c.text(vs[0])
	case OfSpelling:
		return q.spelled(c.Name) == (c.Is == IsPresent)
	case OfMeta:
		return c.json(q.meta(c.Name))
	case OfParam:
		v, _ := jsonx.Lookup(q.Params, c.Name)
		return c.json(v)
	case OfID:
		return c.text(idKind(q.ID))
	case OfTransport:
		if q.header != nil {
			return c.text("http")
		}
		return c.text("stdio")
	case OfConnection:
		return c.number(int64(q.connection))
	case OfRevision:
		r := q.claimed()
		if c.Is == IsFrom {
			from, err := spec.ParseRevision(c.Value)
			return err == nil && r >= from
		}
		return c.text(r.String())
	case OfDepth:
		return c.number(depthOf(q.Raw))
	case OfEarlier:
		return s.earlier[c.earlierKey(q)]
	case OfAnswer:
		return true // judged once there is one
	}
	return false
}

// holdsOf judges a condition on an answer.
func (c *Condition) holdsOf(answer []byte) bool {
	if c.Of != OfAnswer {
		return true
	}
	v, _ := jsonx.Lookup(answer, c.Name)
	if v == nil && c.Name == resultTypeAt && get(answer, "result") != nil {
		v = quote(spec.ResultComplete)
	}
	return c.json(v)
}

func (c *Condition) text(s string) bool {
	switch c.Is {
	case IsPresent:
		return true
	case IsEqual:
		return s == c.Value
	case IsOther:
		return s != c.Value
	}
	return false
}

func (c *Condition) json(v []byte) bool {
	if v == nil {
		return c.Is == IsAbsent
	}
	same := canonical(v) == canonical([]byte(c.Value))
	return c.Is == IsPresent || c.Is == IsEqual && same || c.Is == IsOther && !same
}

func (c *Condition) number(n int64) bool {
	want, err := strconv.ParseInt(c.Value, 10, 64)
	if err != nil {
		return false
	}
	return c.Is == IsEqual && n == want || c.Is == IsOther && n != want || c.Is == IsFrom && n >= want
}

func idKind(id []byte) string {
	switch jsonx.KindOf(id) {
	case 0:
		return "none"
	case jsonx.String:
		return "string"
	case jsonx.Number:
		return "number"
	}
	return "other"
}

// claimed is the revision that a request says it is of, zero when it says
// nothing that is known.
func (q *request) claimed() spec.Revision {
	if v, ok := jsonx.Text(q.meta(spec.MetaProtocolVersion)); ok {
		r, _ := spec.ParseRevision(v)
		return r
	}
	if q.peer != nil {
		if r := q.peer.agreed(); r != 0 {
			return r
		}
	}
	v := q.header.Get(spec.HeaderProtocolVersion)
	if q.Method == spec.MethodInitialize {
		v, _ = jsonx.Text(q.param("protocolVersion"))
	}
	r, _ := spec.ParseRevision(v)
	return r
}

// Pseudo-methods, for places where there is no request with a method.
const (
	// Unreadable stands for texts that are no JSON-RPC message.
	Unreadable = "(unreadable)"
	// Answered stands for responses that the client sends.
	Answered = "(response)"
	// Batched stands for batches.
	Batched = "(batch)"
)

// placeName is the method by which a fault's place is found.
func placeName(m *wire.Message) string {
	switch m.Kind {
	case wire.Request, wire.Notification:
		return m.Method
	case wire.Response, wire.ErrorResponse:
		return Answered
	case wire.Batch:
		return Batched
	}
	if m.Method != "" {
		return m.Method
	}
	return Unreadable
}

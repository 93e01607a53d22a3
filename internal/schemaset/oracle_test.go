// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	google "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"encoding/json"
)

// ecma is a pattern of the second engine.
type ecma regexp2.Regexp

func (re *ecma) MatchString(s string) bool {
	ok, err := (*regexp2.Regexp)(re).MatchString(s)
	return err == nil && ok
}

func (re *ecma) String() string { return (*regexp2.Regexp)(re).String() }

func compileECMA(s string) (jsonschema.Regexp, error) {
	re, err := regexp2.Compile(s, regexp2.ECMAScript)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = time.Second
	return (*ecma)(re), nil
}

type closedLoader struct{}

func (closedLoader) Load(url string) (any, error) { return nil, errors.New("no loading: " + url) }

// oracle validates by santhosh-tekuri/jsonschema.
type oracle struct{ s *jsonschema.Schema }

func newOracle(raw []byte) (o oracle, err error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return o, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(closedLoader{})
	c.UseRegexpEngine(compileECMA)
	for _, f := range []string{"date", "date-time", "time", "duration", "email", "hostname", "uri", "uri-reference", "uuid", "ipv4", "ipv6", "regex", "json-pointer", "iri", "uri-template", "idn-email", "idn-hostname", "iri-reference", "relative-json-pointer", "period", "semver"} {
		c.RegisterFormat(&jsonschema.Format{Name: f, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource("schema.json", doc); err != nil {
		return o, err
	}
	o.s, err = c.Compile("schema.json")
	return o, err
}

func (o oracle) valid(raw []byte) bool {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic(fmt.Sprintf("not JSON: %s", raw))
	}
	return o.s.Validate(v) == nil
}

// second validates by google/jsonschema-go, which knows 2020-12 and draft-07.
type second struct{ r *google.Resolved }

// secondSkips lists what the second validator is known to judge differently or
// not at all. A witness for a schema that contains one of these is not shown to it.
var secondSkips = []struct{ word, reason string }{
	{"draft-04", "it knows 2020-12 and draft-07 only"},
	{"draft-06", "it knows 2020-12 and draft-07 only"},
	{"2019-09", "it knows 2020-12 and draft-07 only"},
	{`"multipleOf"`, "it divides in floating point"},
	{`(?`, "its patterns are RE2"},
	{`\\`, "its character classes are those of RE2"},
}

func newSecond(raw []byte) (second, bool) {
	for _, s := range secondSkips {
		if strings.Contains(string(raw), s.word) {
			return second{}, false
		}
	}
	var s google.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return second{}, false
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return second{}, false
	}
	return second{r}, true
}

func (s second) valid(raw []byte) bool {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return false
	}
	return s.r.Validate(v) == nil
}

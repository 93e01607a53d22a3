// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// state is what a requestState holds. Nobody but the holder of the key can read
// or make one.
type state struct {
	Bound    string                     `json:"b"`           // digest of the request
	Holder   string                     `json:"p,omitempty"` // digest of who is authorized
	Expires  int64                      `json:"x"`           // Unix milliseconds
	Nonce    string                     `json:"n"`
	Number   int                        `json:"c,omitzero"` // of the call in its sequence
	Deferred int                        `json:"d,omitzero"`
	Inputs   map[string]json.RawMessage `json:"i,omitempty"`
}

// stateTTL is how long a state is taken when the script does not say.
const stateTTL = 10 * time.Minute

// stateText is its encoding. It must be strict, or a changed last character
// could mean the same.
var stateText = base64.RawURLEncoding.Strict()

func newCipher(key []byte) cipher.AEAD {
	if key == nil {
		key = []byte(rand.Text())
	}
	sum := sha256.Sum256(key)
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		panic(err) // a digest has the right length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// bound is a digest of the request that a state belongs to: its method, name
// and arguments.
func (c *Call) bound() string {
	h := sha256.New()
	for _, part := range []string{c.Method, c.Name, canonical(c.Arguments)} {
		_, _ = h.Write(number(int64(len(part)))) // a hash takes all
		_, _ = h.Write([]byte(":" + part))
	}
	return stateText.EncodeToString(h.Sum(nil))
}

// holder is a digest of whoever is authorized, empty for nobody.
func (c *Call) holder() string {
	credentials := c.q.header.Get(spec.HeaderAuthorization)
	if credentials == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(credentials))
	return stateText.EncodeToString(sum[:])
}

// enclose makes the requestState of a call.
func (s *Server) enclose(c *Call, st state) string {
	ttl := s.script.State.TTL
	if ttl <= 0 {
		ttl = stateTTL
	}
	st.Bound, st.Holder = c.bound(), c.holder()
	st.Expires, st.Nonce = s.now().Add(ttl).UnixMilli(), rand.Text()
	plain, err := jsonx.Marshal(st)
	if err != nil {
		return "" // inputs that are no JSON, of a lenient server
	}
	return s.written(plain)
}

// written is the text of a state, in the form of the script.
func (s *Server) written(plain []byte) string {
	switch s.script.State.Form {
	case StateSigned:
		return stateText.EncodeToString(plain) + "." + stateText.EncodeToString(s.signature(plain))
	case StateNumbered:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.kept = append(s.kept, plain)
		if len(s.kept) > maxKept {
			s.kept[len(s.kept)-maxKept-1] = nil
		}
		return fmt.Sprintf("request-%05d", len(s.kept))
	}
	return stateText.EncodeToString(s.cipher.Seal(nil, nil, plain, nil))
}

// maxKept bounds the states that are kept under their numbers.
const maxKept = 10_000

// unwritten is what a state says, nil where nobody wrote it.
func (s *Server) unwritten(text string) []byte {
	switch s.script.State.Form {
	case StateSigned:
		body, signature, _ := strings.Cut(text, ".")
		plain, err := stateText.DecodeString(body)
		if err != nil || signature != stateText.EncodeToString(s.signature(plain)) {
			return nil
		}
		return plain
	case StateNumbered:
		var n int
		if _, err := fmt.Sscanf(text, "request-%d", &n); err != nil || text != fmt.Sprintf("request-%05d", n) {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if n < 1 || n > len(s.kept) {
			return nil
		}
		return s.kept[n-1]
	}
	sealed, err := stateText.DecodeString(text)
	if err != nil {
		return nil
	}
	plain, err := s.cipher.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil
	}
	return plain
}

// signature is a keyed digest of a state.
func (s *Server) signature(plain []byte) []byte {
	h := hmac.New(sha256.New, append([]byte("signature of a state: "), s.script.State.Key...))
	_, _ = h.Write(plain)
	return h.Sum(nil)
}

// disclose reads a requestState. One answer stands for all that can be wrong
// with it, so that it tells an attacker nothing.
func (s *Server) disclose(q *request, c *Call, text string) (state, *Error) {
	refused := invalidParams("%s is not valid", spec.FieldRequestState)
	var st state
	plain := s.unwritten(text)
	if plain == nil || jsonx.Unmarshal(plain, &st) != nil {
		if q.lenient(CheckStateIntegrity) {
			return state{Deferred: maxDeferrals}, nil
		}
		return state{}, refused
	}
	switch {
	case st.Bound != c.bound() && !q.lenient(CheckStateRequestBound),
		st.Holder != c.holder() && !q.lenient(CheckStatePrincipal),
		s.now().UnixMilli() > st.Expires && !q.lenient(CheckStateExpiry),
		!s.firstUse(st) && !q.lenient(CheckStateSingleUse):
		return state{}, refused
	}
	return st, nil
}

// maxDeferrals is more than a script asks for.
const maxDeferrals = 1 << 30

// firstUse reports whether a state may be used, and remembers that it was.
func (s *Server) firstUse(st state) bool {
	if !s.script.State.SingleUse {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().UnixMilli()
	for nonce, expires := range s.used {
		if expires < now {
			delete(s.used, nonce)
		}
	}
	_, used := s.used[st.Nonce]
	s.used[st.Nonce] = st.Expires
	return !used
}

func (s *Server) now() time.Time {
	if s.script.Now != nil {
		return s.script.Now()
	}
	return time.Now()
}

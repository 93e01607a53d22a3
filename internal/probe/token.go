// SPDX-License-Identifier: Apache-2.0

package probe

// HeaderAuthorization carries the token of a client.
const HeaderAuthorization = "Authorization"

// Tokens are access tokens that the user gave, without the word Bearer. Empty is one
// that was not given.
type Tokens struct {
	Own           string // which the target is asked with, where that is known
	OtherAudience string // of the same issuer, made for another server
	SameUser      string // a fresh one of the user of Own
}

// Tokens are those that the user gave.
func (p *Probe) Tokens() Tokens { return p.o.Tokens }

// Bearer is the value of [HeaderAuthorization] for a token.
func Bearer(token string) string { return "Bearer " + token }

// As makes all that is sent on the connection from now on carry another token than
// that of the target, none where it is empty. alias says in a few words whose it is;
// where that is empty the connection is that of the target again. It needs no leave to
// send what is malformed: who has another token sent gave it for that.
func (c *Conn) As(token, alias string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.alias = token, alias
}

// disguised is a request as the connection sends it. The connection's lock is held.
func (c *Conn) disguised(r *Request) *Request {
	if c.alias == "" {
		return r
	}
	r = r.Planting(c.alias)
	if c.token == "" {
		return r.NoHeader(HeaderAuthorization)
	}
	return r.Header(HeaderAuthorization, Bearer(c.token))
}

// SPDX-License-Identifier: Apache-2.0

package authtest

// Right is a token that looks unlike the usual one and is as good: a server that
// refuses it is too strict.
type Right struct {
	Name    string
	What    string // one sentence: what is unusual
	Section string // the text that allows it
	// Token makes it out of the claims of a good one.
	Token func(good Claims) string
}

// Rights are the controls beside [IdP.Wrongs], with the same bounds: without
// them a server that refuses everything would look right.
func (p *IdP) Rights() []Right {
	m := p.maker()
	return []Right{
		{"audience-array", "The audience is a list with the server in it.", "RFC 7519 section 4.1.3", func(c Claims) string {
			return m.good(c.With("aud", []any{"https://other.invalid/mcp", c["aud"]}))
		}},
		{"typ-long", "The type is written in full.", profile, m.header(Header{"typ": "application/at+jwt"})},
		{"header-extra", "The header has a member that nobody knows, and is not critical.", "RFC 7515 section 4", m.header(Header{"urn:example:unknown": 1})},
		{"claim-extra", "There is a claim that nobody knows.", "RFC 7519 section 4", m.claim("urn:example:unknown", value(1))},
		{"nbf-past", "The token says since when it is valid.", "RFC 7519 section 4.1.5", m.claim("nbf", value(m.now.Unix()-1))},
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package authtest is an OAuth 2.1 authorization server for tests of MCP: it
// gives good tokens, and every wrong one by name.
//
// [New] makes an [IdP], which is an http.Handler and needs no socket for its
// tokens. [IdP.Token] is a token as a right server issues it (RFC 9068), and
// [IdP.Wrongs] lists tokens that must be refused, each of which differs from
// the good one in exactly one claim, one header member, or the signature
// alone: so whoever accepts one lacks exactly that check.
//
//	idp := authtest.New(authtest.Options{})
//	srv := httptest.NewServer(idp)
//	idp.SetIssuer(srv.URL)
//	good := idp.Token("alice", "https://mcp.test/mcp", "mcp:read")
//
// As a handler it serves what MCP asks of an authorization server: metadata at
// every prescribed place, keys with [IdP.Rotate], codes with PKCE, resource and
// iss, refresh, client credentials, registration, client id metadata documents,
// introspection and revocation. There is no page: [IdP.LoginNext] says who logs
// in. [IdP.Misbehave] has the server itself do wrong, by the names of
// [Misbehaviours], and [IdP.Paths] tells what a client asked for.
// [IdP.ProtectedResource] is the metadata of the server under test.
//
// Two principals, alice and bob, and two clients, app and service, are ready
// made. Time stands still until [IdP.Advance]. Keys, codes and tokens follow
// from [Options.Seed], so anybody can compute them: nothing outside a test may
// trust this issuer.
package authtest

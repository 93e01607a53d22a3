// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/transport"
	"github.com/spf13/pflag"
)

const (
	flagToken         = "--token"
	flagOtherAudience = "--token-other-audience"
	flagSameUser      = "--token-same-user"
)

// maxToken bounds a file with a token.
const maxToken = 64 << 10

// token reads the file that a flag names, and hides what is in it. It reads a file
// once: one that a shell makes of a command can be read no second time.
func (a *app) token(flag, file string) (string, error) {
	if t, ok := a.tokens[file]; ok || file == "" {
		return t, nil
	}
	var b []byte
	f, err := os.Open(file)
	if err == nil {
		b, err = io.ReadAll(io.LimitReader(f, maxToken+1))
		_ = f.Close()
	}
	t, why := strings.TrimSpace(string(b)), ""
	switch {
	case err != nil:
		why = err.Error()
	case len(b) > maxToken:
		why = file + " is longer than 64 KiB"
	case t == "":
		why = file + " is empty"
	case strings.ContainsAny(t, "\r\n"):
		why = file + " has several lines"
	case strings.ContainsFunc(t, func(r rune) bool { return r < 0x21 || r > 0x7e }):
		why = file + " has a space, a control character or another one that no token has"
	case len(t) < text.MinSecret:
		why = "the token in " + file + " has too few characters to be kept out of reports"
	}
	if why != "" {
		return "", usage(flag, "put the token alone into it, without the word Bearer", "%s", why)
	}
	a.secret(t)
	if a.tokens == nil {
		a.tokens = map[string]string{}
	}
	a.tokens[file] = t
	return t, nil
}

// bearer puts the token of the flag into the headers of a target.
func (a *app) bearer(f *targetFlags, sc *serverConfig) error {
	if f.token == "" {
		return nil
	}
	for _, h := range f.headers {
		if name, _, _ := strings.Cut(h, ":"); strings.EqualFold(strings.TrimSpace(name), probe.HeaderAuthorization) {
			return usage(flagToken, "leave out one of the two", "%s and --header %s both say who asks", flagToken, probe.HeaderAuthorization)
		}
	}
	t, err := a.token(flagToken, f.token)
	if err != nil {
		return err
	}
	if sc.url == "" || strings.HasPrefix(sc.url, "demo:") {
		if f.several {
			return nil
		}
		return usage(flagToken, "give a command its token with --env", "a token is sent to a URL alone: there is no %s header here", probe.HeaderAuthorization)
	}
	for name := range sc.header {
		if strings.EqualFold(name, probe.HeaderAuthorization) {
			delete(sc.header, name)
		}
	}
	f.bearer = probe.Bearer(t)
	sc.header[probe.HeaderAuthorization] = f.bearer
	return nil
}

// bearerOf is the token that a target is asked with, empty where it has none.
func bearerOf(t *target) string {
	h, ok := t.Target.(*transport.HTTP)
	if !ok {
		return ""
	}
	for _, f := range h.Header {
		if scheme, token, _ := strings.Cut(f.Value, " "); strings.EqualFold(f.Name, probe.HeaderAuthorization) && strings.EqualFold(scheme, "bearer") {
			return strings.TrimSpace(token)
		}
	}
	return ""
}

// furtherTokens are the flags of check that name files of further tokens.
type furtherTokens struct{ otherAudience, sameUser string }

func (f *furtherTokens) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.otherAudience, flagOtherAudience[2:], "", "`FILE` with a valid token of the same issuer that was made for another server, which must be refused")
	fs.StringVar(&f.sameUser, flagSameUser[2:], "", "`FILE` with a second, fresh token of the same user, for which a session must go on")
}

// given are the flags that a run over HTTP needs to come to the same verdict again.
func (f *furtherTokens) given(own string) (out []string) {
	for _, w := range [][]string{{flagToken, own}, {flagOtherAudience, f.otherAudience}, {flagSameUser, f.sameUser}} {
		if w[1] != "" {
			out = append(out, w...)
		}
	}
	return out
}

// read reads the files, and refuses what could show nothing on any of the targets.
func (f *furtherTokens) read(a *app, targets []*target) (out probe.Tokens, err error) {
	for _, w := range []struct {
		flag, file string
		to         *string
	}{{flagOtherAudience, f.otherAudience, &out.OtherAudience}, {flagSameUser, f.sameUser, &out.SameUser}} {
		if w.file == "" {
			continue
		}
		if *w.to, err = a.token(w.flag, w.file); err != nil {
			return out, err
		}
		overHTTP, asked := false, false
		for _, t := range targets {
			_, is := t.Target.(*transport.HTTP)
			own := bearerOf(t)
			overHTTP, asked = overHTTP || is, asked || own != ""
			if own == *w.to {
				return out, usage(w.flag, "it takes another one", "it is the token that the target is asked with")
			}
		}
		switch {
		case !overHTTP:
			return out, usage(w.flag, "name the server by its URL", "tokens are sent over HTTP alone")
		case !asked:
			return out, usage(w.flag, "add "+flagToken+" FILE", "there is nothing to compare with: the target is asked without a token")
		}
	}
	if out.OtherAudience != "" && out.OtherAudience == out.SameUser {
		return out, usage(flagSameUser, "it takes another one", "it is the token of %s", flagOtherAudience)
	}
	return out, nil
}

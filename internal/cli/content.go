// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/spec"
)

// clean makes foreign text safe as part of a line.
func (a *app) clean(s string) string { return text.LogLine(a.redactor.String(s)) }

// printChunk is how much of a long text is escaped at a time.
const printChunk = 64 << 10

// printText prints foreign text, with its line breaks, ending with one. CR LF is a
// line break; a CR alone is escaped as any control character.
func (a *app) printText(s string) error {
	s = strings.TrimSuffix(strings.ReplaceAll(a.redactor.String(s), "\r\n", "\n"), "\n")
	for len(s) > printChunk {
		n := strings.LastIndexByte(s[:printChunk], '\n') + 1
		if n == 0 {
			for n = printChunk; n > printChunk-utf8.UTFMax && !utf8.RuneStart(s[n]); n-- {
			}
		}
		if _, err := io.WriteString(a.stdout, text.LogBlock(s[:n])); err != nil {
			return err
		}
		s = s[n:]
	}
	_, err := io.WriteString(a.stdout, text.LogBlock(s)+"\n")
	return err
}

// printJSON prints a JSON text laid out for people.
func (a *app) printJSON(raw jsonx.Raw) error {
	out, err := report.Clean(a.redactor, raw)
	if err == nil {
		out, err = jsonx.Indent(out)
	}
	if err != nil {
		return a.printText(string(raw))
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", text.JSON(out))
	return err
}

// content is one piece of what a server gives: of a tool's result, a prompt's
// message or a resource.
type content struct {
	kind      string // text, image, audio, resource, resource_link, or another
	mediaType string
	uri, name string
	text      string
	isText    bool
	data      string // Base64
	isData    bool
	raw       jsonx.Raw
}

// contentOf reads a content block.
func contentOf(raw jsonx.Raw) content {
	c := content{kind: member(raw, "type"), mediaType: member(raw, "mimeType"), uri: member(raw, "uri"), name: member(raw, "name"), raw: raw}
	c.text, c.isText = jsonx.Text(look(raw, "/text"))
	c.data, c.isData = jsonx.Text(look(raw, "/data"))
	if c.kind == spec.ContentResource {
		return resourceOf(look(raw, "/resource"))
	}
	return c
}

// resourceOf reads the contents of a resource.
func resourceOf(raw jsonx.Raw) content {
	c := content{kind: spec.ContentResource, mediaType: member(raw, "mimeType"), uri: member(raw, "uri"), raw: raw}
	c.text, c.isText = jsonx.Text(look(raw, "/text"))
	c.data, c.isData = jsonx.Text(look(raw, "/blob"))
	return c
}

// bytes are what the content holds.
func (c *content) bytes() ([]byte, error) {
	switch {
	case c.isText:
		return []byte(c.text), nil
	case c.isData:
		b, err := base64.StdEncoding.DecodeString(c.data)
		if err != nil {
			return nil, fmt.Errorf("its data is no Base64: %w", err)
		}
		return b, nil
	}
	return c.raw, nil
}

// printContent prints one content. What is no text is told in a line.
func (a *app) printContent(c content) error {
	switch {
	case c.isText:
		return a.printText(c.text)
	case c.isData:
		what := firstOf(c.uri, c.kind)
		size := ""
		if b, err := c.bytes(); err == nil {
			size = fmt.Sprintf("%d bytes", len(b))
		} else {
			size = err.Error()
		}
		return a.printf("[%s %s, %s; --save writes it to a file]\n", a.clean(what), a.clean(firstOf(c.mediaType, "of no media type")), a.clean(size))
	case c.kind == "resource_link":
		return a.printf("[resource %s%s; mcprove read reads it]\n", a.clean(c.uri), a.clean(strings.TrimRight(" "+c.name, " ")))
	}
	return a.printJSON(c.raw)
}

func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return err
}

// printToolResult prints what a tool gave: its content, and its structured
// content where the content does not say the same already.
func (a *app) printToolResult(result jsonx.Raw) error {
	blocks := elements(look(result, "/content"))
	structured := look(result, "/structuredContent")
	if len(blocks) == 1 && structured != nil {
		// A tool repeats one in the other for clients that know only one of them,
		// often wrapped in a member.
		inner := structured
		if ms, err := jsonx.Members(structured, jsonx.Lenient); err == nil && len(ms) == 1 {
			inner = ms[0].Value
		}
		c := contentOf(blocks[0])
		wrapped, _ := jsonx.Text(inner)
		switch said := jsonx.Raw(c.text); {
		case !c.isText:
		case sameJSON(said, structured), jsonx.KindOf(inner) != jsonx.String && sameJSON(said, inner):
			blocks = nil
		case wrapped == c.text:
			structured = nil
		}
	}
	for _, b := range blocks {
		if err := a.printContent(contentOf(b)); err != nil {
			return err
		}
	}
	switch {
	case structured != nil:
		return a.printJSON(structured)
	case len(blocks) == 0:
		a.say("mcprove: the result has no content")
	}
	return nil
}

// printResource prints the contents of a resource.
func (a *app) printResource(result jsonx.Raw) error {
	all := elements(look(result, "/contents"))
	for i, raw := range all {
		c := resourceOf(raw)
		if len(all) > 1 {
			if err := a.printf("%s--- %s %s\n", strings.Repeat("\n", b2i(i == 0)), a.clean(c.uri), a.clean(c.mediaType)); err != nil {
				return err
			}
		}
		if err := a.printContent(c); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		a.say("mcprove: the resource has no contents")
	}
	return nil
}

// printPrompt prints the messages of a prompt.
func (a *app) printPrompt(result jsonx.Raw) error {
	all := elements(look(result, "/messages"))
	for i, m := range all {
		if err := a.printf("%s%s:\n", strings.Repeat("\n", b2i(i == 0)), a.clean(member(m, "role"))); err != nil {
			return err
		}
		if err := a.printContent(contentOf(look(m, "/content"))); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		a.say("mcprove: the prompt has no messages")
	}
	return nil
}

// contentsOf are all contents of a result of any verb.
func contentsOf(result jsonx.Raw) (out []content) {
	blocks := elements(look(result, "/content"))
	for _, b := range blocks {
		out = append(out, contentOf(b))
	}
	all := elements(look(result, "/contents"))
	for _, r := range all {
		out = append(out, resourceOf(r))
	}
	messages := elements(look(result, "/messages"))
	for _, m := range messages {
		out = append(out, contentOf(look(m, "/content")))
	}
	return out
}

// endings are the endings of files by media type; names are never a server's.
var endings = map[string]string{
	"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
	"audio/wav": "wav", "audio/mpeg": "mp3", "audio/ogg": "ogg", "application/pdf": "pdf", "application/json": "json",
	"application/zip": "zip", "application/gzip": "gz", "text/html": "html", "text/markdown": "md", "text/csv": "csv", "text/plain": "txt",
}

// saved writes the contents of a result: into a folder under numbered names
// that are not taken, or the one content into a file.
func (k *talk) saved(result jsonx.Raw) (said []string, _ error) {
	path := k.f.save
	all := contentsOf(result)
	st, err := os.Stat(path)
	folder := err == nil && st.IsDir() || strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator))
	if !folder {
		var data []content // a picture beside the words about it is the one that is meant
		for _, c := range all {
			if c.isData {
				data = append(data, c)
			}
		}
		if len(data) == 1 {
			all = data
		}
		if len(all) != 1 {
			e := notSaved("--save", fmt.Errorf("there are %d contents, and %s is one file", len(all), path))
			e.Try = "name a folder: --save " + path + "/"
			return nil, e
		}
	} else if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, notSaved(path, err)
	}
	n := lastSaved(path)
	for _, c := range all {
		b, err := c.bytes()
		if err != nil {
			return said, notSaved(path, err)
		}
		to, write := path, func(to string) error { _, err := writeFile(to, b); return err }
		if folder {
			ending := endings[strings.ToLower(strings.TrimSpace(strings.Split(c.mediaType, ";")[0]))]
			if ending == "" {
				ending = map[bool]string{true: "txt", false: "bin"}[c.isText]
			}
			n++
			to, write = filepath.Join(path, fmt.Sprintf("content-%d.%s", n, ending)), func(to string) error { return writeNew(to, b) }
		}
		if err := write(to); err != nil {
			return said, notSaved(path, err)
		}
		said = append(said, fmt.Sprintf("saved %s (%s, %d bytes)", to, k.a.clean(firstOf(c.mediaType, c.kind)), len(b)))
	}
	return said, nil
}

// mayBeSaved refuses, before anything is asked, a place of --save that cannot
// hold what comes, or holds something already.
func (f *askFlags) mayBeSaved() error {
	if f.save == "" || strings.HasSuffix(f.save, "/") || strings.HasSuffix(f.save, string(filepath.Separator)) {
		return nil
	}
	refused := func(try, format string, args ...any) error {
		e := usage(f.save, try, format, args...)
		e.Code = "not-saved"
		return e
	}
	st, err := os.Stat(f.save)
	switch {
	case err == nil && st.Mode().IsRegular() && !f.force:
		return refused("choose another path with --save, or write over it with --force", "there is such a file")
	case err == nil && !st.IsDir() && !st.Mode().IsRegular():
		return refused("choose another path with --save", "it is not an ordinary file")
	case err == nil:
		return nil
	}
	if st, err := os.Stat(filepath.Dir(f.save)); err != nil || !st.IsDir() {
		return refused("choose another path with --save", "the folder is not there")
	}
	return nil
}

// lastSaved is the highest number of the files that were saved in a folder.
func lastSaved(folder string) (last int) {
	all, _ := os.ReadDir(folder)
	for _, e := range all {
		n := 0
		if _, err := fmt.Sscanf(e.Name(), "content-%d.", &n); err == nil {
			last = max(last, n)
		}
	}
	return last
}

// writeNew writes a file that is not there yet.
func writeNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// notSaved is the error of contents that came and are not saved.
func notSaved(path string, err error) *Error {
	return &Error{Exit: exitIncomplete, Code: "not-saved", Where: path, Message: fmt.Sprintf("the contents are not saved: %v", cause(err)), Try: "choose another path with --save"}
}

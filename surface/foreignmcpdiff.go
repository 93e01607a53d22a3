// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// isMCPDiff recognises the snapshot that mcpdiff writes (.mcpc.json).
func isMCPDiff(ms map[string]jsonx.Member) bool { return has("snapshotVersion")(ms) }

// mcpDiffVersion matches the versions of the snapshot that are known.
var mcpDiffVersion = regexp.MustCompile(`^1\.0\.[0-9]+$`)

// mcpDiff is what was read from a snapshot of mcpdiff. It keeps schemas whole,
// but went through JavaScript and an SDK that drops what it does not know.
type mcpDiff struct {
	capabilities map[string]any
	annotations  map[string]map[string]any // by tool
}

// readMCPDiff reads mcpdiff's snapshot. protocolVersion is not read: it is the
// newest that mcpdiff knew, not what was negotiated.
func readMCPDiff(r *fileReader) (*Surface, error) {
	v, _ := r.placed("snapshotVersion")
	version, ok := jsonx.Text(v.raw)
	if !ok {
		return nil, v.wrong("a string")
	}
	if !mcpDiffVersion.MatchString(version) {
		e := r.fail(r.members["snapshotVersion"], fmt.Errorf("snapshot version %s of mcpdiff is not known to this mcprove, which reads 1.0", strconv.Quote(brief(jsonx.Raw(version)))))
		e.Try = "upgrade mcprove, or record the server again with: mcprove contract snapshot"
		return nil, e
	}
	const writer = "mcpdiff"
	file := placed{r, r.data, 0, "the file"}
	ms, err := file.known(writer, "snapshotVersion", "capturedAt", "contentHash", "server", "capture", "tools", "resources", "prompts")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"server", "tools", "resources", "prompts"} {
		if _, ok := ms[name]; !ok {
			return nil, file.fail("not a snapshot of mcpdiff: it has no %s", name)
		}
	}
	s := New()
	m := &mcpDiff{annotations: map[string]map[string]any{}}
	s.projection = m
	s.Facets.add(Tools.Of("description"), Tools.Of("inputSchema"), Tools.Of("outputSchema"), Tools.Of("annotations"),
		Prompts.Of("description"), Prompts.Of("arguments"), PromptArgumentText)
	for _, k := range []Kind{Resources, Templates} {
		s.Facets.add(k.Of("description"), k.Of("mimeType"))
	}
	for _, read := range []error{m.server(s, ms["server"]), m.readTools(s, ms["tools"]), m.readResources(s, ms["resources"]), m.readPrompts(s, ms["prompts"])} {
		if read != nil {
			return nil, read
		}
	}
	for _, k := range Kinds {
		// A listing that failed is recorded like one without items.
		if _, declared := m.capabilities[capabilityOf(k)]; len(s.items[k]) > 0 || s.Capabilities != nil && !declared {
			s.Facets.add(Facet(k))
		}
	}
	s.Notes = append(s.Notes, r.path+" was written by mcpdiff: only what it records is compared; record the contract again with mcprove contract snapshot to cover the rest")
	s.sort()
	return s, nil
}

func (m *mcpDiff) server(s *Surface, p placed) error {
	ms, err := p.object()
	if err != nil {
		return err
	}
	info := map[string]any{}
	for _, e := range ms {
		switch e.name {
		case "name", "version":
			t, err := e.text()
			if err != nil {
				return err
			}
			// "unknown" is what mcpdiff writes where the server named nothing.
			if t != "" && t != "unknown" {
				info[e.name] = t
				s.Facets.add(map[string]Facet{"name": ServerName, "version": ServerVersion}[e.name])
			}
		case "capabilities":
			if _, err := e.object(); err != nil {
				return err
			}
			if s.Capabilities, err = jsonx.Canonical(e.raw); err != nil {
				return e.syntax(err)
			}
			m.capabilities, _ = decoded(e.raw).(map[string]any)
			s.Facets.add(Capabilities)
		}
	}
	s.Server, err = canonicalOf(info)
	return err
}

func (m *mcpDiff) readTools(s *Surface, p placed) error {
	list, err := p.object()
	if err != nil {
		return err
	}
	for i, e := range list {
		ms, err := e.known("mcpdiff", "description", "inputSchema", "outputSchema", "annotations")
		if err != nil {
			return err
		}
		if e.name == "" {
			return e.fail("a tool has no name")
		}
		object := map[string]any{}
		if err := described(ms, object); err != nil {
			return err
		}
		for _, n := range []string{"inputSchema", "outputSchema", "annotations"} {
			v, ok := ms[n]
			if !ok {
				continue
			}
			if _, err := v.object(); err != nil {
				return err
			}
			if _, err := jsonx.Canonical(v.raw); err != nil {
				return v.syntax(err)
			}
			object[n] = doubles(v.raw)
			if n == "annotations" {
				m.annotations[e.name], _ = decoded(v.raw).(map[string]any)
			}
		}
		if err := e.add(s, Tools, e.name, i, object); err != nil {
			return err
		}
	}
	return nil
}

func described(ms map[string]placed, object map[string]any) error {
	for _, n := range []string{"description", "mimeType"} {
		t, err := ms[n].text()
		if err != nil {
			return err
		}
		if t != "" {
			object[n] = t
		}
	}
	return nil
}

func (m *mcpDiff) readResources(s *Surface, p placed) error {
	list, err := p.object()
	if err != nil {
		return err
	}
	for i, e := range list {
		ms, err := e.known("mcpdiff", "description", "mimeType", "isTemplate")
		if err != nil {
			return err
		}
		if e.name == "" {
			return e.fail("a resource has no URI")
		}
		template, err := ms["isTemplate"].truth()
		if err != nil {
			return err
		}
		k := Resources
		if template {
			k = Templates
		}
		object := map[string]any{}
		if err := described(ms, object); err != nil {
			return err
		}
		if err := e.add(s, k, e.name, i, object); err != nil {
			return err
		}
	}
	return nil
}

func (m *mcpDiff) readPrompts(s *Surface, p placed) error {
	list, err := p.object()
	if err != nil {
		return err
	}
	for i, e := range list {
		ms, err := e.known("mcpdiff", "description", "arguments")
		if err != nil {
			return err
		}
		if e.name == "" {
			return e.fail("a prompt has no name")
		}
		object := map[string]any{}
		if err := described(ms, object); err != nil {
			return err
		}
		args, err := readFields(ms["arguments"])
		if err != nil {
			return err
		}
		var out []any
		for _, a := range args {
			out = append(out, promptArgument(a.name, a.required, a.description))
		}
		if out != nil {
			object["arguments"] = out
		}
		if err := e.add(s, Prompts, e.name, i, object); err != nil {
			return err
		}
	}
	return nil
}

// reduce returns other as mcpdiff would have recorded it.
func (m *mcpDiff) reduce(other *Surface) *Surface {
	last := map[Kind]map[string]int{}
	for _, k := range Kinds {
		last[k] = map[string]int{}
		for _, it := range other.items[k] {
			last[k][it.Name] = max(last[k][it.Name], it.Index)
		}
	}
	out := other.mapItems(func(it Item) (Item, bool) {
		// Its lists are maps by name: the last one of a name is kept, and a
		// template in place of a resource.
		if it.Index != last[it.Kind][it.Name] {
			return it, false
		}
		if _, template := last[Templates][it.Name]; it.Kind == Resources && template {
			return it, false
		}
		return it.reduced(m.item(&it)), true
	})
	if other.Capabilities != nil {
		if c, err := canonicalOf(m.knownCapabilities(decoded(other.Capabilities))); err == nil {
			out.Capabilities = c
		}
	}
	return out
}

func (m *mcpDiff) item(it *Item) map[string]any {
	object := map[string]any{}
	for _, n := range []string{"description", "mimeType"} {
		if t := it.Text(n); t != "" {
			object[n] = t
		}
	}
	switch it.Kind {
	case Tools:
		delete(object, "mimeType")
		for _, n := range []string{"inputSchema", "outputSchema"} {
			if raw := it.Member(n); raw != nil {
				object[n] = doubles(raw)
			}
		}
		known := map[string]bool{"title": true, "readOnlyHint": true, "destructiveHint": true, "idempotentHint": true, "openWorldHint": true}
		annotations, _ := decoded(it.Member("annotations")).(map[string]any)
		kept := map[string]any{}
		for n, v := range annotations {
			if _, recorded := m.annotations[it.Name][n]; known[n] || recorded {
				kept[n] = v
			}
		}
		if annotations != nil {
			object["annotations"] = kept
		}
	case Prompts:
		args := promptArguments(it, func(name string, required bool, description string, _ map[string]any) map[string]any {
			return promptArgument(name, required, description)
		})
		if len(args) > 0 {
			object["arguments"] = args
		}
	}
	return object
}

// knownCapabilities leaves out what the SDK under mcpdiff dropped.
func (m *mcpDiff) knownCapabilities(v any) map[string]any {
	known := map[string][]string{
		"experimental": nil, "logging": nil, "completions": nil, "prompts": {"listChanged"},
		"resources": {"subscribe", "listChanged"}, "tools": {"listChanged"},
	}
	all, _ := v.(map[string]any)
	out := map[string]any{}
	for name, value := range all {
		members, ok := known[name]
		recorded, isRecorded := m.capabilities[name]
		if !ok && !isRecorded {
			continue
		}
		inner, isObject := value.(map[string]any)
		if !isObject || members == nil {
			out[name] = value
			continue
		}
		was, _ := recorded.(map[string]any)
		kept := map[string]any{}
		for n, v := range inner {
			if _, recorded := was[n]; recorded || slices.Contains(members, n) {
				kept[n] = v
			}
		}
		out[name] = kept
	}
	return out
}

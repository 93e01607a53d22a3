// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"fmt"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// mcpContractFormat is the newest format of mcp-contract's file that is known.
// A file without a number is of format 1.
const mcpContractFormat = 2

// isMCPContract recognises the file that mcp-contract writes: a list of tools
// beside what server and command they are of.
func isMCPContract(ms map[string]jsonx.Member) bool {
	return has("tools")(ms) && (has("command")(ms) || has("format")(ms)) &&
		!has("initialize")(ms) && !has("facets")(ms) && !has("snapshotVersion")(ms)
}

// mcpContract is what was read from a file of mcp-contract.
type mcpContract struct {
	format int
	tools  map[string]*recordedTool
	uris   map[string]bool
}

// recordedTool is the fields that the file has of one tool.
type recordedTool struct{ in, out []field }

// readMCPContract reads mcp-contract's file. Its format number says how deep
// schemas were read, and no more: later releases record further members under
// the same number, and leave out what a server does not state. A member counts
// as captured only where the file shows that its writer knew it.
func readMCPContract(r *fileReader) (*Surface, error) {
	const writer = "mcp-contract"
	file := placed{r, r.data, 0, "the file"}
	ms, err := file.known(writer, "format", "server", "command", "tools", "resources", "prompts", "unrecorded")
	if err != nil {
		return nil, err
	}
	s := New()
	m := &mcpContract{format: 1, tools: map[string]*recordedTool{}, uris: map[string]bool{}}
	s.projection = m
	if f, ok := ms["format"]; ok && !f.null() {
		if err := jsonx.Unmarshal(f.raw, &m.format); err != nil || m.format < 1 {
			return nil, f.fail("format must be a whole number from 1, is %s", brief(f.raw))
		}
		if m.format > mcpContractFormat {
			e := r.fail(r.members["format"], fmt.Errorf("format %d of mcp-contract is newer than this mcprove, which reads up to format %d", m.format, mcpContractFormat))
			e.Try = "upgrade mcprove, or record the server again with: mcprove contract snapshot"
			return nil, e
		}
	}
	if err := m.server(s, ms["server"]); err != nil {
		return nil, err
	}
	known := writerKnows{outputs: m.format > 1, arguments: true}
	if err := m.readTools(s, ms["tools"], &known); err != nil {
		return nil, err
	}
	if err := m.readResources(s, ms["resources"], &known); err != nil {
		return nil, err
	}
	if err := m.readPrompts(s, ms["prompts"], &known); err != nil {
		return nil, err
	}
	known.capture(s)
	s.Notes = append(s.Notes, fmt.Sprintf("%s was written by mcp-contract (format %d): only what it records is compared; record the contract again with mcprove contract snapshot to cover the rest", r.path, m.format))
	s.sort()
	return s, nil
}

// writerKnows is what a file shows of the release that wrote it.
type writerKnows struct {
	outputs   bool // since 0.2, as are resources and prompts
	arguments bool // 0.3: prompts have arguments
	hints     bool // 0.6: titles and behaviour
	tasks     bool // 0.6 on an SDK that knows execution
}

// capture captures what the file has. A listing that failed is recorded like
// one without items, so an empty one says nothing.
func (w *writerKnows) capture(s *Surface) {
	for _, k := range Kinds {
		if len(s.items[k]) > 0 {
			s.Facets.add(Facet(k))
		}
	}
	s.Facets.add(Tools.Of("description"), Tools.Of("inputSchema"))
	if w.outputs {
		s.Facets.add(Tools.Of("outputSchema"))
	}
	if w.arguments {
		s.Facets.add(Prompts.Of("arguments"), PromptArgumentText)
	}
	if w.hints {
		s.Facets.add(Tools.Of("title"), Tools.Of("annotations"))
	}
	if w.tasks {
		s.Facets.add(Tools.Of("execution"))
	}
}

func (m *mcpContract) server(s *Surface, p placed) error {
	if p.raw == nil || p.null() {
		return nil
	}
	ms, err := p.known("mcp-contract", "name", "version")
	if err != nil {
		return err
	}
	info := map[string]any{}
	for name, facet := range map[string]Facet{"name": ServerName, "version": ServerVersion} {
		t, err := ms[name].text()
		if err != nil {
			return err
		}
		if t != "" {
			info[name] = t
			s.Facets.add(facet)
		}
	}
	s.Server, err = canonicalOf(info)
	return err
}

func (m *mcpContract) readTools(s *Surface, p placed, known *writerKnows) error {
	list, err := p.list()
	if err != nil {
		return err
	}
	for i, e := range list {
		ms, err := e.known("mcp-contract", "name", "description", "arguments", "title", "behaviour", "output")
		if err != nil {
			return err
		}
		name, err := ms["name"].named("a tool", e)
		if err != nil {
			return err
		}
		object := map[string]any{}
		for _, n := range []string{"description", "title"} {
			t, err := ms[n].text()
			if err != nil {
				return err
			}
			if t != "" {
				object[n] = t
			}
		}
		rec := &recordedTool{}
		if rec.in, err = readFields(ms["arguments"]); err != nil {
			return err
		}
		if rec.out, err = readFields(ms["output"]); err != nil {
			return err
		}
		if err := behaviour(ms["behaviour"], object, known); err != nil {
			return err
		}
		known.outputs = known.outputs || ms["output"].raw != nil
		known.hints = known.hints || ms["title"].raw != nil || ms["behaviour"].raw != nil
		object["inputSchema"] = objectSchema(slices.Clone(rec.in))
		if len(rec.out) > 0 {
			object["outputSchema"] = objectSchema(slices.Clone(rec.out))
		}
		m.tools[name] = rec
		if err := e.add(s, Tools, name, i, object); err != nil {
			return err
		}
	}
	return nil
}

// readFields reads a list of fields.
func readFields(p placed) ([]field, error) {
	if p.raw == nil || p.null() {
		return nil, nil
	}
	list, err := p.list()
	if err != nil {
		return nil, err
	}
	var out []field
	for _, e := range list {
		ms, err := e.known("mcp-contract", "name", "required", "type", "description", "enum")
		if err != nil {
			return nil, err
		}
		f := field{}
		if f.name, err = ms["name"].text(); err != nil {
			return nil, err
		}
		if _, ok := ms["name"]; !ok {
			return nil, e.fail("%s has no name", e.name)
		}
		if f.required, err = ms["required"].truth(); err != nil {
			return nil, err
		}
		t, err := ms["type"].text()
		if err != nil {
			return nil, err
		}
		f.types = parseTypes(t)
		if f.description, err = ms["description"].text(); err != nil {
			return nil, err
		}
		if enum := ms["enum"]; enum.raw != nil && !enum.null() {
			values, err := enum.list()
			if err != nil {
				return nil, err
			}
			for _, v := range values {
				f.enum = append(f.enum, pyStr(decoded(v.raw)))
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// hintNames maps mcp-contract's names of the hints to the protocol's.
var hintNames = map[string]string{
	"read_only": "readOnlyHint", "destructive": "destructiveHint",
	"idempotent": "idempotentHint", "open_world": "openWorldHint",
}

func behaviour(p placed, object map[string]any, known *writerKnows) error {
	if p.raw == nil || p.null() {
		return nil
	}
	ms, err := p.known("mcp-contract", "read_only", "destructive", "idempotent", "open_world", "task_support")
	if err != nil {
		return err
	}
	hints := map[string]any{}
	for name, hint := range hintNames {
		if v, ok := ms[name]; ok && !v.null() {
			if hints[hint], err = v.truth(); err != nil {
				return err
			}
		}
	}
	if len(hints) > 0 {
		object["annotations"] = hints
	}
	support, err := ms["task_support"].text()
	if err != nil {
		return err
	}
	if support != "" {
		known.tasks = true
		object["execution"] = map[string]any{"taskSupport": support}
	}
	return nil
}

func (m *mcpContract) readResources(s *Surface, p placed, known *writerKnows) error {
	if p.raw == nil {
		return nil
	}
	known.outputs = true
	list, err := p.list()
	if err != nil {
		return err
	}
	for i, e := range list {
		uri, err := e.named("a resource", e)
		if err != nil {
			return err
		}
		m.uris[uri] = true
		if err := e.add(s, Resources, uri, i, map[string]any{}); err != nil {
			return err
		}
	}
	return nil
}

func (m *mcpContract) readPrompts(s *Surface, p placed, known *writerKnows) error {
	if p.raw == nil {
		return nil
	}
	known.outputs = true
	list, err := p.list()
	if err != nil {
		return err
	}
	for i, e := range list {
		if name, ok := jsonx.Text(e.raw); ok && name != "" {
			known.arguments = false // 0.2 wrote names alone
			if err := e.add(s, Prompts, name, i, map[string]any{}); err != nil {
				return err
			}
			continue
		}
		ms, err := e.known("mcp-contract", "name", "arguments")
		if err != nil {
			return err
		}
		name, err := ms["name"].named("a prompt", e)
		if err != nil {
			return err
		}
		args, err := readFields(ms["arguments"])
		if err != nil {
			return err
		}
		object := map[string]any{}
		var out []any
		for _, a := range args {
			out = append(out, promptArgument(a.name, a.required, a.description))
		}
		if out != nil {
			object["arguments"] = sortedArguments(out)
		}
		if err := e.add(s, Prompts, name, i, object); err != nil {
			return err
		}
	}
	return nil
}

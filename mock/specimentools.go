// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/spec"
)

// safeTool is the definition of a tool that only reads.
func safeTool(name, title, description, inputSchema string, more ...member) json.RawMessage {
	ms := []member{
		{"name", quote(name)}, {"title", quote(title)}, {"description", quote(description)},
		{"inputSchema", []byte(inputSchema)},
		{"annotations", []byte(`{"readOnlyHint":true,"openWorldHint":false}`)},
	}
	return object(append(ms, more...)...)
}

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// block is a result of one content block.
func block(b string) json.RawMessage { return []byte(`{"content":[` + b + `]}`) }

func specimenTools() []Tool {
	return []Tool{
		{
			Definition: safeTool("greet_visitor", "Greet a visitor", "Says a kind word to a visitor of the office.",
				`{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":60,"pattern":"^[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ '-]*$","description":"The visitor's first name.","examples":["Ada"]}},"required":["name"],"additionalProperties":false}`,
				member{"icons", []byte("[" + specimenIcon + "]")}, member{spec.FieldMeta, []byte(`{"com.example/desk":"front"}`)}),
			Answers: []Answer{{Result: block(`{"type":"text","text":"Good morning, {{name}}."}`)}},
		},
		readTide(),
		{
			Definition: safeTool("draw_chart", "Draw a chart", "Draws the harbour as a small picture.", noArguments),
			Result:     block(`{"type":"image","data":"` + specimenPicture + `","mimeType":"image/png","annotations":{"audience":["user"],"priority":0.5}}`),
		},
		{
			Definition: safeTool("play_signal", "Play a signal", "Plays the fog signal.", noArguments),
			Result:     block(`{"type":"audio","data":"` + specimenSound + `","mimeType":"audio/wav"}`),
		},
		{
			Definition: safeTool("find_notices", "Find the notices", "Says where the notices to pilots are.", noArguments),
			Result:     block(`{"type":"resource_link","uri":"tide://notices","name":"notices","description":"What pilots should know today.","mimeType":"text/plain"}`),
		},
		{
			Definition: safeTool("attach_notices", "Attach the notices", "Gives the notices to pilots themselves.", noArguments),
			Result:     block(`{"type":"resource","resource":{"uri":"tide://notices","mimeType":"text/plain","text":"The west buoy is being painted.\n"}}`),
		},
		{
			Definition: safeTool("survey_harbour", "Survey the harbour", "Looks at each side of the harbour in turn, and reports how far it is.", noArguments),
			Answers: []Answer{{
				Steps: []Step{
					{Progress: &Progress{Progress: 1, Total: 3, Message: "East side"}, Log: &Log{Level: "debug", Logger: "survey", Data: []byte(`"east side seen"`)}},
					{Progress: &Progress{Progress: 2, Total: 3, Message: "West side"}, Log: &Log{Level: "info", Logger: "survey", Data: []byte(`"west side seen"`)}},
					{Log: &Log{Level: "warning", Logger: "survey", Data: []byte(`{"buoy":"west","state":"unlit"}`)}},
					{Progress: &Progress{Progress: 3, Total: 3, Message: "Done"}, Log: &Log{Level: "error", Logger: "survey", Data: []byte(`"one buoy is out of order"`)}},
				},
				Result: block(`{"type":"text","text":"Two sides seen, one buoy is unlit."}`),
			}},
		},
		{
			Definition: safeTool("watch_tide", "Watch the tide", "Watches the tide for about two seconds, and reports each tenth of them.", noArguments),
			Answers:    []Answer{{Steps: watching(20, 100*time.Millisecond), Result: block(`{"type":"text","text":"The tide is rising."}`)}},
		},
		{
			Definition: safeTool("route_notice", "Route a notice", "Says which office a notice goes to.",
				`{"type":"object","properties":{`+
					`"region":{"type":"string","minLength":1,"maxLength":40,"description":"Where the notice belongs.","examples":["north"],"x-mcp-header":"Region"},`+
					`"copies":{"type":"integer","minimum":1,"maximum":9007199254740991,"description":"How many copies are wanted.","x-mcp-header":"Copies"},`+
					`"urgent":{"type":"boolean","description":"Whether it must go today.","x-mcp-header":"Urgent"}},`+
					`"required":["region"],"additionalProperties":false}`),
			Result: block(`{"type":"text","text":"It goes to the regional office."}`),
		},
		{
			Definition: safeTool("look_up_mark", "Look up a sea mark", "Finds a sea mark by its code.",
				`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"code":{"type":"string","minLength":8,"maxLength":8,"pattern":"^[A-Z]{3}-[0-9]{4}$","description":"Three letters, a hyphen and four digits.","examples":["HBR-0042"]},`+
					`"year":{"type":"integer","minimum":1900,"maximum":2100,"default":2026,"description":"The year of the list."}},"required":["code"],"additionalProperties":false}`),
			Answers: []Answer{{Result: block(`{"type":"text","text":"{{code}} is a green buoy."}`)}},
		},
		{
			Definition: safeTool("read_broken_gauge", "Read the broken gauge", "Reads a gauge that is out of order, so it always fails.", noArguments),
			Result:     []byte(`{"content":[{"type":"text","text":"The gauge does not answer. Read another station."}],"isError":true}`),
		},
		{
			Definition: safeTool("plan_survey", "Plan a survey", "Plans a survey, which takes a moment.", noArguments),
			Answers: []Answer{{
				Steps:  []Step{{Status: "Looking at the tables."}, {Wait: 200 * time.Millisecond, Status: "Writing the plan."}},
				Delay:  100 * time.Millisecond,
				Result: block(`{"type":"text","text":"Start at low water."}`),
			}},
			Task: TaskOptional,
		},
	}
}

// readTide has an outputSchema, so its text repeats its structured content.
func readTide() Tool {
	answer := func(station, structured string) Answer {
		return Answer{
			Match: object(member{"station", quote(station)}),
			Result: object(
				member{"content", array([]json.RawMessage{textBlock(structured)})},
				member{"structuredContent", []byte(structured)},
			),
		}
	}
	return Tool{
		Definition: safeTool("read_tide", "Read the tide", "Reads the height of the tide at a station.",
			`{"type":"object","properties":{"station":{"type":"string","enum":["east","west"],"description":"Which station to read."}},"required":["station"],"additionalProperties":false}`,
			member{"outputSchema", []byte(`{"type":"object","properties":{"station":{"type":"string"},"metres":{"type":"number"},"rising":{"type":"boolean"}},"required":["station","metres","rising"],"additionalProperties":false}`)}),
		Answers: []Answer{
			answer("east", `{"station":"east","metres":2.4,"rising":true}`),
			answer("west", `{"station":"west","metres":2.1,"rising":false}`),
		},
	}
}

// watching is n reports of progress with a pause before each.
func watching(n int, each time.Duration) []Step {
	steps := make([]Step, n)
	for i := range steps {
		steps[i] = Step{Wait: each, Progress: &Progress{Progress: float64(i + 1), Total: float64(n)}}
	}
	return steps
}

const askDetails = `{"mode":"form","message":"Please complete the report.","requestedSchema":{"type":"object","properties":{` +
	`"observer":{"type":"string","title":"Observer","description":"Who was watching.","minLength":1,"maxLength":60},` +
	`"height":{"type":"number","title":"Height","description":"In metres.","minimum":0,"maximum":20},` +
	`"waves":{"type":"integer","title":"Waves","minimum":0,"maximum":100},` +
	`"clear":{"type":"boolean","title":"Clear view","default":true},` +
	`"day":{"type":"string","title":"Day","format":"date"}},"required":["observer","height"]}}`

const askSummary = `{"messages":[{"role":"user","content":{"type":"text","text":"Say in one sentence what a spring tide is."}}],"maxTokens":100,` +
	`"modelPreferences":{"costPriority":0.5,"speedPriority":0.5,"intelligencePriority":0.5}}`

// specimenAskers are the tools that ask before they answer.
func specimenAskers() []Tool {
	form := Ask{Key: "report", Method: spec.MethodElicit, Params: []byte(askDetails)}
	sampling := Ask{Key: "summary", Method: spec.MethodCreateMessage, Params: []byte(askSummary)}
	roots := Ask{Key: "folders", Method: spec.MethodRootsList}
	return []Tool{
		{
			Definition: safeTool("complete_report", "Complete a report", "Asks the user for what is missing in a report.", noArguments),
			Answers: []Answer{{
				Ask:    []Ask{form},
				Result: block(`{"type":"text","text":"{{input.report.content.observer}} saw {{input.report.content.height}} metres."}`),
			}},
		},
		{
			Definition: safeTool("confirm_reading", "Confirm a reading", "Asks the user to confirm a reading on a page of the office.", noArguments),
			Answers: []Answer{{
				Ask:    []Ask{{Key: "page", Method: spec.MethodElicit, Params: []byte(`{"mode":"url","message":"Please confirm the reading on our page.","url":"https://example.com/tide-office/confirm"}`)}},
				Result: block(`{"type":"text","text":"The reading is confirmed."}`),
			}},
		},
		{
			Definition: safeTool("explain_tide", "Explain the tide", "Asks the client's model to explain the tide.", noArguments),
			Answers: []Answer{{
				Ask:    []Ask{sampling},
				Result: block(`{"type":"text","text":"The model explained the tide."}`),
			}},
		},
		{
			Definition: safeTool("count_folders", "Count the folders", "Asks which folders the client works in.", noArguments),
			Answers:    []Answer{{Ask: []Ask{roots}, Result: block(`{"type":"text","text":"The folders are known."}`)}},
		},
		{
			Definition: safeTool("write_digest", "Write a digest", "Asks for a report, an explanation and the folders, all at once, and then for a station.", noArguments),
			Answers: []Answer{{
				Ask:    []Ask{form, sampling, roots, {Key: "station", Method: spec.MethodElicit, Params: []byte(askStation), Round: 2}},
				Result: block(`{"type":"text","text":"The digest of {{input.station.content.station}} is written."}`),
			}},
		},
	}
}

// specimenMovers are the tools that make the server tell of changes.
func specimenMovers() []Tool {
	passing := Tool{Definition: safeTool("read_visiting_gauge", "Read the visiting gauge", "Reads a gauge that is here for a moment.", noArguments)}
	return []Tool{
		{
			Definition: safeTool("announce_lists", "Announce the lists", "A gauge, a prompt and a notice come and go again, which is announced. The lists are the same afterwards.", noArguments),
			Answers: []Answer{{
				Steps: []Step{{Change: &Change{
					AddTools: []Tool{passing}, RemoveTools: []string{"read_visiting_gauge"},
					AddPrompts: []Prompt{{Definition: []byte(`{"name":"visit"}`)}}, RemovePrompts: []string{"visit"},
					AddResources: []Resource{{Definition: []byte(`{"uri":"tide://visit","name":"visit"}`)}}, RemoveResources: []string{"tide://visit"},
				}}},
				Result: block(`{"type":"text","text":"The lists were announced."}`),
			}},
		},
		{
			Definition: safeTool("announce_log", "Announce the log", "Announces that the log was written.", noArguments),
			Answers: []Answer{{
				Steps:  []Step{{Change: &Change{Updated: []string{"tide://log"}}}},
				Result: block(`{"type":"text","text":"The log was announced."}`),
			}},
		},
	}
}

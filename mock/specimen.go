// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcprove/mcprove/spec"
)

// Specimen is the script of a server on which every rule has something to look
// at and nothing to find: it declares all that there is, its lists have several
// pages, its tools are safe to call, and some of them ask, report, log, take
// their time or always fail. It speaks every revision; a test that means one era
// sets Revisions.
func Specimen() Script {
	return Script{
		ServerInfo: []byte(`{"name":"tide-office","title":"Tide office","version":"1.4.2","description":"Tables, charts and notices of a small harbour.",` +
			`"websiteUrl":"https://example.com/tide-office","icons":[` + specimenIcon + `]}`),
		Instructions: "Every tool only reads. Stations are east and west; charts and notices have resources of their own.",
		Capabilities: []byte(`{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`),
		Tools:        append(append(specimenTools(), specimenAskers()...), specimenMovers()...),
		Resources:    specimenResources(),
		Templates:    specimenTemplates(),
		Prompts:      specimenPrompts(),
		PageSize:     3,
		TTL:          30_000,
		Meta: []byte(`{"com.example/edition":"spring","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
			`"tracestate":"office=east","baggage":"edition=spring"}`),
		// Anybody may know it: the processes of one specimen are one server.
		State: State{Key: []byte("tide-office"), TTL: 10 * time.Minute},
	}
}

const (
	specimenPicture = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAHklEQVR42mN4YPEg48GMBycYFB4EPGh4sOEBA1kiAPGTKoH51iMRAAAAAElFTkSuQmCC"
	specimenSound   = "UklGRkQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YSAAAACoqKioWFhYWKioqKhYWFhYqKioqFhYWFioqKioWFhYWA=="
	specimenIcon    = `{"src":"data:image/png;base64,` + specimenPicture + `","mimeType":"image/png","sizes":["8x8"]}`
)

// described is a definition with the members that every item has.
func described(key, uri, name, title, description string, more ...member) json.RawMessage {
	ms := []member{{key, quote(uri)}, {"name", quote(name)}, {"title", quote(title)}, {"description", quote(description)}}
	if key == "" {
		ms = ms[1:]
	}
	return object(append(ms, more...)...)
}

// textResource is a resource whose size is that of its text.
func textResource(uri, name, title, description, mime, text string, more ...member) Resource {
	return Resource{
		Definition: described("uri", uri, name, title, description, append(more, member{"mimeType", quote(mime)}, member{"size", number(int64(len(text)))})...),
		Contents:   array([]json.RawMessage{object(member{"uri", quote(uri)}, member{"mimeType", quote(mime)}, member{"text", quote(text)})}),
	}
}

const tideReadme = "# Tide office\n\nTables of the east and the west station, charts of the harbour, and notices to pilots."

func specimenResources() []Resource {
	annotations := member{"annotations", []byte(`{"audience":["user","assistant"],"priority":0.8,"lastModified":"2026-03-01T08:00:00Z"}`)}
	icons := member{"icons", []byte("[" + specimenIcon + "]")}
	picture, err := base64.StdEncoding.DecodeString(specimenPicture)
	if err != nil {
		panic(err) // a constant
	}
	return []Resource{
		textResource("tide://readme", "readme", "Read me", "What the tide office offers.", "text/markdown", tideReadme, annotations, icons),
		textResource("tide://stations", "stations", "Stations", "The stations and where they stand.", "text/csv", "station,side\neast,harbour wall\nwest,lighthouse\n"),
		{
			Definition: described("uri", "tide://chart", "chart", "Harbour chart", "A small picture of the harbour.",
				member{"mimeType", quote("image/png")}, member{"size", number(int64(len(picture)))}),
			Contents: []byte(`[{"uri":"tide://chart","mimeType":"image/png","blob":"` + specimenPicture + `"}]`),
		},
		textResource("file:///tide-office/tables/2026.txt", "tables", "Tables", "The tables of the year.", "text/plain", "January: 4.8 m\nFebruary: 4.9 m\n"),
		textResource("tide://log", "log", "Log", "What was measured last.", "text/plain", "08:00 east 2.4 m\n08:00 west 2.1 m\n"),
		textResource("tide://notices", "notices", "Notices", "What pilots should know today.", "text/plain", "The west buoy is being painted.\n"),
	}
}

func specimenTemplates() []Template {
	stations := map[string][]string{"station": {"east", "west"}}
	reading := func(station, height string) Answer {
		return Answer{
			Match:  object(member{"station", quote(station)}),
			Result: []byte(`[{"uri":"{{uri}}","mimeType":"text/plain","text":"{{station}}: ` + height + ` m"}]`),
		}
	}
	var days []Answer
	for _, station := range stations["station"] {
		for i, day := range []string{"friday", "monday"} {
			days = append(days, Answer{
				Match:  object(member{"station", quote(station)}, member{"day", quote(day)}),
				Result: fmt.Appendf(nil, `[{"uri":"{{uri}}","mimeType":"text/plain","text":"{{station}} on {{day}}: %d.5 m"}]`, i+1),
			})
		}
	}
	return []Template{
		{
			Definition: described("uriTemplate", "tide://stations/{station}/reading", "reading", "Reading", "The last reading of a station.", member{"mimeType", quote("text/plain")}),
			Complete:   stations, Answers: []Answer{reading("east", "2.4"), reading("west", "2.1")},
		},
		{
			Definition: described("uriTemplate", "tide://stations/{station}/days/{day}", "day", "Day", "The highest water of a station on a day.", member{"mimeType", quote("text/plain")}),
			Complete:   map[string][]string{"station": {"east", "west"}, "day": {"friday", "monday"}}, Answers: days,
		},
		{
			Definition: described("uriTemplate", "tide://charts/{chart}", "charts", "Charts", "A chart by its name.", member{"mimeType", quote("image/png")}),
			Complete:   map[string][]string{"chart": {"harbour"}},
			Answers: []Answer{{
				Match:  []byte(`{"chart":"harbour"}`),
				Result: []byte(`[{"uri":"{{uri}}","mimeType":"image/png","blob":"` + specimenPicture + `"}]`),
			}},
		},
		{
			Definition: described("uriTemplate", "tide://records/{year}", "records", "Records", "The records of a year; the reader is asked which station.", member{"mimeType", quote("text/plain")}),
			Complete:   map[string][]string{"year": {"2025", "2026"}},
			Answers:    []Answer{recordsOf("2025"), recordsOf("2026")},
		},
	}
}

func recordsOf(year string) Answer {
	return Answer{
		Match:   object(member{"year", quote(year)}),
		Ask:     []Ask{{Key: "station", Method: spec.MethodElicit, Params: []byte(askStation)}},
		Result:  []byte(`[{"uri":"{{uri}}","mimeType":"text/plain","text":"{{year}}, {{input.station.content.station}}: 4.9 m"}]`),
		Refused: []byte(`[{"uri":"{{uri}}","mimeType":"text/plain","text":"No station was named."}]`),
	}
}

// askStation is a form with one choice.
const askStation = `{"mode":"form","message":"Which station do you mean?","requestedSchema":{"type":"object","properties":{` +
	`"station":{"type":"string","title":"Station","oneOf":[{"const":"east","title":"East"},{"const":"west","title":"West"}]}},"required":["station"]}}`

func specimenPrompts() []Prompt {
	vessels := make([]string, 150)
	for i := range vessels {
		vessels[i] = fmt.Sprintf("vessel-%03d", i+1)
	}
	say := func(text string) json.RawMessage {
		return array([]json.RawMessage{object(member{"role", quote("user")}, member{"content", textBlock(text)})})
	}
	arguments := func(as string) member { return member{"arguments", []byte(as)} }
	return []Prompt{
		{
			Definition: described("", "", "sum_up_day", "Sum up the day", "Sum up the tides of today."),
			Messages:   say("Sum up the tides of today in three sentences."),
		},
		{
			Definition: described("", "", "compare_stations", "Compare stations", "Compare the tides of two stations.",
				arguments(`[{"name":"first","title":"First","description":"One station.","required":true},{"name":"second","title":"Second","description":"The other station."}]`)),
			Messages: say("Compare the tides of {{first}} with those of {{second}}."),
			Complete: map[string][]string{"first": {"east", "west"}, "second": {"east", "west"}},
		},
		{
			Definition: described("", "", "brief_pilot", "Brief a pilot", "Brief the pilot of a vessel.",
				arguments(`[{"name":"vessel","title":"Vessel","description":"The vessel that comes in.","required":true}]`)),
			Messages: say("Brief the pilot of {{vessel}} on the tides of today."),
			Complete: map[string][]string{"vessel": vessels},
		},
		{
			Definition: described("", "", "show_board", "Show the notice board", "Everything that hangs on the board."),
			Messages: []byte(`[{"role":"user","content":{"type":"text","text":"This hangs on the board."}},` +
				`{"role":"user","content":{"type":"image","data":"` + specimenPicture + `","mimeType":"image/png"}},` +
				`{"role":"user","content":{"type":"audio","data":"` + specimenSound + `","mimeType":"audio/wav"}},` +
				`{"role":"user","content":{"type":"resource","resource":{"uri":"tide://notices","mimeType":"text/plain","text":"The west buoy is being painted.\n"}}},` +
				`{"role":"user","content":{"type":"resource_link","uri":"tide://readme","name":"readme","mimeType":"text/markdown"}},` +
				`{"role":"assistant","content":{"type":"text","text":"I have seen it."}}]`),
		},
		{
			Definition: described("", "", "interview_pilot", "Interview a pilot", "Ask the user for a station, and prepare an interview."),
			Answers: []Answer{{
				Ask:     []Ask{{Key: "station", Method: spec.MethodElicit, Params: []byte(askStation)}},
				Result:  say("Interview the pilot of station {{input.station.content.station}}."),
				Refused: say("Interview any pilot."),
			}},
		},
	}
}

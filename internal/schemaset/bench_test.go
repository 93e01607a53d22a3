// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkRealPairs(b *testing.B) {
	pairs := realPairs(b)
	var ps [][2]*Schema
	for _, p := range pairs {
		o, _ := Parse(p[0], ParseOptions{})
		n, _ := Parse(p[1], ParseOptions{})
		ps = append(ps, [2]*Schema{o, n})
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p := ps[i%len(ps)]
		i++
		Explain(p[0], p[1], Options{})
	}
}

// surface makes the schemas of n tools, and an edited copy of some of them.
func surface(n, changed int) (olds, news [][]byte) {
	r := rand.New(rand.NewPCG(1, 1))
	var edits []mutation
	edits = append(edits, narrowers...)
	edits = append(edits, wideners...)
	for i := range n {
		doc := decode([]byte(handSeeds[i%11])).(object)
		if p, ok := doc["properties"].(object); ok {
			p[fmt.Sprintf("own%d", i)] = object{"type": "string", "description": fmt.Sprintf("argument of tool %d", i)}
		}
		olds = append(olds, encode(doc))
		out := doc
		if i < changed {
			out, _ = edit(r, doc, edits, 1)
		}
		news = append(news, encode(out))
	}
	return olds, news
}

func benchSurface(b *testing.B, changed int) {
	olds, news := surface(5000, changed)
	b.ReportAllocs()
	for b.Loop() {
		for i := range olds {
			if string(olds[i]) == string(news[i]) {
				continue
			}
			o, _ := Parse(olds[i], ParseOptions{})
			n, _ := Parse(news[i], ParseOptions{})
			Explain(o, n, Options{})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(max(1, changed)), "us/changed-tool")
}

func BenchmarkSurface50Changed(b *testing.B)  { benchSurface(b, 50) }
func BenchmarkSurfaceAllChanged(b *testing.B) { benchSurface(b, 5000) }

func BenchmarkParse(b *testing.B) {
	raw := []byte(handSeeds[4])
	b.ReportAllocs()
	for b.Loop() {
		Parse(raw, ParseOptions{})
	}
}

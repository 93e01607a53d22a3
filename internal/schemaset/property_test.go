// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// pairSource makes pairs of schemas by mutation.
type pairSource struct {
	seeds []object
	core  bool
}

func newPairSource(t testing.TB, core bool) *pairSource {
	p := &pairSource{core: core}
	if core {
		for _, i := range coreSeeds {
			p.seeds = append(p.seeds, decode([]byte(handSeeds[i])).(object))
		}
		return p
	}
	for _, s := range handSeeds {
		p.seeds = append(p.seeds, decode([]byte(s)).(object))
	}
	for i, raw := range realSchemas(t) {
		if len(raw) < 3000 && i%2 == 0 {
			if o, ok := decode(raw).(object); ok {
				p.seeds = append(p.seeds, o)
			}
		}
	}
	return p
}

// make returns the pair number i: one of every kind of edit in a fixed mix.
func (p *pairSource) make(i int) (a, b []byte, ops []string) {
	r := rand.New(rand.NewPCG(uint64(i), 77))
	var doc object
	if r.IntN(3) == 0 {
		o, ok := clone(randomSchema(r, 2, p.core)).(object)
		if !ok {
			o = object{}
		}
		doc = o
	} else {
		doc = p.seeds[r.IntN(len(p.seeds))]
	}
	n := 1 + r.IntN(3)
	var out object
	switch k := r.IntN(100); {
	case k < 40:
		out, ops = edit(r, doc, respellings, n)
	case k < 60:
		out, ops = edit(r, doc, wideners, n)
	case k < 80:
		out, ops = edit(r, doc, narrowers, n)
	default:
		out, ops = edit(r, doc, changers, n)
	}
	if r.IntN(4) == 0 && len(ops) < 3 {
		var more []string
		out, more = edit(r, out, respellings, 1)
		ops = append(ops, more...)
	}
	return encode(doc), encode(out), ops
}

type tally struct {
	mu                              sync.Mutex
	relations                       map[Relation]int
	reasons                         map[string]int
	lossy, witnessed, undecided     int
	unexplained, deltas, secondSeen int
	failures                        int
}

// runPairs checks n pairs on all processors.
func runPairs(t testing.TB, p *pairSource, n int, each func(i int, a, b []byte, ops []string, y *tally)) *tally {
	y := &tally{relations: map[Relation]int{}, reasons: map[string]int{}}
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				a, b, ops := p.make(i)
				each(i, a, b, ops, y)
			}
		}()
	}
	for i := range n {
		y.mu.Lock()
		stop := y.failures > 3
		y.mu.Unlock()
		if stop {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return y
}

func judge(a, b []byte, x *Explanation, old, new *Schema, oa, ob oracle, seed uint64) (bad []string, secondSeen int) {
	var pool []*val
	pool = append(pool, candidates(old.root, 14)...)
	pool = append(pool, candidates(new.root, 14)...)
	r := rand.New(rand.NewPCG(seed, 5))
	for range 4 {
		if len(pool) > 0 {
			pool = append(pool, disturb(r, pool[r.IntN(len(pool))]))
		}
	}
	c := x.Root
	for _, v := range pool {
		text := v.appendJSON(nil)
		p, q := oa.valid(text), ob.valid(text)
		switch {
		case p && !q && c.Lost.Verdict == Inside:
			bad = append(bad, "nothing lost, but valid before and invalid after: "+string(text))
		case q && !p && c.Gained.Verdict == Inside:
			bad = append(bad, "nothing gained, but invalid before and valid after: "+string(text))
		case p && q && c.Relation == Disjoint:
			bad = append(bad, "disjoint, but common: "+string(text))
		}
	}
	sa, ok1 := newSecond(a)
	sb, ok2 := newSecond(b)
	witness := func(r Result, lost bool, what string) {
		if r.Value == nil {
			return
		}
		if oa.valid(r.Value) != lost || ob.valid(r.Value) == lost {
			bad = append(bad, what+" witness does not hold: "+string(r.Value))
			return
		}
		if ok1 && ok2 {
			secondSeen++
			if sa.valid(r.Value) != lost || sb.valid(r.Value) == lost {
				bad = append(bad, what+" witness refused by the second validator: "+string(r.Value))
			}
		}
	}
	witness(c.Lost, true, "root lost")
	witness(c.Gained, false, "root gained")
	for _, d := range x.Deltas {
		witness(d.Lost, true, string(d.Facet)+" lost")
		witness(d.Gained, false, string(d.Facet)+" gained")
	}
	return bad, secondSeen
}

// disturb changes a value a little.
func disturb(r *rand.Rand, v *val) *val {
	switch v.kind {
	case kObject:
		ms := append([]member(nil), v.mem...)
		switch {
		case len(ms) > 0 && r.IntN(3) == 0:
			i := r.IntN(len(ms))
			ms = append(ms[:i], ms[i+1:]...)
		case len(ms) > 0 && r.IntN(2) == 0:
			i := r.IntN(len(ms))
			ms[i].val = disturb(r, ms[i].val)
		case v.get("zz") == nil:
			ms = append(ms, member{"zz", newNumber(one)})
		}
		return newObject(ms)
	case kArray:
		es := append([]*val(nil), v.arr...)
		if len(es) > 0 && r.IntN(2) == 0 {
			return newArray(es[:len(es)-1])
		}
		return newArray(append(es, newString("x")))
	case kString:
		return newString(v.str + "x")
	}
	return []*val{newString("q"), {kind: kNull}, newBool(false), newNumber(one), newArray(nil)}[r.IntN(5)]
}

func checkOne(t testing.TB) func(i int, a, b []byte, ops []string, y *tally) {
	return func(i int, a, b []byte, ops []string, y *tally) {
		old, _ := Parse(a, ParseOptions{})
		new, _ := Parse(b, ParseOptions{})
		x := Explain(old, new, Options{})
		oa, err1 := newOracle(a)
		ob, err2 := newOracle(b)
		y.mu.Lock()
		defer y.mu.Unlock()
		y.relations[x.Root.Relation]++
		y.deltas += len(x.Deltas)
		switch x.Root.Relation {
		case Unsettled:
			y.undecided++
			y.reasons[x.Root.Lost.Reason+" | "+x.Root.Gained.Reason+" | "+x.Root.Common.Reason]++
		case Narrowed, Overlapping, Disjoint:
			y.lossy++
			if x.Root.Lost.Value != nil {
				y.witnessed++
			}
		}
		if x.LostUnexplained || x.GainedUnexplained {
			y.unexplained++
			if y.unexplained < 6 {
				t.Logf("unexplained after %v:\n%s\n%s", ops, a, b)
			}
		}
		if err1 != nil || err2 != nil {
			y.failures++
			t.Errorf("the validator refuses a schema after %v: %v %v\n%s\n%s", ops, err1, err2, a, b)
			return
		}
		y.mu.Unlock()
		bad, seen := judge(a, b, x, old, new, oa, ob, uint64(i))
		y.mu.Lock()
		y.secondSeen += seen
		if len(bad) > 0 {
			y.failures++
			t.Errorf("pair %d after %v: %v\n%s\n%s", i, ops, bad, a, b)
		}
	}
}

func TestMutatedPairs(t *testing.T) {
	n := amount(1_500, 3_000, 100_000)
	p := newPairSource(t, false)
	before := SelfCheckFailures()
	y := runPairs(t, p, n, checkOne(t))
	t.Logf("%d pairs: equal %d, widened %d, narrowed %d, overlapping %d, disjoint %d, undecided %d; %d deltas; %d unexplained; %d witnesses seen by the second validator",
		n, y.relations[Equal], y.relations[Widened], y.relations[Narrowed], y.relations[Overlapping], y.relations[Disjoint], y.undecided, y.deltas, y.unexplained, y.secondSeen)
	t.Logf("reasons: %v", y.reasons)
	if f := SelfCheckFailures() - before; f != 0 {
		t.Errorf("%d values failed the self-check", f)
	}
	third, tenth := n/3, n/10
	if y.relations[Equal] < third || y.relations[Widened]+y.relations[Narrowed] < third {
		t.Errorf("the mix is off: less than a third equal, or less than a third widened or narrowed")
	}
	for what, count := range map[string]int{"equal": y.relations[Equal], "widened": y.relations[Widened], "narrowed": y.relations[Narrowed], "overlapping or disjoint": y.relations[Overlapping] + y.relations[Disjoint]} {
		if count < tenth {
			t.Errorf("the mix is off: %s is below a tenth", what)
		}
	}
}

// TestCoreDecided holds the figures for everyday keywords: type, properties,
// required, items, enum, const, bounds, additionalProperties, $ref, anyOf and
// oneOf of disjoint branches.
func TestCoreDecided(t *testing.T) {
	n := amount(1_000, 3_000, 20_000)
	p := newPairSource(t, true)
	y := runPairs(t, p, n, checkOne(t))
	undecided := 100 * float64(y.undecided) / float64(n)
	witness := 100 * float64(y.witnessed) / float64(max(1, y.lossy))
	t.Logf("%d pairs: undecided %.3f %%, witness in %.2f %% of %d lossy ones", n, undecided, witness, y.lossy)
	if undecided > 1 || witness < 95 {
		t.Errorf("undecided %.3f %% (at most 1), witness %.2f %% (at least 95)", undecided, witness)
	}
}

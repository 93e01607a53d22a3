// SPDX-License-Identifier: Apache-2.0

package schemaset

// escape reads what follows a backslash outside brackets.
func (p *patternParser) escape() (unit *rx, fixed bool) {
	if !p.more() {
		p.fail(true, "a backslash at the end")
		return nil, false
	}
	switch r := p.text[p.pos]; {
	case r == 'b' || r == 'B':
		p.fail(false, "a word boundary")
		return nil, false
	case r >= '1' && r <= '9' || r == 'k':
		p.fail(false, "a back-reference")
		return nil, false
	}
	set, _, _ := p.classEscape()
	return class(set), false
}

// classEscape reads an escape that stands for runes. single is set when it
// stands for exactly one, which may then begin a range.
func (p *patternParser) classEscape() (set runeSet, single bool, r rune) {
	r = p.text[p.pos]
	p.pos++
	one := func(r rune) (runeSet, bool, rune) { return runeSet{{r, r}}, true, r }
	switch r {
	case 'd':
		return digitRunes, false, 0
	case 'D':
		return digitRunes.negate(), false, 0
	case 'w':
		return wordRunes, false, 0
	case 'W':
		return wordRunes.negate(), false, 0
	case 's':
		return spaceRunes, false, 0
	case 'S':
		return spaceRunes.negate(), false, 0
	case 't':
		return one('\t')
	case 'n':
		return one('\n')
	case 'r':
		return one('\r')
	case 'v':
		return one('\v')
	case 'f':
		return one('\f')
	case '0':
		if p.more() && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
			p.fail(false, "an octal escape")
		}
		return one(0)
	case 'x':
		return one(p.hex(2))
	case 'u':
		return one(p.unicode())
	case 'c':
		if !p.more() || !isLetter(p.text[p.pos]) {
			p.fail(true, "an unknown control escape")
			return nil, false, 0
		}
		c := p.text[p.pos] % 32
		p.pos++
		return one(c)
	case 'p', 'P':
		p.fail(false, "a Unicode property")
		return nil, false, 0
	}
	if isLetter(r) || r >= '1' && r <= '9' {
		// Engines disagree whether such an escape is an error or the letter.
		p.fail(false, "an escape without meaning")
	}
	return one(r)
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func (p *patternParser) hex(n int) rune {
	var out rune
	for range n {
		if !p.more() {
			p.fail(true, "a hexadecimal escape without end")
			return 0
		}
		d, ok := hexDigit(p.text[p.pos])
		if !ok {
			p.fail(true, "a hexadecimal escape without end")
			return 0
		}
		out = out<<4 | d
		p.pos++
	}
	return out
}

func hexDigit(r rune) (rune, bool) {
	switch {
	case r >= '0' && r <= '9':
		return r - '0', true
	case r >= 'a' && r <= 'f':
		return r - 'a' + 10, true
	case r >= 'A' && r <= 'F':
		return r - 'A' + 10, true
	}
	return 0, false
}

// unicode reads \uHHHH, a pair of surrogates, or \u{H...}.
func (p *patternParser) unicode() rune {
	if p.eat('{') {
		// Without the u flag this means a repeated u: engines disagree.
		p.fail(false, "a code point in braces")
		return 0
	}
	r := p.hex(4)
	if r >= 0xD800 && r <= 0xDFFF {
		p.fail(false, "a surrogate")
	}
	return r
}

// bracket reads a class after its opening bracket.
func (p *patternParser) bracket() *rx {
	negated := p.eat('^')
	var set runeSet
	for {
		if !p.more() {
			p.fail(true, "a class without end")
			return nil
		}
		if p.eat(']') {
			break
		}
		part, single, lo := p.bracketUnit()
		if p.fault != "" {
			return nil
		}
		if p.pos+1 < len(p.text) && p.text[p.pos] == '-' && p.text[p.pos+1] != ']' {
			if !single {
				p.fail(false, "a range that begins with a class")
				return nil
			}
			p.pos++
			_, single, hi := p.bracketUnit()
			switch {
			case p.fault != "":
				return nil
			case !single:
				p.fail(false, "a range that ends with a class")
				return nil
			case hi < lo:
				p.fail(true, "a range out of order")
				return nil
			}
			part = runeSet{{lo, hi}}
		}
		set = append(set, part...)
	}
	if negated {
		return class(set.negate())
	}
	return class(set)
}

func (p *patternParser) bracketUnit() (runeSet, bool, rune) {
	if !p.more() {
		p.fail(true, "a class without end")
		return nil, false, 0
	}
	r := p.text[p.pos]
	p.pos++
	if r == '[' && p.more() && p.text[p.pos] == ':' {
		p.fail(false, "a named class")
	}
	if r != '\\' {
		return runeSet{{r, r}}, true, r
	}
	if !p.more() {
		p.fail(true, "a backslash at the end")
		return nil, false, 0
	}
	if p.text[p.pos] == 'b' {
		p.pos++
		return runeSet{{8, 8}}, true, 8
	}
	return p.classEscape()
}

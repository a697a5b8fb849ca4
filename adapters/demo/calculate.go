package demo

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// The calculator's bounds: a demo must not be a way to burn a processor.
const (
	maxExpression = 1000    // bytes
	maxDepth      = 100     // nested parentheses and signs
	maxBits       = 1 << 16 // of a numerator or denominator
	maxExponent   = 10_000
	decimals      = 20 // digits after the point when a result has no end
)

var errTooLarge = errors.New("the result is too large for this calculator")

// calculate evaluates an expression exactly, in fractions: + - * / % ^ and parentheses, with ^ binding tightest and
// to the right (-2^2 is -4). x % y has the sign of y. The answer says when it is rounded.
func calculate(expression string) (string, error) {
	if len(expression) > maxExpression {
		return "", fmt.Errorf("the expression has %d characters; at most %d are taken", len(expression), maxExpression)
	}
	s := strings.NewReplacer("×", "*", "·", "*", "÷", "/", "−", "-", "**", "^").Replace(expression)
	p := &parser{in: s}
	v, err := p.sum()
	if err != nil {
		return "", err
	}
	if p.space(); p.at < len(p.in) {
		return "", p.unexpected()
	}
	if v.IsInt() {
		return v.Num().String(), nil
	}
	if n, exact := v.FloatPrec(); exact && n <= decimals {
		return v.FloatString(n), nil
	}
	return "about " + strings.TrimRight(v.FloatString(decimals), "0"), nil
}

type parser struct {
	in    string
	at    int
	depth int
}

func (p *parser) space() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

// take consumes one of the operators in set, or returns 0.
func (p *parser) take(set string) byte {
	p.space()
	if p.at < len(p.in) && strings.IndexByte(set, p.in[p.at]) >= 0 {
		p.at++
		return p.in[p.at-1]
	}
	return 0
}

func (p *parser) unexpected() error {
	p.space()
	if p.at >= len(p.in) {
		return errors.New("the expression ends too early")
	}
	return fmt.Errorf("%q at position %d is not understood; use numbers, + - * / %% ^ and parentheses", []rune(p.in[p.at:])[0], p.at+1)
}

func (p *parser) sum() (*big.Rat, error) {
	v, err := p.product()
	for err == nil {
		op := p.take("+-")
		if op == 0 {
			return v, nil
		}
		var w *big.Rat
		if w, err = p.product(); err != nil {
			return nil, err
		}
		if op == '+' {
			v, err = bounded(new(big.Rat).Add(v, w))
		} else {
			v, err = bounded(new(big.Rat).Sub(v, w))
		}
	}
	return nil, err
}

func (p *parser) product() (*big.Rat, error) {
	v, err := p.signed()
	for err == nil {
		op := p.take("*/%")
		if op == 0 {
			return v, nil
		}
		var w *big.Rat
		if w, err = p.signed(); err != nil {
			return nil, err
		}
		switch {
		case op == '*':
			v, err = bounded(new(big.Rat).Mul(v, w))
		case w.Sign() == 0:
			return nil, errors.New("division by zero")
		case op == '/':
			v, err = bounded(new(big.Rat).Quo(v, w))
		default:
			q := new(big.Rat).Quo(v, w)
			floor := new(big.Rat).SetInt(new(big.Int).Div(q.Num(), q.Denom())) // Euclidean: the denominator is positive
			v, err = bounded(new(big.Rat).Sub(v, floor.Mul(floor, w)))
		}
	}
	return nil, err
}

func (p *parser) signed() (*big.Rat, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d nested parentheses or signs", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.take("+-") {
	case '-':
		v, err := p.signed()
		if err != nil {
			return nil, err
		}
		return v.Neg(v), nil
	case '+':
		return p.signed()
	}
	return p.power()
}

func (p *parser) power() (*big.Rat, error) {
	base, err := p.atom()
	if err != nil || p.take("^") == 0 {
		return base, err
	}
	e, err := p.signed() // to the right: 2^3^2 is 2^9, and 2^-1 is a half
	if err != nil {
		return nil, err
	}
	if !e.IsInt() {
		return nil, errors.New("only whole exponents are supported")
	}
	if !e.Num().IsInt64() || e.Num().Int64() > maxExponent || e.Num().Int64() < -maxExponent {
		return nil, fmt.Errorf("the exponent is larger than %d", maxExponent)
	}
	n := e.Num().Int64()
	if n < 0 {
		if base.Sign() == 0 {
			return nil, errors.New("division by zero")
		}
		base, n = new(big.Rat).Inv(base), -n
	}
	if int64(base.Num().BitLen())*n > maxBits || int64(base.Denom().BitLen()-1)*n > maxBits {
		return nil, errTooLarge
	}
	exp := big.NewInt(n)
	return bounded(new(big.Rat).SetFrac(new(big.Int).Exp(base.Num(), exp, nil), new(big.Int).Exp(base.Denom(), exp, nil)))
}

func (p *parser) atom() (*big.Rat, error) {
	if p.take("(") != 0 {
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		if p.take(")") == 0 {
			if p.space(); p.at >= len(p.in) {
				return nil, errors.New("a closing parenthesis is missing")
			}
			return nil, p.unexpected()
		}
		return v, nil
	}
	p.space()
	start := p.at
	for p.at < len(p.in) && (digit(p.in[p.at]) || p.in[p.at] == '.') {
		p.at++
	}
	number := p.in[start:p.at]
	if number == "" || number == "." || strings.Count(number, ".") > 1 {
		p.at = start
		return nil, p.unexpected()
	}
	// An exponent belongs to the number only when digits follow.
	if rest := p.in[p.at:]; rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		n := 1
		if n < len(rest) && (rest[n] == '+' || rest[n] == '-') {
			n++
		}
		digits := n
		for n < len(rest) && digit(rest[n]) {
			n++
		}
		if n > digits {
			if n-digits > 4 {
				return nil, errTooLarge
			}
			number += rest[:n]
			p.at += n
		}
	}
	v, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", number)
	}
	return bounded(v)
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

func bounded(v *big.Rat) (*big.Rat, error) {
	if v.Num().BitLen() > maxBits || v.Denom().BitLen() > maxBits {
		return nil, errTooLarge
	}
	return v, nil
}
